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

on df degrees of freedom, E[G] is df (1/n + v), and n G has the standard deviation √(2 df) if the
model is true. What counts as misfit is only what exceeds the 95 % point of that,

    v = max(0, G / df − [1 + 1.645 √(2 / df)] / n),

so that true models keep all their rows but in one sample of twenty. The population correlations are
an inverse Wishart matrix about the model with 1/v degrees of freedom, of which there must be more
than p − 1 for it to exist: so v < 1/(p − 1), and the rows never count less than
n (p − 1) / (n + p − 1). √v is close to the RMSEA. Correlations that vary more than those of normal
rows, such as rank and polychoric ones, have E[G] = c df (1/n + v) with a constant c
(:func:`misfit_scaling`) that does not depend on the misfit. The misfit is divided by it; and as
twice the differences of log-likelihoods are c times a chi-square, a row counts as 1/c: n_eff = 1 /
(1/n + v) / c. G is the reweighted least squares discrepancy of Browne (1974): it needs no inverse
of R, so that it exists with fewer rows than items, and n G has mean p(p + 1)/2 exactly, not only
for large n, if Σ is the true covariance of normal rows.

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
from dtstat.factors.derivatives import Information, Score, StandardErrors

_SIGNIFICANT = 1.645  # 95 % point of the normal distribution


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
    pairs, score = influence.pairs, Score(estimate)
    above = np.triu_indices(len(R), 1)
    information = Information(score.information)
    g = score.of_pairs(pairs)
    E, s = score.residuals(pairs, information.solve(g))
    t1, wider = float(s.sum()) / (len(s) - 1), 1.0
    if influence.halves:
        half = 0.0
        for part in influence.halves:
            squares = score.residual_squares(part, information.solve(score.of_pairs(part)))
            half += squares / (part.shape[1] - 1) / len(influence.halves)
        wider = max(2 - half / t1, 1.0)
    t2 = mean_square_product(E, s) + (float(s.var()) / (2 * n) if influence.bounded else 0.0)
    residual = (R - implied_correlations(estimate))[above]
    test = RobustTest(
        statistic=n * float(residual @ residual),
        df=degrees_of_freedom(estimate),
        trace=t1 * wider,
        trace_of_square=t2 * wider**2,
        baseline=n * float((R[above] ** 2).sum()),
        baseline_trace=float(np.vdot(pairs, pairs)) / (len(s) - 1),
    )
    moved = Information(score.curvature(R)).solve(g)
    variances = wider * np.einsum("qr,qr->q", moved, moved) / len(s) / n
    return test, score.errors(np.sqrt(variances))


def misfit_scaling(estimate: FactorEstimate, influence: Influence) -> float:
    """How much larger than a chi-square over df n G is if the model is true, on average.

    c = tr(UΓ) / df with U = V − VΔ (Δ'VΔ)⁻¹ Δ'V.
    """
    df = degrees_of_freedom(estimate)
    if df <= 0:
        return 1.0
    unexplained = Score(estimate).unexplained(influence.pairs)
    if unexplained <= 0:  # of copies of one item, whose correlations do not vary
        return 1.0
    return unexplained / float((influence.pairs.shape[1] - 1) * df)


def effective_rows(
    R: FloatArray, estimate: FactorEstimate, n_obs: int, scaling: float = 1.0
) -> float:
    """Count what ``n_obs`` rows are worth as evidence about this model, in normal rows.

    ``scaling`` is c, how much more the correlations vary than those of normal rows.
    """
    df, G = degrees_of_freedom(estimate), discrepancy(R, estimate)
    return rows_worth(G, df, len(R), n_obs, scaling)


def rows_worth(G: float, df: int, p: int, n_obs: int, scaling: float = 1.0) -> float:
    """Count what the rows are worth if p items have the discrepancy G on df degrees of freedom."""
    G /= scaling
    by_chance = 1 + _SIGNIFICANT * math.sqrt(2 / max(df, 1))
    v = max(G / df - by_chance / n_obs, 0.0) if df > 0 else 0.0
    rows = 1 / (1 / n_obs + v)
    spread = max(p - 1, 1)  # most that the population can vary about the model: v < 1/(p − 1)
    return max(rows, n_obs * spread / (n_obs + spread)) / scaling


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


def mean_square_product(E: FloatArray, own: FloatArray) -> float:
    """Mean of (E_r'E_s)² over pairs of different columns of (k, m) numbers.

    The sum over all pairs is that of the squares of E'E, or of EE', whichever is smaller; ``own``
    holds the (m,) E_r'E_r.
    """
    k, m = E.shape
    products = E.T @ E if m < k else E @ E.T
    return (float(np.vdot(products, products)) - float(own @ own)) / float(m * (m - 1))
