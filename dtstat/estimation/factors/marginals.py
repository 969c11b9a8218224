"""Answers as normal scores: the margins of a Gaussian copula.

Answer a of an item becomes Φ⁻¹(P(X < a) + ½ P(X = a)), with P the shares in the data the margins
were learnt from, scaled to variance 1. Answers in between are interpolated, beyond the range the
nearest counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.arrays import FloatArray, IntArray

_FAR = 1e3  # standard deviations within which standardising is linear
_MOST_KNOTS = 257  # distinct answers kept of an item; more would store the data


@dataclass(frozen=True, eq=False)
class Marginals:
    """For each of p items some of its answers, rising, and their normal scores."""

    answers: tuple[FloatArray, ...]
    scores: tuple[FloatArray, ...]

    def normal_scores(self, X: FloatArray) -> FloatArray:
        """(n, p) scores of rows of answers; NaN stays NaN."""
        columns = [
            np.where(np.isnan(x), np.nan, np.interp(x, answers, scores))
            for x, answers, scores in zip(X.T, self.answers, self.scores, strict=True)
        ]
        return np.column_stack(columns)


def learn_marginals(X: FloatArray) -> Marginals:
    """Learn the margins of (n, p) answers, NaN for missing ones; every item must vary."""
    learnt = [_margin(x[~np.isnan(x)]) for x in X.T]
    return Marginals(tuple(a for a, _ in learnt), tuple(s for _, s in learnt))


def linear_marginals(X: FloatArray) -> Marginals:
    """Margins that only standardise: mean 0 and variance 1."""
    mean, sd = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    ends = np.array([-_FAR, _FAR])
    answers = tuple(m + s * ends for m, s in zip(mean, sd, strict=True))
    return Marginals(answers, tuple(ends for _ in answers))


def _margin(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    from scipy.special import ndtri

    answers, counts = np.unique(x, return_counts=True)
    scores = ndtri((np.cumsum(counts) - counts / 2) / len(x))
    scores = scores / np.sqrt(counts @ scores**2 / len(x))
    kept = _spread(scores)
    return answers[kept], scores[kept]


def _spread(scores: FloatArray) -> IntArray:
    """Return positions of all answers, or of so many with evenly spread scores, tails included."""
    if len(scores) <= _MOST_KNOTS:
        return np.arange(len(scores))
    wanted = np.linspace(scores[0], scores[-1], _MOST_KNOTS)
    return np.unique(np.searchsorted(scores, wanted).clip(0, len(scores) - 1))
