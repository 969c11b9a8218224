"""Nonlinear item responses by penalised splines and stochastic-approximation EM.

E-step: one or more MALA moves of every person's factors (:mod:`dtstat.estimation.mala`). M-step,
for each item: with B the splines at the drawn factors, weights w and working responses y (for a
normal item 1/ω and x; for a rating those of Fisher scoring), the averages

    S ← S + γ (Σ w B Bᵀ − S),    t ← t + γ (Σ w B y − t)

(Delyon, Lavielle & Moulines 1999; γ = 1 at first, then falling) give the coefficients in closed
form, β = (S + Σ λ_j P_j)⁻¹ t, with one smoothing parameter an edge by the method of Fellner and
Schall (Wood & Fasiolo 2017):

    λ ← λ (rank P / λ − tr[(S + λP)⁻¹ P]) / βᵀPβ.

Φ is the correlation of the averaged second moments of the draws, from the tenth step on.

References
----------
Delyon, B., Lavielle, M. & Moulines, E. (1999). Convergence of a stochastic approximation version
of the EM algorithm. Annals of Statistics 27, 94–128. Wood, S. N. & Fasiolo, M. (2017). A
generalized Fellner-Schall method for smoothing parameter optimization. Biometrics 73, 1071–1081.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dtstat.arrays import BoolArray, FloatArray, IntArray
from dtstat.estimation import bspline, mala
from dtstat.estimation.response_kernels import normal_equations, scoring
from dtstat.estimation.response_model import ResponseModel

STEPS = 50
_MOVES = 5  # of MALA between two M-steps
_SETTLING = 20  # steps with γ = 1
_PHI_FROM = 10  # step at which Φ begins to move: curves must have learnt something
_LEAST_NOISE = 1e-3  # of an item's variance
_LEAST_EIGENVALUE = 0.02  # of Φ
_RIDGE = 1e-6  # relative; constants of several parents of an item are one
_SMOOTHING = (1e-3, 1e7)
_NEWTON = 3

Spline = tuple[IntArray, FloatArray]


@dataclass(frozen=True, eq=False)
class SplineEstimate:
    """A fitted nonlinear factor model.

    Attributes
    ----------
    model
        Its parameters.
    z
        (n, d) the last draw of the factors.
    edf
        (p,) effective degrees of freedom of each item's curves.
    acceptance, step_size
        Of the sampler at the end.
    """

    model: ResponseModel
    z: FloatArray
    edf: FloatArray
    smoothing: FloatArray
    acceptance: float
    step_size: float


@dataclass(eq=False)
class _Item:
    """Running averages of one item."""

    S: FloatArray
    t: FloatArray
    yy: float
    n: int


def fit_spline(
    X: FloatArray,
    support: BoolArray,
    Z: FloatArray,
    Phi: FloatArray,
    n_categories: IntArray,
    rng: np.random.Generator,
    steps: int = STEPS,
) -> SplineEstimate:
    """Estimate curves, noise and Φ of a given structure.

    Parameters
    ----------
    X
        (n, p) standardised answers, or categories 0, 1, ... of ratings; NaN if missing.
    support
        (p, d) the structure.
    Z, Phi
        (n, d) and (d, d): factors and their correlations to start from.
    n_categories
        (p,) number of categories; 0 for a normal item.
    rng
        Source of randomness.
    steps
        Steps of EM.
    """
    model = _start(X, support, Phi, n_categories)
    fit = _Fit(X, model)
    fit.m_step(Z, 1.0, moves_phi=False)
    C = fit.model.posterior_covariance(Z)
    state = mala.init(fit.target, Z, 1.0, C)
    acceptance = 0.0
    for t in range(steps):
        gamma = 1.0 if t < _SETTLING else 1.0 / (t - _SETTLING + 1) ** 0.7
        if t < _SETTLING or t % _MOVES == 0:  # it hardly moves later
            C = fit.model.posterior_covariance(state.z)
        state = mala.init(fit.target, state.z, state.step_size, C)
        for _ in range(_MOVES):
            state, info = mala.step(rng, fit.target, state)
            state = mala.adapt(state, info, 1.0 / (1 + t) ** 0.5)
            acceptance = info.acceptance
        fit.m_step(state.z, gamma, moves_phi=t >= _PHI_FROM)
    return SplineEstimate(fit.model, state.z, fit.edf, fit.smoothing, acceptance, state.step_size)


class _Fit:
    """The model and the averages behind it."""

    def __init__(self, X: FloatArray, model: ResponseModel) -> None:
        self.X, self.model = np.ascontiguousarray(X), model
        self.smoothing = np.ones(len(model.edges.item))
        self.edf = np.zeros(X.shape[1])
        self.moments = model.factor_correlations.copy()
        self.P = bspline.penalty()
        self.rated = model.n_thresholds > 0
        self.items: list[_Item | None] = [None] * X.shape[1]

    def target(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.model.log_joint(Z, self.X)

    def m_step(self, Z: FloatArray, gamma: float, moves_phi: bool) -> None:
        """Move all parameters to the draws Z."""
        splines = [bspline.basis(z) for z in Z.T]
        eta = self.model.predictors(Z) if self.rated.any() else None
        parts = {
            name: getattr(self.model, name).copy()
            for name in ("coefficients", "intercepts", "noise", "thresholds")
        }
        for i in map(int, np.flatnonzero(np.diff(self.model.edges.start))):
            which = self.model.edges.of_item(i)
            mine = [splines[k] for k in self.model.edges.factor[which]]
            item = self._average(i, mine, None if eta is None else eta[:, i], gamma)
            beta = self._solve(i, item, which, parts["noise"])
            curves = [_curve(one, b) for one, b in zip(mine, beta, strict=True)]
            levels = np.array([curve.mean() for curve in curves])
            parts["coefficients"][which] = beta - levels[:, None]
            if self.rated[i]:
                centred = np.sum(curves, axis=0) - levels.sum()
                self._move_thresholds(i, centred, gamma, parts["thresholds"])
            else:
                parts["intercepts"][i] = levels.sum()
        Phi = self._correlations(Z, gamma) if moves_phi else self.model.factor_correlations
        self.model = replace(self.model, **parts, factor_correlations=Phi)

    def _average(self, i: int, mine: list[Spline], eta: FloatArray | None, gamma: float) -> _Item:
        """Sum up an item over the draws, and average with the earlier sums."""
        first = np.ascontiguousarray(np.stack([one[0] for one in mine], axis=1))
        values = np.ascontiguousarray(np.stack([one[1] for one in mine], axis=1))
        size = bspline.K * len(mine)
        S, t = np.zeros((size, size)), np.zeros(size)
        x = np.ascontiguousarray(self.X[:, i])
        seen = ~np.isnan(x)
        if self.rated[i] and eta is not None:
            w, y = np.empty(len(x)), np.empty(len(x))
            tau = self.model.thresholds[i, : self.model.n_thresholds[i]]
            scoring(x, np.ascontiguousarray(eta), tau, w, y)
        else:
            w, y = seen.astype(float), np.where(seen, x, 0.0)
        normal_equations(first, values, y, w, S, t)
        old = self.items[i]
        if old is not None and gamma < 1.0:
            S, t = old.S + gamma * (S - old.S), old.t + gamma * (t - old.t)
        item = _Item(S, t, float((w * y) @ y), int(seen.sum()))
        self.items[i] = item
        return item

    def _move_thresholds(
        self, i: int, eta: FloatArray, gamma: float, thresholds: FloatArray
    ) -> None:
        """Thresholds at which the model answers as often in each category as people did.

        Solves mean Φ(τ_c − η) = share of answers up to c by Newton's method.
        """
        from scipy.special import ndtr

        x, m = self.X[:, i], int(self.model.n_thresholds[i])
        x = x[~np.isnan(x)]
        shares = np.array([(x <= c).mean() for c in range(m)])
        old = thresholds[i, :m]
        tau = old.copy()
        for _ in range(_NEWTON):
            gaps = tau - eta[:, None]
            density = np.exp(-0.5 * gaps**2).mean(axis=0) / math.sqrt(2 * math.pi)
            excess = ndtr(gaps).mean(axis=0) - shares
            tau = tau - np.clip(excess / np.maximum(density, 1e-3), -1.0, 1.0)
        thresholds[i, :m] = old + gamma * (tau - old)

    def _solve(self, i: int, item: _Item, which: slice, noise: FloatArray) -> FloatArray:
        """Coefficients (q, K) of an item; its noise and smoothing parameters move as well."""
        K, q = bspline.K, which.stop - which.start
        lambdas = self.smoothing[which]
        ridge = _RIDGE * item.S.diagonal().mean() * np.eye(K * q)
        omega = noise[i]
        A = item.S / omega + np.kron(np.diag(lambdas), self.P) + ridge
        V = np.linalg.inv(A)
        beta = V @ item.t / omega
        self.edf[i] = float(np.sum(V * item.S) / omega)
        if not self.rated[i]:
            left = item.yy - 2 * beta @ item.t + beta @ item.S @ beta
            noise[i] = max(left / max(item.n - self.edf[i], 1.0), _LEAST_NOISE)
        for a, e in enumerate(range(which.start, which.stop)):
            part = slice(a * K, (a + 1) * K)
            b = beta[part]
            free = (K - 2) / lambdas[a] - float(np.sum(V[part, part] * self.P))
            rough = float(b @ self.P @ b)
            new = lambdas[a] * max(free, 1e-12) / max(rough, 1e-12)
            self.smoothing[e] = float(np.clip(new, *_SMOOTHING))
        split: FloatArray = beta.reshape(q, K)
        return split

    def _correlations(self, Z: FloatArray, gamma: float) -> FloatArray:
        moments = Z.T @ Z / len(Z)
        self.moments = moments if gamma == 1.0 else self.moments + gamma * (moments - self.moments)
        scale = np.sqrt(self.moments.diagonal())
        values, vectors = np.linalg.eigh(self.moments / np.outer(scale, scale))
        Phi = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
        scale = np.sqrt(Phi.diagonal())
        correlations: FloatArray = Phi / np.outer(scale, scale)
        return correlations


def _curve(spline: Spline, beta: FloatArray) -> FloatArray:
    """Values of a curve where its splines were evaluated."""
    first, values = spline
    curve: FloatArray = (values * beta[first[:, None] + np.arange(4)]).sum(axis=1)
    return curve


def _start(
    X: FloatArray, support: BoolArray, Phi: FloatArray, n_categories: IntArray
) -> ResponseModel:
    """Return a model without curves: means and variances, thresholds at the shares of answers."""
    from scipy.special import ndtri

    rated = n_categories > 0
    m = np.maximum(n_categories - 1, 0)
    thresholds = np.zeros((X.shape[1], int(m.max(initial=0))))
    for i in np.flatnonzero(rated):
        x = X[~np.isnan(X[:, i]), i]
        thresholds[i, : m[i]] = ndtri([(x <= c).mean() for c in range(m[i])])
    return ResponseModel(
        support=support,
        coefficients=np.zeros((int(support.sum()), bspline.K)),
        intercepts=np.where(rated, 0.0, np.nanmean(X, axis=0)),
        noise=np.where(rated, 1.0, np.nanvar(X, axis=0) / 2),
        thresholds=thresholds,
        n_thresholds=m,
        factor_correlations=Phi,
    )
