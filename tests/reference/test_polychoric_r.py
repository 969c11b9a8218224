"""Latent correlations against live R: psych::polychoric and lavaan::lavCor."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dtstat.dependence.polychoric import latent_correlation_matrix

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

# psych locates the maximum by `optimize` with a tolerance of 1.2e-4 in rho.
PSYCH_TOL = 2e-4
# lavaan's optimiser stops at relative changes of 1e-10 in the likelihood, about 1e-6 in rho.
LAVAAN_TOL = 2e-6

ITEMS = "library(psychTools); d <- bfi[, 1:25]"
COMPLETE = f"{ITEMS}; d <- d[complete.cases(d), ]"
MIXED = """
set.seed(11); n <- 500; f <- rnorm(n)
L <- sapply(c(.8, .7, .6, -.5, .9, .4), function(l) l * f + sqrt(1 - l^2) * rnorm(n))
d <- data.frame(five = cut(L[, 1], c(-Inf, -1.5, -.5, .2, 1, Inf), labels = FALSE),
                rare = as.integer(L[, 2] > .8),
                three = cut(L[, 3], c(-Inf, -.2, .9, Inf), labels = FALSE),
                common = as.integer(L[, 4] > -1),
                wide = 100 + 15 * L[, 5], narrow = L[, 6] / 10)
ordered <- c("five", "rare", "three", "common")
"""
MIXED_KINDS = ["ordinal", "binary", "ordinal", "binary", "continuous", "continuous"]
EMPTY_CELL = """
cells <- c(20, 30, 0, 50)
d <- data.frame(x = rep(c(0, 0, 1, 1), cells), y = rep(c(0, 1, 0, 1), cells))
ordered <- c("x", "y")
"""


def run(script: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Data frame ``d`` and correlation matrix ``r`` that an R script leaves behind."""
    data, result = folder / "data.csv", folder / "result.csv"
    save = (
        f'\nwrite.csv(d, "{data.as_posix()}", row.names = FALSE, na = "")'
        f'\nwrite.csv(unclass(r), "{result.as_posix()}", row.names = FALSE)'
    )
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", script + save], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return tuple(pd.read_csv(path).to_numpy(dtype=float) for path in (data, result))


@pytest.mark.parametrize("data", [COMPLETE, ITEMS], ids=["complete", "missing"])
def test_equals_psych_polychoric(data: str, tmp_path: Path) -> None:
    script = f"options(mc.cores = 1); {data}; r <- psych::polychoric(d)$rho"
    values, expected = run(script, tmp_path)
    ours = latent_correlation_matrix(values, ["ordinal"] * 25)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=PSYCH_TOL)


@pytest.mark.parametrize(
    ("data", "missing"), [(COMPLETE, "listwise"), (ITEMS, "pairwise")], ids=["complete", "missing"]
)
def test_equals_lavaan_polychoric(data: str, missing: str, tmp_path: Path) -> None:
    script = f'{data}; r <- lavaan::lavCor(d, ordered = names(d), missing = "{missing}")'
    values, expected = run(script, tmp_path)
    ours = latent_correlation_matrix(values, ["ordinal"] * 25)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=LAVAAN_TOL)


def test_mixed_items_equal_lavaan(tmp_path: Path) -> None:
    values, expected = run(f"{MIXED} r <- lavaan::lavCor(d, ordered = ordered)", tmp_path)
    ours = latent_correlation_matrix(values, MIXED_KINDS)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=LAVAAN_TOL)


def test_polyserial_with_missing_rows_equals_lavaan(tmp_path: Path) -> None:
    holes = "for (j in seq_along(d)) d[sample(n, 50), j] <- NA"
    script = f'{MIXED} {holes}; r <- lavaan::lavCor(d, ordered = ordered, missing = "pairwise")'
    values, expected = run(script, tmp_path)
    ours = latent_correlation_matrix(values, MIXED_KINDS)
    # Row by row of the ordinal items: lavaan's estimate for two continuous items with missing rows
    # is not the Pearson correlation of their common rows.
    np.testing.assert_allclose(ours[:4], expected[:4], rtol=0, atol=LAVAAN_TOL)


def test_empty_cell_of_a_two_by_two_table_is_filled_as_in_lavaan(tmp_path: Path) -> None:
    values, expected = run(f"{EMPTY_CELL} r <- lavaan::lavCor(d, ordered = ordered)", tmp_path)
    ours = latent_correlation_matrix(values, ["binary", "binary"])
    np.testing.assert_allclose(ours, expected, rtol=0, atol=LAVAAN_TOL)
