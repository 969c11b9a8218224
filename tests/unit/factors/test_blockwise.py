"""Models of blocks: likelihood and misfit by definition, estimates beside full likelihood."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from dtstat.factors.blockwise import GivenItems, fit_blocks, judge_blocks
from dtstat.factors.copula import fit_factors
from dtstat.factors.robust import effective_rows


def answers(n, sizes, phi, seed, loadings=(0.5, 0.8)):
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(len(sizes)), sizes)
    loading = rng.uniform(*loadings, len(own)) * rng.choice([-1, 1], len(own))
    common = rng.standard_normal((1, n))
    F = np.sqrt(phi) * common + np.sqrt(1 - phi) * rng.standard_normal((len(sizes), n))
    Z = loading[:, None] * F[own]
    Z += np.sqrt(1 - loading**2)[:, None] * rng.standard_normal(Z.shape)
    Z -= Z.mean(axis=1, keepdims=True)
    return Z / Z.std(axis=1, keepdims=True), own, loading


@pytest.mark.parametrize("n", [400, 30])
def test_likelihood_and_misfit_by_their_definitions(n):
    Z, own, _ = answers(n, (5, 4, 6, 3), 0.4, 1)
    own[[2, 7]] = -1
    p, R = len(Z), Z @ Z.T / n
    model = fit_blocks(Z, own, 0.1)
    model.loadings[[2, 7]] = 0
    fit = judge_blocks(Z, model)
    estimate = model.estimate(fit.log_likelihood)
    L, Phi = estimate.loadings, estimate.factor_correlations
    Sigma = L @ Phi @ L.T + np.diag(estimate.uniquenesses)
    F = np.linalg.slogdet(Sigma)[1] + np.trace(np.linalg.solve(Sigma, R))
    assert fit.log_likelihood == pytest.approx(-n / 2 * (p * np.log(2 * np.pi) + F))
    assert fit.n_effective == pytest.approx(effective_rows(R, estimate, n))
    alone = np.where(own[:, None] == own, L @ L.T, 0) + np.diag(estimate.uniquenesses)
    free = np.linalg.slogdet(alone)
    assert model.gain == pytest.approx(-0.5 * free[1], abs=1e-4)


def test_factors_given_items_by_their_definitions():
    """Zeros that are kept count as loadings, and an item of no factor says nothing."""
    rng = np.random.default_rng(0)
    L = rng.uniform(-0.8, 0.8, (9, 3)) * (rng.random((9, 3)) < 0.6)
    L[4] = 0
    sparse = csr_array(L)
    sparse.data[2] = 0.0
    L = sparse.toarray()
    Phi = np.array([[1, 0.5, -0.2], [0.5, 1, 0.3], [-0.2, 0.3, 1]])
    psi, Z = rng.uniform(0.2, 0.9, 9), rng.standard_normal((9, 20))
    given = GivenItems(Z, sparse, 1 / psi, np.linalg.cholesky(Phi))
    Sigma = L @ Phi @ L.T + np.diag(psi)
    slopes = Phi @ L.T @ np.linalg.inv(Sigma)
    np.testing.assert_allclose(given.V, Phi - slopes @ L @ Phi, atol=1e-12)
    np.testing.assert_allclose(given.V @ given.Y, slopes @ Z, atol=1e-12)
    np.testing.assert_allclose(given.G.toarray(), L.T @ (L / psi[:, None]), atol=1e-12)
    assert given.log_det == pytest.approx(np.linalg.slogdet(Sigma)[1], abs=1e-12)


def test_near_the_maximum_of_all_items_together():
    Z, own, loading = answers(2000, (8, 6, 7), 0.3, 3)
    model = fit_blocks(Z, own, 0.05)
    full = fit_factors(Z @ Z.T / 2000, 2000, model.support)
    here = model.estimate(0.0)
    np.testing.assert_allclose(here.loadings, full.loadings, atol=0.02)
    np.testing.assert_allclose(here.factor_correlations, full.factor_correlations, atol=0.01)
    np.testing.assert_allclose(np.abs(model.loadings), np.abs(loading), atol=0.07)
    assert model.weight == 0
    assert judge_blocks(Z, model).log_likelihood < full.log_likelihood
    assert judge_blocks(Z, model).log_likelihood > full.log_likelihood - 1


def test_more_factors_than_rows_have_the_correlations_of_some_variables():
    Z, own, _ = answers(40, (6,) * 60, 0.3, 5, (0.7, 0.7))
    model = fit_blocks(Z, own, 0.15)
    Phi = model.factor_correlations
    assert 0 < model.weight <= 1
    assert np.linalg.eigvalsh(Phi)[0] > 0
    np.testing.assert_allclose(Phi.diagonal(), 1)
    sign = np.sign(np.linalg.eigh(Phi)[1][:, -1])
    mean = (sign @ Phi @ sign - 60) / (60 * 59)
    assert mean == pytest.approx(0.3, abs=0.12)


def test_very_large_factors_by_the_multiple_group_method():
    Z, own, loading = answers(300, (1001, 4), 0.2, 7)
    model = fit_blocks(Z, own, 0.06)
    np.testing.assert_allclose(np.abs(model.loadings[:1001]), np.abs(loading[:1001]), atol=0.2)
    assert abs(np.mean(np.abs(model.loadings[:1001]) - np.abs(loading[:1001]))) < 0.02
