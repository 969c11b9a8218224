"""Names for the array types that pass between modules.

How dtstat compiles its kernels: one typed decorator around numba.

Kernels are cached on disk, release the interpreter lock so that threads can run them side by
side, and are called in blocks of a fraction of a second so that Ctrl-C works.
"""

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
    """Compile a function of arrays and numbers on its first call."""
    return cast(F, njit(cache=True, nogil=True)(function))
