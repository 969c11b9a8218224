"""Surveys from files: the format by the ending, then columns chosen and missing codes blanked."""

from __future__ import annotations

import importlib
import os
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.errors import DTError, InputError, foreign_warnings, nearest, shown
from dtstat.core.files import check_unpacked
from dtstat.data.checks import check_names
from dtstat.data.columns import CodeSet, MissingCodes, choose_columns, clean_column, resolve_codes
from dtstat.data.formats import (
    RawTable,
    ValueLabels,
    named_table,
    read_delimited,
    read_spss,
    read_stata,
    require,
    warn_of_missing_codes,
)
from dtstat.data.screening import suspected_codes, warn_of_codes


def read_survey(
    path: str | os.PathLike[str],
    missing_codes: MissingCodes = None,
    columns: str | Iterable[str] | None = None,
) -> pd.DataFrame:
    r"""Read the answers of a survey from a file.

    Use it when the file has missing codes such as 99, decimal commas, or SPSS or Stata labels;
    otherwise a path can be passed wherever dtstat takes data.

    Parameters
    ----------
    path
        File ending in .csv, .tsv, .txt (these also with .gz), .parquet, .xlsx, .sav, .zsav or
        .dta. Text files may be separated by commas, semicolons or tabs, the latter two with
        decimal commas, in utf-8 or cp1252. The first row holds the item names; a first column
        without a name holds row names and is left out. Empty cells and NA, N/A, NaN, nan, null
        and "." are missing. Of an .xlsx file the first sheet is read.
    missing_codes
        Answers that mean "missing", for all items or as a dict from item to codes. Numbers are
        compared as numbers, text as text: ``[99, "refused"]``. Codes declared missing in an
        SPSS or Stata file need not be repeated.
    columns
        Names or patterns such as "q*" of the columns to keep, in this order.

    Returns
    -------
    DataFrame
        Columns whose answers are all numbers are numeric, with NaN for missing; columns of text
        stay text. For SPSS and Stata files ``attrs["value_labels"]`` maps item to code to label,
        and ``attrs["item_texts"]`` maps item to question.

    Raises
    ------
    InputError
        When the file cannot be read, holds no rows, a column mixes numbers with text, or a number
        can be read in two ways: 1.234 in a file with decimal commas.
    MissingExtraError
        When the format needs a package that is not installed.

    Warns
    -----
    DataWarning
        When a labeled code looks like a missing answer and is not declared as one, or when an
        answer without a label looks like a code for a missing one: -9, 99, or 9 on a scale of 1 to
        5 (:mod:`dtstat.data.screening` has the rule).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "survey.csv"
    >>> _ = file.write_text("q1;q2\n1;2,5\n99;3,5\n")
    >>> read_survey(file, missing_codes=[99])
        q1   q2
    0  1.0  2.5
    1  NaN  3.5
    """
    frame = read_answers(path, missing_codes, columns)
    numbers = frame.select_dtypes("number").dropna(axis=1, how="all")
    if numbers.size:
        values, names = numbers.to_numpy(dtype=np.float64, na_value=np.nan), list(numbers.columns)
        labels = frame.attrs.get("value_labels")
        warn_of_codes(suspected_codes(values, names, labels))
    return frame


def read_answers(
    path: str | os.PathLike[str],
    missing_codes: MissingCodes = None,
    columns: str | Iterable[str] | None = None,
) -> pd.DataFrame:
    """Read a survey, as :func:`read_survey`, without looking for codes that have no label."""
    file = _check_path(path)
    raw = _read_raw(file)
    if not raw.frame.size:
        raise _no_rows(file, raw.frame.shape[1])
    names = list(raw.frame.columns)
    codes = resolve_codes(missing_codes, names)
    chosen = choose_columns(names, columns)
    for item in chosen:
        if item in raw.unclear:
            raise InputError(raw.unclear[item], argument="path")
    frame = pd.DataFrame(
        {
            item: clean_column(raw.frame[item], item, codes.get(item, CodeSet()), raw.decimal_comma)
            for item in chosen
        }
    )
    if raw.value_labels is not None:
        labels = _keep_labels(raw.value_labels, chosen, codes)
        warn_of_missing_codes(frame, labels)
        frame.attrs["value_labels"] = labels
        frame.attrs["item_texts"] = {k: raw.item_texts[k] for k in chosen if k in raw.item_texts}
    return frame


class _Format(NamedTuple):
    """How to read the files of one ending."""

    name: str
    read: Callable[[Path], RawTable]


def _read_excel(path: Path) -> RawTable:
    require("openpyxl", "Reading .xlsx files")
    with zipfile.ZipFile(path) as archive:
        check_unpacked(path.stat().st_size, sum(member.file_size for member in archive.infolist()))
    # openpyxl warns of styles and drop-down lists it does not keep; answers are unaffected.
    with foreign_warnings("ignore"):
        # Without a header pandas does not rename columns that occur twice.
        sheet = pd.read_excel(path, header=None, dtype=object, engine="openpyxl")
    if sheet.empty:
        raise _no_rows(path, 0)
    body = sheet.iloc[1:].reset_index(drop=True)
    return RawTable(named_table(body, sheet.iloc[0].tolist()))


def _read_parquet(path: Path) -> RawTable:
    require("pyarrow", "Reading .parquet files")
    about = importlib.import_module("pyarrow.parquet").read_metadata(path)
    # Equal answers take next to no room in the file, and eight bytes each in memory.
    checks.size("path", path.name, (about.num_rows, about.num_columns))
    frame = pd.read_parquet(path, engine="pyarrow").reset_index(drop=True)
    frame.columns = pd.Index([str(name) for name in frame.columns], dtype=object)
    check_names(list(frame.columns))
    return RawTable(frame)


_DELIMITED = _Format("delimited text", read_delimited)
_SPSS = _Format("an SPSS file", read_spss)
FORMATS: dict[str, _Format] = {
    ".csv": _DELIMITED,
    ".tsv": _DELIMITED,
    ".txt": _DELIMITED,
    ".csv.gz": _DELIMITED,
    ".tsv.gz": _DELIMITED,
    ".txt.gz": _DELIMITED,
    ".parquet": _Format("a Parquet file", _read_parquet),
    ".xlsx": _Format("an Excel workbook", _read_excel),
    ".sav": _SPSS,
    ".zsav": _SPSS,
    ".dta": _Format("a Stata file", read_stata),
}


def _read_raw(path: Path) -> RawTable:
    form = FORMATS[_ending(path)]
    try:
        return form.read(path)
    except (DTError, ImportError, MemoryError):
        raise
    except Exception as error:  # each library has its own errors for a damaged file
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"'{path.name}' cannot be read as {form.name}; got the error: {reason}. "
            "Check that the file is whole and that its ending is right.",
            argument="path",
        ) from error


def _ending(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


def _check_path(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            f"`path` must be the path of a file; got {type(path).__name__}. "
            "Answers that are in memory need no reading.",
            argument="path",
        )
    file = Path(path)
    _check_name(file)
    if file.is_dir():
        raise InputError(
            f"`path` must be a file; got the folder '{file}'. Name a file in it.", argument="path"
        )
    if not file.exists():
        raise _not_found(file)
    if not file.is_file():
        raise InputError(
            f"`path` must be a file; got '{file}', a device or a pipe, which may never end. Save "
            "what comes out of it first.",
            argument="path",
        )
    if _ending(file) not in FORMATS:
        raise InputError(
            f"`path` must end in one of {', '.join(FORMATS)}; got '{file.name}'. "
            "Save the data in one of these formats.",
            argument="path",
        )
    if file.stat().st_size == 0:
        raise InputError(
            f"'{file.name}' is empty; got 0 bytes. Export the data again.", argument="path"
        )
    return file


def _check_name(file: Path) -> None:
    """Refuse a name that the system cannot even look up."""
    try:
        file.stat()
    except FileNotFoundError:
        return  # refused later, with a suggestion
    except (OSError, ValueError) as error:  # too long, a null byte, no permission, no text
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"`path` must be a file that exists; got {shown(str(file))}: {why}. Check name and "
            "folder.",
            argument="path",
        ) from None


def _not_found(file: Path) -> InputError:
    if not file.parent.is_dir():
        advice = "There is no such folder either."
    else:
        neighbors = [p.name for p in file.parent.iterdir() if _ending(p) in FORMATS]
        advice = nearest(file.name, neighbors) if neighbors else "Check name and folder."
    return InputError(f"`path` must be a file that exists; got '{file}'. {advice}", argument="path")


def _no_rows(path: Path, n_columns: int) -> InputError:
    return InputError(
        f"'{path.name}' holds no answers; got 0 rows below a header of {n_columns} columns. "
        "Check the export.",
        argument="path",
    )


def _keep_labels(
    labels: ValueLabels, chosen: list[str], codes: dict[str, CodeSet]
) -> dict[str, dict[float | str, str]]:
    return {
        item: {
            code: label
            for code, label in labels[item].items()
            if code not in codes.get(item, CodeSet())
        }
        for item in chosen
        if item in labels
    }
