"""``dtstat describe``: what the answers look like, before anything is computed from them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

import dtstat
from dtstat.cli import options
from dtstat.cli.options import as_records, check_outputs, write_csv, write_json
from dtstat.core.errors import InputError
from dtstat.structure.syntax import measured_structure


def describe(
    file: options.File,
    columns: options.Columns = None,
    missing_codes: options.MissingCodes = None,
    drop: options.Drop = None,
    id_column: options.Id = None,
    aside: options.Aside = None,
    sheet: options.SheetName = None,
    levels: options.LevelTexts = None,
    labels: options.Labels = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Scales, in lavaan's syntax (a file, or the text): compares their halves within "
            "people."
        ),
    ] = None,
    limits: Annotated[
        str | None, typer.Option(help="Lowest and highest possible answer, as in '1,5'.")
    ] = None,
    level: Annotated[
        float, typer.Option(help="Share of attentive respondents whom each index may flag.")
    ] = 0.001,
    seed: Annotated[int, typer.Option(help="Of the simulated attentive respondents.")] = 1,
    rows: Annotated[int, typer.Option(min=0, help="Rows listed as flagged.")] = 20,
    csv: Annotated[Path | None, typer.Option(help="Write the items to this file.")] = None,
    people: Annotated[
        Path | None, typer.Option(help="Write everybody's indices and flags to this csv file.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write items, findings and flagged rows.")
    ] = None,
    force: options.Force = False,
) -> None:
    """Describe the items, and find what should be looked at before an analysis.

    Per item answers, gaps, range, mean, spread, skew, floor and ceiling; codes out of range,
    copies, sums; rows that look careless: long strings of equal answers, hardly any variability,
    unusual combinations, disagreeing halves of scales.

    Example: dtstat describe likert_survey
    """
    reading = options.Reading(columns, missing_codes, drop, id_column, aside, sheet, levels, labels)
    outputs = {"--csv": csv, "--people": people, "--json": json_file}
    check_outputs(outputs, force, (file, model, labels))
    ends = options.parse_numbers("limits", limits) if limits else None
    if ends is not None and len(ends) != 2:
        raise InputError(f"--limits must be two numbers, as in '1,5'; got '{limits}'.")
    keys = None if model is None else measured_structure(options.model_text(model))
    result = dtstat.describe(options.answers(file, reading), keys, ends, level, seed)
    typer.echo(options.in_shell(repr(result.summary(rows))))
    if csv is not None:
        write_csv(result.items, csv)
    if people is not None:
        write_csv(_with_rows(result.people), people)
    if json_file is not None:
        call = {"command": "describe", "file": file, **reading.in_json(), "level": level}
        content = {
            "items": as_records(result.items),
            "findings": as_records(result.findings),
            "flagged": as_records(_with_rows(result.flagged)),
            "notes": list(result.notes),
        }
        write_json(json_file, call, content)


def _with_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Put ids into columns, or numbers of rows, from 1."""
    if any(frame.index.names):
        return frame.reset_index()
    return frame.set_axis(frame.index + 1).rename_axis("row").reset_index()
