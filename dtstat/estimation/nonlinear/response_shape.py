"""What fitted curves look like: their values, how steep they are, how far from straight.

For edge (i, j), with the factors as the model says, Z ~ N(0, Φ), and g_i on the scale on which the
item (for a rating: the response behind it; for an item known by its normal scores: these) has
variance 1:

    slope      E|∂g_i/∂z_j|
    loading    E[∂g_i/∂z_j], which is the slope of the straight line nearest to g_i (Stein 1981)
    R² map     Var g_i(Z)
    R² line    the share of it that the best straight line in the item's factors has

References
----------
Stein, C. M. (1981). Estimation of the mean of a multivariate normal distribution. Annals of
Statistics 9, 1135–1151.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation.nonlinear.network_model import NetworkModel
from dtstat.estimation.nonlinear.response_model import Edges, ResponseModel

GRID = np.linspace(-3.0, 3.0, 61)
_DRAWS = 20_000
_OTHERS = 200  # draws of the other factors that a curve is averaged over


@dataclass(frozen=True, eq=False)
class Shape:
    """Slopes and shares of variance.

    Attributes
    ----------
    slope, loading
        (E,) of the edges, sorted by item.
    r2_map, r2_line
        (p,) of the items; 0 for items without factors.
    """

    slope: FloatArray
    loading: FloatArray
    r2_map: FloatArray
    r2_line: FloatArray


def shape(model: ResponseModel | NetworkModel) -> Shape:
    """Describe the curves of a model, by averages over draws of its factors."""
    Z = _factors(model, _DRAWS)
    edges = Edges.of(model.support)
    eta, slopes = model.predictors(Z), model.slopes(Z)
    signal = eta.var(axis=0)
    total = signal + model.noise
    sd = np.sqrt(total)[edges.item]
    line = np.zeros(len(total))
    for i in np.flatnonzero(np.diff(edges.start)):
        own = Z[:, edges.factor[edges.of_item(int(i))]]
        design = np.column_stack([np.ones(len(Z)), own])
        straight = design @ np.linalg.lstsq(design, eta[:, i], rcond=None)[0]
        line[i] = straight.var()
    return Shape(
        np.abs(slopes).mean(axis=0) / sd, slopes.mean(axis=0) / sd, signal / total, line / total
    )


def curves(
    model: ResponseModel | NetworkModel,
    read: Callable[[int, FloatArray], FloatArray] = lambda _, eta: eta,
    shift: FloatArray | None = None,
    grid: FloatArray = GRID,
) -> FloatArray:
    """(E, G) mean answers of the items as one factor moves over a grid.

    Other factors of the item are averaged over their distribution (partial dependence).

    Parameters
    ----------
    model
        The model.
    read
        Turns an item's number and its predictors η into mean answers; η itself if omitted.
    shift
        (E, G) what is added to η first.
    grid
        (G,) values of the factor.
    """
    edges = Edges.of(model.support)
    alone = (model.support.sum(axis=1) <= 1).all()
    others = np.zeros((1, model.support.shape[1])) if alone else _factors(model, _OTHERS)
    values = np.empty((len(edges.item), len(grid)))
    for k in range(model.support.shape[1]):
        Z = np.repeat(others[None], len(grid), axis=0)
        Z[:, :, k] = grid[:, None]
        eta = model.predictors(Z.reshape(-1, Z.shape[2])).reshape(len(grid), len(others), -1)
        for e in np.flatnonzero(edges.factor == k):
            i = int(edges.item[e])
            own = eta[:, :, i] if shift is None else eta[:, :, i] + shift[e][:, None]
            values[e] = read(i, own.ravel()).reshape(own.shape).mean(axis=1)
    return values


def _factors(model: ResponseModel | NetworkModel, n: int) -> FloatArray:
    """(n, d) draws of the factors, the same for the same Φ, with mean 0 and correlations Φ."""
    d = len(model.factor_correlations)
    Z = np.random.default_rng(0).standard_normal((n, d))
    Z = Z - Z.mean(axis=0)
    Z = np.linalg.solve(np.linalg.cholesky(Z.T @ Z / n), Z.T).T
    drawn: FloatArray = Z @ np.linalg.cholesky(model.factor_correlations).T
    return drawn
