"""Ways to sort p items into k groups that know nothing of each other.

**Spectral clustering** of the dependence (Ng, Jordan & Weiss 2002): with W = |r|^q and zeros on the
diagonal, D its row sums, the k leading eigenvectors of D^{-1/2} W D^{-1/2} as rows of length 1,
k-means. A zero diagonal keeps an item's own variance, which says nothing of its factors, out of
it. The power q says how much more strong ties count than weak ones; there is no right one, and
three are tried. k-means starts at the rows that a pivoted QR decomposition picks (Damle, Minden &
Ying 2019) and at the clusters of Ward's method, and the tighter end counts: nothing is drawn.

**Rotated factors**: principal factors with squared multiple correlations as communalities, varimax
and promax, every item to its largest loading.

**Ward's method** on 1 − |r|.

The last two also with items moved to the groups of their largest loadings
(:mod:`dtstat.structure.groups`).

References
----------
Damle, A., Minden, V. & Ying, L. (2019). Simple, direct and efficient multi-way spectral clustering.
Information and Inference 8, 181–203. Ng, A., Jordan, M. & Weiss, Y. (2002). On spectral
clustering: analysis and an algorithm. Advances in Neural Information Processing Systems 14,
849–856.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.linalg import qr

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.kernels import kernel
from dtstat.efa.rotation import Rotation, promax, varimax
from dtstat.structure.groups import Groups, canonical_labels

POWERS = (1.0, 1.5, 2.0)
_MOST_STEPS = 50  # of k-means
_NOTHING = 1e-12
_ROUGHLY = 1e-3  # angle of rotation that moves no item
_RIDGE = 1e-6
_LEAST_COMMUNALITY, _MOST_COMMUNALITY = 0.05, 0.98


class Starts:
    """Groupings of the same items, for any number of groups.

    Parameters
    ----------
    R
        (p, p) correlations.
    strength
        (p, p) absolute dependence.
    smallest
        Fewest items of a group.
    floor
        As in :class:`dtstat.structure.groups.Groups`.
    """

    def __init__(self, R: FloatArray, strength: FloatArray, smallest: int, floor: float) -> None:
        self.R, self.smallest, self.floor = R, smallest, floor
        W = strength.copy()
        np.fill_diagonal(W, 0.0)
        self._vectors = [_leading_vectors(W**q) for q in POWERS]
        self._factors = _principal_factors(R)
        self._rotations: dict[int, Rotation] = {}
        apart = np.maximum(1 - W[np.triu_indices(len(R), 1)], 0.0)
        self._wards = linkage(apart, "ward")

    def into(self, k: int) -> Iterator[IntArray]:
        """Yield spectral clusters and rotated factors: k groups that are all large enough."""
        for vectors in self._vectors:
            yield from self._usable(cluster_rows(vectors[:, :k]), k)
        for labels in self._usable(_largest_loadings(self._varimax(k)), k):
            yield self._settled(labels)

    def variants(self, k: int) -> Iterator[IntArray]:
        """Yield more of the same kinds: rotated otherwise or not settled, and Ward's clusters."""
        yield from self._usable(_largest_loadings(self._varimax(k)), k)
        with suppress(np.linalg.LinAlgError):  # factors that cannot be told apart
            oblique = promax(self._factors[:, :k], start=self._varimax(k))
            for labels in self._usable(_largest_loadings(oblique), k):
                yield self._settled(labels)
        wards = canonical_labels(cut_dendrogram(self._wards, k))
        for labels in self._usable(wards, k):
            yield labels
            yield self._settled(labels)

    def _varimax(self, k: int) -> Rotation:
        """Rotate k factors, once."""
        if k not in self._rotations:
            self._rotations[k] = varimax(self._factors[:, :k], smallest_angle=_ROUGHLY)
        return self._rotations[k]

    def _settled(self, labels: IntArray) -> IntArray:
        return canonical_labels(Groups(self.R, labels, self.floor).settle(self.smallest).labels)

    def _usable(self, labels: IntArray, k: int) -> Iterator[IntArray]:
        size = np.bincount(labels)
        if len(size) == k and size.min() >= self.smallest:
            yield labels


def _largest_loadings(rotated: Rotation) -> IntArray:
    return canonical_labels(np.abs(rotated.pattern).argmax(axis=1))


def _leading_vectors(W: FloatArray) -> FloatArray:
    """Eigenvectors of D^{-1/2} W D^{-1/2}, the leading one first."""
    degree = np.maximum(W.sum(axis=1), _NOTHING)
    vectors: FloatArray = np.linalg.eigh(W / np.sqrt(np.outer(degree, degree)))[1][:, ::-1]
    return vectors


def _principal_factors(R: FloatArray) -> FloatArray:
    """(p, p) loadings of all principal factors, the largest first."""
    p = len(R)
    smc = 1 - 1 / np.linalg.inv(R + _RIDGE * np.eye(p)).diagonal()
    reduced = R.copy()
    np.fill_diagonal(reduced, np.clip(smc, _LEAST_COMMUNALITY, _MOST_COMMUNALITY))
    values, vectors = np.linalg.eigh(reduced)
    loadings: FloatArray = (vectors * np.sqrt(np.maximum(values, _NOTHING)))[:, ::-1]
    return loadings


def cluster_rows(vectors: FloatArray) -> IntArray:
    """(p,) clusters of the rows of (p, k) eigenvectors, brought to length 1; k or fewer."""
    k = vectors.shape[1]
    rows = np.ascontiguousarray(vectors)
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _NOTHING)
    picked = qr(vectors.T, mode="r", pivoting=True, check_finite=False)[1][:k]
    wards = canonical_labels(cut_dendrogram(linkage(rows, "ward"), k))
    centers = np.zeros((k, k))
    np.add.at(centers, wards, rows)
    centers /= np.maximum(np.bincount(wards, minlength=k), 1)[:, None]
    ends = []
    for start in (rows[picked], centers):
        labels = np.empty(len(rows), dtype=np.int64)
        ends.append((round(k_means(rows, start.copy(), labels, _MOST_STEPS), 9), labels))
    return canonical_labels(min(ends, key=lambda end: end[0])[1])


def cut_dendrogram(merges: FloatArray, k: int) -> IntArray:
    """(p,) one number per cluster when k are left, from the merges of scipy's ``linkage``."""
    p = len(merges) + 1
    above = np.arange(2 * p - 1)
    above[merges[: p - k, :2].astype(np.int64)] = np.arange(p, 2 * p - k)[:, None]
    while (above[:p] != (higher := above[above])[:p]).any():
        above = higher
    return above[:p]


@kernel
def k_means(  # noqa: C901 (loops, no cases)
    rows: FloatArray, centers: FloatArray, labels: IntArray, most: int
) -> float:
    """Lloyd's algorithm: write the cluster of each row; return the squared distances left."""
    p, k = rows.shape
    labels[:] = -1
    count = np.empty(len(centers))
    total = 0.0
    for _ in range(most):
        changed, total = False, 0.0
        for i in range(p):
            nearest, least = 0, np.inf
            for c in range(len(centers)):
                distance = 0.0
                for j in range(k):
                    step = rows[i, j] - centers[c, j]
                    distance += step * step
                if distance < least:
                    nearest, least = c, distance
            total += least
            if labels[i] != nearest:
                labels[i], changed = nearest, True
        if not changed:
            break
        for c in range(len(centers)):
            count[c] = 0.0
        for i in range(p):
            count[labels[i]] += 1
        for c in range(len(centers)):
            if count[c] > 0:
                for j in range(k):
                    centers[c, j] = 0.0
        for i in range(p):
            for j in range(k):
                centers[labels[i], j] += rows[i, j] / count[labels[i]]
    return total
