"""Maximal correlation, by canonical correlation of Hermite polynomials."""

from __future__ import annotations

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.parallel import Progress, track
from dtstat.dependence.spearman import average_ranks

_ROWS_FOR_ORDER = {4: 500, 3: 200, 2: 0}  # fewer rows, fewer polynomials: less upward bias
_PAIRS_PER_BLOCK = 50_000


def maximal_correlation(X: FloatArray, progress: Progress = None) -> FloatArray:
    """Maximal correlation of the columns of X (Rényi 1959), within polynomials of normal scores.

        max corr(f(x_i), g(x_j)) over f, g in the span of He_1, ..., He_m of the normal scores

    which is the first canonical correlation of the two sets of polynomials: the largest singular
    value of Q_iᵀ Q_j, where Q_i is an orthonormal basis of item i's. Sees non-monotone dependence,
    such as x and x². Biased upward: below 500 rows m falls from 4 to 3, below 200 to 2.

    X is (n, p), complete, no column constant. Cost: one product of mp × n and n × mp matrices, and
    the singular values of an m × m matrix per pair.
    """
    n, p = X.shape
    order = next(m for m, rows in _ROWS_FOR_ORDER.items() if n >= rows)
    Q = _orthonormal_polynomials(X, order)
    C = (Q.T @ Q).reshape(p, order, p, order).transpose(0, 2, 1, 3)
    i, j = np.triu_indices(p, 1)
    R = np.eye(p)
    for start in track(range(0, len(i), _PAIRS_PER_BLOCK), progress, "maximal"):
        block = slice(start, start + _PAIRS_PER_BLOCK)
        first = np.linalg.svd(C[i[block], j[block]], compute_uv=False)[:, 0]
        R[i[block], j[block]] = R[j[block], i[block]] = np.minimum(first, 1.0)
    return R


def _orthonormal_polynomials(X: FloatArray, order: int) -> FloatArray:
    """(n, p · order) bases, centered; zero columns where an item has too few levels."""
    from scipy.special import ndtri

    scores = ndtri((average_ranks(X) - 0.5) / len(X))
    return np.concatenate([_basis(z, order) for z in scores.T], axis=1)


def _basis(z: FloatArray, order: int) -> FloatArray:
    """(n, order) orthonormal basis of the centered He_1(z) ... He_order(z)."""
    H: FloatArray = np.polynomial.hermite_e.hermevander(z, order)[:, 1:].astype(float)
    H -= H.mean(axis=0)
    H /= np.maximum(np.linalg.norm(H, axis=0), 1e-300)
    Q = np.zeros_like(H)
    # An item of k levels has k − 1 independent polynomials; more would be rounding error.
    rank = min(order, len(np.unique(z)) - 1)
    Q[:, :rank] = np.linalg.qr(H[:, :rank])[0]
    return Q
