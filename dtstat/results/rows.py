"""Rows that a fitted model is to score, from data that may have other columns too."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd

from dtstat.arrays import FloatArray
from dtstat.data import ItemData, as_items, read_survey
from dtstat.data.columns import column_numbers
from dtstat.errors import InputError, nearest


def rows_to_score(data: Any, names: tuple[str, ...]) -> tuple[pd.Index, FloatArray]:
    """Index and (n, p) answers of the named items, coded as when a model is fitted.

    Parameters
    ----------
    data
        DataFrame, file or ItemData that has the items by name, or an array of just these.
    names
        Items of the model.

    Raises
    ------
    InputError
        If an item is missing, or an array has another number of columns.
    """
    if isinstance(data, str | os.PathLike):
        data = read_survey(data)
    if isinstance(data, ItemData):
        data = data.to_frame()
    if not isinstance(data, pd.DataFrame):
        return _of_array(np.asarray(data, dtype=float), len(names))
    known = [str(column) for column in data.columns]
    absent = [name for name in names if name not in known]
    if len(absent) > 1:
        raise InputError(
            f"The data lack the item '{absent[0]}' and {len(absent) - 1} more. Give the items that "
            "were fitted, by name.",
            "data",
        )
    if absent:
        raise InputError(
            f"The data must have all items of the model; '{absent[0]}' is not there. "
            + nearest(absent[0], known),
            "data",
        )
    columns = [column_numbers(data.iloc[:, known.index(name)], name).values for name in names]
    return data.index, np.column_stack(columns)


def _of_array(values: FloatArray, p: int) -> tuple[pd.Index, FloatArray]:
    if values.ndim != 2 or values.shape[1] != p:
        raise InputError(
            f"An array to score must have {p} columns, one an item in the order fitted; got shape "
            f"{values.shape}.",
            "data",
        )
    return pd.RangeIndex(len(values)), values


def with_scores(data: Any, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the data with one column of scores for each factor, named ``.fs_<factor>``."""
    frame = data if isinstance(data, pd.DataFrame) else as_items(data).to_frame()
    return frame.assign(**{f".fs_{name}": scores[name].to_numpy() for name in scores})
