"""The command line: ``dtstat path``, ``cfa``, ``simulate``, ``measures`` and ``datasets``."""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

import dtstat
from dtstat import checks
from dtstat.api.path import Thresholds
from dtstat.data.datasets import DATASETS
from dtstat.errors import DTError, DTWarning, InputError, nearest
from dtstat.report import Table

app = typer.Typer(
    name="dtstat",
    help="Find the latent structure behind survey items by dependence thresholding.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Answers: csv, tsv, parquet, xlsx, sav or dta, people in rows, items in columns. "
        "Or the name of a data set that comes with dtstat (see: dtstat datasets).",
    ),
]
MeasureName = Annotated[
    str,
    typer.Option(help="Measure of dependence (see: dtstat measures)."),
]
Columns = Annotated[
    str | None,
    typer.Option(help="Items to use: names or patterns, separated by commas, as in 'A*,C1'."),
]
MissingCodes = Annotated[
    str | None,
    typer.Option(help="Values that mean 'no answer', separated by commas, as in '-9,99'."),
]


@app.command()
def path(
    file: File,
    measure: MeasureName = "spearman",
    thresholds: Annotated[
        str,
        typer.Option(
            help="'exact' for all thresholds, a number of evenly spaced ones, or a list as in "
            "'0.2,0.3,0.4'."
        ),
    ] = "exact",
    min_children: Annotated[int, typer.Option(help="Fewest items of a factor.")] = 3,
    missing: Annotated[
        str, typer.Option(help="Rows with missing answers: pairwise, listwise or error.")
    ] = "pairwise",
    columns: Columns = None,
    missing_codes: MissingCodes = None,
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
    csv: Annotated[Path | None, typer.Option(help="Write all candidates to this file.")] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write all candidates, with their items, to this file."),
    ] = None,
) -> None:
    """Find every factor structure that thresholding the dependence matrix can produce.

    Two items are joined when their dependence exceeds a threshold; groups of items that are all
    joined, with at least one item of their own, are factors. A low threshold gives few broad
    factors; raising it splits them into narrower ones, then drops items until none is left. This
    command shows all structures, and for how wide a range of thresholds each lasts. What lasts
    long does not hinge on the choice of threshold.

    Example: dtstat path holzinger_swineford_26 --structures 3 --by factors
    """
    _check_writable(csv, json_file)
    data = _answers(file, columns, missing_codes)
    result = dtstat.solution_path(
        data,
        measure=measure,
        thresholds=_parse_thresholds(thresholds),
        min_children=min_children,
        missing=missing,  # type: ignore[arg-type]
        progress=sys.stderr.isatty(),
    )
    if at is not None:
        typer.echo(repr(result.at(at)))
    else:
        typer.echo(repr(result.summary(max_rows=rows)))
        _print_structures(result, structures, by)
    if csv is not None:
        result.to_frame().to_csv(csv, index=False)
    if json_file is not None:
        json_file.write_text(json.dumps(_as_json(result), indent=1))


@app.command()
def cfa(
    file: File,
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
    factor_table: Annotated[
        bool, typer.Option("--factor-table", help="Print the sorted loadings instead.")
    ] = False,
    columns: Columns = None,
    missing_codes: MissingCodes = None,
    csv: Annotated[Path | None, typer.Option(help="Write all parameters to this file.")] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write fit measures and parameters to this file."),
    ] = None,
) -> None:
    """Fit a confirmatory factor model, or any structural equation model.

    Prints test, fit measures and parameters in the order lavaan's users know.

    Example: dtstat cfa holzinger_swineford_9 --model "speed =~ x7 + x8 + x9"
    """
    _check_writable(csv, json_file)
    text = _model_text(model)
    fit = dtstat.cfa(
        _answers(file, columns, missing_codes),
        text,
        estimator=estimator,
        missing=missing,
        ordered=_names(ordered) if ordered not in (None, "all") else ordered == "all",
        std_lv=std_lv,
        orthogonal=orthogonal,
    )
    typer.echo(repr(fit.factor_table() if factor_table else fit.summary()))
    if csv is not None:
        fit.parameters.to_csv(csv, index=False)
    if json_file is not None:
        json_file.write_text(json.dumps(_fit_as_json(fit), indent=1, allow_nan=False))


@app.command()
def simulate(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="csv file to write.")],
    design: Annotated[
        str,
        typer.Option(
            help="v_structure, chain, double_mediation, clusters (with --factors) or "
            "high_dimensional."
        ),
    ] = "v_structure",
    n: Annotated[int, typer.Option(help="Number of rows.")] = 5000,
    maps: Annotated[
        str, typer.Option(help="Item responses: paper, linear, non_monotone or one_in_five.")
    ] = "paper",
    snr: Annotated[float, typer.Option(help="Signal-to-noise ratio.")] = 4.0,
    factors: Annotated[int | None, typer.Option(help="Number of factors of 'clusters'.")] = None,
    items_per_factor: Annotated[int | None, typer.Option(help="Items of each factor.")] = None,
    factor_correlation: Annotated[
        float, typer.Option(help="Correlation of all pairs of factors.")
    ] = 0.0,
    violating: Annotated[
        float, typer.Option(help="Share of factors without a unique child.")
    ] = 0.0,
    cross_loadings: Annotated[int, typer.Option(help="Items with a second factor.")] = 0,
    levels: Annotated[
        int | None, typer.Option(help="Cut answers to so many levels, as a rating scale.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same data.")] = 1,
) -> None:
    """Write data whose structure is known, to try the method on or to teach with.

    Prints the true structure. Example: dtstat simulate survey.csv --design chain --levels 5
    """
    _check_writable(out)
    simulation = dtstat.simulate(
        design,
        n,
        maps=maps,
        snr=snr,
        n_factors=factors,
        items_per_factor=items_per_factor,
        factor_correlation=factor_correlation,
        violating=violating,
        cross_loadings=cross_loadings,
        levels=levels,
        seed=seed,
    )
    simulation.data.to_csv(out, index=False)
    typer.echo(f"{simulation}\nwritten to {out}\n{simulation.structure}")


@app.command()
def measures() -> None:
    """List the measures of dependence: what each detects, costs, and when to use it.

    Answers on rating scales: spearman, kendall or polychoric. Items that need not rise with the
    factor: maximal, distance, hsic or xi.
    """
    table = dtstat.measures().reset_index()[
        ["measure", "title", "detects", "handles_ordinal", "cost", "bound"]
    ]
    shown = table.replace({True: "yes", False: "no"}).rename(columns={"handles_ordinal": "ordinal"})
    typer.echo(
        Table.from_frame(
            shown,
            "Measures of dependence",
            ["cost: work for one pair of items, n rows.", "bound: known concentration inequality."],
        ).to_text()
    )


@app.command()
def datasets() -> None:
    """List the data sets that come with dtstat; each name can be given as FILE."""
    listed = dtstat.datasets().drop(columns="source")
    typer.echo(Table.from_frame(listed, "Data sets").to_text())


def main() -> None:
    """Run the command line; bad input ends with one sentence and exit status 2."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DTWarning)
        try:
            app(standalone_mode=True)
        except DTError as error:
            typer.echo(f"dtstat: {error}", err=True)
            sys.exit(2)
        finally:
            for warning in caught:
                if issubclass(warning.category, DTWarning):
                    typer.echo(f"dtstat: warning: {warning.message}", err=True)


def _answers(file: str, columns: str | None, missing_codes: str | None) -> pd.DataFrame:
    wanted, codes = _names(columns), _names(missing_codes)
    if Path(file).exists() or Path(file).suffix:
        return dtstat.read_survey(file, missing_codes=codes, columns=wanted)
    if file not in DATASETS:
        raise InputError(f"There is no file and no data set '{file}'. {nearest(file, DATASETS)}")
    with resources.as_file(resources.files("dtstat.data") / "files" / f"{file}.csv") as shipped:
        return dtstat.read_survey(shipped, missing_codes=codes, columns=wanted)


def _names(text: str | None) -> list[str] | None:
    """Cut a list at its commas."""
    return [name.strip() for name in text.split(",")] if text else None


def _model_text(model: str) -> str:
    """Text of a model: that of a file, or what was given if it looks like a model."""
    try:
        if Path(model).is_file():
            return Path(model).read_text()
    except (OSError, UnicodeDecodeError) as error:
        if "~" not in model:
            raise InputError(f"Cannot read the model '{model}': {error}.", "model") from None
    if "~" in model:
        return model
    raise InputError(
        f"`model` must be a file or a model text; got '{model}', which is neither. A model text "
        "reads: 'f =~ x1 + x2 + x3'.",
        "model",
    )


def _parse_thresholds(text: str) -> Thresholds:
    if text == "exact":
        return "exact"
    try:
        if "," in text or "." in text:
            return [float(part) for part in text.split(",")]
        return int(text)
    except ValueError:
        raise InputError(
            f"`thresholds` must be 'exact', a whole number, or numbers separated by commas; "
            f"got '{text}'.",
            "thresholds",
        ) from None


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


def _as_json(result: dtstat.SolutionPath) -> list[dict[str, object]]:
    return [
        {"intervals": candidate.intervals, "factors": candidate.structure.to_keys()}
        for candidate in result.candidates
    ]


def _fit_as_json(fit: dtstat.CFAFit) -> dict[str, object]:
    """Plain values; what does not exist is null."""

    def plain(value: object) -> object:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    parameters = fit.parameters.to_dict(orient="records")
    return {
        "call": asdict(fit.call),
        "n_obs": fit.n_obs,
        "fit_measures": {name: plain(value) for name, value in fit.fit_measures.items()},
        "parameters": [{str(k): plain(v) for k, v in row.items()} for row in parameters],
        "warnings": list(fit.warnings),
    }


def _check_writable(*files: Path | None) -> None:
    """Refuse, before any work is done, files that cannot be written."""
    for file in files:
        if file is None:
            continue
        if not file.parent.is_dir():
            raise InputError(f"Cannot write '{file}': there is no folder '{file.parent}'.")
        if file.is_dir():
            raise InputError(f"Cannot write '{file}': it is a folder. Name a file in it.")
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise InputError(f"Cannot write '{file}': permission denied. Choose another folder.")
