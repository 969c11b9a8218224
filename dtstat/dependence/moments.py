"""Covariances or correlations and a number of rows, given in the place of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.errors import InputError
from dtstat.data.checks import is_symmetric_matrix
from dtstat.data.containers import as_frame
from dtstat.data.items import ItemData
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.measures import LATENT, RANKS

Source = Literal["covariances", "correlations"]

_FEWEST_ROWS = 3


@dataclass(frozen=True, eq=False)
class Moments:
    """What maximum likelihood needs of the rows.

    Attributes
    ----------
    values
        (p, p) covariances or correlations; divisor n − 1, as ``cov`` of R and pandas have it.
    names
        p item names.
    n_obs
        Rows behind them.
    source
        Which of the two they are.
    """

    values: FloatArray
    names: tuple[str, ...]
    n_obs: int
    source: Source

    def of(self, names: Sequence[str]) -> FloatArray:
        """Moments of some items, in this order."""
        places = [self.names.index(name) for name in names]
        return self.values[np.ix_(places, places)]


def as_moments(data: Any, n_obs: int | None) -> Moments | None:
    """Return covariances or correlations, if that is what was given as data."""
    if isinstance(data, DependenceMatrix):
        return given_correlations(data, n_obs)
    S = _symmetric(data)
    if S is not None:
        return given_covariances(*S, n_obs)
    if n_obs is not None:
        advice = "The rows are counted; it is for a covariance matrix."
        raise checks.refusal("n_obs", "left out with answers", n_obs, advice)
    return None


def as_matrix(data: Any, n_obs: int | None) -> Any:
    """Return a covariance matrix that was given as data as correlations; anything else as it is."""
    if isinstance(data, DependenceMatrix):
        return data
    S = _symmetric(data)
    if S is None:
        return data
    moments = given_covariances(*S, n_obs)
    return DependenceMatrix.from_matrix(moments.values, moments.n_obs, names=moments.names)


def given_covariances(S: FloatArray, names: Sequence[str], n_obs: int | None) -> Moments:
    """Take a symmetric matrix that was given as data.

    Raises
    ------
    InputError
        If the number of rows is not given, or a variance is not positive.
    """
    unit = bool(np.allclose(np.diag(S), 1, rtol=0, atol=1e-6))
    what = "correlation" if unit else "covariance"
    if n_obs is None:
        raise InputError(
            f"`data` is a symmetric {len(S)} × {len(S)} matrix, that is a {what} matrix: say how "
            "many rows it rests on with `n_obs`, or give the answers, people in rows.",
            "n_obs",
        )
    bad = np.flatnonzero(np.diag(S) <= 0)
    if bad.size:
        raise InputError(
            f"`data` is a symmetric matrix, but the variance of '{names[bad[0]]}' on its diagonal "
            f"is {S[bad[0], bad[0]]:g}. Give covariances, or the answers, people in rows.",
            "data",
        )
    rows = checks.integer("n_obs", n_obs, _FEWEST_ROWS, "It is the number of rows behind it.")
    return Moments(S / 2 + S.T / 2, tuple(names), rows, "correlations" if unit else "covariances")


def given_correlations(matrix: DependenceMatrix, n_obs: int | None) -> Moments:
    """Take a matrix of dependence, if it is one that normal theory holds for.

    Raises
    ------
    InputError
        If the measure is not Pearson's correlation, or the number of rows is not known.
    """
    if matrix.measure != "pearson":
        raise InputError(
            f"`data` is a matrix of {matrix.measure} dependence, and the tests and standard errors "
            f"of maximum likelihood hold for Pearson correlations alone. {_advice(matrix.measure)}",
            "data",
        )
    about = "It is the number of rows behind it."
    given = None if n_obs is None else checks.integer("n_obs", n_obs, _FEWEST_ROWS, about)
    if given is not None and matrix.n_obs is not None and given != matrix.n_obs:
        advice = f"The matrix says that it rests on {matrix.n_obs} rows."
        raise checks.refusal("n_obs", "left out with this matrix", given, advice)
    known = given if matrix.n_obs is None else matrix.n_obs
    if known is None:
        raise InputError(
            "`data` must say how many rows the matrix rests on. "
            "Give n_obs, here or to DependenceMatrix.from_matrix.",
            "data",
        )
    rows = checks.integer("n_obs", known, _FEWEST_ROWS, about)
    return Moments(matrix.values, matrix.names, rows, "correlations")


def rows_of_pairs(matrix: DependenceMatrix, names: Sequence[str]) -> int | None:
    """Return the rows that every pair of these items rests on; None if it does not say.

    Raises
    ------
    InputError
        If pairs rest on different numbers of rows.
    """
    counts = matrix.select(list(names)).pairwise_n
    if counts is None:
        return None
    if counts.min() < counts.max():
        raise InputError(
            f"`data` is a matrix whose pairs rest on different rows ({counts.min()} to "
            f"{counts.max()}), for which no chi-square or standard error is known. Give the data "
            "with missing='fiml', or the matrix with missing='listwise'.",
            "data",
        )
    return int(counts.min())


def has_unit_diagonal(data: Any) -> bool:
    """Whether a square table has ones on its diagonal, as correlations have."""
    return bool(np.allclose(np.diag(as_frame(data).to_numpy(dtype=float)), 1, rtol=0, atol=1e-6))


def rows_behind(matrix: DependenceMatrix) -> int:
    """Return the number of rows a matrix rests on; refuse one that does not know it."""
    if matrix.n_obs is None:
        raise InputError(
            "`data` must say how many rows the matrix rests on. "
            "Give n_obs to DependenceMatrix.from_matrix.",
            "data",
        )
    return matrix.n_obs


def _advice(measure: str) -> str:
    if measure in LATENT:
        return "Give the data with ordered=True (estimator 'wlsmv'), which tests them as they are."
    if measure in RANKS:
        return "Give the data, or use fit(..., structure=...), which is made for ranks."
    return "Give the data; or, if they are Pearson correlations, say measure='pearson'."


def _symmetric(data: Any) -> tuple[FloatArray, list[str]] | None:
    """Values and names of a table that can only be a matrix of items by items."""
    if isinstance(data, ItemData) or not isinstance(data, pd.DataFrame | np.ndarray | list | tuple):
        return None
    shape = data.shape if isinstance(data, pd.DataFrame | np.ndarray) else (len(data),)
    if not shape or shape[0] < 3 or len(set(shape)) > 1:
        return None  # most data leave here, before anything is copied
    frame = as_frame(data)
    try:
        values = frame.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError, OverflowError):
        return None
    return (values, list(map(str, frame.columns))) if is_symmetric_matrix(values) else None
