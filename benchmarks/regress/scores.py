"""Whether score ± 1.96 sd has the truth in 95 % of people, by method and kind of answers."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.inference.designs import answer

ROWS, PHI = 10_000, 0.5
METHODS = ("regression", "eap", "bartlett")
KINDS = ("normal", "five-point", "skewed five-point", "binary 50/50", "binary 15/85")


def run(report: Report) -> None:
    """Print shares of people, two factors of five items."""
    warnings.simplefilter("ignore")
    structure = dt.Structure(np.kron(np.eye(2), np.ones((5, 1))) > 0)
    rows = []
    for loading in (0.6, 0.9):
        for kind in KINDS:
            rng = np.random.default_rng([int(10 * loading), KINDS.index(kind)])
            F = rng.standard_normal((ROWS, 2)) @ np.linalg.cholesky([[1, PHI], [PHI, 1]]).T
            noise = rng.standard_normal((ROWS, 10))
            X = loading * np.repeat(F, 5, axis=1) + np.sqrt(1 - loading**2) * noise
            data = answer(X, kind)
            fit = dt.fit(data, structure=structure)
            row: dict[str, object] = {"answers": kind, "loading": loading}
            for method in METHODS:
                found = fit.factor_scores(data, method, sd=True).to_numpy()
                score, sd = found[:, :2], found[:, 2:]
                row[f"{method}: covered"] = np.mean(np.abs(score - F) < 1.96 * sd)
                row[f"{method}: sd / error"] = np.sqrt(np.mean(sd**2) / np.mean((score - F) ** 2))
            rows.append(row)
    report.heading("Scores and their standard deviations")
    report.table(pd.DataFrame(rows), f"{ROWS} people, two factors of five items", 3)
    report.line("sd / error: root mean square of the stated sd over that of score less truth")
