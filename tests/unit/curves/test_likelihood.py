"""Ways to a likelihood, and their Monte Carlo errors, on curves that bend."""

import numpy as np
import pytest

from dtstat.core.errors import InputError
from dtstat.curves import bspline
from dtstat.curves.likelihood import LogLikelihood, _mean_of, log_likelihood
from dtstat.curves.response_model import ResponseModel

FINE = np.linspace(-4, 4, 801)
CURVES = (
    np.tanh,
    lambda z: 0.3 * z**2 + z,
    lambda z: np.exp(z / 2),
    np.arctan,
    lambda z: 1.2 * z,
    lambda z: 0.6 * z,
    lambda z: -0.8 * z,
)
SUPPORT = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [1, 1]], dtype=bool)


def fitted(function):
    return np.linalg.lstsq(bspline.design(FINE), function(FINE), rcond=None)[0]


def bent_model(support=SUPPORT, functions=CURVES, phi=0.4):
    """Bent curves; the second item is a rating of three categories."""
    p, d = support.shape
    n_tau, thresholds = np.zeros(p, dtype=int), np.zeros((p, 2))
    n_tau[1], thresholds[1] = 2, [-0.3, 1.0]
    return ResponseModel(
        support,
        np.array([fitted(f) for f in functions]),
        np.zeros(p),
        np.where(n_tau, 1.0, 0.4),
        thresholds,
        n_tau,
        np.full((d, d), phi) + (1 - phi) * np.eye(d),
    )


def drawn(model, n, seed=0, missing=0.25):
    rng = np.random.default_rng(seed)
    Phi = model.factor_correlations
    eta = model.predictors(rng.multivariate_normal(np.zeros(len(Phi)), Phi, n, method="cholesky"))
    X = eta + rng.normal(size=eta.shape) * np.sqrt(model.noise)
    for i in np.flatnonzero(model.n_thresholds):
        X[:, i] = np.searchsorted(model.thresholds[i, : model.n_thresholds[i]], X[:, i])
    X[rng.random(X.shape) < missing] = np.nan
    return X


@pytest.fixture(scope="module")
def problem():
    model = bent_model()
    X = drawn(model, 80)
    X[0] = np.nan
    return model, X, log_likelihood(model, X, np.random.default_rng(0), "quadrature").rows


def test_quadrature_is_the_sum_over_a_finer_grid(problem):
    model, X, rows = problem
    axis = np.linspace(-6, 6, 121)
    nodes = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    Phi = model.factor_correlations
    density = [model.log_joint(nodes, x[None])[0] for x in X[:12]]
    total = np.log(np.exp(density).sum(axis=1) * 0.1**2 / (2 * np.pi))
    np.testing.assert_allclose(rows[:12], total - np.linalg.slogdet(Phi)[1] / 2, atol=1e-3)


def test_a_row_without_answers_has_likelihood_1(problem):
    model, X, rows = problem
    assert rows[0] == pytest.approx(0, abs=1e-3)
    found = log_likelihood(model, X, np.random.default_rng(1), draws=400)
    assert abs(found.rows[0]) < 5 * np.sqrt(found.variances[0])


@pytest.mark.parametrize("seed", range(3))
def test_importance_sampling_is_within_its_error(problem, seed):
    model, X, rows = problem
    found = log_likelihood(model, X, np.random.default_rng(seed), draws=300)
    assert abs(found.total - rows.sum()) < 4 * found.standard_error
    assert 0 < found.standard_error < 1
    standard = (found.rows - rows) / np.sqrt(found.variances)
    assert 0.5 < np.sqrt((standard**2).mean()) < 1.5  # rows one by one as well


def test_halves_of_a_chain_agree_with_quadrature(problem):
    """Draws of a chain depend on each other: their error is larger than told, not five times."""
    model, X, rows = problem
    found = log_likelihood(model, X, np.random.default_rng(3), "split", draws=600)
    assert abs(found.total - rows.sum()) < 5 * 2 * found.standard_error
    assert found.standard_error > 0


def test_errors_shrink_with_the_root_of_the_draws(problem):
    model, X, _ = problem
    few, many = (
        log_likelihood(model, X, np.random.default_rng(4), draws=m).standard_error
        for m in (100, 1600)
    )
    assert few / many == pytest.approx(4, rel=0.25)


def test_told_errors_are_those_of_repetitions():
    model = bent_model()
    X = drawn(model, 30, seed=5)
    found = [log_likelihood(model, X, np.random.default_rng(s), draws=60) for s in range(40)]
    spread = np.std([one.total for one in found], ddof=1)
    told = np.sqrt(np.mean([one.standard_error**2 for one in found]))
    # A standard deviation of 40 repetitions is known to 11 %, of heavy tails to less.
    assert spread / told == pytest.approx(1, abs=0.4)


def test_the_mean_of_weights_and_its_variance():
    log_w = np.random.default_rng(0).normal(size=(400, 3)) * 0.5 + 700  # exp overflows
    found = _mean_of(log_w)
    w = np.exp(log_w - 700)
    variance = w.var(axis=0, ddof=1) / 400 / w.mean(axis=0) ** 2
    np.testing.assert_allclose(found.variances, variance, rtol=1e-6)
    np.testing.assert_allclose(found.rows - 700, np.log(w.mean(axis=0)) + variance / 2, atol=1e-9)


def test_the_same_seed_gives_the_same_likelihood(problem):
    model, X, _ = problem
    one, two = (log_likelihood(model, X, np.random.default_rng(9), draws=20) for _ in range(2))
    np.testing.assert_array_equal(one.rows, two.rows)


def test_a_start_changes_the_draws_and_not_the_answer(problem):
    model, X, rows = problem
    start = np.random.default_rng(1).normal(size=(80, 2))
    found = log_likelihood(model, X, np.random.default_rng(9), draws=300, start=start)
    assert abs(found.total - rows.sum()) < 4 * found.standard_error


def test_three_factors_by_quadrature():
    support = np.kron(np.eye(3), np.ones((2, 1))).astype(bool)
    model = bent_model(support, (*CURVES[:5], np.sin), 0.3)
    X = drawn(model, 8)
    exact = log_likelihood(model, X, np.random.default_rng(0), "quadrature")
    found = log_likelihood(model, X, np.random.default_rng(1), draws=1500)
    assert abs(found.total - exact.total) < 4 * found.standard_error + 0.02


def test_quadrature_refuses_more_than_three_factors():
    support = np.eye(4, dtype=bool)
    model = bent_model(support, CURVES[:4])
    with pytest.raises(InputError, match=r"more than 3 factors; got 4\. Use 'importance'"):
        log_likelihood(model, np.zeros((2, 4)), np.random.default_rng(0), "quadrature")


def test_unknown_methods_are_refused(problem):
    model, X, _ = problem
    with pytest.raises(InputError, match="Did you mean 'importance'"):
        log_likelihood(model, X, np.random.default_rng(0), "importanc")


def test_totals_are_sums():
    found = LogLikelihood(np.array([-1.0, -2.5]), np.array([0.09, 0.16]))
    assert (found.total, found.standard_error) == (-3.5, pytest.approx(0.5))


def test_importance_sampling_finds_both_modes():
    """Items that rise and fall alike leave the sign of the factor open: two modes a row."""
    support = np.ones((4, 1), dtype=bool)
    model = bent_model(support, (lambda z: 1.5 * z**2, np.abs, lambda z: z**2, lambda z: z**2))
    X = drawn(model, 60, missing=0.1)
    exact = log_likelihood(model, X, np.random.default_rng(0), "quadrature")
    found = log_likelihood(model, X, np.random.default_rng(1), draws=400)
    assert abs(found.total - exact.total) < 4 * found.standard_error
