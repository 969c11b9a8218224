"""The bivariate normal distribution, compiled: its distribution function and its correlation.

The correlation is estimated by maximum likelihood when both variables are seen only as categories
between known limits (a table), or when one of them is. The distribution function, needed for each
pair of limits at each step, works on one pair at a time without allocation.

References
----------
Drezner & Wesolowsky (1990), J. Statist. Comput. Simul. 35, 101-107: the bivariate normal integral.
Genz (2004), Statistics and Computing 14, 251-260: the same for correlations near ±1.
Olsson (1979), Psychometrika 44, 443-460: polychoric correlation.
Olsson, Drasgow & Dorans (1982), Psychometrika 47, 337-347: polyserial correlation.
"""

from __future__ import annotations

from math import asin, copysign, erfc, exp, inf, nan, pi, sin, sqrt
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dtstat.core.arrays import FloatArray, kernel

CodeArray: TypeAlias = npt.NDArray[np.int32]

# Gauss-Legendre rules on [-1, 1]; the short one has errors below 1e-15 for these |rho|.
_NODES_SHORT, _WEIGHTS_SHORT = np.polynomial.legendre.leggauss(10)
_NODES_LONG, _WEIGHTS_LONG = np.polynomial.legendre.leggauss(20)
_SHORT_RULE_UP_TO = 0.5
# Beyond this |rho| the integrand has a spike that no fixed rule resolves (Genz, 2004).
_ARC_RULE_UP_TO = 0.925
# Limits farther out than this leave less than the smallest double in the tail.
_UNBOUNDED = 38.0
# For |h - k| above this the near-singular integral is below exp(-80).
_SEPARATED = 5.0
# Largest |rho| estimated: at 1 the likelihood of a table is not differentiable.
RHO_MAX = 0.9999
# Step of rho at which the search ends. Steps shrink faster than linearly, so the error is smaller.
_TOLERANCE = 1e-9
_MAX_STEPS = 100
IMPOSSIBLE_CELL = 1e-14  # less is lost in the rounding of the four terms that make a cell
_IMPOSSIBLE_ROW = 1e-300


@kernel
def normal_pdf(x: float) -> float:
    """Density φ(x) = exp(-x²/2) / √(2π)."""
    return exp(-0.5 * x * x) / sqrt(2.0 * pi)


@kernel
def normal_cdf(x: float) -> float:
    """Distribution function Φ(x) = erfc(-x/√2) / 2, accurate also far in the left tail."""
    return 0.5 * erfc(-x / sqrt(2.0))


@kernel
def bivariate_normal_pdf(h: float, k: float, rho: float) -> float:
    """Density φ₂(h, k; ρ), which is also the derivative of Φ₂(h, k; ρ) with respect to ρ."""
    s2 = (1.0 - rho) * (1.0 + rho)
    return exp(-(h * h + k * k - 2.0 * rho * h * k) / (2.0 * s2)) / (2.0 * pi * sqrt(s2))


@kernel
def _arc_integral(h: float, k: float, rho: float) -> float:
    """∫₀^asin(ρ) exp(-(h² + k² - 2hk sin θ) / (2 cos² θ)) dθ (Drezner & Wesolowsky, 1990)."""
    if abs(rho) <= _SHORT_RULE_UP_TO:
        nodes, weights = _NODES_SHORT, _WEIGHTS_SHORT
    else:
        nodes, weights = _NODES_LONG, _WEIGHTS_LONG
    half = 0.5 * asin(rho)
    squares, product = 0.5 * (h * h + k * k), h * k
    total = 0.0
    for i in range(nodes.size):
        s = sin(half * (1.0 + nodes[i]))
        total += weights[i] * exp((product * s - squares) / (1.0 - s * s))
    return half * total


@kernel
def _remainder_integral(h: float, k: float, a: float, c1: float, c2: float) -> float:
    """∫₀^a exp(-(h-k)²/2x²) [g(x) - e^{-hk/2}(1 + c₁x² + c₂x⁴)] dx, with g of `_spike_integral`."""
    b2, product = (h - k) * (h - k), h * k
    total = 0.0
    for i in range(_NODES_LONG.size):
        u = (0.5 * a * (1.0 + _NODES_LONG[i])) ** 2
        w = sqrt(1.0 - u)
        taylor = exp(-0.5 * product) * (1.0 + u * (c1 + u * c2))
        smooth = exp(-product / (1.0 + w)) / w - taylor
        total += _WEIGHTS_LONG[i] * exp(-0.5 * b2 / u) * smooth
    return 0.5 * a * total


@kernel
def _spike_integral(h: float, k: float, rho: float) -> float:
    """∫ of the arc integrand from asin(ρ) to π/2, for ρ near 1 (Genz, 2004).

    With x = cos θ, a = √(1-ρ²) and b = |h-k| the integral is ∫₀^a exp(-b²/2x²) g(x) dx, where
    g(x) = exp(-hk / (1 + √(1-x²))) / √(1-x²) is smooth. The terms 1, x², x⁴ of g are integrated in
    closed form: M₀ = a e^{-b²/2a²} - b √(2π) Φ(-b/a) and, by parts,
    (2m+1) M_m = a^{2m+1} e^{-b²/2a²} - b² M_{m-1}. The remainder is left to a fixed rule.
    """
    a = sqrt((1.0 - rho) * (1.0 + rho))
    b = abs(h - k)
    if a == 0.0 or b > _SEPARATED:
        return 0.0
    c1 = (4.0 - h * k) / 8.0
    c2 = (4.0 - h * k) * (12.0 - h * k) / 128.0
    edge = exp(-0.5 * (b / a) ** 2)
    m0 = a * edge - b * sqrt(2.0 * pi) * normal_cdf(-b / a)
    m1 = (a**3 * edge - b * b * m0) / 3.0
    m2 = (a**5 * edge - b * b * m1) / 5.0
    series = exp(-0.5 * h * k) * (m0 + c1 * m1 + c2 * m2)
    return series + _remainder_integral(h, k, a, c1, c2)


@kernel
def bivariate_normal_cdf(h: float, k: float, rho: float) -> float:
    """Distribution function Φ₂(h, k; ρ) = P(X ≤ h, Y ≤ k), for all ρ in [-1, 1] and all limits.

    Φ₂ = Φ(h) Φ(k) + (1/2π) ∫₀^asin(ρ) exp(-(h² + k² - 2hk sin θ) / (2 cos² θ)) dθ for moderate ρ;
    Φ₂ = Φ(min(h, k)) - (1/2π) ∫ from asin(ρ) to π/2 of the same for ρ near 1; and
    Φ₂(h, k; ρ) = Φ(h) - Φ₂(h, -k; -ρ) for ρ near -1. The absolute error is below 1e-14.
    """
    if min(h, k) < -_UNBOUNDED:
        return 0.0
    if max(h, k) > _UNBOUNDED:
        return normal_cdf(min(h, k))
    if abs(rho) <= _ARC_RULE_UP_TO:
        return normal_cdf(h) * normal_cdf(k) + _arc_integral(h, k, rho) / (2.0 * pi)
    if rho > 0.0:
        return normal_cdf(min(h, k)) - _spike_integral(h, k, rho) / (2.0 * pi)
    below = normal_cdf(min(h, -k)) - _spike_integral(h, -k, -rho) / (2.0 * pi)
    return max(normal_cdf(h) - below, 0.0)


class _Search(NamedTuple):
    """Where a search for the maximum in ρ stands: point to try, bracket, point before."""

    rho: float
    low: float
    high: float
    last_rho: float
    last_slope: float
    done: bool


# From independence, where a first step gives the correlation of the categories' normal scores.
_START = _Search(0.0, -RHO_MAX, RHO_MAX, inf, 0.0, False)


@kernel
def _advance(search: _Search, slope: float, information: float) -> _Search:
    """One safeguarded scoring step, given slope and information of the log-likelihood at ``rho``.

    The step is slope / information; after the first step the secant of the slope takes the place of
    the information where they agree within a factor of 10. The sign of the slope keeps a bracket of
    the maximum; a step that leaves it is replaced by bisection. Where the likelihood of a perfect
    association has become flat (slope 0), the maximum is taken to lie farther out.
    """
    rho, low, high, last_rho, last_slope, _ = search
    low, high = (rho, high) if slope > 0.0 or (slope == 0.0 and rho > 0.0) else (low, rho)
    curvature = (last_slope - slope) / (rho - last_rho)
    if not 0.1 * information < curvature < 10.0 * information:
        curvature = information
    trial = rho + slope / curvature if curvature > 0.0 else nan
    if not low <= trial <= high:
        trial = 0.5 * (low + high)
    return _Search(trial, low, high, rho, slope, abs(trial - rho) < _TOLERANCE)


@kernel
def cell_probabilities(rho: float, h: FloatArray, k: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probability π_ab of each cell between the limits, and its derivative π'_ab in ρ.

    π_ab = Φ₂(h_a, k_b) - Φ₂(h_{a-1}, k_b) - Φ₂(h_a, k_{b-1}) + Φ₂(h_{a-1}, k_{b-1}); π'_ab is the
    same difference of densities φ₂. Both have shape (K, L) for K+1 and L+1 limits.
    """
    Phi, phi = np.empty((h.size, k.size)), np.empty((h.size, k.size))
    for a in range(h.size):
        for b in range(k.size):
            Phi[a, b] = bivariate_normal_cdf(h[a], k[b], rho)
            phi[a, b] = bivariate_normal_pdf(h[a], k[b], rho)
    pi_ab = Phi[1:, 1:] - Phi[:-1, 1:] - Phi[1:, :-1] + Phi[:-1, :-1]
    dpi_ab = phi[1:, 1:] - phi[:-1, 1:] - phi[1:, :-1] + phi[:-1, :-1]
    return pi_ab, dpi_ab


@kernel
def _table_score(rho: float, n: FloatArray, h: FloatArray, k: FloatArray) -> tuple[float, float]:
    """Slope Σ n_ab π'_ab / π_ab and expected information N Σ π'²_ab / π_ab.

    A cell that was observed but is impossible at ρ can only mean that |ρ| is too large, since all
    cells are possible at 0.
    """
    pi_ab, dpi_ab = cell_probabilities(rho, h, k)
    slope, information = 0.0, 0.0
    for a in range(n.shape[0]):
        for b in range(n.shape[1]):
            if pi_ab[a, b] > IMPOSSIBLE_CELL:
                slope += n[a, b] * dpi_ab[a, b] / pi_ab[a, b]
                information += dpi_ab[a, b] ** 2 / pi_ab[a, b]
            elif n[a, b] > 0.0:
                return -copysign(inf, rho), 1.0
    return slope, n.sum() * information


@kernel
def table_correlation(n: FloatArray, h: FloatArray, k: FloatArray) -> float:
    """Correlation ρ that maximizes Σ n_ab log π_ab(ρ) (Olsson, 1979, two-step estimate).

    ``n`` holds the counts, shape (K, L); ``h`` (K+1) and ``k`` (L+1) are the limits of its rows and
    columns, the outer ones large finite numbers in the place of infinity.
    """
    search = _START
    for _ in range(_MAX_STEPS):
        search = _advance(search, *_table_score(search.rho, n, h, k))
        if search.done:
            break
    return search.rho


@kernel
def _serial_score(rho: float, z: FloatArray, y: CodeArray, tau: FloatArray) -> tuple[float, float]:
    """Slope Σ d_r and information Σ d_r² of the likelihood of `serial_correlation`.

    With u = (τ_{y+1} - ρz)/s, v = (τ_y - ρz)/s and s = √(1-ρ²) the term of a row is
    d = [φ(u)(τ_{y+1} ρ - z) - φ(v)(τ_y ρ - z)] / (s³ [Φ(u) - Φ(v)]).
    """
    s = sqrt((1.0 - rho) * (1.0 + rho))
    slope, information = 0.0, 0.0
    for r in range(z.size):
        low, high = tau[y[r]], tau[y[r] + 1]
        v, u = (low - rho * z[r]) / s, (high - rho * z[r]) / s
        p = normal_cdf(-v) - normal_cdf(-u) if v > 0.0 else normal_cdf(u) - normal_cdf(v)
        if p < _IMPOSSIBLE_ROW:
            return -copysign(inf, rho), 1.0
        d = normal_pdf(u) * (high * rho - z[r]) - normal_pdf(v) * (low * rho - z[r])
        d /= s * s * s * p
        slope += d
        information += d * d
    return slope, information


@kernel
def serial_correlation(z: FloatArray, y: CodeArray, tau: FloatArray) -> float:
    """Correlation ρ that maximizes Σ log[Φ((τ_{y+1} - ρz)/s) - Φ((τ_y - ρz)/s)], s = √(1-ρ²).

    ``z`` holds standard scores (n,), ``y`` categories 0..K-1 (n,) and ``tau`` their K+1 limits, the
    outer ones as in `table_correlation` (Olsson, Drasgow & Dorans, 1982, two-step estimate).
    """
    search = _START
    for _ in range(_MAX_STEPS):
        search = _advance(search, *_serial_score(search.rho, z, y, tau))
        if search.done:
            break
    return search.rho


@kernel
def table_influence(rho: float, h: FloatArray, k: FloatArray, weights: FloatArray) -> FloatArray:
    """Influence on a polychoric correlation of a row in each cell, shape (K+1, L+1).

    The estimate solves Σ ψ_ρ = 0 at estimated thresholds, so a row in cell (a, b) moves it by 1/n
    times

        F_ab = [w ψ_ab − w₁ Σ_c A_ρc (1[a ≤ c] − P_c) / φ(h_c)
                        − w₂ Σ_c B_ρc (1[b ≤ c] − Q_c) / φ(k_c)] / A_ρρ

    with ψ_ab = π'_ab / π_ab, P_c and Q_c the shares up to threshold c, and the expected information
    A_ρρ = Σ π'²/π, A_ρc = Σ ψ_ab ∂π_ab/∂h_c (Olsson, 1979), which exists in sparse tables as well.
    The last row and column are for rows in which one of the items is missing: they move its
    thresholds no more, but still those of the other. ``weights`` holds w, w₁ and w₂: all rows over
    the rows that both items have, the first has, the second has.
    """
    K, L = h.size - 1, k.size - 1
    s = sqrt((1.0 - rho) * (1.0 + rho))
    pi_ab, dpi_ab = cell_probabilities(rho, h, k)
    psi = np.zeros((K, L))
    information = 0.0
    for a in range(K):
        for b in range(L):
            if pi_ab[a, b] > IMPOSSIBLE_CELL:
                psi[a, b] = dpi_ab[a, b] / pi_ab[a, b]
                information += dpi_ab[a, b] * psi[a, b]
    F = np.zeros((K + 1, L + 1))
    F[:K, :L] = weights[0] * psi
    for c in range(1, K):
        slope = 0.0
        for b in range(L):
            strip = normal_cdf((k[b + 1] - rho * h[c]) / s) - normal_cdf((k[b] - rho * h[c]) / s)
            slope += strip * (psi[c - 1, b] - psi[c, b])
        # The density φ(h_c) of the strip cancels with that of the threshold's influence.
        F[:c, :] -= weights[1] * slope
        F[:K, :] += weights[1] * slope * normal_cdf(h[c])
    for c in range(1, L):
        slope = 0.0
        for a in range(K):
            strip = normal_cdf((h[a + 1] - rho * k[c]) / s) - normal_cdf((h[a] - rho * k[c]) / s)
            slope += strip * (psi[a, c - 1] - psi[a, c])
        F[:, :c] -= weights[2] * slope
        F[:, :L] += weights[2] * slope * normal_cdf(k[c])
    return F / information
