"""A nonlinear factor model: every item's curve of its factors, its noise, and the factors' Φ.

    normal item   X_i = b_i + Σ_j f_ij(Z_j) + ε_i,   ε_i ~ N(0, ω_i)
    rating        P(X_i ≤ c | Z) = Φ(τ_ic − Σ_j f_ij(Z_j)),   categories c = 0, 1, ...
    factors       Z ~ N(0, Φ), variances 1

The curves f_ij are cubic splines (:mod:`dtstat.curves.bspline`) with mean 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.saved import register
from dtstat.curves import bspline, ratings
from dtstat.curves.response_kernels import posterior, predict

_LEAST_EIGENVALUE = 0.02


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


def _has_all_curves(model: ResponseModel) -> bool:
    """Whether there is a curve for every edge, and no item has more thresholds than are there.

    Kernels trust both: they would read beyond the arrays.
    """
    counts = model.n_thresholds
    within = bool(((counts >= 0) & (counts <= model.thresholds.shape[1])).all())
    return within and model.coefficients.shape == (int(model.support.sum()), model.n_coefficients)


@register(
    shapes={
        "support": "pd",
        "coefficients": "e*",
        "intercepts": "p",
        "noise": "p",
        "thresholds": "p*",
        "n_thresholds": "p",
        "factor_correlations": "dd",
    },
    rules={"every edge has a curve": _has_all_curves},
)
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
    n_coefficients: ClassVar[int] = bspline.K

    @cached_property
    def edges(self) -> Edges:
        """The item–factor pairs."""
        return Edges.of(self.support)

    @cached_property
    def _curves(self) -> tuple[IntArray, IntArray, FloatArray, float, float, FloatArray]:
        """The curves as kernels take them: edges, cubics, where these begin, and levels."""
        pieces = bspline.pieces(self.coefficients)
        knots = bspline.LOW, 1 / bspline.WIDTH
        return self.edges.factor, self.edges.start, pieces, *knots, self.intercepts

    @cached_property
    def answers(self) -> FloatArray:
        """(p, C, grid, 2) log-probabilities of ratings and their derivatives by η."""
        return ratings.answer_table(self.thresholds, self.n_thresholds)

    def log_joint(self, Z: FloatArray, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log p(x | z) + log p(z), this without its constant, and the gradient by z.

        Parameters
        ----------
        Z, X
            (m, d) factors and (n, p) answers (categories of ratings from 0), NaN if missing; m is
            n, or a multiple of it if every row of answers is met by several values of z.
        """
        value, gradient = np.empty(len(Z)), np.empty(Z.shape)
        precision = np.asarray(np.linalg.inv(self.factor_correlations), dtype=np.float64)
        posterior(
            np.ascontiguousarray(Z),
            X,
            *self._curves,
            self.noise,
            self.n_thresholds,
            self.answers,
            ratings.LOW,
            float(ratings.PER_UNIT),
            precision,
            value,
            gradient,
        )
        return value, gradient

    def predictors(self, Z: FloatArray) -> FloatArray:
        """(n, p) predictors η = b + Σ f at the rows of Z."""
        return self._predict(Z)[0]

    def slopes(self, Z: FloatArray) -> FloatArray:
        """(n, E) slopes of the curves at the rows of Z."""
        return self._predict(Z)[1]

    def _predict(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        eta = np.empty((len(Z), len(self.support)))
        slopes = np.empty((len(Z), len(self.edges.item)))
        predict(np.ascontiguousarray(Z), *self._curves, eta, slopes)
        return eta, slopes

    def information(self, Z: FloatArray, X: FloatArray) -> FloatArray:
        """(n, d, d) Φ⁻¹ + JᵀWJ of every row, over the items it has.

        J are slopes of the curves; W is 1/ω for a normal item, for a rating what an answer says
        about η on average.
        """
        eta, J = self._predict(Z)
        d, edges = self.support.shape[1], self.edges
        precision = np.empty((len(Z), d, d))
        precision[:] = np.linalg.inv(self.factor_correlations)
        for i in map(int, np.flatnonzero(np.diff(edges.start))):
            weight = np.where(np.isnan(X[:, i]), 0.0, self._weight(i, eta[:, i]))
            which = range(edges.start[i], edges.start[i + 1])
            for a in which:
                for b in which:
                    j, k = edges.factor[a], edges.factor[b]
                    precision[:, j, k] += weight * J[:, a] * J[:, b]
        return precision

    def _weight(self, i: int, eta: FloatArray) -> float | FloatArray:
        if not self.n_thresholds[i]:
            return float(1 / self.noise[i])
        places = np.rint((eta - ratings.LOW) * ratings.PER_UNIT)
        last = len(ratings.GRID) - 1
        weight: FloatArray = self._answer_information[i, places.clip(0, last).astype(np.int64)]
        return weight

    @cached_property
    def _answer_information(self) -> FloatArray:
        """(p, grid) what an answer says about η, on average."""
        return ratings.information_table(self.answers)


def correlations(moments: FloatArray) -> FloatArray:
    """(d, d) correlation matrix of second moments, eigenvalues raised to .02 at least.

    Factors that become the same would freeze the sampler.
    """
    scale = np.sqrt(moments.diagonal())
    values, vectors = np.linalg.eigh(moments / np.outer(scale, scale))
    Phi = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(Phi.diagonal())
    found: FloatArray = Phi / np.outer(scale, scale)
    found = (found + found.T) / 2
    np.fill_diagonal(found, 1.0)
    return found
