"""Imports go one way: a folder knows those to its left and nothing to its right."""

import ast
from pathlib import Path

import pytest

import dtstat

ROOT = Path(dtstat.__file__).parent
LAYERS = [
    {"errors", "checks", "files", "arrays", "progress", "compile", "version"},
    {"execution"},
    {"data"},
    {"dependence"},
    {"structure"},
    {"simulation"},
    {"theory"},
    {"estimation"},
    {"selection"},
    {"report"},
    {"results"},
    {"api"},
    {"studies"},
    {"cli", "interop"},
    {"__main__"},
]
RANK = {folder: rank for rank, layer in enumerate(LAYERS) for folder in layer}
FRONT = "dtstat"  # dtstat/__init__.py, which imports nearly everything
RELATIVE = "."
MODULES = sorted(p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*.py"))


def folder_of(module):
    """'structure/path.py' → 'structure', 'api.py' → 'api'."""
    return Path(module).parts[0].removesuffix(".py")


def imported_modules(source):
    """Full names of what a source imports, at any depth."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield RELATIVE
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_folders(source):
    """Folders of dtstat that a source imports."""
    for name in imported_modules(source):
        package, *inside = name.split(".")
        if name == RELATIVE:
            yield RELATIVE
        elif package == "dtstat":
            yield inside[0] if inside and inside[0] in RANK else FRONT


def may_import(folder, other):
    if other == folder or RANK.get(other) == 0:
        return True
    if other == FRONT:
        return RANK[folder] >= RANK["cli"]
    return other in RANK and folder != "report" and RANK[other] < RANK[folder]


def violations(module, source):
    """What a module imports that it must not."""
    folder, imported = folder_of(module), set(imported_folders(source))
    if folder == "__init__":
        return imported & {RELATIVE}
    return {other for other in imported if not may_import(folder, other)}


def test_every_folder_has_a_place():
    assert {folder_of(m) for m in MODULES} - {"__init__"} <= set(RANK)


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module):
    assert not violations(module, (ROOT / module).read_text())


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("data/items.py", "from dtstat.dependence import measures"),
        ("data/items.py", "import dtstat.api"),
        ("structure/path.py", "def f():\n    from dtstat.simulation import simulate"),
        ("structure/path.py", "import dtstat"),
        ("structure/path.py", "from dtstat import api"),
        ("structure/path.py", "from dtstat import solution_path"),
        ("structure/path.py", "from .support import Structure"),
        ("report/tables.py", "from dtstat.structure import Structure"),
        ("errors.py", "from dtstat.data import ItemData"),
        ("api.py", "from dtstat.cli import app"),
        ("cli/app.py", "from dtstat.interop import r"),
        ("__init__.py", "from .api import fit"),
    ],
)
def test_violations_are_seen(module, source):
    assert violations(module, source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("structure/path.py", "from dtstat.structure.structure import Structure"),
        ("structure/path.py", "from dtstat import errors"),
        ("report/tables.py", "from dtstat.core.errors import InputError\nimport html"),
        ("simulation/generate.py", "from dtstat.structure import Structure"),
        ("progress.py", "from dtstat.core.errors import InputError"),
        ("cli/app.py", "import dtstat"),
        ("__init__.py", "from dtstat.api import fit"),
    ],
)
def test_what_is_allowed_is_let_through(module, source):
    assert not violations(module, source)
