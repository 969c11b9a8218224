"""Minimizing an objective from starting values.

The search is Fisher scoring, then BFGS from its information: a step is s = −H g with H = I(θ)⁻¹,
halved until the objective falls. Scoring comes close from anywhere but, for a model that does not
fit perfectly, ends slowly; so after a few steps H is updated by BFGS. The decrement gᵀ H g is free
of scale: one tolerance serves all data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.sem.matrices import NotPositiveDefiniteError, inverse

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
Information = Callable[[FloatArray], FloatArray]

# no covariance matrix at these values, I − B is singular, or a constraint is not defined
_IMPOSSIBLE = (ArithmeticError, np.linalg.LinAlgError)
_DECREMENT = 1e-13  # half of it is the expected further fall of the objective
_ROUNDING = 1e-25  # the same, where steps no longer change the digits that are printed
_POLISHING_STEPS = 20
SCORING_STEPS = 4
_STEPS = 500
_HALVINGS = 30


@dataclass(frozen=True)
class Minimum:
    """Where the search ended: parameter values, objective, steps, and what was tried, in words."""

    theta: FloatArray
    value: float
    iterations: int
    converged: bool
    tried: tuple[str, ...]


def minimize(objective: Objective, information: Information, starts: list[FloatArray]) -> Minimum:
    """Search by scoring from the first start; if that does not converge, in every other way too.

    The other ways are L-BFGS before scoring, and the other starts. Of the minima they lead to the
    lowest is returned: which is found first may depend on the order of the variables. If there is
    none, the lowest point any of them reached is returned.
    """
    tried: list[str] = []
    best = Minimum(starts[0], np.inf, 0, False, ())
    ways = [(k, start, polish) for k, start in enumerate(starts, 1) for polish in (False, True)]
    for k, start, polish in ways:
        tried.append(f"start {k}" + (", L-BFGS, then scoring" if polish else ", Fisher scoring"))
        try:
            theta = _run_lbfgs(objective, information, start) if polish else start
            found = _run_scoring(objective, information, theta)
        except _IMPOSSIBLE:  # the model says nothing at this start
            continue
        lower = found.value < best.value - 1e-10
        if found.converged > best.converged or (found.converged == best.converged and lower):
            best = found
        if best.converged and len(tried) == 1:
            break
    return replace(best, tried=tuple(tried))


def _run_scoring(objective: Objective, information: Information, theta: FloatArray) -> Minimum:
    value, g = objective(theta)
    H = np.empty((len(theta), len(theta)))
    for iteration in range(1, _STEPS + 1):
        if iteration <= SCORING_STEPS:
            H = _invert(information(theta))
        step = -H @ g
        decrement = -float(g @ step)
        if decrement < _DECREMENT:
            theta = _polished(objective, information, theta, g, H)
            return Minimum(theta, value, iteration, True, ())
        moved = _line_search(objective, theta, value, step, decrement)
        if moved is None:
            # no further fall is possible at working precision
            return Minimum(theta, value, iteration, decrement < 1e-9, ())
        if iteration >= SCORING_STEPS:
            H = _update_inverse(H, moved[0] - theta, moved[2] - g)
        theta, value, g = moved
    return Minimum(theta, value, _STEPS, False, ())


def _polished(
    objective: Objective, information: Information, theta: FloatArray, g: FloatArray, H: FloatArray
) -> FloatArray:
    """Go on to where rounding ends it, by steps too small for the objective to show their gain.

    The error of estimates is the root of the decrement; what is left of it would depend on the
    order of the variables and rows.
    """
    decrement, fresh = float(g @ H @ g), False
    for _ in range(_POLISHING_STEPS):
        if decrement < _ROUNDING:
            break
        try:
            moved = theta - H @ g
            new_g = objective(moved)[1]
            updated = _update_inverse(H, moved - theta, new_g - g)
            left = float(new_g @ updated @ new_g)
            if 0 <= left < decrement:
                theta, g, H, decrement, fresh = moved, new_g, updated, left, False
            elif fresh:
                break
            else:  # what the steps so far have taught of the curvature misleads
                H, fresh = _invert(information(theta)), True
                decrement = float(g @ H @ g)
        except _IMPOSSIBLE:
            break
    return theta


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


def _update_inverse(H: FloatArray, s: FloatArray, y: FloatArray) -> FloatArray:
    """BFGS update of an inverse Hessian, so that it maps the change of the gradient to the step."""
    curvature = float(s @ y)
    if curvature <= 1e-14 * float(np.abs(s) @ np.abs(y)):  # free of scale, as the lengths are not
        return H
    Hy = H @ y
    outer = np.outer(s, Hy)
    factor = (1.0 + float(y @ Hy) / curvature) / curvature
    updated: FloatArray = H + factor * np.outer(s, s) - (outer + outer.T) / curvature
    return updated


def _invert(information: FloatArray) -> FloatArray:
    """I⁻¹, zero along directions the information knows nothing of."""
    try:
        return inverse(information)[0]
    except NotPositiveDefiniteError:
        known = np.diag(information)
        scale = np.sqrt(np.where(known > 0, known, 1.0))
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        keep = values > 1e-8
        part = vectors[:, keep] / np.sqrt(values[keep]) / scale[:, None]
        pseudo: FloatArray = part @ part.T
        return pseudo


def _run_lbfgs(objective: Objective, information: Information, start: FloatArray) -> FloatArray:
    """Run L-BFGS in units of the standard errors at the start, so that units do not matter."""
    from scipy.optimize import minimize as scipy_minimize

    known = np.diag(information(start))
    unit = 1 / np.sqrt(np.where(known > 0, known, 1.0))

    def safe(steps: FloatArray) -> tuple[float, FloatArray]:
        try:
            value, gradient = objective(start + unit * steps)
        except _IMPOSSIBLE:
            return 1e10, np.zeros_like(steps)
        return value, unit * gradient

    result = scipy_minimize(
        safe, np.zeros_like(start), jac=True, method="L-BFGS-B", options={"maxiter": 2000}
    )
    return np.asarray(start + unit * result.x)
