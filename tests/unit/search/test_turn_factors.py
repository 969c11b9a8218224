"""Factors turned toward others: equivalent models, and the one with fewer loadings."""

import numpy as np
import pytest

from dtstat.factors.copula import FactorEstimate, fit_factors
from dtstat.search.refine import turn_factors

N, PRICE = 1000, 15.0
ROUNDING = 1e-12


def simple_model(seed, d=3):
    """Factors of 4 to 6 items each, without second parents."""
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(d), rng.integers(4, 7, d))
    L = np.where(own[:, None] == np.arange(d), rng.uniform(0.5, 0.8, len(own))[:, None], 0)
    B = rng.uniform(-0.4, 0.4, (d, d)) + np.eye(d)
    Phi = B @ B.T
    Phi /= np.sqrt(np.outer(Phi.diagonal(), Phi.diagonal()))
    return L, Phi


def behind(L, Phi, j, k, c):
    """The same model with η_j − c η_k in place of η_j, brought to variance 1."""
    T = np.eye(len(Phi))
    T[j, k] = -c
    other = L @ np.linalg.inv(T)
    Psi = T @ Phi @ T.T
    scale = np.sqrt(Psi.diagonal())
    return other * scale, Psi / np.outer(scale, scale)


def as_estimate(L, Phi):
    psi = 1 - ((L @ Phi) * L).sum(axis=1)
    return FactorEstimate(L.copy(), Phi.copy(), psi, 0.0, 0, True, 0)


@pytest.mark.parametrize("c", [0.5, -0.7])
@pytest.mark.parametrize("seed", range(10))
def test_the_simple_structure_comes_back(seed, c):
    L, Phi = simple_model(seed)
    hidden, Psi = behind(L, Phi, 0, 1, c)
    np.testing.assert_allclose(hidden @ Psi @ hidden.T, L @ Phi @ L.T, atol=ROUNDING)
    support = np.abs(hidden) > ROUNDING
    assert support.sum() == len(L) + (L[:, 0] > 0).sum()
    found = turn_factors(as_estimate(hidden, Psi), support, N, PRICE)
    np.testing.assert_array_equal(found, L > 0)


@pytest.mark.parametrize("seed", range(5))
def test_items_with_a_second_parent_by_nature_are_told_apart(seed):
    """One item of factor 0 loads on factor 1; behind the turn it is the one that may not."""
    L, Phi = simple_model(seed)
    L[0, 1] = 0.3
    hidden, Psi = behind(L, Phi, 0, 1, -0.3 / L[0, 0])
    support = np.abs(hidden) > ROUNDING
    found = turn_factors(as_estimate(hidden, Psi), support, N, PRICE)
    np.testing.assert_array_equal(found, L > 0)


@pytest.mark.parametrize("seed", range(5))
def test_an_estimate_is_turned_as_the_population(seed):
    L, Phi = simple_model(seed)
    R = L @ Phi @ L.T
    np.fill_diagonal(R, 1)
    hidden, _ = behind(L, Phi, 0, 1, 0.6)
    support = np.abs(hidden) > ROUNDING
    simple = fit_factors(R, N, L > 0)
    estimate = fit_factors(R, N, support)
    assert estimate.log_likelihood == pytest.approx(simple.log_likelihood, abs=0.01)
    # The maximum is a ridge: where the estimate lies on it, the zeros are one turn away.
    assert turn_factors(estimate, support, N, PRICE).sum() == len(L)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_simple_is_left_alone(seed):
    L, Phi = simple_model(seed)
    assert turn_factors(as_estimate(L, Phi), L > 0, N, PRICE) is None
    rng = np.random.default_rng(seed)
    items = np.flatnonzero(L[:, 0])[:2]
    L[items, 1] = 0.4 * rng.choice([-1, 1]) * np.array([1, -1])  # in no proportion
    assert turn_factors(as_estimate(L, Phi), L != 0, N, PRICE) is None


def test_two_turns_that_have_nothing_in_common_are_made_at_once():
    L, Phi = simple_model(3, d=5)
    hidden, Psi = behind(*behind(L, Phi, 0, 1, 0.5), 2, 3, 0.6)
    support = np.abs(hidden) > ROUNDING
    found = turn_factors(as_estimate(hidden, Psi), support, N, PRICE)
    np.testing.assert_array_equal(found, L > 0)


def test_turning_must_save_more_than_it_costs():
    """Two of four items load on k in proportion: what two zeros gain, two others lose."""
    L = np.zeros((8, 2))
    L[:4, 0] = L[4:, 1] = 0.6
    L[:2, 1] = 0.3
    assert turn_factors(as_estimate(L, np.eye(2)), L > 0, N, PRICE) is None
    L[2, 1] = 0.3
    found = turn_factors(as_estimate(L, np.eye(2)), L > 0, N, PRICE)
    np.testing.assert_array_equal(found[:, 1], [0, 0, 0, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(found[:, 0], L[:, 0] > 0)


def test_outliers_have_no_say():
    """Most items load on k in one proportion, one in a smaller and one in a larger."""
    L = np.zeros((11, 2))
    L[:7, 0] = L[7:, 1] = 0.6
    L[:7, 1] = [-0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.7]
    found = turn_factors(as_estimate(L, np.eye(2)), L != 0, N, PRICE)
    np.testing.assert_array_equal(found[:, 1], [1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
