"""Around the code: versions agree, workflows and hooks are valid, citations name the paper."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dtstat

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TITLE = "Identification of Nonlinear and Dependent Latent Factor Structure"


def run(*command, cwd=ROOT):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def version_tool():
    spec = importlib.util.spec_from_file_location("version", ROOT / "tools" / "version.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_version_everywhere(version_tool):
    assert set(version_tool.versions().values()) == {dtstat.__version__}


def test_a_release_writes_the_version_everywhere(version_tool, tmp_path):
    for file in version_tool.PLACES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    for file, (unreleased, _) in version_tool.UNRELEASED.items():
        path = tmp_path / file
        if unreleased not in path.read_text("utf-8"):
            path.write_text(f"{unreleased}\n\n{path.read_text('utf-8')}", encoding="utf-8")
    version_tool.write("7.8.9", tmp_path)
    assert set(version_tool.versions(tmp_path).values()) == {"7.8.9"}
    assert dtstat.__version__ in (tmp_path / "CHANGELOG.md").read_text("utf-8")
    with pytest.raises(SystemExit, match="three numbers"):
        version_tool.write("8", tmp_path)
    with pytest.raises(SystemExit, match="what is new"):
        version_tool.write("8.0.0", tmp_path)


def test_workflows_follow_their_schema():
    assert WORKFLOWS
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    run(*check, "vendor.github-workflows", *map(str, WORKFLOWS))
    run(*check, "vendor.citation-file-format", "CITATION.cff")


def test_workflows_are_safe():
    program = shutil.which("zizmor", path=str(Path(sys.executable).parent))
    assert program, "run `make setup`"
    run(program, "--offline", "--quiet", ".github/workflows")


def test_workflows_cover_what_is_declared():
    text = "\n".join(file.read_text("utf-8") for file in WORKFLOWS)
    for wanted in ("ubuntu-latest", "macos-latest", "windows-latest", '"3.11", "3.12", "3.13"'):
        assert wanted in text
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"run: make ([a-z-]+)", text)) <= targets
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for extras in re.findall(r'-e "\.\[([a-z,]+)\]"', text):
        assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_hooks_are_valid_and_local():
    run(sys.executable, "-m", "pre_commit", "validate-config")
    text = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    assert set(re.findall(r"repo: (\S+)", text)) == {"local"}


def test_tools_are_pinned():
    pinned = {
        re.sub("[-_.]+", "-", line.split("==")[0]).lower()
        for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
        if "==" in line
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for extra in ("dev", "docs"):
        for requirement in project["optional-dependencies"][extra]:
            assert re.split(r"[\[>]", requirement)[0] in pinned, requirement


def test_citations_name_the_paper():
    assert TITLE in (ROOT / "CITATION.cff").read_text("utf-8")
    assert TITLE in (ROOT / "r-wrapper" / "inst" / "CITATION").read_text("utf-8")


@pytest.mark.against_r
def test_r_can_read_its_citation(require_r):
    code = (
        'cat(format(utils::readCitationFile("r-wrapper/inst/CITATION", '
        'meta = list(Version = "1.2.3", Encoding = "UTF-8")), style = "citation"))'
    )
    shown = " ".join(run("Rscript", "--vanilla", "-e", code).split())
    assert TITLE in shown
    assert "Version 1.2.3" in shown
    assert "?" not in shown


def test_no_made_up_addresses():
    for name in ("pyproject.toml", "CITATION.cff", "r-wrapper/DESCRIPTION", "README.md"):
        assert "example." not in (ROOT / name).read_text("utf-8"), name
