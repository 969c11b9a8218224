"""The distinct answers of an item, which answer each row has, and how often each occurs.

Ratings have few distinct answers. These are found in one pass, by putting every new one in its
place among those already seen, which is many times faster than sorting the rows. With more than
``_FEW`` of them the rows are sorted.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray, SmallIntArray
from dtstat.core.kernels import kernel

_FEW = 32
_BLOCK = 1 << 16  # rows


Counted: TypeAlias = tuple[FloatArray, IntArray] | None  # distinct answers, and how many have each


class Levels(NamedTuple):
    """Distinct answers of an item.

    Attributes
    ----------
    values
        (K,) distinct answers, rising.
    codes
        (n,) place 0..K−1 of each row's answer among them, −1 where missing.
    counts
        (K,) how many rows have each.
    """

    values: FloatArray
    codes: SmallIntArray
    counts: IntArray


def find_levels(column: FloatArray) -> Levels:
    """Find the distinct answers of an item, (n,) with NaN where missing.

    Examples
    --------
    >>> find_levels(np.array([2.0, 1.0, np.nan, 2.0])).codes.tolist()
    [1, 0, -1, 1]
    """
    few = few_levels(column)
    if few is not None:
        return few
    observed = ~np.isnan(column)
    values, places, counts = np.unique(column[observed], return_inverse=True, return_counts=True)
    codes = np.full(column.size, -1, dtype=np.int32)
    codes[observed] = places
    return Levels(values, codes, counts)


def few_levels(column: FloatArray) -> Levels | None:
    """Find the distinct answers of an item if they are few; None if not, which shows soon."""
    values, codes = np.empty(_FEW), np.empty(column.size, dtype=np.int32)
    counts = np.zeros(_FEW, dtype=np.int64)
    # One layout, and writable: for numba another is another type.
    K = _find_few(np.array(column, dtype=np.float64), values, codes, counts)
    return Levels(values[:K], codes, counts[:K]) if K >= 0 else None


def count_levels(column: FloatArray) -> tuple[FloatArray, IntArray]:
    """(K,) distinct answers of an item, rising, without missing ones, and how many have each."""
    few = few_levels(column)
    if few is not None:
        return few.values, few.counts
    return np.unique(column[~np.isnan(column)], return_counts=True)


def count_columns(values: FloatArray) -> list[Counted]:
    """Distinct answers and counts of all columns that have few, as `count_levels`; None of others.

    The table is read once, row by row as it lies in memory, in blocks.
    """
    n, p = values.shape
    found, counts = np.empty((p, _FEW)), np.zeros((p, _FEW), dtype=np.int64)
    sizes = np.zeros(p, dtype=np.int64)
    for start in range(0, n, _BLOCK):
        # One layout, and writable: for numba another is another type.
        block = np.array(values[start : start + _BLOCK], dtype=np.float64, order="C")
        _count_few(block, found, counts, sizes)
    return [
        (found[k, :size].copy(), counts[k, :size].copy()) if size >= 0 else None
        for k, size in enumerate(sizes.tolist())
    ]


@kernel
def _count_few(x: FloatArray, values: FloatArray, counts: IntArray, sizes: IntArray) -> None:
    """Count the answers of all columns in some more rows; −1 is the size where there is no room."""
    n, p = x.shape
    for r in range(n):
        for i in range(p):
            K = sizes[i]
            if K < 0 or np.isnan(x[r, i]):
                continue
            place = 0
            for k in range(K):
                place += values[i, k] < x[r, i]
            if place == K or values[i, place] != x[r, i]:
                if values.shape[1] == K:
                    sizes[i] = -1
                    continue
                for k in range(K, place, -1):
                    values[i, k], counts[i, k] = values[i, k - 1], counts[i, k - 1]
                values[i, place], counts[i, place] = x[r, i], 0
                sizes[i] = K + 1
            counts[i, place] += 1


@kernel
def _find_few(x: FloatArray, values: FloatArray, codes: SmallIntArray, counts: IntArray) -> int:
    """Fill in what `find_levels` returns; return K, or −1 if there is no room for all."""
    K = 0
    label = np.empty(values.size, np.int32)  # number of a value in the order of appearance
    for r in range(x.size):
        if np.isnan(x[r]):
            codes[r] = -1
            continue
        place = 0
        for k in range(K):  # to the end: a loop that may stop anywhere is slower
            place += values[k] < x[r]
        if place == K or values[place] != x[r]:
            if values.size == K:
                return -1
            for k in range(K, place, -1):
                values[k], label[k], counts[k] = values[k - 1], label[k - 1], counts[k - 1]
            values[place], label[place], counts[place] = x[r], K, 0
            K += 1
        codes[r] = label[place]
        counts[place] += 1
    rank = np.empty(K, np.int32)
    for k in range(K):
        rank[label[k]] = k
    for r in range(x.size):
        if codes[r] >= 0:
            codes[r] = rank[codes[r]]
    return K
