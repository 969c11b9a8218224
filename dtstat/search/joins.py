"""The tree of factors of so many items that nothing of size p × p is made.

It grows as :mod:`dtstat.search.tree` says, from the leaves of the barcode down to one factor, with
the same prices, but

1. leaves, and items that move, look only at the groups of an item's neighbors in the graph of the
   strongest pairs; items of no clique look at all leaves;
2. factors are joined whole, and items are sorted anew only when the number of factors has fallen by
   a quarter since they last were: a *stage*. A level between two stages is made by the joins since
   the one before;
3. the two factors that a factor correlates with most are known from the sums of answers
   (:mod:`dtstat.structure.composites`), and looked for again only where a join changed them;
4. the 30 items that speak for a factor of more are chosen anew when it has grown by a quarter.

So a join costs the products of a few sums of answers with all others and a few prices, and the
whole tree about as many operations as the correlations of all pairs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.parallel import Jobs, Progress, run, track
from dtstat.core.saved import register
from dtstat.data.frame import Frame
from dtstat.search.evaluate import log_likelihood_per_row
from dtstat.search.records import Level
from dtstat.search.tree import LEAF, PARTNERS, SPEAKERS, price_of_join
from dtstat.structure.barcode import Barcode
from dtstat.structure.composites import Composites, Neighbors
from dtstat.structure.groups import canonical_labels
from dtstat.structure.path import cover_orders

_SORTED_ANEW = 0.75  # share of the factors that are left when items are sorted anew
_PAIRS_PER_PIECE, _FEW_PIECES = 256, 16  # few are not worth sending the answers to a cluster
_ROWS_PER_BLOCK = 512
_GROWN = 1.25  # of a factor of many items, from which other items may speak for it
_NOBODY = np.empty(0, dtype=np.int64)
Pair = tuple[int, int]
KnownPrices = dict[tuple[bytes, bytes], float]  # by the items they were asked of


@register(
    shapes={
        "stages[]": "p",
        "pairs": "m2",
        "prices": "k",
        "asked": "k",
        "correlations": "k",
        "steps": "k",
    }
)
@dataclass(frozen=True, eq=False)
class JoinedLevels:
    """Levels with 1, 2, ... factors, made when they are asked for; like a tuple of levels.

    Attributes
    ----------
    stages
        (p,) groups of the items each time they were sorted anew, the finest first.
    pairs
        Of the join of each level with two factors or more an item of either factor.
    prices, correlations, steps
        As in :class:`dtstat.search.records.Level`.
    asked
        Number of items that each price was asked of.
    """

    stages: tuple[IntArray, ...]
    pairs: IntArray
    prices: FloatArray
    asked: IntArray
    correlations: FloatArray
    steps: FloatArray

    def __len__(self) -> int:
        return len(self.prices)

    def __getitem__(self, position: int) -> Level:
        k = range(1, len(self) + 1)[position]
        labels = self._labels(k)
        a, b = (0, 0) if k == 1 else (int(labels[i]) for i in self.pairs[k - 2])
        numbers = self.prices[k - 1], (min(a, b), max(a, b)), self.correlations[k - 1]
        price, pair, correlation = numbers
        return Level(
            labels, float(price), pair, float(correlation), math.nan, float(self.steps[k - 1])
        )

    def __iter__(self) -> Iterator[Level]:
        return (self[position] for position in range(len(self)))

    def as_given(self, frame: Frame) -> JoinedLevels:
        """Bring levels of the items in a frame back to the items as they are given."""
        stages = tuple(canonical_labels(labels[frame.place]) for labels in self.stages)
        return replace(self, stages=stages, pairs=frame.order[self.pairs])

    def _labels(self, k: int) -> IntArray:
        """Return the groups of a level: those of the last stage before, joined."""
        start = [labels for labels in self.stages if labels.max() + 1 >= k][-1]
        root = np.arange(start.max() + 1)
        for level in range(len(root), k, -1):
            a, b = (root[start[i]] for i in self.pairs[level - 2])
            root[root == b] = a
        return canonical_labels(root[start])


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices joins of the factors of items, given by their standardized answers."""

    Z: FloatArray

    def __call__(self, pairs: list[tuple[IntArray, IntArray]]) -> list[float]:
        """Price some joins."""
        return [price_of_join(_Few(self.Z), a, b) for a, b in pairs]


class _Few:
    """The items of one pair, whose correlations are computed once."""

    def __init__(self, Z: FloatArray) -> None:
        self._Z = Z
        self._R: FloatArray | None = None

    def block_log_likelihood(self, items: IntArray, support: BoolArray) -> float:
        """Log-likelihood per row of a model of these items."""
        if self._R is None:
            self._R = correlations_of(self._Z, items)
        return log_likelihood_per_row(self._R, self._Z.shape[1], support)


def correlations_of(Z: FloatArray, items: IntArray) -> FloatArray:
    """Correlations of some items, given by their standardized answers."""
    part = Z[items]
    R: FloatArray = part @ part.T / Z.shape[1]
    np.fill_diagonal(R, 1.0)
    return R


def leaves(
    Z: FloatArray, bars: Barcode, neighbors: Neighbors, smallest: int, floor: float, n_jobs: Jobs
) -> Composites:
    """Find the cover by small cliques with the most factors, and sort the items among them."""
    p = len(Z)
    most = max(LEAF, math.isqrt(p))
    tight = bars.take(np.flatnonzero(bars.sizes <= most))
    found = [np.full(p, -1)]
    found += [_cover(tight, order) for order in cover_orders(tight)]
    labels = max(found, key=lambda one: int(one.max()))
    if labels.max() < 0:  # no pair holds together
        return Composites(Z, np.zeros(p, dtype=np.int64), floor)
    out = np.flatnonzero(labels < 0)
    cores = np.flatnonzero(labels >= 0)
    if len(out):
        known = Composites(Z[cores], canonical_labels(labels[cores]), floor)
        everywhere = Composites.of_sums(Z, known, np.full(p, -1))
        labels[cores], labels[out] = known.labels, everywhere.home(out, n_jobs)
    groups = Composites(Z, canonical_labels(labels), floor)
    return groups.settle(neighbors, smallest)


def _cover(bars: Barcode, order: IntArray) -> IntArray:
    """(p,) leaf of each item, −1 for none: cliques taken in turn, of which half is new."""
    labels, k = np.full(len(bars.item_names), -1), 0
    for c in order:
        clique = bars.sets[c]
        new = clique[labels[clique] < 0]
        if len(new) >= max(len(clique) / 2, 2):
            labels[new] = k
            k += 1
    return labels


def grow(
    groups: Composites,
    neighbors: Neighbors,
    smallest: int,
    n_jobs: Jobs = None,
    progress: Progress = None,
) -> JoinedLevels:
    """Join factors from the leaves down to one."""
    d = groups.n_groups
    prices, correlations = np.full(d, np.nan), np.full(d, np.nan)
    pairs, asked = np.zeros((d - 1, 2), dtype=np.int64), np.zeros(d, dtype=np.int64)
    stages: list[IntArray] = []
    known: KnownPrices = {}
    stage = _Stage(_renumbered(groups), known, n_jobs)
    stages.append(stage.labels())
    levels = range(d, 1, -1)
    for k in track(levels, progress, "joining", len(levels)):
        price, a, b = stage.cheapest()
        prices[k - 1], correlations[k - 1] = price, stage.correlation(a, b)
        pairs[k - 2], asked[k - 1] = stage.first_items(a, b), stage.asked(a, b)
        stage.join(a, b)
        if k - 1 <= _SORTED_ANEW * stage.n_first and k > 2:
            groups = _renumbered(stage.groups().settle(neighbors, smallest))
            stage = _Stage(groups, known, n_jobs)
            stages.append(stage.labels())
    nothing, within = np.full(d, np.nan), np.clip(correlations, -1, 1)
    return JoinedLevels(tuple(stages), pairs, prices, asked, within, nothing)


def _renumbered(groups: Composites) -> Composites:
    """Put the groups in the order of their first items."""
    labels = canonical_labels(groups.labels)
    return Composites(groups.Z, labels, groups.floor, groups.signs)


@dataclass(frozen=True, eq=False)
class _Speakers:
    """Items that prices of a factor are asked of, and how many it had when they were chosen."""

    items: IntArray
    of: int
    name: bytes  # equal for equal items

    @classmethod
    def chosen(cls, items: IntArray, of: int) -> _Speakers:
        """Give them their name."""
        return cls(items, of, items.tobytes())


class _Stage:
    """Factors that are joined until items are sorted anew."""

    def __init__(self, groups: Composites, prices: KnownPrices, n_jobs: Jobs) -> None:
        self._start, self.n_first = groups, groups.n_groups
        self._n = groups.Z.shape[1]
        self._signs = groups.signs.copy()
        self._members: list[IntArray] = groups.members()
        self._sums, self._inside = groups.sums.copy(), groups.inside.copy()
        self._size = groups.size.astype(np.float64)
        self._scale = groups.scale.copy()
        self._alive = np.ones(self.n_first, dtype=bool)
        self._version = [0] * self.n_first
        self._speakers = [_Speakers.chosen(_NOBODY, 0)] * self.n_first
        for k in range(self.n_first):
            self._let_speak(k)
        self._closest = np.full((self.n_first, PARTNERS), -1)
        self._near = np.full((self.n_first, PARTNERS), -1.0)
        self._prices = prices
        self._heap: list[tuple[float, int, int, int, int]] = []
        for start in range(0, self.n_first, _ROWS_PER_BLOCK):
            self._look(np.arange(start, min(start + _ROWS_PER_BLOCK, self.n_first)))
        self._offer(self._pairs(np.arange(self.n_first)), n_jobs)

    def labels(self) -> IntArray:
        """(p,) groups at the start of the stage."""
        return self._start.labels

    def correlation(self, a: int, b: int) -> float:
        """Of two factors."""
        return float(self._sums[a] @ self._sums[b] / (self._n * self._scale[a] * self._scale[b]))

    def asked(self, a: int, b: int) -> int:
        """Count the items that the price of a pair was asked of."""
        return len(self._speakers[a].items) + len(self._speakers[b].items)

    def first_items(self, a: int, b: int) -> Pair:
        """Return an item of either factor."""
        return int(self._members[a][0]), int(self._members[b][0])

    def groups(self) -> Composites:
        """Return the factors as they are now."""
        labels = np.empty(len(self._signs), dtype=np.int64)
        for number, k in enumerate(np.flatnonzero(self._alive)):
            labels[self._members[k]] = number
        return Composites(self._start.Z, labels, self._start.floor, self._signs)

    def cheapest(self) -> tuple[float, int, int]:
        """Return the pair of the least price, with the price."""
        while True:
            price, a, b, *versions = self._heap[0]
            current = versions == [self._version[a], self._version[b]]
            if current and (b in self._closest[a] or a in self._closest[b]):
                return price, a, b
            heapq.heappop(self._heap)

    def join(self, a: int, b: int) -> None:
        """Let the larger take in the other, and look again where a factor's closest changed."""
        if self._size[b] > self._size[a]:
            a, b = b, a
        across = float(self._sums[a] @ self._sums[b]) / self._n
        turned = 1.0 if across >= 0 else -1.0
        self._signs[self._members[b]] *= turned
        self._members[a] = np.sort(np.concatenate([self._members[a], self._members[b]]))
        self._members[b] = self._members[b][:0]
        self._sums[a] += turned * self._sums[b]
        self._sums[b] = 0.0
        self._inside[a] += self._inside[b] + 2 * abs(across)
        self._size[a] += self._size[b]
        m = self._size[a]
        within = max(self._inside[a] / (m * (m - 1)), self._start.floor)
        self._scale[a], self._scale[b] = math.sqrt(within) * m, 1.0
        self._alive[b] = False
        self._version[b] += 1
        self._offer(self._draw_closer(a, b))

    def _draw_closer(self, a: int, b: int) -> list[Pair]:
        """Bring the closest factors up to date; return the pairs that may have no price.

        The joined factor keeps its place, or takes that of b, among the closest of another factor
        if it is no farther than the last of these was; nothing else can have come closer.
        """
        near = np.abs(self._sums @ self._sums[a]) / (self._n * self._scale * self._scale[a])
        near[~self._alive] = -1.0
        near[a] = -1.0
        its = (self._closest == a) | (self._closest == b)
        last = self._near[:, -1]
        twice = its.sum(axis=1) == PARTNERS
        lost = its.any(axis=1) & (twice | (near < last)) & self._alive
        lost[a] = True
        closer = (near > last) & ~its.any(axis=1)
        its[closer, -1] = True
        here = its & ~lost[:, None] & self._alive[:, None]
        rows, places = np.nonzero(here)
        self._closest[rows, places], self._near[rows, places] = a, near[rows]
        order = np.argsort(-self._near[rows], axis=1, kind="stable")
        self._closest[rows] = np.take_along_axis(self._closest[rows], order, axis=1)
        self._near[rows] = np.take_along_axis(self._near[rows], order, axis=1)
        self._take_closest(np.array([a]), near[None].copy())
        others = np.flatnonzero(lost)
        self._look(others[others != a])
        self._let_speak(a)
        with_a = np.flatnonzero((self._closest == a).any(axis=1) & self._alive)
        pairs = {(min(a, k), max(a, k)) for k in with_a.tolist()}
        return sorted(pairs.union(self._pairs(np.flatnonzero(lost))))

    def _let_speak(self, k: int) -> None:
        """Choose anew the items that prices of a factor are asked of.

        All items, or of a factor of many those that go with it most, chosen anew when it has grown
        by a quarter.
        """
        items, known = self._members[k], self._speakers[k]
        if len(items) > SPEAKERS and len(items) < _GROWN * known.of:
            return
        of = len(items)
        if of > SPEAKERS:
            own = self._signs[items] * (self._start.Z[items] @ self._sums[k])
            items = np.sort(items[np.argsort(-own, kind="stable")[:SPEAKERS]])
        self._speakers[k] = _Speakers.chosen(items, of)
        self._version[k] += 1

    def _look(self, rows: IntArray) -> None:
        """Find the closest factors of some."""
        if not len(rows):
            return
        scale = np.where(self._alive, self._n * self._scale, np.inf)
        size = np.abs(self._sums[rows] @ self._sums.T) / scale / self._scale[rows][:, None]
        size[:, ~self._alive] = -1.0
        size[np.arange(len(rows)), rows] = -1.0
        self._take_closest(rows, size)

    def _take_closest(self, rows: IntArray, size: FloatArray) -> None:
        """Note the closest factors of some by their correlations with all, which are used up."""
        for place in range(PARTNERS):
            closest = size.argmax(axis=1)
            near = size[np.arange(len(rows)), closest]
            self._closest[rows, place] = np.where(near < 0, -1, closest)
            self._near[rows, place] = near
            size[np.arange(len(rows)), closest] = -1.0

    def _pairs(self, rows: IntArray) -> list[Pair]:
        """Each of some factors with its closest."""
        partners = zip(rows.tolist(), self._closest[rows].tolist(), strict=True)
        return sorted({(min(a, b), max(a, b)) for a, both in partners for b in both if b >= 0})

    def _offer(self, pairs: list[Pair], n_jobs: Jobs = 1) -> None:
        """Price pairs that have no price yet, and put all on the heap."""
        said = self._speakers
        keys = [(said[a].name, said[b].name) for a, b in pairs]
        every = zip(keys, pairs, strict=True)
        fresh = {key: pair for key, pair in every if key not in self._prices}
        new, asked = [*fresh], [(said[a].items, said[b].items) for a, b in fresh.values()]
        starts = range(0, len(new), _PAIRS_PER_PIECE)
        pieces = [asked[start : start + _PAIRS_PER_PIECE] for start in starts]
        workers = n_jobs if len(pieces) > _FEW_PIECES else 1
        done = run(Prices(self._start.Z), pieces, workers, ordered=True)
        for start, (_, prices) in zip(starts, done, strict=True):
            self._prices |= zip(new[start : start + _PAIRS_PER_PIECE], prices, strict=True)
        for key, (a, b) in zip(keys, pairs, strict=True):
            versions = self._version[a], self._version[b]
            heapq.heappush(self._heap, (self._prices[key], a, b, *versions))
