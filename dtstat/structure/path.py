"""Structures read off the barcode: one threshold for all factors, or one for each.

:func:`candidates` lists the solution path, the structures that single thresholds give;
:func:`covers` makes sets of cliques that together cover the items, each at its own threshold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.tables import Printed
from dtstat.structure.barcode import Barcode
from dtstat.structure.structure import Structure

_DECIMALS = 10  # of a threshold; later ones are rounding
_MOSTLY_NEW = 0.5  # share of items not covered yet from which a clique is a factor of its own


@dataclass(frozen=True, eq=False, repr=False)
class Candidate(Printed):
    """One distinct structure of the path.

    Attributes
    ----------
    intervals
        All intervals [low, high) of thresholds that give this structure, widest first. There is
        nearly always one; a structure returns if a clique came and went in between.
    n_factors, n_edges, n_covered
        Number of factors, of item–factor edges (free loadings), and of items in some factor.
    """

    intervals: tuple[tuple[float, float], ...]
    n_factors: int
    n_edges: int
    n_covered: int
    _barcode: Barcode

    @property
    def tau_low(self) -> float:
        """Lower end, included, of its widest interval of thresholds."""
        return self.intervals[0][0]

    @property
    def tau_high(self) -> float:
        """Upper end, excluded, of its widest interval of thresholds."""
        return self.intervals[0][1]

    @property
    def persistence(self) -> float:
        """Width of its widest interval."""
        return self.tau_high - self.tau_low

    @cached_property
    def structure(self) -> Structure:
        """The structure, built when first asked for."""
        return self._barcode.at(self.tau_low)

    def __repr__(self) -> str:
        return (
            f"Candidate: thresholds [{self.tau_low:.4f}, {self.tau_high:.4f}), "
            f"{self.n_factors} factors, {self.n_edges} edges"
        )


def candidates(barcode: Barcode, thresholds: FloatArray | None = None) -> tuple[Candidate, ...]:
    """List the distinct structures with at least one factor, by rising threshold.

    There are fewer factors than items, as the paper assumes: if single items count as factors, the
    structure in which every item is one is left out.

    Parameters
    ----------
    barcode
        Cliques of the exact path.
    thresholds
        Keep only what these thresholds see; all of the path if None.

    Notes
    -----
    Cost: sorting the births and deaths, and counting the covered items after each of them. No two
    structures are compared: a structure's name is the exclusive or of random 64-bit names of its
    cliques.
    """
    segments = _segments(barcode)
    seen = (segments.n_factors > 0) & (segments.n_factors < len(barcode.item_names))
    if thresholds is not None:
        visited = np.searchsorted(segments.edges, thresholds, side="right") - 1
        inside = visited[(visited >= 0) & (visited < len(segments.name))]
        seen &= np.isin(np.arange(len(seen)), inside)
    pieces = np.flatnonzero(seen)
    _, group = np.unique(segments.name[pieces], return_inverse=True)
    order = np.argsort(group, kind="stable")
    splits = np.flatnonzero(np.diff(group[order])) + 1
    found = [_candidate(barcode, segments, g) for g in np.split(pieces[order], splits) if len(g)]
    return tuple(sorted(found, key=lambda c: c.tau_low))


@dataclass(frozen=True)
class _Segments:
    """The path cut where the structure changes: piece s covers [edges[s], edges[s + 1])."""

    edges: FloatArray
    name: npt.NDArray[np.uint64]
    n_factors: IntArray
    n_edges: IntArray
    n_covered: IntArray


def _segments(barcode: Barcode) -> _Segments:
    m = len(barcode)
    clique_names = np.random.default_rng(m).integers(0, 2**64, size=m, dtype=np.uint64)
    time = np.concatenate([barcode.births, barcode.deaths])
    order = np.argsort(time, kind="stable")
    last = np.append(np.flatnonzero(np.diff(time[order])), [2 * m - 1] if m else []).astype(int)

    def running(change: npt.NDArray[np.int64]) -> IntArray:
        total: IntArray = np.cumsum(np.concatenate([change, -change])[order])[last]
        return total

    toggles = np.bitwise_xor.accumulate(np.concatenate([clique_names, clique_names])[order])
    return _Segments(
        edges=time[order][last],
        name=toggles[last][:-1],
        n_factors=running(np.ones(m, dtype=np.int64))[:-1],
        n_edges=running(barcode.sizes)[:-1],
        n_covered=_running_cover(barcode, order)[last][:-1],
    )


def _running_cover(barcode: Barcode, order: IntArray) -> IntArray:
    """Count the items in some clique after each birth and death, in the given order of events."""
    m = len(barcode)
    memberships = np.zeros(len(barcode.item_names), dtype=np.int64)
    covered, count = np.empty(len(order), dtype=np.int64), 0
    for k, event in enumerate(order):
        clique = barcode.sets[event % m]
        if event < m:
            count += len(clique) - int(np.count_nonzero(memberships[clique]))
            memberships[clique] += 1
        else:
            memberships[clique] -= 1
            count -= len(clique) - int(np.count_nonzero(memberships[clique]))
        covered[k] = count
    return covered


def _candidate(barcode: Barcode, segments: _Segments, pieces: IntArray) -> Candidate:
    low, high = segments.edges[pieces], segments.edges[pieces + 1]
    widest_first = np.argsort(low - high, kind="stable")
    intervals = tuple((float(low[i]), float(high[i])) for i in widest_first)
    s = pieces[0]
    return Candidate(
        intervals,
        n_factors=int(segments.n_factors[s]),
        n_edges=int(segments.n_edges[s]),
        n_covered=int(segments.n_covered[s]),
        _barcode=barcode,
    )


def covers(barcode: Barcode) -> Iterator[BoolArray]:
    """Yield sets of cliques, (p, d) each, that hardly overlap and leave few items out.

    Cliques are taken in two orders, the longest-lived first (well separated) and the tightest
    first (fine grained). In each order three sets are made: of disjoint cliques; of cliques with
    at least half of their items new; and of the new items of those. The clique of all items is
    left out, for nothing is outside that it could be separated from; it is yielded by itself. Of
    small cliques, the set with the most factors has the leaves of :mod:`dtstat.search.tree`.
    """
    p = len(barcode.item_names)
    everything = barcode.sizes == p
    if everything.any():
        yield np.ones((p, 1), dtype=bool)
    for order in cover_orders(barcode):
        yield _take_greedily(barcode.members, order, 1.0, keep_overlap=True)
        yield _take_greedily(barcode.members, order, _MOSTLY_NEW, keep_overlap=True)
        yield _take_greedily(barcode.members, order, _MOSTLY_NEW, keep_overlap=False)


def cover_orders(barcode: Barcode) -> Iterator[IntArray]:
    """Yield the orders in which cliques are taken: longest-lived first, and tightest first."""
    everything = barcode.sizes == len(barcode.item_names)
    for preference in (barcode.persistence, barcode.deaths):
        order: IntArray = np.argsort(-np.round(preference, _DECIMALS), kind="stable")
        yield order[~everything[order]]


def _take_greedily(
    members: BoolArray, order: IntArray, least_new: float, keep_overlap: bool
) -> BoolArray:
    """Take each clique in turn of which at least the share ``least_new`` is not covered yet."""
    covered = np.zeros(members.shape[1], dtype=bool)
    taken = []
    for i in order:
        clique = members[i]
        new = clique & ~covered
        if new.sum() >= max(least_new * clique.sum(), 2):
            taken.append(clique if keep_overlap else new)
            covered |= clique
            if covered.all():
                break
    return np.array(taken, dtype=bool).reshape(-1, members.shape[1]).T
