"""Items sorted into groups, one factor each: loadings read off correlations, without a fit.

If every item has one parent, r_ij = λ_i λ_j within a factor and λ_i φ λ_j across. With s_j = ±1 the
direction of item j within its group, the loading of item i on group k is (multiple group method:
Holzinger 1944, Thurstone 1945)

    λ_ik = mean_{j ∈ k} s_j r_ij / √(mean_{j ≠ l ∈ k} s_j s_l r_jl),   i itself left out of k,

and two groups correlate by φ_kl = mean_{i ∈ k, j ∈ l} s_i s_j r_ij / √(the two means within).
:meth:`Groups.settle` moves every item to the group of its largest loading until none moves. Sums
are kept, so that a move or a join costs p numbers, not p²; those of a group stand side by side in
memory.

References
----------
Holzinger, K. J. (1944). A simple method of factor analysis. Psychometrika 9, 257–262. Hubert, L. &
Arabie, P. (1985). Comparing partitions. Journal of Classification 2, 193–218. Thurstone, L. L.
(1945). A multiple group method of factoring the correlation matrix. Psychometrika 10, 73–78.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.kernels import kernel

_MOST_SWEEPS = 40  # they settle in a few; some would go round in circles
_NOTHING = 1e-12  # sum of loadings that says nothing of a direction


class Groups:
    """Groups of items and what follows from them.

    Parameters
    ----------
    R
        (p, p) correlations.
    labels
        (p,) group of each item, 0 to k − 1, each with at least one item.
    floor
        Mean correlation within a group that chance gives: what holds together less counts as this,
        since to divide by nearly nothing would draw all items to a group that is none.
    """

    def __init__(self, R: FloatArray, labels: IntArray, floor: float) -> None:
        self.R, self.labels, self.floor = R, labels.copy(), floor
        self.size = np.bincount(labels)
        self.signs = align(R, labels, len(self.size))
        self._sum()

    def _sum(self) -> None:
        p, k = len(self.R), len(self.size)
        A = np.zeros((p, k))
        A[np.arange(p), self.labels] = self.signs
        self.sums = np.asfortranarray(self.R @ A)
        self.sums[np.arange(p), self.labels] -= self.signs  # not with itself
        self.strength = np.empty((p, k), order="F")
        self._load(np.arange(k))

    def _load(self, groups: IntArray) -> None:
        """Compute |λ| of all items on some groups."""
        p, size = len(self.R), self.size[groups].astype(np.float64)
        sums = self.sums[:, groups]
        within = np.zeros(len(groups))
        mean = np.abs(sums) / np.maximum(size, 1.0)
        own = self.signs * self.sums[np.arange(p), self.labels]
        inside = np.bincount(self.labels, own, len(self.size))[groups]
        within = np.maximum(inside / np.maximum(size * (size - 1), 1.0), self.floor)
        self.strength[:, groups] = mean / np.sqrt(within)
        # Items of these groups are left out of them.
        place = np.full(len(self.size), -1)
        place[groups] = np.arange(len(groups))
        items = np.flatnonzero(place[self.labels] >= 0)
        k = place[self.labels[items]]
        left, rest = size[k] - 1, inside[k] - 2 * own[items]
        pairs = left * (left - 1)
        # Of two items one is left, and no pair: the pair itself is then all there is.
        among = np.where(pairs > 0, rest / np.maximum(pairs, 1.0), within[k])
        mean = np.abs(own[items]) / np.maximum(left, 1.0)
        self.strength[items, self.labels[items]] = mean / np.sqrt(np.maximum(among, self.floor))

    @property
    def support(self) -> BoolArray:
        """(p, k) which item is in which group."""
        marks: BoolArray = self.labels[:, None] == np.arange(len(self.size))
        return marks

    def correlations(self) -> FloatArray:
        """(k, k) correlations φ of the groups, whose loadings sum to more than 0 each."""
        order = np.argsort(self.labels, kind="stable")
        starts = np.concatenate([[0], np.cumsum(self.size)[:-1]])
        between = np.add.reduceat((self.signs[:, None] * self.sums)[order], starts, axis=0)
        inside = between.diagonal() / np.maximum(self.size * (self.size - 1.0), 1.0)
        scale = np.sqrt(np.maximum(inside, self.floor)) * self.size
        own = self.signs * self.own_strength()
        scale = np.where(np.bincount(self.labels, own) < -_NOTHING, -scale, scale)
        Phi: FloatArray = between / np.outer(scale, scale)
        np.fill_diagonal(Phi, 1.0)
        return Phi

    def own_strength(self) -> FloatArray:
        """(p,) |λ| of the items on their own groups."""
        strength: FloatArray = self.strength[np.arange(len(self.R)), self.labels]
        return strength

    def settle(self, smallest: int) -> Groups:
        """Move items to the groups of their largest loadings; see :func:`settle`."""
        if len(self.size) > 1:  # a single column has another layout, to be compiled for
            settle(self, lambda: _largest(self.strength), smallest)
        return self

    def move(self, items: IntArray, groups: IntArray) -> None:
        """Move some items."""
        old = self.labels[items]
        signs = np.where(self.sums[items, groups] < 0, -1.0, 1.0)
        changed = np.unique(np.concatenate([old, groups]))
        _move_sums(self.R, self.sums, items, old, self.signs[items], groups, signs)
        self.signs[items], self.labels[items] = signs, groups
        self.size = np.bincount(self.labels, minlength=len(self.size))
        self._load(changed)

    def renumber(self) -> Groups:
        """Put the groups in the order of their first items."""
        labels = canonical_labels(self.labels)
        if np.array_equal(labels, self.labels):
            return self
        order = self.labels[np.unique(labels, return_index=True)[1]]  # old numbers, new order
        self.labels, self.size = labels, self.size[order]
        self.sums = np.asfortranarray(self.sums[:, order])
        self.strength = np.asfortranarray(self.strength[:, order])
        return self

    def joined(self, a: int, b: int) -> Groups:
        """Return the groups with b joined to a; those after b move up."""
        other = object.__new__(Groups)
        other.R, other.floor = self.R, self.floor
        other.labels, other.signs = self.labels.copy(), self.signs.copy()
        turned = 1.0 if self.signs[self.labels == b] @ self.sums[self.labels == b, a] >= 0 else -1.0
        other.signs[self.labels == b] *= turned
        other.labels[self.labels == b] = a
        other.labels[other.labels > b] -= 1
        sums = self.sums.copy(order="F")
        sums[:, a] += turned * sums[:, b]
        other.sums = np.delete(sums, b, axis=1)
        other.size = np.bincount(other.labels)
        other.strength = np.delete(self.strength, b, axis=1)
        other._load(np.array([a - (a > b)]))
        return other


class Movable(Protocol):
    """Groups that items are moved between."""

    labels: IntArray

    def own_strength(self) -> FloatArray:
        """(p,) |λ| of the items on their own groups."""

    def move(self, items: IntArray, groups: IntArray) -> None:
        """Move some items."""


def settle(groups: Movable, largest: Callable[[], IntArray], smallest: int) -> None:
    """Move items to the groups of their largest loadings, all at once, until none moves.

    Parameters
    ----------
    groups
        Of the items.
    largest
        Function that returns the (p,) groups of the largest loadings as they are now.
    smallest
        A group that would have fewer items keeps as many, those that load on it most; or all, if it
        has fewer.
    """
    seen: set[bytes] = set()
    for _ in range(_MOST_SWEEPS):
        best = _with_enough(largest(), groups, smallest)
        moved = np.flatnonzero(best != groups.labels)
        if not len(moved):
            return
        groups.move(moved, best[moved])
        key = groups.labels.tobytes()
        if key in seen:
            return
        seen.add(key)


def _with_enough(best: IntArray, groups: Movable, smallest: int) -> IntArray:
    """(p,) groups to move to, or to stay in so that none becomes too small."""
    labels = groups.labels
    size = np.bincount(labels)
    small = np.bincount(best, minlength=len(size)) < smallest
    if not small.any():
        return best
    order = np.lexsort((-groups.own_strength(), labels))
    among = np.empty(len(order), dtype=bool)  # those that load most on their groups
    among[order] = np.arange(len(order)) - (np.cumsum(size) - size)[labels[order]] < smallest
    stays = np.zeros(len(order), dtype=bool)
    while (more := small[labels] & among & ~stays).any():
        stays |= more
        small = np.bincount(np.where(stays, labels, best), minlength=len(size)) < smallest
    found: IntArray = np.where(stays, labels, best)
    return found


@kernel
def align(  # noqa: C901 (loops, no cases)
    R: FloatArray, labels: IntArray, n_groups: int
) -> FloatArray:
    """(p,) directions in which the items of a group correlate positively, as far as they can.

    Each as its group's leader, the item of the largest correlations, says; then all at once as most
    of the group says, until none turns.
    """
    p = len(labels)
    most, leader = np.full(n_groups, -1.0), np.zeros(n_groups, dtype=np.int64)
    for i in range(p):
        k, total = labels[i], 0.0
        for j in range(p):
            if labels[j] == k:
                total += abs(R[i, j])
        if total > most[k]:
            most[k], leader[k] = total, i
    signs, turned = np.zeros(p), np.zeros(p)
    for i in range(p):
        signs[i] = -1.0 if R[leader[labels[i]], i] < 0 else 1.0
    for _ in range(_MOST_SWEEPS):
        turns = 0
        for i in range(p):
            total = 0.0
            for j in range(p):
                if labels[j] == labels[i] and j != i:
                    total += R[i, j] * signs[j]
            turned[i] = -1.0 if total < 0 else 1.0
            turns += turned[i] != signs[i]
        if not turns:
            break
        signs, turned = turned, signs
    return signs


@kernel
def _largest(strength: FloatArray) -> IntArray:
    """(p,) column of the largest entry of each row, the first of equals."""
    p, k = strength.shape
    best, most = np.zeros(p, dtype=np.int64), strength[:, 0].copy()
    for group in range(1, k):
        for i in range(p):
            if strength[i, group] > most[i]:
                best[i], most[i] = group, strength[i, group]
    return best


@kernel
def _move_sums(
    R: FloatArray,
    sums: FloatArray,
    items: IntArray,
    old: IntArray,
    old_signs: FloatArray,
    new: IntArray,
    new_signs: FloatArray,
) -> None:
    """Take items out of the sums of their old groups and into those of their new ones."""
    for m in range(len(items)):
        i, before, after = items[m], old[m], new[m]
        kept, gained = sums[i, before], sums[i, after]  # an item is in no sum of its own
        for j in range(len(R)):
            sums[j, before] -= old_signs[m] * R[i, j]
            sums[j, after] += new_signs[m] * R[i, j]
        sums[i, before], sums[i, after] = kept, gained


def canonical_labels(labels: IntArray) -> IntArray:
    """Renumber groups in the order of their first items; empty ones go."""
    first, inverse = np.unique(labels, return_index=True, return_inverse=True)[1:]
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbered: IntArray = rank[inverse]
    return numbered


def agreement(groupings: Sequence[IntArray]) -> FloatArray:
    """(m, m) adjusted Rand indices (Hubert & Arabie 1985) of m groupings: 1 if equal, 0 by chance.

    Groups are numbered from 0. One product of marks has the counts of all pairs of groupings.
    """
    n = len(groupings[0])
    starts = np.cumsum([0, *(labels.max() + 1 for labels in groupings)])
    marks = np.zeros((n, starts[-1]))
    for start, labels in zip(starts, groupings, strict=False):
        marks[np.arange(n), start + labels] = 1.0
    counts = marks.T @ marks
    pairs = counts * (counts - 1) / 2
    together = np.add.reduceat(np.add.reduceat(pairs, starts[:-1]), starts[:-1], axis=1)
    within = together.diagonal()
    by_chance = np.outer(within, within) / max(n * (n - 1) / 2, 1.0)
    most = (within[:, None] + within) / 2
    index: FloatArray = np.ones_like(together)
    np.divide(together - by_chance, most - by_chance, out=index, where=most != by_chance)
    return index


def overlaps(labels: IntArray, support: BoolArray) -> IntArray:
    """(k, d) numbers of items that groups have in common with factors, (p, d)."""
    items, factors = np.nonzero(support)
    counts = np.zeros((int(labels.max()) + 1, support.shape[1]), dtype=np.int64)
    np.add.at(counts, (labels[items], factors), 1)
    return counts
