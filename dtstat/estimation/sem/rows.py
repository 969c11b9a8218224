"""The rows a model is fitted to, and whether maximum likelihood can work on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dtstat.arrays import FloatArray
from dtstat.data import ItemData
from dtstat.data.combinations import find_combinations
from dtstat.errors import EstimationError, InputError

_PERFECT = 1e-10  # distance of a correlation from 1, or of an eigenvalue from 0, that is rounding
_LARGEST = 1e60  # fourth moments of answers up to this size are numbers
_MOST_NAMES = 6  # listed in a message


def usable_rows(items: ItemData, gaps: bool) -> FloatArray:
    """Rows without gaps, or with ``gaps`` those with any answer.

    Raises
    ------
    InputError
        If an item has no variance left.
    EstimationError
        If there are no more rows than items, or the covariance matrix is singular.
    """
    answered = ~np.isnan(items.values)
    X = items.values[answered.any(axis=1) if gaps else answered.all(axis=1)]
    _check_size(X, items.names)
    _check_count(X, items.n_rows, gaps)
    _check_variance(X, items)
    _check_correlations(X, items.names)
    return X


def _check_size(X: FloatArray, names: Sequence[str]) -> None:
    """Refuse answers whose squares are no numbers; estimates are in units of the answers."""
    if not X.size:
        return
    size = np.nanmax(np.abs(X), axis=0)
    bad = np.flatnonzero((size > _LARGEST) | ((size < 1 / _LARGEST) & (size > 0)))
    if bad.size:
        raise InputError(
            f"item '{names[bad[0]]}' must have answers of moderate size; got {size[bad[0]]:g} at "
            "most, whose variance cannot be computed with. Measure it in other units.",
            "data",
        )


def _check_count(X: FloatArray, n_given: int, gaps: bool) -> None:
    n, p = X.shape
    if n > p:
        return
    rows = f"{n} rows" if n == n_given else f"{n} usable rows of {n_given}"
    advice = "Use fewer items or more rows."
    if n < n_given and not gaps:
        advice = "Rows with missing answers were left out; missing='fiml' keeps them."
    raise EstimationError(
        f"Maximum likelihood needs more rows than items; got {rows} for {p} items. Otherwise the "
        f"covariance matrix is singular and the likelihood has no maximum. {advice}"
    )


def _check_variance(X: FloatArray, items: ItemData) -> None:
    constant = np.flatnonzero(np.nanmax(X, axis=0) == np.nanmin(X, axis=0))
    if constant.size:
        left = len(X) < items.n_rows
        why = f" in the {len(X)} rows without missing answers" if left else ""
        advice = "Leave it out" + (", or keep all rows with missing='fiml'." if left else ".")
        raise InputError(
            f"item '{items.names[constant[0]]}' has the same answer everywhere{why}. {advice}",
            "data",
        )


def _check_correlations(X: FloatArray, names: Sequence[str]) -> None:
    gaps = bool(np.isnan(X).any())
    R = pd.DataFrame(X).corr().to_numpy() if gaps else np.corrcoef(X, rowvar=False)
    i, j = np.nonzero(np.triu(np.abs(R) > 1 - _PERFECT, 1))
    if i.size:
        raise EstimationError(
            f"Items '{names[i[0]]}' and '{names[j[0]]}' are perfectly correlated, so the "
            "covariance matrix is singular and the likelihood has no maximum. Leave one of them "
            "out."
        )
    if gaps or _clearly_regular(np.asarray(R, dtype=np.float64)):
        return
    values, vectors = np.linalg.eigh(R)
    if values[0] < _PERFECT:
        involved = [names[int(k)] for k in np.flatnonzero(np.abs(vectors[:, 0]) > 0.1)]
        listed = ", ".join(f"'{name}'" for name in involved[:_MOST_NAMES])
        for says, advice in find_combinations(X, names):
            raise EstimationError(
                f"{says[0].upper()}{says[1:]}, so the covariance matrix is singular and the "
                f"likelihood has no maximum. {advice[0].upper()}{advice[1:]}."
            )
        raise EstimationError(
            f"The answers to {listed} determine each other exactly (one is a sum of others), so "
            "the covariance matrix is singular and the likelihood has no maximum. Leave one of "
            "them out."
        )


def _clearly_regular(R: FloatArray) -> bool:
    """Whether no item is close to a combination of those before it; cheaper than eigenvalues."""
    try:
        return bool(np.linalg.cholesky(R).diagonal().min() > 1e-3)
    except np.linalg.LinAlgError:
        return False
