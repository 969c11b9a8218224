import numpy as np
import pytest

from dtstat.core.errors import InputError
from dtstat.simulation.designs import (
    independent_clusters,
    with_cross_loadings,
    without_unique_children,
)
from dtstat.structure.structure import Structure

SEEDS = range(20)


def unique_counts(support):
    structure = Structure(support)
    return np.array([len(structure.unique_children(k)) for k in range(structure.n_factors)])


def test_independent_clusters():
    np.testing.assert_array_equal(
        independent_clusters(2, 3), [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    )


@pytest.mark.parametrize("second_parent", ["own", "shared"])
@pytest.mark.parametrize("seed", SEEDS)
def test_exactly_the_violating_factors_lose_their_unique_children(second_parent, seed):
    clusters = independent_clusters(10, 6)
    A = without_unique_children(clusters, 0.4, second_parent, np.random.default_rng(seed))
    counts = unique_counts(A)
    assert sorted(counts) == [0] * 4 + [6] * 6
    assert A[clusters].all()
    expected_parents = np.where(counts[clusters.argmax(axis=1)] == 0, 2, 1)
    np.testing.assert_array_equal(A.sum(axis=1), expected_parents)


def second_parents(A, clusters, factor):
    return (A & ~clusters)[clusters[:, factor]].argmax(axis=1)


def test_own_second_parents_differ_and_shared_ones_do_not():
    clusters = independent_clusters(20, 15)
    for second_parent, expected in (("own", False), ("shared", True)):
        A = without_unique_children(clusters, 0.2, second_parent, np.random.default_rng(1))
        for factor in np.flatnonzero(unique_counts(A) == 0):
            parents = second_parents(A, clusters, factor)
            assert (len(set(parents)) == 1) is expected


def test_second_parents_are_uniform_over_the_other_factors():
    clusters = independent_clusters(4, 30_000)
    A = without_unique_children(clusters, 0.25, "own", np.random.default_rng(2))
    (factor,) = np.flatnonzero(A[clusters.any(axis=1)].sum(axis=0) == 30_000)
    counts = np.bincount(second_parents(A, clusters, factor), minlength=4)
    assert counts[factor] == 0
    others = np.delete(counts, factor)
    # Binomial(30000, 1/3) has standard deviation 82; 4.5 of them.
    assert (np.abs(others - 10_000) < 370).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_cross_loadings_come_from_different_factors(seed):
    A = with_cross_loadings(independent_clusters(5, 3), 5, np.random.default_rng(seed))
    assert A.sum() == 15 + 5
    assert A.sum(axis=1).max() == 2
    np.testing.assert_array_equal(unique_counts(A), [2] * 5)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_unique_child_is_never_taken(seed):
    A = with_cross_loadings(independent_clusters(4, 3), 8, np.random.default_rng(seed))
    np.testing.assert_array_equal(unique_counts(A), [1] * 4)
    assert Structure(A).satisfies_ucc


def test_too_many_cross_loadings():
    with pytest.raises(InputError) as caught:
        with_cross_loadings(independent_clusters(4, 3), 9, np.random.default_rng(0))
    assert str(caught.value) == (
        "`cross_loadings` must be at most 8 here, so that no factor loses its last unique "
        "child; got 9. Raise `items_per_factor` or lower `violating`."
    )
