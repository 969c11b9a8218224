"""One factor: how often it is split."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from benchmarks.harness import Report
from benchmarks.levels.counting import Cell, count, rate
from benchmarks.levels.draws import ANSWERS, Design

ITEMS, ROWS = (6, 9, 12, 20, 40), (200, 500, 2000)
SETS = 200
WANTED, WANTED_UNEQUAL = 0.03, 0.10


def cells() -> list[Cell]:
    """All designs, few items first."""
    made = []
    for p, spread, answers, n in product(ITEMS, (False, True), ANSWERS, ROWS):
        loadings = tuple(np.linspace(0.4, 0.8, p)) if spread else (0.7,) * p
        name = f"1 x {p}, {'.4-.8' if spread else '.7'}, {answers}"
        measure = "polychoric" if answers == "binary, unequal" else "spearman"
        made.append(Cell(Design(name, (p,), loadings, answers=answers), n, SETS, measure))
    return made


def run(report: Report) -> None:
    """Print the share with more than one factor."""
    rows, missed, sizes = [], [], {"two or more": 0, "none": 0, "sets": 0}
    for cell, outcome in count("one_factor", cells()):
        numbers = outcome["numbers"]
        more = sum(number for d, number in numbers.items() if int(d) > 1)
        unequal = cell.design.answers == "binary, unequal"
        wanted = WANTED_UNEQUAL if unequal else WANTED
        p = len(cell.design.loadings)
        spread = ".7" if cell.design.loadings[0] == cell.design.loadings[-1] else ".4-.8"
        rows.append({"items": p, "loadings": spread, "answers": cell.design.answers,
                     "n": cell.n, "share": rate(more, cell.sets)})  # fmt: skip
        sizes["two or more"] += more
        sizes["none"] += numbers.get("0", 0)
        sizes["sets"] += cell.sets
        if more / cell.sets > wanted:
            missed.append(f"{cell.name}: {rate(more, cell.sets)}; wanted {wanted:g}")
    frame = pd.DataFrame(rows).pivot(
        index=["items", "loadings", "answers"], columns="n", values="share"
    )
    frame.columns = [f"n = {n}" for n in frame.columns]
    title = "One factor: share of data sets with more than one (count, Monte Carlo error)"
    report.table(frame.reset_index(), title)
    report.line(
        "Loadings all .7, or evenly from .4 to .8. Five-point: cut at -1.2, -.4, .4, 1.2. Binary, "
        "equal: cut at 0. Binary, unequal: cut evenly from -1.2 to 1.2 in random order, "
        'measure="polychoric".'
    )
    report.line(
        f"All {sizes['sets']} data sets: more than one factor in {sizes['two or more']}, none in "
        f"{sizes['none']}."
    )
    report.line(
        f"Wanted: at most {WANTED:g} in every cell, {WANTED_UNEQUAL:g} with unequal binary items: "
        + (f"NOT reached in {len(missed)} of {len(rows)} cells." if missed else "reached.")
    )
    for line in missed:
        report.line(f"- {line}")
