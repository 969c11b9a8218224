"""How often a true step of an invariance ladder is rejected at 5 %."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.sem_inference.ledger import simulate
from dtstat.sem.comparison import difference_test
from dtstat.sem.invariance import LADDER

SETS = 500
WANTED = (0.03, 0.08)
KEYS = {"f": ["a1", "a2", "a3", "a4"], "g": ["b1", "b2", "b3", "b4"]}
ITEMS = [item for items in KEYS.values() for item in items]
LOADINGS = np.array([0.8, 0.7, 0.6, 0.7, 0.8, 0.6, 0.7, 0.6])
CUTS = [-1.2, -0.4, 0.4, 1.2]
ANSWERS = ("normal", "skewed", "heavy tails")
CELLS = [(answers, n) for answers in ANSWERS for n in (300, 1000)]
METHODS = {
    "ml": {"ml": "standard"},
    "mlr": {"mlr 2001": "satorra_bentler_2001", "mlr 2000": "satorra_2000"},
}
TESTS = [name for methods in METHODS.values() for name in methods]
ORDERED_CELLS = [("five-point", n) for n in (300, 1000)]


def run(report: Report) -> None:
    """Simulate two groups in which loadings and intercepts are equal, and print rejections."""
    found = simulate("differences", CELLS, SETS, one_set)
    rows = []
    for answers, n in CELLS:
        own = found[[cell == [answers, n] for cell in found["cell"]]].dropna()
        for step in ("metric", "scalar"):
            row: dict[str, Any] = {"answers": answers, "n": n, "step": step, "sets": len(own)}
            rates = {name: float((own[f"{name}_{step}"] < 0.05).mean()) for name in TESTS}
            rows.append(row | rates)
    report.heading("True steps of invariance rejected at 5 %")
    report.table(pd.DataFrame(rows), "Difference tests of two groups, 2 x 4 items", 3)
    error = math.sqrt(0.05 * 0.95 / SETS)
    report.line(
        f"Monte Carlo error of a rate of .05: {error:.3f}. n is the number of rows of both groups. "
        f"Wanted of the scaled tests: {WANTED[0]} to {WANTED[1]}."
    )
    _print_ordered(report)


def _print_ordered(report: Report) -> None:
    found = simulate("differences_ordered", ORDERED_CELLS, SETS, one_ordered_set)
    rows = []
    for answers, n in ORDERED_CELLS:
        own = found[[cell == [answers, n] for cell in found["cell"]]].dropna()
        steps = [name for name in own if name not in ("cell", "set")]
        rates = {step: float((own[step] < 0.05).mean()) for step in steps}
        rows.append({"answers": answers, "n": n, "sets": len(own), **rates})
    report.table(pd.DataFrame(rows), "Ordered items, wlsmv, tests after Satorra (2000)", 3)


def draw(answers: str, n: int, k: int) -> pd.DataFrame:
    """Two factors of four items in two groups whose factors differ in means and variances."""
    kinds = (*ANSWERS, "five-point")
    rng = np.random.default_rng([n, kinds.index(answers), k])
    later = np.arange(n) >= n // 2
    make = _skewed if answers == "skewed" else _normal
    z = make(rng, (n, 2)) @ np.linalg.cholesky([[1, 0.4], [0.4, 1]]).T
    z = np.where(later[:, None], 0.3 + 1.2 * z, z)
    X = LOADINGS * np.repeat(z, 4, axis=1) + np.sqrt(1 - LOADINGS**2) * make(rng, (n, 8))
    if answers == "heavy tails":  # multivariate t with 8 degrees of freedom, around group means
        center = np.where(later[:, None], 0.3, 0.0) * LOADINGS
        X = center + (X - center) * np.sqrt(6 / rng.chisquare(8, size=(n, 1)))
    if answers == "five-point":
        X = np.digitize(X, CUTS).astype(float)
    return pd.DataFrame(X, columns=ITEMS).assign(group=np.where(later, "second", "first"))


def _normal(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return rng.standard_normal(size)


def _skewed(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """Chi-square with 3 degrees of freedom, standardized: skewness 1.6, excess kurtosis 4."""
    return (rng.chisquare(3, size) - 3) / np.sqrt(6)


def one_set(answers: str, n: int, k: int) -> dict[str, Any]:
    """P values of the steps of one data set."""
    data = draw(answers, n, k)
    steps = {name: LADDER[name] for name in ("configural", "metric", "scalar")}
    found = {}
    for estimator, methods in METHODS.items():
        fits = [
            dt.cfa(data, KEYS, estimator=estimator, group="group", group_equal=equal).estimate
            for equal in steps.values()
        ]
        for name, method in methods.items():
            for step, (more, less) in zip([*steps][1:], pairwise(fits), strict=True):
                # what compare_models calls, without its check that the models are nested
                found[f"{name}_{step}"] = difference_test(more, less, method).pvalue
    return found


def one_ordered_set(answers: str, n: int, k: int) -> dict[str, Any]:
    """P values of the steps of one data set of ordered items."""
    found = dt.invariance(draw(answers, n, k), KEYS, "group", ordered=True)
    tests = zip(found.steps[1:], found.comparison.differences, strict=True)
    return {step: test.pvalue for step, test in tests}
