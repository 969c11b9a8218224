"""When each vertex of a thresholded graph is simplicial: the computation behind the exact path.

Let v_1, v_2, ... be the other vertices in falling order of |r_uv|. At a threshold τ the
neighbors of u are v_1 ... v_k for one k, and they form a clique with u exactly when

    |r_{u v_{k+1}}|  ≤  τ  <  m_k = min |r_ij| over pairs in {u, v_1, ..., v_k}.

So u is simplicial on at most one interval for each k, and no threshold has to be visited. m_k only
falls with k. Hence, once m is known for some k, every k with |r_{u v_{k+1}}| ≥ m is ruled out
unseen. In a dense neighborhood m is soon close to the smallest entries of the matrix, so almost all
k are skipped: sorting the rows costs more than all the rest.

Of a sparse matrix only the pairs with |r| above a floor are known. A pair that is not listed is no
edge at any threshold from the floor up, so a clique ends where one is met; and what is born below
the floor is seen from the floor on. Nothing else differs: above the floor the intervals are those
of the whole matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from dtstat.core.arrays import BoolArray, FloatArray, IntArray, SmallIntArray
from dtstat.core.kernels import kernel, part
from dtstat.core.parallel import Jobs, Progress, run, track

KeyArray = npt.NDArray[np.uint64]
Columns = tuple[IntArray, IntArray, FloatArray, FloatArray, KeyArray]

_ROWS_PER_BLOCK = 256  # rows sorted and searched between two chances to interrupt
_SPARSE_ROWS_PER_BLOCK = 512  # the same of a sparse matrix
_SCAN_LIMIT = 64  # up to this size all pairs are scanned; beyond, the weakest pairs are looked up
_WEAK_PAIRS_PER_ITEM = 32  # length of the list of weakest pairs, per item


@dataclass(frozen=True)
class SimplicialIntervals:
    """Intervals of thresholds on which vertices are simplicial, as columns.

    Attributes
    ----------
    vertex
        The simplicial vertex u.
    size
        Size of its closed neighborhood C, a clique.
    birth, death
        u is simplicial with this C for birth ≤ τ < death.
    name
        64-bit name of C, equal for equal sets: the exclusive or of random keys of its members.
        With a million cliques the chance that two share a name is below 1e-7.
    """

    vertex: IntArray
    size: IntArray
    birth: FloatArray
    death: FloatArray
    name: KeyArray

    @classmethod
    def join(cls, blocks: list[Columns]) -> SimplicialIntervals:
        """Put the columns of several blocks of vertices below one another."""
        return cls(*(np.concatenate(column) for column in zip(*blocks, strict=True)))

    def __getitem__(self, rows: BoolArray) -> SimplicialIntervals:
        return SimplicialIntervals(*(column[rows] for column in vars(self).values()))


def simplicial_intervals(strength: FloatArray) -> SimplicialIntervals:
    """Find the intervals of all vertices.

    Parameters
    ----------
    strength
        (p, p) symmetric, non-negative, infinite on the diagonal.

    Notes
    -----
    Cost: p sorts of p numbers, plus little; p² / 2 numbers are partitioned once.
    """
    p = len(strength)
    keys, weak = _vertex_keys(p), _weakest_pairs(strength)
    blocks = []
    for start in range(0, p, _ROWS_PER_BLOCK):
        order = np.argsort(-strength[start : start + _ROWS_PER_BLOCK], axis=1)
        blocks.append(_collect(partial(_search, strength, order, start, weak, keys), len(order)))
    return SimplicialIntervals.join(blocks)


def sparse_simplicial_intervals(
    starts: IntArray,
    neighbors: SmallIntArray,
    strengths: FloatArray,
    floor: float,
    n_jobs: Jobs = None,
    progress: Progress = None,
) -> SimplicialIntervals:
    """Find all intervals that reach beyond the floor.

    Parameters
    ----------
    starts, neighbors, strengths
        The neighbors of vertex u are ``neighbors[starts[u] : starts[u + 1]]``, with their
        strengths, all above the floor; every edge is listed from both ends.
    floor
        Smallest threshold.
    n_jobs, progress
        Threads and progress.

    Notes
    -----
    Cost: sorting the neighbors of each vertex, and for each that joins its clique one look at the
    neighbors of that one; at most the square of the mean degree per vertex.
    """
    p = len(starts) - 1
    keys = _vertex_keys(p)

    def search(first: int) -> Columns:
        last = min(first + _SPARSE_ROWS_PER_BLOCK, p)
        graph = starts, neighbors, strengths, floor
        return _collect(partial(_search_sparse, *graph, first, last, keys), last - first)

    blocks = range(0, p, _SPARSE_ROWS_PER_BLOCK)
    done = run(search, blocks, n_jobs, threads=True, ordered=True)
    found = [block for _, block in track(done, progress, "cliques", len(blocks))]
    return SimplicialIntervals.join(found)


def _vertex_keys(p: int) -> KeyArray:
    """Draw a key for each vertex, the same for the same number of them."""
    return np.random.default_rng(p).integers(0, 2**64, size=p, dtype=np.uint64)


def _weakest_pairs(strength: FloatArray) -> IntArray:
    """(m, 2) pairs i < j with the smallest entries, weakest first."""
    p = len(strength)
    i, j = np.triu_indices(p, 1)
    values = strength[i, j]
    count = min(len(values), _WEAK_PAIRS_PER_ITEM * p)
    chosen = np.argpartition(values, count - 1)[:count]
    chosen = chosen[np.argsort(values[chosen])]
    return np.column_stack([i[chosen], j[chosen]])


def _collect(search: Callable[[Columns], int], n_vertices: int) -> Columns:
    """Make room for the intervals that a kernel writes: more if there are more than fit."""
    room = 32 * n_vertices
    while True:
        vertex, size = np.empty(room, np.int64), np.empty(room, np.int64)
        birth, death, name = np.empty(room), np.empty(room), np.empty(room, np.uint64)
        found = search((vertex, size, birth, death, name))
        if found <= room:
            return vertex[:found], size[:found], birth[:found], death[:found], name[:found]
        room = found


@kernel
def _search(  # noqa: C901 (one loop, as the module's text describes it)
    R: FloatArray,
    order: IntArray,
    start: int,
    weak: IntArray,
    keys: KeyArray,
    columns: Columns,
) -> int:
    """Write the intervals of the vertices start, start + 1, ... and return how many there are.

    If that is more than fit, the surplus is counted but not written.
    """
    vertex, size, birth, death, name = columns
    p = len(R)
    position = np.empty(p, np.int64)
    found = 0
    for row in range(len(order)):
        u, v = start + row, order[row]  # v[0] is u itself
        for k in range(p):
            position[v[k]] = k
        key, hashed = np.uint64(0), 0
        s, m, scanned = 1, np.inf, 1 + hashed  # 1 itself would be a type to numba
        while True:
            while s < p and R[u, v[s]] >= m:
                s += 1
            o = R[u, v[s]] if s < p else 0.0
            if s <= _SCAN_LIMIT:
                m, scanned = _scan_pairs(R, v, s, scanned, m, o)
            elif s > scanned:
                m, scanned = _look_up_weakest(R, v, s, scanned, m, o, position, weak)
            if m > o:
                while hashed < s:
                    key ^= keys[v[hashed]]
                    hashed += 1
                if found < len(vertex):
                    vertex[found], size[found], name[found] = u, s, key
                    birth[found], death[found] = o, m
                found += 1
                s += 1
            if s > p or (s == p and m <= o):
                break
    return found


@kernel
def _scan_pairs(
    R: FloatArray, v: IntArray, s: int, scanned: int, m: float, o: float
) -> tuple[float, int]:
    """Extend m = min |r_ij| from v[:scanned] to v[:s]; stop early once m ≤ o rules s out."""
    while scanned < s and m > o:
        a = v[scanned]
        for k in range(scanned):
            m = min(m, R[a, v[k]])
        scanned += 1
    return m, scanned


@part
def _look_up_weakest(
    R: FloatArray,
    v: IntArray,
    s: int,
    scanned: int,
    m: float,
    o: float,
    position: IntArray,
    weak: IntArray,
) -> tuple[float, int]:
    """Extend m to v[:s] by the first listed pair inside it; scan once that would have been less."""
    for e in range(min(len(weak), s * (s - scanned))):
        i, j = weak[e]
        if position[i] < s and position[j] < s:
            return float(R[i, j]), s
    return _scan_pairs(R, v, s, scanned, m, o)


@kernel
def _search_sparse(  # noqa: C901 (one loop, as above)
    starts: IntArray,
    neighbors: SmallIntArray,
    strengths: FloatArray,
    floor: float,
    first: int,
    last: int,
    keys: KeyArray,
    columns: Columns,
) -> int:
    """Do the same for the vertices first, ..., last − 1 of a sparse matrix."""
    vertex, size, birth, death, name = columns
    p = len(starts) - 1
    position = np.full(p, p, np.int64)  # p: not a neighbor of u
    found = 0
    for u in range(first, last):
        degree = starts[u + 1] - starts[u]
        order = starts[u] + np.argsort(-strengths[starts[u] : starts[u + 1]])
        v, r = np.empty(degree + 1, np.int64), np.empty(degree + 2)
        v[0], r[0], r[degree + 1] = u, np.inf, floor
        for k in range(degree):
            v[k + 1], r[k + 1] = neighbors[order[k]], strengths[order[k]]
        for k in range(degree + 1):
            position[v[k]] = k
        key, hashed = np.uint64(0), 0
        s, m, scanned = 1, np.inf, 1 + hashed  # 1 itself would be a type to numba
        while s <= degree + 1 and m > floor:
            while s <= degree and r[s] >= m:
                s += 1
            o = r[s]  # the floor beyond the last neighbor
            while scanned < s and m > o:
                m = _weakest_joining(starts, neighbors, strengths, floor, v, scanned, position, m)
                scanned += 1
            if m > o:
                while hashed < s:
                    key ^= keys[v[hashed]]
                    hashed += 1
                if found < len(vertex):
                    vertex[found], size[found], name[found] = u, s, key
                    birth[found], death[found] = o, m
                found += 1
                s += 1
        for k in range(degree + 1):
            position[v[k]] = p
    return found


@kernel
def _weakest_joining(
    starts: IntArray,
    neighbors: SmallIntArray,
    strengths: FloatArray,
    floor: float,
    v: IntArray,
    k: int,
    position: IntArray,
    m: float,
) -> float:
    """Extend m = min |r_ij| from v[:k] to v[: k + 1]; the floor if a pair is not joined."""
    joined = 0
    for e in range(starts[v[k]], starts[v[k] + 1]):
        if position[neighbors[e]] < k:
            joined += 1
            m = min(m, strengths[e])
    return m if joined == k else floor
