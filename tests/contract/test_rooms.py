"""Rooms and modules know only what comes before them, and there are no import cycles."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dtstat

ROOT = Path(dtstat.__file__).parent
ROOMS = [
    {"core"},
    {"data"},
    {"dependence"},
    {"structure"},
    {"simulation"},
    {"factors"},
    {"efa", "sem", "curves"},
    {"search"},
    {"path"},
    {"fit"},
    {"regression"},
    {"trust"},
    {"page"},
    {"studies"},
    {"cli", "interop"},
    {"__main__"},
]
RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}
# sem can be read, and used, without dependence thresholding.
NEVER = {"sem": {"simulation", "factors"}}
# DTFit.report() opens the page, which shows what diagnose() says, too.
ALLOWED = {("dtstat.fit.result", "page")}


def module_name(path):
    """'structure/path.py' → 'dtstat.structure.path'; a package is called like its folder."""
    parts = ("dtstat", *Path(path).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


SOURCES = {
    module_name(p.relative_to(ROOT)): p.read_text("utf-8") for p in sorted(ROOT.rglob("*.py"))
}


def is_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def running(tree):
    """All nodes but those that only a type checker sees."""
    for child in ast.iter_child_nodes(tree):
        if not is_for_types(child):
            yield child
            yield from running(child)


def imports(source, known):
    """Modules of dtstat that a source imports, in functions too."""
    for node in running(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("dtstat"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dtstat"):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in known else node.module


def room(module):
    return module.split(".")[1] if "." in module else ""


def may_import(module, other):
    """Whether a module may import another one; the front may import all but the programs."""
    here, there = room(module), room(other)
    if not here:
        return RANK[there] < RANK["cli"] if there else True
    if not there:  # import dtstat
        return RANK[here] >= RANK["cli"]
    if (module, there) in ALLOWED or here == there:
        return True
    return RANK[there] < RANK[here] and there not in NEVER.get(here, ())


def violations(sources):
    known = set(sources)
    return sorted(
        (module, other)
        for module, source in sources.items()
        for other in imports(source, known)
        if not may_import(module, other)
    )


def check_no_cycle(sources):
    known = set(sources)
    graph = {
        module: set(imports(source, known)) - {module, "dtstat"}
        for module, source in sources.items()
    }
    TopologicalSorter(graph).prepare()


def test_every_room_has_a_place():
    assert {room(module) for module in SOURCES} - {""} == set(RANK)


def test_imports_go_one_way():
    assert violations(SOURCES) == []


def test_no_module_imports_itself_by_way_of_others():
    check_no_cycle(SOURCES)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("dtstat.data.items", "from dtstat.dependence import matrix"),
        ("dtstat.data.items", "import dtstat.fit.api"),
        ("dtstat.structure.path", "def f():\n    from dtstat.simulation import designs"),
        ("dtstat.structure.path", "import dtstat"),
        ("dtstat.sem.model", "from dtstat.factors.copula import FactorEstimate"),
        ("dtstat.core.errors", "from dtstat.data.items import ItemData"),
        ("dtstat.cli.app", "from dtstat.interop import sklearn"),
        ("dtstat", "from dtstat.cli.app import main"),
    ],
)
def test_violations_are_seen(module, source):
    assert violations(SOURCES | {module: source})


def test_cycles_are_seen():
    sources = {"dtstat.a": "import dtstat.b", "dtstat.b": "def f():\n    import dtstat.a"}
    with pytest.raises(CycleError):
        check_no_cycle(sources)
    check_no_cycle({**sources, "dtstat.b": "if TYPE_CHECKING:\n    import dtstat.a"})
