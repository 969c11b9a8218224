"""The tree of factors: prices, levels from the leaves to one, and what the levels agree on."""

import numpy as np
import pytest

import dtstat as dt
from dtstat.search.evaluate import Evaluator
from dtstat.search.records import Proposal, Rules
from dtstat.search.tree import Tree, _cut, _most_agreed, price_of_join
from dtstat.structure.barcode import barcode
from dtstat.structure.groups import agreement, canonical_labels

RULES = Rules("ebic", min_children=2, attach=True, approximate=True)
N = 400
FITS_STOP = 0.1 / N  # searches of blocks stop when a step gains less than a thousandth


def factors(seed, sizes=(4, 5, 6), phi=0.3, n=N):
    """True labels, and correlations of a sample."""
    rng = np.random.default_rng(seed)
    own = canonical_labels(rng.permutation(np.repeat(np.arange(len(sizes)), sizes)))
    loading = rng.uniform(0.5, 0.8, len(own)) * rng.choice([-1, 1], len(own))
    Sigma = np.outer(loading, loading) * np.where(own[:, None] == own, 1.0, phi)
    np.fill_diagonal(Sigma, 1)
    rows = rng.standard_normal((n, len(own))) @ np.linalg.cholesky(Sigma).T
    return own, np.corrcoef(rows, rowvar=False)


def tree(R, rules=RULES, n=N):
    bars = barcode(R, tuple(f"x{i}" for i in range(len(R))), rules.min_children)
    return Tree(Evaluator(R, n), bars, rules)


def support(labels):
    return labels[:, None] == np.arange(labels.max() + 1)


# prices


@pytest.mark.parametrize("seed", range(4))
def test_prices_are_losses_of_whole_models_where_the_rest_is_unrelated(seed):
    """Two factors correlate; a third is independent of both in the sample itself."""
    own, block = factors(seed, (4, 4), 0.5)
    R = np.eye(13)
    R[:8, :8] = block
    R[8:, 8:] = factors(seed + 50, (5,))[1]
    labels = np.concatenate([own, [2] * 5])
    evaluator = Evaluator(R, N)
    price = price_of_join(evaluator, np.flatnonzero(labels == 0), np.flatnonzero(labels == 1))
    apart, joined = (
        evaluator.fit(Proposal(support(one), "")).log_likelihood
        for one in (labels, np.where(labels == 2, 1, 0))
    )
    assert price == pytest.approx((apart - joined) / N, abs=FITS_STOP)
    assert price > 0.01


@pytest.mark.parametrize("seed", range(4))
def test_prices_are_never_negative_and_do_not_depend_on_order(seed):
    rng = np.random.default_rng(seed)
    R = factors(seed, n=60)[1]
    evaluator = Evaluator(R, 60)
    for _ in range(5):
        items = rng.permutation(15)
        a, b = items[:3], items[3:7]
        price = price_of_join(evaluator, a, b)
        assert price >= 0
        other = price_of_join(Evaluator(R, 60), b[::-1], a)
        assert price == pytest.approx(other, abs=0.1 / 60)


def test_halves_of_a_factor_are_cheap_and_factors_are_dear():
    own, R = factors(0)
    evaluator = Evaluator(R, N)
    first, second, third = (np.flatnonzero(own == k) for k in range(3))
    halves = price_of_join(evaluator, third[::2], third[1::2])
    assert halves < 0.01 < price_of_join(evaluator, first, second)


# levels


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("min_children", [2, 3])
def test_levels_go_from_the_leaves_to_one_factor(seed, min_children):
    _, R = factors(seed)
    rules = Rules("ebic", min_children, True, True)
    grown = tree(R, rules).grow()
    looked = tree(R, rules)
    consulted = looked.consult(looked.grow())
    for levels in (grown, consulted):
        assert [level.n_factors for level in levels] == [*range(len(levels), 0, -1)]
        for level in levels:
            assert np.bincount(level.labels).min() >= min_children
            np.testing.assert_array_equal(level.labels, canonical_labels(level.labels))
            assert level.support.sum() == 15
        for level in levels[:-1]:
            assert level.price >= 0
            assert 0 <= level.pair[0] < level.pair[1] < level.n_factors
            a, b = (np.flatnonzero(level.labels == k) for k in level.pair)
            assert level.price == price_of_join(Evaluator(R, N), a, b)
        assert np.isnan(levels[-1].price)
    assert any(np.array_equal(level.labels, factors(seed)[0]) for level in consulted)


@pytest.mark.parametrize("seed", range(4))
def test_columns_in_another_order_give_the_same_levels(seed):
    _, R = factors(seed)
    order = np.random.default_rng(seed).permutation(15)
    one, other = tree(R), tree(R[np.ix_(order, order)])
    for a, b in zip(one.consult(one.grow()), other.consult(other.grow()), strict=True):
        np.testing.assert_array_equal(canonical_labels(a.labels[order]), b.labels)
        assert a.price == pytest.approx(b.price, abs=FITS_STOP, nan_ok=True)


@pytest.mark.parametrize("at_least", [1, 4, 5, 6, 7])
def test_as_many_levels_as_asked_for(at_least):
    for R in (factors(0)[1], np.eye(15), np.full((15, 15), 0.5) + 0.5 * np.eye(15)):
        levels = tree(R).grow(at_least)
        assert len(levels) >= at_least
        assert all(np.bincount(level.labels).min() >= 2 for level in levels)


@pytest.mark.parametrize(("p", "k"), [(9, 4), (10, 3), (15, 7), (6, 1)])
def test_where_nothing_shows_groups_are_cut_evenly(p, k):
    labels = np.random.default_rng(p).integers(0, 3, p)
    size = np.bincount(_cut(labels, k))
    assert len(size) == k
    assert size.max() - size.min() <= 1


# agreement


@pytest.mark.parametrize("seed", range(10))
def test_the_level_takes_what_agrees_most(seed):
    """No other that was tried agrees more with the rest; agreement is that of the first kind."""
    rng = np.random.default_rng(seed)
    tried, more = ([canonical_labels(rng.integers(0, 3, 12)) for _ in range(m)] for m in (4, 3))
    best, mean = _most_agreed(tried, more)
    every = [*tried, *more]
    totals = agreement(every).sum(axis=1)
    chosen = [k for k, one in enumerate(every) if one is best]
    assert totals[chosen[0]] == pytest.approx(max(totals))
    pairs = agreement(tried)[np.tril_indices(4, -1)]
    assert mean == pytest.approx(np.mean(pairs))


def test_more_ways_never_lose_by_their_own_judge():
    """The total agreement of what is chosen among more is at least that of what was chosen."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        every = [canonical_labels(rng.integers(0, 3, 12)) for _ in range(7)]
        few, many = (_most_agreed(every[:m], [])[0] for m in (4, 7))
        totals = [sum(agreement([one, other])[0, 1] for other in every) for one in (few, many)]
        assert totals[1] >= totals[0] - 1e-9


def test_one_way_has_nobody_to_agree_with():
    labels = np.array([0, 0, 1, 1])
    best, mean = _most_agreed([labels], [])
    assert best is labels
    assert np.isnan(mean)


def test_correlations_of_levels_point_as_the_factors_do():
    # One reversed item of each factor leads its group, and must not turn it round.
    fit = dt.fit(dt.load_dataset("likert_survey"))
    for k in range(2, 6):
        pair = fit.tree[k - 1].pair
        level = fit.level(k)
        names = fit.levels["joins"][k - 1].split(" and ")
        assert len(names) == len(pair) == 2
        told, fitted = fit.levels["correlation"][k - 1], level.factor_correlations.loc[*names]
        assert told == pytest.approx(fitted, abs=0.1)
