"""Groups from sums of answers are those from the matrix of correlations."""

import numpy as np
import pytest

from dtstat.structure.composites import Composites, Neighbors
from dtstat.structure.groups import Groups, canonical_labels, overlaps


def answers(seed, n=80, sizes=(5, 2, 7, 4)):
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(len(sizes)), sizes)
    factors = 0.5 * rng.standard_normal((1, n)) + rng.standard_normal((len(sizes), n))
    sign = rng.choice([-1, 1], len(own))
    Z = sign[:, None] * factors[own] + rng.standard_normal((len(own), n))
    Z -= Z.mean(axis=1, keepdims=True)
    Z /= Z.std(axis=1, keepdims=True)
    return Z, own


def matrix(Z):
    return Z @ Z.T / Z.shape[1]


def everyone(p):
    items = np.array([j for i in range(p) for j in range(p) if j != i], dtype=np.int32)
    return Neighbors(np.arange(p + 1) * (p - 1), items)


@pytest.mark.parametrize("seed", range(8))
def test_the_same_numbers_as_from_the_matrix(seed):
    Z, _ = answers(seed)
    rng = np.random.default_rng(seed)
    labels = canonical_labels(rng.integers(0, 4, len(Z)))
    here, there = Composites(Z, labels, 0.1), Groups(matrix(Z), labels, 0.1)
    np.testing.assert_array_equal(here.signs, there.signs)
    own = there.strength[np.arange(len(Z)), labels]
    np.testing.assert_allclose(here.own_strength(), own, atol=1e-12)
    Phi = here.sums @ here.sums.T / Z.shape[1] / np.outer(here.scale, here.scale)
    apart = ~np.eye(len(Phi), dtype=bool)
    np.testing.assert_allclose(np.abs(Phi[apart]), np.abs(there.correlations()[apart]), atol=1e-12)
    np.testing.assert_array_equal(here.home(np.arange(len(Z))), there.strength.argmax(axis=1))


@pytest.mark.parametrize("seed", range(8))
def test_items_settle_where_they_settle_with_the_matrix(seed):
    Z, own = answers(seed)
    start = own.copy()
    start[np.random.default_rng(seed).integers(0, len(own), 5)] = 0
    start = canonical_labels(start)
    there = Groups(matrix(Z), start, 0.1).settle(2).labels
    for settled in (
        Composites(Z, start, 0.1).settle(everyone(len(Z)), 2),
        Composites(Z, start, 0.1).settle_everywhere(2),
    ):
        np.testing.assert_array_equal(settled.labels, there)
        sums = Composites(Z, settled.labels, 0.1, settled.signs).sums
        np.testing.assert_allclose(settled.sums, sums, atol=1e-9)


def test_without_neighbors_nothing_moves():
    Z, own = answers(1)
    start = np.roll(own, 1)
    start = canonical_labels(start)
    nobody = Neighbors(np.zeros(len(own) + 1, dtype=np.int64), np.empty(0, dtype=np.int32))
    np.testing.assert_array_equal(Composites(Z, start, 0.1).settle(nobody, 2).labels, start)


def test_overlaps_count_common_items():
    labels, support = np.array([0, 0, 1, 2]), np.array([[1, 0], [1, 1], [0, 1], [0, 0]], dtype=bool)
    assert overlaps(labels, support).tolist() == [[2, 1], [0, 1], [0, 0]]
