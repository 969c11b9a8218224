"""The sparse path is the dense one from the floor up, on any matrix, ties and all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import dtstat as dt
from dtstat.dependence.sparse import SparseDependence


def symmetric(p):
    """Matrices whose entries take few values, so that ties are everywhere, or many."""
    entries = st.one_of(
        st.sampled_from([-0.8, -0.4, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0]), st.floats(-1, 1, width=32)
    )
    return npst.arrays(float, (p, p), elements=entries).map(_symmetric)


def _symmetric(values):
    upper = np.triu(values, 1)
    return upper + upper.T + np.eye(len(values))


def above(R, floor):
    """Pairs of a matrix above a floor, in two parts and out of order."""
    i, j = np.nonzero(np.triu(np.abs(R) > floor, 1))
    parts = [slice(1, None, 2), slice(0, None, 2)]
    edges = [(i[at].astype(np.int32), j[at].astype(np.int32), R[i[at], j[at]]) for at in parts]
    names = tuple(f"x{k + 1}" for k in range(len(R)))
    return SparseDependence.from_edges(names, "pearson", 100, floor, edges)


def bars_from(path, floor):
    """Cliques that live above the floor: members, unique members, birth seen and death."""
    return {
        (bar.items, bar.unique_members, max(bar.birth, floor), bar.death)
        for bar in path.barcode()
        if bar.death > floor
    }


def steps_from(path, floor):
    rows = path.steps().itertuples(index=False)
    return [(max(low, floor), high, *counts) for low, high, *counts in rows if high > floor]


@settings(max_examples=300)
@given(st.integers(2, 9).flatmap(symmetric), st.sampled_from([0.0, 0.2, 0.4, 0.5, 0.8]))
def test_the_path_from_the_floor_up(R, floor):
    sparse, dense = (
        dt.solution_path(above(R, floor), min_children=2),
        dt.solution_path(dt.DependenceMatrix.from_matrix(R), min_children=2),
    )
    assert bars_from(sparse, floor) == bars_from(dense, floor)
    assert steps_from(sparse, floor) == steps_from(dense, floor)
    for threshold in {floor, 0.4, 0.6, 0.8, 1.0}:
        if threshold >= floor:
            one, other = sparse.at(threshold), dense.at(threshold)
            assert np.array_equal(one.support, other.support)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_two_thousand_items(n_jobs):
    rng = np.random.default_rng(3)
    factor = np.arange(2000) % 200
    X = 0.75 * rng.normal(size=(500, 200))[:, factor] + 0.66 * rng.normal(size=(500, 2000))
    sparse = dt.solution_path(X, floor="chance", n_jobs=n_jobs)
    dense = dt.solution_path(X)
    floor = sparse.dependence.floor
    assert 0.1 < floor < 0.2
    assert len(sparse) > 1000
    assert bars_from(sparse, floor) == bars_from(dense, floor)
    assert steps_from(sparse, floor) == steps_from(dense, floor)


def test_below_the_floor_nothing_is_said():
    path = dt.solution_path(above(_symmetric(np.full((5, 5), 0.6)), 0.3))
    assert path.at(0.3).n_factors == 1
    with pytest.raises(dt.InputError, match=r"`threshold` must be at least 0\.3; got 0\.29"):
        path.at(0.29)
