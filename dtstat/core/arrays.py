"""Types of arrays, and the decorator that compiles functions of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
SmallIntArray = npt.NDArray[np.int32]

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile a function of arrays and numbers on its first call.

    Kernels are cached on disk and release the interpreter lock, so that threads can run them side
    by side. Call them in blocks of a fraction of a second, so that Ctrl-C works.
    """
    return cast(F, njit(cache=True, nogil=True)(function))
