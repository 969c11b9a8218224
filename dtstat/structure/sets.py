"""Many sets of items in one array: what a barcode of thousands of items is kept in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dtstat.arrays import BoolArray, IntArray


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

    def ranks(self) -> IntArray:
        """(m,) ranks of distinct sets, those with the earliest items first."""
        written = self.items.astype(">u4")  # as bytes they sort like the numbers
        end = b"\xff\xff\xff\xff"  # of two sets the one that goes on comes first
        spans = pairwise(self.starts)
        keys = [written[start:stop].tobytes() + end for start, stop in spans]
        rank = np.empty(len(keys), dtype=np.int64)
        rank[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
        return rank
