"""Factors that are lost without an item, by the cliques of the graph without it."""

import numpy as np
import pytest

from dtstat.structure.cliques import independent_maximal_cliques
from dtstat.structure.structure import Structure
from dtstat.trust.unique_child import _lost_without, audit


def readable(A, kept):
    """Whether each factor, as far as it is left, is an independent maximal clique."""
    E = (A.astype(int) @ A.T.astype(int) > 0)[np.ix_(kept, kept)]
    np.fill_diagonal(E, False)
    seen = independent_maximal_cliques(E, min_children=1) if len(kept) else None
    sets = set() if seen is None else {tuple(column) for column in seen.support.T.tolist()}
    return [tuple(A[kept, k].tolist()) in sets for k in range(A.shape[1])]


def lost_by_cliques(A, names, i):
    p = len(A)
    before = readable(A, np.arange(p))
    after = readable(A, np.delete(np.arange(p), i))
    return tuple(name for k, name in enumerate(names) if before[k] and not after[k])


def random_structure(rng):
    p, d = int(rng.integers(2, 14)), int(rng.integers(1, 7))
    while True:
        A = rng.uniform(size=(p, d)) < rng.choice([0.15, 0.3, 0.5])
        if A.any(axis=0).all():
            return A


@pytest.mark.parametrize("seed", range(100))
def test_lost_factors_by_the_cliques_that_are_left(seed):
    """With and without unique children, factors overlapping or inside each other."""
    A = random_structure(np.random.default_rng(seed))
    structure = Structure(A)
    closed = structure.parent_sharing_graph() | np.eye(len(A), dtype=bool)
    for i in range(len(A)):
        expected = lost_by_cliques(A, structure.factor_names, i)
        assert _lost_without(structure, closed, i) == expected


def test_the_structures_are_of_all_kinds():
    counts = {"lost": 0, "kept": 0, "hidden": 0, "overlapping": 0}
    for seed in range(100):
        A = random_structure(np.random.default_rng(seed))
        names = Structure(A).factor_names
        for i in range(len(A)):
            counts["lost" if lost_by_cliques(A, names, i) else "kept"] += 1
        counts["hidden"] += not all(readable(A, np.arange(len(A))))
        counts["overlapping"] += bool((A.sum(axis=1) > 1).any())
    assert min(counts.values()) > 30, counts


def test_the_audit_says_the_same():
    A = random_structure(np.random.default_rng(5))
    structure = Structure(A)
    S = np.ones((len(A), len(A)))
    found = audit(structure, S, np.zeros(A.shape[1]), np.zeros(len(A), dtype=bool))
    expected = [lost_by_cliques(A, structure.factor_names, i) for i in range(len(A))]
    assert found.dropping["lost"].tolist() == expected
