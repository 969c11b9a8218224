"""How structures found in resamples agree with a reference.

Factors have no names, so those of a resample are matched to those of the reference by the
assignment with most items in common; what is left over has no partner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Agreement:
    """How resamples agree with a reference structure of p items and d factors.

    Attributes
    ----------
    edges
        (p, p) share of resamples in which two items share a factor.
    memberships
        (p, d) share in which an item is in the partner of a factor.
    items
        (p,) share in which an item is in the partners of its factors and nowhere else.
    exact, jaccard
        (d,) share in which a factor comes out exactly, and mean |A ∩ B| / |A ∪ B| with its
        partner (0 without one).
    n_factors
        Number of factors → how many resamples have it.
    f1
        (m,) agreement of each resample with the reference.
    """

    edges: FloatArray
    memberships: FloatArray
    items: FloatArray
    exact: FloatArray
    jaccard: FloatArray
    n_factors: dict[int, int]
    f1: FloatArray


def agreement(reference: BoolArray, supports: Sequence[BoolArray]) -> Agreement:
    """Compare structures with a reference, factors matched."""
    p, d = reference.shape
    m = len(supports)
    edges, memberships = np.zeros((p, p)), np.zeros((p, d))
    items, exact, jaccard = np.zeros(p), np.zeros(d), np.zeros(d)
    f1 = np.empty(m)
    for s, support in enumerate(supports):
        A = support.astype(np.float32)
        edges += (A @ A.T) > 0
        aligned, alone = _aligned(reference, support)
        memberships += aligned
        items += (aligned == reference).all(axis=1) & ~alone.any(axis=1)
        exact += (aligned == reference).all(axis=0)
        jaccard += (aligned & reference).sum(axis=0) / (aligned | reference).sum(axis=0)
        hits, total = int((aligned & reference).sum()), int(reference.sum() + support.sum())
        f1[s] = 2 * hits / total if total else 1.0
    counts = Counter(int(support.shape[1]) for support in supports)
    np.fill_diagonal(edges, m)
    return Agreement(
        edges / m,
        memberships / m,
        items / m,
        exact / m,
        jaccard / m,
        dict(sorted(counts.items())),
        f1,
    )


def _aligned(reference: BoolArray, support: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Return the partners of the reference's factors, empty where there is none, and the rest."""
    from scipy.optimize import linear_sum_assignment

    overlap = reference.astype(int).T @ support.astype(int)
    union = reference.sum(axis=0)[:, None] + support.sum(axis=0) - overlap
    # Of equal overlaps the one with least else; the shares add up to less than one item.
    preference = overlap + overlap / union / (1 + len(overlap))
    mine, theirs = linear_sum_assignment(preference, maximize=True)
    paired = overlap[mine, theirs] > 0
    aligned = np.zeros_like(reference)
    aligned[:, mine[paired]] = support[:, theirs[paired]]
    return aligned, np.delete(support, theirs[paired], axis=1)
