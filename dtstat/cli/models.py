"""``dtstat cfa``: a model that the user gives."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import dtstat
from dtstat.cli import options
from dtstat.cli.options import check_outputs, finite_or_none, write_csv, write_json


def cfa(
    file: options.File,
    model: Annotated[
        str,
        typer.Option(help="Model in lavaan's syntax: a file, or the text itself."),
    ],
    estimator: Annotated[
        str,
        typer.Option(
            help="ml, mlr (robust to answers that are not normal), fiml (keeps rows with missing "
            "answers) or dwls (ordinal items)."
        ),
    ] = "ml",
    missing: Annotated[
        str, typer.Option(help="Rows with missing answers: listwise or fiml.")
    ] = "listwise",
    ordered: Annotated[
        str | None,
        typer.Option(help="Ordinal items, separated by commas, or 'all'; estimated by dwls."),
    ] = None,
    std_lv: Annotated[
        bool, typer.Option("--std-lv", help="Fix variances of factors instead of first loadings.")
    ] = False,
    orthogonal: Annotated[
        bool, typer.Option("--orthogonal", help="Keep factors uncorrelated.")
    ] = False,
    n_obs: Annotated[
        int | None,
        typer.Option(help="FILE is a covariance matrix: number of people it was computed from."),
    ] = None,
    factor_table: Annotated[
        bool, typer.Option("--factor-table", help="Print the sorted loadings instead.")
    ] = False,
    columns: options.Columns = None,
    missing_codes: options.MissingCodes = None,
    csv: Annotated[Path | None, typer.Option(help="Write all parameters to this file.")] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write fit measures and parameters to this file."),
    ] = None,
    force: options.Force = False,
) -> None:
    """Fit a confirmatory factor model, or any structural equation model.

    Prints test, fit measures and parameters in the order lavaan's users know.

    Example: dtstat cfa holzinger_swineford_9 --model "speed =~ x7 + x8 + x9"
    """
    check_outputs({"--csv": csv, "--json": json_file}, force, (file, model))
    text = options.model_text(model)
    fit = dtstat.cfa(
        options.answers(file, columns, missing_codes),
        text,
        estimator=estimator,
        missing=missing,
        ordered=options.split_names(ordered) if ordered not in (None, "all") else ordered == "all",
        std_lv=std_lv,
        orthogonal=orthogonal,
        n_obs=n_obs,
    )
    typer.echo(repr(fit.factor_table() if factor_table else fit.summary()))
    if csv is not None:
        write_csv(fit.parameters, csv)
    if json_file is not None:
        call = {
            "command": "cfa",
            "file": file,
            "columns": options.split_names(columns),
            "missing_codes": options.split_names(missing_codes),
            **asdict(fit.call),
        }
        write_json(json_file, call, _as_json(fit))


def _as_json(fit: dtstat.CFAFit) -> dict[str, object]:
    parameters = fit.parameters.to_dict(orient="records")
    return {
        "n_obs": fit.n_obs,
        "fit_measures": {name: finite_or_none(value) for name, value in fit.fit_measures.items()},
        "parameters": [{str(k): finite_or_none(v) for k, v in row.items()} for row in parameters],
        "warnings": list(fit.warnings),
    }
