"""Thresholdability: how far within-factor dependence stays above the rest (Definition 4).

    γ = ½ [ min |ρ_ij| over pairs that share a factor  −  max |ρ_ij| over pairs that do not ]

E₀ is thresholdable, by one threshold for all factors, exactly if γ > 0. Factor by factor less is
asked: with w(C) the smallest |ρ| within the items C of a factor and o(C) the smallest, over u in C,
of the largest |ρ_uv| with v outside, C is seen at the thresholds from o(C) to w(C), and its local
margin is γ_C = ½ [w(C) − o(C)].

A structure is thresholdable given ρ; that does not make it the only one. Other thresholds give
other graphs, and another structure may be thresholdable there, even one with the same correlations
(:func:`dtstat.margin` has an example). Pairwise dependence identifies the path of
structures over all thresholds, not which of them is true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import InputError, printable
from dtstat.core.tables import Printed
from dtstat.structure.structure import Structure


@dataclass(frozen=True)
class Pair:
    """Two items and their absolute dependence."""

    first: str
    second: str
    value: float

    def __str__(self) -> str:
        return f"{self.first}–{self.second} ({self.value:.2f})"


@dataclass(frozen=True)
class LocalMargin:
    """Margin of one factor.

    Attributes
    ----------
    factor, items
        Its name and items C.
    weakest
        Pair within with the smallest dependence, w(C); None for a single item.
    outside
        The item least tied to the outside and its strongest tie there, o(C); None if there are no
        items outside.
    value
        γ_C; negative if the factor is seen at no threshold.
    """

    factor: str
    items: tuple[str, ...]
    weakest: Pair | None
    outside: Pair | None
    value: float


@dataclass(frozen=True)
class Margin(Printed):
    """How far a structure can be read off a dependence matrix by thresholds.

    Attributes
    ----------
    measure
        Measure of dependence.
    weakest_edge
        Of the pairs that share a factor the one with the smallest dependence.
    strongest_non_edge
        Of the others the one with the largest; None if all pairs share a factor.
    factors
        Margins of the single factors.
    simulated
        Whether the dependence was estimated from simulated rows instead of computed.
    """

    measure: str
    weakest_edge: Pair
    strongest_non_edge: Pair | None
    factors: tuple[LocalMargin, ...]
    simulated: bool = False

    @property
    def value(self) -> float:
        """γ; the structure is thresholdable if it is positive."""
        strongest = self.strongest_non_edge.value if self.strongest_non_edge else 0.0
        return (self.weakest_edge.value - strongest) / 2

    @property
    def satisfied(self) -> bool:
        """Whether one threshold separates all pairs."""
        return self.value > 0

    @property
    def verdict(self) -> str:
        """Say in words whether one threshold can give the structure, and what decides."""
        within, between = self.weakest_edge, self.strongest_non_edge
        if between is None:
            return "satisfied: all items share a factor, so there is nothing to separate"
        if self.satisfied:
            return printable(
                f"satisfied: every pair within a factor (weakest {within}) is stronger than every "
                f"pair between factors (strongest {between})"
            )
        return printable(
            f"violated: {within} within a factor is weaker than {between} between factors"
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per factor: margin, the thresholds it is seen at, the pairs that set them."""
        rows = [
            (
                one.factor,
                len(one.items),
                one.value,
                0.0 if one.outside is None else one.outside.value,
                1.0 if one.weakest is None else one.weakest.value,
                "" if one.weakest is None else f"{one.weakest.first}–{one.weakest.second}",
                "" if one.outside is None else f"{one.outside.first}–{one.outside.second}",
            )
            for one in self.factors
        ]
        columns = ["factor", "n_items", "margin", "from", "to", "weakest_within", "outside"]
        return pd.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        return f"Margin by {self.measure}: {self.value:.3f}, {self.verdict}"


def structure_margin(
    strength: FloatArray, structure: Structure, measure: str, simulated: bool = False
) -> Margin:
    """Measure the margins of a structure in a matrix of absolute dependence.

    Parameters
    ----------
    strength
        (p, p) absolute dependence of the items of the structure, in their order.
    structure, measure, simulated
        The factors; what the matrix holds, and whether it comes from simulated rows.

    Raises
    ------
    InputError
        If no two items share a factor.
    """
    E = structure.parent_sharing_graph()
    if not E.any():
        raise InputError("A margin needs a factor with at least two items; there is none.")
    names = structure.item_names
    others = ~E
    np.fill_diagonal(others, False)
    strongest = _extreme(strength, others, names, largest=True) if others.any() else None
    return Margin(
        measure,
        _extreme(strength, E, names, largest=False),
        strongest,
        tuple(
            local_margin_of(strength, members, names, factor)
            for members, factor in zip(structure.support.T, structure.factor_names, strict=True)
        ),
        simulated,
    )


def local_margin_of(
    strength: FloatArray, members: BoolArray, names: tuple[str, ...], factor: str
) -> LocalMargin:
    """Measure the margin of one set of items, with the pairs that set it."""
    own, others = np.flatnonzero(members), np.flatnonzero(~members)
    weakest = outside = None
    if len(own) > 1:
        inside = strength[np.ix_(own, own)]
        i, j = np.triu_indices(len(own), 1)
        k = int(inside[i, j].argmin())
        weakest = Pair(names[own[i[k]]], names[own[j[k]]], float(inside[i[k], j[k]]))
    if len(own) and len(others):
        ties = strength[np.ix_(own, others)]
        u = int(ties.max(axis=1).argmin())
        v = int(ties[u].argmax())
        outside = Pair(names[own[u]], names[others[v]], float(ties[u, v]))
    w = 1.0 if weakest is None else weakest.value
    o = 0.0 if outside is None else outside.value
    return LocalMargin(factor, tuple(names[i] for i in own), weakest, outside, (w - o) / 2)


def _extreme(strength: FloatArray, pairs: BoolArray, names: tuple[str, ...], largest: bool) -> Pair:
    i, j = np.nonzero(np.triu(pairs, 1))
    values = strength[i, j]
    k = int(values.argmax() if largest else values.argmin())
    return Pair(names[i[k]], names[j[k]], float(values[k]))


def margin_values(strength: FloatArray, support: BoolArray) -> tuple[float, FloatArray]:
    """Return γ and the (d,) local margins; the numbers of :func:`structure_margin` alone."""
    local = np.array([local_margin(strength, members) for members in support.T])
    return margin_value(strength, support), local


def margin_value(strength: FloatArray, support: BoolArray) -> float:
    """Return γ alone."""
    A = support.astype(np.float32)
    shared = (A @ A.T) > 0
    off_diagonal = ~np.eye(len(A), dtype=bool)
    within = strength[shared & off_diagonal]
    between = strength[~shared & off_diagonal]
    return float(within.min(initial=1.0) - between.max(initial=0.0)) / 2


def local_margin(strength: FloatArray, members: BoolArray) -> float:
    """Return γ_C of the marked items."""
    o, w = local_ends(strength, members, ~members)
    return (w - o) / 2


def local_ends(strength: FloatArray, members: BoolArray, others: BoolArray) -> tuple[float, float]:
    """Return o and w of the marked items; w = 1 of a single item, o = 0 without others."""
    inside = strength[np.ix_(members, members)]
    w = inside[~np.eye(len(inside), dtype=bool)].min(initial=1.0)
    o = strength[np.ix_(members, others)].max(axis=1, initial=0.0).min(initial=1.0)
    return float(o), float(w)
