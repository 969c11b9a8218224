"""Robust standard errors and the scaled test of MLR (Yuan & Bentler 2000, as Mplus computes it)."""

from __future__ import annotations

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation.sem.gaps import saturated_pieces
from dtstat.estimation.sem.matrices import Layout, inverse
from dtstat.estimation.sem.normal import (
    Sample,
    case_scores,
    expected_information,
    observed_information,
)
from dtstat.estimation.sem.saturated import Given, parameters_of, saturated_layout


def sandwich(information: FloatArray, scores: FloatArray) -> FloatArray:
    """A⁻¹ B A⁻¹ / n with A the observed information a row, B the mean square of the scores."""
    n = len(scores)
    bread = np.linalg.inv(information)
    covariance: FloatArray = bread @ (scores.T @ scores / n) @ bread / n
    return covariance


def score_trace(X: FloatArray, sample: Sample, layout: Layout, theta: FloatArray) -> float:
    """tr(B A⁻¹) of a model: the expected −2 log-likelihood its parameters take up.

    Equals the number of parameters if the rows are normal and the model is right.
    """
    A = observed_information(sample, layout, theta)
    scores = case_scores(X, layout, theta, sample.means)
    return float(np.trace(np.linalg.solve(A, scores.T @ scores / len(X))))


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
    X: FloatArray, sample: Sample, names: tuple[str, ...], given: Given
) -> float:
    """tr(B₁ A₁⁻¹) of the saturated model, given the observed predictors (if any).

    For complete rows its observed information is, at its own moments, the expected one.
    """
    layout = saturated_layout(names, sample.means, given)
    theta = parameters_of(layout, given.Sigma, given.mu)
    if sample.complete:
        A = expected_information(sample, layout, theta)
    else:
        A = saturated_pieces(sample.batches, given.Sigma, given.mu)[np.ix_(*2 * [layout.free > 0])]
    scores = case_scores(X, layout, theta, sample.means)
    return float(np.trace(np.linalg.solve(A, scores.T @ scores / len(X))))
