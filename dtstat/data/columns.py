"""Columns of a table: choosing them, blanking missing codes, and turning them into numbers."""

from __future__ import annotations

import datetime
import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from dtstat.core import checks
from dtstat.core.checks import LARGEST_WHOLE
from dtstat.core.errors import InputError, nearest, shown
from dtstat.data.formats import NA_TEXTS, Code, reading_with

Codes = Code | Iterable[Code]
MissingCodes = Codes | Mapping[str, Codes] | None

_ROWS = 1 << 16  # of a table, read at a time
_LONGEST_NUMBER = 1_000  # characters; more digits than any number has, and long texts take long
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"([+-]?\d+)([.,]0*)?")
_RANGE = re.compile(r"(.*?)(\d{1,9})\s*[-–:]\s*(.*?)(\d{1,9})")
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


def table_numbers(
    frame: pd.DataFrame, names: Sequence[str]
) -> tuple[NDArray[np.float64], Sequence[bool]]:
    """Values of a table, and which columns said that theirs are ordered levels."""
    kinds = list(frame.dtypes)
    if all(isinstance(kind, np.dtype) and kind.kind in "fiub" for kind in kinds):
        values = _float_table(frame)
        long = [kind.kind in "iu" and kind.itemsize == 8 for kind in kinds]
        largest = np.maximum(values.max(axis=0), -values.min(axis=0))
        if (largest[long] >= LARGEST_WHOLE).any():
            for name, (_, column) in zip(names, frame.items(), strict=True):
                check_whole(column, name)
        return values, [False] * len(names)
    columns = [column_numbers(c, name) for name, (_, c) in zip(names, frame.items(), strict=True)]
    values = np.column_stack([column.values for column in columns])
    return values, [column.ordered for column in columns]


def _float_table(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Numbers of a table, row after row in memory; long tables in blocks, which caches hold."""
    values = np.empty(frame.shape)
    for start in range(0, len(frame), _ROWS):
        values[start : start + _ROWS] = frame.iloc[start : start + _ROWS].to_numpy(np.float64)
    return values


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
    is_time = types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype)
    what = "dates or times" if is_time or isinstance(dtype, pd.PeriodDtype) else "values"
    raise _refusal(f"item '{item}' holds {what} of type {dtype}; answers must be numbers.")


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
        "cannot be told apart when computed with. Leave the item out if it identifies people, or "
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
        levels = np.arange(1.0, len(levels) + 1)
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
        whole = _whole_number(cell)
        if whole is not None and whole != int(values[row]):
            raise _too_many_digits(cell, row + 1, item)


def _whole_number(cell: Any) -> int | None:
    """Return the whole number that a cell says to the last digit; None if it says none."""
    if isinstance(cell, str):
        match = _WHOLE.fullmatch(cell.strip())
        return int(match[1]) if match else None
    if isinstance(cell, numbers.Rational | Decimal) and cell == int(cell):  # type: ignore[arg-type]
        return int(cell)  # type: ignore[arg-type]
    return None


def _cell_number(cell: Any, decimal_comma: bool) -> float | None:
    if isinstance(cell, str):
        return parse_number(cell, decimal_comma)
    # Plain types first: the check against the abstract class is slow.
    if isinstance(cell, float | int | numbers.Real | Decimal | np.bool_):
        return _as_float(cell)
    return float("nan") if types.is_scalar(cell) and pd.isna(cell) else None


def is_date(cell: Any) -> bool:
    """Whether a cell is a date, a time, or a stretch of time."""
    return isinstance(cell, _DATES)


def _as_float(number: Any) -> float | None:
    """Return a number as a float, infinity (which is refused later) if it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    except ValueError:  # a signaling NaN of Decimal
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


def _refusal(what: str) -> InputError:
    return InputError(f"{what} {_HOW_TO_CODE}", argument="data")


@dataclass(frozen=True, slots=True)
class CodeSet:
    """Missing codes of one item: what to compare with numbers, and what with text."""

    numbers: frozenset[float] = frozenset()
    texts: frozenset[str] = frozenset()

    def __contains__(self, code: object) -> bool:
        return code in (self.texts if isinstance(code, str) else self.numbers)


def choose_columns(
    names: Sequence[str], wanted: str | Iterable[str] | None, argument: str = "columns"
) -> list[str]:
    """Resolve names, patterns and ranges to column names, in the order they were asked for.

    A text may hold several, separated by commas; "C1-C5" are the columns C1 to C5 by their numbers,
    "A1-O5", of other names, all columns from A1 to O5 as they stand in the file.
    A name that is just so in the file is that column, whatever else it could mean.

    Examples
    --------
    >>> choose_columns(["id", "q1", "q2", "age"], "age, q*")
    ['age', 'q1', 'q2']
    >>> choose_columns(["C1", "C1_time", "C2", "C3"], "C1-C2")
    ['C1', 'C2']
    """
    if wanted is None:
        return list(names)
    given = checks.texts(argument, wanted, f'Give names or patterns: {argument}="A*, C1-C5".')
    pieces = [piece for text in given for piece in _pieces(names, text)]
    chosen = dict.fromkeys(name for one in pieces for name in _matches(names, one, argument))
    if not chosen:
        raise InputError(
            f"`{argument}` must name at least one column; got an empty list. Leave it out"
            + (" to read all columns." if argument == "columns" else "."),
            argument=argument,
        )
    return list(chosen)


def _pieces(names: Sequence[str], text: str) -> list[str]:
    if text in names:
        return [text]
    return [piece.strip() for piece in text.split(",") if piece.strip()]


def _matches(names: Sequence[str], pattern: str, argument: str) -> list[str]:
    if pattern in names:
        return [pattern]
    matches = [name for name in names if fnmatchcase(name, pattern)]
    matches = matches or _range(names, pattern) or _stretch(names, pattern)
    if not matches:
        raise InputError(
            f"`{argument}` must match columns of the file; got '{pattern}'. "
            f"{nearest(pattern, names)}",
            argument=argument,
        )
    return matches


def _range(names: Sequence[str], pattern: str) -> list[str]:
    """Columns from one number to another; none if an end is not in the file."""
    ends = _RANGE.fullmatch(pattern)
    if ends is None:
        return []
    stem, first, other, last = ends.groups()
    if other not in (stem, "") or not {stem + first, stem + last} <= set(names):
        return []
    numbered = (re.fullmatch(re.escape(stem) + r"(\d{1,9})", name) for name in names)
    low, high = sorted((int(first), int(last)))
    return [match[0] for match in numbered if match and low <= int(match[1]) <= high]


def _stretch(names: Sequence[str], pattern: str) -> list[str]:
    """Columns from one to another in the order of the file; none if an end is not in it."""
    for dash in re.finditer("-", pattern):
        ends = [pattern[: dash.start()].strip(), pattern[dash.end() :].strip()]
        if set(ends) <= set(names):
            low, high = sorted(map(list(names).index, ends))
            return list(names[low : high + 1])
    return []


def resolve_codes(missing_codes: MissingCodes, names: Sequence[str]) -> dict[str, CodeSet]:
    """Sort out which missing codes hold for which item.

    A text that is a number, such as "99", stands for the number as well.
    """
    if missing_codes is None:
        return {}
    if not isinstance(missing_codes, Mapping):
        return dict.fromkeys(names, _code_set(missing_codes))
    for item in missing_codes:
        if item not in names:
            raise InputError(
                f"`missing_codes` must name columns of the file; got '{item}'. "
                f"{nearest(str(item), names)}",
                argument="missing_codes",
            )
    return {item: _code_set(codes) for item, codes in missing_codes.items()}


def clean_column(
    column: pd.Series[Any], item: str, codes: CodeSet, decimal_comma: bool
) -> pd.Series[Any]:
    """Blank the missing codes of one column and make it numeric if its answers are numbers.

    Raises
    ------
    InputError
        When some answers are numbers and others are text.
    """
    if types.is_numeric_dtype(column.dtype):
        return _numeric(column.mask(column.isin(codes.numbers)) if codes.numbers else column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        dropped = [category for category in column.cat.categories if category in codes]
        return column.cat.remove_categories(dropped)
    if types.is_object_dtype(column.dtype) or types.is_string_dtype(column.dtype):
        return _clean_text(column, item, codes, decimal_comma)
    return column


def _numeric(column: pd.Series[Any]) -> pd.Series[Any]:
    if not types.is_bool_dtype(column.dtype):
        return column
    return pd.Series(column_numbers(column, str(column.name)).values, index=column.index)


def _clean_text(
    column: pd.Series[Any], item: str, codes: CodeSet, decimal_comma: bool
) -> pd.Series[Any]:
    values, refused = parse_cells(column, decimal_comma)
    missing = _missing_cells(column, values, codes)
    refused = refused & ~missing
    values[missing] = np.nan
    if not refused.any():
        _check_large_cells(column, values, item)
        return pd.Series(values, index=column.index, name=column.name)
    if not np.isnan(values).all():
        row = int(np.argmax(refused))
        cell = column.iloc[row]
        if isinstance(cell, _DATES):
            raise InputError(
                f"item '{item}' mixes numbers with dates or times; got {cell} in row {row + 1}. "
                "Excel makes dates of answers such as 1-2: format the column as text before they "
                f"are entered, or leave the item out with {reading_with('drop', item)}.",
                argument="path",
            )
        raise InputError(
            f"item '{item}' mixes numbers with text; got {shown(cell)} in row "
            f"{row + 1}. Leave the item out with {reading_with('drop', item)}, or list the text in "
            "`missing_codes` if it means that the answer is missing.",
            argument="path",
        )
    return column.mask(missing)


def _missing_cells(
    column: pd.Series[Any], values: NDArray[np.float64], codes: CodeSet
) -> NDArray[np.bool_]:
    texts = {*NA_TEXTS, *codes.texts}
    as_text = [isinstance(cell, str) and cell.strip() in texts for cell in column.tolist()]
    return np.array(as_text, dtype=bool) | np.isin(values, list(codes.numbers))


def _code_set(codes: Codes) -> CodeSet:
    if isinstance(codes, str | bytes) or not isinstance(codes, Iterable) or checks.is_scalar(codes):
        codes = [codes]  # type: ignore[list-item]
    given = list(codes)
    texts = frozenset(code.strip() for code in given if isinstance(code, str))
    numbers = [_code_number(code) for code in given]
    return CodeSet(frozenset(n for n in numbers if n is not None and not math.isnan(n)), texts)


def _code_number(code: Code) -> float | None:
    if isinstance(code, str):
        return parse_number(code)
    try:
        return float(code)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"`missing_codes` must hold numbers and text; got {shown(code)}. "
            "For example missing_codes=[99, 'refused'].",
            argument="missing_codes",
        ) from None
