"""Local search around the best structures: loadings added and dropped one at a time.

Cliques find an item with two parents only if it depends on all children of both by more than the
threshold. Here the fitted model itself says which loading it lacks
(:mod:`dtstat.estimation.factors.missing_loadings`). A loading is added only if the criterion falls
*and* it turns out salient in size: with thousands of rows tiny cross-loadings are significant
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dtstat.estimation.factors.missing_loadings import expected_gains
from dtstat.progress import Progress, track
from dtstat.selection.criteria import SALIENT
from dtstat.selection.evaluate import Evaluator, Fitted, Proposal
from dtstat.selection.merge import merge_while_better
from dtstat.selection.search import Outcome, Rules

_STARTS = 3  # structures to start from, the best
_ORIGIN = "refined"
_TRIES = 5  # loadings tried at each step, the most promising


def refine(
    evaluator: Evaluator, found: Outcome, rules: Rules, progress: Progress = None
) -> Outcome:
    """Improve the best structures by single loadings and merged factors.

    Parameters
    ----------
    evaluator
        Where structures were fitted.
    found
        What the search found.
    rules
        Criterion and size of factors.
    progress
        True for a bar, or a function of (done, total).
    """
    n, criterion = found.n_effective, rules.criterion
    starts = sorted(evaluator.fitted, key=lambda one: one.cost(criterion, n))[:_STARTS]
    ends = [_climb(evaluator, start, rules, n) for start in track(starts, progress, "refining")]
    best = min([found.best, *ends], key=lambda one: one.cost(criterion, n))
    worth = min(n, evaluator.worth(best)) if rules.approximate else n
    return replace(found, best=best, n_effective=worth)


def _climb(evaluator: Evaluator, current: Fitted, rules: Rules, n: float) -> Fitted:
    while True:
        tried = [evaluator.fit(one) for one in _neighbours(evaluator, current, rules)]
        salient = [one for one in tried if _new_are_salient(one, current)]
        for one in tried:
            if one not in salient and one.proposal.origin == _ORIGIN:  # not what a search proposed
                evaluator.reject(one)
        best = min([current, *salient], key=lambda one: one.cost(rules.criterion, n))
        if best is current:
            best = merge_while_better(evaluator, current, rules.criterion, n)
        if best is current:
            return current
        current = best


def _neighbours(evaluator: Evaluator, current: Fitted, rules: Rules) -> Iterator[Proposal]:
    """Structures with one loading more or less, or one moved, and no factor too small."""
    if not current.n_factors:
        return
    support = current.proposal.support
    promise = expected_gains(evaluator.R, current.estimate, support)
    promise[support] = -np.inf
    for edge in np.argsort(-promise, axis=None)[:_TRIES]:
        i, k = divmod(int(edge), support.shape[1])
        if np.isfinite(promise[i, k]):
            yield from _with(current.proposal, [(i, k)])
            own = int(support[i].argmax())
            if support[i].sum() == 1 and support[:, own].sum() > rules.min_children:
                yield from _with(current.proposal, [(i, k), (i, own)])
    sizes = np.where(support, np.abs(current.estimate.loadings), np.inf)
    for edge in np.argsort(sizes, axis=None)[:_TRIES]:
        i, k = divmod(int(edge), support.shape[1])
        if support[i, k] and support[:, k].sum() > rules.min_children:
            yield from _with(current.proposal, [(i, k)])


def _with(proposal: Proposal, toggled: list[tuple[int, int]]) -> Iterator[Proposal]:
    """Toggle edges; yield nothing if two factors would become the same."""
    support = proposal.support.copy()
    for i, k in toggled:
        support[i, k] = not support[i, k]
    changed = Proposal(support, _ORIGIN)
    if len(changed.key) == support.shape[1]:
        yield changed


def _new_are_salient(one: Fitted, before: Fitted) -> bool:
    """Whether loadings that ``before`` lacked are large enough, all factors being standard."""
    if one.n_factors != before.n_factors:
        return True
    new = one.proposal.support & ~before.proposal.support
    return bool((np.abs(one.estimate.loadings[new]) >= SALIENT).all())
