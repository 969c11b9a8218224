"""Which level is the answer: steps by hand, what rows support, what is left out."""

import math

import numpy as np
import pytest

from dtstat.search.choose import NEARLY_ONE, least_cost, rank_levels, with_steps
from dtstat.search.evaluate import Evaluator
from dtstat.search.levels import search_tree, unrelated_items
from dtstat.search.records import Level, Proposal, Rules
from dtstat.structure.barcode import barcode
from dtstat.structure.structure import Structure

RULES = Rules("ebic", min_children=2, attach=True, approximate=True)


def level(k, price, correlation=0.3, agreed=1.0):
    return Level(np.repeat(np.arange(k), 2), price, (0, 1), correlation, agreed)


def levels(prices, agreed=None, correlations=None):
    agreed, correlations = agreed or [1.0] * 99, correlations or [0.3] * 99
    found = [level(1, math.nan)]
    for k, (price, a, r) in enumerate(zip(prices, agreed, correlations, strict=False), start=2):
        found.append(level(k, price, r, a))
    return found


def sampled(sizes, phi, n, seed, loadings=(0.5, 0.8), unrelated=0):
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(len(sizes)), sizes)
    loading = rng.uniform(*loadings, len(own)) * rng.choice([-1, 1], len(own))
    p = len(own) + unrelated
    Sigma = np.eye(p)
    m = len(own)
    Sigma[:m, :m] = np.outer(loading, loading) * np.where(own[:, None] == own, 1.0, phi)
    np.fill_diagonal(Sigma, 1)
    rows = rng.standard_normal((n, p)) @ np.linalg.cholesky(Sigma).T
    return own, np.corrcoef(rows, rowvar=False)


def searched(R, n, rules=RULES, **options):
    evaluator = Evaluator(R, n)
    bars = barcode(R, tuple(f"x{i}" for i in range(len(R))), rules.min_children)
    return evaluator, search_tree(evaluator, bars, rules, **options)


# steps


def plain_step(prices, agreed, k, n):
    """Mean log price of the octave below less that of the octave above; prices[j] is c_j."""
    last = max(prices)
    below = [math.log(prices[j] + 1 / n) for j in range(2, last + 1) if k / 2 < j <= k]
    above = [math.log(prices[j] + 1 / n) for j in range(2, last + 1) if k < j <= 2 * k]
    above = above or [math.log(1 / n)]  # beyond the finest level there is nothing to gain
    return agreed * (np.mean(below) - np.mean(above))


@pytest.mark.parametrize("seed", range(10))
def test_steps_by_hand(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 15)), float(rng.integers(50, 1000))
    prices, agreed = rng.exponential(0.05, m), rng.random(m)
    found = with_steps(levels(prices.tolist(), agreed.tolist()), n)
    known = dict(enumerate(prices, start=2))
    for k, one in enumerate(found[1:], start=2):
        assert one.step == pytest.approx(plain_step(known, agreed[k - 2], k, n))
    assert math.isnan(found[0].step)


def test_a_step_in_numbers():
    """Three factors: c = .2, .1 below; .004 above; 1/n = .001."""
    found = with_steps(levels([0.2, 0.1, 0.004]), 1000.0)
    below = (math.log(0.201) + math.log(0.101)) / 2
    assert found[2].step == pytest.approx(below - math.log(0.005))
    assert [one.step for one in found[1:]].index(max(one.step for one in found[1:])) == 1


def test_disagreement_makes_no_step_and_no_negative_one():
    found = with_steps(levels([0.2, 0.1, 0.004], [-0.2, math.nan, 0.5]), 1000.0)
    assert found[1].step == 0
    assert found[2].step == with_steps(levels([0.2, 0.1, 0.004]), 1000.0)[2].step  # one way only


def test_the_order_is_that_of_steps_among_what_is_supported_and_distinct():
    correlations = [0.3, NEARLY_ONE + 0.01, -NEARLY_ONE - 0.01, NEARLY_ONE, 0.3]
    found = with_steps(levels([0.1, 0.3, 0.2, 0.15, 0.01], None, correlations), 500.0)
    steps = np.array([level.step for level in found])
    between = np.array([level.correlation for level in found])
    order = rank_levels(steps, between, 5)
    assert set(order) == {1, 2, 5}  # 3 and 4 are nearly one; 6 is not supported
    assert order[-1] == 1
    assert found[order[0] - 1].step == max(found[k - 1].step for k in (2, 5))
    assert rank_levels(steps, between, 1) == [1]


@pytest.mark.parametrize("seed", range(6))
def test_the_answer_and_the_other_level_by_brute_force(seed):
    """Over all levels that the rows support."""
    rng = np.random.default_rng(seed)
    sizes = (3,) * int(rng.integers(2, 6))
    _, outcome = searched(sampled(sizes, 0.4, 500, seed)[1], 500)
    usable = {
        one.n_factors: one.step
        for one in outcome.levels[1 : outcome.supported]
        if abs(one.correlation) <= NEARLY_ONE
    }
    answer = max(usable, key=usable.get, default=1)
    assert outcome.best.n_factors == answer
    far = {k: s for k, s in usable.items() if k >= 1.25 * answer or answer >= 1.25 * k}
    expected = max(far, key=far.get) if far else (1 if answer > 1 else None)
    assert outcome.second == expected
    assert outcome.second is None or max(answer, expected) >= 1.25 * min(answer, expected)


@pytest.mark.parametrize("criterion", ["ebic", "bic"])
@pytest.mark.parametrize("phi", [0.4, 0.8])
@pytest.mark.parametrize("seed", range(4))
def test_supported_is_the_finest_level_within_an_error_of_the_least_cost(seed, phi, criterion):
    rules = Rules(criterion, 2, True, True)
    evaluator, outcome = searched(sampled((3, 3, 3), phi, 250, seed)[1], 250, rules)
    n = outcome.n_effective
    fits = [evaluator.fit(Proposal(one.support, "")) for one in outcome.levels]
    costs = np.array([one.cost(criterion, n) for one in fits])
    least = int(np.argmin(costs))
    assert least_cost(evaluator, list(outcome.levels), rules, n) == least
    gain = 2 * n / 250 * np.array([one.log_likelihood - fits[least].log_likelihood for one in fits])
    near = costs - costs[least] <= 2 * np.sqrt(np.maximum(gain, 0) * n / 250)
    most = least
    while least and most + 1 < len(fits) and near[most + 1]:
        most += 1
    assert outcome.supported == most + 1
    other, by_cost = searched(evaluator.R, 250, rules, by_cost=True)
    assert by_cost.supported == outcome.supported
    assert by_cost.best is other.best(criterion, n)


def test_a_gain_in_likelihood_has_the_standard_error_that_support_assumes():
    """2√g for a gain of g: two close factors of four against one, 400 samples."""
    own = np.repeat([0, 1], 4)
    two, one = own[:, None] == np.arange(2), np.ones((8, 1), dtype=bool)
    gains = []
    for seed in range(400):
        Sigma = np.where(own[:, None] == own, 0.49, 0.49 * 0.88) + 0.51 * np.eye(8)
        rows = np.random.default_rng(seed).standard_normal((500, 8)) @ np.linalg.cholesky(Sigma).T
        evaluator = Evaluator(np.corrcoef(rows, rowvar=False), 500)
        apart, joined = (evaluator.fit(Proposal(support, "")) for support in (two, one))
        gains.append(2 * (apart.log_likelihood - joined.log_likelihood))
    assert np.std(gains) == pytest.approx(2 * math.sqrt(np.mean(gains)), rel=0.15)


# what is left out


def test_unrelated_items_are_left_out_and_related_ones_kept():
    """Of two unrelated items one in five stays: to say which are out has its price, too.

    It costs log 500 − 2 log 6 = 2.6 to be in, which the larger of two squared loadings, each chi-
    square with one degree of freedom, exceeds with probability .2.
    """
    out = 0
    for seed in range(10):
        own, R = sampled((5, 5), 0.3, 500, seed, unrelated=2)
        support = searched(R, 500)[1].best.proposal.support
        assert Structure(support[:10]) == Structure(own[:, None] == np.arange(2))
        out += int((~support[10:].any(axis=1)).sum())
    assert out >= 10


@pytest.mark.parametrize(("loading", "left_out"), [(0.05, True), (0.1, False), (0.3, False)])
def test_items_are_left_out_where_their_loading_does_not_pay(loading, left_out):
    """−500 log(1 − λ²) beside log 500 − 2 log 6 = 2.6: the least loading that pays is .072."""
    R = np.outer(*[np.array([0.7] * 5 + [loading])] * 2)
    np.fill_diagonal(R, 1)
    fitted = Evaluator(R, 500).fit(Proposal(np.ones((6, 1), dtype=bool), ""))
    found = unrelated_items(fitted, RULES, 500.0)
    np.testing.assert_array_equal(found, [False] * 5 + [left_out])


@pytest.mark.parametrize("seed", range(8))
def test_independent_items_have_no_factor(seed):
    R = np.corrcoef(np.random.default_rng(seed).standard_normal((200, 10)), rowvar=False)
    _, outcome = searched(R, 200)
    assert outcome.best.n_factors == 0
    assert outcome.second is None


@pytest.mark.parametrize("min_children", [5, 9])
def test_fewer_items_than_a_factor_must_have(min_children):
    R = np.full((4, 4), 0.6) + 0.4 * np.eye(4)
    _, outcome = searched(R, 200, Rules("ebic", min_children, True, True))
    assert outcome.best.n_factors == 0
    assert outcome.levels == ()


# as many as asked for


@pytest.mark.parametrize("k", range(1, 7))
@pytest.mark.parametrize("sizes", [(12,), (3, 4, 5), (2,) * 6, (6, 6)])
def test_as_many_factors_as_asked_for(k, sizes):
    evaluator, outcome = searched(sampled(sizes, 0.4, 300, k)[1], 300, n_factors=k)
    assert outcome.best.n_factors == k
    assert outcome.best.proposal.support.sum(axis=0).min() >= 2
    assert outcome.best is evaluator.fit(outcome.best.proposal)


@pytest.mark.parametrize("R", [np.eye(8), np.ones((8, 8))], ids=["unrelated", "copies"])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_as_many_as_asked_for_where_there_are_none(R, k):
    assert searched(R, 100, n_factors=k)[1].best.n_factors == k
