"""From rows of ordered (and continuous) items to the statistics that least squares fits.

Rows are chosen, categories counted and groups checked here; the statistics themselves are those of
:mod:`dtstat.sem.ordinal_moments`, the fit is that of :mod:`dtstat.sem.least_squares`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import cast

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import EstimationWarning, InputError, warn
from dtstat.core.parallel import Progress, Steps
from dtstat.data.items import ItemData, ItemKind, as_items, check_usable
from dtstat.sem.designs import Design, Rows, normalize
from dtstat.sem.discrepancy import Estimator
from dtstat.sem.estimate import STEPS, SEMEstimate
from dtstat.sem.groups import Groups
from dtstat.sem.least_squares import OrderedSample, fit_least_squares
from dtstat.sem.ordinal_moments import MOMENT_STEPS, ordinal_moments
from dtstat.sem.parameters import Model

_FEWEST = 2  # rows that two items must have in common


@dataclass(frozen=True)
class OrderedRows:
    """Rows of each group, ready for a model.

    Attributes
    ----------
    names
        Observed variables.
    parts
        Rows of each group, NaN where an answer is missing, with their weights and clusters.
    n_given
        Rows of each group before any were dropped.
    groups
        Names of the groups; one empty name if there are none.
    ordered
        Ordered items, and their numbers of categories.
    notes
        Sentences about rows that were left out.
    """

    names: tuple[str, ...]
    parts: tuple[Rows, ...]
    n_given: tuple[int, ...]
    groups: tuple[str, ...]
    ordered: dict[str, int]
    notes: tuple[str, ...] = ()


def ordered_rows(
    items: ItemData,
    ordered: Sequence[str],
    groups: Groups | None = None,
    pairwise: bool = False,
    covariates: Sequence[str] = (),
    design: Design | None = None,
    normalization: str = "total",
) -> OrderedRows:
    """Choose rows: complete ones or, with ``pairwise``, those that have any item.

    Rows that lack one of the ``covariates``, or weigh nothing, are left out in any case.
    """
    design = design or Design()
    kinds: dict[str, ItemKind] = {name: "continuous" for name in items.names}
    kinds |= {name: "ordinal" for name in ordered}
    items = as_items(items, kinds)
    x = [k for k, name in enumerate(items.names) if name in covariates]
    answered = ~np.isnan(items.values)
    notes: tuple[str, ...] = ()
    keep = answered.all(axis=1)
    if pairwise:
        given = answered[:, x].all(axis=1)
        keep = given & np.delete(answered, x, axis=1).any(axis=1)
        if lost := int((~given).sum()):
            notes = (f"{lost} rows were left out: they do not answer all observed predictors.",)
            warn(notes[0], EstimationWarning, stacklevel=2)
    if design.weights is not None:
        keep = keep & (design.weights > 0)
    marks = groups.rows if groups else (np.ones(items.n_rows, dtype=bool),)
    names = groups.names if groups else ("",)
    parts = [items.take(mark & keep) for mark in marks]
    for name, part in zip(names, parts, strict=True):
        _check_part(part, name)
    counts = _categories(items, ordered, parts, names)
    rows = [
        Rows(part.values, *design.take(mark & keep).columns)
        for part, mark in zip(parts, marks, strict=True)
    ]
    return OrderedRows(
        items.names, tuple(normalize(rows, normalization)), tuple(int(m.sum()) for m in marks),
        names, counts, notes,
    )  # fmt: skip


def _check_part(part: ItemData, group: str) -> None:
    try:
        check_usable(part)
    except InputError as error:
        if not group:
            raise
        raise InputError(f"In group '{group}': {error}", error.argument) from None


def _categories(
    items: ItemData, ordered: Sequence[str], parts: Sequence[ItemData], groups: Sequence[str]
) -> dict[str, int]:
    """Count categories, which must be the same in all groups."""
    counts = {}
    for name in ordered:
        k = items.names.index(name)
        found = [np.unique(part.values[:, k]) for part in parts]
        found = [levels[~np.isnan(levels)] for levels in found]
        everywhere = np.unique(np.concatenate(found))
        for levels, group in zip(found, groups, strict=True):
            missing = np.setdiff1d(everywhere, levels)
            if missing.size:
                raise InputError(
                    f"In group '{group}' nobody gives the answer {missing[0]:g} to '{name}', so "
                    "that its thresholds cannot be compared with those of the other groups. Merge "
                    "the answer with a neighboring one, or leave out the group.",
                    "data",
                )
        counts[name] = everywhere.size
    return counts


def fit_ordered(
    model: Model,
    rows: OrderedRows,
    estimator: str = "wlsmv",
    progress: Progress = None,
) -> SEMEstimate:
    """Fit a model to rows of ordered (and continuous) items.

    The model has been built with the categories of the rows (``ordered=rows.ordered``).
    """
    samples = []
    with Steps(progress, "model", MOMENT_STEPS * len(rows.parts) + STEPS) as steps:
        for part, n_given, group in zip(rows.parts, rows.n_given, rows.groups, strict=True):
            try:
                samples.append(_sample(model, rows, part, n_given, steps))
            except InputError as error:
                if not group:
                    raise
                raise InputError(f"In group '{group}': {error}", error.argument) from None
        return fit_least_squares(model, samples, cast(Estimator, estimator), rows.notes, steps)


def _sample(
    model: Model, rows: OrderedRows, part: Rows, n_given: int, steps: Steps
) -> OrderedSample:
    """Statistics of one group."""
    covariates = model.covariates
    y = [name for name in model.observed if name not in covariates]
    Y = part.X[:, [rows.names.index(name) for name in y]]
    X = part.X[:, [rows.names.index(name) for name in covariates]]
    _check_pairs(Y, y)
    _check_covariates(X, covariates)
    moments = ordinal_moments(
        Y, ["ordinal" if name in rows.ordered else "continuous" for name in y], y, None, X,
        covariates, part.weights, part.clusters, steps,
    )  # fmt: skip
    S, mean = replace(part, X=X).moments()
    if part.weights is None:
        S = S * (len(X) / (len(X) - 1))
    return OrderedSample(moments, S, mean, len(X), n_given)


def _check_pairs(Y: FloatArray, names: Sequence[str]) -> None:
    """Refuse items that (almost) nobody answers together."""
    answered = (~np.isnan(Y)).astype(float)
    common = answered.T @ answered
    for i, j in combinations(range(len(names)), 2):
        if common[i, j] < _FEWEST:
            raise InputError(
                f"Items '{names[i]}' and '{names[j]}' are answered together by {common[i, j]:g} "
                "rows, so that they have no correlation. Drop one of them.",
                "data",
            )


def _check_covariates(X: FloatArray, names: Sequence[str]) -> None:
    """Refuse predictors that do not vary or determine one another."""
    if not X.shape[1]:
        return
    spread = X.std(axis=0)
    if (spread == 0).any():
        name = names[int(np.argmin(spread))]
        raise InputError(f"Predictor '{name}' has the same value in all rows. Drop it.", "data")
    R = np.corrcoef(X.T).reshape(len(names), -1)
    if np.linalg.eigvalsh(R)[0] < 1e-10:
        raise InputError(
            f"The predictors {', '.join(map(repr, names))} determine one another. Drop one of "
            "them.",
            "data",
        )
