"""Weighted least squares of thresholds, means, slopes, variances and correlations.

A block has statistics s with the asymptotic covariance Γ of √n s
(:mod:`dtstat.sem.ordinal_moments`), a model implies σ(θ) for them
(:mod:`dtstat.sem.model_statistics`), and the distance (s − σ)ᵀ W (s − σ) is minimized. The
estimators differ in W and in what follows:

    weights W                        standard          robust, mean-adjusted   robust, shifted
    diagonal, 1 / diag Γ             dwls              wlsm                    wlsmv
    identity                         uls               ulsm                    ulsmv
    full, Γ⁻¹                        wls

Robust standard errors take the true Γ for that of W (Muthén 1984; Satorra & Bentler 1994). With
U = W − W Δ E⁻¹ Δᵀ W the statistic T has the mean tr(UΓ) and the variance 2 tr((UΓ)²) if the model
is right; T df / tr(UΓ) has the mean of χ²(df) ("satorra.bentler"), and

    T* = a T + df − a tr(UΓ),   a² = df / tr((UΓ)²)

its mean and variance ("scaled.shifted", Asparouhov & Muthén 2010). Groups count as n_g − 1 rows.

Continuous items beside ordered ones need not be normal: the Γ of standard errors and tests is then
the distribution-free one, with its exact covariances of continuous and ordered statistics. (lavaan
takes products of normal scores, which for skewed items is off by as much as half.)

References
----------
Asparouhov, T. & Muthén, B. (2010). Simple second order chi-square correction. Mplus technical
appendix.
Muthén, B. (1984). A general structural equation model with dichotomous, ordered categorical, and
continuous latent variable indicators. Psychometrika 49, 115-132.
Satorra, A. & Bentler, P. M. (1994). Corrections to test statistics and standard errors in
covariance structure analysis. In A. von Eye & C. C. Clogg (Eds.), Latent variables analysis,
399-419. Sage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import EstimationError
from dtstat.core.fit_indices import Test
from dtstat.core.parallel import Steps
from dtstat.sem.constraints import Constraints
from dtstat.sem.discrepancy import ORDERED_PROCEDURES, Block, Estimator, Procedure, inverse_within
from dtstat.sem.estimate import SEMEstimate, estimate_model
from dtstat.sem.likelihood import with_exogenous_moments
from dtstat.sem.matrices import Layout
from dtstat.sem.model_statistics import ModelStatistics
from dtstat.sem.ordinal_moments import OrdinalMoments
from dtstat.sem.parameters import Model, Parameter
from dtstat.sem.robust import corrected_for_categories

_EXACT = 1e-10  # a statistic that is rounding error: the model fits perfectly


@dataclass(frozen=True)
class OrderedSample:
    """What one group gives: statistics of its items, moments of its covariates, and rows.

    ``S_x`` and ``mean_x`` are moments of the covariates, in the order of ``moments.covariates``;
    ``n_used`` of ``n_given`` rows were used.
    """

    moments: OrdinalMoments
    S_x: FloatArray
    mean_x: FloatArray
    n_used: int
    n_given: int


def fit_least_squares(
    model: Model,
    samples: Sequence[OrderedSample],
    estimator: Estimator,
    notes: tuple[str, ...] = (),
    steps: Steps | None = None,
) -> SEMEstimate:
    """Fit a model to the statistics of ordered (and continuous) items of each group.

    ``steps`` reports the ``STEPS`` of the fit.
    """
    discrepancy = LeastSquares(model, samples, ORDERED_PROCEDURES[estimator])
    estimate = estimate_model(discrepancy, notes, steps=steps)
    return replace(estimate, model=_with_dependent(estimate.model, estimate.theta))


def _with_dependent(model: Model, theta: FloatArray) -> Model:
    """Fill in residual variances and scales of ordered items that follow from other parameters."""
    matrices = [Layout(block, model.n_free).matrices(theta) for block in model.blocks]

    def filled(row: Parameter, matrix: str, i: int) -> Parameter:
        if row.free or row.value is not None:
            return row
        M = matrices[row.group - 1]
        parts = {"theta": np.diag(M.Theta), "psi": np.diag(M.Psi), "delta": M.delta}
        return replace(row, value=float(parts[matrix][i]))

    rows = zip(model.parameters, model.places, strict=True)
    return replace(model, parameters=tuple(filled(row, m, i) for row, (m, i, _) in rows))


class _Group:
    """One group: statistics, weights and the model of them."""

    def __init__(self, sample: OrderedSample, layout: Layout, kind: str, share: float) -> None:
        self.sample, self.share, self.kind = sample, share, kind
        moments = sample.moments
        self.s, self.gamma = moments.statistics, moments.gamma
        self.implied = ModelStatistics(layout)
        self._last: tuple[FloatArray, FloatArray, FloatArray] | None = None

    @cached_property
    def W(self) -> FloatArray:
        """(n,) diagonal or (n, n) full weights."""
        if self.kind == "full":
            return full_weights(self.sample.moments)
        return self.sample.moments.weights if self.kind == "diagonal" else np.ones(len(self.s))

    def weigh(self, X: FloatArray) -> FloatArray:
        """W X."""
        if self.W.ndim == 2:
            return np.asarray(self.W @ X)
        return np.asarray(self.W * X if X.ndim == 1 else self.W[:, None] * X)

    def residual(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """S − σ and Δ; the last ones asked for are kept."""
        if self._last is None or not np.array_equal(self._last[0], theta):
            values, D = self.implied.values_and_derivatives(theta)
            self._last = (theta.copy(), self.s - values, D)
        return self._last[1:]


class LeastSquares:
    """Half the weighted squared distance of all groups, a :class:`Discrepancy`."""

    def __init__(
        self, model: Model, samples: Sequence[OrderedSample], procedure: Procedure
    ) -> None:
        self.procedure, self._samples = procedure, tuple(samples)
        moments = [_observed_moments(model, sample) for sample in samples]
        self.model = with_exogenous_moments(model, moments)
        self.layouts = tuple(Layout(block, self.model.n_free) for block in self.model.blocks)
        self.n_obs: float = sum(sample.moments.n_obs for sample in samples)
        self._n = self.n_obs - len(samples)
        kind = weight_kind(procedure)
        self.groups = [
            _Group(sample, layout, kind, (sample.moments.n_obs - 1) / self._n)
            for sample, layout in zip(samples, self.layouts, strict=True)
        ]
        self.n_moments = sum(len(group.s) for group in self.groups)
        self._moments = moments

    def starting_moments(self) -> list[tuple[FloatArray, ...]]:
        """Covariances, means and thresholds of each group."""
        found: list[tuple[FloatArray, ...]] = []
        for (S, mean), layout, sample in zip(
            self._moments, self.layouts, self._samples, strict=True
        ):
            tau = _threshold_table(layout.model, sample.moments)
            scale = np.ones(len(S))
            if layout.responses is not None and not layout.responses.delta:
                scale[layout.responses.items] = np.sqrt(2.0)  # half of the variance is residual
            found.append((S * np.outer(scale, scale), mean, tau * scale[:, None]))
        return found

    def objective(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Half the distance, and its gradient."""
        value, gradient = 0.0, np.zeros(len(theta))
        for group in self.groups:
            residual, D = group.residual(theta)
            weighted = group.weigh(residual)
            value += group.share * 0.5 * float(residual @ weighted)
            gradient -= group.share * (D.T @ weighted)
        if not np.isfinite(value):
            raise ArithmeticError
        return value, gradient

    def information(self, theta: FloatArray) -> FloatArray:
        """(q, q) E = Σ w Δᵀ W Δ."""
        total = np.zeros((len(theta), len(theta)))
        for group in self.groups:
            _, D = group.residual(theta)
            total += group.share * (D.T @ group.weigh(D))
        return total

    def covariance(self, theta: FloatArray, space: FloatArray) -> FloatArray:
        """E⁻¹ / n, or E⁻¹ [Σ w Δᵀ W Γ W Δ] E⁻¹ / n."""
        bread = inverse_within(self.information(theta), space)
        if self.procedure.errors == "standard":
            return bread / self._n
        meat = np.zeros_like(bread)
        for group in self.groups:
            WD = group.weigh(group.residual(theta)[1])
            meat += group.share * (WD.T @ (group.gamma @ WD))
        return np.asarray(bread @ meat @ bread / self._n, dtype=np.float64)

    def test(self, theta: FloatArray, df: int, space: FloatArray) -> Test:
        """T = n times the distance, scaled if the procedure is robust."""
        chisq = 2 * self._n * self.objective(theta)[0]
        chisq = chisq if chisq > _EXACT else 0.0
        if not self.procedure.robust or df == 0:
            return Test(chisq, df)
        E = inverse_within(self.information(theta), space)
        q = len(theta)
        mean = square = 0.0
        once, twice = np.zeros((q, q)), np.zeros((q, q))
        for group in self.groups:
            WD = group.weigh(group.residual(theta)[1])
            A, G = group.weigh(group.gamma), group.gamma @ WD
            mean += float(np.trace(A))
            square += float(np.sum(A * A.T))
            once += group.share * (WD.T @ G)
            twice += group.share * (G.T @ group.weigh(G))
        mean -= float(np.sum(E * once))
        taken = E @ once
        square += float(np.sum(taken * taken.T)) - 2 * float(np.sum(E * twice))
        return self._scaled(chisq, df, mean, square)

    def _scaled(self, chisq: float, df: int, mean: float, square: float) -> Test:
        """Scale a statistic with the mean tr(UΓ) and the variance 2 tr((UΓ)²)."""
        if self.procedure.test == "satorra.bentler":
            return Test(chisq, df, scaling=mean / df)
        a = float(np.sqrt(df / square))
        return Test(chisq, df, scaling=1.0 / a, shift=df - a * mean)

    def baseline(self) -> Test:
        """Test of items that are independent given x: covariances are 0, and the others free."""
        df = sum(int(group.implied.zeros.sum()) for group in self.groups)
        chisq = mean = square = 0.0
        for group in self.groups:
            z = group.implied.zeros
            s, W = group.s[z], _profiled(group.W, z)
            weighted = W @ s if W.ndim == 2 else W * s
            chisq += self._n * group.share * float(s @ weighted)
            if self.procedure.robust:
                A = W[:, None] * group.gamma[np.ix_(z, z)]
                mean += float(np.trace(A))
                square += float(np.sum(A * A.T))
        if not self.procedure.robust or df == 0:
            return Test(chisq, df)
        return self._scaled(chisq, df, mean, square)

    def corrected(
        self, theta: FloatArray, test: Test, baseline: Test, space: FloatArray
    ) -> tuple[Test | None, Test | None]:
        """Find the tests of robust indices: as if the variables behind the items were known."""
        plain = all(
            not group.sample.moments.continuous.any() and not group.sample.moments.covariates
            for group in self.groups
        )
        if not (plain and self.procedure.robust):
            return None, None
        parts = []
        for group in self.groups:
            residual, D = group.residual(theta)
            if np.abs(residual[group.implied.locations]).max(initial=0.0) > 1e-6:
                return None, None  # the model explains thresholds, too
            below = group.implied.second
            parts.append((group, group.implied.scaled(theta).Sigma, D, below))
        E = inverse_within(self.information(theta), space)
        found = corrected_for_categories(
            [group.sample.moments for group in self.groups],
            [Sigma for _, Sigma, _, _ in parts],
            [D for _, _, D, _ in parts],
            [group.weigh(D) for group, _, D, _ in parts],
            E,
            test.df,
        )
        return found or (None, None)

    def standardized_residuals(self, theta: FloatArray, space: FloatArray) -> list[FloatArray]:
        """(p, p) residuals of second moments over their standard errors, of each group.

        To first order s − σ(θ̂) = P (s − σ) with P = I − Δ E⁻¹ Δᵀ W, so that in a group of n_g rows
        it has the covariance Γ / n_g − (Δ E⁻¹ Δᵀ W Γ + its transpose) / n + Δ Cov(θ̂) Δᵀ.
        """
        bread = inverse_within(self.information(theta), space)
        robust = replace(self.procedure, errors="robust.sem")
        covariance = LeastSquares(self.model, self._samples, robust).covariance(theta, space)
        found = []
        for group in self.groups:
            residual, D = group.residual(theta)
            G = group.gamma @ group.weigh(D)
            cross = np.einsum("ka,ab,kb->k", D, bread, G)
            variance = np.diag(group.gamma) / (self._n * group.share) - 2 * cross / self._n
            variance = variance + np.einsum("ka,ab,kb->k", D, covariance, D)
            known = variance > 1e-10 * np.diag(group.gamma) / self._n
            z = np.divide(residual, np.sqrt(np.abs(variance)), where=known, out=0 * residual)
            found.append(group.implied.square(z))
        return found

    def log_likelihoods(self, theta: FloatArray) -> tuple[None, None]:
        """None: there is no likelihood."""
        return None, None

    def blocks(self, theta: FloatArray) -> tuple[Block, ...]:
        """Moments of each group, predictors included."""
        found = []
        for group, (S, mean) in zip(self.groups, self._moments, strict=True):
            sample, implied = group.sample, group.implied
            scaled = implied.scaled(theta)
            slopes = scaled.slopes[implied.items]
            Sigma = _joint(scaled.Sigma, slopes, implied, sample.S_x)
            mu = scaled.mu.copy()
            mu[implied.items] += slopes @ sample.mean_x
            mu[implied.given] = sample.mean_x
            mu[[i for i in implied.items if self.model.observed[i] in self.model.ordered]] = 0.0
            found.append(
                Block(
                    Sigma, mu, S, mean, sample.n_used, sample.n_given,
                    weight=sample.moments.n_obs, ordinal=sample.moments,
                )
            )  # fmt: skip
        return tuple(found)


def least_squares_slope(
    estimate: SEMEstimate, model: Model, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gradient and information of half the distance of another model for the same rows."""
    distance = LeastSquares(model, _samples_of(estimate), estimate.procedure)
    return distance.objective(theta)[1], distance.information(theta)


def standardized_residuals(estimate: SEMEstimate) -> list[FloatArray]:
    """(p, p) residuals over their standard errors, of each group."""
    distance = LeastSquares(estimate.model, _samples_of(estimate), estimate.procedure)
    space = Constraints(estimate.model).space(estimate.theta)
    return distance.standardized_residuals(estimate.theta, space)


def _samples_of(estimate: SEMEstimate) -> list[OrderedSample]:
    """Return what a model was fitted to."""
    samples = []
    for block in estimate.blocks:
        assert block.ordinal is not None
        x = [estimate.model.observed.index(name) for name in block.ordinal.covariates]
        samples.append(
            OrderedSample(
                block.ordinal, block.S[np.ix_(x, x)], block.mean[x], block.n_obs, block.n_given
            )
        )
    return samples


def weight_kind(procedure: Procedure) -> str:
    """Weights of an estimator: "full", "identity" or "diagonal"."""
    if procedure.estimator == "wls":
        return "full"
    return "identity" if procedure.estimator.startswith("uls") else "diagonal"


def full_weights(moments: OrdinalMoments) -> FloatArray:
    """Γ⁻¹, which exists if there are more rows than statistics."""
    n, k = moments.n_obs, len(moments.statistics)
    if n <= k:
        raise EstimationError(
            f"The full weight matrix (wls) needs more rows than statistics; got {n:g} rows and {k} "
            "thresholds, means, variances and correlations. Use 'wlsmv', which weighs them one by "
            "one, or fewer items."
        )
    try:
        half = np.linalg.inv(np.linalg.cholesky(moments.gamma))
    except np.linalg.LinAlgError:
        raise EstimationError(
            "The covariance matrix of the statistics is singular, so it has no inverse for the "
            "weights of 'wls'. Use 'wlsmv', or merge rare categories."
        ) from None
    return np.asarray(half.T @ half, dtype=np.float64)


def _profiled(W: FloatArray, zero: BoolArray) -> FloatArray:
    """Weights of what is 0 when all else is free."""
    if W.ndim == 1:
        return np.asarray(W[zero])
    inner = W[np.ix_(~zero, ~zero)]
    cross = W[np.ix_(~zero, zero)]
    return np.asarray(W[np.ix_(zero, zero)] - cross.T @ np.linalg.solve(inner, cross))


def _observed_moments(model: Model, sample: OrderedSample) -> tuple[FloatArray, FloatArray]:
    """Covariances and means of all observed variables, as they were found."""
    moments, names = sample.moments, model.observed
    y = [names.index(name) for name in moments.names]
    x = [names.index(name) for name in moments.covariates]
    S, mean = np.zeros((len(names),) * 2), np.zeros(len(names))
    cross = moments.slopes @ sample.S_x
    S[np.ix_(y, y)] = moments.covariances + cross @ moments.slopes.T
    S[np.ix_(y, x)], S[np.ix_(x, y)], S[np.ix_(x, x)] = cross, cross.T, sample.S_x
    mean[y] = np.where(moments.continuous, moments.means + moments.slopes @ sample.mean_x, 0.0)
    mean[x] = sample.mean_x
    return S, mean


def _joint(
    Sigma: FloatArray, slopes: FloatArray, implied: ModelStatistics, S_x: FloatArray
) -> FloatArray:
    """Covariances of all observed variables from those of the items given x."""
    joint, y, x = Sigma.copy(), implied.items, implied.given
    cross = slopes @ S_x
    joint[np.ix_(y, y)] += cross @ slopes.T
    joint[np.ix_(y, x)], joint[np.ix_(x, y)], joint[np.ix_(x, x)] = cross, cross.T, S_x
    return joint


def _threshold_table(model: Model, moments: OrdinalMoments) -> FloatArray:
    """(p, cuts) thresholds of the observed variables, 0 where there are none."""
    width = max((tau.size for tau in moments.thresholds), default=0)
    table = np.zeros((len(model.observed), width))
    for name, tau in zip(moments.names, moments.thresholds, strict=True):
        table[model.observed.index(name), : tau.size] = tau
    return table
