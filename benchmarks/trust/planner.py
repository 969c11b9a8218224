"""Does the planner keep its promise: its n in fresh simulations."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from dtstat.trust.plan import planned_call
from dtstat.trust.recovery import recovery_events

FRESH = 2000
SURVEYS = (
    (
        "3 x 4, loading .7, phi .3",
        {"n_factors": 3, "items_per_factor": 4, "factor_correlation": 0.3},
    ),
    ("5 x 5, loading .7, phi .3", {"n_factors": 5, "factor_correlation": 0.3}),
    (
        "4 x 5, loading .6, five points",
        {"n_factors": 4, "loading": 0.6, "factor_correlation": 0.2, "levels": 5},
    ),
)


def run(report: Report) -> None:
    """Print planned n and the rate of recovery it gives."""
    report.heading("Planned number of people, tried out")
    rows = []
    for name, arguments in SURVEYS:
        for error in (0.05, 0.2):
            plan = dt.plan(**arguments, error=error, seed=1)
            work = recovery_events(plan.design, planned_call(plan))
            for target, curve in plan.simulated.items():
                assert curve.n is not None
                fresh = [work[target](curve.n, np.random.default_rng([7, k])) for k in range(FRESH)]
                rows.append(
                    {
                        "survey": name,
                        "wanted": 1 - error,
                        "target": target,
                        "n": curve.n,
                        "low": round(curve.low),
                        "high": round(curve.high),
                        "recovered": float(np.mean(fresh)),
                    }
                )
                print(rows[-1], flush=True)
    frame = pd.DataFrame(rows)
    report.table(frame, f"{FRESH} fresh surveys a row, Spearman", 3)
    off = (frame["recovered"] - frame["wanted"]).abs().max()
    report.line(f"Largest distance of a rate from what was wanted: {off:.3f}.")
