"""``dtstat simulate``: data whose structure is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import dtstat
from dtstat.cli import options
from dtstat.cli.output import check_outputs, write_csv


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
    force: options.Force = False,
) -> None:
    """Write data whose structure is known, to try the method on or to teach with.

    Prints the true structure. Example: dtstat simulate survey.csv --design chain --levels 5
    """
    check_outputs({"OUT": out}, force)
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
    typer.echo(f"{simulation}\nwritten to {out}\n{simulation.structure}")
