"""Cells of the paper's second simulation, and what the paper says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dtstat as dt

N = 250  # rows; 25 factors of 15 items, so 375 items


@dataclass(frozen=True)
class Cell:
    """One cell of the simulation.

    Attributes
    ----------
    name
        As in the tables.
    arguments
        Of :func:`dtstat.simulate`, besides design, rows and seed.
    paper_f1, paper_d
        What the paper says of such cells; "" where nothing was taken from it.
    """

    name: str
    arguments: dict[str, Any]
    paper_f1: str
    paper_d: str

    def draw(self, seed: int) -> dt.Simulation:
        return dt.simulate("high_dimensional", N, seed=seed, **self.arguments)


def cells() -> list[Cell]:
    """Factors correlating more and more; then factors without a unique child."""
    correlated = [
        Cell(f"phi = {phi:g}", {"factor_correlation": phi}, "near-perfect", "")
        for phi in (0.0, 0.25, 0.75)
    ]
    own = [
        Cell(f"own {share:g}", {"violating": share, "second_parent": "own"}, f1, d)
        for share, f1, d in ((0.2, "about .9", "80 % of d"), (0.4, "about .75", "60 % of d"))
    ]
    shared = {"violating": 0.4, "second_parent": "shared"}
    return [*correlated, *own, Cell("shared 0.4", shared, "", "")]
