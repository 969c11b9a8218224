"""Standard errors and tests of ordered and continuous items together, with two estimates of Γ.

lavaan estimates the covariance Γ of the statistics by products of normal scores; dtstat takes the
derivatives themselves for models with continuous items, so that these need not be normal. With
products dtstat equals lavaan on every mixed model of the catalog. Here both are put beside the
spread of estimates over samples: three ordered and three continuous items of two factors, whose
residuals and factor are normal, or skewed (exponential).
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import ROOT, Report
from dtstat.core.arrays import FloatArray
from dtstat.core.errors import silenced
from dtstat.core.fit_indices import p_value
from dtstat.dependence.ordinal_scores import Derivative
from dtstat.sem.discrepancy import PROCEDURES
from dtstat.sem.estimate import estimate_model
from dtstat.sem.least_squares import LeastSquares, OrderedSample
from dtstat.sem.model import build_model
from dtstat.sem.ordinal_moments import ordinal_moments

RESULTS = ROOT / "benchmarks" / "results" / "lavaan_mixed.md"
MODEL = "F =~ a1 + a2 + a3\nG =~ c1 + c2 + c3"
NAMES = ("a1", "a2", "a3", "c1", "c2", "c3")
SHOWN = ("F =~ a2", "G =~ c2", "G ~~ G", "F ~~ G", "a1 | t1", "c1 ~ 1", "c1 ~~ c1")
SAMPLES, ROWS = 1000, 500


def sample(seed: int, skewed: bool) -> FloatArray:
    """Draw rows: a1 to a3 in three categories, c1 to c3 continuous."""
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(ROWS, 1))
    own = rng.exponential(size=(ROWS, 4)) - 1 if skewed else rng.normal(size=(ROWS, 4))
    g = 0.5 * f + np.sqrt(0.75) * own[:, :1]
    behind = 0.7 * f + np.sqrt(0.51) * rng.normal(size=(ROWS, 3))
    return np.column_stack([np.digitize(behind, [-0.5, 0.8]), g + 0.8 * own[:, 1:]])


def fit(values: FloatArray, derivative: Derivative) -> tuple[pd.DataFrame, float]:
    """Estimates with standard errors, and the p value of the scaled and shifted test."""
    kinds = ["ordinal"] * 3 + ["continuous"] * 3
    moments = ordinal_moments(values, kinds, NAMES, derivative)
    model = build_model(MODEL, NAMES, ordered={name: 3 for name in NAMES[:3]})
    one = OrderedSample(moments, np.empty((0, 0)), np.empty(0), ROWS)
    with silenced(dt.DTWarning):
        found = estimate_model(LeastSquares(model, [one], PROCEDURES["wlsmv"]))
    names = [row.name for row in found.model.parameters]
    free = [k for k, row in enumerate(found.model.parameters) if row.free]
    table = pd.DataFrame(
        {"est": found.estimates[free], "se": found.standard_errors[free]},
        index=[names[k] for k in free],
    )
    return table, p_value(found.test.scaled, found.test.df)


def run(_: argparse.Namespace) -> None:
    """Simulate, and write one table for each kind of items."""
    report = Report()
    report.line(
        "# Ordered and continuous items together\n\n"
        "Written by `python -m benchmarks.lavaan mixed`. "
        f"{SAMPLES} samples of {ROWS} rows, `wlsmv`: mean standard error over the standard "
        "deviation of the estimates (which is uncertain by some 2 %), with Γ by products of normal "
        "scores, as in lavaan, and by derivatives, as in dtstat; and the share of samples in which "
        "the true model is rejected at 5 %.\n"
    )
    for skewed, title in ((False, "Normal items"), (True, "Skewed continuous items")):
        rows = [_line(derivative, skewed) for derivative in ("product", "observed")]
        report.table(pd.DataFrame(rows), title)
    RESULTS.write_text("\n".join(report.parts) + "\n")


def _line(derivative: Derivative, skewed: bool) -> dict[str, object]:
    """Sum up all samples."""
    found = [fit(sample(seed, skewed), derivative) for seed in range(SAMPLES)]
    est, se = (
        pd.concat([table[column] for table, _ in found], axis=1).loc[list(SHOWN)]
        for column in ("est", "se")
    )
    name = "products (lavaan)" if derivative == "product" else "derivatives (dtstat)"
    ratios = {str(k): f"{v:.3f}" for k, v in (se.mean(axis=1) / est.std(axis=1)).items()}
    return {"Γ": name, **ratios, "rejected": f"{np.mean([p < 0.05 for _, p in found]):.3f}"}
