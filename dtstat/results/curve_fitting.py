"""From data to a fit with curves: search with the copula, then curves for the best structures."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from dtstat.arrays import FloatArray, IntArray
from dtstat.data import ItemData, check_usable
from dtstat.data.checks import listed
from dtstat.errors import EstimationWarning, InputError
from dtstat.estimation.nonlinear import NETWORKS, Method
from dtstat.estimation.nonlinear_misfit import effective_rows, rank_correlations
from dtstat.results.fit import DTFit, FitCall
from dtstat.results.fitting import (
    Choice,
    Input,
    Work,
    fit_items,
    prepare,
    result,
    sample_facts,
    search,
    warn_of_hidden,
)
from dtstat.results.nonlinear import summarise
from dtstat.selection.choose import contenders, ranking
from dtstat.selection.criteria import INFORMATION
from dtstat.selection.evaluate import Proposal
from dtstat.selection.finalists import (
    Answers,
    Curves,
    Finalist,
    cross_validate_curves,
    fit_finalists,
    most_promising,
    validate_curves,
)
from dtstat.selection.holdout import HeldOut, folds, split_rows

_DRAWS = 100  # of the factors a row, for likelihoods
_PAPERS_DRAWS = 1000


def fit_curves(items: ItemData, call: FitCall, work: Work) -> DTFit:
    """Fit answers with one of the nonlinear estimators."""
    _check_criterion(call)
    if call.missing == "listwise":
        items = items.complete_rows()
        check_usable(items)
    held_rows: IntArray | None = None
    part = items
    if call.criterion in ("validation", "validation_2se"):
        fitted_rows, held_rows = split_rows(items.n_rows, cast(int, call.seed))
        part = items.take(fitted_rows)
        check_usable(part)
    problem = prepare(part, call, work)
    proposals, before = _proposals(problem, call, work)
    if not proposals:  # without factors there are no curves
        return fit_items(items, replace(call, estimator="copula"), work)
    notes = (*_warned(items, call), *warn_of_hidden(items, call))
    curves = _curves(call, work)
    finalists = fit_finalists(proposals, _answers(part, problem, call), curves, work.progress)
    held = _held(items, held_rows, finalists, call, curves, work)
    n = _evidence(finalists, part.values, problem.n, call)
    choice = Choice(contenders(finalists, (), n, held), n, before)
    best = finalists[ranking(choice.contenders, call.criterion)[0]]
    whole = problem
    if held_rows is not None:
        whole = prepare(items, call, work)
        best = fit_finalists([best.proposal], _answers(items, whole, call), curves)[0]
    notes += _restarted(best)
    seed = cast(int, call.seed)
    shown = summarise(best.estimate, items.values, best.likelihood, seed)
    facts = sample_facts(items, whole)
    return result(whole, call, work, choice, facts, None, shown, notes)


def _check_criterion(call: FitCall) -> None:
    if call.estimator in NETWORKS and call.criterion in INFORMATION:
        raise InputError(
            f"The criterion '{call.criterion}' counts parameters, and a network has no honest "
            "count. Use criterion='validation_2se' or 'validation', or the estimator 'spline'.",
            "criterion",
        )


def _curves(call: FitCall, work: Work) -> Curves:
    to_the_letter = call.preset == "paper"
    return Curves(
        Method(call.estimator, to_the_letter),
        "reciprocal" if to_the_letter else "importance",
        _PAPERS_DRAWS if to_the_letter else _DRAWS,
        cast(int, call.seed),
        work.n_jobs,
    )


def _answers(part: ItemData, problem: Input, call: FitCall) -> Answers:
    rated = Method(call.estimator).takes_ratings
    levels = part.levels if rated else (None,) * part.n_items
    return Answers(part.values, levels, problem.latent.R, problem.n)


def _proposals(problem: Input, call: FitCall, work: Work) -> tuple[list[Proposal], str]:
    """Return the structures to fit curves to, and a sentence on how they came about."""
    evaluator, outcome = search(problem, call, work)
    n = outcome.n_effective
    fitted = [*evaluator.fitted]
    if call.finalists is None:  # all, those a bound on their likelihood has spared a fit too
        fitted += [evaluator.fit(one.proposal) for one in outcome.passed_over]
    most = len(fitted) if call.finalists is None else call.finalists
    criterion = call.criterion if call.criterion in INFORMATION else "ebic"
    proposals = most_promising(fitted, criterion, n, most)
    count = len(evaluator.fitted) + len(outcome.passed_over)
    if work.given is not None or count <= len(proposals):
        return proposals, ""
    return proposals, f"Of {count} structures the best {len(proposals)} by the copula got curves. "


def _held(
    items: ItemData,
    held_rows: IntArray | None,
    finalists: Sequence[Finalist],
    call: FitCall,
    curves: Curves,
    work: Work,
) -> HeldOut | None:
    if held_rows is not None:
        return validate_curves(finalists, items.values[held_rows], curves, work.progress)
    if call.criterion != "cv":
        return None
    fold = folds(items.n_rows, cast(int, call.seed))
    parts = []
    for k in np.unique(fold):
        part = items.take(fold != k)
        check_usable(part)
        answers = _answers(part, prepare(part, call, replace(work, progress=None)), call)
        parts.append((answers, items.values[fold == k]))
    proposals = [one.proposal for one in finalists]
    return cross_validate_curves(proposals, parts, curves, work.progress)


def _evidence(finalists: Sequence[Finalist], X: FloatArray, n_obs: int, call: FitCall) -> float:
    """Count the rows as in the search: with all of them, then with what the best is worth."""
    if call.misfit == "none" or call.criterion not in INFORMATION:
        return float(n_obs)
    n, R = float(n_obs), rank_correlations(X)
    while True:
        best = min(finalists, key=lambda one: one.cost(call.criterion, n))
        rng = np.random.default_rng(call.seed)
        worth = effective_rows(best.estimate, R, n_obs, rng)
        if worth >= n:
            return n
        n = worth


def _restarted(best: Finalist) -> tuple[str, ...]:
    """Warn if the sampler of the chosen structure froze once."""
    if not best.estimate.restarts:
        return ()
    text = (
        "The sampler of the factors froze and was started again from calmer values. Look at the "
        "factor correlations: two factors may be one."
    )
    warnings.warn(text, EstimationWarning, stacklevel=4)
    return (text,)


def _warned(items: ItemData, call: FitCall) -> list[str]:
    """Warn if a network takes ratings for numbers."""
    few = [name for name, levels in zip(items.names, items.levels, strict=True) if levels]
    if not few or Method(call.estimator).takes_ratings:
        return []
    text = (
        f"Networks take ratings for numbers ({listed(few)}), and the choice of structure suffers. "
        "Use the estimator 'spline', which models ratings as ratings."
    )
    warnings.warn(text, EstimationWarning, stacklevel=4)
    return [text]
