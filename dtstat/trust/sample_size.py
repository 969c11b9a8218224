"""Sample size, number of items, margin and probability of error, solved for each other.

All four use one inequality (Lemma 2 of the paper),

    P(Ê(τ₀) ≠ E₀) ≤ N · b(n, γ),   N = C(p, 2) pairs of items,   τ₀ in the middle of the gap.

In the middle every |ρ| is at least γ away from τ₀, so that |r − ρ| < γ on all pairs is enough. The
paper allows any τ₀ in the gap; at another one, γ must be replaced by the distance from τ₀ to the
nearer end of the gap. Nobody knows the middle from a sample: the bound is about that threshold, and
not about the structure that a criterion chooses from the path. The local form asks only that one
factor C is found at its own threshold:

    P(C is missed) ≤ N · b(n, γ_C),   N = C(|C|, 2) + p − |C|.

Proof of the local form. Let w be the smallest |ρ| within C, u the item of C whose largest |ρ| with
an item outside, o, is smallest, and γ_C = (w − o)/2. If |r − ρ| < γ_C on the C(|C|, 2) pairs within
C and on the p − |C| pairs of u with items outside, then at τ = (w + o)/2 all pairs within C exceed
τ and no pair of u with an item outside does. So C is a clique and the whole neighborhood of u:
an independent maximal clique of Ê(τ), with u as a unique member. The union bound over these
pairs gives the inequality. A common threshold makes every γ_C at least γ, because w is no less
than the smallest |ρ| of an edge, and a unique child u has no edge to the outside. But the two
forms bound different events: here, that C is among the cliques of the path (which may hold others);
there, that one threshold gives exactly A₀. A smaller local bound is no better bound of the same.

By simulation, for any measure, the probability that some dependence strays by more than γ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import IntArray
from dtstat.core.checks import seed_number, streams
from dtstat.core.errors import InputError
from dtstat.data.items import as_items
from dtstat.dependence.compute import dependence_matrix
from dtstat.dependence.measures import NULL_VARIANCES
from dtstat.trust.bounds import Bound, Tail, bounds

Method = Literal["guarantee", "normal", "simulation"]
MeasureOrBound = str | Bound | Tail

METHODS = ("guarantee", "normal", "simulation")
_MOST_ROWS = 2**53  # whole numbers up to here are exact, in R too
_MOST_ITEMS = 2**31


def error_bound(
    n: int | npt.ArrayLike,
    p: int,
    margin: float,
    measure: MeasureOrBound = "kendall",
    sharp: bool = True,
    method: Method = "guarantee",
    factor_size: int | None = None,
    n_draws: int = 1000,
    seed: int | None = None,
) -> float:
    """Bound the probability that thresholding gets the graph of the items wrong.

    P(Ê(τ₀) ≠ E₀) ≤ C(p, 2) · b(n, γ) (Lemma 2) at the threshold τ₀ in the middle of the gap; for
    Kendall's τ in the paper's form C(p, 2) · 2 exp(−nγ²/8) (Example 1), in the sharp form
    2 exp(−⌊n/2⌋γ²/2) per pair. It holds for the items that :func:`dtstat.bounds` names: not for
    ratings, which have ties; for them see :func:`dtstat.plan`, which simulates.

    Parameters
    ----------
    n
        Number of rows; or, with missing answers, the (p, p) numbers of rows behind each pair, as
        ``DependenceMatrix.pairwise_n`` has them.
    p
        Number of items.
    margin
        γ, half the distance between the weakest dependence of items that share a factor and the
        strongest of items that do not; in (0, 1]. See :func:`dtstat.margin`.
    measure
        A name from :func:`dtstat.bounds`, a :class:`dtstat.Bound`, or a function b(n, ε).
    sharp
        False for the paper's n/(2m) in place of ⌊n/m⌋.
    method
        "guarantee": the inequality. "normal": the same with a normal tail, not a guarantee.
        "simulation": share of ``n_draws`` samples of independent normal items, the case in which
        estimates vary most, in which one of the pairs is off by ``margin``; for any measure; not a
        guarantee.
    factor_size
        Number of items of one factor, for the probability that this factor is missed at its own
        threshold; ``margin`` is then its local margin. Another event than the wrong graph.
    n_draws, seed
        For "simulation".

    Returns
    -------
    float
        At most 1.

    Raises
    ------
    InputError
        If an argument is out of range, or the measure has no bound.

    Examples
    --------
    >>> round(error_bound(7515, 25, 0.1, sharp=False), 4)
    0.0499
    """
    p, gamma = _items(p), _margin(margin)
    counts = _row_counts(n, p)
    if checks.choice("method", method, METHODS) == "simulation":
        return _simulated_error(counts, p, gamma, measure, factor_size, n_draws, seed)
    b = _bound(measure, sharp, method)
    if counts.size == 1:
        return min(1.0, _pairs(p, factor_size) * b(int(counts[0]), gamma))
    if factor_size is not None:
        raise InputError(
            "`factor_size` needs a single `n`, because it is not known here which pairs belong to "
            "the factor. Use diagnose(fit), or the smallest number of rows.",
            "factor_size",
        )
    return union_bound(b, counts, gamma)


def sample_size(
    p: int,
    margin: float,
    error: float = 0.05,
    measure: MeasureOrBound = "kendall",
    sharp: bool = True,
    method: Method = "guarantee",
    factor_size: int | None = None,
) -> int:
    """Return the smallest number of rows for which :func:`error_bound` is at most ``error``.

    Parameters
    ----------
    p, margin, measure, sharp, method, factor_size
        As in :func:`error_bound`; "simulation" is for :func:`dtstat.plan`.
    error
        Probability of error that is accepted, in (0, 1).

    Raises
    ------
    InputError
        If an argument is out of range, the measure has no bound, or no number of rows is enough.

    Examples
    --------
    >>> [sample_size(p, 0.2, sharp=False) for p in (9, 25, 100)]
    [1455, 1879, 2440]
    >>> sample_size(25, 0.2), sample_size(25, 0.2, factor_size=5)
    (940, 710)
    """
    p, gamma, alpha = _items(p), _margin(margin), _error(error)
    b, pairs = _bound(measure, sharp, method), _pairs(p, factor_size)
    n = smallest_rows(lambda rows: min(1.0, pairs * b(rows, gamma)), alpha)
    if n is None:
        raise InputError("No number of rows is enough by this bound: it does not fall with n.")
    return n


def max_items(
    n: int,
    margin: float,
    error: float = 0.05,
    measure: MeasureOrBound = "kendall",
    sharp: bool = True,
    method: Method = "guarantee",
    factor_size: int | None = None,
) -> int:
    """Return the largest number of items for which :func:`error_bound` is at most ``error``.

    1 (nothing can be wrong about a single item) if even two are too many, or with ``factor_size``
    less than that many. Parameters as in :func:`sample_size`.

    Examples
    --------
    >>> max_items(1879, 0.2, sharp=False)
    25
    """
    rows = _one_n(n)
    gamma, alpha = _margin(margin), _error(error)
    tail = _bound(measure, sharp, method)(rows, gamma)
    smallest = 2 if factor_size is None else _size(factor_size)

    def too_many(p: int) -> bool:
        return min(1.0, _pairs(p, factor_size) * tail) > alpha

    first = _first(too_many, smallest, _MOST_ITEMS)
    if first is None:
        return _MOST_ITEMS
    return first - 1 if first > smallest else 1


def min_margin(
    n: int,
    p: int,
    error: float = 0.05,
    measure: MeasureOrBound = "kendall",
    sharp: bool = True,
    method: Method = "guarantee",
    factor_size: int | None = None,
) -> float:
    """Return the smallest margin for which :func:`error_bound` is at most ``error``.

    Infinity if not even a margin of 1 is enough. Parameters as in :func:`sample_size`.

    Examples
    --------
    >>> round(min_margin(1879, 25, sharp=False), 4)
    0.2
    """
    rows, p, alpha = _one_n(n), _items(p), _error(error)
    b, pairs = _bound(measure, sharp, method), _pairs(p, factor_size)

    def enough(gamma: float) -> bool:
        return min(1.0, pairs * b(rows, gamma)) <= alpha

    low, high = 0.0, 1.0
    if not enough(high):
        return math.inf
    while math.nextafter(low, high) < high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def sample_size_table(
    p: int | Sequence[int],
    margin: float | Sequence[float],
    error: float = 0.05,
    factor_size: int | None = None,
) -> pd.DataFrame:
    """List the sample sizes of all measures that have a bound; for several p and γ a curve.

    Parameters
    ----------
    p, margin
        Numbers of items and margins; one or many of each.
    error, factor_size
        As in :func:`sample_size`.

    Returns
    -------
    DataFrame
        items, margin, measure, form ("sharp", "paper", "normal"), n, guaranteed (for items as
        :func:`dtstat.bounds` says: not for ratings, which have ties).

    Examples
    --------
    >>> sample_size_table(25, 0.2).head(3)[["measure", "form", "n"]]
       measure    form     n
    0  kendall   sharp   940
    1  kendall   paper  1879
    2  kendall  normal   161
    """
    rows = []
    for items in np.atleast_1d(np.asarray(p, dtype=object)):
        for gamma in np.atleast_1d(np.asarray(margin, dtype=object)):
            for measure, form, method in _forms():
                n = sample_size(items, gamma, error, measure, form == "sharp", method, factor_size)
                rows.append((int(items), float(gamma), measure, form, n, method == "guarantee"))
    columns = ["items", "margin", "measure", "form", "n", "guaranteed"]
    return pd.DataFrame(rows, columns=columns)


def _forms() -> Iterator[tuple[str, str, Method]]:
    for measure in bounds().index:
        yield measure, "sharp", "guarantee"
        if measure != "pearson":  # exact: there is no other form
            yield measure, "paper", "guarantee"
        if measure in NULL_VARIANCES:
            yield measure, "normal", "normal"


def union_bound(b: Bound, counts: IntArray, margin: float) -> float:
    """Sum b(n, γ) over pairs of items, each with its own number of rows; at most 1."""
    values, times = np.unique(counts, return_counts=True)
    total = sum(t * b(int(n), margin) for n, t in zip(values, times, strict=True))
    return min(1.0, float(total))


def smallest_rows(error_of: Callable[[int], float], error: float) -> int | None:
    """Smallest n ≥ 2 for which an error that falls with n is at most ``error``; None if none is."""
    return _first(lambda n: error_of(n) <= error, 2, _MOST_ROWS)


def _first(holds: Callable[[int], bool], low: int, most: int) -> int | None:
    """Smallest number from ``low`` on for which something holds that never ceases to hold."""
    if holds(low):
        return low
    high = min(2 * low, most)
    while not holds(high):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _bound(measure: MeasureOrBound, sharp: bool, method: str) -> Bound:
    checks.choice("method", method, METHODS)
    if method == "simulation":
        raise InputError(
            "`method` 'simulation' cannot be inverted here; plan() searches for the sample size "
            "by simulation.",
            "method",
        )
    if method == "normal":
        if not isinstance(measure, str):
            raise InputError("`method` 'normal' needs the name of a measure.", "measure")
        return Bound.normal(measure)
    return Bound.of(measure, sharp)


def _pairs(p: int, factor_size: int | None) -> int:
    """Pairs of items that must not stray: all, or those that one factor depends on."""
    if factor_size is None:
        return p * (p - 1) // 2
    size = _size(factor_size)
    if size > p:
        raise checks.refusal("factor_size", f"at most p = {p}", factor_size, "Raise `p`.")
    return size * (size - 1) // 2 + p - size


def _simulated_error(
    counts: IntArray,
    p: int,
    gamma: float,
    measure: MeasureOrBound,
    factor_size: int | None,
    n_draws: int,
    seed: int | None,
) -> float:
    """Share of samples of independent normal items in which a pair that matters is off.

    Independent items are the worst case of normal copulas, where rank measures vary most. Measures
    that are positive for independent items by chance (distance, hsic, maximal) stray by that, too.
    For one factor the pairs within its items matter, and those of the first item with the others.
    """
    if not isinstance(measure, str):
        raise InputError("`method` 'simulation' needs the name of a measure.", "measure")
    if counts.size > 1:
        raise InputError("`method` 'simulation' needs one number `n` of rows.", "n")
    draws = checks.repeats("n_draws", n_draws, 1, "The default is 1000.")
    _pairs(p, factor_size)  # checks it
    matters = np.ones((p, p), dtype=bool)
    if factor_size is not None:
        size = _size(factor_size)
        matters[1:] = False
        matters[:size, :size] = True
    upper = np.triu(matters, 1)
    wrong = 0
    for rng in streams(seed_number(seed), draws):
        items = as_items(rng.standard_normal((int(counts[0]), p)), screened=False)
        strength = dependence_matrix(items, measure).strength
        wrong += bool((strength[upper] >= gamma).any())
    return wrong / draws


def _row_counts(n: int | npt.ArrayLike, p: int) -> IntArray:
    """Rows behind all pairs (one number), or behind each pair."""
    try:
        counts = np.asarray(n, dtype=np.float64) if np.ndim(n) else None
    except (TypeError, ValueError, OverflowError):
        raise checks.refusal("n", "a number, or a matrix of numbers", n, "Rows per pair.") from None
    if counts is None:
        return np.array([_one_n(n)])
    if counts.shape != (p, p):
        raise checks.refusal(
            "n", f"a number, or a {p} × {p} matrix", counts.shape, "Use pairwise_n of dependence()."
        )
    above = counts[np.triu_indices(p, 1)]
    bad = above[~((above >= 2) & (above == np.floor(above)) & (above <= checks.LARGEST_WHOLE))]
    if bad.size:
        wanted = "a whole number of at least 2 for every pair"
        raise checks.refusal("n", wanted, float(bad[0]), "Leave out items without answers.")
    return above.astype(np.int64)


def _one_n(n: object) -> int:
    return checks.integer("n", n, 2, "It is the number of rows.")


def _items(p: object) -> int:
    return checks.integer("p", p, 2, "It is the number of items.")


def _size(factor_size: object) -> int:
    return checks.integer("factor_size", factor_size, 2, "It is the number of items of a factor.")


def _margin(margin: object) -> float:
    return checks.positive_unit("margin", margin, "It is half the difference of two dependences.")


def _error(error: object) -> float:
    return checks.open_unit("error", error, "0.05 accepts one wrong graph in twenty.")
