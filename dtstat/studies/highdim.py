"""The paper's second simulation (Section 6.2 and its figure): run, tables and picture."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from dtstat.core import checks, files
from dtstat.core.about import __version__
from dtstat.core.checkpoints import Ledger, Record, parse_records
from dtstat.core.errors import InputError
from dtstat.core.parallel import Jobs, Progress, check_jobs
from dtstat.core.tables import Printed, Summary, Table
from dtstat.studies.paper import (
    CITATION,
    HIGHDIM,
    HIGHDIM_CORRELATIONS,
    HIGHDIM_DATA_SETS,
    HIGHDIM_MOST_SECONDS,
    HIGHDIM_NOTES,
    HIGHDIM_SHARES,
    HIGHDIM_SIZES,
)
from dtstat.studies.plots import Conditions, recovery_plot
from dtstat.studies.recovery import (
    MEASURE,
    READINGS,
    SEARCHES,
    Cell,
    HighDimCall,
    Task,
    conditions,
    recover_cell,
)
from dtstat.studies.runner import (
    MOST_ROWS,
    SPREAD,
    check_each,
    check_names,
    check_seed,
    duration,
    number,
    run_missing,
    spread_columns,
    warning_notes,
    wrap_lines,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


STUDY = "highdim"
_PANEL_TITLES = {
    "own": "Without unique children, own second parents",
    "shared": "Without unique children, shared second parents",
}
_FEWEST_ROWS = 20  # two factors
_PICTURES = ("png", "pdf", "svg", "eps", "jpg", "jpeg", "tif", "tiff")  # endings
OUTCOMES = {
    "n_factors": "d-hat",
    "found": "d-hat/d",
    "f1": "F1",
    "hamming": "HD",
    "seconds": "seconds",
}
_COMPARED = {
    "f1": "F1 beside the paper",
    "found": "Factors found, as a share of d (d-hat/d), beside the paper",
}
Row = Mapping[Any, Any]


def highdim(
    reps: int = HIGHDIM_DATA_SETS,
    sizes: float | Iterable[float] = HIGHDIM_SIZES,
    *,
    phis: float | Iterable[float] = HIGHDIM_CORRELATIONS,
    shares: float | Iterable[float] = HIGHDIM_SHARES,
    readings: str | Iterable[str] = READINGS,
    searches: str | Iterable[str] = tuple(SEARCHES),
    seed: int = 1,
    n_jobs: Jobs = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> HighDimResult:
    """Repeat the paper's second simulation: recovery in high dimensions, assumptions broken.

    Data sets have n rows, 1.5 n items and 0.1 n factors. Either every two factors correlate at φ,
    or a share of the uncorrelated factors has no unique child. For each data set up to three
    structures are compared with the true one: the most accurate that one threshold gives
    (oracle, as in the paper), and those that :func:`dtstat.fit` finds without knowing the truth,
    as it is (plain) and with ``search="sequential"`` (sequential).

    Parameters
    ----------
    reps
        Data sets of each condition.
    sizes
        Rows n of the data sets, 20 or more.
    phis
        Correlations φ of the factors, where all have unique children.
    shares
        Shares of the factors without unique children, at φ = 0. A share of 0 is the condition of
        φ = 0.
    readings
        What "randomly assigning its children an additional parent" means: each child draws
        its own ("own"), all children of a factor have the same ("shared"), or both in turn.
    searches
        Any of "oracle", "plain" and "sequential".
    seed
        Whole number. Data set k of a condition depends on it, the condition and k alone.
    n_jobs
        Processes; -1 for all cores. Does not change the result, but more of them than cores, or
        other work beside it, lengthen the seconds.
    out
        File to which each outcome is added when finished, and not found again in another call
        with the same ``seed``; all other arguments may differ.
    progress
        True for a bar, or a function of (done, total).

    Returns
    -------
    HighDimResult

    Raises
    ------
    InputError
        If an argument cannot be used, or ``out`` is the ledger of another call.
    EstimationError
        If a data set cannot be fitted.

    Warns
    -----
    DataWarning
        If the last line of ``out`` was cut short.

    Notes
    -----
    Cost: a data set of n = 250 takes about a second and a half, one of n = 1000 one to two minutes,
    nearly all of it for the two fits; the oracle takes seconds.

    The oracle has the paper's 50 thresholds and factors of at least two items. Seconds are those
    from the data to the structure, comparisons with the truth included for the oracle alone.

    Examples
    --------
    >>> from dtstat.studies import highdim
    >>> small = highdim(reps=2, sizes=50, phis=0, shares=(), searches=["oracle", "plain"])
    >>> small.table()[["n", "phi", "search", "d", "data_sets"]]
        n  phi  search  d  data_sets
    0  50  0.0  oracle  5          2
    1  50  0.0   plain  5          2
    """
    count = checks.repeats("reps", reps, 1, f"The paper uses {HIGHDIM_DATA_SETS}.")
    cells = _check_conditions(sizes, phis, shares, readings)
    chosen = check_names("searches", searches, tuple(SEARCHES))
    call, jobs = HighDimCall(check_seed(seed)), check_jobs(n_jobs)
    ledger = Ledger.open(out, {"study": STUDY, **asdict(call)})
    # One data set of each condition in turn, so that a study that is ended early is balanced.
    tasks = [Task(*cell, k, one) for k in range(1, count + 1) for cell in cells for one in chosen]
    work = partial(recover_cell, call)
    records = run_missing(tasks, Task._fields, work, ledger, jobs, progress)
    return HighDimResult(call, records)


def _check_conditions(
    sizes: object, phis: object, shares: object, readings: str | Iterable[str]
) -> list[Cell]:
    def size(n: object) -> int:
        advice = "The paper uses 250, 500 and 1000."
        return checks.integer("sizes", n, _FEWEST_ROWS, advice, MOST_ROWS)

    def correlation(phi: object) -> float:
        return checks.proportion("phis", phi, "The paper uses 0, 0.25 and 0.75.")

    def share(value: object) -> float:
        return checks.proportion("shares", value, "The paper uses 0, 0.2 and 0.4.")

    chosen = conditions(
        check_each(sizes, size),
        check_each(phis, correlation),
        check_each(shares, share),
        check_names("readings", readings, READINGS),
    )
    if not chosen:
        raise InputError(
            "There must be one or more conditions; got no `sizes`, or neither `phis` nor `shares`. "
            "Name a level, such as phis=0.",
            "phis",
        )
    return chosen


@dataclass(frozen=True, eq=False, repr=False)
class HighDimResult(Printed):
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
        ordered = sorted(self._finished, key=_order_key)
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
        tables = outcome_table(rows, warned), *comparison_tables(rows)
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
        ending = "png" if file is None else file.suffix.removeprefix(".").lower() or "png"
        checks.choice("path", ending, _PICTURES)
        figure = recovery_plot(self._panel_rows(), HIGHDIM_MOST_SECONDS, ax)
        if file is not None:
            picture = io.BytesIO()
            figure.figure.savefig(picture, format=ending, dpi=200)
            files.write(file, picture.getvalue())
        return figure

    def _panel_rows(self) -> list[Conditions]:
        """One row of panels for φ, and one for each reading; none for what was not drawn."""
        table = self.table()
        table["n_factors_paper"] = table["found_paper"] * table["d"]
        whole, free = table["share"] == 0, table["phi"] == 0
        rows = [Conditions("Correlated factors", "φ =", table[whole].assign(level=table["phi"]))]
        for reading, words in _PANEL_TITLES.items():
            own = table["reading"] == reading
            if own.any():
                lower = table[own | (whole & free)].assign(level=table["share"])
                rows.append(Conditions(words, "share", lower))
        return [row for row in rows if len(row.table)]

    def __repr__(self) -> str:
        return "\n".join(head_lines(self.call, self.table()))


def _order_key(record: Record) -> tuple[object, ...]:
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
        row |= spread_columns(group, name)
    reported = HIGHDIM.get(row["share"])
    return row | {
        "data_sets": len(group),
        "f1_paper": reported.f1 if reported else math.nan,
        "found_paper": reported.found if reported else math.nan,
    }


def head_lines(call: HighDimCall, table: pd.DataFrame) -> tuple[str, ...]:
    """Say whose simulation it is, what data were drawn, and how structures were found."""
    fewest, most = table["data_sets"].min(), table["data_sets"].max()
    sets = f"{most}" if fewest == most else f"{fewest} to {most}"
    sizes = ", ".join(map(str, sorted(set(table["n"]))))
    return wrap_lines(
        (
            "High-dimensional recovery and robustness, by dependence thresholding",
            f"Paper:  {CITATION}",
            f"Data:   {sets} data set{'' if sets == '1' else 's'} per condition, n = {sizes}, "
            f"1.5 n items, 0.1 n factors, seed {call.seed}",
            f"Oracle: {MEASURE}, {call.thresholds} thresholds on [0, 1], factors of at least "
            f"{call.min_children} items",
            f'Fits:   plain is fit(data), sequential fit(data, search="sequential"), dtstat '
            f"{__version__}",
        )
    )


def outcome_table(rows: Sequence[Row], warned: int) -> Table:
    """Return what every search found in every condition."""
    spreads = [f"{name}_{part}" for name in ("n_factors", "f1") for part in SPREAD]
    spread = ("d-hat", "SD", "SE", "F1", "SD", "SE")
    headers = ("n", "condition", "search", "d", *spread, "d-hat/d", "HD", "sets", "seconds")
    cells = tuple(
        (
            *_labels(row),
            row["search"],
            str(row["d"]),
            *(number(row[name]) for name in spreads),
            number(row["found_mean"]),
            number(row["hamming_mean"]),
            str(row["data_sets"]),
            duration(row["seconds_mean"]),
        )
        for row in rows
    )
    notes = (
        "phi: correlation of all factors. share: of the factors, without unique children; their "
        "items have",
        "second parents of their own, or one shared by all items of a factor.",
        "oracle: the most accurate structure that one threshold gives. plain, sequential: chosen "
        "by fit, which",
        "does not know the truth. d-hat: factors found. HD: item-factor pairs that are wrong.",
        "Means with standard deviation SD and standard error SE, over so many data sets (sets).",
        *warning_notes(warned),
    )
    return Table("Outcomes", headers, cells, "rll" + "r" * 11, notes)


def comparison_tables(rows: Sequence[Row]) -> tuple[Table, ...]:
    """Return F₁ and share of the factors found by every search, beside what the paper says."""
    cells: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        cells.setdefault(_labels(row), {})[row["search"]] = row
    searches = [name for name in SEARCHES if any(name in found for found in cells.values())]
    headers = ("n", "condition", "paper", *searches)
    alignment = "rlr" + "r" * len(searches)
    return tuple(
        Table(
            title,
            headers,
            tuple((*at, *_compared(found, name, searches)) for at, found in cells.items()),
            alignment,
            HIGHDIM_NOTES if name == "found" else (),
        )
        for name, title in _COMPARED.items()
    )


def _compared(found: Mapping[str, Row], name: str, searches: Sequence[str]) -> tuple[str, ...]:
    """Return what the paper says of a condition, and the mean of every search."""
    said = next(iter(found.values()))[f"{name}_paper"]
    ours = (number(found[one][f"{name}_mean"]) if one in found else "-" for one in searches)
    return ("-" if pd.isna(said) else f"{said:g}", *ours)


def _labels(row: Row) -> tuple[str, str]:
    cell = Cell(*(row[name] for name in Cell._fields))
    return str(cell.n), cell.name
