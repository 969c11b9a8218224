"""From answers to a dependence matrix: of all rows, or of chosen rows again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.errors import DataWarning, DTError, InputError, silenced, warn
from dtstat.core.parallel import Jobs, Progress
from dtstat.data.frame import rows_by_content
from dtstat.data.items import ItemData, check_usable
from dtstat.dependence.kendall import tau_b_by_pairs
from dtstat.dependence.matrix import DependenceMatrix, check_pairs, symmetric_matrix
from dtstat.dependence.measures import Measure, find_measure
from dtstat.dependence.pearson import rescale_extremes
from dtstat.dependence.spearman import (
    Codes,
    dense_codes,
    spearman_from_tables,
    suits_tables,
)

Missing = Literal["pairwise", "listwise", "error"]
PairFunction = Callable[[FloatArray, FloatArray], float]

FEW_ROWS = 10  # common rows below which a pair is pointed out
TWINS = 0.999  # dependence above which two items count as one
FEWEST_ROWS = 3  # with two, every monotone measure is ±1
# Measures that can be read off the levels of the items; tau-b needs no order of the rows then.
_FROM_TABLES: dict[object, Callable[[Codes], FloatArray]] = {
    "spearman": spearman_from_tables,
    "kendall": lambda codes: tau_b_by_pairs(codes, np.empty_like(codes)),
}


def dependence_matrix(
    items: ItemData,
    measure: str | PairFunction = "spearman",
    missing: Missing = "pairwise",
    n_jobs: Jobs = None,
    progress: Progress = None,
    by_content: bool = True,
) -> DependenceMatrix:
    """Dependence of all pairs of items; see :func:`dtstat.dependence` for the arguments.

    ``by_content`` says that measures in single precision, in which the order of the rows shows, sum
    them in the order of their content.
    """
    items = _without_gaps(items, missing)
    items.pair_tables(progress)  # with many rows what follows needs them and nothing else
    counts = _pairwise_counts(items)
    R, name = _compute(items, measure, n_jobs, progress, by_content)
    _check_values(R, items.names, callable(measure))
    _warn_of_twins(R, items.n_rows if counts is None else counts, items.names)
    return DependenceMatrix(R, items.names, name, items.n_rows, counts)


class RowDependence:
    """Computes the dependence matrix of chosen rows.

    Rank measures of items with few levels are read off tables of the levels, which are found once.
    What :func:`dtstat.dependence` warns of is said there, of all rows, and not again here.

    Parameters
    ----------
    items
        All rows.
    measure, missing
        As in :func:`dtstat.dependence`; with "listwise" rows with gaps are left out beforehand.
    """

    def __init__(
        self,
        items: ItemData,
        measure: str | PairFunction = "spearman",
        missing: Missing = "pairwise",
    ) -> None:
        self.items = items.complete_rows() if missing == "listwise" else items
        self.measure, self.missing = measure, missing
        self._codes = _codes(self.items, measure)

    @property
    def n_rows(self) -> int:
        """Number of rows to choose from."""
        return self.items.n_rows

    def __call__(self, rows: IntArray) -> DependenceMatrix:
        """Return the dependence of the items in these rows; a row may be given twice.

        Raises
        ------
        InputError
            If an item does not vary in them.
        """
        self._check(rows)
        codes = None if self._codes is None else np.ascontiguousarray(self._codes[rows].T)
        if codes is None or not suits_tables(codes):
            with silenced(DataWarning):
                return dependence_matrix(self.items.take(rows), self.measure, self.missing)
        R = _FROM_TABLES[self.measure](codes)
        counts = None
        if (codes < 0).any():
            observed = (codes >= 0).astype(np.float32)
            counts = np.rint(observed @ observed.T).astype(np.int64)
        if np.isnan(R).any() or (counts is not None and counts.min() < FEWEST_ROWS):
            raise InputError("In the chosen rows two items have too little in common.")
        return DependenceMatrix(R, self.items.names, str(self.measure), len(rows), counts)

    def _check(self, rows: IntArray) -> None:
        X = self.items.values[rows]
        if len(rows) < FEWEST_ROWS or self.items.n_items < 2:
            raise InputError(f"There must be at least {FEWEST_ROWS} rows; got {len(rows)}.")
        seen = ~np.isnan(X)
        low = np.where(seen, X, np.inf).min(axis=0)
        high = np.where(seen, X, -np.inf).max(axis=0)
        if not (low < high).all():
            raise InputError("In the chosen rows an item does not vary.")


def _without_gaps(items: ItemData, missing: str) -> ItemData:
    if not isinstance(missing, str) or missing not in get_args(Missing):
        advice = "Rows with gaps are used where they can be, left out, or refused."
        raise checks.refusal("missing", "'pairwise', 'listwise' or 'error'", missing, advice)
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
    if complete.n_rows < FEWEST_ROWS:
        raise InputError(
            f"Only {complete.n_rows} of {items.n_rows} rows have no missing value. "
            'Use missing="pairwise", or leave out the items with most missing values.',
            "missing",
        )
    check_usable(complete)
    return complete


def _pairwise_counts(items: ItemData) -> IntArray | None:
    """(p, p) numbers of common rows, None if that is all rows for all pairs."""
    if items.n_rows < FEWEST_ROWS:
        raise InputError(
            f"The data must have at least {FEWEST_ROWS} rows; got {items.n_rows}.", "data"
        )
    if not items.has_missing:
        return None
    counts = _count_common_rows(items)
    check_pairs(
        counts < FEWEST_ROWS,
        items.names,
        f"Items {{}} have fewer than {FEWEST_ROWS} rows in common. Leave out one of them.",
    )
    _warn_of_thin_pairs(counts, items.names)
    return counts


def _count_common_rows(items: ItemData) -> IntArray:
    tables = items.pair_tables()
    if tables is None:
        observed = (~np.isnan(items.values)).astype(float)
        common: IntArray = np.rint(observed.T @ observed).astype(np.int64)
        return common
    counts = np.diag(tables.counts.sum(axis=1))
    upper = np.triu_indices(items.n_items, 1)
    counts[upper] = counts.T[upper] = tables.cells.sum(axis=(1, 2))
    return counts


def _warn_of_thin_pairs(counts: IntArray, names: Sequence[str]) -> None:
    i, j = np.nonzero(np.triu(counts < FEW_ROWS, 1))
    if i.size:
        least = counts[i, j].argmin()
        a, b, n = names[i[least]], names[j[least]], counts[i[least], j[least]]
        more = f" ({i.size - 1} more pairs have few)" if i.size > 1 else ""
        warn(
            f"Items '{a}' and '{b}' have only {n} rows in common{more}; their dependence is "
            "poorly estimated. Leave out the item with most gaps.",
            DataWarning,
            stacklevel=5,
        )


def _compute(
    items: ItemData,
    measure: str | PairFunction,
    n_jobs: Jobs,
    progress: Progress,
    by_content: bool,
) -> tuple[FloatArray, str]:
    if callable(measure):
        return _by_function(items, measure, progress), getattr(measure, "__name__", "function")
    known = find_measure(measure)
    if known.from_counts and items.pair_tables() is not None:
        return known.compute(items, n_jobs, progress), known.name
    # Very large and small answers are brought to where their squares can be computed, by powers of
    # two, which change no digit; no measure here depends on the scale of an item.
    scaled = rescale_extremes(items.values)
    items = items if scaled is items.values else replace(items, values=scaled)
    if known.single_precision and by_content:
        items = items.take(rows_by_content(items.values))
    if items.has_missing and not known.allows_missing:
        return _with_gaps(items, known, n_jobs, progress), known.name
    return known.compute(items, n_jobs, progress), known.name


def _by_function(items: ItemData, function: PairFunction, progress: Progress) -> FloatArray:
    X = items.values

    def fill(i: int, j: int) -> float:
        rows = ~np.isnan(X[:, i] + X[:, j])
        pair = f"'{items.names[i]}' and '{items.names[j]}'"
        try:
            value = function(X[rows, i], X[rows, j])
        except DTError:
            raise
        except Exception as error:  # whatever the user's function does
            why = f"{type(error).__name__}: {error}"
            raise InputError(
                f"`measure` failed for {pair} with {why}. It must take two columns.", "measure"
            ) from error
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"`measure` must return a number; got {type(value).__name__} for {pair}.",
                "measure",
            ) from None

    return _pair_by_pair(fill, items.n_items, 1, progress)


def _with_gaps(items: ItemData, measure: Measure, n_jobs: Jobs, progress: Progress) -> FloatArray:
    """Complete items together; every pair with a gap alone, on its common rows."""
    missing = np.isnan(items.values)
    complete = np.asarray(~missing.any(axis=0))
    together = np.flatnonzero(complete)
    R = np.eye(items.n_items)
    if len(together) > 1:
        part = _part(items, np.ones(items.n_rows, dtype=bool), together)
        R[np.ix_(together, together)] = measure.compute(part, n_jobs, None)

    def fill(i: int, j: int) -> float:
        if complete[i] and complete[j]:
            return float(R[i, j])
        pair = _part(items, ~(missing[:, i] | missing[:, j]), np.array([i, j]))
        if (np.ptp(pair.values, axis=0) == 0).any():
            return np.nan
        return float(measure.compute(pair, 1, None)[0, 1])

    return _pair_by_pair(fill, items.n_items, n_jobs, progress)


def _part(items: ItemData, rows: BoolArray, columns: IntArray) -> ItemData:
    """Take some rows of some items; the measures that need this do not look at kinds."""
    names = tuple(items.names[k] for k in columns)
    return ItemData(items.values[rows][:, columns], names, items.kinds[: len(names)], ())


def _pair_by_pair(
    value: Callable[[int, int], float], p: int, n_jobs: Jobs, progress: Progress
) -> FloatArray:
    def row(i: int) -> list[float]:
        return [value(i, j) for j in range(i + 1, p)]

    return symmetric_matrix(row, p, n_jobs, progress, "dependence")


def _check_values(R: FloatArray, names: Sequence[str], by_function: bool) -> None:
    constant = "in the rows they have in common one of them does not vary"
    cause = "`measure` returned NaN" if by_function else constant
    check_pairs(
        np.isnan(R),
        names,
        f"The dependence of {{}} cannot be computed: {cause}. Leave out one of them.",
    )
    check_pairs(
        np.abs(R) > 1.0,
        names,
        "`measure` must return values in [-1, 1]; that of {} is outside. Scale it.",
    )


def _warn_of_twins(R: FloatArray, counts: int | IntArray, names: Sequence[str]) -> None:
    i, j = np.nonzero(np.triu((np.abs(R) > TWINS) & (counts >= np.array(FEW_ROWS)), 1))
    if i.size:
        more = f" and {i.size - 1} more pairs" if i.size > 1 else ""
        warn(
            f"Items '{names[i[0]]}' and '{names[j[0]]}'{more} determine each other (dependence "
            f"{R[i[0], j[0]]:.4f}): one is a copy or function of the other, or some answers "
            "are too rare to distinguish them. Leave out one of them unless both are meant.",
            DataWarning,
            stacklevel=4,
        )


def _codes(items: ItemData, measure: str | PairFunction) -> Codes | None:
    """(n, p) levels of the items; None unless tables of them are the way."""
    if measure not in _FROM_TABLES:
        return None
    codes, _ = dense_codes(items.values)
    return np.ascontiguousarray(codes.T) if suits_tables(codes) else None
