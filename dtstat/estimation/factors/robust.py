"""A test of fit, and standard errors, that hold for any estimate of the correlations.

A factor model is fitted to correlations r with √n (r − ρ) → N(0, Γ). Normal-theory statistics take
Γ to be that of Pearson correlations of normal rows; for rank, polychoric and most real
correlations it is another, and the statistic n F is then a weighted sum of chi-squares. With
Δ = ∂ vech Σ / ∂θ', V the normal-theory weight, v'Vv = ½ tr(Σ⁻¹MΣ⁻¹M) for v = vech M, and

    U = V − VΔ (Δ'VΔ)⁻¹ Δ'V,   t₁ = tr(UΓ),   t₂ = tr((UΓ)²),

T = n G has mean t₁ and variance 2 t₂ if the model is true. So T df* / t₁ is nearly chi-square with
df* = t₁² / t₂ degrees of freedom (Satterthwaite 1941; Satorra & Bentler 1994); scaled and shifted
to the model's own degrees of freedom (Asparouhov & Muthén 2010) it is

    T √(df / t₂) + df − t₁ √(df / t₂).

Here G = ½ tr[(Σ⁻¹R − I)²] (Browne 1974), which keeps its level with few rows where the likelihood
ratio does not, and exists when R is singular. t₁ is a mean over rows of their influences I_r, and
t₂ one over pairs of different rows of (I_r' U I_s)²; equal ones would add df²/n. Where these are
unbounded (Pearson), t₁ of a sample is too small by an amount of order 1/n, which the difference
between half and whole samples shows and takes away (Quenouille 1956). The estimates have the
covariance (Δ'VΔ)⁻¹ Δ'VΓVΔ (Δ'VΔ)⁻¹ / n. Nothing of the size of Γ is ever stored.

References
----------
Asparouhov, T. & Muthén, B. (2010). Simple second order chi-square correction. Mplus technical
appendix. Browne, M. W. (1974). Generalized least squares estimators in the analysis of covariance
structures. South African Statistical Journal 8, 1–24. Quenouille, M. H. (1956). Notes on bias in
estimation. Biometrika 43, 353–360. Satorra, A. & Bentler, P. M. (1994). Corrections
to test statistics and standard errors in covariance structure analysis. In: Latent variables
analysis, Sage, 399–419. Satterthwaite, F. E. (1941). Synthesis of variance. Psychometrika 6,
309–316.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.dependence.influence import Influence
from dtstat.estimation.factors.copula import FactorEstimate
from dtstat.estimation.factors.maximum_likelihood import LEAST_UNIQUENESS
from dtstat.estimation.factors.misfit import degrees_of_freedom, discrepancy

_BLOCK = 2_000_000  # numbers of influences that are multiplied at a time


@dataclass(frozen=True)
class RobustTest:
    """What a valid test of fit is made of.

    Attributes
    ----------
    statistic, df
        T = n G and the model's degrees of freedom.
    trace, trace_of_square
        t₁ = tr(UΓ) and t₂ = tr((UΓ)²).
    baseline, baseline_df, baseline_trace
        T, degrees of freedom and t₁ of independent items.
    """

    statistic: float
    df: int
    trace: float
    trace_of_square: float
    baseline: float
    baseline_df: int
    baseline_trace: float

    @property
    def scaling(self) -> float:
        """C = t₁ / df: what T is divided by to have the mean of a chi-square."""
        return self.trace / self.df

    @property
    def chisq(self) -> float:
        """T, scaled and shifted to the mean and variance of a chi-square with df."""
        a = math.sqrt(self.df / self.trace_of_square)
        return max(self.statistic * a + self.df - self.trace * a, 0.0)


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
    p, df, score, rows = len(R), degrees_of_freedom(estimate), _Score(estimate), influence.rows
    bread = score.bread()
    g, quadratic = score.of_rows(rows)
    meat = g.T @ g / len(rows)
    t1 = _trace(quadratic, bread, meat)
    t2 = max(score.mean_square_product(rows, g, bread), t1**2 / max(df, 1))
    wider = 1.0
    if influence.halves:
        parts = (score.of_rows(half) for half in influence.halves)
        half = np.mean([_trace(own, bread, h.T @ h / len(h)) for h, own in parts])
        wider = max(2 - float(half) / t1, 1.0)
    test = RobustTest(
        n * discrepancy(R, estimate),
        df,
        t1 * wider,
        t2 * wider**2,
        n * float((np.triu(R, 1) ** 2).sum()),
        p * (p - 1) // 2,
        float((rows**2).sum() / 2 / (len(rows) - 1)),
    )
    covariance = wider * bread @ meat @ bread / n
    return test, score.errors(np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def misfit_scaling(estimate: FactorEstimate, influence: Influence) -> float:
    """C = t₁ / df: how much larger than a chi-square n G is if the model is true."""
    score, df = _Score(estimate), degrees_of_freedom(estimate)
    if df <= 0:
        return 1.0
    g, quadratic = score.of_rows(influence.rows)
    bread = score.bread()
    return _trace(quadratic, bread, g.T @ g / len(g)) / df


def _trace(quadratic: FloatArray, bread: FloatArray, meat: FloatArray) -> float:
    """t₁ = tr(VΓ) − tr((Δ'VΔ)⁻¹ Δ'VΓVΔ)."""
    m = len(quadratic)
    return (float(quadratic.mean()) - float(np.sum(bread * meat))) * m / (m - 1)


class _Score:
    """Derivatives of the discrepancy in loadings, factor correlations and uniquenesses, by row."""

    def __init__(self, estimate: FactorEstimate) -> None:
        self._L, self._Phi = estimate.loadings, estimate.factor_correlations
        self._psi = estimate.uniquenesses
        d = len(self._Phi)
        self._loading = np.nonzero(self._L)
        self._phi = np.triu_indices(d, 1)
        self._free = np.flatnonzero(self._psi > 1.01 * LEAST_UNIQUENESS)
        self._P = np.linalg.inv(self._L @ self._Phi @ self._L.T + np.diag(self._psi))
        self._C = self._L @ self._Phi

    def of_rows(self, influence: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(m, q) Δ'V I_r and (m,) I_r' V I_r."""
        m, p, _ = influence.shape
        q = len(self._loading[0]) + len(self._phi[0]) + len(self._free)
        g, quadratic = np.empty((m, q)), np.empty(m)
        step = max(1, _BLOCK // p**2)
        for start in range(0, m, step):
            block = slice(start, start + step)
            N = self._weighted(influence[block])
            quadratic[block] = 0.5 * np.einsum("rij,rij->r", N, influence[block])
            g[block] = self._derivatives(N)
        return g, quadratic

    def _weighted(self, M: FloatArray) -> FloatArray:
        weighted: FloatArray = self._P @ M @ self._P
        return weighted

    def _derivatives(self, N: FloatArray) -> FloatArray:
        """½ ⟨∂Σ/∂θ, N⟩ for a stack of symmetric N."""
        i, k = self._loading
        a, b = self._phi
        of_loadings = (N @ self._C)[:, i, k]
        of_phi = (self._L.T @ N @ self._L)[:, a, b]
        of_psi = 0.5 * N[:, self._free, self._free]
        return np.hstack([of_loadings, of_phi, of_psi])

    def information(self) -> FloatArray:
        """(q, q) Δ'VΔ, that is ½ tr(Σ⁻¹ Σ_a Σ⁻¹ Σ_b)."""
        (i, k), (a, b), f = self._loading, self._phi, self._free
        P, L = self._P, self._L
        PC, PL = P @ self._C, P @ L
        CPC, LPC, LPL = self._C.T @ PC, L.T @ PC, L.T @ PL
        loading = P[np.ix_(i, i)] * CPC[np.ix_(k, k)]
        loading += PC[np.ix_(i, k)] * PC[np.ix_(i, k)].T
        mixed = PL[np.ix_(i, a)] * LPC[np.ix_(b, k)].T + PL[np.ix_(i, b)] * LPC[np.ix_(a, k)].T
        phi = LPL[np.ix_(a, a)] * LPL[np.ix_(b, b)] + LPL[np.ix_(a, b)] * LPL[np.ix_(b, a)]
        loading_psi = P[np.ix_(i, f)] * PC[np.ix_(f, k)].T
        phi_psi = PL[np.ix_(f, a)].T * PL[np.ix_(f, b)].T
        psi = 0.5 * P[np.ix_(f, f)] ** 2
        return np.block(
            [
                [loading, mixed, loading_psi],
                [mixed.T, phi, phi_psi],
                [loading_psi.T, phi_psi.T, psi],
            ]
        )

    def bread(self) -> FloatArray:
        """(q, q) inverse of the information; a generalized one on a ridge."""
        return np.asarray(np.linalg.pinv(self.information(), hermitian=True), dtype=np.float64)

    def mean_square_product(self, influence: FloatArray, g: FloatArray, bread: FloatArray) -> float:
        """Mean of (I_r' U I_s)² over pairs of different rows.

        The products are K = Z W' with Z = [VI, −g A⁻¹] and W = [I, g], a line per row. Their sum of
        squares is that of K, or tr(Z'Z W'W), whichever is smaller.
        """
        m, p = len(influence), len(self._L)
        above = np.triu_indices(p, 1)  # entries of symmetric matrices without diagonal, once
        weighted = np.empty((m, len(above[0])))
        step = max(1, _BLOCK // p**2)
        for start in range(0, m, step):
            block = slice(start, start + step)
            weighted[block] = self._weighted(influence[block])[:, above[0], above[1]]
        Z = np.hstack([weighted, -g @ bread])
        W = np.hstack([influence[:, above[0], above[1]], g])
        own = np.einsum("rk,rk->r", Z, W)
        if m < 2 * Z.shape[1]:
            K = Z @ W.T
            total = float(np.sum(K**2))
        else:
            total = float(np.sum((Z.T @ Z) * (W.T @ W)))
        return (total - float(np.sum(own**2))) / (m * (m - 1))

    def errors(self, errors: FloatArray) -> StandardErrors:
        """Put the errors of all parameters where they belong."""
        (i, k), (a, b) = self._loading, self._phi
        loadings, phi = np.full(self._L.shape, np.nan), np.full(self._Phi.shape, np.nan)
        loadings[i, k] = errors[: len(i)]
        phi[a, b] = phi[b, a] = errors[len(i) : len(i) + len(a)]
        return StandardErrors(loadings, phi)
