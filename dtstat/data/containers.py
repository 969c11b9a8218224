"""Answers in any container as data frames: arrays, lists, paths, tables of other libraries.

Tables of other libraries (polars, pyarrow, duckdb and so on) are taken through the protocols that
they offer for this, ``__arrow_c_stream__`` or ``__dataframe__``; the libraries themselves are not
imported.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dtstat.core.errors import DTError, InputError, foreign_warnings
from dtstat.core.parallel import Progress
from dtstat.data.formats import require
from dtstat.data.readers import read_answers

_ARROW = "__arrow_c_stream__"
_INTERCHANGE = "__dataframe__"


def as_frame(data: Any, progress: Progress = None) -> pd.DataFrame:
    """Return a table as a DataFrame; columns of an array are named x1, x2, ...

    Data that are no table, or a table that its own library cannot hand over, are refused.
    """
    if isinstance(data, pd.DataFrame):
        return _in_own_byte_order(data)
    if isinstance(data, str | os.PathLike):
        # Codes are looked for when all columns are numbers.
        return read_answers(data, progress=progress)
    if isinstance(data, np.ndarray):
        return _array_frame(data)
    if isinstance(data, list | tuple):
        return _array_frame(_object_array(data))
    if not isinstance(data, pd.Series | type) and (
        hasattr(data, _ARROW) or hasattr(data, _INTERCHANGE)
    ):
        return _foreign_frame(data)
    raise InputError(
        "`data` must be a DataFrame, a 2-d array or a path to a file; "
        f"got {type(data).__name__}.{_advice(data)}",
        argument="data",
    )


def has_names(data: Any) -> bool:
    """Whether the columns of a table have names of their own."""
    return not isinstance(data, np.ndarray | list | tuple)


def _advice(data: Any) -> str:
    if isinstance(data, pd.Series):
        return " Pass a DataFrame with several items."
    if isinstance(data, Mapping):
        return " pandas.DataFrame(data) makes one of a dict of columns."
    if hasattr(data, "item_names"):
        return " A result does not keep the answers: give the data that were fitted."
    return " Call its collect() first." if hasattr(data, "collect") else ""


def _object_array(rows: list[Any] | tuple[Any, ...]) -> NDArray[Any]:
    # Objects, so that numpy neither turns numbers beside text into text nor None into an error.
    try:
        return np.asarray(rows, dtype=object)
    except ValueError:  # rows that are arrays of different lengths
        raise _uneven() from None


def _array_frame(array: NDArray[Any]) -> pd.DataFrame:
    if array.ndim == 1 and any(isinstance(row, list | tuple | np.ndarray) for row in array):
        raise _uneven()
    if array.ndim != 2:
        raise InputError(
            f"an array of answers must have 2 dimensions; got {array.ndim}. "
            "Put people in rows and items in columns.",
            argument="data",
        )
    frame = pd.DataFrame(array, columns=[f"x{k + 1}" for k in range(array.shape[1])])
    return _in_own_byte_order(frame)


def _in_own_byte_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Turn numbers in the byte order of other machines into those of this one; pandas needs it."""
    foreign = [
        k for k, kind in enumerate(frame.dtypes) if isinstance(kind, np.dtype) and not kind.isnative
    ]
    if not foreign:
        return frame
    frame = frame.copy(deep=False)
    for k in foreign:
        column = frame.iloc[:, k].to_numpy()
        frame.isetitem(k, column.astype(column.dtype.newbyteorder("=")))
    return frame


def _uneven() -> InputError:
    return InputError(
        "the rows of `data` must be equally long; got rows of different lengths. "
        "Use NaN for missing answers.",
        argument="data",
    )


def _foreign_frame(data: Any) -> pd.DataFrame:
    """Take the table of another library; arrow if it can be, for it knows more kinds of columns."""
    kind = f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}"
    by_arrow = hasattr(data, _ARROW) and importlib.util.find_spec("pyarrow") is not None
    _refuse_null_characters(data)
    try:
        if by_arrow or not hasattr(data, _INTERCHANGE):
            arrow = require("pyarrow", f"Taking a {kind}")
            table = arrow.table(data)
            wide = {arrow.int64(): pd.Int64Dtype(), arrow.uint64(): pd.UInt64Dtype()}
            # With gaps whole numbers would become floats, and large ones others.
            gaps = any(one.null_count and one.type in wide for one in table.columns)
            frame: pd.DataFrame = table.to_pandas(types_mapper=wide.get if gaps else None)
            return frame
        # pandas means to drop this protocol one day; until then it is all that some offer.
        with foreign_warnings("ignore"):
            return pd.api.interchange.from_dataframe(data)
    except (DTError, MemoryError):
        raise
    except Exception as error:  # each library has its own errors
        raise InputError(
            f"`data` must be a table; its {kind} cannot be taken over: {type(error).__name__}: "
            f"{error}. Give data.to_pandas(), or an array.",
            argument="data",
        ) from error


def _refuse_null_characters(data: Any) -> None:
    """Refuse names that end where they should not: Arrow hands names over as C strings.

    polars ends the whole process on such a name.
    """
    names = getattr(data, "column_names", None) or getattr(data, "columns", ())
    for k, name in enumerate(names if isinstance(names, list | tuple) else ()):
        if isinstance(name, str) and "\0" in name:
            raise InputError(
                f"the name of column {k + 1}, {name!r}, has a null character, which tables of "
                "other libraries cannot hand over. Rename it.",
                argument="data",
            )
