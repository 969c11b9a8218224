"""Barcodes that forgive a missing edge.

Before the barcode is read off, |r_ij| is raised or smoothed by what i and j have in common:

    m           max(|r_ij|, the m-th largest over k of min(|r_ik|, |r_jk|)):
                an edge at τ is there, or i and j have m common neighbours at τ
    2 in noise  the same with m = 2, raised by at most one standard error, (1 - r²) / √n
    implied     the mean of |r_ij| and of the λ_i λ_j that the three strongest common neighbours
                imply (as in ``dtstat.structure.cliques``), weighted by their precision
"""

from __future__ import annotations

import numpy as np

import dtstat as dt
from dtstat.core.arrays import FloatArray, IntArray
from dtstat.structure.barcode import Barcode, barcode

MOST = 8  # common neighbours looked up
NONE = "none"


def neighbours(S: FloatArray) -> IntArray:
    """(p, p, 8) the strongest common neighbours k of i and j by min(|r_ik|, |r_jk|)."""
    p = len(S)
    found = np.empty((p, p, MOST), dtype=np.int64)
    for i in range(p):
        shared = np.minimum(S[i], S)
        shared[:, i] = -1.0
        np.fill_diagonal(shared, -1.0)
        top = np.argpartition(-shared, MOST - 1, axis=1)[:, :MOST]
        order = np.argsort(-np.take_along_axis(shared, top, axis=1), axis=1, kind="stable")
        found[i] = np.take_along_axis(top, order, axis=1)
    return found


def pooled(S: FloatArray, K: IntArray, m: int) -> FloatArray:
    """Raise each entry to the m-th largest min(|r_ik|, |r_jk|)."""
    i, j = np.indices(S.shape)
    k = K[:, :, m - 1]
    raised: FloatArray = np.maximum(S, np.minimum(S[i, k], S[j, k]))
    return np.maximum(raised, raised.T)


def implied(S: FloatArray, K: IntArray, n: int, m: int = 3) -> FloatArray:
    """Shrink each entry to what its m strongest common neighbours imply if they share a factor."""
    item, k = np.arange(len(S))[:, None, None], K[:, :, :m]
    a, b = S[item, k].mean(axis=2), S[item.transpose(1, 0, 2), k].mean(axis=2)
    w = S[k, np.roll(k, 1, axis=2)].mean(axis=2)
    a, b, w, r = (np.clip(each, 0.01, 0.99) for each in (a, b, w, S))
    value = np.minimum(a * b / w, 0.99)
    noise, of_a, of_b, of_w = ((1 - each**2) ** 2 / n for each in (r, a, b, w))
    spread = value**2 * (of_a / a**2 + of_b / b**2 + of_w / w**2) / m
    spread += np.maximum((r - value) ** 2 - noise - spread, 0.0)  # if they share none
    smooth: FloatArray = (r / noise + value / spread) / (1 / noise + 1 / spread)
    return (smooth + smooth.T) / 2


def tolerant(matrix: dt.DependenceMatrix, n: int, min_children: int) -> dict[str, Barcode]:
    """Barcodes without and with tolerance."""
    S = np.abs(matrix.values)
    np.fill_diagonal(S, 0.0)
    K = neighbours(S)
    two = pooled(S, K, 2)
    changed = {NONE: S, "2": two} | {f"{m}": pooled(S, K, m) for m in (3, 5, 8)}
    changed["2 in noise"] = np.minimum(two, S + (1 - S**2) / np.sqrt(n))
    changed["implied"] = implied(S, K, n)
    return {name: barcode(R, matrix.names, min_children) for name, R in changed.items()}
