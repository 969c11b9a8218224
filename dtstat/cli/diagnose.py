"""``dtstat diagnose``: how far to trust what was found; ``dtstat report``: all of it as a page."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import dtstat
from dtstat.cli import options
from dtstat.cli.fit import fit_as_json
from dtstat.cli.options import as_records, check_outputs, write_csv, write_json
from dtstat.core.errors import InputError
from dtstat.fit.request import FitRequest
from dtstat.structure.syntax import measured_structure

_SAVED = ".dtstat"
# What a result that was saved has settled.
_OF_ANSWERS = (
    "matrix",
    "n_obs",
    "n_factors",
    "measure",
    "search",
    "estimator",
    "criterion",
    "min_children",
    "missing",
    "columns",
    "missing_codes",
    "drop",
    "id_column",
    "aside",
    "sheet",
    "levels",
    "labels",
    "resamples",
    "stability",
)


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
    n_factors: options.NFactors = FitRequest.n_factors,
    measure: options.MeasureName = None,
    search: options.SearchName = FitRequest.search,
    criterion: options.CriterionName = FitRequest.criterion,
    min_children: options.MinChildren = FitRequest.min_children,
    missing: options.MissingRows = None,
    columns: options.Columns = None,
    missing_codes: options.MissingCodes = None,
    drop: options.Drop = None,
    id_column: options.Id = None,
    aside: options.Aside = None,
    sheet: options.SheetName = None,
    levels: options.LevelTexts = None,
    labels: options.Labels = None,
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
    """Say how far to trust the factors, and whether the data meet what the method assumes.

    Whether every two items of a factor depend more on each other than any two of different
    factors, by what margin, and which pairs decide; which factors are clearly supported at their
    own thresholds; which items a factor depends on; which items were left out and why.

    Example: dtstat diagnose holzinger_swineford_9 --stability 200
    """
    reading = options.Reading(columns, missing_codes, drop, id_column, aside, sheet, levels, labels)
    outputs = {"--csv": csv, "--json": json_file, "--save": save}
    check_outputs(outputs, force, (file, model, labels), {"--checkpoint": checkpoint})
    _check_stability(stability, matrix, model, sizes, checkpoint)
    shares = options.parse_numbers("sizes", sizes)
    data, measure, missing = options.read_input(file, matrix, n_obs, measure, missing, reading)
    structure = None if model is None else measured_structure(options.model_text(model))
    with options.shell_words():
        fit = dtstat.fit(
            data,
            n_factors=n_factors,
            measure=measure,
            search=search,  # type: ignore[arg-type]
            criterion=criterion,
            min_children=min_children,
            missing=missing,
            structure=structure,
            seed=seed,
            labels=labels if matrix else None,
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
        raise InputError("--sizes applies only with --stability.")


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
        write_json(json_file, call, _as_json(result, stable))
    if save is not None:
        result.save(save, overwrite=True)


def _as_json(result: dtstat.Diagnosis, stable: dtstat.Stability | None) -> dict[str, object]:
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
    content = {name: as_records(frame) for name, frame in frames.items()}
    return {"verdict": result.verdict, **content}


def report(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Answers, or the name of a data set, as in fit; or a fit or a diagnosis that was "
            f"saved as a {_SAVED} file.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Page to write; a name that ends in .docx gives a Word document.",
            show_default="FILE_report.html",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Heading.", show_default="what was found")
    ] = None,
    matrix: options.IsMatrix = False,
    n_obs: options.NObs = None,
    n_factors: options.NFactors = FitRequest.n_factors,
    measure: options.MeasureName = None,
    search: options.SearchName = FitRequest.search,
    estimator: Annotated[
        str, typer.Option(help="copula, linear, or spline for curves with bands; see fit.")
    ] = FitRequest.estimator,
    criterion: options.CriterionName = FitRequest.criterion,
    min_children: options.MinChildren = FitRequest.min_children,
    missing: options.MissingRows = None,
    columns: options.Columns = None,
    missing_codes: options.MissingCodes = None,
    drop: options.Drop = None,
    id_column: options.Id = None,
    aside: options.Aside = None,
    sheet: options.SheetName = None,
    levels: options.LevelTexts = None,
    labels: options.Labels = None,
    resamples: options.Resamples = options.RESAMPLES,
    stability: options.StabilityResamples = 0,
    seed: Annotated[
        int | None,
        typer.Option(help="The same seed gives the same page.", show_default="a fresh one"),
    ] = None,
    jobs: options.Jobs = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write what the page shows to this file, for programs."),
    ] = None,
    force: options.Force = False,
) -> None:
    """Write the analysis as one interactive page, to read or to send, or as a Word document.

    First the factors with their items and loadings, and how sure they are; then the tree and all
    thresholds to explore, descriptives, reliability, response curves, and how to reproduce it. The
    page is one file that needs no network. Other ways to fit: save with dtstat fit, and make the
    page of that file.

    Example: dtstat report holzinger_swineford_26
    """
    reading = options.Reading(columns, missing_codes, drop, id_column, aside, sheet, levels, labels)
    page = output or Path(f"{Path(file).stem}_report.html")
    check_outputs({"--output": page, "--json": json_file}, force, (file, labels))
    bar = sys.stderr.isatty()
    if Path(file).suffix == _SAVED:
        fit, diagnosis = _load_saved(file, context)
        stable = None
    else:
        if matrix and stability:
            raise InputError("--stability finds factors in answers; leave out --matrix.")
        data, measure, missing = options.read_input(file, matrix, n_obs, measure, missing, reading)
        with options.shell_words():
            fit = dtstat.fit(
                data,
                n_factors=n_factors,
                measure=measure,
                search=search,  # type: ignore[arg-type]
                estimator=estimator,  # type: ignore[arg-type]
                criterion=criterion,
                min_children=min_children,
                missing=missing,
                seed=seed,
                progress=bar,
                labels=labels if matrix else None,
            )
        diagnosis = None
        if fit.n_factors and resamples and not matrix:
            diagnosis = dtstat.diagnose(fit, data, resamples, seed, jobs, bar)
        stable = None
        if stability:
            stable = dtstat.stability(data, stability, fit, seed=seed, n_jobs=jobs, progress=bar)
    fit.report(page, diagnosis, stable, title, overwrite=True, progress=bar)
    if json_file is not None:
        call = {"command": "report", "file": file, "output": str(page), **reading.in_json()}
        found = fit_as_json(fit)
        if diagnosis is not None:
            found["diagnosis"] = _as_json(diagnosis, stable)
        write_json(json_file, {**call, **asdict(fit.call)}, found)
    how = "" if page.suffix.lower() == ".docx" else "; open it in a browser"
    typer.echo(f"{fit.explanation}\nWrote {page}{how}.")


def _load_saved(file: str, context: typer.Context) -> tuple[dtstat.DTFit, dtstat.Diagnosis | None]:
    for name in _OF_ANSWERS:
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            option = options.option_name(name.removesuffix("_column"))
            raise InputError(f"{option} is about answers, and '{file}' is a result. Leave it out.")
    result = dtstat.load(file)
    if isinstance(result, dtstat.Diagnosis):
        return result.fit, result
    if isinstance(result, dtstat.DTFit):
        return result, None
    raise InputError(f"'{file}' holds a {type(result).__name__}; a page is made of a fit.")
