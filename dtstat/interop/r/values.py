"""Values from R to pandas and back, cell by cell: what is missing on one side is on the other.

rpy2's own conversion makes -2147483648 of a missing whole number and 'NA' of a missing text. So R
itself describes its values (the functions in R below), and gets vectors of the right type back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from dtstat.core.arrays import BoolArray
from dtstat.core.errors import InputError
from dtstat.data.items import ItemData
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.fit.result import DTFit
from dtstat.interop.r import session
from dtstat.interop.wire import LARGEST_INTEGER, NA_INTEGER, factor_codes, set_quiet_bits
from dtstat.structure.structure import Structure

_NA_REAL = np.uint64(0x7FF00000000007A2)  # the one of all NaN that R prints as NA
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
# Texts come in any encoding; a wrong guess would change them without a word.
_UTF8 = """
function(x) {
  if (is.null(x)) return(NULL)
  if (!all(validEnc(x))) stop("a text is in an unknown encoding; convert it with iconv() first.")
  enc2utf8(x)
}
"""
_KIND = """
function(x) {
  if (is.null(x)) "nothing"
  else if (inherits(x, "lavaan")) "lavaan"
  else if (is.list(x) && inherits(x, c("psych", "factanal")) && !is.null(x$loadings)) "factors"
  else if (is.data.frame(x)) "frame"
  else if (is.atomic(x) && length(dim(x)) < 2) "vector"
  else if (is.atomic(x) && length(dim(x)) == 2) "matrix"
  else if (is.list(x) && is.null(oldClass(x)) && is.null(dim(x))) "list"
  else paste0("refused: ", class(x)[1])
}
"""

# Classes that change nothing about the values. Others may: the numbers of a Date are days, the
# bits of an integer64 are no double.
_COLUMN = """
function(utf8) {
  harmless <- c("haven_labelled", "haven_labelled_spss", "vctrs_vctr", "labelled", "AsIs",
                "noquote", "table", "loadings", "double", "integer", "character", "logical",
                "numeric", "matrix", "array")
  types <- c("logical", "integer", "double", "character")
  declared_missing <- function(x, plain) {
    gone <- plain %in% attr(x, "na_values", exact = TRUE)
    range <- attr(x, "na_range", exact = TRUE)
    if (length(range) == 2) gone <- gone | (!is.na(plain) & plain >= range[1] & plain <= range[2])
    gone
  }
  function(x) {
    odd <- setdiff(oldClass(x), c(harmless, "factor", "ordered"))
    if (length(dim(x)) > 1) odd <- "matrix"
    if (length(odd) || !typeof(x) %in% types) {
      return(list(kind = "refused", data = if (length(odd)) odd[1] else typeof(x)))
    }
    if (is.factor(x)) {
      kind <- if (is.ordered(x)) "ordered" else "factor"
      return(list(kind = kind, data = as.integer(x), levels = utf8(levels(x))))
    }
    plain <- as.vector(unclass(x))
    plain[declared_missing(x, plain)] <- NA
    list(kind = typeof(plain), data = if (is.character(plain)) utf8(plain) else plain)
  }
}
"""
_READ_FRAME = """
function(x, column, utf8) {
  rows <- if (.row_names_info(x) > 0) attr(x, "row.names") else NULL
  list(rows = rows, n = .row_names_info(x, 2L), names = utf8(as.character(names(x))),
       columns = lapply(unclass(x), column))
}
"""
_READ_MATRIX = """
function(x, column, utf8) {
  flat <- x
  dim(flat) <- NULL
  list(dim = dim(x), rows = utf8(rownames(x)), names = utf8(colnames(x)), column = column(flat))
}
"""
_VECTOR = """
function(x, column, utf8) {
  names <- names(x)
  if (length(dim(x)) == 1) dim(x) <- NULL
  list(names = utf8(names), column = column(x))
}
"""


def kind(value: Any) -> str:
    """Say what an R value is: one of the kinds that can be read, or "refused: <class>"."""
    types = session.interface().RTYPES
    if value.typeof in (types.SYMSXP, types.LANGSXP, types.PROMSXP):
        return "refused: call"  # R would run it if it were passed to a function
    return str(session.value(_KIND, value)[0])


def read_frame(value: Any) -> pd.DataFrame:
    """Read a data frame or tibble; row names become the index unless R numbered the rows itself."""
    rows, n, names, columns = _describe(_READ_FRAME, value)
    labels = _read_texts(names)
    data = {
        k: _read_column(column, f"Column '{label}'")
        for k, (label, column) in enumerate(zip(labels, columns, strict=True))
    }
    frame = pd.DataFrame(data, index=pd.RangeIndex(int(n[0])))
    frame.columns = _index(labels)
    if not _is_null(rows):
        numbered = rows.typeof == session.interface().RTYPES.INTSXP
        numbers = pd.Index(_numbers(rows).astype(np.int64)) if numbered else None
        frame.index = _index(_read_texts(rows)) if numbers is None else numbers
    return frame


def read_matrix(value: Any) -> pd.DataFrame:
    """Read a matrix, with its row and column names if it has them."""
    dim, rows, names, column = _describe(_READ_MATRIX, value)
    flat = _read_column(column, "The matrix")
    n, p = int(dim[0]), int(dim[1])
    columns = {k: flat.iloc[k * n : (k + 1) * n].reset_index(drop=True) for k in range(p)}
    frame = pd.DataFrame(columns, index=pd.RangeIndex(n))
    frame.columns = pd.RangeIndex(p) if _is_null(names) else _index(_read_texts(names))
    if not _is_null(rows):
        frame.index = _index(_read_texts(rows))
    return frame


def read_vector(value: Any) -> pd.Series[Any]:
    """Read a vector or factor; its names become the index."""
    names, column = _describe(_VECTOR, value)
    series = _read_column(column, "The vector")
    if not _is_null(names):
        series.index = _index(_read_texts(names))
    return series


def _describe(code: str, value: Any) -> Any:
    utf8 = session.function(_UTF8)
    return session.value(code, value, session.function(_COLUMN)(utf8), utf8)


def _read_column(described: Any, what: str) -> pd.Series[Any]:
    """One column, from R's description of it."""
    kind, data = str(described[0][0]), described[1]
    if kind == "refused":
        raise InputError(
            f"{what} holds values of R's class '{data[0]}', which have no counterpart here. Leave "
            "it out, or make numbers, text or a factor of it in R."
        )
    if kind == "character":
        return _text_series(_read_texts(data))
    values = _numbers(data)
    if kind == "double":
        return pd.Series(values, dtype=np.float64)
    gaps: BoolArray = values == NA_INTEGER
    if kind == "logical":
        truths: BoolArray = values != 0
        return pd.Series(pd.arrays.BooleanArray(truths, gaps) if gaps.any() else truths)
    if kind == "integer":
        whole = values.astype(np.int64)
        return pd.Series(np.where(gaps, np.nan, whole) if gaps.any() else whole)
    codes = np.where(gaps, -1, values - 1)
    return _categorical(codes, _read_texts(described[2]), kind == "ordered")


def _categorical(codes: NDArray[Any], levels: list[str | None], ordered: bool) -> pd.Series[Any]:
    if None in levels:  # R's addNA() makes a level of what is missing
        gone = levels.index(None)
        codes = np.where(codes == gone, -1, codes - (codes > gone))
        levels = [level for level in levels if level is not None]
    return pd.Series(pd.Categorical.from_codes(codes, _index(levels), ordered=ordered))


def _numbers(vector: Any) -> NDArray[Any]:
    """Copy of R's numbers as they lie in memory; R may move or free its own."""
    types = session.interface().RTYPES
    if len(vector) == 0:  # rpy2 has no view of nothing
        return np.empty(0, dtype=np.float64 if vector.typeof == types.REALSXP else np.int32)
    values: NDArray[Any] = np.array(vector.memoryview())
    if vector.typeof == types.REALSXP:
        set_quiet_bits(values)
    return values


def _read_texts(vector: Any) -> list[str | None]:
    missing = session.interface().NA_Character
    return [None if text is missing else str(text) for text in vector]


def _text_series(texts: list[str | None]) -> pd.Series[Any]:
    return pd.Series(texts, dtype=pd.Series([""]).dtype)  # pandas 3 has a type of its own for text


def _index(labels: list[str | None]) -> pd.Index[Any]:
    names: pd.Index[Any] = pd.Index(_text_series(labels))
    return names


def _is_null(value: Any) -> bool:
    return bool(value.typeof == session.interface().RTYPES.NILSXP)


def write(value: Any) -> Any:
    """R value of a Python value, as an object of rpy2's lower interface."""
    if value is None:
        return session.interface().NULL
    if isinstance(value, ItemData | pd.DataFrame):
        return _frame(value if isinstance(value, pd.DataFrame) else value.to_frame())
    if isinstance(value, DependenceMatrix):
        flat, shape = _doubles(value.values.ravel(order="F")), np.array(value.values.shape)
        return session.value(_MATRIX, flat, _integers(shape), _texts(value.names))
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
    if types.is_integer_dtype(index.dtype) and np.abs(index.to_numpy()).max() <= LARGEST_INTEGER:
        return _integers(index.to_numpy())
    return _texts(map(str, index))


def _array(values: NDArray[Any]) -> Any:
    if values.ndim == 1:
        return _vector(pd.Series(values), "The array")
    if values.ndim != 2:
        raise InputError(f"An array must have one or two dimensions; got {values.ndim}.")
    flat = _vector(pd.Series(values.ravel(order="F")), "The array")
    return session.value(_PLAIN_MATRIX, flat, _integers(np.array(values.shape)))


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
    integers = _integers(factor_codes(column.cat.codes))
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
    if largest > LARGEST_INTEGER:
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
        if isinstance(cell, str) and (
            "\0" in cell or cell != cell.encode(errors="ignore").decode()
        ):
            raise InputError(f"The text {cell!r} holds a character that R cannot take. Remove it.")
    return ri.StrSexpVector(cells)
