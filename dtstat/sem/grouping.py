"""From a column that names groups to the rows of each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import BoolArray
from dtstat.core.errors import DataWarning, EstimationError, EstimationWarning, InputError, warn
from dtstat.data.items import ItemData
from dtstat.data.readers import as_frame
from dtstat.sem.designs import Design, Rows, normalize
from dtstat.sem.rows import lone_answers, usable_rows

_HOW = "Give the name of a column of the data."


@dataclass(frozen=True)
class Groups:
    """Names of groups in the order in which they appear, and which rows are theirs."""

    names: tuple[str, ...]
    rows: tuple[BoolArray, ...]
    notes: tuple[str, ...] = ()


def group_labels(data: Any, group: str) -> npt.NDArray[np.object_]:
    """Name the group of each row, "" where it is missing."""
    frame = data if isinstance(data, pd.DataFrame) else as_frame(data)
    columns = list(map(str, frame.columns))
    if group not in columns:
        raise checks.unknown("group", "the name of a column of the data", group, columns)
    column = frame.iloc[:, columns.index(group)]
    codes, values = pd.factorize(column)
    return np.array([*map(_label, values), ""], dtype=object)[codes]  # missing ones have code -1


def _label(value: object) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)  # type: ignore[call-overload]


def find_groups(frame: pd.DataFrame, group: object, wanted: Sequence[str] | None = None) -> Groups:
    """Find the groups that a column names; those that are wanted, in their order."""
    if not isinstance(group, str):
        raise checks.refusal("group", "the name of a column", group, _HOW)
    labels = group_labels(frame, group)
    names = tuple(dict.fromkeys(label for label in labels if label))
    if len(names) < 2:
        raise InputError(
            f"`group` must be a column with two groups or more; '{group}' has {len(names)}. Leave "
            "`group` out to fit one model to all rows.",
            "group",
        )
    if wanted is not None:
        for name in wanted:
            if name not in names:
                raise checks.unknown("group_label", f"groups of '{group}'", name, names)
        names = tuple(wanted)
    notes: tuple[str, ...] = ()
    if lost := int((labels == "").sum()):
        notes = (f"{lost} rows were left out: they do not say which group of '{group}' is theirs.",)
        warn(notes[0], EstimationWarning, stacklevel=2)
    return Groups(names, tuple(np.asarray(labels == name) for name in names), notes)


def usable_groups(
    items: ItemData, groups: Groups | None, design: Design, gaps: bool, normalization: str
) -> tuple[list[Rows], tuple[str, ...]]:
    """Usable rows of each group, and notes about rows without and items with one answer.

    What is wrong with a group is said with its name. Rows that weigh nothing are left out.
    """
    everybody = np.ones(items.n_rows, dtype=bool)
    found, notes, empty = [], [], 0
    parts = zip(groups.names, groups.rows, strict=True) if groups else [("", everybody)]
    for name, members in parts:
        own = members if design.weights is None else members & (design.weights > 0)
        try:
            X, kept = usable_rows(items if own.all() else items.take(own), gaps)
        except EstimationError as error:
            raise EstimationError(f"In group '{name}': {error}" if name else str(error)) from None
        except InputError as error:
            if not name:
                raise
            raise InputError(f"In group '{name}': {error}", error.argument) from None
        notes += [
            f"In group '{name}' {note}" if name else note for note in lone_answers(X, items.names)
        ]
        empty += int(own.sum()) - len(X) if gaps else 0
        used = own.copy()
        used[own] = kept
        found.append(Rows(X, *design.take(used).columns))
    for note in notes:
        warn(note, DataWarning, stacklevel=2)
    if empty:
        rows, they = (
            ("1 row was", "it answers") if empty == 1 else (f"{empty} rows were", "they answer")
        )
        notes.append(f"{rows} left out: {they} none of the items of the model.")
        warn(notes[-1], EstimationWarning, stacklevel=2)
    return normalize(found, normalization), tuple(notes)
