"""What resampling the whole procedure costs, beside calling ``fit`` in a loop."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.surveys.keyed import folder, surveys

RESAMPLES = 200


def run(report: Report) -> None:
    """Time resamples of bfi and count how many structures are the same."""
    report.heading("200 bootstrap resamples of bfi (2800 people, 25 items, gaps)")
    data = next(survey.data for survey in surveys(folder()) if survey.name == "bfi")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = dt.fit(data)
        dt.stability(data, 2, fit, seed=2)  # loads compiled code
        seconds, found = {}, {}
        for jobs in (1, 2):
            dt.stability(data, 4, fit, seed=2, n_jobs=jobs)  # starts workers
            start = time.perf_counter()
            found[jobs] = dt.stability(data, RESAMPLES, fit, seed=1, n_jobs=jobs)
            seconds[jobs] = time.perf_counter() - start
        start = time.perf_counter()
        same = sum(
            np.array_equal(_fit_resample(data, k), support)
            for k, support in enumerate(found[1].main.supports)
        )
        loop = time.perf_counter() - start
    equal = all(
        np.array_equal(a, b)
        for a, b in zip(found[1].main.supports, found[2].main.supports, strict=True)
    )
    rows = [
        {"way": "fit() in a loop", "seconds": loop, "ratio": 1.0},
        {"way": "stability, 1 worker", "seconds": seconds[1], "ratio": loop / seconds[1]},
        {"way": "stability, 2 workers", "seconds": seconds[2], "ratio": loop / seconds[2]},
    ]
    report.table(pd.DataFrame(rows), f"{RESAMPLES} resamples")
    report.line(
        f"Structures that are the same as fit()'s: {same} of {RESAMPLES}; one and two workers "
        f"{'agree' if equal else 'DISAGREE'}."
    )


def _fit_resample(data: pd.DataFrame, k: int) -> np.ndarray:
    rng = np.random.default_rng(np.random.SeedSequence(1, spawn_key=(k,)))
    rows = rng.choice(len(data), len(data), replace=True)
    return dt.fit(data.iloc[rows]).support
