"""How the second simulation is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dtstat.report import Table
from dtstat.studies.highdim_cells import SEARCHES, Cell, HighDimCall
from dtstat.studies.paper import CITATION, HIGHDIM_NOTES
from dtstat.studies.recovery import MEASURE
from dtstat.studies.tabulate import SPREAD, doubts, duration, number, wrapped
from dtstat.version import __version__

OUTCOMES = {
    "n_factors": "d-hat",
    "found": "d-hat/d",
    "f1": "F1",
    "hamming": "HD",
    "seconds": "seconds",
}
_BESIDE = {
    "f1": "F1 beside the paper",
    "found": "Factors found, as a share of d (d-hat/d), beside the paper",
}
_NOTED = "found"  # the last of them
Row = Mapping[Any, Any]


def head_lines(call: HighDimCall, table: pd.DataFrame) -> tuple[str, ...]:
    """Say whose simulation it is, what data were drawn, and how structures were found."""
    fewest, most = table["data_sets"].min(), table["data_sets"].max()
    sets = f"{most}" if fewest == most else f"{fewest} to {most}"
    sizes = ", ".join(map(str, sorted(set(table["n"]))))
    return wrapped(
        (
            "High-dimensional recovery and robustness, by dependence thresholding",
            f"Paper:  {CITATION}",
            f"Data:   {sets} data set{'' if sets == '1' else 's'} a condition, n = {sizes}, "
            f"1.5 n items, 0.1 n factors, seed {call.seed}",
            f"Oracle: {MEASURE}, {call.thresholds} thresholds on [0, 1], factors of at least "
            f"{call.min_children} items",
            f'Fits:   plain is fit(data), sequential fit(data, search="sequential"), dtstat '
            f"{__version__}",
        )
    )


def own_table(rows: Sequence[Row], warned: int) -> Table:
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
    return Table("Outcomes", headers, cells, "rll" + "r" * 11, _own_notes(warned))


def _own_notes(warned: int) -> tuple[str, ...]:
    return (
        "phi: correlation of all factors. share: of the factors, without unique children; their "
        "items have",
        "second parents of their own, or one shared by all items of a factor.",
        "oracle: the most accurate structure that one threshold gives. plain, sequential: chosen "
        "by fit, which",
        "does not know the truth. d-hat: factors found. HD: item-factor pairs that are wrong.",
        "Means with standard deviation SD and standard error SE, over so many data sets (sets).",
        *doubts(warned),
    )


def beside_tables(rows: Sequence[Row]) -> tuple[Table, ...]:
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
            tuple((*at, *_beside(found, name, searches)) for at, found in cells.items()),
            alignment,
            HIGHDIM_NOTES if name == _NOTED else (),
        )
        for name, title in _BESIDE.items()
    )


def _beside(found: Mapping[str, Row], name: str, searches: Sequence[str]) -> tuple[str, ...]:
    """Return what the paper says of a condition, and the mean of every search."""
    said = next(iter(found.values()))[f"{name}_paper"]
    ours = (number(found[one][f"{name}_mean"]) if one in found else "-" for one in searches)
    return ("-" if pd.isna(said) else f"{said:g}", *ours)


def _labels(row: Row) -> tuple[str, str]:
    cell = Cell(*(row[name] for name in Cell._fields))
    return str(cell.n), cell.name
