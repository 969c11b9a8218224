"""The R package as installed, driven from outside: the same numbers, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dtstat as dt

ROOT = Path(__file__).parents[2]
SECONDS = 5  # of work before it is interrupted; any number would do, from 0 on

pytestmark = pytest.mark.against_r


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rlib")
    install = ["R", "CMD", "INSTALL", "--no-docs", "-l", str(folder), str(ROOT / "r-wrapper")]
    subprocess.run(install, capture_output=True, check=True)
    return folder


def start(library, code):
    environment = {**os.environ, "R_LIBS": str(library), "RETICULATE_PYTHON": sys.executable}
    return subprocess.Popen(
        ["Rscript", "--vanilla", "-e", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


def test_r_gives_the_numbers_of_python(require_r, library):
    code = """
    library(dtstat)
    fit <- dt_fit(dt_dataset("likert_survey"))
    cat(sprintf("%a", c(fit$loadings, fit$factor_correlations, fit$fit_measures)), sep = "\\n")
    """
    out, _ = start(library, code).communicate(timeout=120)
    found = [float.fromhex(line) for line in out.split()]
    fit = dt.fit(dt.load_dataset("likert_survey"))
    parts = [fit.loadings.to_numpy(), fit.factor_correlations.to_numpy()]
    expected = [*(x for part in parts for x in part.ravel(order="F")), *fit.fit_measures.values()]
    np.testing.assert_array_equal(found, expected)


def test_ctrl_c_comes_back_to_r(require_r, library, tmp_path):
    """Resampling keeps what is done; other work stops; R and Python go on."""
    file = tmp_path / "pieces.jsonl"
    code = """
    library(dtstat)
    x <- dt_dataset("likert_survey")
    r <- dt_stability(x, n_boot = 2, seed = 1)  # what is compiled once is compiled
    cat("ready\\n"); flush(stdout())
    r <- suppressWarnings(
      dt_stability(x, n_boot = 1e5, seed = 1, progress = FALSE, checkpoint = FILE)
    )
    cat("kept", r$glance$n_done > 0, "\\n"); flush(stdout())
    r <- tryCatch({
        cat("planning\\n"); flush(stdout())
        dt_plan(n_factors = 6, n_draws = 1e5, seed = 1, progress = FALSE)
      },
      interrupt = function(e) "stopped"
    )
    cat(r, nrow(dt_measures()) > 5, "\\n")
    """
    said = []
    with start(library, code.replace("FILE", f'"{file}"')) as process:
        wait_for("ready", process, said)
        while process.poll() is None and (
            not file.exists() or len(file.read_bytes().splitlines()) < 3
        ):
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        wait_for("kept TRUE", process, said)
        wait_for("planning", process, said)
        time.sleep(SECONDS)
        process.send_signal(signal.SIGINT)
        wait_for("stopped TRUE", process, said)
        assert process.wait(timeout=60) == 0


def wait_for(words, process, said):
    """Read what R says until it says these words; if it never does, show what it said."""
    for line in process.stdout:
        said.append(line)
        if words in line:
            return
    pytest.fail(f"R never said {words!r}, but: {''.join(said)}")
