"""Contingency tables of all pairs of ratings: what many rows come down to.

A million people who answer on five points leave 25 counts for each pair of items. Rank,
polychoric and canonical correlations are functions of these counts, so that with many rows the
answers are read once, and never copied:

1. a block of rows is coded, and the rows that gave an answer are marked, one bit per row:
   B_ia = [x_i = a];
2. every cell of every table is a number of common bits, n_ab = popcount(B_ia & B_jb), 64 rows at
   a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.kernels import kernel
from dtstat.core.parallel import Progress, track

FEWEST_ROWS = 50_000  # with fewer rows the usual ways cost next to nothing
_MOST_LEVELS = 16  # cells grow with the square
_MOST_CELLS = 20_000_000  # of all tables, 8 bytes each
_BLOCK = 1 << 16  # rows; their marks stay in the second-level cache

Words = npt.NDArray[np.uint64]
Table = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PairTables:
    """Counts of answers, of each item and of each pair of items on its common rows.

    Attributes
    ----------
    levels
        Sorted distinct answers of each item, K_i of them.
    counts
        (p, K) how many rows gave each answer; 0 beyond the answers of an item.
    cells
        (p(p − 1)/2, K, K) tables of the pairs, as ``np.triu_indices(p, 1)`` lists them.
    n_complete
        Number of rows without any gap.
    """

    levels: tuple[FloatArray, ...]
    counts: IntArray
    cells: Table
    n_complete: int

    def of_item(self, i: int) -> Table:
        """(p − i − 1, K, K) tables of an item with the items after it."""
        p = len(self.levels)
        start = i * p - i * (i + 1) // 2
        return self.cells[start : start + p - i - 1]

    def matrix(self, measure: Callable[[Table], FloatArray]) -> FloatArray:
        """(p, p) values of a symmetric measure, which is 1 of an item with itself.

        ``measure`` takes the tables of an item with the items after it.
        """
        p = len(self.levels)
        R = np.eye(p)
        for i in range(p - 1):
            R[i, i + 1 :] = R[i + 1 :, i] = measure(self.of_item(i))
        return R

    def margins(self) -> Iterator[tuple[FloatArray, IntArray]]:
        """Yield the answers of each item, and how many rows gave each."""
        for values, counts in zip(self.levels, self.counts, strict=True):
            yield values, counts[: len(values)]


def suits_pair_tables(n: int, levels: Sequence[Sequence[float] | None]) -> bool:
    """Whether tables of all pairs are the way: for many rows, and ratings only."""
    p, K = len(levels), max((len(own or ()) for own in levels), default=0)
    rated = p > 1 and all(levels) and K <= _MOST_LEVELS
    return n >= FEWEST_ROWS and rated and p * (p - 1) // 2 * K * K <= _MOST_CELLS


def count_pairs(
    values: FloatArray, levels: Sequence[Sequence[float]], progress: Progress = None
) -> PairTables:
    """Count the answers of all pairs of items in one pass over the rows.

    Parameters
    ----------
    values
        (n, p) answers, NaN where missing.
    levels
        All distinct answers of each item, rising.
    progress
        Bar or callback, in blocks of rows.

    Examples
    --------
    >>> count_pairs(np.array([[1.0, 2.0], [1.0, 4.0], [3.0, 4.0]]), [(1, 3), (2, 4)]).cells[0]
    array([[1, 1],
           [0, 1]])
    """
    n, p = values.shape
    K = max(map(len, levels))
    sizes = np.array([len(own) for own in levels], dtype=np.int64)
    known = np.zeros((p, K))
    for line, own in zip(known, levels, strict=True):
        line[: len(own)] = own
    counts, complete = np.zeros((p, K), np.int64), 0
    found = PairTables(
        tuple(np.array(own, dtype=np.float64) for own in levels),
        counts,
        np.zeros((p * (p - 1) // 2, K, K), np.int64),
        0,
    )
    for start in track(range(0, n, _BLOCK), progress, "counts"):
        # One layout, and writable: for numba another is another type.
        block = np.array(values[start : start + _BLOCK], dtype=np.float64, order="C")
        marks = np.zeros((p, K, (len(block) + 63) // 64), np.uint64)
        complete += _mark(block, known, sizes, marks, counts)
        for i in range(p - 1):
            _add_common(marks, sizes, i, found.of_item(i))
    return PairTables(found.levels, counts, found.cells, int(complete))


@kernel
def _mark(
    values: FloatArray, levels: FloatArray, sizes: IntArray, marks: Words, counts: IntArray
) -> int:
    """Set the bit of each row in the marks of its answers; return how many rows have all."""
    n, p = values.shape
    complete = 0
    for row in range(n):
        word, bit = row >> 6, np.uint64(1) << np.uint64(row & 63)
        seen = 0
        for i in range(p):
            x = values[row, i]
            if np.isnan(x):
                continue
            place = 0
            for k in range(sizes[i]):
                place += levels[i, k] < x
            marks[i, place, word] |= bit
            counts[i, place] += 1
            seen += 1
        complete += seen == p
    return complete


@kernel
def _add_common(marks: Words, sizes: IntArray, i: int, cells: Table) -> None:
    """Add the numbers of common bits of item i and the items after it."""
    for j in range(i + 1, len(marks)):
        for a in range(sizes[i]):
            left = marks[i, a]
            for b in range(sizes[j]):
                right = marks[j, b]
                count = np.uint64(0)
                for w in range(len(left)):
                    count += _popcount(left[w] & right[w])
                cells[j - i - 1, a, b] += np.int64(count)


@kernel
def _popcount(x: np.uint64) -> np.uint64:
    """Count the bits set, in the form that compilers turn into one instruction."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
