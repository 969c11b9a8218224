"""The barcode of factors: every clique the path ever shows, and the thresholds it lives at.

A set of items C is an independent maximal clique of Ê(τ) = {(i, j): |r_ij| > τ} exactly when
o(C) ≤ τ < w(C), where

    w(C) = min |r_ij| over pairs inside C                       (C is a clique)
    o(C) = min over u in C of max |r_uv| over v outside C       (some u has no neighbor outside)

so a clique appears at one birth o(C), disappears at one death w(C), and never comes back. The
pool of all cliques with their intervals therefore *is* the exact solution path. A barcode keeps the
cliques as sets of numbers in one array, so that one of thousands of items is small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from dtstat.core.arrays import BoolArray, FloatArray, IntArray, SmallIntArray
from dtstat.core.parallel import Jobs, Progress
from dtstat.core.tables import Printed
from dtstat.structure.simplicial import (
    SimplicialIntervals,
    simplicial_intervals,
    sparse_simplicial_intervals,
)
from dtstat.structure.structure import Structure

_DECIMALS = 10  # that tell which clique lives longer
Array = TypeVar("Array", bound=np.ndarray[Any, Any])


@dataclass(frozen=True)
class Bar:
    """One clique of the barcode: a candidate factor with the thresholds it lives at.

    Attributes
    ----------
    items
        Names of its members.
    unique_members
        Members that belong, somewhere on the interval, to no other maximal clique.
    birth, death
        o(C) and w(C): the clique is seen for thresholds in [birth, death).
    """

    items: tuple[str, ...]
    unique_members: tuple[str, ...]
    birth: float
    death: float

    @property
    def persistence(self) -> float:
        """Length of the interval, w(C) − o(C)."""
        return self.death - self.birth

    @property
    def local_margin(self) -> float:
        """Half its persistence: how far every |r| may move before the clique is lost."""
        return self.persistence / 2


@dataclass(frozen=True, eq=False, repr=False)
class Barcode(Printed):
    """All cliques of the exact path, longest-lived first.

    Attributes
    ----------
    item_names
        Names of the p items.
    births, deaths
        (m,) arrays o(C) and w(C).
    sets, unique_sets
        Who belongs to each clique, and who is at some threshold its unique member.
    floor
        Smallest threshold: what is born there may have been born below it.
    """

    item_names: tuple[str, ...]
    births: FloatArray
    deaths: FloatArray
    sets: ItemSets
    unique_sets: ItemSets
    floor: float = 0.0

    @cached_property
    def members(self) -> BoolArray:
        """(m, p) marks of the members of each clique."""
        return _freeze(self.sets.dense())

    @cached_property
    def unique_members(self) -> BoolArray:
        """(m, p) marks of the unique members of each clique."""
        return _freeze(self.unique_sets.dense())

    @property
    def persistence(self) -> FloatArray:
        """(m,) lengths of life."""
        return self.deaths - self.births

    @property
    def sizes(self) -> IntArray:
        """(m,) numbers of members."""
        return self.sets.sizes

    def take(self, which: IntArray) -> Barcode:
        """Keep some cliques, in this order."""
        return replace(
            self,
            births=self.births[which],
            deaths=self.deaths[which],
            sets=self.sets.take(which),
            unique_sets=self.unique_sets.take(which),
        )

    def as_given(self, names: tuple[str, ...], order: IntArray) -> Barcode:
        """Bring the barcode of items in another order, ``order`` of ``names``, back to theirs."""

        def sets(framed: ItemSets) -> ItemSets:
            which = np.repeat(np.arange(len(framed)), framed.sizes)
            return ItemSets.from_pairs(which, order[framed.items], len(framed), len(names))

        own, unique = sets(self.sets), sets(self.unique_sets)
        return _longest_first(Barcode(names, self.births, self.deaths, own, unique, self.floor))

    def alive(self, threshold: float) -> BoolArray:
        """(m,) marks of the cliques seen at a threshold."""
        seen: BoolArray = (self.births <= threshold) & (threshold < self.deaths)
        return seen

    def at(self, threshold: float) -> Structure:
        """Structure at a threshold: the cliques alive there, ordered by their first items."""
        cliques = self.sets.take(np.flatnonzero(self.alive(threshold)))
        return Structure(cliques.take(np.argsort(cliques.ranks())).dense().T, self.item_names)

    def to_frame(self) -> pd.DataFrame:
        """One row per clique: birth, death, persistence, size, items, unique members."""
        return pd.DataFrame(
            {
                "birth": self.births,
                "death": self.deaths,
                "persistence": self.persistence,
                "size": self.sizes,
                "items": [" ".join(bar.items) for bar in self],
                "unique_members": [" ".join(bar.unique_members) for bar in self],
            }
        )

    def __len__(self) -> int:
        return len(self.births)

    def __getitem__(self, i: int) -> Bar:
        return Bar(
            tuple(self.item_names[k] for k in self.sets[i]),
            tuple(self.item_names[k] for k in self.unique_sets[i]),
            float(self.births[i]),
            float(self.deaths[i]),
        )

    def __iter__(self) -> Iterator[Bar]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Barcode: {len(self)} cliques of {len(self.item_names)} items"


def barcode(R: FloatArray, item_names: tuple[str, ...], min_children: int) -> Barcode:
    """Barcode of the cliques of at least ``min_children`` items.

    Parameters
    ----------
    R
        (p, p) symmetric matrix; only absolute values off the diagonal are used.
    item_names
        p names.
    min_children
        Smallest clique to keep; 1 for isolated items too, which last up to the threshold 1.
    """
    strength = np.abs(R)
    np.fill_diagonal(strength, np.inf)

    def neighborhoods(vertices: IntArray, above: FloatArray) -> ItemSets:
        return ItemSets.from_marks(strength[vertices] > above[:, None])  # the diagonal is infinite

    found = _assemble(simplicial_intervals(strength), neighborhoods, item_names, min_children)
    if min_children > 1:
        return found
    return replace(found, deaths=_freeze(np.minimum(found.deaths, 1.0)))


def sparse_barcode(
    starts: IntArray,
    neighbors: SmallIntArray,
    strengths: FloatArray,
    floor: float,
    item_names: tuple[str, ...],
    min_children: int,
    n_jobs: Jobs = None,
    progress: Progress = None,
) -> Barcode:
    """Barcode from the floor up, of a graph of which the edges above the floor are known.

    Parameters
    ----------
    starts, neighbors, strengths, floor, n_jobs, progress
        As in :func:`dtstat.structure.simplicial.sparse_simplicial_intervals`.
    item_names, min_children
        As in :func:`barcode`.
    """

    def neighborhoods(vertices: IntArray, above: FloatArray) -> ItemSets:
        spans = [slice(starts[u], starts[u + 1]) for u in vertices]
        cliques = [
            np.append(neighbors[at][strengths[at] > o], u)
            for at, u, o in zip(spans, vertices, above, strict=True)
        ]
        which = np.repeat(np.arange(len(cliques)), [len(clique) for clique in cliques])
        items = np.concatenate([np.empty(0, np.int64), *cliques])
        return ItemSets.from_pairs(which, items, len(cliques), len(item_names))

    found = sparse_simplicial_intervals(starts, neighbors, strengths, floor, n_jobs, progress)
    return _assemble(found, neighborhoods, item_names, min_children, floor)


def _assemble(
    intervals: SimplicialIntervals,
    neighborhoods: Callable[[IntArray, FloatArray], ItemSets],
    item_names: tuple[str, ...],
    min_children: int,
    floor: float = 0.0,
) -> Barcode:
    """Merge the intervals of the unique members of a clique into one bar.

    ``neighborhoods`` gives the closed neighborhoods of vertices, each at a threshold of its own.
    """
    intervals = intervals[intervals.size >= min_children]
    _, first, clique = np.unique(intervals.name, return_index=True, return_inverse=True)
    births = np.full(len(first), np.inf)
    np.minimum.at(births, clique, intervals.birth)
    deaths = intervals.death[first]
    unique_sets = ItemSets.from_pairs(clique, intervals.vertex, len(first), len(item_names))
    # C is the closed neighborhood of any of its unique members at the start of that interval.
    sets = neighborhoods(intervals.vertex[first], intervals.birth[first])
    return _longest_first(Barcode(item_names, births, deaths, sets, unique_sets, floor))


def _longest_first(found: Barcode) -> Barcode:
    """Sort cliques; equal persistence falls back on the threshold, then on the first items.

    So the order never depends on how the cliques were found.
    """
    ended, lasted = np.round(-found.deaths, _DECIMALS), np.round(-found.persistence, _DECIMALS)
    found = found.take(np.lexsort((found.sets.ranks(), ended, lasted)))
    return replace(found, births=_freeze(found.births), deaths=_freeze(found.deaths))


def _freeze(array: Array) -> Array:
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class ItemSets:
    """Sets of numbers below p.

    Attributes
    ----------
    starts
        (m + 1,) set k is ``items[starts[k] : starts[k + 1]]``.
    items
        The members of all sets, one set after the other, each rising.
    p
        Number of items there are.
    """

    starts: IntArray
    items: IntArray
    p: int

    @classmethod
    def from_pairs(cls, which: IntArray, items: IntArray, m: int, p: int) -> ItemSets:
        """Make m sets from pairs (set, member), each at most once, in any order."""
        order = np.lexsort((items, which))
        starts = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=m))])
        return cls(starts.astype(np.int64), items[order].astype(np.int64), p)

    @classmethod
    def from_marks(cls, marks: BoolArray) -> ItemSets:
        """Make sets from (m, p) marks of their members."""
        starts = np.concatenate([[0], np.cumsum(marks.sum(axis=1))]).astype(np.int64)
        return cls(starts, np.nonzero(marks)[1], marks.shape[1])

    @property
    def sizes(self) -> IntArray:
        """(m,) numbers of members."""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, k: int) -> IntArray:
        return self.items[self.starts[k] : self.starts[k + 1]]

    def __iter__(self) -> Iterator[IntArray]:
        return (self[k] for k in range(len(self)))

    def take(self, which: IntArray) -> ItemSets:
        """Keep some sets, in this order."""
        sizes = self.sizes[which]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        shift = np.repeat(self.starts[which] - starts[:-1], sizes)
        return ItemSets(starts, self.items[np.arange(starts[-1]) + shift], self.p)

    def dense(self) -> BoolArray:
        """(m, p) marks of the members."""
        marks = np.zeros((len(self), self.p), dtype=bool)
        marks[np.repeat(np.arange(len(self)), self.sizes), self.items] = True
        return marks

    def inside(self, support: BoolArray) -> tuple[IntArray, IntArray]:
        """Pairs (set, factor) of the sets that are wholly inside a factor, a column of (p, d)."""
        from scipy.sparse import csr_array

        marks = np.ones(len(self.items), dtype=np.int64), self.items, self.starts
        members = csr_array(marks, shape=(len(self), self.p))
        common = (members @ csr_array(support.astype(np.int64))).tocoo()
        which, factors = common.coords
        within = common.data == self.sizes[which]
        return which[within].astype(np.int64), factors[within].astype(np.int64)

    def ranks(self) -> IntArray:
        """(m,) ranks of distinct sets, those with the earliest items first."""
        written = self.items.astype(">u4")  # as bytes they sort like the numbers
        end = b"\xff\xff\xff\xff"  # of two sets the one that goes on comes first
        spans = pairwise(self.starts)
        keys = [written[start:stop].tobytes() + end for start, stop in spans]
        rank = np.empty(len(keys), dtype=np.int64)
        rank[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
        return rank
