"""The tree of joins: its levels by hand, its joins the cheapest, its levels those of the matrix."""

import math

import numpy as np
import pytest

from dtstat.search.choose import least_of_splits
from dtstat.search.counting import _saddle_point, log_partitions
from dtstat.search.evaluate import Evaluator
from dtstat.search.joins import JoinedLevels, Prices, _Stage, correlations_of, grow
from dtstat.search.records import Rules
from dtstat.search.tree import price_of_join
from dtstat.structure.composites import Composites, Neighbors
from dtstat.structure.groups import Groups

NAN = math.nan


def answers(seed, k=8, m=4, n=150):
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(k), m)
    broad = rng.standard_normal((2, n))[np.arange(k) % 2]
    factors = 0.6 * broad + 0.8 * rng.standard_normal((k, n))
    Z = 0.8 * factors[own] + 0.6 * rng.standard_normal((len(own), n))
    Z -= Z.mean(axis=1, keepdims=True)
    return Z / Z.std(axis=1, keepdims=True), own


def everyone(p):
    items = np.array([j for i in range(p) for j in range(p) if j != i], dtype=np.int32)
    return Neighbors(np.arange(p + 1) * (p - 1), items)


def test_levels_by_hand():
    stages = np.array([0, 0, 1, 2, 3, 3]), np.array([0, 0, 0, 1, 1, 1])
    pairs = np.array([[0, 5], [3, 4], [0, 2]])
    numbers = np.array([NAN, 0.5, 0.2, 0.1])
    levels = JoinedLevels(stages, pairs, numbers, np.zeros(4, dtype=np.int64), numbers, numbers)
    assert len(levels) == 4
    found = [level.labels.tolist() for level in levels]
    assert found == [[0] * 6, [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 2, 2], [0, 0, 1, 2, 3, 3]]
    assert [level.pair for level in levels] == [(0, 0), (0, 1), (1, 2), (0, 1)]
    assert levels[-1].price == 0.1
    with pytest.raises(IndexError):
        levels[4]


def closest_by_hand(Z, labels, floor):
    """The cheapest of the pairs of factors with one of the two closest to either."""
    R = Z @ Z.T / Z.shape[1]
    np.fill_diagonal(R, 1)
    size = np.abs(Groups(R, labels, floor).correlations()) - 2 * np.eye(labels.max() + 1)
    near = np.argsort(-size, axis=1, kind="stable")[:, :2]
    pairs = {(min(a, b), max(a, b)) for a, row in enumerate(near.tolist()) for b in row}
    evaluator = Evaluator(R, Z.shape[1])
    items = [np.flatnonzero(labels == k) for k in range(labels.max() + 1)]
    return min((price_of_join(evaluator, items[a], items[b]), a, b) for a, b in pairs)


@pytest.mark.parametrize("seed", range(3))
def test_every_join_is_the_cheapest_of_close_factors(seed):
    Z, labels = answers(seed)
    stage = _Stage(Composites(Z, labels, 0.08), {}, None)
    for _ in range(5):
        now = stage.groups().labels
        price, *pair = stage.cheapest()
        expected = closest_by_hand(Z, now, 0.08)
        assert price == pytest.approx(expected[0], abs=1e-9)
        numbers = sorted(int(now[i]) for i in stage.first_items(*pair))
        assert numbers == [expected[1], expected[2]]
        assert stage.asked(*pair) == np.isin(now, numbers).sum()
        stage.join(*pair)
        fresh = Composites(Z, stage.groups().labels, 0.08, stage.groups().signs)
        np.testing.assert_allclose(fresh.sums, stage.groups().sums, atol=1e-9)


def test_a_tree_down_to_one_factor():
    Z, own = answers(4)
    levels = grow(Composites(Z, own, 0.08), everyone(len(Z)), 2)
    assert [level.n_factors for level in levels] == list(range(1, 9))
    assert [len(np.unique(labels)) for labels in levels.stages] == sorted(
        (len(np.unique(labels)) for labels in levels.stages), reverse=True
    )
    two = levels[1].labels  # odd and even factors have a broad one each
    assert len({(int(a) % 2, int(b)) for a, b in zip(own, two, strict=True)}) == 2
    assert (levels.prices[1:] >= 0).all()
    assert levels.asked[-1] == 8


def test_prices_are_those_of_the_matrix():
    Z, own = answers(5)
    items = [np.flatnonzero(own == k) for k in range(3)]
    evaluator = Evaluator(correlations_of(Z, np.arange(len(Z))), Z.shape[1])
    found = Prices(Z)([(items[0], items[1]), (items[1], items[2])])
    expected = [price_of_join(evaluator, items[a], items[a + 1]) for a in (0, 1)]
    assert found == pytest.approx(expected, abs=1e-9)


def test_splits_pay_for_themselves():
    """Of 5 levels the third gains enough for its split, the fourth not, the fifth not either."""
    asked, n = np.array([0, 20, 20, 20, 6]), 100.0
    price = math.log(n) + 2 * (math.log(2) + math.log(2**19 - 1 - 20))
    prices = np.array([NAN, 1.0, price / 200 + 0.001, 0.01, 0.01])
    rules = Rules("ebic", 2, True, True)
    assert least_of_splits(prices, asked, rules, n) == 2
    prices[2] -= 0.002
    assert least_of_splits(prices, asked, rules, n) == 1
    assert least_of_splits(prices, asked, Rules("aic", 2, True, True), n) == 2


def test_partitions_by_the_saddle_point():
    exact, near = log_partitions(900)[1:900], _saddle_point(900)[1:900]
    assert np.abs(near - exact).max() < 0.1
    assert np.abs(near - exact)[:300].max() < 1e-3
