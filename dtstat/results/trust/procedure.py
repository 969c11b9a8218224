"""The procedure of ``dtstat.fit`` without its report: from rows to the structure found in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from dtstat.arrays import BoolArray, FloatArray, IntArray
from dtstat.data import ItemData
from dtstat.dependence.compute import Missing, PairFunction
from dtstat.dependence.resampled import RowDependence
from dtstat.errors import silenced
from dtstat.estimation.factors.copula import BRIDGES, latent_correlations
from dtstat.estimation.factors.reported import Answers, Source
from dtstat.estimation.factors.small_models import fit_small
from dtstat.estimation.nonlinear.estimate import NONLINEAR
from dtstat.results.curve_fitting import fit_curves
from dtstat.results.fit_call import FitCall
from dtstat.results.fitting import fit_items, refuse_uncovered
from dtstat.results.problem import Input, Work, search, typical_rows
from dtstat.selection.choose import by_first_item
from dtstat.selection.criteria import HELD_OUT


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
