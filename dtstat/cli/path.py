"""``dtstat path``: every structure that thresholding can produce."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
import typer

import dtstat
from dtstat.cli import options
from dtstat.cli.options import check_outputs, write_csv, write_json
from dtstat.core import checks
from dtstat.fit.request import FitRequest


def path(
    file: options.File,
    matrix: options.IsMatrix = False,
    n_obs: options.NObs = None,
    measure: options.MeasureName = None,
    thresholds: options.ThresholdsText = FitRequest.thresholds,
    min_children: options.MinChildren = options.PATH_CHILDREN,
    missing: options.MissingRows = None,
    columns: options.Columns = None,
    missing_codes: options.MissingCodes = None,
    drop: options.Drop = None,
    id_column: options.Id = None,
    aside: options.Aside = None,
    sheet: options.SheetName = None,
    levels: options.LevelTexts = None,
    at: Annotated[
        float | None, typer.Option(help="Print the structure at this threshold instead.")
    ] = None,
    structures: Annotated[
        int, typer.Option(min=0, help="Print so many structures in full, the best by --by.")
    ] = 0,
    by: Annotated[
        str,
        typer.Option(
            help="What --structures prefers: width (of the interval of thresholds) or factors (how "
            "many)."
        ),
    ] = "width",
    rows: Annotated[int, typer.Option(min=0, help="Rows of each printed table.")] = 20,
    floor: Annotated[
        str | None,
        typer.Option(
            help="For thousands of items: smallest threshold, a number or 'chance'; weaker pairs "
            "are not kept, and a .parquet or .npy file need not fit into memory."
        ),
    ] = None,
    jobs: options.Jobs = None,
    csv: Annotated[Path | None, typer.Option(help="Write all candidates to this file.")] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write all candidates, with their items, to this file."),
    ] = None,
    force: options.Force = False,
) -> None:
    """Find every factor structure that thresholding the dependence matrix can produce.

    Two items are joined when their dependence exceeds a threshold; groups of items that are all
    joined, with at least one item of their own, are factors. A low threshold gives few broad
    factors; raising it splits them into narrower ones, then drops items until none is left. This
    command shows all structures, and for how wide a range of thresholds each lasts. What lasts
    long does not hinge on the choice of threshold.

    Example: dtstat path holzinger_swineford_26 --structures 3 --by factors
    """
    reading = options.Reading(columns, missing_codes, drop, id_column, aside, sheet, levels)
    check_outputs({"--csv": csv, "--json": json_file}, force, (file,))
    wanted = options.parse_thresholds(thresholds)
    whole_file = not matrix and reading == options.Reading()
    by_columns = whole_file and Path(file).suffix in (".parquet", ".npy")
    data: dtstat.DependenceMatrix | pd.DataFrame | str = file
    if floor is None or not by_columns:
        data, measure, missing = options.read_input(file, matrix, n_obs, measure, missing, reading)
    result = dtstat.solution_path(
        data,
        measure=FitRequest.measure if measure is None else measure,
        thresholds=wanted,
        min_children=min_children,
        missing=FitRequest.missing if missing is None else missing,  # type: ignore[arg-type]
        n_jobs=jobs,
        progress=sys.stderr.isatty(),
        floor=_parse_floor(floor),
    )
    if at is not None:
        typer.echo(repr(result.at(at)))
    else:
        typer.echo(repr(result.summary(max_rows=rows)))
        _print_structures(result, structures, by)
    if csv is not None:
        write_csv(result.to_frame(), csv)
    if json_file is not None:
        found = [
            {"intervals": one.intervals, "factors": one.structure.to_keys()}
            for one in result.candidates
        ]
        call = {
            "command": "path",
            "file": file,
            "matrix": matrix,
            "n_obs": n_obs,
            "measure": result.dependence.measure,
            "thresholds": wanted,
            "min_children": min_children,
            "floor": getattr(result.dependence, "floor", None),
            "missing": None if matrix else missing or FitRequest.missing,
            **reading.in_json(),
        }
        write_json(json_file, call, {"candidates": found})


def _parse_floor(text: str | None) -> float | Literal["chance"] | None:
    if text is None or text == "chance":
        return text  # type: ignore[return-value]
    try:
        return float(text)
    except ValueError:
        advice = "Such as 0.2."
        raise checks.refusal("floor", "a number in [0, 1) or 'chance'", text, advice) from None


_PREFERENCES: dict[str, Callable[[dtstat.Candidate], tuple[float, ...]]] = {
    "width": lambda c: (c.persistence,),
    "factors": lambda c: (c.n_factors, c.persistence),
}


def _print_structures(result: dtstat.SolutionPath, count: int, by: str) -> None:
    preference = _PREFERENCES[checks.choice("by", by, _PREFERENCES)]
    best = sorted(result.candidates, key=preference, reverse=True)[:count]
    for candidate in sorted(best, key=lambda c: c.tau_low):
        low, high = candidate.tau_low, candidate.tau_high
        typer.echo(f"\nThresholds {low:.3f} to {high:.3f}\n{candidate.structure}")
