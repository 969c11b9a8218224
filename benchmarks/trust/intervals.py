"""How often the intervals of a diagnosis contain the margins of the population."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report

SETS = 200
SURVEYS = (
    ("equal loadings", (4, 4, 0.7, 0.3), 300),
    ("unequal loadings", (3, 3, [0.8, 0.6, 0.7] * 3, 0.2), 500),
    ("margin negative", (3, 4, [0.9, 0.8, 0.4, 0.7] * 3, 0.75), 500),
)


def run(report: Report) -> None:
    """Print coverage and width."""
    report.heading("Intervals of margins")
    rows = []
    for name, arguments, n in SURVEYS:
        design = dt.survey_design(*arguments)
        truth = design.margin("spearman")
        local = np.array([one.value for one in truth.factors])
        whole, factors, width = [], [], []
        for k in range(SETS):
            data = pd.DataFrame(design.draw(n, np.random.default_rng([n, k])))
            data.columns = list(design.structure.item_names)
            fit = dt.fit(data, structure=design.structure)
            found = dt.diagnose(fit, data, n_boot=200, seed=k).intervals
            assert found is not None
            whole.append(found.whole[0] <= truth.value <= found.whole[1])
            factors.append(((found.factors[:, 0] <= local) & (local <= found.factors[:, 1])).mean())
            width.append(found.whole[1] - found.whole[0])
        rows.append(
            {
                "survey": name,
                "n": n,
                "margin": truth.value,
                "covered": float(np.mean(whole)),
                "width": float(np.mean(width)),
                "factors covered": float(np.mean(factors)),
            }
        )
        print(rows[-1], flush=True)
    report.table(pd.DataFrame(rows), f"Nominal .95, {SETS} data sets a row, 200 resamples", 3)
