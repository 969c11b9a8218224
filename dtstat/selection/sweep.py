"""Loadings that items gain and lose, and factors that become simpler, by the criterion.

Where structures have hundreds of loadings, single steps as in :mod:`dtstat.selection.refine` take
too long. Here every fit says of all items at once what they lack and what they do not need.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dtstat.arrays import BoolArray, FloatArray, IntArray
from dtstat.estimation.factors.copula import FactorEstimate
from dtstat.estimation.factors.missing_loadings import expected_gains
from dtstat.estimation.factors.turning import turned
from dtstat.selection.criteria import SALIENT, price_of_edge
from dtstat.selection.evaluate import Evaluator, Fitted, Proposal
from dtstat.selection.merge import merge_while_better
from dtstat.selection.search import Rules

SWEPT = "sequential"  # origin of what is fitted here
_MOST_SWEEPS = 12  # they settle in two or three, rarely more
_MOST_ALONE = 5  # factors that are left out one at a time


def simplified(evaluator: Evaluator, current: Fitted, rules: Rules, n: float) -> Fitted:
    """Turn, leave out and merge factors while the criterion falls."""
    while True:
        before = current
        for support in _simpler(before, rules, n):
            found = swept(evaluator, support, rules, n)
            if found.cost(rules.criterion, n) < current.cost(rules.criterion, n):
                current = found
                break
        current = merge_while_better(evaluator, current, rules.criterion, n)
        if current is before:
            return current


def _simpler(fitted: Fitted, rules: Rules, n: float) -> Iterator[BoolArray]:
    """Yield structures with factors turned, or without those that are the main one of few items."""
    if not fitted.n_factors:
        return
    support, estimate = fitted.proposal.support, fitted.estimate
    after = turned(estimate, support, n, price_of_edge(rules.criterion, len(support), n))
    if after is not None:
        yield after
    few = main_of_few(fitted, rules.min_children)
    together = [few] if len(few) > 1 else []
    for some in [*together, *few[:_MOST_ALONE, None]]:
        yield np.delete(support, some, axis=1)


def main_of_few(fitted: Fitted, min_children: int) -> IntArray:
    """Return the factors on which fewer items than a factor must have load most."""
    support = fitted.proposal.support
    main = _main_factor(fitted.estimate)[support.any(axis=1)]
    return np.flatnonzero(np.bincount(main, minlength=support.shape[1]) < min_children)


def _main_factor(estimate: FactorEstimate) -> IntArray:
    """(p,) the factor of each item's largest loading."""
    main: IntArray = np.abs(estimate.loadings).argmax(axis=1)
    return main


def swept(evaluator: Evaluator, support: BoolArray, rules: Rules, n: float) -> Fitted:
    """Let items gain and lose loadings until none does; factors left too small are dropped.

    What was lost is not gained again.
    """
    price = price_of_edge(rules.criterion, evaluator.n_items, n)
    lost = np.zeros_like(support)
    for _ in range(_MOST_SWEEPS):
        support, first = np.unique(support, axis=1, return_index=True)
        large = support.sum(axis=0) >= rules.min_children
        support, lost = support[:, large], lost[:, first[large]]
        fitted = evaluator.fit(Proposal(support, SWEPT))
        if not fitted.n_factors:
            break
        if not np.array_equal(fitted.proposal.support, support):  # known in another order
            support = fitted.proposal.support
            lost = np.zeros_like(support)
        lost |= support & ~_paid(fitted.estimate, n, price)
        changed = (support | lacking(evaluator.R, fitted, n, price)) & ~lost
        if (changed == support).all():
            break
        support = changed
    return fitted


def _paid(estimate: FactorEstimate, n: float, price: float) -> BoolArray:
    """(p, d) loadings whose loss would cost more than their price: n log(1 + λ² / θ).

    Those that are not salient are lost too, unless they are the largest of their items.
    """
    size = np.abs(estimate.loadings)
    gain = n * np.log1p(size**2 / estimate.uniquenesses[:, None])
    paid: BoolArray = (gain > price) & ((size >= SALIENT) | (size == size.max(1, keepdims=True)))
    return paid


def lacking(R: FloatArray, fitted: Fitted, n: float, price: float) -> BoolArray:
    """(p, d) loadings that items lack, where they pay.

    Each item gains the loading it lacks most; of the items of a factor that lack the same one only
    the first does, for the others may lack it because of that one.
    """
    support, estimate = fitted.proposal.support, fitted.estimate
    gains = n * expected_gains(R, estimate, support)
    most, gain = gains.argmax(axis=1), gains.max(axis=1, initial=0.0)
    pays = np.flatnonzero(gain > price)
    pays = pays[np.argsort(-gain[pays], kind="stable")]
    groups = np.column_stack([_main_factor(estimate), most])[pays]
    first = pays[np.unique(groups, axis=0, return_index=True)[1]]
    gained = np.zeros_like(support)
    gained[first, most[first]] = True
    return gained
