import itertools

import numpy as np
import pytest

from dtstat import compare
from dtstat.core.errors import InputError
from dtstat.structure.structure import Structure

N_PAIRS = 300


def random_structure(rng, p):
    A = rng.random((p, int(rng.integers(0, 5)))) < rng.uniform(0.2, 0.8)
    return Structure(A[:, A.any(axis=0)])


def brute_force(estimated, truth):
    """Best F1 and HD over all relabellings, as appendix B.2 writes them."""
    d = max(estimated.n_factors, truth.n_factors)
    A, B = (
        np.pad(s.support, [(0, 0), (0, d - s.n_factors)]).astype(bool) for s in (estimated, truth)
    )
    f1s, distances = [], []
    for order in itertools.permutations(range(d)):
        both, different = (A[:, order] & B).sum(), (A[:, order] ^ B).sum()
        distances.append(different)
        f1s.append(2 * both / (2 * both + different) if both + different else 1.0)
    return max(f1s), min(distances)


def test_same_as_brute_force_over_permutations():
    rng = np.random.default_rng(1)
    sizes = set()
    for _ in range(N_PAIRS):
        p = int(rng.integers(1, 8))
        a, b = random_structure(rng, p), random_structure(rng, p)
        result = compare(a, b)
        f1, distance = brute_force(a, b)
        assert result.f1 == pytest.approx(f1)
        assert result.hamming == distance
        assert result.exact == (a == b)
        sizes.add((a.n_factors, b.n_factors))
    assert len(sizes) == 25  # every combination of zero to four factors


def test_precision_recall_and_matching():
    truth = Structure.from_keys({"A": [*"abc"], "B": [*"def"], "C": [*"gh"]})
    found = Structure.from_keys({"F1": [*"de"], "F2": [*"abcdf"]}, item_names="abcdefgh")
    result = compare(found, truth)
    assert (result.precision, result.recall) == (5 / 7, 5 / 8)
    assert result.f1 == 2 * 5 / (7 + 8)
    assert result.hamming == 2 + 3
    assert result.n_factors == (2, 3)
    assert result.matching == {"F1": "B", "F2": "A"}
    assert not result.exact


def test_factors_that_share_no_item_are_not_matched():
    a = Structure.from_keys({"F": [*"ab"], "G": [*"c"]}, item_names="abcd")
    b = Structure.from_keys({"A": [*"ab"], "B": [*"d"]}, item_names="abcd")
    assert compare(a, b).matching == {"F": "A"}


def test_items_in_another_order():
    a = Structure.from_keys({"F": [*"abc"], "G": [*"cd"]})
    b = Structure.from_keys({"A": [*"dc"], "B": [*"cba"]})
    assert a.item_names != b.item_names
    result = compare(a, b)
    assert result.exact
    assert result.matching == {"F": "B", "G": "A"}


def test_swapping_the_two_swaps_precision_and_recall():
    a = Structure.from_keys({"F": [*"abc"]}, item_names="abcd")
    b = Structure.from_keys({"A": [*"ab"], "B": [*"cd"]})
    there, back = compare(a, b), compare(b, a)
    assert (there.precision, there.recall) == (back.recall, back.precision)
    assert (there.f1, there.hamming) == (back.f1, back.hamming)


def test_nothing_found():
    nothing = Structure(np.zeros((2, 0)))
    something = Structure([[1], [1]])
    both = compare(nothing, nothing)
    assert (both.f1, both.hamming, both.matching) == (1.0, 0, {})
    assert compare(nothing, something).f1 == compare(something, nothing).f1 == 0.0
    assert compare(nothing, something).hamming == 2


@pytest.mark.parametrize(
    ("names", "message"),
    [(["a", "b", "z"], "'c' is in only one of them, and so are 1 more"), (["a", "b"], "'c' is in")],
)
def test_different_items(names, message):
    a = Structure.from_keys({"F": [*"abc"]})
    b = Structure(np.ones((len(names), 1)), item_names=names)
    with pytest.raises(InputError, match=f"must have the same items; {message}"):
        compare(a, b)


def test_only_structures_are_compared():
    assert compare(Structure([[1]]), {"A": ["x1"]}).exact
    with pytest.raises(InputError, match=r"`truth` must be a Structure, a fit, .*got nd"):
        compare(Structure([[1]]), np.eye(2))
