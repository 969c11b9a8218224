"""Sizes and documentation of the package's own code."""

import ast
from pathlib import Path

import pytest

import dtstat

ROOT = Path(dtstat.__file__).parent
MODULES = sorted(p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*.py"))
LONGEST_MODULE = 400
# Kernels that call each other share a file, because numba's cache does not notice a change in
# another one.
LONGEST_MODULE_OF_KERNELS = 500
LONGEST_BODY = 45
LONGEST_KERNEL = 60  # a solver's loop may be longer

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parsed(module):
    return ast.parse((ROOT / module).read_text())


def body_length(function):
    """Lines of the body without the docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def is_kernel(function):
    return any(isinstance(d, ast.Name) and d.id == "kernel" for d in function.decorator_list)


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


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_short(module):
    functions = [node for node in parsed(module).body if isinstance(node, Function)]
    kernels_alone = functions and all(map(is_kernel, functions))
    limit = LONGEST_MODULE_OF_KERNELS if kernels_alone else LONGEST_MODULE
    assert len((ROOT / module).read_text().splitlines()) <= limit


@pytest.mark.parametrize("module", MODULES)
def test_functions_are_short(module):
    for node in ast.walk(parsed(module)):
        if isinstance(node, Function):
            limit = LONGEST_KERNEL if is_kernel(node) else LONGEST_BODY
            assert body_length(node) <= limit, node.name


@pytest.mark.parametrize("module", MODULES)
def test_what_is_public_is_documented(module):
    tree = parsed(module)
    assert ast.get_docstring(tree)
    assert [name for name, node in public_definitions(tree) if not ast.get_docstring(node)] == []


@pytest.mark.parametrize("module", MODULES)
def test_nothing_prints(module):
    """The core never prints; the command line uses typer.echo."""
    names = {n.id for n in ast.walk(parsed(module)) if isinstance(n, ast.Name)}
    assert "print" not in names


def test_the_measures_measure():
    source = '@kernel\ndef f():\n    """Doc.\n\n    More.\n    """\n    a = 1\n    return a\n'
    function = ast.parse(source).body[0]
    assert body_length(function) == 2
    assert is_kernel(function)
    tree = ast.parse("class A:\n    def f(self): ...\n    def _g(self): ...\ndef _h(): ...\n")
    assert [name for name, _ in public_definitions(tree)] == ["A", "A.f"]
