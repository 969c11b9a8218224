"""From one column of a table to numbers, whatever the column is made of."""

from __future__ import annotations

import datetime
import math
import numbers
import re
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from dtstat.checks import LARGEST_WHOLE
from dtstat.errors import InputError, shown

_LONGEST_NUMBER = 1_000  # characters; more digits than any number has, and long texts take long
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_DATES = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    pd.Period,
    np.datetime64,
    np.timedelta64,
)
_HOW_TO_CODE = "Code the answers as numbers, make it an ordered categorical, or leave it out."


class NumberColumn(NamedTuple):
    """The numbers of one column, and whether the column said that its values are ordered levels."""

    values: NDArray[np.float64]
    ordered: bool


class ParsedCells(NamedTuple):
    """Numbers of a column cell by cell; ``refused`` marks cells neither missing nor a number."""

    values: NDArray[np.float64]
    refused: NDArray[np.bool_]


@lru_cache(maxsize=4096)  # surveys repeat a few answers many times
def parse_number(text: str, decimal_comma: bool = False) -> float | None:
    """Read a number as people write it, or return None.

    Stricter than ``float``: "1_000", "inf" and "nan" are text here.

    Examples
    --------
    >>> parse_number(" 2.5 "), parse_number("2,5"), parse_number("2,5", decimal_comma=True)
    (2.5, None, 2.5)
    """
    text = text.strip()
    if len(text) > _LONGEST_NUMBER:
        return None
    if decimal_comma and _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    return float(text) if _NUMBER.fullmatch(text) else None


def parse_cells(column: pd.Series[Any], decimal_comma: bool = False) -> ParsedCells:
    """Turn the cells of a text or object column into numbers where they are numbers."""
    cells = column.tolist()
    values = np.full(len(cells), np.nan)
    refused = np.zeros(len(cells), dtype=bool)
    for row, cell in enumerate(cells):
        number = _cell_number(cell, decimal_comma)
        if number is None:
            refused[row] = True
        else:
            values[row] = number
    return ParsedCells(values, refused)


def column_numbers(column: pd.Series[Any], item: str) -> NumberColumn:
    """Convert one column to floats, with NaN for missing cells.

    Numbers and booleans are taken as they are; an ordered categorical gives its numbers when its
    categories are increasing numbers and the level codes 0, 1, ... otherwise; text is accepted
    when every cell that is not missing is a number.

    Raises
    ------
    InputError
        When the column holds text, dates, complex numbers or anything but one number per cell.
    """
    dtype = column.dtype
    if types.is_complex_dtype(dtype):
        raise _refusal(f"item '{item}' holds complex numbers; answers must be real.")
    if types.is_numeric_dtype(dtype) or types.is_bool_dtype(dtype):
        check_whole(column, item)
        return NumberColumn(column.to_numpy(dtype=np.float64, na_value=np.nan), ordered=False)
    if isinstance(dtype, pd.CategoricalDtype):
        return _categorical_numbers(column, item)
    if types.is_object_dtype(dtype) or types.is_string_dtype(dtype):
        return NumberColumn(_all_numbers(column, item), ordered=False)
    raise _refusal(
        f"item '{item}' holds {'dates or times' if _is_time(dtype) else 'values'} of type {dtype}; "
        "answers must be numbers."
    )


def check_whole(column: pd.Series[Any], item: str) -> None:
    """Refuse whole numbers of which some have no float, so that different ones become equal."""
    if not types.is_integer_dtype(column.dtype) or not len(column):
        return
    large = ((column > LARGEST_WHOLE) | (column < -LARGEST_WHOLE)).fillna(False).to_numpy(bool)
    if large.any():
        row = int(np.argmax(large))
        raise _too_many_digits(int(column.iloc[row]), row + 1, item)


def _too_many_digits(number: object, row: int, item: str) -> InputError:
    return InputError(
        f"item '{item}' holds {shown(number)} in row {row}; whole numbers beyond {LARGEST_WHOLE} "
        "cannot be told apart in computing. Leave the item out if it is a number of identity, or "
        "measure it in other units.",
        argument="data",
    )


def _categorical_numbers(column: pd.Series[Any], item: str) -> NumberColumn:
    if not column.cat.ordered:
        return NumberColumn(_all_numbers(column.astype(object), item), ordered=False)
    codes = column.cat.codes.to_numpy()
    levels, refused = parse_cells(pd.Series(column.cat.categories, dtype=object))
    # Numbers that do not increase would contradict the order the user declared.
    if refused.any() or np.isnan(levels).any() or (np.diff(levels) <= 0).any():
        levels = np.arange(len(levels), dtype=np.float64)
    values = np.full(len(codes), np.nan)
    values[codes >= 0] = levels[codes[codes >= 0]]
    return NumberColumn(values, ordered=True)


def _all_numbers(column: pd.Series[Any], item: str) -> NDArray[np.float64]:
    values, refused = parse_cells(column)
    if refused.any():
        row = int(np.argmax(refused))
        raise _cell_refusal(column.iloc[row], row + 1, item)
    _check_large_cells(column, values, item)
    return values


def _check_large_cells(column: pd.Series[Any], values: NDArray[np.float64], item: str) -> None:
    """Refuse cells that are whole numbers, or texts of them, and have no float of their own."""
    with np.errstate(invalid="ignore"):
        large = np.flatnonzero((np.abs(values) >= LARGEST_WHOLE) & np.isfinite(values))
    for row in large.tolist():
        cell = column.iloc[row]
        text = cell.strip() if isinstance(cell, str) else cell
        whole = isinstance(text, numbers.Integral) or (
            isinstance(text, str) and _WHOLE.fullmatch(text)
        )
        if whole and int(text) != int(values[row]):
            raise _too_many_digits(cell, row + 1, item)


def _cell_number(cell: Any, decimal_comma: bool) -> float | None:
    if isinstance(cell, str):
        return parse_number(cell, decimal_comma)
    # Plain types first: the check against the abstract class is slow.
    if isinstance(cell, float | int | numbers.Real | Decimal | np.bool_):
        return _as_float(cell)
    return float("nan") if types.is_scalar(cell) and pd.isna(cell) else None


def _as_float(number: Any) -> float | None:
    """Return a number as a float, infinity (which is refused later) if it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    except ValueError:  # a signalling NaN of Decimal
        return math.nan


def _cell_refusal(cell: Any, row: int, item: str) -> InputError:
    if isinstance(cell, str):
        return _refusal(f"item '{item}' holds text: {shown(cell)} in row {row}.")
    if isinstance(cell, _DATES):
        return _refusal(f"item '{item}' holds dates or times: {cell} in row {row}.")
    if isinstance(cell, complex):
        return _refusal(f"item '{item}' holds complex numbers: {cell} in row {row}.")
    return _refusal(
        f"item '{item}' must hold one number per cell; got a {type(cell).__name__} in row {row}."
    )


def _is_time(dtype: Any) -> bool:
    return (
        types.is_datetime64_any_dtype(dtype)
        or types.is_timedelta64_dtype(dtype)
        or isinstance(dtype, pd.PeriodDtype)
    )


def _refusal(what: str) -> InputError:
    return InputError(f"{what} {_HOW_TO_CODE}", argument="data")
