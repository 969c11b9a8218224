"""How the first simulation is printed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dtstat.report import Table
from dtstat.studies.paper import CITATION, MODELS, TABLE1, TABLE1_NOTES
from dtstat.studies.recovery import MEASURE, RecoveryCall
from dtstat.studies.tabulate import SPREAD, doubts, duration, number, wrapped
from dtstat.version import __version__

OUTCOMES = {"n_factors": "d-hat", "f1": "F1", "hamming": "HD"}
Row = Mapping[Any, Any]


def head_lines(call: RecoveryCall, reps: int) -> tuple[str, ...]:
    """Say whose table it is, what data were drawn, and how structures were chosen."""
    arguments = ", ".join(f"{k}={json.dumps(v)}" for k, v in call.fit_arguments().items())
    plural = "" if reps == 1 else "s"
    lines = (
        "Table 1: recovery of known structures by dependence thresholding",
        f"Paper:  {CITATION}",
        f"Data:   {reps} data set{plural} a model, n = {call.n}, seed {call.seed}",
        f"Path:   {MEASURE}, {call.thresholds} thresholds on [0, 1], factors of at least "
        f"{call.min_children} items",
        f"Choice: fit({arguments}), dtstat {__version__}",
    )
    return wrapped(lines)


def own_table(rows: Sequence[Row], warned: int) -> Table:
    """Return mean, standard deviation and standard error of each outcome."""
    columns = [f"{name}_{part}" for name in OUTCOMES for part in SPREAD]
    cells = tuple(
        (*_labels(row), str(row["d"]), *(number(row[name]) for name in columns), *_effort(row))
        for row in rows
    )
    spread = [header for name in OUTCOMES.values() for header in (name, "SD", "SE")]
    headers = ("selection", "model", "d", *spread, "sets", "seconds")
    notes = (
        "oracle: the most accurate structure of the path. likelihood: the one that fit chose.",
        "d-hat: factors found. F1: 1 if every item is where it belongs. HD: item-factor pairs that "
        "are wrong.",
        "Means with standard deviation SD and standard error SE, over so many data sets (sets).",
        *doubts(warned),
    )
    return Table("Outcomes", headers, cells, "ll" + "r" * 12, notes)


def beside_table(rows: Sequence[Row]) -> Table:
    """Return our means, each with what the paper prints."""
    cells = tuple(
        (*_labels(row), *(cell for name in OUTCOMES for cell in _pair(row, name))) for row in rows
    )
    headers = [header for name in OUTCOMES.values() for header in (name, "paper")]
    return Table(
        "Beside the paper",
        ("selection", "model", *headers),
        cells,
        "ll" + "rl" * len(OUTCOMES),
        TABLE1_NOTES,
    )


def _labels(row: Row) -> tuple[str, str]:
    return row["selection"], MODELS[row["design"]][0]


def _pair(row: Row, name: str) -> tuple[str, str]:
    reported = getattr(TABLE1[row["selection"], row["design"]], name)
    return number(row[f"{name}_mean"]), reported.text


def _effort(row: Row) -> tuple[str, str]:
    return str(row["data_sets"]), duration(row["seconds"])
