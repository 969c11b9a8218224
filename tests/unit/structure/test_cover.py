"""Sets of cliques that cover the items, against the greedy rule on plain sets."""

import numpy as np
import pytest

from dtstat.structure.barcode import Barcode, ItemSets, barcode
from dtstat.structure.path import covers

SEEDS = range(60)


def names(p):
    return tuple(f"x{i + 1}" for i in range(p))


def random_barcode(seed):
    """From smooth to nearly all ties, from noise to blocks with other items around them."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 16))
    R = rng.uniform(-0.5, 0.5, (p, p))
    if rng.random() < 0.6:
        block = rng.integers(0, 4, p)
        R = np.where((block[:, None] == block) & (block > 0), 0.6 + R / 2, R)
    if rng.random() < 0.4:
        R = np.round(R, 1)
    R = np.triu(R, 1)
    return barcode(R + R.T + np.eye(p), names(p), int(rng.integers(2, 4)))


def bars(p, *cliques):
    """Barcode of (items, birth, death), in that order."""
    members = np.array([[i in items for i in range(p)] for items, _, _ in cliques], dtype=bool)
    births = np.array([birth for _, birth, _ in cliques], dtype=float)
    deaths = np.array([death for _, _, death in cliques], dtype=float)
    members = members.reshape(-1, p)
    sets = ItemSets.from_marks(members)
    return Barcode(names(p), births, deaths, sets, sets)


def sets(support):
    return [set(np.flatnonzero(column)) for column in support.T]


def plain_cover(cliques, p, share, only_new):
    covered, taken = set(), []
    for clique in cliques:
        new = clique - covered
        if len(new) >= 2 and len(new) >= share * len(clique):
            taken.append(new if only_new else clique)
            covered = covered | clique
        if len(covered) == p:
            break
    return taken


def plain_covers(found):
    p = len(found.item_names)
    cliques = [set(np.flatnonzero(row)) for row in found.members]
    expected = [[set(range(p))]] if set(range(p)) in cliques else []
    for lasting in (found.deaths - found.births, found.deaths):
        order = sorted(range(len(cliques)), key=lambda i: -round(lasting[i], 10))
        smaller = [cliques[i] for i in order if len(cliques[i]) < p]
        for share, only_new in ((1, False), (0.5, False), (0.5, True)):
            expected.append(plain_cover(smaller, p, share, only_new))
    return expected


@pytest.mark.parametrize("seed", SEEDS)
def test_same_as_on_plain_sets(seed):
    found = random_barcode(seed)
    assert [sets(cover) for cover in covers(found)] == plain_covers(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_promised(seed):
    found = random_barcode(seed)
    p, everything = len(found.item_names), False
    supports = [*covers(found)]
    if (found.sizes == p).any():
        everything = True
        np.testing.assert_array_equal(supports.pop(0), np.ones((p, 1)))
    assert len(supports) == 6
    cliques = {row.tobytes() for row in found.members}
    for disjoint, mostly_new, new_only in (supports[:3], supports[3:]):
        for support in (disjoint, mostly_new, new_only):
            assert (support.dtype, support.shape[0]) == (bool, p)
            assert (support.sum(axis=0) >= 2).all()
            assert (support.sum(axis=0) < p).all() or not everything
        for support in (disjoint, mostly_new):
            assert all(column.tobytes() in cliques for column in support.T.copy())
        for support in (disjoint, new_only):
            assert (support.sum(axis=1) <= 1).all()
        assert mostly_new.shape == new_only.shape
        assert (mostly_new >= new_only).all()
        np.testing.assert_array_equal(mostly_new.any(axis=1), new_only.any(axis=1))
        assert (2 * new_only.sum(axis=0) >= mostly_new.sum(axis=0)).all()
        # No clique of which half is new was missed.
        rest = ~mostly_new.any(axis=1)
        new = found.members[found.sizes < p] & rest
        assert (new.sum(axis=1) < np.maximum(found.sizes[found.sizes < p] / 2, 2)).all()


def test_the_random_barcodes_are_of_all_kinds():
    """Else the two tests above would show less than they seem to."""
    found = [random_barcode(seed) for seed in SEEDS]
    assert any((one.sizes == len(one.item_names)).any() for one in found)
    assert any(not (one.sizes == len(one.item_names)).any() for one in found)
    longest, tightest = zip(*([*covers(one)][-6:][1::3] for one in found), strict=True)
    assert sum(map(np.array_equal, longest, tightest)) < len(found) / 2
    assert sum((support.sum(axis=1) > 1).any() for support in longest) >= 5


def test_two_orders():
    """A pair of triples that live long, against tight ones that do not."""
    found = bars(6, ({0, 1, 2}, 0.1, 0.5), ({3, 4, 5}, 0.2, 0.5), ({2, 3, 4}, 0.6, 0.8))
    longest, _, _, tightest, _, _ = (sets(cover) for cover in covers(found))
    assert longest == [{0, 1, 2}, {3, 4, 5}]
    assert tightest == [{2, 3, 4}]


def test_half_of_the_items_is_enough_and_less_is_not():
    half = bars(6, ({0, 1, 2, 3}, 0.1, 0.9), ({2, 3, 4, 5}, 0.2, 0.9))
    disjoint, mostly_new, new_only = (sets(cover) for cover in [*covers(half)][:3])
    assert disjoint == [{0, 1, 2, 3}]
    assert mostly_new == [{0, 1, 2, 3}, {2, 3, 4, 5}]
    assert new_only == [{0, 1, 2, 3}, {4, 5}]
    less = bars(6, ({0, 1, 2, 3}, 0.1, 0.9), ({1, 2, 3, 4, 5}, 0.2, 0.9))
    assert [sets(cover) for cover in covers(less)] == [[{0, 1, 2, 3}]] * 6


def test_one_new_item_is_not_a_factor():
    found = bars(3, ({0, 1}, 0.1, 0.9), ({1, 2}, 0.2, 0.9))
    assert [sets(cover) for cover in covers(found)] == [[{0, 1}]] * 6


def test_equals_keep_their_order():
    found = bars(4, ({1, 2}, 0.0, 0.5), ({0, 1, 3}, 0.0, 0.5))
    assert sets(next(covers(found))) == [{1, 2}]


def test_the_clique_of_all_items_only_alone():
    found = bars(6, (set(range(6)), 0.0, 0.9), ({0, 1, 2}, 0.1, 0.3), ({3, 4, 5}, 0.1, 0.3))
    everything, *others = (sets(cover) for cover in covers(found))
    assert everything == [set(range(6))]
    assert others == [[{0, 1, 2}, {3, 4, 5}]] * 6


def test_only_the_clique_of_all_items():
    everything, *others = covers(bars(4, (set(range(4)), 0.0, 0.5)))
    np.testing.assert_array_equal(everything, np.ones((4, 1)))
    assert [support.shape for support in others] == [(4, 0)] * 6


def test_no_cliques():
    found = [*covers(barcode(np.eye(5), names(5), 3))]
    assert [(support.shape, support.dtype) for support in found] == [((5, 0), bool)] * 6
