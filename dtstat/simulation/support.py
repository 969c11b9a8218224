"""Which items load on which factors: independent clusters, and departures from them (Section 6)."""

from __future__ import annotations

from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from dtstat.arrays import BoolArray
from dtstat.errors import InputError

SECOND_PARENTS = ("own", "shared")


def independent_clusters(d: int, size: int) -> BoolArray:
    """Return the (d·size, d) support in which each item has one parent, factor by factor."""
    return np.repeat(np.eye(d, dtype=bool), size, axis=0)


def without_unique_children(
    support: BoolArray, share: float, second_parent: str, rng: np.random.Generator
) -> BoolArray:
    """Take the unique children from a random ``share`` of the factors, round(share · d) of them.

    Each child of such a factor gets a second parent at random among the other factors: its own
    draw ("own"), or one draw for all children of that factor ("shared"). The factors not chosen
    keep their unique children, so Condition 1 fails for exactly the chosen ones.

    Parameters
    ----------
    support
        (p, d) independent clusters.
    """
    d = support.shape[1]
    changed = support.copy()
    for factor in rng.permutation(d)[: round(share * d)]:
        children = np.flatnonzero(support[:, factor])
        draws = len(children) if second_parent == "own" else 1
        changed[children, _other_factors(factor, d, draws, rng)] = True
    return changed


def with_cross_loadings(support: BoolArray, k: int, rng: np.random.Generator) -> BoolArray:
    """Give ``k`` unique children a second parent at random, but no factor's last unique child.

    The items are taken from the factors in turn, in random order, so that they come from
    different factors as far as possible.
    """
    d = support.shape[1]
    one_parent = support.sum(axis=1) == 1
    spare = [
        rng.permutation(np.flatnonzero(one_parent & support[:, factor]))[1:]
        for factor in rng.permutation(d)
    ]
    in_turn = [item for turn in zip_longest(*spare) for item in turn if item is not None]
    if k > len(in_turn):
        raise InputError(
            f"`cross_loadings` must be at most {len(in_turn)} here, so that no factor loses its "
            f"last unique child; got {k}. Raise `items_per_factor` or lower `violating`.",
            "cross_loadings",
        )
    changed = support.copy()
    for item in in_turn[:k]:
        changed[item, _other_factors(support[item].argmax(), d, 1, rng)] = True
    return changed


def _other_factors(
    factor: np.intp, d: int, count: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Draw ``count`` factors, with replacement, from the d − 1 that are not ``factor``."""
    drawn = rng.integers(d - 1, size=count)
    return drawn + (drawn >= factor)
