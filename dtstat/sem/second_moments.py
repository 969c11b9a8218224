"""Moments of a sample as one vector, the covariance Γ of that vector, and tests adjusted by it.

The moments are the variances and covariances below the diagonal, row by row, then the means if they
are modeled. A normal sample has weights W = Γ⁻¹; of any other the covariance of √n s is

    Γ = Cov(z),   z_i = (vech (x_i − m)(x_i − m)ᵀ, x_i)   (Browne 1984),

and if observed predictors are given, that of what they leave of z. A model fitted with weights W
has standard errors and, with U = W − W Δ E⁻¹ Δᵀ W, a test statistic of mean tr(UΓ) and variance
2 tr((UΓ)²) (Satorra & Bentler 1994). Groups are stacked: W_g counts by its share w_g of the rows,
and Γ_g by 1 / w_g.

References
----------
Browne, M. W. (1984). Asymptotically distribution-free methods for the analysis of covariance
structures. British Journal of Mathematical and Statistical Psychology 37, 62-83.
Satorra, A. & Bentler, P. M. (1994). Corrections to test statistics and standard errors in
covariance structure analysis. In Latent variables analysis, 399-419. Sage.
Asparouhov, T. & Muthén, B. (2010). Simple second order chi-square correction. Mplus technical
appendix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.fit_indices import Test
from dtstat.sem.discrepancy import TestName, inverse_within
from dtstat.sem.matrices import Layout, inverse


def moment_vector(S: FloatArray, mean: FloatArray, means: bool) -> FloatArray:
    """Stack covariances and, if they are modeled, means."""
    below = S[np.tril_indices(len(S))]
    return np.concatenate([below, mean]) if means else below


def moment_derivatives(layout: Layout, theta: FloatArray, means: bool) -> FloatArray:
    """(moments, q) derivatives of the moments that a model implies."""
    implied = layout.implied(theta)
    i, j = np.tril_indices(len(implied.mu))
    U, V = implied.U, implied.V
    D = U[i] * V[j] + V[i] * U[j]
    return layout.collect(np.vstack([D, implied.dmu]) if means else D)


def normal_weights(Sigma: FloatArray, means: bool) -> FloatArray:
    """Γ⁻¹ of normal answers with these covariances."""
    W, _ = inverse(Sigma)
    i, j = np.tril_indices(len(W))
    half = np.where(i == j, 0.5, 1.0)
    square = W[np.ix_(i, i)] * W[np.ix_(j, j)] + W[np.ix_(i, j)] * W[np.ix_(j, i)]
    square *= np.outer(half, half)
    if not means:
        return square
    whole = np.zeros((len(square) + len(W),) * 2)
    whole[: len(square), : len(square)] = square
    whole[len(square) :, len(square) :] = W
    return whole


def moment_covariance(X: FloatArray, means: bool, predictors: Sequence[int] = ()) -> FloatArray:
    """Γ of complete rows; ``predictors`` are columns whose values are given."""
    D = X - X.mean(axis=0)
    i, j = np.tril_indices(X.shape[1])
    Z = D[:, i] * D[:, j]
    if predictors:
        given = D[:, list(predictors)]
        known = given @ np.linalg.lstsq(given, D, rcond=None)[0]
        known[:, list(predictors)] = given
        Z -= known[:, i] * known[:, j]
        D = D - known
    Z -= Z.mean(axis=0)
    if means:
        Z = np.hstack([Z, D])
    gamma: FloatArray = Z.T @ Z / len(Z)
    return gamma


@dataclass(frozen=True)
class Weighted:
    """Weights W, derivatives Δ along the free directions, Γ, and share of the rows of one group."""

    W: FloatArray
    D: FloatArray
    gamma: FloatArray
    share: float


def sandwich(groups: Sequence[Weighted], space: FloatArray) -> FloatArray:
    """(q, q) E⁻¹ Δᵀ W Γ W Δ E⁻¹, the covariance of √n times the estimates."""
    q = len(space)
    E, middle = np.zeros((2, q, q))
    for one in groups:
        WD = one.W @ one.D
        E += one.share * one.D.T @ WD
        middle += one.share * WD.T @ one.gamma @ WD
    bread = inverse_within(E, space)
    return np.asarray(bread @ middle @ bread, dtype=np.float64)


def residual_product(groups: Sequence[Weighted], space: FloatArray) -> FloatArray:
    """UΓ of all groups."""
    E = sum(one.share * one.D.T @ one.W @ one.D for one in groups)
    bread = inverse_within(np.asarray(E), space)
    WD = np.vstack([one.share * one.W @ one.D for one in groups])
    WG = [one.W @ one.gamma for one in groups]
    DWG = np.hstack([one.D.T @ product for one, product in zip(groups, WG, strict=True)])
    product: FloatArray = block_diagonal(WG) - WD @ (bread @ DWG)
    return product


def block_diagonal(blocks: Sequence[FloatArray]) -> FloatArray:
    """Square matrices along the diagonal, zeros elsewhere."""
    whole = np.zeros((sum(map(len, blocks)),) * 2)
    at = 0
    for block in blocks:
        whole[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return whole


def adjusted_test(kind: TestName, chisq: float, df: int, product: FloatArray) -> Test:
    """Scale (and shift) chi-square by the mean and, if asked for, the variance of U Γ.

    "satorra.bentler" matches the mean of χ²(df), "scaled.shifted" the variance too, and
    "mean.var.adjusted" both by other degrees of freedom.
    """
    if df == 0:
        return Test(chisq, df)
    mean = float(np.trace(product))
    if kind == "satorra.bentler":
        return Test(chisq, df, scaling=mean / df)
    square = float(np.sum(product * product.T))
    if kind == "mean.var.adjusted":
        return Test(chisq, df, scaling=square / mean, scaled_df=mean**2 / square)
    a = float(np.sqrt(df / square))
    return Test(chisq, df, scaling=1 / a, shift=df - a * mean)
