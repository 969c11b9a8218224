"""The exact path at sizes where the kernel takes its shortcuts, against one graph at a time."""

import numpy as np
import pytest

from dtstat.structure import simplicial
from dtstat.structure.barcode import barcode
from dtstat.structure.cliques import independent_maximal_cliques

N_THRESHOLDS = 60


def bars_of(R, min_children=2):
    return barcode(R, tuple(f"x{i + 1}" for i in range(len(R))), min_children)


def symmetric(upper):
    R = np.triu(upper, 1)
    return R + R.T + np.eye(len(R))


def noise(p, seed, n=100):
    X = np.random.default_rng(seed).standard_normal((n, p))
    return symmetric(np.corrcoef(X, rowvar=False))


def blocks_with_junk(p, seed):
    """Two strong blocks of a third each; the other items have small correlations with all."""
    rng = np.random.default_rng(seed)
    block = np.arange(p) * 3 // p
    strong = (block[:, None] == block) & (block < 2)
    R = np.where(strong, rng.uniform(0.4, 0.6, (p, p)), rng.uniform(0, 0.1, (p, p)))
    return symmetric(R * rng.choice([-1, 1], (p, p)))


def equicorrelated(p, seed):
    return symmetric(np.random.default_rng(seed).normal(0.5, 0.01, (p, p)))


def nested(p):
    """Items enter one by one: every first k of them are a clique, k = 1 ... p."""
    rank = np.arange(p)
    return symmetric(1 - np.maximum(rank[:, None], rank) / (p + 1))


def clique_among_junk(p, strong):
    """Some items correlate at random between .5 and .9; all else is nearly zero."""
    rng = np.random.default_rng(7)
    R = rng.uniform(0, 0.01, (p, p))
    R[:strong, :strong] = rng.uniform(0.5, 0.9, (strong, strong))
    return symmetric(R)


MATRICES = {
    "noise": noise(80, 1),
    "blocks": blocks_with_junk(200, 2),
    "equicorrelated": equicorrelated(100, 3),
    "nested": nested(90),
    "ties": np.round(blocks_with_junk(200, 4), 1),
    "two decimals": np.round(noise(120, 5), 2),
    "two decimals, equicorrelated": np.round(equicorrelated(150, 6), 2),
    "clique among junk": clique_among_junk(250, 100),
    "two blocks of rows": blocks_with_junk(300, 8),
}


def thresholds_of(R):
    """Values of the matrix and points between them, from the smallest to the largest."""
    values = np.unique(np.abs(R[np.triu_indices(len(R), 1)]))
    values = values[np.linspace(0, len(values) - 1, N_THRESHOLDS // 2).astype(int)]
    chosen = np.unique([0.0, *values, *(values[:-1] + values[1:]) / 2])
    return chosen[chosen < 1]


def assert_same_at_thresholds(R):
    bars = bars_of(R)
    for tau in thresholds_of(R):
        expected = independent_maximal_cliques(np.abs(R) > tau)
        np.testing.assert_array_equal(bars.at(tau).support, expected.support, err_msg=f"τ = {tau}")
    return bars


@pytest.mark.parametrize("name", MATRICES)
def test_same_as_one_graph_at_a_time(name):
    assert_same_at_thresholds(MATRICES[name])


@pytest.mark.parametrize("name", ["noise", "blocks", "equicorrelated", "nested"])
def test_some_cliques_are_beyond_the_size_that_is_scanned(name):
    assert bars_of(MATRICES[name]).sizes.max() > simplicial._SCAN_LIMIT


def test_no_listed_pair_inside_the_set():
    """All of the listed weakest pairs involve junk, so the strong items have to be scanned."""
    strong = 100
    R = MATRICES["clique among junk"]
    listed = simplicial._weakest_pairs(np.abs(R))
    assert (listed.max(axis=1) >= strong).all()
    bars = bars_of(R)
    whole = bars.members[:, :strong].all(axis=1) & ~bars.members[:, strong:].any(axis=1)
    weakest = R[:strong, :strong].min()
    assert bars.deaths[whole].tolist() == [weakest]
    assert bars.at(np.nextafter(weakest, 0)).n_factors == 1
    assert bars.at(weakest).n_factors > 1


@pytest.mark.parametrize("per_item", [0, 1])
def test_a_short_list_of_weakest_pairs_changes_nothing(per_item, monkeypatch):
    R = MATRICES["blocks"]
    before = bars_of(R)
    monkeypatch.setattr(simplicial, "_weakest_pairs", lambda R: all_pairs(R)[: per_item * len(R)])
    assert_same_bars(bars_of(R), before)


def all_pairs(R):
    i, j = np.triu_indices(len(R), 1)
    weakest_first = np.argsort(R[i, j])
    return np.column_stack([i, j])[weakest_first]


def assert_same_bars(a, b):
    for column in ("births", "deaths", "members", "unique_members"):
        np.testing.assert_array_equal(getattr(a, column), getattr(b, column))


@pytest.mark.parametrize("rows", [1, 7, 200])
def test_blocks_of_rows_change_nothing(rows, monkeypatch):
    R = MATRICES["blocks"]
    before = bars_of(R)
    monkeypatch.setattr(simplicial, "_ROWS_PER_BLOCK", rows)
    assert_same_bars(bars_of(R), before)


def test_more_intervals_than_there_was_room_for():
    p = 150
    R = nested(p)
    strength = R.copy()
    np.fill_diagonal(strength, np.inf)
    assert len(simplicial.simplicial_intervals(strength).vertex) > 32 * p
    bars = bars_of(R)
    assert sorted(bars.sizes) == list(range(2, p + 1))
    assert all(sum(row) == row[: sum(row)].sum() for row in bars.members)


@pytest.mark.parametrize("name", ["blocks", "two decimals"])
def test_order_of_items_does_not_matter(name):
    R = MATRICES[name]
    names = np.array([f"x{i + 1}" for i in range(len(R))])
    order = np.random.default_rng(9).permutation(len(R))
    shuffled = barcode(R[np.ix_(order, order)], tuple(names[order]), 2)
    original = barcode(R, tuple(names), 2)

    def as_set(bars):
        return {(frozenset(b.items), frozenset(b.unique_members), b.birth, b.death) for b in bars}

    assert as_set(shuffled) == as_set(original)
    tau = float(np.median(np.abs(R)))
    assert shuffled.at(tau) == original.at(tau)


def test_signs_do_not_matter():
    R = MATRICES["noise"]
    flips = np.random.default_rng(10).choice([-1, 1], len(R))
    assert_same_bars(bars_of(R * np.outer(flips, flips)), bars_of(R))


def test_increasing_transform_moves_thresholds_and_nothing_else():
    strength = np.abs(MATRICES["two decimals"])
    bars, moved = bars_of(strength), bars_of(strength**2)

    def cliques(b):
        return {
            row.tobytes(): (o, w) for row, o, w in zip(b.members, b.births, b.deaths, strict=True)
        }

    before, after = cliques(bars), cliques(moved)
    assert before.keys() == after.keys()
    for clique, (birth, death) in before.items():
        assert after[clique] == (birth**2, death**2)


def test_the_matrix_is_left_alone():
    R = noise(10, 11)
    before = R.copy()
    bars_of(R)
    np.testing.assert_array_equal(R, before)


def test_bars_are_read_only_and_longest_lived_first():
    bars = bars_of(MATRICES["blocks"])
    assert (np.diff(bars.persistence) <= 0).all()
    with pytest.raises(ValueError, match="read-only"):
        bars.births[0] = 0.0


def test_one_bar():
    R = symmetric(np.array([[1, 0.5, 0.4, 0.35], [0, 1, 0.3, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
    first = bars_of(R, min_children=3)[0]
    assert first.items == ("x1", "x2", "x3")
    assert first.unique_members == ("x2", "x3")
    assert (first.birth, first.death) == (0.0, 0.3)
    assert first.persistence == pytest.approx(0.3)
    assert first.local_margin == pytest.approx(0.15)
    assert bars_of(R, min_children=3).to_frame().iloc[0].to_dict() == {
        "birth": 0.0,
        "death": 0.3,
        "persistence": 0.3,
        "size": 3,
        "items": "x1 x2 x3",
        "unique_members": "x2 x3",
    }


def test_barcodes_and_candidates_compare_as_objects():
    """Comparing their arrays one by one would raise."""
    a, b = bars_of(noise(6, 1)), bars_of(noise(6, 1))
    assert a == a
    assert a != b
    assert len({a, b}) == 2
