"""Spearman's correlation from tables: for items with few levels, as rating scales have."""

from __future__ import annotations

from functools import partial

import numpy as np

from dtstat.arrays import FloatArray, IntArray
from dtstat.compile import kernel
from dtstat.dependence.pairs import symmetric_matrix
from dtstat.dependence.rank import Codes
from dtstat.execution.parallel import Jobs
from dtstat.progress import Progress


def spearman_from_tables(
    codes: Codes, n_jobs: Jobs = None, progress: Progress = None
) -> FloatArray:
    """Spearman's correlation of all pairs of coded columns, on the rows each pair has in common.

    The mean rank of a level is (number of answers below it) + (1 + number of answers on it) / 2,
    so the table of a pair has all there is to know; nothing is sorted.

    Parameters
    ----------
    codes
        (p, n) levels 0, 1, 2, ... in rising order, −1 where missing; levels may be empty.
    n_jobs, progress
        Threads and progress.

    Returns
    -------
    (p, p) array; NaN for a pair with a constant item.
    """
    return symmetric_matrix(partial(_row, codes), len(codes), n_jobs, progress, "spearman")


@kernel
def _row(codes: Codes, i: int) -> FloatArray:
    """Correlations of column i with every column j > i."""
    p, n = codes.shape
    row_values = np.empty(p - i - 1)
    K = codes[i].max() + 1
    for j in range(i + 1, p):
        L = codes[j].max() + 1
        table = np.zeros((K + 1, L + 1), np.int64)  # the last row and column take missing answers
        for row in range(n):
            table[codes[i, row], codes[j, row]] += 1
        row_values[j - i - 1] = _from_table(table[:K, :L])
    return row_values


@kernel
def _from_table(table: IntArray) -> float:
    """Correlate the mean ranks of the levels, twice their distance from the middle."""
    K, L = table.shape
    by_row, by_column = np.zeros(K, np.int64), np.zeros(L, np.int64)
    for k in range(K):
        for col in range(L):
            by_row[k] += table[k, col]
            by_column[col] += table[k, col]
    n = by_row.sum()
    a, b = _centred_ranks(by_row, n), _centred_ranks(by_column, n)
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
def _centred_ranks(counts: IntArray, n: int) -> FloatArray:
    """Twice (mean rank − (n + 1)/2) of each level: answers below it less answers above it."""
    centred = np.empty(len(counts))
    below = 0
    for k in range(len(counts)):
        above = n - below - counts[k]
        centred[k] = below - above
        below += counts[k]
    return centred
