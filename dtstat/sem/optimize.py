"""Minimizing the objective of a model, from starting values to checks of the solution.

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
from dtstat.core.errors import EstimationError, EstimationWarning, warn
from dtstat.sem.matrices import Layout, NotPositiveDefiniteError
from dtstat.sem.model import Model, Parameter

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
Information = Callable[[FloatArray], FloatArray]

# no covariance matrix at these values, or I − B is singular
_IMPOSSIBLE = (NotPositiveDefiniteError, np.linalg.LinAlgError)
_DECREMENT = 1e-13  # half of it is the expected further fall of the objective
_SCORING_STEPS = 4
_STEPS = 500
_HALVINGS = 30
_UNKNOWN = 1e-9  # eigenvalue of the scaled information below which a direction is not identified
_ROUNDING = 1e-6  # share of an item's variance, or of a correlation, that the search leaves open


@dataclass(frozen=True)
class Minimum:
    """Where the search ended: parameter values, objective, steps, and what was tried, in words."""

    theta: FloatArray
    value: float
    iterations: int
    converged: bool
    tried: tuple[str, ...]


def search(
    objective: Objective, information: Information, model: Model, S: FloatArray, mean: FloatArray
) -> tuple[Minimum, tuple[str, ...]]:
    """Minimize from the starting values the user gave, and without them if that leads nowhere.

    Returns the minimum, and a note if the user's values had to be dropped. Raises EstimationError,
    which says what was tried, if no search ends at a minimum.
    """
    found = minimize(objective, information, starting_values(model, S, mean))
    notes: tuple[str, ...] = ()
    given = [row.name for row in model.parameters if row.free and row.value is not None]
    if not found.converged and given:
        rows = tuple(replace(row, value=None) if row.free else row for row in model.parameters)
        starts = starting_values(replace(model, parameters=rows), S, mean)
        found = minimize(objective, information, starts)
        notes = (
            "The search did not converge from the values given with start() for "
            f"{', '.join(repr(name) for name in given)}, so they were dropped and the default "
            "ones taken. Leave them out, or give others.",
        )
    if not found.converged:
        raise EstimationError(
            f"The model did not converge. Tried: {'; '.join(found.tried)}. Check that each factor "
            "has items that correlate, give starting values with start(), or simplify the model."
        )
    for note in notes:
        warn(note, EstimationWarning, stacklevel=2)
    return found, notes


def minimize(objective: Objective, information: Information, starts: list[FloatArray]) -> Minimum:
    """Try each start by scoring, then by L-BFGS and scoring, until a search converges.

    If none does, the lowest point any of them reached is returned.
    """
    tried: list[str] = []
    best = Minimum(starts[0], np.inf, 0, False, ())
    for k, start in enumerate(starts, start=1):
        for polish in (False, True):
            tried.append(
                f"start {k}" + (", L-BFGS, then scoring" if polish else ", Fisher scoring")
            )
            try:
                objective(start)
            except _IMPOSSIBLE:
                continue
            theta = _run_lbfgs(objective, start) if polish else start
            found = _run_scoring(objective, information, theta)
            if found.converged:
                return replace(found, tried=tuple(tried))
            if found.value < best.value - 1e-10:
                best = found
    return replace(best, tried=tuple(tried))


def _run_scoring(objective: Objective, information: Information, theta: FloatArray) -> Minimum:
    value, g = objective(theta)
    H = np.empty((len(theta), len(theta)))
    for iteration in range(1, _STEPS + 1):
        if iteration <= _SCORING_STEPS:
            H = _invert(information(theta))
        step = -H @ g
        decrement = -float(g @ step)
        if decrement < _DECREMENT:
            return Minimum(theta, value, iteration, True, ())
        moved = _line_search(objective, theta, value, step, decrement)
        if moved is None:
            # no further fall is possible at working precision
            return Minimum(theta, value, iteration, decrement < 1e-9, ())
        if iteration >= _SCORING_STEPS:
            H = _update_inverse(H, moved[0] - theta, moved[2] - g)
        theta, value, g = moved
    return Minimum(theta, value, _STEPS, False, ())


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


def _run_lbfgs(objective: Objective, start: FloatArray) -> FloatArray:
    from scipy.optimize import minimize as scipy_minimize

    def safe(theta: FloatArray) -> tuple[float, FloatArray]:
        try:
            return objective(theta)
        except _IMPOSSIBLE:
            return 1e10, np.zeros_like(theta)

    result = scipy_minimize(safe, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return np.asarray(result.x)


def starting_values(model: Model, S: FloatArray, mean: FloatArray) -> list[FloatArray]:
    """Two sets of starting values: one read off the covariances, one plain.

    Both take half of each item's variance as residual. The first gives a factor half the variance
    of its first item and loadings in proportion to the covariances with that item; the second is
    a factor of small variance with loadings ±1.
    """
    starts = []
    for informed in (True, False):
        guess = _Guess(model, S, mean, informed)
        theta = np.zeros(model.n_free)
        for row in reversed(model.parameters):  # of equal parameters the first one counts
            if row.free:
                theta[row.free - 1] = guess.value(row) if row.value is None else row.value
        starts.append(theta)
    return starts


class _Guess:
    """Guesses at single parameters from the covariances of the observed variables."""

    def __init__(self, model: Model, S: FloatArray, mean: FloatArray, informed: bool) -> None:
        self.S, self.mean, self.informed = S, mean, informed
        self.position = {name: k for k, name in enumerate(model.observed)}
        self.marker: dict[str, str] = {}
        self.variance: dict[str, float] = {}
        self.reversed: set[str] = set()  # factors that point away from their marker
        for row in model.parameters:
            if row.op == "=~":
                if row.lhs not in self.marker and (row.value or 0.0) < 0:
                    self.reversed.add(row.lhs)
                self.marker.setdefault(row.lhs, row.rhs)
            if row.op == "~~" and row.lhs == row.rhs and not row.free:
                self.variance[row.lhs] = row.value or 0.0

    def value(self, row: Parameter) -> float:
        if row.op == "=~":
            i, j = self._observed(row.lhs), self._observed(row.rhs)
            sign = -1.0 if row.lhs in self.reversed else 1.0
            return sign * _loading(self.S, i, j, self._variance(row.lhs), self.informed)
        if row.op == "~1":
            known = row.lhs in self.position
            return float(self.mean[self.position[row.lhs]]) if known else 0.0
        return self._variance(row.lhs) if row.lhs == row.rhs else 0.0

    def _observed(self, name: str) -> int:
        """Index of the observed variable that stands for a (higher-order) factor."""
        while name in self.marker:
            name = self.marker[name]
        return self.position[name]

    def _variance(self, name: str) -> float:
        if name in self.variance:
            return self.variance[name]
        i = self._observed(name)
        small = name in self.marker and not self.informed
        return (0.05 if small else 0.5) * float(self.S[i, i])


def _loading(S: FloatArray, i: int, j: int, variance: float, informed: bool) -> float:
    sign = 1.0 if S[i, j] >= 0 else -1.0
    if not informed:
        return sign * float(np.sqrt(S[j, j] / S[i, i]))
    if variance <= 0:
        return sign
    if i == j:
        return float(np.sqrt(0.5 * S[i, i] / variance))
    # covariance with the marker, whose own loading has this size
    own = np.sqrt(0.5 * S[i, i] / variance)
    largest = np.sqrt(0.9 * S[j, j] / variance)
    return float(np.clip(S[i, j] / (own * variance), -largest, largest))


def check_identified(information: FloatArray, model: Model) -> None:
    """Refuse a model some direction of whose parameters the information knows nothing of."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    if values.size == 0 or values[0] > _UNKNOWN:
        return
    weight = np.abs(vectors[:, 0])
    names = {row.free - 1: row.name for row in reversed(model.parameters) if row.free}
    involved = ", ".join(f"'{names[k]}'" for k in np.argsort(-weight)[:4] if weight[k] > 0.1)
    raise EstimationError(
        "The model is not identified: the data say nothing about a combination of "
        f"{involved}. Fix or equate one of them."
    )


def review_solution(layout: Layout, theta: FloatArray) -> tuple[str, ...]:
    """Name what is improper about a solution, and warn of it."""
    M, total = layout.matrices(theta), layout.implied(theta).Sigma
    notes = []
    for row, (matrix, i, j) in zip(layout.model.parameters, layout.model.places, strict=True):
        if row.op != "~~":
            continue
        C = M.Theta if matrix == "theta" else M.Psi
        what = "residual " if matrix == "theta" else ""
        nothing = _ROUNDING * total[i, i] if matrix == "theta" else 0.0
        if row.lhs == row.rhs and C[i, i] < -nothing:
            notes.append(
                f"Heywood case: the {what}variance of '{row.lhs}' is negative "
                f"({C[i, i]:#.3g}). The item may be redundant, the factor too weak or "
                "the sample too small."
            )
        if row.lhs != row.rhs and row.free and min(C[i, i], C[j, j]) > 0:
            r = C[i, j] / np.sqrt(C[i, i] * C[j, j])
            if abs(r) > 1 + _ROUNDING:
                notes.append(
                    f"The {what}correlation of '{row.lhs}' and '{row.rhs}' is outside [-1, 1] "
                    f"({r:.3f}). They may be one {'item' if what else 'factor'}."
                )
    for note in notes:
        warn(note, EstimationWarning, stacklevel=2)
    return tuple(notes)
