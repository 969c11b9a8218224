"""Which levels of the tree the rows support, and which of them is the answer.

**What the rows count.** No simple structure is exactly true of a survey, so misfit beyond sampling
error limits what the rows count (:mod:`dtstat.factors.robust`). It is taken from the *finest*
level: a coarser one also misfits because factors are missing, which must not excuse them.

**Support.** ebic, with the price of having searched, says whether there is more than one factor. If
so, the rows support the level of the least ebic, and finer ones that are within one standard error
of it: where two models are close, the log-likelihood ratio of a row has twice its mean for variance
(Vuong 1989), so that a gain of g = 2nℓ has the standard error 2√g, and if only n of n₀ rows count
2√(g n / n₀). Within that error ebic cannot tell the levels apart, and the steps below can. No finer
level is an answer. One factor has no step, hence ebic alone decides there. With more than 320 items
each split is judged by itself (:func:`least_of_splits`).

**Steps.** Going down the tree, each join has a price c_k: what one fewer factor than k costs per
person. Joins within a scale are cheap and joins of scales are dear, so that a level of scales shows
as a step. With a the level's agreement and 1/n the price that chance alone can ask,

    step_k = a_k { mean over k/2 < j ≤ k of log(c_j + 1/n)
                   − mean over k < j ≤ 2k of log(c_j + 1/n) },      2 ≤ k ≤ supported,

how much cheaper joins are in the octave above the level than in the one below. Single prices would
do for five factors; of thirty, neighbors differ by little, and by chance. The answer is the level
of the largest step; the other printed level has the largest step of those with at least a quarter
more or fewer factors, since five and six factors are hardly two levels, and is a peak of the steps
if there is another one. Two kinds of evidence are in it: that one fewer factor would cost much more
than one more would gain, and that ways to sort the items which know nothing of each other agree.
Ratios are free of units, so that the answer does not drift with the number of rows or items.

Levels whose closest two factors correlate by more than .9, the limit of discriminant validity for
near constructs (Henseler, Ringle & Sarstedt 2015), are no answer: such factors are parts of one,
and with enough rows every small misfit would make some. With one factor supported, one is the
answer; with no more than chance holds together, none.

The rule was chosen on keyed surveys: ``benchmarks/results/surveys`` lists what else was tried, and
how each does on the half of the surveys that it was not chosen on.

References
----------
Henseler, J., Ringle, C. M. & Sarstedt, M. (2015). A new criterion for assessing discriminant
validity in variance-based structural equation modeling. Journal of the Academy of Marketing Science
43, 115–135. Vuong, Q. H. (1989). Likelihood ratio tests for model selection and non-nested
hypotheses. Econometrica 57, 307–333.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.search.counting import log_partitions
from dtstat.search.criteria import price_of_parameter
from dtstat.search.evaluate import Evaluator
from dtstat.search.records import TREE, Fitted, Level, Proposal, Rules
from dtstat.search.tree import MANY_FOR_STARTS, SPEAKERS

_FEW_LEVELS = 12  # of which all are fitted; of more, those around the least cost
_TYPICAL = 7  # position of a level that shows as well as finer ones how much correlations vary
NEARLY_ONE = 0.9  # correlation from which two factors are parts of one
_APART = 1.25  # ratio of the numbers of factors of two levels


def count_rows(evaluator: Evaluator, levels: list[Level], rules: Rules) -> float:
    """Count what the rows are worth, by the misfit of the finest level.

    With very many items, the finest that all rows would support by the prices of joins.
    """
    if not rules.approximate:
        return float(evaluator.n_obs)
    finest, near = len(levels) - 1, _least_by_prices(levels, rules, evaluator.n_obs)
    if evaluator.n_items > MANY_FOR_STARTS:
        finest = near
    fitted, typical = (
        evaluator.fit_roughly(Proposal(levels[k].support, TREE))
        for k in (finest, min(near, _TYPICAL))
    )
    return evaluator.worth(fitted, typical)


def least_cost(evaluator: Evaluator, levels: list[Level], rules: Rules, n: float) -> int:
    """Position of the level of least cost."""
    near = _least_by_prices(levels, rules, n)
    if evaluator.n_items > MANY_FOR_STARTS:
        return near

    def cost(k: int) -> float:
        proposal = Proposal(levels[k].support, TREE)
        return evaluator.fit(proposal).cost(rules.criterion, n)

    last = len(levels) - 1
    if last < _FEW_LEVELS:
        return min(range(last + 1), key=cost)
    while True:  # to the next lower one within two steps, as long as there is any
        around = range(max(near - 2, 0), min(near + 2, last) + 1)
        lower = min(around, key=cost)
        if cost(lower) >= cost(near):
            return near
        near = lower


def most_supported(
    evaluator: Evaluator, levels: list[Level], rules: Rules, n: float, least: int
) -> int:
    """Position of the finest level that is within one standard error of the least cost."""
    if not least or evaluator.n_items > MANY_FOR_STARTS:
        return least

    def fitted(k: int) -> Fitted:
        return evaluator.fit(Proposal(levels[k].support, TREE))

    def is_near(k: int) -> bool:
        best, finer = fitted(least), fitted(k)
        gain = 2 * n * (finer.log_likelihood - best.log_likelihood) / evaluator.n_obs
        error = 2 * math.sqrt(max(gain, 0.0) * n / evaluator.n_obs)
        return finer.cost(rules.criterion, n) - best.cost(rules.criterion, n) <= error

    most = least
    while most + 1 < len(levels) and is_near(most + 1):
        most += 1
    return most


def _least_by_prices(levels: list[Level], rules: Rules, n: float) -> int:
    """Position of the level of least cost, the likelihood being the sum of the prices of joins."""
    p = len(levels[0].labels)
    prices = np.array([level.price for level in levels])
    if p > MANY_FOR_STARTS:
        asked = [
            sum(min(int((level.labels == k).sum()), SPEAKERS) for k in level.pair)
            for level in levels
        ]
        return least_of_splits(prices, np.array(asked), rules, n)
    k = np.arange(1, len(prices) + 1)
    gained = np.cumsum(np.concatenate([[0.0], prices[1:]]))
    correlations = k * (k - 1) / 2 * price_of_parameter(rules.criterion, n)
    searched = 2 * log_partitions(p)[k] if rules.criterion == "ebic" else 0.0
    return int(np.argmin(-2 * n * gained + correlations + searched))


def least_of_splits(prices: FloatArray, asked: IntArray, rules: Rules, n: float) -> int:
    """Position of the level of least cost with very many items, each split judged by itself.

    Of k factors one was split in two, which gains 2 n c_k for the m items that the price was asked
    of. That takes one parameter more, their correlation; and one of k − 1 factors was chosen for
    it, and one of the 2^(m − 1) − 1 − m ways to split its items into two groups of two or more:

        cost_k = cost_{k−1} − 2 n c_k + log n + 2 log[(k − 1) (2^(m − 1) − 1 − m)]      (ebic).

    To charge all k(k − 1)/2 correlations, whose part in the fit no price has, would grow as the
    square of k where gains grow as k, and leave two hundred clear factors of 100 rows unseen.

    Parameters
    ----------
    prices, asked
        Of the levels with 1, 2, ... factors: c_k and m.
    """
    k, m = np.arange(2, len(prices) + 1), np.maximum(asked[1:], 4).astype(np.float64)
    splits = (m - 1) * math.log(2) + np.log1p(-(1 + m) * 2.0 ** (1 - m))
    searched = 2 * (np.log(k - 1) + splits) if rules.criterion == "ebic" else 0.0
    costs = -2 * n * prices[1:] + price_of_parameter(rules.criterion, n) + searched
    return int(np.argmin(np.concatenate([[0.0], np.cumsum(costs)])))


def with_steps(levels: list[Level], n: float) -> list[Level]:
    """Give the levels their steps."""
    steps = steps_of(np.array([level.price for level in levels]), n)
    found = [levels[0]]
    for level, step in zip(levels[1:], steps[1:].tolist(), strict=True):
        agreed = 1.0 if math.isnan(level.agreement) else max(level.agreement, 0.0)
        found.append(replace(level, step=agreed * step))
    return found


def steps_of(prices: FloatArray, n: float) -> FloatArray:
    """(K,) steps of the levels with 1, 2, ... factors by their prices, as if all ways agreed."""
    log_c = np.log([1 / n, 1 / n, *(prices[1:] + 1 / n), 1 / n])
    last = len(prices)
    steps = np.full(last, np.nan)
    for k in range(2, last + 1):
        below = log_c[k // 2 + 1 : k + 1].mean()
        above = log_c[k + 1 : (min(2 * k, last) if k < last else k + 1) + 1].mean()
        steps[k - 1] = below - above
    return steps


def rank_levels(steps: FloatArray, correlations: FloatArray, supported: int) -> list[int]:
    """Numbers of factors that may be the answer, the largest step first; then one factor.

    Parameters
    ----------
    steps, correlations
        Of the levels with 1, 2, ... factors.
    supported
        Largest number of factors that the rows support.
    """
    distinct = [k for k in range(2, supported + 1) if abs(correlations[k - 1]) <= NEARLY_ONE]
    return [*sorted(distinct, key=lambda k: -steps[k - 1]), 1]


def second_level(of_levels: FloatArray, order: list[int], answer: int) -> int | None:
    """Find the level apart from the answer that stands out most, best a peak of the steps."""
    apart = [k for k in order if k >= _APART * answer or answer >= _APART * k]
    steps = dict(enumerate(of_levels.tolist(), start=1))
    lowest = -math.inf

    def is_peak(k: int) -> bool:
        around = steps.get(k - 1, lowest), steps.get(k + 1, lowest)
        return k > 1 and all(math.isnan(step) or steps[k] >= step for step in around)

    return next((k for k in apart if is_peak(k)), apart[0] if apart else None)
