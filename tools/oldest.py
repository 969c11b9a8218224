"""The oldest versions that pyproject.toml allows: what to install, and the tests under them.

    python tools/oldest.py requirements    what the environment consists of, for pip
    python tools/oldest.py test [...]      the Python tests, with pytest's own arguments

The bounds are read from pyproject.toml, so what is declared and what is tested cannot differ. A
requirement without a lower bound is an error: nobody could say what it promises.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOWER_BOUND = re.compile(r"([A-Za-z0-9_.-]+)(\[[a-z,]+\])?>=([0-9.]+)")
# Only one build of torch is small enough to be fetched for a test: the pinned one, for any bound.
FROM_CONSTRAINTS = {"torch"}
NO_TEST_NEEDS = {"ruff", "mypy", "pandas-stubs", "playwright", "axe-playwright-python"}
NO_TEST_NEEDS |= {"pre-commit", "pre-commit-hooks", "check-jsonschema", "zizmor"}
LEFT_OUT = {
    "tests/browser": "the browser reads the written page; Python's packages have no part in it",
    "tests/contract/test_readme.py": "printed tables are those of the newest pandas",
    "tests/contract/test_vignettes.py": "printed tables are those of the newest pandas",
    "tests/contract/test_rendered_vignettes.py": "made by R and pandoc",
    "tests/contract/test_site.py": "made by tools that users do not install",
    "tests/contract/test_habits.py": "checks files of the repository, not the package",
    "tests/contract/test_r_parity.py": "reads R's sources",
    "tests/reference/test_r_package.py": "tests the R package, which R CMD check does",
}
MARKED = {"newest": "needs what only newer versions have, such as a function to compare with"}
# matplotlib 3.8 uses what the newest pyparsing deprecates: no matter of ours.
FORGIVEN = {"DeprecationWarning": "old packages use what the newest ones beside them deprecate"}


def bound(requirement: str) -> tuple[str, str, str]:
    """Name, extras and lowest version of a requirement such as `dask[distributed]>=2024.5`."""
    found = LOWER_BOUND.fullmatch(requirement)
    if found is None:
        sys.exit(f"`{requirement}` in pyproject.toml has no plain lower bound, as in `name>=1.2`")
    return found[1], found[2] or "", found[3]


def newest() -> dict[str, str]:
    """Return the versions in constraints.txt by name."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if "==" in line and line[0] != "#")


def promised() -> list[tuple[str, str, str]]:
    """Every requirement of the package and its extras, at the version that is to be tested."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    users = [extras[name] for name in extras if name not in ("all", "dev", "docs", "bench")]
    bounds = [bound(each) for group in [project["dependencies"], *users] for each in group]
    if shutil.which("R") is None:  # rpy2 is built against R; tests that need it fail and say so
        bounds = [each for each in bounds if each[0] != "rpy2"]
    pinned = newest()
    return [(n, e, pinned[n] if n in FROM_CONSTRAINTS else v) for n, e, v in bounds]


def tools() -> list[str]:
    """List what the tests themselves need, as pinned for developers: users never install it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = [re.split(r"[\[>]", each)[0] for each in project["optional-dependencies"]["dev"]]
    pinned = newest()
    taken = [name for name in names if name not in NO_TEST_NEEDS]
    return [f"{name}=={pinned[name]}" if name in pinned else name for name in taken]


def installed_as_promised() -> None:
    """Say what is installed, and stop if it is anything else than the bounds."""
    for name, _, lowest in promised():
        got = version(name).split("+")[0]
        print(f"  {name} {got}" + (" (the pinned build)" if name in FROM_CONSTRAINTS else ""))
        parts = [int(part) for part in lowest.split(".")]
        if [int(part) for part in got.split(".")[: len(parts)]] != parts:
            sys.exit(f"{name} {got} is installed, not {lowest}; run `make clean`, then again")


def test(arguments: list[str]) -> int:
    """Run the tests, then say what was left out and why."""
    print("The oldest versions allowed:")
    installed_as_promised()
    ignored = [f"--ignore={ROOT / path}" for path in LEFT_OUT]
    unmarked = ["-m", " and ".join(f"not {name}" for name in MARKED)]
    forgiven = [f"-Wignore::{name}" for name in FORGIVEN]
    command = [sys.executable, "-m", "pytest", *ignored, *unmarked, *forgiven, *arguments]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    print("Left out with the oldest versions:")
    for what, reason in (LEFT_OUT | MARKED | FORGIVEN).items():
        if what in LEFT_OUT and not (ROOT / what).exists():
            sys.exit(f"{what} is listed as left out, but there is no such file")
        print(f"  {what}: {reason}")
    return status


if __name__ == "__main__":
    if sys.argv[1:2] == ["requirements"]:
        print("\n".join([f"{n}{e}=={v}" for n, e, v in promised()] + tools()))
    elif sys.argv[1:2] == ["test"]:
        sys.exit(test(sys.argv[2:]))
    else:
        sys.exit(__doc__)
