"""Side by side: the one place where dtstat runs work in parallel.

joblib does it, so joblib's configuration holds: processes or threads here, or, inside

    with joblib.parallel_config("dask"):
        dtstat.stability(data)

the workers of a cluster that a ``dask.distributed.Client`` is connected to (any backend that is
registered with joblib will do). What comes out is the same everywhere: every piece draws its own
random numbers, linear algebra has one thread wherever a piece is done, outcomes are known by the
number of their piece and not by when they come, and a piece whose worker died is done again.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from dtstat import checks
from dtstat.errors import DTError, foreign_warnings
from dtstat.execution.threads import one_thread

T = TypeVar("T")
U = TypeVar("U")
Jobs = int | None
Chunk = Sequence[tuple[int, T]]
Outcomes = Generator[tuple[int, U]]

_CHUNKS_A_WORKER = 8  # enough for progress and for workers to finish together
# Of joblib's processes and of dask's workers; the latter need not be installed.
_LOST = {"TerminatedWorkerError", "BrokenProcessPool", "KilledWorker", "FutureCancelledError"}


def check_jobs(n_jobs: object) -> Jobs:
    """Return a number of workers: -1 for all cores, None for what joblib is configured for."""
    if n_jobs is None:
        return None
    advice = "Give a number of workers, -1 for all cores, or None."
    jobs = checks.integer("n_jobs", n_jobs, -1, advice)
    if jobs == 0:
        raise checks.refusal("n_jobs", "a number of workers", n_jobs, advice)
    return jobs


def run(
    work: Callable[[T], U],
    pieces: Sequence[T],
    n_jobs: Jobs = None,
    *,
    threads: bool = False,
    ordered: bool = False,
    fine: bool = False,
) -> Outcomes[U]:
    """Do some work on every piece; yield the number of each piece with its outcome.

    Parameters
    ----------
    work
        Function of a piece. What it holds, such as data, is sent to a worker once: joblib maps
        large arrays into processes, and a dask cluster gets a copy for each worker.
    pieces
        What it is called with.
    n_jobs
        Workers; -1 for all cores, None for what joblib is configured for, one if it is not.
    threads
        Whether threads of this process will do, because the work releases the interpreter lock.
    ordered
        Whether outcomes are wanted in the order of the pieces, not as they come.
    fine
        Whether pieces are so small that many should travel together.

    Raises
    ------
    DTError
        If workers die and none of the pieces left can be finished.
    """
    workers = effective_n_jobs(n_jobs)
    if workers == 1 or len(pieces) < 2:
        with one_thread():
            for k, piece in enumerate(pieces):
                yield k, work(piece)
        return
    size = max(1, len(pieces) // (_CHUNKS_A_WORKER * workers)) if fine else 1
    missing = dict.fromkeys(range(len(pieces)))  # a set that keeps its order
    pool = partial(_pool, n_jobs, threads, ordered)
    while missing:
        before = len(missing)
        try:
            for k, outcome in _pass(work, pieces, [*missing], size, pool):
                del missing[k]
                yield k, outcome
        except Exception as error:
            if not _lost_worker(error):
                raise
            if len(missing) == before:
                raise _too_many_lost(before) from error


def _pool(n_jobs: Jobs, threads: bool, ordered: bool) -> Parallel:
    how = "generator" if ordered else "generator_unordered"
    return Parallel(n_jobs=n_jobs, prefer="threads" if threads else None, return_as=how)


def _pass(
    work: Callable[[T], U],
    pieces: Sequence[T],
    which: Sequence[int],
    size: int,
    pool: Callable[[], Parallel],
) -> Outcomes[U]:
    """Hand out pieces in chunks once; yield what comes back."""
    chunks = [
        [(k, pieces[k]) for k in which[start : start + size]]
        for start in range(0, len(which), size)
    ]
    client = getattr(get_active_backend()[0], "client", None)
    tasks: Iterable[Any] = (delayed(do)(work, chunk) for chunk in chunks)
    opened: Callable[[Any], Chunk[U]] = list
    if client is not None:
        from dtstat.execution import cluster

        tasks, opened = cluster.tasks(work, chunks, client), cluster.opened
    with one_thread():  # for threads of this process; other processes see to it themselves
        parts = pool()(tasks)
        try:
            for part in parts:
                yield from opened(part)
        except BaseException:
            with foreign_warnings("ignore", UserWarning):  # joblib tells of tasks given up
                parts.close()
            raise


def do(work: Callable[[T], U], chunk: Chunk[T]) -> list[tuple[int, U]]:
    """Do some pieces in a worker, which hands out no work of its own."""
    with one_thread(), parallel_config(backend="sequential"):
        return [(k, work(piece)) for k, piece in chunk]


def _lost_worker(error: BaseException) -> bool:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return bool(_LOST & kinds) or isinstance(error, concurrent.futures.CancelledError)


def _too_many_lost(left: int) -> DTError:
    return DTError(
        f"Workers were ended from outside, most often for want of memory, and {left} pieces of the "
        "work could not be finished. Use fewer workers (`n_jobs`), or workers with more memory."
    )
