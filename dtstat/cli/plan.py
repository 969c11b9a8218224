"""``dtstat plan``: how many people a survey needs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import dtstat
from dtstat.cli import options
from dtstat.cli.options import as_records, check_outputs, write_csv, write_json
from dtstat.core.errors import InputError
from dtstat.core.tables import Table
from dtstat.fit.request import FitRequest


def plan(
    items: Annotated[
        int | None, typer.Option(help="Number of items, if the margin is known: with --margin.")
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            help="Half the distance between the weakest dependence within factors and the "
            "strongest between them."
        ),
    ] = None,
    factor_size: Annotated[
        int | None,
        typer.Option(help="With --margin: items of one factor that is to be found by itself."),
    ] = None,
    factors: Annotated[
        int | None, typer.Option("--factors", "--n-factors", help="Number of factors.")
    ] = None,
    items_per_factor: Annotated[
        str, typer.Option(help="Items of a factor: one number, or one per factor, as in '5,5,8'.")
    ] = "5",
    loading: Annotated[
        str, typer.Option(help="Loading of all items, or one per factor, as in '0.7,0.6,0.8'.")
    ] = "0.7",
    factor_correlation: Annotated[
        float, typer.Option(help="Correlation of all pairs of factors.")
    ] = 0.0,
    levels: Annotated[
        int | None,
        typer.Option(help="Points of the answer scale.", show_default="continuous answers"),
    ] = None,
    measure: Annotated[
        str, typer.Option(help="Measure of dependence (see: dtstat measures).")
    ] = FitRequest.measure,
    error: Annotated[float, typer.Option(help="Probability of error that is accepted.")] = 0.05,
    paper: Annotated[
        bool, typer.Option("--paper", help="Bounds in the paper's form, not the sharp one.")
    ] = False,
    draws: Annotated[
        int, typer.Option(min=0, help="Simulated surveys around each answer; 0 for none.")
    ] = 400,
    seed: Annotated[
        int | None,
        typer.Option(
            help="The same seed gives the same simulation.", show_default="a fresh one, printed"
        ),
    ] = None,
    jobs: options.Jobs = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write the numbers, or with --factors curves, to this file.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the table to this file, for programs.")
    ] = None,
    force: options.Force = False,
) -> None:
    """Say how many people a survey needs for its factors to be found.

    Either from the number of items and the margin, for every measure with a bound; or from what a
    survey designer knows: factors, items, loadings, factor correlations.

    Examples: dtstat plan --items 25 --margin 0.2

    dtstat plan --factors 5 --items-per-factor 5 --loading 0.7 --factor-correlation 0.3
    """
    check_outputs({"--csv": csv, "--json": json_file}, force)
    by_margin = items is not None or margin is not None
    if by_margin == (factors is not None):
        raise InputError(
            "Give --items and --margin, or --factors with --items-per-factor, --loading and "
            "--factor-correlation."
        )
    if by_margin:
        _by_margin(items, margin, error, factor_size, csv, json_file)
        return
    if factor_size is not None:
        raise InputError(
            "--factor-size applies only with --margin; factors have their local form anyway."
        )
    sizes = options.parse_numbers("items-per-factor", items_per_factor)
    for size in sizes:
        if not size.is_integer():
            raise InputError(f"--items-per-factor must be whole numbers; got {size:g}.")
    result = dtstat.plan(
        n_factors=factors,
        items_per_factor=[int(size) for size in sizes],
        loading=options.parse_numbers("loading", loading),
        factor_correlation=factor_correlation,
        levels=levels,
        measure=measure,
        error=error,
        sharp=not paper,
        n_draws=draws,
        seed=seed,
        n_jobs=jobs,
        progress=sys.stderr.isatty(),
    )
    typer.echo(repr(result.summary()))
    if csv is not None:
        write_csv(result.curves(), csv)
    if json_file is not None:
        write_json(json_file, {"command": "plan"}, {"curves": as_records(result.curves())})


def _by_margin(
    items: int | None,
    margin: float | None,
    error: float,
    factor_size: int | None,
    csv: Path | None,
    json_file: Path | None,
) -> None:
    if items is None or margin is None:
        raise InputError("--items and --margin go together.")
    frame = dtstat.sample_size_table(items, margin, error, factor_size)
    about = dtstat.bounds().reset_index()[["measure", "holds_for"]]
    shown = frame.merge(about, on="measure").drop(columns=["items", "margin"])
    shown["guaranteed"] = ["yes" if sure else "no" for sure in shown["guaranteed"]]
    found = "a wrong graph" if factor_size is None else f"missing one factor of {factor_size} items"
    title = (
        f"People needed for at most {100 * error:g}% probability of {found}: {items} items, margin "
        f"{margin:g}"
    )
    notes = [
        "sharp, paper: inequalities for the items named, at the threshold in the middle of the "
        "gap; the paper's is looser.",
        "Ratings have ties: for them there is no guarantee, only simulation (--factors --levels).",
        "normal: approximation, no guarantee. Margins of different measures are different numbers.",
        "From loadings instead: dtstat plan --factors ...",
    ]
    typer.echo(Table.from_frame(shown.rename(columns={"holds_for": "for"}), title, notes).to_text())
    if csv is not None:
        write_csv(frame, csv)
    if json_file is not None:
        write_json(json_file, {"command": "plan"}, {"sample_sizes": as_records(frame)})
