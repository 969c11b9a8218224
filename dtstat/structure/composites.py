"""Groups of so many items that their correlations are never a matrix: sums of answers instead.

With z_i the standardized answers to item i, r_ij = z_i·z_j / n, so that sums of correlations are
products with sums of answers: Σ_{j ∈ k} s_j r_ij = z_i·C_k / n with the composite
C_k = Σ_{j ∈ k} s_j z_j. Loadings of items on groups and correlations of groups are those of
:mod:`dtstat.structure.groups`, by the same formulas, in p n numbers of memory instead of p².

An item moves to the group of its largest loading. Looked at are the groups of its neighbors in a
graph of the strongest pairs (:meth:`Composites.settle`), or in blocks all groups
(:meth:`Composites.home`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray, SmallIntArray
from dtstat.core.kernels import kernel
from dtstat.core.parallel import Jobs, run
from dtstat.structure.groups import align, settle

_ITEMS_PER_BLOCK = 512


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The graph of the strongest pairs: those of item i are ``items[starts[i]:starts[i + 1]]``."""

    starts: IntArray
    items: SmallIntArray


class Composites:
    """Groups of items and the sums of their answers.

    Parameters
    ----------
    Z
        (p, n) items of mean 0 and variance 1, one per row.
    labels
        (p,) group of each item, 0 to k − 1, each with at least one item.
    floor
        As in :class:`dtstat.structure.groups.Groups`.
    signs
        (p,) directions of the items within their groups; None to find them.
    """

    def __init__(
        self, Z: FloatArray, labels: IntArray, floor: float, signs: FloatArray | None = None
    ) -> None:
        self.Z, self.labels, self.floor = Z, labels.copy(), floor
        self.n_groups = int(labels.max()) + 1
        self.signs = self._aligned() if signs is None else signs.copy()
        self.sums = np.zeros((self.n_groups, Z.shape[1]))
        _add_rows(Z, np.arange(len(labels)), self.signs, self.labels, self.sums)
        self.changed = np.ones(self.n_groups, dtype=bool)  # by the last move
        self._look_inside()

    @classmethod
    def of_sums(cls, Z: FloatArray, known: Composites, labels: IntArray) -> Composites:
        """Return groups made of other items, for items that belong to none yet."""
        groups = object.__new__(cls)
        groups.Z, groups.floor, groups.labels = Z, known.floor, labels
        groups.n_groups, groups.sums = known.n_groups, known.sums
        groups.size, groups.within = known.size, known.within
        return groups

    def members(self) -> list[IntArray]:
        """Items of each group."""
        order = np.argsort(self.labels, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.labels))[:-1])

    def _aligned(self) -> FloatArray:
        signs = np.ones(len(self.labels))
        for items in self.members():
            part = self.Z[items]
            signs[items] = align(part @ part.T, np.zeros(len(items), dtype=np.int64), 1)
        return signs

    def _look_inside(self) -> None:
        """Sum the correlations within groups: ``own`` of each item with its group, ``inside``."""
        n = self.Z.shape[1]
        self.size = np.bincount(self.labels, minlength=self.n_groups)
        self.own = self.signs * _dots(self.Z, self.sums, self.labels) / n - 1.0
        self.inside = np.bincount(self.labels, self.own, self.n_groups)
        pairs = np.maximum(self.size * (self.size - 1.0), 1.0)
        self.within = np.maximum(self.inside / pairs, self.floor)

    @property
    def scale(self) -> FloatArray:
        """(k,) what composites are divided by for correlations to be those of the factors."""
        scale: FloatArray = np.sqrt(self.within) * self.size
        return scale

    def own_strength(self) -> FloatArray:
        """(p,) |λ| of the items on their own groups, themselves left out."""
        size, inside = self.size[self.labels], self.inside[self.labels]
        left = size - 1.0
        pairs = left * (left - 1)
        # Of two items one is left, and no pair: the pair itself is then all there is.
        rest = (inside - 2 * self.own) / np.maximum(pairs, 1.0)
        among = np.where(pairs > 0, rest, self.within[self.labels])
        strength: FloatArray = np.abs(self.own) / np.maximum(left, 1.0)
        strength /= np.sqrt(np.maximum(among, self.floor))
        return strength

    def settle(self, neighbors: Neighbors, smallest: int) -> Composites:
        """Move items to the groups of their largest loadings among those of their neighbors."""
        best = self.labels.copy()
        self.changed[:] = True

        def largest() -> IntArray:
            unit, own = self.Z.shape[1] * self.scale, self.own_strength()
            graph = neighbors.starts, neighbors.items
            _look_near(self.Z, self.sums, unit, self.labels, own, *graph, self.changed, best)
            return best.copy()

        settle(self, largest, smallest)
        return self

    def settle_everywhere(self, smallest: int, n_jobs: Jobs = None) -> Composites:
        """Move items to the groups of their largest loadings among all groups."""
        settle(self, lambda: self.home(np.arange(len(self.Z)), n_jobs), smallest)
        return self

    def home(self, items: IntArray, n_jobs: Jobs = None) -> IntArray:
        """Group that each of some items loads on most, of all groups, in blocks of items."""
        unit = self.Z.shape[1] * self.scale
        own = np.zeros(len(items))
        if (self.labels >= 0).all():
            own = self.own_strength()[items]
        spans = list(_blocks(len(items)))
        work = _Homes(self.Z, self.sums, unit)
        pieces = [(items[at], self.labels[items[at]], own[at]) for at in spans]
        found = [best for _, best in run(work, pieces, n_jobs, ordered=True)]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])

    def move(self, items: IntArray, groups: IntArray) -> None:
        """Move some items."""
        at = np.einsum("in,in->i", self.Z[items], self.sums[groups])
        self.changed[:] = False
        self.changed[self.labels[items]] = self.changed[groups] = True
        self.labels[items] = groups
        self.signs[items] = np.where(at < 0, -1.0, 1.0)
        self.sums[self.changed] = 0.0
        own = np.flatnonzero(self.changed[self.labels])
        _add_rows(self.Z, own, self.signs[own], self.labels[own], self.sums)
        self._look_inside()


@dataclass(frozen=True, eq=False)
class _Homes:
    """Finds the groups that items load on most, of all."""

    Z: FloatArray
    sums: FloatArray
    unit: FloatArray

    def __call__(self, piece: tuple[IntArray, IntArray, FloatArray]) -> IntArray:
        items, labels, own = piece
        strength = np.abs(self.Z[items] @ self.sums.T) / self.unit
        has = labels >= 0
        strength[np.flatnonzero(has), labels[has]] = own[has]
        best: IntArray = strength.argmax(axis=1)
        return best


def _blocks(p: int) -> Iterator[slice]:
    for start in range(0, p, _ITEMS_PER_BLOCK):
        yield slice(start, min(start + _ITEMS_PER_BLOCK, p))


@kernel
def _add_rows(
    Z: FloatArray, items: IntArray, signs: FloatArray, groups: IntArray, sums: FloatArray
) -> None:
    for m in range(len(items)):
        i, k, s = items[m], groups[m], signs[m]
        if k >= 0:
            for r in range(Z.shape[1]):
                sums[k, r] += s * Z[i, r]


@kernel
def _dots(Z: FloatArray, sums: FloatArray, groups: IntArray) -> FloatArray:
    found = np.zeros(len(groups))
    for i in range(len(groups)):
        if groups[i] >= 0:
            found[i] = np.dot(Z[i], sums[groups[i]])
    return found


@kernel
def _look_near(
    Z: FloatArray,
    sums: FloatArray,
    unit: FloatArray,
    labels: IntArray,
    own: FloatArray,
    starts: IntArray,
    neighbors: SmallIntArray,
    changed: BoolArray,
    best: IntArray,
) -> None:
    """Write the group of largest loading among those of an item's neighbors, or its own.

    Items all of whose groups are as they were keep what was found before.
    """
    seen = np.full(len(sums), -1)
    for i in range(len(Z)):
        again = changed[labels[i]]
        for e in range(starts[i], starts[i + 1]):
            again |= changed[labels[neighbors[e]]]
        if not again:
            continue
        best[i], most = labels[i], own[i]
        seen[labels[i]] = i
        for e in range(starts[i], starts[i + 1]):
            k = labels[neighbors[e]]
            if seen[k] == i:
                continue
            seen[k] = i
            strength = abs(np.dot(Z[i], sums[k])) / unit[k]
            if strength > most or (strength == most and k < best[i]):
                best[i], most = k, strength
