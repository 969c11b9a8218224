"""What users call: ``cfa`` and ``sem``.

Arguments are checked, the model is built, an estimator is chosen and run, and its numbers are
wrapped in a :class:`~dtstat.sem.result.CFAFit`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pandas as pd

from dtstat.core import checks
from dtstat.core.about import __version__
from dtstat.core.errors import EstimationWarning, InputError, warn
from dtstat.core.parallel import one_thread
from dtstat.data.frames import as_frame, has_names
from dtstat.data.items import ItemData, as_items, check_usable
from dtstat.data.kinds import ItemKind
from dtstat.dependence.api import Data
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.moments import Moments, as_moments, rows_of_pairs
from dtstat.sem.estimate import Estimator, SEMEstimate, fit_moments, fit_normal
from dtstat.sem.model import Model, build_model, check_model
from dtstat.sem.ordered import fit_ordered
from dtstat.sem.result import CFAFit, SEMCall
from dtstat.sem.rows import usable_rows
from dtstat.sem.solution import orient
from dtstat.structure.structure import Structure
from dtstat.structure.syntax import Given, as_structure


def cfa(
    data: Data,
    model: Given,
    estimator: str = "ml",
    missing: str = "listwise",
    ordered: bool | Iterable[str] | None = None,
    std_lv: bool = False,
    orthogonal: bool = False,
    mean_structure: bool | None = None,
    n_obs: int | None = None,
) -> CFAFit:
    """Fit a confirmatory factor model, or any structural equation model.

    The model is completed as lavaan's ``cfa`` does: residual variances, correlated factors, and
    the first loading of every factor fixed at 1.

    Parameters
    ----------
    data
        DataFrame, 2-d array, path of a file, or ItemData; columns the model does not name are
        ignored. For estimator "ml" a covariance matrix with ``n_obs`` serves as well, and for
        models that do not depend on the scales of the items a DependenceMatrix of Pearson
        correlations.
    model
        Text in lavaan's syntax, in which columns may have the names that R makes of theirs; or a
        Structure, a result of :func:`dtstat.fit`, or a scoring key (dict from factor to items):
        every factor measured by its children, pointing where the first of them that is not
        reversed points.
    estimator
        "ml": maximum likelihood; "mlr": the same estimates with standard errors and tests that
        do not need normal answers; "fiml": as ``missing="fiml"``; "dwls": for ordinal items,
        from polychoric correlations.
    missing
        "listwise": rows without any gap; "fiml": all rows, by the likelihood of what each
        observes (answers missing at random).
    ordered
        Items to take as ordinal, or True for all; makes the estimator "dwls".
    std_lv
        Whether to fix the variances of the factors at 1 instead of their first loadings.
    orthogonal
        Whether factors, and what regressions leave of them, are uncorrelated.
    mean_structure
        Whether to estimate intercepts; by default only when rows have gaps.
    n_obs
        Number of rows behind a covariance matrix.

    Returns
    -------
    CFAFit

    Raises
    ------
    InputError
        If the data or the model cannot be used.
    EstimationError
        If the model is not identified, cannot be fitted to these data, or does not converge.

    Warns
    -----
    EstimationWarning
        If the solution is improper (negative variances, correlations beyond 1), or a factor has
        one item.

    Notes
    -----
    Cost: some ten steps of Fisher scoring, O(p³ + p² q) each for p items and q parameters; with
    "fiml" O(m q²) more for each pattern of m gaps.

    Examples
    --------
    >>> import dtstat as dt
    >>> model = "textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
    >>> fit = dt.cfa(dt.load_dataset("holzinger_swineford_9"), model)
    >>> fit
    CFAFit: 2 factors, 6 items, 301 rows, ml; chisq(8) = 14.354, CFI 0.990, RMSEA 0.051
    >>> fit.loadings.round(2)["speed"].tolist()
    [0.0, 0.0, 0.0, 0.62, 0.77, 0.59]
    """
    wanted = _check_ordered(ordered)
    method, gaps = _choose_estimator(estimator, missing, bool(wanted))
    means = _check_mean_structure(mean_structure, gaps)
    std_lv = checks.flag("std_lv", std_lv, "True fixes the variances of the factors.")
    orthogonal = checks.flag("orthogonal", orthogonal, "True keeps factors uncorrelated.")
    data = as_frame(data) if isinstance(data, str | os.PathLike) else data
    moments = as_moments(data, n_obs)
    frame = pd.DataFrame() if moments is not None else _as_table(data)
    names = list(map(str, frame.columns)) if moments is None else list(moments.names)
    given = _as_model(model)
    built = build_model(given, names, means, std_lv, orthogonal)
    ordinal = _ordered_items(method, wanted, built.observed)
    single = _warn_of_single_items(built)
    with one_thread():
        if moments is not None:
            matrix = data if isinstance(data, DependenceMatrix) else None
            estimate = _fit_matrix(built, moments, matrix, method)
        else:
            items = as_items(_select_columns(frame, names, built.observed))
            estimate = _fit_items(built, items, method, gaps, ordinal)
        if isinstance(given, Structure) and std_lv:
            estimate = orient(estimate, given)
    call = SEMCall(
        version=__version__,
        model=given.to_lavaan() if isinstance(given, Structure) else given,
        estimator=method,
        missing="fiml" if gaps else "listwise",
        ordered=ordinal,
        std_lv=std_lv,
        orthogonal=orthogonal,
        mean_structure=built.mean_structure,
    )
    return CFAFit(estimate, call, (*single, *estimate.notes))


def sem(
    data: Data,
    model: Given,
    estimator: str = "ml",
    missing: str = "listwise",
    ordered: bool | Iterable[str] | None = None,
    std_lv: bool = False,
    orthogonal: bool = False,
    mean_structure: bool | None = None,
    n_obs: int | None = None,
) -> CFAFit:
    """Fit a structural equation model: the same function as :func:`dtstat.cfa`.

    Examples
    --------
    >>> import dtstat as dt
    >>> model = "ind60 =~ x1 + x2 + x3; dem60 =~ y1 + y2 + y3 + y4; dem60 ~ ind60"
    >>> fit = dt.sem(dt.load_dataset("political_democracy"), model)
    >>> round(float(fit.r_squared["dem60"]), 3)
    0.212
    """
    return cfa(data, model, estimator, missing, ordered, std_lv, orthogonal, mean_structure, n_obs)


def _check_ordered(ordered: object) -> bool | tuple[str, ...]:
    """Names of ordered items, True for all, False for none."""
    if ordered is None or isinstance(ordered, bool):
        return bool(ordered)
    return tuple(checks.texts("ordered", ordered, "Give names of items, or True for all."))


def _choose_estimator(estimator: str, missing: str, ordered: bool) -> tuple[Estimator, bool]:
    """Choose the estimator that the other arguments need, and whether to keep rows with gaps."""
    chosen = checks.choice("estimator", estimator, ("ml", "mlr", "fiml", "dwls"))
    gaps = checks.choice("missing", missing, ("listwise", "fiml")) == "fiml"
    if ordered:
        if chosen not in ("ml", "dwls"):
            wish = "'dwls' when items are ordered"
            raise checks.refusal("estimator", wish, chosen, "Leave it out.")
        chosen = "dwls"
    if gaps and chosen == "dwls":
        raise checks.refusal(
            "missing",
            "'listwise' with the estimator 'dwls'",
            missing,
            "Use the estimator 'fiml' or 'mlr' to keep rows with gaps.",
        )
    if gaps and chosen == "ml":
        chosen = "fiml"
    return chosen, gaps or chosen == "fiml"  # type: ignore[return-value]


def _check_mean_structure(wanted: bool | None, gaps: bool) -> bool:
    if wanted is not None:
        wanted = checks.flag("mean_structure", wanted, "True estimates intercepts.")
    if gaps and wanted is False:
        raise InputError(
            "`mean_structure` cannot be False when rows have gaps: the likelihood of what a row "
            "observes needs means. Leave it out, or use missing='listwise'.",
            "mean_structure",
        )
    return gaps or bool(wanted)


def _as_table(data: Any) -> pd.DataFrame:
    """Answers as a table whose columns the model can choose from before they are checked."""
    if isinstance(data, ItemData) or not has_names(data):
        return as_items(data, screened=False).to_frame()
    return as_frame(data)


def _as_model(model: object) -> str | Structure:
    """Return a model text or a structure; of a fitted model the text that was fitted."""
    if isinstance(model, CFAFit):
        return model.call.model
    return model if isinstance(model, str) else as_structure(model, "model")


def _ordered_items(
    estimator: Estimator, wanted: bool | tuple[str, ...], observed: tuple[str, ...]
) -> tuple[str, ...]:
    """Items to take as ordinal, in the order of the model."""
    if estimator != "dwls":
        return ()
    if isinstance(wanted, bool) or not wanted:
        return observed
    for name in wanted:
        if name not in observed:
            raise checks.unknown("ordered", "items of the model", name, observed)
    return tuple(name for name in observed if name in wanted)


def _warn_of_single_items(model: Model) -> tuple[str, ...]:
    """Warn of factors with one item, whose residual variance was fixed at 0."""
    fixed = {
        row.lhs
        for row in model.parameters
        if row.is_variance and not (row.user or row.free or row.value)
    }
    notes = []
    for factor in model.latent:
        items = [row.rhs for row in model.parameters if (row.lhs, row.op) == (factor, "=~")]
        if len(items) == 1 and items[0] in fixed:
            notes.append(
                f"Factor '{factor}' has one item, '{items[0]}', whose residual variance is fixed "
                f"at 0: factor and item are the same. Fix '{items[0]} ~~ {items[0]}' at a known "
                "error variance, or add items."
            )
    for note in notes:
        warn(note, EstimationWarning, stacklevel=3)
    return tuple(notes)


def _fit_matrix(
    model: Model, moments: Moments, matrix: DependenceMatrix | None, estimator: Estimator
) -> SEMEstimate:
    """Fit a model to covariances or correlations; the latter come from ``matrix``."""
    if estimator != "ml":
        raise checks.refusal("estimator", "'ml' for a matrix", estimator, "The others need rows.")
    check_model(model, moments.source)
    counted = None if matrix is None else rows_of_pairs(matrix, model.observed)
    S = moments.of(model.observed)
    return fit_moments(model, S, counted or moments.n_obs, moments.source)


def _select_columns(frame: pd.DataFrame, names: list[str], wanted: tuple[str, ...]) -> pd.DataFrame:
    """Columns of the model, in its order; taking columns is slow, so not without need."""
    if tuple(names) == wanted:
        return frame
    return frame.iloc[:, [names.index(name) for name in wanted]]


def _fit_items(
    model: Model, items: ItemData, estimator: Estimator, gaps: bool, ordinal: tuple[str, ...]
) -> SEMEstimate:
    """Fit a model to items, whose columns are the observed variables of the model, in order."""
    if estimator == "dwls":
        return fit_ordered(model, _ordinal_rows(items, ordinal), items.n_rows)
    rows = usable_rows(items, gaps=gaps)
    return fit_normal(model, rows, estimator, items.n_rows)


def _ordinal_rows(items: ItemData, ordinal: tuple[str, ...]) -> ItemData:
    """Complete rows; the items named in ``ordinal`` are binary or ordinal, the others not."""
    kinds: dict[str, ItemKind] = {}
    for name, kind in zip(items.names, items.kinds, strict=True):
        if name not in ordinal:
            kinds[name] = "continuous"
        elif kind == "continuous":
            kinds[name] = "ordinal"
    complete = as_items(items, kinds).complete_rows()
    check_usable(complete)
    return complete
