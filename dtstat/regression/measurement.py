"""The measurement model of the rows that a regression uses: step 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.errors import EstimationError, InputError
from dtstat.data.items import ItemData, as_items, item_names, rows_to_score
from dtstat.dependence.influence import pair_influences
from dtstat.dependence.measures import BRIDGES, LATENT
from dtstat.factors.copula import FactorEstimate, fit_factors
from dtstat.factors.derivatives import Information, Score
from dtstat.factors.reported import Answers, Source, behind_ratings
from dtstat.factors.scores import normal_scores
from dtstat.fit.api import fit as fit_structure
from dtstat.fit.pipeline import prepare
from dtstat.fit.request import Run
from dtstat.fit.result import DTFit
from dtstat.structure.syntax import as_structure

_SAME = 1e-4  # difference of loadings that are those of the fit


@dataclass(frozen=True, eq=False)
class Measurement:
    """A measurement model with the rows it was fitted to.

    Attributes
    ----------
    R, measure
        Latent correlations of the items, and what they were computed from.
    answers
        The rows behind them.
    values
        (n, p) answers as covariances are computed from them: categories of ratings, normal scores
        or answers of other items.
    numeric
        (p,) which items are taken as numbers, not as categories.
    estimate
        The model.
    names
        Of the items.
    is_reported
        Whether its loadings are those that the fit reports.
    """

    R: FloatArray
    measure: str
    answers: Answers
    values: FloatArray
    numeric: BoolArray
    estimate: FactorEstimate
    names: tuple[str, ...]
    is_reported: bool


@dataclass(frozen=True, eq=False)
class Moved:
    """(m, p, d), (m, d, d) and (m, p) influence of m rows on Λ, Φ and Ψ."""

    loadings: FloatArray
    factor_correlations: FloatArray
    uniquenesses: FloatArray


def as_fit(fit: Any, data: Any) -> DTFit:
    """Return a fit with straight lines; a structure is fitted to the items it names.

    Raises
    ------
    InputError
        If it is neither, has curves, or has no factors.
    """
    if not isinstance(fit, DTFit):
        structure = as_structure(fit, "fit", lambda: item_names(data))
        index, X = rows_to_score(data, structure.item_names)
        answers = pd.DataFrame(X, index, list(structure.item_names))
        return fit_structure(answers, structure=structure)
    if fit.has_curves:
        raise InputError(
            "`fit` has curves, and regress() goes by straight lines behind the answers. Fit with "
            "estimator='copula', or give fit.structure.",
            "fit",
        )
    if not fit.n_factors:
        raise InputError("`fit` has no factors to regress.", "fit")
    return fit


def measure_rows(fit: DTFit, answers: FloatArray) -> Measurement:
    """Fit the structure of a fit to (n, p) answers, in the way that the fit is reported.

    Raises
    ------
    InputError
        If items do not vary in the rows.
    EstimationError
        If the loadings cannot be estimated.
    """
    kinds = None
    if fit.source is not None and fit.source.answers is not None:
        kinds = dict(zip(fit.item_names, fit.source.answers.kinds, strict=True))
    items = as_items(pd.DataFrame(answers, columns=list(fit.item_names)), kinds, screened=False)
    source = _correlations(fit, items)
    assert source.answers is not None
    estimate = fit_factors(source.latent.R, items.n_rows, fit.support)
    if not estimate.converged:
        raise EstimationError(
            f"The loadings cannot be estimated from the {items.n_rows} rows used. Leave out "
            "covariates that many lack, or fit fewer factors."
        )
    reported = fit.reported.estimate.loadings * np.array(fit.signs or 1)  # as they were turned
    estimate = _oriented(estimate, reported)
    ratings = source.latent.measure in LATENT
    numeric = np.array([kind == "continuous" or not ratings for kind in items.kinds])
    values = source.answers.values.copy()
    if fit.call.estimator != "linear":
        values[:, numeric] = normal_scores(values[:, numeric])
    same = np.abs(estimate.loadings - reported).max() < _SAME
    latent = source.latent
    return Measurement(
        latent.R, latent.measure, source.answers, values, numeric, estimate, items.names, bool(same)
    )


def influence_on_model(model: Measurement, rows: IntArray) -> Moved:
    """Influence of rows, given by their positions, on the parameters of the model.

    To first order a change dR of the correlations moves them by H⁻¹ Δ'V dR, with H the second
    derivatives of the discrepancy (:mod:`dtstat.factors.derivatives`).
    """
    values, kinds = model.answers.values[rows], model.answers.kinds
    pairs = pair_influences(values, kinds, model.measure, model.R)
    score = Score(model.estimate)
    moved = Information(score.curvature(model.R)).solve(score.of_pairs(pairs))
    return Moved(*score.unpack(moved.T))


def _correlations(fit: DTFit, items: ItemData) -> Source:
    """Correlations of items as a fit reports them: behind ratings unless it is linear."""
    measure = fit.dependence.measure if fit.dependence.measure in BRIDGES else "spearman"
    source = prepare(items, fit.call, Run(measure)).source
    if fit.call.estimator == "linear" or source.latent.measure in LATENT:
        return source
    again = behind_ratings(source)
    if again is None and set(items.kinds) != {"continuous"}:
        raise EstimationError(
            "Two ratings determine each other in the rows used, so that there is no correlation "
            "behind them. Leave one of them out."
        )
    return again or source


def _oriented(estimate: FactorEstimate, loadings: FloatArray) -> FactorEstimate:
    """Turn factors round to point where given loadings do."""
    sign = np.where((estimate.loadings * loadings).sum(axis=0) < 0, -1.0, 1.0)
    return replace(
        estimate,
        loadings=estimate.loadings * sign,
        factor_correlations=estimate.factor_correlations * np.outer(sign, sign),
    )
