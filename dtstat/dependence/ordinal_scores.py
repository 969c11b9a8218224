"""How each row of answers moves the two-step estimates of thresholds and latent correlations.

The first step fits each item alone: thresholds τ of an ordinal item, mean μ and variance v of a
continuous one. The second fits the correlation ρ of each pair with the first step held fixed. Let
ψ be a row's score, the derivative of its log-likelihood: ψ_i in the parameters θ_i of item i from
its margin, ψ_ρ in ρ from the pair. The estimates solve Σ ψ_i = 0 and Σ ψ_ρ = 0, so to first order
a row changes them by 1/n times its *influence*

    item   F_i = A_ii⁻¹ ψ_i,
    pair   F_ρ = (ψ_ρ - A_ρi F_i - A_ρj F_j) / A_ρρ,

where A is minus the mean derivative of the stacked equations. Two estimates of A are offered:

    "product"   mean products of scores: A_ii = mean ψ_i ψ_i', A_ρρ = mean ψ_ρ² and
                A_ρi = mean ψ_ρ ∂ℓ/∂θ_i, with ℓ the log-likelihood of the pair;
    "observed"  minus the mean second derivatives themselves: A_ρi = -mean ∂²ℓ/∂ρ∂θ_i and so on.

They agree when the variables are normal (the information identity); when they are not, only the
second gives the covariance of the estimates. An ordinal item enters only through its category, so
two of them are evaluated once for each cell of their table.

References
----------
Muthén (1984), Psychometrika 49, 115-132: the two-step estimates and their covariance.
Olsson (1979), Psychometrika 44, 443-460: derivatives of the likelihood of a table.
Olsson, Drasgow & Dorans (1982), Psychometrika 47, 337-347: the same for a polyserial correlation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.dependence.bivariate_normal import IMPOSSIBLE_CELL, cell_probabilities
from dtstat.dependence.polychoric import thresholds

UNBOUNDED = 1e10  # stands for an infinite limit, with finite products
_LEAST = 1e-300  # keeps a quotient of two vanishing numbers finite


@dataclass(frozen=True)
class OrdinalMargin:
    """Thresholds of an ordinal item with K categories, and their influence.

    Attributes
    ----------
    rows
        Category 0..K-1 of each row, shape (n,).
    limits
        The K+1 limits of the categories, the outer ones large numbers in the place of infinity.
    influence
        Influence on the K-1 thresholds of a row in each category, shape (K, K-1).
    mean, sd
        Those of the variable behind the item.
    """

    rows: IntArray
    limits: FloatArray
    influence: FloatArray
    mean: float = 0.0
    sd: float = 1.0

    @property
    def thresholds(self) -> FloatArray:
        """The K-1 inner limits."""
        return self.limits[1:-1]

    @property
    def row_influence(self) -> FloatArray:
        """Influence of each row on the thresholds, shape (n, K-1)."""
        return self.influence[self.rows]


@dataclass(frozen=True)
class ContinuousMargin:
    """Mean and variance of a continuous item, and their influence.

    Attributes
    ----------
    z
        Standard scores, shape (n,).
    row_influence
        Influence of each row on mean and variance, shape (n, 2).
    mean, sd
        Mean and population standard deviation.
    """

    z: FloatArray
    row_influence: FloatArray
    mean: float
    sd: float

    @property
    def thresholds(self) -> FloatArray:
        """None: shape (0,)."""
        return np.empty(0)


Margin: TypeAlias = OrdinalMargin | ContinuousMargin
Derivative: TypeAlias = Literal["product", "observed"]
Slopes: TypeAlias = tuple[float, FloatArray, FloatArray]  # A_ρρ, A_ρi, A_ρj


class PairLines(NamedTuple):
    """Derivatives of the log-likelihood ℓ of a pair, one line for each cell or row.

    Either ∂ℓ or ∂²ℓ/∂ρ∂: ``rho`` in ρ, shape (r,); ``first`` and ``second`` in the parameters of
    the two items, shape (r, m).
    """

    rho: FloatArray
    first: FloatArray
    second: FloatArray


def ordinal_margin(column: FloatArray) -> OrdinalMargin:
    """Thresholds of an ordinal item from its shares.

    For τ_c = Φ⁻¹(P_c), with P_c the share of rows in categories 1..c, A_ii⁻¹ ψ_i is the derivative
    of Φ⁻¹ at P_c: a row in category a has influence (1[a ≤ c] - P_c) / φ(τ_c).
    """
    from scipy.special import ndtr

    _, rows = np.unique(column, return_inverse=True)
    tau = thresholds(column)
    below = np.arange(tau.size + 1)[:, None] <= np.arange(tau.size)
    limits = np.concatenate(([-UNBOUNDED], tau, [UNBOUNDED]))
    return OrdinalMargin(rows.astype(np.int64), limits, (below - ndtr(tau)) / normal_density(tau))


def continuous_margin(column: FloatArray, derivative: Derivative) -> ContinuousMargin:
    """Mean and population variance of a continuous item, with scores of the normal likelihood.

    ψ_μ = z/σ and ψ_v = (z² - 1) / (2v); minus their observed mean derivatives are 1/v, 1/(2v²) and,
    across, 0.
    """
    mean, sd = float(np.mean(column)), float(np.std(column))
    z = (column - mean) / sd
    psi = _moment_scores(z, -z, sd)
    A = psi.T @ psi / z.size if derivative == "product" else np.diag([sd**-2, sd**-4 / 2])
    influence = np.linalg.solve(A, psi.T).T
    return ContinuousMargin(z, influence, mean, sd)


def pair_influence(first: Margin, second: Margin, rho: float, derivative: Derivative) -> FloatArray:
    """Influence of each row on the latent correlation of two items, shape (n,)."""
    if isinstance(first, OrdinalMargin) and isinstance(second, OrdinalMargin):
        return _table_influence(first, second, rho, derivative)
    if isinstance(first, OrdinalMargin):
        assert isinstance(second, ContinuousMargin)
        scores, curvature = serial_derivatives(first, second, rho)
    elif isinstance(second, OrdinalMargin):
        scores, curvature = (
            PairLines(lines.rho, lines.second, lines.first)
            for lines in serial_derivatives(second, first, rho)
        )
    else:
        scores, curvature = normal_derivatives(first, second, rho)
    share = np.full(scores.rho.size, 1.0 / scores.rho.size)
    A = mean_slopes(scores, curvature, share, derivative)
    return _influence(scores.rho, A, first.row_influence, second.row_influence)


def serial_influence(y: FloatArray, z: FloatArray, rho: float) -> FloatArray:
    """Influence of each row on the polyserial correlation of items that may have gaps, (n,).

    Rows that both items have count n / n_yz in the score; each item's own parameters are moved by
    all rows that have it.

    ``y`` and ``z`` are (n,) answers to an ordinal and a continuous item, NaN where missing.
    """
    n, has_y, has_z = y.size, ~np.isnan(y), ~np.isnan(z)
    both = has_y & has_z
    ordinal, continuous = ordinal_margin(y[has_y]), continuous_margin(z[has_z], "observed")
    of_y, of_z = both[has_y], both[has_z]
    scores, curvature = serial_derivatives(
        replace(ordinal, rows=ordinal.rows[of_y]), replace(continuous, z=continuous.z[of_z]), rho
    )
    share = np.full(scores.rho.size, 1.0 / scores.rho.size)
    A = mean_slopes(scores, curvature, share, "observed")
    influence = np.zeros(n)
    influence[both] = scores.rho * (n / both.sum())
    influence[has_y] -= ordinal.row_influence @ A[1] * (n / has_y.sum())
    influence[has_z] -= continuous.row_influence @ A[2] * (n / has_z.sum())
    return influence / A[0]


def _table_influence(
    first: OrdinalMargin, second: OrdinalMargin, rho: float, derivative: Derivative
) -> FloatArray:
    """Influence on a polychoric correlation: one value for each cell, looked up for each row.

    In a 2 x 2 table the probabilities are the shares, and the two estimates of A are the same. An
    empty cell is the exception: there ρ is not the maximum for the rows as they are (see
    :func:`polychoric_pair`), and only products are sure to be positive.
    """
    K, L = len(first.influence), len(second.influence)
    cell = first.rows * L + second.rows
    share = np.bincount(cell, minlength=K * L) / cell.size
    if K * L == 4 or derivative == "product":
        scores = table_scores(first.limits, second.limits, rho)
        A = mean_slopes(scores, scores, share, "product")
    else:
        scores, curvature = table_derivatives(first.limits, second.limits, rho)
        A = mean_slopes(scores, curvature, share, derivative)
    a, b = np.divmod(np.arange(K * L), L)
    influence: FloatArray = _influence(scores.rho, A, first.influence[a], second.influence[b])[cell]
    return influence


def mean_slopes(
    scores: PairLines, curvature: PairLines, share: FloatArray, derivative: Derivative
) -> Slopes:
    """A_ρρ, A_ρi and A_ρj: means of minus ∂ψ_ρ, or of ψ_ρ ∂ℓ, over lines that weigh ``share``."""
    weight = share * scores.rho if derivative == "product" else -share
    lines = scores if derivative == "product" else curvature
    return float(weight @ lines.rho), weight @ lines.first, weight @ lines.second


def _influence(psi: FloatArray, A: Slopes, first: FloatArray, second: FloatArray) -> FloatArray:
    """F_ρ = (ψ_ρ - A_ρi F_i - A_ρj F_j) / A_ρρ."""
    influence: FloatArray = (psi - first @ A[1] - second @ A[2]) / A[0]
    return influence


def table_scores(h: FloatArray, k: FloatArray, rho: float) -> PairLines:
    """First derivatives of ℓ = log π_ab in the K·L cells between limits ``h`` and ``k``.

    A cell without probability has no derivatives: at the estimate no row lies in it.
    """
    pi, dpi = cell_probabilities(rho, h, k)
    possible = np.where(pi > IMPOSSIBLE_CELL, pi, np.inf)[:, :, None]
    first = _threshold_slopes(h, k, rho) / possible
    second = _threshold_slopes(k, h, rho).transpose(1, 0, 2) / possible
    psi = dpi / possible[:, :, 0]
    return PairLines(psi.ravel(), first.reshape(pi.size, -1), second.reshape(pi.size, -1))


def table_derivatives(h: FloatArray, k: FloatArray, rho: float) -> tuple[PairLines, PairLines]:
    """First derivatives ∂ℓ and second ∂²ℓ/∂ρ∂ in the K·L cells between limits ``h`` and ``k``.

    ℓ = log π_ab, so that ∂²ℓ/∂ρ∂θ = π_ρθ/π - ψ_ρ ∂ℓ/∂θ (Olsson, 1979).
    """
    pi, _ = cell_probabilities(rho, h, k)
    possible = np.where(pi > IMPOSSIBLE_CELL, pi, np.inf)[:, :, None]
    scores = table_scores(h, k, rho)
    psi = scores.rho[:, None]
    first = _threshold_curvatures(h, k, rho)
    second = _threshold_curvatures(k, h, rho).transpose(1, 0, 2)
    own = (_second_derivative(h, k, rho) / possible[:, :, 0]).ravel() - scores.rho**2
    curvature = PairLines(
        own,
        (first / possible).reshape(pi.size, -1) - psi * scores.first,
        (second / possible).reshape(pi.size, -1) - psi * scores.second,
    )
    return scores, curvature


def _second_derivative(h: FloatArray, k: FloatArray, rho: float) -> FloatArray:
    """∂²π_ab/∂ρ², shape (K, L): differences of ∂φ₂/∂ρ over the corners of each cell.

    ∂φ₂/∂ρ = φ₂ (ρ + hk - ρ (h² - 2ρhk + k²)/s²) / s², s² = 1-ρ².
    """
    x, y, s2 = h[:, None], k, (1.0 - rho) * (1.0 + rho)
    slope = (rho + x * y - rho * (x * x - 2 * rho * x * y + y * y) / s2) / s2
    return np.diff(np.diff(_phi2(x, y, rho) * slope, axis=0), axis=1)


def _threshold_slopes(h: FloatArray, k: FloatArray, rho: float) -> FloatArray:
    """∂π_ab/∂h_c, shape (K, L, K-1).

    A threshold moves only the two categories it separates, in opposite directions:
    ∂π_cb/∂h_c = φ(h_c) [Φ((k_b - ρh_c)/s) - Φ((k_{b-1} - ρh_c)/s)] = -∂π_{c+1,b}/∂h_c, s² = 1-ρ².
    """
    from scipy.special import ndtr

    tau, s = h[1:-1, None], _sine(rho)
    upto = ndtr((k - rho * tau) / s)
    return _around_thresholds(normal_density(tau) * (upto[:, 1:] - upto[:, :-1]))


def _threshold_curvatures(h: FloatArray, k: FloatArray, rho: float) -> FloatArray:
    """∂²π_ab/∂ρ∂h_c, shape (K, L, K-1): φ(h) Φ((k - ρh)/s) has -φ₂(h, k) (h - ρk)/s² in ρ."""
    tau, s = h[1:-1, None], _sine(rho)
    return _around_thresholds(np.diff(-_phi2(tau, k, rho) * (tau - rho * k) / s**2, axis=1))


def _around_thresholds(strip: FloatArray) -> FloatArray:
    """Put line c of (K-1, L) into category c and, negative, into c+1: shape (K, L, K-1)."""
    m, L = strip.shape
    c = np.arange(m)
    result = np.zeros((m + 1, L, m))
    result[c, :, c], result[c + 1, :, c] = strip, -strip
    return result


def serial_derivatives(
    ordinal: OrdinalMargin, continuous: ContinuousMargin, rho: float
) -> tuple[PairLines, PairLines]:
    """First derivatives ∂ℓ and second ∂²ℓ/∂ρ∂ of an ordinal and a continuous item, row by row.

    ℓ = log φ(z) - log σ + log P, P = Φ(u) - Φ(w), with u, w = (τ - ρz)/s at the upper and the lower
    limit of the row's category and s² = 1-ρ² (Olsson, Drasgow & Dorans, 1982).
    """
    z, sd, y = continuous.z, continuous.sd, ordinal.rows[:, None]
    limits = ordinal.limits
    low, high = interval_derivatives(limits[ordinal.rows], limits[ordinal.rows + 1], z, rho)
    psi, _, d_z, rho_rho, _, rho_z = high - low
    c = np.arange(ordinal.thresholds.size)
    d_tau, rho_tau = ((y == c) * high[e, :, None] - (y == c + 1) * low[e, :, None] for e in (1, 4))
    scores = PairLines(psi, d_tau, _moment_scores(z, d_z - z, sd))
    second = -_moment_chain(z, rho_z - psi * d_z, sd)
    return scores, PairLines(rho_rho - psi**2, rho_tau - psi[:, None] * d_tau, second)


def interval_derivatives(
    low: FloatArray, high: FloatArray, z: FloatArray, rho: float
) -> tuple[FloatArray, FloatArray]:
    """Shares of the lower and the upper limit (n,) in the derivatives of P, over P, both (6, n).

    Rows as in :func:`_limit_derivatives`; the derivatives of P are upper less lower.
    """
    p = interval_probabilities((low - rho * z) / _sine(rho), (high - rho * z) / _sine(rho))
    return _limit_derivatives(low, z, rho) / p, _limit_derivatives(high, z, rho) / p


def _limit_derivatives(tau: FloatArray, z: FloatArray, rho: float) -> FloatArray:
    """First and second derivatives of Φ(u), u = (τ - ρz)/s: in ρ, τ, z, ρρ, ρτ, ρz, shape (6, n).

    With a = ∂u/∂ρ = (ρτ - z)/s³ they are φ(u) times a, 1/s, -ρ/s, τ/s³ + 3ρa/s² - ua²,
    ρ/s³ - ua/s and -1/s³ + uaρ/s.
    """
    s = _sine(rho)
    u, a = (tau - rho * z) / s, (rho * tau - z) / s**3
    one = np.ones_like(z)
    curved = tau / s**3 + 3 * rho * a / s**2 - u * a * a
    mixed = [(rho / s**2 - u * a) / s, (u * a * rho - s**-2) / s]
    return normal_density(u) * np.stack([a, one / s, -rho * one / s, curved, *mixed])


def interval_probabilities(w: FloatArray, u: FloatArray) -> FloatArray:
    """Φ(u) - Φ(w), from the tail in which both lie."""
    from scipy.special import ndtr

    p: FloatArray = np.where(w > 0, ndtr(-w) - ndtr(-u), ndtr(u) - ndtr(w))
    return np.maximum(p, _LEAST)


def normal_derivatives(
    first: ContinuousMargin, second: ContinuousMargin, rho: float
) -> tuple[PairLines, PairLines]:
    """First derivatives ∂ℓ and second ∂²ℓ/∂ρ∂ of two continuous items, row by row.

    ℓ = -log(σ₁ σ₂ s) - Q/2, Q = (z₁² - 2ρ z₁z₂ + z₂²)/s² and s² = 1-ρ²; ψ_ρ = (ρ + z₁z₂ - ρQ)/s².
    """
    x, y, s2 = first.z, second.z, (1.0 - rho) * (1.0 + rho)
    Q = (x * x - 2 * rho * x * y + y * y) / s2
    psi = (rho + x * y - rho * Q) / s2
    d_x, d_y = (rho * y - x) / s2, (rho * x - y) / s2
    Q_rho = 2 * (rho * Q - x * y) / s2
    scores = PairLines(psi, _moment_scores(x, d_x, first.sd), _moment_scores(y, d_y, second.sd))
    return scores, PairLines(
        (1 - Q - rho * Q_rho + 2 * rho * psi) / s2,
        -_moment_chain(x, (y + 2 * rho * d_x) / s2, first.sd),
        -_moment_chain(y, (x + 2 * rho * d_y) / s2, second.sd),
    )


def _moment_scores(z: FloatArray, slope: FloatArray, sd: float) -> FloatArray:
    """∂ℓ/∂μ and ∂ℓ/∂v, where ``slope`` is the derivative of ℓ + log σ in z, shape (n, 2)."""
    return -_moment_chain(z, slope, sd) - [0.0, 1 / (2 * sd**2)]


def _moment_chain(z: FloatArray, slope: FloatArray, sd: float) -> FloatArray:
    """Minus the derivatives in μ and v of a function of z with derivative ``slope``, (n, 2).

    -∂z/∂μ = 1/σ and -∂z/∂v = z/(2v).
    """
    return np.column_stack([slope / sd, slope * z / (2 * sd**2)])


def normal_density(x: FloatArray) -> FloatArray:
    """Density φ(x) of the standard normal distribution."""
    density: FloatArray = np.exp(-0.5 * x * x) / sqrt(2 * np.pi)
    return density


def _phi2(x: FloatArray, y: FloatArray, rho: float) -> FloatArray:
    """Density φ₂(x, y; ρ) = φ(x) φ((y - ρx)/s) / s, s² = 1-ρ²."""
    s = _sine(rho)
    return normal_density(x) * normal_density((y - rho * x) / s) / s


def _sine(rho: float) -> float:
    """√(1-ρ²), without cancellation near ±1."""
    return sqrt((1.0 - rho) * (1.0 + rho))
