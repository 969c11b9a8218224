"""The tree of factors: from the leaves of the barcode to one factor, a structure at every level.

Which level of a questionnaire its authors call its scales, facets or domains, is partly convention.
The hierarchy is not, so all of it is found:

1. **Leaves**: the cover of the items by small cliques of the barcode that has the most factors;
   items of no clique go to the factor of their largest loading (:mod:`dtstat.structure.groups`).
2. **Joins**: for each factor and the two it correlates with most, the log-likelihood per person
   that the items of the two alone lose if one factor takes the place of two. That is the *price* of
   the join. The pair of the least price is joined, items move to the factor of their largest
   loading, and so on down to one factor.
3. **Levels**: with as many groups as the level has factors, items are also sorted in ways that know
   nothing of the tree (:mod:`dtstat.search.starts`), and by covers of that size. Of all these the
   level takes the grouping that agrees most with the others, by the mean adjusted Rand index. The
   likelihood is a poor judge here: with the number given, the misfit that every real survey has
   decides, not the factors (``benchmarks/results/surveys`` has the figures). The level's
   ``agreement`` is the mean index between those that have little in common: tree, spectral
   clustering with three powers, rotated factors, covers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Protocol

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.parallel import Progress, track
from dtstat.search.evaluate import Evaluator
from dtstat.search.records import Level, Rules
from dtstat.search.starts import Starts
from dtstat.structure.barcode import Barcode
from dtstat.structure.cliques import attach
from dtstat.structure.groups import Groups, agreement, canonical_labels
from dtstat.structure.path import covers

MANY_FOR_STARTS = 320  # items beyond which levels are those of the tree alone
PARTNERS = 2  # factors looked at for each, the closest
SPEAKERS = 30  # items of a factor that prices are asked of if there are very many items
LEAF = 5  # items of a leaf, at most, or √p: larger cliques may hold several factors loosely


class Tree:
    """The levels of one survey, made as they are needed.

    Parameters
    ----------
    evaluator
        Where models of pairs of factors are fitted.
    bars
        The barcode.
    rules
        Size of factors.
    """

    def __init__(self, evaluator: Evaluator, bars: Barcode, rules: Rules) -> None:
        self._evaluator, self._smallest = evaluator, rules.min_children
        self._floor = 1 / math.sqrt(evaluator.n_obs)  # standard error of a correlation
        self._bars = bars
        self._prices: dict[tuple[bytes, bytes], float] = {}

    @cached_property
    def _covers(self) -> list[IntArray]:
        return list(_cover_labels(self._evaluator.strength, self._bars, self._smallest))

    def _leaves(self) -> IntArray:
        """Find the cover by small cliques with the most factors."""
        most = max(LEAF, math.isqrt(self._evaluator.n_items))
        tight = self._bars.take(np.flatnonzero(self._bars.sizes <= most))
        found = _cover_labels(self._evaluator.strength, tight, self._smallest)
        return max(found, key=lambda labels: int(labels.max()))

    def _groups(self, labels: IntArray) -> Groups:
        return Groups(self._evaluator.R, labels, self._floor)

    def grow(self, at_least: int = 1, progress: Progress = None) -> list[Level]:
        """Join factors from the leaves, or from ``at_least`` factors, down to one; finest first."""
        groups = self._groups(self._leaves())
        groups.settle(self._smallest)
        if len(groups.size) < at_least:
            groups = self._groups(next(self._other(at_least), _cut(groups.labels, at_least)))
        found = [self._priced(groups, np.nan)]
        for _ in track(range(len(groups.size) - 1), progress, "joining"):
            groups = groups.joined(*found[-1].pair).settle(self._smallest)
            found.append(self._priced(groups, np.nan))
        return found

    def consult(self, levels: list[Level], progress: Progress = None) -> list[Level]:
        """At each level take the grouping on which different ways to sort agree most."""
        if self._evaluator.n_items > MANY_FOR_STARTS:
            return levels
        found: list[Level] = []
        for level in track(levels, progress, "levels"):
            if level.n_factors == 1:
                found.append(level)
                continue
            k = level.n_factors
            tried = [level.labels, *self._other(k)]
            if found:
                above = self._groups(found[-1].labels).joined(*found[-1].pair)
                tried.append(canonical_labels(above.settle(self._smallest).labels))
            labels, mean = _most_agreed(tried, list(self._all_starts.variants(k)))
            found.append(self._priced(self._groups(labels), mean))
        return found

    @cached_property
    def _all_starts(self) -> Starts:
        R, strength = self._evaluator.R, self._evaluator.strength
        return Starts(R, strength, self._smallest, self._floor)

    def _other(self, k: int) -> Iterator[IntArray]:
        yield from self._all_starts.into(k)
        yield from (labels for labels in self._covers if labels.max() + 1 == k)

    def _priced(self, groups: Groups, agreed: float) -> Level:
        """Look for the cheapest join."""
        labels = groups.renumber().labels
        if len(groups.size) == 1:
            return Level(labels, np.nan, (0, 0), np.nan, 1.0)
        Phi = groups.correlations()
        order = np.argsort(labels, kind="stable")
        members = np.split(order, np.cumsum(groups.size)[:-1])
        if len(labels) > MANY_FOR_STARTS:
            members = [
                _strongest(items, groups.strength[items, k]) for k, items in enumerate(members)
            ]
        names = [items.tobytes() for items in members]
        priced = []
        for a, b in _closest_pairs(Phi):
            key = names[a], names[b]
            if key not in self._prices:
                self._prices[key] = price_of_join(self._evaluator, members[a], members[b])
            priced.append((self._prices[key], (a, b)))
        price, pair = min(priced)
        return Level(labels, price, pair, float(np.clip(Phi[pair], -1.0, 1.0)), agreed)


def _strongest(items: IntArray, strength: FloatArray) -> IntArray:
    """Items that speak for a factor of very many: those that load on it most."""
    if len(items) <= SPEAKERS:
        return items
    return np.sort(items[np.argsort(-strength, kind="stable")[:SPEAKERS]])


def _cut(labels: IntArray, k: int) -> IntArray:
    """Cut items into k groups of equal size, in the order of those they were in."""
    cut = np.empty_like(labels)
    for number, items in enumerate(np.array_split(np.argsort(labels, kind="stable"), k)):
        cut[items] = number
    return cut


class Likelihood(Protocol):
    """Where models of some items alone are fitted."""

    def block_log_likelihood(self, items: IntArray, support: BoolArray) -> float:
        """Log-likelihood per row of a model of some items."""


def price_of_join(evaluator: Likelihood, a: IntArray, b: IntArray) -> float:
    """Log-likelihood per person that the items of two factors lose if one takes their place."""
    items = np.concatenate([a, b])
    order = np.argsort(items)
    two = np.zeros((len(items), 2), dtype=bool)
    two[: len(a), 0] = two[len(a) :, 1] = True
    items, two = items[order], two[order]
    one = np.ones((len(items), 1), dtype=bool)
    apart, joined = (evaluator.block_log_likelihood(items, support) for support in (two, one))
    return max(apart - joined, 0.0)


def _closest_pairs(Phi: FloatArray) -> list[tuple[int, int]]:
    """Each factor with the two it correlates with most."""
    size = np.abs(Phi) - 2 * np.eye(len(Phi))
    pairs: set[tuple[int, int]] = set()
    for _ in range(min(PARTNERS, len(Phi) - 1)):
        closest = size.argmax(axis=1)
        size[np.arange(len(Phi)), closest] = -np.inf
        pairs |= {(min(a, b), max(a, b)) for a, b in enumerate(closest.tolist())}
    return sorted(pairs)


def _cover_labels(strength: FloatArray, bars: Barcode, smallest: int) -> Iterator[IntArray]:
    """Yield all items as one group, and groupings that follow covers of the items by cliques."""
    p = len(strength)
    yield np.zeros(p, dtype=np.int64)
    for cores in covers(bars):
        labels = np.full(p, -1)
        for k in np.argsort(cores.sum(axis=0), kind="stable"):
            labels[cores[:, k] & (labels < 0)] = k  # the tighter clique keeps a common item
        cores = labels[:, None] == np.unique(labels[labels >= 0])
        factors = attach(strength, cores, 0.0, smallest)
        if factors.shape[1]:
            yield canonical_labels(factors.argmax(axis=1))


def _most_agreed(tried: list[IntArray], more: list[IntArray]) -> tuple[IntArray, float]:
    """Return the grouping most like all others, the first of equals; and how ``tried`` agree."""
    every = [*tried, *more]
    like = agreement(every)
    best = int(np.round(like.sum(axis=1), 9).argmax())
    n = len(tried)
    mean = float((like[:n, :n].sum() - n) / (n * (n - 1))) if n > 1 else math.nan
    return every[best], mean
