"""What a fitted factor model says about single rows: their likelihood and their factor scores.

A row with gaps uses the entries of Λ and Ψ that belong to the items it has. With W = Ψ⁻¹Λ and
V = (Φ⁻¹ + ΛᵀW)⁻¹ (Woodbury):

    scores            E[z | x] = V Wᵀx
    log-likelihood    −½ (m log 2π + log|Ψ| + log|I + Φ ΛᵀW| + xᵀΨ⁻¹x − (Wᵀx)ᵀ V (Wᵀx))

for a row with m items.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import BoolArray, FloatArray
from dtstat.estimation.factors.copula import FactorEstimate


@dataclass(frozen=True, eq=False)
class _Pattern:
    """Rows that have the same items, and the model of those items."""

    rows: BoolArray
    items: BoolArray
    W: FloatArray
    V: FloatArray
    log_det: float


def factor_scores(estimate: FactorEstimate, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n, d) regression scores (Thurstone 1935) of standard rows, and their standard errors.

    NaN for rows without any item.

    Parameters
    ----------
    estimate
        The model.
    Z
        (n, p) standardised answers or normal scores, NaN where missing.
    """
    scores = np.full((len(Z), estimate.loadings.shape[1]), np.nan)
    errors = np.full(scores.shape, np.nan)
    for pattern in _patterns(estimate, Z):
        if pattern.items.any():
            scores[pattern.rows] = Z[np.ix_(pattern.rows, pattern.items)] @ pattern.W @ pattern.V
            errors[pattern.rows] = np.sqrt(pattern.V.diagonal())
    return scores, errors


def plausible_values(
    estimate: FactorEstimate, Z: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """(n, d) draws of the factors given standard rows: scores with their error put back.

    Unlike scores they vary and correlate as the factors do. A row without any item is drawn from
    the model.
    """
    draws = np.empty((len(Z), estimate.loadings.shape[1]))
    for pattern in _patterns(estimate, Z):
        x = Z[np.ix_(pattern.rows, pattern.items)]
        noise = rng.standard_normal((len(x), draws.shape[1]))
        root = np.linalg.cholesky((pattern.V + pattern.V.T) / 2)
        draws[pattern.rows] = x @ pattern.W @ pattern.V + noise @ root.T
    return draws


def row_log_likelihoods(estimate: FactorEstimate, Z: FloatArray) -> FloatArray:
    """(n,) log-likelihoods of standard rows; 0 for a row without any item."""
    values = np.zeros(len(Z))
    for pattern in _patterns(estimate, Z):
        x = Z[np.ix_(pattern.rows, pattern.items)]
        xW = x @ pattern.W
        quadratic = (x**2 / estimate.uniquenesses[pattern.items]).sum(axis=1)
        quadratic -= ((xW @ pattern.V) * xW).sum(axis=1)
        constant = x.shape[1] * math.log(2 * math.pi) + pattern.log_det
        values[pattern.rows] = -0.5 * (constant + quadratic)
    return values


def _patterns(estimate: FactorEstimate, Z: FloatArray) -> Iterator[_Pattern]:
    marks, group = np.unique(~np.isnan(Z), axis=0, return_inverse=True)
    Phi, d = estimate.factor_correlations, estimate.loadings.shape[1]
    for k, items in enumerate(marks):
        L, psi = estimate.loadings[items], estimate.uniquenesses[items]
        W = L / psi[:, None]
        K = np.eye(d) + Phi @ (L.T @ W)
        log_det = float(np.log(psi).sum() + np.linalg.slogdet(K)[1])
        yield _Pattern(group.reshape(-1) == k, items, W, np.linalg.solve(K, Phi), log_det)
