"""What a model implies for the statistics of ordered and continuous items, with derivatives.

Given the observed predictors x, a model implies for the variables behind the items

    Σ = Λ (I − B)⁻¹ Ψ (I − B)⁻ᵀ Λᵀ + Θ,   μ = ν + Λ (I − B)⁻¹ α,   Π = Λ (I − B)⁻¹ restricted to x,

with Ψ and α of x set to 0. On the scale of the statistics, with δ = 1 for continuous items:

    thresholds δ (τ − μ),  means μ,  slopes δ Π,  variances Σ_ii,  covariances δ_i δ_j Σ_ij

in the order of :mod:`dtstat.sem.ordinal_moments`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.sem.matrices import Implied, Layout, Matrices, Responses
from dtstat.sem.parameters import Model


@dataclass(frozen=True)
class Scaled:
    """What a model implies on the scale of the statistics: moments of all items, given x."""

    Sigma: FloatArray  # (p, p)
    mu: FloatArray  # (p,), of continuous items
    slopes: FloatArray  # (p, c)


class ModelStatistics:
    """The statistics of one group as functions of the parameters.

    Attributes
    ----------
    items
        Positions of the items among the observed variables: all but the observed predictors.
    given
        Positions of the observed predictors.
    """

    def __init__(self, layout: Layout) -> None:
        model = layout.model
        self.layout = layout
        self._responses = layout.responses or Responses.of(model)
        given = np.array([name in model.covariates for name in model.observed], dtype=bool)
        self.items, self.given = np.flatnonzero(~given), np.flatnonzero(given)
        ordered = np.array([model.observed[i] in model.ordered for i in self.items], dtype=bool)
        cuts = _cuts(model)
        first = [
            [(int(i), t) for t in range(cuts[i])] if o else [(int(i), -1)]
            for i, o in zip(self.items, ordered, strict=True)
        ]
        located = np.array([one for own in first for one in own], dtype=np.int64).reshape(-1, 2)
        self._located, self._cut = located.T
        self._is_cut = self._cut >= 0
        own = self.items[~ordered]
        columns, rows = np.triu_indices(len(self.items), 1)  # below the diagonal, by column
        self._i = np.concatenate([own, self.items[rows]])
        self._j = np.concatenate([own, self.items[columns]])
        c = len(self.given)
        sizes = [len(located), len(self.items) * c, len(self._i)]
        ends = np.cumsum(sizes)
        self.locations, self.slopes, self.second = (
            slice(a, b) for a, b in zip([0, *ends], ends, strict=False)
        )
        self.n = int(ends[-1])
        self.zeros = np.zeros(self.n, dtype=bool)  # what is 0 if items are independent
        self.zeros[self.second] = self._i != self._j

    def square(self, values: FloatArray) -> FloatArray:
        """Put values of the statistics that are second moments where Σ has them, 0 elsewhere."""
        matrix = np.zeros((len(self.layout.model.observed),) * 2)
        matrix[self._i, self._j] = matrix[self._j, self._i] = values[self.second]
        return matrix

    def _given_x(self, theta: FloatArray) -> tuple[Matrices, Implied]:
        M = self._responses.conditional(self.layout.matrices(theta))
        return M, self.layout.implied_by(M)

    def values(self, theta: FloatArray) -> FloatArray:
        """(n,) statistics."""
        return self._values(*self._given_x(theta))

    def _values(self, M: Matrices, implied: Implied) -> FloatArray:
        at = self._located
        mu, delta = implied.mu[at], M.delta[at]
        cuts = M.tau[at, self._cut] if M.tau.size else mu
        first = np.where(self._is_cut, delta * (cuts - mu), mu)
        T = M.Lambda @ M.total_effects
        slopes = (M.delta[:, None] * T)[np.ix_(self.items, self._responses.given)]
        second = M.delta[self._i] * M.delta[self._j] * implied.Sigma[self._i, self._j]
        return np.concatenate([first, slopes.ravel(), second])

    def scaled(self, theta: FloatArray) -> Scaled:
        """Moments on the scale of the statistics."""
        M, implied = self._given_x(theta)
        T = M.Lambda @ M.total_effects
        Sigma = implied.Sigma * np.outer(M.delta, M.delta)
        return Scaled(Sigma, implied.mu, M.delta[:, None] * T[:, self._responses.given])

    def values_and_derivatives(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n,) statistics and their (n, q) derivatives."""
        M, implied = self._given_x(theta)
        J = np.zeros((self.n, self.layout.n_slots))
        moments = self.layout.entries("tau")[2].start  # slots that moments depend on
        d_delta = self._scale_derivatives(M, implied)
        at, delta = self._located, M.delta
        if M.tau.size:
            rows, columns, slots = self.layout.entries("tau")
            cut = {(int(i), int(t)): k for k, (i, t) in enumerate(zip(rows, columns, strict=True))}
            for line, place in enumerate(zip(at.tolist(), self._cut.tolist(), strict=True)):
                if place in cut:
                    J[line, slots.start + cut[place]] = delta[place[0]]
        sign = np.where(self._is_cut, -delta[at], 1.0)
        J[self.locations, :moments] = sign[:, None] * implied.dmu[at, :moments]
        if d_delta is not None and M.tau.size:
            cuts = np.where(self._is_cut, M.tau[at, self._cut] - implied.mu[at], 0.0)
            J[self.locations] += cuts[:, None] * d_delta[at]
        if len(self.given):
            self._slope_derivatives(J, M, d_delta)
        U, V, i, j = implied.U[:, :moments], implied.V[:, :moments], self._i, self._j
        dSigma = U[i] * V[j] + V[i] * U[j]
        size = delta[i] * delta[j]
        J[self.second, :moments] = dSigma if (size == 1).all() else size[:, None] * dSigma
        if self._responses.delta and len(self._responses.eta):
            J[self.second] += size[:, None] * self._residual_derivatives(M, implied, d_delta)
        if d_delta is not None:
            Sigma = implied.Sigma[i, j][:, None]
            J[self.second] += Sigma * (
                delta[j][:, None] * d_delta[i] + delta[i][:, None] * d_delta[j]
            )
        return self._values(M, implied), self.layout.collect(J)

    def _scale_derivatives(self, M: Matrices, implied: Implied) -> FloatArray | None:
        """(p, slots) derivatives of δ; None if it is constant."""
        d_delta = np.zeros((len(M.delta), self.layout.n_slots))
        rows, _, slots = self.layout.entries("delta")
        if self._responses.delta:
            d_delta[rows, slots.start + np.arange(len(rows))] = 1.0
            return d_delta if len(rows) else None
        o = self._responses.items
        d_delta[o] = -(M.delta[o, None] ** 3) * implied.U[o] * implied.V[o]  # dΣ_ii = 2 u v
        return d_delta

    def _slope_derivatives(self, J: FloatArray, M: Matrices, d_delta: FloatArray | None) -> None:
        T = M.Lambda @ M.total_effects
        lines = np.arange(self.n)[self.slopes].reshape(len(self.items), -1)
        for line, k in zip(lines.T, self._responses.given, strict=True):
            effects = self.layout.effect_derivatives(M, int(k))[self.items]
            J[line] = M.delta[self.items, None] * effects
            if d_delta is not None:
                J[line] += T[self.items, k][:, None] * d_delta[self.items]

    def _residual_derivatives(
        self, M: Matrices, implied: Implied, d_delta: FloatArray | None
    ) -> FloatArray:
        """(second moments, slots) what Σ owes to the residual variances of ordered η.

        They follow from δ² v = 1 (:mod:`dtstat.sem.matrices`): with v_k = Σ_kk of these items and
        M_kl = T_kl² its derivatives in their residual variances ψ_l, M dψ = −2 δ⁻³ dδ − dv.
        """
        k, eta = self._responses.regressed, self._responses.eta
        T = (M.Lambda @ M.total_effects)[:, eta]
        target = -2.0 * implied.U[k] * implied.V[k]
        if d_delta is not None:
            target = target - 2.0 * M.delta[k, None] ** -3.0 * d_delta[k]
        d_psi = np.linalg.solve(T[k] ** 2, target)
        found: FloatArray = (T[self._i] * T[self._j]) @ d_psi
        return found


def _cuts(model: Model) -> list[int]:
    """Count the thresholds of each observed variable."""
    found = [0] * len(model.observed)
    for matrix, row, column in model.places:
        if matrix == "tau":
            found[row] = max(found[row], column + 1)
    return found
