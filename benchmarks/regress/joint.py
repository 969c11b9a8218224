"""Latent regression beside a structural equation model that is fitted at once."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.regress.designs import KEYS, TRUTH, draw

STRUCTURE = dt.Structure.from_keys(KEYS)
MEASURED = "\n".join(f"{name} =~ {' + '.join(items)}" for name, items in KEYS.items())
REST = {
    "F1 ~ age + C(group) + F2": "F1 ~ age + group + F2\nF2 ~ age + group\nF3 ~ age + group",
    "wage ~ F1 + F2 + age": "wage ~ F1 + F2 + age\nF1 ~ age\nF2 ~ age\nF3 ~ age",
}
COVARIANCES = {
    "F1 ~ age + C(group) + F2": "\nF1 ~~ F3\nF2 ~~ F3",
    "wage ~ F1 + F2 + age": "\nF1 ~~ F2 + F3\nF2 ~~ F3\nwage ~~ 0*F3",
}


def run(report: Report) -> None:
    """Print coefficients and standard errors of both, factors of variance 1."""
    warnings.simplefilter("ignore")
    rows = []
    for n in (500, 2000):
        data, _ = draw(n, "normal", np.random.default_rng(n))
        fit = dt.fit(data[list(STRUCTURE.item_names)], structure=STRUCTURE, estimator="linear")
        for formula, truth in TRUTH.items():
            ours = dt.regress(formula, fit, data)
            model = f"{MEASURED}\n{REST[formula]}{COVARIANCES[formula]}"
            table = dt.sem(data, model, estimator="mlr").parameters
            table = table[(table["op"] == "~") & (table["lhs"] == ours.outcome)].set_index("rhs")
            for name in truth:
                row = table.loc["group" if name.startswith("C(") else name]
                scale = row["std.lv"] / row["est"]
                rows.append(
                    {
                        "n": n,
                        "formula": formula,
                        "coefficient": name,
                        "regress": ours.params[name],
                        "sem": row["std.lv"],
                        "difference": ours.params[name] - row["std.lv"],
                        "error": ours.bse[name],
                        "sem: error": row["se"] * abs(scale),
                    }
                )
    report.heading("Latent regression and a joint model")
    report.table(pd.DataFrame(rows), "Normal answers; sem with robust errors (mlr)", 4)
