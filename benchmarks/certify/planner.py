"""Does the number of people planned for certificates keep its promise: fresh simulations."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from dtstat.trust.plan import planned_call
from dtstat.trust.recovery import recovery_events, rows_for_recovery

DRAWS, FRESH = 2000, 2000
SURVEYS = (
    ("3 x 4, .7, phi .3, Pearson", {"items_per_factor": 4, "factor_correlation": 0.3}, "pearson"),
    ("3 x 4, .7, phi .3, Spearman", {"items_per_factor": 4, "factor_correlation": 0.3}, "spearman"),
    ("3 x 3, .8, phi .2, five points", {"items_per_factor": 3, "loading": 0.8,
     "factor_correlation": 0.2, "levels": 5}, "spearman"),
)  # fmt: skip


def run(report: Report) -> None:
    """Print planned n and the rate of certification it gives."""
    report.heading("Planned number of people, tried out")
    rows = []
    for name, arguments, measure in SURVEYS:
        for error in (0.05, 0.2):
            plan = dt.plan(
                n_factors=3, **arguments, measure=measure, error=error, n_draws=0, seed=1
            )
            happens = recovery_events(plan.design, planned_call(plan))["certified"]
            curve = rows_for_recovery(happens, 1 - error, 300, DRAWS, 1)
            assert curve.n is not None
            fresh = [happens(curve.n, np.random.default_rng([9, k])) for k in range(FRESH)]
            rows.append(
                {
                    "survey": name,
                    "wanted": 1 - error,
                    "n": curve.n,
                    "low": round(curve.low),
                    "high": round(curve.high),
                    "certified": float(np.mean(fresh)),
                }
            )
            print(rows[-1], flush=True)
    frame = pd.DataFrame(rows)
    report.table(frame, f"{FRESH} fresh surveys per row", 3)
    off = (frame["certified"] - frame["wanted"]).abs().max()
    report.line(f"Largest distance of a rate from what was wanted: {off:.3f}.")
