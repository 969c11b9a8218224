"""Ways to sort items that know nothing of each other."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from dtstat.search.starts import Starts, cluster_rows, cut_dendrogram, k_means
from dtstat.structure.groups import canonical_labels

FLOOR = 0.05


def blocks(seed, sizes=(4, 5, 6), phi=0.2):
    rng = np.random.default_rng(seed)
    own = canonical_labels(rng.permutation(np.repeat(np.arange(len(sizes)), sizes)))
    loading = rng.uniform(0.6, 0.8, len(own)) * rng.choice([-1, 1], len(own))
    R = np.outer(loading, loading) * np.where(own[:, None] == own, 1.0, phi)
    np.fill_diagonal(R, 1)
    return own, R


def starts(R, smallest=2):
    return Starts(R, np.abs(R), smallest, FLOOR)


def sampled(p, n, seed):
    return np.corrcoef(np.random.default_rng(seed).standard_normal((n, p)), rowvar=False)


def plain_k_means(rows, centers, most):
    """Lloyd's algorithm without loops over coordinates."""
    labels = np.full(len(rows), -1)
    total = 0.0
    for _ in range(most):
        apart = ((rows[:, None] - centers) ** 2).sum(axis=2)
        total, nearest = float(apart.min(axis=1).sum()), apart.argmin(axis=1)
        if (nearest == labels).all():
            break
        labels = nearest
        for c in np.unique(labels):
            centers[c] = rows[labels == c].mean(axis=0)
    return labels, total


@pytest.mark.parametrize("seed", range(20))
def test_k_means_by_its_twin(seed):
    rng = np.random.default_rng(seed)
    k, most = int(rng.integers(1, 6)), int(rng.integers(1, 30))
    rows, centers = rng.standard_normal((30, k)), rng.standard_normal((k, k))
    labels = np.empty(30, dtype=np.int64)
    total = k_means(rows, centers.copy(), labels, most)
    expected, left = plain_k_means(rows, centers.copy(), most)
    np.testing.assert_array_equal(labels, expected)
    assert total == pytest.approx(left)


def test_clusters_of_rows_do_not_depend_on_length():
    own = np.repeat(np.arange(3), 4)
    rows = np.eye(3)[own] * np.linspace(0.1, 2, 12)[:, None]
    np.testing.assert_array_equal(cluster_rows(rows), own)


@pytest.mark.parametrize("seed", range(6))
def test_exact_blocks_are_found_in_every_way(seed):
    own, R = blocks(seed)
    found = starts(R)
    ways = [*found.into(3), *found.variants(3)]
    assert len(ways) == 8  # three powers, rotated; not settled, promax, Ward's twice
    for labels in ways:
        np.testing.assert_array_equal(labels, own)


@pytest.mark.parametrize("smallest", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_as_many_groups_as_asked_and_none_too_small(seed, smallest):
    for R in (sampled(14, 40, seed), blocks(seed)[1]):
        found, count = starts(R, smallest), 0
        for k in range(1, len(R) // smallest + 1):
            for labels in (*found.into(k), *found.variants(k)):
                size = np.bincount(labels)
                assert len(size) == k
                assert size.min() >= smallest
                np.testing.assert_array_equal(labels, canonical_labels(labels))
                count += 1
        assert count > 0


@pytest.mark.parametrize("seed", range(3))
def test_order_of_items_does_not_matter(seed):
    _, R = blocks(seed)
    order = np.random.default_rng(seed).permutation(15)
    one, other = starts(R), starts(R[np.ix_(order, order)])
    for a, b in zip(one.into(3), other.into(3), strict=True):
        np.testing.assert_array_equal(canonical_labels(a[order]), b)


@pytest.mark.parametrize("R", [np.eye(6), np.ones((6, 6))], ids=["unrelated", "copies"])
def test_nothing_to_go_by(R):
    for k in range(1, 4):
        for labels in (*starts(R).into(k), *starts(R).variants(k)):
            assert np.bincount(labels).min() >= 2


@pytest.mark.parametrize("seed", range(10))
def test_a_dendrogram_is_cut_as_by_scipy(seed):
    rng = np.random.default_rng(seed)
    merges = linkage(rng.normal(size=(12, 3)), "ward")
    for k in range(1, 13):
        ours = canonical_labels(cut_dendrogram(merges, k))
        np.testing.assert_array_equal(ours, canonical_labels(fcluster(merges, k, "maxclust")))
