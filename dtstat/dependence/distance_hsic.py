"""Distance correlation and normalized HSIC: how far two items agree on which rows are close.

Both are the same computation with different closeness. Each item has an n × n matrix K of closeness
between rows; it is centered, A = HKH with H = I − 11ᵀ/n, and

    alignment(i, j) = ⟨A_i, A_j⟩ / √(⟨A_i, A_i⟩ ⟨A_j, A_j⟩).

All p(p−1)/2 inner products are one product of a matrix that has the A_i as its rows. It is built
and multiplied a few rows of the data at a time, so memory does not grow with n².
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dtstat.core.arrays import FloatArray
from dtstat.core.kernels import kernel
from dtstat.core.parallel import Progress, track
from dtstat.dependence.pearson import rescale_extremes

SingleArray = npt.NDArray[np.float32]
Closeness = Callable[[SingleArray, SingleArray], SingleArray]

_CHUNK_BYTES = 48_000_000


def distance_correlation(X: FloatArray, progress: Progress = None) -> FloatArray:
    """Distance correlation of the columns of X (Székely, Rizzo & Bakirov 2007).

        dCor² = ⟨A_i, A_j⟩ / √(⟨A_i, A_i⟩ ⟨A_j, A_j⟩),   A = centered matrix of |x_a − x_b|

    Zero in the population only under independence. In a sample of n rows independent items have
    a value of the order of 1/√n, not zero. X is (n, p), complete, no column constant.
    """

    def distance(x: SingleArray, y: SingleArray) -> SingleArray:
        K: SingleArray = x - y
        return np.abs(K, out=K)

    R: FloatArray = np.sqrt(alignment(X, distance, progress, "distance", _mean_distances))
    return R


def normalized_hsic(X: FloatArray, progress: Progress = None) -> FloatArray:
    """Hilbert–Schmidt independence criterion, scaled to [0, 1], of the columns of X.

        NHSIC = HSIC(i, j) / √(HSIC(i, i) HSIC(j, j)),   HSIC = ⟨HK_iH, HK_jH⟩ / n²

    with K(a, b) = exp(−(x_a − x_b)² / 2) of the standardized item: the bandwidth is its standard
    deviation, within 5 % of the usual median distance for normal items and never zero for items
    of few levels (Gretton et al. 2005; Cortes, Mohri & Rostamizadeh 2012 for the scaling).
    X is (n, p), complete, no column constant.
    """

    def gaussian(x: SingleArray, y: SingleArray) -> SingleArray:
        K: SingleArray = np.exp(np.float32(-0.5) * np.square(x - y))
        return K

    return alignment(X, gaussian, progress, "hsic")


def alignment(
    X: FloatArray,
    closeness: Closeness,
    progress: Progress,
    label: str,
    row_means: Callable[[SingleArray], FloatArray] | None = None,
) -> FloatArray:
    """Alignment of all pairs of columns, standardized first: (p, p) values in [0, 1].

    ``closeness`` takes two broadcastable arrays of values and returns the entries of K,
    ``row_means`` values and returns the means of the rows of K, if there is a short way. Cost:
    between n²/2 (many items) and n² (few) multiplications per pair, as matrix products in single
    precision whose sums are added up in double precision.
    """
    X = rescale_extremes(X)
    Z = ((X - X.mean(axis=0)) / X.std(axis=0)).T.astype(np.float32)
    p, n = Z.shape
    rows = max(1, min(n, _CHUNK_BYTES // (4 * n * p)))
    means = _row_means(Z, closeness, rows) if row_means is None else [row_means(z) for z in Z]
    shift = _half_centered(np.array(means))
    G = np.zeros((p, p))
    for start in track(range(0, n, rows), progress, label):
        A = _centered_rows(Z, closeness, shift, start, min(start + rows, n))
        G += A @ A.T
    norm = np.sqrt(np.diag(G))
    R: FloatArray = G / np.outer(norm, norm)
    np.fill_diagonal(R, 1.0)
    return np.clip(R, 0.0, 1.0)


def _mean_distances(z: SingleArray) -> FloatArray:
    """Mean |z_a − z_b| over b for every a: of the rising values, from sums of those below."""
    n, order = len(z), np.argsort(z)
    rising = z[order].astype(float)
    upto, place = np.cumsum(rising), np.arange(n)
    below = place * rising - (upto - rising)
    above = upto[-1] - upto - (n - 1 - place) * rising
    means = np.empty(n)
    means[order] = (below + above) / n
    return means


def _half_centered(means: FloatArray) -> SingleArray:
    """(p, n) row means m_a of each K less half its mean m, so that A_ab = K_ab − s_a − s_b."""
    shift: SingleArray = (means - means.mean(axis=1, keepdims=True) / 2).astype(np.float32)
    return shift


def _row_means(Z: SingleArray, closeness: Closeness, rows: int) -> FloatArray:
    """(p, n) means of the rows of each K."""
    p, n = Z.shape
    means = np.zeros((p, n))
    for z, mean in zip(Z, means, strict=True):
        for a in range(0, n, rows):
            _add_rows(closeness(z[a : a + rows, None], z), mean)  # K is symmetric
    means /= n
    return means


def _centered_rows(
    Z: SingleArray, closeness: Closeness, shift: SingleArray, start: int, stop: int
) -> SingleArray:
    """(p, m) entries of rows start..stop of every A, each unordered pair of rows once."""
    A = np.empty((len(Z), stop - start, Z.shape[1] - start), dtype=np.float32)
    for z, s, entries in zip(Z, shift, A, strict=True):
        _center(closeness(z[start:stop, None], z[start:]), s[start:], entries)
    return A.reshape(len(Z), -1)


@kernel
def _add_rows(K: SingleArray, sums: FloatArray) -> None:
    """Add the rows of K to their sum, in double precision."""
    for a in range(K.shape[0]):
        for b in range(K.shape[1]):
            sums[b] += K[a, b]


@kernel
def _center(K: SingleArray, shift: SingleArray, A: SingleArray) -> None:
    """Subtract the shifts of row and column, and weight each unordered pair of rows.

    Above the diagonal an entry stands for two; below, it was taken with an earlier row.
    """
    twice = np.float32(np.sqrt(2.0))
    for a in range(K.shape[0]):
        A[a, :a] = np.float32(0.0)
        A[a, a] = K[a, a] - shift[a] - shift[a]
        for b in range(a + 1, K.shape[1]):
            A[a, b] = (K[a, b] - shift[a] - shift[b]) * twice
