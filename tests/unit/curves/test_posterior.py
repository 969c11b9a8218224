"""Draws of the factors and their moments, against sums over a grid of z."""

import numpy as np
import pytest

from dtstat.curves import bspline
from dtstat.curves.likelihood import posterior_moments
from dtstat.curves.posterior import posterior_covariance, posterior_draws, propose
from dtstat.curves.response_model import ResponseModel

LINE = (np.arange(bspline.K) - 9) * bspline.WIDTH  # f(z) = z
FINE = np.linspace(-4, 4, 801)
PHI = np.array([[1, 0.5], [0.5, 1]])


def fitted(function):
    return np.linalg.lstsq(bspline.design(FINE), function(FINE), rcond=None)[0]


def model_of(support, coefficients, noise, Phi, n_tau=None, thresholds=None):
    p = len(support)
    return ResponseModel(
        np.asarray(support, bool),
        np.array(coefficients),
        np.zeros(p),
        np.asarray(noise, float),
        np.zeros((p, 0)) if thresholds is None else thresholds,
        np.zeros(p, dtype=int) if n_tau is None else n_tau,
        np.asarray(Phi, float),
    )


@pytest.fixture(scope="module")
def straight():
    L = np.array([[0.8, 0], [0.7, 0], [0.6, 0.3], [0, 0.9], [0, 0.5]])
    support = L != 0
    model = model_of(support, L[support][:, None] * LINE, np.full(5, 0.5), PHI)
    X = np.random.default_rng(0).normal(size=(30, 5))
    X[4, :3], X[9, 2] = np.nan, np.nan
    X[5] = np.nan
    return model, X, L


@pytest.fixture(scope="module")
def bent():
    """Curves, one of them a rating's; two factors."""
    support = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]])
    functions = (
        np.tanh,
        lambda z: np.exp(z / 2),
        np.sin,
        lambda z: 0.5 * z,
        lambda z: z,
        np.arctan,
    )
    n_tau = np.array([0, 0, 0, 2, 0])
    thresholds = np.zeros((5, 2))
    thresholds[3] = [-0.5, 0.8]
    noise = [0.3, 0.5, 0.4, 1.0, 0.5]
    model = model_of(support, [fitted(f) for f in functions], noise, PHI, n_tau, thresholds)
    rng = np.random.default_rng(3)
    X = model.predictors(rng.multivariate_normal(np.zeros(2), PHI, 15, method="cholesky"))
    X = X + rng.normal(size=X.shape) * np.sqrt(model.noise)
    X[:, 3] = np.searchsorted(thresholds[3], X[:, 3])
    X[2, :3] = X[3, 3:] = np.nan
    return model, X


def on_a_grid(model, X):
    """Posterior means and covariances by sums over z."""
    axis = np.linspace(-5, 5, 101)
    nodes = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    means, covariances = [], []
    for x in X:
        value = model.log_joint(nodes, x[None])[0]
        w = np.exp(value - value.max())
        w = w / w.sum()
        means.append(w @ nodes)
        gap = nodes - means[-1]
        covariances.append(gap.T @ (w[:, None] * gap))
    return np.array(means), np.array(covariances)


def test_draws_have_the_moments_of_the_posterior(bent):
    model, X = bent
    draws = posterior_draws(model, X, np.random.default_rng(1), 4000)
    assert draws.shape == (4000, 15, 2)
    mean, covariance = on_a_grid(model, X)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.12)
    found = np.array([np.cov(draws[:, r].T) for r in range(15)])
    np.testing.assert_allclose(found, covariance, atol=0.15)


def test_without_answers_draws_are_of_the_prior():
    model = model_of([[1, 0], [0, 1]], np.array([LINE, LINE]), [0.5, 0.5], PHI)
    X = np.full((3000, 2), np.nan)
    draws = posterior_draws(model, X, np.random.default_rng(2), 3)[-1]
    np.testing.assert_allclose(np.cov(draws.T), PHI, atol=0.12)
    np.testing.assert_allclose(draws.mean(axis=0), 0, atol=0.09)


def test_moments_of_straight_lines_are_those_of_the_regression(straight):
    """Modes are exact; moments within five Monte Carlo errors of 4000 weighted draws."""
    model, X, L = straight
    mean, sd = posterior_moments(model, X, np.random.default_rng(0), 4000)
    proposal = propose(model, X)
    for r, x in enumerate(X):
        seen = ~np.isnan(x)
        V = np.linalg.inv(np.linalg.inv(PHI) + L[seen].T @ L[seen] / 0.5)
        expected = V @ L[seen].T @ x[seen] / 0.5
        np.testing.assert_allclose(proposal.modes[0, r], expected, atol=1e-6)
        root = proposal.roots[0, r]
        np.testing.assert_allclose(root @ root.T, V, atol=1e-9)
        np.testing.assert_allclose(mean[r], expected, atol=0.08)
        np.testing.assert_allclose(sd[r], np.sqrt(V.diagonal()), atol=0.08)


def test_moments_of_curves_are_those_on_a_grid(bent):
    model, X = bent
    mean, sd = posterior_moments(model, X, np.random.default_rng(0), 4000)
    expected, covariance = on_a_grid(model, X)
    np.testing.assert_allclose(mean, expected, atol=0.08)
    np.testing.assert_allclose(sd, np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)), atol=0.08)


def test_moments_do_not_depend_on_other_rows(bent):
    model, X = bent
    whole, _ = posterior_moments(model, X, np.random.default_rng(0), 50)
    part, _ = posterior_moments(model, X[4:6], np.random.default_rng(0), 50)
    np.testing.assert_allclose(part, whole[4:6], atol=1e-9)


def test_the_density_of_a_proposal_is_that_of_its_draws(bent):
    """Its integral over z is 1."""
    model, X = bent
    proposal = propose(model, X[:3])
    axis = np.linspace(-12, 12, 241)
    nodes = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 1, 2)
    density = np.exp(proposal.log_density(np.broadcast_to(nodes, (len(nodes), 3, 2))))
    np.testing.assert_allclose(density.sum(axis=0) * 0.1**2, 1, atol=0.02)
    draws = proposal.draw(np.random.default_rng(1), 4000)
    expected = np.einsum("mn,mj->nj", density * 0.1**2, nodes[:, 0])
    np.testing.assert_allclose(draws.mean(axis=0), expected, atol=0.12)


def test_a_factor_of_items_that_turn_back_has_two_modes():
    model = model_of([[1], [1]], [fitted(np.square), fitted(np.abs)], [0.2, 0.2], [[1.0]])
    proposal = propose(model, np.array([[2.25, 1.5]]))
    found = np.sort(proposal.modes[:2, 0, 0])
    np.testing.assert_allclose(found, [-1.5, 1.5], atol=0.15)
    np.testing.assert_allclose(np.exp(proposal.log_weights[:2, 0]), 0.45, atol=0.05)


def test_modes_of_curves_are_where_the_gradient_is_nothing(bent):
    model, X = bent
    proposal = propose(model, X)
    _, gradient = model.log_joint(proposal.modes[0], X)
    root = proposal.roots[0]
    step = np.einsum("njk,nlk,nl->nj", root, root, gradient)
    assert np.abs(step).max() < 0.1


def test_the_preconditioner_is_the_inverse_of_the_mean_information(straight):
    model, X, L = straight
    Z = np.random.default_rng(1).normal(size=(30, 2))
    seen = ~np.isnan(X)
    mean = np.mean([np.linalg.inv(PHI) + L[s].T @ L[s] / 0.5 for s in seen], axis=0)
    found = posterior_covariance(model, Z, X)
    np.testing.assert_allclose(found, np.linalg.inv(mean), atol=1e-9)
    np.testing.assert_array_equal(found, found.T)


def test_the_same_seed_gives_the_same_draws(bent):
    model, X = bent
    one, two, other = (posterior_draws(model, X, np.random.default_rng(s), 5) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_the_start_is_not_touched(bent):
    model, X = bent
    start = np.ones((15, 2))
    posterior_draws(model, X, np.random.default_rng(1), 5, start)
    assert (start == 1).all()
