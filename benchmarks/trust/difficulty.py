"""How often `fit` says that factors follow the difficulty of the items, rightly and wrongly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

import dtstat as dt
from benchmarks.harness import Report
from dtstat.core.errors import DTWarning, silenced

SETS, ROWS = 200, 500


@dataclass(frozen=True)
class Design:
    """Factors of as many yes/no items each, with these shares of yes."""

    name: str
    factors: int
    shares: np.ndarray
    loading: float = 0.7
    phi: float = 0.0

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        p = len(self.shares)
        common = np.sqrt(self.phi) * rng.normal(size=(ROWS, 1))
        Z = common + np.sqrt(1 - self.phi) * rng.normal(size=(ROWS, self.factors))
        signal = self.loading * np.repeat(Z, p // self.factors, axis=1)
        Y = signal + np.sqrt(1 - self.loading**2) * rng.normal(size=(ROWS, p))
        return (ndtri(self.shares) > Y).astype(float)


def spread(p: int) -> np.ndarray:
    return np.linspace(0.1, 0.9, p)


def apart(p: int) -> np.ndarray:
    return np.concatenate([np.linspace(0.1, 0.4, p // 2), np.linspace(0.6, 0.9, p // 2)])


DESIGNS = (
    *(Design(f"1 factor, {p} items, shares .1 to .9", 1, spread(p)) for p in (10, 15, 20)),
    Design("1 factor, 20 items, loadings .6, shares .1 to .9", 1, spread(20), 0.6),
    Design("1 factor, 12 items, shares .5", 1, np.full(12, 0.5)),
    *(Design(f"2 factors of 6, φ {f}, shares .5", 2, np.full(12, 0.5), phi=f) for f in (0.3, 0.7)),
    Design("2 factors of 6, φ 0.5, both .1 to .9", 2, np.tile(spread(6), 2), phi=0.5),
    *(
        Design(f"2 factors of 6, φ {f}, .1 to .4 and .6 to .9", 2, apart(12), phi=f)
        for f in (0.3, 0.5, 0.7, 0.8)
    ),
)


def outcome(design: Design, seed: int) -> tuple[int, bool]:
    """Return the number of factors, and whether they are said to follow difficulty."""
    with silenced(DTWarning):
        fit = dt.fit(design.draw(np.random.default_rng([seed, len(design.shares)])))
    return fit.n_factors, any("item difficulty" in note for note in fit.notes)


def run(report: Report) -> None:
    """Count warnings in data sets of each design."""
    report.heading("Factors that reflect item difficulty")
    rows = []
    for design in DESIGNS:
        found = [outcome(design, seed) for seed in range(SETS)]
        split = [said for number, said in found if number > 1]
        rows.append(
            {
                "yes/no items": design.name,
                "too many factors": np.mean([number > design.factors for number, _ in found]),
                "two or more": len(split),
                "of these warned": np.mean(split) if split else np.nan,
                "right to warn": "yes" if design.factors == 1 and np.ptp(design.shares) else "no",
            }
        )
    report.table(pd.DataFrame(rows), f"{SETS} data sets of {ROWS} rows each: shares", digits=3)
