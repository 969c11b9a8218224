"""From rows to the statistics that a normal likelihood needs.

:func:`usable_rows` takes the rows of the items and refuses those that maximum likelihood cannot
work on. A :class:`Sample` holds their sufficient statistics: mean and covariances of the rows of
each pattern of missing answers, one pattern if nothing is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.errors import EstimationError, InputError
from dtstat.core.saved import register
from dtstat.data.checks import find_combinations
from dtstat.data.items import ItemData

_PERFECT = 1e-10  # distance of a correlation from 1, or of an eigenvalue from 0, that is rounding
_LARGEST = 1e60  # fourth moments of answers up to this size are numbers
_ALONE = 0.99  # share of an item's variance above which one answer is warned of
_MOST_NAMES = 6  # listed in a message
_NO_MAXIMUM = "so the covariance matrix is singular and the likelihood has no maximum."


def usable_rows(items: ItemData, gaps: bool) -> tuple[FloatArray, BoolArray]:
    """Rows without gaps, or with ``gaps`` those with any answer, and which they are.

    Raises
    ------
    InputError
        If an item has no variance left.
    EstimationError
        If there are no more rows than items, or the covariance matrix is singular.
    """
    answered = ~np.isnan(items.values)
    kept = np.asarray(answered.any(axis=1) if gaps else answered.all(axis=1))
    X = items.values if kept.all() else items.values[kept]
    _check_size(X, items.names)
    _check_count(X, items.n_rows, gaps)
    _check_variance(X, items)
    _check_correlations(X, items.names)
    return X, kept


def _check_size(X: FloatArray, names: Sequence[str]) -> None:
    """Refuse answers whose squares are no numbers; estimates are in units of the answers."""
    if not X.size:
        return
    size = np.nanmax(np.abs(X), axis=0)
    bad = np.flatnonzero((size > _LARGEST) | ((size < 1 / _LARGEST) & (size > 0)))
    if bad.size:
        raise InputError(
            f"item '{names[bad[0]]}' must have answers of moderate size; got {size[bad[0]]:g} at "
            "most, whose variance cannot be computed. Measure it in other units.",
            "data",
        )


def _check_count(X: FloatArray, n_given: int, gaps: bool) -> None:
    n, p = X.shape
    if n > p:
        return
    rows = f"{n} rows" if n == n_given else f"{n} usable rows of {n_given}"
    advice = "Use fewer items or more rows."
    if n < n_given and not gaps:
        advice = "Rows with missing answers were left out; missing='fiml' keeps them."
    raise EstimationError(
        f"Maximum likelihood needs more rows than items; got {rows} for {p} items. Otherwise the "
        f"covariance matrix is singular and the likelihood has no maximum. {advice}"
    )


def _check_variance(X: FloatArray, items: ItemData) -> None:
    constant = np.flatnonzero(np.nanmax(X, axis=0) == np.nanmin(X, axis=0))
    if constant.size:
        left = len(X) < items.n_rows
        why = f" in the {len(X)} rows without missing answers" if left else ""
        advice = "Leave it out" + (", or keep all rows with missing='fiml'." if left else ".")
        raise InputError(
            f"item '{items.names[constant[0]]}' has only one distinct answer{why}. {advice}",
            "data",
        )


def lone_answers(X: FloatArray, names: Sequence[str]) -> list[str]:
    """Name items whose variance one answer makes up: what they tell is that answer."""
    squares = (X - np.nanmean(X, axis=0)) ** 2
    share = np.nanmax(squares, axis=0) / np.nansum(squares, axis=0)
    return [
        f"one answer, {X[np.nanargmax(squares[:, k]), k]:g}, makes up {share[k]:.1%} of the "
        f"variance of item '{names[int(k)]}'. Check whether it is right."
        for k in np.flatnonzero(share > _ALONE)
    ]


def _check_correlations(X: FloatArray, names: Sequence[str]) -> None:
    gaps = bool(np.isnan(X).any())
    R = pd.DataFrame(X).corr().to_numpy() if gaps else np.corrcoef(X, rowvar=False)
    i, j = np.nonzero(np.triu(np.abs(R) > 1 - _PERFECT, 1))
    if i.size:
        raise EstimationError(
            f"Items '{names[i[0]]}' and '{names[j[0]]}' are perfectly correlated, {_NO_MAXIMUM} "
            "Leave one of them out."
        )
    if gaps or _is_clearly_regular(np.asarray(R, dtype=np.float64)):
        return
    values, vectors = np.linalg.eigh(R)
    if values[0] < _PERFECT:
        for says, advice in find_combinations(X, names):
            raise EstimationError(
                f"{says[0].upper()}{says[1:]}, {_NO_MAXIMUM} {advice[0].upper()}{advice[1:]}."
            )
        involved = [names[int(k)] for k in np.flatnonzero(np.abs(vectors[:, 0]) > 0.1)]
        listed = ", ".join(f"'{name}'" for name in involved[:_MOST_NAMES])
        raise EstimationError(
            f"The answers to {listed} determine each other exactly (one is a sum of others), "
            f"{_NO_MAXIMUM} Leave one of them out."
        )


def _is_clearly_regular(R: FloatArray) -> bool:
    """Whether no item is close to a combination of those before it; cheaper than eigenvalues."""
    try:
        return bool(np.linalg.cholesky(R).diagonal().min() > 1e-3)
    except np.linalg.LinAlgError:
        return False


@register(shapes={"items": "k", "mean": "k", "S": "kk"})
@dataclass(frozen=True)
class Pattern:
    """Rows that observe the same items.

    Attributes
    ----------
    items
        (k,) indices of the observed items.
    n
        Number of rows, or the sum of their weights.
    mean, S
        (k,) mean and (k, k) covariance (divisor n) of those rows.
    """

    items: IntArray
    n: float
    mean: FloatArray
    S: FloatArray


@register(rules={"patterns are of the items": lambda sample: _patterns_exist(sample)})
@dataclass(frozen=True)
class Sample:
    """Sufficient statistics of the rows, one pattern if they are complete."""

    patterns: tuple[Pattern, ...]
    n_obs: float
    n_items: int
    means: bool

    @cached_property
    def complete(self) -> bool:
        """Whether there is one pattern with all items."""
        return len(self.patterns) == 1 and len(self.patterns[0].items) == self.n_items

    def select(self, items: Sequence[int]) -> Sample:
        """Sufficient statistics of some items; rows without any of them count, too."""
        new = {item: k for k, item in enumerate(items)}
        patterns = []
        for pattern in self.patterns:
            at = [k for k, item in enumerate(pattern.items.tolist()) if item in new]
            named = np.array([new[int(pattern.items[k])] for k in at], dtype=np.int64)
            if at:
                S = pattern.S[np.ix_(at, at)]
                patterns.append(Pattern(named, pattern.n, pattern.mean[at], S))
        return Sample(tuple(patterns), self.n_obs, len(new), self.means)

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """The patterns, sorted by their number of gaps."""
        by_gaps: dict[int, list[Pattern]] = {}
        for pattern in self.patterns:
            by_gaps.setdefault(self.n_items - len(pattern.items), []).append(pattern)
        groups = (group for _, group in sorted(by_gaps.items()))
        return tuple(_batch(group, self.n_obs, self.n_items) for group in groups)


def complete_sample(S: FloatArray, mean: FloatArray | None, n: float) -> Sample:
    """Sample given by its covariance matrix (divisor n) and, if means count, its means."""
    p = len(S)
    m = np.zeros(p) if mean is None else mean
    return Sample((Pattern(np.arange(p), n, m, S),), n, p, mean is not None)


def sample_from_rows(X: FloatArray, weights: FloatArray | None = None) -> Sample:
    """Sample of (weighted) rows with gaps (NaN); rows without any value are left out."""
    observed = ~np.isnan(X)
    keep = observed.any(axis=1)
    X, observed = X[keep], observed[keep]
    w = np.ones(len(X)) if weights is None else weights[keep]
    marks, group = np.unique(observed, axis=0, return_inverse=True)
    patterns = []
    for k, mark in enumerate(marks):
        own = group.reshape(-1) == k
        rows, share = X[own][:, mark], w[own]
        n = float(share.sum())
        if n == 0:
            continue
        mean = share @ rows / n
        centered = rows - mean
        S = (share[:, None] * centered).T @ centered / n
        patterns.append(Pattern(np.flatnonzero(mark), n, mean, S))
    return Sample(tuple(patterns), float(w.sum()), X.shape[1], True)


def pairwise_moments(sample: Sample) -> tuple[FloatArray, FloatArray]:
    """Covariances of the rows that pairs of items have in common, and means of all answers.

    Divided by the common rows less one and, as all moments here, multiplied by (n − 1) / n; NaN
    for a pair that fewer than two rows answer.
    """
    p, n = sample.n_items, sample.n_obs
    count, total, cross = np.zeros((3, p, p))
    center = sum((b.share @ b.mean for b in sample.batches), np.zeros(p))  # any will do
    for pattern in sample.patterns:
        block, d = np.ix_(pattern.items, pattern.items), pattern.mean - center[pattern.items]
        count[block] += pattern.n
        total[block] += pattern.n * d[:, None]  # of the row's item, over rows that answer both
        cross[block] += pattern.n * (pattern.S + np.outer(d, d))
    with np.errstate(divide="ignore", invalid="ignore"):
        S = (cross - total * total.T / count) / np.where(count > 1, count - 1, np.nan)
    return S * (n - 1) / n, center + np.diag(total) / np.diag(count)


def independence_moments(sample: Sample) -> tuple[FloatArray, FloatArray]:
    """Variances and means that maximize the likelihood of independent items."""
    count, total, square = np.zeros((3, sample.n_items))
    for pattern in sample.patterns:
        count[pattern.items] += pattern.n
        total[pattern.items] += pattern.n * pattern.mean
    mu = total / count
    # Around the mean: of items far from zero, squares less a square keep no digits.
    for pattern in sample.patterns:
        o = pattern.items
        square[o] += pattern.n * (np.diag(pattern.S) + (pattern.mean - mu[o]) ** 2)
    return np.diag(square / count), mu


@dataclass(frozen=True)
class Batch:
    """Patterns with the same number g of gaps, ready for the sums of :mod:`dtstat.sem.gaps`.

    Attributes
    ----------
    missing
        (k, g) items that each pattern misses.
    share
        (k,) shares of the rows.
    seen
        (k, p) 1 for items that are observed, 0 for the others.
    mean
        (k, p) means, 0 for what is missing.
    roots
        (k, r, p) rows whose products add up to share times S.
    """

    missing: IntArray
    share: FloatArray
    seen: FloatArray
    mean: FloatArray
    roots: FloatArray

    def part(self, rows: slice) -> Batch:
        """Return some of the patterns."""
        return Batch(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def _batch(patterns: list[Pattern], n_obs: float, p: int) -> Batch:
    seen, mean = np.zeros((2, len(patterns), p))
    halves = [_root(pattern) * np.sqrt(pattern.n / n_obs) for pattern in patterns]
    roots = np.zeros((len(patterns), max(len(half) for half in halves), p))
    for k, (pattern, half) in enumerate(zip(patterns, halves, strict=True)):
        seen[k, pattern.items] = 1.0
        mean[k, pattern.items] = pattern.mean
        roots[k, : len(half), pattern.items] = half.T
    gaps = p - len(patterns[0].items)
    missing = np.argsort(seen, axis=1, kind="stable")[:, :gaps]
    share = np.array([pattern.n / n_obs for pattern in patterns])
    return Batch(missing.astype(np.int64), share, seen, mean, roots)


def _root(pattern: Pattern) -> FloatArray:
    """(r, items) R with RᵀR = S, of no more rows than the rank of S."""
    if not np.diag(pattern.S).any():
        return np.zeros((0, len(pattern.items)))
    scale = np.sqrt(np.where(np.diag(pattern.S) > 0, np.diag(pattern.S), 1.0))
    values, vectors = np.linalg.eigh(pattern.S / np.outer(scale, scale))
    largest = values > 1e-14 * values[-1]
    root: FloatArray = (vectors[:, largest] * np.sqrt(values[largest])).T * scale
    return root


def _patterns_exist(sample: Sample) -> bool:
    return all(
        len(one.items) == 0 or (one.items.min() >= 0 and one.items.max() < sample.n_items)
        for one in sample.patterns
    )
