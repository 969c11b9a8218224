"""Probabilities of rectangles under the bivariate normal distribution, one rectangle for each row.

If two ordinal items regress on covariates every row has limits of its own, so that rows cannot be
counted in a table; the correlation of the residuals is estimated from their rectangles. The methods
are those of :mod:`dtstat.dependence.bivariate_normal`.
"""

from __future__ import annotations

from math import asin, copysign, exp, inf, nan, pi, sin, sqrt

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.kernels import kernel
from dtstat.dependence.bivariate_normal import (
    ARC_NODES,
    ARC_RULE_UP_TO,
    ARC_WEIGHTS,
    IMPOSSIBLE_CELL,
    MAX_STEPS,
    NEWTON_TOLERANCE,
    START,
    UNREACHED,
    advance_search,
    choose_rule,
    extreme_probability,
    normal_cdf,
)


@kernel
def _is_bounded(x: float) -> bool:
    return abs(x) < UNREACHED


@kernel
def _advance_rectangles(P: FloatArray, at: float, rho: float, h: FloatArray, k: FloatArray) -> None:
    """Bring P(h₀ < X < h₁, k₀ < Y < k₁) of each row from correlation ``at`` to ``rho``, in place.

    ``h`` and ``k`` are (n, 2) limits. As `_corner_probabilities`, where every row has limits of its
    own; at 0 the probability is a product.
    """
    if abs(rho) > ARC_RULE_UP_TO:
        for r in range(len(h)):
            P[r] = (
                extreme_probability(h[r, 1], k[r, 1], rho)
                - extreme_probability(h[r, 0], k[r, 1], rho)
                - extreme_probability(h[r, 1], k[r, 0], rho)
                + extreme_probability(h[r, 0], k[r, 0], rho)
            )
        return
    if not abs(at) <= ARC_RULE_UP_TO or abs(rho - at) > abs(rho):
        at = 0.0
        for r in range(len(h)):
            first = normal_cdf(h[r, 1]) - normal_cdf(h[r, 0])
            P[r] = first * (normal_cdf(k[r, 1]) - normal_cdf(k[r, 0]))
    low, high = asin(at), asin(rho)
    half = 0.5 * (high - low)
    first_node, last_node = choose_rule(low, high)
    for i in range(first_node, last_node):
        s = sin(low + half * (1.0 + ARC_NODES[i]))
        scale = 1.0 / (1.0 - s * s)
        weight = half * ARC_WEIGHTS[i] / (2.0 * pi)
        for r in range(len(h)):
            for a in range(2):
                for b in range(2):
                    x, y = h[r, a], k[r, b]
                    if _is_bounded(x) and _is_bounded(y):
                        term = weight * exp((x * y * s - 0.5 * (x * x + y * y)) * scale)
                        P[r] += term if a == b else -term


@kernel
def _rectangle_score(
    rho: float, P: FloatArray, h: FloatArray, k: FloatArray, weights: FloatArray
) -> tuple[float, float, float]:
    """Slope Σ w P'/P, information Σ w (P'/P)² and curvature Σ w [(P'/P)² - P''/P] of Σ w log P."""
    slope, information, curvature = 0.0, 0.0, 0.0
    s2 = (1.0 - rho) * (1.0 + rho)
    for r in range(len(h)):
        if P[r] <= IMPOSSIBLE_CELL:
            return -copysign(inf, rho), 1.0, nan
        first, second = 0.0, 0.0
        for a in range(2):
            for b in range(2):
                x, y = h[r, a], k[r, b]
                if _is_bounded(x) and _is_bounded(y):
                    form = (x * x + y * y - 2.0 * rho * x * y) / s2
                    density = exp(-0.5 * form) / (2.0 * pi * sqrt(s2))
                    density = density if a == b else -density
                    first += density
                    second += density * (rho + x * y - rho * form) / s2
        ratio = first / P[r]
        slope += weights[r] * ratio
        information += weights[r] * ratio * ratio
        curvature += weights[r] * (ratio * ratio - second / P[r])
    return slope, information, curvature


@kernel
def rectangle_correlation(h: FloatArray, k: FloatArray, weights: FloatArray) -> float:
    """Correlation ρ that maximizes Σ w log P(h₀ < X < h₁, k₀ < Y < k₁), rows with their limits.

    ``h`` and ``k`` are (n, 2), unbounded limits large numbers; ``weights`` are (n,). The table of
    two ordinal items is the case in which rows of a cell have the same limits
    (`table_correlation`).
    """
    search, at = START, nan
    P = np.empty(len(h))
    for _ in range(MAX_STEPS):
        rho = search.rho
        _advance_rectangles(P, at, rho, h, k)
        slope, information, curvature = _rectangle_score(rho, P, h, k, weights)
        tolerance = NEWTON_TOLERANCE * (1.0 - rho) * (1.0 + rho)
        search = advance_search(search, slope, information, curvature, tolerance)
        at = rho
        if search.done:
            break
    return search.rho


@kernel
def rectangle_probabilities(rho: float, h: FloatArray, k: FloatArray) -> FloatArray:
    """P(h₀ < X < h₁, k₀ < Y < k₁) of each row, shape (n,)."""
    P = np.empty(len(h))
    _advance_rectangles(P, nan, rho, h, k)
    return P
