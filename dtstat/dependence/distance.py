"""Distance correlation."""

from __future__ import annotations

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.dependence.alignment import SingleArray, alignment
from dtstat.progress import Progress


def distance_correlation(X: FloatArray, progress: Progress = None) -> FloatArray:
    """Distance correlation of the columns of X (Székely, Rizzo & Bakirov 2007).

        dCor² = ⟨A_i, A_j⟩ / √(⟨A_i, A_i⟩ ⟨A_j, A_j⟩),   A = centred matrix of |x_a − x_b|

    Zero in the population only under independence. In a sample of n rows independent items have
    a value of the order of 1/√n, not zero.

    Parameters
    ----------
    X
        (n, p) complete data, no column constant.
    progress
        Progress.
    """
    R: FloatArray = np.sqrt(alignment(X, _distance, progress, "distance"))
    return R


def _distance(x: SingleArray, y: SingleArray) -> SingleArray:
    D: SingleArray = np.abs(x - y)
    return D
