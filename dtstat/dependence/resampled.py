"""Dependence of some of the rows, again and again: what resampling needs."""

from __future__ import annotations

import numpy as np

from dtstat.arrays import FloatArray, IntArray
from dtstat.data import ItemData
from dtstat.dependence.compute import FEWEST_ROWS, Missing, PairFunction, dependence_matrix
from dtstat.dependence.kendall_pairs import suits_tables, tau_b_by_pairs
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.rank import Codes, dense_codes
from dtstat.dependence.rank_tables import spearman_from_tables
from dtstat.errors import DataWarning, InputError, silenced


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
        R = self._from_tables(codes)
        counts = _common_rows(codes) if (codes < 0).any() else None
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

    def _from_tables(self, codes: Codes) -> FloatArray:
        if self.measure == "spearman":
            return spearman_from_tables(codes)
        return tau_b_by_pairs(codes, np.empty_like(codes))  # no order is needed for tables


def _codes(items: ItemData, measure: str | PairFunction) -> Codes | None:
    """(n, p) levels of the items; None unless tables of them are the way."""
    if measure not in ("spearman", "kendall"):
        return None
    codes, _ = dense_codes(items.values)
    return np.ascontiguousarray(codes.T) if suits_tables(codes) else None


def _common_rows(codes: Codes) -> IntArray:
    observed = (codes >= 0).astype(np.float32)
    counts: IntArray = np.rint(observed @ observed.T).astype(np.int64)
    return counts
