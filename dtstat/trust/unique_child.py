"""The unique child condition (Condition 1): how likely it is, and what depends on single items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import InputError
from dtstat.core.tables import Printed
from dtstat.structure.margin import local_ends, local_margin
from dtstat.structure.structure import Structure

FORMS = ("exact", "bound", "sparse")
_MOST_STEPS = 1_000_000  # some seconds


def ucc_probability(
    p: int, d: int, alpha: float, form: Literal["exact", "bound", "sparse"] = "exact"
) -> float:
    """Probability that every factor has a unique child, if parents are assigned at random.

    Each item has each of d factors as a parent with probability α, independently, given that it
    has at least one (Proposition 1). Then it is a unique child of a given factor with probability
    q = α(1 − α)^{d−1} / [1 − (1 − α)^d], and whether every factor gets one is a question of filling
    d boxes: the number of factors served rises from k to k + 1 with probability (d − k)q at each
    item. The paper's bound is 1 − d exp(−pα(1 − α)^d), its sparse form with α = c/d is
    1 − d exp(−c₁p/d), c₁ = c exp(−c)/2, for d so large that (1 − α)^d ≥ exp(−c)/2.

    Parameters
    ----------
    p, d
        Numbers of items and factors.
    alpha
        Probability α of an edge, in (0, 1).
    form
        "exact", the paper's "bound", or its "sparse" form.

    Raises
    ------
    InputError
        If an argument is out of range, or the sparse form does not hold for this d.

    Notes
    -----
    Cost: p d steps.

    Examples
    --------
    >>> round(ucc_probability(25, 5, 0.2), 3), round(ucc_probability(25, 5, 0.2, "bound"), 3)
    (0.815, 0.029)
    """
    p = checks.integer("p", p, 1, "It is the number of items.")
    d = checks.integer("d", d, 1, "It is the number of factors.")
    a = checks.open_unit("alpha", alpha, "It is the probability that a factor is a parent.")
    checks.choice("form", form, FORMS)
    if form == "exact":
        if d > p:
            return 0.0  # one item serves one factor
        if max(p, p * d / 1000) > _MOST_STEPS:
            wanted = f"at most {_MOST_STEPS} for the form 'exact', which goes item by item"
            raise checks.refusal("p", wanted, p, "Use form='bound', or fewer factors `d`.")
        return _all_served(p, d, a)
    none_else = (1 - a) ** d
    if form == "bound":
        return max(0.0, 1 - d * math.exp(-p * a * none_else))
    c = a * d
    if none_else < math.exp(-c) / 2:
        raise InputError(
            f"`form` 'sparse' holds for larger `d` only: (1 − α)^d = {none_else:.3g} is below "
            f"exp(−αd)/2 = {math.exp(-c) / 2:.3g}. Use 'bound' or 'exact'.",
            "form",
        )
    return max(0.0, 1 - d * math.exp(-c * math.exp(-c) / 2 * p / d))


def _all_served(p: int, d: int, alpha: float) -> float:
    """Chance that p items serve all d factors; sums of positive terms only, so nothing cancels."""
    some = -math.expm1(d * math.log1p(-alpha))
    q = alpha * (1 - alpha) ** (d - 1) / some
    served = np.zeros(d + 1)
    served[0] = 1.0
    rise = (d - np.arange(d + 1)) * q
    for _ in range(p):
        moved = served * rise
        served -= moved
        served[1:] += moved[:-1]
    return float(min(served[d], 1.0))


@dataclass(frozen=True, eq=False, repr=False)
class UniqueChildAudit(Printed):
    """What the factors of a structure owe to single items.

    Attributes
    ----------
    factors
        One row per factor: n_items, n_unique, unique_children; the condition holds where n_unique
        is not 0.
    dropping
        One row per item: its factors, whether it is a unique child, the factors that are lost from
        the graph without it, the factor that absorbs them, and how far the local margin of
        its factor changes (for an item of several factors, of the one that changes most).
    outside
        One row per item and factor, for items of no core: whether it was attached to the factor
        (own), how many and which edges to its core are missing at the threshold from which that is
        seen, their share, and the threshold below which it would have all (would_need).
    """

    factors: pd.DataFrame
    dropping: pd.DataFrame
    outside: pd.DataFrame

    @property
    def satisfied(self) -> bool:
        """Whether every factor has a unique child (Condition 1)."""
        return bool((self.factors["n_unique"] > 0).all())

    @property
    def fragile(self) -> tuple[str, ...]:
        """Items without which a factor is lost."""
        return tuple(self.dropping.loc[self.dropping["lost"].map(len) > 0, "item"])

    def __repr__(self) -> str:
        state = "holds" if self.satisfied else "is violated"
        fragile = ", ".join(self.fragile) or "none"
        said = f"UniqueChildAudit: the condition {state}; items whose removal would lose a factor"
        return f"{said}: {fragile}"


def audit(
    structure: Structure, strength: FloatArray, thresholds: FloatArray, loose: BoolArray
) -> UniqueChildAudit:
    """Ask of every item what would be lost without it, and of every item outside what it lacks.

    Parameters
    ----------
    structure
        The factors.
    strength
        (p, p) absolute dependence.
    thresholds
        (d,) threshold at which each factor is seen.
    loose
        (p,) items whose place is to be explained: of no factor, or attached to one.
    """
    unique = [structure.unique_children(k) for k in range(structure.n_factors)]
    factors = pd.DataFrame(
        {
            "factor": list(structure.factor_names),
            "n_items": structure.support.sum(axis=0),
            "n_unique": [len(items) for items in unique],
            "unique_children": unique,
        }
    )
    outside = _outside_frame(structure, strength, thresholds, loose)
    return UniqueChildAudit(factors, _dropping_frame(structure, strength), outside)


def _dropping_frame(structure: Structure, strength: FloatArray) -> pd.DataFrame:
    rows = []
    closed = structure.parent_sharing_graph() | np.eye(structure.n_items, dtype=bool)
    for i, name in enumerate(structure.item_names):
        parents = structure.parents(i)
        lost = _lost_without(structure, closed, i)
        into = tuple(_absorbing(structure, i, lost))
        change = [_margin_change(strength, structure, k, i) for k in parents]
        rows.append((name, parents, len(parents) == 1, lost, into, min(change, default=0.0)))
    columns = ["item", "factors", "unique_child", "lost", "merged_into", "margin_change"]
    return pd.DataFrame(rows, columns=columns)


def _lost_without(structure: Structure, closed: BoolArray, i: int) -> tuple[str, ...]:
    """Name the factors that cannot be read off the parent-sharing graph without an item.

    A factor is an independent maximal clique exactly if the closed neighborhood of one of its
    items is the factor itself. Without item i this can only change for the factors of i.
    """
    lost = []
    for k in np.flatnonzero(structure.support[i]):
        members = structure.support[:, k]
        beyond = closed[members] & ~members
        shown = ~beyond.any(axis=1)  # by these items, each joined to all others of the factor
        without = ~np.delete(beyond, i, axis=1).any(axis=1) & (np.flatnonzero(members) != i)
        if shown.any() and not without.any():
            lost.append(structure.factor_names[k])
    return tuple(lost)


def _absorbing(structure: Structure, i: int, lost: tuple[str, ...]) -> list[str]:
    """Name the factors that hold all items left of a lost one."""
    others = np.arange(structure.n_items) != i
    left = structure.support[others]
    found = []
    for name in lost:
        k = structure.factor_names.index(name)
        holds = ~(left[:, [k]] & ~left).any(axis=0)
        holds[k] = False
        found += [structure.factor_names[j] for j in np.flatnonzero(holds)]
    return list(dict.fromkeys(found))


def _margin_change(strength: FloatArray, structure: Structure, factor: str, i: int) -> float:
    members = structure.support[:, structure.factor_names.index(factor)]
    left = members.copy()
    left[i] = False
    o, w = local_ends(strength, left, ~members)
    return (w - o) / 2 - local_margin(strength, members)


def _outside_frame(
    structure: Structure, strength: FloatArray, thresholds: FloatArray, loose: BoolArray
) -> pd.DataFrame:
    names = np.asarray(structure.item_names, dtype=object)
    rows = []
    for i in np.flatnonzero(loose):
        for k, factor in enumerate(structure.factor_names):
            members = structure.support[:, k] & ~loose
            lacking = members & (strength[i] <= thresholds[k])
            weakest = float(strength[i, members].min()) if members.any() else math.nan
            rows.append(
                {
                    "item": names[i],
                    "factor": factor,
                    "own": bool(structure.support[i, k]),
                    "n_missing": int(lacking.sum()),
                    "share": lacking.sum() / max(members.sum(), 1),
                    "missing_edges": tuple(names[lacking]),
                    "threshold": float(thresholds[k]),
                    "would_need": weakest,
                }
            )
    columns = ["item", "factor", "own", "n_missing", "share", "missing_edges"]
    return pd.DataFrame(rows, columns=[*columns, "threshold", "would_need"])
