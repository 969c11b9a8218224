"""Which continuous items curves are drawn through as measured, and which by their normal scores.

Curves have normal noise about them. An item with long tails (an income, a time, a large count) has
not: its few largest answers would decide about its curve, and with it about the structure, by the
luck of the draw. An item with bounded or bending responses may have it, while its normal scores
have not. So each item is judged by its likelihood given the factors. With z the factor scores of
the copula model and f a smooth curve through the item,

    ℓ = −½ log Var(h(x) − f(z)) + mean of log h'(x)    nats per answer,

where h standardises, or gives the normal scores (less one nat for each knot of these). Normal
scores are taken if they gain more than .15. To gain less it is enough that z is known with an
error only: of z² + noise about .1, though curves of the units are far more likely once the factors
are known through them; of exp(σ y), y normal, σ = .2 .04, σ = .4 .15, σ = .5 .23, σ = 1 .9. Up to
σ = .3 curves in the items' own units are as stable as those of their logarithms.

Nothing here is random: the choice depends neither on the seed nor on units, signs and the order
of items.
"""

from __future__ import annotations

import numpy as np

from dtstat.arrays import BoolArray, FloatArray
from dtstat.estimation.factors.copula import FactorEstimate
from dtstat.estimation.factors.rows import factor_scores
from dtstat.estimation.nonlinear import bspline
from dtstat.estimation.nonlinear.normal_scores import NormalScores

_SMOOTHING = 10.0
_GAIN = 0.15  # nats per answer
_LEAST_ANSWERS = 11  # distinct ones: with fewer an item has steps, not a density


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
    designs = [bspline.design(z) for z in _standardised(Z).T]
    gains = np.full(X.shape[1], -np.inf)
    for i, parents in enumerate(map(np.flatnonzero, support)):
        seen = ~np.isnan(X[:, i])
        x = X[seen, i]
        if len(np.unique(x)) < _LEAST_ANSWERS:
            continue
        B = np.hstack([np.ones((len(x), 1)), *(designs[k][seen] for k in parents)])
        gains[i] = _gain(x, B)
    return gains


def better_by_scores(
    X: FloatArray, support: BoolArray, start: FactorEstimate, normal_scores: FloatArray
) -> BoolArray:
    """(p,) which items are known by their normal scores; arguments as above."""
    return gains_by_scores(X, support, start, normal_scores) > _GAIN


def _gain(x: FloatArray, B: FloatArray) -> float:
    h = NormalScores.learn(x)
    sd = float(x.std())
    as_measured = -0.5 * np.log(_left((x - x.mean()) / sd, B)) - np.log(sd)
    by_scores = -0.5 * np.log(_left(h.encode(x), B)) + h.log_slope(x).mean()
    price = (len(h.answers) - 2) / len(x)  # knots, instead of mean and variance
    return float(by_scores - as_measured - price)


def _left(y: FloatArray, B: FloatArray) -> float:
    """Variance about a penalised curve."""
    curves = (B.shape[1] - 1) // bspline.K
    A = B.T @ B
    A[1:, 1:] += _SMOOTHING * np.kron(np.eye(curves), bspline.penalty())
    A.flat[:: len(A) + 1] += 1e-6 * len(y)
    residual = y - B @ np.linalg.solve(A, B.T @ y)
    return float(np.mean(residual**2))


def _standardised(Z: FloatArray) -> FloatArray:
    standard: FloatArray = np.nan_to_num((Z - np.nanmean(Z, axis=0)) / np.nanstd(Z, axis=0))
    return standard
