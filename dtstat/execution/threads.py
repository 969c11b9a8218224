"""One thread for linear algebra, so that sums do not depend on the machine's cores.

The number of threads of most libraries belongs to the whole process. Where several threads of the
caller ask for one, the first sets it and the last sets it back. That of OpenMP belongs to each
thread of the caller, which sets and restores its own.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import threadpoolctl


class _Limit:
    """How many have asked, and what to undo when the last is done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = 0
        self._modules = 0  # loaded when the libraries were looked for, which takes milliseconds
        self._libraries: Any = None
        self._set: Any = None

    def acquire(self) -> Any:
        """Set the limit; return what this thread has to undo itself."""
        with self._lock:
            self._asked += 1
            if self._modules != len(sys.modules):
                self._modules = len(sys.modules)
                self._libraries = threadpoolctl.ThreadpoolController()
            if self._asked == 1:
                _take_control()
                self._set = self._libraries.select(user_api="blas").limit(limits=1)
            own = self._libraries.select(user_api="openmp")
        return own.limit(limits=1)

    def release(self, own: Any) -> None:
        """Undo what this thread has set, and as the last what the first has."""
        own.restore_original_limits()
        with self._lock:
            self._asked -= 1
            if not self._asked:
                _take_control()
                self._set.restore_original_limits()


def _take_control() -> None:
    """Let this thread set what another has set: threadpoolctl keeps OpenBLAS to the first."""
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):  # older versions let every thread
        openblas.clear_controlling_thread(force=True)


_LIMIT = _Limit()


@contextmanager
def one_thread() -> Generator[None]:
    """Give the linear algebra libraries of this process one thread each."""
    own = _LIMIT.acquire()
    try:
        yield
    finally:
        _LIMIT.release(own)
