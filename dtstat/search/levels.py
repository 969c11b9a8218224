"""The tree is grown, a level of it chosen, and the structure of that level fitted.

Which level is the answer is decided in :mod:`dtstat.search.choose`.
"""

from __future__ import annotations

import math

import numpy as np

from dtstat.core.arrays import BoolArray
from dtstat.core.parallel import Progress
from dtstat.search.choose import (
    count_rows,
    least_cost,
    most_supported,
    rank_levels,
    second_level,
    with_steps,
)
from dtstat.search.counting import log_choose, log_partitions
from dtstat.search.criteria import price_of_parameter, price_of_structure
from dtstat.search.evaluate import Evaluator
from dtstat.search.records import TREE, Fitted, Level, Outcome, Proposal, Rules, no_factors
from dtstat.search.tree import MANY_FOR_STARTS, Tree
from dtstat.structure.barcode import Barcode
from dtstat.structure.cliques import attached_items

_SPARE = 2  # levels beyond those supported that are looked at as closely


def search_tree(
    evaluator: Evaluator,
    bars: Barcode,
    rules: Rules,
    progress: Progress = None,
    n_factors: int | None = None,
    by_cost: bool = False,
) -> Outcome:
    """Find a structure for every number of factors, and say which is the answer.

    Parameters
    ----------
    evaluator
        Where structures are fitted.
    bars
        The barcode, whose cliques are the leaves.
    rules
        Criterion, size of factors, what to do with items of no clique.
    progress
        True for a bar, or a function of (done, total).
    n_factors
        Number of factors of the answer, as many as the items allow at most; None to choose it.
    by_cost
        Whether the answer is the structure of least cost, not the level of the largest step.
    """
    if evaluator.n_items < rules.min_children:  # not even one factor
        return Outcome(evaluator.fit(no_factors(evaluator.n_items)), float(evaluator.n_obs))
    tree = Tree(evaluator, bars, rules)
    grown = tree.grow(n_factors or 1, progress)[::-1]
    n = count_rows(evaluator, grown, rules)
    least = least_cost(evaluator, grown, rules, n)
    most = most_supported(evaluator, grown, rules, n, least)
    look = max(most + 1 + _SPARE, n_factors or 0)
    consulted = tree.consult(grown[:look][::-1], progress)[::-1]
    levels = [*consulted, *grown[look:]]
    least = least_cost(evaluator, levels, rules, n)
    supported = most_supported(evaluator, levels, rules, n, least) + 1
    levels = with_steps(levels, n)
    steps = np.array([level.step for level in levels])
    correlations = np.array([level.correlation for level in levels])
    order = [least + 1] if by_cost else rank_levels(steps, correlations, supported)
    answer = n_factors or order[0]
    second = second_level(steps, order, answer)
    best = fit_level(evaluator, bars, levels[answer - 1], rules, n)
    if by_cost:
        alike = (one for one in evaluator.fitted if n_factors in (None, one.n_factors))
        best = min(alike, key=lambda one: one.cost(rules.criterion, n))
    if n_factors is None and _is_chance(evaluator, best, rules):
        best, second = evaluator.fit(no_factors(evaluator.n_items)), None
    return Outcome(best, n, evaluator.hopeless, tuple(levels), supported, second)


def fit_level(evaluator: Evaluator, bars: Barcode, level: Level, rules: Rules, n: float) -> Fitted:
    """Fit a level without the items that belong to none of its factors."""
    support = level.support
    if not rules.attach:
        support = _without(support, attached_items(bars, support), rules.min_children)
    fitted = evaluator.fit(Proposal(support, TREE))
    out = unrelated_items(fitted, rules, n)
    if out.any():
        fitted = evaluator.fit(Proposal(_without(support, out, rules.min_children), TREE))
    return fitted


def _without(support: BoolArray, items: BoolArray, smallest: int) -> BoolArray:
    """Take items out, but from no factor so many that it becomes too small."""
    kept = support & ~items[:, None]
    small = kept.sum(axis=0) < smallest
    kept[:, small] = support[:, small]
    return kept


def unrelated_items(fitted: Fitted, rules: Rules, n: float) -> BoolArray:
    """(p,) items whose loadings do not pay.

    Without an item of loading λ the fit is worse by −n log(1 − λ²), and a parameter is saved; which
    items to leave out has a price too. The best number of the weakest is left out.
    """
    support, estimate = fitted.proposal.support, fitted.estimate
    p, d = support.shape
    share = np.minimum((estimate.loadings**2).sum(axis=1), 1 - 1e-9)
    loss = np.where(support.any(axis=1), -n * np.log1p(-share), np.inf)
    weakest = np.argsort(loss, kind="stable")
    costs = [0.0]
    for u in range(1, p - 2 * d + 1):
        searched = 0.0
        if rules.criterion == "ebic":
            ways = float(log_partitions(p - u)[d] - log_partitions(p)[d])
            searched = 2 * (ways + log_choose(p, u))
        saved = u * price_of_parameter(rules.criterion, n)
        costs.append(float(loss[weakest[:u]].sum()) - saved + searched)
        if not np.isfinite(costs[-1]) or loss[weakest[u - 1]] > 4 * (saved / u + 2 * math.log(p)):
            break
    out = np.zeros(p, dtype=bool)
    out[weakest[: int(np.argmin(costs))]] = True
    return out


def _is_chance(evaluator: Evaluator, best: Fitted, rules: Rules) -> bool:
    """Whether items are as well taken for independent, all rows counted.

    That no factor model fits exactly is no argument for independence, hence all rows.
    """
    n = float(evaluator.n_obs)
    if evaluator.n_items > MANY_FOR_STARTS:
        support = best.proposal.support
        return not pays_for_itself(_gain_of_blocks(evaluator, support), support, rules, n)
    nothing = evaluator.fit(no_factors(evaluator.n_items))
    return nothing.cost(rules.criterion, n) <= best.cost(rules.criterion, n)


def _gain_of_blocks(evaluator: Evaluator, support: BoolArray) -> float:
    """Log-likelihood per row that uncorrelated factors gain on independent items."""
    gain = 0.0
    for factor in support.T:
        items = np.flatnonzero(factor)
        independent = -len(items) / 2 * (math.log(2 * math.pi) + 1)
        one = np.ones((len(items), 1), dtype=bool)
        gain += evaluator.block_log_likelihood(items, one) - independent
    return gain


def pays_for_itself(gain: float, support: BoolArray, rules: Rules, n: float) -> bool:
    """Whether factors that are taken for uncorrelated describe very many items better than none.

    With correlated factors the price of all k(k − 1)/2 correlations would outweigh everything.
    ``gain`` is their log-likelihood per row, less that of independent items.
    """
    return 2 * n * gain > price_of_structure(rules.criterion, support, float(support.sum()), n)
