"""Searches in one pass: one threshold for all factors, or each factor at its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from dtstat.core.arrays import BoolArray
from dtstat.core.parallel import Progress, track
from dtstat.search.evaluate import (
    Evaluator,
    Outcome,
    Proposal,
    Rules,
    Scored,
    least_loading,
)
from dtstat.search.refine import merge_while_better
from dtstat.structure.barcode import Barcode
from dtstat.structure.cliques import attach
from dtstat.structure.path import Candidate, covers


def search_barcode(
    evaluator: Evaluator,
    barcode: Barcode,
    rules: Rules,
    progress: Progress = None,
) -> Outcome:
    """Choose cliques from the pool of all thresholds, each factor at its own.

    Covers of the items by cliques are completed by attaching what is left, fitted and compared;
    from the best one, factors that the criterion does not keep apart are merged.

    Parameters
    ----------
    evaluator
        Where structures are fitted.
    barcode
        The pool.
    rules
        Criterion, size of factors, what to do with items of no clique.
    progress
        True for a bar, or a function of (done, total).
    """
    return settle(evaluator, rules, lambda n: fit_covers(evaluator, barcode, rules, n, progress))


def fit_covers(
    evaluator: Evaluator, barcode: Barcode, rules: Rules, n: float, progress: Progress
) -> None:
    """Fit the covers of the items by cliques, completed; merge factors of the best one."""
    cores = [(core, "barcode") for core in covers(barcode)]
    proposals = _completed(evaluator, cores, rules, n)
    evaluator.fit(proposals[0])
    for proposal in track(proposals, progress, "fitting"):
        evaluator.beats(proposal, evaluator.best(rules.criterion, n), rules.criterion, n)
    merge_while_better(evaluator, evaluator.best(rules.criterion, n), rules.criterion, n)


def search_threshold(
    evaluator: Evaluator,
    candidates: Iterable[Candidate],
    rules: Rules,
    progress: Progress = None,
    screen: bool = True,
) -> Outcome:
    """Score the structures of one threshold for all factors, as in the paper.

    Parameters
    ----------
    evaluator, rules, progress
        As in :func:`search_barcode`.
    candidates
        The solution path.
    screen
        Whether to spare those a fit that cannot win by a bound on their likelihood.

    Returns
    -------
    Outcome
        Its ``passed_over`` lists what was not fitted.
    """
    cores = [(one.structure.support, threshold_origin(one)) for one in candidates]
    passed_over: list[Scored] = []

    def improve(n: float) -> None:
        proposals = _completed(evaluator, cores, rules, n)
        passed_over[:] = _fit_promising(evaluator, proposals, rules.criterion, n, progress, screen)

    outcome = settle(evaluator, rules, improve)
    fitted = {one.proposal.key for one in evaluator.fitted}
    rest = tuple(one for one in passed_over if one.proposal.key not in fitted)
    return replace(outcome, passed_over=rest)


def threshold_origin(candidate: Candidate) -> str:
    """Say which threshold a structure comes from."""
    return f"threshold {candidate.tau_low:.3f}"


def assess(evaluator: Evaluator, proposal: Proposal, rules: Rules) -> Outcome:
    """Fit one structure that was given, and count what the rows are worth about it."""
    fitted = evaluator.fit(proposal)
    n = evaluator.worth(fitted) if rules.approximate and fitted.n_factors else evaluator.n_obs
    return Outcome(fitted, float(n))


def no_factors(p: int) -> Proposal:
    """No factor at all: the answer when items are independent."""
    return Proposal(np.zeros((p, 0), dtype=bool), "no factor")


def complete(
    evaluator: Evaluator, cores: BoolArray, rules: Rules, n: float, origin: str
) -> Proposal:
    """Attach items of no clique where their loading would pay for its edge."""
    least = least_loading(rules.criterion, evaluator.n_items, n) if rules.attach else np.inf
    return Proposal(attach(evaluator.strength, cores, least, rules.min_children), origin)


def settle(
    evaluator: Evaluator, rules: Rules, improve: Callable[[float], None], enough: float = 1.0
) -> Outcome:
    """Search with all rows counted; then with what they are worth, until that does not fall.

    Structure and misfit are estimated in turn. Fewer rows favour simpler structures, which misfit
    more, so the count falls until structure and count agree, to the share ``enough``.
    """
    n = float(evaluator.n_obs)
    while True:
        improve(n)
        best = evaluator.reconsidered_best(rules.criterion, n)
        worth = evaluator.worth(best) if rules.approximate and best.n_factors else n
        if worth >= enough * n:
            return Outcome(best, min(worth, n), evaluator.hopeless)
        # That no factor model fits exactly is no argument for independence.
        evaluator.reject(evaluator.fit(no_factors(evaluator.n_items)))
        n = worth


def _completed(
    evaluator: Evaluator, cores: Iterable[tuple[BoolArray, str]], rules: Rules, n: float
) -> list[Proposal]:
    """Complete all sets of cliques; distinct structures, the one without factors first."""
    proposals = [no_factors(evaluator.n_items)]
    proposals += [complete(evaluator, core, rules, n, origin) for core, origin in cores]
    return list({proposal.key: proposal for proposal in reversed(proposals)}.values())[::-1]


def _fit_promising(
    evaluator: Evaluator,
    proposals: list[Proposal],
    criterion: str,
    n: float,
    progress: Progress,
    screen: bool,
) -> list[Scored]:
    """Fit in the order of the least cost each could have; return those that cannot win."""
    evaluator.fit(proposals[0])
    bounds = [evaluator.bound(one) for one in track(proposals, progress, "bounds")]
    bounds.sort(key=lambda one: one.cost(criterion, n))
    passed_over = []
    for bound in track(bounds, progress, "fitting"):
        best = evaluator.best(criterion, n).cost(criterion, n)
        if screen and bound.cost(criterion, n) > best:
            passed_over.append(bound)
        else:
            evaluator.fit(bound.proposal)
    return passed_over
