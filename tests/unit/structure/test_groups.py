"""Loadings read off correlations: a twin in plain loops, sums that are kept, and moves."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from dtstat.structure.groups import Groups, _largest, _with_enough, agreement, canonical_labels

FLOOR = 0.05


def known(seed, sizes=(4, 5, 6), phi=0.3):
    """Groups, loadings with signs, and the correlations that follow."""
    rng = np.random.default_rng(seed)
    own = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    loading = rng.uniform(0.5, 0.8, len(own)) * rng.choice([-1, 1], len(own))
    R = np.outer(loading, loading) * np.where(own[:, None] == own, 1.0, phi)
    np.fill_diagonal(R, 1)
    return canonical_labels(own), loading, R


def sampled(R, n, seed):
    rows = np.random.default_rng(seed).standard_normal((n, len(R))) @ np.linalg.cholesky(R).T
    return np.corrcoef(rows, rowvar=False)


def plain_loadings(R, labels, signs, floor):
    """|λ| of every item on every group, with loops."""
    p, k = len(R), labels.max() + 1
    found = np.empty((p, k))
    for i in range(p):
        for g in range(k):
            members = [j for j in range(p) if labels[j] == g]
            others = [j for j in members if j != i]
            pairs = [(j, m) for j in others for m in others if j != m]
            if not pairs:  # of two one is left: the pair itself
                pairs = [(j, m) for j in members for m in members if j != m]
            mean = sum(signs[j] * R[i, j] for j in others) / max(len(others), 1)
            within = sum(signs[j] * signs[m] * R[j, m] for j, m in pairs) / max(len(pairs), 1)
            found[i, g] = abs(mean) / np.sqrt(max(within, floor))
    return found


def plain_correlations(R, labels, signs, floor):
    k = labels.max() + 1
    between = np.ones((k, k))
    for a in range(k):
        for b in range(k):
            terms = [
                signs[i] * signs[j] * R[i, j]
                for i in np.flatnonzero(labels == a)
                for j in np.flatnonzero(labels == b)
                if i != j
            ]
            between[a, b] = np.mean(terms) if terms else 0.0
    within = np.maximum(between.diagonal(), floor)
    Phi = between / np.sqrt(np.outer(within, within))
    np.fill_diagonal(Phi, 1)
    return Phi


def hold(groups):
    """Hold what is kept to what loops compute."""
    R, labels, signs = groups.R, groups.labels, groups.signs
    expected = plain_loadings(R, labels, signs, groups.floor)
    np.testing.assert_allclose(groups.strength, expected, atol=1e-9)
    np.testing.assert_array_equal(groups.size, np.bincount(labels))
    total = [(signs * expected[:, k])[labels == k].sum() for k in range(len(groups.size))]
    turned = np.where(np.array(total) < -1e-12, -1.0, 1.0)
    Phi = plain_correlations(R, labels, signs, groups.floor) * np.outer(turned, turned)
    np.testing.assert_allclose(groups.correlations(), Phi, atol=1e-9)
    np.testing.assert_array_equal(groups.support.argmax(axis=1), labels)


@pytest.mark.parametrize("seed", range(8))
def test_loadings_and_correlations_by_loops(seed):
    rng = np.random.default_rng(seed)
    R = sampled(known(seed)[2], 60, seed)
    labels = np.concatenate([np.arange(4), rng.integers(0, 4, 11)])
    hold(Groups(R, labels, FLOOR))


def test_groups_of_one_and_two_items():
    R = sampled(known(0)[2], 60, 0)
    hold(Groups(R, np.array([0, 1, 1, *[2] * 12]), FLOOR))


@pytest.mark.parametrize("seed", range(5))
def test_known_loadings_and_correlations_are_found(seed):
    """Whatever their signs; φ is that of the groups, with the sign that goes with theirs."""
    labels, loading, R = known(seed)
    groups = Groups(R, labels, FLOOR)
    own = groups.strength[np.arange(15), labels]
    # Items are weighed alike, so that a loading is exact if the others of its group are equal.
    np.testing.assert_allclose(own, np.abs(loading), atol=0.03)
    off = np.abs(groups.correlations()[~np.eye(3, dtype=bool)])
    np.testing.assert_allclose(off, 0.3, atol=0.02)
    for k in range(3):
        aligned = (groups.signs * np.sign(loading))[labels == k]
        assert abs(aligned.sum()) == len(aligned)


def test_equal_loadings_are_exact():
    own = np.repeat([0, 1], 4)
    R = 0.49 * np.where(own[:, None] == own, 1.0, -0.4)
    np.fill_diagonal(R, 1)
    groups = Groups(R, own, FLOOR)
    np.testing.assert_allclose(groups.strength[np.arange(8), own], 0.7)
    np.testing.assert_allclose(groups.strength[np.arange(8), 1 - own], 0.7 * 0.4)
    np.testing.assert_allclose(groups.correlations()[0, 1], -0.4)


@pytest.mark.parametrize("seed", range(8))
def test_sums_that_are_kept_are_those_from_scratch(seed):
    """After moves, joins and new numbers."""
    rng = np.random.default_rng(seed)
    R = sampled(known(seed)[2], 60, seed)
    groups = Groups(R, np.concatenate([np.repeat(np.arange(5), 2), rng.integers(0, 5, 5)]), FLOOR)
    for _ in range(3):
        groups.settle(2)
        hold(groups)
        a, b = rng.permutation(len(groups.size))[:2]
        before = groups.labels.copy()
        groups = groups.joined(int(a), int(b))
        hold(groups)
        merged = np.where(before == b, a, before)
        np.testing.assert_array_equal(canonical_labels(groups.labels), canonical_labels(merged))
        groups.renumber()
        hold(groups)
        np.testing.assert_array_equal(groups.labels, canonical_labels(groups.labels))


def test_a_join_leaves_the_groups_as_they_were():
    labels, _, R = known(1)
    groups = Groups(R, labels, FLOOR)
    kept = groups.strength.copy()
    assert len(groups.joined(0, 2).settle(2).size) == 2
    np.testing.assert_array_equal(groups.labels, labels)
    np.testing.assert_array_equal(groups.strength, kept)


@pytest.mark.parametrize("seed", range(10))
def test_items_go_back_to_their_factors(seed):
    """A few in wrong groups, some loading negatively."""
    labels, _, R = known(seed)
    wrong = labels.copy()
    moved = [int(np.flatnonzero(labels == k)[0]) for k in range(3)]
    wrong[moved] = (wrong[moved] + 1) % 3
    found = Groups(R, wrong, FLOOR).settle(2).labels
    np.testing.assert_array_equal(canonical_labels(found), labels)


@pytest.mark.parametrize("seed", range(5))
def test_order_of_items_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    R = sampled(known(seed)[2], 100, seed)
    start = canonical_labels(np.concatenate([np.arange(3), rng.integers(0, 3, 12)]))
    order = rng.permutation(15)
    one = Groups(R, start, FLOOR).settle(2).labels
    other = Groups(R[np.ix_(order, order)], start[order], FLOOR).settle(2).labels
    np.testing.assert_array_equal(one[order], other)


@pytest.mark.parametrize("smallest", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_no_group_becomes_smaller_than_asked(seed, smallest):
    rng = np.random.default_rng(seed)
    R = sampled(np.eye(16), 30, seed)
    labels = rng.permutation(np.repeat(np.arange(4), 4))
    found = Groups(R, labels, FLOOR).settle(smallest)
    assert len(found.size) == 4
    assert found.size.min() >= smallest
    assert found.size.sum() == 16


def test_what_chance_holds_together_draws_nobody():
    """A group of unrelated items has no mean correlation to speak of to divide by."""
    labels, _, R = known(0)
    full = np.eye(18)
    full[:15, :15] = R
    full[15, :15] = full[:15, 15] = 0.01
    mixed = np.concatenate([labels, [3, 3, 3]])
    found = Groups(full, mixed, FLOOR).settle(2).labels
    np.testing.assert_array_equal(found[:15], labels)


# numbers and agreement


def test_numbers_go_by_first_items():
    found = canonical_labels(np.array([5, 2, 5, 9, 2]))
    np.testing.assert_array_equal(found, [0, 1, 0, 2, 1])


@pytest.mark.parametrize("seed", range(60))
def test_agreement_is_the_adjusted_rand_index(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 25))
    a, b = (canonical_labels(rng.integers(0, rng.integers(1, p + 1), p)) for _ in range(2))
    assert agreement([a, b])[0, 1] == pytest.approx(adjusted_rand_score(a, b), abs=1e-12)
    assert agreement([a, b])[1, 0] == agreement([a, b])[0, 1]
    assert agreement([a, a])[0, 1] == 1.0


# what a move leaves


@pytest.mark.parametrize("smallest", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_groups_that_would_be_too_small_keep_their_strongest_items(seed, smallest):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(4), (1, 3, 5, 6)))
    strength = np.asfortranarray(rng.integers(0, 4, (15, 4)) / 4)  # with ties
    np.testing.assert_array_equal(_largest(strength), strength.argmax(axis=1))
    own = strength[np.arange(15), labels]
    best = rng.integers(0, 2, 15)  # all want to go to the first two
    expected = best.copy()
    for k in (0, 1, 2, 3) * 4:  # again: who stays here is missed there
        if (expected == k).sum() < smallest:
            items = np.flatnonzero(labels == k)
            stay = items[np.argsort(-own[items], kind="stable")[:smallest]]
            expected[stay] = k
    groups = SimpleNamespace(labels=labels, own_strength=lambda: own)
    np.testing.assert_array_equal(_with_enough(best, groups, smallest), expected)


def test_items_of_large_groups_move_though_another_group_is_too_small():
    labels, _, R = known(1)
    wrong = np.append(labels, 3)  # a group of one item
    wrong[np.flatnonzero(labels == 0)[0]] = 1
    full = np.eye(len(wrong))
    full[:-1, :-1] = R
    found = Groups(full, wrong, FLOOR).settle(2).labels
    np.testing.assert_array_equal(found, np.append(labels, 3))
