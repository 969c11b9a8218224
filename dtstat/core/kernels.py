"""Compiled functions of arrays: the decorators that make them, and the wait while they are made."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing import current_process
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event

F = TypeVar("F", bound=Callable[..., object])

COMPILING = (
    "dtstat: compiling, once after an installation (`dtstat compile` does it beforehand) ..."
)
_HOW: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}  # C calls no kernel
_LONG = 1.0  # seconds of compiling after which this is said


def kernel(function: F) -> F:
    """Compile a function of arrays and numbers on its first call.

    Kernels are cached on disk and release the interpreter lock, so that threads can run them side
    by side. Call them in blocks of a fraction of a second, so that Ctrl-C works.
    """
    try:
        return cast(F, njit(**_HOW, cache=True)(function))
    except RuntimeError:  # no folder that one may write to
        return cast(F, njit(**_HOW)(function))


def part(function: F) -> F:
    """Compile a function as a part of the one place in a kernel that calls it.

    A kernel of its own would be compiled twice, for itself and in the other, and takes longer.
    """
    return cast(F, njit(**_HOW, inline="always")(function))


class _Waiting(event.Listener):
    """Tells whoever looks on, once, that kernels are being compiled and take a while."""

    def __init__(self) -> None:
        self._depth, self._since, self._waited, self._said = 0, 0.0, 0.0, False
        self._interrupts: _Interrupts | None = None

    def on_start(self, event: Any) -> None:
        """Begin to wait, unless what is compiled is part of another, or not ours."""
        ours = event.data["dispatcher"].py_func.__module__.startswith("dtstat.")
        if self._depth or ours:
            self._depth += 1
            if self._depth == 1:
                self._since, self._interrupts = time.monotonic(), _Interrupts()
            self._tell(time.monotonic() - self._since)

    def on_end(self, event: Any) -> None:
        """Count how long it was, and end the work if it was interrupted."""
        if self._depth:
            self._depth -= 1
            waited = time.monotonic() - self._since
            self._tell(waited)
            self._waited += 0.0 if self._depth else waited
            if not self._depth and self._interrupts is not None:
                self._interrupts.settle()

    def _tell(self, more: float) -> None:
        if not self._said and self._waited + more > _LONG and _is_watched():
            self._said = True
            sys.stderr.write(f"{COMPILING}\n")


class _Interrupts:
    """Remembers what Ctrl-C raised while a kernel was compiled, and raises it again if it was lost.

    LLVM calls back into Python, as do weak references to what is compiled: an exception that is
    raised there is printed and dropped, and the work goes on, or fails for lack of the code.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._raised: BaseException | None = None
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and threading.current_thread() is threading.main_thread():
            self._before = handler
            signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, number: int, frame: Any) -> None:
        try:
            self._before(number, frame)
        except BaseException as error:
            self._raised = error
            raise

    def settle(self) -> None:
        """Set the handler back; raise again what is no longer on its way."""
        if self._before is None:
            return
        if signal.getsignal(signal.SIGINT) == self._interrupt:
            signal.signal(signal.SIGINT, self._before)
        if self._raised is not None and self._raised is not sys.exc_info()[1]:
            raise self._raised


def _is_watched() -> bool:
    """Whether this is a session at a terminal or in a notebook: no worker, and not within R."""
    if current_process().name != "MainProcess" or "dtstat.interop.r_bridge" in sys.modules:
        return False
    terminal = sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()
    return terminal or "ipykernel" in sys.modules


_WAITING = _Waiting()
event.register("numba:compile", _WAITING)  # type: ignore[no-untyped-call]
