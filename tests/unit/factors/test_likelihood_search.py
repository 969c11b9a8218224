"""The search for the maximum: without the zeros of loadings, and given up when it is no use."""

import math

import numpy as np
import pytest

from dtstat.factors import maximum_likelihood as ml
from dtstat.factors.copula import fit_factors

N = 300
LEAST_GAIN = 1e-8
MOST = 300


def sampled(seed, p=16, d=3, right=True):
    """Correlations of a sample, and a support: right, or with items exchanged."""
    rng = np.random.default_rng(seed)
    own = np.arange(p) % d
    A = own[:, None] == np.arange(d)
    A |= rng.random(A.shape) < 0.1
    L = A * rng.uniform(0.4, 0.8, A.shape)
    B = rng.uniform(-0.3, 0.3, (d, d)) + np.eye(d)
    rows = rng.standard_normal((N, d)) @ B.T @ L.T + 0.6 * rng.standard_normal((N, p))
    if not right:
        A = A[rng.permutation(p)]
    return np.corrcoef(rows, rowvar=False), A


def searched(R, A, enough=-math.inf):
    return ml.maximize(ml.FactorLikelihood(R, A), LEAST_GAIN, MOST, enough)


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_without_zeros(seed, right, monkeypatch):
    R, A = sampled(seed, right=right)
    dense = ml.FactorLikelihood(R, A)
    monkeypatch.setattr(ml, "MANY_ITEMS", 1)
    sparse = ml.FactorLikelihood(R, A)
    assert dense._sparse is None
    assert sparse._sparse is not None
    rng = np.random.default_rng(seed)
    np.testing.assert_allclose(sparse.start(), dense.start(), atol=1e-12)
    for _ in range(3):  # one after the other: nothing may be left of the one before
        theta = dense.start() + 0.1 * rng.standard_normal(dense.start().size)
        value, moments = dense.evaluate(theta)
        other, others = sparse.evaluate(theta)
        assert other == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(sparse.gradient(others), dense.gradient(moments), atol=1e-10)
        np.testing.assert_allclose(sparse.em_step(others), dense.em_step(moments), atol=1e-10)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_estimate_without_zeros(seed, monkeypatch):
    R, A = sampled(seed)
    dense = fit_factors(R, N, A)
    monkeypatch.setattr(ml, "MANY_ITEMS", 1)
    sparse = fit_factors(R, N, A)
    assert sparse.log_likelihood == pytest.approx(dense.log_likelihood, abs=1e-6)
    np.testing.assert_allclose(sparse.loadings, dense.loadings, atol=1e-4)
    np.testing.assert_allclose(sparse.uniquenesses, dense.uniquenesses, atol=1e-4)


def test_many_items_are_without_zeros():
    A = np.arange(ml.MANY_ITEMS)[:, None] % 20 == np.arange(20)
    R = np.eye(ml.MANY_ITEMS)
    assert ml.FactorLikelihood(R, A)._sparse is not None
    assert ml.FactorLikelihood(R[1:, 1:], A[1:])._sparse is None


@pytest.mark.parametrize("seed", range(20))
def test_what_can_get_there_is_not_given_up(seed):
    R, A = sampled(seed)
    free = searched(R, A)
    for short in (0.0, 0.01 / N, 1 / N):
        found = searched(R, A, free.value - short)
        assert found.reach is None
        assert (found.value, found.iterations) == (free.value, free.iterations)
        np.testing.assert_array_equal(found.theta, free.theta)


@pytest.mark.parametrize("seed", range(20))
def test_what_cannot_is_given_up_early(seed):
    R, A = sampled(seed)
    free = searched(R, A)
    for beyond in (5 / N, 50 / N, 1.0, 100.0):
        enough = free.value + beyond
        found = searched(R, A, enough)
        assert found.value <= free.value <= found.reach < enough
        assert found.iterations <= free.iterations
    assert found.iterations < free.iterations
    assert not found.converged


@pytest.mark.parametrize("seed", range(20))
def test_wrong_structures_are_given_up_far_below(seed):
    """They may creep and come further than they seemed to; far above they are given up for sure."""
    R, A = sampled(seed, right=False)
    free = searched(R, A)
    found = searched(R, A, free.value + 1.0)
    assert found.value <= found.reach < free.value + 1.0
    assert found.value <= free.value
    assert found.iterations < free.iterations


@pytest.mark.parametrize("seed", range(4))
def test_enough_is_of_all_rows(seed):
    R, A = sampled(seed)
    free = fit_factors(R, N, A)
    there = fit_factors(R, N, A, enough=free.log_likelihood - 0.5)
    assert there.reach is None
    assert there.log_likelihood == free.log_likelihood
    enough = free.log_likelihood + 20
    beyond = fit_factors(R, N, A, enough=enough)
    assert free.log_likelihood <= beyond.reach < enough
    assert beyond.log_likelihood <= beyond.reach
