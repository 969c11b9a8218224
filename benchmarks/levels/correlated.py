"""Factors that correlate: whether they are kept apart."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.harness import Report
from benchmarks.levels.counting import Cell, count, listed, rate
from benchmarks.levels.draws import Design, equal

SETS = 200
FALLING = tuple(np.tile(np.linspace(0.8, 0.4, 5), 4))
CELLS: list[tuple[Cell, float]] = [  # and the share wanted exactly right
    (Cell(equal("2 x 5, .7, phi .7", 2, 5, 0.7, 0.7), 300, SETS), 0.90),
    (Cell(equal("2 x 5, .7, phi .8", 2, 5, 0.7, 0.8), 500, SETS), 0.90),
    (Cell(equal("3 x 3, .6, phi .6", 3, 3, 0.6, 0.6), 250, SETS), 0.75),
    (Cell(equal("3 x 3, .6, phi .6", 3, 3, 0.6, 0.6), 250, SETS, "pearson"), 0.75),
    (Cell(Design("4 x 5, .8-.4, phi .4", (5,) * 4, FALLING, 0.4), 250, SETS), 0.90),
]


def run(report: Report) -> None:
    """Print how often the number of factors, and everything, is right."""
    wanted = {cell.name: share for cell, share in CELLS}
    rows = []
    for cell, outcome in count("correlated", [cell for cell, _ in CELLS]):
        d = len(cell.design.sizes)
        share = wanted[cell.name]
        rows.append(
            {
                "design": cell.design.name,
                "n": cell.n,
                "measure": cell.measure,
                "number right": rate(outcome["numbers"].get(str(d), 0), cell.sets),
                "exactly right": rate(outcome["exact"], cell.sets),
                "wanted": share,
                "reached": "yes" if outcome["exact"] / cell.sets >= share else "NO",
                "factors: data sets": listed(outcome["numbers"]),
            }
        )
    report.table(pd.DataFrame(rows), "Correlated factors: share (count, Monte Carlo error)")
    report.line("Exactly right: number of factors and every item.")
