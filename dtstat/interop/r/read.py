"""From R's values to pandas, cell by cell as R has them: what is missing there is missing here.

rpy2's own conversion makes -2147483648 of a missing whole number and 'NA' of a missing text.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dtstat.arrays import BoolArray
from dtstat.errors import InputError
from dtstat.interop.bridge.wire import quiet
from dtstat.interop.r import session

NA_INTEGER = -(2**31)  # R's missing whole number, and its missing truth value

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
_FRAME = """
function(x, column, utf8) {
  rows <- if (.row_names_info(x) > 0) attr(x, "row.names") else NULL
  list(rows = rows, n = .row_names_info(x, 2L), names = utf8(as.character(names(x))),
       columns = lapply(unclass(x), column))
}
"""
_MATRIX = """
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
    rows, n, names, columns = _parts(_FRAME, value)
    labels = _texts(names)
    data = {
        k: _column(column, f"Column '{label}'")
        for k, (label, column) in enumerate(zip(labels, columns, strict=True))
    }
    frame = pd.DataFrame(data, index=pd.RangeIndex(int(n[0])))
    frame.columns = _index(labels)
    if not _is_null(rows):
        numbered = rows.typeof == session.interface().RTYPES.INTSXP
        numbers = pd.Index(_numbers(rows).astype(np.int64)) if numbered else None
        frame.index = _index(_texts(rows)) if numbers is None else numbers
    return frame


def read_matrix(value: Any) -> pd.DataFrame:
    """Read a matrix, with its row and column names if it has them."""
    dim, rows, names, column = _parts(_MATRIX, value)
    flat = _column(column, "The matrix")
    n, p = int(dim[0]), int(dim[1])
    columns = {k: flat.iloc[k * n : (k + 1) * n].reset_index(drop=True) for k in range(p)}
    frame = pd.DataFrame(columns, index=pd.RangeIndex(n))
    frame.columns = pd.RangeIndex(p) if _is_null(names) else _index(_texts(names))
    if not _is_null(rows):
        frame.index = _index(_texts(rows))
    return frame


def read_vector(value: Any) -> pd.Series[Any]:
    """Read a vector or factor; its names become the index."""
    names, column = _parts(_VECTOR, value)
    series = _column(column, "The vector")
    if not _is_null(names):
        series.index = _index(_texts(names))
    return series


def _parts(code: str, value: Any) -> Any:
    utf8 = session.function(_UTF8)
    return session.value(code, value, session.function(_COLUMN)(utf8), utf8)


def _column(described: Any, what: str) -> pd.Series[Any]:
    """One column, from R's description of it."""
    kind, data = str(described[0][0]), described[1]
    if kind == "refused":
        _refuse(what, str(data[0]))
    if kind == "character":
        return _text_series(_texts(data))
    values = _numbers(data)
    if kind == "double":
        return pd.Series(values, dtype=np.float64)
    gaps: BoolArray = values == NA_INTEGER
    if kind == "logical":
        return _truths(values, gaps)
    if kind == "integer":
        whole = values.astype(np.int64)
        return pd.Series(np.where(gaps, np.nan, whole) if gaps.any() else whole)
    codes = np.where(gaps, -1, values - 1)
    return _categorical(codes, _texts(described[2]), kind == "ordered")


def _refuse(what: str, r_class: str) -> NoReturn:
    raise InputError(
        f"{what} holds values of R's class '{r_class}', which have no counterpart here. Leave "
        "it out, or make numbers, text or a factor of it in R."
    )


def _truths(values: NDArray[Any], gaps: BoolArray) -> pd.Series[Any]:
    truths: BoolArray = values != 0
    return pd.Series(pd.arrays.BooleanArray(truths, gaps) if gaps.any() else truths)


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
        quiet(values)
    return values


def _texts(vector: Any) -> list[str | None]:
    missing = session.interface().NA_Character
    return [None if text is missing else str(text) for text in vector]


def _text_series(texts: list[str | None]) -> pd.Series[Any]:
    return pd.Series(texts, dtype=pd.Series([""]).dtype)  # pandas 3 has a type of its own for text


def _index(labels: list[str | None]) -> pd.Index[Any]:
    names: pd.Index[Any] = pd.Index(_text_series(labels))
    return names


def _is_null(value: Any) -> bool:
    return bool(value.typeof == session.interface().RTYPES.NILSXP)
