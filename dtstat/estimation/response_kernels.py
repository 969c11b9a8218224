"""Compiled parts of nonlinear estimation: item likelihoods, their slopes, normal equations.

Curves are tabulated on a fine grid, so that a value or slope is one interpolation. An item is
normal with noise ω, or a rating with thresholds τ_1 < ... < τ_{C−1} and P(X ≤ c | z) =
Φ(τ_c − η).
"""

from __future__ import annotations

import math

import numpy as np

from dtstat.arrays import FloatArray, IntArray
from dtstat.compile import kernel

_ROOT_HALF = math.sqrt(0.5)
_LOG_2PI = math.log(2 * math.pi)
_PEAK = 1 / math.sqrt(2 * math.pi)
_LEAST = 1e-12  # probability of an answer: an outlier must not stop a chain


@kernel
def rating(x: float, eta: float, tau: FloatArray) -> tuple[float, float]:
    """Return log P(X = x | η) of a rating, x = 0, 1, ..., and its derivative by η."""
    c = int(x)
    upper = 1e9 if c == tau.size else tau[c] - eta
    lower = -1e9 if c == 0 else tau[c - 1] - eta
    if lower > 0:  # take the difference of the tails that are not near 1
        p = 0.5 * (math.erfc(lower * _ROOT_HALF) - math.erfc(upper * _ROOT_HALF))
    else:
        p = 0.5 * (math.erfc(-upper * _ROOT_HALF) - math.erfc(-lower * _ROOT_HALF))
    p = max(p, _LEAST)
    slope = math.exp(-0.5 * lower * lower) - math.exp(-0.5 * upper * upper)
    return math.log(p), slope * _PEAK / p


@kernel
def posterior(
    Z: FloatArray,
    X: FloatArray,
    factor: IntArray,
    start: IntArray,
    table: FloatArray,
    low: float,
    spacing: float,
    omega: FloatArray,
    tau: FloatArray,
    n_tau: IntArray,
    precision: FloatArray,
    log_density: FloatArray,
    gradient: FloatArray,
) -> None:
    """Fill in log p(x, z) up to a constant and its gradient by z, for every row.

    Edges are sorted by item; those of item i are start[i] ... start[i + 1] − 1. ``table``
    has values and slopes of the curves, (edges, grid, 2). Missing answers are NaN and left out.
    """
    n, d = Z.shape
    per_unit = 1.0 / spacing
    last = table.shape[1] - 2
    local = np.empty(table.shape[0])
    half_log = 0.5 * (_LOG_2PI + np.log(omega))
    for r in range(n):
        value = 0.0
        for j in range(d):
            total = 0.0
            for k in range(d):
                total += precision[j, k] * Z[r, k]
            gradient[r, j] = -total
            value -= 0.5 * Z[r, j] * total
        for i in range(X.shape[1]):
            if math.isnan(X[r, i]):
                continue
            eta = 0.0
            for e in range(start[i], start[i + 1]):
                place = (Z[r, factor[e]] - low) * per_unit
                g = min(max(math.floor(place), 0), last)
                u = place - g
                eta += table[e, g, 0] + u * (table[e, g + 1, 0] - table[e, g, 0])
                local[e] = table[e, g, 1] + u * (table[e, g + 1, 1] - table[e, g, 1])
            if n_tau[i] == 0:
                by_eta = (X[r, i] - eta) / omega[i]
                value -= half_log[i] + 0.5 * (X[r, i] - eta) * by_eta
            else:
                log_p, by_eta = rating(X[r, i], eta, tau[i, : n_tau[i]])
                value += log_p
            for e in range(start[i], start[i + 1]):
                gradient[r, factor[e]] += by_eta * local[e]
        log_density[r] = value


@kernel
def scoring(x: FloatArray, eta: FloatArray, tau: FloatArray, w: FloatArray, y: FloatArray) -> None:
    """Fill in weights and working responses of Fisher scoring for a rating.

    With s the derivative of log p by η, the weight is E[s²] over the answers and y = η + s / w; a
    missing answer has weight 0.
    """
    for r in range(x.size):
        w[r], y[r] = 0.0, 0.0
        if math.isnan(x[r]):
            continue
        for c in range(tau.size + 1):
            log_p, slope = rating(float(c), eta[r], tau)
            w[r] += math.exp(log_p) * slope * slope
        w[r] = max(w[r], 1e-6)
        y[r] = eta[r] + rating(x[r], eta[r], tau)[1] / w[r]


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
