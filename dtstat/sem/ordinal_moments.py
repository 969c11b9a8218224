"""Thresholds, latent correlations and their covariance: what least squares fits a model to.

An ordinal item is a standard normal variable cut at thresholds; a continuous item is that variable
itself. :func:`ordinal_moments` estimates the moments of these variables in two steps, as in
:mod:`dtstat.dependence.polychoric`, and the covariance Γ of the estimates by the influence of the
rows (:mod:`dtstat.dependence.ordinal_scores`). With covariates all moments are those given the
covariates: items regress on them, and variances and correlations are those of the residuals
(:mod:`dtstat.dependence.regression_scores`).

The statistics s stand in one order everywhere:

1. item by item, the thresholds of an ordinal item in increasing order or the mean of a continuous
   one (given covariates of 0);
2. item by item, the slopes on the covariates;
3. the variances (divisor n) of the continuous items;
4. the covariances below the diagonal, column by column: (2,1), (3,1), ..., (p,1), (3,2), ...
   For two ordinal items this is the polychoric correlation, for an ordinal and a continuous one the
   polyserial correlation times the standard deviation, for two continuous ones their covariance.

This is the order of lavaan, which however stores the negative of a mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.checks import choice
from dtstat.core.errors import InputError
from dtstat.core.parallel import Steps
from dtstat.core.saved import register
from dtstat.dependence.bivariate_normal import RHO_MAX
from dtstat.dependence.ordinal_scores import (
    Derivative,
    Margin,
    continuous_margin,
    ordinal_margin,
    pair_influence,
)
from dtstat.dependence.polychoric import Kind, latent_correlation_matrix
from dtstat.dependence.regression_scores import (
    Regression,
    SeparatedError,
    linear_regression,
    ordinal_regression,
    residual_correlation,
    residual_influence,
)
from dtstat.sem.designs import Rows

_MOST_CATEGORIES = 50  # the table of two items holds their product, each cell with its scores
_NO_SLOPES = np.empty(0)
MOMENT_STEPS = 3
_PERFECT = RHO_MAX - 1e-6  # the search for a correlation ends within this of its bound
_NO_VARIANCE = 1e-12  # share of the size of the numbers below which a spread is rounding error


@register(
    shapes={
        "names": "p",
        "continuous": "p",
        "thresholds": "p",
        "thresholds[]": "*",
        "levels": "p",
        "levels[]": "*",
        "means": "p",
        "variances": "p",
        "correlations": "pp",
        "statistics": "s",
        "gamma": "ss",
        "weights": "s",
        "slopes": "pc",
        "covariates": "c",
    }
)
@dataclass(frozen=True)
class OrdinalMoments:
    """Sample moments of the normal variables behind the items, with their covariance.

    Attributes
    ----------
    n_obs
        Rows n, or the sum of their weights.
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
    weights
        1 / diag Γ by products of scores, the weights of diagonally weighted least squares.
    levels
        Distinct answers to each item, increasing; none for a continuous one.
    covariates, slopes
        Names of the c covariates, and the slopes of the items on them, shape (p, c).
    """

    n_obs: float
    names: tuple[str, ...]
    continuous: BoolArray
    thresholds: tuple[FloatArray, ...]
    means: FloatArray
    variances: FloatArray
    correlations: FloatArray
    statistics: FloatArray
    gamma: FloatArray
    weights: FloatArray
    levels: tuple[FloatArray, ...] = ()
    covariates: tuple[str, ...] = ()
    slopes: FloatArray = field(default_factory=lambda: np.empty((0, 0)))

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
        slopes = [f"{name}~{x}" for name in self.names for x in self.covariates]
        variances = [f"{name}~~{name}" for name, z, _ in items if z]
        pairs = [f"{a}~~{b}" for a, b in combinations(self.names, 2)]
        return tuple([*chain.from_iterable(first), *slopes, *variances, *pairs])


def ordinal_moments(
    values: FloatArray,
    kinds: Sequence[Kind] | None = None,
    names: Sequence[str] | None = None,
    derivative: Derivative | None = "product",
    covariates: FloatArray | None = None,
    covariate_names: Sequence[str] = (),
    weights: FloatArray | None = None,
    clusters: IntArray | None = None,
    steps: Steps | None = None,
) -> OrdinalMoments:
    """Two-step moments of ordinal, binary and continuous items, and their covariance.

    With F_r the influence of row r on the statistics s (Muthén, 1984),

        Γ = (1/n) Σ_r F_r F_r' = A⁻¹ B A⁻ᵀ,

    where B is the mean product of the rows' scores and A minus their mean derivative. Rows that
    weigh w enter all sums by their weights and Γ by w F; of rows of one cluster w F are added up
    (:mod:`dtstat.sem.designs`). The cost is that of the correlations, a look-up for each row and
    statistic, and one product of an (n, q) matrix with itself.

    Parameters
    ----------
    values
        Answers, shape (n, p), NaN where missing. Of ordinal items only the order matters. Every
        statistic is estimated from the rows that have its items.
    kinds
        "binary", "ordinal" or "continuous" for each item; None means all ordinal.
    names
        Names of the items, for labels and messages; x1, x2, ... by default.
    derivative
        How A is estimated. "product": by products of scores, which is what lavaan does and right
        when the variables behind the items are normal. "observed": by the derivatives themselves,
        right also when they are not (for continuous items it gives the distribution-free Γ). None
        takes the second if an item is continuous.
    covariates, covariate_names
        (n, c) complete values of covariates that the items regress on, and their names.
    weights, clusters
        (n,) positive weights of the rows, and numbers of their clusters, from 0.
    steps
        Reports ``MOMENT_STEPS``: correlations, influences, and what they add up to.

    Returns
    -------
    OrdinalMoments

    Raises
    ------
    InputError
        If an item does not vary or has too many categories, or two items
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
    if derivative is None:
        derivative = "observed" if continuous.any() else "product"
    choice("derivative", derivative, ("product", "observed"))
    for column, z, name in zip(values.T, continuous, names, strict=True):
        _check_spread(column, z, name)
    X = np.empty((len(values), 0)) if covariates is None else covariates
    by_rows = X.shape[1] > 0 or weights is not None or bool(np.isnan(values).any())
    w = np.ones(len(values)) if weights is None else weights
    steps = steps or Steps()
    found = (
        _Regressions(values, continuous, X, w, names, steps)
        if by_rows
        else _Margins(values, kinds, continuous)
    )
    steps.done()
    margins, R = found.margins, found.correlations
    _check_correlations(R, names)
    tau = tuple(m.thresholds for m in margins)
    levels = tuple(
        np.empty(0) if z else np.unique(column[~np.isnan(column)])
        for column, z in zip(values.T, continuous, strict=True)
    )
    means, sd = np.array([m.mean for m in margins]), np.array([m.sd for m in margins])
    s = stack_statistics(tau, means, R * sd * sd[:, None], continuous, found.slopes)
    F = found.influences(derivative, steps)
    steps.done()
    rows = Rows(values, weights, clusters)
    gamma = rows.squares(F)
    products = F if derivative == "product" else found.influences("product", steps)
    inverse = rows.total / np.einsum("n,nk,nk->k", w**2, products, products)
    steps.done()
    return OrdinalMoments(
        rows.total, tuple(names), continuous, tau, means, sd**2, R, s, gamma, inverse, levels,
        tuple(covariate_names), found.slopes,
    )  # fmt: skip


class _Margins:
    """The two steps for complete rows without covariates: ordinal items are counted in tables."""

    def __init__(self, values: FloatArray, kinds: Sequence[Kind], continuous: BoolArray) -> None:
        self._values, self._continuous = values, continuous
        self.correlations = latent_correlation_matrix(values, kinds)
        self.margins = self._margins("product")
        self.slopes = np.empty((len(continuous), 0))

    def _margins(self, derivative: Derivative) -> list[Margin]:
        return [
            continuous_margin(column, derivative) if z else ordinal_margin(column)
            for column, z in zip(self._values.T, self._continuous, strict=True)
        ]

    def influences(self, derivative: Derivative, steps: Steps) -> FloatArray:
        return row_influences(self._margins(derivative), self.correlations, derivative, steps)


class _Regressions:
    """The two steps row by row, for rows with gaps and items that regress on covariates."""

    def __init__(
        self,
        values: FloatArray,
        continuous: BoolArray,
        X: FloatArray,
        weights: FloatArray,
        names: Sequence[str],
        steps: Steps,
    ) -> None:
        self._values, self._continuous, self._X, self._names = values, continuous, X, names
        self._weights = weights
        self.margins = self._regressions("product")
        self.slopes = np.array([margin.slopes for margin in self.margins])
        p = len(continuous)
        self.correlations = np.eye(p)
        for i, j in steps.through([*combinations(range(p), 2)]):
            rho = residual_correlation(self.margins[i], self.margins[j])
            self.correlations[i, j] = self.correlations[j, i] = rho

    def _regressions(self, derivative: Derivative) -> list[Regression]:
        found = []
        for column, z, name in zip(self._values.T, self._continuous, self._names, strict=True):
            try:
                fit = linear_regression if z else ordinal_regression
                found.append(fit(column, self._X, self._weights, derivative))
            except SeparatedError:
                raise InputError(
                    f"The predictors tell answers to '{name}' apart without error, so that their "
                    "slopes are infinite. Drop the predictor that does, or merge answers.",
                    "data",
                ) from None
        return found

    def influences(self, derivative: Derivative, steps: Steps) -> FloatArray:
        """As :func:`row_influences`, with the slopes."""
        margins, R, c = self._regressions(derivative), self.correlations, self._X.shape[1]
        cuts = [max(m.thresholds.size, 1) for m in margins]
        parts = [np.split(m.influence, [k, k + c], 1) for m, k in zip(margins, cuts, strict=True)]
        locations, slopes, variances = zip(*parts, strict=True)
        scale = [F.sum(axis=1) / (2 * m.sd**2) for m, F in zip(margins, variances, strict=True)]
        pairs = [
            (
                residual_influence(margins[i], margins[j], R[i, j], derivative, self._weights.sum())
                + R[i, j] * (scale[i] + scale[j])
            )
            * (margins[i].sd * margins[j].sd)
            for i, j in steps.through([*combinations(range(len(margins)), 2)])
        ]
        n = len(self._values)
        return np.hstack([*locations, *slopes, *variances, np.reshape(pairs, (-1, n)).T])


def stack_statistics(
    thresholds: Sequence[FloatArray],
    means: FloatArray,
    covariances: FloatArray,
    continuous: BoolArray,
    slopes: FloatArray = _NO_SLOPES,
) -> FloatArray:
    """Moments of a sample or a model as one vector, in the order of the module's documentation.

    Thresholds of continuous items, and means (p,) and variances of ordinal ones, are not used.
    """
    first = [means[j : j + 1] if z else thresholds[j] for j, z in enumerate(continuous)]
    above = np.triu_indices(len(continuous), 1)  # its rows are the columns below the diagonal
    own = np.diag(covariances)[continuous]
    return np.concatenate([*first, slopes.ravel(), own, covariances.T[above]])


def row_influences(
    margins: Sequence[Margin], R: FloatArray, derivative: Derivative, steps: Steps | None = None
) -> FloatArray:
    """Influence of each row on each statistic, shape (n, q), given correlations ``R`` (p, p).

    A covariance is c = ρ σ_i σ_j, so F_c = σ_i σ_j F_ρ + c (F_vi / v_i + F_vj / v_j) / 2.
    """
    items = [m.row_influence for m in margins]
    cuts = [max(m.thresholds.size, 1) for m in margins]  # thresholds or mean; behind, the variance
    locations = [F[:, :cut] for F, cut in zip(items, cuts, strict=True)]
    variances = [F[:, cut:] for F, cut in zip(items, cuts, strict=True)]
    scale = [F.sum(axis=1) / (2 * m.sd**2) for m, F in zip(margins, variances, strict=True)]
    pairs = np.empty((len(items[0]), len(margins) * (len(margins) - 1) // 2))
    every = [*combinations(range(len(margins)), 2)]
    for column, (i, j) in enumerate((steps or Steps()).through(every)):
        F_rho = pair_influence(margins[i], margins[j], R[i, j], derivative)
        pairs[:, column] = (F_rho + R[i, j] * (scale[i] + scale[j])) * margins[i].sd * margins[j].sd
    return np.hstack([*locations, *variances, pairs])


def _check_spread(column: FloatArray, continuous: bool, name: str) -> None:
    """Refuse a constant item and an ordinal item with too many categories."""
    column = column[~np.isnan(column)]
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
