"""Options that commands share, and the reading of what they name."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

import dtstat
from dtstat.api.path import Thresholds
from dtstat.cli.matrix import read_matrix
from dtstat.data.datasets import DATASETS
from dtstat.errors import InputError, nearest

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Answers: csv, tsv, parquet, xlsx, sav or dta, people in rows, items in columns. "
        "Or the name of a data set that comes with dtstat (see: dtstat datasets).",
    ),
]
MeasureName = Annotated[
    str | None,
    typer.Option(
        help="Measure of dependence (see: dtstat measures); with --matrix the one FILE holds.",
        show_default="spearman; with --matrix pearson",
    ),
]
ThresholdsText = Annotated[
    str,
    typer.Option(
        help="'exact' for all thresholds, a number of evenly spaced ones, or a list as in "
        "'0.2,0.3,0.4'."
    ),
]
MinChildren = Annotated[int, typer.Option(help="Fewest items of a factor.")]
MissingRows = Annotated[
    str | None,
    typer.Option(
        help="Rows with missing answers: pairwise, listwise or error.", show_default="pairwise"
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(help="Items to use: names or patterns, separated by commas, as in 'A*,C1'."),
]
MissingCodes = Annotated[
    str | None,
    typer.Option(help="Values that mean 'no answer', separated by commas, as in '-9,99'."),
]
IsMatrix = Annotated[
    bool,
    typer.Option(
        "--matrix",
        help="FILE is a csv file of a correlation or other dependence matrix, not of answers: "
        "item names in the first row and, if you like, in the first column.",
    ),
]
NObs = Annotated[
    int | None, typer.Option(help="With --matrix: number of people it was computed from.")
]
SearchName = Annotated[
    str,
    typer.Option(
        help="barcode (every factor has its own threshold), threshold (one for all) or sequential "
        "(barcode, then factors that others hide)."
    ),
]
CriterionName = Annotated[str, typer.Option(help="What chooses the structure; see fit.")]
Resamples = Annotated[
    int, typer.Option(min=0, help="Resamples for the intervals of the margins; 0 for none.")
]
StabilityResamples = Annotated[
    int,
    typer.Option(min=0, help="Run the whole procedure again on so many resamples, such as 200."),
]
Jobs = Annotated[int | None, typer.Option(help="Workers side by side; -1 for all cores.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        help="Add each finished piece to this file. Repeat the command after an interruption, and "
        "it goes on from there."
    ),
]

Force = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]


def answers(file: str, columns: str | None, missing_codes: str | None) -> pd.DataFrame:
    """Read answers from a file, or from a data set that comes with dtstat."""
    wanted, codes = split_names(columns), split_names(missing_codes)
    if Path(file).exists() or Path(file).suffix:
        return dtstat.read_survey(file, missing_codes=codes, columns=wanted)
    if file not in DATASETS:
        raise InputError(f"There is no file and no data set '{file}'. {nearest(file, DATASETS)}")
    with resources.as_file(resources.files("dtstat.data") / "files" / f"{file}.csv") as shipped:
        return dtstat.read_survey(shipped, missing_codes=codes, columns=wanted)


def answers_or_matrix(
    file: str,
    *,
    matrix: bool,
    n_obs: int | None,
    measure: str | None,
    missing: str | None,
    columns: str | None,
    missing_codes: str | None,
) -> pd.DataFrame | dtstat.DependenceMatrix:
    """Read what FILE holds; refuse options that do not go with it."""
    if not matrix:
        if n_obs is not None:
            raise InputError("--n-obs goes with --matrix only; the rows of answers are counted.")
        return answers(file, columns, missing_codes)
    for option, value in (("--missing", missing), ("--missing-codes", missing_codes)):
        if value is not None:
            raise InputError(f"{option} does not go with --matrix; it is about single answers.")
    held = "pearson" if measure is None else measure
    return read_matrix(file, n_obs, held, split_names(columns))


def split_names(text: str | None) -> list[str] | None:
    """Cut a list at its commas."""
    return [name.strip() for name in text.split(",")] if text else None


def parse_thresholds(text: str) -> Thresholds:
    """Thresholds as :func:`dtstat.solution_path` takes them."""
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


def model_text(model: str) -> str:
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
