"""Between the answers people gave and the numbers a nonlinear model is fitted to.

Continuous items are standardised. Ratings become categories 0, 1, ...; a rating that the scale has
not seen counts as the nearest one it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class AnswerScale:
    """How p items are measured.

    Attributes
    ----------
    mean, sd
        (p,) of the answers; 0 and 1 for ratings.
    levels
        For each item the values a rating can take, rising; empty for a continuous item.
    """

    mean: FloatArray
    sd: FloatArray
    levels: tuple[FloatArray, ...]

    @classmethod
    def learn(cls, X: FloatArray, levels: Sequence[Sequence[float] | None]) -> AnswerScale:
        """Learn the scale of (n, p) answers, NaN for missing ones.

        Parameters
        ----------
        X
            Answers; every item varies.
        levels
            Values of each rating; None for continuous items.
        """
        rated = np.array([one is not None for one in levels])
        mean = np.where(rated, 0.0, np.nanmean(X, axis=0))
        sd = np.where(rated, 1.0, np.nanstd(X, axis=0))
        known = tuple(np.array(() if one is None else one, dtype=np.float64) for one in levels)
        return cls(mean, sd, known)

    @property
    def n_categories(self) -> IntArray:
        """(p,) number of categories; 0 for a continuous item."""
        return np.array([len(one) for one in self.levels], dtype=np.int64)

    @property
    def log_jacobian(self) -> FloatArray:
        """(p,) what to add to log-densities of standardised answers for those of the answers."""
        density: FloatArray = -np.log(self.sd)
        return density

    def encode(self, X: FloatArray) -> FloatArray:
        """(n, p) standardised answers and categories; NaN stays NaN."""
        coded = np.ascontiguousarray((X - self.mean) / self.sd)  # kernels read row by row
        for i, levels in enumerate(self.levels):
            if len(levels):
                coded[:, i] = _categories(X[:, i], levels)
        return coded


def _categories(x: FloatArray, levels: FloatArray) -> FloatArray:
    between = (levels[1:] + levels[:-1]) / 2
    return np.where(np.isnan(x), np.nan, np.searchsorted(between, x).astype(np.float64))
