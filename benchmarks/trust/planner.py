"""Does the planner keep its promise: the n of several plans in fresh simulations."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from dtstat.trust.plan import planned_call
from dtstat.trust.recovery import recovery_events

PLANS = 5
FRESH = {"graph": 400, "factors": 400, "fit": 200, "certified": 200}  # of each plan
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
    """Print planned n and the rates of recovery they give."""
    report.heading("Planned number of people, tried out")
    rows = []
    for name, arguments in SURVEYS:
        for error in (0.05, 0.2):
            plans = [dt.plan(**arguments, error=error, seed=seed) for seed in range(1, PLANS + 1)]
            work = recovery_events(plans[0].design, planned_call(plans[0]))
            for target, recovers in work.items():
                n = [plan.simulated[target].n for plan in plans]
                fresh = range(FRESH[target])
                rates = [
                    np.mean([recovers(m, np.random.default_rng([7, m, k])) for k in fresh])
                    for m in n
                ]
                rows.append(
                    {
                        "survey": name,
                        "wanted": 1 - error,
                        "target": target,
                        "n": " ".join(map(str, n)),
                        "recovered": float(np.mean(rates)),
                        "sd": float(np.std(rates, ddof=1)),
                    }
                )
                print(rows[-1], flush=True)
    frame = pd.DataFrame(rows)
    counts = ", ".join(f"{target} {count}" for target, count in FRESH.items())
    report.table(frame, f"{PLANS} plans a row, fresh surveys of each: {counts}; Spearman", 3)
    off = (frame["recovered"] - frame["wanted"]).abs().max()
    report.line(f"Largest distance of a mean rate from what was wanted: {off:.3f}.")
