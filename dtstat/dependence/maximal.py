"""Dependence that rank correlations do not see: maximal correlation, and the pairs it uncovers.

Maximal correlation is the first canonical correlation of Hermite polynomials of normal scores. To
find items that rise and fall with a factor, :func:`hidden_pairs` compares the rank correlation of
every pair with the first canonical correlation of Legendre polynomials (order 1 to 3) of ranks,
which are bounded, so that a few extreme rows cannot make a large value. If both items are
increasing functions of a factor, the two agree up to sampling error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.parallel import Progress, track
from dtstat.core.saved import register
from dtstat.data.items import ItemData
from dtstat.data.levels import find_levels
from dtstat.data.pair_tables import PairTables
from dtstat.dependence.spearman import average_ranks

_ROWS_FOR_ORDER = {4: 500, 3: 200, 2: 0}  # fewer rows, fewer polynomials: less upward bias
_PAIRS_PER_BLOCK = 50_000
_PRODUCTS = 4_000_000_000  # of numbers, made at once
_ROWS_PER_BLOCK = 100_000


def maximal_correlation(X: FloatArray, progress: Progress = None) -> FloatArray:
    """Maximal correlation of the columns of X (Rényi 1959), within polynomials of normal scores.

        max corr(f(x_i), g(x_j)) over f, g in the span of He_1, ..., He_m of the normal scores

    which is the first canonical correlation of the two sets of polynomials: the largest singular
    value of Q_iᵀ Q_j, where Q_i is an orthonormal basis of item i's. Sees non-monotone dependence,
    such as x and x². Biased upward: below 500 rows m falls from 4 to 3, below 200 to 2.

    X is (n, p), complete, no column constant. Cost: one product of mp × n and n × mp matrices, and
    the singular values of an m × m matrix per pair.
    """
    n, p = X.shape
    order = next(m for m, rows in _ROWS_FOR_ORDER.items() if n >= rows)
    Q = _orthonormal_polynomials(X, order)
    C = (Q.T @ Q).reshape(p, order, p, order).transpose(0, 2, 1, 3)
    i, j = np.triu_indices(p, 1)
    R = np.eye(p)
    for start in track(range(0, len(i), _PAIRS_PER_BLOCK), progress, "maximal"):
        block = slice(start, start + _PAIRS_PER_BLOCK)
        first = np.linalg.svd(C[i[block], j[block]], compute_uv=False)[:, 0]
        R[i[block], j[block]] = R[j[block], i[block]] = np.minimum(first, 1.0)
    return R


def _orthonormal_polynomials(X: FloatArray, order: int) -> FloatArray:
    """(n, p · order) bases, centered; zero columns where an item has too few levels."""
    from scipy.special import ndtri

    scores = ndtri((average_ranks(X) - 0.5) / len(X))
    return np.concatenate([_basis(z, order) for z in scores.T], axis=1)


def _basis(z: FloatArray, order: int) -> FloatArray:
    """(n, order) orthonormal basis of the centered He_1(z) ... He_order(z)."""
    H: FloatArray = np.polynomial.hermite_e.hermevander(z, order)[:, 1:].astype(float)
    H -= H.mean(axis=0)
    H /= np.maximum(np.linalg.norm(H, axis=0), 1e-300)
    Q = np.zeros_like(H)
    # An item of k levels has k − 1 independent polynomials; more would be rounding error.
    rank = min(order, len(np.unique(z)) - 1)
    Q[:, :rank] = np.linalg.qr(H[:, :rank])[0]
    return Q


_ORDER = 3
# Difference in correlation that matters. In real surveys people who like the ends of a scale make
# differences of up to .35 between items that do increase; items that turn back make .5 to .7.
_GAP = 0.4
# n (ρ² − r²) of independent items stays below 26 in 780 pairs; it is like chi-square.
_CHANCE, _PAIRS = 30.0, 500
_MOST_ITEMS = 300
_ROUNDING = 1e-9


@register()
@dataclass(frozen=True)
class HiddenPair:
    """A pair of items that depend by more than ranks show.

    Attributes
    ----------
    first, second
        Numbers of the items.
    any_correlation, rank_correlation
        After the best functions of both, and as it is.
    first_straight, second_straight
        Shares of these functions that are the rank itself; 1 for a function that is not bent.
    """

    first: int
    second: int
    any_correlation: float
    rank_correlation: float
    first_straight: float = 1.0
    second_straight: float = 1.0

    @property
    def excess(self) -> float:
        """By how much the one exceeds the other."""
        return self.any_correlation - self.rank_correlation


def hidden_pairs(items: ItemData, progress: Progress = None) -> tuple[HiddenPair, ...]:
    """Pairs of items whose dependence rank correlations miss, the clearest first.

    With more than 300 items nothing is looked for.
    """
    pairs = exceeding_pairs(items.values, _GAP, items.pair_tables(), progress)
    return tuple(pair for pair in pairs if pair.excess > _GAP)


def exceeding_pairs(
    X: FloatArray,
    gap: float = 0.0,
    tables: PairTables | None = None,
    progress: Progress = None,
) -> tuple[HiddenPair, ...]:
    """Pairs that depend on each other by more than ranks show, and by more than chance explains.

    X is (n, p), NaN where missing, no column constant; with ``tables``, its counts, the rows are
    not read. Pairs that exceed by less than ``gap`` may be left out.
    """
    p = X.shape[1]
    if p > _MOST_ITEMS:
        return ()
    i, j = np.triu_indices(p, 1)
    products, common = _products(X, progress) if tables is None else _products_of_counts(tables)
    C = products / common[:, None, None]
    limit = _CHANCE + 2 * math.log(max(len(i) / _PAIRS, 1.0))
    # No singular value exceeds the root of the sum of squares, which tells most pairs.
    most, rank = np.einsum("kab,kab->k", C, C), np.abs(C[:, 0, 0])
    possible = np.sqrt(most) - rank > gap - _ROUNDING
    possible &= common * (most - rank**2) > limit * (1 - _ROUNDING)
    i, j, C, rank = i[possible], j[possible], C[possible], rank[possible]
    U, S, Vt = np.linalg.svd(C)
    best = np.minimum(S[:, 0], 1.0)
    straight = U[:, 0, 0] ** 2, Vt[:, 0, 0] ** 2
    found = common[possible] * (best**2 - rank**2) > limit
    order = np.flatnonzero(found)[np.argsort((rank - best)[found], kind="stable")]
    parts = (best, rank, *straight)
    return tuple(HiddenPair(int(i[k]), int(j[k]), *(float(x[k]) for x in parts)) for k in order)


def _products(X: FloatArray, progress: Progress) -> tuple[FloatArray, FloatArray]:
    """(pairs, 3, 3) sums of products of the polynomials, and numbers of common rows."""
    n, p = X.shape
    features, products = np.empty((p, _ORDER, n)), np.empty((p, _ORDER, p, _ORDER))
    for own, x in zip(features, track(X.T, progress, "any dependence"), strict=True):
        own[:] = _features(x)
    flat = features.reshape(-1, n)
    step = max(1, _PRODUCTS // (_ORDER**2 * n * p))  # all at once, unless that takes seconds
    for start in track(range(0, p, step), progress, "any dependence"):
        block = slice(start, start + step)
        found = features[block].reshape(-1, n) @ flat[start * _ORDER :].T
        products[block, :, start:] = found.reshape(-1, _ORDER, p - start, _ORDER)
    i, j = np.triu_indices(p, 1)
    return products.transpose(0, 2, 1, 3)[i, j], np.maximum(_common_rows(X), 1.0)[i, j]


def _common_rows(X: FloatArray) -> FloatArray:
    """(p, p) numbers of rows that pairs have in common."""
    seen = ~np.isnan(X)
    if seen.all():
        return np.full((X.shape[1],) * 2, float(len(X)))
    parts = (seen[k : k + _ROWS_PER_BLOCK].astype(float) for k in range(0, len(X), _ROWS_PER_BLOCK))
    return sum((part.T @ part for part in parts), np.zeros((X.shape[1],) * 2))


def _products_of_counts(tables: PairTables) -> tuple[FloatArray, FloatArray]:
    """Do the same from the counts n_ab of the pairs: Σ_ab q_ia n_ab q_jb."""
    i, j = np.triu_indices(len(tables.levels), 1)
    Q = np.zeros((len(tables.levels), _ORDER, tables.counts.shape[1]))
    for own, (_, counts) in zip(Q, tables.margins(), strict=True):
        own[:, : len(counts)] = _polynomials(counts)
    common = np.maximum(tables.cells.sum(axis=(1, 2)), 1).astype(float)
    return Q[i] @ tables.cells @ Q[j].transpose(0, 2, 1), common


def responsible_items(pairs: tuple[HiddenPair, ...]) -> list[int]:
    """Items that are not monotone: of every pair the one whose best function stays straight.

    If x rises with a factor z and y with z², it is x that must be bent, into x², to meet y.
    """
    found = {
        pair.first if pair.first_straight > pair.second_straight else pair.second for pair in pairs
    }
    return sorted(found)


def _features(x: FloatArray) -> FloatArray:
    """(3, n) orthonormal polynomials of the ranks, variance 1; 0 where the answer is missing.

    Equal answers have equal ones, so that they are computed for the distinct answers, each with the
    root of its count as weight.
    """
    _, codes, counts = find_levels(x)
    Q = np.zeros((_ORDER, len(counts) + 1))  # the last column is for missing answers, code −1
    Q[:, :-1] = _polynomials(counts)
    return Q[:, codes]


def _polynomials(counts: IntArray) -> FloatArray:
    """(3, K) orthonormal polynomials of the ranks of answers that so many rows gave."""
    n = counts.sum()
    u = (2 * np.cumsum(counts) - counts) / n - 1  # of mean ranks, 2 (rank − ½) / n − 1
    H = np.polynomial.legendre.legvander(u, _ORDER)[:, 1:]
    H = H - counts @ H / n
    Q = np.zeros((_ORDER, len(counts)))
    rank = min(_ORDER, len(counts) - 1)  # an item of k levels has k − 1 polynomials
    root = np.sqrt(counts)[:, None]
    Q[:rank] = (np.linalg.qr(root * H[:, :rank])[0] / root).T * math.sqrt(n)
    return Q
