"""Margins against double loops, and local margins against the barcode."""

import itertools

import numpy as np
import pytest

from dtstat.core.errors import InputError
from dtstat.structure.barcode import barcode
from dtstat.structure.margin import local_margin, margin_values, structure_margin
from dtstat.structure.structure import Structure

SEEDS = range(60)


def random_strength(rng, p):
    S = np.triu(rng.uniform(0, 1, (p, p)), 1)
    return S + S.T + np.eye(p)


def random_support(rng, p, d):
    """Overlaps, items of no factor, and a factor of a single item."""
    A = rng.uniform(size=(p, d)) < rng.uniform(0.15, 0.6)
    A[rng.integers(p)] = False
    for k in range(d):
        A[rng.integers(p), k] = True
    A[rng.choice(p, 2, replace=False), 0] = True
    if d > 1:
        A[:, -1] = False
        A[rng.integers(p), -1] = True
    return A


def plain_margin(S, A):
    """(γ, weakest edge, strongest non-edge or None), pair by pair."""
    edges, others = [], []
    for i, j in itertools.combinations(range(len(S)), 2):
        shared = any(A[i, k] and A[j, k] for k in range(A.shape[1]))
        (edges if shared else others).append((S[i, j], i, j))
    weakest, strongest = min(edges), max(others, default=None)
    return (weakest[0] - (strongest[0] if strongest else 0)) / 2, weakest, strongest


def plain_local(S, C):
    """½ [w(C) − o(C)] of a list of items."""
    w = min((S[i, j] for i in C for j in C if i < j), default=1.0)
    outside = [v for v in range(len(S)) if v not in C]
    o = min(max((S[u, v] for v in outside), default=0.0) for u in C)
    return (w - o) / 2, w, o


@pytest.mark.parametrize("seed", SEEDS)
def test_same_as_double_loops(seed):
    rng = np.random.default_rng(seed)
    p, d = int(rng.integers(4, 12)), int(rng.integers(1, 5))
    S, A = random_strength(rng, p), random_support(rng, p, d)
    structure = Structure(A)
    found = structure_margin(S, structure, "kendall")
    value, weakest, strongest = plain_margin(S, A)
    names = structure.item_names
    assert found.value == value
    assert found.satisfied == (value > 0)
    edge = found.weakest_edge
    assert (edge.value, edge.first, edge.second) == (
        weakest[0],
        names[weakest[1]],
        names[weakest[2]],
    )
    if strongest is None:
        assert found.strongest_non_edge is None
    else:
        other = found.strongest_non_edge
        assert (other.value, {other.first, other.second}) == (
            strongest[0],
            {names[strongest[1]], names[strongest[2]]},
        )
    whole, local = margin_values(S, A)
    assert whole == value
    for k, one in enumerate(found.factors):
        C = np.flatnonzero(A[:, k]).tolist()
        gamma, w, o = plain_local(S, C)
        assert one.value == local[k] == local_margin(S, A[:, k]) == gamma
        assert one.items == tuple(names[i] for i in C)
        assert (one.weakest is None) == (len(C) == 1)
        if one.weakest is not None:
            assert one.weakest.value == w
            assert {one.weakest.first, one.weakest.second} <= set(one.items)
        if one.outside is not None:
            assert one.outside.value == o
            assert one.outside.first in one.items
            assert one.outside.second not in one.items


@pytest.mark.parametrize("seed", SEEDS)
def test_cliques_of_the_path_have_half_their_persistence(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(4, 14))
    S = random_strength(rng, p)
    names = tuple(f"x{i + 1}" for i in range(p))
    bars = barcode(S, names, 2)
    assert len(bars) > 0
    on_path = {row.tobytes() for row in bars.members}
    for members, persistence in zip(bars.members, bars.persistence, strict=True):
        assert local_margin(S, members) == pytest.approx(persistence / 2, abs=1e-15)
    for _ in range(30):  # other sets are never seen, so their margin is not positive
        members = rng.uniform(size=p) < 0.4
        if members.sum() >= 2 and members.tobytes() not in on_path:
            assert local_margin(S, members) <= 0


@pytest.mark.parametrize("seed", SEEDS)
def test_local_margins_are_no_smaller_under_unique_children(seed):
    rng = np.random.default_rng(seed)
    p, d = int(rng.integers(6, 15)), int(rng.integers(1, 5))
    A = rng.uniform(size=(p, d)) < 0.3
    A[:d] = np.eye(d, dtype=bool)  # unique children
    A[d] = A[0]  # at least one edge
    E = (A.astype(int) @ A.T.astype(int)) > 0
    low = rng.uniform(0.05, 0.5)
    S = np.where(E, rng.uniform(low + 0.02, 1, (p, p)), rng.uniform(0, low, (p, p)))
    S = np.triu(S, 1)
    S = S + S.T + np.eye(p)
    structure = Structure(A)
    assert structure.satisfies_ucc
    found = structure_margin(S, structure, "pearson")
    assert found.satisfied
    assert all(one.value >= found.value for one in found.factors)


def test_without_unique_children_a_local_margin_may_be_smaller():
    """The condition is needed: F3 = {1, 2, 3} is inside the union of the others."""
    A = np.array([[1, 0, 0], [1, 0, 1], [1, 1, 1], [0, 1, 1], [0, 1, 0]], dtype=bool)
    E = (A.astype(int) @ A.T.astype(int)) > 0
    S = np.where(E, 0.8, 0.2)
    np.fill_diagonal(S, 1)
    found = structure_margin(S, Structure(A), "pearson")
    assert found.value == pytest.approx(0.3)
    assert found.factors[2].value == pytest.approx(0)


def test_no_pair_shares_a_factor():
    with pytest.raises(InputError, match="at least two items"):
        structure_margin(np.eye(3), Structure(np.eye(3, dtype=bool)), "kendall")


def test_one_factor_of_all_items():
    S = np.full((3, 3), 0.4) + 0.6 * np.eye(3)
    found = structure_margin(S, Structure(np.ones((3, 1), dtype=bool)), "kendall")
    assert found.value == pytest.approx(0.2)
    assert found.strongest_non_edge is None
    assert found.factors[0].outside is None
    assert found.verdict.startswith("satisfied")
    assert found.to_frame().loc[0, ["from", "to", "outside"]].tolist() == [0.0, 0.4, ""]


def test_words_and_frame():
    S = np.eye(4)
    S[0, 1] = S[1, 0] = 0.5
    S[2, 3] = S[3, 2] = 0.3
    S[1, 2] = S[2, 1] = 0.4
    structure = Structure.from_keys({"A": ["a", "b"], "B": ["c", "d"]})
    found = structure_margin(S, structure, "kendall")
    assert found.value == pytest.approx(-0.05)
    assert found.verdict == (
        "violated: c–d (0.30) within a factor is weaker than b–c (0.40) between factors"
    )
    frame = found.to_frame()
    assert frame["margin"].tolist() == pytest.approx([0.25, 0.15])  # a and d have no ties outside
    assert frame["from"].tolist() == [0.0, 0.0]
    assert frame["to"].tolist() == [0.5, 0.3]
    assert frame["weakest_within"].tolist() == ["a–b", "c–d"]


def test_equal_dependences_are_not_separated():
    S = np.full((4, 4), 0.3)
    np.fill_diagonal(S, 1)
    structure = Structure.from_keys({"A": ["a", "b"], "B": ["c", "d"]})
    found = structure_margin(S, structure, "kendall")
    assert found.value == 0
    assert not found.satisfied
    assert found.verdict.startswith("violated")


# --- what a margin does not say -----------------------------------------------------------------


def correlations(loadings, between):
    R = loadings @ between @ loadings.T
    np.fill_diagonal(R, 1.0)
    return R


def test_one_matrix_is_thresholdable_for_two_structures():
    """One factor, or two correlated ones: the same correlations, each with unique children."""
    a, b, c = 0.75**0.5, 0.48**0.5, (1 / 3) ** 0.5
    one = correlations(np.array([[a], [b], [c]]), np.eye(1))
    phi = c / 0.8
    pair = np.array([[a, 0], [b, 0], [0, 0.8]])
    two = correlations(pair, np.array([[1, phi], [phi, 1]]))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one[np.triu_indices(3, 1)], [0.6, 0.5, 0.4], rtol=0, atol=1e-12)
    assert phi < 1
    for A, gamma in ((np.ones((3, 1)), 0.2), (pair != 0, 0.05)):
        structure = Structure(A)
        assert structure.satisfies_ucc
        assert structure_margin(np.abs(one), structure, "pearson").value == pytest.approx(gamma)


def test_clusters_are_thresholdable_as_one_factor_too():
    """Within .5, between .3: below .3 all items are one clique."""
    S = np.kron(np.eye(2), np.full((3, 3), 0.2)) + 0.3
    np.fill_diagonal(S, 1.0)
    apart = Structure(np.kron(np.eye(2), np.ones((3, 1))))
    assert structure_margin(S, apart, "pearson").value == pytest.approx(0.1)
    together = Structure(np.ones((6, 1)))
    assert structure_margin(S, together, "pearson").value == pytest.approx(0.15)


def test_errors_below_the_margin_are_harmless_in_the_middle_of_the_gap_only():
    """Lemma 2 is for τ₀ in the middle: elsewhere an error of less than γ can add an edge."""
    rng = np.random.default_rng(1)
    structure = Structure(np.kron(np.eye(2), np.ones((3, 1))))
    E = structure.parent_sharing_graph()
    rho = np.where(E, 0.5, 0.3)
    gamma = structure_margin(rho, structure, "pearson").value
    missed_elsewhere = 0
    for _ in range(200):
        error = np.triu(rng.uniform(-1, 1, E.shape), 1) * gamma * 0.999
        r = rho + error + error.T
        off_diagonal = ~np.eye(6, dtype=bool)
        assert np.array_equal((r > 0.4) & off_diagonal, E)
        missed_elsewhere += not np.array_equal((r > 0.32) & off_diagonal, E)
    assert missed_elsewhere > 190
