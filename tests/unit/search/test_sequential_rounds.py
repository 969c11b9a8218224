"""What is found round by round: cliques, what they leave, and what cannot be told apart."""

import re

import numpy as np
import pytest

import dtstat as dt
from dtstat.search.sequential import choose_plain_cliques, condition_on
from dtstat.structure.barcode import Barcode, ItemSets
from dtstat.structure.structure import Structure

ROUNDING = 1e-9
SAME = 1e-12


# other structures with the same correlations: rounds identify nothing


def model(loadings, between=0.0):
    """Support and correlations of two factors with correlation ``between``."""
    L = np.array(loadings)
    R = L @ np.array([[1.0, between], [between, 1.0]]) @ L.T
    np.fill_diagonal(R, 1.0)
    return L != 0, R


def nested_pair():
    """F2 = {3, 4} within F1, and G2 = {1, 2} within G1."""
    high, low = 0.52**0.5, 0.42 / 0.52**0.5
    rest = (0.49 - low**2) ** 0.5
    one = model([[0.7, 0], [0.7, 0], [0.6, 0.4], [0.6, 0.4]])
    other = model([[low, rest], [low, rest], [high, 0], [high, 0]])
    return one, other


def general_or_correlated():
    """F2 = {4, 5, 6} within F1, and two clusters that correlate."""
    one = model([[0.7, 0]] * 3 + [[0.5, 0.5]] * 3)
    other = model([[0.7, 0]] * 3 + [[0, 0.5**0.5]] * 3, 0.5**0.5)
    return one, other


@pytest.mark.parametrize("pair", [nested_pair, general_or_correlated])
def test_two_structures_have_the_same_correlations(pair):
    """One of each pair has a factor without unique children; nothing says that it is identified."""
    (A, R), (B, S) = pair()
    np.testing.assert_allclose(R, S, rtol=0, atol=SAME)
    assert np.linalg.eigvalsh(R)[0] > 0
    one, other = Structure(A), Structure(B)
    assert one != other
    assert not one.satisfies_ucc
    claims = [name for name in dir(Structure) if "satisfies" in name or "identif" in name]
    assert claims == ["satisfies_ucc"]


def test_rounded_loadings_of_the_docstring():
    (_, R), _ = nested_pair()
    _, S = model([[0.582, 0.388], [0.582, 0.388], [0.721, 0], [0.721, 0]])
    np.testing.assert_allclose(R, S, atol=1e-3)


@pytest.mark.parametrize("pair", [nested_pair, general_or_correlated])
def test_the_search_cannot_tell_them_apart_and_does_not_say_so(pair):
    """The same matrix gives the same answer, whichever model it came from, and no claim."""
    (_, R), (_, S) = pair()
    found = [
        dt.fit(
            dt.DependenceMatrix.from_matrix(one, n_obs=1000), search="sequential", min_children=2
        )
        for one in (R, S)
    ]
    assert found[0].structure == found[1].structure
    for one in found:
        said = f"{one.explanation} {dt.diagnose(one).summary()}"
        assert not re.search(r"identif|explained first|(?<!\bno )guarantee", said)


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
    found = choose_plain_cliques(bars(17, light, three, four, heavy), 0.1)
    assert found.tolist() == [3, 2, 1]


def test_cliques_must_hold_above_the_floor_and_leave_an_item_out():
    everything, low = (range(8), 0.1, 0.9), (range(4), 0.0, 0.2)
    some = (range(4, 8), 0.1, 0.25)
    assert choose_plain_cliques(bars(8, everything, low, some), 0.2).tolist() == [2]
    assert choose_plain_cliques(bars(8, everything, low, some), 0.19).tolist() == [1, 2]
    assert choose_plain_cliques(bars(8, everything), 0.0).tolist() == []
    assert choose_plain_cliques(bars(8), 0.0).tolist() == []


def test_two_thirds_of_the_items_must_be_new():
    first = (range(6), 0.1, 0.9)
    mostly_new, half_new = ({5, 6, 7}, 0.0, 0.9), ({4, 5, 8, 9}, 0.0, 0.9)
    found = choose_plain_cliques(bars(13, first, half_new, mostly_new), 0.1)
    assert found.tolist() == [0]  # both others weigh less than half
    first = (range(6), 0.1, 0.5)
    assert choose_plain_cliques(bars(13, half_new, first, mostly_new), 0.1).tolist() == [0, 1, 2]
    found = choose_plain_cliques(bars(13, first, ({3, 4, 5, 8, 9, 10}, 0.1, 0.49)), 0.1)
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
    M = condition_on(given(L, Phi, theta, []), first, np.arange(3))
    np.testing.assert_allclose(M, given(L, Phi, theta, [0, 1, 2]), atol=ROUNDING)
    second = bars_of(A, [3, 4], [3, 4])
    rest = condition_on(M, second, np.arange(2))
    np.testing.assert_allclose(rest, np.diag(theta), atol=ROUNDING)


@pytest.mark.parametrize("seed", range(5))
def test_only_the_factors_taken_are_explained(seed):
    A, L, Phi, theta = random_model(seed)
    first = bars_of(A, [0, 1, 2], range(5))
    M = condition_on(given(L, Phi, theta, []), first, np.array([2, 0]))
    np.testing.assert_allclose(M, given(L, Phi, theta, [0, 2]), atol=ROUNDING)
    assert np.abs(M - given(L, Phi, theta, [0, 1, 2])).max() > 0.05


def test_a_clique_whose_items_share_nothing_explains_nothing():
    M = np.eye(4)
    barcode = bars_of(np.ones((4, 1), bool), [0], [0])
    np.testing.assert_array_equal(condition_on(M, barcode, np.array([0])), M)
