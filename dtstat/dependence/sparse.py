"""The dependence of so many items that only the strong pairs are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dtstat.arrays import FloatArray, IntArray, SmallIntArray
from dtstat.compile import kernel

Edges = tuple[SmallIntArray, SmallIntArray, FloatArray]


@dataclass(frozen=True, eq=False, repr=False)
class SparseDependence:
    """Pairs of p items whose dependence exceeds a floor; of all others only that it does not.

    Attributes
    ----------
    names
        p item names.
    measure
        Name of the measure.
    n_obs
        Number of rows it was computed from.
    floor
        Every pair with |r| > floor is kept, and no other.
    starts, neighbours, values
        Neighbours of item i are ``neighbours[starts[i] : starts[i + 1]]``, rising, with their
        signed dependence; every pair is there from both ends. Read-only.
    """

    names: tuple[str, ...]
    measure: str
    n_obs: int
    floor: float
    starts: IntArray
    neighbours: SmallIntArray
    values: FloatArray

    def __post_init__(self) -> None:
        for array in (self.starts, self.neighbours, self.values):
            array.setflags(write=False)

    @classmethod
    def from_edges(
        cls, names: tuple[str, ...], measure: str, n_obs: int, floor: float, edges: Sequence[Edges]
    ) -> SparseDependence:
        """Join parts (i, j, r), i < j, in which every pair is once; parts by rising i, then j."""
        p = len(names)
        degree = np.zeros(p + 1, dtype=np.int64)
        for i, j, _ in edges:
            degree[1:] += np.bincount(i, minlength=p) + np.bincount(j, minlength=p)
        starts = np.cumsum(degree)
        neighbours, values = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1])
        free = starts[:-1].copy()
        for i, j, r in edges:
            _put(i, j, r, free, neighbours, values)
        _sort_rows(starts, neighbours, values)
        return cls(names, measure, n_obs, floor, starts, neighbours, values)

    @property
    def n_items(self) -> int:
        """Number of items p."""
        return len(self.names)

    @property
    def n_pairs(self) -> int:
        """Number of pairs kept."""
        return len(self.values) // 2

    def to_frame(self) -> pd.DataFrame:
        """One row per pair, the strongest first: item, other, dependence."""
        i = np.repeat(np.arange(self.n_items), np.diff(self.starts))
        once = np.flatnonzero(i < self.neighbours)
        once = once[np.argsort(-np.abs(self.values[once]), kind="stable")]
        names = np.asarray(self.names, dtype=object)
        return pd.DataFrame(
            {
                "item": names[i[once]],
                "other": names[self.neighbours[once]],
                "dependence": self.values[once],
            }
        )

    def __repr__(self) -> str:
        return (
            f"SparseDependence: {self.measure} of {self.n_items} items, {self.n_obs} rows, "
            f"{self.n_pairs} pairs above {self.floor:.3f}"
        )


@kernel
def _put(
    i: SmallIntArray,
    j: SmallIntArray,
    r: FloatArray,
    free: IntArray,
    neighbours: SmallIntArray,
    values: FloatArray,
) -> None:
    for e in range(len(r)):
        a, b = i[e], j[e]
        neighbours[free[a]], values[free[a]] = b, r[e]
        neighbours[free[b]], values[free[b]] = a, r[e]
        free[a] += 1
        free[b] += 1


@kernel
def _sort_rows(starts: IntArray, neighbours: SmallIntArray, values: FloatArray) -> None:
    for i in range(len(starts) - 1):
        at = slice(starts[i], starts[i + 1])
        order = np.argsort(neighbours[at])
        neighbours[at] = neighbours[at][order]
        values[at] = values[at][order]
