"""Factors that reflect item difficulty: an old trap of items with two or three answers.

The correlation of two yes/no items, by ranks or Pearson's, is bounded by their shares of yes: an
easy and a hard item with the same factor correlate less than two easy ones. One factor is then
found as two, of the easy and of the hard items (Ferguson 1941; McDonald & Ahlawat 1974).
Polychoric correlations do not depend on the shares, and by them such factors are nearly one.

A pair of factors follows difficulty if all of this holds of the items that load on one of the two
alone:

1. each has at most three answers;
2. in at least 80 % of the pairs with an item of either factor, that of the same factor is the
   easier one, and on average by half a standard deviation of the normal variable behind an item;
3. by polychoric correlations the two factors correlate by .9 or more.

How often that is said, rightly and wrongly: `benchmarks/results/trust/difficulty.md`.

References
----------
Ferguson, G. A. (1941). The factorial interpretation of test difficulty. Psychometrika 6, 323–329.
McDonald, R. P. & Ahlawat, K. S. (1974). Difficulty factors in binary data. British Journal of
Mathematical and Statistical Psychology 27, 82–99.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.data.levels import count_levels
from dtstat.dependence.polychoric import latent_correlation_matrix, thresholds
from dtstat.factors.copula import FactorEstimate, fit_factors, nearest_correlation

_MOST_ANSWERS, _SOME_ROWS = 3, 1000
_ORDERED, _APART = 0.8, 0.5
_NEARLY_ONE = 0.9
_LEAST_CORRELATION = 0.3  # by ranks, of factors that may be one; spares the others the polychorics


@dataclass(frozen=True)
class DifficultyPair:
    """Two factors that differ in the difficulty of their items.

    Attributes
    ----------
    easier, harder
        Numbers of the factors.
    correlation
        Of the two, by polychoric correlations, without sign.
    """

    easier: int
    harder: int
    correlation: float


def difficulty_pairs(
    X: FloatArray, support: BoolArray, estimate: FactorEstimate
) -> tuple[DifficultyPair, ...]:
    """Pairs of factors that reflect item difficulty, by the rule above.

    Parameters
    ----------
    X
        (n, p) answers, NaN if missing; no column constant.
    support
        (p, d) which item loads on which factor.
    estimate
        The model of that support, for the directions of items and factors.
    """
    ease = np.array([_ease(x) for x in X.T])
    found = []
    for k, m in combinations(range(support.shape[1]), 2):
        phi = estimate.factor_correlations[k, m]
        if abs(phi) < _LEAST_CORRELATION:
            continue
        a, b = (np.flatnonzero(support[:, i] & ~support[:, j]) for i, j in ((k, m), (m, k)))
        differ = _order(
            ease[a] * np.sign(estimate.loadings[a, k]),
            ease[b] * np.sign(estimate.loadings[b, m]) * np.sign(phi),
        )
        if differ and (latent := _latent_correlation(X, a, b)) >= _NEARLY_ONE:
            found.append(DifficultyPair(*((k, m) if differ > 0 else (m, k)), latent))
    return tuple(found)


def _ease(x: FloatArray) -> float:
    """Negative mean threshold of an item, for yes/no items Φ⁻¹(share of yes); NaN if it is fine."""
    first = x[:_SOME_ROWS]  # most items show there that they have more answers
    if len(count_levels(first)[0]) > _MOST_ANSWERS:
        return np.nan
    cuts = thresholds(x)
    return -float(cuts.mean()) if len(cuts) < _MOST_ANSWERS else np.nan


def _order(a: FloatArray, b: FloatArray) -> int:
    """1 if the items of the first factor are easier, -1 if the second's, 0 if neither."""
    if not a.size or not b.size or np.isnan(a).any() or np.isnan(b).any():
        return 0
    share, apart = np.mean(a[:, None] > b), a.mean() - b.mean()
    if abs(apart) < _APART or max(share, 1 - share) < _ORDERED:
        return 0
    return 1 if apart > 0 else -1


def _latent_correlation(X: FloatArray, a: IntArray, b: IntArray) -> float:
    """Correlation of two factors with the items a and b, by polychoric correlations."""
    items = np.concatenate([a, b])
    R = latent_correlation_matrix(X[:, items], ["ordinal"] * len(items))
    first = np.arange(len(items)) < len(a)
    # A pair that has only one answer in its common rows says nothing.
    fitted = fit_factors(
        nearest_correlation(np.nan_to_num(R)), len(X), np.column_stack([first, ~first])
    )
    return abs(float(fitted.factor_correlations[0, 1]))
