"""The sampler against known posteriors, and its acceptance ratio against its definition."""

import numpy as np
import pytest

from dtstat.curves import mala

N = 4000
COVARIANCE = np.array([[1.0, 0.8], [0.8, 2.0]])
MEAN = np.array([1.0, -2.0])


def normal(z):
    P = np.linalg.inv(COVARIANCE)
    gap = z - MEAN
    return -0.5 * np.einsum("ni,ij,nj->n", gap, P, gap), -gap @ P


def skewed(z):
    """Logistic distribution: log-density and slope."""
    t = np.tanh(z / 2)
    return (z - 2 * np.logaddexp(0, z)).sum(axis=1), -t


def run(target, z, steps, preconditioner=None, seed=0):
    rng = np.random.default_rng(seed)
    state = mala.init(target, z, 1.0, preconditioner)
    state, acceptance = mala.burn_in(rng, target, state, 150)
    for _ in range(steps):
        state, _ = mala.step(rng, target, state)
    return state, acceptance


@pytest.mark.parametrize("preconditioner", [None, COVARIANCE])
def test_reaches_a_normal_posterior(preconditioner):
    """Margins: five standard errors of moments of 4000 independent chains."""
    state, acceptance = run(normal, np.zeros((N, 2)), 40, preconditioner)
    assert acceptance == pytest.approx(mala.OPTIMAL, abs=0.02)
    np.testing.assert_allclose(state.z.mean(axis=0), MEAN, atol=5 * np.sqrt(2 / N))
    np.testing.assert_allclose(np.cov(state.z.T), COVARIANCE, atol=5 * 2 * np.sqrt(2 / N))


def test_reaches_a_posterior_with_heavier_tails():
    state, _ = run(skewed, np.zeros((N, 1)), 60)
    z = state.z[:, 0]
    assert z.var() == pytest.approx(np.pi**2 / 3, rel=5 * np.sqrt(3.2 / N))
    assert np.quantile(z, 0.9) == pytest.approx(np.log(9), abs=5 * 0.055)


def test_draws_from_the_posterior_stay_there():
    """Geweke's check: one long step from exact draws must not change the distribution."""
    rng = np.random.default_rng(1)
    exact = rng.logistic(size=(200_000, 1))
    state = mala.init(skewed, exact, 2.5)
    state, info = mala.step(rng, skewed, state)
    assert 0.2 < info.moved < 0.8
    levels = np.linspace(0.05, 0.95, 10)
    before, after = np.quantile(exact, levels), np.quantile(state.z, levels)
    density = levels * (1 - levels)  # of the logistic distribution at its quantiles
    error = np.sqrt(2 * levels * (1 - levels) / len(exact)) / density
    assert (np.abs(after - before) < 4 * error).all()


def test_the_acceptance_ratio_is_that_of_its_definition():
    """With the proposal written out as a normal density."""
    rng, twin = np.random.default_rng(3), np.random.default_rng(3)
    z = rng.normal(size=(50, 2))
    twin.normal(size=(50, 2))
    state = mala.init(normal, z, 0.9, COVARIANCE)
    moved, info = mala.step(rng, normal, state)
    noise = twin.standard_normal((50, 2))
    root = np.linalg.cholesky(COVARIANCE)

    def centre(at):
        return at + 0.9**2 / 2 * normal(at)[1] @ COVARIANCE

    def log_q(to, at):
        u = np.linalg.solve(0.9 * root, (to - centre(at)).T)
        return -0.5 * (u**2).sum(axis=0)

    proposal = centre(z) + 0.9 * noise @ root.T
    log_a = normal(proposal)[0] - normal(z)[0] + log_q(z, proposal) - log_q(proposal, z)
    accepted = twin.random(50) < np.exp(np.minimum(log_a, 0))
    np.testing.assert_allclose(moved.z, np.where(accepted[:, None], proposal, z))
    assert info.acceptance == pytest.approx(np.exp(np.minimum(log_a, 0)).mean())


def test_a_chain_never_enters_where_the_density_is_nothing():
    def half(z):
        value, slope = normal(z)
        return np.where(z[:, 0] > 0, value, -np.inf), slope

    state, _ = run(half, np.abs(np.random.default_rng(0).normal(size=(500, 2))), 30)
    assert (state.z[:, 0] > 0).all()


def test_the_same_seed_gives_the_same_chains():
    one, two = (run(normal, np.zeros((20, 2)), 5, seed=7)[0].z for _ in range(2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("first", [0.05, 6.0])
def test_tuning_ends_at_the_best_acceptance(first):
    rng = np.random.default_rng(6)
    state = mala.init(
        normal, rng.multivariate_normal(MEAN, COVARIANCE, 20_000, method="cholesky"), first
    )
    state = mala.tune(rng, normal, state, 60)
    _, info = mala.step(rng, normal, state)
    # The tolerance of one move, and five standard errors of the mean over chains of the next.
    assert info.acceptance == pytest.approx(
        mala.OPTIMAL, abs=mala.TOLERANCE + 5 * 0.4 / 20_000**0.5
    )


def test_tuning_gives_up_in_time():
    rng = np.random.default_rng(7)
    state = mala.tune(rng, normal, mala.init(normal, np.zeros((50, 2)), 1e-3), 1)
    assert state.step_size == pytest.approx(1e-3, rel=0.6)
