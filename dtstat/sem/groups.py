"""Groups: which rows are whose, by a column that names them, and which parameters they share.

Parameters are shared as lavaan's ``group.equal`` and ``group.partial`` say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import BoolArray
from dtstat.core.errors import (
    DataWarning,
    EstimationError,
    EstimationWarning,
    InputError,
    nearest,
    warn,
)
from dtstat.data.containers import as_frame
from dtstat.data.items import ItemData
from dtstat.sem.designs import Design, Rows, normalize
from dtstat.sem.parameters import Parameter
from dtstat.sem.rows import lone_answers, usable_rows
from dtstat.sem.terms import Roles

_HOW = "Give the name of a column of the data."


@dataclass(frozen=True)
class Groups:
    """Names of groups in the order in which they appear, and which rows are theirs."""

    names: tuple[str, ...]
    rows: tuple[BoolArray, ...]
    notes: tuple[str, ...] = ()


def group_labels(data: Any, group: str) -> npt.NDArray[np.object_]:
    """Name the group of each row, "" where it is missing."""
    frame = as_frame(data)
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


_KINDS: dict[str, Callable[[Parameter, frozenset[str]], bool]] = {
    "loadings": lambda row, _: row.op == "=~",
    "intercepts": lambda row, latent: row.op == "~1" and row.lhs not in latent,
    "means": lambda row, latent: row.op == "~1" and row.lhs in latent,
    "thresholds": lambda row, _: row.op == "|",
    "regressions": lambda row, _: row.op == "~",
    "residuals": lambda row, latent: row.is_variance and row.lhs not in latent,
    "residual_covariances": lambda row, latent: (
        row.op == "~~" and row.lhs != row.rhs and not {row.lhs, row.rhs} <= latent
    ),
    "lv_variances": lambda row, latent: row.is_variance and row.lhs in latent,
    "lv_covariances": lambda row, latent: (
        row.op == "~~" and row.lhs != row.rhs and {row.lhs, row.rhs} <= latent
    ),
}


def count_rows(items: ItemData, groups: Groups | None) -> list[int]:
    """Rows given, of each group."""
    return [int(own.sum()) for own in groups.rows] if groups else [items.n_rows]


def check_kinds(group_equal: object) -> tuple[str, ...]:
    """Names of kinds of parameters; lavaan's spelling with dots is understood."""
    if group_equal is None:
        return ()
    given = [group_equal] if isinstance(group_equal, str) else group_equal
    names = checks.texts("group_equal", given, f"Give some of {', '.join(_KINDS)}.")
    kinds = tuple(name.replace(".", "_").lower() for name in names)
    for kind in kinds:
        if kind not in _KINDS:
            raise checks.unknown("group_equal", "kinds of parameters", kind, tuple(_KINDS))
    return tuple(dict.fromkeys(kinds))


def equate_groups(
    table: Sequence[Parameter],
    roles: Roles,
    equal: Sequence[str],
    partial: Sequence[str],
    groups: Sequence[str],
) -> list[Parameter]:
    """Label free parameters of the given kinds like those of the first group.

    Labels that were written stay; parameters named in ``partial``, as in "f=~x1", are left alone.
    The labels are lavaan's: ".p5." is the fifth row of the table.
    """
    rows = list(table)
    if len(groups) < 2:
        return rows
    apart = _partial_keys(rows, partial)
    latent = frozenset(roles.latent)
    first = {row.key: k for k, row in enumerate(rows) if row.group == 1}
    for k, row in enumerate(rows):
        if row.group == 1 or not row.free or row.label or row.key in apart:
            continue
        at = first[row.key]
        if any(_KINDS[kind](row, latent) for kind in equal) and rows[at].free:
            label = rows[at].label or f".p{at + 1}."
            rows[at], rows[k] = rows[at].change(label=label), row.change(label=label)
    return rows


def _partial_keys(rows: Sequence[Parameter], partial: Sequence[str]) -> set[tuple[str, str, str]]:
    """Return what parameters such as "f =~ x1" or "x1 ~ 1" are."""
    known = {}
    for row in rows:
        known[row.lhs + row.op + row.rhs] = row.key
        if row.op == "~~":
            known[row.rhs + row.op + row.lhs] = row.key
    keys = set()
    for text in partial:
        plain = "".join(text.split())
        if plain not in known:
            raise InputError(
                f"`group_partial` names '{text}', which is no parameter of the model. "
                + nearest(plain, known),
                "group_partial",
            )
        keys.add(known[plain])
    return keys
