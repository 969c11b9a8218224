"""``dtstat cfa`` and ``dtstat invariance``: a model that the user gives."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import dtstat
from dtstat.cli import options
from dtstat.cli.options import as_records, check_outputs, finite_or_none, write_csv, write_json

Model = Annotated[str, typer.Option(help="Model in lavaan's syntax: a file, or the text itself.")]
EstimatorName = Annotated[
    str,
    typer.Option(
        help="ml, mlr (robust to answers that are not normal), fiml (keeps rows with missing "
        "answers); for ordered items wlsmv, wlsm, wls, dwls, ulsmv, ulsm or uls."
    ),
]
MissingAnswers = Annotated[
    str, typer.Option(help="Missing answers: listwise, fiml, or pairwise (ordered items).")
]
Ordered = Annotated[
    str | None,
    typer.Option(help="Ordered items, separated by commas, or 'all'; estimated by wlsmv."),
]
StdLv = Annotated[
    bool, typer.Option("--std-lv", help="Fix variances of factors instead of first loadings.")
]
GroupPartial = Annotated[
    str | None,
    typer.Option(help="Parameters that stay free in all groups, by commas, as in 'x3 ~ 1'."),
]


def cfa(
    file: options.File,
    model: Model,
    estimator: EstimatorName = "ml",
    missing: MissingAnswers = "listwise",
    ordered: Ordered = None,
    group: Annotated[
        str | None, typer.Option(help="Column that names the group of each person.")
    ] = None,
    group_equal: Annotated[
        str | None,
        typer.Option(
            help="What is equal in all groups, by commas: loadings, intercepts, thresholds, "
            "residuals, means, regressions, residual_covariances, lv_variances, lv_covariances."
        ),
    ] = None,
    group_partial: GroupPartial = None,
    weights: Annotated[str | None, typer.Option(help="Column of sampling weights.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Column that names the cluster of each person.")
    ] = None,
    std_lv: StdLv = False,
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
    drop: options.Drop = None,
    id_column: options.Id = None,
    aside: options.Aside = None,
    sheet: options.SheetName = None,
    levels: options.LevelTexts = None,
    labels: options.Labels = None,
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
    reading = options.Reading(columns, missing_codes, drop, id_column, aside, sheet, levels, labels)
    check_outputs({"--csv": csv, "--json": json_file}, force, (file, model, labels))
    text = options.model_text(model)
    fit = dtstat.cfa(
        options.answers(file, reading.keeping(group, weights, cluster)),
        text,
        estimator=estimator,
        missing=missing,
        ordered=_ordered(ordered),
        std_lv=std_lv,
        orthogonal=orthogonal,
        n_obs=n_obs,
        group=group,
        group_equal=options.split_names(group_equal),
        group_partial=options.split_names(group_partial),
        sampling_weights=weights,
        cluster=cluster,
        progress=sys.stderr.isatty(),
    )
    typer.echo(repr(fit.factor_table() if factor_table else fit.summary()))
    if csv is not None:
        write_csv(fit.parameters, csv)
    if json_file is not None:
        call = {
            "command": "cfa",
            "file": file,
            **reading.in_json(),
            **asdict(fit.call),
        }
        write_json(json_file, call, _as_json(fit))


def invariance(
    file: options.File,
    model: Model,
    group: Annotated[str, typer.Option(help="Column that names the group of each person.")],
    estimator: EstimatorName = "ml",
    missing: MissingAnswers = "listwise",
    ordered: Ordered = None,
    group_partial: GroupPartial = None,
    std_lv: StdLv = False,
    columns: options.Columns = None,
    missing_codes: options.MissingCodes = None,
    drop: options.Drop = None,
    id_column: options.Id = None,
    aside: options.Aside = None,
    sheet: options.SheetName = None,
    levels: options.LevelTexts = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table of steps here.")] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the table of steps here, with the call.")
    ] = None,
    force: options.Force = False,
) -> None:
    """Test whether items measure the same in all groups, one step after the other.

    Prints the ladder (configural, metric, scalar, strict) with scaled difference tests, and the
    parameters that break a step.
    """
    reading = options.Reading(columns, missing_codes, drop, id_column, aside, sheet, levels)
    check_outputs({"--csv": csv, "--json": json_file}, force, (file, model))
    found = dtstat.invariance(
        options.answers(file, reading.keeping(group)),
        options.model_text(model),
        group,
        estimator=estimator,
        missing=missing,
        ordered=_ordered(ordered),
        group_partial=options.split_names(group_partial),
        std_lv=std_lv,
        progress=sys.stderr.isatty(),
    )
    typer.echo(repr(found))
    if csv is not None:
        write_csv(found.table.reset_index(), csv)
    if json_file is not None:
        call = {"command": "invariance", "file": file, **reading.in_json(), "model": model}
        steps = {"group": group, "steps": as_records(found.table.reset_index())}
        write_json(json_file, call, steps)


def _ordered(text: str | None) -> list[str] | bool | None:
    """Items as :func:`dtstat.cfa` takes them."""
    return options.split_names(text) if text not in (None, "all") else text == "all"


def _as_json(fit: dtstat.CFAFit) -> dict[str, object]:
    return {
        "n_obs": fit.n_obs,
        "fit_measures": {name: finite_or_none(value) for name, value in fit.fit_measures.items()},
        "parameters": as_records(fit.parameters),
        "warnings": list(fit.warnings),
    }
