"""From data to a fit with curves: search with the copula, then curves for the best structures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.checkpoints import Resumable, digest, open_checkpoint
from dtstat.core.errors import EstimationWarning, InputError, silenced, warn
from dtstat.curves import bspline
from dtstat.curves.estimate import NETWORKS, Method, effective_rows, rank_correlations
from dtstat.curves.result import summarize
from dtstat.data.checks import quote_names
from dtstat.data.description import SampleFacts
from dtstat.data.frame import Frame, rows_by_content
from dtstat.data.items import ItemData, check_usable
from dtstat.dependence.maximal import hidden_pairs
from dtstat.dependence.measures import BRIDGES
from dtstat.factors.scores import learn_marginals
from dtstat.fit.pipeline import Problem, conclude, find_structure, prepare, warn_of_hidden
from dtstat.fit.record import FitRecord
from dtstat.fit.request import FitRequest, Run
from dtstat.search.criteria import INFORMATION, searching
from dtstat.search.finalists import (
    CurveRows,
    Curves,
    Finalist,
    Tried,
    Unrelated,
    cross_validate_curves,
    fit_finalists,
    most_promising,
    saved_finalists,
    validate_curves,
)
from dtstat.search.framed import WayBack
from dtstat.search.held_out import SHARE, HeldOut, folds, split_rows
from dtstat.search.ranking import contenders, first_item_order, rank
from dtstat.search.records import GIVEN, Proposal, Scored

_DRAWS = 200  # of the factors a row, for likelihoods of rows held out
_PAPERS_DRAWS = 1000
_APART = 4.0  # errors of their draws, between two runs of the estimation


def fit_curves(items: ItemData, request: FitRequest, run: Run) -> FitRecord:
    """Fit answers with one of the nonlinear estimators."""
    _check_criterion(request)
    rows = _rows(items, request)
    problem = prepare(rows.part, request, run)
    proposals, before = _proposals(problem, request, run)
    proposals = [replace(one, support=rows.frame.support(one.support)[0]) for one in proposals]
    # Curves of any dependence, or of a structure that was given, need no rank correlations.
    ranked = request.measure in BRIDGES and request.search != GIVEN
    hidden = hidden_pairs(items, run.progress) if ranked else ()
    notes = (*_warned(items, request), *warn_of_hidden(items, hidden))
    curves = replace(_curves(request, run), saved=_saved(items, request, run))
    contest = _compare(proposals, rows, problem, request, curves, run)
    back = WayBack(rows.frame, problem.screened, 0.0)
    everything = contenders(list(map(back.scored, contest.scored)), (), contest.n, contest.held)
    choice = rank(everything, request.criterion, contest.n / problem.n, before=before)
    best = contest.scored[everything.index(choice.contenders[0])]
    whole = problem if rows.held is None else prepare(rows.all, request, run)
    n_used = whole.dependence.n_obs or rows.all.n_rows
    facts = replace(SampleFacts.of(rows.all, n_used), n_given=items.n_rows)
    margins = learn_marginals(rows.all.values)
    if not isinstance(best, Finalist):
        return conclude(whole, request, run, choice, facts, margins, notes=notes)
    if rows.held is not None:
        answers = _answers(rows.all, rows.frame, whole, request, [best.proposal])
        best = fit_finalists([best.proposal], answers, curves)[0]
    notes += (*_by_scores(best, rows), *_restarted(best), *_unsettled(best))
    likelihood, error = best.log_likelihood, best.monte_carlo_se
    X, seed = rows.frame.answers(rows.all.values), cast(int, request.seed)
    frames = rows.frame, _factor_frame(best, rows.frame)
    shown = summarize(best.estimate, X, likelihood, error, seed, *frames)
    return conclude(whole, request, run, choice, facts, margins, shown, notes)


def _factor_frame(best: Finalist, frame: Frame) -> Frame:
    """Find where the factors, as given by their first items, are in the frame, and their signs.

    As in the copula model no column of loadings of the items as given has a negative sum.
    """
    place = first_item_order(best.proposal.support[frame.place])
    L = frame.rows_as_given(best.start.loadings[:, place])
    return Frame(np.argsort(place), np.where(L.sum(axis=0) < 0, -1.0, 1.0))


@dataclass(frozen=True, eq=False)
class _Rows:
    """All rows that can be used, those to fit, and which of all are held out; the items' frame."""

    all: ItemData
    part: ItemData
    held: IntArray | None
    frame: Frame


def _rows(items: ItemData, request: FitRequest) -> _Rows:
    if request.missing == "listwise":
        items = items.complete_rows()
        check_usable(items)
    frame = Frame.of_answers(items.values)
    # Draws meet the same rows in every order.
    items = items.take(rows_by_content(items.values, frame))
    if request.criterion not in ("validation", "validation_2se"):
        return _Rows(items, items, None, frame)
    fitted, held = split_rows(items.n_rows, cast(int, request.seed))
    if len(fitted) < bspline.K:
        raise InputError(
            f"`data` must have at least {math.ceil(bspline.K / (1 - SHARE))} rows for curves with "
            f"the criterion '{request.criterion}'; got {items.n_rows}. Use the estimator 'copula', "
            "which needs fewer.",
            "data",
        )
    part = items.take(fitted)
    check_usable(part)
    return _Rows(items, part, held, frame)


@dataclass(frozen=True, eq=False)
class _Contest:
    """What is compared, likelihoods of held-out rows, and what the fitted rows count as."""

    scored: list[Scored]
    held: HeldOut | None
    n: float


def _compare(
    proposals: list[Proposal],
    rows: _Rows,
    problem: Problem,
    request: FitRequest,
    curves: Curves,
    run: Run,
) -> _Contest:
    """Fit curves to the structures; compare them with each other and with no factor at all."""
    answers = _answers(rows.part, rows.frame, problem, request, proposals)
    nothing = Unrelated.of(answers)
    if not proposals:
        return _Contest([nothing], None, float(problem.n))
    finalists = fit_finalists(proposals, answers, curves, run.progress)
    if request.criterion in INFORMATION:
        n = float(problem.n)
        least = min(one.cost(request.criterion, n) for one in finalists)
        if _searched(request) and nothing.cost(request.criterion, n) < least:
            return _Contest([nothing, *finalists], None, n)
        # That no factor model fits exactly is no argument for independence.
        return _Contest([*finalists], None, _evidence(finalists, answers.X, problem.n, request))
    return _held(rows, finalists, nothing, request, curves, run)


def _check_criterion(request: FitRequest) -> None:
    if request.estimator in NETWORKS and request.criterion in INFORMATION:
        raise InputError(
            f"The criterion '{request.criterion}' counts parameters, and the number of effective "
            "parameters of a network is not known. Use criterion='validation_2se' or 'validation', "
            "or the estimator 'spline'.",
            "criterion",
        )


def _curves(request: FitRequest, run: Run) -> Curves:
    as_in_paper = request.preset == "paper"
    return Curves(
        Method(request.estimator, as_in_paper),
        "reciprocal" if as_in_paper else "importance",
        _PAPERS_DRAWS if as_in_paper else _DRAWS,
        cast(int, request.seed),
        run.n_jobs,
    )


def _saved(items: ItemData, request: FitRequest, run: Run) -> Resumable[Tried] | None:
    """Open the file that keeps the structures fitted, if there is one."""
    header = {
        "work": "fit",
        "data": items.digest(),
        "structure": None if run.structure is None else digest([run.structure.support]),
        "grid": None if run.grid is None else digest([run.grid]),
        **request.arguments(),
    }
    ledger = open_checkpoint(run.checkpoint, header)
    return None if ledger is None else saved_finalists(ledger)


def _answers(
    part: ItemData,
    frame: Frame,
    problem: Problem,
    request: FitRequest,
    proposals: Sequence[Proposal],
) -> CurveRows:
    """Collect the rows, in the frame, on the scale that suits the structure the copula likes best.

    ``proposals`` are in the frame, too.
    """
    rated = Method(request.estimator).takes_ratings
    levels = [
        None if own is None or not rated else sorted(frame.signs[i] * value for value in own)
        for i, own in enumerate(part.levels)
    ]
    levels = [levels[i] for i in frame.order]
    R = frame.matrix(problem.latent.R)
    answers = CurveRows(frame.answers(part.values), levels, R, problem.n)
    if not proposals or request.preset == "paper":
        return answers
    return answers.on_scale_of(proposals[0])


def _proposals(problem: Problem, request: FitRequest, run: Run) -> tuple[list[Proposal], str]:
    """Return the structures to fit curves to, and a sentence on how they came about."""
    fitted, outcome = find_structure(problem, request, run)
    n = outcome.n_effective
    known = {one.proposal.key for one in (*fitted, *outcome.passed_over) if one.n_factors}
    count = len(known)
    most = len(fitted) if request.finalists is None else request.finalists
    if request.n_factors is not None:
        fitted = tuple(one for one in fitted if one.n_factors == request.n_factors)
    proposals = most_promising(fitted, searching(request.criterion), n, most)
    if run.structure is not None or count <= len(proposals):
        return proposals, ""
    best = f"best {len(proposals)}" if len(proposals) > 1 else "best"
    said = f"Curves were fitted to the {best} of {count} structures, ranked by the copula model. "
    return proposals, said


def _held(
    rows: _Rows,
    finalists: list[Finalist],
    nothing: Unrelated,
    request: FitRequest,
    curves: Curves,
    run: Run,
) -> _Contest:
    """Score finalists, and no factor at all, on rows that were not fitted."""
    if rows.held is not None:
        X = rows.frame.answers(rows.all.values[rows.held])
        held = validate_curves(finalists, X, curves, run.progress)
        alone = nothing.margins.rows(X)
    else:
        proposals = [one.proposal for one in finalists]
        parts = _folds(rows, request, run, proposals)
        held, kept = cross_validate_curves(proposals, parts, curves, run.progress)
        finalists = [finalists[k] for k in kept]
        alone = np.concatenate([answers.margins().rows(X) for answers, X in parts])
    n = float(nothing.n_obs)
    if not _searched(request):
        return _Contest([*finalists], held, n)
    errors = None if held.errors is None else np.array([0.0, *held.errors])
    return _Contest([nothing, *finalists], HeldOut(np.vstack([alone, held.rows]), errors), n)


def _searched(request: FitRequest) -> bool:
    """Whether "no factor" is a possible answer: not for a given structure, nor in the paper."""
    return request.search != GIVEN and request.preset is None


def _folds(
    rows: _Rows, request: FitRequest, run: Run, proposals: Sequence[Proposal]
) -> list[tuple[CurveRows, FloatArray]]:
    items, frame = rows.all, rows.frame
    fold = folds(items.n_rows, cast(int, request.seed))
    parts = []
    for k in np.unique(fold):
        part = items.take(fold != k)
        check_usable(part)
        with silenced():  # said once, of all rows
            problem = prepare(part, request, replace(run, progress=None))
        held = frame.answers(items.values[fold == k])
        parts.append((_answers(part, frame, problem, request, proposals), held))
    return parts


def _evidence(
    finalists: Sequence[Finalist], X: FloatArray, n_obs: int, request: FitRequest
) -> float:
    """Count the rows as in the search: with all of them, then with what the best is worth."""
    if request.misfit == "none" or request.criterion not in INFORMATION:
        return float(n_obs)
    n, R = float(n_obs), rank_correlations(X)
    while True:
        best = min(finalists, key=lambda one: one.cost(request.criterion, n))
        rng = np.random.default_rng(request.seed)
        worth = effective_rows(best.estimate, R, n_obs, rng)
        if worth >= n:
            return n
        n = worth


def _restarted(best: Finalist) -> tuple[str, ...]:
    """Warn if the sampler of the chosen structure froze once."""
    if not best.estimate.restarts:
        return ()
    text = (
        "The sampler of the factors froze and was restarted from calmer values. Look at the "
        "factor correlations: two factors may be one."
    )
    warn(text, EstimationWarning, stacklevel=4)
    return (text,)


def _by_scores(best: Finalist, rows: _Rows) -> tuple[str, ...]:
    """Say which items are known by their normal scores."""
    chosen = best.estimate.scale.by_scores[rows.frame.place]
    if not chosen.any():
        return ()
    names = quote_names([name for name, one in zip(rows.all.names, chosen, strict=True) if one])
    return (
        f"Curves are fitted to the normal scores of {names}, which describe these long-tailed "
        "items better than their own units. Loadings and R2 are those of the scores; "
        "response curves are in the items' own units.",
    )


def _unsettled(best: Finalist) -> tuple[str, ...]:
    """Warn if runs of the chosen structure ended farther apart than their draws explain."""
    if best.apart < _APART:
        return ()
    text = (
        f"Two runs of the curves ended {np.ptp(best.runs):.1f} apart in log-likelihood, "
        f"{best.apart:.0f} times what their draws explain: the choice may change with the seed. "
        "Fit with other seeds and compare `candidates`, or use the estimator 'copula'."
    )
    warn(text, EstimationWarning, stacklevel=4)
    return (text,)


def _warned(items: ItemData, request: FitRequest) -> list[str]:
    """Warn if a network takes ratings for numbers."""
    few = [name for name, levels in zip(items.names, items.levels, strict=True) if levels]
    if not few or Method(request.estimator).takes_ratings:
        return []
    text = (
        f"Networks take ratings for numbers ({quote_names(few)}), and the choice of structure "
        "suffers. Use the estimator 'spline', which models ratings as ordinal."
    )
    warn(text, EstimationWarning, stacklevel=4)
    return [text]
