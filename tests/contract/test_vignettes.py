"""What the vignettes show is what the code does."""

import difflib
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "refresh_docs.py"))
PAGES = TOOL["vignettes"]()
LARGEST_FIGURE = 120_000  # bytes


LONG = {"nonlinear_items", "reproducing_the_paper"}  # curves and networks: a quarter of a minute


def pages(long=frozenset()):
    cases = [
        pytest.param(page, id=page.stem, marks=[pytest.mark.long] * (page.stem in long))
        for page in PAGES
    ]
    return pytest.mark.parametrize("page", cases)


def test_there_are_vignettes():
    assert PAGES


@pages(long=LONG)
def test_output_and_figures_are_up_to_date(page, tmp_path):
    text = page.read_text()
    fresh = TOOL["vignette"](text, tmp_path)
    changed = difflib.unified_diff(text.splitlines(), fresh.splitlines(), "shown", "run", n=0)
    assert fresh == text, "run `make refresh`:\n" + "\n".join(changed)
    assert TOOL["figures"](text)
    for file in TOOL["figures"](text):
        made = tmp_path / file
        assert made.is_file(), f"{file} is shown, but no code makes it"
        assert made.read_bytes().startswith(b"\x89PNG")


@pages()
def test_figures_are_there_and_small(page):
    for file in TOOL["figures"](page.read_text()):
        assert (page.parent / file).stat().st_size < LARGEST_FIGURE


@pages()
def test_every_figure_is_shown(page):
    text = page.read_text()
    saved = re.findall(r"savefig\(\s*\"([^\"]+)\"", text)
    assert sorted(saved) == sorted(TOOL["figures"](text))


def numbers(text, head, mark):
    """The numbers that stand at the beginning of lines of a section."""
    section = re.search(rf"^## {head}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    assert section, f"no section {head}"
    return [int(n) for n in re.findall(mark, section[1], re.MULTILINE)]


@pages()
def test_every_exercise_has_a_solution(page):
    text = page.read_text()
    exercises = numbers(text, "Exercises", r"^(\d+)\. ")
    assert 3 <= len(exercises) <= 5
    assert exercises == list(range(1, len(exercises) + 1))
    assert numbers(text, "Solutions", r"^\*\*(\d+)\.\*\* ") == exercises


def test_links_between_vignettes_lead_somewhere():
    for page in [*PAGES, ROOT / "vignettes" / "README.md"]:
        prose = TOOL["CODE_AND_OUTPUT"].sub("", page.read_text())
        for target in re.findall(r"\]\(([^)#:]+)\)", prose):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_overview_has_every_vignette():
    overview = (ROOT / "vignettes" / "README.md").read_text()
    for page in PAGES:
        assert f"({page.name})" in overview


def test_output_is_put_below_the_code(tmp_path):
    text = "```python\nx = 1\n```\n\nThen:\n\n```python\nprint(x + 1)\n```\n\n```text\n3\n```\n"
    fresh = TOOL["vignette"](text, tmp_path)
    assert fresh == text.replace("\n3\n", "\n2\n")
    assert TOOL["vignette"](text.replace("\n```text\n3\n```\n", ""), tmp_path) == fresh


def test_warnings_are_shown(tmp_path):
    code = "```python\nimport warnings\n\nwarnings.warn('Mind.', UserWarning)\n```\n"
    assert TOOL["vignette"](code, tmp_path) == f"{code}\n```text\nUserWarning: Mind.\n```\n"
