"""When each vertex is simplicial, in a graph of which only the strong edges are known.

The same computation as in :mod:`dtstat.structure.spells`, on the pairs with |r| above a floor. A
pair that is not listed is no edge at any threshold from the floor up, so a clique ends where one
is met; and what is born below the floor is seen from the floor on. Nothing else differs: above
the floor the spells are those of the whole matrix.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dtstat.arrays import FloatArray, IntArray, SmallIntArray
from dtstat.compile import kernel
from dtstat.execution.parallel import Jobs, run
from dtstat.progress import Progress, track
from dtstat.structure.spells import Columns, KeyArray, Spells, collected, vertex_keys

_ROWS_A_BLOCK = 512  # vertices searched between two chances to interrupt


def sparse_simplicial_spells(
    starts: IntArray,
    neighbours: SmallIntArray,
    strengths: FloatArray,
    floor: float,
    n_jobs: Jobs = None,
    progress: Progress = None,
) -> Spells:
    """Find all spells that last beyond the floor.

    Parameters
    ----------
    starts, neighbours, strengths
        The neighbours of vertex u are ``neighbours[starts[u] : starts[u + 1]]``, with their
        strengths, all above the floor; every edge is listed from both ends.
    floor
        Smallest threshold.
    n_jobs, progress
        Threads and progress.

    Notes
    -----
    Cost: sorting the neighbours of each vertex, and for each that joins its clique one look at the
    neighbours of that one; the square of the mean degree a vertex at most.
    """
    p = len(starts) - 1
    keys = vertex_keys(p)

    def search(first: int) -> Columns:
        last = min(first + _ROWS_A_BLOCK, p)
        graph = starts, neighbours, strengths, floor
        return collected(partial(_find_spells, *graph, first, last, keys), last - first)

    blocks = range(0, p, _ROWS_A_BLOCK)
    done = run(search, blocks, n_jobs, threads=True, ordered=True)
    found = [block for _, block in track(done, progress, "cliques", len(blocks))]
    return Spells(*(np.concatenate(column) for column in zip(*found, strict=True)))


@kernel
def _find_spells(  # noqa: C901 (one loop, as in dtstat.structure.spells)
    starts: IntArray,
    neighbours: SmallIntArray,
    strengths: FloatArray,
    floor: float,
    first: int,
    last: int,
    keys: KeyArray,
    vertex: IntArray,
    size: IntArray,
    birth: FloatArray,
    death: FloatArray,
    name: KeyArray,
) -> int:
    """Write the spells of the vertices first, ..., last − 1 and return how many there are.

    If that is more than fit, the surplus is counted but not written.
    """
    p = len(starts) - 1
    position = np.full(p, p, np.int64)  # p: not a neighbour of u
    found = 0
    for u in range(first, last):
        degree = starts[u + 1] - starts[u]
        order = starts[u] + np.argsort(-strengths[starts[u] : starts[u + 1]])
        v, r = np.empty(degree + 1, np.int64), np.empty(degree + 2)
        v[0], r[0], r[degree + 1] = u, np.inf, floor
        for k in range(degree):
            v[k + 1], r[k + 1] = neighbours[order[k]], strengths[order[k]]
        for k in range(degree + 1):
            position[v[k]] = k
        key, hashed = np.uint64(0), 0
        s, m, scanned = 1, np.inf, 1
        while s <= degree + 1 and m > floor:
            while s <= degree and r[s] >= m:
                s += 1
            o = r[s]  # the floor beyond the last neighbour
            while scanned < s and m > o:
                m = _weakest_joining(starts, neighbours, strengths, floor, v, scanned, position, m)
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
    neighbours: SmallIntArray,
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
        if position[neighbours[e]] < k:
            joined += 1
            m = min(m, strengths[e])
    return m if joined == k else floor
