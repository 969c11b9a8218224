"""Standard errors with sampling weights and with clusters, beside the empirical ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.sem_inference.ledger import simulate

SETS = 1000
MODEL = "f =~ x1 + x2 + x3 + x4; x1 ~ 1"
CELLS = [("weights", 500), ("clusters", 500)]
ORDERED_SETS = 500
ORDERED = "f =~ x1 + x2 + x3 + x4"
ORDERED_CELLS = [("weights, ordered", 500), ("clusters, ordered", 500)]
CUTS = [-0.7, 0.6]
LOADINGS = np.array([0.8, 0.7, 0.6, 0.7])
NAMES = ["x1", "x2", "x3", "x4"]


def run(report: Report) -> None:
    """Print the ratio of mean standard error to standard deviation of the estimates."""
    report.heading("Standard errors with weights and clusters")
    found = simulate("samples", CELLS, SETS, one_set)
    rows = _rows(found, CELLS, ("loading", "intercept"))
    report.table(pd.DataFrame(rows), "Loading of x2 (0.875) and intercept of x1 (0)", 3)
    found = simulate("samples_ordered", ORDERED_CELLS, ORDERED_SETS, one_ordered_set)
    rows = _rows(found, ORDERED_CELLS, ("loading", "threshold"))
    report.table(pd.DataFrame(rows), f"Ordered: loading, and first threshold ({CUTS[0]}) of x1", 3)
    report.line(
        f"Monte Carlo error of an empirical standard error: {1 / math.sqrt(2 * SETS):.1%} of it, "
        f"ordered {1 / math.sqrt(2 * ORDERED_SETS):.1%}. Plain: mlr or wlsmv that knows neither "
        "weights nor clusters."
    )


def _rows(
    found: pd.DataFrame, cells: list[tuple[str, int]], names: tuple[str, str]
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for kind, n in cells:
        own = found[[cell == [kind, n] for cell in found["cell"]]].dropna()
        for name in names:
            empirical = own[name].std()
            row = {"design": kind, "n": n, "parameter": name, "sets": len(own)}
            row |= {"mean": own[name].mean(), "empirical": empirical}
            row |= {"robust / empirical": own[f"{name}_se"].mean() / empirical}
            row |= {"plain / empirical": own[f"{name}_plain"].mean() / empirical}
            rows.append(row)
    return rows


def draw(kind: str, n: int, k: int) -> pd.DataFrame:
    """One factor; rows drawn with unequal chances, or 10 at a time with a common part."""
    rng = np.random.default_rng([n, kind == "clusters", k])
    if kind == "weights":  # people high on the factor take part up to four times as often
        z = rng.standard_normal((6 * n, 1))
        X = LOADINGS * z + np.sqrt(1 - LOADINGS**2) * rng.standard_normal((6 * n, 4))
        chance = (1 + 3 / (1 + np.exp(-2 * z[:, 0]))) / 4
        taken = np.flatnonzero(rng.random(6 * n) < chance)[:n]
        frame = pd.DataFrame(X[taken], columns=NAMES)
        return frame.assign(weight=1 / chance[taken])
    cluster = np.repeat(np.arange(n // 10), 10)
    shared = rng.standard_normal((n // 10, 1))[cluster]
    z = math.sqrt(0.3) * shared + math.sqrt(0.7) * rng.standard_normal((n, 1))
    noise = math.sqrt(0.3) * rng.standard_normal((n // 10, 4))[cluster]
    noise = noise + math.sqrt(0.7) * rng.standard_normal((n, 4))
    X = LOADINGS * z + np.sqrt(1 - LOADINGS**2) * noise
    return pd.DataFrame(X, columns=NAMES).assign(cluster=cluster)


def one_set(kind: str, n: int, k: int) -> dict[str, Any]:
    """Estimates and standard errors of one data set."""
    wanted = {"loading": ("f", "=~", "x2"), "intercept": ("x1", "~1", "")}
    return _estimates(draw(kind, n, k), MODEL, {"estimator": "mlr"}, wanted)


def one_ordered_set(kind: str, n: int, k: int) -> dict[str, Any]:
    """Estimates and standard errors of one data set of three-point answers."""
    data = draw(kind.partition(",")[0], n, k)
    data[NAMES] = np.digitize(data[NAMES], CUTS)
    wanted = {"loading": ("f", "=~", "x2"), "threshold": ("x1", "|", "t1")}
    return _estimates(data, ORDERED, {"ordered": NAMES}, wanted)


def _estimates(
    data: pd.DataFrame,
    model: str,
    options: dict[str, Any],
    wanted: dict[str, tuple[str, str, str]],
) -> dict[str, Any]:
    known = "weight" in data
    given = {"sampling_weights": "weight"} if known else {"cluster": "cluster"}
    plain = dt.cfa(data, model, **options).parameters
    table = dt.cfa(data, model, **options, **given).parameters
    found = {}
    for name, (lhs, op, rhs) in wanted.items():
        chosen = (table["lhs"] == lhs) & (table["op"] == op) & (table["rhs"] == rhs)
        found[name] = float(table.loc[chosen, "est"].iloc[0])
        found[f"{name}_se"] = float(table.loc[chosen, "se"].iloc[0])
        found[f"{name}_plain"] = float(plain.loc[chosen, "se"].iloc[0])
    return found
