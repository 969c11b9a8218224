"""Nonlinear item responses by penalized splines and stochastic-approximation EM.

E-step: some MALA moves of every person's factors (:mod:`dtstat.curves.mala`). M-step,
for each item: with B the splines at the drawn factors and y the answer (for a rating the mean of
the normal response that it cuts, given the answer and the factors: Albert & Chib 1993), the
averages

    S ← S + γ (Σ B Bᵀ − S),    t ← t + γ (Σ B y − t)

(Delyon, Lavielle & Moulines 1999; γ = 1 at first, then falling) give the coefficients in closed
form, β = (S/ω + Σ λ_j P_j)⁻¹ t/ω, with one smoothing parameter per edge by the method of Fellner
and Schall (Wood & Fasiolo 2017):

    λ ← λ (rank P / λ − tr[(S/ω + λP)⁻¹ P]) / βᵀPβ.

The thresholds of a rating are those at which the model answers as often in each category as people
did.

Φ is the correlation of the averaged second moments of the draws, from the tenth step on: before,
the curves know nothing, and factors would drift together. If the sampler freezes all the same, the
fit begins again with Φ drawn half-way to independence.

References
----------
Albert, J. H. & Chib, S. (1993). Bayesian analysis of binary and polychotomous response data.
Journal of the American Statistical Association 88, 669–679. Delyon, B., Lavielle, M. & Moulines,
E. (1999). Convergence of a stochastic approximation version of the EM algorithm. Annals of
Statistics 27, 94–128. Liu, C., Rubin, D. B. & Wu, Y. N. (1998). Parameter expansion to accelerate
EM: the PX-EM algorithm. Biometrika 85, 755–770. Wood, S. N. & Fasiolo, M. (2017). A generalized
Fellner-Schall method for smoothing parameter optimization. Biometrics 73, 1071–1081.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.errors import EstimationError, EstimationWarning, warn
from dtstat.core.parallel import Progress, track
from dtstat.curves import bspline, mala, ratings
from dtstat.curves.posterior import posterior_covariance
from dtstat.curves.response_kernels import normal_equations, underlying
from dtstat.curves.response_model import ResponseModel, correlations

STEPS = 50
_MOVES = 5  # of MALA between two M-steps, one of them short
_SETTLING = 20  # steps with γ = 1
_PHI_FROM = 10  # step at which Φ begins to move: curves must have learned something
_LEAST_NOISE = 1e-3  # of an item's variance
_RIDGE = 1e-6  # relative; constants of several parents of an item are one
_SMOOTHING = (1e-3, 1e7)
# Second differences of .1 of an item's standard deviation. With less smoothing at first the few
# people at the ends of a factor bend its curves there, and may never find the way back.
_FIRST_SMOOTHING = 100.0
_FROZEN = "The sampler of the factors froze: hardly any move was accepted."

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
        (p,) effective degrees of freedom of each item's curves, its level included.
    smoothing
        (E,) smoothing parameters of the edges, sorted by item.
    acceptance, step_size
        Of the sampler at the end.
    restarts
        How often the sampler froze and the fit began again.
    """

    model: ResponseModel
    z: FloatArray
    edf: FloatArray
    smoothing: FloatArray
    acceptance: float
    step_size: float
    restarts: int = 0


def fit_spline(
    X: FloatArray,
    support: BoolArray,
    Z: FloatArray,
    Phi: FloatArray,
    n_categories: IntArray,
    rng: np.random.Generator,
    steps: int = STEPS,
    progress: Progress = None,
) -> SplineEstimate:
    """Estimate curves, noise and Φ of a given structure.

    Parameters
    ----------
    X
        (n, p) standardized answers, or categories 0, 1, ... of ratings; NaN if missing.
    support
        (p, d) the structure; every factor has items.
    Z, Phi
        (n, d) and (d, d): factors and their correlations to start from.
    n_categories
        (p,) number of categories; 0 for a normal item.
    rng
        Source of randomness.
    steps
        Steps of EM.
    progress
        True for a bar, or a function of (done, total).

    Raises
    ------
    EstimationError
        If the sampler freezes twice.

    Warns
    -----
    EstimationWarning
        If it freezes once.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    found = _run(X, _start(X, support, Phi, n_categories), Z, rng, steps, progress)
    if found is not None:
        return found
    warn(f"{_FROZEN} It was restarted.", EstimationWarning, stacklevel=2)
    weaker = (Phi + np.eye(len(Phi))) / 2
    found = _run(X, _start(X, support, weaker, n_categories), Z, rng, steps, progress)
    if found is None:
        raise EstimationError(
            f"{_FROZEN} It froze again after a restart: factors of this structure coincide. Use "
            "the estimator 'copula', or a structure with fewer factors."
        )
    return replace(found, restarts=1)


def _start(
    X: FloatArray, support: BoolArray, Phi: FloatArray, n_categories: IntArray
) -> ResponseModel:
    """Return a model without curves: means and variances, thresholds at the shares of answers."""
    from scipy.special import ndtri

    rated, covered = n_categories > 0, support.any(axis=1)
    m = np.maximum(n_categories - 1, 0)
    thresholds = np.zeros((X.shape[1], int(m.max(initial=0))))
    for i in np.flatnonzero(rated):
        thresholds[i, : m[i]] = ndtri(ratings.shares_up_to(X[:, i], int(m[i])))
    variance = np.nanvar(X, axis=0)
    return ResponseModel(
        support=support,
        coefficients=np.zeros((int(support.sum()), bspline.K)),
        intercepts=np.where(rated, 0.0, np.nanmean(X, axis=0)),
        noise=np.where(rated, 1.0, np.where(covered, variance / 2, variance)),
        thresholds=thresholds,
        n_thresholds=m,
        factor_correlations=correlations(Phi),
    )


def _run(
    X: FloatArray,
    model: ResponseModel,
    Z: FloatArray,
    rng: np.random.Generator,
    steps: int,
    progress: Progress,
) -> SplineEstimate | None:
    """Run all steps; None if the sampler freezes."""
    fit, Z = _Fit(X, model), _standardized(Z)
    fit.m_step(Z, 1.0, moves_phi=False)
    C = posterior_covariance(fit.model, Z, X)
    state = mala.init(fit.target, Z, 1.0, C)
    acceptance = 0.0
    for t in track(range(steps), progress, "curves"):
        gamma = 1.0 if t < _SETTLING else 1.0 / (t - _SETTLING + 1) ** 0.7
        if t < _SETTLING or t % _MOVES == 0:  # it hardly moves later
            C = posterior_covariance(fit.model, state.z, X)
        state = mala.init(fit.target, state.z, state.step_size, C)
        state = mala.short_step(rng, fit.target, state)
        for _ in range(_MOVES - 1):
            state, info = mala.step(rng, fit.target, state)
            state = mala.adapt(state, info, 1.0 / (1 + t) ** 0.5)
            acceptance = info.acceptance
        state = replace(state, z=_standardized(state.z))
        if t >= _PHI_FROM and mala.is_frozen(state, acceptance):
            return None
        fit.m_step(state.z, gamma, moves_phi=t >= _PHI_FROM)
    return SplineEstimate(fit.model, state.z, fit.edf, fit.smoothing, acceptance, state.step_size)


class _Fit:
    """The model and the averages behind it."""

    def __init__(self, X: FloatArray, model: ResponseModel) -> None:
        self.X, self.model = X, model
        self.columns = np.ascontiguousarray(X.T)
        self.seen = (~np.isnan(self.columns)).astype(np.float64)
        self.filled = np.nan_to_num(self.columns)
        self.squares = (self.filled**2).sum(axis=1)
        self.smoothing = np.full(len(model.edges.item), _FIRST_SMOOTHING)
        self.edf = np.zeros(X.shape[1])
        self.moments = model.factor_correlations.copy()
        self.P = bspline.penalty()
        self.rated = model.n_thresholds > 0
        self.shares = {
            i: ratings.shares_up_to(X[:, i], int(model.n_thresholds[i]))
            for i in np.flatnonzero(self.rated)
        }
        self.sums: dict[int, tuple[FloatArray, FloatArray]] = {}

    def target(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.model.log_joint(Z, self.X)

    def m_step(self, Z: FloatArray, gamma: float, moves_phi: bool) -> None:
        """Move all parameters to the draws Z."""
        splines = [bspline.basis(z) for z in Z.T]
        means = np.array([bspline.mean(*spline) for spline in splines])
        responses = self._responses(Z)
        model = self.model
        coefficients, intercepts = model.coefficients.copy(), model.intercepts.copy()
        noise = model.noise.copy()
        for i in map(int, np.flatnonzero(np.diff(model.edges.start))):
            which = model.edges.of_item(i)
            parents = model.edges.factor[which]
            S, t = self._average(i, [splines[k] for k in parents], responses[i], gamma)
            beta = self._solve(i, S, t, which, noise)
            levels = (beta * means[parents]).sum(axis=1)
            coefficients[which] = beta - levels[:, None]
            intercepts[i] = 0.0 if self.rated[i] else levels.sum()
        Phi = model.factor_correlations
        if moves_phi:
            moments = Z.T @ Z / len(Z)
            old = self.moments
            self.moments = moments if gamma == 1.0 else old + gamma * (moments - old)
            Phi = correlations(self.moments)
        self.model = replace(
            model,
            coefficients=coefficients,
            intercepts=intercepts,
            noise=noise,
            factor_correlations=Phi,
        )
        if self.rated.any():
            self.model = replace(self.model, thresholds=self._thresholds(Z, gamma))

    def _responses(self, Z: FloatArray) -> FloatArray:
        """(p, n) answers; of ratings the normal responses behind them, as far as known."""
        if not self.rated.any():
            return self.filled
        eta, tables, y = self.model.predictors(Z), self.model.answers, self.filled.copy()
        grid = ratings.LOW, float(ratings.PER_UNIT)
        for i in map(int, np.flatnonzero(self.rated)):
            underlying(self.columns[i], np.ascontiguousarray(eta[:, i]), tables[i], *grid, y[i])
        return y

    def _average(
        self, i: int, mine: list[Spline], y: FloatArray, gamma: float
    ) -> tuple[FloatArray, FloatArray]:
        """Sum up an item over the draws, and average with the earlier sums."""
        first = np.stack([one[0] for one in mine], axis=1)
        values = np.stack([one[1] for one in mine], axis=1)
        size = bspline.K * len(mine)
        S, t = np.zeros((size, size)), np.zeros(size)
        normal_equations(first, values, y, self.seen[i], S, t)
        if gamma < 1.0:
            old_S, old_t = self.sums[i]
            S, t = old_S + gamma * (S - old_S), old_t + gamma * (t - old_t)
        self.sums[i] = S, t
        return S, t

    def _solve(
        self, i: int, S: FloatArray, t: FloatArray, which: slice, noise: FloatArray
    ) -> FloatArray:
        """Coefficients (q, K) of an item; its noise and smoothing parameters move as well."""
        K, q = bspline.K, which.stop - which.start
        lambdas = self.smoothing[which]
        omega = noise[i]
        A = S / omega
        A.flat[:: len(A) + 1] += _RIDGE * S.trace() / len(A)
        for a in range(q):
            A[a * K : (a + 1) * K, a * K : (a + 1) * K] += lambdas[a] * self.P
        V = np.linalg.inv(A)
        beta = V @ t / omega
        self.edf[i] = float(np.vdot(V, S) / omega)
        if not self.rated[i]:
            left = self.squares[i] - 2 * beta @ t + beta @ S @ beta
            seen = self.seen[i].sum()
            noise[i] = max(left / max(seen - self.edf[i], 1.0), _LEAST_NOISE)
        for a, e in enumerate(range(which.start, which.stop)):
            part = slice(a * K, (a + 1) * K)
            free = (K - 2) / lambdas[a] - float(np.vdot(V[part, part], self.P))
            rough = float(beta[part] @ self.P @ beta[part])
            new = lambdas[a] * max(free, 1e-12) / max(rough, 1e-12)
            self.smoothing[e] = min(max(new, _SMOOTHING[0]), _SMOOTHING[1])
        split: FloatArray = beta.reshape(q, K)
        return split

    def _thresholds(self, Z: FloatArray, gamma: float) -> FloatArray:
        eta, thresholds = self.model.predictors(Z), self.model.thresholds.copy()
        for i, shares in self.shares.items():
            old = thresholds[i, : len(shares)]
            new = ratings.matching_thresholds(eta[:, i], shares, old)
            thresholds[i, : len(shares)] = old + gamma * (new - old)
        return thresholds


def _standardized(Z: FloatArray) -> FloatArray:
    """Draws with mean 0 and variance 1 of every factor.

    Parameter expansion (Liu, Rubin & Wu 1998): in a larger model with free means and variances of
    the factors EM does not creep along them; curves of the standardized factors are its solution.
    """
    standard: FloatArray = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    return standard
