"""``dtstat report``: the whole analysis as one page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import dtstat
from dtstat.cli import options
from dtstat.cli.options import check_outputs
from dtstat.core.errors import InputError
from dtstat.fit.request import FitRequest

_SAVED = ".dtstat"
# What a result that was saved has settled.
_OF_ANSWERS = (
    "matrix",
    "n_obs",
    "measure",
    "search",
    "estimator",
    "criterion",
    "min_children",
    "missing",
    "columns",
    "missing_codes",
    "resamples",
    "stability",
)


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
        typer.Option("--output", "-o", help="Page to write.", show_default="FILE_report.html"),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Heading.", show_default="what was found")
    ] = None,
    matrix: options.IsMatrix = False,
    n_obs: options.NObs = None,
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
    resamples: options.Resamples = options.RESAMPLES,
    stability: options.StabilityResamples = 0,
    seed: Annotated[
        int | None,
        typer.Option(help="The same seed gives the same page.", show_default="a fresh one"),
    ] = None,
    jobs: options.Jobs = None,
    force: options.Force = False,
) -> None:
    """Write the analysis as one interactive page, to read or to send.

    A slider over all thresholds with the graph and its factors, why each item is in or out of
    them, loadings, response curves, fit, how far to trust it, and how to reproduce it. The page
    is one file that needs no network. Other ways to fit: save with dtstat fit, and make the page
    of that file.

    Example: dtstat report holzinger_swineford_26
    """
    page = output or Path(f"{Path(file).stem}_report.html")
    check_outputs({"--output": page}, force, (file,))
    bar = sys.stderr.isatty()
    if Path(file).suffix == _SAVED:
        fit, diagnosis = _load_saved(file, context)
        stable = None
    else:
        if matrix and stability:
            raise InputError("--stability finds factors in answers; leave out --matrix.")
        data = options.answers_or_matrix(
            file,
            matrix=matrix,
            n_obs=n_obs,
            measure=measure,
            missing=missing,
            columns=columns,
            missing_codes=missing_codes,
        )
        fit = dtstat.fit(
            data,
            measure=FitRequest.measure if measure is None else measure,
            search=search,  # type: ignore[arg-type]
            estimator=estimator,  # type: ignore[arg-type]
            criterion=criterion,
            min_children=min_children,
            missing=FitRequest.missing if missing is None else missing,  # type: ignore[arg-type]
            seed=seed,
            progress=bar,
        )
        diagnosis = None
        if fit.n_factors and resamples and not matrix:
            diagnosis = dtstat.diagnose(fit, data, resamples, seed, jobs, bar)
        stable = None
        if stability:
            stable = dtstat.stability(data, stability, fit, seed=seed, n_jobs=jobs, progress=bar)
    fit.report(page, diagnosis, stable, title, overwrite=True)
    typer.echo(f"{fit.explanation}\nWrote {page}; open it in a browser.")


def _load_saved(file: str, context: typer.Context) -> tuple[dtstat.DTFit, dtstat.Diagnosis | None]:
    for name in _OF_ANSWERS:
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} is about answers, and '{file}' is a result. Leave it out.")
    result = dtstat.load(file)
    if isinstance(result, dtstat.Diagnosis):
        return result.fit, result
    if isinstance(result, dtstat.DTFit):
        return result, None
    raise InputError(f"'{file}' holds a {type(result).__name__}; a page is made of a fit.")
