"""Distinct answers found in one pass, beside numpy's sort."""

from __future__ import annotations

import numpy as np
import pytest

from dtstat.data.levels import count_levels, find_levels

RNG = np.random.default_rng(3)
COLUMNS = {
    "ratings": RNG.integers(1, 7, 500).astype(float),
    "gaps": np.where(RNG.random(300) < 0.2, np.nan, RNG.integers(-2, 3, 300)),
    "as many as there is room for": RNG.permutation(np.tile(np.arange(32.0), 3)),
    "one more": RNG.permutation(np.tile(np.arange(33.0), 3)),
    "numbers": np.where(RNG.random(200) < 0.1, np.nan, RNG.standard_normal(200)),
    "signed zeros": np.array([0.0, -0.0, 1.0, -1.0, -0.0]),
    "only gaps": np.full(4, np.nan),
    "nothing": np.empty(0),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_levels_are_those_of_a_sort(name):
    column = COLUMNS[name]
    observed = ~np.isnan(column)
    values, places, counts = np.unique(column[observed], return_inverse=True, return_counts=True)
    found = find_levels(column)
    assert np.array_equal(found.values, values)
    assert np.array_equal(found.codes[observed], places)
    assert (found.codes[~observed] == -1).all()
    assert np.array_equal(found.counts, counts)
    assert all(map(np.array_equal, count_levels(column), (values, counts)))


def test_columns_of_a_table_and_read_only_ones_are_taken():
    table = np.asfortranarray(RNG.integers(0, 4, (50, 3)).astype(float))
    table.setflags(write=False)
    for X in (table, np.ascontiguousarray(table)):
        assert np.array_equal(find_levels(X[:, 1]).values, np.unique(table[:, 1]))
