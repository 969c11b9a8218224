"""The procedure of ``dtstat.fit`` without its report: from rows to the structure found in them.

Whether the structure of a simulated survey is found: three answers to the question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.errors import DTError, silenced
from dtstat.curves.estimate import NONLINEAR
from dtstat.data.items import ItemData, as_items
from dtstat.dependence.compute import Missing, PairFunction, RowDependence, dependence_matrix
from dtstat.dependence.measures import BRIDGES
from dtstat.factors.copula import latent_correlations
from dtstat.factors.reported import Answers, Source
from dtstat.factors.small_models import fit_small
from dtstat.fit.curve_pipeline import fit_curves
from dtstat.fit.pipeline import Input, Work, fit_items, refuse_uncovered, search, typical_rows
from dtstat.fit.request import FitCall
from dtstat.search.choose import by_first_item
from dtstat.search.evaluate import HELD_OUT
from dtstat.structure.margin import margin_values
from dtstat.trust.survey import SurveyDesign


@dataclass(frozen=True, eq=False)
class Procedure:
    """Finds the structure in chosen rows, as a call of ``fit`` would; fit for many repetitions.

    Where nothing but the structure matters, the dependence matrix, the search and the choice are
    run alone, with compiled estimates of the candidate models. Criteria that hold out rows, and
    curves, run ``fit`` as it is.

    Parameters
    ----------
    dependence
        All rows, with the measure of dependence.
    call
        What ``fit`` was asked for.
    grid
        Thresholds that were asked for; None for all.
    """

    dependence: RowDependence
    call: FitCall
    grid: FloatArray | None = None

    @classmethod
    def of(
        cls,
        items: ItemData,
        call: FitCall,
        measure: str | PairFunction,
        grid: FloatArray | None = None,
    ) -> Procedure:
        """Make one for answers; ``measure`` is a function, or the name that ``call`` has."""
        return cls(RowDependence(items, measure, cast(Missing, call.missing)), call, grid)

    def __call__(self, rows: IntArray, seed: int) -> BoolArray:
        """Return the (p, d) structure; warnings are not given again."""
        with silenced():
            return self._quick(rows) if self._is_plain else self._in_full(rows, seed)

    @property
    def _is_plain(self) -> bool:
        call, measure = self.call, self.dependence.measure
        own = call.estimator == "copula" and measure in BRIDGES
        own |= call.estimator == "linear" and measure == "pearson"
        return own and call.criterion not in HELD_OUT

    def _quick(self, rows: IntArray) -> BoolArray:
        matrix = self.dependence(rows)
        latent = latent_correlations(matrix)
        answers = Answers.of(self.dependence.items.take(rows))
        problem = Input(matrix, Source(latent, answers), latent.R, typical_rows(matrix))
        _, outcome = search(problem, self.call, Work(self.dependence.measure, self.grid), fit_small)
        support = by_first_item(outcome.best.proposal.support)
        refuse_uncovered(support, matrix.names, self.call)
        return support

    def _in_full(self, rows: IntArray, seed: int) -> BoolArray:
        call = self.call if self.call.seed is None else replace(self.call, seed=seed)
        fit = fit_curves if call.estimator in NONLINEAR else fit_items
        taken = self.dependence.items.take(rows)
        return fit(taken, call, Work(self.dependence.measure, self.grid)).support


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
