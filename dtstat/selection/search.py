"""The two searches: one threshold for all factors, or each factor at its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import BoolArray
from dtstat.progress import Progress, track
from dtstat.selection.criteria import least_loading
from dtstat.selection.evaluate import Evaluator, Fitted, Proposal
from dtstat.selection.merge import merge_while_better
from dtstat.structure.attach import attach
from dtstat.structure.barcode import Barcode
from dtstat.structure.cover import covers
from dtstat.structure.path import Candidate

SEARCHES = ("barcode", "threshold")
_ALWAYS = 4  # candidates fitted in full before any is screened out
_CAUTION = 2.0  # times the largest gain seen that a full fit may bring


@dataclass(frozen=True)
class Rules:
    """What a structure must be like, and how structures are compared.

    Attributes
    ----------
    criterion
        "ebic", "bic" or "aic".
    min_children
        Fewest items of a factor.
    attach
        Whether items of no clique are attached to a factor.
    approximate
        Whether the model is taken as an approximation, so that misfit limits what the rows count.
    """

    criterion: str
    min_children: int
    attach: bool
    approximate: bool


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    Attributes
    ----------
    best
        The structure of least cost.
    n_effective
        What the rows counted as.
    """

    best: Fitted
    n_effective: float


def search_barcode(
    evaluator: Evaluator,
    barcode: Barcode,
    rules: Rules,
    progress: Progress = None,
    screen: bool = True,
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
    screen
        Whether candidates that cannot win, by a quick look at all, are spared a full fit.
    """
    cores = [(core, "barcode") for core in covers(barcode)]

    def improve(n: float) -> None:
        _fit_all(evaluator, cores, rules, n, progress, screen)
        best = evaluator.best(rules.criterion, n)
        merge_while_better(evaluator, best, rules.criterion, n)

    return _settle(evaluator, rules, improve)


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
    evaluator, rules, progress, screen
        As in :func:`search_barcode`.
    candidates
        The solution path.
    """
    cores = [(one.structure.support, f"threshold {one.tau_low:.3f}") for one in candidates]

    def improve(n: float) -> None:
        _fit_all(evaluator, cores, rules, n, progress, screen)

    return _settle(evaluator, rules, improve)


def nothing(p: int) -> Proposal:
    """No factor at all: the answer when items are independent."""
    return Proposal(np.zeros((p, 0), dtype=bool), "no factor")


def complete(
    evaluator: Evaluator, cores: BoolArray, rules: Rules, n: float, origin: str
) -> Proposal:
    """Attach items of no clique where their loading would pay for its edge."""
    least = least_loading(rules.criterion, evaluator.n_items, n) if rules.attach else np.inf
    return Proposal(attach(evaluator.strength, cores, least, rules.min_children), origin)


def _settle(evaluator: Evaluator, rules: Rules, improve: Callable[[float], None]) -> Outcome:
    """Search with all rows counted; then with what they are worth, until that does not fall.

    Structure and misfit are estimated in turn. Fewer rows favour simpler structures, which misfit
    more, so the count falls until structure and count agree.
    """
    n = float(evaluator.n_obs)
    while True:
        improve(n)
        best = evaluator.best(rules.criterion, n)
        worth = evaluator.worth(best) if rules.approximate and best.n_factors else n
        if worth >= n:
            return Outcome(best, n)
        # That no factor model fits exactly is no argument for independence.
        evaluator.reject(evaluator.fit(nothing(evaluator.n_items)))
        n = worth


def _fit_all(
    evaluator: Evaluator,
    cores: Iterable[tuple[BoolArray, str]],
    rules: Rules,
    n: float,
    progress: Progress,
    screen: bool,
) -> None:
    """Complete and fit all sets of cliques that may win, and the model without factors."""
    evaluator.fit(nothing(evaluator.n_items))
    proposals = (complete(evaluator, core, rules, n, origin) for core, origin in cores)
    distinct = list({proposal.key: proposal for proposal in proposals}.values())
    if screen and len(distinct) > _ALWAYS:
        _fit_promising(evaluator, distinct, rules.criterion, n, progress)
    else:
        for proposal in track(distinct, progress, "fitting"):
            evaluator.fit(proposal)


def _fit_promising(
    evaluator: Evaluator, proposals: list[Proposal], criterion: str, n: float, progress: Progress
) -> None:
    """Fit in the order of a quick look, and pass over those that cannot win.

    A quick fit has a likelihood at most that of the full one, so its cost is too high, by a gain
    that is seen wherever both are known. A candidate is passed over if twice the largest gain
    would not make it the best; a test checks that the winner is never lost.
    """
    looks = [evaluator.glance(one) for one in track(proposals, progress, "looking")]
    looks.sort(key=lambda look: look.cost(criterion, n))
    largest_gain, best = 0.0, np.inf
    for rank, look in enumerate(track(looks, progress, "fitting")):
        rough = look.cost(criterion, n)
        if rank >= _ALWAYS and rough - _CAUTION * largest_gain > best:
            continue
        full = evaluator.fit(look.proposal).cost(criterion, n)
        largest_gain, best = max(largest_gain, rough - full), min(best, full)
