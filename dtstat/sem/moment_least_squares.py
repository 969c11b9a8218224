"""Fitting the covariances and means of continuous answers by least squares: gls, uls, wls, dwls.

With the sample's moments s (divisor n − 1), the model's σ(θ) and weights W the discrepancy is
(s − σ)ᵀ W (s − σ). W is Γ⁻¹ of normal answers at the sample's covariances (gls; Browne 1974), of
any answers (wls), its diagonal (dwls), or the identity (uls). Chi-square is n − 1 times the
discrepancy. Where W is not Γ⁻¹, standard errors and tests rest on Γ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import EstimationError
from dtstat.core.fit_indices import Test
from dtstat.core.parallel import Progress, Steps
from dtstat.sem.designs import Rows
from dtstat.sem.discrepancy import Block, Procedure, inverse_within
from dtstat.sem.estimate import STEPS, SEMEstimate, estimate_model
from dtstat.sem.likelihood import (
    count_moments,
    covariate_positions,
    predictor_positions,
    with_exogenous_moments,
)
from dtstat.sem.matrices import Layout
from dtstat.sem.normal import Covariates, independence_layout, parameters_of
from dtstat.sem.parameters import Model
from dtstat.sem.second_moments import (
    Weighted,
    adjusted_test,
    block_diagonal,
    moment_covariance,
    moment_derivatives,
    moment_vector,
    normal_weights,
    residual_product,
    sandwich,
)


def fit_least_squares(
    model: Model,
    rows: Sequence[Rows],
    procedure: Procedure,
    n_given: Sequence[int],
    progress: Progress = None,
) -> SEMEstimate:
    """Fit a model to rows without gaps, one set per group."""
    with Steps(progress, "model", 1 + STEPS) as steps:
        distance = MomentLeastSquares(model, rows, procedure, n_given)
        steps.done()
        return estimate_model(distance, steps=steps)


class MomentLeastSquares:
    """Half the weighted squared distance of moments, over all groups, a :class:`Discrepancy`."""

    def __init__(
        self, model: Model, rows: Sequence[Rows], procedure: Procedure, n_given: Sequence[int]
    ) -> None:
        self.procedure, self._n_given = procedure, n_given
        self._counts = [len(one) for one in rows]
        self._moments = []
        for one in rows:
            S, mean = one.moments()
            self._moments.append((S * (len(one) / (len(one) - 1)), mean))
        self.model = with_exogenous_moments(model, self._moments)
        self._means = self.model.mean_structure
        self.layouts = tuple(Layout(block, self.model.n_free) for block in self.model.blocks)
        self.n_obs = float(sum(self._counts))
        # as many as chi-square counts: of each group one less than its rows
        self._degrees = [count - 1 for count in self._counts]
        self._shares = [degree / sum(self._degrees) for degree in self._degrees]
        self.n_moments = count_moments(self.model)
        self._x = tuple(covariate_positions(self.model))
        self._s = [moment_vector(S, mean, self._means) for S, mean in self._moments]
        needs = procedure.uses_gamma or procedure.estimator[:3] != "gls"
        self._gammas = [moment_covariance(one.X, self._means, self._x) for one in rows if needs]
        self._weights = [self._weight(k) for k in range(len(rows))]

    def _weight(self, k: int) -> FloatArray:
        name = self.procedure.estimator
        if name.startswith("uls"):
            return np.eye(len(self._s[k]))
        if name == "gls":
            return normal_weights(self._moments[k][0], self._means)
        gamma = self._gammas[k]
        known = np.diag(gamma) > 0  # moments of given predictors do not vary
        if name == "wls":
            W = np.zeros_like(gamma)
            try:
                np.linalg.cholesky(gamma[np.ix_(known, known)])
            except np.linalg.LinAlgError:
                raise EstimationError(
                    f"The weights of 'wls' do not exist: {self._counts[k]} rows are too few for "
                    f"the covariances of {int(known.sum())} moments. Use another estimator, fewer "
                    "items or more rows."
                ) from None
            W[np.ix_(known, known)] = np.linalg.inv(gamma[np.ix_(known, known)])
            return W
        return np.diag(np.where(known, 1 / np.where(known, np.diag(gamma), 1.0), 0.0))

    def starting_moments(self) -> list[tuple[FloatArray, FloatArray]]:
        """Covariances and means of each group."""
        return self._moments

    def objective(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Half the discrepancy, and its gradient."""
        value, gradient = 0.0, np.zeros(len(theta))
        for k, (share, layout) in enumerate(zip(self._shares, self.layouts, strict=True)):
            implied = layout.implied(theta)
            left = self._s[k] - moment_vector(implied.Sigma, implied.mu, self._means)
            pull = self._weights[k] @ left
            value += 0.5 * share * float(left @ pull)
            gradient -= share * (moment_derivatives(layout, theta, self._means).T @ pull)
        return value, gradient

    def information(self, theta: FloatArray) -> FloatArray:
        """Σ w Δᵀ W Δ."""
        total = np.zeros((len(theta), len(theta)))
        for share, W, layout in zip(self._shares, self._weights, self.layouts, strict=True):
            D = moment_derivatives(layout, theta, self._means)
            total += share * D.T @ W @ D
        return total

    def _weighted(self, theta: FloatArray) -> list[Weighted]:
        return [
            Weighted(W, moment_derivatives(layout, theta, self._means), gamma, share)
            for W, layout, gamma, share in zip(
                self._weights, self.layouts, self._gammas, self._shares, strict=True
            )
        ]

    def covariance(self, theta: FloatArray, space: FloatArray) -> FloatArray:
        """E⁻¹ / n if W is Γ⁻¹, else from Γ."""
        n = sum(self._degrees)
        if self.procedure.errors == "none":
            return np.full((len(theta), len(theta)), np.nan)
        if self.procedure.errors == "standard":
            return inverse_within(self.information(theta), space) / n
        return sandwich(self._weighted(theta), space) / n

    def test(self, theta: FloatArray, df: int, space: FloatArray) -> Test:
        """Test the model by n − 1 times the discrepancy."""
        chisq = 2 * sum(self._degrees) * self.objective(theta)[0]
        if not self.procedure.robust:
            return Test(chisq, df)
        product = residual_product(self._weighted(theta), space)
        return adjusted_test(self.procedure.test, chisq, df, product)

    def baseline(self) -> Test:
        """Fit the independence model, which is linear in its parameters, and test it."""
        free = predictor_positions(self.model)
        p, c = len(self.model.observed), len(free)
        df = len(self._s) * (p * (p - 1) // 2 - c * (c - 1) // 2)
        chisq, products = 0.0, []
        for k, (S, mean) in enumerate(self._moments):
            given = Covariates(self._x, S, mean)
            layout = independence_layout(self.model.observed, self._means, given, free)
            start = parameters_of(layout, S, mean)
            D = moment_derivatives(layout, start, self._means)
            implied = layout.implied(start)
            rest = self._s[k] - moment_vector(implied.Sigma, implied.mu, self._means)
            W = self._weights[k]
            left = rest - D @ np.linalg.solve(D.T @ W @ D, D.T @ (W @ rest))
            chisq += self._degrees[k] * float(left @ W @ left)
            if self.procedure.robust:
                one = Weighted(W, D, self._gammas[k], 1.0)
                products.append(residual_product([one], np.eye(D.shape[1])))
        if not self.procedure.robust or not df:
            return Test(chisq, df)
        return adjusted_test(self.procedure.test, chisq, df, block_diagonal(products))

    def corrected(
        self, theta: FloatArray, test: Test, baseline: Test, space: FloatArray
    ) -> tuple[Test | None, Test | None]:
        """Robust indices rest on the tests as they are, if these are scaled."""
        known = self.procedure.robust and self.procedure.test != "mean.var.adjusted"
        return (test, baseline) if known else (None, None)

    def log_likelihoods(self, theta: FloatArray) -> tuple[None, None]:
        """There are none."""
        return None, None

    def blocks(self, theta: FloatArray) -> tuple[Block, ...]:
        """Moments of each group."""
        found = []
        for k, layout in enumerate(self.layouts):
            implied, (S, mean) = layout.implied(theta), self._moments[k]
            found.append(
                Block(implied.Sigma, implied.mu, S, mean, self._counts[k], self._n_given[k])
            )
        return tuple(found)
