"""Inference that holds for any estimate of the correlations, and for models that only approximate.

**Test and standard errors.** A factor model is fitted to correlations r with √n (r − ρ) → N(0, Γ).
Normal-theory statistics take Γ to be that of Pearson correlations of normal rows; for rank,
polychoric and most real correlations it is another, and their p values are then wrong. Here the
test is of the residual correlations e = r − ρ(θ) themselves. With Δ = ∂ρ/∂θ', V the normal-theory
weight of the estimate (v'Vv = ½ tr(Σ⁻¹MΣ⁻¹M) for v = vech M) and

    Q = I − Δ (Δ'VΔ)⁻¹ Δ'V,   t₁ = tr(QΓQ'),   t₂ = tr((QΓQ')²),

T = n e'e has mean t₁ and variance 2 t₂ if the model is true. So T t₁ / t₂ is nearly chi-square with
t₁² / t₂ degrees of freedom (Satterthwaite 1941; Satorra & Bentler 1994), and scaled and shifted to
the model's own degrees of freedom (Asparouhov & Muthén 2010) it is

    T √(df / t₂) + df − t₁ √(df / t₂).

Residuals without weights have more power against forgotten loadings than normal-theory statistics
have, and need no inverse of R. With I_r the influence of row r on r and E_r = Q I_r, t₁ is the mean
of s_r = |E_r|² over rows, and t₂ that of (E_r'E_s)² over pairs of different rows; equal ones would
add df²/n. Two things keep the level with few rows:

- t₁ is estimated, with variance Var(s)/n, which adds to that of T: t₂ + Var(s)/2n takes the place
  of t₂. Of products of answers (Pearson) a sample does not show that; there it is left out.
- A sample shows too little of t₁ where influences are unbounded or categories are rare, by an
  amount of order 1/n; the difference between half samples and the whole takes it away (Quenouille
  1956).

The estimates have the covariance H⁻¹ Δ'VΓVΔ H⁻¹ / n, with H the second derivatives of the
likelihood, which are Δ'VΔ only if the model is true; on real surveys that matters. Nothing of the
size of Γ is stored unless there are more rows than pairs of items.

**Effective rows.** A factor model with simple structure is never exactly true of a real survey, and
with thousands of rows the likelihood buys a factor for every small misfit. Wu & Browne (2015) treat
the population correlations as scattered about the model, with a variance v that does not shrink
with n. The discrepancy of the sample from the model then has the variance 1/n + v instead of 1/n:
the rows count as n_eff = 1 / (1/n + v). v is estimated from the misfit itself: with

    G = ½ tr[(Σ⁻¹R − I)²]

on df degrees of freedom, E[G] is df (1/n + v), so n_eff = df / G, and n if the misfit is no larger
than sampling error explains. If the model is true, v = 0 and criteria are the usual ones; √v is
close to the RMSEA. Correlations that vary more than those of normal rows, such as rank and
polychoric ones, have E[G] = c df (1/n + v) with a constant c (:func:`misfit_scaling`) that does not
depend on the misfit. The misfit is divided by it; and as twice the differences of log-likelihoods
are c times a chi-square, a row counts as 1/c: n_eff = 1 / (1/n + v) / c. G is the reweighted least
squares discrepancy of Browne (1974): it needs no inverse of R, so that it exists with fewer rows
than items, and n G has mean p(p + 1)/2 exactly, not only for large n, if Σ is the true covariance
of normal rows.

References
----------
Asparouhov, T. & Muthén, B. (2010). Simple second order chi-square correction. Mplus technical
appendix. Browne, M. W. (1974). Generalized least squares estimators in the analysis of covariance
structures. South African Statistical Journal 8, 1–24. Quenouille, M. H. (1956). Notes on bias in
estimation. Biometrika 43, 353–360. Satorra, A. & Bentler, P. M. (1994). Corrections to test
statistics and standard errors in covariance structure analysis. In: Latent variables analysis,
Sage, 399–419. Satterthwaite, F. E. (1941). Synthesis of variance. Psychometrika 6, 309–316. Wu, H.
& Browne, M. W. (2015). Quantifying adventitious error in a covariance structure as a random effect.
Psychometrika 80, 571–600.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.saved import register
from dtstat.dependence.influence import Influence
from dtstat.factors.copula import FactorEstimate
from dtstat.factors.maximum_likelihood import LEAST_UNIQUENESS

_BLOCK = 2_000_000  # numbers of influences that are multiplied at a time


@register()
@dataclass(frozen=True)
class RobustTest:
    """What a valid test of fit is made of.

    Attributes
    ----------
    statistic, df
        T = n e'e and the model's degrees of freedom.
    trace, trace_of_square
        t₁ and t₂.
    baseline, baseline_trace
        T and t₁ of independent items.
    """

    statistic: float
    df: int
    trace: float
    trace_of_square: float
    baseline: float
    baseline_trace: float

    @property
    def chisq(self) -> float:
        """T, scaled and shifted to the mean and variance of a chi-square with df."""
        a = math.sqrt(self.df / self.trace_of_square)
        return max(self.statistic * a + self.df - self.trace * a, 0.0)


@register(shapes={"loadings": "pd", "factor_correlations": "dd"})
@dataclass(frozen=True, eq=False)
class StandardErrors:
    """Standard errors of (p, d) loadings and (d, d) factor correlations; NaN where fixed."""

    loadings: FloatArray
    factor_correlations: FloatArray


def robust_inference(
    R: FloatArray, estimate: FactorEstimate, influence: Influence, n: int
) -> tuple[RobustTest, StandardErrors]:
    """Test a fitted model and give its standard errors.

    Parameters
    ----------
    R
        (p, p) correlations that the model was fitted to.
    estimate
        The model.
    influence
        That of all n rows, or of some of them.
    n
        Rows.
    """
    rows, score = influence.rows, _Score(estimate)
    above = np.triu_indices(len(R), 1)
    bread = score.bread()
    g = score.of_rows(rows)[0]
    E = score.residuals(rows, g @ bread)
    s = np.einsum("rk,rk->r", E, E)
    t1, wider = float(s.sum()) / (len(s) - 1), 1.0
    if influence.halves:
        parts = (score.residuals(half, score.of_rows(half)[0] @ bread) for half in influence.halves)
        half = float(np.mean([(part**2).sum() / (len(part) - 1) for part in parts]))
        wider = max(2 - half / t1, 1.0)
    t2 = mean_square_product(E) + (float(s.var()) / (2 * n) if influence.bounded else 0.0)
    residual = (R - implied_correlations(estimate))[above]
    test = RobustTest(
        statistic=n * float(residual @ residual),
        df=degrees_of_freedom(estimate),
        trace=t1 * wider,
        trace_of_square=t2 * wider**2,
        baseline=n * float((R[above] ** 2).sum()),
        baseline_trace=float((rows**2).sum()) / 2 / (len(rows) - 1),
    )
    outer = _inverse(score.curvature(R))
    covariance = wider * outer @ (g.T @ g / len(g)) @ outer / n
    return test, score.errors(np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def misfit_scaling(estimate: FactorEstimate, influence: Influence) -> float:
    """How much larger than a chi-square over df n G is if the model is true, on average.

    c = tr(UΓ) / df with U = V − VΔ (Δ'VΔ)⁻¹ Δ'V.
    """
    score, df = _Score(estimate), degrees_of_freedom(estimate)
    if df <= 0:
        return 1.0
    g, quadratic = score.of_rows(influence.rows)
    explained = float(np.sum(score.bread() * (g.T @ g))) / len(g)
    return (float(quadratic.mean()) - explained) * len(g) / (len(g) - 1) / df


def effective_rows(
    R: FloatArray, estimate: FactorEstimate, n_obs: int, scaling: float = 1.0
) -> float:
    """Count what ``n_obs`` rows are worth as evidence about this model, in normal rows.

    ``scaling`` is c, how much more the correlations vary than those of normal rows.
    """
    df, G = degrees_of_freedom(estimate), discrepancy(R, estimate) / scaling
    rows = float(n_obs) if df <= 0 or df >= n_obs * G else df / G
    return rows / scaling


def discrepancy(R: FloatArray, estimate: FactorEstimate) -> float:
    """Reweighted least squares discrepancy G of a fitted model.

    Cost: p²d, by Woodbury's identity Σ⁻¹ = Ψ⁻¹ − W V Wᵀ with W = Ψ⁻¹Λ, V = (Φ⁻¹ + ΛᵀW)⁻¹.
    """
    L, Phi = estimate.loadings, estimate.factor_correlations
    W = L / estimate.uniquenesses[:, None]
    V = np.linalg.solve(np.eye(len(Phi)) + Phi @ (L.T @ W), Phi)
    residual = R / estimate.uniquenesses[:, None] - W @ (V @ (W.T @ R))
    residual.flat[:: len(R) + 1] -= 1.0
    return 0.5 * float(np.sum(residual * residual.T))


def implied_correlations(estimate: FactorEstimate) -> FloatArray:
    """(p, p) correlations that the model implies."""
    L = estimate.loadings
    Sigma = L @ estimate.factor_correlations @ L.T + np.diag(estimate.uniquenesses)
    scale = np.sqrt(Sigma.diagonal())
    correlations: FloatArray = Sigma / np.outer(scale, scale)
    return correlations


def degrees_of_freedom(estimate: FactorEstimate) -> int:
    """p(p + 1)/2 moments less free parameters."""
    p = len(estimate.uniquenesses)
    return p * (p + 1) // 2 - estimate.n_parameters


def mean_square_product(E: FloatArray) -> float:
    """Mean of (E_r'E_s)² over pairs of different rows of (m, k) numbers.

    The sum over all pairs is that of the squares of EE', or of E'E, whichever is smaller.
    """
    m = len(E)
    products = E @ E.T if m < E.shape[1] else E.T @ E
    own = np.einsum("rk,rk->r", E, E)
    return (float(np.sum(products**2)) - float(own @ own)) / (m * (m - 1))


def _inverse(A: FloatArray) -> FloatArray:
    """Inverse of a symmetric matrix; a generalized one on a ridge."""
    return np.asarray(np.linalg.pinv(A, hermitian=True), dtype=np.float64)


class _Score:
    """Derivatives of the discrepancy in loadings, factor correlations and uniquenesses, by row."""

    def __init__(self, estimate: FactorEstimate) -> None:
        self._L, self._Phi = estimate.loadings, estimate.factor_correlations
        self._loading = np.nonzero(self._L)
        self._phi = np.triu_indices(len(self._Phi), 1)
        self._free = np.flatnonzero(estimate.uniquenesses > 1.01 * LEAST_UNIQUENESS)
        self._C = self._L @ self._Phi
        Sigma = self._C @ self._L.T + np.diag(estimate.uniquenesses)
        self._P = np.asarray(np.linalg.inv(Sigma), dtype=np.float64)

    def of_rows(self, influence: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(m, q) Δ'V I_r and (m,) I_r' V I_r."""
        m, p = len(influence), len(self._L)
        q = len(self._loading[0]) + len(self._phi[0]) + len(self._free)
        g, quadratic = np.empty((m, q)), np.empty(m)
        step = max(1, _BLOCK // p**2)
        for start in range(0, m, step):
            block = slice(start, start + step)
            N = self._P @ influence[block] @ self._P
            quadratic[block] = 0.5 * np.einsum("rij,rij->r", N, influence[block])
            g[block] = self._derivatives(N)
        return g, quadratic

    def _derivatives(self, N: FloatArray) -> FloatArray:
        """½ ⟨∂Σ/∂θ, N⟩ for a stack of symmetric N."""
        i, k = self._loading
        a, b = self._phi
        of_loadings = (N @ self._C)[:, i, k]
        of_phi = (self._L.T @ N @ self._L)[:, a, b]
        return np.hstack([of_loadings, of_phi, 0.5 * N[:, self._free, self._free]])

    def residuals(self, influence: FloatArray, change: FloatArray) -> FloatArray:
        """(m, p(p − 1)/2) E_r = I_r − Δ dθ_r, with dθ_r how far each row moves the estimates."""
        m, p = len(influence), len(self._L)
        (i, k), (a, b) = self._loading, self._phi
        above = np.triu_indices(p, 1)
        residuals = np.empty((m, len(above[0])))
        step = max(1, _BLOCK // p**2)
        for start in range(0, m, step):
            block = slice(start, start + step)
            moved = change[block]
            dL = np.zeros((len(moved), *self._L.shape))
            dL[:, i, k] = moved[:, : len(i)]
            dPhi = np.zeros((len(moved), *self._Phi.shape))
            dPhi[:, a, b] = dPhi[:, b, a] = moved[:, len(i) : len(i) + len(a)]
            half = dL @ self._C.T + 0.5 * (self._L @ dPhi @ self._L.T)
            E = influence[block] - half - half.transpose(0, 2, 1)
            residuals[block] = E[:, above[0], above[1]]
        return residuals

    def bread(self) -> FloatArray:
        """(q, q) inverse of the information Δ'VΔ; a generalized one on a ridge."""
        return _inverse(self._products(self._P))

    def curvature(self, R: FloatArray) -> FloatArray:
        """(q, q) second derivatives of ½ (log|Σ| + tr Σ⁻¹R), the observed information.

        With M = Σ⁻¹RΣ⁻¹, D = Σ⁻¹ − M and Q(X)_ab = ½ tr(Σ_a X Σ_b X) it is
        Q(Σ⁻¹ + M) − 2 Q(Σ⁻¹) − Q(M) + ½ tr(Σ_ab D).
        """
        (i, k), (a, b), P, e = self._loading, self._phi, self._P, len(self._loading[0])
        M = P @ R @ P
        D = P - M
        H = self._products(P + M) - 2 * self._products(P) - self._products(M)
        H[:e, :e] += D[np.ix_(i, i)] * self._Phi[np.ix_(k, k)]
        DL = (D @ self._L)[i]
        cross = (k[:, None] == a) * DL[:, b] + (k[:, None] == b) * DL[:, a]
        H[:e, e : e + len(a)] += cross
        H[e : e + len(a), :e] += cross.T
        return H

    def _products(self, P: FloatArray) -> FloatArray:
        """(q, q) ½ tr(Σ_a P Σ_b P)."""
        (i, k), (a, b), f = self._loading, self._phi, self._free
        L = self._L
        PC, PL = P @ self._C, P @ L
        CPC, LPC, LPL = self._C.T @ PC, L.T @ PC, L.T @ PL
        loading = P[np.ix_(i, i)] * CPC[np.ix_(k, k)]
        loading += PC[np.ix_(i, k)] * PC[np.ix_(i, k)].T
        mixed = PL[np.ix_(i, a)] * LPC[np.ix_(b, k)].T + PL[np.ix_(i, b)] * LPC[np.ix_(a, k)].T
        phi = LPL[np.ix_(a, a)] * LPL[np.ix_(b, b)] + LPL[np.ix_(a, b)] * LPL[np.ix_(b, a)]
        loading_psi = P[np.ix_(i, f)] * PC[np.ix_(f, k)].T
        phi_psi = PL[np.ix_(f, a)].T * PL[np.ix_(f, b)].T
        psi = 0.5 * P[np.ix_(f, f)] ** 2
        rows = [loading, mixed, loading_psi], [mixed.T, phi, phi_psi]
        return np.block([*rows, [loading_psi.T, phi_psi.T, psi]])

    def errors(self, errors: FloatArray) -> StandardErrors:
        """Put the errors of all parameters where they belong."""
        (i, k), (a, b) = self._loading, self._phi
        loadings, phi = np.full(self._L.shape, np.nan), np.full(self._Phi.shape, np.nan)
        loadings[i, k] = errors[: len(i)]
        phi[a, b] = phi[b, a] = errors[len(i) : len(i) + len(a)]
        return StandardErrors(loadings, phi)
