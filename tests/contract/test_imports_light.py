"""What `import dtstat` brings in, and what it must not."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import dtstat as dt

HEAVY = (
    *("torch", "matplotlib", "rpy2", "pyreadstat", "openpyxl"),
    *("scipy.stats", "scipy.optimize", "sklearn", "tqdm", "typer"),
)


def in_fresh_interpreter(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_loads_nothing_heavy():
    code = f"import sys, dtstat; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert in_fresh_interpreter(code) == "[]"


def test_import_alone_loads_no_library():
    """A name's module is imported when the name is used, and no other room with it."""
    code = """
import sys, dtstat
def loaded(*names): return [name for name in names if name in sys.modules]
print(loaded("numpy", "pandas", "numba", "scipy", "joblib"))
print(set(dtstat.__all__) <= set(dir(dtstat)))
dtstat.fit
print(loaded("numba"), loaded("dtstat.trust.plan", "dtstat.page.document", "dtstat.efa.result"))
"""
    assert in_fresh_interpreter(code).splitlines() == ["[]", "True", "['numba'] []"]


def test_names_are_imported_from_where_type_checkers_find_them():
    source = ast.parse(Path(dt.__file__).read_text("utf-8"))
    (typed,) = (node for node in source.body if isinstance(node, ast.If))
    homes = {alias.name: node.module for node in typed.body for alias in node.names}
    assert homes == dt._HOME
    assert set(homes) == set(dt.__all__)


def test_a_room_does_not_hide_the_function_of_its_name():
    code = """
import dtstat.fit.request, dtstat.sem.model, dtstat
from dtstat.fit.request import FitRequest
import dtstat.efa.rotation
print(*(type(one).__name__ for one in (dtstat.fit, dtstat.sem, dtstat.efa, dtstat.dependence)))
"""
    assert in_fresh_interpreter(code) == "function function function function"


def test_load_knows_results_of_rooms_that_were_not_used(tmp_path):
    found = dt.cfa(dt.load_dataset("holzinger_swineford_9"), "F =~ x1 + x2 + x3 + x4")
    file = tmp_path / "found.dt"
    found.save(file)
    code = f"import dtstat; print(type(dtstat.load({str(file)!r})).__name__)"
    assert in_fresh_interpreter(code) == "CFAFit"


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        _ = dt.fitt


def test_import_prints_and_warns_nothing():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import dtstat"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_public_names_exist_and_occur_once():
    assert len(set(dt.__all__)) == len(dt.__all__)
    assert all(hasattr(dt, name) for name in dt.__all__)
    assert "__version__" in vars(dt)


def test_no_module_takes_the_place_of_a_public_name():
    assert [name for name in dt.__all__ if inspect.ismodule(getattr(dt, name))] == []


def test_everything_public_is_listed():
    """Names in dtstat that are neither modules nor private are in __all__."""
    assert all(hasattr(dt, name) for name in dt.__all__)  # each is there when it is used
    seen = {name for name, value in vars(dt).items() if not inspect.ismodule(value)}
    assert {name for name in seen if not name.startswith("_")} == set(dt.__all__)


@pytest.mark.parametrize(
    "first",
    [
        "import dtstat",
        "import dtstat.dependence.matrix",
        "import dtstat.dependence.distance_hsic",
        "from dtstat.dependence.matrix import DependenceMatrix",
    ],
)
def test_the_function_dependence_wins_over_the_folder_of_that_name(first):
    code = (
        f"{first}; import dtstat; print(dtstat.dependence.__module__, callable(dtstat.dependence))"
    )
    assert in_fresh_interpreter(code) == "dtstat.dependence.api True"
