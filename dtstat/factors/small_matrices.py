"""Loops over small matrices, for kernels that are called thousands of times.

Numba's linear algebra takes longer to compile than all of this.
"""

from __future__ import annotations

import math

from dtstat.core.arrays import FloatArray
from dtstat.core.kernels import kernel
from dtstat.factors.maximum_likelihood import RIDGE


@kernel
def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product, from four sums so that they need not wait for one another."""
    x = y = z = w = 0.0
    n = len(a)
    for j in range(0, n - 3, 4):
        x += a[j] * b[j]
        y += a[j + 1] * b[j + 1]
        z += a[j + 2] * b[j + 2]
        w += a[j + 3] * b[j + 3]
    for j in range(n - n % 4, n):
        x += a[j] * b[j]
    return x + y + z + w


@kernel
def add(a: FloatArray, factor: float, b: FloatArray) -> None:
    """Add a multiple of b to a."""
    for j in range(len(a)):
        a[j] += factor * b[j]


@kernel
def clear(A: FloatArray) -> None:
    """Set a matrix to zero; an assignment to A[:] would take longer to compile than all else."""
    for k in range(A.shape[0]):
        for m in range(A.shape[1]):
            A[k, m] = 0.0


@kernel
def multiply(A: FloatArray, B: FloatArray, AB: FloatArray) -> None:
    """Write AᵀB, for square matrices."""
    d = len(A)
    clear(AB)
    for k in range(d):
        for a in range(d):
            for m in range(d):
                AB[k, m] += A[a, k] * B[a, m]


@kernel
def cholesky(A: FloatArray, size: int) -> bool:
    """Replace the lower triangle of the leading block by its root; return whether it has one.

    If not, what it has instead is that of a matrix nearby, which one can go on with.
    """
    definite = True
    for k in range(size):
        least = RIDGE * A[k, k]
        for m in range(k):
            total = A[k, m]
            for a in range(m):
                total -= A[k, a] * A[m, a]
            A[k, m] = total / A[m, m]
        square = A[k, k]
        for a in range(k):
            square -= A[k, a] * A[k, a]
        definite = definite and square > 0
        square = max(square, least)
        A[k, k] = math.sqrt(square) if square > 0 else 1.0
    return definite


@kernel
def solve(A: FloatArray, b: FloatArray, size: int) -> None:
    """Replace b by the solution of AAᵀx = b, A lower triangular."""
    for k in range(size):
        for a in range(k):
            b[k] -= A[k, a] * b[a]
        b[k] /= A[k, k]
    for k in range(size - 1, -1, -1):
        for a in range(k + 1, size):
            b[k] -= A[a, k] * b[a]
        b[k] /= A[k, k]
