"""Statistics and Γ of WLSMV against live lavaan."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dtstat.sem.ordinal_moments import ordinal_moments

pytestmark = pytest.mark.against_r

# lavaan's optimiser stops within about 1e-6 of the best rho.
STATISTICS_TOL = 2e-6
# Relative to the standard deviations of the two statistics; Γ moves with rho and no faster.
GAMMA_TOL = 1e-5

BFI = """
d <- psychTools::bfi[, 1:10]; d <- d[complete.cases(d), ]
ordered <- names(d)
"""
BINARY = """
set.seed(3); n <- 700; f <- rnorm(n)
cuts <- c(-1, -.5, 0, .3, .8, 2)
d <- as.data.frame(sapply(cuts, function(a) as.integer(.8 * f + .6 * rnorm(n) > a)))
ordered <- names(d)
"""
EMPTY_CELL = BINARY + "d$V6[d$V1 == 0] <- 0"
# Continuous items without outliers: with them lavaan stops short of a polyserial maximum.
MIXED = """
set.seed(4); n <- 600; f <- rnorm(n)
L <- sapply(c(.8, .7, .6, .5, .9), function(l) l * f + sqrt(1 - l^2) * rnorm(n))
d <- data.frame(four = cut(L[, 1], c(-Inf, -1, 0, 1.2, Inf), labels = FALSE),
                wide = 3 + 20 * L[, 2], two = as.integer(L[, 3] > .4), flat = pnorm(L[, 4]) / 10,
                five = cut(L[, 5], c(-Inf, -1.5, -.5, .2, 1, Inf), labels = FALSE))
ordered <- c("four", "two", "five")
"""
FIT = """
model <- paste("f =~", paste(names(d), collapse = " + "))
fit <- suppressWarnings(lavaan::cfa(model, d, ordered = ordered, estimator = "WLSMV"))
list(d = as.matrix(d), s = fit@SampleStats@WLS.obs[[1]], gamma = fit@SampleStats@NACOV[[1]],
     weights = fit@SampleStats@WLS.VD[[1]], is_mean = grepl("~1$", rownames(lavaan::lavInspect(
     fit, "gamma"))), ordered = names(d) %in% ordered)
"""


@pytest.mark.parametrize(
    "data", [BFI, BINARY, EMPTY_CELL, MIXED], ids=["bfi", "binary", "empty cell", "mixed"]
)
def test_equals_lavaan(data: str, run_r) -> None:
    theirs = {name: np.array(value) for name, value in run_r(data + FIT).items()}
    kinds = ["ordinal" if is_ordered else "continuous" for is_ordered in theirs["ordered"]]
    ours = ordinal_moments(theirs["d"].astype(float), kinds)
    sign = 1 - 2 * theirs["is_mean"]  # lavaan stores the negative of a mean
    np.testing.assert_allclose(
        ours.statistics * sign, theirs["s"], rtol=STATISTICS_TOL, atol=STATISTICS_TOL
    )
    gamma = ours.gamma * np.outer(sign, sign)
    sd = np.sqrt(np.diag(theirs["gamma"]))
    assert np.abs((gamma - theirs["gamma"]) / np.outer(sd, sd)).max() < GAMMA_TOL
    np.testing.assert_allclose(ours.weights, theirs["weights"], rtol=GAMMA_TOL)


def test_labels_are_lavaans(run_r, tmp_path) -> None:
    path = (tmp_path / "labels.csv").as_posix()
    save = f'write.csv(rownames(lavaan::lavInspect(fit, "gamma")), "{path}", row.names = FALSE)\n'
    answer = run_r(MIXED + FIT.replace("list(d", save + "list(d"))
    kinds = ["ordinal" if is_ordered else "continuous" for is_ordered in answer["ordered"]]
    names = ["four", "wide", "two", "flat", "five"]
    ours = ordinal_moments(np.array(answer["d"], dtype=float), kinds, names)
    assert list(ours.labels) == pd.read_csv(path)["x"].tolist()
