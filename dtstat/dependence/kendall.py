"""Kendall's tau-b: of all pairs from packed signs, or pair by pair from tables or by merging."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.kernels import kernel
from dtstat.core.parallel import Jobs, Progress, track
from dtstat.data.pair_tables import PairTables
from dtstat.dependence.matrix import run_blocks, symmetric_matrix
from dtstat.dependence.spearman import (
    CELLS_PER_ROW,
    Codes,
    dense_codes,
    suits_tables,
)

Words = npt.NDArray[np.uint64]
SmallCodes = npt.NDArray[np.int16] | Codes

_CHUNK_BYTES = 32_000_000
_TILE = 32  # columns per side: two tiles of _WORDS words stay in the second-level cache
_WORDS = 1024

# Costs in nanoseconds, measured; they only decide which of two equal answers comes sooner.
_NS_ROW, _NS_BIT, _NS_WORD, _NS_MERGE = 20_000, 0.5, 0.27, 6.4


def kendall(X: FloatArray, n_jobs: Jobs = None, progress: Progress = None) -> FloatArray:
    """Kendall's tau-b of the columns of X, on the rows each pair has in common (Kendall 1945).

        τ_b = Σ s_i s_j / √(Σ s_i² Σ s_j²),   s_i = sign(x_ai − x_bi) over pairs of rows a < b

    X is (n, p), NaN where missing; the result is (p, p), NaN for a pair with a constant item.

    Notes
    -----
    Three ways to the same number. Items of few levels: the table of counts, n steps per pair.
    Many items without gaps: the signs of all pairs of rows packed into bits, g = [x_a > x_b] and
    u = [x_a ≠ x_b]; as s = 2g − u, every sum above counts common bits, n²/128 words per pair.
    Else, and for very many rows: merging, n log n steps per pair.
    """
    codes, order = dense_codes(X, progress)
    planes = 2 if (codes.max(axis=1) < len(X) - 1).any() else 1
    gaps = bool((codes < 0).any())
    if gaps or suits_tables(codes) or not _bits_are_cheaper(len(codes), len(X), planes):
        return tau_b_by_pairs(codes, order, n_jobs, progress)
    return tau_b_by_bits(codes, planes, n_jobs, progress)


def _bits_are_cheaper(p: int, n: int, planes: int) -> bool:
    pairs = p * (p - 1) / 2
    bits = n * _NS_ROW + n * n / 2 * planes * (p * _NS_BIT + planes * pairs / 64 * _NS_WORD)
    return bits < pairs * n * math.log2(n) * _NS_MERGE


def tau_b_by_bits(
    codes: Codes, planes: int, n_jobs: Jobs = None, progress: Progress = None
) -> FloatArray:
    """Tau-b of complete coded columns; two planes of bits if any column has ties, else one."""
    p, n = codes.shape
    small: SmallCodes = codes.astype(np.int16) if n < 2**15 else codes
    G = np.zeros((planes * p, planes * p), dtype=np.int64)
    for rows in track(_chunks(n, planes * p), progress, "kendall"):
        _add_common_bits(_packed_signs(small, planes, rows), G, n_jobs)
    G += np.triu(G, 1).T
    numerator, untied = _sums_of_signs(G, p, n)
    scale = np.sqrt(untied)
    with np.errstate(invalid="ignore"):  # 0 / 0 for a constant column
        R: FloatArray = numerator / np.outer(scale, scale)
    np.fill_diagonal(R, 1.0)
    return np.clip(R, -1.0, 1.0)


def _sums_of_signs(G: IntArray, p: int, n: int) -> tuple[IntArray, IntArray]:
    """Σ s_i s_j and Σ s_i² from the counts of common bits of the planes g and, with ties, u."""
    gg, g = G[:p, :p], np.diag(G)[:p]
    if len(G) == p:  # no ties: u is all ones
        pairs = n * (n - 1) // 2
        return 4 * gg - 2 * g[:, None] - 2 * g + pairs, np.full(p, pairs)
    gu, uu = G[:p, p:], G[p:, p:]
    return 4 * gg - 2 * gu - 2 * gu.T + uu, np.diag(uu)


def _packed_bytes(a: int, n: int) -> int:
    """Bytes that the signs of row a against the rows after it take, one bit each."""
    return (n - 1 - a + 7) // 8


def _chunks(n: int, n_planes: int) -> list[range]:
    """Cut the rows 0..n-2 into ranges whose packed signs fit into a chunk, one row at least."""
    capacity = _CHUNK_BYTES // n_planes
    starts, used = [0], 0
    for a in range(n - 1):
        used += _packed_bytes(a, n)
        if used > capacity and a > starts[-1]:
            starts.append(a)
            used = _packed_bytes(a, n)
    return [range(start, stop) for start, stop in pairwise([*starts, n - 1])]


def _packed_signs(codes: SmallCodes, planes: int, rows: range) -> Words:
    """(planes · p, words) bits of the given rows, each against all rows after it."""
    p, n = codes.shape
    words = sum(_packed_bytes(a, n) for a in rows) // 8 + 1
    chunk = np.zeros((planes * p, 8 * words), dtype=np.uint8)
    used = 0
    for a in rows:
        here, later = codes[:, a : a + 1], codes[:, a + 1 :]
        greater = here > later
        signs = greater if planes == 1 else np.concatenate([greater, here != later])
        bits = np.packbits(signs, axis=1)
        chunk[:, used : used + bits.shape[1]] = bits
        used += bits.shape[1]
    return chunk.view(np.uint64)


def _add_common_bits(B: Words, G: IntArray, n_jobs: Jobs) -> None:
    """Add to the upper triangle of G the counts of common bits of all pairs of rows of B."""
    tiles = range(0, len(B), _TILE)
    for k, counts in run_blocks(partial(_count_common_bits, B), tiles, n_jobs, None, "kendall"):
        G[tiles[k] : tiles[k] + _TILE] += counts


@kernel
def _count_common_bits(B: Words, first: int) -> IntArray:
    """popcount(B_i & B_j) for one tile of rows i and all j ≥ i, 0 for other j."""
    rows, words = B.shape
    stop_i = min(first + _TILE, rows)
    G = np.zeros((stop_i - first, rows), np.int64)
    for start_j in range(first, rows, _TILE):
        stop_j = min(start_j + _TILE, rows)
        for start in range(0, words, _WORDS):
            stop = min(start + _WORDS, words)
            for i in range(first, stop_i):
                # slices, so that the compiler need not guard the index and vectorizes the loop
                left = B[i, start:stop]
                for j in range(max(i, start_j), stop_j):
                    right = B[j, start:stop]
                    count = np.uint64(0)
                    for w in range(len(left)):
                        count += _popcount(left[w] & right[w])
                    G[i - first, j] += np.int64(count)
    return G


@kernel
def _popcount(x: np.uint64) -> np.uint64:
    """Count the bits set, in the form that compilers turn into one instruction."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


def kendall_from_counts(tables: PairTables) -> FloatArray:
    """Tau-b of all pairs of ratings from their counts."""
    return tables.matrix(_of_tables)


@kernel
def _of_tables(cells: IntArray) -> FloatArray:
    """Tau-b of an item with those whose tables are given."""
    row = np.empty(len(cells))
    for j in range(len(cells)):
        row[j] = _tau_b(_sums_of_table(cells[j]))
    return row


@kernel
def _tau_b(sums: tuple[int, int, int]) -> float:
    """Tau-b from Σ s_x s_y, Σ s_x², Σ s_y²; NaN if an item is constant."""
    s, untied_x, untied_y = sums
    # two roots: the product of the counts may exceed an integer
    scale = np.sqrt(float(untied_x)) * np.sqrt(float(untied_y))
    return min(1.0, max(-1.0, s / scale)) if scale > 0 else np.nan


def tau_b_by_pairs(
    codes: Codes, order: Codes, n_jobs: Jobs = None, progress: Progress = None
) -> FloatArray:
    """Tau-b of all pairs of coded columns, on the rows each pair has in common.

    ``codes`` and ``order`` are as :func:`dtstat.dependence.spearman.dense_codes` returns them.
    """
    row = partial(_row, codes, order)
    return symmetric_matrix(row, len(codes), n_jobs, progress, "kendall")


@kernel
def _row(codes: Codes, order: Codes, i: int) -> FloatArray:
    """Tau-b of column i with every column j > i."""
    p, n = codes.shape
    row = np.empty(p - i - 1)
    levels = codes[i].max() + 1
    for j in range(i + 1, p):
        if levels * (codes[j].max() + 1) <= CELLS_PER_ROW * n:
            row[j - i - 1] = _tau_b(_from_table(codes[i], codes[j]))
        else:
            row[j - i - 1] = _tau_b(_by_merging(codes[i], codes[j], order[j]))
    return row


@kernel
def _from_table(x: Codes, y: Codes) -> tuple[int, int, int]:
    """Return Σ s_x s_y, Σ s_x², Σ s_y² from the table of counts."""
    table = np.zeros((x.max() + 1, y.max() + 1), np.int64)
    for row in range(len(x)):
        if x[row] >= 0 and y[row] >= 0:
            table[x[row], y[row]] += 1
    return _sums_of_table(table)


@kernel
def _sums_of_table(table: IntArray) -> tuple[int, int, int]:
    """Return Σ s_x s_y, Σ s_x², Σ s_y² of a table of counts.

    A cell is concordant with the cells below it to the right, discordant with those to the left.
    """
    K, L = table.shape
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
