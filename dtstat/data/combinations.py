"""Items that others determine: sum scores, means, and other exact linear combinations.

A total among its own items adds nothing to the analysis and makes the correlations singular, which
shows as an item explained without error. Dependences are found by a pivoted Cholesky factor of the
correlations; what an item is of the others is then checked on the answers themselves, so that a
mean that was rounded to two decimals counts, and items that merely correlate highly do not.

Copies of a single item are not named here: they show as a pair with correlation one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from dtstat.data.checks import listed
from dtstat.errors import DataWarning, warn

MOST_ITEMS = 400  # of more items none is looked for: the cost is O(np² + p³)
SPARE_ROWS = 20  # rows needed beyond the number of items, lest chance combine them
MOST_NAMED = 3
_NEARLY = 2e-3  # unexplained share of variance up to which a rounded mean is looked for
_EXACT = 1e-7  # largest error of an exact combination, in standard deviations
_SNAP = 0.1  # weights this close to 0, 1 or −1 are taken for these
_MOST_DECIMALS = 6

Values = NDArray[np.float64]


class Combination(NamedTuple):
    """An item that others determine, as a sentence without its full stop, and the advice."""

    says: str
    advice: str


def find_combinations(values: Values, names: Sequence[str]) -> list[Combination]:
    """Find items that are sums, means or other linear combinations of two or more others.

    Parameters
    ----------
    values
        (n, p) answers; rows with gaps are left out.
    names
        Of the p items.

    Notes
    -----
    Cost: O(np² + p³) for at most 20 p + 2000 of the rows; nothing is looked for in more than
    ``MOST_ITEMS`` items, or in hardly more rows than items.
    """
    n, p = values.shape
    if not 3 <= p <= MOST_ITEMS:
        return []
    sample = _complete(values[:: max(1, n // (20 * p + 2000))])
    if len(sample) < p + SPARE_ROWS:
        return []
    with np.errstate(over="ignore"):  # squares of numbers beyond 1e154
        center, sd = sample.mean(axis=0), sample.std(axis=0)
    if not (np.isfinite(sd) & (sd > 1e-12 * np.abs(center)) & (sd > 0)).all():
        return []  # other checks name such items
    vectors = _null_vectors((sample - center) / sd)
    X = _complete(values) if vectors else sample
    found = [_named(X, sd, weights, names) for weights in vectors]
    return [one for one in found if one is not None]


def _complete(values: Values) -> Values:
    return values[~np.isnan(values).any(axis=1)]


def warn_of_combinations(found: Sequence[Combination], stacklevel: int = 2) -> None:
    """Warn of items that others determine."""
    if found:
        told = "; ".join(f"{one.says}: {one.advice}" for one in found[:MOST_NAMED])
        rest = len(found) - MOST_NAMED
        more = f"; and {rest} more such item{'s' * (rest > 1)}" if rest > 0 else ""
        warn(f"{told}{more}.", DataWarning, stacklevel=stacklevel + 1)


def _null_vectors(Z: Values) -> list[Values]:
    """Find weights, in standard deviations, by which items nearly add up to nothing."""
    n, p = Z.shape
    factor, pivots, rank, _ = lapack.dpstrf(Z.T @ Z / n, tol=_NEARLY)
    pivots = pivots - 1  # counted from 1 by LAPACK
    basis = solve_triangular(factor[:rank, :rank], factor[:rank, rank:])
    vectors = np.zeros((p - rank, p))
    vectors[:, pivots[:rank]] = basis.T
    vectors[np.arange(p - rank), pivots[rank:]] = -1.0
    return list(vectors)


def _named(X: Values, sd: Values, weights: Values, names: Sequence[str]) -> Combination | None:
    """Say which item is what of which others; None if that is not so on all rows."""
    raw = weights / sd
    for average in (False, True):
        for lead in np.flatnonzero(np.abs(weights) > 1e-6):
            signs = _signs(-raw / raw[lead], int(lead), average)
            if signs is not None and _adds_up(X, int(lead), signs, average):
                return _words(X, int(lead), signs, average, names)
    return _exactly(X, sd, weights, names)


def _signs(ratios: Values, lead: int, average: bool) -> Values | None:
    """(p,) weights 0, 1 or −1 of the others in a sum or mean; None if theirs are none of these."""
    others = np.delete(ratios, lead)
    if average:
        size = np.abs(others)
        count = int((size > size.max() / 2).sum())
        others = others * count
    snapped = np.rint(others)
    plain = (np.abs(others - snapped) < _SNAP).all() and (np.abs(snapped) <= 1).all()
    # With one minus among them another item is the sum: b = total − a.
    wanted = (snapped >= 0).all() or (snapped <= 0).all() or average
    if not plain or not wanted or np.abs(snapped).sum() < 2:
        return None
    return np.insert(snapped, lead, 0.0)


def _adds_up(X: Values, lead: int, signs: Values, average: bool) -> bool:
    """Whether an item is the sum or mean of others plus a constant, up to its own rounding."""
    total = X @ signs / (np.abs(signs).sum() if average else 1.0)
    left = X[:, lead] - total
    unit = _rounding_unit(X[:, lead]) if average else 0.0
    return bool(np.ptp(left) <= unit * (1 + 1e-6) + _EXACT * X[:, lead].std())


def _rounding_unit(column: Values) -> float:
    """10^−d if all answers have at most d decimals; 0 if they have more than six."""
    for decimals in range(_MOST_DECIMALS + 1):
        scaled = column * 10.0**decimals
        if (np.abs(scaled - np.rint(scaled)) < 1e-6).all():
            return 10.0**-decimals
    return 0.0


def _words(X: Values, lead: int, signs: Values, average: bool, names: Sequence[str]) -> Combination:
    plus = [names[k] for k in np.flatnonzero(signs > 0).tolist()]
    minus = [names[k] for k in np.flatnonzero(signs < 0).tolist()]
    if not plus and not average:
        together = float(np.median(X[:, lead] - X @ signs))
        parts = [names[k] for k in sorted([lead, *np.flatnonzero(signs).tolist()])]
        return Combination(f"items {listed(parts)} add up to {together:g}", "leave one of them out")
    what = "mean" if average else "sum"
    of = listed(plus) + (f" and, reversed, {listed(minus)}" if plus and minus else "")
    if not plus:
        of = f"{listed(minus)}, reversed"
    return Combination(f"item '{names[lead]}' is the {what} of {of}", "leave it out")


def _exactly(X: Values, sd: Values, weights: Values, names: Sequence[str]) -> Combination | None:
    """Name an exact combination that is neither sum nor mean: its last item is called computed."""
    used = np.flatnonzero(np.abs(weights) > 1e-6)
    left = X[:, used] @ (weights[used] / sd[used])
    if len(used) < 3 or np.ptp(left) > 2 * _EXACT:
        return None
    *others, last = used.tolist()
    parts = listed([names[k] for k in others])
    return Combination(
        f"item '{names[last]}' is an exact linear combination of {parts}", "leave one of them out"
    )
