"""The masked network and its estimation by stochastic EM."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import dtstat as dt
from dtstat.core.errors import EstimationError, EstimationWarning
from dtstat.curves import mala
from dtstat.curves.likelihood import log_likelihood
from dtstat.factors.copula import fit_factors, latent_correlations
from dtstat.factors.scores import learn_marginals, plausible_values, row_log_likelihoods

torch = pytest.importorskip("torch")

from dtstat.curves.network import Adam, Layers, MaskedNetwork, generator_from, tensor  # noqa: E402
from dtstat.curves.stochastic_em import FAST, PAPER, fit_network  # noqa: E402

SUPPORT = np.array([[1, 0], [0, 1], [1, 0], [1, 1], [0, 0], [0, 1]], dtype=bool)
SHORT = replace(FAST, iterations=30, pretraining=80, phi_from=10)


def example(n=600, seed=1):
    """Answers to the V-structure, standardised, with a linear copula model to start from."""
    simulation = dt.simulate("v_structure", n, seed=seed)
    X, A = simulation.data.to_numpy(), simulation.structure.support
    start = fit_factors(latent_correlations(dt.dependence(simulation.data)).R, n, A)
    rng = np.random.default_rng(0)
    Z = plausible_values(start, learn_marginals(X).normal_scores(X), rng)
    return (X - X.mean(0)) / X.std(0), A, Z, start.factor_correlations


@pytest.fixture(scope="module")
def data():
    return example()


@pytest.fixture(scope="module")
def fast(data):
    return fit_network(*data, np.random.default_rng(2), SHORT)


def total(model, X):
    """Log-likelihood of the first rows, the same draws for all models."""
    return log_likelihood(model, X[:200], np.random.default_rng(3), draws=100).total


def test_the_exported_model_is_the_network():
    network = MaskedNetwork(SUPPORT, generator_from(np.random.default_rng(0)))
    model = network.export(np.ones(6), np.eye(2))
    assert [W.shape for W in model.weights] == [(2, 100), (100, 100), (100, 100), (100, 6)]
    assert {W.dtype for W in model.weights} == {np.dtype(np.float64)}
    Z = np.random.default_rng(1).normal(size=(50, 2))
    found = network(tensor(Z)).detach().numpy()
    np.testing.assert_allclose(model.predictors(Z), found, atol=1e-5)


def test_gradients_of_the_exported_model_are_those_of_autograd():
    network = MaskedNetwork(SUPPORT, generator_from(np.random.default_rng(0)))
    model = network.export(np.full(6, 0.5), np.eye(2))
    rng = np.random.default_rng(1)
    Z, X = rng.normal(size=(50, 2)), rng.normal(size=(50, 6))
    z = tensor(Z).requires_grad_()
    (-(tensor(X) - network(z)).square().sum() - z.square().sum() / 2).backward()
    np.testing.assert_allclose(model.log_joint(Z, X)[1], z.grad.numpy(), atol=1e-4)


def test_interpolation_is_close_to_the_passes():
    network = MaskedNetwork(SUPPORT, generator_from(np.random.default_rng(0)))
    Z = tensor(np.random.default_rng(1).normal(size=(300, 2)).clip(-4, 4))
    assert (network.interpolate(Z) - network(Z)).abs().max() < 1e-4


def test_layers_start_from_the_generator_alone():
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    one = Layers([3, 5, 2], generator_from(np.random.default_rng(4)))
    two = Layers([3, 5, 2], generator_from(np.random.default_rng(4)))
    assert torch.equal(one.theta, two.theta)
    assert torch.equal(before, torch.random.get_rng_state())
    weights, biases = one.parameters()[0]
    assert max(weights.abs().max(), biases.abs().max()) <= 1 / np.sqrt(3)


def test_adam_is_torchs():
    mine = torch.tensor([1.0, -2.0], requires_grad=True)
    theirs = torch.tensor([1.0, -2.0], requires_grad=True)
    adam, reference = Adam([mine]), torch.optim.Adam([theirs], lr=0.01)
    for _ in range(20):
        adam.step((mine**4).sum() + mine.prod(), 0.01)
        reference.zero_grad()
        ((theirs**4).sum() + theirs.prod()).backward()
        reference.step()
    np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), atol=1e-6)


def test_rates_fall_in_the_second_half():
    rates = [FAST.rate(t) for t in range(FAST.iterations)]
    assert rates[0] == rates[FAST.iterations // 2] == FAST.first_rate
    assert np.diff(rates[FAST.iterations // 2 :]).max() < 0
    assert rates[-1] < 1.1 * FAST.last_rate
    assert {PAPER.rate(t) for t in (0, 1500, 2999)} == {1e-3}


def test_the_fast_schedule_beats_the_linear_start(data, fast):
    """The curves bend: a linear factor model of the same answers is far behind."""
    X, A, _, _ = data
    linear = fit_factors(np.corrcoef(X.T), len(X), A)
    assert total(fast.model, X) > row_log_likelihoods(linear, X[:200]).sum() + 100


def test_the_fast_schedule_finds_noise_and_correlations(data, fast):
    """Noise is a fifth of the variance, Φ that of the V-structure: .5 and 0."""
    assert np.abs(fast.model.noise - 0.2).max() < 0.08
    truth = dt.simulate("v_structure", 600, seed=1).factor_correlations
    assert np.abs(fast.model.factor_correlations - truth).max() < 0.15
    np.testing.assert_allclose(np.diag(fast.model.factor_correlations), 1)
    assert fast.acceptance == pytest.approx(0.574, abs=0.1)
    assert (fast.restarts, fast.z.shape) == (0, (600, 3))


def test_the_same_seed_gives_the_same_numbers(data):
    brief = replace(FAST, iterations=4, pretraining=5, phi_from=1)
    one, two, other = (fit_network(*data, np.random.default_rng(s), brief) for s in (5, 5, 6))
    for a, b in zip(one.model.weights, two.model.weights, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.z, two.z)
    np.testing.assert_array_equal(one.model.noise, two.model.noise)
    assert (one.z != other.z).any()


def test_the_papers_schedule_improves_on_its_start(data):
    X, *_ = data
    start, later = (
        fit_network(*data, np.random.default_rng(7), replace(PAPER, iterations=k)) for k in (1, 15)
    )
    assert total(later.model, X) > total(start.model, X) + 50
    assert later.acceptance == pytest.approx(0.574, abs=0.06)
    np.testing.assert_array_equal(later.model.factor_correlations, data[3])  # still


def test_missing_answers_are_left_out(data):
    X, A, Z, Phi = data
    holes = X.copy()
    holes[np.random.default_rng(8).random(X.shape) < 0.1] = np.nan
    fit = fit_network(holes, A, Z, Phi, np.random.default_rng(2), SHORT)
    assert np.abs(fit.model.noise - 0.2).max() < 0.1
    assert all(np.isfinite(W).all() for W in fit.model.weights)


def test_items_may_have_several_parents_or_none(data):
    X, A, Z, Phi = data
    A = A.copy()
    A[0], A[5, 2] = False, True
    fit = fit_network(X, A, Z, Phi, np.random.default_rng(2), replace(SHORT, iterations=15))
    assert fit.model.noise[0] == pytest.approx(1.0, abs=0.05)
    assert fit.model.noise[1:].max() < 0.6


def test_progress_is_told(data):
    seen = []
    brief = replace(FAST, iterations=2, pretraining=0)
    fit_network(*data, np.random.default_rng(0), brief, lambda *at: seen.append(at))
    assert seen == [(1, 2), (2, 2)]


def test_a_frozen_sampler_starts_anew_once(data, monkeypatch):
    calls = iter([True] * 5)
    monkeypatch.setattr(mala, "is_frozen", lambda *_: next(calls, False))
    brief = replace(FAST, iterations=8, pretraining=5, phi_from=1)
    with pytest.warns(EstimationWarning, match="froze; estimation restarts with slower updates"):
        fit = fit_network(*data, np.random.default_rng(0), brief)
    assert fit.restarts == 1


def test_a_sampler_that_freezes_twice_is_an_error(data, monkeypatch):
    monkeypatch.setattr(mala, "is_frozen", lambda *_: True)
    brief = replace(FAST, iterations=8, pretraining=0)
    with (
        pytest.warns(EstimationWarning, match="froze"),
        pytest.raises(EstimationError, match=r"3 factors .* Use estimator='spline', or fewer"),
    ):
        fit_network(*data, np.random.default_rng(0), brief)


def test_without_torch_it_says_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from dtstat.core.errors import MissingExtraError\n"
        "try:\n"
        "    import dtstat.curves.network\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == (
        "The estimator 'neural' needs the package 'torch', which is not installed. "
        'Install it with: pip install "dtstat[neural]", or in a checkout of dtstat: '
        'pip install ".[neural]". '
        "Or use the estimator 'spline', which needs nothing more."
    )
