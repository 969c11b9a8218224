"""Between the answers people gave and the numbers a nonlinear model is fitted to.

Continuous items are standardised, or known by their normal scores (which of them:
:mod:`dtstat.estimation.nonlinear.scale_choice`). Ratings become categories 0, 1, ...; a rating that
the scale has not seen counts as the nearest one it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import BoolArray, FloatArray, IntArray
from dtstat.estimation.nonlinear.normal_scores import NormalScores

_NODES = 21  # of Gauss–Hermite quadrature


@dataclass(frozen=True, eq=False)
class AnswerScale:
    """How p items are measured.

    Attributes
    ----------
    mean, sd
        (p,) of the answers; 0 and 1 for ratings.
    levels
        For each item the values a rating can take, rising; empty for a continuous item.
    normal
        For each item its normal scores, without knots unless it is known by them.
    """

    mean: FloatArray
    sd: FloatArray
    levels: tuple[FloatArray, ...]
    normal: tuple[NormalScores, ...]

    @classmethod
    def learn(
        cls,
        X: FloatArray,
        levels: Sequence[Sequence[float] | None],
        by_scores: BoolArray | None = None,
    ) -> AnswerScale:
        """Learn the scale of (n, p) answers, NaN for missing ones.

        Parameters
        ----------
        X
            Answers; every item varies.
        levels
            Values of each rating; None for continuous items.
        by_scores
            (p,) which continuous items are known by their normal scores; none if omitted.
        """
        rated = np.array([one is not None for one in levels])
        mean = np.where(rated, 0.0, np.nanmean(X, axis=0))
        sd = np.where(rated, 1.0, np.nanstd(X, axis=0))
        known = tuple(np.array(() if one is None else one, dtype=np.float64) for one in levels)
        bent = np.zeros(len(rated), dtype=bool) if by_scores is None else by_scores & ~rated
        normal = tuple(
            NormalScores.learn(X[:, i]) if bent[i] else NormalScores.none()
            for i in range(X.shape[1])
        )
        return cls(mean, sd, known, normal)

    @property
    def n_categories(self) -> IntArray:
        """(p,) number of categories; 0 for a continuous item."""
        return np.array([len(one) for one in self.levels], dtype=np.int64)

    @property
    def by_scores(self) -> BoolArray:
        """(p,) which items are known by their normal scores."""
        return np.array([one.used for one in self.normal], dtype=bool)

    def log_jacobian(self, X: FloatArray) -> FloatArray:
        """(n, p) what to add to log-densities of coded answers for those of the answers.

        0 for ratings and missing answers.
        """
        density = np.broadcast_to(-np.log(self.sd), X.shape).copy()
        for i in np.flatnonzero(self.by_scores):
            density[:, i] = self.normal[i].log_slope(X[:, i])
        density[np.isnan(X)] = 0.0
        return density

    def encode(self, X: FloatArray) -> FloatArray:
        """(n, p) standardised answers, normal scores and categories; NaN stays NaN."""
        coded = np.ascontiguousarray((X - self.mean) / self.sd)  # kernels read row by row
        for i, levels in enumerate(self.levels):
            if len(levels):
                coded[:, i] = _categories(X[:, i], levels)
            elif self.normal[i].used:
                coded[:, i] = self.normal[i].encode(X[:, i])
        return coded

    def mean_answers(self, i: int, eta: FloatArray, noise: float) -> FloatArray:
        """Mean answers to a continuous item, ∫ h⁻¹(η + √ω u) φ(u) du.

        Parameters
        ----------
        i
            Number of the item.
        eta, noise
            (m,) its predictors and the variance ω about them, both in coded answers.
        """
        if not self.normal[i].used:
            linear: FloatArray = eta * self.sd[i] + self.mean[i]
            return linear
        u, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        drawn = self.normal[i].decode(eta[:, None] + np.sqrt(noise) * u)
        mean: FloatArray = drawn @ (weights / weights.sum())
        return mean


def _categories(x: FloatArray, levels: FloatArray) -> FloatArray:
    between = (levels[1:] + levels[:-1]) / 2
    return np.where(np.isnan(x), np.nan, np.searchsorted(between, x).astype(np.float64))
