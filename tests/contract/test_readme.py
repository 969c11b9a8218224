"""What the README shows is what the code does."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import dtstat as dt

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_outputs_are_up_to_date():
    refreshed = runpy.run_path(str(ROOT / "tools" / "refresh_docs.py"))["refreshed"]
    assert refreshed(README) == README, "run `make docs`"


@pytest.mark.against_r
def test_r_example_runs(require_r, tmp_path):
    code = re.findall(r"```r\n(.*?)```", README, re.DOTALL)[0]
    dt.load_dataset("holzinger_swineford_9").to_csv(tmp_path / "answers.csv", index=False)
    done = subprocess.run(
        ["Rscript", "-e", code],
        cwd=tmp_path,
        env={**os.environ, "RETICULATE_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Dependence thresholding: 3 factors behind 9 items" in done.stdout
    assert "=~ x7 + x8 + x9" in done.stdout
