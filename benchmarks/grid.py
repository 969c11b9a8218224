"""The baseline of the exact path: a compiled loop over given thresholds."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def factors_on_grid(strength: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Count the independent maximal cliques of three items or more, threshold by threshold.

    The paper's recipe as a good programmer would compile it: neighbourhoods are sets of bits, u is
    a unique member if N[u] lies in N[v] for all its neighbors v (left at the first that fails),
    and a clique is counted at its first unique member.
    """
    p = len(strength)
    counts = np.zeros(len(thresholds), np.int64)
    closed = np.zeros((p, p // 64 + 1), np.uint64)
    for t in range(len(thresholds)):
        _fill(strength, thresholds[t], closed)
        unique = np.zeros(p, np.bool_)
        for u in range(p):
            unique[u] = _is_unique_member(strength, thresholds[t], closed, u)
            counts[t] += unique[u] and _is_first(strength, thresholds[t], unique, u)
    return counts


@njit(cache=True)
def _fill(strength: np.ndarray, tau: float, closed: np.ndarray) -> None:
    closed[:] = 0
    for u in range(len(strength)):
        for v in range(len(strength)):
            if u == v or strength[u, v] > tau:
                closed[u, v >> 6] |= np.uint64(1) << np.uint64(v & 63)


@njit(cache=True)
def _is_unique_member(strength: np.ndarray, tau: float, closed: np.ndarray, u: int) -> bool:
    for v in range(len(strength)):
        if v != u and strength[u, v] > tau:
            for w in range(closed.shape[1]):
                if closed[u, w] & ~closed[v, w]:
                    return False
    return True


@njit(cache=True)
def _is_first(strength: np.ndarray, tau: float, unique: np.ndarray, u: int) -> bool:
    neighbors = 0
    for v in range(len(strength)):
        if v != u and strength[u, v] > tau:
            neighbors += 1
            if v < u and unique[v]:
                return False
    return neighbors >= 2
