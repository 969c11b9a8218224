"""``dtstat study``: the paper's simulation studies."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dtstat import checks, studies
from dtstat.cli import options
from dtstat.cli.output import check_writable
from dtstat.errors import InputError
from dtstat.report import Summary, Table

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
            help="paper (its network and choice, to the letter) or paper_fast, instead of the "
            "four options above."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same data sets.")] = 1,
    jobs: Annotated[int, typer.Option(help="Data sets done side by side; -1 for all cores.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Add each data set to this file when it is finished. Repeat the command after an "
            "interruption, or with more --reps, and it goes on from there."
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="Write the table to this file: csv, md, txt, html or tex."),
    ] = None,
) -> None:
    """Repeat the paper's first simulation (Table 1).

    Data are drawn from three models whose factors and items are known. The method finds the
    structures that 50 thresholds give; of these, the most accurate one (oracle) and the one that
    is chosen without knowing the truth (likelihood) are compared with it. Prints the table, and
    the paper's beside it.

    Example: dtstat study table1 --reps 5 --out table1.jsonl
    """
    check_writable(out, table)
    write = _writer(table, out)
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


def _writer(table: Path | None, out: Path | None) -> Callable[[studies.Table1Result], object]:
    """Find, before any work is done, how to write the kind of file that is wanted."""
    if table is None:
        return lambda result: None
    if out is not None and table.resolve() == out.resolve():
        raise InputError(f"--table and --out must be two files; got '{table}' for both.")
    kind = table.suffix.lower()
    if kind not in _KINDS:
        raise checks.unknown(
            "table", f"a file whose name ends in {', '.join(_KINDS)}", str(table), _KINDS
        )
    return lambda result: table.write_text(
        _KINDS[kind](result).rstrip("\n") + "\n", encoding="utf-8"
    )


def _markdown(summary: Summary) -> str:
    head = "\n".join(f"{line}  " for line in summary.head)  # two blanks keep the line breaks
    return "\n\n".join([head, *map(_markdown_table, summary.tables)])


def _markdown_table(table: Table) -> str:
    rules = ["---:" if side == "r" else "---" for side in table.alignment]
    lines = (f"| {' | '.join(cells)} |" for cells in (table.headers, rules, *table.rows))
    return "\n".join([f"**{table.title}**", "", *lines, "", *table.notes])


_KINDS: dict[str, Callable[[studies.Table1Result], str]] = {
    ".csv": lambda result: result.table().to_csv(index=False),
    ".md": lambda result: _markdown(result.summary()),
    ".txt": lambda result: result.summary().to_text(),
    ".html": lambda result: result.summary().to_html(),
    ".tex": lambda result: result.summary().to_latex(),
}
