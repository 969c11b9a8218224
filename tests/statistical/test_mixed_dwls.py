"""Standard errors of ordered and skewed continuous items together, against a bootstrap."""

import warnings

import numpy as np
import pandas as pd

import dtstat as dt

MODEL = "A =~ a1 + a2 + a3\nC =~ c1 + c2 + c3"
ORDERED = ["a1", "a2", "a3"]
N_BOOT = 150
# A standard deviation of 150 draws varies by 1/√300 = 6 %; four times that, for skewed statistics.
MARGIN = 0.25


def skewed(n=500, seed=1):
    rng = np.random.default_rng(seed)
    F = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], n, method="cholesky")
    A = np.digitize(0.8 * F[:, [0]] + 0.6 * rng.normal(size=(n, 3)), [-1, 0, 0.9])
    C = 2 + 0.7 * F[:, [1]] + rng.exponential(size=(n, 3))
    return pd.DataFrame(np.hstack([A, C]), columns=[*ORDERED, "c1", "c2", "c3"])


def test_standard_errors_of_mixed_items_are_those_of_a_bootstrap():
    data, rng = skewed(), np.random.default_rng(2)
    fit = dt.cfa(data, MODEL, ordered=ORDERED)
    raw, standard = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dt.DTWarning)
        for _ in range(N_BOOT):
            rows = data.iloc[rng.integers(0, len(data), len(data))].reset_index(drop=True)
            again = dt.cfa(rows, MODEL, ordered=ORDERED)
            raw.append(again.parameters["est"])
            standard.append(again.standardized["est.std"])
    for table, draws in ((fit.parameters, raw), (fit.standardized, standard)):
        free = (table["se"] > 1e-6).to_numpy()
        ratio = table["se"].to_numpy()[free] / np.std(np.array(draws), axis=0)[free]
        worst = table[free].assign(ratio=ratio)[["lhs", "op", "rhs", "se", "ratio"]]
        assert np.all(np.abs(np.log(ratio)) < MARGIN), worst.to_string()
