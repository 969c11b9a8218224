"""One thread for linear algebra, so that sums do not depend on the machine's cores.

The functions users call ask for it before they compute. Their loops run over matrices so small that
threads cost more than they bring (`benchmarks/results/threads.md`), and the one large product, that
of the answers, takes a small part of the time even with 1,000 items.

The number of threads of most libraries belongs to the whole process. Where several ask for one,
the first sets it and the last sets it back. That of OpenMP belongs to each thread of the caller,
where it is counted and set back in the same way.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import threadpoolctl

_LOCK = threading.RLock()


class _Libraries:
    """What is loaded; looking for it takes milliseconds, so only when modules have been added."""

    def __init__(self) -> None:
        self._modules = 0
        self._found: Any = None

    def limited(self, kind: str) -> Any:
        """Give the libraries of a kind one thread; return what sets them back."""
        if self._modules != len(sys.modules):
            self._modules, self._found = len(sys.modules), threadpoolctl.ThreadpoolController()
        return self._found.select(user_api=kind).limit(limits=1)


class _Limit:
    """How many have asked for one kind of libraries, and what to undo when the last is done."""

    def __init__(self, kind: str) -> None:
        self._kind, self._asked, self._set = kind, 0, None

    def acquire(self) -> None:
        self._asked += 1
        if self._asked == 1:
            _take_control()
            self._set = _LIBRARIES.limited(self._kind)

    def release(self) -> None:
        self._asked -= 1
        if not self._asked and self._set is not None:
            _take_control()
            self._set.restore_original_limits()


class _OwnLimit(threading.local):
    """The limit of a thread."""

    def __init__(self) -> None:
        self.limit = _Limit("openmp")


def _take_control() -> None:
    """Let this thread set what another has set: threadpoolctl keeps OpenBLAS to the first."""
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):  # older versions let every thread
        openblas.clear_controlling_thread(force=True)


_LIBRARIES = _Libraries()
_PROCESS, _THREAD = _Limit("blas"), _OwnLimit()


@contextmanager
def one_thread() -> Generator[None]:
    """Give the linear algebra libraries one thread each."""
    own = _THREAD.limit  # a generator may be closed by another thread
    with _LOCK:
        _PROCESS.acquire()
        own.acquire()
    try:
        yield
    finally:
        with _LOCK:
            own.release()
            _PROCESS.release()
