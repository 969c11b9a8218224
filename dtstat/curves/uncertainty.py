"""Standard errors of curves and factor correlations, from the scores of the persons.

The score of person r is the mean over posterior draws of z of the complete-data score (Louis 1982):

    curves   B(z_j) ∂log f(x_i | η_i)/∂η_i        Φ   [Φ⁻¹ z zᵀ Φ⁻¹ − Φ⁻¹]_jk

With J the sum of the products s_a s_bᵀ of scores from two halves of the draws (of one and the same
score the Monte Carlo error would count as information, most of all where most is missing), and P
the smoothing penalties, the covariance of all parameters together is (J + P)⁻¹ (the Bayesian one
of Wood 2006; noise and thresholds are taken as known).

References
----------
Louis, T. A. (1982). Finding the observed information matrix when using the EM algorithm. Journal
of the Royal Statistical Society B 44, 226–233. Wood, S. N. (2006). On confidence intervals for
generalized additive models based on penalized regression splines. Australian & New Zealand
Journal of Statistics 48, 445–464.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.kernels import kernel
from dtstat.curves import bspline, ratings
from dtstat.curves.posterior import JointModel
from dtstat.curves.response_model import ResponseModel

_BLOCK = 2000  # rows whose scores are held at once
_RIDGE = 1e-3  # relative; levels of several curves of an item are one


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Standard errors.

    Attributes
    ----------
    curves
        (E, G) of the curves on a grid; NaN if unknown.
    factor_correlations
        (d, d) of Φ, 0 on the diagonal.
    """

    curves: FloatArray
    factor_correlations: FloatArray


def spline_uncertainty(
    model: ResponseModel, X: FloatArray, draws: FloatArray, smoothing: FloatArray, grid: FloatArray
) -> Uncertainty:
    """Compute standard errors of a spline model.

    Parameters
    ----------
    model
        The fitted model.
    X
        (n, p) coded answers it was fitted to.
    draws
        (m, n, d) draws of the factors given the answers.
    smoothing
        (E,) smoothing parameters.
    grid
        (G,) where the curves are wanted.
    """
    E, d = len(smoothing), draws.shape[2]
    size = E * bspline.K
    J = np.zeros((size + d * (d - 1) // 2,) * 2)
    for first in range(0, len(X), _BLOCK):
        rows = slice(first, first + _BLOCK)
        halves = np.array_split(draws[:, rows], 2)
        J += _products(
            *(
                np.hstack([_curve_scores(model, X[rows], half), _phi(model, half)])
                for half in halves
            )
        )
    least = _RIDGE * abs(J.trace()) / len(J)
    J[:size, :size] += np.kron(np.diag(smoothing), bspline.penalty())
    W = _root_of_inverse(J, least)
    return Uncertainty(_curve_errors(model, W, draws[-1], grid), _symmetric(W[size:], d))


def phi_uncertainty(model: JointModel, draws: FloatArray, n_grid: int, E: int) -> Uncertainty:
    """Compute standard errors of Φ, the curves taken as known; those of the curves are NaN."""
    d = draws.shape[2]
    J = _products(*(_phi(model, half) for half in np.array_split(draws, 2)))
    W = _root_of_inverse(J, _RIDGE * abs(J.trace())) if d > 1 else J
    return Uncertainty(np.full((E, n_grid), np.nan), _symmetric(W, d))


def _products(a: FloatArray, b: FloatArray) -> FloatArray:
    """Sum over rows of s_a s_bᵀ, made symmetric."""
    product = a.T @ b
    return (product + product.T) / 2


def _root_of_inverse(J: FloatArray, least: float) -> FloatArray:
    """Return W with J⁻¹ = W Wᵀ, by which a variance cᵀJ⁻¹c is a sum of squares.

    Smaller eigenvalues of J are raised to ``least``: few rows may give negative ones.
    """
    values, vectors = np.linalg.eigh(J)
    root: FloatArray = vectors / np.sqrt(np.maximum(values, least))
    return root


def _curve_scores(model: ResponseModel, X: FloatArray, draws: FloatArray) -> FloatArray:
    """(n, E K) mean scores of the curves' coefficients."""
    item, factor = model.edges.item, model.edges.factor
    scores = np.zeros((len(X), len(item) * bspline.K))
    for Z in draws:
        pairs = [bspline.basis(z) for z in Z.T]
        first = np.stack([one[0] for one in pairs], axis=1)
        values = np.stack([one[1] for one in pairs], axis=1)
        _add_scores(first, values, _by_eta(model, Z, X), item, factor, scores)
    return scores / len(draws)


def _by_eta(model: ResponseModel, Z: FloatArray, X: FloatArray) -> FloatArray:
    """(n, p) derivatives of log f(x | η) by η; 0 where the answer is missing."""
    eta = model.predictors(Z)
    slope: FloatArray = np.nan_to_num((X - eta) / model.noise)
    for i in np.flatnonzero(model.n_thresholds):
        seen = ~np.isnan(X[:, i])
        slope[:, i] = 0.0
        place = np.rint((eta[seen, i] - ratings.LOW) * ratings.PER_UNIT)
        at = place.clip(0, len(ratings.GRID) - 1).astype(np.int64)
        slope[seen, i] = model.answers[i, X[seen, i].astype(np.int64), at, 1]
    return slope


@kernel
def _add_scores(
    first: IntArray,
    values: FloatArray,
    by_eta: FloatArray,
    item: IntArray,
    factor: IntArray,
    scores: FloatArray,
) -> None:
    """Add B(z_j) ∂log f/∂η_i to the scores of every edge (i, j)."""
    width = scores.shape[1] // item.size
    for r in range(scores.shape[0]):
        for e in range(item.size):
            k = factor[e]
            start = e * width + first[r, k]
            for m in range(4):
                scores[r, start + m] += values[r, k, m] * by_eta[r, item[e]]


def _phi(model: JointModel, draws: FloatArray) -> FloatArray:
    """(n, d(d − 1)/2) mean scores of the factor correlations."""
    A = np.linalg.inv(model.factor_correlations)
    j, k = np.triu_indices(len(A), 1)
    Y = draws @ A
    scores: FloatArray = (Y[:, :, j] * Y[:, :, k]).mean(axis=0) - A[j, k]
    return scores


def _curve_errors(
    model: ResponseModel, W: FloatArray, Z: FloatArray, grid: FloatArray
) -> FloatArray:
    """(E, G) standard errors of level plus curve, the item's other curves at their means."""
    K, B = bspline.K, bspline.design(grid)
    means = np.array([bspline.mean(*bspline.basis(z)) for z in Z.T])
    errors = np.empty((len(model.edges.item), len(grid)))
    for e, i in enumerate(model.edges.item):
        which = model.edges.of_item(int(i))
        parents = model.edges.factor[which]
        C = np.tile(means[parents].ravel(), (len(grid), 1))
        place = (e - which.start) * K
        C[:, place : place + K] = B
        part = slice(which.start * K, which.stop * K)
        errors[e] = np.linalg.norm(C @ W[part], axis=1)
    return errors


def _symmetric(W: FloatArray, d: int) -> FloatArray:
    errors = np.zeros((d, d))
    errors[np.triu_indices(d, 1)] = np.linalg.norm(W, axis=1)
    return errors + errors.T
