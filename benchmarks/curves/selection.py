"""The choice of a structure with splines: paper's maps, non-monotone items, ratings."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.curves.recovery import DESIGNS
from benchmarks.harness import Report

CASES = {
    "paper's maps": {},
    "one item in five not monotone": {"maps": "one_in_five"},
    "five-point ratings": {"levels": 5},
}


def run(report: Report, sets: int) -> None:
    """Print F1 and seconds a data set."""
    report.heading("Choice of a structure with splines")
    rows = []
    for case, options in CASES.items():
        measure = "maximal" if "maps" in options else "spearman"
        rows += [
            {"data": case, "measure": measure, **_row(d, options, measure, sets)} for d in DESIGNS
        ]
    report.table(pd.DataFrame(rows), f"n = 5000, barcode search, eBIC, {sets} data sets a row", 3)
    report.line("Wanted: F1 .995 in 5 s; not monotone .98 in 15 s; ratings .98.")


def _row(design: str, options: dict[str, object], measure: str, sets: int) -> dict[str, object]:
    f1, seconds = [], []
    for seed in range(1, sets + 1):
        data = dt.simulate(design, 5000, seed=seed, **options)  # type: ignore[arg-type]
        start = time.perf_counter()
        fit = dt.fit(data.data, measure, estimator="spline", seed=seed)
        seconds.append(time.perf_counter() - start)
        f1.append(dt.compare(fit.structure, data.structure).f1)
    return {
        "design": design,
        "F1": float(np.mean(f1)),
        "exactly right": float(np.mean(np.array(f1) == 1)),
        "seconds": float(np.median(seconds)),
        "at most": float(np.max(seconds)),
    }
