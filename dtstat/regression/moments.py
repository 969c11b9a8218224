"""Covariances of the variables behind items with what else was observed, and who moves them.

An item is x = c'w + e, with w the observed predictors. Behind a rating is a normal variable of
variance 1 of which only the category is seen, so that a covariance with it is estimated given w:

    predictors   the slopes g of a probit regression of the rating on w, for which e has variance
                 1, are slopes g/√v of the variable of variance 1, v = 1 + g'Sg, S = Var(w): the
                 covariance is Sg/√v whatever the distribution of w;
    outcome y    with u what w leaves of y and s = E[e | category, w] the generalized residual
                 (Chesher & Irish 1987), Cov(e, u) = E[s u] / E[s²] if E[u | e] is linear: so for
                 any distribution of the outcome given the factors.

The polyserial correlation is a special case that needs w to be normal, too. A continuous item is a
normal score, or the answer itself, standardized, and its covariances are the plain ones.

References
----------
Chesher, A. & Irish, M. (1987). Residual analysis in the grouped and censored normal linear model.
Journal of Econometrics 34, 33-61.
Muthén, B. (1984). A general structural equation model with dichotomous, ordered categorical, and
continuous latent variable indicators. Psychometrika 49, 115-132.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import EstimationError
from dtstat.dependence.ordinal_scores import interval_probabilities, normal_density
from dtstat.dependence.regression_scores import (
    OrdinalRegression,
    SeparatedError,
    ordinal_regression,
)


@dataclass(frozen=True, eq=False)
class Observed:
    """What was observed besides items, centered: predictors w, and the outcome y if it is one.

    Attributes
    ----------
    W
        (n, q) predictors.
    y
        (n,) outcome, or None.
    """

    W: FloatArray
    y: FloatArray | None

    @property
    def columns(self) -> FloatArray:
        """(n, q + 1) predictors and outcome; (n, q) without an outcome."""
        return self.W if self.y is None else np.column_stack([self.W, self.y])


@dataclass(frozen=True, eq=False)
class ItemCovariances:
    """Covariances of one item with the m observed columns.

    Attributes
    ----------
    values
        (m,) covariances with the variable of variance 1 behind the item.
    influence
        (n, m) influence of the rows on them.
    """

    values: FloatArray
    influence: FloatArray


def numeric_covariances(x: FloatArray, observed: Observed) -> ItemCovariances:
    """Covariances of a standardized item; rows that lack it take no part.

    With the variance of x estimated, too, a row moves Cov(x, w)/sd(x) by zw − c(1 + z²)/2.
    """
    present = ~np.isnan(x)
    part = observed.columns[present]
    part = part - part.mean(axis=0)
    z = x[present] - x[present].mean()
    z /= np.sqrt(np.mean(z**2))
    values = z @ part / len(z)
    influence = np.zeros_like(observed.columns)
    moved = z[:, None] * part - 0.5 * np.outer(1 + z**2, values)
    influence[present] = moved * (len(x) / len(z))
    return ItemCovariances(values, influence)


def rating_covariances(x: FloatArray, observed: Observed, name: str) -> ItemCovariances:
    """Covariances of the normal variable behind a rating; see the module.

    Raises
    ------
    EstimationError
        If the predictors tell categories apart without error.
    """
    W, n = observed.W, len(x)
    try:
        probit = ordinal_regression(x, W, np.ones(n), "observed")
    except (SeparatedError, np.linalg.LinAlgError):
        raise EstimationError(
            f"The predictors tell answers to item '{name}' apart without error, so that its "
            "probit regression has no slopes. Join rare categories of the predictors, or leave "
            "the item out."
        ) from None
    assert isinstance(probit, OrdinalRegression)
    g, q = probit.slopes, W.shape[1]
    moved_g = probit.influence[:, len(probit.thresholds) :]
    S = W.T @ W / n
    v, Wg, Sg = 1 + float(g @ S @ g), W @ g, S @ g
    moved_v = 2 * moved_g @ Sg + Wg**2 - g @ Sg
    # d(Sg/√v), with dS = ww' − S
    moved = (moved_g @ S + W * Wg[:, None] - Sg) / np.sqrt(v)
    moved -= np.outer(moved_v, Sg) / (2 * v**1.5)
    if observed.y is None:
        return ItemCovariances(Sg / np.sqrt(v), moved)
    y = observed.y
    c = W.T @ y / n
    u = y - W @ np.linalg.solve(S, c) if q else y
    kappa, moved_kappa = _residual_covariance(probit, u)
    total = float(g @ c) + kappa
    moved_total = moved_g @ c + Wg * y - g @ c + moved_kappa
    of_y = moved_total / np.sqrt(v) - moved_v * total / (2 * v**1.5)
    values = np.append(Sg, total) / np.sqrt(v)
    return ItemCovariances(values, np.column_stack([moved, of_y]))


def _residual_covariance(probit: OrdinalRegression, u: FloatArray) -> tuple[float, FloatArray]:
    """κ = Cov(e, u) of the residual behind a rating, and (n,) influence of the rows on it.

    κ solves Σ s (u − κs) = 0. In a limit a of the row, s = [φ(w) − φ(u)] / P has the derivative
    (φ(a)/P) (s − a) at the lower limit w, and (φ(a)/P) (a − s) at the upper one. The slopes that u
    was made with do not matter, because Σ s w = 0 at the maximum of the likelihood.
    """
    low, high = probit.limits.T
    P = interval_probabilities(low, high)
    at_low, at_high = normal_density(low) / P, normal_density(high) / P
    s = at_low - at_high
    mine = u[probit.present]
    square = float(s @ s)
    kappa = float(s @ mine) / square
    weight = mine - 2 * kappa * s
    everybody = np.ones(len(s), dtype=bool)
    slope = probit.means(weight * at_low * (s - low), weight * at_high * (high - s), everybody)
    moved = probit.influence @ slope / square
    moved[probit.present] += s * (mine - kappa * s) * (len(u) / square)
    return kappa, moved
