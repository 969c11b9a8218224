"""Maximum likelihood of factor models with given structure on rank correlations."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report, best_of
from dtstat.factors.copula import fit_factors, latent_correlations

CASES = {(20, 4): 0.01, (135, 27): 0.1, (375, 25): 0.3, (1500, 100): 10.0}  # wanted: seconds
ROWS = 2000


def run(report: Report) -> None:
    """Print seconds a candidate, by numbers of items and factors."""
    report.heading("Copula factor models")
    rows = []
    for (p, d), wanted in CASES.items():
        data = dt.simulate("clusters", ROWS, n_factors=d, items_per_factor=p // d, seed=1)
        support = data.structure.support
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of smoothing: 1500 items, 2000 rows
            R = latent_correlations(dt.dependence(data.data)).R
        seconds, found = best_of(partial(fit_factors, R, ROWS, support))
        rows.append(
            {
                "items": len(R),
                "factors": d,
                "steps": found.n_iterations,
                "seconds": seconds,
                "wanted under": wanted,
                "reached": "yes" if seconds < wanted else "NO",
                "largest error of Φ": float(
                    np.abs(found.factor_correlations - data.factor_correlations).max()
                ),
            }
        )
    report.table(pd.DataFrame(rows), f"Seconds a structure, n = {ROWS}", 3)
