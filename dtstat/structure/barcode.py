"""The barcode of factors: every clique the path ever shows, and the thresholds it lives at.

A set of items C is an independent maximal clique of Ê(τ) = {(i, j): |r_ij| > τ} exactly when
o(C) ≤ τ < w(C), where

    w(C) = min |r_ij| over pairs inside C                       (C is a clique)
    o(C) = min over u in C of max |r_uv| over v outside C       (some u has no neighbour outside)

so a clique appears at one birth o(C), disappears at one death w(C), and never comes back. The
pool of all cliques with their intervals therefore *is* the exact solution path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dtstat.arrays import BoolArray, FloatArray, IntArray
from dtstat.structure.spells import Spells, simplicial_spells
from dtstat.structure.support import Structure


@dataclass(frozen=True)
class Bar:
    """One clique of the barcode: a candidate factor with the thresholds it lives at.

    Attributes
    ----------
    items
        Names of its members.
    unique_members
        Members that belong, somewhere on the interval, to no other maximal clique.
    birth, death
        o(C) and w(C): the clique is seen for thresholds in [birth, death).
    """

    items: tuple[str, ...]
    unique_members: tuple[str, ...]
    birth: float
    death: float

    @property
    def persistence(self) -> float:
        """Length of its life, w(C) − o(C)."""
        return self.death - self.birth

    @property
    def local_margin(self) -> float:
        """Half its persistence: how far every |r| may move before the clique is lost."""
        return self.persistence / 2


@dataclass(frozen=True, eq=False, repr=False)
class Barcode:
    """All cliques of the exact path, longest-lived first.

    Attributes
    ----------
    item_names
        Names of the p items.
    births, deaths
        (m,) arrays o(C) and w(C).
    members, unique_members
        (m, p) boolean arrays: who belongs to each clique, and who is at some threshold its
        unique member.
    """

    item_names: tuple[str, ...]
    births: FloatArray
    deaths: FloatArray
    members: BoolArray
    unique_members: BoolArray

    @property
    def persistence(self) -> FloatArray:
        """(m,) lengths of life."""
        return self.deaths - self.births

    @property
    def sizes(self) -> IntArray:
        """(m,) numbers of members."""
        sizes: IntArray = self.members.sum(axis=1)
        return sizes

    def alive(self, threshold: float) -> BoolArray:
        """(m,) marks of the cliques seen at a threshold."""
        seen: BoolArray = (self.births <= threshold) & (threshold < self.deaths)
        return seen

    def at(self, threshold: float) -> Structure:
        """Structure at a threshold: the cliques alive there, ordered by their first items."""
        cliques = self.members[self.alive(threshold)]
        return Structure(cliques[np.argsort(_rank_by_first_items(cliques))].T, self.item_names)

    def to_frame(self) -> pd.DataFrame:
        """One row a clique: birth, death, persistence, size, items, unique members."""
        return pd.DataFrame(
            {
                "birth": self.births,
                "death": self.deaths,
                "persistence": self.persistence,
                "size": self.sizes,
                "items": [" ".join(bar.items) for bar in self],
                "unique_members": [" ".join(bar.unique_members) for bar in self],
            }
        )

    def __len__(self) -> int:
        return len(self.births)

    def __getitem__(self, i: int) -> Bar:
        names = np.asarray(self.item_names, dtype=object)
        return Bar(
            tuple(names[self.members[i]]),
            tuple(names[self.unique_members[i]]),
            float(self.births[i]),
            float(self.deaths[i]),
        )

    def __iter__(self) -> Iterator[Bar]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Barcode: {len(self)} cliques of {len(self.item_names)} items"


def barcode(R: FloatArray, item_names: tuple[str, ...], min_children: int) -> Barcode:
    """Barcode of the cliques of at least ``min_children`` items.

    Parameters
    ----------
    R
        (p, p) symmetric matrix; only absolute values off the diagonal are used.
    item_names
        p names.
    min_children
        Smallest clique to keep.
    """
    strength = np.abs(R)
    np.fill_diagonal(strength, np.inf)
    spells = simplicial_spells(strength)
    spells = spells[spells.size >= min_children]
    return _assemble(strength, item_names, spells)


def _assemble(strength: FloatArray, item_names: tuple[str, ...], spells: Spells) -> Barcode:
    """Merge the spells of the unique members of a clique into one bar."""
    _, first, clique = np.unique(spells.name, return_index=True, return_inverse=True)
    births = np.full(len(first), np.inf)
    np.minimum.at(births, clique, spells.birth)
    deaths = spells.death[first]
    unique_members = np.zeros((len(first), len(strength)), dtype=bool)
    unique_members[clique, spells.vertex] = True
    # C is the closed neighbourhood of any of its unique members at the start of that spell.
    members = strength[spells.vertex[first]] > spells.birth[first, None]
    # Longest first; equal persistence falls back on the threshold, then on the first items, so
    # that the order never depends on how the cliques were found.
    order = np.lexsort((_rank_by_first_items(members), -deaths, births - deaths))
    parts = births[order], deaths[order], members[order], unique_members[order]
    for array in parts:
        array.setflags(write=False)
    return Barcode(item_names, *parts)


def _rank_by_first_items(members: BoolArray) -> IntArray:
    """(m,) ranks of distinct sets, those with the earliest items first."""
    absent = [row.tobytes() for row in np.packbits(~members, axis=1)]
    rank = np.empty(len(absent), dtype=np.int64)
    rank[sorted(range(len(absent)), key=absent.__getitem__)] = np.arange(len(absent))
    return rank
