"""The exact path against brute force: every maximal clique by networkx, then Definition 2."""

import itertools

import networkx as nx
import numpy as np
import pytest

from dtstat.structure.barcode import barcode
from dtstat.structure.cliques import independent_maximal_cliques
from dtstat.structure.path import candidates
from dtstat.structure.structure import Structure

N_GRAPHS = 2000
N_MATRICES = 400  # each is checked at all of its thresholds: some ten thousand graphs
N_STRUCTURES = 500


def definition_2(E):
    """Independent maximal cliques, literally: those not inside the union of the others."""
    cliques = [frozenset(c) for c in nx.find_cliques(nx.from_numpy_array(E))]
    return {
        c
        for c in cliques
        if not c <= frozenset().union(*(other for other in cliques if other != c))
    }


def child_sets(structure):
    return {frozenset(np.flatnonzero(column)) for column in structure.support.T}


def random_matrix(rng):
    """Symmetric matrix, from smooth to nearly all ties, from noise to clear blocks."""
    p = int(rng.integers(2, 11))
    R = rng.uniform(-1, 1, size=(p, p))
    if rng.random() < 0.5:
        block = rng.integers(0, 3, size=p)
        R = np.where(block[:, None] == block, 0.5 + R / 2, R / 2)
    if rng.random() < 0.6:
        R = np.round(R * (levels := rng.integers(1, 9))) / levels
    R = np.triu(R, 1)
    return R + R.T + np.eye(p)


@pytest.mark.parametrize("seed", range(10))
def test_cliques_of_random_graphs(seed):
    rng = np.random.default_rng(seed)
    for _ in range(N_GRAPHS // 10):
        p = int(rng.integers(1, 13))
        E = np.triu(rng.random((p, p)) < rng.random(), 1)
        E = E | E.T
        assert child_sets(independent_maximal_cliques(E, min_children=1)) == definition_2(E)


@pytest.mark.parametrize("seed", range(10))
def test_path_at_every_threshold(seed):
    rng = np.random.default_rng(100 + seed)
    for _ in range(N_MATRICES // 10):
        R = random_matrix(rng)
        bars = barcode(R, tuple(map(str, range(len(R)))), min_children=2)
        values = np.unique(np.abs(R[np.triu_indices(len(R), 1)]))
        between = (values[:-1] + values[1:]) / 2
        for tau in np.unique([0.0, *values[values < 1], *between]):
            E = np.abs(R) > tau
            np.fill_diagonal(E, False)
            expected = {c for c in definition_2(E) if len(c) > 1}
            assert child_sets(bars.at(tau)) == expected, (R, tau)


@pytest.mark.parametrize("seed", range(10))
def test_closed_form_of_every_bar(seed):
    """Birth and death are o(C) and w(C), unique members those u whose own o is below w(C)."""
    rng = np.random.default_rng(200 + seed)
    for _ in range(N_MATRICES // 10):
        R = random_matrix(rng)
        p = len(R)
        strength = np.abs(R)
        bars = barcode(R, tuple(map(str, range(p))), min_children=2)
        found = {}
        for i in range(len(bars)):
            found[frozenset(np.flatnonzero(bars.members[i]))] = i
        assert len(found) == len(bars)
        for size in range(2, p + 1):
            for C in itertools.combinations(range(p), size):
                outside = [v for v in range(p) if v not in C]
                w = min(strength[i, j] for i, j in itertools.combinations(C, 2))
                o_u = {u: max((strength[u, v] for v in outside), default=0.0) for u in C}
                assert (min(o_u.values()) < w) == (frozenset(C) in found)
                if frozenset(C) in found:
                    i = found[frozenset(C)]
                    assert (bars.births[i], bars.deaths[i]) == (min(o_u.values()), w)
                    assert set(np.flatnonzero(bars.unique_members[i])) == {
                        u for u in C if o_u[u] < w
                    }


@pytest.mark.parametrize("min_children", [2, 3])
def test_candidates_are_the_distinct_structures(min_children):
    rng = np.random.default_rng(300 + min_children)
    for _ in range(100):
        R = random_matrix(rng)
        bars = barcode(R, tuple(map(str, range(len(R)))), min_children)
        seen = {}
        for tau in np.unique(np.append(np.abs(R[np.triu_indices(len(R), 1)]), 0.0)):
            if (structure := bars.at(tau)).n_factors:
                seen.setdefault(structure, set()).add(tau)
        found = candidates(bars)
        assert [c.tau_low for c in found] == sorted(c.tau_low for c in found)
        assert len(found) == len(seen)
        assert {c.structure for c in found} == set(seen)
        for c in found:
            assert (c.n_factors, c.n_edges) == (c.structure.n_factors, c.structure.n_edges)
            assert {low for low, _ in c.intervals} <= seen[c.structure]
            for tau in seen[c.structure]:
                assert sum(low <= tau < high for low, high in c.intervals) == 1


def test_a_structure_may_return():
    """The pair d–e lives only on [.3, .4), inside the life of the triangle a–b–c."""
    R = np.zeros((5, 5))
    for i, j, r in [(0, 1, 0.5), (0, 2, 0.5), (1, 2, 0.5), (3, 4, 0.4), (0, 3, 0.3), (1, 4, 0.3)]:
        R[i, j] = R[j, i] = r
    with_pair, without = candidates(barcode(R, tuple("abcde"), min_children=2))[::-1]
    assert without.structure == Structure.from_keys({"F": [*"abc"]}, item_names="abcde")
    assert without.intervals == ((0.0, 0.3), (0.4, 0.5))
    assert (without.tau_low, without.tau_high) == (0.0, 0.3)
    assert with_pair.intervals == ((0.3, 0.4),)


@pytest.mark.parametrize("seed", range(10))
def test_lemma_1_graph_determines_structure(seed):
    """ψ(E₀) = A₀ for every structure with unique children (Lemma 1)."""
    rng = np.random.default_rng(400 + seed)
    checked = 0
    while checked < N_STRUCTURES // 10:
        p, d = int(rng.integers(2, 30)), int(rng.integers(1, 8))
        A = rng.random((p, d)) < rng.uniform(0.1, 0.6)
        A[np.arange(p), rng.integers(0, d, size=p)] = True
        truth = Structure(A[:, A.any(axis=0)])
        if truth.satisfies_ucc:
            checked += 1
            E0 = truth.parent_sharing_graph()
            assert independent_maximal_cliques(E0, min_children=1) == truth


def test_without_unique_children_the_graph_does_not_determine_the_structure():
    """Three factors on the sides of a triangle share parents as one factor on all three does."""
    sides = Structure([[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    assert not sides.satisfies_ucc
    assert independent_maximal_cliques(sides.parent_sharing_graph()) == Structure([[1], [1], [1]])
