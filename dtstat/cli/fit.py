"""``dtstat fit``: the factors behind the items."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

import dtstat
from dtstat.cli import options
from dtstat.cli.options import (
    as_records,
    check_outputs,
    finite_or_none,
    write_csv,
    write_json,
    write_text,
)
from dtstat.core import checks
from dtstat.core.errors import InputError
from dtstat.fit.request import FitRequest


def fit(
    file: options.File,
    matrix: options.IsMatrix = False,
    n_obs: options.NObs = None,
    n_factors: options.NFactors = FitRequest.n_factors,
    measure: options.MeasureName = None,
    search: options.SearchName = FitRequest.search,
    thresholds: options.ThresholdsText = FitRequest.thresholds,
    estimator: Annotated[
        str,
        typer.Option(
            help="copula (any increasing item response), linear (straight lines), or with curves "
            "of the responses: spline, neural, variational (the last two need torch)."
        ),
    ] = FitRequest.estimator,
    criterion: Annotated[
        str,
        typer.Option(
            help="What chooses the structure: step (the level of the tree that stands out most), "
            "ebic, bic or aic (fit against number of parameters), validation, validation_2se or cv "
            "(likelihood of people left out of the fit)."
        ),
    ] = FitRequest.criterion,
    min_children: options.MinChildren = FitRequest.min_children,
    uncovered: Annotated[
        str,
        typer.Option(
            help="Items of no group: attach (to the factor they load on most), report or error."
        ),
    ] = FitRequest.uncovered,
    refine: Annotated[
        bool, typer.Option("--refine", help="Add and drop single loadings where that pays.")
    ] = False,
    missing: options.MissingRows = None,
    misfit: Annotated[
        str,
        typer.Option(
            help="estimated (the model is an approximation, which limits what many rows prove) or "
            "none (it is exactly true)."
        ),
    ] = FitRequest.misfit,
    finalists: Annotated[
        int | None, typer.Option(help="With curves: structures that are fitted with them.")
    ] = FitRequest.finalists,
    preset: Annotated[
        str | None,
        typer.Option(
            help="paper (nearly as in the paper: hours; dtstat.fit says what differs) or "
            "paper_fast (minutes): threshold search, a network for every structure, validation."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="For curves and for criteria that leave people out: the same seed gives the same "
            "result.",
            show_default="a fresh one, which is printed",
        ),
    ] = None,
    jobs: options.Jobs = None,
    checkpoint: options.Checkpoint = None,
    columns: options.Columns = None,
    missing_codes: options.MissingCodes = None,
    drop: options.Drop = None,
    id_column: options.Id = None,
    aside: options.Aside = None,
    sheet: options.SheetName = None,
    levels: options.LevelTexts = None,
    labels: options.Labels = None,
    cutoff: Annotated[float, typer.Option(help="Leave smaller loadings blank.")] = 0.3,
    rows: Annotated[
        int, typer.Option(min=0, help="Structures listed as what else was possible.")
    ] = 5,
    csv: Annotated[
        Path | None, typer.Option(help="Write loadings and factor correlations to this file.")
    ] = None,
    candidates: Annotated[
        Path | None, typer.Option(help="Write all structures considered to this csv file.")
    ] = None,
    scores: Annotated[
        Path | None, typer.Option(help="Write everybody's factor scores to this csv file.")
    ] = None,
    curves: Annotated[
        Path | None, typer.Option(help="Write the response curves of all items to this csv file.")
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write levels, structure, loadings and fit to this file."),
    ] = None,
    lavaan: Annotated[
        Path | None, typer.Option(help="Write the model in lavaan's syntax to this file.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the whole result, for dtstat.load in Python.")
    ] = None,
    force: options.Force = False,
) -> None:
    """Find the factors behind the items: how many, and which items belong to which.

    Two items are joined when their dependence exceeds a threshold; groups of items that are all
    joined, with at least one item of their own, may be factors. They are joined two by two down to
    one factor, and the number of factors that stands out most is chosen; --n-factors takes another
    one. Prints the levels, factors, loadings, fit, and what else was possible.

    Example: dtstat fit holzinger_swineford_26
    """
    reading = options.Reading(columns, missing_codes, drop, id_column, aside, sheet, levels, labels)
    outputs = {
        "--csv": csv,
        "--candidates": candidates,
        "--scores": scores,
        "--curves": curves,
        "--json": json_file,
        "--lavaan": lavaan,
        "--save": save,
    }
    check_outputs(outputs, force, (file, labels), {"--checkpoint": checkpoint})
    if scores is not None and matrix:
        raise InputError("--scores does not apply to --matrix; people are scored by their answers.")
    if curves is not None and preset is None:
        _check_draws_curves(estimator)
    checks.unit_interval("cutoff", cutoff, "It is compared with absolute loadings.")
    wanted = options.parse_thresholds(thresholds)
    data, measure, missing = options.read_input(file, matrix, n_obs, measure, missing, reading)
    with options.shell_words():
        result = dtstat.fit(
            data,
            n_factors=n_factors,
            measure=measure,
            search=search,  # type: ignore[arg-type]
            thresholds=wanted,
            estimator=estimator,  # type: ignore[arg-type]
            criterion=criterion,
            min_children=min_children,
            uncovered=uncovered,  # type: ignore[arg-type]
            refine=refine,
            missing=missing,
            misfit=misfit,  # type: ignore[arg-type]
            finalists=finalists,
            preset=preset,  # type: ignore[arg-type]
            seed=seed,
            n_jobs=jobs,
            progress=sys.stderr.isatty(),
            checkpoint=checkpoint,
            labels=labels if matrix else None,
        )
    typer.echo(options.fit_in_shell(repr(result.summary(cutoff, rows))))
    call = {
        "command": "fit",
        "file": file,
        "matrix": matrix,
        "n_obs": n_obs,
        **reading.in_json(),
        **asdict(result.call),
        "thresholds": wanted,
        "missing": None if matrix else result.call.missing,
    }
    _write(result, data, call, outputs)


def _check_draws_curves(estimator: str) -> None:
    if estimator in ("copula", "linear"):
        raise InputError(
            f"--curves needs an estimator that draws curves; '{estimator}' does not. Use "
            "--estimator spline."
        )


def _write(
    result: dtstat.DTFit,
    data: pd.DataFrame | dtstat.DependenceMatrix,
    call: Mapping[str, object],
    outputs: Mapping[str, Path | None],
) -> None:
    """Write what was asked for."""
    writers: dict[str, Callable[[Path], None]] = {
        "--csv": lambda file: write_csv(result.tidy(), file),
        "--candidates": lambda file: write_csv(result.candidates, file),
        "--scores": lambda file: write_csv(options.with_ids(result.factor_scores(data)), file),
        "--curves": lambda file: write_csv(result.response_curves(), file),
        "--json": lambda file: write_json(file, call, fit_as_json(result)),
        "--lavaan": lambda file: write_text(file, result.to_lavaan() + "\n"),
        "--save": lambda file: result.save(file, overwrite=True),
    }
    for option, file in outputs.items():
        if file is not None:
            writers[option](file)


def fit_as_json(result: dtstat.DTFit) -> dict[str, object]:
    """Return what was found, as JSON knows it."""
    return {
        "n_obs": result.n_obs,
        "n_effective": result.n_effective,
        "fit_measures": {
            name: finite_or_none(value) for name, value in result.fit_measures.items()
        },
        "levels": as_records(result.levels),
        "structure": result.structure.to_keys(),
        "attached": list(result.attached_items),
        "uncovered": list(result.structure.uncovered),
        "loadings": result.loadings.to_dict(orient="index"),
        "factor_correlations": result.factor_correlations.to_dict(orient="index"),
        "explanation": result.explanation,
        "notes": list(result.notes),
    }
