"""The program ``dtstat``: its commands, the small ones among them, and how it ends."""

from __future__ import annotations

import io
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

import dtstat
from dtstat.cli import options
from dtstat.cli.describe import describe
from dtstat.cli.diagnose import diagnose, report
from dtstat.cli.fit import fit
from dtstat.cli.models import cfa, invariance
from dtstat.cli.options import as_records, check_outputs, write_csv, write_json
from dtstat.cli.path import path
from dtstat.cli.plan import plan
from dtstat.cli.study import study
from dtstat.core.about import __version__
from dtstat.core.errors import DTError, DTWarning
from dtstat.core.tables import Table

JsonPath = Annotated[
    Path | None, typer.Option("--json", help="Write the table to this file, for programs.")
]


def measures(json_file: JsonPath = None, force: options.Force = False) -> None:
    """List the measures of dependence: what each detects, costs, and when to use it.

    Answers on rating scales: spearman, kendall or polychoric. Items that need not rise with the
    factor: maximal, distance, hsic or xi.
    """
    check_outputs({"--json": json_file}, force)
    known = dtstat.measures().reset_index()
    if json_file is not None:
        write_json(json_file, {"command": "measures"}, {"measures": as_records(known)})
    table = known[["measure", "title", "detects", "handles_ordinal", "cost", "bound"]]
    shown = table.replace({True: "yes", False: "no"}).rename(columns={"handles_ordinal": "ordinal"})
    typer.echo(
        Table.from_frame(
            shown,
            "Measures of dependence",
            [
                "cost: work for one pair of items, n rows.",
                "bound: for which items an error bound is known (see: dtstat plan).",
            ],
        ).to_text()
    )


def datasets(json_file: JsonPath = None, force: options.Force = False) -> None:
    """List the data sets that come with dtstat; each name can be given as FILE."""
    check_outputs({"--json": json_file}, force)
    if json_file is not None:
        records = as_records(dtstat.datasets())
        write_json(json_file, {"command": "datasets"}, {"datasets": records})
    listed = dtstat.datasets().drop(columns="source")
    typer.echo(Table.from_frame(listed, "Data sets").to_text())


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
    factors: Annotated[
        int | None,
        typer.Option("--factors", "--n-factors", help="Number of factors of 'clusters'."),
    ] = None,
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
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the true structure to this file.")
    ] = None,
    force: options.Force = False,
) -> None:
    """Write data whose structure is known, to try the method on or to teach with.

    Prints the true structure. Example: dtstat simulate survey.csv --design chain --levels 5
    """
    check_outputs({"OUT": out, "--json": json_file}, force)
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
    write_csv(simulation.data, out)
    if json_file is not None:
        call = {"command": "simulate", "out": str(out), "design": design, "n": n, "seed": seed}
        write_json(json_file, call, {"structure": simulation.structure.to_keys()})
    typer.echo(f"{simulation}\nwritten to {out}\n{simulation.structure}")


def compile_kernels() -> None:
    """Compile what a first fit needs, once after an installation; it takes half a minute.

    Without it the first fits do, and take ten seconds longer. What is compiled is kept beside the
    package or, if you may not write there, in your cache folder; NUMBA_CACHE_DIR names another.
    """
    import numpy as np

    tests, ratings = map(dtstat.load_dataset, ("holzinger_swineford_9", "likert_survey"))
    gaps = tests.mask(np.arange(tests.size).reshape(tests.shape) % 20 == 0)
    many = np.random.default_rng(1).standard_normal((60, 1020))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DTWarning)
        for data in (tests, ratings, gaps, many):
            dtstat.fit(data)
        dtstat.fit(tests, measure="kendall")
        dtstat.fit(tests, estimator="spline", finalists=1, seed=1)
    typer.echo("Compiled: fits start at once now.")


app = typer.Typer(
    name="dtstat",
    help="Find the latent structure behind survey items by dependence thresholding.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
commands = (describe, fit, report, path, diagnose, plan, cfa, invariance)
for command in (*commands, simulate, measures, datasets):
    app.command()(command)
app.command("compile")(compile_kernels)
app.add_typer(study)


def main() -> None:
    """Run the command line; bad input ends with one sentence and exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a letter shows another one; that is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DTWarning)
        try:
            app(standalone_mode=True)
        except DTError as error:
            typer.echo(f"dtstat: {options.in_shell(str(error))}", err=True)
            sys.exit(2)
        finally:
            # Reading and fitting may both warn of the same answers.
            messages = (str(w.message) for w in caught if issubclass(w.category, DTWarning))
            for message in dict.fromkeys(messages):
                typer.echo(f"dtstat: warning: {options.in_shell(message)}", err=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dtstat {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options of the program itself, before any command."""
