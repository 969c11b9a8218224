"""Sequential dependence thresholding: find factors, explain them, look at what is left.

A factor whose items all have a second parent may show no clique of its own until the second parents
are explained. Each round reads cliques off the dependence that the factors so far do not explain
and adds them; then all factors are fitted jointly, and items gain and lose single loadings by the
criterion. This is a heuristic: other structures may have the same correlations
(:mod:`dtstat.structure.sequential` has examples), and no theorem says when it is right.

In real surveys no structure fits exactly, and rounds would explain misfit by ever more factors.
So the answer of the plain search stands unless there is

- something to explain that the plain structure leaves: the misfit v of
  :mod:`dtstat.estimation.factors.misfit` falls to less than half, or to less than sampling error;
- a criterion lower by 10 or more, the rows counting as little as they do with the plain structure.

The two rules were set with keyed surveys in view, several others having let cross-loadings in that
no key has. That they leave all of these surveys alone is therefore no test of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtri

from dtstat.arrays import FloatArray, IntArray
from dtstat.estimation.factors.copula import FactorEstimate
from dtstat.progress import Progress, track
from dtstat.selection.criteria import price_of_edge
from dtstat.selection.evaluate import Evaluator, Fitted, Proposal
from dtstat.selection.search import Outcome, Rules, complete, nothing, search_barcode, settle
from dtstat.selection.sweep import SWEPT, lacking, main_of_few, simplified, swept
from dtstat.structure.barcode import Barcode, barcode
from dtstat.structure.sequential import conditioned, plainest_cliques

CLEARLY_LOWER = 10.0  # in the criterion, for an answer other than that of the plain search
_ABOUT_THE_SAME = 0.5  # share of rows from which misfit is less than sampling error
_BY_CHANCE = 0.05  # probability that any pair of unrelated items exceeds the floor
# Of unrelated items without ties Spearman's correlation has the standard error 1/√n, and its latent
# form 2 sin(π r_S / 6), whose slope at 0 is π/3, has (π/3)/√n.
_SPREAD = math.pi / 3
_LEAST_VARIANCE = 0.05  # of what is left of an item


def search_sequential(
    evaluator: Evaluator, bars: Barcode, rules: Rules, progress: Progress = None
) -> Outcome:
    """Search as :func:`search_barcode`, then round by round; keep the first unless beaten clearly.

    Parameters
    ----------
    evaluator
        Where structures are fitted.
    bars
        Barcode of the dependence matrix.
    rules
        Criterion, size of factors, what to do with items of no clique.
    progress
        True for a bar, or a function of (done, total).
    """
    plain = search_barcode(evaluator, bars, rules, progress)
    n_obs = float(evaluator.n_obs)
    if not _leaves_something(evaluator, plain.best, bars.item_names, rules, n_obs):
        return plain
    trial = evaluator.afresh()

    def improve(n: float) -> None:
        best = trial.fit(nothing(trial.n_items))
        rounds = _explained_exactly(trial, bars, rules, n)
        best = _while_better(track(rounds, progress, "rounds"), best, rules.criterion, n)
        best = _completed_jointly(trial, best, bars.item_names, rules, n)
        trial.fit(complete(trial, best.proposal.support, rules, n, SWEPT))

    found = settle(trial, rules, improve, _ABOUT_THE_SAME)
    if not _convincing(trial, found.best, plain, rules.criterion):
        return plain
    best = evaluator.fit(Proposal(found.best.proposal.support, SWEPT))
    return Outcome(best, max(found.n_effective, plain.n_effective), plain.passed_over)


def _leaves_something(
    evaluator: Evaluator, fitted: Fitted, names: tuple[str, ...], rules: Rules, n: float
) -> bool:
    """Whether a structure lacks a loading, or its estimate leaves a clique above chance.

    One with factors that are the main one of few items may explain everything, in too many parts.
    The price of a loading is for one among p items; here all d factors are looked at as well.
    """
    if not fitted.n_factors or len(main_of_few(fitted, rules.min_children)):
        return True
    price = price_of_edge(rules.criterion, evaluator.n_items, n) + 2 * math.log(fitted.n_factors)
    if lacking(evaluator.R, fitted, n, price).any():
        return True
    left = _bars(_left(evaluator.R, fitted.estimate), names, rules)
    return len(_taken(left, fitted.n_factors, n)) > 0


def _convincing(evaluator: Evaluator, found: Fitted, plain: Outcome, criterion: str) -> bool:
    """Whether a structure explains what the plain one leaves, at a clearly lower criterion."""
    n = plain.n_effective
    if plain.best.cost(criterion, n) - found.cost(criterion, n) < CLEARLY_LOWER:
        return False
    before, after = (1 / evaluator.worth(one) for one in (plain.best, found))
    sampling = 1 / evaluator.n_obs
    return after - sampling <= max(sampling, (before - sampling) / 2)


def _explained_exactly(
    evaluator: Evaluator, bars: Barcode, rules: Rules, n: float
) -> Iterator[Fitted]:
    """Go round by round, each explaining factors by the unique members of their cliques.

    That is exact, however many factors are still unknown, if these members have no other parent.
    """
    M = evaluator.R
    cliques = np.zeros((evaluator.n_items, 0), dtype=bool)
    while len(taken := _taken(bars, cliques.shape[1], n)):
        cliques = np.unique(np.hstack([cliques, bars.members[taken].T]), axis=1)
        yield swept(evaluator, cliques, rules, n)
        M = conditioned(M, bars, taken)
        bars = _bars(M, bars.item_names, rules)


def _explained_jointly(
    evaluator: Evaluator, found: Fitted, names: tuple[str, ...], rules: Rules, n: float
) -> Iterator[Fitted]:
    """Go round by round, each explaining factors by the joint estimate, which has less noise."""
    while True:
        bars = _bars(_left(evaluator.R, found.estimate), names, rules)
        taken = _taken(bars, found.n_factors, n)
        if not len(taken):
            return
        support = np.unique(np.hstack([found.proposal.support, bars.members[taken].T]), axis=1)
        found = swept(evaluator, support, rules, n)
        yield found


def _completed_jointly(
    evaluator: Evaluator, start: Fitted, names: tuple[str, ...], rules: Rules, n: float
) -> Fitted:
    """Simplify, explain the rest by joint estimates, and simplify again."""
    best = simplified(evaluator, start, rules, n)
    rounds = _explained_jointly(evaluator, best, names, rules, n)
    best = _while_better(rounds, best, rules.criterion, n)
    return simplified(evaluator, best, rules, n)


def _while_better(rounds: Iterator[Fitted], best: Fitted, criterion: str, n: float) -> Fitted:
    """Go on as long as every round lowers the criterion; return the last that did."""
    for fitted in rounds:
        if fitted.cost(criterion, n) >= best.cost(criterion, n):
            break
        best = fitted
    return best


def _taken(bars: Barcode, d: int, n: float) -> IntArray:
    """Cliques to take for factors when ``d`` are explained, each at the price of a row."""
    return plainest_cliques(bars, chance_floor(max(n - d, 2.0), len(bars.item_names)))


def _left(R: FloatArray, estimate: FactorEstimate) -> FloatArray:
    """Covariances that a joint estimate leaves."""
    left: FloatArray = R - estimate.loadings @ estimate.factor_correlations @ estimate.loadings.T
    return left


def _bars(M: FloatArray, names: tuple[str, ...], rules: Rules) -> Barcode:
    """Barcode of covariances, as correlations."""
    sd = np.sqrt(np.maximum(np.diag(M), _LEAST_VARIANCE))
    return barcode(np.clip(M / np.outer(sd, sd), -1.0, 1.0), names, rules.min_children)


def chance_floor(n: float, p: int) -> float:
    """Dependence that the strongest of all pairs of unrelated items exceeds in 1 of 20 samples."""
    return float(-_SPREAD * ndtri(_BY_CHANCE / (p * (p - 1))) / np.sqrt(n))
