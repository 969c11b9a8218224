"""Sizes and documentation of the package's own code; ruff checks the rest."""

import ast
from pathlib import Path

import dtstat

ROOT = Path(dtstat.__file__).parent
TREES = {
    p.relative_to(ROOT).as_posix(): ast.parse(p.read_text("utf-8")) for p in ROOT.rglob("*.py")
}
LONGEST_MODULE = 500
LONGEST_BODY = 60

Function = ast.FunctionDef | ast.AsyncFunctionDef


def body_length(function):
    """Lines of the body without the docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def public_definitions(node, prefix=""):
    """Public functions and classes of a module, and public methods of its public classes."""
    for child in node.body:
        if not isinstance(child, Function | ast.ClassDef) or child.name.startswith("_"):
            continue
        if any(isinstance(d, ast.Name) and d.id == "overload" for d in child.decorator_list):
            continue  # documented where it is implemented
        yield prefix + child.name, child
        if isinstance(child, ast.ClassDef):
            yield from public_definitions(child, f"{child.name}.")


def test_modules_are_short():
    lengths = {name: len((ROOT / name).read_text("utf-8").splitlines()) for name in TREES}
    assert {name: n for name, n in lengths.items() if n > LONGEST_MODULE} == {}


def test_functions_are_short():
    functions = [
        (name, node)
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, Function)
    ]
    assert [(name, f.name) for name, f in functions if body_length(f) > LONGEST_BODY] == []


def test_what_is_public_is_documented():
    assert [name for name, tree in TREES.items() if not ast.get_docstring(tree)] == []
    assert [
        (name, public)
        for name, tree in TREES.items()
        for public, node in public_definitions(tree)
        if not ast.get_docstring(node)
    ] == []


def test_the_measures_measure():
    function = ast.parse('def f():\n    """Doc.\n\n    More.\n    """\n    a = 1\n    return a\n')
    assert body_length(function.body[0]) == 2
    tree = ast.parse("class A:\n    def f(self): ...\n    def _g(self): ...\ndef _h(): ...\n")
    assert [name for name, _ in public_definitions(tree)] == ["A", "A.f"]
