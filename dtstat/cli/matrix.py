"""Reading a dependence matrix, items by items, from a csv file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dtstat.arrays import FloatArray
from dtstat.data.checks import check_names
from dtstat.data.cleaning import choose_columns
from dtstat.data.columns import parse_number
from dtstat.data.delimited import NA_TEXTS, SEPARATORS
from dtstat.dependence import DependenceMatrix
from dtstat.errors import InputError


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
    names, row_names, rows = _split_names(header, rows)
    _check_square(file, names, rows)
    check_names(names)
    _check_same_names(file, row_names, names)
    R = np.full((len(names), len(names)), math.nan)  # rows of a triangle may end early
    for i, row in enumerate(rows):
        R[i, : len(row)] = [_number(cell, separator != ",", file, names[i]) for cell in row]
    return names, R


def _split_names(
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


def _check_square(file: str, names: list[str], rows: list[list[str]]) -> None:
    width = max((len(names), *map(len, rows)))
    if not len(rows) == width == len(names):
        raise InputError(
            f"'{file}' must hold a square matrix below a row of item names; got {len(rows)} rows "
            f"and {width} columns. For answers leave out --matrix."
        )


def _check_same_names(file: str, row_names: list[str], names: list[str]) -> None:
    for k, (row_name, name) in enumerate(zip(row_names, names, strict=True), start=1):
        if row_name != name:
            raise InputError(
                f"Rows and columns of '{file}' must be the same items in the same order; "
                f"row {k} is '{row_name}', column {k} is '{name}'."
            )


def _number(cell: str, decimal_comma: bool, file: str, name: str) -> float:
    number = math.nan if cell in NA_TEXTS else parse_number(cell, decimal_comma)
    if number is None:
        raise InputError(f"'{file}' must hold numbers; got '{cell}' in the row of '{name}'.")
    return number
