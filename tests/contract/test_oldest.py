"""What `make test-oldest` installs is what pyproject.toml declares."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def oldest():
    spec = importlib.util.spec_from_file_location("oldest", ROOT / "tools" / "oldest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_dependency_is_taken_at_its_bound(oldest, monkeypatch):
    monkeypatch.setattr(oldest.shutil, "which", lambda _: "R")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    users = [name for name in extras if name not in ("all", "dev", "docs", "bench")]
    assert extras["all"] == [f"dtstat[{','.join(users)}]"]
    declared = [*project["dependencies"], *(one for name in users for one in extras[name])]
    taken = {f"{name}{extra}>={version}" for name, extra, version in oldest.promised()}
    pinned = {one for one in declared if one.split(">=")[0] in oldest.FROM_CONSTRAINTS}
    assert set(declared) - pinned <= taken
    names = [one.split(">=")[0].split("[")[0] for one in set(declared)]
    assert len(names) == len(set(names)), "two extras declare different bounds of one package"
    assert len(taken) == len(names)


def test_torch_is_the_one_that_developers_use(oldest):
    versions = {name: version for name, _, version in oldest.promised()}
    assert versions["torch"] == oldest.newest()["torch"]


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy>=1,<3", "numpy==2.0"])
def test_a_requirement_without_a_plain_bound_is_refused(oldest, requirement):
    with pytest.raises(SystemExit, match="no plain lower bound"):
        oldest.bound(requirement)


def test_what_is_left_out_exists(oldest):
    assert [path for path in oldest.LEFT_OUT if not (ROOT / path).exists()] == []
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]
    known = {marker.split(":")[0] for marker in settings["ini_options"]["markers"]}
    assert oldest.MARKED.keys() <= known
