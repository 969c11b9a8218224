"""Bias and coverage of latent regression, beside least squares on factor scores."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.regress.designs import ANSWERS, KEYS, TRUTH, draw

SETS, ROWS = 500, (200, 500, 1000)
STRUCTURE = dt.Structure.from_keys(KEYS)


def run(report: Report) -> None:
    """Print the mean of coefficients, their errors, and how often intervals have the truth."""
    warnings.simplefilter("ignore")
    report.heading("Regression with factors, and with factor scores")
    for answers in ANSWERS:
        rows = [row for n in ROWS for row in _cell(answers, n)]
        title = f"{answers}: {SETS} data sets each; intervals of 95 %"
        report.table(pd.DataFrame(rows), title, 3)


def _cell(answers: str, n: int) -> list[dict[str, object]]:
    found: dict[tuple[str, str, str], list[tuple[float, float, bool]]] = {}
    for k in range(SETS):
        data, _ = draw(n, answers, np.random.default_rng([ANSWERS.index(answers), n, k]))
        fit = dt.fit(data[list(STRUCTURE.item_names)], structure=STRUCTURE)
        scored = data.join(fit.factor_scores(data))
        for formula, truth in TRUTH.items():
            made = {
                "regress": dt.regress(formula, fit, data),
                "scores": smf.ols(formula, scored).fit(),
            }
            for way, result in made.items():
                limits = result.conf_int()
                for name, value in truth.items():
                    inside = bool(limits[0][name] <= value <= limits[1][name])
                    key = (formula, name, way)
                    one = (result.params[name], result.bse[name], inside)
                    found.setdefault(key, []).append(one)
    rows = []
    for formula, truth in TRUTH.items():
        for name, value in truth.items():
            row: dict[str, object] = {
                "formula": formula,
                "n": n,
                "coefficient": name,
                "truth": value,
            }
            for way in ("regress", "scores"):
                params, errors, inside = np.array(found[formula, name, way], dtype=float).T
                row |= {
                    f"{way}: mean": params.mean(),
                    "covered" if way == "regress" else "scores: covered": inside.mean(),
                }
                if way == "regress":
                    row |= {"sd": params.std(ddof=1), "median error": np.median(errors)}
            rows.append(row)
    return rows
