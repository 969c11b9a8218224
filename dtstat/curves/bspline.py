"""Cubic B-splines on equal intervals, for curves of a standard normal factor.

B-splines of degree 3 with K − 3 intervals on [−4, 4]. Within an interval, at the share u of it, the
four that are not zero have the values (de Boor 1978)

    (1 − u)³/6,  (3u³ − 6u² + 4)/6,  (−3u³ + 3u² + 3u + 1)/6,  u³/6.

Beyond the ends a curve goes on as the straight line of its end. The penalty on the second
differences of the coefficients (P-splines, Eilers & Marx 1996) leaves straight lines free.

References
----------
de Boor, C. (1978). A practical guide to splines. Springer. Eilers, P. H. C. & Marx, B. D. (1996).
Flexible smoothing with B-splines and penalties. Statistical Science 11, 89–121.
"""

from __future__ import annotations

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.kernels import kernel

LOW, HIGH = -4.0, 4.0
INTERVALS = 16
K = INTERVALS + 3
WIDTH = (HIGH - LOW) / INTERVALS
# Row m: the powers of u in the m-th of the four splines.
_POWERS = np.array([[1, -3, 3, -1], [4, 0, -6, 3], [1, 3, 3, -3], [0, 0, 0, 1]]) / 6


def basis(z: FloatArray) -> tuple[IntArray, FloatArray]:
    """First of the four splines that are not zero at each z, and the four values.

    Parameters
    ----------
    z
        (n,) values; those beyond the ends are taken on the straight continuation.

    Returns
    -------
    first, values
        (n,) and (n, 4), so that a curve is Σ_m values[:, m] β[first + m].
    """
    first, values = np.empty(len(z), dtype=np.int64), np.empty((len(z), 4))
    _basis(np.ascontiguousarray(z, dtype=np.float64), first, values)
    return first, values


@kernel
def _basis(z: FloatArray, first: IntArray, values: FloatArray) -> None:
    for r in range(z.size):
        place = (z[r] - LOW) / WIDTH
        inside = min(max(place, 0.0), float(INTERVALS))
        j = min(int(inside), INTERVALS - 1)
        u, beyond = inside - j, place - inside
        v = 1 - u
        first[r] = j
        values[r, 0] = v * v * v / 6 - beyond * v * v / 2
        values[r, 1] = (3 * u * u * u - 6 * u * u + 4) / 6 + beyond * (3 * u * u - 4 * u) / 2
        values[r, 2] = (3 * v * v * v - 6 * v * v + 4) / 6 - beyond * (3 * v * v - 4 * v) / 2
        values[r, 3] = u * u * u / 6 + beyond * u * u / 2


def design(z: FloatArray) -> FloatArray:
    """(n, K) matrix of all splines."""
    first, values = basis(z)
    B = np.zeros((len(z), K))
    np.put_along_axis(B, first[:, None] + np.arange(4), values, axis=1)
    return B


def pieces(coefficients: FloatArray) -> FloatArray:
    """(E, intervals, 4) the cubics c_0 + c_1 u + c_2 u² + c_3 u³ of curves within the intervals.

    Parameters
    ----------
    coefficients
        (E, K) spline coefficients of each curve.
    """
    windows = np.lib.stride_tricks.sliding_window_view(coefficients, 4, axis=1)
    return np.ascontiguousarray(windows @ _POWERS)


def mean(first: IntArray, values: FloatArray) -> FloatArray:
    """(K,) means of all splines over the values that :func:`basis` was given."""
    places = (first[:, None] + np.arange(4)).ravel()
    means: FloatArray = np.bincount(places, values.ravel(), minlength=K) / len(first)
    return means


def penalty() -> FloatArray:
    """(K, K) matrix P = DᵀD of the second differences; its rank is K − 2."""
    D = np.diff(np.eye(K), n=2, axis=0)
    P: FloatArray = D.T @ D
    return P
