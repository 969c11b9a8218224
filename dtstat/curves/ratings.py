"""Ratings as cut normal responses: P(X ≤ c | η) = Φ(τ_c − η), categories c = 0, 1, ...

Log-probabilities and their derivatives by η are tabulated on a fine grid of η, so that the sampler
only interpolates; see :mod:`dtstat.curves.response_kernels`.
"""

from __future__ import annotations

import math

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray

LOW, HIGH, PER_UNIT = -8.0, 8.0, 64
GRID = np.linspace(LOW, HIGH, int((HIGH - LOW) * PER_UNIT) + 1)
_LEAST = 1e-12  # probability of an answer: an outlier must not stop a chain
_PEAK = 1 / math.sqrt(2 * math.pi)
_NEWTON = 3


def answer_table(thresholds: FloatArray, n_thresholds: IntArray) -> FloatArray:
    """(p, C, grid, 2) log P(X = c | η) and its derivative by η; zeros for normal items.

    Parameters
    ----------
    thresholds, n_thresholds
        (p, C − 1) τ, and how many of them each item has.
    """
    p, most = thresholds.shape
    table = np.zeros((p, most + 1 if most else 0, len(GRID), 2))
    for i in np.flatnonzero(n_thresholds):
        m = int(n_thresholds[i])
        table[i, : m + 1] = _answers(thresholds[i, :m])
    return table


def _answers(tau: FloatArray) -> FloatArray:
    from scipy.special import ndtr

    edges = np.concatenate([[-np.inf], tau, [np.inf]])
    gaps = edges[:, None] - GRID
    density = _PEAK * np.exp(-0.5 * gaps**2)
    below, above = ndtr(gaps), ndtr(-gaps)
    # The difference of the tails that are not near 1 keeps its digits.
    p = np.where(gaps[:-1] > 0, above[:-1] - above[1:], below[1:] - below[:-1])
    p = np.maximum(p, _LEAST)
    return np.stack([np.log(p), (density[:-1] - density[1:]) / p], axis=2)


def information_table(table: FloatArray) -> FloatArray:
    """(p, grid) expected square of the derivative by η: what an answer says about it."""
    log_p, slope = table[..., 0], table[..., 1]
    known = log_p.any(axis=2, keepdims=True)  # categories that the item has
    information: FloatArray = np.where(known, np.exp(log_p) * slope**2, 0.0).sum(axis=1)
    return np.maximum(information, 1e-6)


def shares_up_to(x: FloatArray, n_thresholds: int) -> FloatArray:
    """Shares of answers up to each category; half an answer is added where one never occurs."""
    counts = np.bincount(x[~np.isnan(x)].astype(np.int64), minlength=n_thresholds + 1).astype(float)
    counts[counts == 0] = 0.5
    shares: FloatArray = np.cumsum(counts)[:-1] / counts.sum()
    return shares


def matching_thresholds(eta: FloatArray, shares: FloatArray, tau: FloatArray) -> FloatArray:
    """Thresholds at which the model answers as often up to each category as people did.

    Solves mean Φ(τ_c − η) = share up to c by Newton's method from ``tau``. η enters by its
    histogram on the grid.
    """
    from scipy.special import ndtr

    places = np.rint((eta.clip(LOW, HIGH) - LOW) * PER_UNIT).astype(np.int64)
    weight = np.bincount(places, minlength=len(GRID)) / len(eta)
    used = np.flatnonzero(weight)
    for _ in range(_NEWTON):
        gaps = tau[:, None] - GRID[used]
        density = _PEAK * np.exp(-0.5 * gaps**2) @ weight[used]
        excess = ndtr(gaps) @ weight[used] - shares
        tau = tau - np.clip(excess / np.maximum(density, 1e-3), -1.0, 1.0)
    return tau


def probabilities(eta: FloatArray, tau: FloatArray) -> FloatArray:
    """(n, C) probabilities of the categories at predictors η."""
    from scipy.special import ndtr

    up_to = ndtr(np.concatenate([[-np.inf], tau, [np.inf]]) - eta[:, None])
    shares: FloatArray = np.diff(up_to, axis=1)
    return shares
