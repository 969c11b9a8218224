"""Minor factors: whether the number of factors grows with the rows."""

from __future__ import annotations

import pandas as pd

from benchmarks.harness import Report
from benchmarks.levels.counting import Cell, count, listed, rate
from benchmarks.levels.draws import equal

LOADING = 0.7
SHAPES = {"1 x 12": (1, 12, 0.0), "2 x 6, phi .8": (2, 6, 0.8), "3 x 5, phi .5": (3, 5, 0.5)}
SETS = {500: 50, 5000: 50, 50_000: 20}
GROWN = 0.5  # mean number of factors that it may grow by


def cells() -> list[Cell]:
    """All designs."""
    return [
        Cell(equal(f"{name}, minor {minor:g}", d, size, LOADING, phi, minor), n, sets)
        for name, (d, size, phi) in SHAPES.items()
        for minor in (0.05, 0.15)
        for n, sets in SETS.items()
    ]


def run(report: Report) -> None:
    """Print how often each number of factors came out."""
    rows, means = [], {}
    for cell, outcome in count("minor", cells()):
        numbers = outcome["numbers"]
        d = len(cell.design.sizes)
        mean = sum(int(k) * number for k, number in numbers.items()) / cell.sets
        means.setdefault(cell.design.name, []).append(mean)
        rows.append(
            {
                "design": cell.design.name,
                "n": cell.n,
                "number right": rate(numbers.get(str(d), 0), cell.sets),
                "exactly right": rate(outcome["exact"], cell.sets),
                "mean number": mean,
                "factors: data sets": listed(numbers),
            }
        )
    report.table(pd.DataFrame(rows), "Minor factors: share (count, Monte Carlo error)")
    report.line(
        "All loadings .7; 50 minor factors, each with .8 of the standard deviation of the one "
        "before, have 5 % or 15 % of the variance of each item; they are drawn anew for each data "
        "set (Tucker, Koopman & Linn 1969)."
    )
    for name, by_rows in means.items():
        grown = by_rows[-1] - by_rows[0]
        reached = "reached" if grown <= GROWN else "NOT REACHED"
        report.line(
            f"- {name}: the mean number of factors grows by {grown:.2f} from n = 500 to 50000 "
            f"(wanted: at most {GROWN:g}; {reached})"
        )
