"""Linear regression in the joint covariances of factors and observed variables.

Step 1 is the measurement model: loadings Λ, uniquenesses Ψ and factor correlations Φ. Step 2 takes
the covariances c of the variables behind the items with an observed variable to those of the
factors, by the mapping of local SAM (Rosseel & Loh 2022), generalized least squares of c on Λ:

    Cov(F, w) = (Λ'Ψ⁻¹Λ)⁻¹ Λ'Ψ⁻¹ c,

which, with Φ and Var(w), makes the covariance matrix V of everything the formula names. The
coefficients are β = V_rr⁻¹ V_ro (o the outcome, r the predictors), those of the regression on the
factors themselves, not on scores. Every step is a smooth function of means over rows, so that to
first order each row moves β by a known amount, its influence, and

    Cov(β) = Σ (influence)(influence)' / [n (n − k)].

The error of step 1 and its dependence on that of step 2 are in it (Newey & McFadden 1994, section
6), and nothing is taken for granted about the distribution of the residuals.

References
----------
Newey, W. K. & McFadden, D. (1994). Large sample estimation and hypothesis testing. Handbook of
Econometrics 4, 2111-2245.
Rosseel, Y. & Loh, W. W. (2022). A structural after measurement approach to structural equation
modeling. Psychological Methods 29, 561-588.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import EstimationError
from dtstat.factors.copula import FactorEstimate
from dtstat.regression.formula import Design, refuse_dependent
from dtstat.regression.measurement import Moved
from dtstat.regression.moments import ItemCovariances


@dataclass(frozen=True, eq=False)
class Projection:
    """A fitted linear regression, intercept first.

    Attributes
    ----------
    params
        (k,) coefficients.
    covariance
        (k, k) their covariance matrix.
    variance, residual_variance
        Of the outcome, and what the predictors leave of it.
    """

    params: FloatArray
    covariance: FloatArray
    variance: float
    residual_variance: float


def project(
    design: Design,
    estimate: FactorEstimate,
    moved: Moved,
    items: Sequence[ItemCovariances],
    observed: FloatArray,
    part: IntArray,
) -> Projection:
    """Regress the outcome on the predictors of a design.

    Parameters
    ----------
    design
        What is regressed on what.
    estimate
        The measurement model.
    moved, items
        Influence of the rows ``part`` on the model, and on the covariances of items with the
        observed columns.
    observed
        (n, m) observed columns: predictors, then the outcome if it is observed.
    part
        Rows that the covariance matrix is computed from: all, or so many that memory allows.
    """
    d, (n, m) = estimate.loadings.shape[1], observed.shape
    mean = observed.mean(axis=0)
    center = observed - mean
    C, moved_C = factor_covariances(estimate, moved, items)
    V = np.block([[estimate.factor_correlations, C], [C.T, center.T @ center / n]])
    columns = iter(range(d, d + m))
    r = [next(columns) if k < 0 else k for k in design.factors]
    o = design.outcome_factor if design.outcome_factor >= 0 else d + m - 1
    within = V[np.ix_(r, r)]
    refuse_dependent(within, design.names)
    beta = np.linalg.solve(within, V[r, o])
    left = float(V[o, o] - beta @ V[r, o])
    if left <= 0:
        raise EstimationError(
            f"The predictors leave {left:.2g} of the variance of '{design.outcome}', which cannot "
            "be less than 0: too few rows tell the factors apart. Leave out a predictor, or fit "
            "fewer factors."
        )
    # The residual is weights'(F, w, y); a row moves β by V_rr⁻¹ (dV weights)_r.
    weights = np.zeros(d + m)
    weights[r], weights[o] = -beta, 1.0
    of_factors, of_columns = weights[:d], weights[d:]
    center = center[part]
    residual = center @ of_columns
    moved_V = np.empty((len(part), d + m))
    moved_V[:, :d] = moved.factor_correlations @ of_factors + moved_C @ of_columns
    moved_V[:, d:] = np.einsum("ndm,d->nm", moved_C, of_factors)
    moved_V[:, d:] += center * residual[:, None] - V[d:, d:] @ of_columns
    slopes = np.linalg.solve(within, moved_V[:, r].T).T
    means = np.concatenate([np.zeros(d), mean])  # factors have mean 0
    influence = np.column_stack([residual - slopes @ means[r], slopes])
    k = influence.shape[1]
    return Projection(
        np.append(weights @ means, beta),
        influence.T @ influence / (len(part) * (n - k)),
        float(V[o, o]),
        left,
    )


def factor_covariances(
    estimate: FactorEstimate, moved: Moved, items: Sequence[ItemCovariances]
) -> tuple[FloatArray, FloatArray]:
    """(d, m) covariances of factors with observed columns, and (n, d, m) how rows move them.

    With B = Λ'Ψ⁻¹Λ and the residual r = c − ΛC of generalized least squares,

        dC = B⁻¹ [Λ'Ψ⁻¹ (dc − dΛ C) + dΛ'Ψ⁻¹r − Λ'Ψ⁻¹ dΨ Ψ⁻¹r].
    """
    L, psi = estimate.loadings, estimate.uniquenesses
    c = np.array([one.values for one in items])
    W = L / psi[:, None]
    B = L.T @ W
    C = np.linalg.solve(B, W.T @ c)
    rest = (c - L @ C) / psi[:, None]
    right = np.zeros((len(items[0].influence), *C.shape))
    for i, one in enumerate(items):
        change = one.influence - moved.loadings[:, i] @ C
        right += W[i][:, None] * change[:, None, :]
        right += moved.loadings[:, i, :, None] * rest[i]
        right -= moved.uniquenesses[:, i, None, None] * np.outer(W[i], rest[i])
    solved: FloatArray = np.einsum("kl,nlm->nkm", np.linalg.inv(B), right)
    return C, solved
