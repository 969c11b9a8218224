"""Descriptions against live R: psych::describe and stats::mahalanobis."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

CODE = """
b <- psychTools::bfi[, 1:25]
d <- psych::describe(b)
whole <- na.omit(b)
list(
  x = as.matrix(b),
  d = as.matrix(as.data.frame(d)[, c("n", "mean", "sd", "min", "max", "skew", "kurtosis")]),
  m = unname(stats::mahalanobis(whole, colMeans(whole), cov(whole))),
  p = unname(pchisq(stats::mahalanobis(whole, colMeans(whole), cov(whole)), 25, lower.tail = FALSE))
)
"""


def test_items_equal_psych_and_distances_equal_stats(run_r):
    theirs = run_r(CODE)
    frame = pd.DataFrame(np.array(theirs["x"], dtype=float))
    frame.columns = [f"i{k}" for k in range(25)]
    ours = dt.describe(frame).items[["n", "mean", "sd", "min", "max", "skew", "kurtosis"]]
    np.testing.assert_allclose(ours.to_numpy(float), np.array(theirs["d"], dtype=float), rtol=1e-9)
    whole = dt.describe(frame.dropna()).people
    np.testing.assert_allclose(whole["distance"], theirs["m"], rtol=1e-9)
    np.testing.assert_allclose(whole["distance_p"], theirs["p"], rtol=1e-7)
