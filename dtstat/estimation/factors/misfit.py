"""How much evidence the rows are, if the model is only an approximation.

A factor model with simple structure is never exactly true of a real survey, and with thousands of
rows the likelihood buys a factor for every small misfit. Wu & Browne (2015) treat the population
correlations as scattered about the model, with a variance v that does not shrink with n. The
discrepancy of the sample from the model then has the variance 1/n + v instead of 1/n: the rows
count as

    n_eff = 1 / (1/n + v).

v is estimated from the misfit itself: with G the discrepancy on df degrees of freedom, E[G] is
df (1/n + v), so n_eff = df / G, and n if the misfit is no larger than sampling error explains. If
the model is true, v = 0 and criteria are the usual ones; √v is close to the RMSEA. Correlations
that vary more than those of normal rows, such as rank and polychoric ones, have
E[G] = c df (1/n + v) with a constant c that does not depend on the misfit
(:func:`dtstat.estimation.factors.robust.misfit_scaling`). The misfit is divided by it; and as twice
the differences of log-likelihoods are c times a chi-square, a row counts as 1/c:

    n_eff = 1 / (1/n + v) / c.

G is the reweighted least squares discrepancy of Browne (1974),

    G = ½ tr[(Σ⁻¹R − I)²],

because it needs no inverse of R, so that it exists with fewer rows than items, and n G has mean
p(p + 1)/2 exactly, not only for large n, if Σ is the true covariance of normal rows.

References
----------
Browne, M. W. (1974). Generalized least squares estimators in the analysis of covariance
structures. South African Statistical Journal 8, 1–24. Wu, H. & Browne, M. W. (2015). Quantifying
adventitious error in a covariance structure as a random effect. Psychometrika 80, 571–600.
"""

from __future__ import annotations

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation.factors.copula import FactorEstimate


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


def effective_rows(
    R: FloatArray, estimate: FactorEstimate, n_obs: int, scaling: float = 1.0
) -> float:
    """Count what ``n_obs`` rows are worth as evidence about this model, in normal rows.

    ``scaling`` is c, how much more the correlations vary than those of normal rows.
    """
    df, G = degrees_of_freedom(estimate), discrepancy(R, estimate) / scaling
    rows = float(n_obs) if df <= 0 or df >= n_obs * G else df / G
    return rows / scaling
