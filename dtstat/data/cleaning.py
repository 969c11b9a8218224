"""Choosing columns of a raw table, blanking missing codes, and turning text into numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from dtstat import checks
from dtstat.data.columns import column_numbers, parse_cells, parse_number
from dtstat.data.delimited import NA_TEXTS
from dtstat.data.raw import Code
from dtstat.errors import InputError, nearest, shown

Codes = Code | Iterable[Code]
MissingCodes = Codes | Mapping[str, Codes] | None


@dataclass(frozen=True, slots=True)
class CodeSet:
    """Missing codes of one item: what to compare with numbers, and what with text."""

    numbers: frozenset[float] = frozenset()
    texts: frozenset[str] = frozenset()

    def __contains__(self, code: object) -> bool:
        return code in (self.texts if isinstance(code, str) else self.numbers)


def choose_columns(names: Sequence[str], wanted: str | Iterable[str] | None) -> list[str]:
    """Resolve names and glob patterns to column names, in the order they were asked for.

    Examples
    --------
    >>> choose_columns(["id", "q1", "q2", "age"], ["age", "q*"])
    ['age', 'q1', 'q2']
    """
    if wanted is None:
        return list(names)
    patterns = checks.texts("columns", wanted, 'Give names or patterns such as "q*".')
    chosen = dict.fromkeys(name for pattern in patterns for name in _matches(names, pattern))
    if not chosen:
        raise InputError(
            "`columns` must name at least one column; got an empty list. "
            "Leave it out to read all columns.",
            argument="columns",
        )
    return list(chosen)


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
        return pd.Series(values, index=column.index, name=column.name)
    if not np.isnan(values).all():
        row = int(np.argmax(refused))
        raise InputError(
            f"item '{item}' mixes numbers with text; got {shown(column.iloc[row])} in row "
            f"{row + 1}. List the text in `missing_codes` if it means that the answer is missing, "
            "or leave the item out with `columns`.",
            argument="path",
        )
    return column.mask(missing)


def _missing_cells(
    column: pd.Series[Any], values: NDArray[np.float64], codes: CodeSet
) -> NDArray[np.bool_]:
    texts = {*NA_TEXTS, *codes.texts}
    as_text = [isinstance(cell, str) and cell.strip() in texts for cell in column.tolist()]
    return np.array(as_text, dtype=bool) | np.isin(values, list(codes.numbers))


def _matches(names: Sequence[str], pattern: str) -> list[str]:
    if pattern in names:
        return [pattern]
    matches = [name for name in names if fnmatchcase(name, pattern)]
    if not matches:
        raise InputError(
            f"`columns` must match columns of the file; got '{pattern}'. {nearest(pattern, names)}",
            argument="columns",
        )
    return matches


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
