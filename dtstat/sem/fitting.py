"""From the arguments of ``cfa``, ``sem`` and ``growth`` to a fitted model.

Arguments are checked, the model is built, an estimator is chosen and run, and its numbers are
wrapped in a :class:`~dtstat.sem.result.CFAFit`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast, get_args

import pandas as pd

from dtstat.core import checks
from dtstat.core.about import __version__
from dtstat.core.errors import EstimationWarning, InputError, warn
from dtstat.core.parallel import Progress, one_thread
from dtstat.data.containers import as_frame, has_names
from dtstat.data.items import ItemData, as_items
from dtstat.data.readers import take_columns
from dtstat.data.texts import texts_of
from dtstat.dependence.api import Data
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.moments import Source, rows_of_pairs
from dtstat.sem.call import LEAST_SQUARES, LIKELIHOOD, SEMCall, choose_procedure
from dtstat.sem.designs import Design, Rows, check_normalization, read_design
from dtstat.sem.discrepancy import ORDERED_PROCEDURES, Estimator, Procedure
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.exploratory import ROTATIONS
from dtstat.sem.given_moments import GroupMoments, read_moments
from dtstat.sem.groups import Groups, check_kinds, count_rows, find_groups, usable_groups
from dtstat.sem.likelihood import fit_moments, fit_normal
from dtstat.sem.model import build_model, check_model
from dtstat.sem.moment_least_squares import fit_least_squares
from dtstat.sem.ordered import OrderedRows, fit_ordered, ordered_rows
from dtstat.sem.parameters import Bounds, Model
from dtstat.sem.result import CFAFit
from dtstat.sem.sam import fit_sam
from dtstat.sem.solution import orient
from dtstat.sem.terms import observed_variables
from dtstat.structure.structure import Structure
from dtstat.structure.syntax import Given, as_structure

_MISSING = ("listwise", "pairwise", "fiml", "ml", "direct", "fiml.x", "ml.x")
_X = ("fiml.x", "ml.x")  # rows without some observed predictors are kept
_ORDERED_ANYWAY = ("wlsmv", "wlsm", "dwls")  # without `ordered` all items are
_ESTIMATORS = tuple(dict.fromkeys((*LIKELIHOOD, *LEAST_SQUARES, *ORDERED_PROCEDURES)))
_ROBUST = "wlsmv, wlsm, ulsmv or ulsm when ordered items have weights or clusters"
_CODES = ("loadings", "intercepts")
_PARTIAL = "Give parameters as in 'visual =~ x2'."


def fit_model(
    growth: bool,
    *,
    data: Data,
    model: Given,
    estimator: str,
    missing: str,
    ordered: bool | Iterable[str] | None,
    std_lv: bool,
    orthogonal: bool,
    mean_structure: bool | None,
    n_obs: int | Mapping[str, int] | Sequence[int] | None,
    means: Any,
    group: str | None,
    group_equal: Iterable[str] | str | None,
    group_partial: Iterable[str] | str | None,
    effect_coding: bool | Iterable[str],
    information: str | None,
    se: str | None,
    test: str | None,
    sampling_weights: str | None,
    sampling_weights_normalization: str,
    cluster: str | None,
    fixed_x: bool,
    group_label: Iterable[str] | None,
    rotation: str,
    auxiliary: Iterable[str] | None,
    parameterization: str,
    method: str,
    bounds: str,
    progress: Progress,
) -> CFAFit:
    """Check the arguments of :func:`cfa`, build the model and fit it."""
    in_steps = checks.choice("method", method, ("joint", "sam")) == "sam"
    data = _open(data, model, progress)
    moments = read_moments(data, n_obs, means)
    frame, names = _columns(data, moments)
    given = as_model(model, names)
    said = ordered_columns(frame, given, estimator, missing) if ordered is None else ordered
    wanted = check_ordered(said)
    chosen, is_ordered, handling = _choose_estimator(estimator, missing, bool(wanted))
    gaps = handling == "fiml"
    scale = checks.choice("parameterization", parameterization, ("delta", "theta"))
    survey = sampling_weights is not None or cluster is not None
    procedure = _procedure(is_ordered, chosen, gaps, survey, information, se, test)
    chosen = chosen if procedure is None else procedure.estimator
    _check_steps(in_steps, procedure)
    std_lv = checks.flag("std_lv", std_lv, "True fixes the variances of the factors.")
    orthogonal = checks.flag("orthogonal", orthogonal, "True keeps factors uncorrelated.")
    groups = _find_groups(frame, group, group_label, moments is not None)
    group_names = groups.names if groups else moments.groups if moments else ()
    several = (group_names or cluster is not None) and not (moments and None in moments.means)
    wants_means = _check_mean_structure(mean_structure, gaps, growth or bool(several))
    design = _read_design(frame, sampling_weights, cluster, moments is not None)
    normalization = check_normalization(sampling_weights_normalization)
    asked = growth, effect_coding, auxiliary, gaps, rotation, fixed_x
    written = _model_options(*asked, group_equal, group_partial, bounds)
    _check_group_arguments(written, group_names)
    rows = None
    if is_ordered and moments is None:
        _check_robust(survey, chosen, estimator)
        given_rows = frame, names, given, wanted, groups
        rows = _ordered_rows(*given_rows, handling == "pairwise", design, normalization)
    built = build_model(
        given, names, wants_means, std_lv, orthogonal, groups=group_names,
        ordered={} if rows is None else rows.ordered, parameterization=scale, **written,
    )  # fmt: skip
    single = _warn_of_single_items(built.blocks[0])
    with one_thread():
        if moments is not None:
            estimate = _fit_matrices(built, moments, data, procedure, chosen, in_steps, progress)
        elif rows is not None or procedure is None:
            estimate = fit_ordered(built, cast(OrderedRows, rows), chosen, progress)
        else:
            fit = partial(_fit_rows, procedure, missing in _X, in_steps, progress)
            items = as_items(_select_columns(frame, names, built.observed))
            usable, empty = usable_groups(items, groups, design, gaps, normalization)
            estimate = fit(built, usable, count_rows(items, groups))
            if written["auxiliary"]:
                estimate = _with_baseline(estimate, usable, written["auxiliary"], fit)
            single = (*empty, *single)
        if isinstance(given, Structure) and std_lv:
            estimate = orient(estimate, given)
    call = SEMCall(
        __version__, given.to_lavaan() if isinstance(given, Structure) else given, chosen,
        missing if missing in _X else handling, () if rows is None else tuple(rows.ordered),
        std_lv, orthogonal, built.mean_structure, group, information=information, se=se, test=test,
        sampling_weights=sampling_weights, cluster=cluster, parameterization=scale, method=method,
        group_label=groups.names if groups and group_label is not None else (),
        sampling_weights_normalization=normalization, **written,
    )  # fmt: skip
    notes = (*(groups.notes if groups else ()), *single, *estimate.notes)
    return CFAFit(estimate, call, notes, _texts(data, frame, model))


def _check_robust(survey: bool, chosen: str, estimator: object) -> None:
    """Refuse estimators of ordered items that take rows for a simple random sample."""
    if survey and not ORDERED_PROCEDURES[cast(Estimator, chosen)].robust:
        advice = "Its standard errors and test do not know how rows were drawn."
        raise checks.refusal("estimator", _ROBUST, estimator, advice)


def _texts(data: Data, frame: pd.DataFrame, model: Given) -> dict[str, str]:
    """Questions of the items, that the data carry or else the fit whose structure is modeled."""
    carried = data.texts if isinstance(data, ItemData) else texts_of(frame, [*map(str, frame)])
    return {**getattr(model, "item_texts", {}), **carried}


def _model_options(
    growth: bool,
    effect_coding: bool | Iterable[str],
    auxiliary: Iterable[str] | None,
    gaps: bool,
    rotation: str,
    fixed_x: bool,
    group_equal: Iterable[str] | str | None,
    group_partial: Iterable[str] | str | None,
    bounds: str,
) -> dict[str, Any]:
    """Check how the model is to be completed, beyond what it always asks."""
    return {
        "effect_coding": _check_effect_coding(effect_coding),
        "growth": growth,
        "bounds": checks.choice("bounds", bounds, get_args(Bounds)),
        "auxiliary": _check_auxiliary(auxiliary, gaps),
        "rotation": checks.choice("rotation", rotation, ROTATIONS),
        "fixed_x": checks.flag("fixed_x", fixed_x, "True takes observed predictors as given."),
        "group_equal": check_kinds(group_equal),
        "group_partial": tuple(
            checks.texts("group_partial", () if group_partial is None else group_partial, _PARTIAL)
        ),
    }


def _columns(data: Any, moments: GroupMoments | None) -> tuple[pd.DataFrame, list[str]]:
    """Answers as a table, which a matrix has none of, and the names of the columns."""
    if moments is not None:
        return pd.DataFrame(), list(moments.names)
    frame = _as_table(data)
    return frame, list(map(str, frame.columns))


def _procedure(
    is_ordered: bool,
    estimator: str,
    gaps: bool,
    survey: bool,
    information: str | None,
    se: str | None,
    test: str | None,
) -> Procedure | None:
    """Combine the estimator with what else was asked for; None for ordered items."""
    if not is_ordered:
        return choose_procedure(estimator, gaps, survey, information, se, test)
    for name, value in {"information": information, "se": se, "test": test}.items():
        if value is not None:
            advice = "The estimator says it: wlsmv, wlsm, dwls, ulsmv, ulsm, uls or wls."
            raise checks.refusal(name, "left out when items are ordered", value, advice)
    return None


def _check_steps(in_steps: bool, procedure: Procedure | None) -> None:
    """Refuse what cannot be fitted in two steps."""
    if in_steps and (procedure is None or not procedure.likelihood):
        raise InputError("`method` 'sam' fits no ordered items: use ml, mlr or fiml.", "method")


def ordered_columns(
    frame: pd.DataFrame, model: str | Structure, estimator: str, missing: str
) -> tuple[str, ...]:
    """Return the items of a model whose columns say that they are ordered, as lavaan takes them.

    Whoever asks for an estimator other than the default one, or for fiml, has decided.
    """
    plain = isinstance(estimator, str) and estimator.lower() == "ml"
    if not plain or not isinstance(missing, str) or missing not in ("listwise", "pairwise"):
        return ()
    names = list(map(str, frame.columns))
    said = [
        name
        for name, kind in zip(names, frame.dtypes, strict=True)
        if isinstance(kind, pd.CategoricalDtype) and kind.ordered
    ]
    if not said:
        return ()
    observed, predictors = observed_variables(model, names)
    return tuple(name for name in said if name in observed and name not in predictors)


def check_ordered(ordered: object) -> bool | tuple[str, ...]:
    """Names of ordered items, True for all, False for none."""
    if ordered is None or isinstance(ordered, bool):
        return bool(ordered)
    return tuple(checks.texts("ordered", ordered, "Give names of items, or True for all."))


def _choose_estimator(estimator: str, missing: str, ordered: bool) -> tuple[str, bool, str]:
    """Choose the estimator that the other arguments need.

    Returns its name, whether items are ordered, and what is done about gaps: "listwise",
    "pairwise" or "fiml".
    """
    name = estimator.lower() if isinstance(estimator, str) else estimator
    chosen = checks.choice("estimator", name, _ESTIMATORS)
    gaps = checks.choice("missing", missing, _MISSING)
    gaps = gaps if gaps in ("listwise", "pairwise") else "fiml"
    if ordered and chosen == "ml":
        chosen = "wlsmv"
    if ordered and chosen not in ORDERED_PROCEDURES:
        wish = f"one of {', '.join(ORDERED_PROCEDURES)} when items are ordered"
        raise checks.refusal("estimator", wish, estimator, "Leave it out for 'wlsmv'.")
    if ordered or chosen in _ORDERED_ANYWAY:
        if gaps == "fiml":
            raise checks.refusal(
                "missing",
                "'listwise' or 'pairwise' when items are ordered",
                missing,
                "Use the estimator 'fiml' or 'mlr' to take items as continuous.",
            )
        return chosen, True, gaps
    if gaps == "pairwise":
        raise checks.refusal(
            "missing", "'listwise' or 'fiml' for continuous items", missing, "Use 'fiml'."
        )
    if gaps == "fiml" and chosen not in LIKELIHOOD:
        raise checks.refusal(
            "missing",
            f"'listwise' with the estimator '{chosen}'",
            missing,
            "Use the estimator 'fiml' or 'mlr' to keep rows with gaps.",
        )
    if gaps == "fiml" and chosen == "ml":
        chosen = "fiml"
    return chosen, False, "fiml" if chosen == "fiml" else gaps


def _check_mean_structure(wanted: bool | None, gaps: bool, groups: bool) -> bool:
    if wanted is not None:
        wanted = checks.flag("mean_structure", wanted, "True estimates intercepts.")
    if gaps and wanted is False:
        raise InputError(
            "`mean_structure` cannot be False when rows have gaps: the likelihood of what a row "
            "observes needs means. Leave it out, or use missing='listwise'.",
            "mean_structure",
        )
    return gaps or (groups if wanted is None else wanted)


def _find_groups(
    frame: pd.DataFrame, group: object, labels: Iterable[str] | None, matrix: bool
) -> Groups | None:
    if group is None:
        if labels is not None:
            raise InputError("`group_label` needs `group`, the column of the groups.", "group")
        return None
    if matrix:
        raise InputError("`group` needs the data themselves; a matrix has no rows.", "group")
    named = None
    if labels is not None:
        named = checks.texts("group_label", labels, "Give names of groups.")
    return find_groups(frame, group, named)


def _read_design(
    frame: pd.DataFrame, weights: str | None, cluster: str | None, matrix: bool
) -> Design:
    argument = "sampling_weights" if weights is not None else "cluster"
    if weights is None and cluster is None:
        return Design()
    if matrix:
        raise InputError(f"`{argument}` needs the data themselves; a matrix has no rows.", argument)
    return read_design(frame, weights, cluster)


def _check_effect_coding(wanted: object) -> tuple[str, ...]:
    if wanted is None or isinstance(wanted, bool):
        return _CODES if wanted else ()
    kinds = checks.texts("effect_coding", wanted, "Give True, or 'loadings' or 'intercepts'.")
    return tuple(checks.choice("effect_coding", kind, _CODES) for kind in kinds)


def _check_group_arguments(given: dict[str, Any], groups: tuple[str, ...]) -> None:
    """Refuse arguments about groups where there are none."""
    for name in ("group_equal", "group_partial"):
        if given[name] and not groups:
            raise InputError(
                f"`{name}` says what groups have in common, and there are none. Name the column of "
                "the groups in `group`.",
                name,
            )


def _as_table(data: Any) -> pd.DataFrame:
    """Answers as a table whose columns the model can choose from before they are checked."""
    if isinstance(data, ItemData) or not has_names(data):
        return as_items(data, screened=False).to_frame()
    return as_frame(data)


def _open(data: Any, model: object, progress: Progress) -> Any:
    """Read a file of answers; refuse lavaan's order, in which the model comes first."""
    text = isinstance(data, str) and "~" in data and not os.path.exists(data)
    if (text or hasattr(data, "structure")) and not isinstance(model, str):
        said = "Pass the data first: cfa(data, model). The first argument here is a model."
        raise InputError(said, "data")
    return as_frame(data, progress) if isinstance(data, str | os.PathLike) else data


def as_model(model: object, names: Sequence[str]) -> str | Structure:
    """Return a model text or a structure; of a fitted model the text that was fitted."""
    if isinstance(model, CFAFit):
        return model.call.model
    return model if isinstance(model, str) else as_structure(model, "model", lambda: names)


def _ordered_rows(
    frame: pd.DataFrame,
    names: list[str],
    model: str | Structure,
    wanted: bool | tuple[str, ...],
    groups: Groups | None,
    pairwise: bool,
    design: Design,
    normalization: str,
) -> OrderedRows:
    """Rows of the variables of the model; those named in ``wanted`` (or all) are ordered."""
    observed, predictors = observed_variables(model, names)
    chosen = [name for name in observed if name not in predictors]
    if not isinstance(wanted, bool) and wanted:
        for name in wanted:
            if name not in names:
                raise checks.unknown("ordered", "items of the model", name, chosen)
            if name in predictors:
                raise InputError(
                    f"`ordered` names '{name}', which the model does not explain: predictors are "
                    "taken as they are. Leave it out, or code its categories as 0 and 1.",
                    "ordered",
                )
        chosen = [name for name in chosen if name in wanted]
    if not chosen:
        raise InputError("`ordered` names no item of the model.", "ordered")
    items = as_items(_select_columns(frame, names, observed))
    return ordered_rows(items, chosen, groups, pairwise, predictors, design, normalization)


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
        warn(note, EstimationWarning, stacklevel=4)
    return tuple(notes)


def _fit_matrices(
    model: Model,
    moments: GroupMoments,
    data: Any,
    procedure: Procedure | None,
    estimator: str,
    in_steps: bool,
    progress: Progress,
) -> SEMEstimate:
    """Fit a model to covariances or correlations, which may come from a matrix of dependence."""
    matrix = data if isinstance(data, DependenceMatrix) else None
    if in_steps:
        raise InputError("`method` 'sam' needs the data; a matrix has no rows.", "method")
    if procedure is None or not procedure.likelihood or procedure.robust or procedure.uses_scores:
        raise checks.refusal("estimator", "'ml' for a matrix", estimator, "The others need rows.")
    sources = [one.source for one in moments.moments]
    source: Source = "correlations" if "correlations" in sources else "covariances"
    check_model(model, source, means=None not in moments.means)
    counted = None if matrix is None else rows_of_pairs(matrix, model.observed)
    parts = [(S, mean, counted or n) for S, mean, n in moments.of(model.observed)]
    return fit_moments(model, parts, procedure, source, progress)


def _select_columns(frame: pd.DataFrame, names: list[str], wanted: tuple[str, ...]) -> pd.DataFrame:
    """Columns of the model, in its order; taking columns is slow, so not without need."""
    if tuple(names) == wanted and "aside" not in frame.attrs:
        return frame
    return take_columns(frame, [names.index(name) for name in wanted])


def _fit_rows(
    procedure: Procedure,
    keep_x: bool,
    in_steps: bool,
    progress: Progress,
    model: Model,
    rows: list[Rows],
    counts: list[int],
) -> SEMEstimate:
    """Fit a model to the rows of each group, by likelihood or by least squares."""
    if in_steps:
        return fit_sam(model, rows, procedure, counts, progress)
    if not procedure.likelihood:
        return fit_least_squares(model, rows, procedure, counts, progress)
    return fit_normal(model, rows, procedure, counts, keep_x, progress)


def _check_auxiliary(auxiliary: Iterable[str] | None, gaps: bool) -> tuple[str, ...]:
    if auxiliary is None:
        return ()
    if not gaps:
        raise InputError(
            "`auxiliary` variables tell of missing answers, and rows with gaps are left out. Use "
            "missing='fiml', or leave them out.",
            "auxiliary",
        )
    return tuple(checks.texts("auxiliary", auxiliary, "Give names of columns of the data."))


def _with_baseline(
    estimate: SEMEstimate,
    rows: list[Rows],
    auxiliary: tuple[str, ...],
    fit: Callable[..., SEMEstimate],
) -> SEMEstimate:
    """Replace the baseline by one in which only the auxiliary variables covary."""
    observed, groups = estimate.model.observed, estimate.model.groups
    text = "; ".join(f"{name} ~~ {name}" for name in observed if name not in auxiliary)
    model = build_model(text, observed, True, groups=groups, auxiliary=auxiliary)
    order = [observed.index(name) for name in model.observed]
    moved = [replace(one, X=one.X[:, order]) for one in rows]
    found = fit(model, moved, [len(one) for one in rows])
    return replace(estimate, baseline=found.test, corrected_baseline=found.corrected)
