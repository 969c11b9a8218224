"""The clique that a factor is read off, by loops over sets."""

import numpy as np
import pytest

from dtstat.fit.frames import core_bars
from dtstat.structure.barcode import barcode


def by_loops(bars, support):
    """The bar that is the factor; else the longest-lived, which comes first, within it."""
    cores = []
    for k in range(support.shape[1]):
        factor = set(np.flatnonzero(support[:, k]))
        sets = [set(np.flatnonzero(bars.members[b])) for b in range(len(bars))]
        same = [b for b, items in enumerate(sets) if items == factor]
        inside = [b for b, items in enumerate(sets) if items <= factor]
        cores.append((same or inside or [None])[0])
    return cores


def random_bars(rng, p, min_children):
    R = np.corrcoef(rng.normal(size=(12, p)), rowvar=False)
    return barcode(R, tuple(f"x{i}" for i in range(p)), min_children)


@pytest.mark.parametrize("seed", range(12))
def test_cores_by_loops(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 12))
    bars = random_bars(rng, p, int(rng.integers(2, 4)))
    assert (np.diff(bars.deaths - bars.births) <= 1e-12).all()
    picked = bars.members[rng.integers(len(bars), size=4)].T  # some are bars, some larger, some not
    larger = picked | (rng.uniform(size=picked.shape) < 0.2)
    support = np.hstack([picked, larger, rng.uniform(size=(p, 4)) < 0.3])
    found = core_bars(bars, support)
    assert found == by_loops(bars, support)
    assert all(core is None or type(core) is int for core in found)
    if seed == 0:
        assert None in found
        assert any(core is not None for core in found[4:])


def test_without_bars_or_factors_there_is_no_core():
    bars = random_bars(np.random.default_rng(0), 4, 3)
    none = barcode(np.eye(2), ("a", "b"), 3)
    assert len(none) == 0
    assert core_bars(none, np.ones((2, 2), dtype=bool)) == [None, None]
    assert core_bars(bars, np.zeros((4, 0), dtype=bool)) == []
