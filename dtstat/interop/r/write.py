"""From Python's values to R's: what is missing here is NA there, of the right type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from dtstat.arrays import BoolArray
from dtstat.data import ItemData
from dtstat.dependence import DependenceMatrix
from dtstat.errors import InputError
from dtstat.interop.r import session
from dtstat.interop.r.read import NA_INTEGER
from dtstat.results import DTFit
from dtstat.structure import Structure

_NA_REAL = np.uint64(0x7FF00000000007A2)  # the one of all NaN that R prints as NA
_LARGEST_INTEGER = 2**31 - 1
_LARGEST_EXACT = 2.0**53  # above, a double cannot tell whole numbers apart
_NUMBERS = {"integer", "floating", "mixed-integer-float"}
_ADVICE = "Give numbers, truth values, text or categories, or leave it out."

# Attributes are set one by one: data.frame() would change names and take the columns apart.
_FRAME = """
function(columns, names, rows) {
  names(columns) <- names
  attr(columns, "row.names") <- rows
  class(columns) <- "data.frame"
  columns
}
"""
_FACTOR = """
function(codes, levels, ordered) {
  structure(codes, levels = levels, class = c(if (ordered) "ordered", "factor"))
}
"""
_MATRIX = "function(x, dim, names) { dim(x) <- dim; dimnames(x) <- list(names, names); x }"
_PLAIN_MATRIX = "function(x, dim) { dim(x) <- dim; x }"
_NAMED = "function(x, names) { names(x) <- names; x }"


def write(value: Any) -> Any:
    """R value of a Python value, as an object of rpy2's lower interface."""
    if value is None:
        return session.interface().NULL
    if isinstance(value, ItemData | pd.DataFrame):
        return _frame(value if isinstance(value, pd.DataFrame) else value.to_frame())
    if isinstance(value, DependenceMatrix):
        return _matrix(value.values, value.names)
    if isinstance(value, Structure | DTFit):
        return write(value.to_keys())
    if isinstance(value, pd.Series):
        plain = isinstance(value.index, pd.RangeIndex)
        vector = _vector(value, "The series")
        return vector if plain else session.value(_NAMED, vector, _row_names(value.index))
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Mapping):
        return session.value(_NAMED, _list(value.values()), _texts(map(str, value)))
    return _sequence(value)


def _frame(frame: pd.DataFrame) -> Any:
    names = [str(name) for name in frame.columns]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"Column names must be distinct; '{twice}' occurs twice. Rename one.")
    columns = [_vector(frame.iloc[:, k], f"Column '{name}'") for k, name in enumerate(names)]
    listed = session.interface().ListSexpVector(columns)
    return session.value(_FRAME, listed, _texts(names), _row_names(frame.index))


def _row_names(index: pd.Index[Any]) -> Any:
    """R's row names; numbered by R itself if nobody named the rows."""
    if isinstance(index, pd.RangeIndex) and index.equals(pd.RangeIndex(len(index))):
        return _integers(np.array([NA_INTEGER, -len(index)]) if len(index) else np.empty(0))
    if isinstance(index, pd.MultiIndex) or not index.is_unique or index.hasnans:
        raise InputError(
            "Row names must be distinct in R, and none missing. Call reset_index(drop=True) first."
        )
    if types.is_integer_dtype(index.dtype) and np.abs(index.to_numpy()).max() <= _LARGEST_INTEGER:
        return _integers(index.to_numpy())
    return _texts(map(str, index))


def _array(values: NDArray[Any]) -> Any:
    if values.ndim == 1:
        return _vector(pd.Series(values), "The array")
    if values.ndim != 2:
        raise InputError(f"An array must have one or two dimensions; got {values.ndim}.")
    flat = _vector(pd.Series(values.ravel(order="F")), "The array")
    return session.value(_PLAIN_MATRIX, flat, _integers(np.array(values.shape)))


def _matrix(values: NDArray[Any], names: tuple[str, ...]) -> Any:
    flat, labels = _doubles(values.ravel(order="F")), _texts(names)
    return session.value(_MATRIX, flat, _integers(np.array(values.shape)), labels)


def _sequence(value: Any) -> Any:
    """R vector of a scalar or of scalars of one kind, R list of anything else."""
    cells = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    if not cells:
        return _list(cells)
    if all(cell is None or types.is_scalar(cell) for cell in cells):
        return _vector(pd.Series(cells, dtype=object), "The value")
    if cells[0] is value:
        raise InputError(f"A {type(value).__name__} has no counterpart in R. {_ADVICE}")
    return _list(cells)


def _list(cells: Any) -> Any:
    return session.interface().ListSexpVector([write(cell) for cell in cells])


def _vector(column: pd.Series[Any], what: str) -> Any:
    """R vector of a column, of the type that the column has."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _factor(column, what)
    seen = types.infer_dtype(column, skipna=True) if types.is_object_dtype(dtype) else ""
    if types.is_bool_dtype(dtype) or seen in {"boolean", "empty"}:
        return _logicals(column)
    if seen in _NUMBERS or (types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype)):
        whole = seen == "integer" or types.is_integer_dtype(dtype)
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return _whole_numbers(values, what) if whole else _doubles(values)
    if seen == "string" or (not seen and types.is_string_dtype(dtype)):
        return _texts(
            None if gap else text for text, gap in zip(column, column.isna(), strict=True)
        )
    raise InputError(f"{what} holds values of type {seen or dtype}, which R cannot take. {_ADVICE}")


def _factor(column: pd.Series[Any], what: str) -> Any:
    levels = [str(level) for level in column.cat.categories]
    if len(set(levels)) != len(levels):
        raise InputError(f"{what} has two categories of the same text. Rename one.")
    codes = column.cat.codes.to_numpy().astype(np.int64)
    integers = _integers(np.where(codes < 0, NA_INTEGER, codes + 1))
    ordered = session.interface().BoolSexpVector([bool(column.cat.ordered)])
    return session.value(_FACTOR, integers, _texts(levels), ordered)


def _logicals(column: pd.Series[Any]) -> Any:
    gaps: BoolArray = column.isna().to_numpy(dtype=bool)
    truths = column.to_numpy(dtype=object)
    codes = [NA_INTEGER if gap else int(t) for t, gap in zip(truths, gaps.tolist(), strict=True)]
    return session.value("function(x) as.logical(x)", _integers(np.array(codes, dtype=np.int64)))


def _whole_numbers(values: NDArray[np.float64], what: str) -> Any:
    gaps = np.isnan(values)
    largest = float(np.abs(values[~gaps]).max(initial=0))
    if largest >= _LARGEST_EXACT:
        raise InputError(
            f"{what} has whole numbers of more than 15 digits, which R would round. Make text of "
            "them."
        )
    if largest > _LARGEST_INTEGER:
        return _doubles(values)
    return _integers(np.where(gaps, NA_INTEGER, values))


def _integers(values: NDArray[Any]) -> Any:
    whole = np.ascontiguousarray(values, dtype=np.int32)
    return session.interface().IntSexpVector.from_memoryview(whole.data)


def _doubles(values: NDArray[np.float64]) -> Any:
    copy = np.array(values, dtype=np.float64)
    copy.view(np.uint64)[np.isnan(copy)] = _NA_REAL
    return session.interface().FloatSexpVector.from_memoryview(copy.data)


def _texts(texts: Any) -> Any:
    """R text; a NUL inside one would end R's function by a jump that Python does not survive."""
    ri = session.interface()
    cells = [ri.NA_Character if text is None else str(text) for text in texts]
    for cell in cells:
        if isinstance(cell, str) and ("\0" in cell or not _is_utf8(cell)):
            raise InputError(f"The text {cell!r} holds a character that R cannot take. Remove it.")
    return ri.StrSexpVector(cells)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
