"""Information criteria by hand, how many structures there are, what a loading must be worth."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

from dtstat.search.counting import log_partitions, log_structures
from dtstat.search.criteria import (
    CRITERIA,
    HELD_OUT,
    INFORMATION,
    STEP,
    least_loading,
    price_of_cross_loading,
    price_of_parameter,
    price_of_structure,
    searching,
)
from dtstat.search.records import Proposal, Scored

SIMPLE = np.repeat(np.eye(3, dtype=bool), 4, axis=0)
LOG_100 = 4.605170185988092


def partitions(items):
    """Every partition of a list, by brute force."""
    if not items:
        yield []
        return
    first, *rest = items
    for parts in partitions(rest):
        yield [[first], *parts]
        for k, part in enumerate(parts):
            yield [*parts[:k], [first, *part], *parts[k + 1 :]]


# how many structures


@pytest.mark.parametrize("p", range(10))
def test_partitions_are_counted_as_they_are_enumerated(p):
    """Parts of two items or more; where that is impossible, of one."""
    pairs, singles = Counter(), Counter()
    for parts in partitions(list(range(p))):
        singles[len(parts)] += 1
        pairs[len(parts)] += all(len(part) > 1 for part in parts)
    found = log_partitions(p)
    assert found.shape == (p + 1,)
    for d in range(p + 1):
        expected = pairs[d] or singles[d]
        assert np.exp(found[d]) == pytest.approx(expected, rel=1e-9)
        assert (found[d] == -np.inf) == (expected == 0)


def test_partitions_of_many_items_are_finite():
    assert np.isfinite(log_partitions(400)[1:]).all()
    assert log_partitions(400)[2] == pytest.approx(399 * math.log(2), rel=1e-6)


def supports(p, d):
    """Every (p, d) support, factors in any order counted once."""
    seen = {}
    for bits in product([False, True], repeat=p * d):
        support = np.array(bits, dtype=bool).reshape(p, d)
        seen.setdefault(tuple(sorted(map(tuple, support.T.tolist()))), support)
    return list(seen.values())


@pytest.mark.parametrize(("p", "d"), [(4, 1), (5, 1), (4, 2), (5, 2)])
def test_simple_structures_are_counted_as_they_are_enumerated(p, d):
    """Of the same size: as many factors of two or more, loadings, and items left out."""
    sizes = Counter()
    for support in supports(p, d):
        if support.sum(axis=0).min() >= 2 and support.sum(axis=1).max() == 1:
            sizes[int(support.sum())] += 1
    assert sizes
    for edges, count in sizes.items():
        one = np.zeros((p, d), dtype=bool)
        one[np.arange(edges), np.minimum(np.arange(edges) // 2, d - 1)] = True
        assert log_structures(one) == pytest.approx(math.log(count))


def test_second_loadings_are_chosen_among_all_that_could_be():
    """Each partition with each set of second loadings: C(4 · 1, m) for m of them."""
    groups = [parts for parts in partitions(list(range(4))) if sorted(map(len, parts)) == [2, 2]]
    for m, ways in ((0, 1), (1, 4), (2, 6)):
        support = np.repeat(np.eye(2, dtype=bool), 2, axis=0)
        support[:m, 1] = True
        assert log_structures(support) == pytest.approx(math.log(len(groups) * ways))


def test_without_factors_all_items_are_left_out_in_one_way():
    assert log_structures(np.zeros((7, 0), dtype=bool)) == pytest.approx(0, abs=1e-12)


# prices


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        ("aic", 2800 + 2 * 27),
        ("bic", 2800 + 27 * LOG_100),
        ("ebic", 2800 + 27 * LOG_100 + 2 * math.log(1918 * math.comb(18, 2) * 10)),
    ],
)
def test_values_by_hand(criterion, expected):
    """ℓ = −14 per row, 100 rows; nine of ten items in three factors, two loadings more."""
    support = np.zeros((10, 3), dtype=bool)
    support[:9] = np.repeat(np.eye(3, dtype=bool), 3, axis=0)
    support[0, 1] = support[3, 2] = True
    one = Scored(Proposal(support, ""), -1400.0, 100)
    assert one.n_parameters == 10 + 11 + 3
    priced = price_of_structure(criterion, support, 27, 100)
    assert 2800 + priced == pytest.approx(expected, rel=1e-12)
    less = 3 * price_of_parameter(criterion, 100)
    assert one.cost(criterion, 100) == pytest.approx(expected - less, rel=1e-12)


@pytest.mark.parametrize("criterion", INFORMATION)
def test_one_more_loading_costs_its_price(criterion):
    """As long as one more makes more structures, not fewer."""
    support = SIMPLE.copy()
    for i in range(6):
        more = support.copy()
        more[i, (i // 4 + 1) % 3] = True
        k = 12 + support.sum() + 3
        dearer = price_of_structure(criterion, more, k + 1, 75.5)
        dearer -= price_of_structure(criterion, support, k, 75.5)
        assert price_of_cross_loading(criterion, support, 75.5) == pytest.approx(dearer)
        support = more


def test_other_parameters_cost_less_under_ebic_only():
    """A factor correlation was not searched for."""
    for criterion, searched in (("aic", 0), ("bic", 0), ("ebic", 2 * math.log(24))):
        dearer = price_of_cross_loading(criterion, SIMPLE, 75) - price_of_parameter(criterion, 75)
        assert dearer == pytest.approx(searched)


@pytest.mark.parametrize("criterion", INFORMATION)
@pytest.mark.parametrize(("d", "n"), [(1, 10), (3, 10), (20, 250.7), (5, 1e6)])
def test_the_least_loading_breaks_even(criterion, d, n):
    """An item that correlates λ with a known variable gains −½ log(1 − λ²) a row."""
    least = least_loading(criterion, d, n)
    assert 0 < least < 1
    price = price_of_parameter(criterion, n) + (2 * math.log(d) if criterion == "ebic" else 0)
    assert -n * math.log1p(-(least**2)) == pytest.approx(price)


def test_least_loadings_by_hand():
    """√(1 − exp(−price/n)): e.g. aic with n = 2 rows pays for itself at √(1 − 1/e)."""
    assert least_loading("aic", 5, 2) == pytest.approx(math.sqrt(1 - math.exp(-1)))
    assert least_loading("bic", 10, 100) == pytest.approx(0.2121, abs=5e-5)  # log 100 / 100
    assert least_loading("ebic", 10, 100) == pytest.approx(0.2966, abs=5e-5)  # 4 log 10 / 100


@pytest.mark.parametrize("criterion", INFORMATION)
def test_with_many_rows_it_is_the_root_of_price_over_rows(criterion):
    n = 1e13  # 1 - exp(-x) would have lost four digits
    expected = math.sqrt(price_of_parameter(criterion, n) / n)
    assert least_loading(criterion, 1, n) == pytest.approx(expected, rel=1e-9)


def test_stricter_criteria_ask_for_more():
    aic, bic, ebic = (least_loading(name, 20, 300) for name in ("aic", "bic", "ebic"))
    assert aic < bic < ebic
    for criterion in INFORMATION:
        loadings = [least_loading(criterion, 20, n) for n in (100, 300, 1000, 3000)]
        assert loadings == sorted(loadings, reverse=True)


def test_names():
    assert CRITERIA == ("step", "ebic", "bic", "aic", "validation", "validation_2se", "cv")
    assert not set(INFORMATION) & set(HELD_OUT)
    assert [searching(name) for name in CRITERIA] == ["ebic", "ebic", "bic", "aic", *["ebic"] * 3]
    assert STEP not in INFORMATION


@pytest.mark.parametrize("criterion", ["step", "ebic", "bic", "aic"])
def test_rows_worth_less_than_one_have_a_price(criterion):
    assert price_of_parameter(criterion, 0.5) >= 0
    assert 0 <= least_loading(criterion, 2, 0.5) <= 1
