"""Kendall's tau-b one pair of items at a time: from their table, or by merging."""

from __future__ import annotations

from functools import partial

import numpy as np

from dtstat.arrays import FloatArray, IntArray
from dtstat.compile import kernel
from dtstat.dependence.pairs import symmetric_matrix
from dtstat.dependence.rank import Codes
from dtstat.execution.parallel import Jobs
from dtstat.progress import Progress

# A table of K × K cells is read in about K² steps; merging takes n log n slower ones.
_CELLS_A_ROW = 4


def tau_b_by_pairs(
    codes: Codes, order: Codes, n_jobs: Jobs = None, progress: Progress = None
) -> FloatArray:
    """Tau-b of all pairs of coded columns, on the rows each pair has in common.

    Parameters
    ----------
    codes, order
        As :func:`dtstat.dependence.rank.dense_codes` returns them.
    """
    row = partial(_row, codes, order)
    return symmetric_matrix(row, len(codes), n_jobs, progress, "kendall")


def suits_tables(codes: Codes) -> bool:
    """Whether all items have so few levels that tables are the way."""
    levels = int(codes.max()) + 1
    return levels * levels <= _CELLS_A_ROW * len(codes.T)


@kernel
def _row(codes: Codes, order: Codes, i: int) -> FloatArray:
    """Tau-b of column i with every column j > i."""
    p, n = codes.shape
    row = np.empty(p - i - 1)
    levels = codes[i].max() + 1
    for j in range(i + 1, p):
        if levels * (codes[j].max() + 1) <= _CELLS_A_ROW * n:
            s, untied_i, untied_j = _from_table(codes[i], codes[j])
        else:
            s, untied_i, untied_j = _by_merging(codes[i], codes[j], order[j])
        # two roots: the product of the counts may exceed an integer
        scale = np.sqrt(float(untied_i)) * np.sqrt(float(untied_j))
        row[j - i - 1] = min(1.0, max(-1.0, s / scale)) if scale > 0 else np.nan
    return row


@kernel
def _from_table(x: Codes, y: Codes) -> tuple[int, int, int]:
    """Return Σ s_x s_y, Σ s_x², Σ s_y² from the table of counts.

    A cell is concordant with the cells below it to the right, discordant with those to the left.
    """
    K, L = x.max() + 1, y.max() + 1
    table = np.zeros((K, L), np.int64)
    for row in range(len(x)):
        if x[row] >= 0 and y[row] >= 0:
            table[x[row], y[row]] += 1
    below = np.zeros(L, np.int64)
    n, s, tied_x, tied_y = 0, 0, 0, 0
    for k in range(K - 1, -1, -1):
        right, left, in_row = below.sum(), 0, 0
        for col in range(L):
            right -= below[col]
            s += table[k, col] * (right - left)
            left += below[col]
            below[col] += table[k, col]
            in_row += table[k, col]
        tied_x += in_row * (in_row - 1) // 2
        n += in_row
    for col in range(L):
        tied_y += below[col] * (below[col] - 1) // 2
    pairs = n * (n - 1) // 2
    return s, pairs - tied_x, pairs - tied_y


@kernel
def _by_merging(x: Codes, y: Codes, order_y: Codes) -> tuple[int, int, int]:
    """Return Σ s_x s_y, Σ s_x², Σ s_y²: sort by x then y, merge by y (Knight 1966)."""
    start = np.zeros(x.max() + 2, np.int64)
    for row in range(len(x)):
        if x[row] >= 0 and y[row] >= 0:
            start[x[row] + 1] += 1
    n, tied_x = 0, 0
    for k in range(len(start)):
        tied_x += start[k] * (start[k] - 1) // 2
        n += start[k]
        start[k] = n
    # Visiting the rows in order of y and dropping each at the next place of its x group sorts
    # them by x, then y. Meanwhile runs of equal y are the ties in y.
    z, group = np.empty(n, np.int64), np.empty(n, np.int64)
    previous, run, tied_y = -1, 0, 0
    for row in order_y:
        if y[row] >= 0 and x[row] >= 0:
            run = run + 1 if y[row] == previous else 0
            previous = y[row]
            tied_y += run
            z[start[x[row]]], group[start[x[row]]] = y[row], x[row]
            start[x[row]] += 1
    tied_both, run = 0, 0
    for k in range(1, n):
        run = run + 1 if z[k] == z[k - 1] and group[k] == group[k - 1] else 0
        tied_both += run
    pairs = n * (n - 1) // 2
    s = pairs - tied_x - tied_y + tied_both - 2 * _inversions(z)
    return s, pairs - tied_x, pairs - tied_y


@kernel
def _inversions(z: IntArray) -> int:
    """Count the pairs out of order, by bottom-up merge sort of z (which is overwritten)."""
    n, width, count = len(z), 1, 0
    spare = np.empty_like(z)
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or z[i] <= z[j]):
                    spare[k] = z[i]
                    i += 1
                else:
                    spare[k] = z[j]
                    count += middle - i
                    j += 1
        z, spare = spare, z
        width *= 2
    return count
