"""What the commands share: options and their defaults, reading of input, writing of results.

Csv files are often opened in a spreadsheet, which takes a text that begins with =, +, -, @, a tab
or a carriage return for a formula and runs it. Item names come from anybody's file, so such texts
get an apostrophe in front (``'=cmd()``), which spreadsheets take as "this is text". Numbers
and lavaan's operators stay as they are. JSON, lavaan and saved files hold names unchanged.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

import dtstat
from dtstat.core import checks
from dtstat.core.about import __version__
from dtstat.core.arrays import FloatArray
from dtstat.core.errors import InputError, nearest
from dtstat.core.files import FileKind, check_ending, write
from dtstat.data.checks import check_names
from dtstat.data.columns import choose_columns, parse_number
from dtstat.data.datasets import DATASETS, data_folder
from dtstat.data.formats import NA_TEXTS, SEPARATORS
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.fit.request import FitRequest
from dtstat.path.solution_path import Thresholds

# A measure that is not given is None until it is known whether FILE holds answers or a matrix.
MATRIX_MEASURE = "pearson"
RESAMPLES = 200  # of dtstat.diagnose

_OPERATORS = ("=~", "==")  # of lavaan, in columns of operators; they compute nothing
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


CSV = FileKind("a table of comma-separated values", (".csv", ".txt"))
JSON = FileKind("JSON", (".json", ".txt"))
LAVAAN = FileKind("a model in lavaan's syntax", (".lav", ".txt", ".r"))
PAGE = FileKind("an HTML page", (".html", ".htm"))
SAVED = FileKind("a saved result", (".dtstat", ".zip"))
_KINDS = {
    **dict.fromkeys(("--csv", "--candidates", "--scores", "--curves", "OUT"), CSV),
    "--json": JSON,
    "--lavaan": LAVAAN,
    "--output": PAGE,
    "--save": SAVED,
}

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
        show_default=f"{FitRequest.measure}; with --matrix {MATRIX_MEASURE}",
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
        help="Rows with missing answers: pairwise, listwise or error.",
        show_default=FitRequest.missing,
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
Jobs = Annotated[int | None, typer.Option(help="Workers in parallel; -1 for all cores.")]
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
    shipped = data_folder() / f"{file}.csv"
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
    held = MATRIX_MEASURE if measure is None else measure
    return read_matrix(file, n_obs, held, split_names(columns))


def read_matrix(
    file: str, n_obs: int | None, measure: str, columns: Sequence[str] | None
) -> DependenceMatrix:
    """Read a symmetric matrix, or one triangle of it, and keep the chosen items.

    The first row holds the item names; so may a first column, with or without a name of its own.
    """
    names, R = _read_square(file)
    frame = pd.DataFrame(R, index=names, columns=names)
    chosen = set(choose_columns(names, columns))
    kept = [name for name in names if name in chosen]  # in the order of the file, as a triangle is
    return DependenceMatrix.from_matrix(frame.loc[kept, kept], n_obs, measure)


def _read_square(file: str) -> tuple[list[str], FloatArray]:
    """Item names and numbers as they stand in the file."""
    text = _read_text(file)
    separator = max(SEPARATORS, key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    header, *rows = ([cell.strip() for cell in row] for row in reader if row)
    names, row_names, rows = _separate_names(header, rows)
    width = max((len(names), *map(len, rows)))
    if not len(rows) == width == len(names):
        raise InputError(
            f"'{file}' must hold a square matrix below a row of item names; got {len(rows)} rows "
            f"and {width} columns. For answers leave out --matrix."
        )
    check_names(names)
    for k, (row_name, name) in enumerate(zip(row_names, names, strict=True), start=1):
        if row_name != name:
            raise InputError(
                f"Rows and columns of '{file}' must be the same items in the same order; "
                f"row {k} is '{row_name}', column {k} is '{name}'."
            )
    R = np.full((len(names), len(names)), math.nan)  # rows of a triangle may end early
    for i, row in enumerate(rows):
        R[i, : len(row)] = [_number(cell, separator != ",", file, names[i]) for cell in row]
    return names, R


def _read_text(file: str) -> str:
    if not Path(file).is_file():
        raise InputError(f"With --matrix FILE must be a csv file; there is no file '{file}'.")
    try:
        text = Path(file).read_text(encoding="utf-8-sig").strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read the matrix '{file}': {error}. Save it as csv.") from None
    if not text.strip():
        raise InputError(f"'{file}' is empty; a matrix was expected.")
    return text


def _separate_names(
    header: list[str], rows: list[list[str]]
) -> tuple[list[str], list[str], list[list[str]]]:
    """Names of columns, names of rows, and what is left of the rows."""
    if max(map(len, rows), default=0) == len(header) + 1:  # R leaves out the corner
        header = ["", *header]
    # A number in the corner of a table with a column too many: the first row holds no names.
    corner_is_name = len(header) == len(rows) + 1 and parse_number(header[0]) is None
    if header[0] == "" or corner_is_name:
        return header[1:], [row[0] for row in rows], [row[1:] for row in rows]
    return header, header, rows


def _number(cell: str, decimal_comma: bool, file: str, name: str) -> float:
    number = math.nan if cell in NA_TEXTS else parse_number(cell, decimal_comma)
    if number is None:
        raise InputError(f"'{file}' must hold numbers; got '{cell}' in the row of '{name}'.")
    return number


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


def parse_numbers(name: str, text: str | None) -> list[float]:
    """Read numbers separated by commas."""
    try:
        return [float(part) for part in split_names(text) or ()]
    except ValueError:
        raise InputError(f"--{name} must be numbers separated by commas; got '{text}'.") from None


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


def check_outputs(
    outputs: Mapping[str, Path | None],
    force: bool,
    inputs: Iterable[str | None] = (),
    resumed: Mapping[str, Path | None] | None = None,
) -> None:
    """Refuse, before any work is done, files that cannot or must not be written.

    No file that is read is written, and no file is written twice, whatever ``force`` says; any
    other file that exists is written only with it. Files are the same if the system says so,
    under whatever name.

    Parameters
    ----------
    outputs
        Files to write, by option; None for those that are not wanted.
    force
        Whether files that exist may be replaced.
    inputs
        What is read, if it is a file.
    resumed
        Files that are added to, which check for themselves that they are theirs.
    """
    wanted = {option: file for option, file in outputs.items() if file is not None}
    added = {option: file for option, file in (resumed or {}).items() if file is not None}
    for option, file in (wanted | added).items():
        checks.writable(file)
        if option in _KINDS:
            check_ending(file, _KINDS[option])
        for read in inputs:
            if read is not None and _is_same_file(file, Path(read)):
                raise InputError(f"{option} must not be a file that is read; got '{file}'.")
    for (option, file), (other, second) in itertools.combinations((wanted | added).items(), 2):
        if _is_same_file(file, second):
            raise InputError(f"{option} and {other} must be two files; got '{file}' for both.")
    for option, file in wanted.items():
        if file.is_file() and not force:
            raise InputError(f"{option}: '{file}' exists. Give --force to replace it.")


def _is_same_file(one: Path, other: Path) -> bool:
    """Whether two names are those of one file, now or when it is written."""
    try:
        if one.exists() and other.exists():
            return one.samefile(other)
        return one.resolve() == other.resolve()
    except (OSError, ValueError, RuntimeError):  # an input that is a text, or a loop of links
        return False


def write_csv(frame: pd.DataFrame, file: Path) -> None:
    """Write a table whose texts no spreadsheet takes for formulas."""
    safe = frame.rename(columns=lambda name: _defuse(str(name)))
    for k, kind in enumerate(safe.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            safe.isetitem(k, [_defuse(cell) for cell in safe.iloc[:, k].tolist()])
    write_text(file, safe.to_csv(index=False))


def write_text(file: Path, text: str) -> None:
    """Write a text, whole or not at all; what cannot be written ends with a sentence."""
    write(file, text.encode("utf-8", errors="replace"))


def _defuse(cell: object) -> object:
    """Put an apostrophe before what a spreadsheet would compute."""
    if not isinstance(cell, str) or cell in _OPERATORS or not cell.startswith(_FORMULA):
        return cell
    return f"'{cell}"


def write_json(file: Path, call: Mapping[str, object], content: Mapping[str, object]) -> None:
    """Write results below the version of dtstat and what was asked for."""
    document = {"dtstat": __version__, "call": call, **content}
    write_text(file, json.dumps(document, indent=1, allow_nan=False))


def finite_or_none(value: object) -> object:
    """Value that JSON knows: numbers that do not exist are null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
