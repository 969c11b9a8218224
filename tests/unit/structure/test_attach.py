"""Loadings read off the dependence, and the items that cliques left out."""

import numpy as np
import pytest

from dtstat.structure.barcode import Barcode, ItemSets, barcode
from dtstat.structure.cliques import attach, attached_items, implied_loadings
from dtstat.structure.path import covers

ROUNDING = 1e-12
LEAST, MIN_CHILDREN = 0.2, 3
SEEDS = range(20)


def members(own, d=None):
    """(p, d) support from the factor of each item; -1 is no factor."""
    return np.asarray(own)[:, None] == np.arange(max(own) + 1 if d is None else d)


def strengths(loadings, own, Phi):
    """|r| of a population with simple structure."""
    own = np.asarray(own)
    R = np.abs(np.outer(loadings, loadings) * np.asarray(Phi)[np.ix_(own, own)])
    np.fill_diagonal(R, 1.0)
    return R


def random_strength(rng, p):
    S = np.triu(rng.uniform(0.05, 0.9, (p, p)), 1)
    return S + S.T + np.eye(p)


def plain_loading(S, support, i, k):
    """The formula, item by item: i itself left out of k."""
    others = [j for j in range(len(S)) if support[j, k] and j != i]
    pairs = [S[j, m] for j in others for m in others if j != m]
    if not pairs:  # a factor of two, one of them i
        everyone = [j for j in range(len(S)) if support[j, k]]
        pairs = [S[j, m] for j in everyone for m in everyone if j != m]
    return np.mean([S[i, j] for j in others]) / np.sqrt(np.mean(pairs))


def plain_attach(S, cores, least, min_children):
    """Item by item and factor by factor, on lists of sets."""
    factors = [set(np.flatnonzero(column)) for column in cores.T]
    while factors:
        support = np.array([[i in f for f in factors] for i in range(len(S))])
        grown = [set(f) for f in factors]
        for i in set(range(len(S))).difference(*factors):
            row = [plain_loading(S, support, i, k) for k in range(len(factors))]
            if max(row) >= least:
                grown[int(np.argmax(row))].add(i)
        smallest = min(range(len(grown)), key=lambda k: len(grown[k]))
        if len(grown[smallest]) >= min_children:
            return grown
        del factors[smallest]
    return []


# implied loadings


@pytest.mark.parametrize("phi", [0.0, 0.4, -0.7])
def test_equal_loadings_are_given_back(phi):
    """λ_i on the own factor; across, λ_i |φ|."""
    own = [0, 0, 0, 0, 1, 1, 1]
    loading = np.where(np.asarray(own) == 0, 0.8, 0.4)
    found = implied_loadings(strengths(loading, own, [[1, phi], [phi, 1]]), members(own))
    expected = loading[:, None] * np.where(members(own), 1.0, abs(phi))
    np.testing.assert_allclose(found, expected, atol=ROUNDING)


def test_an_item_outside_among_equal_loadings():
    """It need not be like them, and need not be of positive sign."""
    own = [0, 0, 0, 1, 1, 1, 1]
    loading = np.array([0.7, 0.7, 0.7, 0.5, 0.5, 0.5, -0.9])
    cores = members([0, 0, 0, 1, 1, 1, -1], 2)
    found = implied_loadings(strengths(loading, own, [[1, 0.3], [0.3, 1]]), cores)
    np.testing.assert_allclose(found[6], [0.27, 0.9], atol=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_unequal_loadings_are_overstated_by_how_unequal_they_are(seed):
    """By μ/√(μ² − σ²/(m − 1)), m items of mean loading μ and variance σ²: little."""
    rng = np.random.default_rng(seed)
    loading = np.append(rng.uniform(0.3, 0.9, 5), 0.6)
    S = strengths(loading, [0] * 6, [[1.0]])
    found = implied_loadings(S, members([0] * 5 + [-1], 1))[5, 0]
    core = loading[:5]
    excess = core.mean() / np.sqrt(core.mean() ** 2 - core.var() / 4)
    assert found == pytest.approx(0.6 * excess, abs=ROUNDING)
    assert 1 <= excess < 1.1


@pytest.mark.parametrize("seed", SEEDS)
def test_same_as_item_by_item(seed):
    rng = np.random.default_rng(seed)
    p, d = int(rng.integers(4, 12)), int(rng.integers(1, 5))
    S = random_strength(rng, p)
    support = rng.random((p, d)) < 0.4
    for k in range(d):
        support[rng.choice(p, 2, replace=False), k] = True
    expected = [[plain_loading(S, support, i, k) for k in range(d)] for i in range(p)]
    np.testing.assert_allclose(implied_loadings(S, support), expected, atol=ROUNDING)


def test_a_pair_implies_the_same_loading_for_both():
    """|r| / √|r|, for there is nothing else to tell them apart."""
    S = np.array([[1, 0.36], [0.36, 1]])
    np.testing.assert_allclose(implied_loadings(S, np.ones((2, 1), bool)), 0.6, atol=ROUNDING)


def test_the_diagonal_is_not_used_and_nothing_is_changed():
    S, support = random_strength(np.random.default_rng(1), 6), members([0, 0, 0, 1, 1, 1])
    other = S + np.diag([5.0, -1, 0, 2, np.pi, 100])
    kept = other.copy()
    np.testing.assert_array_equal(implied_loadings(other, support), implied_loadings(S, support))
    np.testing.assert_array_equal(other, kept)


def test_no_factors_no_loadings():
    assert implied_loadings(np.eye(3), np.zeros((3, 0), bool)).shape == (3, 0)


# attach


def test_strong_items_of_another_factor_do_not_attract():
    """Item 6 belongs with the weak items, but correlates more with the strong ones."""
    own = [0, 0, 0, 1, 1, 1, 1]
    loading = [0.9, 0.9, 0.9, 0.4, 0.4, 0.4, 0.6]
    S = strengths(loading, own, [[1, 0.7], [0.7, 1]])
    assert S[6, :3].mean() > S[6, 3:6].mean()  # what the mean |r| would say
    support = attach(S, members([0, 0, 0, 1, 1, 1, -1], 2), LEAST, MIN_CHILDREN)
    np.testing.assert_array_equal(support, members(own))


def test_least_is_included_and_nothing_below_it_is_attached():
    own = [0, 0, 0, 0]
    S = strengths([0.5, 0.5, 0.5, 0.3], own, [[1.0]])
    cores = members([0, 0, 0, -1], 1)
    implied = implied_loadings(S, cores)[3, 0]
    assert implied == pytest.approx(0.3)
    for least, takes in ((implied, True), (implied + 1e-9, False), (np.inf, False)):
        support = attach(S, cores, least, MIN_CHILDREN)
        assert support[3, 0] == takes
        np.testing.assert_array_equal(support[:3], cores[:3])


def test_items_of_a_core_stay_where_they_are():
    """Even if another factor would suit them better; a second parent is not taken away."""
    S = strengths([0.7] * 8, [0, 0, 0, 0, 1, 1, 1, 1], np.eye(2))
    cores = members([0, 0, 0, 1, 1, 1, 1, -1], 2)
    cores[4, 0] = True
    support = attach(S, cores, LEAST, MIN_CHILDREN)
    np.testing.assert_array_equal(support[:7], cores[:7])
    np.testing.assert_array_equal(support[7], [0, 1])


def test_what_is_attached_attracts_nobody():
    """Loadings are implied by the cores: item 4 depends on item 3 alone, which is no core."""
    S = np.eye(5)
    S[:3, :3] = S[3, :3] = S[:3, 3] = 0.5
    S[4, 3] = S[3, 4] = 0.9
    support = attach(S, members([0, 0, 0, -1, -1], 1), LEAST, MIN_CHILDREN)
    np.testing.assert_array_equal(support[:, 0], [1, 1, 1, 1, 0])


def test_a_pair_lives_if_a_third_joins():
    own = [0, 0, 0, 1, 1, 1]
    S = strengths([0.7] * 6, own, [[1, 0.2], [0.2, 1]])
    support = attach(S, members([0, 0, 0, 1, 1, -1], 2), LEAST, MIN_CHILDREN)
    np.testing.assert_array_equal(support, members(own))


def test_a_factor_that_stays_too_small_is_given_up_and_its_items_attached():
    S = strengths([0.7] * 5, [0, 0, 0, 1, 1], [[1, 0.5], [0.5, 1]])
    cores = members([0, 0, 0, 1, 1])
    np.testing.assert_array_equal(attach(S, cores, LEAST, MIN_CHILDREN), np.ones((5, 1)))
    # .7 x .5 is their loading on the factor that is left.
    alone = members([0, 0, 0, -1, -1], 1)
    np.testing.assert_array_equal(attach(S, cores, 0.36, MIN_CHILDREN), alone)
    np.testing.assert_array_equal(attach(S, cores, LEAST, 2), cores)


def test_the_smallest_goes_first_and_may_save_the_next():
    """Of a pair and a triple, with four asked for, the pair goes, and makes the triple five."""
    S = strengths([0.7] * 5, [0, 0, 1, 1, 1], [[1, 0.6], [0.6, 1]])
    support = attach(S, members([0, 0, 1, 1, 1]), LEAST, 4)
    np.testing.assert_array_equal(support, np.ones((5, 1)))


@pytest.mark.parametrize("cores", [np.zeros((4, 0), bool), members([0, 0, 1, 1])])
def test_nothing_may_be_left(cores):
    support = attach(np.eye(4) + 0.01, cores, 0.5, MIN_CHILDREN)
    assert (support.shape, support.dtype) == ((4, 0), bool)


@pytest.mark.parametrize("seed", range(100))
def test_same_as_factor_by_factor(seed):
    rng = np.random.default_rng(seed)
    p, d = int(rng.integers(6, 14)), int(rng.integers(1, 5))
    S = random_strength(rng, p)
    cores = members(rng.integers(-3, d, p), d)
    cores[rng.integers(p), rng.integers(d)] = True  # perhaps a second parent
    cores = cores[:, cores.sum(axis=0) >= 2]
    least, min_children = float(rng.uniform(0, 1)), int(rng.integers(2, 5))
    kept = cores.copy()
    support = attach(S, cores, least, min_children)
    found = [set(np.flatnonzero(column)) for column in support.T]
    assert found == plain_attach(S, cores, least, min_children)
    np.testing.assert_array_equal(cores, kept)


@pytest.mark.parametrize("seed", SEEDS)
def test_order_of_items_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    S, order = random_strength(rng, 12), rng.permutation(12)
    cores = members([0, 0, 0, 1, 1, 1, 2, 2, -1, -1, -1, -1], 3)
    support = attach(S, cores, LEAST, MIN_CHILDREN)
    other = attach(S[np.ix_(order, order)], cores[order], LEAST, MIN_CHILDREN)
    np.testing.assert_array_equal(other, support[order])


# what was attached


def bars(p, *cliques):
    members = np.array([[i in items for i in range(p)] for items in cliques], dtype=bool)
    members = members.reshape(-1, p)
    zeros = np.zeros(len(members))
    sets = ItemSets.from_marks(members)
    return Barcode(tuple(map(str, range(p))), zeros, zeros + 0.5, sets, sets)


@pytest.mark.parametrize(
    ("cliques", "expected"),
    [
        ([{0, 1, 2}, {4, 5, 6}], [3, 7]),
        ([{0, 1, 2}, {1, 2, 3}, {4, 5, 6, 7}], []),  # two cliques make one factor
        ([{0, 1, 2}, {2, 3, 4}, {4, 5, 6, 7}], [3]),  # a clique across factors counts for none
        ([{0, 1, 2, 3, 8}, {4, 5, 6, 7}], [0, 1, 2, 3]),
        ([{0, 1, 2, 3}, {4, 5, 6, 7}, {7, 8}], []),  # item 8 is in no factor
        ([], [*range(8)]),
    ],
)
def test_attached_items(cliques, expected):
    support = members([0, 0, 0, 0, 1, 1, 1, 1, -1], 2)
    assert np.flatnonzero(attached_items(bars(9, *cliques), support)).tolist() == expected


def test_an_item_taken_in_by_one_of_its_factors_was_not_attached():
    support = members([0, 0, 0, 1, 1, 1], 2)
    support[2, 1] = True
    assert not attached_items(bars(6, {0, 1, 2}, {3, 4, 5}), support).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_items_of_cliques_are_not_attached(seed):
    rng = np.random.default_rng(seed)
    S = random_strength(rng, 14)
    found = barcode(S, tuple(map(str, range(14))), 2)
    cliques = {row.tobytes() for row in found.members}
    for cores in covers(found):
        support = attach(S, cores, LEAST, 2)
        attached = attached_items(found, support)
        if all(column.tobytes() in cliques for column in cores.T.copy()):
            assert not attached[cores.any(axis=1)].any()
        assert not attached[~support.any(axis=1)].any()
        factors = [set(np.flatnonzero(column)) for column in support.T]
        inside = [
            clique
            for clique in (set(np.flatnonzero(row)) for row in found.members)
            if any(clique <= factor for factor in factors)
        ]
        expected = set().union(*factors).difference(*inside)
        assert set(np.flatnonzero(attached)) == expected


def test_nothing_is_attached_to_no_factor():
    none = attached_items(bars(3, {0, 1}), np.zeros((3, 0), dtype=bool))
    np.testing.assert_array_equal(none, [False] * 3)
