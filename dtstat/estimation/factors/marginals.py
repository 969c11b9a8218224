"""Answers as normal scores: the margins of a Gaussian copula.

Answer a of an item becomes Φ⁻¹(P(X < a) + ½ P(X = a)), with P the shares in the data the margins
were learnt from, scaled to variance 1. Answers in between are interpolated, beyond the range the
nearest counts. The other way, a normal variable Y means answer k if it is between the thresholds
Φ⁻¹(P(X < a_k)) and Φ⁻¹(P(X ≤ a_k)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.arrays import FloatArray, IntArray

_FAR = 1e3  # standard deviations within which standardising is linear
_LEAST_SD = 1e-6  # of the variable behind an answer; 0 would be a Heywood case
_MOST_KNOTS = 257  # distinct answers kept of an item; more would store the data


@dataclass(frozen=True, eq=False)
class Marginals:
    """Answers of p items and the normal variables behind them.

    Attributes
    ----------
    answers, scores
        Of each item some of its answers, rising, and their normal scores.
    thresholds
        Of each item the values between which the normal variable means one answer, one fewer than
        answers; empty if answers are linear in it.
    """

    answers: tuple[FloatArray, ...]
    scores: tuple[FloatArray, ...]
    thresholds: tuple[FloatArray, ...]

    def normal_scores(self, X: FloatArray) -> FloatArray:
        """(n, p) scores of rows of answers; NaN stays NaN."""
        columns = [
            np.where(np.isnan(x), np.nan, np.interp(x, answers, scores))
            for x, answers, scores in zip(X.T, self.answers, self.scores, strict=True)
        ]
        return np.column_stack(columns)

    def score_correlation(self, i: int) -> float:
        """Correlation of the normal score s of item i with the normal variable y behind it.

        E[s y] = Σ_k s_k (φ(t_k−1) − φ(t_k)): 1 for an item without ties, .92 for five categories
        of equal width.
        """
        t = np.concatenate([[-np.inf], self.thresholds[i], [np.inf]])
        density = np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)
        if len(t) == 2:  # answers are linear in the variable
            return 1.0
        return min(float(self.scores[i] @ -np.diff(density)), 1.0)

    def mean_answers(self, i: int, mean: FloatArray, sd: float) -> FloatArray:
        """(G,) mean answers to item i where the variable behind it is normal.

        Σ_k a_k P(t_k−1 < Y ≤ t_k), or linear in its mean.

        Parameters
        ----------
        i
            Number of the item.
        mean, sd
            (G,) means of the variable, and its standard deviation.
        """
        from scipy.special import ndtr

        answers, scores, t = self.answers[i], self.scores[i], self.thresholds[i]
        if not len(t):
            linear: FloatArray = np.interp(mean, scores, answers)
            return linear
        exceeds = ndtr((mean[:, None] - t) / max(sd, _LEAST_SD))
        expected: FloatArray = answers[0] + exceeds @ np.diff(answers)
        return expected


def learn_marginals(X: FloatArray) -> Marginals:
    """Learn the margins of (n, p) answers, NaN for missing ones; every item must vary."""
    learnt = [_margin(x[~np.isnan(x)]) for x in X.T]
    answers, scores, thresholds = zip(*learnt, strict=True)
    return Marginals(answers, scores, thresholds)


def normal_scores(X: FloatArray) -> FloatArray:
    """(n, p) normal scores of every answer among its own; NaN stays NaN."""
    scores = np.full(X.shape, np.nan)
    for column, x in zip(scores.T, X.T, strict=True):
        observed = ~np.isnan(x)
        _, place, counts = np.unique(x[observed], return_inverse=True, return_counts=True)
        column[observed] = _scores(counts)[place]
    return scores


def linear_marginals(X: FloatArray) -> Marginals:
    """Margins that only standardise: mean 0 and variance 1."""
    mean, sd = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    ends = np.array([-_FAR, _FAR])
    answers = tuple(m + s * ends for m, s in zip(mean, sd, strict=True))
    nowhere = np.empty(0)
    return Marginals(answers, tuple(ends for _ in answers), tuple(nowhere for _ in answers))


def _margin(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    from scipy.special import ndtri

    answers, counts = np.unique(x, return_counts=True)
    scores = _scores(counts)
    kept = _spread(scores)
    # Between answers that are kept; without gaps that is P(X ≤ a).
    upto = np.cumsum(counts) / len(x)
    between = (upto[kept[:-1]] + (upto[kept[1:]] - counts[kept[1:]] / len(x))) / 2
    return answers[kept], scores[kept], ndtri(between)


def _scores(counts: IntArray) -> FloatArray:
    """Return normal scores of variance 1 of answers that so many gave, in rising order."""
    from scipy.special import ndtri

    n = int(counts.sum())
    scores: FloatArray = ndtri((np.cumsum(counts) - counts / 2) / n)
    scores /= np.sqrt(counts @ scores**2 / n)
    return scores


def _spread(scores: FloatArray) -> IntArray:
    """Return positions of all answers, or of so many with evenly spread scores, tails included."""
    if len(scores) <= _MOST_KNOTS:
        return np.arange(len(scores))
    wanted = np.linspace(scores[0], scores[-1], _MOST_KNOTS)
    return np.unique(np.searchsorted(scores, wanted).clip(0, len(scores) - 1))
