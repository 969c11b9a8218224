"""Robust standard errors and tests.

MLR: sandwich standard errors and the scaled test of Yuan & Bentler (2000), as Mplus computes it.

Robust CFI, TLI and RMSEA: a likelihood with gaps, or least squares on polychoric correlations,
measures misfit on a scale of its own. The corrected tests measure it on that of complete normal
data, by the discrepancy

    X² = n (log|Σ| − log|S| + tr(Σ⁻¹S) − p + (m − μ)ᵀ Σ⁻¹ (m − μ))

between the saturated moments (S, m) and what the model implies at its own estimates. If the model
is right X² has the mean tr(W_c P Γ Pᵀ), P = I − Δ E⁻¹ Δᵀ W, E = Δᵀ W Δ: W_c are the weights of the
discrepancy, W those the model was fitted with, Γ the covariance of the saturated moments and Δ the
derivatives of the implied ones (Zhang & Savalei 2023 for gaps, Savalei 2021 for ordered items).
"""

from __future__ import annotations

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.fit_indices import Test
from dtstat.sem.gaps import saturated_hessian
from dtstat.sem.matrices import Layout, inverse
from dtstat.sem.normal import (
    Covariates,
    case_scores,
    expected_information,
    independence_layout,
    observed_information,
    parameters_of,
    saturated_layout,
)
from dtstat.sem.rows import Sample, complete_sample, independence_moments

# The saturated information has p (p + 3) / 2 rows; with more items inverting it takes longer than
# the fit.
MOST_ITEMS = 60


def sandwich(information: FloatArray, scores: FloatArray) -> FloatArray:
    """A⁻¹ B A⁻¹ / n with A the observed information per row, B the mean square of the scores."""
    n = len(scores)
    bread = np.linalg.inv(information)
    covariance: FloatArray = bread @ (scores.T @ scores / n) @ bread / n
    return covariance


def score_trace(X: FloatArray, sample: Sample, layout: Layout, theta: FloatArray) -> float:
    """tr(B A⁻¹) of a model: the expected −2 log-likelihood its parameters take up.

    Equals the number of parameters if the rows are normal and the model is right.
    """
    return _trace(observed_information(sample, layout, theta), X, sample, layout, theta)


def saturated_score_trace(X: FloatArray, sample: Sample, S: FloatArray, m: FloatArray) -> float:
    """tr(B₁ A₁⁻¹) of the saturated model for complete rows, in closed form.

    With the squared distances d_i = (x_i − m)ᵀ S⁻¹ (x_i − m) it is p + ½ (mean d_i² − p).
    """
    W, _ = inverse(S)
    D = X - m
    d = np.einsum("ij,ij->i", D @ W, D)
    p = len(S)
    means = float(p) if sample.means else 0.0
    return means + 0.5 * (float(np.mean(d**2)) - p)


def conditional_score_trace(
    X: FloatArray, sample: Sample, names: tuple[str, ...], covariates: Covariates
) -> float:
    """tr(B₁ A₁⁻¹) of the saturated model, given the observed predictors (if any).

    For complete rows its observed information is, at its own moments, the expected one.
    """
    layout = saturated_layout(names, sample.means, covariates)
    theta = parameters_of(layout, covariates.Sigma, covariates.mu)
    if sample.complete:
        A = expected_information(sample, layout, theta)
    else:
        free = layout.free > 0
        A = saturated_hessian(sample.batches, covariates.Sigma, covariates.mu)[np.ix_(free, free)]
    return _trace(A, X, sample, layout, theta)


def _trace(
    A: FloatArray, X: FloatArray, sample: Sample, layout: Layout, theta: FloatArray
) -> float:
    scores = case_scores(X, layout, theta, sample.means)
    return float(np.trace(np.linalg.solve(A, scores.T @ scores / len(X))))


def corrected_for_gaps(
    sample: Sample,
    layout: Layout,
    theta: FloatArray,
    S: FloatArray,
    mean: FloatArray,
    df: int,
    X: FloatArray | None,
) -> tuple[Test, Test]:
    """Test a model, and independent items, as if no answers were missing.

    ``theta`` and ``df`` belong to the model, ``S`` and ``mean`` to the saturated one; ``X`` are the
    rows themselves if Γ is to hold for answers that are not normal, else None.
    """
    names = layout.model.observed
    saturated = saturated_layout(names, True)
    at = parameters_of(saturated, S, mean)
    Wc = expected_information(complete_sample(S, mean, sample.n_obs), saturated, at)
    W = saturated_hessian(sample.batches, S, mean)
    J = W
    if X is not None:
        scores = case_scores(X, saturated, at, True)
        J = scores.T @ scores / len(scores)
    half: FloatArray = np.asarray(np.linalg.solve(W, Wc), dtype=np.float64)
    whole = float(np.trace(half) if X is None else np.sum(np.linalg.solve(W, J) * half.T))

    def corrected(model: Layout, values: FloatArray, freedom: int) -> Test:
        implied = model.implied(values)
        chisq = sample.n_obs * discrepancy(S, mean, implied.Sigma, implied.mu)
        taken = _taken_up(_moment_derivatives(model, values), W, Wc, J, half)
        return _scaled(chisq, freedom, whole - taken)

    independent = independence_layout(names, True)
    variances = parameters_of(independent, *independence_moments(sample))
    pairs = len(names) * (len(names) - 1) // 2
    return corrected(layout, theta, df), corrected(independent, variances, pairs)


def _taken_up(
    D: FloatArray, W: FloatArray, Wc: FloatArray, J: FloatArray, half: FloatArray
) -> float:
    """tr(W_c Γ) − tr(W_c P Γ Pᵀ) with Γ = W⁻¹ J W⁻¹ and half = W⁻¹ W_c."""
    E = D.T @ W @ D
    C = np.linalg.solve(E, D.T @ Wc @ D)
    twice = np.trace(np.linalg.solve(E, D.T @ J @ (half @ D)))
    once = np.trace(C @ np.linalg.solve(E, D.T @ J @ D))
    return float(2 * twice - once)


def _moment_derivatives(layout: Layout, theta: FloatArray) -> FloatArray:
    """(p (p + 3) / 2, q) derivatives of all variances and covariances, then all means."""
    implied = layout.implied(theta)
    i, j = np.tril_indices(len(implied.mu))
    U, V = implied.U, implied.V
    return layout.collect(np.vstack([U[i] * V[j] + V[i] * U[j], implied.dmu]))


def corrected_for_categories(
    R: FloatArray,
    Sigma: FloatArray,
    D: FloatArray,
    weights: FloatArray,
    gamma: FloatArray,
    n: int,
    df: int,
) -> tuple[Test, Test] | None:
    """Test a model, and independent items, as if the variables behind the items were known.

    Parameters
    ----------
    R, Sigma
        Polychoric correlations, and those the model implies.
    D, weights, gamma
        Derivatives of the implied correlations, weights of least squares, and covariance of √n
        times the correlations; column by column below the diagonal.
    n, df
        Rows, and degrees of freedom of the model.

    Returns
    -------
    tuple or None
        None if one of the matrices is not positive definite: the discrepancy does not exist.
    """
    if min(np.linalg.eigvalsh(R)[0], np.linalg.eigvalsh(Sigma)[0]) < 1e-8:
        return None
    zero = np.zeros(len(R))
    j, i = np.triu_indices(len(R), 1)
    W, _ = inverse(Sigma)
    Wc = W[np.ix_(i, i)] * W[np.ix_(j, j)] + W[np.ix_(i, j)] * W[np.ix_(j, i)]
    WD = weights[:, None] * D
    P = np.eye(len(i)) - D @ np.linalg.solve(D.T @ WD, WD.T)
    own = float(np.sum((Wc @ P) * (P @ gamma)))
    return (
        _scaled(n * discrepancy(R, zero, Sigma, zero), df, own),
        _scaled(n * discrepancy(R, zero, np.eye(len(R)), zero), len(i), float(np.trace(gamma))),
    )


def discrepancy(S: FloatArray, mean: FloatArray, Sigma: FloatArray, mu: FloatArray) -> float:
    """Maximum likelihood discrepancy of two normal distributions."""
    W, logdet = inverse(Sigma)
    d = mean - mu
    return float(logdet - inverse(S)[1] + (W * S).sum() - len(S) + d @ W @ d)


def _scaled(chisq: float, df: int, expected: float) -> Test:
    return Test(chisq, df, expected / df) if df else Test(chisq, df)
