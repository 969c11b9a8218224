"""Four estimators of one log-likelihood, against quadrature."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

from benchmarks.curves.fits import of_design
from benchmarks.harness import Report
from dtstat.curves.likelihood import log_likelihood
from dtstat.curves.spline import fit_spline

DRAWS = (100, 1000)
SEEDS = range(5)


def run(report: Report) -> None:
    """Print bias, spread and stated error of the total of 1000 rows."""
    report.heading("The likelihood of 1000 rows")
    split = of_design("v_structure", seed=1)
    support, Phi = split.simulation.structure.support, split.start.factor_correlations
    Z, rng = split.factors(0)
    kinds = np.zeros(len(support), dtype=np.int64)
    model = fit_spline(split.fitted, support, Z, Phi, kinds, rng).model
    exact = log_likelihood(model, split.held, rng, "quadrature").total
    rows = []
    for method in ("importance", "split", "reciprocal"):
        for draws in DRAWS:
            start = time.perf_counter()
            found = [
                log_likelihood(model, split.held, np.random.default_rng(seed), method, draws)
                for seed in SEEDS
            ]
            totals = np.array([one.total for one in found])
            rows.append(
                {
                    "estimator": method,
                    "draws": draws,
                    "off by": float((totals - exact).mean()),
                    "SD": float(totals.std(ddof=1)),
                    "stated error": float(np.mean([one.standard_error for one in found])),
                    "seconds": (time.perf_counter() - start) / len(SEEDS),
                }
            )
    report.table(pd.DataFrame(rows), f"Quadrature: {exact:.1f}; V-structure, {len(SEEDS)} runs", 2)
    report.line("Wanted: importance within 2 of quadrature. reciprocal is the paper's estimator.")
