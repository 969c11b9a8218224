"""Second loadings and hidden factors of very many items, at a cost that grows with the edges.

The edges are the pairs of items that depend most. :func:`refine_many` is for very many items what
:mod:`dtstat.search.refine`, and :func:`explain_in_turn` what :mod:`dtstat.search.sequential` is for
fewer: the rules are theirs, estimates those of :mod:`dtstat.factors.crossed`. The score test of the
former needs nothing of size p × p or p × d: with W, G, V and the factor scores F, (d, n), of
:class:`dtstat.factors.blockwise.GivenItems`,

    B = PΛΦ = W V,   (E B)_ik = z_i·f_k / n − (ΛΦ)_ik,   P_ii = 1/ψ_i − (W V Wᵀ)_ii,
    g_ik = (E B)_ik / ψ_i − (W V D)_ik,   D = WᵀE B = WᵀZ Fᵀ / n − G Φ,   ΦΛᵀB = Φ − V.

Each is a sum over the few factors S of item i, and one product of answers with scores. Estimates of
blocks are not those of largest likelihood, so that g_iS is near zero only: what counts is

    n (g_ik − I_kS I_SS⁻¹ g_iS)² / (I_kk − I_kS I_SS⁻¹ I_Sk).

An item is asked about the factors of its neighbors in the graph of the strongest pairs, and new
factors are cliques of what the model leaves of these pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, hstack

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.parallel import Jobs, Progress, track
from dtstat.factors.blockwise import GivenItems, judge_blocks
from dtstat.factors.crossed import CrossedModel, fit_crossed, parents
from dtstat.search.criteria import SALIENT, price_of_cross_loading
from dtstat.search.records import TREE, Proposal, Rules, Scored
from dtstat.search.sequential import (
    CLEARLY_LOWER,
    LEAST_VARIANCE,
    chance_floor,
    choose_plain_cliques,
)
from dtstat.structure.barcode import Barcode, sparse_barcode
from dtstat.structure.composites import Neighbors

_MOST_ROUNDS = 12  # they settle in two or three, rarely more
_ITEMS_PER_BLOCK = 512
_NUMBERS_AT_ONCE = 10_000_000  # 80 MB
_LESS = 0.1  # fall of the criterion that is more than the last steps of a search
_NOTHING = 1e-9  # share of the information about a loading that its item's factors leave


def refine_many(
    Z: FloatArray,
    model: CrossedModel,
    neighbors: Neighbors | None,
    rules: Rules,
    n: float,
    progress: Progress = None,
) -> CrossedModel:
    """Add the second loadings that pay, and drop those that turn out not to.

    Parameters
    ----------
    Z
        (p, n) items of mean 0 and variance 1, one per row.
    model
        Where to start.
    neighbors
        Graph of the strongest pairs; if None every item is asked about all factors.
    rules
        Criterion and size of factors.
    n
        What the rows count as.
    progress
        True for a bar, or a function of (done, total).
    """
    lost = csr_array(model.loadings.shape, dtype=bool)
    best = found = fit_crossed(Z, model)
    least = _cost(Z, best, rules, n)
    for _ in track(range(_MOST_ROUNDS), progress, "refining"):
        price = price_of_cross_loading(rules.criterion, found.support, n)
        new = _missing_loadings(Z, found, neighbors, lost, n, price)
        if not new.nnz:
            break
        found = fit_crossed(Z, found.with_support(_marks(found.loadings) + new))
        kept = _worth_keeping(found, n, price)
        if kept.nnz < found.loadings.nnz:
            lost = lost + (_marks(found.loadings) > kept)
            large = _large_factors(found, rules.min_children)
            found = fit_crossed(Z, found.with_support(kept).with_factors(large))
            lost = lost[:, large]
        cost = _cost(Z, found, rules, n)
        if cost > least - _LESS:
            break
        best, least = found, cost
    return best


def explain_in_turn(
    Z: FloatArray,
    plain: CrossedModel,
    neighbors: Neighbors,
    names: tuple[str, ...],
    rules: Rules,
    n: float,
    n_jobs: Jobs = None,
    progress: Progress = None,
) -> CrossedModel:
    """Refine, and go on with cliques of what is left as new factors while the criterion falls.

    The plain model stands unless another explains clearly more, as in
    :mod:`dtstat.search.sequential`; the rows count as ``n`` when they are compared.
    """
    rows = Z.shape[1]
    found = refine_many(Z, plain, neighbors, rules, n, progress)
    least = _cost(Z, found, rules, n)
    while True:
        bars = _barcode_of_rest(Z, found, neighbors, names, rules, n_jobs)
        floor = chance_floor(max(rows - found.loadings.shape[1], 2.0), len(Z))
        taken = choose_plain_cliques(bars, floor)
        if not len(taken):
            break
        wider = _with_factors(Z, found, [bars.sets[b] for b in taken])
        tried = _join_closest(Z, refine_many(Z, wider, neighbors, rules, n, progress), rules, n)
        cost = _cost(Z, tried, rules, n)
        if cost > least - _LESS:
            break
        found, least = tried, cost
    before, after = (1 / judge_blocks(Z, one).n_effective - 1 / rows for one in (plain, found))
    clearly = _cost(Z, plain, rules, n) - least >= CLEARLY_LOWER
    return found if clearly and after <= before / 2 else plain


def _barcode_of_rest(
    Z: FloatArray,
    model: CrossedModel,
    neighbors: Neighbors,
    names: tuple[str, ...],
    rules: Rules,
    n_jobs: Jobs,
) -> Barcode:
    """Barcode of the partial correlations that a model leaves of the pairs of the graph."""
    L, Phi = model.loadings, model.factor_correlations
    p, rows = Z.shape
    explained = np.zeros(p)
    rest = np.empty(len(neighbors.items))
    for start in range(0, p, _ITEMS_PER_BLOCK):
        at = slice(start, min(start + _ITEMS_PER_BLOCK, p))
        along = L[at] @ Phi
        explained[at] = (L[at] * along).sum(axis=1)
        for i in range(at.start, at.stop):
            edges = slice(neighbors.starts[i], neighbors.starts[i + 1])
            others = neighbors.items[edges]
            rest[edges] = Z[others] @ Z[i] / rows - L[others] @ along[i - start]
    sd = np.sqrt(np.maximum(1 - explained, LEAST_VARIANCE))
    ends = np.repeat(np.arange(p), np.diff(neighbors.starts)), neighbors.items
    strength = np.minimum(np.abs(rest) / (sd[ends[0]] * sd[ends[1]]), 1.0)
    floor = chance_floor(float(rows), p)
    kept = strength > floor
    starts = np.concatenate([[0], np.cumsum(np.bincount(ends[0][kept], minlength=p))])
    graph = starts.astype(np.int64), neighbors.items[kept], strength[kept]
    return sparse_barcode(*graph, floor, names, rules.min_children, n_jobs)


def _with_factors(Z: FloatArray, model: CrossedModel, cliques: list[IntArray]) -> CrossedModel:
    """Add a factor for each clique, uncorrelated at first: the first component of what is left."""
    L, Phi = model.loadings, model.factor_correlations
    columns = [L]
    for items in cliques:
        part = L[items]
        left = Z[items] @ Z[items].T / Z.shape[1] - part @ Phi @ part.T
        np.fill_diagonal(left, 0.0)
        values, vectors = np.linalg.eigh(left)
        own = np.clip(vectors[:, -1] * np.sqrt(max(values[-1], 0.0)), -0.9, 0.9)
        at = items, np.zeros(len(items), dtype=np.int64)
        columns.append(csr_array((own, at), shape=(len(Z), 1)))
    d, k = len(Phi), len(cliques)
    wider = np.eye(d + k)
    wider[:d, :d] = Phi
    loadings = csr_array(hstack(columns, format="csr"))
    return replace(model, loadings=loadings, factor_correlations=wider)


def _join_closest(Z: FloatArray, model: CrossedModel, rules: Rules, n: float) -> CrossedModel:
    """Join the two factors that correlate most, again and again while the criterion falls."""
    least = _cost(Z, model, rules, n)
    while model.loadings.shape[1] > 1:
        Phi = model.factor_correlations
        j, k = np.unravel_index(np.triu(np.abs(Phi), 1).argmax(), Phi.shape)
        L = model.loadings.tolil()
        L[:, [j]] = L[:, [j]] + np.sign(Phi[j, k]) * L[:, [k]]
        others = np.delete(np.arange(len(Phi)), k)
        joined = replace(model, loadings=L.tocsr()).with_factors(others)
        tried = fit_crossed(Z, joined)
        cost = _cost(Z, tried, rules, n)
        if cost > least - _LESS:
            break
        model, least = tried, cost
    return model


def _large_factors(model: CrossedModel, smallest: int) -> IntArray:
    """Return the factors that are the main one of enough items."""
    main = _main_factor(model.loadings)
    sizes = np.bincount(main[main >= 0], minlength=model.loadings.shape[1])
    return np.flatnonzero(sizes >= smallest)


def _cost(Z: FloatArray, model: CrossedModel, rules: Rules, n: float) -> float:
    log_likelihood = judge_blocks(Z, model).log_likelihood
    proposal = Proposal(model.support, TREE)
    return Scored(proposal, log_likelihood, Z.shape[1]).cost(rules.criterion, n)


def _marks(loadings: csr_array) -> csr_array:
    """(p, k) where there is a loading."""
    return csr_array(
        (np.ones(loadings.nnz, dtype=bool), loadings.indices, loadings.indptr), loadings.shape
    )


def _worth_keeping(model: CrossedModel, n: float, price: float) -> csr_array:
    """Where loadings are the largest of their items, or salient and worth their price."""
    L = model.loadings.tocoo()
    size = np.abs(L.data)
    largest = np.zeros(L.shape[0])
    np.maximum.at(largest, L.row, size)
    gain = n * np.log1p(size**2 / model.uniquenesses[L.row])
    kept = (size == largest[L.row]) | ((size >= SALIENT) & (gain > price))
    at = L.row[kept], L.col[kept]
    return csr_array((np.ones(len(at[0]), dtype=bool), at), shape=L.shape)


def _missing_loadings(
    Z: FloatArray,
    model: CrossedModel,
    neighbors: Neighbors | None,
    lost: csr_array,
    n: float,
    price: float,
) -> csr_array:
    """(p, k) where items lack a loading that pays: each the one that it lacks most.

    Of the items of a factor that lack the same one only the first does, for the others may lack it
    because of that one.
    """
    p, k = model.loadings.shape
    score = _Score(Z, model)
    gain, factor = np.zeros(p), np.zeros(p, dtype=np.int64)
    known = _marks(model.loadings) + lost
    for items, factors in _candidates(model, neighbors, known):
        gains = n * score.expected_gains(items, factors)
        order = np.lexsort((factors, -gains, items))
        first = order[np.unique(items[order], return_index=True)[1]]
        gain[items[first]], factor[items[first]] = gains[first], factors[first]
    pays = np.flatnonzero(gain > price)
    pays = pays[np.argsort(-gain[pays], kind="stable")]
    main = _main_factor(model.loadings)
    first = np.unique(np.column_stack([main, factor])[pays], axis=0, return_index=True)[1]
    chosen = pays[np.sort(first)]
    at = chosen, factor[chosen]
    return csr_array((np.ones(len(chosen), dtype=bool), at), shape=(p, k))


def _main_factor(loadings: csr_array) -> IntArray:
    """(p,) the factor of each item's largest loading, −1 if it has none."""
    L = loadings.tocoo()
    order = np.argsort(np.abs(L.data), kind="stable")
    main = np.full(L.shape[0], -1)
    main[L.row[order]] = L.col[order]
    return main


def _candidates(
    model: CrossedModel, neighbors: Neighbors | None, known: csr_array
) -> Iterator[tuple[IntArray, IntArray]]:
    """Pairs of items and factors to ask about, some items at a time."""
    p, k = model.loadings.shape
    marks = _marks(model.loadings)
    has = np.diff(model.loadings.indptr) > 0
    for start in range(0, p, _ITEMS_PER_BLOCK):
        at = np.arange(start, min(start + _ITEMS_PER_BLOCK, p))
        if neighbors is None:
            asked = np.ones((len(at), k), dtype=bool)
        else:
            starts = neighbors.starts[start : at[-1] + 2]
            ends = neighbors.items[starts[0] : starts[-1]]
            graph = csr_array(
                (np.ones(len(ends), dtype=np.int32), ends, starts - starts[0]), (len(at), p)
            )
            asked = (graph @ marks.astype(np.int32)).toarray() > 0
        asked &= ~known[at].toarray() & has[at, None]
        rows, factors = np.nonzero(asked)
        if len(rows):
            yield at[rows], factors


class _Score:
    """What the score test of any loading of a model rests on."""

    def __init__(self, Z: FloatArray, model: CrossedModel) -> None:
        self.Z, self.L, self.psi = Z, model.loadings, model.uniquenesses
        self.Phi = model.factor_correlations
        T = np.linalg.cholesky(self.Phi).astype(np.float64, copy=False)
        given = GivenItems(Z, self.L, 1 / self.psi, T)
        self.V = given.V
        self.F = self.V @ given.Y
        self.VD = self.V @ (given.Y @ self.F.T / Z.shape[1] - given.G @ self.Phi)

    def expected_gains(self, items: IntArray, factors: IntArray) -> FloatArray:
        """Return the expected gain per row of loadings that some items lack."""
        gains = np.zeros(len(items))
        n_parents = np.diff(self.L.indptr)[items]
        for m in np.unique(n_parents):
            asked = np.flatnonzero(n_parents == m)
            size = max(_NUMBERS_AT_ONCE // (self.Z.shape[1] * (int(m) + 1)), 1)
            for start in range(0, len(asked), size):
                at = asked[start : start + size]
                gains[at] = self._of_parents(items[at], factors[at], int(m))
        return gains

    def _of_parents(self, i: IntArray, k: IntArray, m: int) -> FloatArray:
        """Gains of items with m factors each."""
        S = parents(self.L, i, m)
        asked = np.column_stack([S, k])
        lam = self.L.data[self.L.indptr[i][:, None] + np.arange(m)]
        psi = self.psi[i, None]
        w = lam / psi
        V = self.V[S[:, :, None], asked[:, None, :]]
        B = np.einsum("cm,cmj->cj", w, V)
        P_ii = 1 / psi[:, 0] - (B[:, :m] * w).sum(axis=1)
        Phi = self.Phi[S[:, :, None], asked[:, None, :]]
        moments = np.einsum("cn,cjn->cj", self.Z[i], self.F[asked]) / self.Z.shape[1]
        EB = moments - np.einsum("cm,cmj->cj", lam, Phi)
        g = EB / psi - np.einsum("cm,cmj->cj", w, self.VD[S[:, :, None], asked[:, None, :]])
        H = self.Phi[asked[:, :, None], asked[:, None, :]]
        H = H - self.V[asked[:, :, None], asked[:, None, :]]
        information = P_ii[:, None, None] * H + B[:, :, None] * B[:, None, :]
        I_Sk = information[:, :m, m]
        slopes = np.linalg.solve(information[:, :m, :m], I_Sk[..., None])[..., 0]
        total = information[:, m, m]
        left = total - (slopes * I_Sk).sum(axis=1)
        score = g[:, m] - (slopes * g[:, :m]).sum(axis=1)
        usable = left > _NOTHING * total
        gain: FloatArray = np.where(usable, score**2 / np.where(usable, left, 1.0), 0.0)
        return gain
