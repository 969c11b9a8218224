"""What the paper's second simulation gives: outcomes, their table and their picture."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from dtstat import checks
from dtstat.errors import InputError
from dtstat.execution.ledger_lines import Record, parse_records
from dtstat.report import Summary
from dtstat.report.plots.recovery_plot import Conditions, recovery_plot
from dtstat.studies.highdim_cells import READINGS, SEARCHES, Cell, HighDimCall
from dtstat.studies.highdim_summary import OUTCOMES, beside_tables, head_lines, own_table
from dtstat.studies.paper import HIGHDIM, HIGHDIM_MOST_SECONDS
from dtstat.studies.tabulate import spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

STUDY = "highdim"
_ROWS = {
    "own": "Without unique children, own second parents",
    "shared": "Without unique children, shared second parents",
}


@dataclass(frozen=True, eq=False, repr=False)
class HighDimResult:
    """Recovery in high dimensions, data set by data set.

    Attributes
    ----------
    call
        What the outcomes depend on.
    """

    call: HighDimCall
    _finished: tuple[Record, ...]

    @classmethod
    def from_ledger(cls, path: str | os.PathLike[str]) -> HighDimResult:
        """Read the outcomes in a ledger, finished or not, of this or another version of dtstat.

        A study that is under way may be looked at so; a line that is being written is left out.

        Raises
        ------
        InputError
            If the file cannot be read, or is not a ledger of this study with an outcome.
        """
        file = Path(path)
        try:
            content = file.read_bytes()
        except OSError as error:
            raise InputError(
                f"Cannot read the ledger '{file}': {error.strerror}.", "path"
            ) from None
        whole = content[: content.rfind(b"\n") + 1]
        header, *records = parse_records(file, whole) or [{}]
        if header.get("study") != STUDY or not records:
            raise checks.refusal(
                "path",
                "a ledger of the second simulation with one or more outcomes",
                str(file),
                "Give the file that was `out` of highdim.",
            )
        fields = HighDimCall.__dataclass_fields__
        return cls(HighDimCall(**{name: header[name] for name in fields}), tuple(records))

    @property
    def records(self) -> pd.DataFrame:
        """One row per data set and search.

        Columns: n, phi (correlation of the factors), share (of factors without unique children),
        reading ("own", "shared" or "none"), replicate, search, seed (of the data), fit_seed, d
        (true number of factors), n_factors, f1, hamming, precision, recall, seconds, warnings (a
        tuple of texts).
        """
        ordered = sorted(self._finished, key=_order)
        return pd.DataFrame([{**one, "warnings": tuple(one["warnings"])} for one in ordered])

    @property
    def outcomes(self) -> pd.DataFrame:
        """The records without seconds: the same to the last bit however and wherever it is run."""
        return self.records.drop(columns="seconds")

    def table(self) -> pd.DataFrame:
        """One row per condition and search.

        Columns: n, phi, share, reading, search, d; for each of n_factors, found (n_factors over
        d), f1, hamming and seconds the mean, sd (standard deviation) and se (standard error of the
        mean), as in f1_mean; data_sets; f1_paper and found_paper, what the paper's text says of
        the condition (by its oracle, over all n), missing where it gives no number.
        """
        records = self.records
        records["found"] = records["n_factors"] / records["d"]
        keys = [*Cell._fields, "search"]
        groups = records.groupby(keys, sort=False)
        return pd.DataFrame(
            [_table_row(dict(zip(keys, at, strict=True)), group) for at, group in groups]
        )

    def summary(self) -> Summary:
        """Say what was done, show the table, and the searches beside the paper."""
        table = self.table()
        rows = table.to_dict(orient="records")
        warned = sum(map(bool, self.records["warnings"]))
        tables = own_table(rows, warned), *beside_tables(rows)
        return Summary(head_lines(self.call, table), tables)

    def plot(
        self, path: str | os.PathLike[str] | None = None, ax: Axes | None = None
    ) -> Figure | SubFigure:
        """Draw F₁, number of factors and seconds, laid out as the paper's figure.

        The top row has the levels of φ, the rows below the shares of factors without unique
        children, one row per reading.

        Parameters
        ----------
        path
            File to write the picture to, such as "highdim.png"; None for none.
        ax
            Axes to draw on, which the panels divide; a new figure if None.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        file = None if path is None else checks.writable(path)
        figure = recovery_plot(self._panel_rows(), HIGHDIM_MOST_SECONDS, ax)
        if file is not None:
            figure.figure.savefig(file, dpi=200)
        return figure

    def _panel_rows(self) -> list[Conditions]:
        """One row of panels for φ, and one for each reading; none for what was not drawn."""
        table = self.table()
        table["n_factors_paper"] = table["found_paper"] * table["d"]
        whole, free = table["share"] == 0, table["phi"] == 0
        rows = [Conditions("Correlated factors", "φ =", table[whole].assign(level=table["phi"]))]
        for reading, words in _ROWS.items():
            own = table["reading"] == reading
            if own.any():
                lower = table[own | (whole & free)].assign(level=table["share"])
                rows.append(Conditions(words, "share", lower))
        return [row for row in rows if len(row.table)]

    def __repr__(self) -> str:
        return "\n".join(head_lines(self.call, self.table()))


def _order(record: Record) -> tuple[object, ...]:
    """Place of a record: by size, φ, reading, share, replicate and search."""
    reading = record["reading"]
    return (
        record["n"],
        READINGS.index(reading) if reading in READINGS else -1,
        record["phi"],
        record["share"],
        record["replicate"],
        list(SEARCHES).index(record["search"]),
    )


def _table_row(row: Record, group: pd.DataFrame) -> Record:
    row["d"] = int(group["d"].iloc[0])
    for name in OUTCOMES:
        row |= spread(group, name)
    reported = HIGHDIM.get(row["share"])
    return row | {
        "data_sets": len(group),
        "f1_paper": reported.f1 if reported else math.nan,
        "found_paper": reported.found if reported else math.nan,
    }
