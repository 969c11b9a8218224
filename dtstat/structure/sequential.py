"""Factors that have unique children in some order: what can be found round by round.

Condition 1 of the paper asks that every factor have a child of its own. Less is enough. Let E be
the factors already found. Given them, items follow the factor model of the others,

    Cov(X | η_E) = Λ_U Φ_{U|E} Λ_Uᵀ + Θ

(U: the factors left, Φ_{U|E} their conditional covariance) with the same loadings Λ_U, so that
conditional dependence has the parent-sharing graph of U alone. An item whose other parents are all
in E is a unique child there.

Condition. In rounds, take away every factor whose child set is an independent maximal clique of
the parent-sharing graph of the factors left. In every round each such clique is the child set of
one factor; before the last round such factors have two unique children (items without another
parent among the factors left); and in the end no factor is left.

Condition 1 of the paper is the case of one round. It suffices that some order of the factors gives
each of them two unique children after those before it are explained, and that no items form a
clique in any round but the children of one factor.

Proposition. If the condition holds, and conditional dependence is thresholdable in every round (as
the paper defines it: pairs with a parent in common among the factors left depend more than all
others), then dependence determines the structure.

Proof. If u is a unique child of k in a round, all its neighbours are children of k, which are
joined to each other, so that its closed neighbourhood ch(k) is a maximal clique with u in no other:
it is found (Lemma 1 of the paper, of which this half needs the unique child of k only). Conversely,
an independent maximal clique is the closed neighbourhood of one of its members v, the union of the
child sets of v's parents. By the condition that is the child set of one factor, so nothing else is
found. Let M = Cov(X | η_E), and u, v two unique children of k. M_iu = λ_u c_i, with c_i the
covariance of item i ≠ u with η_k given η_E; hence λ_u / λ_v = M_iu / M_iv for a third child i, the
variance of u that k explains is h_u = M_uv M_iu / M_iv, and

    Cov(X_i, X_j | η_E, η_k) = M_ij − M_iu M_ju / h_u,   M_uu replaced by h_u on the right,

is determined; several factors of a round in the same way, with the matrix of the h and M_uu'.
Hence the next round can begin. ∎

Thresholdable rounds are enough, not necessary. The search lets every clique have its own threshold,
as the barcode does, and a criterion choose; it needs child sets that outweigh the cliques that are
none, such as items which share two parents that are both still hidden.

With one unique child the clique is found, but how much of the dependence it explains is not
determined. Which zeros are the right ones is determined only if loadings are not in proportion: if
all items of j load on k as well, in proportion to their loadings on j, the model is that of two
correlated factors without those loadings (:mod:`dtstat.estimation.factors.turning`). So it is if
all children of a factor share one second parent: it is a matter of taste which of two equivalent
models is written down.
"""

from __future__ import annotations

import numpy as np

from dtstat.arrays import BoolArray, FloatArray, IntArray
from dtstat.structure.barcode import Barcode
from dtstat.structure.cliques import simplicial

_TO_EXPLAIN = 2  # unique children that determine what a factor explains
_SHARE = 0.5  # of the largest weight: the plainest half of the scale first, what they hide later
_LEAST, _TINY = 0.05, 1e-3  # share of a variance; covariance to divide by
_MOSTLY_NEW = 2 / 3  # share of items not taken in this round from which a clique is another factor


def explaining_rounds(support: BoolArray) -> list[IntArray] | None:
    """Return the factors found in each round of the population; None if some are never found.

    Parameters
    ----------
    support
        (p, d) which item is a child of which factor.

    Examples
    --------
    >>> import numpy as np
    >>> support = np.array([[1, 0], [1, 0], [1, 1], [1, 1]], dtype=bool)
    >>> [found.tolist() for found in explaining_rounds(support)]
    [[0], [1]]
    """
    left = np.arange(support.shape[1])
    rounds: list[IntArray] = []
    while len(left):
        found = _found(support[:, left])
        if found is None or not len(found):
            return None
        own = support[support[:, left].sum(axis=1) == 1].sum(axis=0)
        if len(found) < len(left) and own[left[found]].min() < _TO_EXPLAIN:
            return None
        rounds.append(left[found])
        left = np.delete(left, found)
    return rounds


def _found(A: BoolArray) -> IntArray | None:
    """Factors that are independent maximal cliques; None if other cliques are, or two are one."""
    columns = {column.tobytes(): k for k, column in enumerate(np.ascontiguousarray(A.T))}
    cliques = _cliques(A)
    if len(columns) < A.shape[1] or not cliques <= set(columns):
        return None
    return np.array(sorted(columns[clique] for clique in cliques), dtype=np.int64)


def _cliques(A: BoolArray) -> set[bytes]:
    """Independent maximal cliques of the parent-sharing graph, of items that have a parent."""
    S = A.astype(np.float32)
    closed = (S @ S.T) > 0
    own = np.flatnonzero(simplicial(closed) & A.any(axis=1))
    return {closed[u].tobytes() for u in own}


def plainest_cliques(barcode: Barcode, floor: float) -> IntArray:
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
        clique = barcode.members[b]
        if not usable[b] or weight[b] < least:
            continue
        if (clique & ~covered).sum() >= max(_MOSTLY_NEW * clique.sum(), 2):
            taken.append(b)
            covered |= clique
    return np.array(taken, dtype=np.int64)


def conditioned(M: FloatArray, barcode: Barcode, taken: IntArray) -> FloatArray:
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
