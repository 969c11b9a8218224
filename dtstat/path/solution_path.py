"""``dtstat.solution_path``: every structure that thresholding the dependence of items can give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.canvas import draw
from dtstat.core.checks import Thresholds, check_children, check_thresholds
from dtstat.core.parallel import Jobs, Progress, check_jobs
from dtstat.core.tables import Printed, Summary, Table
from dtstat.dependence.api import Data, dependence
from dtstat.dependence.compute import Missing, PairFunction
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.on_demand import CorrelationsOnDemand
from dtstat.dependence.sparse import MEMORY, Floor, SparseDependence
from dtstat.path.plots import PATH_KINDS
from dtstat.structure.barcode import Barcode, barcode, sparse_barcode
from dtstat.structure.path import Candidate, candidates
from dtstat.structure.structure import Structure

_HEADERS = {
    "tau_low": "from",
    "tau_high": "to",
    "persistence": "width",
    "n_factors": "factors",
    "n_edges": "loadings",
    "n_covered": "in factors",
}
_MOST_MEMBERS = 12  # listed in a cell


def solution_path(
    data: Data | SparseDependence,
    measure: str | PairFunction = "spearman",
    thresholds: Thresholds = "exact",
    min_children: int = 3,
    missing: Missing = "pairwise",
    n_jobs: Jobs = None,
    progress: Progress = None,
    floor: Floor | None = None,
    memory: float = MEMORY,
) -> SolutionPath:
    """Find every factor structure that dependence thresholding can produce.

    For each threshold τ the items are joined by Ê(τ) = {(i, j): |r_ij| > τ}; the independent
    maximal cliques of that graph are the factors (Algorithm 1, steps 1 to 7). The exact path has
    every distinct structure over all τ in [0, 1] with the interval of thresholds that gives it.

    Parameters
    ----------
    data
        DataFrame, 2-d array, path of a file, ItemData, DependenceMatrix or SparseDependence.
    measure, missing, n_jobs, progress, memory
        As in :func:`dtstat.dependence`.
    thresholds
        "exact" for all of them; a whole number k for k evenly spaced on [0, 1], as in the paper
        (k = 50); or the thresholds themselves.
    min_children
        Smallest number of items of a factor, at least 2. The default is 3, where that of
        :func:`dtstat.fit` is 2: a fit asks whether a pair pays for itself, a path asks nothing, and
        with 2 every tie that is in no larger clique is a factor.
    floor
        As in :func:`dtstat.dependence`: for thousands of items, the smallest threshold. From there
        up the path is that of all pairs.

    Returns
    -------
    SolutionPath

    Raises
    ------
    InputError
        If the data or a threshold cannot be used.

    Notes
    -----
    Cost after the dependence matrix: sorting each row of it. No threshold is visited.

    Examples
    --------
    >>> import dtstat as dt
    >>> path = dt.solution_path(dt.load_dataset("holzinger_swineford_9"))
    >>> path.at(0.3)
    Structure: 2 factors, 9 items
      F1: x4 x5 x6
      F2: x7 x8 x9
      in no factor: x1 x2 x3
    """
    wanted = check_thresholds(thresholds)
    smallest = check_children(min_children)
    matrix = dependence(data, measure, missing, n_jobs, progress, floor, memory)
    if isinstance(matrix, SparseDependence):
        bars = sparse_barcode(
            matrix.starts,
            matrix.neighbors,
            np.abs(matrix.values),
            matrix.floor,
            matrix.names,
            smallest,
            check_jobs(n_jobs),
            progress,
        )
    else:
        bars = barcode(matrix.values, matrix.names, smallest)
    return SolutionPath(matrix, candidates(bars, wanted), smallest, wanted, bars)


@dataclass(frozen=True, eq=False, repr=False)
class SolutionPath(Printed):
    """Every structure that dependence thresholding can produce from a matrix.

    Attributes
    ----------
    dependence
        The matrix, or its pairs above a floor.
    candidates
        Distinct structures with at least one factor, by rising threshold.
    min_children
        Smallest number of items a factor may have.
    thresholds
        The thresholds that were asked for, or None for all there are.
    """

    dependence: DependenceMatrix | SparseDependence | CorrelationsOnDemand
    candidates: tuple[Candidate, ...]
    min_children: int
    thresholds: FloatArray | None
    _barcode: Barcode

    def at(self, threshold: float) -> Structure:
        """Structure at one threshold: the cliques of the graph |r| > threshold.

        Parameters
        ----------
        threshold
            Number in [0, 1].
        """
        advice = "It is compared with absolute dependence."
        tau = checks.unit_interval("threshold", threshold, advice)
        floor = self._barcode.floor
        if tau < floor:
            raise checks.refusal(
                "threshold", f"at least {floor:.4g}", threshold, "Weaker pairs were not kept."
            )
        return self._barcode.at(tau)

    def barcode(self) -> Barcode:
        """All cliques of the path with the thresholds each lives at, longest-lived first."""
        return self._barcode

    def to_frame(self) -> pd.DataFrame:
        """One row per candidate, by rising threshold.

        Columns: tau_low, tau_high, persistence (of the widest interval), n_intervals, n_factors,
        n_edges, n_covered.
        """
        return pd.DataFrame(
            {
                "tau_low": [c.tau_low for c in self.candidates],
                "tau_high": [c.tau_high for c in self.candidates],
                "persistence": [c.persistence for c in self.candidates],
                "n_intervals": [len(c.intervals) for c in self.candidates],
                "n_factors": [c.n_factors for c in self.candidates],
                "n_edges": [c.n_edges for c in self.candidates],
                "n_covered": [c.n_covered for c in self.candidates],
            }
        )

    def steps(self) -> pd.DataFrame:
        """One row per interval of thresholds, by rising threshold; a structure may come back.

        Columns: tau_low (included), tau_high (excluded), n_factors, n_loadings, n_covered.
        """
        rows = [
            (low, high, one.n_factors, one.n_edges, one.n_covered)
            for one in self.candidates
            for low, high in one.intervals
        ]
        columns = ["tau_low", "tau_high", "n_factors", "n_loadings", "n_covered"]
        return pd.DataFrame(sorted(rows), columns=columns)

    def summary(self, max_rows: int = 20) -> Summary:
        """Heading, the longest-lived candidates, and the longest-lived factors.

        Parameters
        ----------
        max_rows
            Rows per table; what is left out is said below it.
        """
        max_rows = checks.integer("max_rows", max_rows, 0, "It is the number of rows of a table.")
        if not self.candidates:
            return Summary((*self._head(), self._explain_nothing()), ())
        return Summary(
            self._head(), (self._candidate_table(max_rows), self._factor_table(max_rows))
        )

    def _head(self) -> tuple[str, ...]:
        grid = "all thresholds" if self.thresholds is None else f"{len(self.thresholds)} thresholds"
        grid += f" from {self._barcode.floor:.3f} up" if self._barcode.floor else ""
        return (
            "Solution path by dependence thresholding",
            str(self.dependence),
            f"{len(self.candidates)} distinct structures over {grid}, "
            f"factors of at least {self.min_children} items",
        )

    def _explain_nothing(self) -> str:
        tried = "No threshold" if self.thresholds is None else "None of these thresholds"
        matrix = self.dependence
        strongest = (
            np.abs(matrix.values).max(initial=matrix.floor)
            if isinstance(matrix, SparseDependence)
            else matrix.strength[np.triu_indices(matrix.n_items, 1)].max()
        )
        return (
            f"{tried} gives a factor of at least {self.min_children} items. Strongest "
            f"dependence: {strongest:.3f}. Try a smaller `min_children`, or a "
            "measure that detects any dependence (see measures())."
        )

    def _candidate_table(self, max_rows: int) -> Table:
        frame = self.to_frame()
        shown = frame.nlargest(max_rows, "persistence").sort_index()
        shown = shown.drop(columns="n_intervals").rename(columns=_HEADERS)
        p = self.dependence.n_items
        notes = [f"In factors: of {p} items. Loadings: item-factor pairs."]
        if len(shown) < len(frame):
            notes.append(f"{len(frame) - len(shown)} shorter-lived structures not shown.")
        title = "Structures by threshold (from included, to excluded)"
        return Table.from_frame(shown, title, notes)

    def _factor_table(self, max_rows: int) -> Table:
        bars = self._barcode
        rows = []
        for bar, _ in zip(bars, range(max_rows), strict=False):
            items, unique = bar.items, bar.unique_members
            members = [item + "*" if item in unique else item for item in items[:_MOST_MEMBERS]]
            if len(items) > _MOST_MEMBERS:
                members.append(f"and {len(items) - _MOST_MEMBERS} more")
            rows.append((bar.birth, bar.death, bar.persistence, len(items), " ".join(members)))
        frame = pd.DataFrame(rows, columns=["from", "to", "width", "items", "members"])
        notes = ["* unique member: at some threshold in no other maximal clique of the graph."]
        if len(rows) < len(bars):
            notes.append(f"{len(bars) - len(rows)} shorter-lived factors not shown.")
        return Table.from_frame(
            frame, "Longest-lived factors over all thresholds, each at its own", notes
        )

    def plot(self, kind: str = "path", ax: Any = None, **options: Any) -> Any:
        """Draw the path; needs matplotlib (the extra ``plot``).

        Parameters
        ----------
        kind
            "path": factors, loadings and items in factors over the threshold; returns the figure.
            "barcode": the longest-lived cliques (option ``max_bars=30``).
            "dependence": absolute dependence, similar items together (``threshold``: box the
            factors it gives).
        ax
            Axes to draw on; a new figure if None.
        options
            Of the kind.

        Raises
        ------
        InputError
            If the kind or an option is unknown, or there is nothing to draw.
        MissingExtraError
            If matplotlib is not installed.
        """
        return draw(PATH_KINDS, self, kind, ax, options)

    def __len__(self) -> int:
        return len(self.candidates)

    def __repr__(self) -> str:
        return "\n".join(self._head())
