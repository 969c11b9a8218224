"""The model of a chosen structure as it is reported: estimates, standard errors, a test of fit.

Structures are searched for and compared by rank correlations. Of ratings these are too small,
because ties take part of the dependence away: with five categories a loading of .80 looks like .76,
with two like .67. So where items are binary or ordinal, the model is fitted once more to their
polychoric correlations, and where others are continuous to polyserial ones, with the continuous
items as normal scores; any increasing transformation of an item is still the same item. How well
the model fits is said by the usual measures, under lavaan's names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import cast

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.fit_indices import p_value, rmsea_measures
from dtstat.core.parallel import Progress
from dtstat.core.saved import register
from dtstat.data.frame import Frame
from dtstat.data.items import ItemData, ItemKind
from dtstat.data.pair_tables import PairTables
from dtstat.dependence.influence import Influence, latent_influence, most_rows
from dtstat.dependence.measures import BRIDGES, LATENT
from dtstat.dependence.on_demand import CorrelationsOnDemand
from dtstat.dependence.polychoric import latent_correlation_matrix
from dtstat.factors.copula import (
    FactorEstimate,
    LatentCorrelations,
    fit_factors,
    nearest_correlation,
)
from dtstat.factors.derivatives import StandardErrors
from dtstat.factors.robust import (
    RobustTest,
    degrees_of_freedom,
    implied_correlations,
    misfit_scaling,
    robust_inference,
)
from dtstat.factors.scores import Marginals, normal_scores
from dtstat.simulation.designs import draw_normal

# With 100 rows of 9 to 25 items true models are rejected in 3 to 10 % of samples (skewed items with
# gaps up to 16 %), but 25 yes/no items in 15 to 20 %; with 300 rows of these in 9 %.
_FEWEST_ROWS, _ROWS_PER_ITEM, _ROWS_PER_YES_OR_NO = 100, 4, 10
_FEWEST_INFLUENCES = 200  # rows that Γ is estimated from
_DRAWN_ROWS, _SEED = 5000, 0
# The scaling of misfit is looked up in some rows: numbers in the array of their influences, fewest
# rows, and most items for which that is worth its time.
_SCALED_BY, _FEWEST_SCALED, _MOST_SCALED = 500_000, 50, 300
_PERFECT = 0.999  # a correlation beyond has no standard error
_RMSEA = ("rmsea", "rmsea.ci.lower", "rmsea.ci.upper", "rmsea.pvalue")


@register(
    shapes={"estimate.loadings": "pd", "errors.loadings": "pd"},
    rules={
        "correlations are of the items": lambda model: (
            model.latent.n_items == len(model.estimate.loadings)
        )
    },
)
@dataclass(frozen=True, eq=False)
class ReportedModel:
    """A fitted structure with what is known of its errors.

    Attributes
    ----------
    latent
        The correlations it was fitted to; for ratings polychoric ones.
    estimate
        The model.
    errors
        Standard errors; NaN where they are not known.
    test
        Test of fit; None if there is none.
    untested
        Why there is none, in a sentence; "" if there is one.
    """

    latent: LatentCorrelations | CorrelationsOnDemand
    estimate: FactorEstimate
    errors: StandardErrors
    test: RobustTest | None
    untested: str

    @property
    def as_ratings(self) -> bool:
        """Whether the correlations are those behind ratings."""
        return self.latent.measure in LATENT


@dataclass(frozen=True, eq=False)
class Answers:
    """Rows behind correlations: (n, p) values, NaN where missing, and the kinds of the items.

    ``tables`` are the counts of the answers of all pairs, where there are many rows of ratings;
    ``by_content`` says whether the rows are in the order of their content.
    """

    values: FloatArray
    kinds: tuple[ItemKind, ...]
    tables: PairTables | None = None
    by_content: bool = False

    @classmethod
    def of(cls, items: ItemData, by_content: bool = False) -> Answers:
        """Take the rows of items."""
        return cls(items.values, items.kinds, items.pair_tables(), by_content)

    @property
    def has_ratings(self) -> bool:
        """Whether any item is binary or ordinal."""
        return any(kind != "continuous" for kind in self.kinds)

    def influence(
        self,
        latent: LatentCorrelations,
        most_numbers: int | None = None,
        progress: Progress = None,
    ) -> Influence:
        """Influence of the rows on latent correlations."""
        limit = {} if most_numbers is None else {"most_numbers": most_numbers}
        measure, R = latent.measure, latent.R
        return latent_influence(
            self.values, self.kinds, measure, R, by_content=self.by_content, progress=progress,
            **limit,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Source:
    """Latent correlations with the rows behind them; without rows if only a matrix is known."""

    latent: LatentCorrelations
    answers: Answers | None
    _found: list[Influence] = field(default_factory=list, init=False)

    @cached_property
    def rows(self) -> Answers | None:
        """The answers, or rows as the matrix implies them; None if it does not."""
        return _implied_rows(self.latent) if self.answers is None else self.answers

    def influence(self, progress: Progress = None) -> Influence:
        """Influence of the rows on the correlations, found when it is first asked for."""
        if not self._found:
            assert self.rows is not None
            self._found.append(self.rows.influence(self.latent, progress=progress))
        return self._found[0]

    def misfit_scaling(
        self, n: int, progress: Progress = None
    ) -> Callable[[FactorEstimate], float] | None:
        """Return what tells how much larger than that of normal rows a model's misfit is by chance.

        None where that cannot be told: of a matrix of polychoric correlations, with few rows, and
        with very many items.

        Parameters
        ----------
        n
            Rows behind an entry.
        progress
            True for a bar, or a function of (done, total), of what takes long when it is first
            called.
        """
        rows, p = self.rows, len(self.latent.R)
        if rows is None or p > _MOST_SCALED or len(rows.values) < _FEWEST_SCALED:
            return None
        share = 1.0 if self.answers is None else n / cast(int, self.latent.n_obs)
        known = rows

        @cache
        def influence() -> Influence:
            return known.influence(self.latent, max(_SCALED_BY, _FEWEST_SCALED * p**2), progress)

        return lambda estimate: misfit_scaling(estimate, influence()) * share


def _implied_rows(latent: LatentCorrelations) -> Answers | None:
    """Draw rows as a matrix of correlations implies them: normal, and so continuous.

    None for polychoric correlations, whose errors depend on thresholds that a matrix does not show.
    """
    if latent.measure not in BRIDGES or latent.measure in LATENT:
        return None
    p = len(latent.R)
    m = most_rows(_DRAWN_ROWS, p, latent.measure)
    frame = Frame.of(latent.R)
    Z = draw_normal(m, nearest_correlation(frame.matrix(latent.R)), np.random.default_rng(_SEED))
    Z = frame.columns_as_given(Z)
    continuous: ItemKind = "continuous"
    return Answers(Z, (continuous,) * p, by_content=True)


def as_reported(
    source: Source,
    estimate: FactorEstimate,
    support: BoolArray,
    n: int,
    ratings: bool,
    tested: bool = True,
    progress: Progress = None,
) -> ReportedModel:
    """Fit a structure to the correlations it is reported from, and test it.

    Parameters
    ----------
    source
        Correlations of the search, and their rows.
    estimate
        The model fitted to these correlations.
    support
        (p, d) the structure.
    n
        Number of rows.
    ratings
        Whether ratings are modeled as ordinal.
    tested
        Whether to test it, which takes most of the time.
    progress
        True for a bar, or a function of (done, total).
    """
    again = behind_ratings(source, progress) if ratings else None
    if again is not None:
        source, estimate = again, fit_factors(again.latent.R, n, support)
    p, d = support.shape
    unknown = StandardErrors(np.full((p, d), np.nan), np.full((d, d), np.nan))
    untested = _why_untested(source, estimate, n) if tested else "No test was asked for."
    if untested:
        return ReportedModel(source.latent, estimate, unknown, None, untested)
    test, errors = robust_inference(source.latent.R, estimate, source.influence(progress), n)
    return ReportedModel(source.latent, estimate, errors, test, "")


def behind_ratings(source: Source, progress: Progress = None) -> Source | None:
    """Return polychoric or mixed correlations and their rows; None without ratings.

    None, too, where a pair has no such correlation.
    """
    if source.answers is None or not source.answers.has_ratings:
        return None
    values, kinds, tables = source.answers.values, source.answers.kinds, source.answers.tables
    continuous = [kind == "continuous" for kind in kinds]
    if any(continuous):
        values = values.copy()
        values[:, continuous] = normal_scores(values[:, continuous])
    R = latent_correlation_matrix(values, kinds, progress=progress, tables=tables)
    if not np.isfinite(R).all() or np.abs(np.triu(R, 1)).max() > _PERFECT:
        return None
    measure = "mixed" if any(continuous) else "polychoric"
    smallest = float(np.linalg.eigvalsh(R)[0])
    again = LatentCorrelations(R, measure, source.latent.n_obs, False, smallest)
    return Source(again, Answers(values, kinds, tables, source.answers.by_content))


def _why_untested(source: Source, estimate: FactorEstimate, n: int) -> str:
    """Say why there is no test, or nothing if there is one."""
    latent = source.latent
    p = len(latent.R)
    binary = source.answers is not None and "binary" in source.answers.kinds
    needed = max(_FEWEST_ROWS, (_ROWS_PER_YES_OR_NO if binary else _ROWS_PER_ITEM) * p)
    if not estimate.loadings.any():
        return "There are no factors to test."
    if degrees_of_freedom(estimate) <= 0:
        return "The model has no degrees of freedom."
    if source.rows is None:
        return (
            f"The errors of {latent.measure} correlations depend on the answers, and a matrix has "
            "none."
        )
    if n < needed:
        return f"{p} items need at least {needed} rows for a test that holds its level; got {n}."
    if most_rows(n, p, latent.measure) < min(n, _FEWEST_INFLUENCES):
        return f"With {p} items it would take long; test parts of the structure with cfa."
    if np.abs(np.triu(latent.R, 1)).max() > _PERFECT:
        return "Two items determine each other: their correlation has no standard error."
    return ""


def scoring_model(model: ReportedModel, margins: Marginals) -> FactorEstimate:
    """Return the model of the normal scores of the answers, to score people by.

    The normal score s of a rating is less reliable than the variable y behind it: its correlation
    with y is a = E[s y] < 1. So it has the loading aλ, which gives the best linear prediction of
    the factors and its error, up to the part of the dependence between scores that is not linear
    in y.
    """
    if not model.as_ratings:
        return model.estimate
    estimate = model.estimate
    a = np.array([margins.score_correlation(i) for i in range(len(estimate.uniquenesses))])
    loadings = estimate.loadings * a[:, None]
    explained = ((loadings @ estimate.factor_correlations) * loadings).sum(axis=1)
    return replace(estimate, loadings=loadings, uniquenesses=1.0 - explained)


def factor_fit_measures(model: ReportedModel, n: int) -> dict[str, float]:
    """Chi-square, CFI, TLI, RMSEA with interval and SRMR of a reported model.

    With T, t₁ and t₂ of :mod:`dtstat.factors.robust`, and b for independent items:

        chisq   T scaled and shifted to mean df and variance 2 df;
        TLI     1 − (T/t₁ − 1) / (T_b/t₁_b − 1),     CFI   the same with the ratio times df/df_b;
        RMSEA   √[(T/t₁ − 1) / n], its interval from T t₁/t₂ on t₁²/t₂ degrees of freedom.

    If T is a chi-square these are the usual ones. All but SRMR are NaN if the model was not tested;
    SRMR too if there are so many items that their correlations are not made.

    Parameters
    ----------
    model
        The model with its test.
    n
        Rows.
    """
    test, estimate = model.test, model.estimate
    df, latent = float(degrees_of_freedom(estimate)), model.latent
    afar = isinstance(latent, CorrelationsOnDemand) and not latent.at_hand
    fit = math.nan if afar else srmr(latent.R, estimate)
    measures = {"npar": float(estimate.n_parameters), "chisq": math.nan, "df": df}
    if test is None:
        names = ("pvalue", "cfi", "tli", *_RMSEA)
        return measures | dict.fromkeys(names, math.nan) | {"srmr": fit}
    t1, t2 = test.trace, test.trace_of_square
    excess, base = test.statistic / t1 - 1, test.baseline / test.baseline_trace - 1
    p = len(latent.R)
    misfit, most = df * excess, max(df * excess, p * (p - 1) / 2 * base, 0.0)
    relative = rmsea_measures(test.statistic * t1 / t2, t1**2 / t2, n)
    return {
        **measures,
        "chisq": test.chisq,
        "pvalue": p_value(test.chisq, df),
        "cfi": 1 - max(misfit, 0.0) / most if most > 0 else 1.0,
        "tli": 1 - excess / base if base > 0 else math.nan,
        **{name: relative[name] for name in _RMSEA},
        "srmr": fit,
    }


def srmr(R: FloatArray, estimate: FactorEstimate) -> float:
    """Root mean square of the residual correlations, the diagonal counted as lavaan does."""
    residual = (R - implied_correlations(estimate))[np.tril_indices(len(R))]
    return float(np.sqrt(np.mean(residual**2)))
