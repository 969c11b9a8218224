"""How many structures there are of a size: what a search among them has to pay for.

With d factors of p items, e loadings and u items left out, the structures of the same size are

    N = S(p − u, d) · C((p − u)(d − 1), e − (p − u)) · C(p, u)

many: partitions of the items into d factors of two or more (associated Stirling numbers S), second
loadings of these items, choices of the items left out. One factor or two have as many loadings, but
there are 2^(p−1) − 1 − p ways to split p items in two: without that count the best of them nearly
always looks better than one factor.

References
----------
Comtet, L. (1974). Advanced combinatorics. Reidel. Good, I. J. (1957). Saddle-point methods for the
multinomial distribution. Annals of Mathematical Statistics 28, 861–881.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray

_MOST_COUNTED = 2000  # items whose partitions are counted exactly
_HALVINGS = 60
_TINY_ROOT = 1e-3  # from which differences of exponentials keep their digits


def log_structures(support: BoolArray) -> float:
    """Log N, the number of structures with as many factors, loadings and items left out."""
    p, d = support.shape
    covered = int(support.any(axis=1).sum())
    crossed = int(support.sum()) - covered
    left_out = log_choose(p, covered)
    if not d:
        return left_out
    return (
        float(log_partitions(covered)[min(d, covered)])
        + left_out
        + log_choose(covered * (d - 1), crossed)
    )


@cache
def log_partitions(p: int) -> FloatArray:
    """(p + 1,) log of the number of partitions of p items into d = 0, 1, ... parts.

    Parts have two items or more, by S(i, d) = d S(i − 1, d) + (i − 1) S(i − 2, d − 1). Where that
    is impossible, because factors overlap and there are more than p / 2 of them, parts of one item
    count too: S(i, d) = d S(i − 1, d) + S(i − 1, d − 1) (Comtet 1974, chapter 5). Beyond 2,000
    items, for which that is 2p² steps, by :func:`_saddle_point`.
    """
    if p > _MOST_COUNTED:
        return _saddle_point(p)
    log_d = np.log(np.maximum(np.arange(p + 1), 1))
    nothing = np.full(p + 1, -np.inf)
    nothing[0] = 0.0
    pairs, singles = [nothing, np.full(p + 1, -np.inf)], nothing
    for i in range(1, p + 1):
        grown = singles + log_d
        grown[0] = -np.inf
        grown[1:] = np.logaddexp(grown[1:], singles[:-1])
        singles = grown
        if i > 1:
            grown = pairs[1] + log_d
            grown[0] = -np.inf
            grown[1:] = np.logaddexp(grown[1:], pairs[0][:-1] + math.log(i - 1))
            pairs = [pairs[1], grown]
    many = pairs[1] if p else nothing
    return np.where(np.isfinite(many), many, singles)


def _saddle_point(p: int) -> FloatArray:
    """(p + 1,) the same as ``log_partitions`` for large p (Good 1957).

    p!/d! times the coefficient of x^p in f(x)^d, f = e^x − 1 − x for parts of two or more and
    e^x − 1 for any: with x f'/f = p/d and b = d x (x f'/f)', its log is about
    d log f − p log x − ½ log 2πb. The error is of order 1/p.
    """
    from scipy.special import gammaln

    d = np.arange(1, p)
    parts = np.where(d < p / 2, 2.0, 1.0)
    low, high = np.full(p - 1, -20.0), np.full(p - 1, math.log(3 * p))  # of log x
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = _growth(np.exp(middle), parts)[0] < p / d
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    x = np.exp((low + high) / 2)
    _, log_f, slope = _growth(x, parts)
    found = d * log_f - p * np.log(x) - 0.5 * np.log(2 * np.pi * d * x * slope)
    counts = np.concatenate([[-np.inf], gammaln(p + 1) - gammaln(d + 1) + found, [0.0]])
    counts[1] = 0.0
    if p % 2 == 0:  # pairs alone
        counts[p // 2] = math.lgamma(p + 1) - math.lgamma(p / 2 + 1) - p / 2 * math.log(2)
    return counts


def _growth(x: FloatArray, parts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return x f'/f, log f and (x f'/f)' for f = e^x less its first ``parts`` terms, one or two.

    By f = x^m (1/m! + x/(m + 1)! + ...) / ... for small x; all divided by e^x.
    """
    small = np.exp(-x)
    two = parts == 2
    exact = np.where(two, -np.expm1(-x) - x * small, -np.expm1(-x))
    series = np.where(two, x**2 / 2 * (1 + x / 3 + x**2 / 12), x * (1 + x / 2 + x**2 / 6)) * small
    f = np.where(x > _TINY_ROOT, exact, series)
    first, second = np.where(two, -np.expm1(-x), 1.0) / f, 1.0 / f
    slope = first + x * (second - first**2)
    slope = np.where(x > _TINY_ROOT, slope, np.where(two, 1 / 3 + x / 18, 1 / 2 + x / 6))
    return x * first, np.log(f) + x, slope


def log_choose(n: int, k: int) -> float:
    """Return the log of the number of ways to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(max(n - k, 0) + 1)
