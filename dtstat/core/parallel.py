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
import sys
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
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

# Passes in a row of which workers finished nothing before one died: three, and with more workers as
# many as let each of them, up to eight, die at its first piece.
_MOST_FRUITLESS = range(3, 10)
_LONGEST_WAIT = 3  # seconds
_PATIENCE = 1.0  # seconds after which to ask whether the workers that get a copy are all alive
_PARTS = 10  # of a step
_MOST_JOBS = 10_000  # far more than any machine has cores
_CHUNKS_PER_WORKER = 8  # enough for progress and for workers to finish together
# Of joblib's processes and of dask's workers; the latter need not be installed.
_LOST = {"TerminatedWorkerError", "BrokenProcessPool", "KilledWorker", "FutureCancelledError"}


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
    how = "generator" if ordered else "generator_unordered"
    pool = partial(Parallel, n_jobs=n_jobs, prefer="threads" if threads else None, return_as=how)
    fruitless, most = 0, min(max(workers + 1, _MOST_FRUITLESS[0]), _MOST_FRUITLESS[-1])
    while missing:
        before = len(missing)
        try:
            for k, outcome in _run_once(work, pieces, [*missing], size, pool):
                del missing[k]
                yield k, outcome
        except Exception as error:
            if not _lost_worker(error):
                raise
            fruitless = fruitless + 1 if len(missing) == before else 0
            if fruitless == most:
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
    if client is not None and effective_n_jobs() > 1:  # with one worker left joblib works here
        tasks, opened = _cluster_tasks(work, chunks, client), _unpack
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
    lost = concurrent.futures.CancelledError, _LostInBetweenError
    return bool(_LOST & kinds) or isinstance(error, lost) or _lacks_workers(error)


def _lacks_workers(error: BaseException) -> bool:
    """Whether joblib has waited in vain for the first worker of a cluster."""
    return isinstance(error, TimeoutError) and "has no worker" in str(error)


def _count_workers(n_jobs: Jobs) -> int:
    try:
        workers: int = effective_n_jobs(n_jobs)
    except TimeoutError as error:
        if not _lacks_workers(error):
            raise
        raise DTError(
            "The cluster has no workers, and none came. Start some, or leave the block of "
            "`joblib.parallel_config`."
        ) from error
    return workers


class _LostInBetweenError(Exception):
    """A worker died that the cluster does not miss yet, and was sent work."""


def _cluster_tasks(
    work: Callable[[Any], Any], chunks: Sequence[Chunk[Any]], client: Any
) -> Iterator[Any]:
    """Make a task of each chunk for a dask cluster; every worker gets a copy of the work, once.

    joblib would send the work to one worker, and it would be lost with that worker. Pieces and
    outcomes travel packed: a cluster would lay arrays down at any address, and sums over an array
    that begins at an odd one are made in another order, so that last digits would differ.
    """
    try:
        everywhere = _send_everywhere(_Packed(work), client)
    except (OSError, KeyError) as error:  # the connection closed, or the worker is gone
        raise _LostInBetweenError from error
    return (delayed(_do)(everywhere, _pack(chunk)) for chunk in chunks)


def _send_everywhere(work: _Packed, client: Any) -> Any:
    """Give every worker a copy.

    For one that dies meanwhile dask would wait for ever, and let nothing else be sent, until nobody
    wants the work any more.
    """
    name, expected = f"work-{uuid.uuid4().hex}", set(client.nthreads())
    sent: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def send() -> None:
        try:
            sent.set_result(client.scatter({name: work}, broadcast=True)[name])
        except BaseException as error:
            sent.set_exception(error)

    threading.Thread(target=send, daemon=True).start()
    while not concurrent.futures.wait([sent], _PATIENCE).done:
        if not expected <= set(client.nthreads()):
            from distributed import Future

            unwanted: Any = Future(name, client)
            unwanted.release()
            raise _LostInBetweenError
    return sent.result()


class _Packed:
    """Work that is packed whenever it is sent, between workers too."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpack_work, (_pack(self.work),)


def _unpack_work(content: bytes) -> _Packed:
    return _Packed(_unpack(content))


def _do(packed: _Packed, chunk: bytes) -> bytes:
    if not isinstance(packed, _Packed):  # only one worker was left, and joblib works here
        raise _LostInBetweenError
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
