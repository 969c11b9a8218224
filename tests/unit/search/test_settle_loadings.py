"""Loadings gained and lost in sweeps, and factors made simpler."""

import math

import numpy as np
import pytest

import dtstat as dt
from dtstat.search.criteria import price_of_cross_loading
from dtstat.search.evaluate import Evaluator
from dtstat.search.records import Proposal, Rules
from dtstat.search.refine import expected_gains, find_missing_loadings, settle_loadings, simplify

N = 1000
RULES = Rules("ebic", min_children=3, attach=True, approximate=False)
SIMPLE = np.kron(np.eye(3), np.ones((5, 1))).astype(bool)
PRICE = price_of_cross_loading("ebic", SIMPLE, N)


def population(A, phi=0.3, seed=0, size=(0.5, 0.7)):
    rng = np.random.default_rng(seed)
    L = A * rng.uniform(*size, A.shape)
    L[A & (np.cumsum(A, axis=1) > 1)] *= 0.55  # no item is explained without error
    Phi = np.full((A.shape[1],) * 2, phi) + (1 - phi) * np.eye(A.shape[1])
    R = L @ Phi @ L.T
    np.fill_diagonal(R, 1)
    return R


def with_cross(*edges):
    A = SIMPLE.copy()
    for i, k in edges:
        A[i, k] = True
    return A


def key(A):
    return Proposal(A, "").key


CROSSED = with_cross((0, 1), (6, 2), (11, 0))


# what is lacking


def plain_lacking(R, fitted, n, price):
    """Of each item the loading it lacks most; of items of one main factor the best only."""
    gains = n * expected_gains(R, fitted.estimate, fitted.proposal.support)
    best = {}
    for i, row in enumerate(gains):
        k = int(row.argmax())
        group = int(np.abs(fitted.estimate.loadings[i]).argmax()), k
        if row[k] > price and row[k] > best.get(group, (0, None))[0]:
            best[group] = row[k], i
    gained = np.zeros(gains.shape, dtype=bool)
    for (_, k), (_, i) in best.items():
        gained[i, k] = True
    return gained


@pytest.mark.parametrize("seed", range(15))
def test_lacking_is_the_first_of_each_group(seed):
    rng = np.random.default_rng(seed)
    A = SIMPLE | (rng.random(SIMPLE.shape) < 0.2)
    A[0, 1] = True
    R = population(A, seed=seed, size=(0.5, 0.6))
    fitted = Evaluator(R, N).fit(Proposal(SIMPLE, ""))
    found = find_missing_loadings(R, fitted, N, PRICE)
    np.testing.assert_array_equal(found, plain_lacking(R, fitted, N, PRICE))
    assert found.any()
    assert not (found & SIMPLE).any()
    assert not find_missing_loadings(R, fitted, N, math.inf).any()


def test_the_truth_lacks_nothing():
    R = population(CROSSED)
    assert not find_missing_loadings(R, Evaluator(R, N).fit(Proposal(CROSSED, "")), N, PRICE).any()


# sweeps


@pytest.mark.parametrize("truth", [with_cross((0, 1)), CROSSED], ids=["one", "three"])
@pytest.mark.parametrize("seed", range(6))
def test_sweeps_add_what_is_lacking_and_drop_what_is_none(seed, truth):
    R = population(truth, seed=seed)
    for start in (SIMPLE, with_cross((1, 2), (9, 0)), truth):
        assert settle_loadings(Evaluator(R, N), start, RULES, N).proposal.key == key(truth)


def test_sweeps_drop_copies_and_small_factors():
    R = population(SIMPLE)
    small = np.zeros((15, 1), dtype=bool)
    small[:2] = True
    start = np.hstack([SIMPLE, small, SIMPLE[:, :1]])
    assert settle_loadings(Evaluator(R, N), start, RULES, N).proposal.key == key(SIMPLE)


def test_sweeps_of_independent_items_end_without_factors():
    fitted = settle_loadings(Evaluator(np.eye(15), N), SIMPLE, RULES, N)
    assert fitted.n_factors == 0


def test_sweeps_know_a_structure_in_another_order():
    truth = with_cross((0, 1))
    evaluator = Evaluator(population(truth), N)
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        assert settle_loadings(evaluator, SIMPLE[:, order], RULES, N).proposal.key == key(truth)


def test_loadings_that_are_not_salient_are_lost():
    """However many the rows; an item keeps its largest loading."""
    L = 0.7 * SIMPLE
    L[0, 1] = 0.15
    L[14, 2] = 0.15
    R = L @ L.T
    np.fill_diagonal(R, 1)
    n = 100_000
    fitted = settle_loadings(Evaluator(R, n), with_cross((0, 1)), RULES, float(n))
    assert fitted.proposal.key == key(SIMPLE)


# simplified


def simple(A, R, n=N):
    evaluator = Evaluator(R, n)
    start = evaluator.fit(Proposal(A, "start"))
    return start, simplify(evaluator, start, RULES, float(n))


def test_a_factor_that_is_turned_is_turned_back():
    """All items of 0 load on 1, in proportion: η_0 − c η_1 stands in place of η_0."""
    L = SIMPLE * 0.65
    L[:5, 1] = 0.5 * L[:5, 0]
    R = L @ L.T / 1.3
    np.fill_diagonal(R, 1)
    start, end = simple(L > 0, R)
    assert end.cost("ebic", N) < start.cost("ebic", N)
    assert end.proposal.key == key(SIMPLE)


def test_halves_are_merged_and_needless_factors_left_out():
    R = population(SIMPLE)
    halves = np.zeros((15, 2), dtype=bool)
    halves[:3, 0] = halves[2:5, 1] = True
    _, end = simple(np.hstack([halves, SIMPLE[:, 1:]]), R)
    assert end.proposal.key == key(SIMPLE)
    doublet = np.zeros((15, 1), dtype=bool)
    doublet[[0, 5, 10]] = True
    _, end = simple(np.hstack([SIMPLE, doublet]), R)
    assert end.proposal.key == key(SIMPLE)


def test_parts_of_other_factors_are_dissolved_among_many_items():
    """Items with second parents that a tree took for a factor of their own; four are no few."""
    own = np.arange(210) // 15
    truth = own[:, None] == np.arange(14)
    some = np.isin(np.arange(210), [20, 40, 60, 80])
    truth[some, 0] = True
    R = population(truth)
    start = np.hstack([truth & ~some[:, None], some[:, None]])
    before, end = simple(start, R)
    assert before.n_factors == 15
    assert end.proposal.key == key(truth)


@pytest.mark.parametrize("seed", range(6))
def test_simpler_never_costs_more(seed):
    simulated = dt.simulate(
        "clusters", 200, n_factors=4, items_per_factor=4, violating=0.25, seed=seed
    )
    R = np.corrcoef(simulated.data.to_numpy(), rowvar=False)
    rng = np.random.default_rng(seed)
    A = simulated.structure.support | (rng.random(simulated.structure.support.shape) < 0.2)
    start, end = simple(A, R, 200)
    assert end.cost("ebic", 200) <= start.cost("ebic", 200)
    assert (end.proposal.support.sum(axis=0) >= 3).all()
