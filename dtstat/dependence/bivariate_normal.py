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

from dtstat.core.arrays import FloatArray, IntArray, SmallIntArray
from dtstat.core.kernels import kernel, part

CodeArray: TypeAlias = SmallIntArray

# Gauss-Legendre rules on [-1, 1], one after another; see `choose_rule`.
_RULES = [np.polynomial.legendre.leggauss(m) for m in (3, 5, 6, 10, 20)]
ARC_NODES = np.concatenate([nodes for nodes, _ in _RULES])
ARC_WEIGHTS = np.concatenate([weights for _, weights in _RULES])
_NODES_LONG, _WEIGHTS_LONG = _RULES[-1]
# Beyond this |rho| the integrand has a spike that no fixed rule resolves (Genz, 2004).
ARC_RULE_UP_TO = 0.925
# Limits farther out than this leave less than the smallest double in the tail.
UNREACHED = 38.0
# For |h - k| above this the near-singular integral is below exp(-80).
_SEPARATED = 5.0
# Largest |rho| estimated: at 1 the likelihood of a table is not differentiable.
RHO_MAX = 0.9999
_TOLERANCE = 1e-9  # step of rho at which the search ends; the error is smaller
NEWTON_TOLERANCE = 1e-7  # the same for steps whose error is of the order of their square
MAX_STEPS = 100
IMPOSSIBLE_CELL = 1e-14  # less is lost in the rounding of the four terms that make a cell
_IMPOSSIBLE_ROW = 1e-300
_EMPTY_CELL = 0.5  # put into the empty cell of a 2 x 2 table


@kernel
def normal_pdf(x: float) -> float:
    """Density φ(x) = exp(-x²/2) / √(2π)."""
    return exp(-0.5 * x * x) / sqrt(2.0 * pi)


@kernel
def normal_cdf(x: float) -> float:
    """Distribution function Φ(x) = erfc(-x/√2) / 2, accurate also far in the left tail."""
    return 0.5 * erfc(-x / sqrt(2.0))


@kernel
def choose_rule(low: float, high: float) -> tuple[int, int]:
    """First and last node of the rule for the arc from angle ``low`` to ``high``.

    Its error is below 1e-15 for all limits, found by comparison with 40 nodes.
    """
    length, farthest = abs(high - low), max(abs(low), abs(high))
    if length <= 0.01:
        return 0, 3 if length > 0.0 else 0
    if length <= 0.05:
        return 3, 8
    if farthest <= 0.25:
        return 8, 14
    if farthest <= 0.525 or length <= 0.3:
        return 14, 24
    return 24, 44


@part
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
def extreme_probability(h: float, k: float, rho: float) -> float:
    """Φ₂(h, k; ρ) = P(X ≤ h, Y ≤ k) for ρ near ±1 and all limits, with an error below 1e-14.

    Φ₂ = Φ(min(h, k)) - (1/2π) ∫ of the arc integrand from asin(ρ) to π/2 for ρ near 1, and
    Φ₂(h, k; ρ) = Φ(h) - Φ₂(h, -k; -ρ) for ρ near -1.
    """
    if min(h, k) < -UNREACHED:
        return 0.0
    if max(h, k) > UNREACHED:
        return normal_cdf(min(h, k))
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
START = _Search(0.0, -RHO_MAX, RHO_MAX, inf, 0.0, False)


@kernel
def advance_search(
    search: _Search, slope: float, information: float, curvature: float, tolerance: float
) -> _Search:
    """One safeguarded scoring step, given slope and information of the log-likelihood at ``rho``.

    The step is slope / information; the curvature takes the place of the information where they
    agree within a factor of 10. The sign of the slope keeps a bracket of the maximum; a step that
    leaves it is replaced by bisection. Where the likelihood of a perfect association has become
    flat (slope 0), the maximum is taken to lie farther out. The search ends with a step below
    ``tolerance`` by the curvature, and with a tiny one in any case.
    """
    rho, low, high = search.rho, search.low, search.high
    low, high = (rho, high) if slope > 0.0 or (slope == 0.0 and rho > 0.0) else (low, rho)
    if not 0.1 * information < curvature < 10.0 * information:
        curvature, tolerance = information, _TOLERANCE
    trial = rho + slope / curvature if curvature > 0.0 else nan
    if not low <= trial <= high:
        trial, tolerance = 0.5 * (low + high), _TOLERANCE
    return _Search(trial, low, high, rho, slope, abs(trial - rho) < tolerance)


@part
def _corner_products(Phi: FloatArray, h: FloatArray, k: FloatArray) -> None:
    """Φ(h) Φ(k) at every pair of limits, the outer ones large numbers."""
    K, L = h.size - 1, k.size - 1
    for a in range(K + 1):
        Phi[a, L] = normal_cdf(h[a])
    for b in range(L + 1):
        Phi[K, b] = normal_cdf(k[b])
    for a in range(K):
        for b in range(L):
            Phi[a, b] = Phi[a, L] * Phi[K, b]


@kernel
def _corner_probabilities(
    Phi: FloatArray, at: float, rho: float, h: FloatArray, k: FloatArray
) -> None:
    """Bring Φ₂ at every pair of limits from correlation ``at`` to ``rho``, in place.

    Φ₂(h, k; ρ) = Φ(h) Φ(k) + (1/2π) ∫₀^asin(ρ) exp(-(h² + k² - 2hk sin θ) / (2 cos² θ)) dθ for
    moderate ρ (Drezner & Wesolowsky, 1990). What is known at ``at``, if that is not NaN, needs only
    the part of the arc from asin(at) on, and the fewer nodes the shorter that is.
    """
    if abs(rho) > ARC_RULE_UP_TO:
        for a in range(h.size):
            for b in range(k.size):
                Phi[a, b] = extreme_probability(h[a], k[b], rho)
        return
    if not abs(at) <= ARC_RULE_UP_TO or abs(rho - at) > abs(rho):
        at = 0.0
        _corner_products(Phi, h, k)
    low, high = asin(at), asin(rho)
    half = 0.5 * (high - low)
    first, last = choose_rule(low, high)
    for i in range(first, last):
        s = sin(low + half * (1.0 + ARC_NODES[i]))
        scale = 1.0 / (1.0 - s * s)
        weight = half * ARC_WEIGHTS[i] / (2.0 * pi)
        for a in range(1, h.size - 1):
            for b in range(1, k.size - 1):
                exponent = h[a] * k[b] * s - 0.5 * (h[a] * h[a] + k[b] * k[b])
                Phi[a, b] += weight * exp(exponent * scale)


@kernel
def _corner_densities(rho: float, h: FloatArray, k: FloatArray) -> tuple[FloatArray, FloatArray]:
    """φ₂ at every pair of limits, 0 at the outer ones, and its derivative in ρ.

    ∂φ₂/∂ρ = φ₂ (ρ + hk - ρ (h² - 2ρhk + k²)/s²) / s², s² = 1-ρ².
    """
    phi, slope = np.zeros((h.size, k.size)), np.zeros((h.size, k.size))
    s2 = (1.0 - rho) * (1.0 + rho)
    for a in range(1, h.size - 1):
        for b in range(1, k.size - 1):
            product = h[a] * k[b]
            form = (h[a] * h[a] + k[b] * k[b] - 2.0 * rho * product) / s2
            phi[a, b] = exp(-0.5 * form) / (2.0 * pi * sqrt(s2))
            slope[a, b] = phi[a, b] * (rho + product - rho * form) / s2
    return phi, slope


@kernel
def _of_cell(corners: FloatArray, a: int, b: int) -> float:
    """Difference over the corners of cell (a, b)."""
    c: float = corners[a + 1, b + 1] - corners[a, b + 1] - corners[a + 1, b] + corners[a, b]
    return c


@kernel
def cell_probabilities(rho: float, h: FloatArray, k: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probability π_ab of each cell between the limits, and its derivative π'_ab in ρ.

    π_ab = Φ₂(h_a, k_b) - Φ₂(h_{a-1}, k_b) - Φ₂(h_a, k_{b-1}) + Φ₂(h_{a-1}, k_{b-1}); π'_ab is the
    same difference of densities φ₂. Both have shape (K, L) for K+1 and L+1 limits, the outer ones
    large numbers in the place of infinity.
    """
    K, L = h.size - 1, k.size - 1
    Phi = np.empty((K + 1, L + 1))
    _corner_probabilities(Phi, nan, rho, h, k)
    phi, _ = _corner_densities(rho, h, k)
    pi_ab, dpi_ab = np.empty((K, L)), np.empty((K, L))
    for a in range(K):
        for b in range(L):
            pi_ab[a, b], dpi_ab[a, b] = _of_cell(Phi, a, b), _of_cell(phi, a, b)
    return pi_ab, dpi_ab


@part
def _table_score(
    rho: float, n: FloatArray, h: FloatArray, k: FloatArray, Phi: FloatArray
) -> tuple[float, float, float]:
    """Slope Σ n π'/π, expected information N Σ π'²/π and curvature Σ n [(π'/π)² - π''/π].

    A cell that was observed but is impossible at ρ can only mean that |ρ| is too large, since all
    cells are possible at 0. ``Phi`` holds Φ₂ at ρ for every pair of limits.
    """
    phi, dphi = _corner_densities(rho, h, k)
    slope, information, curvature, rows = 0.0, 0.0, 0.0, 0.0
    for a in range(n.shape[0]):
        for b in range(n.shape[1]):
            pi_ab, dpi_ab = _of_cell(Phi, a, b), _of_cell(phi, a, b)
            rows += n[a, b]
            if pi_ab > IMPOSSIBLE_CELL:
                ratio = dpi_ab / pi_ab
                slope += n[a, b] * ratio
                information += dpi_ab * ratio
                curvature += n[a, b] * (ratio * ratio - _of_cell(dphi, a, b) / pi_ab)
            elif n[a, b] > 0.0:
                return -copysign(inf, rho), 1.0, nan
    return slope, rows * information, curvature


@kernel
def table_correlation(n: FloatArray, h: FloatArray, k: FloatArray) -> float:
    """Correlation ρ that maximizes Σ n_ab log π_ab(ρ) (Olsson, 1979, two-step estimate).

    ``n`` holds the counts, shape (K, L); ``h`` (K+1) and ``k`` (L+1) are the limits of its rows and
    columns, the outer ones large finite numbers in the place of infinity. Steps are Newton's: the
    error of the last is of the order of its square.
    """
    search, at = START, nan
    Phi = np.empty((h.size, k.size))
    for _ in range(MAX_STEPS):
        rho = search.rho
        _corner_probabilities(Phi, at, rho, h, k)
        slope, information, curvature = _table_score(rho, n, h, k, Phi)
        tolerance = NEWTON_TOLERANCE * (1.0 - rho) * (1.0 + rho)
        search = advance_search(search, slope, information, curvature, tolerance)
        at = rho
        if search.done:
            break
    return search.rho


@part
def _fill_empty_cell(table: FloatArray) -> None:
    """Put 0.5 into the empty cell of a 2 x 2 table and keep its margins, in place."""
    on_diagonal = min(table[0, 0], table[1, 1]) == 0.0
    if not on_diagonal and min(table[0, 1], table[1, 0]) > 0.0:
        return
    move = _EMPTY_CELL if on_diagonal else -_EMPTY_CELL
    for a in range(2):
        for b in range(2):
            table[a, b] += move if a == b else -move


@part
def _common_rows(x: CodeArray, y: CodeArray, K: int, L: int) -> FloatArray:
    """Table (K, L) of the rows in which neither answer is missing."""
    counts = np.zeros((K + 1) * (L + 1), np.int64)  # the first row and column: missing answers
    for r in range(x.size):
        counts[x[r] * (L + 1) + y[r]] += 1
    table = np.empty((K, L))
    for a in range(K):
        for b in range(L):
            table[a, b] = counts[(a + 1) * (L + 1) + b + 1]
    return table


@kernel
def polychoric_row(
    codes: CodeArray, limits: FloatArray, levels: IntArray, i: int, first: int
) -> FloatArray:
    """Polychoric correlations of item i with the items from ``first`` on.

    NaN where an item has fewer than two categories in the rows that both have.
    ``codes`` is (p, n), categories 1..K, 0 where missing; ``levels`` (p,) holds their numbers K,
    ``limits`` the K+1 limits of the categories at the beginning of each of its p rows.
    """
    result = np.empty(len(codes) - first)
    K, h = levels[i], limits[i, : levels[i] + 1]
    for j in range(first, len(codes)):
        table = _common_rows(codes[i], codes[j], K, levels[j])
        result[j - first] = table_polychoric(table, h, limits[j, : levels[j] + 1])
    return result


@kernel
def table_polychoric(table: FloatArray, h: FloatArray, k: FloatArray) -> float:
    """Polychoric correlation of a table, which may be filled in; NaN if an item does not vary."""
    if table.size == 4 and _varies(table):
        _fill_empty_cell(table)
    return table_correlation(table, h, k) if _varies(table) else nan


@kernel
def _varies(table: FloatArray) -> bool:
    """Whether rows of data lie in more than one row and more than one column of a table."""
    first_a, first_b, other_a, other_b = -1, -1, False, False
    for a in range(table.shape[0]):
        for b in range(table.shape[1]):
            if table[a, b] > 0.0:
                first_a, first_b = (a, b) if first_a < 0 else (first_a, first_b)
                other_a, other_b = other_a or a != first_a, other_b or b != first_b
    return other_a and other_b


@kernel
def _serial_score(
    rho: float, z: FloatArray, lower: FloatArray, upper: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    """Slope Σ w d and information Σ w d² of the likelihood of `serial_correlation`.

    With u = (b - ρz)/s, v = (a - ρz)/s and s = √(1-ρ²) the term of a row is
    d = [φ(u)(bρ - z) - φ(v)(aρ - z)] / (s³ [Φ(u) - Φ(v)]).
    """
    s = sqrt((1.0 - rho) * (1.0 + rho))
    slope, information = 0.0, 0.0
    for r in range(z.size):
        low, high = lower[r], upper[r]
        v, u = (low - rho * z[r]) / s, (high - rho * z[r]) / s
        p = normal_cdf(-v) - normal_cdf(-u) if v > 0.0 else normal_cdf(u) - normal_cdf(v)
        if p < _IMPOSSIBLE_ROW:
            return -copysign(inf, rho), 1.0
        d = normal_pdf(u) * (high * rho - z[r]) - normal_pdf(v) * (low * rho - z[r])
        d /= s * s * s * p
        slope += weights[r] * d
        information += weights[r] * d * d
    return slope, information


@kernel
def serial_correlation(
    z: FloatArray, lower: FloatArray, upper: FloatArray, weights: FloatArray
) -> float:
    """Correlation ρ that maximizes Σ w log[Φ((b - ρz)/s) - Φ((a - ρz)/s)], s = √(1-ρ²).

    ``z`` holds standard scores (n,), ``lower`` and ``upper`` the limits a and b of the row's
    category, the outer ones as in `table_correlation`, ``weights`` what the rows weigh (Olsson,
    Drasgow & Dorans, 1982, two-step estimate).
    """
    search = START
    for _ in range(MAX_STEPS):
        slope, information = _serial_score(search.rho, z, lower, upper, weights)
        secant = (search.last_slope - slope) / (search.rho - search.last_rho)
        search = advance_search(search, slope, information, secant, _TOLERANCE)
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
    The first row and column are for rows in which one of the items is missing: they move its
    thresholds no more, but still those of the other. ``weights`` holds w, w₁ and w₂: all rows over
    the rows that both items have, the first has, the second has. A table without information on ρ,
    as near ±1 with thresholds far apart, has no influence.
    """
    K, L = h.size - 1, k.size - 1
    pi_ab, dpi_ab = cell_probabilities(rho, h, k)
    psi = np.zeros((K, L))
    information = 0.0
    for a in range(K):
        for b in range(L):
            if pi_ab[a, b] > IMPOSSIBLE_CELL:
                psi[a, b] = dpi_ab[a, b] / pi_ab[a, b]
                information += dpi_ab[a, b] * psi[a, b]
    if information == 0.0:
        return np.zeros((K + 1, L + 1))
    of_first = _threshold_part(psi, h, k, rho)
    of_second = _threshold_part(psi.T.copy(), k, h, rho)
    F = np.empty((K + 1, L + 1))
    for a in range(K + 1):
        for b in range(L + 1):
            score = psi[a - 1, b - 1] if a > 0 and b > 0 else 0.0
            moved = weights[1] * of_first[a] + weights[2] * of_second[b]
            F[a, b] = (weights[0] * score - moved) / information
    return F


@kernel
def _threshold_part(psi: FloatArray, h: FloatArray, k: FloatArray, rho: float) -> FloatArray:
    """Σ_c A_ρc (1[a ≤ c] − P_c) / φ(h_c) for each category a, and 0 for a missing answer: (K+1,).

    A_ρc = φ(h_c) Σ_b [Φ((k_b − ρh_c)/s) − Φ((k_{b−1} − ρh_c)/s)] (ψ_cb − ψ_{c+1,b}), s² = 1-ρ²,
    so that the densities cancel.
    """
    K, L = h.size - 1, k.size - 1
    s = sqrt((1.0 - rho) * (1.0 + rho))
    part = np.zeros(K + 1)
    for c in range(1, K):
        slope, below = 0.0, 0.0
        for b in range(L):
            upto = normal_cdf((k[b + 1] - rho * h[c]) / s) if b < L - 1 else 1.0
            slope += (upto - below) * (psi[c - 1, b] - psi[c, b])
            below = upto
        share = normal_cdf(h[c])
        for a in range(1, K + 1):
            part[a] += slope * ((1.0 if a <= c else 0.0) - share)
    return part


@kernel
def influence_row(
    codes: CodeArray,
    limits: FloatArray,
    levels: IntArray,
    common: FloatArray,
    R: FloatArray,
    i: int,
    result: FloatArray,
) -> None:
    """Influence of each row on the polychoric correlations of item i with the items after it.

    It is written to ``result``, shape (p - i - 1, n), with mean 0. ``common`` holds the (p, p)
    numbers of rows that pairs of items, and on the diagonal items, have; R the correlations; the
    first three arguments are those of `polychoric_row`.
    """
    p, n = codes.shape
    weights = np.empty(3)
    h = limits[i, : levels[i] + 1]
    for j in range(i + 1, p):
        weights[0] = n / max(common[i, j], 1.0)
        weights[1] = n / max(common[i, i], 1.0)
        weights[2] = n / max(common[j, j], 1.0)
        F = table_influence(R[i, j], h, limits[j, : levels[j] + 1], weights)
        total = 0.0
        for r in range(n):
            result[j - i - 1, r] = F[codes[i, r], codes[j, r]]
            total += result[j - i - 1, r]
        for r in range(n):
            result[j - i - 1, r] -= total / n
