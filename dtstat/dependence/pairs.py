"""How a dependence matrix is filled: rows of pairs, side by side, with progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dtstat.arrays import FloatArray
from dtstat.execution.parallel import Jobs, run
from dtstat.progress import Progress, track

T = TypeVar("T")
U = TypeVar("U")
Row = Callable[[int], npt.ArrayLike]


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
