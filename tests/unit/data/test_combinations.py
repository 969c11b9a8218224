"""Sums, means and other exact combinations of items are named; likenesses are not."""

import warnings

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.data.checks import MOST_ITEMS, find_combinations
from dtstat.data.datasets import DATASETS

RNG = np.random.default_rng(1)
X = np.clip(np.round(3 + RNG.standard_normal((300, 1)) + RNG.standard_normal((300, 8))), 1, 5)
NAMES = list("abcdefgh")
A, B, C = X.T[:3]


def says(**computed):
    values = np.column_stack([X, *computed.values()])
    return [one.says for one in find_combinations(values, [*NAMES, *computed])]


def test_sums_and_means():
    assert says(total=A + B + C) == ["item 'total' is the sum of 'a', 'b', 'c'"]
    assert says(total=A + B + C + 10) == ["item 'total' is the sum of 'a', 'b', 'c'"]
    assert says(mean=(A + B + C) / 3) == ["item 'mean' is the mean of 'a', 'b', 'c'"]
    assert says(all=X.sum(axis=1)) == [
        "item 'all' is the sum of 'a', 'b', 'c', 'd', 'e' and 3 more"
    ]


@pytest.mark.parametrize("decimals", [1, 2, 3])
def test_rounded_means(decimals):
    mean = np.round(X.mean(axis=1), decimals)
    assert says(mean=mean) == ["item 'mean' is the mean of 'a', 'b', 'c', 'd', 'e' and 3 more"]


def test_reversed_and_weighted_items():
    assert says(m=np.round((A + 6 - B) / 2, 2)) == [
        "item 'm' is the mean of 'a' and, reversed, 'b'"
    ]
    assert says(w=0.3 * A - 2 * B) == ["item 'w' is an exact linear combination of 'a', 'b'"]
    assert says(z=(A + B + C - 7.1) / 3.3) == [
        "item 'z' is an exact linear combination of 'a', 'b', 'c'"
    ]


def test_several_at_once():
    found = says(first=A + B + C, second=X[:, 3:].sum(axis=1))
    assert sorted(found) == [
        "item 'first' is the sum of 'a', 'b', 'c'",
        "item 'second' is the sum of 'd', 'e', 'f', 'g', 'h'",
    ]


def test_shares_of_a_whole():
    shares = 100 * np.random.default_rng(1).dirichlet(np.ones(4), 200)
    (found,) = find_combinations(shares, list("abcd"))
    assert found.says == "items 'a', 'b', 'c', 'd' add up to 100"


def test_rows_with_gaps_are_left_out():
    values = np.column_stack([X, A + B + C])
    values[np.random.default_rng(1).random(values.shape) < 0.05] = np.nan
    (found,) = find_combinations(values, [*NAMES, "total"])
    assert found.says == "item 'total' is the sum of 'a', 'b', 'c'"


def test_what_merely_correlates_is_not_named():
    noise = np.random.default_rng(2).standard_normal(300)
    assert says() == says(copy=A) == says(product=A * B) == []
    assert says(nearly=A + B + C + 0.01 * noise) == []
    assert says(one_wrong=np.where(np.arange(300) == 7, 99, A + B + C)) == []


def test_too_few_rows_or_too_many_items():
    rng = np.random.default_rng(1)
    assert find_combinations(rng.standard_normal((20, 10)), list("abcdefghij")) == []
    wide = rng.standard_normal((MOST_ITEMS * 2, MOST_ITEMS + 1))
    wide[:, 0] = wide[:, 1] + wide[:, 2]
    assert find_combinations(wide, [str(k) for k in range(MOST_ITEMS + 1)]) == []
    assert len(find_combinations(wide[:, :-1], [str(k) for k in range(MOST_ITEMS)])) == 1


@pytest.mark.parametrize("name", DATASETS)
def test_data_sets_that_come_with_dtstat_have_none(name):
    frame = dt.load_dataset(name)
    assert find_combinations(frame.to_numpy(float), list(frame)) == []


def test_a_fit_goes_on_with_a_warning_and_a_model_says_why_not():
    frame = pd.DataFrame(np.column_stack([X, A + B + C]), columns=[*NAMES, "total"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert dt.fit(frame).n_obs == 300
    told = [str(w.message) for w in caught if issubclass(w.category, dt.DTWarning)]
    assert told[0] == "item 'total' is the sum of 'a', 'b', 'c': leave it out."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(dt.DTError, match=r"'total' is the sum of 'a', 'b', 'c', so .*Leave it"):
            dt.cfa(frame, "F =~ a + b + c + d + total")
