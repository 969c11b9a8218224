"""Tables of answers: usable ones, and every way they have been seen to go wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fuzz_values import bad_values, item_names
from hypothesis import strategies as st

import dtstat as dt

ROWS = [0, 1, 2, 3, 4, 7, 12, 40, 40, 80, 80, 80, 150, 150]
COLUMNS = [0, 1, 2, 3, 4, 6, 6, 6, 7, 9, 9]
EXTREMES = [1e308, -1e308, 1e-308, 5e-324, 1e12, 1e-12, 1e154, 2.0**53, -(2.0**31), 1e200, -1e-200]
CELLS = [np.nan, np.inf, -np.inf, None, pd.NA, pd.NaT, "", "text", "3", "=1+1", "2,5", True, 1e308]
CELLS += [5e-324, 1j, Decimal("1.5"), Decimal("NaN"), [1], {}, b"1", "x" * 100_000, "\0", 10**400]
CELLS += [np.datetime64("2020-01-01"), -(2**31), np.float16(2), object()]


def factor_answers(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """Answers with a factor for every three items, so that something can be found."""
    factors = rng.standard_normal((n, p // 3 + 1))
    noise = rng.standard_normal((n, p))
    owner = np.arange(p) // 3
    return 0.8 * factors[:, owner] + 0.6 * noise


def values(draw: Any) -> np.ndarray:
    """(n, p) numbers, most of them usable."""
    usable = draw(st.integers(0, 3)) > 0
    n = draw(st.sampled_from([40, 80, 150] if usable else ROWS))
    p = draw(st.sampled_from([6, 7, 9] if usable else COLUMNS))
    X = factor_answers(np.random.default_rng(draw(st.integers(0, 10**6))), n, p)
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        with np.errstate(all="ignore"):
            X = draw(st.sampled_from(CHANGES))(draw, X)
    return X


def _levels(draw: Any, X: np.ndarray) -> np.ndarray:
    """Ties everywhere."""
    steps = draw(st.sampled_from([1, 2, 3, 5, 11]))
    return np.clip(np.floor((X + 2) / 4 * steps), 0, steps - 1)


def _scaled(draw: Any, X: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return X * draw(st.sampled_from(EXTREMES)) + draw(st.sampled_from([0, 0, 1.0, 1e12, 1e308]))


def _one_column_scaled(draw: Any, X: np.ndarray) -> np.ndarray:
    X = X.copy()
    if X.shape[1]:
        with np.errstate(all="ignore"):
            X[:, draw(st.integers(0, X.shape[1] - 1))] *= draw(st.sampled_from(EXTREMES))
    return X


def _one_cell(draw: Any, X: np.ndarray) -> np.ndarray:
    X = X.copy()
    if X.size:
        cell = draw(st.sampled_from([np.nan, np.inf, *EXTREMES]))
        X[draw(st.integers(0, X.shape[0] - 1)), draw(st.integers(0, X.shape[1] - 1))] = cell
    return X


def _holes(draw: Any, X: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    share = draw(st.sampled_from([0.02, 0.1, 0.5, 0.9, 1.0]))
    return np.where(rng.random(X.shape) < share, np.nan, X)


def _block_of_holes(draw: Any, X: np.ndarray) -> np.ndarray:
    """Items never answered together."""
    X = X.copy()
    half = len(X) // 2
    X[:half, :1] = np.nan
    X[half:, -1:] = np.nan
    return X


def _constant(draw: Any, X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[:, : draw(st.sampled_from([1, 2, 100]))] = draw(st.sampled_from([0.0, 1.0, 1e308, np.nan]))
    return X


def _nearly_constant(draw: Any, X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[:, :1] = 1.0
    X[:1, :1] = draw(st.sampled_from([2.0, 1 + 2e-16, 1e308]))
    return X


def _copies(draw: Any, X: np.ndarray) -> np.ndarray:
    if X.shape[1] < 3:
        return X
    X = X.copy()
    kind = draw(st.integers(0, 3))
    with np.errstate(all="ignore"):
        X[:, 1] = [X[:, 0], -X[:, 0], 2 * X[:, 0] + 1, X[:, 0] + X[:, 2]][kind]
    return X


def _sorted(draw: Any, X: np.ndarray) -> np.ndarray:
    return np.sort(X, axis=0)


def _counter(draw: Any, X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[:, :1] = np.arange(len(X))[:, None]
    return X


def _correlations(draw: Any, X: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.atleast_2d(np.corrcoef(X, rowvar=False))


def _few_distinct_rows(draw: Any, X: np.ndarray) -> np.ndarray:
    return X[np.arange(len(X)) % draw(st.integers(1, 3))] if len(X) > 3 else X


CHANGES: list[Callable[[Any, np.ndarray], np.ndarray]] = [
    *(_levels, _levels, _scaled, _one_column_scaled, _one_cell, _holes, _holes, _block_of_holes),
    *(_constant, _nearly_constant, _copies, _sorted, _counter, _correlations, _few_distinct_rows),
]

# --- what the numbers come in ---


def _dtype(draw: Any, X: np.ndarray) -> Any:
    kinds = ["?", "i1", "i4", "u1", "i8", "f2", "f4", "f8", ">f8", ">i4", "g", "c16", "O", "U", "M"]
    kind = draw(st.sampled_from(kinds))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "M":
            return np.nan_to_num(X, posinf=0, neginf=0).clip(-9, 9).astype("i8").astype("M8[D]")
        if kind in ("U", "O"):
            return X.astype(kind)
        return X.astype(np.dtype(kind))


def _layout(draw: Any, X: np.ndarray) -> Any:
    kind = draw(st.integers(0, 7))
    if kind == 0:
        return np.asfortranarray(X)
    if kind == 1:
        return np.repeat(X, 2, axis=0)[::2]
    if kind == 2:
        return X[::-1, ::-1]
    if kind == 3:
        X = X.copy()
        X.setflags(write=False)
        return X
    if kind == 4:
        return np.ma.masked_array(X, mask=np.random.default_rng(0).random(X.shape) < 0.1)
    if kind == 5:
        return np.asmatrix(X)
    if kind == 6:
        names = [(f"x{k}", "f8") for k in range(max(1, X.shape[1]))]
        return np.zeros(len(X), dtype=names)
    return X.reshape(X.shape[0], X.shape[1], 1)


def _extension(draw: Any, frame: pd.DataFrame) -> pd.DataFrame:
    kinds = ["Int64", "Float64", "boolean", "string", "category", "ordered", "double[pyarrow]"]
    kinds += ["int64[pyarrow]", "string[pyarrow]", "Sparse", "timedelta64[s]", "object"]
    kind = draw(st.sampled_from(kinds))
    whole = frame.replace([np.inf, -np.inf], np.nan).clip(-9, 9).round()
    if kind == "ordered":
        return whole.apply(lambda c: c.astype("category").cat.as_ordered())
    if kind == "boolean":
        return (whole > 0).astype("boolean")
    if kind == "Sparse":
        return frame.astype(pd.SparseDtype("float64"))
    if kind == "timedelta64[s]":
        return whole.fillna(0).astype("int64").astype("timedelta64[s]")
    return whole.astype(kind)


def _index(draw: Any, frame: pd.DataFrame) -> pd.DataFrame:
    kind = draw(st.integers(0, 3))
    if kind == 0 and frame.shape[1]:
        levels = [("g", str(name)) for name in frame.columns]
        return frame.set_axis(pd.MultiIndex.from_tuples(levels), axis=1)
    if kind == 1:
        return frame.set_axis([0] * len(frame), axis=0)
    if kind == 2:
        return frame.set_axis(pd.date_range("2020", periods=len(frame), freq="h"), axis=0)
    return frame.set_axis([f"p{k}" for k in range(len(frame))][::-1], axis=0)


def _odd_cells(draw: Any, frame: pd.DataFrame) -> pd.DataFrame:
    if not frame.size:
        return frame
    frame = frame.astype(object)
    for _ in range(draw(st.integers(1, 3))):
        row = draw(st.integers(0, frame.shape[0] - 1))
        column = draw(st.integers(0, frame.shape[1] - 1))
        cells = frame.iloc[:, column].tolist()
        cells[row] = draw(st.sampled_from(CELLS))
        frame.isetitem(column, pd.Series(cells, dtype=object, index=frame.index))
    return frame


def _text_names(frame: pd.DataFrame) -> pd.DataFrame | None:
    """The frame with names that arrow and polars take; None where that cannot be."""
    names = [str(name).replace("\ud800", "?") for name in frame.columns]
    return frame.set_axis(names, axis=1) if len(set(names)) == len(names) else None


def _polars(draw: Any, frame: pd.DataFrame) -> Any:
    import polars as pl

    named = _text_names(frame.reset_index(drop=True))
    if named is None:
        return frame
    table = pl.DataFrame({name: named[name].tolist() for name in named.columns}, strict=False)
    return draw(st.sampled_from([table, table, table.lazy(), table.cast(pl.Float32, strict=False)]))


def _arrow(draw: Any, frame: pd.DataFrame) -> Any:
    import pyarrow as pa

    named = _text_names(frame.reset_index(drop=True))
    if named is None:
        return frame
    table = pa.table({name: named[name].to_numpy() for name in named.columns})
    return draw(st.sampled_from([table, *table.to_batches()[:1]]))


def _nested(draw: Any, frame: pd.DataFrame) -> Any:
    X = frame.to_numpy()
    return draw(st.sampled_from([X.tolist(), tuple(map(tuple, X.tolist())), list(X)]))


def _no_table(draw: Any, frame: pd.DataFrame) -> Any:
    X = frame.to_numpy()
    series = frame.iloc[:, 0] if X.shape[1] else None
    others = [series, dict(enumerate(X.T)), iter(X.tolist()), draw(bad_values)]
    return draw(st.sampled_from(others))


def _mixed_columns(draw: Any, frame: pd.DataFrame) -> Any:
    dtypes = ["float32", "Float64", "object", "float64"]
    parts = [frame.iloc[:, k].astype(dtypes[k % 4]) for k in range(frame.shape[1])]
    return pd.concat(parts, axis=1) if parts else frame


def _of_array(change: Callable[[Any, np.ndarray], Any]) -> Callable[[Any, pd.DataFrame], Any]:
    return lambda draw, frame: change(draw, frame.to_numpy())


CONTAINERS: list[Callable[[Any, pd.DataFrame], Any]] = [
    *[lambda draw, frame: frame] * 4,
    *[_of_array(lambda draw, X: X)] * 2,
    *(_of_array(_layout), _of_array(_dtype), _extension, _index, _odd_cells, _polars, _arrow),
    *(_nested, _no_table, _mixed_columns),
]


def container(draw: Any, X: np.ndarray) -> Any:
    """The numbers in one of the things that people hand over."""
    frame = pd.DataFrame(X, columns=pd.Index(item_names(draw, X.shape[1]), dtype=object))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return draw(st.sampled_from(CONTAINERS))(draw, frame)
        except UnicodeEncodeError:  # half a character in a name: pandas itself makes no such table
            return frame


def tables(draw: Any) -> Any:
    """Anything that might be given as ``data``."""
    X = values(draw)
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return matrix_object(draw)
    if kind == 1:
        return items_object(X)
    return container(draw, X)


def usable_tables(draw: Any) -> Any:
    """Answers that should be taken, in one of the usual containers."""
    n, p = draw(st.sampled_from([40, 80, 150])), draw(st.sampled_from([6, 6, 7, 9]))
    X = factor_answers(np.random.default_rng(draw(st.integers(0, 10**6))), n, p)
    change = draw(st.integers(0, 6))
    if change == 0:
        X = np.clip(np.round(X) + 3, 1, 5)
    if change == 1:
        X = np.where(np.random.default_rng(n).random(X.shape) < 0.03, np.nan, X)
    if change == 2:
        X = X * draw(st.sampled_from([1e-6, 1e3, 1e6, 1e12, 1e-12]))
    kind = draw(st.integers(0, 7))
    if kind == 0:
        return X
    if kind == 1:
        return items_object(X)
    if kind == 2 and not np.isnan(X).any():
        return dt.DependenceMatrix.from_matrix(np.corrcoef(X, rowvar=False), n_obs=n)
    frame = pd.DataFrame(X, columns=[f"x{k + 1}" for k in range(p)])
    if kind == 3:
        return _polars(draw, frame)
    if kind == 4:
        return frame.set_axis(pd.Index(item_names(draw, p), dtype=object), axis=1)
    return frame


def items_object(X: np.ndarray) -> Any:
    """The numbers as ItemData, as they are where they cannot be that."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dt.DTWarning)
            return dt.items(X)
    except dt.DTError:
        return X


def square(draw: Any) -> Any:
    """A matrix that is, or looks like, correlations."""
    p = draw(st.sampled_from([0, 1, 2, 3, 5, 6, 9]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = factor_answers(rng, 50, p)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        R = np.corrcoef(X, rowvar=False).reshape(p, p) if p else np.zeros((0, 0))
    kind = draw(st.integers(0, 9))
    if kind == 0:
        R = np.tril(R)
    if kind == 1:
        R = R.round(2)
    if kind == 2 and p > 1:
        R[0, 1] = draw(st.sampled_from([np.nan, np.inf, 2.0, 1e308, 5e-324, 1.0]))
    if kind == 3:
        R = np.sign(R) * draw(st.sampled_from([1.0, 0.999999999]))
    if kind == 4:
        R = rng.uniform(-1, 1, (p, p))
        R = (R + R.T) / 2
        np.fill_diagonal(R, 1)
    if kind == 5:
        R = R * draw(st.sampled_from(EXTREMES))
    if kind == 6:
        R = np.eye(p)
    return R


def matrix_object(draw: Any) -> Any:
    """A DependenceMatrix, or what could not be made into one."""
    R = square(draw)
    try:
        names = [str(name) for name in item_names(draw, len(R))]
        return dt.DependenceMatrix.from_matrix(
            R, n_obs=draw(st.sampled_from([None, 2, 3, 50, 200])), names=names
        )
    except dt.DTError:
        return R


def csv_file(draw: Any, folder: Path) -> Path:
    """A file of answers."""
    X = values(draw)
    frame = pd.DataFrame(X, columns=pd.Index(item_names(draw, X.shape[1]), dtype=object))
    file = folder / "answers.csv"
    text = frame.to_csv(index=False, sep=draw(st.sampled_from([",", ";", "\t"])))
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    return file
