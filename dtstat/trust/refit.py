"""The structure that ``dtstat.fit`` would find in chosen rows, for many repetitions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.errors import InputError, silenced
from dtstat.curves.estimate import NONLINEAR
from dtstat.data.items import ItemData
from dtstat.dependence.compute import Missing, PairFunction, RowDependence
from dtstat.dependence.measures import REGISTRY
from dtstat.factors.copula import BRIDGES, latent_correlations
from dtstat.factors.reported import Answers, Source
from dtstat.factors.small_models import fit_small
from dtstat.fit.curve_pipeline import fit_curves
from dtstat.fit.pipeline import Input, Work, fit_items, refuse_uncovered, search, typical_rows
from dtstat.fit.request import FitCall
from dtstat.fit.result import DTFit
from dtstat.search.choose import by_first_item
from dtstat.search.evaluate import HELD_OUT

_ROUNDING = 1e-8  # the same answers give the same dependence up to this


@dataclass(frozen=True, eq=False)
class StructureFinder:
    """Finds the structure in chosen rows, as a call of ``fit`` would.

    Dependence, search and choice run alone, with compiled estimates of the candidate models.
    Criteria that hold out rows, and curves, run ``fit`` as it is.

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

    def __call__(self, rows: IntArray, seed: int) -> BoolArray:
        """Return the (p, d) structure; warnings are not given again."""
        call, measure = self.call, self.dependence.measure
        compiled = call.estimator == "copula" and measure in BRIDGES
        compiled |= call.estimator == "linear" and measure == "pearson"
        with silenced():
            if compiled and call.criterion not in HELD_OUT:
                return self._find_compiled(rows)
            return self._find_by_fit(rows, seed)

    def _find_compiled(self, rows: IntArray) -> BoolArray:
        matrix = self.dependence(rows)
        latent = latent_correlations(matrix)
        answers = Answers.of(self.dependence.items.take(rows))
        problem = Input(matrix, Source(latent, answers), latent.R, typical_rows(matrix))
        _, outcome = search(problem, self.call, Work(self.dependence.measure, self.grid), fit_small)
        support = by_first_item(outcome.best.proposal.support)
        refuse_uncovered(support, matrix.names, self.call)
        return support

    def _find_by_fit(self, rows: IntArray, seed: int) -> BoolArray:
        call = self.call if self.call.seed is None else replace(self.call, seed=seed)
        fit = fit_curves if call.estimator in NONLINEAR else fit_items
        taken = self.dependence.items.take(rows)
        return fit(taken, call, Work(self.dependence.measure, self.grid)).support


def row_dependence(items: ItemData, fit: DTFit, measure: str | PairFunction) -> RowDependence:
    """Return the rows of a fit's items, ready to be drawn from."""
    if isinstance(measure, str) and measure not in REGISTRY:
        raise InputError(
            f"The measure of the fit is the function '{measure}', which a fit does not keep, so "
            "rows cannot be drawn again for it. Give `data` and the arguments of fit() instead of "
            "a fit, or for a diagnosis leave out `data`.",
            "fit",
        )
    return RowDependence(items.select(fit.item_names), measure, cast(Missing, fit.call.missing))


def check_same_data(fit: DTFit, rows: RowDependence) -> None:
    """Refuse rows that do not have the dependence of the fit."""
    here = rows(np.arange(rows.n_rows)).values
    apart = np.abs(here - fit.dependence.values) > _ROUNDING
    if apart.any():
        i, j = np.argwhere(apart)[0]
        a, b = fit.item_names[i], fit.item_names[j]
        raise InputError(
            f"`data` are not the data of the fit: the dependence of '{a}' and '{b}' is "
            f"{fit.dependence.values[i, j]:.4f} there and {here[i, j]:.4f} here. Give the same "
            "rows.",
            "data",
        )
