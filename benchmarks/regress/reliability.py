"""Whether intervals of alpha and omega have the truth in 95 % of samples."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.inference.designs import answer

SETS, LARGE = 1000, 400_000
LOADINGS = np.array([0.8, 0.7, 0.6, 0.5, 0.4])
KINDS = ("normal", "skewed", "five-point", "skewed five-point", "binary 50/50")
NAMES = [f"q{k + 1}" for k in range(len(LOADINGS))]


def run(report: Report) -> None:
    """Print shares of samples, one factor of five items."""
    warnings.simplefilter("ignore")
    rows = []
    for kind in KINDS:
        truth = _table(kind, LARGE, 0)
        for n in (100, 300):
            found = pd.DataFrame([_table(kind, n, k + 1) for k in range(SETS)])
            row: dict[str, object] = {"answers": kind, "n": n}
            for name in ("alpha", "omega"):
                inside = found[f"{name}_lower"].le(truth[name]) & found[f"{name}_upper"].ge(
                    truth[name]
                )
                row |= {f"{name}": truth[name], f"{name}: mean": found[name].mean()}
                row |= {f"{name}: covered": inside.mean()}
            rows.append(row)
    report.heading("Intervals of alpha and omega")
    report.table(pd.DataFrame(rows), f"One factor of five items, {SETS} samples each", 3)


def _table(kind: str, n: int, k: int) -> pd.Series:
    rng = np.random.default_rng([KINDS.index(kind), n, k])
    z, e = rng.standard_normal((n, 1)), rng.standard_normal((n, len(LOADINGS)))
    X = answer(z * LOADINGS + e * np.sqrt(1 - LOADINGS**2), kind)
    frame = pd.DataFrame(X, columns=NAMES) + 0.0
    if kind.endswith("point") or kind.startswith("binary"):
        frame = frame * 0.37  # not whole numbers: "ordinal" values are of no interest here
    return dt.reliability(frame, {"f": NAMES}).factors.iloc[0]
