"""Standardised solutions, with standard errors by the delta method.

``std.lv`` scales the latent variables to variance 1, ``std.all`` the observed ones too. Residual
covariances become correlations of the residuals; variances become shares of the total variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation.sem.estimate import SEMEstimate
from dtstat.estimation.sem.matrices import Layout
from dtstat.estimation.sem.model import Model, Parameter


@dataclass(frozen=True)
class Scales:
    """Standard deviations by variable name: total, and of the residual or disturbance."""

    latent: dict[str, float]
    observed: dict[str, float]
    residual: dict[str, float]


def scales(layout: Layout, theta: FloatArray) -> Scales:
    """Find the standard deviations that parameter values imply."""
    M = layout.matrices(theta)
    K = np.linalg.inv(np.eye(len(M.Beta)) - M.Beta)
    eta = _roots(np.diag(K @ M.Psi @ K.T))
    variance, unique = np.diag(layout.implied(theta).Sigma).copy(), np.diag(M.Theta).copy()
    names, observed = layout.model.eta, layout.model.observed
    ordered = [name in ordered_items(layout.model) for name in observed]
    # the variable behind an ordered item has variance 1: what the factors leave is its residual
    unique[ordered] = 1.0 - (variance - unique)[ordered]
    variance[ordered] = 1.0
    total = _roots(variance)
    residual = dict(zip(observed, _roots(unique), strict=True))
    residual |= dict(zip(names, _roots(np.diag(M.Psi)), strict=True))
    return Scales(
        {name: sd for name, sd in zip(names, eta, strict=True) if name in layout.model.latent},
        dict(zip(observed, total, strict=True)),
        residual,
    )


def ordered_items(model: Model) -> frozenset[str]:
    """Names of the items that have thresholds."""
    return frozenset(row.lhs for row in model.parameters if row.op == "|")


def _roots(variances: FloatArray) -> list[float]:
    """Take square roots; NaN for the negative variances of an improper solution, and for 0."""
    positive = np.where(variances > 0, variances, np.nan)
    return [float(v) for v in np.sqrt(positive)]


def rescale(rows: Sequence[Parameter], values: FloatArray, by: Scales, all_: bool) -> FloatArray:
    """Standardise the values of some rows: latent variables only, or all."""
    size = {name: 1.0 for name in by.observed} | by.latent
    if all_:
        size |= by.observed
    scaled = np.array(values, dtype=float)
    for k, row in enumerate(rows):
        if row.op == "=~":
            factor = size[row.lhs] / size[row.rhs]
        elif row.op == "~":
            factor = size[row.rhs] / size[row.lhs]
        elif row.op in ("~1", "|"):
            factor = 1.0 / size[row.lhs]
        elif row.lhs == row.rhs:
            factor = 1.0 / size[row.lhs] ** 2
        else:
            factor = 1.0 / (_residual(row.lhs, by, all_) * _residual(row.rhs, by, all_))
        scaled[k] *= factor
    return scaled


def _residual(name: str, by: Scales, all_: bool) -> float:
    return by.residual[name] if all_ or name in by.latent else 1.0


def standardized(estimate: SEMEstimate) -> tuple[FloatArray, FloatArray]:
    """(rows,) std.lv and std.all of every row of the parameter table."""
    layout, rows = estimate.layout, estimate.model.parameters
    by = scales(layout, estimate.theta)
    with np.errstate(divide="ignore", invalid="ignore"):
        lv = rescale(rows, estimate.estimates, by, all_=False)
        return lv, rescale(rows, estimate.estimates, by, all_=True)


def standardized_table(estimate: SEMEstimate) -> tuple[FloatArray, FloatArray]:
    """(rows,) std.all and its standard errors, √diag(J V Jᵀ) with J by central differences."""
    layout, rows = estimate.layout, estimate.model.parameters
    free = np.array([row.free for row in rows])
    fixed = estimate.estimates

    ordered = ordered_items(estimate.model)
    residual = [k for k, r in enumerate(rows) if r.op == "~~" and r.lhs == r.rhs in ordered]

    def all_of(theta: FloatArray) -> FloatArray:
        by = scales(layout, theta)
        values = np.where(free > 0, theta[np.maximum(free, 1) - 1], fixed)
        values[residual] = [by.residual[rows[k].lhs] ** 2 for k in residual]
        return rescale(rows, values, by, all_=True)

    q = len(estimate.theta)
    J = np.empty((len(rows), q))
    errors = np.sqrt(np.abs(np.diag(estimate.covariance)))  # the scale of each parameter
    for k in range(q):
        step = np.zeros(q)
        step[k] = 1e-3 * errors[k] or 1e-6
        rise = all_of(estimate.theta + step) - all_of(estimate.theta - step)
        J[:, k] = rise / (2 * step[k])
    variance = np.einsum("rk,kl,rl->r", J, estimate.covariance, J)
    variance[variance < 1e-12] = 0.0
    return all_of(estimate.theta), np.sqrt(variance)
