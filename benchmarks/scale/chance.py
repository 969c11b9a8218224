"""Very many items of which all, or some, belong to no factor: what a fit makes of chance."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.scale.fits import PER_FACTOR, survey, truth
from dtstat.core.errors import EstimationWarning, silenced

INDEPENDENT = ((400, 100), (1_000, 200), (1_100, 50), (1_100, 100), (1_100, 200), (1_100, 1_000))
INDEPENDENT += ((2_000, 100), (2_000, 500), (5_000, 200))
SETS = 40
AMONG = (  # items of factors, items of none, rows
    (900, 100, 300),
    (500, 500, 300),
    (200, 800, 300),
    (1_000, 100, 300),
    (1_000, 500, 300),
    (1_000, 1_000, 300),
    (1_000, 1_000, 100),
    (500, 1_500, 300),
    (200, 1_800, 300),
)
AMONG_SETS = 5


def independent(report: Report) -> None:
    """Count samples of independent items in which factors are found."""
    rows = []
    for p, n in INDEPENDENT:
        found = []
        for seed in range(SETS):
            X = np.random.default_rng([p, n, seed]).standard_normal((n, p))
            if seed % 2:
                X = np.clip(np.round(X + 3), 1, 5)
            with silenced(EstimationWarning):
                found.append(dt.fit(X).n_factors)
        rows.append((p, n, SETS, sum(k > 0 for k in found), max(found)))
        print(rows[-1], flush=True)
    report.heading("No factors")
    columns = ["items", "rows", "samples", "with factors", "most factors"]
    title = "Independent items, every second sample rounded to five categories"
    report.table(pd.DataFrame(rows, columns=columns).astype(str), title)


def among(report: Report) -> None:
    """Add items of no factor to a survey, and see what is found of its factors."""
    rows = []
    for p, more, n in AMONG:
        found = []
        for seed in range(1, AMONG_SETS + 1):
            noise = np.random.default_rng([p, more, n, seed]).standard_normal((n, more))
            with silenced(EstimationWarning):
                fit = dt.fit(np.hstack([survey(p, n, seed), noise]))
            kept = fit.support.any(axis=1)[p:].mean()
            names = fit.item_names[:p]
            own = fit.support[:p]
            own = dt.Structure(own[:, own.any(axis=0)], names) if own.any() else None
            f1 = 0.0 if own is None else dt.compare(own, truth(p, names)).f1
            found.append((fit.n_factors, f1, kept))
        k, f1, kept = np.array(found).T
        counts = f"{int(k.min())} to {int(k.max())}"
        rows.append((str(p), str(more), str(n), p // PER_FACTOR, counts, f1.mean(), kept.mean()))
        print(rows[-1], flush=True)
    report.heading("Factors among items that belong to none")
    columns = ["items of factors", "of none", "rows", "factors", "found", "F1", "of none, kept"]
    title = f"{AMONG_SETS} samples each; F1 of the items of factors alone"
    report.table(pd.DataFrame(rows, columns=columns).astype({"factors": str}), title)
    report.line(
        "`of none, kept`: share of the items that belong to no factor and were given one. Where "
        "they are most of the items, they pull the levels of the tree apart: leave out what is no "
        "item of a scale, or ask for the number of factors."
    )
