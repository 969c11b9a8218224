"""Compiled parts of nonlinear estimation: item likelihoods, their slopes, normal equations.

Curves are tabulated on a fine grid of z, log-probabilities of ratings on a fine grid of the
predictor η (:mod:`dtstat.estimation.ratings`), so that a value or slope is one interpolation.
"""

from __future__ import annotations

import math

import numpy as np

from dtstat.arrays import FloatArray, IntArray
from dtstat.compile import kernel

_LOG_2PI = math.log(2 * math.pi)


@kernel
def posterior(
    Z: FloatArray,
    X: FloatArray,
    factor: IntArray,
    start: IntArray,
    table: FloatArray,
    low: float,
    spacing: float,
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
    """Fill in log p(x, z) up to a constant and its gradient by z, for every row.

    Edges are sorted by item; those of item i are start[i] ... start[i + 1] − 1. ``table``
    has values and slopes of the curves, (edges, grid, 2), ``answers`` those of the log-probability
    of each category by η, (items, categories, grid, 2). Missing answers are NaN and left out.
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
            eta = intercepts[i]
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
                c = int(X[r, i])
                place = (eta - answers_low) * answers_per_unit
                g = min(max(math.floor(place), 0), answers.shape[2] - 2)
                u = place - g
                value += answers[i, c, g, 0] + u * (answers[i, c, g + 1, 0] - answers[i, c, g, 0])
                by_eta = answers[i, c, g, 1] + u * (answers[i, c, g + 1, 1] - answers[i, c, g, 1])
            for e in range(start[i], start[i + 1]):
                gradient[r, factor[e]] += by_eta * local[e]
        log_density[r] = value


@kernel
def predict(
    Z: FloatArray,
    factor: IntArray,
    start: IntArray,
    table: FloatArray,
    low: float,
    spacing: float,
    intercepts: FloatArray,
    eta: FloatArray,
    slopes: FloatArray,
) -> None:
    """Fill in predictors η (n, p) and slopes of the curves (n, edges) at the rows of Z."""
    per_unit = 1.0 / spacing
    last = table.shape[1] - 2
    for r in range(len(Z)):
        for i in range(eta.shape[1]):
            total = intercepts[i]
            for e in range(start[i], start[i + 1]):
                place = (Z[r, factor[e]] - low) * per_unit
                g = min(max(math.floor(place), 0), last)
                u = place - g
                total += table[e, g, 0] + u * (table[e, g + 1, 0] - table[e, g, 0])
                slopes[r, e] = table[e, g, 1] + u * (table[e, g + 1, 1] - table[e, g, 1])
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
        place = (eta[r] - low) * per_unit
        g = min(max(math.floor(place), 0), last)
        u = place - g
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
