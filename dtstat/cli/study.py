"""``dtstat study``: the paper's simulation studies."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Protocol

import pandas as pd
import typer

from dtstat import studies
from dtstat.cli import options
from dtstat.cli.options import as_records, check_outputs, write_json, write_text
from dtstat.core import checks
from dtstat.core.canvas import pyplot
from dtstat.core.tables import Summary
from dtstat.studies.recovery import HighDimCall, RecoveryCall

Seed = Annotated[int, typer.Option(help="The same seed gives the same data sets.")]
Jobs = Annotated[int | None, typer.Option(help="Data sets done in parallel; -1 for all cores.")]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Add each data set to this file when it is finished. Repeat the command after an "
        "interruption, or with more --reps, and it goes on from there."
    ),
]
TableFile = Annotated[
    Path | None,
    typer.Option(help="Write the table to this file: csv, md, txt, html or tex."),
]
JsonFile = Annotated[
    Path | None, typer.Option("--json", help="Write the table to this file, for programs.")
]
PICTURES = (".png", ".pdf", ".svg")

study = typer.Typer(
    name="study",
    help="Repeat the paper's simulation studies.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@study.callback()
def _studies() -> None:
    """Repeat the paper's simulation studies."""


@study.command()
def table1(
    reps: Annotated[int, typer.Option(help="Data sets of each design.")] = 100,
    designs: Annotated[
        str, typer.Option(help="Models to draw from, separated by commas.")
    ] = "v_structure,chain,double_mediation",
    n: Annotated[int, typer.Option(help="Rows of a data set.")] = 5000,
    estimator: Annotated[
        str | None,
        typer.Option(
            help="Model of the item responses: copula, linear, spline, neural or variational.",
            show_default="copula",
        ),
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option(
            help="What chooses the structure, as in dtstat fit: ebic, bic, aic, validation, "
            "validation_2se or cv.",
            show_default="ebic",
        ),
    ] = None,
    min_children: Annotated[
        int | None, typer.Option(help="Fewest items of a factor.", show_default="2")
    ] = None,
    thresholds: Annotated[
        int | None,
        typer.Option(help="Number of thresholds, spaced evenly on 0 to 1.", show_default="50"),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="paper (its network and choice, nearly as in the paper; dtstat.fit says what "
            "differs) or paper_fast, instead of the four options above."
        ),
    ] = None,
    seed: Seed = 1,
    jobs: Jobs = None,
    out: Out = None,
    table: TableFile = None,
    json_file: JsonFile = None,
    force: options.Force = False,
) -> None:
    """Repeat the paper's first simulation (Table 1).

    Data are drawn from three models whose factors and items are known. The method finds the
    structures that 50 thresholds give; of these, the most accurate one (oracle) and the one that
    is chosen without knowing the truth (likelihood) are compared with it. Prints the table, and
    the paper's beside it.

    Example: dtstat study table1 --reps 5 --out table1.jsonl
    """
    check_outputs({"--table": table, "--json": json_file}, force, resumed={"--out": out})
    write = _writer(table)
    result = studies.table1(
        reps,
        options.split_names(designs) or (),
        n,
        estimator=estimator,
        criterion=criterion,
        min_children=min_children,
        thresholds=thresholds,
        preset=preset,
        seed=seed,
        n_jobs=jobs,
        out=out,
        progress=sys.stderr.isatty(),
    )
    typer.echo(repr(result.summary()))
    write(result)
    _write_json(json_file, "study table1", result)


@study.command()
def highdim(
    reps: Annotated[int, typer.Option(help="Data sets of each condition.")] = 100,
    sizes: Annotated[
        str, typer.Option(help="Rows n of the data sets, separated by commas; 1.5 n items each.")
    ] = "250,500,1000",
    phis: Annotated[
        str, typer.Option(help="Correlations of the factors, separated by commas; '' for none.")
    ] = "0,0.25,0.75",
    shares: Annotated[
        str,
        typer.Option(help="Shares of factors without unique children; '' for none."),
    ] = "0,0.2,0.4",
    readings: Annotated[
        str,
        typer.Option(
            help="Second parents that children of those factors have: own (each child draws one), "
            "shared (all have the same), or both."
        ),
    ] = "own,shared",
    searches: Annotated[
        str,
        typer.Option(
            help="oracle (best of one threshold, knows the truth), plain (dtstat fit), sequential "
            "(dtstat fit --search sequential)."
        ),
    ] = "oracle,plain,sequential",
    seed: Seed = 1,
    jobs: Jobs = None,
    out: Out = None,
    table: TableFile = None,
    json_file: JsonFile = None,
    figure: Annotated[
        Path | None,
        typer.Option(help="Draw the outcomes as the paper does, to this file: png, pdf or svg."),
    ] = None,
    force: options.Force = False,
) -> None:
    """Repeat the paper's second simulation (high dimensions, assumptions broken).

    Data are drawn with n rows, 1.5 n items and 0.1 n factors, which correlate, or of which a share
    has no unique children. The most accurate structure that one threshold gives (oracle), and
    those that dtstat fit chooses without knowing the truth (plain, sequential) are compared with
    it. Prints the tables, with what the paper says.

    Example: dtstat study highdim --reps 2 --sizes 50,100 --out highdim.jsonl
    """
    check_outputs(
        {"--table": table, "--figure": figure, "--json": json_file}, force, resumed={"--out": out}
    )
    write = _writer(table)
    if figure is not None:
        _check_ending("figure", figure, PICTURES)
        pyplot()  # or say, before any work is done, how to get it
    result = studies.highdim(
        reps,
        sizes=options.parse_numbers("sizes", sizes),
        phis=options.parse_numbers("phis", phis),
        shares=options.parse_numbers("shares", shares),
        readings=options.split_names(readings) or (),
        searches=options.split_names(searches) or (),
        seed=seed,
        n_jobs=jobs,
        out=out,
        progress=sys.stderr.isatty(),
    )
    typer.echo(repr(result.summary()))
    write(result)
    _write_json(json_file, "study highdim", result)
    if figure is not None:
        result.plot(figure)


class _Result(Protocol):
    """What is written of a study."""

    @property
    def call(self) -> RecoveryCall | HighDimCall:
        """What was asked for."""

    def table(self) -> pd.DataFrame:
        """Numbers."""

    def summary(self) -> Summary:
        """Words and tables."""


def _writer(table: Path | None) -> Callable[[_Result], object]:
    """Find, before any work is done, how to write the kind of file that is wanted."""
    if table is None:
        return lambda result: None
    _check_ending("table", table, tuple(_FORMATS))
    text = _FORMATS[table.suffix.lower()]
    return lambda result: write_text(table, text(result).rstrip("\n") + "\n")


def _write_json(file: Path | None, command: str, result: _Result) -> None:
    if file is not None:
        call = {"command": command, **asdict(result.call)}
        write_json(file, call, {"table": as_records(result.table())})


def _check_ending(name: str, file: Path, known: tuple[str, ...]) -> None:
    if file.suffix.lower() not in known:
        wanted = f"a file whose name ends in {', '.join(known)}"
        raise checks.unknown(name, wanted, str(file), known)


def _markdown(summary: Summary) -> str:
    parts = ["\n".join(f"{line}  " for line in summary.head)]  # two blanks keep the line breaks
    for table in summary.tables:
        rules = ["---:" if side == "r" else "---" for side in table.alignment]
        lines = (f"| {' | '.join(cells)} |" for cells in (table.headers, rules, *table.rows))
        parts.append("\n".join([f"**{table.title}**", "", *lines, "", *table.notes]))
    return "\n\n".join(parts)


_FORMATS: dict[str, Callable[[_Result], str]] = {
    ".csv": lambda result: result.table().to_csv(index=False),
    ".md": lambda result: _markdown(result.summary()),
    ".txt": lambda result: result.summary().to_text(),
    ".html": lambda result: result.summary().to_html(),
    ".tex": lambda result: result.summary().to_latex(),
}
