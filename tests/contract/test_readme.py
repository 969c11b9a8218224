"""What the README shows is what the code does."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


@pytest.mark.against_r
def test_outputs_are_up_to_date(require_r):
    refreshed = runpy.run_path(str(ROOT / "tools" / "refresh_docs.py"))["refreshed"]
    assert refreshed(README) == README, "run `make docs`"
