"""Correlations of so many items that their matrix is made only when it is asked for, if at all."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import InputError
from dtstat.core.saved import register
from dtstat.core.tables import Printed
from dtstat.dependence.matrix import DependenceMatrix

MOST_WHOLE = 5000  # items whose whole matrix, 0.2 GB, and what follows from it, fit anywhere


@register(shapes={"names": "p"})
@dataclass(frozen=True, eq=False, repr=False)
class CorrelationsOnDemand(Printed):
    """Correlations of p items, known by their standardized answers.

    Attributes
    ----------
    names
        p item names.
    measure
        Name of the measure.
    n_obs
        Number of rows.
    rows
        (p, n) items of mean 0 and variance 1; None in a fit from a file, and if they lie on disk.
    """

    names: tuple[str, ...]
    measure: str
    n_obs: int
    rows: FloatArray | None = field(default=None, metadata={"saved": False})
    smoothed = False
    smallest_eigenvalue = math.nan
    pairwise_n: IntArray | None = field(default=None, metadata={"saved": False})

    @property
    def n_items(self) -> int:
        """Number of items p."""
        return len(self.names)

    @property
    def at_hand(self) -> bool:
        """Whether the matrix can be made."""
        return self.rows is not None and self.n_items <= MOST_WHOLE

    @cached_property
    def values(self) -> FloatArray:
        """(p, p) correlations.

        Raises
        ------
        InputError
            If there are too many items, or the answers are not there.
        """
        p = self.n_items
        if p > MOST_WHOLE:
            raise InputError(
                f"This needs all correlations of {p} items, {8e-9 * p**2:.3g} GB, which are made "
                f"for up to {MOST_WHOLE}. Ask it of some factors: fit(data[items]).",
                "data",
            )
        if self.rows is None:
            raise InputError(
                f"This needs the correlations of {p} items, which are made from the answers, and "
                "the answers are not there. Fit the data again.",
                "data",
            )
        R: FloatArray = self.rows @ self.rows.T / self.rows.shape[1]
        np.fill_diagonal(R, 1.0)
        R = np.clip(R / 2 + R.T / 2, -1.0, 1.0)
        R.setflags(write=False)
        return R

    @property
    def R(self) -> FloatArray:
        """The same."""
        return self.values

    @property
    def strength(self) -> FloatArray:
        """(p, p) their sizes."""
        return np.abs(self.values)

    def __repr__(self) -> str:
        return f"Correlations: {self.measure} of {self.n_items} items, {self.n_obs} rows"


def whole_matrix(dependence: DependenceMatrix | CorrelationsOnDemand) -> DependenceMatrix:
    """Return a matrix as it is, or made now."""
    if isinstance(dependence, DependenceMatrix):
        return dependence
    one = dependence
    return DependenceMatrix(one.values, one.names, one.measure, one.n_obs)
