"""Ranks, and Spearman's correlation: of ranks, or from tables of items with few levels."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.kernels import kernel
from dtstat.core.parallel import Jobs, Progress, track
from dtstat.data.levels import few_levels
from dtstat.data.pair_tables import PairTables
from dtstat.dependence.matrix import symmetric_matrix
from dtstat.dependence.pearson import pearson

Codes = npt.NDArray[np.int32]

# A table of K × K cells is read in about K² steps; sorting or merging takes n log n slower ones.
CELLS_PER_ROW = 4
_BLOCK = 4_000_000  # numbers ranked at once


def spearman(X: FloatArray, n_jobs: Jobs = None, progress: Progress = None) -> FloatArray:
    """Spearman's rank correlation: Pearson's of the average ranks (Spearman 1904).

    X is (n, p), NaN where missing; each pair is ranked anew on its common rows. Cost: sorting each
    column and one matrix product; O(n) more for each pair with missing values.
    """
    complete = np.asarray(~np.isnan(X).any(axis=0))
    if complete.all():
        return pearson(average_ranks(X, progress), n_jobs, progress)
    few = _few_codes(X)
    if few is not None and suits_tables(few):
        return spearman_from_tables(few, n_jobs, progress)
    codes, order = dense_codes(X, progress)
    row = partial(_spearman_row, codes, order, complete)
    R = symmetric_matrix(row, X.shape[1], n_jobs, progress, "spearman")
    if complete.any():
        R[np.ix_(complete, complete)] = pearson(average_ranks(X[:, complete]), n_jobs)
    return R


def spearman_from_tables(
    codes: Codes, n_jobs: Jobs = None, progress: Progress = None
) -> FloatArray:
    """Spearman's correlation of all pairs of coded columns, on the rows each pair has in common.

    The mean rank of a level is (number of answers below it) + (1 + number of answers on it) / 2,
    so the table of a pair has all there is to know; nothing is sorted.

    ``codes`` is (p, n): levels 0, 1, 2, ... in rising order, −1 where missing; levels may be empty.
    The result is (p, p), NaN for a pair with a constant item.
    """
    return symmetric_matrix(
        partial(_table_row, codes, codes.max(axis=1) + 1), len(codes), n_jobs, progress, "spearman"
    )


def spearman_from_counts(tables: PairTables) -> FloatArray:
    """Spearman's correlation from the counts of all pairs; NaN for a pair with a constant item."""
    return tables.matrix(_of_tables)


def suits_tables(codes: Codes) -> bool:
    """Whether all items have so few levels that tables are the way."""
    levels = int(codes.max()) + 1
    return levels * levels <= CELLS_PER_ROW * len(codes.T)


def _few_codes(X: FloatArray) -> Codes | None:
    """(p, n) codes as `dense_codes` returns them, if every item has few levels."""
    codes = np.empty(X.shape[::-1], dtype=np.int32)
    for line, x in zip(codes, X.T, strict=True):
        few = few_levels(x)
        if few is None:
            return None
        line[:] = few.codes
    return codes


def average_ranks(X: FloatArray, progress: Progress = None) -> FloatArray:
    """Ranks 1..n of each column, tied values sharing their mean rank. No missing values."""
    ranks = np.empty(X.shape[::-1])
    step = max(1, _BLOCK // len(X))
    for start in track(range(0, len(ranks), step), progress, "ranks"):
        block = slice(start, start + step)
        _rank_columns(X[:, block], ranks[block])
    return ranks.T


def _rank_columns(X: FloatArray, ranks: FloatArray) -> None:
    many = np.zeros(len(ranks), dtype=bool)
    for i, x in enumerate(X.T):
        few = few_levels(x)
        if few is None:
            many[i] = True
        else:
            ranks[i] = (np.cumsum(few.counts) - (few.counts - 1) / 2)[few.codes]
    if many.any():
        ranks[many] = _sorted_ranks(X[:, many])


def _sorted_ranks(X: FloatArray) -> FloatArray:
    """(p, n) ranks of columns, which are sorted."""
    order = np.argsort(X.T, axis=1)
    start = _group_starts(np.take_along_axis(X.T, order, axis=1))
    position = np.arange(len(X))
    first = np.maximum.accumulate(np.where(start, position, 0), axis=1)
    # Read backwards, the position before a group's start is the end of the group before it.
    end = np.where(np.roll(start, -1, axis=1), position, len(X) - 1)
    last = np.minimum.accumulate(end[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(order.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=1)
    return ranks


def dense_codes(X: FloatArray, progress: Progress = None) -> tuple[Codes, Codes]:
    """Code the distinct values of each column as 0, 1, 2, ... in rising order.

    Returns (p, n) codes, −1 where missing, and the (p, n) rows that sort each column, missing last.
    """
    codes, orders = (np.empty(X.shape[::-1], dtype=np.int32) for _ in range(2))
    step = max(1, _BLOCK // max(len(X), 1))
    for start in track(range(0, len(codes), step), progress, "ranks"):
        block = slice(start, start + step)
        items = X[:, block].T
        order = np.argsort(items, axis=1)
        ascending = np.take_along_axis(items, order, axis=1)
        group = np.cumsum(_group_starts(ascending), axis=1) - 1
        group[np.isnan(ascending)] = -1
        np.put_along_axis(codes[block], order, group.astype(np.int32), axis=1)
        orders[block] = order
    return codes, orders


def _group_starts(ascending: FloatArray) -> BoolArray:
    start = np.ones(ascending.shape, dtype=bool)
    np.not_equal(ascending[:, 1:], ascending[:, :-1], out=start[:, 1:])
    return start


@kernel
def _spearman_row(codes: Codes, order: Codes, complete: BoolArray, i: int) -> FloatArray:
    """Correlations of column i with every column j > i, 0 if both are complete."""
    p, n = codes.shape
    row = np.zeros(p - i - 1)
    a, b = np.empty(n), np.empty(n)
    for j in range(i + 1, p):
        if complete[i] and complete[j]:
            continue
        m = _ranks_in_common_rows(codes[i], order[i], codes[j], a)
        _ranks_in_common_rows(codes[j], order[j], codes[i], b)
        mean = (m + 1) / 2
        saa, sbb, sab = 0.0, 0.0, 0.0
        for k in range(n):
            if codes[i, k] >= 0 and codes[j, k] >= 0:
                da, db = a[k] - mean, b[k] - mean
                saa += da * da
                sbb += db * db
                sab += da * db
        r = sab / np.sqrt(saa * sbb) if saa > 0 and sbb > 0 else np.nan
        row[j - i - 1] = min(1.0, max(-1.0, r)) if r == r else np.nan
    return row


@kernel
def _ranks_in_common_rows(mine: Codes, order: Codes, other: Codes, ranks: FloatArray) -> int:
    """Average ranks of ``mine`` among the rows both observe; return how many rows those are."""
    below, k = 0, 0
    while k < len(order) and mine[order[k]] >= 0:
        stop, size = k, 0
        while stop < len(order) and mine[order[stop]] == mine[order[k]]:
            size += other[order[stop]] >= 0
            stop += 1
        for t in range(k, stop):
            ranks[order[t]] = below + (size + 1) / 2
        below += size
        k = stop
    return below


@kernel
def _table_row(codes: Codes, levels: Codes, i: int) -> FloatArray:
    """Correlations of column i with every column j > i."""
    p, n = codes.shape
    row_values = np.empty(p - i - 1)
    K = levels[i]
    for j in range(i + 1, p):
        L = levels[j]
        table = np.zeros((K + 1, L + 1), np.int64)  # the last row and column take missing answers
        for row in range(n):
            table[codes[i, row], codes[j, row]] += 1
        row_values[j - i - 1] = _from_table(table[:K, :L])
    return row_values


@kernel
def _of_tables(cells: IntArray) -> FloatArray:
    """Correlations of an item with those whose tables are given."""
    row = np.empty(len(cells))
    for j in range(len(cells)):
        row[j] = _from_table(cells[j])
    return row


@kernel
def _from_table(table: IntArray) -> float:
    """Correlate the mean ranks of the levels, twice their distance from the middle."""
    K, L = table.shape
    by_row, by_column = np.zeros(K, np.int64), np.zeros(L, np.int64)
    n = 0
    for k in range(K):
        for col in range(L):
            by_row[k] += table[k, col]
            by_column[col] += table[k, col]
            n += table[k, col]
    a, b = _centered_ranks(by_row, n), _centered_ranks(by_column, n)
    saa, sbb, sab = 0.0, 0.0, 0.0
    for k in range(K):
        saa += by_row[k] * a[k] * a[k]
        for col in range(L):
            sab += table[k, col] * a[k] * b[col]
    for col in range(L):
        sbb += by_column[col] * b[col] * b[col]
    if saa <= 0 or sbb <= 0:
        return np.nan
    r: float = sab / np.sqrt(saa) / np.sqrt(sbb)
    return min(1.0, max(-1.0, r))


@kernel
def _centered_ranks(counts: IntArray, n: int) -> FloatArray:
    """Twice (mean rank − (n + 1)/2) of each level: answers below it less answers above it."""
    centered = np.empty(len(counts))
    below = 0
    for k in range(len(counts)):
        above = n - below - counts[k]
        centered[k] = below - above
        below += counts[k]
    return centered
