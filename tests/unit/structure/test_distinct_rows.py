"""Rows without repetition, by sorting tuples."""

import numpy as np
import pytest

from dtstat.structure.cliques import _distinct


@pytest.mark.parametrize("p", [1, 3, 7, 8, 9, 16, 17, 40])
def test_distinct_rows_by_sorting_tuples(p):
    rng = np.random.default_rng(p)
    for share in (0.05, 0.5, 0.95):
        rows = rng.uniform(size=(60, p)) < share
        rows = rows[rng.integers(60, size=90)]
        expected = sorted({tuple(row) for row in rows.tolist()}, reverse=True)
        found = _distinct(rows)
        assert found.dtype == bool
        assert [tuple(row) for row in found.tolist()] == expected


def test_no_rows_have_no_distinct_ones():
    assert _distinct(np.zeros((0, 5), dtype=bool)).shape == (0, 5)
