"""Compiled parts of nonlinear estimation: item likelihoods, their slopes, normal equations.

Curves are cubics between knots and straight beyond the last ones. Log-probabilities of ratings are
tabulated on a fine grid of the predictor η (:mod:`dtstat.curves.ratings`), from which
kernels interpolate.
"""

from __future__ import annotations

import math

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.kernels import kernel

_LOG_2PI = math.log(2 * math.pi)
_BLOCK = 256  # rows whose predictors stay in the cache, and which one loop can treat as vectors


@kernel
def locate(z: float, low: float, per_unit: float, last: int) -> tuple[int, float, float]:
    """Return the interval of z, the share u of it, and how far z lies beyond the ends."""
    place = (z - low) * per_unit
    inside = min(max(place, 0.0), last + 1.0)
    j = min(int(inside), last)
    return j, inside - j, place - inside


@kernel
def posterior(
    Z: FloatArray,
    X: FloatArray,
    factor: IntArray,
    start: IntArray,
    pieces: FloatArray,
    low: float,
    per_unit: float,
    intercepts: FloatArray,
    omega: FloatArray,
    n_tau: IntArray,
    answers: FloatArray,
    answers_low: float,
    answers_per_unit: float,
    precision: FloatArray,
    log_density: FloatArray,
    gradient: FloatArray,
) -> None:
    """Fill in log p(x, z) up to a constant and its gradient by z, for every row of Z.

    Edges are sorted by item; those of item i are start[i] ... start[i + 1] − 1. ``pieces`` has
    the cubics of the curves, (edges, intervals, 4), ``answers`` values and derivatives by η of the
    log-probability of each category, (items, categories, grid, 2). Rows of X are used again and
    again if Z has more. Missing answers are NaN and left out.
    """
    d, most = Z.shape[1], np.max(start[1:] - start[:-1])
    at, rows = np.empty((d, _BLOCK), np.int64), np.empty(_BLOCK, np.int64)
    share, beyond = np.empty((d, _BLOCK)), np.empty((d, _BLOCK))
    eta, by_eta, slopes = np.empty(_BLOCK), np.empty(_BLOCK), np.empty((most, _BLOCK))
    half_log, weight = 0.5 * (_LOG_2PI + np.log(omega)), 1.0 / omega
    for first in range(0, Z.shape[0], _BLOCK):
        size = min(_BLOCK, Z.shape[0] - first)
        for r in range(size):
            rows[r] = (first + r) % X.shape[0]
        prior(Z, first, size, precision, log_density, gradient)
        for k in range(d):
            for r in range(size):
                place = locate(Z[first + r, k], low, per_unit, pieces.shape[1] - 1)
                at[k, r], share[k, r], beyond[k, r] = place
        for i in range(X.shape[1]):
            eta[:size] = intercepts[i]
            for e in range(start[i], start[i + 1]):
                k = factor[e]
                add_curve(pieces[e], at[k], share[k], beyond[k], size, eta, slopes[e - start[i]])
            if n_tau[i]:
                grid = answers_low, answers_per_unit
                add_rating(X[:, i], rows, answers[i], grid, eta, first, size, log_density, by_eta)
            else:
                add_normal(
                    X[:, i], rows, half_log[i], weight[i], eta, first, size, log_density, by_eta
                )
            for e in range(start[i], start[i + 1]):
                for r in range(size):
                    slope = slopes[e - start[i], r] * per_unit
                    gradient[first + r, factor[e]] += by_eta[r] * slope


@kernel
def prior(
    Z: FloatArray,
    first: int,
    size: int,
    precision: FloatArray,
    log_density: FloatArray,
    gradient: FloatArray,
) -> None:
    """Fill in −½ zᵀΦ⁻¹z and its gradient for a block of rows."""
    d = Z.shape[1]
    for r in range(first, first + size):
        value = 0.0
        for j in range(d):
            total = 0.0
            for k in range(d):
                total += precision[j, k] * Z[r, k]
            gradient[r, j] = -total
            value -= 0.5 * Z[r, j] * total
        log_density[r] = value


@kernel
def add_curve(
    cubic: FloatArray,
    at: IntArray,
    share: FloatArray,
    beyond: FloatArray,
    size: int,
    eta: FloatArray,
    slopes: FloatArray,
) -> None:
    """Add a curve to η and fill in its slopes by the share of an interval, for a block of rows."""
    for r in range(size):
        u = share[r]
        c1, c2, c3 = cubic[at[r], 1], cubic[at[r], 2], cubic[at[r], 3]
        slope = c1 + u * (2 * c2 + 3 * u * c3)
        eta[r] += cubic[at[r], 0] + u * (c1 + u * (c2 + u * c3)) + slope * beyond[r]
        slopes[r] = slope


@kernel
def add_normal(
    x: FloatArray,
    rows: IntArray,
    half_log: float,
    weight: float,
    eta: FloatArray,
    first: int,
    size: int,
    log_density: FloatArray,
    by_eta: FloatArray,
) -> None:
    """Add the log-density of a normal item, and fill in its derivative by η."""
    for r in range(size):
        residual = x[rows[r]] - eta[r]
        missing = math.isnan(residual)
        by_eta[r] = 0.0 if missing else residual * weight
        log_density[first + r] -= 0.0 if missing else half_log + 0.5 * residual * by_eta[r]


@kernel
def add_rating(
    x: FloatArray,
    rows: IntArray,
    answers: FloatArray,
    grid: tuple[float, float],
    eta: FloatArray,
    first: int,
    size: int,
    log_density: FloatArray,
    by_eta: FloatArray,
) -> None:
    """Add the log-probability of a rating, and fill in its derivative by η."""
    for r in range(size):
        answer = x[rows[r]]
        by_eta[r] = 0.0
        if not math.isnan(answer):
            c = int(answer)
            g, u, _ = locate(eta[r], grid[0], grid[1], answers.shape[1] - 2)
            value, slope = answers[c, g, 0], answers[c, g, 1]
            log_density[first + r] += value + u * (answers[c, g + 1, 0] - value)
            by_eta[r] = slope + u * (answers[c, g + 1, 1] - slope)


@kernel
def predict(
    Z: FloatArray,
    factor: IntArray,
    start: IntArray,
    pieces: FloatArray,
    low: float,
    per_unit: float,
    intercepts: FloatArray,
    eta: FloatArray,
    slopes: FloatArray,
) -> None:
    """Fill in predictors η (n, p) and slopes of the curves (n, edges) at the rows of Z."""
    last = pieces.shape[1] - 1
    for r in range(len(Z)):
        for i in range(eta.shape[1]):
            total = intercepts[i]
            for e in range(start[i], start[i + 1]):
                j, u, beyond = locate(Z[r, factor[e]], low, per_unit, last)
                c = pieces[e, j]
                slope = c[1] + u * (2 * c[2] + 3 * u * c[3])
                total += c[0] + u * (c[1] + u * (c[2] + u * c[3])) + slope * beyond
                slopes[r, e] = slope * per_unit
            eta[r, i] = total


@kernel
def underlying(
    x: FloatArray, eta: FloatArray, answers: FloatArray, low: float, per_unit: float, y: FloatArray
) -> None:
    """Fill in E[Y | x, η] of the normal response Y = η + ε that a rating cuts; 0 if it is missing.

    It is η plus the derivative of log P(x | η) by η. ``answers`` (categories, grid, 2) is the
    table of the item.
    """
    last = answers.shape[1] - 2
    for r in range(x.size):
        y[r] = 0.0
        if math.isnan(x[r]):
            continue
        c = int(x[r])
        g, u, _ = locate(eta[r], low, per_unit, last)
        y[r] = eta[r] + answers[c, g, 1] + u * (answers[c, g + 1, 1] - answers[c, g, 1])


@kernel
def normal_equations(
    first: IntArray, values: FloatArray, y: FloatArray, w: FloatArray, S: FloatArray, t: FloatArray
) -> None:
    """Add Σ w B Bᵀ to S and Σ w B y to t, over rows with weight w > 0.

    ``first`` and ``values`` are (n, q) and (n, q, 4): for each of q parents the four splines that
    are not zero; K of S and t go to each parent.
    """
    n, q = first.shape
    size = t.size // q
    for r in range(n):
        if not w[r] > 0.0:
            continue
        for a in range(q):
            for m in range(4):
                i = a * size + first[r, a] + m
                weighted = w[r] * values[r, a, m]
                t[i] += weighted * y[r]
                for b in range(q):
                    for o in range(4):
                        S[i, b * size + first[r, b] + o] += weighted * values[r, b, o]
