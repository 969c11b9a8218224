"""Sequential dependence thresholding: find factors, explain them, and look at what is left.

Each round reads cliques off the dependence that the factors so far do not explain, adds them as
factors, lets items gain and lose single loadings by the criterion, and fits all jointly. The rounds
end when nothing above chance is left or the criterion does not fall.
"""

from __future__ import annotations

import numpy as np

from dtstat.arrays import BoolArray, FloatArray
from dtstat.estimation.factors.copula import FactorEstimate
from dtstat.progress import Progress, track
from dtstat.selection.criteria import price_of_edge
from dtstat.selection.evaluate import Evaluator, Fitted, Proposal
from dtstat.selection.search import Outcome, Rules, complete, fit_covers, settle
from dtstat.structure.barcode import Barcode, barcode
from dtstat.structure.sequential import conditioned, plainest_cliques

_ORIGIN = "sequential"
_MOST_ROUNDS = 20
_MOST_SWEEPS = 6  # of gaining and losing loadings in a round; they settle in two or three
_BY_CHANCE = 0.05  # probability that any pair of unrelated items exceeds the floor
# A rank correlation made latent varies by 1.1 / sqrt(n), not 1 / sqrt(n), if items are unrelated.
_SPREAD = 1.1
_LEAST_VARIANCE = 0.05  # of what is left of an item


def search_sequential(
    evaluator: Evaluator, bars: Barcode, rules: Rules, progress: Progress = None
) -> Outcome:
    """Search as :func:`search_barcode`, then round by round, from nothing and from its result.

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

    def improve(n: float) -> None:
        fit_covers(evaluator, bars, rules, n, progress)
        found = evaluator.best(rules.criterion, n).proposal.support
        nothing = np.zeros((evaluator.n_items, 0), dtype=bool)
        for start in (nothing, found):
            last = _peel(evaluator, bars, start, rules, n, progress)
            if last is not None:
                evaluator.fit(complete(evaluator, last, rules, n, _ORIGIN))

    return settle(evaluator, rules, improve)


def _peel(
    evaluator: Evaluator,
    bars: Barcode,
    support: BoolArray,
    rules: Rules,
    n: float,
    progress: Progress,
) -> BoolArray | None:
    """Add factors round by round; return the support at which the criterion was least."""
    best: Fitted | None = None
    cliques, M, done = support, evaluator.R, 0
    if support.shape[1]:
        best = _settled(evaluator, support, rules, n)
        L, Phi = best.estimate.loadings, best.estimate.factor_correlations
        M = evaluator.R - L @ Phi @ L.T
        bars = _bars(M, bars, rules)
    for _ in track(range(_MOST_ROUNDS), progress, "rounds"):
        taken = plainest_cliques(bars, chance_floor(max(n - done, 2.0), evaluator.n_items))
        if not len(taken):
            break
        cliques = np.hstack([cliques, bars.members[taken].T])
        fitted = _settled(evaluator, cliques, rules, n)
        if best is not None and fitted.cost(rules.criterion, n) >= best.cost(rules.criterion, n):
            break
        best, done = fitted, cliques.shape[1]
        M = conditioned(M, bars, taken)
        bars = _bars(M, bars, rules)
    return None if best is None else best.proposal.support


def _bars(M: FloatArray, bars: Barcode, rules: Rules) -> Barcode:
    sd = np.sqrt(np.maximum(np.diag(M), _LEAST_VARIANCE))
    return barcode(np.clip(M / np.outer(sd, sd), -1.0, 1.0), bars.item_names, rules.min_children)


def chance_floor(n: float, p: int) -> float:
    """Dependence that the strongest of all pairs of unrelated items exceeds in 1 of 20 samples."""
    from scipy.special import ndtri

    return float(-_SPREAD * ndtri(_BY_CHANCE / (p * (p - 1))) / np.sqrt(n))


def _settled(evaluator: Evaluator, support: BoolArray, rules: Rules, n: float) -> Fitted:
    """Let items gain and lose loadings until none does; factors left too small are dropped."""
    price = price_of_edge(rules.criterion, evaluator.n_items, n)
    for _ in range(_MOST_SWEEPS):
        fitted = evaluator.fit(Proposal(support, _ORIGIN))
        support = fitted.proposal.support  # its order of factors; the same items twice are one
        paid = support & _paid(fitted.estimate, n, price)
        changed = paid | _gained(evaluator.R, fitted.estimate, support, n, price)
        changed = changed[:, changed.sum(axis=0) >= rules.min_children]
        if changed.shape == support.shape and (changed == support).all():
            break
        support = changed
    return evaluator.fit(Proposal(support, _ORIGIN))


def _paid(estimate: FactorEstimate, n: float, price: float) -> BoolArray:
    """(p, d) loadings whose loss would cost more than their price: n log(1 + λ² / θ)."""
    gain = n * np.log1p(estimate.loadings**2 / estimate.uniquenesses[:, None])
    paid: BoolArray = gain > price
    return paid


def _gained(
    R: FloatArray, estimate: FactorEstimate, support: BoolArray, n: float, price: float
) -> BoolArray:
    """(p, d) for each item the one loading it lacks most, where it pays.

    With E = R − Σ̂ and W the weights of Bartlett's scores, E W estimates what is missing of the
    covariances of items with factors: the loading δ, if the factor is not correlated with others of
    the item. It gains n log θ / (θ − δ²).
    """
    L, Phi, theta = estimate.loadings, estimate.factor_correlations, estimate.uniquenesses
    weighted = L / theta[:, None]
    E = R - L @ Phi @ L.T
    np.fill_diagonal(E, 0.0)
    delta = np.abs(E @ np.linalg.solve(L.T @ weighted, weighted.T).T)
    delta[support] = 0.0
    items, most = np.arange(len(R)), delta.argmax(axis=1)
    left = np.maximum(theta - delta[items, most] ** 2, _LEAST_VARIANCE * theta)
    pays = n * np.log(theta / left) > price
    gained = np.zeros_like(support)
    gained[items[pays], most[pays]] = True
    return gained
