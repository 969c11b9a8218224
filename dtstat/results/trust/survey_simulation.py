"""Whether the structure of a simulated survey is found: three answers to the question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.data import as_items
from dtstat.dependence import dependence_matrix
from dtstat.errors import DTError, silenced
from dtstat.results.fit_call import FitCall
from dtstat.results.trust.procedure import Procedure
from dtstat.selection.choose import by_first_item
from dtstat.theory.margin import margin_values
from dtstat.theory.survey import SurveyDesign

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Seen:
    """Whether thresholds can give the structure: one for all factors, or each its own."""

    design: SurveyDesign
    measure: str
    one_threshold: bool

    def __call__(self, n: int, rng: np.random.Generator) -> bool:
        """Draw a survey of n people and look."""
        found = _without_warnings(self._strength, n, rng)
        if found is None:
            return False
        whole, local = margin_values(found, self.design.support)
        return whole > 0 if self.one_threshold else bool((local > 0).all())

    def _strength(self, n: int, rng: np.random.Generator) -> FloatArray:
        return dependence_matrix(
            as_items(self.design.draw(n, rng), screened=False), self.measure
        ).strength


@dataclass(frozen=True, eq=False)
class _Found:
    """Whether ``fit`` finds the structure."""

    design: SurveyDesign
    call: FitCall

    def __call__(self, n: int, rng: np.random.Generator) -> bool:
        """Draw a survey of n people and fit it."""
        return bool(_without_warnings(self._same, n, rng))

    def _same(self, n: int, rng: np.random.Generator) -> bool:
        items = as_items(self.design.draw(n, rng), screened=False)
        procedure = Procedure.of(items, self.call, self.call.measure)
        found = procedure(np.arange(n), int(rng.integers(2**53)))
        return np.array_equal(found, by_first_item(self.design.support))


def events(
    design: SurveyDesign, call: FitCall
) -> dict[str, Callable[[int, np.random.Generator], bool]]:
    """Return what to simulate, by the names of the targets of a plan."""
    return {
        "graph": _Seen(design, call.measure, one_threshold=True),
        "factors": _Seen(design, call.measure, one_threshold=False),
        "fit": _Found(design, call),
    }


def _without_warnings(
    look: Callable[[int, np.random.Generator], T], n: int, rng: np.random.Generator
) -> T | None:
    """Return None if nothing can be computed from so few rows."""
    with silenced():
        try:
            return look(n, rng)
        except DTError:
            return None
