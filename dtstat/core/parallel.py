"""Parallel runs, progress, and threads of linear algebra: the one place for all three.

joblib does it, so joblib's configuration holds: processes or threads here, or, inside

    with joblib.parallel_config("dask"):
        dtstat.stability(data)

the workers of a cluster that a ``dask.distributed.Client`` is connected to (any backend that is
registered with joblib will do). What comes out is the same everywhere: every piece draws its own
random numbers, linear algebra has one thread wherever a piece is done, outcomes go by the number of
their piece and not by when they come, and a piece whose worker died is done again.

``progress`` is, everywhere in dtstat, one of: None or False (silence), True (a bar on standard
error), or a function ``(done, total)`` that is called from the caller's own thread. The core
never prints.
"""

from __future__ import annotations

import concurrent.futures
import inspect
import itertools
import queue
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import cloudpickle
import threadpoolctl
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from dtstat.core import checks
from dtstat.core.errors import DTError, foreign_warnings

T = TypeVar("T")
U = TypeVar("U")
Jobs = int | None
Chunk = Sequence[tuple[int, T]]
Outcomes = Generator[tuple[int, U]]
Progress = bool | Callable[[int, int], Any] | None

# Deaths of workers in a row between which nothing was finished: three, and with more workers as
# many as let each of them, up to eight, die at its first piece.
_MOST_FRUITLESS = range(3, 10)
_LONGEST_WAIT = 3  # seconds
_PATIENCE = 1.0  # seconds after which to ask whether a cluster has workers
_LONGEST_ABSENCE = 30.0  # seconds without any; on an idle machine one is started in two
_PARTS = 10  # of a step
_MOST_JOBS = 10_000  # far more than any machine has cores
_CHUNKS_PER_WORKER = 8  # enough for progress and for workers to finish together
# Errors of joblib's processes and of dask, which need not be installed, and how many died for one.
_LOST = {"TerminatedWorkerError": 1, "BrokenProcessPool": 1, "FutureCancelledError": 1}
_LOST |= {"KilledWorker": 4}  # all that had one and the same piece


def check_jobs(n_jobs: object) -> Jobs:
    """Return a number of workers: -1 for all cores, None for what joblib is configured for."""
    if n_jobs is None:
        return None
    advice = "Give a number of workers, -1 for all cores, or None."
    jobs = checks.integer("n_jobs", n_jobs, -1, advice, _MOST_JOBS)
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
    workers = _count_workers(n_jobs)
    if workers == 1 or len(pieces) < 2:
        with one_thread():
            for k, piece in enumerate(pieces):
                yield k, work(piece)
        return
    size = max(1, len(pieces) // (_CHUNKS_PER_WORKER * workers)) if fine else 1
    missing = dict.fromkeys(range(len(pieces)))  # a set that keeps its order
    prefer, how = "threads" if threads else None, "generator" if ordered else "generator_unordered"
    pool = partial(Parallel, n_jobs=n_jobs, prefer=prefer, return_as=how)
    fruitless, most = 0, min(max(workers + 1, _MOST_FRUITLESS[0]), _MOST_FRUITLESS[-1])
    while missing:
        before = len(missing)
        try:
            for k, outcome in _run_once(work, pieces, [*missing], size, ordered, pool):
                del missing[k]
                yield k, outcome
        except Exception as error:
            deaths = _count_deaths(error)
            if not deaths:
                raise
            fruitless = fruitless + deaths if len(missing) == before else 0
            if fruitless >= most:
                raise DTError(
                    "Workers were killed from outside, usually for lack of memory, and "
                    f"{before} pieces of the work could not be finished. Use fewer workers "
                    "(`n_jobs`), or workers with more memory."
                ) from error
            time.sleep(min(fruitless, _LONGEST_WAIT))  # until workers are there again


def track(
    work: Iterable[T], progress: Progress, label: str, total: int | None = None
) -> Generator[T]:
    """Yield from ``work`` and report after each piece is done."""
    if callable(progress) and not _takes_two(progress):
        advice = "It is called with two whole numbers."
        raise checks.refusal(
            "progress", "true, false or a function (done, total)", progress, advice
        )
    if total is None:
        total = len(work) if isinstance(work, Sized) else 0
    if progress is True:
        from tqdm import tqdm

        yield from tqdm(work, desc=label, total=total, leave=False)
    elif callable(progress):
        for done, piece in enumerate(work, start=1):
            yield piece
            progress(done, total)
    else:
        yield from work


class Steps:
    """Progress of work whose steps are done in different places; made in a ``with`` statement.

    Of ``count`` steps that are foreseen every one has ten parts. Steps beyond those foreseen are
    not reported, and those that turn out not to be needed count as done at the end.
    """

    def __init__(self, progress: Progress = None, label: str = "", count: int = 0) -> None:
        self._parts = track(range(count * _PARTS), progress, label)
        self._made = 0

    def __enter__(self) -> Steps:
        next(self._parts, None)  # the first part is at work
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            for _part in self._parts:
                pass
        self._parts.close()

    def done(self) -> None:
        """Report the end of a step."""
        self._reach(self._made - self._made % _PARTS + _PARTS)

    def through(self, pieces: Sequence[T]) -> Iterator[T]:
        """Yield the pieces of a step and report its parts; :meth:`done` reports the last one."""
        first = self._made - self._made % _PARTS
        for k, piece in enumerate(pieces):
            self._reach(first + (_PARTS - 1) * k // len(pieces))
            yield piece

    def _reach(self, part: int) -> None:
        for _ in range(self._made, part):
            next(self._parts, None)
        self._made = max(self._made, part)


def _takes_two(function: Callable[..., object]) -> bool:
    """Whether a function can be called with two arguments, as far as it says; a class cannot."""
    if isinstance(function, type):
        return False
    try:
        inspect.signature(function).bind(0, 0)
    except TypeError:
        return False
    except ValueError:  # one that does not say
        return True
    return True


@contextmanager
def one_thread() -> Generator[None]:
    """Give the linear algebra libraries one thread each, so that sums do not depend on the cores.

    The functions users call ask for it before they compute: their loops run over matrices so small
    that threads cost more than they bring (benchmarks/results/threads.md).
    """
    own = _THREAD.limit  # a generator may be closed by another thread
    with _LOCK:
        _PROCESS.count(1)
        own.count(1)
    try:
        yield
    finally:
        with _LOCK:
            own.count(-1)
            _PROCESS.count(-1)


def _run_once(
    work: Callable[[T], U],
    pieces: Sequence[T],
    which: Sequence[int],
    size: int,
    ordered: bool,
    pool: Callable[[], Parallel],
) -> Outcomes[U]:
    """Hand out pieces in chunks once; yield what comes back."""
    chunks = [
        [(k, pieces[k]) for k in which[start : start + size]]
        for start in range(0, len(which), size)
    ]
    backend = get_active_backend()[0]
    if hasattr(backend, "client"):
        with backend.retrieval_context():  # within a worker it makes room for others
            yield from _on_cluster(work, chunks, ordered, backend)
        return
    with one_thread():  # for threads of this process; other processes see to it themselves
        parts = pool()(delayed(do)(work, chunk) for chunk in chunks)
        try:
            for part in parts:
                yield from part
        except BaseException:
            with foreign_warnings("ignore", UserWarning):  # joblib tells of tasks given up
                parts.close()
            raise


def do(work: Callable[[T], U], chunk: Chunk[T]) -> list[tuple[int, U]]:
    """Do some pieces in a worker, which hands out no work of its own."""
    with one_thread(), parallel_config(backend="sequential"):
        return [(k, work(piece)) for k, piece in chunk]


def _count_deaths(error: BaseException) -> int:
    """How many workers at least died for an error; 0 for all other errors."""
    if isinstance(error, concurrent.futures.CancelledError):
        return 1
    return max(_LOST.get(kind.__name__, 0) for kind in type(error).__mro__)


def _count_workers(n_jobs: Jobs) -> int:
    try:
        workers: int = effective_n_jobs(n_jobs)
    except TimeoutError as error:
        if "has no worker" not in str(error):
            raise
        raise DTError(
            "The cluster has no workers, and none came. Start some, or leave the block of "
            "`joblib.parallel_config`."
        ) from error
    return workers


def _on_cluster(
    work: Callable[[T], U], chunks: Sequence[Chunk[T]], ordered: bool, backend: Any
) -> Outcomes[U]:
    """Do chunks on a dask cluster, some for each worker at a time.

    The work is a task, from which every worker fetches a copy, once: it is done again if the
    workers that have a copy die. joblib would scatter it, and what is scattered is lost with them;
    and joblib would wait for ever for a chunk that dask gives up. Work, pieces and outcomes travel
    packed: a cluster would lay arrays down at any address, and sums over an array that begins at
    an odd one are made in another order, so that last digits would differ.
    """
    client, how = backend.client, {**backend.submit_kwargs, "pure": False}
    most = 2 * max(2, sum(_find_workers(client).values()))
    with foreign_warnings("ignore", UserWarning):  # of large tasks
        held = client.submit(_unpack_work, _pack(work), **how)
    left, over, gone = iter(chunks), threading.Event(), threading.Event()
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    running: list[Any] = []
    threading.Thread(target=_watch, args=(client, held, over, gone), daemon=True).start()
    try:
        while True:
            for chunk in itertools.islice(left, most - len(running)):
                running.append(client.submit(_do, held, _pack(chunk), **how))
                running[-1].add_done_callback(ended.put)
            if not running:
                return
            with suppress(queue.Empty):
                ended.get(timeout=_PATIENCE)
            done = (itertools.takewhile if ordered else filter)(lambda one: one.done(), running)
            for one in list(done):
                running.remove(one)
                yield from _unpack(one.result())
    except concurrent.futures.CancelledError as error:
        if not gone.is_set():
            raise
        raise DTError(
            "The cluster has lost all its workers, and none came back. Start some, with more "
            "memory if they were killed for lack of it."
        ) from error
    finally:
        over.set()
        for one in running:
            one.release()


def _watch(client: Any, held: Any, over: threading.Event, gone: threading.Event) -> None:
    """Take the work back from a cluster without workers, which would wait for ever."""
    absent = 0.0
    while not over.wait(_PATIENCE):
        try:
            absent = 0.0 if client.nthreads() else absent + _PATIENCE
            if absent >= _LONGEST_ABSENCE:
                gone.set()
                held.cancel(force=True)
                return
        except Exception:  # no connection, and the work ends with it
            return


def _find_workers(client: Any) -> dict[str, int]:
    """Return the workers of a cluster, and how many threads each has."""
    try:
        workers: dict[str, int] = client.nthreads()
    except OSError as error:
        raise DTError(
            f"The scheduler of the cluster cannot be reached ({error}). Connect a client to one "
            "that runs, or leave the block of `joblib.parallel_config`."
        ) from error
    return workers


class _Packed:
    """Work that is packed whenever it is sent, between workers too."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpack_work, (_pack(self.work),)


def _unpack_work(content: bytes) -> _Packed:
    return _Packed(_unpack(content))


def _do(packed: _Packed, chunk: bytes) -> bytes:
    return _pack(do(packed.work, _unpack(chunk)))


def _pack(value: Any) -> bytes:
    content: bytes = cloudpickle.dumps(value)
    return content


def _unpack(content: bytes) -> Any:
    return cloudpickle.loads(content)


# The number of threads of most libraries belongs to the whole process: where several ask for one,
# the first sets it and the last sets it back. That of OpenMP belongs to each thread of the caller,
# and is counted and set back there.
_LOCK = threading.RLock()


class _Libraries:
    """The libraries loaded; looked for, which takes milliseconds, only when modules were added."""

    def __init__(self) -> None:
        self._modules = 0
        self._found: Any = None

    def limit(self, kind: str) -> Any:
        """Give the libraries of a kind one thread; return what sets them back."""
        if self._modules != len(sys.modules):
            self._modules, self._found = len(sys.modules), threadpoolctl.ThreadpoolController()
        return self._found.select(user_api=kind).limit(limits=1)


class _Limit:
    """How many have asked for one thread of a kind of libraries, and what the last sets back."""

    def __init__(self, kind: str) -> None:
        self._kind, self._asked = kind, 0
        self._set: Any = None

    def count(self, step: int) -> None:
        """Count one more or one fewer; the first sets one thread, the last sets it back."""
        before, self._asked = self._asked, self._asked + step
        if not before:
            _take_control()
            self._set = _LIBRARIES.limit(self._kind)
        elif not self._asked and self._set is not None:
            _take_control()
            self._set.restore_original_limits()


class _ThreadLimit(threading.local):
    def __init__(self) -> None:
        self.limit = _Limit("openmp")


def _take_control() -> None:
    """Let this thread set what another has set: threadpoolctl keeps OpenBLAS to the first."""
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):  # older versions let every thread
        openblas.clear_controlling_thread(force=True)


_LIBRARIES = _Libraries()
_PROCESS, _THREAD = _Limit("blas"), _ThreadLimit()
