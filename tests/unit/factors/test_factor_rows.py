"""Likelihoods and scores of rows, against matrices written out in full."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from dtstat.factors.copula import fit_factors
from dtstat.factors.scores import factor_scores, plausible_values, row_log_likelihoods

SUPPORT = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [0, 0]], dtype=bool)


def model(support=SUPPORT):
    """Estimate of a model with reversed and cross-loading items."""
    L = np.array([[0.8, 0], [-0.7, 0], [0.5, 0.4], [0, 0.6], [0, 0.7], [0, 0]])
    R = L @ np.array([[1, 0.3], [0.3, 1]]) @ L.T
    np.fill_diagonal(R, 1)
    return fit_factors(R, 100, support)


def rows():
    """Rows without gaps, with some, with a factor unseen, with one item, with none."""
    Z = np.random.default_rng(3).standard_normal((8, 6))
    Z[1, [0, 4]] = np.nan
    Z[2, [0, 4]] = np.nan
    Z[3, :3] = np.nan
    Z[4, 1:] = np.nan
    Z[5] = np.nan
    return Z


def implied(estimate):
    L, Phi = estimate.loadings, estimate.factor_correlations
    return L @ Phi @ L.T + np.diag(estimate.uniquenesses)


def test_likelihoods_are_those_of_the_normal_distribution():
    estimate, Z = model(), rows()
    Sigma = implied(estimate)
    expected = np.zeros(len(Z))
    for k, z in enumerate(Z):
        seen = ~np.isnan(z)
        if seen.any():
            normal = multivariate_normal(np.zeros(seen.sum()), Sigma[np.ix_(seen, seen)])
            expected[k] = normal.logpdf(z[seen])
    np.testing.assert_allclose(row_log_likelihoods(estimate, Z), expected, atol=1e-10)


def test_scores_are_regressions_of_the_factors_on_the_items():
    estimate, Z = model(), rows()
    Sigma, L, Phi = implied(estimate), estimate.loadings, estimate.factor_correlations
    expected = np.full((len(Z), 2), np.nan)
    for k, z in enumerate(Z):
        seen = ~np.isnan(z)
        if seen.any():
            weights = np.linalg.solve(Sigma[np.ix_(seen, seen)], L[seen] @ Phi)
            expected[k] = z[seen] @ weights
    np.testing.assert_allclose(factor_scores(estimate, Z)[0], expected, atol=1e-10)


def test_the_mean_likelihood_of_all_rows_is_that_of_their_correlations():
    Z = np.random.default_rng(5).standard_normal((200, 6)) @ np.linalg.cholesky(implied(model())).T
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    estimate = fit_factors(np.corrcoef(Z, rowvar=False), len(Z), SUPPORT)
    total = row_log_likelihoods(estimate, Z).sum()
    assert total == pytest.approx(estimate.log_likelihood, abs=1e-6)


def test_without_factors_items_are_independent():
    estimate, Z = model(np.zeros((6, 0), dtype=bool)), rows()
    assert factor_scores(estimate, Z)[0].shape == (len(Z), 0)
    log_density = -0.5 * (np.log(2 * np.pi) + Z**2)
    np.testing.assert_allclose(
        row_log_likelihoods(estimate, Z), np.nansum(log_density, axis=1), atol=1e-6
    )


def test_plausible_values_vary_and_correlate_as_the_factors_do():
    """5000 rows: five standard errors of a correlation and a variance."""
    L = np.repeat(np.eye(2), 4, axis=0) * 0.7
    Phi = np.array([[1, 0.5], [0.5, 1]])
    Sigma = L @ Phi @ L.T + 0.51 * np.eye(8)
    rng = np.random.default_rng(1)
    rows = rng.multivariate_normal(np.zeros(8), Sigma, 5000, method="cholesky")
    rows[:100, :4] = np.nan
    estimate = fit_factors(Sigma, 5000, L > 0)
    draws = plausible_values(estimate, rows, rng)
    np.testing.assert_allclose(np.cov(draws.T), Phi, atol=5 * np.sqrt(2 / 5000))
