"""Covariances or correlations with a number of rows, where rows themselves are not given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dtstat import checks
from dtstat.arrays import FloatArray
from dtstat.dependence import DependenceMatrix
from dtstat.errors import InputError
from dtstat.estimation.sem.model import Model, Parameter

Source = Literal["covariances", "correlations"]

_LATENT = ("polychoric", "tetrachoric", "mixed")
_RANKS = ("spearman", "kendall")
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
    if n_obs is not None and matrix.n_obs is not None and n_obs != matrix.n_obs:
        advice = f"The matrix says that it rests on {matrix.n_obs} rows."
        raise checks.refusal("n_obs", "left out with this matrix", n_obs, advice)
    known = n_obs if matrix.n_obs is None else matrix.n_obs
    if known is None:
        raise InputError(
            "`data` must say how many rows the matrix rests on. "
            "Give n_obs, here or to DependenceMatrix.from_matrix.",
            "data",
        )
    rows = checks.integer("n_obs", known, _FEWEST_ROWS, "It is the number of rows behind it.")
    return Moments(matrix.values, matrix.names, rows, "correlations")


def _advice(measure: str) -> str:
    if measure in _LATENT:
        return "Give the data with ordered=True (estimator 'dwls'), which tests them as they are."
    if measure in _RANKS:
        return "Give the data, or use fit(..., structure=...), which is made for ranks."
    return "Give the data; or, if they are Pearson correlations, say measure='pearson'."


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


def check_model(model: Model, source: Source) -> None:
    """Refuse models that a matrix cannot be asked about.

    Correlations have lost the scales of the items, so that only models hold for them whose fit is
    the same on every scale (Cudeck 1989): no parameters of items that are equal or fixed, except
    zeros and one marker per factor.

    References
    ----------
    Cudeck, R. (1989). Analysis of correlation matrices using covariance structure models.
    Psychological Bulletin 105, 317-327.
    """
    if model.mean_structure:
        raise InputError(
            "`model` has intercepts, and a matrix says nothing of means. Give the data, or leave "
            "them out.",
            "model",
        )
    bound = _scale_bound(model) if source == "correlations" else None
    if bound is not None:
        raise InputError(
            f"`model` holds '{bound.name}' at a value or equal to another parameter, which depends "
            "on the scales of the items, and correlations have none. Give the data, or the "
            "covariance matrix with `n_obs`.",
            "model",
        )


def _scale_bound(model: Model) -> Parameter | None:
    """Return a parameter that would change if items were measured in other units."""
    standard = {row.lhs for row in model.parameters if _is_variance(row, model) and _fixed(row)}
    numbers = [row.free for row in model.parameters if row.free]
    anchored: set[str] = set()
    for row in model.parameters:
        own = {row.lhs, row.rhs} <= standard  # between factors of variance 1: a correlation
        equal = row.free > 0 and numbers.count(row.free) > 1
        if (equal or _fixed(row)) and not own:
            marks = row.op == "=~" and not equal and row.lhs not in standard | anchored
            if not marks:
                return row
            anchored.add(row.lhs)  # one value gives the factor its unit
    return None


def _fixed(row: Parameter) -> bool:
    return not row.free and not row.exogenous and bool(row.value)


def _is_variance(row: Parameter, model: Model) -> bool:
    return row.op == "~~" and row.lhs == row.rhs and row.lhs in model.latent
