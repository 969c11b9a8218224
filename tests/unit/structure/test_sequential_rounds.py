"""What is found round by round: the condition, the cliques of a round, what they leave."""

import numpy as np
import pytest

from dtstat.structure import Structure
from dtstat.structure.barcode import Barcode
from dtstat.structure.sequential import conditioned, explaining_rounds, plainest_cliques
from dtstat.structure.sets import ItemSets

ROUNDING = 1e-9


def support(*parents):
    """(p, d) support from the parents of each item, as digits."""
    d = 1 + max(int(k) for item in parents for k in item)
    return np.array([[str(k) in item for k in range(d)] for item in parents])


def rounds(*parents):
    found = explaining_rounds(support(*parents))
    return None if found is None else [one.tolist() for one in found]


# the condition


def test_unique_children_take_one_round():
    assert rounds("0", "0", "01", "1", "1", "12", "2") == [[0, 1, 2]]


def test_one_unique_child_suffices_in_the_last_round():
    assert rounds("0", "01", "1") == [[0, 1]]
    assert rounds("0", "0", "01", "01", "1") == [[0, 1]]


def test_one_unique_child_does_not_explain():
    """Factor 1 is hidden by 0, whose loading on its one unique child is not determined."""
    assert rounds("0", "01", "01", "01") is None
    assert rounds("0", "0", "01", "01", "01") == [[0], [1]]


def test_a_chain_of_factors_takes_as_many_rounds():
    assert rounds("0", "0", "01", "01", "01", "12", "12", "12") is None
    assert rounds("0", "0", "01", "01", "12", "12", "2", "2") == [[0, 2], [1]]
    assert rounds("0", "0", "01", "01", "012", "012", "012") == [[0], [1], [2]]


def test_two_factors_of_the_same_items_are_never_told_apart():
    assert rounds("01", "01", "01") is None
    assert rounds("0", "0", "012", "012") is None


def test_second_parents_that_make_a_clique_of_no_factor():
    """Items 01, 02 and 12 are a clique, with item 012 its unique member: no factor has it."""
    triangle = ["0", "0", "1", "1", "2", "2", "01", "02", "12"]
    assert rounds(*triangle) == [[0, 1, 2]]
    spurious = ["3", "3", "3", "013", "013"]
    assert rounds("0", "0", "1", "1", "01") == [[0, 1]]
    assert rounds("01", "0", "01", "1", "01") == [[0, 1]]
    assert rounds("02", "02", "12", "12", "012") is None
    assert rounds(*triangle, *spurious) == [[0, 1, 2, 3]]


def test_all_children_share_their_second_parent():
    """Then the child set of the one is inside that of the other, and shows in the second round."""
    assert rounds("0", "0", "0", "01", "01", "01") == [[0], [1]]
    assert rounds("01", "01", "02", "02", "12", "12") is None


def test_names_of_the_rounds():
    A = support("0", "0", "01", "01", "12", "12", "2", "2")
    structure = Structure(A, factor_names=["left", "middle", "right"])
    assert structure.explaining_order() == (("left", "right"), ("middle",))
    assert structure.satisfies_sequential_ucc
    assert not structure.satisfies_ucc
    hidden = Structure(support("01", "01", "02", "02", "12", "12"))
    assert hidden.explaining_order() is None
    assert not hidden.satisfies_sequential_ucc


# cliques of a round


def bars(p, *cliques):
    """Barcode of (items, birth, death)."""
    members = np.array([[i in items for i in range(p)] for items, *_ in cliques])
    births = np.array([birth for _, birth, _ in cliques])
    deaths = np.array([death for *_, death in cliques])
    sets = ItemSets.from_marks(members.reshape(-1, p))
    return Barcode(tuple(map(str, range(p))), births, deaths, sets, sets)


def test_half_the_largest_weight_is_taken_the_heaviest_first():
    four = (range(4), 0.2, 0.4)  # weight .2 x 3 = .6
    light = (range(4, 8), 0.2, 0.29)  # .27
    three = (range(8, 11), 0.2, 0.36)  # .32
    heavy = (range(11, 16), 0.2, 0.3501)  # .6004
    found = plainest_cliques(bars(17, light, three, four, heavy), 0.1)
    assert found.tolist() == [3, 2, 1]


def test_cliques_must_hold_above_the_floor_and_leave_an_item_out():
    everything, low = (range(8), 0.1, 0.9), (range(4), 0.0, 0.2)
    some = (range(4, 8), 0.1, 0.25)
    assert plainest_cliques(bars(8, everything, low, some), 0.2).tolist() == [2]
    assert plainest_cliques(bars(8, everything, low, some), 0.19).tolist() == [1, 2]
    assert plainest_cliques(bars(8, everything), 0.0).tolist() == []
    assert plainest_cliques(bars(8), 0.0).tolist() == []


def test_two_thirds_of_the_items_must_be_new():
    first = (range(6), 0.1, 0.9)
    mostly_new, half_new = ({5, 6, 7}, 0.0, 0.9), ({4, 5, 8, 9}, 0.0, 0.9)
    found = plainest_cliques(bars(13, first, half_new, mostly_new), 0.1)
    assert found.tolist() == [0]  # both others weigh less than half
    first = (range(6), 0.1, 0.5)
    assert plainest_cliques(bars(13, half_new, first, mostly_new), 0.1).tolist() == [0, 1, 2]
    found = plainest_cliques(bars(13, first, ({3, 4, 5, 8, 9, 10}, 0.1, 0.49)), 0.1)
    assert found.tolist() == [0]


# what is left


def random_model(seed):
    """Three factors with unique items, two whose items all have a second parent among these."""
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(5), rng.integers(3, 6, 5))
    A = own[:, None] == np.arange(5)
    hidden = np.flatnonzero(own >= 3)
    A[hidden, rng.integers(0, 3, len(hidden))] = True
    A[np.flatnonzero(own == 0)[0], 1] = True  # two unique items are enough
    B = rng.uniform(-0.6, 0.6, (5, 5)) + 1.5 * np.eye(5)
    Phi = B @ B.T
    Phi /= np.sqrt(np.outer(Phi.diagonal(), Phi.diagonal()))
    L = A * rng.uniform(0.4, 0.8, A.shape) * rng.choice([-1, 1], A.shape)
    common = ((L @ Phi) * L).sum(axis=1)
    L *= np.sqrt(np.minimum(1, 0.9 / common))[:, None]
    return A, L, Phi, 1 - ((L @ Phi) * L).sum(axis=1)


def given(L, Phi, theta, known):
    """Λ_U Φ_{U|E} Λ_Uᵀ + Θ."""
    left = [k for k in range(len(Phi)) if k not in known]
    C = Phi[np.ix_(left, left)]
    if known:
        between = Phi[np.ix_(left, known)]
        C = C - between @ np.linalg.solve(Phi[np.ix_(known, known)], between.T)
    return L[:, left] @ C @ L[:, left].T + np.diag(theta)


def bars_of(A, factors, left):
    """The child sets of some factors, with the items that have no other parent among those left."""
    members = np.ascontiguousarray(A[:, factors].T)
    unique = members & (A[:, left].sum(axis=1) == 1)
    zeros = np.zeros(len(members))
    sets = ItemSets.from_marks(members), ItemSets.from_marks(unique)
    return Barcode(tuple(map(str, range(len(A)))), zeros, zeros + 0.1, *sets)


@pytest.mark.parametrize("seed", range(30))
def test_conditional_covariances_are_exact(seed):
    """In two rounds, correlated factors, loadings of both signs; the diagonal as well."""
    A, L, Phi, theta = random_model(seed)
    first = bars_of(A, [0, 1, 2], range(5))
    assert first.unique_members.sum(axis=1).min() >= 2
    M = conditioned(given(L, Phi, theta, []), first, np.arange(3))
    np.testing.assert_allclose(M, given(L, Phi, theta, [0, 1, 2]), atol=ROUNDING)
    second = bars_of(A, [3, 4], [3, 4])
    rest = conditioned(M, second, np.arange(2))
    np.testing.assert_allclose(rest, np.diag(theta), atol=ROUNDING)


@pytest.mark.parametrize("seed", range(5))
def test_only_the_factors_taken_are_explained(seed):
    A, L, Phi, theta = random_model(seed)
    first = bars_of(A, [0, 1, 2], range(5))
    M = conditioned(given(L, Phi, theta, []), first, np.array([2, 0]))
    np.testing.assert_allclose(M, given(L, Phi, theta, [0, 2]), atol=ROUNDING)
    assert np.abs(M - given(L, Phi, theta, [0, 1, 2])).max() > 0.05


def test_a_clique_whose_items_share_nothing_explains_nothing():
    M = np.eye(4)
    barcode = bars_of(np.ones((4, 1), bool), [0], [0])
    np.testing.assert_array_equal(conditioned(M, barcode, np.array([0])), M)
