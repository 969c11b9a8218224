"""Sets of cliques from the barcode that together cover the items, each at its own threshold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dtstat.arrays import BoolArray, FloatArray, IntArray
from dtstat.structure.barcode import Barcode

_MOSTLY_NEW = 0.5  # share of items not covered yet from which a clique is a factor of its own


def covers(barcode: Barcode) -> Iterator[BoolArray]:
    """Yield sets of cliques, (p, d) each, that hardly overlap and leave few items out.

    Cliques are taken in two orders, the longest-lived first (well separated) and the tightest
    first (fine grained). In each order three sets are made: of disjoint cliques; of cliques with
    at least half of their items new; and of the new items of those. The clique of all items is
    left out, for nothing is outside that it could be separated from; it is yielded by itself.
    """
    p = len(barcode.item_names)
    everything = barcode.sizes == p
    if everything.any():
        yield np.ones((p, 1), dtype=bool)
    for preference in (barcode.persistence, barcode.deaths):
        order = _order(preference, everything)
        yield _greedy(barcode.members, order, 1.0, keep_overlap=True)
        yield _greedy(barcode.members, order, _MOSTLY_NEW, keep_overlap=True)
        yield _greedy(barcode.members, order, _MOSTLY_NEW, keep_overlap=False)


def _order(preference: FloatArray, excluded: BoolArray) -> IntArray:
    order: IntArray = np.argsort(-preference, kind="stable")
    return order[~excluded[order]]


def _greedy(members: BoolArray, order: IntArray, least_new: float, keep_overlap: bool) -> BoolArray:
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
