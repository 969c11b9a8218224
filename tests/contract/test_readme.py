"""What the README shows is what the code does."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
LARGEST_PICTURE = 400_000  # bytes


@pytest.mark.against_r
def test_outputs_are_up_to_date(require_r):
    refreshed = runpy.run_path(str(ROOT / "tools" / "refresh_docs.py"))["refreshed"]
    assert refreshed(README) == README, "run `make docs`"


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
        assert old[16:24] == new[16:24], f"{file} has another size: run `make docs`"
