"""How dtstat compiles its kernels: one typed decorator around numba.

Kernels are cached on disk, release the interpreter lock so that threads can run them side by
side, and are called in blocks of a fraction of a second so that Ctrl-C works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile a function of arrays and numbers on its first call."""
    return cast(F, njit(cache=True, nogil=True)(function))
