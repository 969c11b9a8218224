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
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import numpy as np
import pandas as pd
import typer

import dtstat
from dtstat.core import checks
from dtstat.core.about import __version__
from dtstat.core.arrays import FloatArray
from dtstat.core.checks import Thresholds
from dtstat.core.errors import DTError, InputError, nearest
from dtstat.core.files import FileKind, check_ending, write
from dtstat.data.checks import check_names
from dtstat.data.columns import choose_columns, parse_number
from dtstat.data.datasets import DATASETS, data_folder, item_texts
from dtstat.data.formats import NA_TEXTS, SEPARATORS
from dtstat.dependence.compute import Missing
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.fit.request import FitRequest

# A measure that is not given is None until it is known whether FILE holds answers or a matrix.
MATRIX_MEASURE = "pearson"
RESAMPLES = 200  # of dtstat.diagnose
PATH_CHILDREN = 3  # of dtstat.solution_path

_READING = re.compile(r"read_survey\(path, (drop|aside)=\[(['\"])(.*?)\2\]\)")
_LEVELS = re.compile(r'levels=\{".*?": \[(.*?)\]\}')
_OPERATORS = ("=~", "==")  # of lavaan, in columns of operators; they compute nothing
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


CSV = FileKind("a table of comma-separated values", (".csv", ".txt"))
JSON = FileKind("JSON", (".json", ".txt"))
LAVAAN = FileKind("a model in lavaan's syntax", (".lav", ".txt", ".r"))
PAGE = FileKind("an HTML page or a Word document", (".html", ".htm", ".docx"))
SAVED = FileKind("a saved result", (".dtstat", ".zip"))
_KINDS = {
    **dict.fromkeys(("--csv", "--candidates", "--scores", "--curves", "--people", "OUT"), CSV),
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
    typer.Option(help="Items to use: names, patterns and ranges, as in 'A*, C1-C5, age'."),
]
MissingCodes = Annotated[
    str | None,
    typer.Option(help="Values that mean 'no answer', separated by commas, as in '-9,99'."),
]
Drop = Annotated[str | None, typer.Option(help="Columns to leave out, written as --columns.")]
Id = Annotated[
    str | None,
    typer.Option("--id", help="Column that says whose answers they are; scores carry it."),
]
Aside = Annotated[
    str | None,
    typer.Option(help="Columns that are no items, such as 'age,gender', written as --columns."),
]
SheetName = Annotated[
    str | None,
    typer.Option(help="Sheet of an xlsx file: its name or its number.", show_default="the first"),
]
LevelTexts = Annotated[
    str | None,
    typer.Option(help="Answers that are texts, from low to high, separated by commas."),
]
Labels = Annotated[
    str | None,
    typer.Option(
        help="Texts of the items: a codebook (a file with a column 'item' and a column 'text')."
    ),
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
NFactors = Annotated[
    int | None,
    typer.Option(help="Number of factors, if it is known.", show_default="what the data say"),
]
SearchName = Annotated[
    str,
    typer.Option(
        help="tree (every factor has its own threshold, factors are joined down to one), threshold "
        "(one for all factors) or sequential (the tree, then factors that others hide)."
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


_FIT_OPTIONS = (*FitRequest().arguments(), "n_obs")


class Reading(NamedTuple):
    """How to read FILE, as the options say it."""

    columns: str | None = None
    missing_codes: str | None = None
    drop: str | None = None
    id: str | None = None
    aside: str | None = None
    sheet: str | None = None
    levels: str | None = None
    labels: str | None = None

    def arguments(self) -> dict[str, Any]:
        """Arguments of :func:`dtstat.read_survey`."""
        given = self._asdict()
        lists = {name: split_names(given[name]) for name in ("missing_codes", "levels")}
        number = self.sheet is not None and self.sheet.isdecimal()
        return {**given, **lists, "sheet": int(self.sheet or 0) if number else self.sheet}

    def keeping(self, *columns: str | None) -> Reading:
        """Keep columns that other options name aside, too."""
        named = [name for name in columns if name is not None]
        return self._replace(aside=",".join([*filter(None, [self.aside]), *named]) or None)

    def in_json(self) -> dict[str, object]:
        """Return what was asked for, without what was not."""
        always = {"columns": split_names(self.columns), "missing_codes": None}
        asked = {name: value for name, value in self.arguments().items() if value is not None}
        return {**always, **asked, "columns": always["columns"]}


# Arguments of Python that the shell calls otherwise than by their names.
_CALLED = {"path": "FILE", "data": "FILE", "threshold": "--at", "p": "--items", "n_jobs": "--jobs"}


@contextmanager
def shell_words() -> Iterator[None]:
    """Say what dtstat.fit refuses in the words of the shell."""
    try:
        yield
    except DTError as error:
        raise DTError(fit_in_shell(str(error))) from None


def fit_in_shell(message: str) -> str:
    """Name the arguments of a fit as options: `n_factors` is --n-factors."""
    calls = re.compile(r"\bfit\(data, ((?:\w+='\w+'(?:, )?)+)\)")
    message = calls.sub(lambda call: call[1].replace(", ", " "), message)
    for name in _FIT_OPTIONS:
        message = re.sub(rf"\b{name}='(\w+)'", rf"{option_name(name)} \1", message)
    message = message.replace("fit.level(k)", "--n-factors")
    return in_shell(message)


def in_shell(message: str) -> str:
    """Say a message of Python in the words of the shell."""
    codes = r"(?:pass|(?:correct, or )?read(?: the file)? with) missing_codes=\[([^\]]*)\]"
    message = re.sub(codes + "(, or replace it by NaN)?", r"give --missing-codes=\1", message)
    moments = r"For \w+ use DependenceMatrix[.]from_matrix[(]matrix, n_obs[)]"
    message = re.sub(moments, "Give --matrix and --n-obs", message)
    message = _READING.sub(lambda call: f"--{call[1]} {shlex.quote(call[3])}", message)
    message = _LEVELS.sub(lambda levels: "--levels " + levels[1].replace('"', ""), message)
    return re.sub(r"`([a-z_]+)`", lambda argument: option_name(argument[1]), message)


def option_name(argument: str) -> str:
    """Return the option that stands for an argument of Python."""
    return _CALLED.get(argument, "--" + argument.replace("_", "-"))


def with_ids(frame: pd.DataFrame) -> pd.DataFrame:
    """Put ids, which are the index of a table, into columns."""
    return frame.reset_index() if any(frame.index.names) else frame


def answers(file: str, reading: Reading) -> pd.DataFrame:
    """Read answers from a file, or from a data set that comes with dtstat."""
    if Path(file).exists() or Path(file).suffix:
        return dtstat.read_survey(file, **reading.arguments(), progress=sys.stderr.isatty())
    if file not in DATASETS:
        raise InputError(f"There is no file and no data set '{file}'. {nearest(file, DATASETS)}")
    shipped = dtstat.read_survey(data_folder() / f"{file}.csv", **reading.arguments())
    texts = item_texts(file)
    shipped.attrs["item_texts"] = {
        **{name: texts[name] for name in shipped if name in texts},
        **shipped.attrs.get("item_texts", {}),
    }
    return shipped


def read_input(
    file: str,
    matrix: bool,
    n_obs: int | None,
    measure: str | None,
    missing: str | None,
    reading: Reading,
) -> tuple[pd.DataFrame | DependenceMatrix, str, Missing]:
    """Read what FILE holds, refuse options that do not go with it, and settle the others.

    Returns
    -------
    data, measure, missing
        As :func:`dtstat.fit` takes them.
    """
    settled = FitRequest.missing if missing is None else cast(Missing, missing)
    if not matrix:
        if n_obs is not None:
            raise InputError("--n-obs applies only with --matrix; the rows of answers are counted.")
        measured = FitRequest.measure if measure is None else measure
        return answers(file, reading), measured, settled
    about_answers = {**reading._asdict(), "missing": missing}
    for name in ("missing", "missing_codes", "id", "aside", "sheet", "levels"):
        if about_answers[name] is not None:
            option = option_name(name)
            raise InputError(f"{option} does not apply to --matrix; it is about single answers.")
    held = MATRIX_MEASURE if measure is None else measure
    return read_matrix(file, n_obs, held, reading.columns, reading.drop), held, settled


def read_matrix(
    file: str, n_obs: int | None, measure: str, columns: str | None, drop: str | None = None
) -> DependenceMatrix:
    """Read a symmetric matrix, or one triangle of it, and keep the chosen items.

    The first row holds the item names; so may a first column, with or without a name of its own.
    """
    names, R = _read_square(file)
    frame = pd.DataFrame(R, index=names, columns=names)
    dropped = choose_columns(names, drop, "drop") if drop else ()
    chosen = set(choose_columns(names, columns)).difference(dropped)
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
            return Path(model).read_text(encoding="utf-8-sig")
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


def as_records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Rows of a table as JSON knows them."""
    rows = frame.to_dict(orient="records")
    return [{str(key): finite_or_none(value) for key, value in row.items()} for row in rows]
