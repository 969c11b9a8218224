"""One thread for linear algebra, so that sums do not depend on the machine's cores.

The number of threads of a library belongs to the whole process. Where several threads of the
caller ask for one, the first sets it and the last sets it back.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController


class _Limit:
    """How many have asked, and what to undo when the last is done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = 0
        self._modules = 0  # loaded when the libraries were looked for, which takes milliseconds
        self._libraries: Any = None
        self._set: Any = None

    def acquire(self) -> None:
        with self._lock:
            self._asked += 1
            if self._asked == 1:
                if self._modules != len(sys.modules):
                    self._modules, self._libraries = len(sys.modules), ThreadpoolController()
                self._set = self._libraries.limit(limits=1)

    def release(self) -> None:
        with self._lock:
            self._asked -= 1
            if not self._asked and self._set is not None:
                self._set.restore_original_limits()
                self._set = None


_LIMIT = _Limit()


@contextmanager
def one_thread() -> Generator[None]:
    """Give the linear algebra libraries of this process one thread each."""
    _LIMIT.acquire()
    try:
        yield
    finally:
        _LIMIT.release()
