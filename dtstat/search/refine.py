"""Structures made better step by step: loadings added and dropped, factors turned and merged.

Cliques find an item with two parents only if it depends on all children of both by more than the
threshold. Here the fitted model itself says which loading it lacks:

- :func:`refine` adds and drops one loading at a time, around the best structures of a search; from
  200 items on it first adds all that pay at once, since whole models of so many are dear to fit;
- :func:`settle_loadings` lets all items gain and lose loadings at once, where structures have
  hundreds of them, and :func:`simplify` turns, leaves out and merges factors;
- :func:`merge_while_better` joins factors that the criterion does not keep apart.

**Missing loadings** (score test). With P = Σ⁻¹, E = R − Σ and B = PΛΦ, the log-likelihood per row
rises along λ_ik by g_ik = (P E B)_ik, and the loadings of item i have the information
I = P_ii ΦΛᵀB + b_i b_iᵀ. At the maximum g is zero for the parents S of the item, which give way to
a new one, so that the expected gain, twice the log-likelihood, is (Sörbom 1989)

    n g_ik² / (I_kk − I_kS I_SS⁻¹ I_Sk).

**Turned factors**. Put η_j − c η_k in place of η_j. The covariances of the items are the same if
every item of j has the loading λ_ik + c λ_ij on k in place of λ_ik: items of j alone come to load
on k, in proportion to their loadings on j, and items with λ_ik = −c λ_ij no longer do. So zeros
that a factor model has by nature can be hidden behind others, until the factor is turned back.
Turning saves Σ_i [π 1(λ_ik ≠ 0) − min(π, n (λ_ik + c λ_ij)² / θ_i)] over the items i of j, if a
loading costs π and leaving one out costs n λ² / θ.

References
----------
Sörbom, D. (1989). Model modification. Psychometrika 54, 371–384.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.parallel import Progress, track
from dtstat.factors.copula import FactorEstimate
from dtstat.factors.maximum_likelihood import MANY_ITEMS
from dtstat.search.criteria import SALIENT, price_of_cross_loading, price_of_structure
from dtstat.search.evaluate import Evaluator
from dtstat.search.records import SEQUENTIAL, Fitted, Outcome, Proposal, Rules

_STARTS = 3  # structures to start from, the best
_ORIGIN = "refined"
_TRIES = 5  # loadings tried at each step, the most promising
_MOST_ROUNDS = 12  # they settle in two or three, rarely more
_MOST_ALONE = 5  # factors that are left out one at a time
Pair = tuple[int, int]
_NOTHING = 1e-9  # share of the information about a loading that its item's parents leave
_PART = 0.5  # of the median size of a factor
_FEWEST = 2  # items of j that load on k, from which a turn can save any


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
    same = [one for one in evaluator.fitted if one.n_factors == found.best.n_factors]
    same.sort(key=lambda one: (one is not found.best, one.cost(criterion, n)))
    starts = same[:_STARTS]
    if evaluator.n_items >= MANY_ITEMS:
        starts = [_add_what_pays(evaluator, start, rules, n) for start in starts]
    ends = [_climb(evaluator, start, rules, n) for start in track(starts, progress, "refining")]
    return replace(found, best=min([found.best, *ends], key=lambda one: one.cost(criterion, n)))


def _add_what_pays(evaluator: Evaluator, current: Fitted, rules: Rules, n: float) -> Fitted:
    """Add many loadings at once, as long as the criterion falls."""
    while current.n_factors:
        support = current.proposal.support
        price = price_of_cross_loading(rules.criterion, support, n)
        new = find_missing_loadings(evaluator.R, current, n, price)
        found = evaluator.fit(Proposal(support | new, _ORIGIN))
        if not np.array_equal(found.proposal.support, support | new):  # known in another order
            break
        if not _new_are_salient(found, current):
            evaluator.reject(found)
            new &= np.abs(found.estimate.loadings) >= SALIENT
            found = evaluator.fit(Proposal(support | new, _ORIGIN))
        if found.cost(rules.criterion, n) >= current.cost(rules.criterion, n):
            break
        current = found
    return current


def _climb(evaluator: Evaluator, current: Fitted, rules: Rules, n: float) -> Fitted:
    while True:
        tried = [evaluator.fit(one) for one in _neighbors(evaluator, current, rules)]
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


def _neighbors(evaluator: Evaluator, current: Fitted, rules: Rules) -> Iterator[Proposal]:
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


def simplify(evaluator: Evaluator, current: Fitted, rules: Rules, n: float) -> Fitted:
    """Turn, leave out and merge factors while the criterion falls."""
    while True:
        before = current
        for support in _simpler(before, rules, n):
            found = settle_loadings(evaluator, support, rules, n)
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
    after = turn_factors(estimate, support, n, price_of_cross_loading(rules.criterion, support, n))
    if after is not None:
        yield after
    fewest = rules.min_children
    if len(support) > MANY_ITEMS:  # found as a tree finds them: small ones may be parts of others
        fewest = max(fewest, int(_PART * np.median(support.sum(axis=0))))
    few = minor_factors(fitted, fewest)
    together = [few] if len(few) > 1 else []
    for some in [*together, *few[:_MOST_ALONE, None]]:
        yield np.delete(support, some, axis=1)


def minor_factors(fitted: Fitted, min_children: int) -> IntArray:
    """Return the factors on which fewer items than a factor must have load most."""
    support = fitted.proposal.support
    main = _main_factor(fitted.estimate)[support.any(axis=1)]
    return np.flatnonzero(np.bincount(main, minlength=support.shape[1]) < min_children)


def _main_factor(estimate: FactorEstimate) -> IntArray:
    """(p,) the factor of each item's largest loading."""
    main: IntArray = np.abs(estimate.loadings).argmax(axis=1)
    return main


def settle_loadings(evaluator: Evaluator, support: BoolArray, rules: Rules, n: float) -> Fitted:
    """Let items gain and lose loadings until none does; factors left too small are dropped.

    What was lost is not gained again. Structures on the way whose second loadings are not all
    salient are no answers: they are left out of the comparison.
    """
    price = price_of_cross_loading(rules.criterion, support, n)
    lost = np.zeros_like(support)
    for _ in range(_MOST_ROUNDS):
        support, first = np.unique(support, axis=1, return_index=True)
        large = support.sum(axis=0) >= rules.min_children
        support, lost = support[:, large], lost[:, first[large]]
        fitted = evaluator.fit(Proposal(support, SEQUENTIAL))
        if not fitted.n_factors:
            break
        if not np.array_equal(fitted.proposal.support, support):  # known in another order
            support = fitted.proposal.support
            lost[:, np.unique(support, axis=1, return_index=True)[1]] = lost.copy()
        if not _second_are_salient(fitted):
            evaluator.reject(fitted)
        lost |= support & ~_earns_its_price(fitted.estimate, n, price)
        changed = (support | find_missing_loadings(evaluator.R, fitted, n, price)) & ~lost
        if (changed == support).all():
            break
        support = changed
    return fitted


def _earns_its_price(estimate: FactorEstimate, n: float, price: float) -> BoolArray:
    """(p, d) loadings whose loss would cost more than their price: n log(1 + λ² / θ).

    Those that are not salient are lost too, unless they are the largest of their items.
    """
    gain = n * np.log1p(estimate.loadings**2 / estimate.uniquenesses[:, None])
    paid: BoolArray = (gain > price) & _salient_or_largest(estimate)
    return paid


def _salient_or_largest(estimate: FactorEstimate) -> BoolArray:
    """(p, d) loadings that are salient, or the largest of their items."""
    size = np.abs(estimate.loadings)
    marks: BoolArray = (size >= SALIENT) | (size == size.max(axis=1, keepdims=True))
    return marks


def _second_are_salient(fitted: Fitted) -> bool:
    return bool(_salient_or_largest(fitted.estimate)[fitted.proposal.support].all())


def find_missing_loadings(R: FloatArray, fitted: Fitted, n: float, price: float) -> BoolArray:
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


def merge_while_better(evaluator: Evaluator, current: Fitted, criterion: str, n: float) -> Fitted:
    """Join pairs of factors as long as the criterion falls.

    Fine-grained cliques may be parts of one factor. Whether two are, is first asked of their own
    items, one factor against two; the pairs that would rather be one are joined all at once, or
    if that is worse the most convincing pair alone, and the whole model is fitted.

    Parameters
    ----------
    evaluator
        Where structures are fitted.
    current
        Where to start.
    criterion, n
        An information criterion, and what the rows count as.
    """
    while True:
        pairs = _pairs_to_join(evaluator, current, criterion, n)
        tries = [pairs, pairs[:1]] if len(pairs) > 1 else [pairs] if pairs else []
        for some in tries:
            joined = evaluator.beats(_joined(current.proposal, some), current, criterion, n)
            if joined is not None:
                current = joined
                break
        else:
            return current


def _pairs_to_join(evaluator: Evaluator, current: Fitted, criterion: str, n: float) -> list[Pair]:
    """Disjoint pairs whose items alone prefer one factor, the most convincing first."""
    gains = ((_gain(evaluator, current, pair, criterion, n), pair) for pair in _partners(current))
    chosen: list[Pair] = []
    taken: set[int] = set()
    for gain, pair in sorted(gains, reverse=True):
        if gain > 0 and taken.isdisjoint(pair):
            chosen.append(pair)
            taken.update(pair)
    return chosen


def _partners(current: Fitted) -> Iterator[Pair]:
    """Each factor with the one it correlates with most."""
    if current.n_factors < 2:
        return
    Phi = np.abs(current.estimate.factor_correlations)
    closest = (Phi - np.eye(len(Phi))).argmax(axis=1)
    yield from sorted({(min(j, int(k)), max(j, int(k))) for j, k in enumerate(closest)})


def _gain(evaluator: Evaluator, current: Fitted, pair: Pair, criterion: str, n: float) -> float:
    """Fall of the criterion if the two were one, by the likelihood of their items alone."""
    support = current.proposal.support
    two = support[:, list(pair)]
    items = np.flatnonzero(two.any(axis=1))
    apart = evaluator.block_log_likelihood(items, two[items])
    joined = evaluator.block_log_likelihood(items, np.ones((len(items), 1), dtype=bool))
    after = _joined(current.proposal, [pair]).support
    k = current.n_parameters
    fewer = k - (current.n_factors - 1) - int(support.sum() - after.sum())
    saved = price_of_structure(criterion, support, k, n)
    saved -= price_of_structure(criterion, after, fewer, n)
    return saved - 2 * n * (apart - joined)


def _joined(proposal: Proposal, pairs: list[Pair]) -> Proposal:
    support = proposal.support.copy()
    for j, k in pairs:
        support[:, j] |= support[:, k]
    kept = np.delete(support, [k for _, k in pairs], axis=1)
    return Proposal(kept, "merged")


def expected_gains(R: FloatArray, estimate: FactorEstimate, support: BoolArray) -> FloatArray:
    """(p, d) expected gains per row; zero where there is a loading.

    Parameters
    ----------
    R
        (p, p) correlations.
    estimate, support
        The fitted model, and its (p, d) loadings.

    Notes
    -----
    Cost: 4 p²d; nothing of size p × p is inverted.
    """
    gradient, B, P_ii, H = _score(R, estimate)
    information = np.outer(P_ii, H.diagonal()) + B**2
    left = information.copy()
    n_parents = support.sum(axis=1)
    for m in np.unique(n_parents[n_parents > 0]):
        items = np.flatnonzero(n_parents == m)
        S = np.nonzero(support[items])[1].reshape(-1, m)
        own = B[items[:, None], S]
        I_S = P_ii[items, None, None] * H[S] + own[:, :, None] * B[items, None, :]
        I_SS = np.take_along_axis(I_S, S[:, None, :], axis=2)
        left[items] -= (I_S * np.linalg.solve(I_SS, I_S)).sum(axis=1)
    known = support | (left <= _NOTHING * information)
    gains: FloatArray = np.where(known, 0.0, gradient**2 / np.where(known, 1.0, left))
    return gains


def _score(
    R: FloatArray, estimate: FactorEstimate
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return g, B, the diagonal of P, and H = ΦΛᵀB, by Woodbury's identity for P."""
    L, Phi, psi = estimate.loadings, estimate.factor_correlations, estimate.uniquenesses
    W = L / psi[:, None]
    V = np.linalg.solve(np.eye(len(Phi)) + Phi @ (L.T @ W), Phi)
    WV = W @ V

    def by_P(X: FloatArray) -> FloatArray:
        product: FloatArray = X / psi[:, None] - WV @ (W.T @ X)
        return product

    B = by_P(L @ Phi)
    EB = R @ B - L @ (Phi @ (L.T @ B)) - psi[:, None] * B
    P_ii = 1 / psi - (WV * W).sum(axis=1)
    return by_P(EB), B, P_ii, Phi @ (L.T @ B)


def turn_factors(
    estimate: FactorEstimate, support: BoolArray, n: float, price: float
) -> BoolArray | None:
    """(p, d) support with all factors turned for which that saves loadings; None if for none.

    Parameters
    ----------
    estimate, support
        A fitted model, and its loadings.
    n, price
        What the rows count as, and what a loading costs.
    """
    A = support.astype(np.float32)
    shared = A.T @ A
    np.fill_diagonal(shared, 0.0)
    turns = [
        (*_turn(estimate, support, j, k, n, price), j, k) for j, k in np.argwhere(shared >= _FEWEST)
    ]
    changed = support.copy()
    used: set[int] = set()
    for saved, after, j, k in sorted(turns, key=lambda turn: -turn[0]):
        if saved > 0 and used.isdisjoint((j, k)):
            changed[support[:, j], k] = after
            used |= {j, k}
    return changed if used else None


def _turn(
    estimate: FactorEstimate, support: BoolArray, j: int, k: int, n: float, price: float
) -> tuple[float, BoolArray]:
    """Return what turning j toward k saves, and which items of j then load on k."""
    items = support[:, j]
    own, other = estimate.loadings[items, j], estimate.loadings[items, k]
    theta = estimate.uniquenesses[items]
    c = _ratio(own, -other, own**2 / theta, support[items, k])
    loss: FloatArray = n * (other + c * own) ** 2 / theta
    saved = price * support[items, k].sum() - np.minimum(loss, price).sum()
    return float(saved), loss > price


def _ratio(own: FloatArray, other: FloatArray, weight: FloatArray, both: BoolArray) -> float:
    """Weighted median of other / own where both are loadings, so that outliers have no say."""
    usable = both & (own != 0)
    if not usable.any():
        return 0.0
    ratio, w = other[usable] / own[usable], weight[usable]
    order = ratio.argsort()
    return float(ratio[order][np.searchsorted(w[order].cumsum(), w.sum() / 2)])
