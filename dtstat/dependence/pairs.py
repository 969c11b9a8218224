"""How a dependence matrix is filled: by rows or by blocks, side by side, with progress."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dtstat.core.arrays import FloatArray
from dtstat.core.parallel import Jobs, Progress, run, track

T = TypeVar("T")
U = TypeVar("U")
Row = Callable[[int], npt.ArrayLike]
Block = tuple[slice, slice]

BLOCK = 1024  # items: large enough for fast products, small enough for a few in memory


def run_blocks(
    work: Callable[[T], U], blocks: Sequence[T], n_jobs: Jobs, progress: Progress, label: str
) -> Iterator[tuple[int, U]]:
    """Yield the number of each block and what ``work`` makes of it.

    Threads will do, because kernels and matrix products release the interpreter lock, and they
    share the data instead of copying them.
    """
    done = run(work, blocks, n_jobs, threads=True, fine=True)
    return track(done, progress, label, total=len(blocks))


def symmetric_matrix(row: Row, p: int, n_jobs: Jobs, progress: Progress, label: str) -> FloatArray:
    """(p, p) matrix with ones on its diagonal; ``row(i)`` gives its entries (i, j) for j > i."""
    R = np.eye(p)
    for i, values in run_blocks(row, range(p - 1), n_jobs, progress, label):
        R[i, i + 1 :] = R[i + 1 :, i] = values
    return R


def blocks_of(p: int, width: int | None = None) -> list[Block]:
    """Blocks on and above the diagonal of a (p, p) matrix."""
    spans = block_spans(p, width)
    return [(rows, others) for k, rows in enumerate(spans) for others in spans[k:]]


def block_spans(p: int, width: int | None = None) -> list[slice]:
    """Cut p items into spans of about equal length, none longer than ``width`` or a block."""
    edges = np.linspace(0, p, math.ceil(p / (width or BLOCK)) + 1).astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(edges)]
