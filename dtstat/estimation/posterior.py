"""The factors of each person given the answers: draws from f(z | x), and their moments."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation import mala

_NEWTON, _DAMPING = 6, 0.7
_PILOT, _PILOT_BURN_IN = 10, 20
_LAPLACE_ROWS = 20  # draws that the curvature at the mode counts for in a row's covariance


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
        Number of draws, one a step of the chain.
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
        state, _ = mala.step(rng, target, state)
        kept[k] = state.z
    return kept


def posterior_moments(
    model: JointModel, X: FloatArray, rng: np.random.Generator, start: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """(n, d) modes and (n, d, d) covariances of z given x, for a proposal density.

    A few draws of a chain find the neighbourhood, damped Newton steps the mode; the inverse
    information there is widened by how far the draws were from it, in case there are two modes.
    """
    pilot = posterior_draws(model, X, rng, _PILOT, start, _PILOT_BURN_IN)
    mode = pilot.mean(axis=0)
    for _ in range(_NEWTON):
        _, gradient = model.log_joint(mode, X)
        covariance = np.linalg.inv(model.information(mode, X))
        mode = mode + _DAMPING * np.einsum("njk,nk->nj", covariance, gradient)
    covariance = np.linalg.inv(model.information(mode, X))
    apart = pilot - mode
    S = np.einsum("mnj,mnk->njk", apart, apart) + _LAPLACE_ROWS * covariance
    S = S / (_PILOT + _LAPLACE_ROWS)
    symmetric: FloatArray = (S + S.transpose(0, 2, 1)) / 2
    return mode, symmetric
