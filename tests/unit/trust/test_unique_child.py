"""Probability of the unique child condition, and the audit, by brute force."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dtstat.core.errors import InputError
from dtstat.structure.structure import Structure
from dtstat.trust.unique_child import audit, ucc_probability

GRID = list(
    itertools.product([1, 2, 5, 12, 30, 80], [1, 2, 3, 5, 8, 15], [0.01, 0.1, 0.3, 0.5, 0.8, 0.99])
)


def by_inclusion_exclusion(p, d, alpha):
    """Σ (−1)^k C(d, k) (1 − kq)^p, in fractions."""
    a = Fraction(alpha)
    q = a * (1 - a) ** (d - 1) / (1 - (1 - a) ** d)
    return sum((-1) ** k * math.comb(d, k) * (1 - k * q) ** p for k in range(d + 1))


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_exact_is_inclusion_and_exclusion(d):
    for p, alpha in itertools.product([1, 2, 4, 10, 25], [0.01, 0.1, 0.25, 0.5, 0.9]):
        exact = float(by_inclusion_exclusion(p, d, alpha))
        assert ucc_probability(p, d, alpha) == pytest.approx(exact, rel=1e-9, abs=1e-300)


def test_exact_by_listing_all_graphs():
    """All bipartite graphs of 3 items and 2 factors in which every item has a parent."""
    p, d, a = 3, 2, Fraction(1, 4)
    rows = [row for row in itertools.product((0, 1), repeat=d) if any(row)]
    holds, total = Fraction(0), Fraction(0)
    for graph in itertools.product(rows, repeat=p):
        ones = sum(map(sum, graph))
        weight = a**ones * (1 - a) ** (p * d - ones)
        total += weight
        unique = {row.index(1) for row in graph if sum(row) == 1}
        holds += weight * (len(unique) == d)
    assert ucc_probability(p, d, 0.25) == pytest.approx(float(holds / total), rel=1e-12)


@pytest.mark.parametrize(("p", "d", "alpha"), [(25, 5, 0.2), (10, 3, 0.4), (60, 10, 0.1)])
def test_exact_is_inside_the_interval_of_random_graphs(p, d, alpha):
    rng = np.random.default_rng(p)
    draws = 4000
    held = 0
    for _ in range(draws):
        A = rng.uniform(size=(p, d)) < alpha
        while (empty := ~A.any(axis=1)).any():
            A[empty] = rng.uniform(size=(empty.sum(), d)) < alpha
        held += A[A.sum(axis=1) == 1].any(axis=0).all()
    exact = ucc_probability(p, d, alpha)
    interval = stats.binomtest(int(held), draws).proportion_ci(0.9999)
    assert interval.low <= exact <= interval.high
    assert 0.05 < exact < 0.999


def test_exact_is_above_the_papers_bound():
    informative = 0
    for p, d, alpha in GRID:
        exact, bound = ucc_probability(p, d, alpha), ucc_probability(p, d, alpha, "bound")
        by_hand = max(0, 1 - d * math.exp(-p * alpha * (1 - alpha) ** d))
        assert bound == pytest.approx(by_hand, rel=1e-9, abs=1e-12)
        assert 0 <= bound <= exact <= 1
        informative += bound > 0
    assert informative > 10


def test_sparse_form_holds_where_it_is_given_and_is_refused_elsewhere():
    given = refused = 0
    for p, d, alpha in GRID:
        c = alpha * d
        if (1 - alpha) ** d >= math.exp(-c) / 2:
            found = ucc_probability(p, d, alpha, "sparse")
            c1 = c * math.exp(-c) / 2
            by_hand = max(0, 1 - d * math.exp(-c1 * p / d))
            assert found == pytest.approx(by_hand, rel=1e-9, abs=1e-12)
            assert found <= ucc_probability(p, d, alpha, "bound") + 1e-15
            assert found <= ucc_probability(p, d, alpha)
            given += 1
        else:
            with pytest.raises(InputError, match="sparse") as caught:
                ucc_probability(p, d, alpha, "sparse")
            assert caught.value.argument == "form"
            refused += 1
    assert given > 50
    assert refused > 50
    assert ucc_probability(2000, 10, 0.1, "sparse") > 0.9


def test_one_factor_and_fewer_items_than_factors():
    assert ucc_probability(1, 1, 0.3) == 1
    assert ucc_probability(4, 5, 0.1) == 0


@pytest.mark.parametrize("alpha", [1e-12, 1 - 1e-12])
def test_extreme_probabilities_stay_between_0_and_1(alpha):
    for p, d in [(1, 1), (50, 4), (2000, 40)]:
        assert 0 <= ucc_probability(p, d, alpha) <= 1
    if alpha < 0.5:  # every item has one parent: q = 1/d, the coupon collector
        coupons = float(
            sum((-1) ** k * math.comb(4, k) * Fraction(4 - k, 4) ** 20 for k in range(5))
        )
        assert ucc_probability(20, 4, alpha) == pytest.approx(coupons, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0, 3, 0.5), "p"),
        ((-1, 3, 0.5), "p"),
        ((2.5, 3, 0.5), "p"),
        (("9", 3, 0.5), "p"),
        ((9, 0, 0.5), "d"),
        ((9, None, 0.5), "d"),
        ((9, 3, 0), "alpha"),
        ((9, 3, 1), "alpha"),
        ((9, 3, -0.1), "alpha"),
        ((9, 3, math.nan), "alpha"),
        ((9, 3, "0.5"), "alpha"),
        ((9, 3, 0.5, "rough"), "form"),
        ((9, 3, 0.5, None), "form"),
    ],
)
@pytest.mark.parametrize("form", ["exact", "bound", "sparse"])
def test_bad_input(arguments, name, form):
    if len(arguments) == 3:
        arguments = (*arguments, form)
    with pytest.raises(InputError, match=f"`{name}`") as caught:
        ucc_probability(*arguments)
    assert caught.value.argument == name


# audit


def imcs_by_brute_force(E):
    """Independent maximal cliques of a graph by Definition 2, over all subsets."""
    p = len(E)
    cliques = [
        set(C)
        for size in range(1, p + 1)
        for C in itertools.combinations(range(p), size)
        if all(E[i][j] for i, j in itertools.combinations(C, 2))
    ]
    maximal = [C for C in cliques if not any(other > C for other in cliques)]
    found = []
    for C in maximal:
        others = set().union(*(other for other in maximal if other != C))
        if not others >= C:
            found.append(frozenset(C))
    return set(found)


def sharing_graph(A):
    return (A.astype(int) @ A.T.astype(int)) > 0


def factor_sets(A, items):
    return [frozenset(i for i in items if A[i, k]) for k in range(A.shape[1])]


def readable(A, items):
    """Which factors can be read off the graph of some items, factor by factor."""
    items = list(items)
    E = sharing_graph(A)[np.ix_(items, items)]
    seen = {frozenset(items[v] for v in C) for C in imcs_by_brute_force(E)}
    return [C in seen for C in factor_sets(A, items)]


def plain_local(S, A, k, items):
    C = [i for i in items if A[i, k]]
    w = min((S[i, j] for i in C for j in C if i < j), default=1.0)
    outside = [v for v in items if v not in C]
    o = min((max((S[u, v] for v in outside), default=0.0) for u in C), default=1.0)
    return (w - o) / 2


def random_strength(rng, p):
    S = np.triu(rng.uniform(0, 1, (p, p)), 1)
    return S + S.T + np.eye(p)


def run_audit(A, S=None, tau=0.3, loose=None):
    p, d = A.shape
    S = random_strength(np.random.default_rng(0), p) if S is None else S
    loose = np.zeros(p, dtype=bool) if loose is None else loose
    return audit(Structure(A), S, np.full(d, tau), loose)


def random_structure(rng, ucc):
    p, d = int(rng.integers(4, 8)), int(rng.integers(1 if ucc else 2, 4))  # one factor always has
    while True:
        A = rng.uniform(size=(p, d)) < 0.4
        unique = A[A.sum(axis=1) == 1].any(axis=0)
        if A.any(axis=0).all() and unique.all() == ucc:
            return A


@pytest.mark.parametrize("seed", range(40))
def test_dropping_an_item_by_brute_force(seed):
    """With unique children all factors are read; what is not, without an item, is lost."""
    rng = np.random.default_rng(seed)
    A = random_structure(rng, ucc=True)
    p = len(A)
    S = random_strength(rng, p)
    found = run_audit(A, S)
    names = Structure(A).factor_names
    assert found.satisfied
    assert all(readable(A, range(p)))
    fragile = []
    for i, row in enumerate(found.dropping.itertuples()):
        others = [j for j in range(p) if j != i]
        lost = [names[k] for k, seen in enumerate(readable(A, others)) if not seen]
        assert list(row.lost) == lost
        assert row.unique_child == (A[i].sum() == 1)
        assert list(row.factors) == [names[k] for k in np.flatnonzero(A[i])]
        left = factor_sets(A, others)
        into = [
            names[j]
            for name in lost
            for j in range(A.shape[1])
            if names[j] != name and left[names.index(name)] <= left[j]
        ]
        assert list(row.merged_into) == list(dict.fromkeys(into))
        change = [
            plain_local(S, A, k, others) - plain_local(S, A, k, range(p))
            for k in np.flatnonzero(A[i])
        ]
        assert row.margin_change == pytest.approx(min(change, default=0.0), abs=1e-12)
        if lost:
            fragile.append(row.item)
    assert found.fragile == tuple(fragile)


@pytest.mark.parametrize("seed", range(20))
def test_factors_by_hand(seed):
    A = random_structure(np.random.default_rng(seed), ucc=bool(seed % 2))
    found = run_audit(A)
    unique = [
        [f"x{i + 1}" for i in range(len(A)) if A[i, k] and A[i].sum() == 1]
        for k in range(A.shape[1])
    ]
    assert found.factors["n_unique"].tolist() == [len(items) for items in unique]
    assert found.factors["unique_children"].tolist() == [tuple(items) for items in unique]
    assert found.factors["n_items"].tolist() == A.sum(axis=0).tolist()
    assert found.satisfied == bool(seed % 2)
    assert ("holds" in repr(found)) == found.satisfied


def test_a_factor_that_was_never_seen_is_not_lost_with_an_unrelated_item():
    """F3 = {2, 3} has no unique child, so it is hidden with or without item 6 of F4."""
    A = np.zeros((8, 4), dtype=bool)
    for k, items in enumerate([(0, 1, 2), (2, 3, 4), (1, 3), (5, 6, 7)]):
        A[list(items), k] = True
    assert readable(A, range(8))[2] is False
    found = run_audit(A)
    assert not found.satisfied
    assert "x7" not in found.fragile  # F4 has two other unique children


def test_loose_items_by_hand():
    """Item 4 is attached to A, item 5 to nothing; the core of A is items 1 to 3."""
    S = np.eye(5)
    S[3, :3] = S[:3, 3] = [0.5, 0.2, 0.4]
    S[4, :3] = S[:3, 4] = [0.1, 0.3, 0.35]
    A = np.array([[1], [1], [1], [1], [0]], dtype=bool)
    loose = np.array([False, False, False, True, True])
    rows = run_audit(A, S, 0.3, loose).outside.to_dict("records")
    assert [row["item"] for row in rows] == ["x4", "x5"]
    assert [row["own"] for row in rows] == [True, False]
    assert [row["n_missing"] for row in rows] == [1, 2]  # an edge needs more than the threshold
    assert [row["missing_edges"] for row in rows] == [("x2",), ("x1", "x2")]
    assert [row["share"] for row in rows] == pytest.approx([1 / 3, 2 / 3])
    assert [row["would_need"] for row in rows] == [0.2, 0.1]
    assert [row["threshold"] for row in rows] == [0.3, 0.3]


def test_nothing_is_loose():
    found = run_audit(np.eye(3, dtype=bool))
    assert len(found.outside) == 0
    assert found.fragile == ("x1", "x2", "x3")  # single items are all a factor has
