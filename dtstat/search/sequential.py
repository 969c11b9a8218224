"""Sequential dependence thresholding: find factors, explain them, look at what is left.

A factor whose items all have a second parent may show no clique of its own until the second parents
are explained. Each round reads cliques off the dependence that the factors so far do not explain
and adds them; then all factors are fitted jointly, and items gain and lose single loadings by the
criterion. Of more than 200 items whole models are dear to fit: there the rounds go on without, and
loadings are settled once, for the cliques of all rounds and, beside them, for the plain structure;
what is left is explained from both. This is a heuristic: other structures may have the same
correlations (examples below), and no theorem says when it is right.

In real surveys no structure fits exactly, and rounds would explain misfit by ever more factors.
So the answer of the plain search stands unless there is

- something to explain that the plain structure leaves: the misfit v of
  :mod:`dtstat.factors.robust` falls to half or less;
- a criterion lower by 10 or more, the rows counting as little as they do with the plain structure.

The two rules were set with keyed surveys in view. They do not keep out all cross-loadings that no
key has: on 21 of 55 surveys with up to 110 items something passes them. What is found there is a
description, not a second opinion on the key.

Condition 1 of the paper asks that every factor have a child of its own. Where a factor has none,
its items may still be found, because given the factors E already found, items follow the factor
model of the others,

    Cov(X | η_E) = Λ_U Φ_{U|E} Λ_Uᵀ + Θ

(U: the factors left, Φ_{U|E} their conditional covariance) with the same loadings Λ_U, so that an
item whose other parents are all in E is a unique child there. What a factor k explains follows
from two unique children u and v and a third child i: with M = Cov(X | η_E), the variance of u that
k explains is h_u = M_uv M_iu / M_iv, and

    Cov(X_i, X_j | η_E, η_k) = M_ij − M_iu M_ju / h_u,   M_uu replaced by h_u on the right.

That is exact only if u and v are unique children of k, and dependence does not say which items
are: a graph shows members of no other clique, whatever their parents. So this identifies nothing.
Two structures can have one and the same correlation matrix (factors with variance 1):

- F1 = {1, 2, 3, 4} with loadings .7, .7, .6, .6 and F2 = {3, 4} with .4, uncorrelated; and
  G1 = {1, 2, 3, 4} with .582, .582, .721, .721 and G2 = {1, 2} with .388, uncorrelated.
- F1 = {1, ..., 6} with loadings .7 (three times) and .5 (three times) and F2 = {4, 5, 6} with .5,
  uncorrelated; and G1 = {1, 2, 3} with .7 and G2 = {4, 5, 6} with .707, correlated .707.

More generally, if all items of a factor have the same second parent, with loadings in proportion,
two correlated factors without second parents describe the data as well
(:mod:`dtstat.search.refine`). The search proposes structures; a criterion chooses, and
how often the choice is right is what simulations show.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile

import numpy as np
from scipy.special import ndtri

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.parallel import Progress, track
from dtstat.factors.copula import FactorEstimate
from dtstat.factors.maximum_likelihood import MANY_ITEMS
from dtstat.search.criteria import price_of_cross_loading
from dtstat.search.evaluate import Evaluator
from dtstat.search.levels import search_tree
from dtstat.search.records import SEQUENTIAL, Fitted, Outcome, Proposal, Rules, no_factors
from dtstat.search.refine import (
    find_missing_loadings,
    minor_factors,
    settle_loadings,
    simplify,
)
from dtstat.search.threshold import complete
from dtstat.structure.barcode import Barcode, barcode

CLEARLY_LOWER = 10.0  # in the criterion, for an answer other than that of the plain search
_ABOUT_THE_SAME = 0.5  # share of rows from which misfit is less than sampling error
_BY_CHANCE = 0.05  # probability that any pair of unrelated items exceeds the floor
# Of unrelated items without ties Spearman's correlation has the standard error 1/√n, and its latent
# form 2 sin(π r_S / 6), whose slope at 0 is π/3, has (π/3)/√n.
_SPREAD = math.pi / 3
LEAST_VARIANCE = 0.05  # of what is left of an item


def search_sequential(
    evaluator: Evaluator, bars: Barcode, rules: Rules, progress: Progress = None
) -> Outcome:
    """Search as :func:`search_tree`, then round by round; keep the first unless beaten clearly.

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
    plain = replace(search_tree(evaluator, bars, rules, progress), in_turn=True)
    n_obs = float(evaluator.n_obs)
    if not _leaves_something(evaluator, plain.best, bars.item_names, rules, n_obs):
        return plain
    trial = evaluator.afresh(roughly=evaluator.n_items > MANY_ITEMS)

    def improve(n: float) -> Fitted:
        for start in _starts(trial, plain.best, bars, rules, n, progress):
            best = _completed_jointly(trial, start, bars.item_names, rules, n)
            trial.fit(complete(trial, best.proposal.support, rules, n, SEQUENTIAL))
        return trial.reconsidered_best(rules.criterion, n)

    found, n = improve(n_obs), n_obs
    worth = trial.worth(found) if rules.approximate and found.n_factors else n
    if worth < _ABOUT_THE_SAME * n:  # explained with all rows counted, it still misfits
        found, n = improve(worth), worth
    if not _convincing(trial, found, plain, rules.criterion):
        return plain
    best = evaluator.fit(Proposal(found.proposal.support, SEQUENTIAL))
    return replace(plain, best=best, n_effective=max(min(worth, n), plain.n_effective))


def _leaves_something(
    evaluator: Evaluator, fitted: Fitted, names: tuple[str, ...], rules: Rules, n: float
) -> bool:
    """Whether a structure lacks a loading, or its estimate leaves a clique above chance.

    One with factors that are the main one of few items may explain everything, in too many parts.
    """
    if not fitted.n_factors or len(minor_factors(fitted, rules.min_children)):
        return True
    price = price_of_cross_loading(rules.criterion, fitted.proposal.support, n)
    if find_missing_loadings(evaluator.R, fitted, n, price).any():
        return True
    left = _barcode_of(_unexplained(evaluator.R, fitted.estimate), names, rules)
    return len(_new_cliques(left, fitted.n_factors, n)) > 0


def _convincing(evaluator: Evaluator, found: Fitted, plain: Outcome, criterion: str) -> bool:
    """Whether a structure explains what the plain one leaves, at a clearly lower criterion."""
    n = plain.n_effective
    if plain.best.cost(criterion, n) - found.cost(criterion, n) < CLEARLY_LOWER:
        return False
    return evaluator.misfit(found) <= evaluator.misfit(plain.best) / 2


def _starts(
    evaluator: Evaluator, plain: Fitted, bars: Barcode, rules: Rules, n: float, progress: Progress
) -> Iterator[Fitted]:
    """Yield structures to go on from.

    With few items every round is settled, and the last that was better than those before is the
    start. With many that is dear, and two starts are not: the plain structure and the cliques of
    all rounds, each settled once.
    """
    nothing = evaluator.fit(no_factors(evaluator.n_items))
    rounds = track(_cliques_in_turn(evaluator.R, bars, rules, n), progress, "rounds")
    if evaluator.n_items > MANY_ITEMS:
        yield settle_loadings(evaluator, plain.proposal.support, rules, n)
        most = evaluator.n_items // rules.min_children
        for cliques in deque(takewhile(lambda one: one.shape[1] <= most, rounds), maxlen=1):
            yield settle_loadings(evaluator, cliques, rules, n)
    else:
        settled = (settle_loadings(evaluator, cliques, rules, n) for cliques in rounds)
        yield _while_better(settled, nothing, rules.criterion, n)


def _cliques_in_turn(R: FloatArray, bars: Barcode, rules: Rules, n: float) -> Iterator[BoolArray]:
    """Yield the cliques found so far, each round explaining factors by their unique members.

    That is exact, however many factors are still unknown, if these members have no other parent.
    """
    M, known = R, 0
    cliques = np.zeros((len(R), 0), dtype=bool)
    while len(taken := _new_cliques(bars, known, n)):
        cliques = np.unique(np.hstack([cliques, bars.members[taken].T]), axis=1)
        if cliques.shape[1] == known:
            return
        yield cliques
        known = cliques.shape[1]
        M = condition_on(M, bars, taken)
        bars = _barcode_of(M, bars.item_names, rules)


def _explained_jointly(
    evaluator: Evaluator, found: Fitted, names: tuple[str, ...], rules: Rules, n: float
) -> Iterator[Fitted]:
    """Go round by round, each explaining factors by the joint estimate, which has less noise."""
    while True:
        bars = _barcode_of(_unexplained(evaluator.R, found.estimate), names, rules)
        taken = _new_cliques(bars, found.n_factors, n)
        if not len(taken):
            return
        support = np.unique(np.hstack([found.proposal.support, bars.members[taken].T]), axis=1)
        found = settle_loadings(evaluator, support, rules, n)
        yield found


def _completed_jointly(
    evaluator: Evaluator, start: Fitted, names: tuple[str, ...], rules: Rules, n: float
) -> Fitted:
    """Simplify, explain the rest by joint estimates, and simplify again."""
    best = simplify(evaluator, start, rules, n)
    rounds = _explained_jointly(evaluator, best, names, rules, n)
    best = _while_better(rounds, best, rules.criterion, n)
    return simplify(evaluator, best, rules, n)


def _while_better(rounds: Iterator[Fitted], best: Fitted, criterion: str, n: float) -> Fitted:
    """Go on as long as every round lowers the criterion; return the last that did."""
    for fitted in rounds:
        if fitted.cost(criterion, n) >= best.cost(criterion, n):
            break
        best = fitted
    return best


def _new_cliques(bars: Barcode, d: int, n: float) -> IntArray:
    """Cliques to take for factors when ``d`` are explained, each at the price of a row."""
    return choose_plain_cliques(bars, chance_floor(max(n - d, 2.0), len(bars.item_names)))


def _unexplained(R: FloatArray, estimate: FactorEstimate) -> FloatArray:
    """Covariances that a joint estimate leaves."""
    left: FloatArray = R - estimate.loadings @ estimate.factor_correlations @ estimate.loadings.T
    return left


def _barcode_of(M: FloatArray, names: tuple[str, ...], rules: Rules) -> Barcode:
    """Barcode of covariances, as correlations."""
    sd = np.sqrt(np.maximum(np.diag(M), LEAST_VARIANCE))
    return barcode(np.clip(M / np.outer(sd, sd), -1.0, 1.0), names, rules.min_children)


def chance_floor(n: float, p: int) -> float:
    """Dependence that the strongest of all pairs of unrelated items exceeds in 1 of 20 samples."""
    return float(-_SPREAD * ndtri(_BY_CHANCE / (p * (p - 1))) / np.sqrt(n))


_SHARE = 0.5  # of the largest weight: the plainest half of the scale first, what they hide later
_LEAST, _TINY = 0.05, 1e-3  # share of a variance; covariance to divide by
_MOSTLY_NEW = 2 / 3  # share of items not taken in this round from which a clique is another factor


def choose_plain_cliques(barcode: Barcode, floor: float) -> IntArray:
    """Positions of the bars to take for factors in one round.

    A clique weighs w = persistence · (size − 1): how far it stands out, in how many ties of each of
    its items. Those of at least half the largest weight are taken, the heaviest first, if two
    thirds of their items are new. Small tight cliques, such as items that share two parents, are
    left for later rounds, when they are explained or not. So are cliques of more than half of the
    items, the general factor that correlated factors look like from afar.

    Parameters
    ----------
    barcode
        Of the dependence that is not explained yet.
    floor
        Dependence that comes by chance; a clique must hold above it.
    """
    p = len(barcode.item_names)
    weight: FloatArray = barcode.persistence * (barcode.sizes - 1)
    usable = (barcode.deaths > floor) & (barcode.sizes <= p / 2)
    least = _SHARE * weight[usable].max(initial=0.0)
    covered = np.zeros(p, dtype=bool)
    taken = []
    for b in np.argsort(-weight, kind="stable"):
        clique = barcode.sets[b]
        if not usable[b] or weight[b] < least:
            continue
        if (~covered[clique]).sum() >= max(_MOSTLY_NEW * len(clique), 2):
            taken.append(b)
            covered[clique] = True
    return np.array(taken, dtype=np.int64)


def condition_on(M: FloatArray, barcode: Barcode, taken: IntArray) -> FloatArray:
    """Covariances of the items given the factors that bars stand for.

    M − C Φ⁻¹ Cᵀ, where the covariances C of the items with a factor, and Φ of the factors, are
    those with a weighted sum of its unique members, which measure nothing else (Bartlett's
    weights).

    Parameters
    ----------
    M
        (p, p) covariances given the factors of earlier rounds.
    barcode, taken
        Of M as correlations, and the positions of the bars.
    """
    W, L = np.zeros((2, len(M), len(taken)))
    for k, b in enumerate(taken):
        pure = np.flatnonzero(barcode.unique_members[b])
        _measure(M, pure, np.flatnonzero(barcode.members[b]), W[:, k], L[:, k])
    known = W.any(axis=0)
    W, L = W[:, known], L[:, known]
    C, Phi = M @ W, W.T @ M @ W
    C[W != 0] = L[W != 0]  # an item's own error is no covariance with the factor
    np.fill_diagonal(Phi, 1.0)
    values, V = np.linalg.eigh(Phi)
    rest: FloatArray = M - C @ (V / np.maximum(values, _LEAST)) @ V.T @ C.T
    return rest


def _measure(
    M: FloatArray, pure: IntArray, clique: IntArray, w: FloatArray, lam: FloatArray
) -> None:
    """Write the weights and loadings of the unique members of a clique into two columns."""
    h = np.array([_common(M, j, pure, clique) for j in pure])
    total = np.diag(M)[pure]
    good = h > _LEAST * total  # not NaN
    if not good.any():
        return
    pure, total = pure[good], total[good]
    h = np.minimum(h[good], (1 - _LEAST) * total)
    block = M[np.ix_(pure, pure)]
    first = int(np.abs(block).sum(axis=0).argmax())
    loading = np.sqrt(h) * np.where(block[first] < 0, -1.0, 1.0)
    weight = loading / (total - h)
    w[pure], lam[pure] = weight / (weight @ loading), loading


def _common(M: FloatArray, j: int, pure: IntArray, clique: IntArray) -> float:
    """Variance of item j that its factor explains, from triads: M_ja M_jb / M_ab.

    Exact if a is another unique member. Without one, pairs with a second parent in common have
    too large an M_ab, so that the upper quartile is taken.
    """
    others = clique[clique != j]
    partners = np.intersect1d(pure, others)
    share = 0.5 if len(partners) else 0.75
    a = partners if len(partners) else others
    top = M[j, a][:, None] * M[j, others]
    bottom = M[np.ix_(a, others)]
    usable = (a[:, None] != others) & (np.abs(bottom) > _TINY)
    return float(np.quantile(top[usable] / bottom[usable], share)) if usable.any() else np.nan
