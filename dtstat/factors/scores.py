"""Factor scores and likelihoods of single rows, and the normal scores that answers enter them by.

A row with gaps uses the entries of Λ and Ψ that belong to the items it has. With W = Ψ⁻¹Λ and
V = (Φ⁻¹ + ΛᵀW)⁻¹ (Woodbury), for a row x of m items,

    scores            E[z | x] = V Wᵀx
    log-likelihood    −½ (m log 2π + log|Ψ| + log|I + Φ ΛᵀW| + xᵀΨ⁻¹x − (Wᵀx)ᵀ V (Wᵀx)).

Answers enter as normal scores, by the margins of a Gaussian copula: answer a of an item becomes
Φ⁻¹(P(X < a) + ½ P(X = a)), with P the shares in the data the margins were learned from, scaled to
variance 1. Answers in between are interpolated, beyond the range the nearest counts. The other way,
a normal variable Y means answer k if it is between the thresholds Φ⁻¹(P(X < a_k)) and
Φ⁻¹(P(X ≤ a_k)).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.parallel import Progress, track
from dtstat.core.saved import register
from dtstat.data.levels import count_columns, count_levels, find_levels
from dtstat.dependence.pearson import mean_and_sd
from dtstat.factors.copula import FactorEstimate

_FAR = 1e3  # standard deviations within which standardizing is linear
_LEAST_SD = 1e-6  # of the variable behind an answer; 0 would be a Heywood case
_MANY_LOADINGS = 1_000_000
_NO_SCORE = 1e-9  # a score that is 0 but for rounding
_MOST_KNOTS = 257  # distinct answers kept of an item; more would store the data


def factor_scores(estimate: FactorEstimate, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n, d) regression scores (Thurstone 1935) of standard rows, and their standard errors.

    NaN for rows without any item.

    Parameters
    ----------
    estimate
        The model.
    Z
        (n, p) standardized answers or normal scores, NaN where missing.
    """
    scores = np.full((len(Z), estimate.loadings.shape[1]), np.nan)
    errors = np.full(scores.shape, np.nan)
    for pattern in _patterns(estimate, Z):
        if pattern.items.any():
            scores[pattern.rows] = Z[np.ix_(pattern.rows, pattern.items)] @ pattern.W @ pattern.V
            errors[pattern.rows] = np.sqrt(pattern.V.diagonal())
    return scores, errors


def normal_posterior(estimate: FactorEstimate, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n, d) means and (n, d, d) covariances of the factors given standard rows."""
    mean = np.zeros((len(Z), estimate.loadings.shape[1]))
    covariance = np.empty((*mean.shape, mean.shape[1]))
    for pattern in _patterns(estimate, Z):
        mean[pattern.rows] = Z[np.ix_(pattern.rows, pattern.items)] @ pattern.W @ pattern.V
        covariance[pattern.rows] = (pattern.V + pattern.V.T) / 2
    return mean, covariance


def bartlett_scores(estimate: FactorEstimate, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n, d) scores (Λ'Ψ⁻¹Λ)⁻¹ Λ'Ψ⁻¹x (Bartlett 1937) of standard rows, and standard errors.

    They are unbiased given the factors, and scatter more than regression scores. NaN for rows
    whose items do not tell all factors apart.
    """
    scores = np.full((len(Z), estimate.loadings.shape[1]), np.nan)
    errors = np.full(scores.shape, np.nan)
    for pattern in _patterns(estimate, Z):
        information = estimate.loadings[pattern.items].T @ pattern.W
        if np.linalg.matrix_rank(information, hermitian=True) == len(information):
            covariance = np.linalg.inv(information)
            x = Z[np.ix_(pattern.rows, pattern.items)]
            scores[pattern.rows] = x @ pattern.W @ covariance
            errors[pattern.rows] = np.sqrt(covariance.diagonal())
    return scores, errors


def plausible_values(
    estimate: FactorEstimate, Z: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """(n, d) draws of the factors given standard rows: scores with their error put back.

    Unlike scores they vary and correlate as the factors do. A row without any item is drawn from
    the model.
    """
    draws = np.empty((len(Z), estimate.loadings.shape[1]))
    for pattern in _patterns(estimate, Z):
        x = Z[np.ix_(pattern.rows, pattern.items)]
        noise = rng.standard_normal((len(x), draws.shape[1]))
        root = np.linalg.cholesky((pattern.V + pattern.V.T) / 2)
        draws[pattern.rows] = x @ pattern.W @ pattern.V + noise @ root.T
    return draws


def row_log_likelihoods(estimate: FactorEstimate, Z: FloatArray) -> FloatArray:
    """(n,) log-likelihoods of standard rows; 0 for a row without any item."""
    values = np.zeros(len(Z))
    for pattern in _patterns(estimate, Z):
        x = Z[np.ix_(pattern.rows, pattern.items)]
        xW = x @ pattern.W
        quadratic = (x**2 / estimate.uniquenesses[pattern.items]).sum(axis=1)
        quadratic -= ((xW @ pattern.V) * xW).sum(axis=1)
        constant = x.shape[1] * math.log(2 * math.pi) + pattern.log_det
        values[pattern.rows] = -0.5 * (constant + quadratic)
    return values


def as_sparse(loadings: FloatArray) -> Any:
    """Return loadings as a sparse matrix if there are so many that zeros take the time."""
    if loadings.size < _MANY_LOADINGS:
        return loadings
    from scipy.sparse import csr_array

    return csr_array(loadings)


def explained_variances(loadings: FloatArray, Phi: FloatArray) -> FloatArray:
    """(p,) variances of the items that the factors explain."""
    L = as_sparse(loadings)
    explained: FloatArray = ((L @ Phi) * loadings).sum(axis=1)
    return explained


@dataclass(frozen=True, eq=False)
class _Pattern:
    """Rows that have the same items, and the model of those items."""

    rows: BoolArray
    items: BoolArray
    W: Any  # (m, d), sparse if large
    V: FloatArray
    log_det: float


def _patterns(estimate: FactorEstimate, Z: FloatArray) -> Iterator[_Pattern]:
    marks, group = np.unique(~np.isnan(Z), axis=0, return_inverse=True)
    Phi, d = estimate.factor_correlations, estimate.loadings.shape[1]
    for k, items in enumerate(marks):
        L, psi = as_sparse(estimate.loadings[items]), estimate.uniquenesses[items]
        W = L / psi[:, None]
        K = np.eye(d) + Phi @ (L.T @ W)
        log_det = float(np.log(psi).sum() + np.linalg.slogdet(K)[1])
        yield _Pattern(group.reshape(-1) == k, items, W, np.linalg.solve(K, Phi), log_det)


def _are_scored(margins: Marginals) -> bool:
    """Whether every answer has its normal score, and thresholds lie between answers."""
    lengths = [list(map(len, part)) for part in (margins.answers, margins.scores)]
    between = zip(margins.thresholds, lengths[0], strict=True)
    return lengths[0] == lengths[1] and all(len(t) in (0, n - 1) for t, n in between)


@register(
    shapes={
        "answers": "p",
        "answers[]": "*",
        "scores": "p",
        "scores[]": "*",
        "thresholds": "p",
        "thresholds[]": "*",
    },
    rules={"answers have scores": _are_scored},
)
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


def learn_marginals(X: FloatArray, progress: Progress = None) -> Marginals:
    """Learn the margins of (n, p) answers, NaN for missing ones; every item must vary."""
    columns = zip(count_columns(X), track(X.T, progress, "margins"), strict=True)
    margins = [_margin(*(few or count_levels(x))) for few, x in columns]
    return Marginals(*zip(*margins, strict=True))


def normal_scores(X: FloatArray) -> FloatArray:
    """(n, p) normal scores of every answer among its own; NaN stays NaN."""
    scores = np.empty(X.shape)
    for column, x in zip(scores.T, X.T, strict=True):
        _, codes, counts = find_levels(x)
        column[:] = np.append(_scores(counts), np.nan)[codes]  # code −1, missing, is the last
    return scores


def linear_marginals(X: FloatArray, progress: Progress = None) -> Marginals:
    """Margins that only standardize: mean 0 and variance 1; there is nothing to wait for."""
    mean, sd = mean_and_sd(X)
    reach = np.minimum(_FAR, (np.finfo(np.float64).max - np.abs(mean)) / np.maximum(sd, 1.0))
    ends = tuple(np.array([-far, far]) for far in reach)
    answers = tuple(m + s * far for m, s, far in zip(mean, sd, ends, strict=True))
    nowhere = np.empty(0)
    return Marginals(answers, ends, tuple(nowhere for _ in answers))


def _margin(answers: FloatArray, counts: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    from scipy.special import ndtri

    scores = _scores(counts)
    kept, n = _spread(scores), counts.sum()
    # Between answers that are kept; without gaps that is P(X ≤ a).
    upto = np.cumsum(counts) / n
    between = (upto[kept[:-1]] + (upto[kept[1:]] - counts[kept[1:]] / n)) / 2
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
    last = len(scores) - 1
    # The next ones outwards, so that an item turned round keeps the same answers; what is equal but
    # for rounding is equal, or rounding would tell which answer is next.
    above = np.searchsorted(scores, wanted[wanted > -_NO_SCORE] - _NO_SCORE).clip(0, last)
    below = -wanted[wanted < _NO_SCORE] - _NO_SCORE
    below = last - np.searchsorted(-scores[::-1], below).clip(0, last)
    return np.union1d(below, above)
