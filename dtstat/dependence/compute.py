"""From answers to a dependence matrix: missing values, the measure, and what can go wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from dtstat.arrays import FloatArray, IntArray
from dtstat.data import ItemData, check_usable
from dtstat.dependence.matrix import DependenceMatrix, check_pairs
from dtstat.dependence.pairs import run_blocks
from dtstat.dependence.registry import Measure, find_measure
from dtstat.errors import DataWarning, InputError
from dtstat.progress import Progress

Missing = Literal["pairwise", "listwise", "error"]
PairFunction = Callable[[FloatArray, FloatArray], float]

_TWINS = 0.999  # dependence above which two items count as one
_FEWEST_ROWS = 3  # with two, every monotone measure is ±1


def dependence_matrix(
    items: ItemData,
    measure: str | PairFunction = "spearman",
    missing: Missing = "pairwise",
    n_jobs: int = 1,
    progress: Progress = None,
) -> DependenceMatrix:
    """Dependence of all pairs of items; see :func:`dtstat.dependence` for the arguments."""
    items = _without_gaps(items, missing)
    counts = _pairwise_counts(items)
    check_pairs(
        counts < _FEWEST_ROWS,
        items.names,
        f"Items {{}} have fewer than {_FEWEST_ROWS} rows in common. Leave out one of them.",
    )
    R, name = _compute(items, measure, n_jobs, progress)
    cause = "in the rows they have in common one of them does not vary"
    check_pairs(
        np.isnan(R),
        items.names,
        f"The dependence of {{}} cannot be computed: "
        f"{'`measure` returned NaN' if callable(measure) else cause}. Leave out one of them.",
    )
    check_pairs(
        np.abs(R) > 1.0,
        items.names,
        "`measure` must return values in [-1, 1]; that of {} is outside. Scale it.",
    )
    _warn_of_twins(R, items.names)
    gaps = counts if items.has_missing else None
    return DependenceMatrix(R, items.names, name, items.n_rows, gaps)


def _warn_of_twins(R: FloatArray, names: Sequence[str]) -> None:
    i, j = np.nonzero(np.triu(np.abs(R) > _TWINS, 1))
    if i.size:
        more = f" and {i.size - 1} more pairs" if i.size > 1 else ""
        warnings.warn(
            f"Items '{names[i[0]]}' and '{names[j[0]]}'{more} are all but the same (dependence "
            f"{R[i[0], j[0]]:.4f}): copies of each other, or answers too rare to tell apart. "
            "Leave out one of them unless both are meant.",
            DataWarning,
            stacklevel=4,
        )


def _without_gaps(items: ItemData, missing: str) -> ItemData:
    if missing not in get_args(Missing):
        raise InputError(
            f"`missing` must be 'pairwise', 'listwise' or 'error'; got '{missing}'.", "missing"
        )
    if missing == "pairwise" or not items.has_missing:
        return items
    if missing == "error":
        gaps = np.isnan(items.values).sum(axis=0)
        worst = int(gaps.argmax())
        raise InputError(
            f"The data have missing values, {gaps[worst]} of them in '{items.names[worst]}', and "
            '`missing` is "error". Use missing="pairwise" or "listwise".',
            "missing",
        )
    complete = items.complete_rows()
    if complete.n_rows < _FEWEST_ROWS:
        raise InputError(
            f"Only {complete.n_rows} of {items.n_rows} rows have no missing value. "
            'Use missing="pairwise", or leave out the items with most missing values.',
            "missing",
        )
    check_usable(complete)
    return complete


def _pairwise_counts(items: ItemData) -> IntArray:
    observed = (~np.isnan(items.values)).astype(float)
    counts: IntArray = np.rint(observed.T @ observed).astype(np.int64)
    return counts


def _compute(
    items: ItemData, measure: str | PairFunction, n_jobs: int, progress: Progress
) -> tuple[FloatArray, str]:
    if callable(measure):
        return _by_function(items, measure, progress), getattr(measure, "__name__", "function")
    known = find_measure(measure)
    if items.has_missing and not known.allows_missing:
        return _with_gaps(items, known, n_jobs, progress), known.name
    return known.compute(items, n_jobs, progress), known.name


def _by_function(items: ItemData, function: PairFunction, progress: Progress) -> FloatArray:
    X = items.values

    def fill(i: int, j: int) -> float:
        rows = ~np.isnan(X[:, i] + X[:, j])
        value = function(X[rows, i], X[rows, j])
        try:
            return float(value)
        except (TypeError, ValueError):
            raise InputError(
                f"`measure` must return a number; got {type(value).__name__} for "
                f"'{items.names[i]}' and '{items.names[j]}'.",
                "measure",
            ) from None

    return _pair_by_pair(np.eye(items.n_items), fill, 1, progress)


def _with_gaps(items: ItemData, measure: Measure, n_jobs: int, progress: Progress) -> FloatArray:
    """Complete items together; every pair with a gap alone, on its common rows."""
    complete = np.asarray(~np.isnan(items.values).any(axis=0))
    R = np.full((items.n_items, items.n_items), np.nan)
    np.fill_diagonal(R, 1.0)
    if complete.sum() > 1:
        together = items.select(np.asarray(items.names, dtype=object)[complete])
        R[np.ix_(complete, complete)] = measure.compute(together, n_jobs, progress)

    def fill(i: int, j: int) -> float:
        if complete[i] and complete[j]:
            return float(R[i, j])
        pair = items.select([items.names[i], items.names[j]]).complete_rows()
        if (np.ptp(pair.values, axis=0) == 0).any():
            return np.nan
        return float(measure.compute(pair, 1, None)[0, 1])

    return _pair_by_pair(R, fill, n_jobs, progress)


def _pair_by_pair(
    R: FloatArray, value: Callable[[int, int], float], n_jobs: int, progress: Progress
) -> FloatArray:
    def fill_row(i: int) -> None:
        for j in range(i + 1, len(R)):
            R[i, j] = R[j, i] = value(i, j)

    run_blocks(fill_row, range(len(R) - 1), n_jobs, progress, "dependence")
    return R
