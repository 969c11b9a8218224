"""What the README and the pages of the site show is what the code does."""

import difflib
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
LARGEST_PICTURE = 400_000  # bytes


TOOL = runpy.run_path(str(ROOT / "tools" / "refresh_docs.py"))
PAGES = TOOL["pages"]()


@pytest.mark.against_r
@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_outputs_are_up_to_date(require_r, page):
    text = page.read_text()
    fresh = TOOL["refreshed"](text)
    changed = difflib.unified_diff(text.splitlines(), fresh.splitlines(), "shown", "run", n=0)
    assert fresh == text, "run `make refresh`:\n" + "\n".join(changed)


def test_readme_is_short_and_install_is_near_its_top():
    lines = README.splitlines()
    assert len(lines) <= 250
    assert lines.index("## Install") < 20


def test_walk_is_that_of_the_code(tmp_path):
    tool = ROOT / "tools" / "walk.py"
    subprocess.run([sys.executable, str(tool), str(tmp_path / "walk.md")], check=True)
    fresh, shown = (folder / "walk.md" for folder in (tmp_path, ROOT / "docs"))
    assert fresh.read_text() == shown.read_text(), "run `make refresh`"


def test_pictures_are_made_by_the_tool(tmp_path, chromium_program):
    shown = {Path(file) for file in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)}
    tool = ROOT / "tools" / "readme_pictures.py"
    subprocess.run([sys.executable, str(tool), str(tmp_path)], check=True)
    made = list(tmp_path.glob("*.png"))
    assert {file.name for file in shown} == {file.name for file in made}
    for file, fresh in zip(sorted(shown), sorted(made), strict=True):
        old, new = (ROOT / file).read_bytes(), fresh.read_bytes()
        assert old.startswith(b"\x89PNG")
        assert len(old) < LARGEST_PICTURE
        assert old[16:24] == new[16:24], f"{file} has another size: run `make refresh`"
