"""Which cliques of the barcode are cliques of the population, with one error for all of them.

A claim (C, u) says that in the population every pair within C depends more than every pair of its
member u with an item v outside,

    |ρ_ij| > |ρ_uv|   for all i, j in C and all v not in C.

Then C is an independent maximal clique at every threshold between the two, with u as its unique
member, and conversely. Within one claim all contrasts must be positive, so each may be tested as if
it were the only one (an intersection-union test). Over all claims, whatever the data suggested,
the error is bounded by counting **witnesses**:

    Order the items other than u by their |ρ_u·|. If a claim (C, u) is false, then either some
    item of C stands just before an item outside it, or C is u with the last items of the order
    and has a pair that is no stronger than the first one outside. The former are p − 2 contrasts
    per u, the latter one per size of C: at most p (p − 2) + p (p − m) contrasts, each of which is
    not positive, and one of which must be found positive for any false claim.

For C all items the claim is |ρ_ij| > 0, with two witnesses, one per sign. So if a contrast counts
as positive when its tail probability is at most error / N,

    N = p (2p − 2 − m) + 2,

P(any false claim is certified) ≤ error. All differences of two correlations are some p⁴ / 4: the
count of witnesses halves the exponent. The vignette "What is guaranteed" has the proof.

Two claims (C, u) and (C′, u′) **separate** u and u′ if C has an item other than u that is not in
C′, and C′ one other than u′ that is not in C. Then |ρ_uj| > |ρ_uk| and |ρ_u′j| < |ρ_u′k| for some j
and k, which no model allows in which u and u′ measure the same one factor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.parallel import Progress, track
from dtstat.structure.barcode import Barcode
from dtstat.trust.contrasts import PairErrors


def n_witnesses(p: int, min_children: int) -> int:
    """Return how many contrasts must be right for all claims about p items to be right."""
    return p * max(2 * p - 2 - min_children, 1) + 2


@dataclass(frozen=True)
class Claim:
    """One clique and a unique member: number of the bar, and of the item."""

    bar: int
    item: int


def claim_errors(
    bars: Barcode, errors: PairErrors, min_children: int, progress: Progress = None
) -> FloatArray:
    """(m, p) familywise error at which each clique would be certified by each unique member.

    1 for items that are no unique member. A claim is certified with error α if its value is at
    most α; the smallest value of a row is that of the clique.
    """
    found = np.ones((len(bars), errors.p))
    for k, clique in enumerate(track(bars.sets, progress, "claims")):
        unique = bars.unique_sets[k]
        found[k, unique] = errors_of_clique(clique, unique, errors, min_children)
    return found


def errors_of_clique(
    clique: IntArray, unique: IntArray, errors: PairErrors, min_children: int
) -> FloatArray:
    """Errors at which a set of items would be certified by each of some members."""
    count = n_witnesses(errors.p, min_children)
    i, j = np.triu_indices(len(clique), 1)
    inside = errors.place[clique[i], clique[j]]
    outside = np.setdiff1d(np.arange(errors.p), clique, assume_unique=True)
    found = np.ones(len(unique))
    if not len(outside):
        return found * min(1.0, count * errors.tail_from_zero(inside))
    ties = errors.place[np.ix_(unique, outside)]
    weakest = inside[[np.abs(errors.z[inside]).argmin()]]
    strongest = ties[np.arange(len(unique)), np.abs(errors.z[ties]).argmax(axis=1)]
    # One contrast without hope settles a claim, and most claims.
    hopeful = count * errors.tails(weakest, strongest)[0] < 1
    if hopeful.any():
        tails = errors.tails(inside, ties[hopeful].reshape(-1)).max(axis=0)
        worst = tails.reshape(-1, len(outside)).max(axis=1)
        found[hopeful] = np.minimum(1.0, count * worst)
    return found


def guaranteed_errors(
    bars: Barcode, strength: FloatArray, tail: Callable[[float], float]
) -> FloatArray:
    """As :func:`claim_errors`, by an inequality for single values instead of estimated errors.

    If no |r − ρ| reaches half the distance from the weakest pair within to the strongest tie of u
    outside, the claim is true; ``tail`` bounds the probability that any of all pairs does.
    """
    found = np.ones((len(bars), len(strength)))
    for k, members in enumerate(bars.members):
        for u in bars.unique_sets[k]:
            strongest = strength[u, ~members].max(initial=0.0)
            gap = bars.deaths[k] - strongest
            found[k, u] = min(1.0, tail(gap / 2 if not members.all() else gap))
    return found


def separated_claims(members: BoolArray, claims: Sequence[Claim]) -> list[Claim]:
    """Pick claims of which any two separate their unique members; the first ones are preferred."""
    chosen: list[Claim] = []
    for claim in claims:
        if all(_separate(members, claim, other) for other in chosen):
            chosen.append(claim)
    return chosen


def _separate(members: BoolArray, a: Claim, b: Claim) -> bool:
    A, B = members[a.bar], members[b.bar]
    return _sets_apart(A & ~B, a.item) and _sets_apart(B & ~A, b.item)


def _sets_apart(own: BoolArray, item: int) -> bool:
    """Whether there is an item other than the unique member."""
    return int(own.sum()) > int(own[item])
