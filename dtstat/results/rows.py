"""Rows that a fitted model is to score, from data that may have other columns too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from dtstat.arrays import FloatArray
from dtstat.data import ItemData, as_frame, has_names
from dtstat.data.checks import check_finite
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
    frame = data.to_frame() if isinstance(data, ItemData) else as_frame(data)
    if not has_names(data):
        return frame.index, _answers(_with_names(frame, names), range(len(names)), names)
    known = [str(column) for column in frame.columns]
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
    return frame.index, _answers(frame, [known.index(name) for name in names], names)


def _answers(frame: pd.DataFrame, places: Iterable[int], names: tuple[str, ...]) -> FloatArray:
    named = zip(places, names, strict=True)
    columns = [column_numbers(frame.iloc[:, place], name).values for place, name in named]
    values = np.column_stack(columns)
    check_finite(values, names)
    return values


def _with_names(frame: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    if frame.shape[1] != len(names):
        raise InputError(
            f"An array to score must have {len(names)} columns, one an item in the order fitted; "
            f"got shape {frame.shape}.",
            "data",
        )
    return frame.set_axis(list(names), axis=1)


def with_scores(data: Any, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the data with one column of scores for each factor, named ``.fs_<factor>``."""
    frame = data.to_frame() if isinstance(data, ItemData) else as_frame(data)
    return frame.assign(**{f".fs_{name}": scores[name].to_numpy() for name in scores})
