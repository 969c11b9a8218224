"""Dependence that rank correlations do not see: items that rise and fall together with a factor.

For every pair of items the first canonical correlation of Legendre polynomials (order 1 to 3) of
their ranks is compared with their rank correlation. The polynomials are bounded, so that a few
extreme rows cannot make a large value. If both items are increasing functions of a factor, the two
agree up to sampling error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import BoolArray, FloatArray
from dtstat.dependence.rank import average_ranks

_ORDER = 3
# Difference in correlation that matters. In real surveys people who like the ends of a scale make
# differences of up to .35 between items that do increase; items that turn back make .5 to .7.
_GAP = 0.4
# n (ρ² − r²) of independent items stays below 26 in 780 pairs; it is like chi-square.
_CHANCE, _PAIRS = 30.0, 500
_MOST_ITEMS = 300


@dataclass(frozen=True)
class HiddenPair:
    """A pair of items, its correlation after the best functions, and its rank correlation."""

    first: int
    second: int
    any_correlation: float
    rank_correlation: float

    @property
    def excess(self) -> float:
        """By how much the one exceeds the other."""
        return self.any_correlation - self.rank_correlation


def hidden_pairs(X: FloatArray) -> tuple[HiddenPair, ...]:
    """Pairs whose dependence rank correlations miss, the clearest first.

    Parameters
    ----------
    X
        (n, p) answers, NaN if missing; no column constant. With more than 300 items nothing is
        looked for.
    """
    return tuple(pair for pair in exceeding_pairs(X) if pair.excess > _GAP)


def exceeding_pairs(X: FloatArray) -> tuple[HiddenPair, ...]:
    """Pairs that depend on each other by more than ranks show, and by more than chance explains.

    Parameters
    ----------
    X
        As in :func:`hidden_pairs`.
    """
    p = X.shape[1]
    if p > _MOST_ITEMS:
        return ()
    F = np.stack([_features(x) for x in X.T])
    seen = (~np.isnan(X)).astype(float)
    counts = np.maximum(seen.T @ seen, 1.0)
    i, j = np.triu_indices(p, 1)
    flat = F.transpose(0, 2, 1).reshape(p * _ORDER, -1)
    products = (flat @ flat.T).reshape(p, _ORDER, p, _ORDER).transpose(0, 2, 1, 3)
    C = products[i, j] / counts[i, j][:, None, None]
    best = np.minimum(np.linalg.svd(C, compute_uv=False)[:, 0], 1.0)
    rank = np.abs(C[:, 0, 0])
    limit = _CHANCE + 2 * math.log(max(len(i) / _PAIRS, 1.0))
    found = counts[i, j] * (best**2 - rank**2) > limit
    order = np.flatnonzero(found)[np.argsort((rank - best)[found], kind="stable")]
    return tuple(HiddenPair(int(i[k]), int(j[k]), float(best[k]), float(rank[k])) for k in order)


def responsible_items(pairs: tuple[HiddenPair, ...], p: int) -> list[int]:
    """Few items that take part in all pairs: the one with the most, and so on."""
    graph: BoolArray = np.zeros((p, p), dtype=bool)
    for pair in pairs:
        graph[pair.first, pair.second] = graph[pair.second, pair.first] = True
    named = []
    while graph.any():
        worst = int(graph.sum(axis=0).argmax())
        named.append(worst)
        graph[worst], graph[:, worst] = False, False
    return sorted(named)


def _features(x: FloatArray) -> FloatArray:
    """(n, 3) orthonormal polynomials of the ranks, variance 1; 0 where the answer is missing."""
    seen = ~np.isnan(x)
    y = x[seen]
    n = len(y)
    u = (2 * average_ranks(y[:, None])[:, 0] - 1) / n - 1
    H = np.polynomial.legendre.legvander(u, _ORDER)[:, 1:]
    H = H - H.mean(axis=0)
    Q = np.zeros((len(x), _ORDER))
    rank = min(_ORDER, len(np.unique(u)) - 1)  # an item of k levels has k − 1 polynomials
    Q[seen, :rank] = np.linalg.qr(H[:, :rank])[0] * math.sqrt(n)
    return Q
