"""The one form in which values cross between R and Python: plain types and raw bytes.

Neither reticulate nor rpy2 is trusted with arrays, integers or missing values: both turn NA of
integers and logicals into answers. Every value is a dict with a ``kind``. Numbers travel as
little-endian bytes, so nothing is rounded; what is missing is marked as R marks it.

    null
    numeric     data, dim, dimnames, names         float64; NA is a NaN
    integer     data, dim, dimnames, names         int32, NA is −2³¹
    logical     data, dim, dimnames, names         int32: 0, 1, NA is −2³¹
    character   values, missing, dim, ...          texts; positions of NA, from 1
    factor      data, levels, ordered              int32 codes from 1, NA is −2³¹
    raw         data                               bytes
    list        names (None if there are none), values
    frame       names, columns, rows, n, texts,    columns as above; names of rows or None; texts of
                aside                              the columns, "" for none; which are no items
    object      class, fields                      an R object of dtstat, fields by name

A vector has no ``dim``. Matrices are stored by columns, as R has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dtstat.core.errors import InputError
from dtstat.data.texts import texts_of

Wire = dict[str, Any]

NA_INTEGER = -(2**31)
LARGEST_INTEGER = 2**31 - 1
_QUIET = np.uint64(1 << 51)
_STORED = {"numeric": "<f8", "integer": "<i4", "logical": "<i4"}


@dataclass(frozen=True, eq=False)
class RObject:
    """An R object of dtstat: its S3 class and its parts."""

    kind: str
    fields: dict[str, Any]


@dataclass(frozen=True, eq=False)
class RArray:
    """A vector or matrix of R, with all that R knows of it.

    Attributes
    ----------
    kind
        "numeric", "integer", "logical" or "character".
    values
        Flat, by columns; R's own NA in integers and logicals, None in texts.
    dim, dimnames, names
        As in R; None where R has none.
    many
        Whether a vector of one is meant as a vector.
    """

    kind: str
    values: NDArray[Any]
    dim: tuple[int, ...] | None = None
    dimnames: tuple[list[str] | None, ...] | None = None
    names: list[str] | None = None
    many: bool = False

    def plain(self) -> Any:
        """Return what Python has for it: scalar, list of texts, array, or frame with names."""
        values = self._missing_as_nan()
        if self.dim is not None:
            return self._matrix(values, self.dim)
        if len(values) == 1 and not self.many:
            return self._scalar(values[0])
        return values.tolist() if self.kind == "character" else values

    def _matrix(self, values: NDArray[Any], dim: tuple[int, ...]) -> Any:
        """Return a matrix with names of its columns as a frame, others as arrays."""
        try:
            shaped = values.reshape(dim, order="F")
            if self.dimnames is None or shaped.ndim != 2:
                return shaped
            rows, columns = self.dimnames
            return shaped if columns is None else pd.DataFrame(shaped, index=rows, columns=columns)
        except ValueError:
            raise InputError(
                f"{len(values)} values cannot have the dimensions {dim} and their names: damaged "
                "on the way from R."
            ) from None

    def _missing_as_nan(self) -> NDArray[Any]:
        if self.kind in ("numeric", "character"):
            return self.values
        missing = self.values == NA_INTEGER
        if missing.any():
            return np.where(missing, np.nan, self.values)
        return self.values.astype(bool) if self.kind == "logical" else self.values

    def _scalar(self, value: Any) -> Any:
        if self.kind == "character":
            return value
        number = value.item()
        return None if self.kind != "numeric" and number != number else number


def matrix(frame: pd.DataFrame) -> RArray:
    """Return a frame of numbers or truths as a matrix with names."""
    values = frame.to_numpy()
    names = ([str(n) for n in frame.index], [str(n) for n in frame.columns])
    return replace(_flat_array(values), dimnames=names)


def vector(series: pd.Series[Any]) -> RArray:
    """Return a series of numbers as a vector with names."""
    return replace(_flat_array(series.to_numpy()), names=[str(name) for name in series.index])


def encode(value: object) -> Wire:  # noqa: C901 (one line per kind)
    """Turn a Python value into what crosses to R.

    Raises
    ------
    TypeError
        If there is no form for it; a mistake of dtstat, not of the user.
    """
    if value is None:
        return {"kind": "null"}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, RArray):
        return _encode_array(value)
    if isinstance(value, bool | int | float | str):
        return _encode_array(_scalar_array(value))
    if isinstance(value, bytes | bytearray):
        return {"kind": "raw", "data": bytearray(value)}
    if isinstance(value, np.ndarray):
        return _encode_array(_flat_array(value)) if value.ndim else encode(value.item())
    if isinstance(value, pd.Categorical):
        return _encode_factor(value)
    if isinstance(value, pd.DataFrame):
        return _encode_frame(value)
    if isinstance(value, pd.Series):
        return _encode_column(value)
    if isinstance(value, Mapping):
        values = [encode(entry) for entry in value.values()]
        return {"kind": "list", "names": [str(name) for name in value], "values": values}
    if isinstance(value, list | tuple):
        return _encode_sequence(value)
    raise TypeError(f"{type(value).__name__} does not cross to R")


def decode(wire: Mapping[str, Any] | None) -> Any:
    """Turn what R sent into a Python value; vectors and matrices into :class:`RArray`.

    Raises
    ------
    InputError
        If the kind is not known.
    """
    kind = "null" if wire is None else wire.get("kind")
    if wire is None or kind == "null":
        return None
    if kind in _STORED or kind == "character":
        return _decode_array(wire)
    if kind == "factor":
        return _decode_factor(wire)
    if kind == "raw":
        return bytes(wire["data"])
    if kind == "object":
        return RObject(wire["class"], {k: decode(v) for k, v in wire["fields"].items()})
    if kind == "list":
        values = [decode(value) for value in wire["values"]]
        names = wire.get("names")
        return values if names is None else dict(zip(_as_list(names), values, strict=True))
    if kind == "frame":
        return _decode_frame(wire)
    raise InputError(f"A value of the kind '{kind}' cannot cross from R.")


def _scalar_array(value: bool | int | float | str) -> RArray:
    if isinstance(value, str):
        return RArray("character", np.array([value], dtype=object))
    if isinstance(value, bool):
        return RArray("logical", np.array([value], dtype=np.int32))
    if isinstance(value, int) and abs(value) > 2**53:
        return RArray("character", np.array([str(value)], dtype=object))  # no double holds it
    if isinstance(value, int) and abs(value) <= LARGEST_INTEGER:
        return RArray("integer", np.array([value], dtype=np.int32))
    return RArray("numeric", np.array([value], dtype=np.float64))


def _flat_array(values: NDArray[Any]) -> RArray:
    dim = None if values.ndim == 1 else values.shape
    flat = values.ravel(order="F")
    if values.dtype == bool:
        return RArray("logical", flat.astype(np.int32), dim)
    if np.issubdtype(values.dtype, np.integer):
        fits = flat.size == 0 or (flat.min() >= -LARGEST_INTEGER and flat.max() <= LARGEST_INTEGER)
        kind = "integer" if fits else "numeric"
        return RArray(kind, flat.astype(np.int32 if fits else np.float64), dim)
    if np.issubdtype(values.dtype, np.floating):
        return RArray("numeric", flat.astype(np.float64), dim)
    texts = np.array([None if _is_missing(v) else str(v) for v in flat.tolist()], dtype=object)
    return RArray("character", texts, dim)


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)


def _encode_array(array: RArray) -> Wire:
    about: Wire = {
        "kind": array.kind,
        "dim": None if array.dim is None else [int(n) for n in array.dim],
        "dimnames": None if array.dimnames is None else list(array.dimnames),
        "names": array.names,
    }
    if array.kind != "character":
        return about | {"data": bytearray(array.values.astype(_STORED[array.kind]).tobytes())}
    texts = array.values.tolist()
    missing = [k + 1 for k, text in enumerate(texts) if text is None]
    return about | {"values": ["" if t is None else t for t in texts], "missing": missing}


def _encode_sequence(values: Sequence[object]) -> Wire:
    """Texts, numbers or truths of one kind as a vector, anything else as a list."""
    for kind in (str, bool, int | float):
        if values and all(isinstance(value, kind) for value in values):
            return _encode_array(
                _flat_array(np.array(values, dtype=object if kind is str else None))
            )
    return {"kind": "list", "names": None, "values": [encode(value) for value in values]}


def _encode_frame(frame: pd.DataFrame) -> Wire:
    texts = frame.index.map(lambda name: isinstance(name, str)).all() and len(frame)
    said = texts_of(frame, [str(name) for name in frame.columns])
    return {
        "kind": "frame",
        "names": [str(name) for name in frame.columns],
        "columns": [_encode_column(column) for _, column in frame.items()],
        "rows": list(frame.index) if texts else None,
        "n": len(frame),
        "texts": [said.get(str(name), "") for name in frame.columns] if said else None,
        "aside": [str(name) for name in frame.attrs.get("aside", ())] or None,
    }


def _encode_column(column: pd.Series[Any]) -> Wire:
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        return _encode_array(_flat_array(column.to_numpy()))
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _encode_factor(column.array)
    if isinstance(column.dtype, pd.Int32Dtype | pd.BooleanDtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        whole = np.where(np.isnan(values), NA_INTEGER, values).astype(np.int32)
        kind = "integer" if isinstance(column.dtype, pd.Int32Dtype) else "logical"
        return _encode_array(RArray(kind, whole))
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
        if column.isna().any():
            return _encode_array(_flat_array(column.to_numpy(dtype=np.float64, na_value=np.nan)))
        return _encode_array(_flat_array(column.to_numpy()))
    cells: list[Any] = column.tolist()
    if all(_is_missing(value) or isinstance(value, str) for value in cells):
        return _encode_array(_flat_array(np.array([*cells, None], dtype=object)[:-1]))
    return {"kind": "list", "names": None, "values": [encode(value) for value in cells]}


def _encode_factor(values: Any) -> Wire:
    return {
        "kind": "factor",
        "data": bytearray(factor_codes(values.codes).astype("<i4").tobytes()),
        "levels": [str(level) for level in values.categories],
        "ordered": bool(values.ordered),
    }


def factor_codes(codes: Any) -> NDArray[np.int64]:
    """Return R's codes of a factor for those of pandas: from 1, missing is R's NA."""
    from_one = np.asarray(codes, dtype=np.int64) + 1
    return np.where(from_one == 0, NA_INTEGER, from_one)


def _decode_array(wire: Mapping[str, Any]) -> RArray:
    kind = wire["kind"]
    if kind == "character":
        missing = {int(k) - 1 for k in _as_list(wire["missing"])}
        texts = [None if k in missing else t for k, t in enumerate(_as_list(wire["values"]))]
        values: NDArray[Any] = np.array([*texts, None], dtype=object)[:-1]
    else:
        values = np.frombuffer(bytes(wire["data"]), _STORED[kind]).copy()
        if kind == "numeric":
            set_quiet_bits(values)
    dim, dimnames, names = wire.get("dim"), wire.get("dimnames"), wire.get("names")
    return RArray(
        kind,
        values,
        None if dim is None else tuple(int(n) for n in _as_list(dim)),
        None if dimnames is None else tuple(None if d is None else _as_list(d) for d in dimnames),
        None if names is None else _as_list(names),
        bool(wire.get("many")),
    )


def set_quiet_bits(values: NDArray[np.float64]) -> None:
    """Set the quiet bit of NaNs, in place; R still knows its NA by the payload.

    R's NA of doubles is a signaling NaN, with which minima and maxima of NumPy go wrong.
    """
    bits = values.view(np.uint64)
    bits[np.isnan(values)] |= _QUIET


def _decode_factor(wire: Mapping[str, Any]) -> pd.Categorical[Any]:
    codes = np.frombuffer(bytes(wire["data"]), "<i4").astype(np.int64)
    codes = np.where(codes == NA_INTEGER, 0, codes) - 1
    levels = pd.Index(_as_list(wire["levels"]), dtype=object)
    return pd.Categorical.from_codes(codes, levels, ordered=bool(wire["ordered"]))


def _decode_frame(wire: Mapping[str, Any]) -> pd.DataFrame:
    columns = [_decode_column(decode(one)) for one in wire["columns"]]
    rows = wire.get("rows")
    index = range(int(wire["n"])) if rows is None else _as_list(rows)
    frame = pd.DataFrame(dict(enumerate(columns)), index=index)
    frame.columns = pd.Index(_as_list(wire["names"]), dtype=object)
    texts = zip(frame.columns, _as_list(wire.get("texts")), strict=False)
    said = {str(name): str(text) for name, text in texts if text}
    aside = [str(name) for name in _as_list(wire.get("aside"))]
    frame.attrs = {k: v for k, v in (("item_texts", said), ("aside", aside)) if v}
    return frame


def _decode_column(value: Any) -> Any:
    """Return a column that keeps its kind, and knows what is missing."""
    if not isinstance(value, RArray):
        return value
    if value.kind in ("numeric", "character"):
        return value.values
    missing = value.values == NA_INTEGER
    if value.kind == "logical":
        return pd.arrays.BooleanArray(np.where(missing, 0, value.values).astype(bool), missing)
    if missing.any():
        return pd.arrays.IntegerArray(np.where(missing, 0, value.values).astype(np.int32), missing)
    return value.values


def _as_list(value: object) -> list[Any]:
    """Return a list of what crossed as one: R sends a vector of one as a scalar."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
