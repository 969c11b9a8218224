"""Sequential dependence thresholding: find factors, explain them, look at what is left.

A factor whose items all have a second parent shows no clique of its own until the second parents
are explained (:mod:`dtstat.structure.sequential` has the condition and its proof). Each round
reads cliques off the dependence that the factors so far do not explain and adds them; then all
factors are fitted jointly, and items gain and lose single loadings by the criterion.

In real surveys no structure fits exactly, and rounds would explain misfit by ever more factors.
So the answer of the plain search stands unless there is

- something to explain that the plain structure leaves: the misfit v of
  :mod:`dtstat.estimation.factors.misfit` falls to less than half, or to less than sampling error;
- very strong evidence for it, the rows counting as little as they do with the plain structure.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtri

from dtstat.arrays import BoolArray, FloatArray, IntArray
from dtstat.estimation.factors.copula import FactorEstimate
from dtstat.estimation.factors.missing_loadings import expected_gains
from dtstat.progress import Progress, track
from dtstat.selection.criteria import SALIENT, VERY_STRONG, price_of_edge
from dtstat.selection.evaluate import Evaluator, Fitted, Proposal
from dtstat.selection.merge import merge_while_better
from dtstat.selection.search import Outcome, Rules, complete, nothing, search_barcode, settle
from dtstat.structure.barcode import Barcode, barcode
from dtstat.structure.sequential import conditioned, plainest_cliques, untangled

_ORIGIN = "sequential"
_MOST_SWEEPS = 12  # of gaining and losing loadings; they settle in two or three, rarely more
_MOST_ALONE = 5  # factors that are left out one at a time
_ABOUT_THE_SAME = 0.5  # share of rows from which misfit is less than sampling error
_BY_CHANCE = 0.05  # probability that any pair of unrelated items exceeds the floor
# A rank correlation made latent varies by 1.1 / sqrt(n), not 1 / sqrt(n), if items are unrelated.
_SPREAD = 1.1
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
        trial.fit(complete(trial, best.proposal.support, rules, n, _ORIGIN))

    found = settle(trial, rules, improve, _ABOUT_THE_SAME)
    if not _convincing(trial, found.best, plain, rules.criterion):
        return plain
    best = evaluator.fit(found.best.proposal)
    return Outcome(best, max(found.n_effective, plain.n_effective), plain.passed_over)


def _leaves_something(
    evaluator: Evaluator, fitted: Fitted, names: tuple[str, ...], rules: Rules, n: float
) -> bool:
    """Whether a structure lacks a loading, or its estimate leaves a clique above chance."""
    if not fitted.n_factors:
        return True
    price = price_of_edge(rules.criterion, evaluator.n_items, n)
    if _gained(evaluator.R, fitted, n, price).any():
        return True
    left = _bars(_left(evaluator.R, fitted.estimate), names, rules)
    return len(_taken(left, fitted.n_factors, n)) > 0


def _convincing(evaluator: Evaluator, found: Fitted, plain: Outcome, criterion: str) -> bool:
    """Whether a structure explains what the plain one leaves, beyond doubt."""
    n = plain.n_effective
    if plain.best.cost(criterion, n) - found.cost(criterion, n) < VERY_STRONG:
        return False
    before, after = (1 / evaluator.worth(one) for one in (plain.best, found))
    sampling = 1 / evaluator.n_obs
    return after - sampling <= max(sampling, (before - sampling) / 2)


def _explained_exactly(
    evaluator: Evaluator, bars: Barcode, rules: Rules, n: float
) -> Iterator[Fitted]:
    """Rounds in which factors are explained by the unique members of their cliques.

    That is exact, however many factors are still unknown.
    """
    M = evaluator.R
    cliques = np.zeros((evaluator.n_items, 0), dtype=bool)
    while len(taken := _taken(bars, cliques.shape[1], n)):
        cliques = np.unique(np.hstack([cliques, bars.members[taken].T]), axis=1)
        yield _swept(evaluator, cliques, rules, n)
        M = conditioned(M, bars, taken)
        bars = _bars(M, bars.item_names, rules)


def _explained_jointly(
    evaluator: Evaluator, found: Fitted, names: tuple[str, ...], rules: Rules, n: float
) -> Iterator[Fitted]:
    """Rounds in which factors are explained by the joint estimate, which has less noise."""
    while True:
        bars = _bars(_left(evaluator.R, found.estimate), names, rules)
        taken = _taken(bars, found.n_factors, n)
        if not len(taken):
            return
        support = np.unique(np.hstack([found.proposal.support, bars.members[taken].T]), axis=1)
        found = _swept(evaluator, support, rules, n)
        yield found


def _completed_jointly(
    evaluator: Evaluator, start: Fitted, names: tuple[str, ...], rules: Rules, n: float
) -> Fitted:
    """Simplify, explain the rest by joint estimates, and simplify again."""
    best = _simplified(evaluator, start, rules, n)
    rounds = _explained_jointly(evaluator, best, names, rules, n)
    best = _while_better(rounds, best, rules.criterion, n)
    return _simplified(evaluator, best, rules, n)


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


def _simplified(evaluator: Evaluator, current: Fitted, rules: Rules, n: float) -> Fitted:
    """Untangle, leave out and merge factors while the criterion falls."""
    while True:
        tries = [_swept(evaluator, one, rules, n) for one in _simpler(current, rules.min_children)]
        tries.append(merge_while_better(evaluator, current, rules.criterion, n))
        best = min([current, *tries], key=lambda one: one.cost(rules.criterion, n))
        if best is current:
            return current
        current = best


def _simpler(fitted: Fitted, min_children: int) -> Iterator[BoolArray]:
    """Structures with factors untangled, or without those that are the main one of few items."""
    support = fitted.proposal.support
    if not fitted.n_factors:
        return
    yield from untangled(support)
    mains = np.bincount(
        _main_factor(fitted.estimate)[support.any(axis=1)], minlength=support.shape[1]
    )
    few = np.flatnonzero(mains < min_children)
    together = [few] if len(few) > 1 else []
    for some in [*together, *few[:_MOST_ALONE, None]]:
        yield np.delete(support, some, axis=1)


def _main_factor(estimate: FactorEstimate) -> IntArray:
    """(p,) the factor of each item's largest loading."""
    main: IntArray = np.abs(estimate.loadings).argmax(axis=1)
    return main


def _swept(evaluator: Evaluator, support: BoolArray, rules: Rules, n: float) -> Fitted:
    """Let items gain and lose loadings until none does; factors left too small are dropped.

    What was lost is not gained again.
    """
    price = price_of_edge(rules.criterion, evaluator.n_items, n)
    lost = np.zeros_like(support)
    for _ in range(_MOST_SWEEPS):
        support, first = np.unique(support, axis=1, return_index=True)
        large = support.sum(axis=0) >= rules.min_children
        support, lost = support[:, large], lost[:, first[large]]
        fitted = evaluator.fit(Proposal(support, _ORIGIN))
        if not np.array_equal(fitted.proposal.support, support):  # known in another order
            support = fitted.proposal.support
            lost = np.zeros_like(support)
        lost |= support & ~_paid(fitted.estimate, n, price)
        changed = (support | _gained(evaluator.R, fitted, n, price)) & ~lost
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


def _gained(R: FloatArray, fitted: Fitted, n: float, price: float) -> BoolArray:
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
