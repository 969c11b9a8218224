"""Thresholds, latent correlations and their covariance: what WLSMV and DWLS fit a model to.

An ordinal item is a standard normal variable cut at thresholds; a continuous item is that variable
itself. :func:`ordinal_moments` estimates the moments of these variables in two steps, as in
:mod:`dtstat.dependence.polychoric`, and the covariance Γ of the estimates by the influence of the
rows (:mod:`dtstat.dependence.ordinal_scores`).

The statistics s stand in one order everywhere:

1. item by item, the thresholds of an ordinal item in increasing order or the mean of a continuous
   one;
2. the variances (divisor n) of the continuous items;
3. the covariances below the diagonal, column by column: (2,1), (3,1), ..., (p,1), (3,2), ...
   For two ordinal items this is the polychoric correlation, for an ordinal and a continuous one the
   polyserial correlation times the standard deviation, for two continuous ones their covariance.

This is the order of lavaan, which however stores the negative of a mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.checks import choice
from dtstat.core.errors import InputError
from dtstat.dependence.bivariate_normal import RHO_MAX
from dtstat.dependence.ordinal_scores import (
    Derivative,
    Margin,
    continuous_margin,
    ordinal_margin,
    pair_influence,
)
from dtstat.dependence.polychoric import Kind, latent_correlation_matrix

_MOST_CATEGORIES = 50  # the table of two items holds their product, each cell with its scores
_PERFECT = RHO_MAX - 1e-6  # the search for a correlation ends within this of its bound
_NO_VARIANCE = 1e-12  # share of the size of the numbers below which a spread is rounding error


@dataclass(frozen=True)
class OrdinalMoments:
    """Sample moments of the normal variables behind the items, with their covariance.

    Attributes
    ----------
    n_obs
        Rows n.
    names
        Names of the p items.
    continuous
        Which items are continuous, shape (p,).
    thresholds
        Increasing thresholds of each item; empty for a continuous one.
    means, variances
        Of the p variables; 0 and 1 for an ordinal item.
    correlations
        Polychoric, polyserial and Pearson correlations, shape (p, p). Estimated pair by pair, so
        the matrix need not be positive definite.
    statistics
        All of these as the vector s, shape (q,), in the order of the module's documentation.
    gamma
        Γ, the asymptotic covariance of √n s, shape (q, q). The standard errors of s are
        √(diag Γ / n).
    """

    n_obs: int
    names: tuple[str, ...]
    continuous: BoolArray
    thresholds: tuple[FloatArray, ...]
    means: FloatArray
    variances: FloatArray
    correlations: FloatArray
    statistics: FloatArray
    gamma: FloatArray

    @property
    def covariances(self) -> FloatArray:
        """Covariances of the variables, shape (p, p): the correlations if all are ordinal."""
        sd = np.sqrt(self.variances)
        return self.correlations * sd * sd[:, None]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the statistics in lavaan's syntax: "a|t1", "z~1", "z~~z", "a~~b"."""
        items = list(zip(self.names, self.continuous, self.thresholds, strict=True))
        first = [
            [f"{name}~1"] if z else [f"{name}|t{c + 1}" for c in range(tau.size)]
            for name, z, tau in items
        ]
        variances = [f"{name}~~{name}" for name, z, _ in items if z]
        pairs = [f"{a}~~{b}" for a, b in combinations(self.names, 2)]
        return tuple([*chain.from_iterable(first), *variances, *pairs])


def ordinal_moments(
    values: FloatArray,
    kinds: Sequence[Kind] | None = None,
    names: Sequence[str] | None = None,
    derivative: Derivative = "product",
) -> OrdinalMoments:
    """Two-step moments of ordinal, binary and continuous items, and their covariance.

    With F_r the influence of row r on the statistics s (Muthén, 1984),

        Γ = (1/n) Σ_r F_r F_r' = A⁻¹ B A⁻ᵀ,

    where B is the mean product of the rows' scores and A minus their mean derivative. The cost is
    that of the correlations, a look-up for each row and statistic, and one product of an (n, q)
    matrix with itself.

    Parameters
    ----------
    values
        Answers, shape (n, p), without missing values. Of ordinal items only the order matters.
    kinds
        "binary", "ordinal" or "continuous" for each item; None means all ordinal.
    names
        Names of the items, for labels and messages; x1, x2, ... by default.
    derivative
        How A is estimated. "product": by products of scores, which is what lavaan does and right
        when the variables behind the items are normal. "observed": by the derivatives themselves,
        right also when they are not (for continuous items it gives the distribution-free Γ).

    Returns
    -------
    OrdinalMoments

    Raises
    ------
    InputError
        If an answer is missing, an item does not vary or has too many categories, or two items
        are perfectly associated, so that the likelihood of their correlation has no maximum inside
        (-1, 1) and its variance is not defined.

    Examples
    --------
    >>> moments = ordinal_moments(np.repeat([[0.0, 0], [0, 1], [1, 0], [1, 1]], 25, axis=0))
    >>> moments.labels
    ('x1|t1', 'x2|t1', 'x1~~x2')
    >>> bool(np.allclose(moments.statistics, 0))
    True
    """
    if names is None:
        names = [f"x{j + 1}" for j in range(values.shape[-1])]
    kinds = list(kinds) if kinds is not None else ["ordinal"] * len(names)
    continuous = np.array([kind == "continuous" for kind in kinds], dtype=np.bool_)
    choice("derivative", derivative, ("product", "observed"))
    _check_items(values, continuous, names)
    R = latent_correlation_matrix(values, kinds)
    _check_correlations(R, names)
    margins = [
        continuous_margin(column, derivative) if z else ordinal_margin(column)
        for column, z in zip(values.T, continuous, strict=True)
    ]
    tau = tuple(m.thresholds for m in margins)
    means, sd = np.array([m.mean for m in margins]), np.array([m.sd for m in margins])
    s = stack_statistics(tau, means, R * sd * sd[:, None], continuous)
    F = row_influences(margins, R, derivative)
    gamma = F.T @ F / len(F)
    return OrdinalMoments(len(F), tuple(names), continuous, tau, means, sd**2, R, s, gamma)


def diagonal_weights(moments: OrdinalMoments) -> FloatArray:
    """Weights 1 / diag Γ of diagonally weighted least squares, shape (q,).

    DWLS minimizes Σ w_k (s_k - σ_k)² over the models' moments σ (Muthén, du Toit & Spisic, 1997).
    """
    return 1.0 / np.diag(moments.gamma)


def stack_statistics(
    thresholds: Sequence[FloatArray],
    means: FloatArray,
    covariances: FloatArray,
    continuous: BoolArray,
) -> FloatArray:
    """Moments of a sample or a model as one vector, in the order of the module's documentation.

    Thresholds of continuous items, and means (p,) and variances of ordinal ones, are not used.
    """
    first = [means[j : j + 1] if z else thresholds[j] for j, z in enumerate(continuous)]
    above = np.triu_indices(len(continuous), 1)  # its rows are the columns below the diagonal
    return np.concatenate([*first, np.diag(covariances)[continuous], covariances.T[above]])


def row_influences(margins: Sequence[Margin], R: FloatArray, derivative: Derivative) -> FloatArray:
    """Influence of each row on each statistic, shape (n, q), given correlations ``R`` (p, p).

    A covariance is c = ρ σ_i σ_j, so F_c = σ_i σ_j F_ρ + c (F_vi / v_i + F_vj / v_j) / 2.
    """
    items = [m.row_influence for m in margins]
    cuts = [max(m.thresholds.size, 1) for m in margins]  # thresholds or mean; behind, the variance
    locations = [F[:, :cut] for F, cut in zip(items, cuts, strict=True)]
    variances = [F[:, cut:] for F, cut in zip(items, cuts, strict=True)]
    scale = [F.sum(axis=1) / (2 * m.sd**2) for m, F in zip(margins, variances, strict=True)]
    pairs = np.empty((len(items[0]), len(margins) * (len(margins) - 1) // 2))
    for column, (i, j) in enumerate(combinations(range(len(margins)), 2)):
        F_rho = pair_influence(margins[i], margins[j], R[i, j], derivative)
        pairs[:, column] = (F_rho + R[i, j] * (scale[i] + scale[j])) * margins[i].sd * margins[j].sd
    return np.hstack([*locations, *variances, pairs])


def _check_items(values: FloatArray, continuous: BoolArray, names: Sequence[str]) -> None:
    """Refuse a matrix that does not match its description, gaps, and useless items."""
    if values.ndim != 2 or values.shape[1] != len(continuous) or len(continuous) != len(names):
        raise InputError(
            f"`values` must be a matrix with one column for each kind and name; got shape "
            f"{values.shape}, {len(continuous)} kinds and {len(names)} names.",
            argument="values",
        )
    for column, z, name in zip(values.T, continuous, names, strict=True):
        if not np.isfinite(column).all():
            raise InputError(
                f"Item '{name}' has missing or infinite answers in "
                f"{np.count_nonzero(~np.isfinite(column))} of {column.size} rows. "
                "Drop these rows first: the moments need complete rows.",
                argument="values",
            )
        _check_spread(column, z, name)


def _check_spread(column: FloatArray, continuous: bool, name: str) -> None:
    """Refuse a constant item and an ordinal item with too many categories."""
    n_values = np.unique(column).size
    size = np.max(np.abs(column), initial=0.0)
    if n_values < 2 or (continuous and np.std(column) <= _NO_VARIANCE * size):
        raise InputError(
            f"Item '{name}' must have at least two different answers; got {n_values} in "
            f"{column.size} rows. Drop the item.",
            argument="values",
        )
    if not continuous and n_values > _MOST_CATEGORIES:
        raise InputError(
            f"Ordinal item '{name}' must have at most {_MOST_CATEGORIES} categories; got "
            f"{n_values}. Declare it continuous, or merge categories.",
            argument="values",
        )


def _check_correlations(R: FloatArray, names: Sequence[str]) -> None:
    """Refuse a pair whose correlation has run to the end of its range."""
    for i, j in combinations(range(len(names)), 2):
        if abs(R[i, j]) >= _PERFECT:
            raise InputError(
                f"Items '{names[i]}' and '{names[j]}' must not be perfectly associated; got a "
                f"latent correlation of {R[i, j]:.4f}, which has no standard error. Drop one of "
                "them or merge sparse categories.",
                argument="values",
            )
