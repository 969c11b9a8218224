"""Nonlinear estimation: curves, Φ and likelihoods where the truth is known."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import dtstat as dt
from dtstat.curves import bspline
from dtstat.curves.likelihood import log_likelihood
from dtstat.curves.posterior import posterior_draws
from dtstat.curves.response_model import ResponseModel
from dtstat.curves.spline import fit_spline
from dtstat.factors.copula import fit_factors, latent_correlations
from dtstat.factors.scores import learn_marginals, plausible_values

LINEAR = (np.arange(bspline.K) - 9) * bspline.WIDTH  # coefficients of f(z) = z


def linear_model(loadings, Phi, noise):
    support = loadings != 0
    item, factor = np.nonzero(support)
    p = len(loadings)
    return ResponseModel(
        support,
        loadings[item, factor][:, None] * LINEAR,
        np.zeros(p),
        noise,
        np.zeros((p, 0)),
        np.zeros(p, dtype=int),
        Phi,
    )


@pytest.fixture(scope="module")
def linear():
    L = np.array([[0.8, 0], [0.7, 0], [0.6, 0.3], [0, 0.9], [0, 0.5]])
    Phi = np.array([[1, 0.4], [0.4, 1]])
    noise = np.array([0.4, 0.5, 0.4, 0.3, 0.7])
    X = np.random.default_rng(2).multivariate_normal(
        np.zeros(5), L @ Phi @ L.T + np.diag(noise), 60, method="cholesky"
    )
    X[3, 1] = X[7, 3] = np.nan
    return linear_model(L, Phi, noise), X, L @ Phi @ L.T + np.diag(noise)


def exact(X, Sigma):
    seen = ~np.isnan(X)
    rows = [
        multivariate_normal(np.zeros(s.sum()), Sigma[np.ix_(s, s)]).logpdf(x[s])
        for x, s in zip(X, seen, strict=True)
    ]
    return np.array(rows)


def test_quadrature_is_exact_for_straight_lines(linear):
    model, X, Sigma = linear
    found = log_likelihood(model, X, np.random.default_rng(0), "quadrature")
    np.testing.assert_allclose(found.rows, exact(X, Sigma), atol=1e-4)
    assert found.standard_error == 0


@pytest.mark.parametrize("method", ["importance", "split"])
def test_sampled_likelihoods_are_within_their_error(linear, method):
    model, X, Sigma = linear
    found = log_likelihood(model, X, np.random.default_rng(1), method, draws=600)
    gap = found.total - exact(X, Sigma).sum()
    assert abs(gap) < 4 * found.standard_error + 0.05  # split: draws of a chain depend
    assert 0 < found.standard_error < 1


def test_the_papers_reciprocal_is_biased_downwards():
    """The density of the draws is fitted to the draws: nats are lost in every row."""
    L = np.repeat(np.eye(3), 3, axis=0) * 0.8
    model = linear_model(L, np.eye(3), np.full(9, 0.36))
    X = np.random.default_rng(2).multivariate_normal(
        np.zeros(9), L @ L.T + 0.36 * np.eye(9), 150, method="cholesky"
    )
    truth = exact(X, L @ L.T + 0.36 * np.eye(9)).sum()
    biased = log_likelihood(model, X, np.random.default_rng(3), "reciprocal", draws=150)
    honest = log_likelihood(model, X, np.random.default_rng(3), "importance", draws=300)
    assert biased.total < truth - 5
    assert abs(honest.total - truth) < 4 * honest.standard_error


def test_gradients_are_derivatives(linear):
    model, X, _ = linear
    Z = np.random.default_rng(4).normal(size=(60, 2))
    _, gradient = model.log_joint(Z, X)
    h = 1e-4
    for k in range(2):
        up, down = Z.copy(), Z.copy()
        up[:, k] += h
        down[:, k] -= h
        slope = (model.log_joint(up, X)[0] - model.log_joint(down, X)[0]) / (2 * h)
        np.testing.assert_allclose(gradient[:, k], slope, atol=1e-3)


def test_ratings_have_the_probabilities_of_a_cumulative_probit():
    tau = np.array([[-0.5, 0.3, 1.1]])
    model = ResponseModel(
        np.ones((1, 1), dtype=bool),
        0.9 * LINEAR[None],
        np.zeros(1),
        np.ones(1),
        tau,
        np.array([3]),
        np.eye(1),
    )
    Z = np.tile([[-1.2], [0.4], [8.0]], (4, 1)).reshape(4, 3).T.reshape(-1, 1)
    X = np.tile(np.arange(4.0), 3)[:, None]
    value, gradient = model.log_joint(Z, X)
    edges = np.concatenate([[-np.inf], tau[0], [np.inf]])
    c, eta = X[:, 0].astype(int), 0.9 * Z[:, 0]
    p = norm.cdf(edges[c + 1] - eta) - norm.cdf(edges[c] - eta)
    likely = p > 1e-9
    # A table with 64 points a unit is interpolated: off by at most 1/(8 · 64²) of the curvature.
    np.testing.assert_allclose((value + Z[:, 0] ** 2 / 2)[likely], np.log(p[likely]), atol=4e-5)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()


def test_posterior_draws_have_the_moments_of_the_posterior(linear):
    model, X, Sigma = linear
    whole = ~np.isnan(X).any(axis=1)
    draws = posterior_draws(model, X[whole], np.random.default_rng(5), 400)
    L = np.array([[0.8, 0], [0.7, 0], [0.6, 0.3], [0, 0.9], [0, 0.5]])
    mean = X[whole] @ np.linalg.inv(Sigma) @ L @ model.factor_correlations
    assert np.abs(draws.mean(axis=0) - mean).mean() < 0.06


def recovered(simulation, levels=None):
    X = simulation.data.to_numpy()
    n, p = X.shape
    A = simulation.structure.support
    start = fit_factors(latent_correlations(dt.dependence(simulation.data)).R, n, A)
    rng = np.random.default_rng(0)
    Y = (X - X.mean(0)) / X.std(0) if levels is None else X - X.min(0)
    kinds = np.zeros(p, dtype=int) if levels is None else np.full(p, levels)
    Z = plausible_values(start, learn_marginals(X).normal_scores(X), rng)
    return fit_spline(Y, A, Z, start.factor_correlations, kinds, rng), Y


@pytest.mark.parametrize("maps", ["paper", "one_in_five"])
def test_curves_and_correlations_are_recovered(maps):
    simulation = dt.simulate("v_structure", 2000, maps=maps, seed=1)
    fit, Y = recovered(simulation)
    eta = fit.model.predictors(simulation.latents)
    for i, k in zip(*np.nonzero(simulation.structure.support), strict=True):
        B = bspline.design(simulation.latents[:, k])
        best = B @ np.linalg.lstsq(B, Y[:, i], rcond=None)[0]
        assert 1 - np.mean((best - eta[:, i]) ** 2) / best.var() > 0.93, i
    gap = fit.model.factor_correlations - simulation.factor_correlations
    assert np.abs(gap).max() < 0.08
    assert fit.acceptance == pytest.approx(0.574, abs=0.08)


def test_ratings_are_recovered_too():
    simulation = dt.simulate("v_structure", 1500, levels=5, seed=1)
    whole = dt.simulate("v_structure", 1500, seed=1).data.to_numpy()
    fit, _ = recovered(simulation, levels=5)
    eta = fit.model.predictors(simulation.latents)
    for i, k in zip(*np.nonzero(simulation.structure.support), strict=True):
        B = bspline.design(simulation.latents[:, k])
        best = B @ np.linalg.lstsq(B, whole[:, i], rcond=None)[0]
        assert np.corrcoef(best, eta[:, i])[0, 1] ** 2 > 0.93, i
    gap = fit.model.factor_correlations - simulation.factor_correlations
    assert np.abs(gap).max() < 0.1
