"""How a dependence matrix is filled: blocks of work, in threads, with progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from joblib import Parallel, delayed

from dtstat.progress import Progress, track

T = TypeVar("T")


def run_blocks(
    work: Callable[[T], None], blocks: Sequence[T], n_jobs: int, progress: Progress, label: str
) -> None:
    """Call ``work`` on each block; every block writes its own part of a shared result.

    Threads are enough, because kernels and matrix products release the interpreter lock, and
    they share the data instead of copying them.
    """
    if n_jobs == 1:
        for block in track(blocks, progress, label):
            work(block)
        return
    pool = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")
    finished = pool(delayed(work)(block) for block in blocks)
    for _ in track(finished, progress, label, total=len(blocks)):
        pass
