"""Minimising the objective of a model: Fisher scoring, then BFGS from its information.

A step is s = −H g with H = I(θ)⁻¹, halved until the objective falls. Scoring comes close from
anywhere but, for a model that does not fit perfectly, ends slowly; so after a few steps H is
updated by BFGS. The decrement gᵀ H g is free of scale: one tolerance serves all data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.estimation.sem.matrices import NotPositiveDefiniteError

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
Information = Callable[[FloatArray], FloatArray]

# no covariance matrix at these values, or I − B is singular
_IMPOSSIBLE = (NotPositiveDefiniteError, np.linalg.LinAlgError)
_DECREMENT = 1e-13  # half of it is the expected further fall of the objective
_SCORING_STEPS = 4
_STEPS = 500
_HALVINGS = 30


@dataclass(frozen=True)
class Minimum:
    """Where the search ended.

    Attributes
    ----------
    theta
        (q,) parameter values.
    value
        Objective there.
    iterations
        Steps taken.
    converged
        Whether the decrement fell below its tolerance.
    tried
        What was tried, in words.
    """

    theta: FloatArray
    value: float
    iterations: int
    converged: bool
    tried: tuple[str, ...]


def minimise(objective: Objective, information: Information, starts: list[FloatArray]) -> Minimum:
    """Try each start by scoring, then by L-BFGS and scoring, until a search converges.

    If none does, the lowest point any of them reached is returned.
    """
    tried: list[str] = []
    best: Minimum | None = None
    for k, start in enumerate(starts, start=1):
        for polish in (False, True):
            label = f"start {k}" + (", L-BFGS, then scoring" if polish else ", Fisher scoring")
            tried.append(label)
            found = _from(objective, information, start, polish)
            if found is not None and (best is None or found.value < best.value - 1e-10):
                best = found
            if found is not None and found.converged:
                return replace(found, tried=tuple(tried))
    if best is None:
        return Minimum(starts[0], np.inf, 0, False, tuple(tried))
    return replace(best, tried=tuple(tried))


def _from(
    objective: Objective, information: Information, start: FloatArray, polish: bool
) -> Minimum | None:
    try:
        objective(start)
    except _IMPOSSIBLE:
        return None
    theta = _lbfgs(objective, start) if polish else start
    return _score(objective, information, theta)


def _lbfgs(objective: Objective, start: FloatArray) -> FloatArray:
    from scipy.optimize import minimize

    def safe(theta: FloatArray) -> tuple[float, FloatArray]:
        try:
            return objective(theta)
        except _IMPOSSIBLE:
            return 1e10, np.zeros_like(theta)

    result = minimize(safe, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    solution: FloatArray = np.asarray(result.x)
    return solution


def _score(objective: Objective, information: Information, theta: FloatArray) -> Minimum:
    value, g = objective(theta)
    H = np.empty((len(theta), len(theta)))
    for iteration in range(1, _STEPS + 1):
        if iteration <= _SCORING_STEPS:
            H = _inverse(information(theta))
        step = -H @ g
        decrement = -float(g @ step)
        if decrement < _DECREMENT:
            return Minimum(theta, value, iteration, True, ())
        moved = _line_search(objective, theta, value, step, decrement)
        if moved is None:
            # no further fall is possible at working precision
            return Minimum(theta, value, iteration, decrement < 1e-9, ())
        if iteration >= _SCORING_STEPS:
            H = _bfgs(H, moved[0] - theta, moved[2] - g)
        theta, value, g = moved
    return Minimum(theta, value, _STEPS, False, ())


def _bfgs(H: FloatArray, s: FloatArray, y: FloatArray) -> FloatArray:
    """Update an inverse Hessian so that it maps the change of the gradient to the step."""
    curvature = float(s @ y)
    if curvature <= 1e-14 * float(np.abs(s) @ np.abs(y)):  # free of scale, as the lengths are not
        return H
    Hy = H @ y
    outer = np.outer(s, Hy)
    factor = (1.0 + float(y @ Hy) / curvature) / curvature
    updated: FloatArray = H + factor * np.outer(s, s) - (outer + outer.T) / curvature
    return updated


def _line_search(
    objective: Objective, theta: FloatArray, value: float, step: FloatArray, decrement: float
) -> tuple[FloatArray, float, FloatArray] | None:
    length = 1.0
    for _ in range(_HALVINGS):
        try:
            new_value, new_g = objective(theta + length * step)
        except _IMPOSSIBLE:
            length /= 2
            continue
        if new_value < value - 1e-4 * length * decrement:
            return theta + length * step, new_value, new_g
        length /= 2
    return None


def _inverse(information: FloatArray) -> FloatArray:
    """I⁻¹, zero along directions the information knows nothing of."""
    known = np.diag(information)
    scale = np.sqrt(np.where(known > 0, known, 1.0))
    scaled = information / np.outer(scale, scale)
    try:
        half = np.linalg.inv(np.linalg.cholesky(scaled))
        inverse: FloatArray = half.T @ half / np.outer(scale, scale)
        return inverse
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(scaled)
        keep = values > 1e-8
        part = vectors[:, keep] / np.sqrt(values[keep]) / scale[:, None]
        pseudo: FloatArray = part @ part.T
        return pseudo
