"""The tree of a fit as a picture has it: whole factors joined, at the prices of the levels.

The levels of a fit are not nested, since items move when factors are joined. A picture needs a
nested tree. This one is true to the levels as follows:

- At the chosen level its factors are exactly those of the fit.
- If the other level that stands out is finer, the chosen factors are split into its factors; an
  item that the two levels sort differently stays in its chosen factor, in the part that it depends
  on most.
- If the other level is broader, chosen factors are joined within its factors first.
- Otherwise those two are joined that give the grouping most like the recorded level with as many
  factors, by the adjusted Rand index.
- The join from k to k − 1 factors stands at the recorded price of one fewer than k factors, or at
  that of a finer level if this is higher, so that no join hangs below its parts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import InputError
from dtstat.core.loading_tables import table_order
from dtstat.fit import frames
from dtstat.search.joins import JoinedLevels

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit


_LEAST_SHARE = 1e-3  # of the highest price: joins that cost less are drawn there
_CLOSEST, _FARTHEST = 2.5, 20.0  # how many times cheaper than the first join the axis begins


@dataclass(frozen=True)
class Leaf:
    """A factor of the finest level drawn.

    Attributes
    ----------
    items
        Numbers of its items, the strongest loading first.
    factor
        Number of the chosen factor it is, or is part of.
    name
        As in ``fit.level``.
    """

    items: tuple[int, ...]
    factor: int
    name: str


@dataclass(frozen=True)
class Join:
    """Two nodes that become one; nodes are the leaves from the top, then the joins.

    Attributes
    ----------
    first, second
        The nodes, the upper one first.
    price
        Where the join stands.
    """

    first: int
    second: int
    price: float


@dataclass(frozen=True)
class Dendrogram:
    """A nested tree of the factors.

    Attributes
    ----------
    leaves
        From the top.
    joins
        The cheapest first.
    outside
        Numbers of the items in no factor.
    floor
        Price at which the axis begins: that of one more factor, as far as it is near.
    """

    leaves: tuple[Leaf, ...]
    joins: tuple[Join, ...]
    outside: tuple[int, ...]
    floor: float

    @property
    def n_leaves(self) -> int:
        """Factors of the finest level drawn."""
        return len(self.leaves)

    @property
    def top(self) -> float:
        """Price at which the axis ends."""
        last = self.prices[-1]
        return max(last * math.pow(last / self.floor, 0.2), last * 1.3)

    @property
    def prices(self) -> list[float]:
        """Where the joins stand."""
        return [join.price for join in self.joins]

    def span(self, n_factors: int) -> tuple[float, float]:
        """Prices between which there are so many factors."""
        ends = [self.floor, *self.prices, self.top]
        k = self.n_leaves - n_factors
        return ends[k], ends[k + 1]

    def nodes(self, n_factors: int) -> list[int]:
        """Return the nodes that are the factors where there are so many."""
        there = set(range(self.n_leaves))
        for k, join in enumerate(self.joins[: self.n_leaves - n_factors]):
            there -= {join.first, join.second}
            there.add(self.n_leaves + k)
        return sorted(there, key=lambda node: min(self.under(node)))

    def under(self, node: int) -> list[int]:
        """Return the leaves under a node."""
        if node < self.n_leaves:
            return [node]
        join = self.joins[node - self.n_leaves]
        return [*self.under(join.first), *self.under(join.second)]


def has_tree(fit: DTFit) -> bool:
    """Whether there are levels to draw a tree of; items left out may leave one of two groups."""
    if isinstance(fit.tree, JoinedLevels):
        return False  # of so many items none is drawn
    if not fit.n_factors or max(fit.n_factors, 2) > len(fit.tree):
        return False
    covered = fit.support.any(axis=1)
    return fit.n_factors > 1 or len(np.unique(fit.tree[1].labels[covered])) > 1


def dendrogram(fit: DTFit) -> Dendrogram:
    """Return the nested tree of a fit.

    Raises
    ------
    InputError
        If no tree was searched, or it has one level.
    """
    if fit.has_curves and not fit.tree:
        raise InputError(
            "A fit with curves has no tree. Draw that of dtstat.fit(data), without curves.", "kind"
        )
    if not fit.tree:
        raise InputError("There is no tree to draw: none was searched. Fit with search='tree'.")
    if not has_tree(fit):
        raise InputError(
            "There is no tree to draw: it has no levels above and below the structure. See levels.",
            "kind",
        )
    own, d = _strongest(fit), fit.n_factors
    second = fit.second or d
    finest = max(d, second, 2)
    labels, home, names = own, np.arange(d), fit.factor_names
    if finest > d:
        labels, home = _split(own, fit.tree[finest - 1].labels, np.abs(fit.latent.R))
        names = frames.level_names(fit, finest)
    within = [(d, home)]
    if second < d:
        known = own >= 0
        within.append((second, _homes(own[known], fit.tree[second - 1].labels[known])[home]))
    merges = _merges(fit, labels, within)
    return _arranged(fit, labels, home, names, merges)


def _strongest(fit: DTFit) -> IntArray:
    """(p,) factor of each item, that of its largest loading; -1 for none; every factor has one."""
    size = np.where(fit.support, np.maximum(np.abs(fit.loadings.to_numpy()), 1e-12), 0.0)
    own = np.where(fit.support.any(axis=1), size.argmax(axis=1), -1)
    for k in np.setdiff1d(np.arange(fit.n_factors), own):  # all its items load more on others
        own[size[:, k].argmax()] = k
    return own


def _counts(a: IntArray, b: IntArray) -> FloatArray:
    table = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    np.add.at(table, (a, b), 1.0)
    return table


def _homes(fine: IntArray, coarse: IntArray) -> IntArray:
    """(K,) group of the coarse that has most of each fine one's items; every group is some's."""
    table = _counts(fine, coarse)
    home: IntArray = table.argmax(axis=1)
    for group in range(table.shape[1]):
        if (home == group).any():
            continue
        spare = np.bincount(home, minlength=table.shape[1])[home] > 1
        if spare.any():
            home[np.where(spare, table[:, group], -1.0).argmax()] = group
    return home


def _split(own: IntArray, fine: IntArray, strength: FloatArray) -> tuple[IntArray, IntArray]:
    """Split chosen factors into those of a finer level; return parts and their chosen factors."""
    known = np.flatnonzero(own >= 0)
    parts = np.full(int(fine.max()) + 1, -1)
    found = np.unique(fine[known])
    numbered = np.searchsorted(found, fine[known])
    parts[found] = _homes(numbered, own[known])
    labels = np.where((own >= 0) & (parts[fine] == own), fine, -1)
    for i in np.flatnonzero((own >= 0) & (labels < 0)):
        near = np.flatnonzero(parts == own[i])
        mean = [float(strength[i, labels == k].sum()) / max((labels == k).sum(), 1) for k in near]
        labels[i] = near[int(np.argmax(mean))]
    return labels, parts


def _merges(
    fit: DTFit, labels: IntArray, within: list[tuple[int, IntArray]]
) -> list[tuple[int, int]]:
    """Return which labels are joined, in order; the joined one keeps the smaller label.

    Joins stay within the groups that are given, as long as there are more factors than these.
    """
    known = labels >= 0
    now, found = labels[known].copy(), []
    for k in range(len(np.unique(now)), 1, -1):
        left = np.unique(now)
        limits = [group for least, group in within if k > least]
        table = _counts(np.searchsorted(left, now), fit.tree[k - 2].labels[known])
        like = _agreement_if_joined(table)
        allowed = np.triu(np.ones_like(like, dtype=bool), 1)
        for group in limits[:1]:
            allowed &= group[left][:, None] == group[left]
        if not allowed.any():
            allowed = np.triu(np.ones_like(like, dtype=bool), 1)
        best = int(np.where(allowed, np.round(like, 9), -np.inf).argmax())
        a, b = (int(left[j]) for j in divmod(best, k))
        now[now == b] = a
        found.append((a, b))
    return found


def _agreement_if_joined(table: FloatArray) -> FloatArray:
    """Return the adjusted Rand index of groups with others, after each pair of groups is joined."""

    def pairs(counts: FloatArray) -> float:
        return float((counts * (counts - 1)).sum()) / 2

    size, n = table.sum(axis=1), table.sum()
    together = pairs(table) + table @ table.T
    here, there = pairs(size) + np.outer(size, size), pairs(table.sum(axis=0))
    by_chance = here * there / max(n * (n - 1) / 2, 1.0)
    room = (here + there) / 2 - by_chance
    index: FloatArray = np.where(room > 0, together - by_chance, 1.0) / np.where(room > 0, room, 1)
    return index


def _prices(fit: DTFit, finest: int) -> FloatArray:
    """Prices of one factor fewer from the finest level down to one, none below the last."""
    given = np.array([fit.tree[k - 1].price for k in range(finest, 1, -1)])
    rising = np.maximum.accumulate(np.nan_to_num(given))
    return np.maximum(rising, max(_LEAST_SHARE * rising[-1], 1e-6))


def _arranged(
    fit: DTFit,
    labels: IntArray,
    home: IntArray,
    names: tuple[str, ...],
    merges: list[tuple[int, int]],
) -> Dendrogram:
    """Put leaves so that no lines cross, and factors in their order as far as that allows."""
    place = {int(k): (int(home[k]), int(k)) for k in np.unique(labels[labels >= 0])}
    under = {k: [k] for k in place}
    for a, b in merges:
        two = under[a], under.pop(b)
        upper, lower = sorted(two, key=lambda some: min(place[k] for k in some))
        under[a] = [*upper, *lower]
    (order,) = under.values()
    by_loading = table_order(fit.loadings)
    leaves = tuple(
        Leaf(tuple(i for i in by_loading if labels[i] == k), int(home[k]), names[k]) for k in order
    )
    prices = _prices(fit, len(order))
    node = {k: position for position, k in enumerate(order)}
    top = dict(node)  # first leaf under the node of a label
    joins = []
    for step, (a, b) in enumerate(merges):
        first, second = sorted((a, b), key=top.__getitem__)
        joins.append(Join(node[first], node[second], float(prices[step])))
        node[a], top[a] = len(order) + step, top[first]
    finer = fit.tree[len(leaves)].price if len(leaves) < len(fit.tree) else 0.0
    lowest = float(prices[0])
    floor = min(max(float(np.nan_to_num(finer)), lowest / _FARTHEST), lowest / _CLOSEST)
    outside = tuple(np.flatnonzero(labels < 0).tolist())
    return Dendrogram(leaves, tuple(joins), outside, floor)
