"""``dtstat diagnose``: how far to trust what was found."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

import dtstat
from dtstat.cli import options
from dtstat.cli.options import check_outputs, finite_or_none, write_csv, write_json
from dtstat.core.errors import InputError
from dtstat.fit.request import FitRequest
from dtstat.structure.syntax import measured_structure


def diagnose(
    file: options.File,
    matrix: options.IsMatrix = False,
    n_obs: options.NObs = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Diagnose these factors, in lavaan's syntax (a file, or the text), instead of "
            "those that fit finds.",
        ),
    ] = None,
    measure: options.MeasureName = None,
    search: options.SearchName = FitRequest.search,
    criterion: options.CriterionName = FitRequest.criterion,
    min_children: options.MinChildren = FitRequest.min_children,
    missing: options.MissingRows = None,
    columns: options.Columns = None,
    missing_codes: options.MissingCodes = None,
    resamples: options.Resamples = options.RESAMPLES,
    stability: options.StabilityResamples = 0,
    sizes: Annotated[
        str | None,
        typer.Option(help="With --stability: also on these shares of the rows, as in '0.25,0.5'."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="The same seed gives the same resamples.", show_default="a fresh one"),
    ] = None,
    jobs: options.Jobs = None,
    checkpoint: options.Checkpoint = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows of each printed table.")] = 20,
    csv: Annotated[Path | None, typer.Option(help="Write all margins to this file.")] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write margins, bounds and audit to this file.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the diagnosis, for dtstat.load in Python.")
    ] = None,
    force: options.Force = False,
) -> None:
    """Say how far to trust the factors: does the data meet what the method assumes.

    Whether every two items of a factor depend more on each other than any two of different
    factors, by what margin, and which pairs decide; which factors stand on firm ground by
    themselves; which items a factor hangs on; which items were left out and why.

    Example: dtstat diagnose holzinger_swineford_9 --stability 200
    """
    outputs = {"--csv": csv, "--json": json_file, "--save": save}
    check_outputs(outputs, force, (file, model), {"--checkpoint": checkpoint})
    _check_stability(stability, matrix, model, sizes, checkpoint)
    shares = options.parse_numbers("sizes", sizes)
    data = options.answers_or_matrix(
        file,
        matrix=matrix,
        n_obs=n_obs,
        measure=measure,
        missing=missing,
        columns=columns,
        missing_codes=missing_codes,
    )
    structure = None if model is None else measured_structure(options.model_text(model))
    fit = dtstat.fit(
        data,
        measure=FitRequest.measure if measure is None else measure,
        search=search,  # type: ignore[arg-type]
        criterion=criterion,
        min_children=min_children,
        missing=FitRequest.missing if missing is None else missing,  # type: ignore[arg-type]
        structure=structure,
        seed=seed,
    )
    bar = sys.stderr.isatty()
    if matrix or not resamples:
        result = dtstat.diagnose(fit)
    else:
        result = dtstat.diagnose(fit, data, resamples, seed, jobs, bar)
    stable = None
    if stability:
        stable = dtstat.stability(
            data,
            stability,
            fit,
            sizes=shares,
            seed=seed,
            n_jobs=jobs,
            progress=bar,
            checkpoint=checkpoint,
        )
    typer.echo(repr(result.summary(rows)))
    if stable is not None:
        typer.echo()
        typer.echo(repr(stable.summary(rows)))
    _write(result, stable, csv, json_file, save, file)


def _check_stability(
    count: int, matrix: bool, model: str | None, sizes: str | None, checkpoint: Path | None
) -> None:
    if checkpoint is not None and not count:
        raise InputError("--checkpoint keeps the resamples of --stability; give that, too.")
    if count and (matrix or model):
        raise InputError("--stability finds factors in answers; leave out --matrix and --model.")
    if count == 1:
        raise InputError("--stability must be 2 or more; 200 is usually enough.")
    if sizes is not None and not count:
        raise InputError("--sizes goes with --stability.")


def _write(
    result: dtstat.Diagnosis,
    stable: dtstat.Stability | None,
    csv: Path | None,
    json_file: Path | None,
    save: Path | None,
    file: str,
) -> None:
    if csv is not None:
        write_csv(result.tidy(), csv)
    if json_file is not None:
        call = {"command": "diagnose", "file": file, **asdict(result.fit.call)}
        audit = result.audit
        frames = {
            "about": result.glance(),
            "margins": result.tidy(),
            "factors": result.factors,
            "unique_children": audit.factors,
            "dropping": audit.dropping,
            "outside": audit.outside,
        }
        if stable is not None:
            frames |= {
                "stability": stable.glance(),
                "stability_of_items": stable.items,
                "stability_of_factors": stable.factors,
                "n_factors": stable.n_factors,
            }
        content = {name: _records(frame) for name, frame in frames.items()}
        write_json(json_file, call, {"verdict": result.verdict, **content})
    if save is not None:
        result.save(save, overwrite=True)


def _records(frame: pd.DataFrame) -> list[dict[str, object]]:
    rows = frame.to_dict(orient="records")
    return [{str(key): finite_or_none(value) for key, value in row.items()} for row in rows]
