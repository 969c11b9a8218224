"""Between the answers people gave and the numbers a nonlinear model is fitted to.

Ratings become categories 0, 1, ...; a rating that the scale has not seen counts as the nearest one
it has. Continuous items are standardized, or known by their normal scores: a rising map y = h(x)
through a few of their answers. Between knots, answers with evenly spread scores, h is linear;
beyond the last one it goes on as the logarithm, h(x) = s + log(1 + b (x − a)), with the slope b of
the last piece, so that an answer farther out than any before is not taken for a miracle. If an item
is reversed (−x), so are its scores.

Which of the two: curves have normal noise about them. An item with long tails (an income, a time, a
large count) has not: its few largest answers would decide about its curve, and with it about the
structure, by the luck of the draw. An item with bounded or bending responses may have it, while its
normal scores have not. So each item is judged by its likelihood given the factors. With z the
factor scores of the copula model and f a smooth curve through the item,

    ℓ = −½ log Var(h(x) − f(z)) + mean of log h'(x)    nats per answer,

where h standardizes, or gives the normal scores (less one nat for each knot of these). Normal
scores are taken if they gain more than .15. To gain less it is enough that z is known with an
error only: of z² + noise about .1, though curves of the units are far more likely once the factors
are known through them; of exp(σ y), y normal, σ = .2 .04, σ = .4 .15, σ = .5 .23, σ = 1 .9. Up to
σ = .3 curves in the items' own units are as stable as those of their logarithms. Nothing here is
random: the choice depends neither on the seed nor on units, signs and the order of items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.saved import register
from dtstat.curves import bspline
from dtstat.dependence.pearson import mean_and_sd
from dtstat.factors.copula import FactorEstimate
from dtstat.factors.scores import factor_scores

_MOST_KNOTS = 32  # even: a middle one would have two nearest answers
_FAR = 30.0  # scores beyond the last answer: what lies farther is not a number anybody gave
_SLOPES = (1e-280, 1e280)  # so that logarithms and products stay numbers
_NODES = 21  # of Gauss–Hermite quadrature
_SMOOTHING = 10.0
_GAIN = 0.15  # nats per answer
_LEAST_ANSWERS = 11  # distinct ones: with fewer an item has steps, not a density
_DECIMALS = 8  # of coded answers


@register(shapes={"mean": "p", "sd": "p", "levels": "p", "levels[]": "*", "normal": "p"})
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
        mean, sd = mean_and_sd(X)
        mean, sd = np.where(rated, 0.0, mean), np.where(rated, 1.0, sd)
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
        """(n, p) standardized answers, normal scores and categories; NaN stays NaN.

        To eight decimals: later ones show the unit of the answers, and a chain of many thousand
        moves makes more of them.
        """
        # A difference may be beyond all numbers, and a quarter of the least number is zero.
        quarter = np.where(self.sd > 1, 0.25, 1.0)
        coded = (X * quarter - self.mean * quarter) / (self.sd * quarter)
        coded = np.ascontiguousarray(coded)  # kernels read row by row
        for i, levels in enumerate(self.levels):
            if len(levels):
                between = (levels[1:] + levels[:-1]) / 2
                category = np.searchsorted(between, X[:, i]).astype(np.float64)
                coded[:, i] = np.where(np.isnan(X[:, i]), np.nan, category)
            elif self.normal[i].used:
                coded[:, i] = self.normal[i].encode(X[:, i])
        return np.round(coded, _DECIMALS)

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


@register(shapes={"answers": "k", "scores": "k"})
@dataclass(frozen=True, eq=False)
class NormalScores:
    """The map of one item.

    Attributes
    ----------
    answers, scores
        (k,) knots, rising; none if the item is left as it was measured.
    """

    answers: FloatArray
    scores: FloatArray

    @classmethod
    def learn(cls, x: FloatArray) -> NormalScores:
        """Learn the map of an item that varies; NaN for missing answers."""
        from scipy.special import ndtri

        answers, counts = np.unique(x[~np.isnan(x)], return_counts=True)
        scores = ndtri((np.cumsum(counts) - counts / 2) / counts.sum())
        scores = scores / np.sqrt(counts @ scores**2 / counts.sum())
        wanted = np.linspace(scores[0], scores[-1], _MOST_KNOTS)
        middles = (scores[1:] + scores[:-1]) / 2
        kept = np.unique(np.searchsorted(middles, wanted))  # the nearest
        return cls(answers[kept], scores[kept])

    @classmethod
    def none(cls) -> NormalScores:
        """Return the map of an item that needs none."""
        return cls(np.empty(0), np.empty(0))

    @property
    def used(self) -> bool:
        """Whether the item is known by its scores."""
        return len(self.answers) > 0

    @property
    def _slopes(self) -> FloatArray:
        with np.errstate(over="ignore", divide="ignore"):
            slopes: FloatArray = np.diff(self.scores) / np.diff(self.answers)
        return slopes.clip(*_SLOPES)

    def encode(self, x: FloatArray) -> FloatArray:
        """(n,) scores of answers; NaN stays NaN."""
        below, above = self._beyond(x)
        inside: FloatArray = np.interp(x, self.answers, self.scores)
        return inside + np.log1p(above) - np.log1p(below)

    def log_slope(self, x: FloatArray) -> FloatArray:
        """(n,) log h'(x); at a knot the mean of both sides, so that no direction is preferred."""
        logs, last = np.log(self._slopes), len(self.answers) - 2
        sides = (
            logs[(np.searchsorted(self.answers, x, side) - 1).clip(0, last)]
            for side in ("left", "right")
        )
        below, above = self._beyond(x)
        slope: FloatArray = sum(sides) / 2 - np.log1p(above) - np.log1p(below)
        return slope

    def decode(self, y: FloatArray) -> FloatArray:
        """(n,) answers of scores."""
        slopes = self._slopes
        above = np.expm1((y - self.scores[-1]).clip(0, _FAR)) / slopes[-1]
        below = np.expm1((self.scores[0] - y).clip(0, _FAR)) / slopes[0]
        answers: FloatArray = np.interp(y, self.scores, self.answers) + above - below
        return answers

    def _beyond(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far answers lie beyond the knots, in scores of the last pieces."""
        slopes = self._slopes
        below = np.maximum(self.answers[0] - x, 0) * slopes[0]
        return below, np.maximum(x - self.answers[-1], 0) * slopes[-1]


def better_by_scores(
    X: FloatArray, support: BoolArray, start: FactorEstimate, normal_scores: FloatArray
) -> BoolArray:
    """(p,) which items are known by their normal scores; arguments as below."""
    return gains_by_scores(X, support, start, normal_scores) > _GAIN


def gains_by_scores(
    X: FloatArray, support: BoolArray, start: FactorEstimate, normal_scores: FloatArray
) -> FloatArray:
    """(p,) nats per answer that normal scores gain; −inf for items with few distinct answers.

    Parameters
    ----------
    X
        (n, p) answers; NaN if missing.
    support, start
        (p, d) the structure, and its copula model.
    normal_scores
        (n, p) normal scores of the answers, from which factors are estimated.
    """
    Z, _ = factor_scores(start, normal_scores)
    Z = np.nan_to_num((Z - np.nanmean(Z, axis=0)) / np.nanstd(Z, axis=0))
    designs = [bspline.design(z) for z in Z.T]
    gains = np.full(X.shape[1], -np.inf)
    for i, parents in enumerate(map(np.flatnonzero, support)):
        seen = ~np.isnan(X[:, i])
        x = X[seen, i]
        if len(np.unique(x)) < _LEAST_ANSWERS:
            continue
        B = np.hstack([np.ones((len(x), 1)), *(designs[k][seen] for k in parents)])
        gains[i] = _gain(x, B)
    return gains


def _gain(x: FloatArray, B: FloatArray) -> float:
    x = x / np.exp2(np.frexp(np.abs(x).max())[1] - 1)  # the gain has no unit; squares overflow
    h = NormalScores.learn(x)
    sd = float(x.std())
    as_measured = -0.5 * np.log(_residual_variance((x - x.mean()) / sd, B)) - np.log(sd)
    by_scores = -0.5 * np.log(_residual_variance(h.encode(x), B)) + h.log_slope(x).mean()
    price = (len(h.answers) - 2) / len(x)  # knots, instead of mean and variance
    return float(by_scores - as_measured - price)


def _residual_variance(y: FloatArray, B: FloatArray) -> float:
    """Variance of y about penalized curves with the design B."""
    curves = (B.shape[1] - 1) // bspline.K
    A = B.T @ B
    A[1:, 1:] += _SMOOTHING * np.kron(np.eye(curves), bspline.penalty())
    A.flat[:: len(A) + 1] += 1e-6 * len(y)
    residual = y - B @ np.linalg.solve(A, B.T @ y)
    return float(np.mean(residual**2))
