"""Which levels the rows may be said to support: what was tried.

The level of the least ebic, and finer ones one after another as long as their ebic is higher by no
more than 2, 6 or 10 (Kass & Raftery 1995), or half, one or two standard errors 2√(g n / n₀) of the
gain g, n of n₀ rows counting. If the least is one factor, one it is. "all rows": the least ebic, no
row lost to misfit or to ranks. Of the levels supported, the largest step is the answer. All rules
see the same levels. Shares exactly right: number of factors and every item.

Kass, R. E. & Raftery, A. E. (1995). Bayes factors. Journal of the American Statistical Association
90, 773–795.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.levels.correlated import FALLING
from benchmarks.levels.counting import SEED, rate, resumed
from benchmarks.levels.draws import Design, equal
from dtstat.core.parallel import one_thread
from dtstat.data.items import as_items
from dtstat.fit.pipeline import find_structure, prepare
from dtstat.fit.request import FitRequest, Run
from dtstat.search.choose import rank_levels
from dtstat.search.evaluate import Evaluator
from dtstat.search.records import Outcome, Proposal

SETS = 200
CELLS = [
    (equal("3 x 3, .6, phi .6", 3, 3, 0.6, 0.6), 250),
    (equal("2 x 4, .5, phi .5", 2, 4, 0.5, 0.5), 300),
    (equal("2 x 5, .7, phi .8", 2, 5, 0.7, 0.8), 500),
    (Design("4 x 5, .8-.4, phi .4", (5,) * 4, FALLING, 0.4), 250),
    (equal("1 x 12, .7", 1, 12, 0.7, 0.0), 200),
    (equal("2 x 6, .7, phi .8, minor .15", 2, 6, 0.7, 0.8, 0.15), 5000),
    (equal("3 x 5, .7, phi .5, minor .15", 3, 5, 0.7, 0.5, 0.15), 5000),
]
Room = Callable[[float], float]  # how much higher than the least ebic may be, by standard error
ROOMS: dict[str, Room] = {
    "least ebic": lambda error: 0.0,
    "within 2": lambda error: 2.0,
    "within 6": lambda error: 6.0,
    "within 10": lambda error: 10.0,
    "half an error": lambda error: error / 2,
    "one error (default)": lambda error: error,
    "two errors": lambda error: 2 * error,
}
ALL_ROWS = "least ebic, all rows"


def supported(evaluator: Evaluator, outcome: Outcome, n: float, room: Room) -> int:
    """Return the largest number of factors that is supported if n rows count."""
    fits = [evaluator.fit(Proposal(level.support, "")) for level in outcome.levels]
    costs = [one.cost("ebic", n) for one in fits]
    k = best = int(np.argmin(costs))
    while best and k + 1 < len(fits):
        gain = 2 * n * (fits[k + 1].log_likelihood - fits[best].log_likelihood) / evaluator.n_obs
        error = 2 * math.sqrt(max(gain, 0.0) * n / evaluator.n_obs)
        if costs[k + 1] - costs[best] > room(error):
            break
        k += 1
    return k + 1


def count(design: Design, n: int) -> dict[str, Any]:
    """Return how often each rule is exactly right, and its numbers of factors."""
    exact: dict[str, int] = dict.fromkeys([*ROOMS, ALL_ROWS], 0)
    request, run = FitRequest(), Run()
    for k in range(SETS):
        data = design.draw(n, np.random.default_rng([SEED, k, *design.name.encode()]))
        with warnings.catch_warnings(action="ignore"), one_thread():
            problem = prepare(as_items(data), request, run)
            outcome = find_structure(problem, request, run)[1]
            evaluator = Evaluator(problem.screened, problem.n)
            most = {
                name: supported(evaluator, outcome, outcome.n_effective, room)
                for name, room in ROOMS.items()
            }
            rows, least = float(evaluator.n_obs), ROOMS["least ebic"]
            most[ALL_ROWS] = supported(evaluator, outcome, rows, least)
        for name, limit in most.items():
            levels = list(outcome.levels)
            steps = np.array([level.step for level in levels])
            correlations = np.array([level.correlation for level in levels])
            level = levels[rank_levels(steps, correlations, limit)[0] - 1]
            if level.n_factors == len(design.sizes):
                exact[name] += dt.compare(dt.Structure(level.support), design.truth).exact
    return {"exact": exact}


def run(report: Report) -> None:
    """Print the share exactly right by every rule."""

    def piece(design: Design, n: int) -> Callable[[], dict[str, Any]]:
        return lambda: count(design, n)

    pieces = {f"{design.name}, n {n}": piece(design, n) for design, n in CELLS}
    outcomes = resumed("support", pieces.items())
    rows = {
        name: {rule: rate(number, SETS) for rule, number in outcomes[name]["exact"].items()}
        for name in pieces
    }
    report.line(f"```\n{__doc__}```")
    table = pd.DataFrame(rows).rename_axis("rule").reset_index()
    report.table(table, "Share exactly right (count, Monte Carlo error)")
    report.line(
        "In [surveys](../surveys/surveys.md) the default rule stands beside the least ebic as 'to "
        "least ebic'."
    )
