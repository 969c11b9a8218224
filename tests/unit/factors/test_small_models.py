"""The compiled fits of small models are those of ``fit_as_ordered``."""

import os
import subprocess
import sys

import numpy as np
import pytest

from dtstat.factors import small_models
from dtstat.factors.copula import fit_as_ordered
from dtstat.factors.maximum_likelihood import LEAST_UNIQUENESS, FactorLikelihood
from dtstat.factors.small_models import fit_small

N = 500
# The same steps but for rounding, where EM comes to rest.
ROUNDING = 1e-6
# On ridges rounding sends the searches different ways; with gains down to 1e-9 they meet again.
RIDGE_SEARCH = {"tolerance": 1e-9, "max_iterations": 5000}
RIDGE, RIDGE_CORRELATIONS = 1e-3, 1e-2


def support(p, d, more=()):
    """Items dealt out to the factors in turn, and further loadings."""
    A = np.arange(p)[:, None] % max(d, 1) == np.arange(d)
    for i, k in more:
        A[i, k] = True
    return A


def correlations(p, d, n=N, seed=0):
    """Sample correlations of items with factors that correlate by 0.3, some reverse-keyed."""
    rng = np.random.default_rng(seed)
    z = np.sqrt(0.3) * rng.standard_normal((n, 1)) + np.sqrt(0.7) * rng.standard_normal((n, d))
    L = support(p, d) * rng.uniform(0.5, 0.8, (p, 1)) * rng.choice([-1, 1, 1], (p, 1))
    return np.corrcoef(z @ L.T + 0.7 * rng.standard_normal((n, p)), rowvar=False)


def apart(p, d, isolated):
    """Supports that leave the last items without a factor."""
    A = support(p, d)
    A[-isolated:] = False
    return A


REGULAR = {
    "one factor": (correlations(6, 1), support(6, 1)),
    "three factors": (correlations(12, 3), support(12, 3)),
    "25 items": (correlations(25, 5), support(25, 5)),
    "cross-loadings": (correlations(16, 4), support(16, 4, [(0, 1), (5, 2), (9, 3)])),
    "three parents": (correlations(16, 4), support(16, 4, [(0, 1), (0, 2), (7, 1)])),
    "items of no factor": (correlations(12, 3), apart(12, 3, 2)),
    "factor of no items": (correlations(8, 2), np.hstack([support(8, 2), np.zeros((8, 1), bool)])),
    "no factor": (correlations(5, 1), support(5, 0)),
    "two items": (correlations(2, 1), support(2, 1)),
}
RIDGES = {
    "one factor as two": (correlations(8, 1), support(8, 2)),
    "same items twice": (correlations(8, 1), np.ones((8, 2), dtype=bool)),
    "Heywood": (np.array([[1, 0.8, 0.8], [0.8, 1, 0.4], [0.8, 0.4, 1]]), support(3, 1)),
    "fewer rows than items": (correlations(30, 3, n=20), support(30, 3)),
    "split factors": (correlations(20, 2, n=200), support(20, 6)),
    **{
        f"random {seed}": (
            correlations(12, 2, n=100, seed=seed),
            np.random.default_rng(seed).random((12, 3)) < 0.4,
        )
        for seed in range(6)
    },
}
ALL = {**REGULAR, **RIDGES}


def implied(fit):
    L = fit.loadings
    return L @ fit.factor_correlations @ L.T + np.diag(fit.uniquenesses)


@pytest.fixture
def no_second_search(monkeypatch):
    """Make the way out to ``fit_as_ordered`` an error."""

    def refuse(*_):
        raise AssertionError("left to fit_as_ordered")

    monkeypatch.setattr(small_models, "fit_as_ordered", refuse)


@pytest.mark.parametrize("name", REGULAR)
@pytest.mark.usefixtures("no_second_search")
def test_same_steps_where_em_comes_to_rest(name):
    R, A = REGULAR[name]
    fit, other = fit_small(R, N, A), fit_as_ordered(R, N, A)
    assert fit.converged
    assert fit.n_iterations == other.n_iterations
    assert fit.n_parameters == other.n_parameters
    assert fit.log_likelihood == pytest.approx(other.log_likelihood, abs=ROUNDING)
    for field in ("loadings", "factor_correlations", "uniquenesses"):
        np.testing.assert_allclose(getattr(fit, field), getattr(other, field), atol=ROUNDING)


@pytest.mark.parametrize("name", RIDGES)
@pytest.mark.usefixtures("no_second_search")
def test_same_maximum_on_ridges(name):
    R, A = RIDGES[name]
    fit, other = fit_small(R, N, A, **RIDGE_SEARCH), fit_as_ordered(R, N, A, **RIDGE_SEARCH)
    assert fit.converged
    assert fit.log_likelihood == pytest.approx(other.log_likelihood, abs=RIDGE)
    np.testing.assert_allclose(implied(fit), implied(other), atol=RIDGE_CORRELATIONS)


def test_some_ridges_need_more_than_em():
    assert max(fit_small(R, N, A).n_iterations for R, A in RIDGES.values()) > 30


@pytest.mark.parametrize("name", ALL)
def test_no_worse_than_the_start(name):
    R, A = ALL[name]
    p, d = A.shape
    likelihood = FactorLikelihood(R, A if d else np.zeros((p, 1), dtype=bool))
    start = likelihood.evaluate(likelihood.start())[0] - p / 2 * np.log(2 * np.pi)
    gain = fit_small(R, 1, A).log_likelihood - start
    assert gain > (1e-3 if p > 2 and d else -1e-12)  # nothing to gain without factors


@pytest.mark.parametrize("name", ALL)
def test_likelihood_is_that_of_the_parameters(name):
    R, A = ALL[name]
    fit = fit_small(R, N, A)
    Sigma = implied(fit)
    terms = len(R) * np.log(2 * np.pi) + np.linalg.slogdet(Sigma)[1]
    value = -N / 2 * (terms + np.trace(np.linalg.solve(Sigma, R)))
    assert fit.log_likelihood == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("name", ALL)
def test_conventions(name):
    R, A = ALL[name]
    p, d = A.shape
    fit = fit_small(R, N, A)
    assert (fit.loadings.shape, fit.factor_correlations.shape) == ((p, d), (d, d))
    np.testing.assert_array_equal(fit.loadings[~A], 0)
    assert not np.signbit(fit.loadings[~A]).any()
    assert (fit.loadings.sum(axis=0) >= 0).all()
    np.testing.assert_array_equal(np.diag(fit.factor_correlations), 1)
    np.testing.assert_allclose(fit.factor_correlations, fit.factor_correlations.T, atol=1e-12)
    assert (fit.uniquenesses >= LEAST_UNIQUENESS * (1 - 1e-12)).all()
    assert (fit.uniquenesses <= 1 + 1e-6).all()
    assert fit.n_parameters == A.sum() + p + d * (d - 1) // 2
    assert not fit.loadings.flags.writeable


def test_order_in_memory_and_leave_to_write_do_not_matter():
    R, A = REGULAR["cross-loadings"]
    other = np.asfortranarray(R)
    other.setflags(write=False)
    before = R.copy()
    fit, same = fit_small(R, N, A), fit_small(other, N, np.asfortranarray(A))
    np.testing.assert_array_equal(fit.loadings, same.loadings)
    np.testing.assert_array_equal(R, before)


def test_tolerance_is_that_of_all_rows():
    R, A = REGULAR["cross-loadings"]
    assert fit_small(R, N, A, 1.0).n_iterations < fit_small(R, N, A, 1e-6).n_iterations
    assert fit_small(R, 10 * N, A, 10.0).n_iterations == fit_small(R, N, A, 1.0).n_iterations


@pytest.mark.parametrize("steps", [0, 2, 32])
def test_out_of_steps_it_is_left_to_the_other_search(steps):
    R, A = RIDGES["split factors"]
    fit, other = fit_small(R, N, A, max_iterations=steps), fit_as_ordered(R, N, A)
    assert fit.log_likelihood == other.log_likelihood
    assert (fit.converged, fit.n_iterations) == (True, other.n_iterations)


def test_exact_correlations_give_back_their_parameters():
    """From the second step on nothing changes, so there is nothing to accelerate with."""
    L = np.array([0.9, 0.8, -0.7, 0.6])
    R = np.outer(L, L)
    np.fill_diagonal(R, 1)
    fit = fit_small(R, N, np.ones((4, 1), dtype=bool), 0.0)
    np.testing.assert_allclose(fit.loadings[:, 0], L, atol=1e-6)


@pytest.mark.parametrize("edges", [0, 1, 12])
def test_kernels_see_one_layout(monkeypatch, edges):
    """numpy lays the edges out by their number; a second layout is a second type for numba."""
    layouts = []
    kernel = small_models.accelerated_em

    def spy(model, *rest):
        layouts.append([part.flags.c_contiguous for part in model])
        return kernel(model, *rest)

    monkeypatch.setattr(small_models, "accelerated_em", spy)
    A = np.arange(12)[:, None] < edges
    small_models.fit_small(correlations(12, 1), 100, A[:, : min(edges, 1)])
    assert layouts == [[True] * 7]


def test_kernels_stay_within_their_matrices_without_factors():
    """Interpreted, an index out of bounds is an error; compiled, it is not noticed."""
    code = (
        "import numpy as np; from dtstat.factors.small_models import fit_small;"
        "print(fit_small(np.eye(3), 9, np.zeros((3, 0), dtype=bool)).uniquenesses.tolist())"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("[1.0, 1.0, 1.0]", 0), done.stderr
