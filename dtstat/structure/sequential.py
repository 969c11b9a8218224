"""Cliques that show only when other factors are explained: a heuristic, round by round.

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
(:mod:`dtstat.estimation.factors.turning`). The search proposes structures; a criterion chooses, and
how often the choice is right is what simulations show.
"""

from __future__ import annotations

import numpy as np

from dtstat.arrays import FloatArray, IntArray
from dtstat.structure.barcode import Barcode

_SHARE = 0.5  # of the largest weight: the plainest half of the scale first, what they hide later
_LEAST, _TINY = 0.05, 1e-3  # share of a variance; covariance to divide by
_MOSTLY_NEW = 2 / 3  # share of items not taken in this round from which a clique is another factor


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
