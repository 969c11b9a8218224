"""Whether loadings of ratings are those of the variables behind them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.inference.designs import CUTS, answer

ROWS, TRUTH, PHI = 20_000, 0.8, 0.4


def run(report: Report) -> None:
    """Print mean loading and factor correlation, 3 x 4 items of 20,000 rows."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(20_000)
    Phi = np.full((3, 3), PHI)
    np.fill_diagonal(Phi, 1.0)
    z = rng.standard_normal((ROWS, 3)) @ np.linalg.cholesky(Phi).T
    noise = rng.standard_normal((ROWS, 12))
    X = TRUTH * np.repeat(z, 4, axis=1) + np.sqrt(1 - TRUTH**2) * noise
    rows = []
    for kind in ("normal", *CUTS):
        fit = dt.fit(answer(X, kind))
        loadings = fit.loadings.to_numpy()
        rows.append(
            {
                "answers": kind,
                "factors": fit.n_factors,
                "mean loading": loadings[loadings != 0].mean(),
                "of ranks": fit.estimate.loadings[fit.support].mean(),
                "factor correlation": fit.factor_correlations.to_numpy()[0, 1:].mean(),
            }
        )
    report.heading("Loadings of ratings")
    report.table(pd.DataFrame(rows), f"Truth {TRUTH} and {PHI}, {ROWS} rows", 3)
