"""Starting values for the free parameters of a model, and the search from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.errors import EstimationWarning, warn
from dtstat.estimation.sem.model import Model, Parameter
from dtstat.estimation.sem.scoring import Information, Minimum, Objective, minimise
from dtstat.estimation.sem.soundness import require_converged


def search(
    objective: Objective, information: Information, model: Model, S: FloatArray, mean: FloatArray
) -> tuple[Minimum, tuple[str, ...]]:
    """Minimise from the starting values the user gave, and without them if that leads nowhere.

    Returns
    -------
    tuple
        The minimum, and a note if the user's values had to be dropped.
    """
    found = minimise(objective, information, starting_values(model, S, mean))
    given = [row.name for row in model.parameters if row.free and row.value is not None]
    if found.converged or not given:
        require_converged(found)
        return found, ()
    rows = tuple(replace(row, value=None) if row.free else row for row in model.parameters)
    again = minimise(
        objective, information, starting_values(replace(model, parameters=rows), S, mean)
    )
    require_converged(again)
    note = (
        "The search did not converge from the values given with start() for "
        f"{', '.join(repr(name) for name in given)}, so they were dropped and the default ones "
        "taken. Leave them out, or give others."
    )
    warn(note, EstimationWarning, stacklevel=2)
    return again, (note,)


def starting_values(model: Model, S: FloatArray, mean: FloatArray) -> list[FloatArray]:
    """Two sets of starting values: one read off the covariances, one plain.

    Both take half of each item's variance as residual. The first gives a factor half the variance
    of its first item and loadings in proportion to the covariances with that item; the second is
    a factor of small variance with loadings ±1.
    """
    return [_values(model, S, mean, informed) for informed in (True, False)]


def _values(model: Model, S: FloatArray, mean: FloatArray, informed: bool) -> FloatArray:
    guess = _Guess(model, S, mean, informed)
    theta = np.zeros(model.n_free)
    for row in reversed(model.parameters):  # of equal parameters the first one counts
        if row.free:
            theta[row.free - 1] = guess.of(row) if row.value is None else row.value
    return theta


class _Guess:
    """Guesses at single parameters from the covariances of the observed variables."""

    def __init__(self, model: Model, S: FloatArray, mean: FloatArray, informed: bool) -> None:
        self.S, self.mean, self.informed = S, mean, informed
        self.position = {name: k for k, name in enumerate(model.observed)}
        self.marker: dict[str, str] = {}
        self.variance: dict[str, float] = {}
        self.turned: set[str] = set()  # factors that point away from their marker
        for row in model.parameters:
            if row.op == "=~":
                if row.lhs not in self.marker and (row.value or 0.0) < 0:
                    self.turned.add(row.lhs)
                self.marker.setdefault(row.lhs, row.rhs)
            if row.op == "~~" and row.lhs == row.rhs and not row.free:
                self.variance[row.lhs] = row.value or 0.0

    def of(self, row: Parameter) -> float:
        if row.op == "=~":
            i, j = self._observed(row.lhs), self._observed(row.rhs)
            sign = -1.0 if row.lhs in self.turned else 1.0
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
