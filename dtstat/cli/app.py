"""The program ``dtstat``: its commands, and how it ends."""

from __future__ import annotations

import io
import re
import sys
import warnings
from typing import Annotated

import typer

from dtstat.cli.diagnose import diagnose
from dtstat.cli.fit import fit
from dtstat.cli.lists import datasets, measures
from dtstat.cli.models import cfa
from dtstat.cli.path import path
from dtstat.cli.plan import plan
from dtstat.cli.report import report
from dtstat.cli.simulate import simulate
from dtstat.cli.study import study
from dtstat.errors import DTError, DTWarning
from dtstat.version import __version__

app = typer.Typer(
    name="dtstat",
    help="Find the latent structure behind survey items by dependence thresholding.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (fit, report, path, diagnose, plan, cfa, simulate, measures, datasets):
    app.command()(command)
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
            typer.echo(f"dtstat: {error}", err=True)
            sys.exit(2)
        finally:
            # Reading and fitting may both warn of the same answers.
            told = (str(w.message) for w in caught if issubclass(w.category, DTWarning))
            for message in dict.fromkeys(told):
                typer.echo(f"dtstat: warning: {in_shell(message)}", err=True)


def in_shell(message: str) -> str:
    """Say it in the words of the shell."""
    codes = r"read the file with missing_codes=\[([^\]]*)\], or replace it by NaN"
    message = re.sub(codes, r"give --missing-codes=\1", message)
    return re.sub(r"pass missing_codes=\[([^\]]*)\]", r"give --missing-codes=\1", message)


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
