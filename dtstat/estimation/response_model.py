"""A nonlinear factor model: every item's curve of its factors, its noise, and the factors' Φ.

    normal item   X_i = b_i + Σ_j f_ij(Z_j) + ε_i,   ε_i ~ N(0, ω_i)
    rating        P(X_i ≤ c | Z) = Φ(τ_ic − Σ_j f_ij(Z_j)),   categories c = 0, 1, ...
    factors       Z ~ N(0, Φ), variances 1

The curves f_ij are cubic splines (:mod:`dtstat.estimation.bspline`) with mean 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dtstat.arrays import BoolArray, FloatArray, IntArray
from dtstat.estimation import bspline
from dtstat.estimation.response_kernels import posterior

_GRID = np.linspace(-6.0, 6.0, 769)  # of the tables; beyond ±4 curves are straight


@dataclass(frozen=True, eq=False)
class Edges:
    """The item–factor pairs of a structure, sorted by item.

    Attributes
    ----------
    item, factor
        (E,) positions.
    start
        (p + 1,) the edges of item i are start[i] ... start[i + 1] − 1.
    """

    item: IntArray
    factor: IntArray
    start: IntArray

    @classmethod
    def of(cls, support: BoolArray) -> Edges:
        """List the edges of a support."""
        item, factor = np.nonzero(support)
        counts = support.sum(axis=1)
        return cls(item, factor, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

    def of_item(self, i: int) -> slice:
        """Where the edges of an item are."""
        return slice(int(self.start[i]), int(self.start[i + 1]))


@dataclass(frozen=True, eq=False)
class ResponseModel:
    """Parameters of the model.

    Attributes
    ----------
    support
        (p, d) which item is a child of which factor.
    coefficients
        (E, K) spline coefficients of each edge, sorted by item.
    intercepts, noise
        (p,) b and ω; 0 and 1 for ratings.
    thresholds, n_thresholds
        (p, m) τ, and how many of them each item has; 0 for a normal item.
    factor_correlations
        (d, d) Φ.
    """

    support: BoolArray
    coefficients: FloatArray
    intercepts: FloatArray
    noise: FloatArray
    thresholds: FloatArray
    n_thresholds: IntArray
    factor_correlations: FloatArray

    @cached_property
    def edges(self) -> Edges:
        """The item–factor pairs."""
        return Edges.of(self.support)

    @cached_property
    def _table(self) -> FloatArray:
        """(E, grid, 2) values and slopes; intercepts go with an item's first edge."""
        curve = self.coefficients @ bspline.design(_GRID).T
        slope = self.coefficients @ bspline.slope_design(_GRID).T
        heads = self.edges.start[:-1][np.diff(self.edges.start) > 0]
        curve[heads] += self.intercepts[self.edges.item[heads], None]
        return np.ascontiguousarray(np.stack([curve, slope], axis=2))

    def log_joint(self, Z: FloatArray, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log p(x | z) + log p(z), this without its constant, and the gradient by z.

        Parameters
        ----------
        Z, X
            (n, d) factors and (n, p) answers (categories of ratings from 0), NaN if missing.
        """
        value, gradient = np.empty(len(Z)), np.empty(Z.shape)
        precision = np.asarray(np.linalg.inv(self.factor_correlations), dtype=np.float64)
        posterior(
            np.ascontiguousarray(Z),
            X,
            self.edges.factor,
            self.edges.start,
            self._table,
            _GRID[0],
            _GRID[1] - _GRID[0],
            self.noise,
            self.thresholds,
            self.n_thresholds,
            precision,
            value,
            gradient,
        )
        return value, gradient

    def curves(self, Z: FloatArray) -> FloatArray:
        """(n, E) values f_ij(z_j) at the rows of Z, without intercepts."""
        values = [
            bspline.design(Z[:, k]) @ self.coefficients[e] for e, k in enumerate(self.edges.factor)
        ]
        return np.column_stack(values) if values else np.empty((len(Z), 0))

    def predictors(self, Z: FloatArray) -> FloatArray:
        """(n, p) predictors η = b + Σ f at the rows of Z."""
        eta = np.tile(self.intercepts, (len(Z), 1))
        np.add.at(eta.T, self.edges.item, self.curves(Z).T)
        return eta

    def slopes(self, Z: FloatArray) -> FloatArray:
        """(n, E) slopes of the curves, by interpolation."""
        pairs = enumerate(self.edges.factor)
        return np.column_stack([np.interp(Z[:, k], _GRID, self._table[e, :, 1]) for e, k in pairs])

    def posterior_covariance(self, Z: FloatArray) -> FloatArray:
        """(d, d) inverse of the mean over rows of Φ⁻¹ + JᵀΩ⁻¹J: how posteriors of z scatter."""
        J, d = self.slopes(Z), self.support.shape[1]
        precision = np.linalg.inv(self.factor_correlations)
        for i in range(len(self.support)):
            which = self.edges.of_item(i)
            factors = self.edges.factor[which]
            part = np.zeros((d, d))
            part[np.ix_(factors, factors)] = J[:, which].T @ J[:, which] / len(Z)
            precision = precision + part / self.noise[i]
        covariance: FloatArray = np.linalg.inv(precision)
        return covariance
