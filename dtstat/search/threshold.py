"""Structures of one threshold for all factors, as in the paper, and one that was given."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dtstat.core.arrays import BoolArray
from dtstat.core.errors import EstimationError
from dtstat.core.parallel import Progress, track
from dtstat.search.criteria import least_loading
from dtstat.search.evaluate import FEW_ITEMS, Evaluator
from dtstat.search.records import Fitted, Outcome, Proposal, Rules, Scored, no_factors
from dtstat.structure.cliques import attach
from dtstat.structure.path import Candidate


def search_threshold(
    evaluator: Evaluator,
    candidates: Iterable[Candidate],
    rules: Rules,
    n: float,
    progress: Progress = None,
    n_factors: int | None = None,
    screen: bool = True,
) -> Outcome:
    """Score the structures of one threshold for all factors, as in the paper.

    Parameters
    ----------
    evaluator
        Where structures are fitted.
    candidates
        The solution path.
    rules
        Criterion, size of factors, what to do with items of no clique.
    n
        What the rows count as.
    progress
        True for a bar, or a function of (done, total).
    n_factors
        Number of factors of the answer; None to choose it.
    screen
        Whether to spare those a fit that cannot win by a bound on their likelihood.

    Returns
    -------
    Outcome
        Its ``passed_over`` lists what was not fitted.
    """
    cores = [(one.structure.support, threshold_origin(one)) for one in candidates]
    proposals = _completed(evaluator, cores, rules, n)
    if n_factors is not None:
        proposals = [one for one in proposals if one.support.shape[1] == n_factors]
        if not proposals:
            raise EstimationError(
                f"No threshold gives {n_factors} factors. Use search='tree', which has a structure "
                "for every number of factors."
            )
    passed_over = _fit_promising(evaluator, proposals, rules.criterion, n, progress, screen)
    return Outcome(_best(evaluator, rules.criterion, n), n, tuple(passed_over))


def _best(evaluator: Evaluator, criterion: str, n: float) -> Fitted:
    """Return the structure of least cost; none if items are as well taken for independent.

    That no structure fits exactly is no argument for independence, hence all rows in that.
    """
    some = [one for one in evaluator.fitted if one.n_factors]
    best = min(some, key=lambda one: one.cost(criterion, n), default=None)
    overall = evaluator.best(criterion, float(evaluator.n_obs))
    return overall if best is None or not overall.n_factors else best


def threshold_origin(candidate: Candidate) -> str:
    """Say which threshold a structure comes from."""
    return f"threshold {candidate.tau_low:.3f}"


def assess(evaluator: Evaluator, proposal: Proposal, rules: Rules) -> Outcome:
    """Fit one structure that was given, and count what the rows are worth about it."""
    fitted = evaluator.fit(proposal)
    n = evaluator.worth(fitted) if rules.approximate and fitted.n_factors else evaluator.n_obs
    return Outcome(fitted, float(n))


def complete(
    evaluator: Evaluator, cores: BoolArray, rules: Rules, n: float, origin: str
) -> Proposal:
    """Attach items of no clique where their loading would pay for its edge."""
    least = least_loading(rules.criterion, cores.shape[1], n) if rules.attach else np.inf
    return Proposal(attach(evaluator.strength, cores, least, rules.min_children), origin)


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
    """Fit in the order of the least cost each could have; return those that cannot win.

    Of more than a few items, most structures are far behind, and their fits creep: those are given
    up.
    """
    evaluator.fit(proposals[0])
    bounds = [evaluator.bound(one) for one in track(proposals, progress, "bounds")]
    bounds.sort(key=lambda one: one.cost(criterion, n))
    passed_over = []
    for bound in track(bounds, progress, "fitting"):
        some = [one for one in evaluator.fitted if one.n_factors]
        rival = min(some, key=lambda one: one.cost(criterion, n), default=None)
        if not screen or rival is None:
            evaluator.fit(bound.proposal)
        elif bound.cost(criterion, n) > rival.cost(criterion, n):
            passed_over.append(bound)
        else:
            evaluator.beats(bound.proposal, rival, criterion, n, evaluator.n_items > FEW_ITEMS)
    return [*passed_over, *evaluator.hopeless]
