"""The search for estimates: starting values, the way to a minimum, and checks of what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dtstat.core.arrays import FloatArray
from dtstat.core.errors import EstimationError, EstimationWarning, warn
from dtstat.sem.constraints import Constraints, minimize_within
from dtstat.sem.exploratory import Exploratory
from dtstat.sem.matrices import Layout, NotPositiveDefiniteError, inverse
from dtstat.sem.optimize import Information, Minimum, Objective
from dtstat.sem.parameters import Model, Parameter

# covariances and means of each group, and (items, cuts) thresholds if items are ordered
Moments = Sequence[tuple[FloatArray, ...]]

_UNKNOWN = 1e-9  # eigenvalue of the scaled information below which a direction is not identified
_LOWER = 1e-6  # fall of the discrepancy per row that makes another minimum
_ROUNDING = 1e-6  # share of an item's variance, or of a correlation, that the search leaves open


def search(
    objective: Objective,
    information: Information,
    model: Model,
    moments: Moments,
    constraints: Constraints | None = None,
    blocks: Exploratory | None = None,
) -> tuple[Minimum, tuple[str, ...]]:
    """Minimize from the starting values the user gave, and without them if that leads lower.

    Returns the minimum, and a note if the user's values were dropped. Raises EstimationError,
    which says what was tried, if no search ends at a minimum.
    """
    limits = constraints or Constraints(model)

    def minimum(model: Model) -> Minimum:
        starts = starting_values(model, moments)
        if blocks is not None:
            for start in starts:
                blocks.start(start, moments)
        return minimize_within(objective, information, starts, limits)

    found = minimum(model)
    notes: tuple[str, ...] = ()
    given = [row.name for row in model.parameters if row.free and row.value is not None]
    if given:
        rows = tuple(row.change(value=None) if row.free else row for row in model.parameters)
        other = minimum(replace(model, parameters=rows))
        ends = found.converged and _is_known(information(found.theta), model, limits, found)
        if not ends or (other.converged and other.value < found.value - _LOWER):
            found = other
            notes = (
                f"The search found {'only a higher' if ends else 'no'} minimum from the values "
                f"given with start() for {', '.join(repr(name) for name in given)}, so they were "
                "dropped and the default ones taken. Leave them out, or give others.",
            )
    if not found.converged:
        raise EstimationError(
            f"The model did not converge. Tried: {'; '.join(found.tried)}. "
            + _advice(model, found.theta)
        )
    for note in notes:
        warn(note, EstimationWarning, stacklevel=2)
    return found, notes


def _advice(model: Model, theta: FloatArray) -> str:
    """Say what to do about a search that did not end, by where it was when it was given up."""
    negative = [
        (theta[row.free - 1], row)
        for row in model.parameters
        if row.free and row.is_variance and theta[row.free - 1] < 0
    ]
    if negative:
        value, row = min(negative, key=lambda one: one[0])
        return (
            f"The search ran off with a negative variance of '{row.lhs}' "
            f"({value:.3g}), so the model may have no best fit. Keep variances positive with "
            "bounds='pos.var', fix a variance or a loading, or leave out a factor or an item."
        )
    return (
        "Check that each factor has items that correlate, give starting values with start(), or "
        "simplify the model."
    )


def _is_known(information: FloatArray, model: Model, limits: Constraints, found: Minimum) -> bool:
    """Whether the information tells something of all parameters; a bad start may end elsewhere."""
    try:
        check_identified(information, model, limits.space(found.theta))
    except EstimationError:
        return False
    return True


def starting_values(model: Model, moments: Moments) -> list[FloatArray]:
    """Two sets of starting values: one read off the covariances, one plain.

    ``moments`` are covariances and means of the observed variables, of each group, and thresholds
    if some of them are ordered.

    Both take half of each item's variance as residual. The first gives a factor half the variance
    of its first item and loadings in proportion to the covariances with that item; the second is
    a factor of small variance with loadings ±1.
    """
    starts = []
    for informed in (True, False):
        guesses = [
            _Guess(block, informed, *known)
            for block, known in zip(model.blocks, moments, strict=True)
        ]
        theta = np.zeros(model.n_free)
        for row in reversed(model.parameters):  # of equal parameters the first one counts
            if row.free:
                guess = guesses[row.group - 1]
                theta[row.free - 1] = guess.value(row) if row.value is None else row.value
        starts.append(theta)
    return starts


class _Guess:
    """Guesses at single parameters from the covariances of the observed variables."""

    def __init__(
        self,
        model: Model,
        informed: bool,
        S: FloatArray,
        mean: FloatArray,
        thresholds: FloatArray | None = None,
    ) -> None:
        self.S, self.mean, self.informed, self.thresholds = S, mean, informed, thresholds
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
        if row.op == "|":
            assert self.thresholds is not None
            return float(self.thresholds[self.position[row.lhs], int(row.rhs[1:]) - 1])
        if row.op == "~*~":
            return 1.0
        if row.op == "~1":
            known = row.lhs in self.position
            return float(self.mean[self.position[row.lhs]]) if known else 0.0
        if row.op == "~" and row.rhs not in self.marker and row.rhs not in self.position:
            i = self._observed(row.lhs)  # a factor that nothing measures may carry all of it
            return float(np.sqrt(0.5 * self.S[i, i]))
        return self._variance(row.lhs) if row.lhs == row.rhs else 0.0

    def _observed(self, name: str) -> int:
        """Index of the observed variable that stands for a (higher-order) factor."""
        while name in self.marker:
            name = self.marker[name]
        return self.position[name]

    def _variance(self, name: str) -> float:
        if name in self.variance:
            return self.variance[name]
        if name not in self.marker and name not in self.position:
            return 1.0  # of a factor that nothing measures
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


def check_identified(
    information: FloatArray, model: Model, space: FloatArray | None = None
) -> None:
    """Refuse a model some direction of whose parameters the information knows nothing of.

    ``space`` are the directions that constraints leave, as columns; None for all.
    """
    if space is not None and space.shape[1] < len(space):
        _check_space(information, model, space)
        return
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    scaled = information / np.outer(scale, scale)
    if _is_clearly_known(scaled):
        return
    values, vectors = np.linalg.eigh(scaled)
    if values.size == 0 or values[0] > _UNKNOWN:
        return
    raise _not_identified(np.abs(vectors[:, 0]), model)


def _is_clearly_known(scaled: FloatArray) -> bool:
    """Whether no eigenvalue is small, as 1/λ ≤ tr I⁻¹ of each; cheaper than eigenvalues."""
    try:
        return float(inverse(scaled)[0].trace()) < 1e-2 / _UNKNOWN
    except NotPositiveDefiniteError:
        return False


def _check_space(information: FloatArray, model: Model, space: FloatArray) -> None:
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    Q = np.linalg.qr(scale[:, None] * space)[0]  # orthonormal where parameters have unit variance
    values, vectors = np.linalg.eigh(Q.T @ (information / np.outer(scale, scale)) @ Q)
    if values.size and values[0] <= _UNKNOWN:
        raise _not_identified(np.abs(Q @ vectors[:, 0]), model)


def _not_identified(weight: FloatArray, model: Model) -> EstimationError:
    names = {row.free - 1: model.describe(row) for row in reversed(model.parameters) if row.free}
    involved = ", ".join(f"'{names[k]}'" for k in np.argsort(-weight)[:4] if weight[k] > 0.1)
    return EstimationError(
        "The model is not identified: the data say nothing about a combination of "
        f"{involved}. Fix or equate one of them."
    )


def review_solution(layout: Layout, theta: FloatArray, group: str = "") -> tuple[str, ...]:
    """Name what is improper about a solution in one group, and warn of it."""
    M, total = layout.matrices(theta), layout.implied(theta).Sigma
    where = f" in group '{group}'" if group else ""
    notes = []
    for row, (matrix, i, j) in zip(layout.model.parameters, layout.model.places, strict=True):
        if row.op != "~~":
            continue
        C = M.Theta if matrix == "theta" else M.Psi
        what = "residual " if matrix == "theta" else ""
        nothing = _ROUNDING * total[i, i] if matrix == "theta" else 0.0
        if row.lhs == row.rhs and C[i, i] < -nothing:
            notes.append(
                f"Heywood case: the {what}variance of '{row.lhs}'{where} is negative "
                f"({C[i, i]:#.3g}). The item may be redundant, the factor too weak or "
                "the sample too small."
            )
        if row.lhs != row.rhs and row.free and min(C[i, i], C[j, j]) > 0:
            r = C[i, j] / np.sqrt(C[i, i] * C[j, j])
            if abs(r) > 1 + _ROUNDING:
                notes.append(
                    f"The {what}correlation of '{row.lhs}' and '{row.rhs}'{where} is outside "
                    f"[-1, 1] ({r:.3f}). They may be one {'item' if what else 'factor'}."
                )
    for note in notes:
        warn(note, EstimationWarning, stacklevel=2)
    return tuple(notes)
