"""The dependence of so many items that only the pairs above a floor are kept.

The (p, p) matrix is never there: blocks of it are computed side by side, in order, and what is
not above the floor is forgotten. Where pairs above the floor would take more memory than allowed,
the floor is raised until they do not.
"""

from __future__ import annotations

import math
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd
from joblib import effective_n_jobs, parallel_config

from dtstat.core.arrays import FloatArray, IntArray, SmallIntArray
from dtstat.core.errors import DataWarning, InputError, silenced, warn
from dtstat.core.kernels import kernel
from dtstat.core.parallel import Jobs, Progress, run, track
from dtstat.core.tables import Printed
from dtstat.data.items import ItemData
from dtstat.data.sources import Columns
from dtstat.dependence.compute import (
    FEW_ROWS,
    FEWEST_ROWS,
    TWINS,
    Missing,
    PairFunction,
    dependence_matrix,
)
from dtstat.dependence.matrix import BLOCK, Block, block_spans, blocks_of
from dtstat.dependence.measures import NULL_VARIANCES, find_measure
from dtstat.dependence.pearson import product_block, standardize_items
from dtstat.dependence.spearman import average_ranks

Edges = tuple[SmallIntArray, SmallIntArray, FloatArray]  # i < j and r of each pair
Floor = float | Literal["chance"]
BlockFunction = Callable[[Block], FloatArray]

MEMORY = 2.0  # GB
_MOST_ROWS = 1_000_000  # that are asked about
_ASKED = 256  # items that tell how many neighbors there are
_BYTES_PER_PAIR = 40  # 16 as it is found, 24 in the rows of both items
_BYTES_PER_VALUE = 48  # read: from a column of a file to its ranks
_BYTES_PER_ENTRY = 40  # of a block: the number, its size, whether and where it is above the floor


@dataclass(frozen=True, eq=False, repr=False)
class SparseDependence(Printed):
    """Pairs of p items whose dependence exceeds a floor; all others are only known not to.

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
    starts, neighbors, values
        Neighbors of item i are ``neighbors[starts[i] : starts[i + 1]]``, rising, with their
        signed dependence; every pair is there from both ends. Read-only.
    """

    names: tuple[str, ...]
    measure: str
    n_obs: int
    floor: float
    starts: IntArray
    neighbors: SmallIntArray
    values: FloatArray

    def __post_init__(self) -> None:
        for array in (self.starts, self.neighbors, self.values):
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
        neighbors, values = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1])
        free = starts[:-1].copy()
        for i, j, r in edges:
            _insert(i, j, r, free, neighbors, values)
        _sort_rows(starts, neighbors, values)
        return cls(names, measure, n_obs, floor, starts, neighbors, values)

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
        once = np.flatnonzero(i < self.neighbors)
        once = once[np.argsort(-np.abs(self.values[once]), kind="stable")]
        names = np.asarray(self.names, dtype=object)
        return pd.DataFrame(
            {
                "item": names[i[once]],
                "other": names[self.neighbors[once]],
                "dependence": self.values[once],
            }
        )

    def __repr__(self) -> str:
        return (
            f"SparseDependence: {self.measure} of {self.n_items} items, {self.n_obs} rows, "
            f"{self.n_pairs} pairs above {self.floor:.3f}"
        )


@kernel
def _insert(
    i: SmallIntArray,
    j: SmallIntArray,
    r: FloatArray,
    free: IntArray,
    neighbors: SmallIntArray,
    values: FloatArray,
) -> None:
    for e in range(len(r)):
        a, b = i[e], j[e]
        neighbors[free[a]], values[free[a]] = b, r[e]
        neighbors[free[b]], values[free[b]] = a, r[e]
        free[a] += 1
        free[b] += 1


@kernel
def _sort_rows(starts: IntArray, neighbors: SmallIntArray, values: FloatArray) -> None:
    for i in range(len(starts) - 1):
        at = slice(starts[i], starts[i + 1])
        order = np.argsort(neighbors[at])
        neighbors[at] = neighbors[at][order]
        values[at] = values[at][order]


def sparse_dependence(
    columns: Columns,
    measure: str | PairFunction,
    floor: Floor,
    memory: float,
    missing: Missing,
    n_jobs: Jobs = None,
    progress: Progress = None,
) -> SparseDependence:
    """Pairs above a floor; see :func:`dtstat.dependence` for the arguments."""
    name = measure if isinstance(measure, str) else getattr(measure, "__name__", "function")
    if isinstance(measure, str):
        find_measure(measure)
    n, p = columns.n_rows, len(columns.names)
    least = chance_floor(name, n, p) if isinstance(floor, str) else floor
    budget = _Budget.of(n, p, 1e9 * memory, effective_n_jobs(n_jobs))
    kept = _Kept(least, budget.most_pairs)
    with tempfile.TemporaryDirectory() as folder:
        block, width = _block_function(columns, measure, missing, budget, folder)
        blocks = blocks_of(p, width)
        found = _in_batches(block, blocks, kept, budget, n_jobs)
        for edges in track(found, progress, name, len(blocks)):
            kept.add(edges)
    _warn_of_floor_and_twins(kept, least, memory, columns)
    return SparseDependence.from_edges(columns.names, name, n, kept.floor, kept.parts)


def product_pairs(
    W: FloatArray,
    names: tuple[str, ...],
    measure: str,
    floor: float,
    n_jobs: Jobs = None,
    progress: Progress = None,
) -> SparseDependence:
    """Pairs above a floor that is known to leave few, of (p, n) standardized items."""
    blocks = blocks_of(len(W))
    in_memory = not isinstance(W, np.memmap)
    budget = _Budget(BLOCK, in_memory, len(blocks), math.inf)
    found = _in_batches(_Product(W), blocks, _Kept(floor, math.inf), budget, n_jobs)
    parts = [*track(found, progress, measure, len(blocks))]
    return SparseDependence.from_edges(names, measure, W.shape[1], floor, parts)


def crowd_floor(W: FloatArray, neighbors: int) -> float:
    """Return the floor above which items have so many neighbors on average.

    Asked of some of the items, evenly spaced, with all others; ``W`` holds (p, n) standardized
    items.
    """
    p, n = W.shape
    if p <= neighbors + 1:
        return 0.0
    asked = np.linspace(0, p - 1, min(p, _ASKED)).astype(int)
    strength = np.abs(W[asked] @ W.T) / n
    strength[np.arange(len(asked)), asked] = 0.0
    return float(np.quantile(strength, 1 - neighbors / p))


def _in_batches(
    block: BlockFunction, blocks: list[Block], kept: _Kept, budget: _Budget, n_jobs: Jobs
) -> Iterator[Edges]:
    """Yield the pairs of every block, in order.

    In batches, so that blocks done early do not pile up, and a floor that was raised is known.
    Items that lie on disk stay where they are: threads read them, and no cluster.
    """
    for start in range(0, len(blocks), budget.blocks_at_work):
        part = blocks[start : start + budget.blocks_at_work]
        with nullcontext() if budget.in_memory else parallel_config(backend="threading"):
            work = _FindPairs(block, kept.floor)
            done = [edges for _, edges in run(work, part, n_jobs, threads=True, ordered=True)]
        yield from done


@dataclass(frozen=True)
class _Budget:
    """What fits into memory: columns to read, prepared items (or not), blocks, and pairs."""

    width: int
    in_memory: bool
    blocks_at_work: int
    most_pairs: float

    @classmethod
    def of(cls, n: int, p: int, memory: float, workers: int) -> _Budget:
        """Share the memory: half for pairs, a quarter for items, a quarter for blocks at work.

        Neither the pairs nor how they are cut depend on the workers, so that the floor does not.
        """
        block = _BYTES_PER_ENTRY * float(min(BLOCK, p)) ** 2
        least = max(4 * block, 2 * _BYTES_PER_PAIR * p)
        if memory < least:
            raise InputError(
                f"`memory` must be at least {1.01 * least / 1e9:.3g} for {p} items; got "
                f"{memory / 1e9:.3g}. It is in GB.",
                "memory",
            )
        return cls(
            width=int(max(4, min(BLOCK, memory / 32 / (_BYTES_PER_VALUE * n)))),
            in_memory=8.0 * n * p <= memory / 4,
            blocks_at_work=int(min(2 * workers, memory / 4 / block)),
            most_pairs=memory / 2 / _BYTES_PER_PAIR,
        )


def chance_floor(measure: str, n: int, p: int) -> float:
    """Return the floor above which items that are all independent have one neighbor on average.

    That is P(|r| > floor) = 1/p, with the normal approximation of r for independent items.
    """
    from scipy.special import ndtri

    if measure not in NULL_VARIANCES:
        raise InputError(
            f"`floor` 'chance' is known for {', '.join(NULL_VARIANCES)}; got the measure "
            f"'{measure}'. Give a number.",
            "floor",
        )
    floor: float = -ndtri(0.5 / p) * math.sqrt(NULL_VARIANCES[measure](n))
    return min(floor, 0.999)


def rows_to_stand_out(measure: str, r: float, p: int) -> int:
    """Fewest rows with which the floor of chance is at most r."""
    rows = range(FEWEST_ROWS, _MOST_ROWS)
    return rows[bisect_left(rows, True, key=lambda n: chance_floor(measure, n, p) <= r)]


def _block_function(
    columns: Columns,
    measure: str | PairFunction,
    missing: Missing,
    budget: _Budget,
    folder: str,
) -> tuple[BlockFunction, int]:
    """Return the function that computes one block of the matrix, and how wide blocks are.

    Products are cut as in the whole matrix, so that they are the same to the last bit; but distance
    and hsic, in single precision, sum rows as they come, the whole matrix in an order of content.
    """
    if columns.n_rows < FEWEST_ROWS:
        raise InputError(
            f"The data must have at least {FEWEST_ROWS} rows; got {columns.n_rows}.", "data"
        )
    if measure in ("pearson", "spearman"):
        prepared = _prepare_items(columns, measure == "spearman", budget, folder)
        if prepared is not None:
            return _Product(prepared), BLOCK
    return _Pairwise(columns, measure, missing), budget.width


def _prepare_items(
    columns: Columns, ranked: bool, budget: _Budget, folder: str
) -> FloatArray | None:
    """(p, n) standardized items, on disk if they would take too much memory; None with gaps."""
    shape = len(columns.names), columns.n_rows
    if budget.in_memory:
        W: FloatArray = np.empty(shape)
    else:
        W = np.memmap(f"{folder}/items", dtype=np.float64, mode="w+", shape=shape)
    for span in block_spans(shape[0], budget.width):
        X = columns.read(span.start, span.stop).values
        if np.isnan(X).any():
            return None
        W[span] = standardize_items(average_ranks(X) if ranked else X)
    return W


@dataclass(frozen=True)
class _Product:
    """Blocks of correlations, as products of prepared items."""

    W: FloatArray

    def __call__(self, block: Block) -> FloatArray:
        return product_block(self.W, block)


@dataclass(frozen=True)
class _Pairwise:
    """Blocks of any measure: the matrix of the items of both spans, of which one part is taken."""

    columns: Columns
    measure: str | PairFunction
    missing: Missing

    def __call__(self, block: Block) -> FloatArray:
        rows, others = block
        with silenced(DataWarning):  # blocks are read many times; copies are named once, at the end
            items = self.columns.read(rows.start, rows.stop)
            width = items.n_items
            if rows != others:
                more = self.columns.read(others.start, others.stop)
                values = np.hstack([items.values, more.values])
                names, kinds = items.names + more.names, items.kinds + more.kinds
                items = ItemData(values, names, kinds, items.levels + more.levels)
            R = dependence_matrix(items, self.measure, self.missing, by_content=False).values
        return R if rows == others else R[:width, width:]


@dataclass(frozen=True)
class _FindPairs:
    """Computes a block and returns its pairs above the floor."""

    block: BlockFunction
    floor: float

    def __call__(self, which: Block) -> Edges:
        rows, others = which
        R = self.block(which)
        above = np.abs(R) > self.floor
        if rows == others:
            above &= ~np.tri(len(R), dtype=bool)
        i, j = np.nonzero(above)
        return (i + rows.start).astype(np.int32), (j + others.start).astype(np.int32), R[i, j]


@dataclass
class _Kept:
    """Pairs found so far, no more than fit."""

    floor: float
    most: float
    parts: list[Edges] = field(default_factory=list)
    count: int = 0

    def add(self, edges: Edges) -> None:
        """Add the pairs of a block; if there are too many, raise the floor and keep half."""
        self.parts.append(_strong(edges, self.floor))
        self.count += len(self.parts[-1][2])
        if self.count > self.most:
            strength = np.concatenate([np.abs(r) for _, _, r in self.parts])
            place = max(0, len(strength) - max(1, int(self.most / 2)))
            self.floor = float(np.partition(strength, place)[place])
            self.parts = [_strong(part, self.floor) for part in self.parts]
            self.count = sum(len(r) for _, _, r in self.parts)


def _strong(edges: Edges, floor: float) -> Edges:
    i, j, r = edges
    strong = np.abs(r) > floor
    return edges if strong.all() else (i[strong], j[strong], r[strong])


def _warn_of_floor_and_twins(kept: _Kept, asked: float, memory: float, columns: Columns) -> None:
    if kept.floor > asked:
        warn(
            f"The floor was raised from {asked:.3f} to {kept.floor:.3f}: more pairs would take "
            f"more than the {memory:.3g} GB that `memory` allows. The path is exact from "
            "there up.",
            DataWarning,
            stacklevel=4,
        )
    names = columns.names
    twins = [(i[k], j[k]) for i, j, r in kept.parts for k in np.flatnonzero(np.abs(r) > TWINS)]
    if twins and columns.n_rows >= FEW_ROWS:
        more = f" and {len(twins) - 1} more pairs" if len(twins) > 1 else ""
        warn(
            f"Items '{names[twins[0][0]]}' and '{names[twins[0][1]]}'{more} determine each other. "
            "Leave out one of them unless both are meant.",
            DataWarning,
            stacklevel=4,
        )
