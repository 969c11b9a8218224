"""The factors of each person given the answers: draws from f(z | x), and their moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.curves import mala

_NEWTON, _DAMPING = 10, 0.7
_SHORT_EVERY = 5  # moves of a chain, of which one is short
_FREEDOM = 8.0  # degrees of freedom of the t densities: tails heavier than any posterior's
_GUARD = 0.1  # weight of the factors' own distribution
_OFF_CENTER, _OTHER_SIDE = 0.5, 1.5
_APART, _NEGLIGIBLE = 0.05, -7.0  # when a mode is another one, and when its mass counts
_MOST_TURNED = 8  # factors of which each is turned round to look for another mode


class JointModel(Protocol):
    """What a nonlinear model must offer."""

    @property
    def factor_correlations(self) -> FloatArray:
        """(d, d) Φ."""

    def log_joint(self, Z: FloatArray, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log f(x | z) − ½ zᵀΦ⁻¹z and its gradient by z, row by row.

        Z may have several times as many rows as X, which is then met again and again.
        """

    def information(self, Z: FloatArray, X: FloatArray) -> FloatArray:
        """(n, d, d) Φ⁻¹ + JᵀWJ of every row, over the items it has."""


def posterior_covariance(model: JointModel, Z: FloatArray, X: FloatArray) -> FloatArray:
    """(d, d) inverse of the mean information: how posteriors of z scatter, roughly.

    The preconditioner of the sampler: isotropic moves are throttled by the stiffest direction.
    """
    covariance = np.linalg.inv(model.information(Z, X).mean(axis=0))
    symmetric: FloatArray = (covariance + covariance.T) / 2
    return symmetric


def posterior_draws(
    model: JointModel,
    X: FloatArray,
    rng: np.random.Generator,
    draws: int,
    start: FloatArray | None = None,
    burn_in: int = 60,
) -> FloatArray:
    """(draws, n, d) values of z given x, by MALA.

    Parameters
    ----------
    model
        The fitted model.
    X
        (n, p) answers as the model was fitted to; NaN if missing.
    rng
        Source of randomness.
    draws
        Number of draws, one per step of the chain.
    start
        (n, d) values of z to start chains from; zeros if omitted.
    burn_in
        Steps before the first draw, over which the step size is adapted and then frozen.
    """
    d = len(model.factor_correlations)
    Z = np.zeros((len(X), d)) if start is None else start

    def target(z: FloatArray) -> tuple[FloatArray, FloatArray]:
        return model.log_joint(z, X)

    state = mala.init(target, Z, 1.0, posterior_covariance(model, Z, X))
    state, _ = mala.burn_in(rng, target, state, burn_in // 2)
    state = mala.init(target, state.z, state.step_size, posterior_covariance(model, state.z, X))
    state, _ = mala.burn_in(rng, target, state, burn_in - burn_in // 2)
    kept = np.empty((draws, *Z.shape))
    for k in range(draws):
        state = (
            mala.step(rng, target, state)[0]
            if k % _SHORT_EVERY
            else mala.short_step(rng, target, state)
        )
        kept[k] = state.z
    return kept


@dataclass(frozen=True, eq=False)
class PosteriorMixture:
    """For every row a mixture of t densities about the modes of z given x.

    Attributes
    ----------
    modes, roots
        (k, n, d) and (k, n, d, d): centers, and lower Cholesky factors of the scale matrices.
    log_weights
        (k, n) of the mixture.
    """

    modes: FloatArray
    roots: FloatArray
    log_weights: FloatArray

    def draw(self, rng: np.random.Generator, draws: int, same: bool = False) -> FloatArray:
        """(draws, n, d) values of z; ``same``: with the same random numbers for every row."""
        k, n, d = self.modes.shape
        rows = 1 if same else n
        u = rng.standard_normal((draws, rows, d))
        u /= np.sqrt(rng.chisquare(_FREEDOM, (draws, rows)) / _FREEDOM)[..., None]
        up_to = np.cumsum(np.exp(self.log_weights), axis=0)
        which = (rng.random((draws, rows))[..., None] > up_to.T).sum(axis=2).clip(0, k - 1)
        row = np.arange(n)
        Z = np.empty((draws, n, d))
        for m in range(draws):  # one draw at a time: roots of all rows at once fill the memory
            one = which[m]
            step = np.einsum("njk,nk->nj", self.roots[one, row], np.broadcast_to(u[m], (n, d)))
            Z[m] = self.modes[one, row] + step
        return Z

    def log_density(self, Z: FloatArray) -> FloatArray:
        """(draws, n) log-density of the mixture."""
        total = np.full(Z.shape[:2], -np.inf)
        for mode, root, log_weight in zip(self.modes, self.roots, self.log_weights, strict=True):
            precision = np.linalg.inv(root)
            u = np.einsum("njk,mnk->mnj", precision, Z - mode)
            log_det = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
            total = np.logaddexp(total, log_weight - log_det + _log_t(u))
        return total


def propose(model: JointModel, X: FloatArray) -> PosteriorMixture:
    """Find the modes of z given x and build a proposal about them.

    Damped Newton steps lead from near the center (not from it: there curves may be level) to a
    mode, and from the other side of each factor perhaps to others: an item that rises and falls
    does not tell one side from the other. The factors' own distribution, with a small weight,
    guards against posteriors with long arms.
    """
    d = len(model.factor_correlations)
    first = _mode(model, np.full((len(X), d), _OFF_CENTER), X)
    peaks = [(first, *_peak(model, first, X))]
    for k in range(d if d <= _MOST_TURNED else 0):
        turned = first.copy()
        far = np.maximum(np.abs(turned[:, k]), _OTHER_SIDE)
        turned[:, k] = np.where(turned[:, k] > 0, -far, far)
        mode = _mode(model, turned, X)
        root, log_mass = _peak(model, mode, X)
        log_mass = np.where(np.abs(mode - first).max(axis=1) > _APART, log_mass, -np.inf)
        if (log_mass - peaks[0][2] > _NEGLIGIBLE).any():
            peaks.append((mode, root, log_mass))
    wide = np.linalg.cholesky(model.factor_correlations)
    log_masses = np.array([log_mass for _, _, log_mass in peaks])
    guard = np.full((1, len(X)), math.log(_GUARD))
    log_weights = log_masses - log_sum(log_masses) + math.log1p(-_GUARD)
    return PosteriorMixture(
        np.array([*(mode for mode, _, _ in peaks), np.zeros_like(first)]),
        np.array([*(root for _, root, _ in peaks), np.broadcast_to(wide, peaks[0][1].shape)]),
        np.concatenate([log_weights, guard]),
    )


def _peak(model: JointModel, mode: FloatArray, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scale at a mode (Cholesky factors), and log of the mass about it (Laplace)."""
    covariance = np.linalg.inv(model.information(mode, X))
    root = np.linalg.cholesky((covariance + covariance.transpose(0, 2, 1)) / 2)
    log_det = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    return np.asarray(root, dtype=np.float64), model.log_joint(mode, X)[0] + log_det


def _mode(model: JointModel, Z: FloatArray, X: FloatArray) -> FloatArray:
    """Newton steps, halved for a row as long as they do not lead uphill."""
    height, gradient = model.log_joint(Z, X)
    length = np.full(len(Z), _DAMPING)
    for _ in range(_NEWTON):
        information = model.information(Z, X)
        direction = np.linalg.solve(information, gradient[..., None])[..., 0]
        there = Z + length[:, None] * direction
        new_height, new_gradient = model.log_joint(there, X)
        uphill = new_height > height
        Z = np.where(uphill[:, None], there, Z)
        gradient = np.where(uphill[:, None], new_gradient, gradient)
        height = np.where(uphill, new_height, height)
        length = np.where(uphill, np.minimum(2 * length, 1.0), length / 4)
    return Z


def _log_t(u: FloatArray) -> FloatArray:
    """Log density of the standard t distribution in d dimensions."""
    d = u.shape[-1]
    half = (_FREEDOM + d) / 2
    constant = math.lgamma(half) - math.lgamma(_FREEDOM / 2) - d / 2 * math.log(_FREEDOM * math.pi)
    density: FloatArray = constant - half * np.log1p((u**2).sum(axis=-1) / _FREEDOM)
    return density


def log_sum(values: FloatArray) -> FloatArray:
    """Log of the sum of exponentials over the first axis."""
    top = values.max(axis=0)
    total: FloatArray = top + np.log(np.exp(values - top).sum(axis=0))
    return total
