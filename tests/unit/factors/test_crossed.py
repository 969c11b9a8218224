"""Models of items with several factors: likelihood by definition, the maximum of the matrix."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from dtstat.factors.blockwise import judge_blocks
from dtstat.factors.copula import fit_factors
from dtstat.factors.crossed import CrossedLikelihood, CrossedModel, fit_crossed


def answers(n, seed):
    """18 items of four factors, every third with a second one."""
    rng = np.random.default_rng(seed)
    L = np.zeros((18, 4))
    L[np.arange(18), np.arange(18) % 4] = rng.uniform(0.5, 0.8, 18)
    L[np.arange(0, 18, 3), (np.arange(0, 18, 3) + 1) % 4] = 0.4
    Phi = np.full((4, 4), 0.3) + 0.7 * np.eye(4)
    Z = L @ rng.multivariate_normal(
        np.zeros(4), Phi, n, method="cholesky"
    ).T + 0.6 * rng.standard_normal((18, n))
    Z -= Z.mean(axis=1, keepdims=True)
    return Z / Z.std(axis=1, keepdims=True), L, Phi


def model(L, Phi, weight=0.0):
    return CrossedModel(csr_array(L), np.full(len(L), 0.4), Phi, weight)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_the_value_is_the_likelihood(weight):
    Z, L, Phi = answers(50, 1)
    L[7] = 0  # an item of no factor
    start = model(L, Phi, weight)
    likelihood = CrossedLikelihood(Z, start)
    value, _ = likelihood.evaluate(likelihood.start())
    Sigma, R = L @ Phi @ L.T + 0.4 * np.eye(18), Z @ Z.T / 50
    F = np.linalg.slogdet(Sigma)[1] + np.trace(np.linalg.solve(Sigma, R))
    assert value == pytest.approx(-F / 2, abs=1e-12)
    judged = judge_blocks(Z, start).log_likelihood
    assert judged == pytest.approx(-50 / 2 * (18 * np.log(2 * np.pi) + F))


def test_the_maximum_is_that_of_the_matrix():
    Z, L, Phi = answers(400, 2)
    found = fit_crossed(Z, model(0.5 * np.sign(L), Phi))
    full = fit_factors(Z @ Z.T / 400, 400, L != 0)
    np.testing.assert_allclose(found.loadings.toarray(), full.loadings, atol=2e-3)
    np.testing.assert_allclose(found.factor_correlations, full.factor_correlations, atol=2e-3)
    np.testing.assert_allclose(found.uniquenesses, full.uniquenesses, atol=2e-3)
    reached = judge_blocks(Z, found).log_likelihood
    assert full.log_likelihood - 0.05 < reached < full.log_likelihood + 1e-3
    assert found.n_parameters == full.n_parameters


def test_factor_correlations_that_are_kept():
    """No step changes them, and none lowers the likelihood."""
    Z, L, Phi = answers(60, 3)
    start = model(L, 0.5 * Phi + 0.5 * np.eye(4), weight=0.5)
    likelihood = CrossedLikelihood(Z, start)
    theta, values = likelihood.start(), []
    for _ in range(5):
        value, moments = likelihood.evaluate(theta)
        values.append(value)
        theta = likelihood.em_step(moments)
    assert (np.diff(values) > 0).all()
    found = fit_crossed(Z, start)
    np.testing.assert_allclose(found.factor_correlations, start.factor_correlations, atol=1e-12)
    assert judge_blocks(Z, found).log_likelihood > 60 * values[-1] - 60 * 18 / 2 * np.log(2 * np.pi)


def test_other_loadings_and_fewer_factors():
    _, L, Phi = answers(10, 4)
    start = model(L, Phi)
    wanted = np.zeros_like(L, dtype=bool)
    wanted[:, 0] = wanted[np.arange(18), np.arange(18) % 4] = True
    changed = start.with_support(csr_array(wanted))
    assert len(changed.loadings.data) == wanted.sum()  # zeros that are new are kept
    np.testing.assert_array_equal(changed.loadings.toarray(), np.where(wanted, L, 0))
    fewer = start.with_factors(np.array([0, 2]))
    np.testing.assert_array_equal(fewer.loadings.toarray(), L[:, [0, 2]])
    np.testing.assert_array_equal(fewer.factor_correlations, Phi[np.ix_([0, 2], [0, 2])])
