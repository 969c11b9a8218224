"""What `import dtstat` brings in, and what it must not."""

import inspect
import subprocess
import sys

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
