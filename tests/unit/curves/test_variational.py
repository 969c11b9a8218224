"""The masked network as an importance-weighted autoencoder."""

import numpy as np
import pytest

import dtstat as dt
from dtstat.curves.likelihood import log_likelihood
from dtstat.factors.copula import fit_factors, latent_correlations
from dtstat.factors.scores import learn_marginals, plausible_values, row_log_likelihoods

torch = pytest.importorskip("torch")

from dtstat.curves.variational import _Autoencoder, fit_variational  # noqa: E402

N = 600


@pytest.fixture(scope="module")
def data():
    simulation = dt.simulate("v_structure", N, seed=1)
    X, A = simulation.data.to_numpy(), simulation.structure.support
    start = fit_factors(latent_correlations(dt.dependence(simulation.data)).R, N, A)
    Z = plausible_values(start, learn_marginals(X).normal_scores(X), np.random.default_rng(0))
    return (X - X.mean(0)) / X.std(0), A, Z, start.factor_correlations


@pytest.fixture(scope="module")
def fit(data):
    return fit_variational(*data, np.random.default_rng(2), steps=200)


def test_it_beats_a_linear_factor_model(data, fit):
    X, A, _, _ = data
    linear = fit_factors(np.corrcoef(X.T), N, A)
    found = log_likelihood(fit.model, X[:200], np.random.default_rng(3), draws=100).total
    assert found > row_log_likelihoods(linear, X[:200]).sum() + 100


def test_noise_and_correlations_are_found(fit):
    truth = dt.simulate("v_structure", N, seed=1).factor_correlations
    assert np.abs(fit.model.noise - 0.2).max() < 0.08
    assert np.abs(fit.model.factor_correlations - truth).max() < 0.15
    np.testing.assert_allclose(np.diag(fit.model.factor_correlations), 1)


def test_the_draw_is_one_of_the_posterior(fit):
    assert fit.z.shape == (N, 3)
    assert np.abs(fit.z.var(axis=0) - 1).max() < 0.25
    assert fit.acceptance == pytest.approx(0.574, abs=0.1)
    assert fit.restarts == 0


def test_the_bound_is_below_the_likelihood(data):
    """Whatever the encoder, up to Monte Carlo error."""
    X, A, Z, Phi = data
    fit = _Autoencoder(X, A, Phi, np.random.default_rng(4))
    fit.pretrain(Z, 150)
    noise = np.exp(fit.log_noise.detach().numpy().astype(float))
    model = fit.decoder.export(noise, Phi)
    with torch.no_grad():
        bound = np.mean([fit._bound(torch.arange(100)).sum().item() for _ in range(10)])
    truth = log_likelihood(model, X[:100], np.random.default_rng(5), draws=300)
    assert truth.total - 100 < bound < truth.total + 4 * truth.standard_error + 1


def test_the_same_seed_gives_the_same_numbers(data):
    one, two = (fit_variational(*data, np.random.default_rng(5), steps=3) for _ in range(2))
    np.testing.assert_array_equal(one.z, two.z)
    np.testing.assert_array_equal(one.model.weights[2], two.model.weights[2])


def test_missing_answers_are_left_out(data):
    X, A, Z, Phi = data
    holes = X.copy()
    holes[np.random.default_rng(8).random(X.shape) < 0.1] = np.nan
    fit = fit_variational(holes, A, Z, Phi, np.random.default_rng(2), steps=100)
    assert np.abs(fit.model.noise - 0.2).max() < 0.12
