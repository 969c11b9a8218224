"""Rounds in which factors are found, against the condition read literally, with networkx."""

import networkx as nx
import numpy as np
import pytest

from dtstat.structure import Structure
from dtstat.structure.sequential import explaining_rounds

N_SUPPORTS = 600


def independent_cliques(G):
    """Definition 2: maximal cliques that are not inside the union of the others."""
    cliques = [frozenset(c) for c in nx.find_cliques(G)]
    return [
        c
        for c in cliques
        if not c <= frozenset().union(*(other for other in cliques if other != c))
    ]


def parent_sharing(children):
    """Graph of the items that have a parent; joined if they share one."""
    G = nx.Graph()
    for items in children.values():
        G.add_nodes_from(items)
        G.add_edges_from((i, j) for i in items for j in items if i < j)
    return G


def plain_rounds(support):
    """The condition, round by round on sets."""
    children = {k: frozenset(np.flatnonzero(column)) for k, column in enumerate(support.T)}
    rounds = []
    while children:
        owners = [
            [k for k, items in children.items() if items == clique]
            for clique in independent_cliques(parent_sharing(children))
        ]
        if not owners or any(len(of_one) != 1 for of_one in owners):
            return None
        found = sorted(of_one[0] for of_one in owners)
        if len(found) < len(children):
            for k in found:
                others = frozenset().union(*(s for j, s in children.items() if j != k))
                if len(children[k] - others) < 2:
                    return None
        rounds.append(found)
        children = {k: items for k, items in children.items() if k not in found}
    return rounds


def random_support(rng):
    """Factors with items of their own, some of which get further parents, or all from before."""
    d = int(rng.integers(1, 6))
    own = np.repeat(np.arange(d), rng.integers(1, 5, d))
    A = own[:, None] == np.arange(d)
    if rng.random() < 0.5:
        A[np.arange(len(own)), np.maximum(own - rng.integers(1, 3, len(own)), 0)] = True
        return A[rng.permutation(len(A))]
    A |= (rng.random(A.shape) < rng.uniform(0.02, 0.4)) & (rng.random(d) < 0.6)[own][:, None]
    return A[rng.permutation(len(A))]


def test_same_as_the_condition_read_literally():
    rng = np.random.default_rng(1)
    lengths = []
    for _ in range(N_SUPPORTS):
        A = random_support(rng)
        expected = plain_rounds(A)
        found = explaining_rounds(A)
        assert (None if found is None else [one.tolist() for one in found]) == expected, A
        lengths.append(0 if expected is None else len(expected))
    # Every kind of answer must be among them.
    assert min(np.bincount(lengths, minlength=4)[:4]) >= 5


@pytest.mark.parametrize("seed", range(20))
def test_order_of_items_and_factors_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    A = random_support(rng)
    order = rng.permutation(A.shape[1])
    found = explaining_rounds(A)
    other = explaining_rounds(A[rng.permutation(len(A))][:, order])
    assert (found is None) == (other is None)
    if found is not None:
        assert [sorted(order[one]) for one in other] == [one.tolist() for one in found]


@pytest.mark.parametrize("seed", range(20))
def test_plain_unique_children_take_one_round(seed):
    """Condition 1, without second parents so common that they make a clique of their own."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    A = np.repeat(np.eye(d, dtype=bool), 3, axis=0)
    A = np.vstack([A, rng.random((4, d)) < 0.4])
    structure = Structure(A)
    assert structure.satisfies_ucc
    assert structure.explaining_order() == (structure.factor_names,)
