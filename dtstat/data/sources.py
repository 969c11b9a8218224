"""Answers that are read some columns at a time, because all of them may not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core.errors import InputError
from dtstat.data.checks import check_names, check_shape
from dtstat.data.formats import require
from dtstat.data.items import ItemData, as_items
from dtstat.data.readers import items_only


@dataclass(frozen=True)
class Columns:
    """A table that is read by columns.

    Attributes
    ----------
    names
        Names of all columns.
    n_rows
        Number of rows.
    table
        Function of first and last (excluded) column that reads these.
    """

    names: tuple[str, ...]
    n_rows: int
    table: Callable[[int, int], Any]

    def read(self, start: int, stop: int) -> ItemData:
        """Read and check some columns, two or more."""
        part = self.table(start, stop)
        if isinstance(part, ItemData):
            return part
        part = pd.DataFrame(part)
        part.columns = pd.Index(self.names[start:stop], dtype=object)
        return as_items(part, screened=False)  # blocks are read many times


def columns_of(data: Any) -> Columns:
    """Open answers for reading by columns.

    Parameters
    ----------
    data
        A file ending in .parquet or .npy, of which only the columns wanted are read; an array,
        memory-mapped or not; a DataFrame; a dask array or dataframe, which is computed some columns
        at a time; or anything else that :func:`as_items` takes, which is read whole.
    """
    if isinstance(data, str | os.PathLike):
        return _from_file(Path(data))
    if hasattr(data, "__dask_graph__"):
        return _from_dask(data)
    masked = isinstance(data, np.ma.MaskedArray)  # read whole, so that what is masked is missing
    if isinstance(data, np.ndarray) and not masked and data.ndim == 2 and data.dtype.kind in "fiub":
        return _from_array(data)
    if isinstance(data, pd.DataFrame):
        frame = items_only(data)
        names = tuple(str(name) for name in frame.columns)
        return _make_columns(names, len(frame), lambda a, b: frame.iloc[:, a:b])
    return _from_items(as_items(data))


def _from_items(items: ItemData) -> Columns:
    def table(a: int, b: int) -> ItemData:
        parts = items.values[:, a:b], items.names[a:b], items.kinds[a:b], items.levels[a:b]
        return ItemData(*parts)

    return Columns(items.names, items.n_rows, table)


def _make_columns(names: tuple[str, ...], n_rows: int, table: Callable[[int, int], Any]) -> Columns:
    check_names(names)
    check_shape(n_rows, len(names))
    return Columns(names, n_rows, table)


def _from_array(array: np.ndarray[Any, Any]) -> Columns:
    names = tuple(f"x{k + 1}" for k in range(array.shape[1]))
    return _make_columns(names, len(array), lambda a, b: np.asarray(array[:, a:b]))


def _from_file(file: Path) -> Columns:
    if file.suffix.lower() == ".npy" and file.is_file():
        return _from_npy(file)
    if file.suffix.lower() == ".parquet" and file.is_file():
        return _from_parquet(file)
    return _from_items(as_items(file))


def _from_npy(file: Path) -> Columns:
    try:
        array = np.lib.format.open_memmap(file, mode="r")  # of objects it opens none
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"'{file.name}' cannot be read as an array; got the error: {error}. Write it with "
            "numpy.save, people in rows and items in columns.",
            "data",
        ) from None
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InputError(
            f"'{file.name}' must hold a table of numbers; got {array.ndim} dimensions of "
            f"{array.dtype}. Put people in rows and items in columns.",
            "data",
        )
    return _from_array(array)


def _from_parquet(file: Path) -> Columns:
    require("pyarrow", "Reading .parquet files")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        opened = pq.ParquetFile(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(
            f"'{file.name}' cannot be read as a Parquet file; got the error: {error}. Check that "
            "the file is complete.",
            "data",
        ) from None
    names = tuple(opened.schema_arrow.names)
    return _make_columns(names, opened.metadata.num_rows, _ParquetColumns(file, names))


@dataclass(frozen=True)
class _ParquetColumns:
    """Columns of a file that is opened for every reading: threads must not share an open one."""

    file: Path
    names: tuple[str, ...]

    def __call__(self, start: int, stop: int) -> pd.DataFrame:
        import pyarrow.parquet as pq

        wanted = list(self.names[start:stop])
        frame: pd.DataFrame = pq.ParquetFile(self.file).read(columns=wanted).to_pandas()
        return frame[wanted]


def _from_dask(data: Any) -> Columns:
    if hasattr(data, "columns"):
        names = tuple(str(name) for name in data.columns)
        return _make_columns(names, len(data), lambda a, b: data.iloc[:, a:b].compute())
    if data.ndim != 2 or any(np.isnan(size) for size in data.shape):
        raise InputError(
            "A dask array of answers must have two dimensions of known size. Call its "
            "compute_chunk_sizes() first.",
            "data",
        )
    names = tuple(f"x{k + 1}" for k in range(data.shape[1]))
    return _make_columns(names, int(data.shape[0]), lambda a, b: data[:, a:b].compute())
