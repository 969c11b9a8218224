"""How each row moves latent regressions and correlations, given covariates and with gaps.

The two-step estimates of :mod:`dtstat.dependence.ordinal_scores`, where the normal variable behind
an item has a mean that depends on covariates x. The first step is a probit regression of an ordinal
item (thresholds τ, slopes β), and a linear one of a continuous item (intercept, slopes, residual
variance v); the second estimates the correlation of what the regressions leave, pair by pair. A row
then has limits of its own, τ − βᵀx, in the place of thresholds.

Rows that lack an item take no part in its regression or in its correlations. With n_i rows that
have item i and n_ij that have both, influences are

    item   F_i = (n/n_i) A_ii⁻¹ ψ_i,
    pair   F_ρ = [(n/n_ij) ψ_ρ − A_ρi F_i − A_ρj F_j] / A_ρρ,

with means A over the rows that have the items, and 0 in the place of a ψ that a row does not have.
If rows weigh w, then n, n_i and n_ij are sums of weights, means are weighted, and a row changes an
estimate by w/n times its influence. The references are those of
:mod:`dtstat.dependence.ordinal_scores`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt
from typing import TypeAlias

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.dependence.bivariate_normal import RHO_MAX, serial_correlation
from dtstat.dependence.ordinal_scores import (
    UNBOUNDED,
    ContinuousMargin,
    Derivative,
    interval_derivatives,
    interval_probabilities,
    normal_density,
    normal_derivatives,
)
from dtstat.dependence.polychoric import code_item
from dtstat.dependence.rectangles import rectangle_correlation, rectangle_probabilities

_STEPS = 100
_DECREMENT = 1e-22  # of a mean log-likelihood: the error of the estimates is its root
_STEEPEST = 20.0  # slope of a standardized covariate: it explains more than 99.7 % of the variance
_PERFECT = 1e-8  # mean log-likelihood of rows whose categories are certain


class SeparatedError(ArithmeticError):
    """Covariates tell categories of an ordinal item apart without error: slopes are infinite."""


@dataclass(frozen=True)
class OrdinalRegression:
    """Probit regression of an ordinal item with K categories on c covariates.

    Attributes
    ----------
    present
        Rows that have the item, shape (n,).
    rows, X, weights
        Category 0..K-1 and covariates of these rows, and what they weigh.
    limits
        (rows, 2) lower and upper limit of the residual of each of them.
    thresholds, slopes
        (K-1,) and (c,).
    influence
        Influence of all rows on thresholds and slopes, shape (n, K-1+c).
    """

    present: BoolArray
    rows: IntArray
    X: FloatArray
    weights: FloatArray
    limits: FloatArray
    thresholds: FloatArray
    slopes: FloatArray
    influence: FloatArray
    mean: float = 0.0
    sd: float = 1.0

    def means(self, low: FloatArray, high: FloatArray, of: BoolArray) -> FloatArray:
        """Weighted sum over the present rows marked in ``of`` of what is known in limits.

        ``low`` and ``high`` are derivatives of something in the limits of those rows. Threshold c
        is the upper limit of category c and the lower one of c + 1; slopes lower both limits by x.
        """
        rows, K, w = self.rows[of], self.thresholds.size + 1, self.weights[of]
        low, high = w * low, w * high
        upper = np.bincount(rows, high, K)[: K - 1]
        lower = np.bincount(rows, low, K)[1:]
        return np.concatenate([upper + lower, -(low + high) @ self.X[of]])


@dataclass(frozen=True)
class LinearRegression:
    """Linear regression of a continuous item on c covariates.

    Attributes
    ----------
    present
        Rows that have the item, shape (n,).
    z, X, weights
        Residuals of these rows, over their standard deviation, their covariates and weights.
    influence
        Influence of all rows on intercept, slopes and residual variance, shape (n, 2+c).
    mean, slopes, sd
        Intercept, slopes (c,) and standard deviation of the residuals.
    """

    present: BoolArray
    z: FloatArray
    X: FloatArray
    weights: FloatArray
    influence: FloatArray
    mean: float
    slopes: FloatArray
    sd: float

    @property
    def thresholds(self) -> FloatArray:
        """None: shape (0,)."""
        return np.empty(0)

    def means(self, moments: FloatArray, of: BoolArray) -> FloatArray:
        """Weighted sum over rows marked in ``of`` of what is known in mean and variance."""
        moments = self.weights[of][:, None] * moments
        slopes = moments[:, 0] @ self.X[of]
        return np.concatenate([[moments[:, 0].sum()], slopes, [moments[:, 1].sum()]])


Regression: TypeAlias = OrdinalRegression | LinearRegression


def ordinal_regression(
    column: FloatArray, X: FloatArray, weights: FloatArray, derivative: Derivative
) -> Regression:
    """Probit regression by maximum likelihood; without covariates the thresholds are quantiles.

    ℓ = log[Φ(u) − Φ(w)] with the limits u, w of the row is concave in (τ, β); Newton's method finds
    its maximum. ``column`` (n,) is NaN where missing, X (n, c) and ``weights`` (n,) are complete.
    """
    present = ~np.isnan(column)
    codes, edges = code_item(column)
    rows, X = np.asarray(codes[present], dtype=np.int64), X[present]
    w = weights[present]
    share = w / w.sum()
    theta = np.concatenate([edges[1:-1], np.zeros(X.shape[1])])
    K = edges.size - 1
    category = np.eye(K)[rows]
    D_high = np.hstack([category[:, : K - 1], -X])
    D_low = np.hstack([category[:, 1:], -X])
    inner_high, inner_low = (rows < K - 1).astype(float), (rows > 0).astype(float)

    def limits(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        high = np.where(rows < K - 1, D_high @ at, UNBOUNDED)
        return np.where(rows > 0, D_low @ at, -UNBOUNDED), high

    D_high, D_low = D_high * inner_high[:, None], D_low * inner_low[:, None]
    spread = X.std(axis=0)
    for _ in range(_STEPS):
        low, high = limits(theta)
        psi, H = _probit_derivatives(low, high, D_low, D_high, share)
        g = share @ psi
        if (np.abs(theta[K - 1 :]) * spread > _STEEPEST).any() or (
            _mean_log(low, high, share) > -_PERFECT
        ):
            raise SeparatedError
        step = np.linalg.solve(H, g)
        if g @ step < _DECREMENT:
            break
        before, length = _mean_log(low, high, share), 1.0
        while _mean_log(*limits(theta + length * step), share) < before and length > 1e-6:
            length /= 2
        theta = theta + length * step
    A = psi.T @ (share[:, None] * psi) if derivative == "product" else H
    influence = np.zeros((present.size, theta.size))
    influence[present] = np.linalg.solve(A, psi.T).T * (weights.sum() / w.sum())
    return OrdinalRegression(
        present, rows, X, w, np.column_stack([low, high]), theta[: K - 1], theta[K - 1 :], influence
    )


def _mean_log(low: FloatArray, high: FloatArray, share: FloatArray) -> float:
    if (high <= low).any():
        return -np.inf
    return float(share @ np.log(interval_probabilities(low, high)))


def _probit_derivatives(
    low: FloatArray, high: FloatArray, D_low: FloatArray, D_high: FloatArray, share: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n, m) scores and (m, m) minus the mean second derivatives of log[Φ(u) − Φ(w)].

    With a = φ(u)/P and b = −φ(w)/P, the derivatives in u and w, the second ones are −ua − a²,
    −wb − b² and −ab.
    """
    P = interval_probabilities(low, high)
    a, b = normal_density(high) / P, -normal_density(low) / P
    psi = a[:, None] * D_high + b[:, None] * D_low
    aa, bb, ab = share * (high * a + a * a), share * (low * b + b * b), share * a * b
    H = D_high.T @ (aa[:, None] * D_high + ab[:, None] * D_low)
    H += D_low.T @ (bb[:, None] * D_low + ab[:, None] * D_high)
    return psi, H


def linear_regression(
    column: FloatArray, X: FloatArray, weights: FloatArray, derivative: Derivative
) -> Regression:
    """Least squares, with the residual variance of maximum likelihood (divisor n).

    ψ = (z/σ, xz/σ, (z² − 1)/(2v)); minus their mean derivatives are the mean of (1, x)(1, x)ᵀ / v
    and 1/(2v²).
    """
    present = ~np.isnan(column)
    y, X = column[present], X[present]
    w = weights[present]
    share = w / w.sum()
    Z = np.column_stack([np.ones(len(y)), X])
    root = np.sqrt(share)
    coefficients = np.linalg.lstsq(root[:, None] * Z, root * y, rcond=None)[0]
    residual = y - Z @ coefficients
    sd = sqrt(float(share @ residual**2))
    z = residual / sd
    psi = np.column_stack([Z * (z / sd)[:, None], (z * z - 1) / (2 * sd**2)])
    A = psi.T @ (share[:, None] * psi)
    if derivative == "observed":
        A = np.zeros_like(A)
        A[:-1, :-1], A[-1, -1] = Z.T @ (share[:, None] * Z) / sd**2, sd**-4 / 2
    influence = np.zeros((present.size, psi.shape[1]))
    influence[present] = np.linalg.solve(A, psi.T).T * (weights.sum() / w.sum())
    slopes = np.asarray(coefficients[1:], dtype=np.float64)
    return LinearRegression(present, z, X, w, influence, float(coefficients[0]), slopes, sd)


def residual_correlation(first: Regression, second: Regression) -> float:
    """Correlation of what two regressions leave, from the rows that have both items."""
    a, b = _common(first, second)
    if not a.any():
        return nan
    if isinstance(first, OrdinalRegression) and isinstance(second, OrdinalRegression):
        return float(rectangle_correlation(first.limits[a], second.limits[b], first.weights[a]))
    if isinstance(first, LinearRegression) and isinstance(second, LinearRegression):
        return _normal_correlation(first.z[a], second.z[b], first.weights[a])
    if isinstance(first, LinearRegression):
        first, second, a, b = second, first, b, a
    assert isinstance(first, OrdinalRegression)
    assert isinstance(second, LinearRegression)
    low, high = np.ascontiguousarray(first.limits[a].T)
    return float(serial_correlation(second.z[b], low, high, second.weights[b]))


def _common(first: Regression, second: Regression) -> tuple[BoolArray, BoolArray]:
    """Which of the rows of either item have the other one, too."""
    return second.present[first.present], first.present[second.present]


def _normal_correlation(x: FloatArray, y: FloatArray, weights: FloatArray) -> float:
    """Root of ρ(1 − ρ²) + (1 + ρ²) m_xy − ρ (m_xx + m_yy); m_xy itself if both have variance 1."""
    share = weights / weights.sum()
    xx, yy, xy = float(share @ x**2), float(share @ y**2), float(share @ (x * y))
    roots = np.roots([-1.0, xy, 1.0 - xx - yy, xy])
    real = roots[np.abs(roots.imag) < 1e-9].real
    inside = real[np.abs(real) < 1]
    if not inside.size:
        return float(np.clip(xy, -RHO_MAX, RHO_MAX))

    def misfit(rho: float) -> float:
        s2 = 1 - rho * rho
        return float(np.log(s2) + (xx - 2 * rho * xy + yy) / s2)

    return float(min(inside, key=misfit))


def residual_influence(
    first: Regression, second: Regression, rho: float, derivative: Derivative, total: float
) -> FloatArray:
    """Influence of each row on the correlation of what two regressions leave, shape (n,).

    ``total`` is what all rows weigh together.
    """
    if isinstance(first, LinearRegression) and isinstance(second, OrdinalRegression):
        first, second = second, first
    of = _common(first, second)
    if isinstance(second, OrdinalRegression):
        assert isinstance(first, OrdinalRegression)
        psi, A = _rectangle_lines(first, second, of, rho, derivative)
    elif isinstance(first, OrdinalRegression):
        psi, A = _serial_lines(first, second, of, rho, derivative)
    else:
        psi, A = _normal_lines(first, second, of, rho, derivative)
    common = first.weights[of[0]].sum()
    influence = -(first.influence @ A[1] + second.influence @ A[2]) / common
    influence[first.present & second.present] += psi * (total / common)
    found: FloatArray = influence / (A[0] / common)
    return found


Sums: TypeAlias = tuple[float, FloatArray, FloatArray]  # Σ of −∂ψ_ρ, or of ψ_ρ ∂ℓ: ρ, first, second


def _rectangle_lines(
    first: OrdinalRegression,
    second: OrdinalRegression,
    of: tuple[BoolArray, BoolArray],
    rho: float,
    derivative: Derivative,
) -> tuple[FloatArray, Sums]:
    """ψ_ρ of the common rows of two ordinal items, and the sums A."""
    h, k = first.limits[of[0]], second.limits[of[1]]
    P = np.maximum(rectangle_probabilities(rho, h, k), 1e-14)
    s2 = (1.0 - rho) * (1.0 + rho)
    sign = np.array([[1.0, -1.0], [-1.0, 1.0]])
    x, y = h[:, :, None], k[:, None, :]
    inner = (np.abs(x) < UNBOUNDED) & (np.abs(y) < UNBOUNDED)
    x, y = np.where(inner, x, 0.0), np.where(inner, y, 0.0)
    form = (x * x - 2 * rho * x * y + y * y) / s2
    density = np.where(inner, np.exp(-0.5 * form) / (2 * np.pi * sqrt(s2)), 0.0) * sign
    psi = density.sum(axis=(1, 2)) / P
    d_h, d_k = _edge(h, k, rho) / P[:, None], _edge(k, h, rho) / P[:, None]
    if derivative == "product":
        own = float(first.weights[of[0]] @ psi**2)
        return psi, (
            own,
            first.means(psi * d_h[:, 0], psi * d_h[:, 1], of[0]),
            second.means(psi * d_k[:, 0], psi * d_k[:, 1], of[1]),
        )
    curved = (density * (rho + x * y - rho * form) / s2).sum(axis=(1, 2)) / P
    r_h = -(density * (x - rho * y) / s2).sum(axis=2) / P[:, None] - psi[:, None] * d_h
    r_k = -(density * (y - rho * x) / s2).sum(axis=1) / P[:, None] - psi[:, None] * d_k
    return psi, (
        float(first.weights[of[0]] @ (psi * psi - curved)),
        -first.means(r_h[:, 0], r_h[:, 1], of[0]),
        -second.means(r_k[:, 0], r_k[:, 1], of[1]),
    )


def _edge(h: FloatArray, k: FloatArray, rho: float) -> FloatArray:
    """∂P/∂h of both limits, (rows, 2): ∓ φ(h) [Φ((k₁ − ρh)/s) − Φ((k₀ − ρh)/s)]."""
    s = sqrt((1.0 - rho) * (1.0 + rho))
    inside = np.where(np.abs(h) < UNBOUNDED, h, 0.0)
    strip = interval_probabilities(
        (k[:, :1] - rho * inside) / s, (k[:, 1:] - rho * inside) / s
    ) * np.where(np.abs(h) < UNBOUNDED, normal_density(inside), 0.0)
    signed: FloatArray = strip * [-1.0, 1.0]
    return signed


def _serial_lines(
    first: OrdinalRegression,
    second: LinearRegression,
    of: tuple[BoolArray, BoolArray],
    rho: float,
    derivative: Derivative,
) -> tuple[FloatArray, Sums]:
    """ψ_ρ of the common rows of an ordinal and a continuous item, and the sums A."""
    z, sd, w = second.z[of[1]], second.sd, second.weights[of[1]]
    limits = first.limits[of[0]]
    low, high = interval_derivatives(limits[:, 0], limits[:, 1], z, rho)
    psi, _, d_z, rho_rho, _, rho_z = high - low
    if derivative == "product":
        moments = _moments(z, (d_z - z) * psi, sd)
        moments[:, 1] -= psi / (2 * sd**2)
        tau = first.means(-psi * low[1], psi * high[1], of[0])
        return psi, (float(w @ psi**2), tau, second.means(moments, of[1]))
    tau = first.means(-(low[4] - psi * low[1]), high[4] - psi * high[1], of[0])
    moments = _moments(z, rho_z - psi * d_z, sd)
    return psi, (float(w @ (psi**2 - rho_rho)), -tau, -second.means(moments, of[1]))


def _moments(z: FloatArray, slope: FloatArray, sd: float) -> FloatArray:
    """Differentiate in mean and variance what has the derivative ``slope`` in z, (rows, 2)."""
    return np.column_stack([-slope / sd, -slope * z / (2 * sd**2)])


def _normal_lines(
    first: LinearRegression,
    second: LinearRegression,
    of: tuple[BoolArray, BoolArray],
    rho: float,
    derivative: Derivative,
) -> tuple[FloatArray, Sums]:
    """ψ_ρ of the common rows of two continuous items, and the sums A."""
    none = np.empty((0, 2))
    margins = [
        ContinuousMargin(one.z[own], none, 0.0, one.sd)
        for one, own in zip((first, second), of, strict=True)
    ]
    scores, curvature = normal_derivatives(margins[0], margins[1], rho)
    psi = scores.rho
    if derivative == "product":
        lines, weight = scores, psi
    else:
        lines, weight = curvature, -np.ones_like(psi)
    return psi, (
        float(first.weights[of[0]] @ (weight * lines.rho)),
        first.means(weight[:, None] * lines.first, of[0]),
        second.means(weight[:, None] * lines.second, of[1]),
    )
