"""Checks of answers: what cannot be used is refused, what is probably no answer is named.

Codes of missing answers, such as −9 or 99, may have been left among the answers. Nothing is
blanked: a code is named, and the user says what it is. The rule, for the distinct values of an item
without those that have a label in the file:

1. *Below zero.* −7, −8, −9 and codes such as −77, −99 or −999, if no answer is below zero
   otherwise; −1, if the other answers are whole numbers from 1 on, three or more of them, and no
   item has −2 to −6, as scales from −3 to 3 without a 0 have.
2. *Far above.* 77, 88, 97, 98, 99 and their like with more digits, if they exceed all other answers
   by at least half the range of those.
3. *Nine after a gap.* 9, and with it 7 and 8, above whole numbers without a gap, such as 1 to 5, if
   chance does not explain the gap. Numbers of answers along a scale rise and fall once, and
   log-concave, so that a category between two others is expected at least as often as their
   geometric interpolation n_a^(1−t) n_b^t: the gap is a matter of chance if fewer than
   ``LEAST_EXPECTED`` answers are expected in it. Nor is 9 a code if most other rating items have
   answers in the gap: then the scale is longer than this item shows.

Items with other answers than 0 to 10 (counts, ages, sliders, measurements) must hold a code twice
or more. An item needs two distinct answers besides.

Items that others determine are sums, means, and other exact linear combinations. A total among its
own items adds nothing to the analysis and makes the correlations singular, which shows as an
item explained without error. Candidates are found by a pivoted Cholesky factor of the correlations;
what an item is of the others is then checked on the answers themselves, so that a mean that was
rounded to two decimals counts, and items that merely correlate highly do not. Copies of a single
item are not named here: they show as a pair with correlation one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from dtstat.core.errors import DataWarning, InputError, shorten_middle, shown, warn

MAX_LISTED = 5
LONGEST_NAME = 100  # characters of a name that a message prints

# Answer scales rarely have more than eleven points; counts and ages soon have more than ten
# distinct values and are better treated as numbers.
MAX_ORDINAL_LEVELS = 10

_DIGITS = (1, 11, 111, 1111, 11111)
BELOW = frozenset(
    [-k * d for k in (7, 8, 9) for d in _DIGITS] + [-97, -98, -997, -998, -9997, -9998]
)
ABOVE = frozenset([k * d for k in (7, 8, 9) for d in _DIGITS[1:]] + [97, 98, 997, 998, 9997, 9998])
NINES = frozenset({7.0, 8.0, 9.0})
# Answers expected in a gap that chance does not leave empty: e^-12 is 1 in 160,000.
LEAST_EXPECTED = 12
LONGEST_SCALE = 11  # points of a rating scale, 0 to 10
_REPEATED = 2
_SMALL_NEGATIVES = np.arange(-6.0, -1.0)

MOST_ITEMS = 400  # of more items none is looked for: the cost is O(np² + p³)
SPARE_ROWS = 20  # rows needed beyond the number of items, lest chance combine them
MOST_NAMED = 3
_NEARLY = 2e-3  # unexplained share of variance up to which a rounded mean is looked for
_EXACT = 1e-7  # largest error of an exact combination, in standard deviations
_SNAP = 0.1  # weights this close to 0, 1 or −1 are taken for these
_MOST_DECIMALS = 6

Values = NDArray[np.float64]
Codes = Iterator[tuple[float, int]]  # with the number of times each occurs


def quote_names(names: Sequence[str]) -> str:
    """Quote up to five names and count the rest.

    Examples
    --------
    >>> quote_names(["a", "b"])
    "'a', 'b'"
    >>> quote_names(list("abcdefg"))
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    text = ", ".join(f"'{shorten_middle(name, LONGEST_NAME)}'" for name in names[:MAX_LISTED])
    rest = len(names) - MAX_LISTED
    return f"{text} and {rest} more" if rest > 0 else text


def items_phrase(names: Sequence[str]) -> str:
    """Write "item 'a'" or "items 'a', 'b'", as grammar asks."""
    return f"{'item' if len(names) == 1 else 'items'} {quote_names(names)}"


def check_names(names: Sequence[str]) -> None:
    """Refuse item names that are empty, cannot be written, or occur twice."""
    empty = [str(k) for k, name in enumerate(names, start=1) if not name.strip()]
    if empty:
        raise InputError(
            f"every column needs a name; got an empty one in column {', '.join(empty)}. "
            "Name the column or leave it out.",
            argument="data",
        )
    check_writable_names(names, "data")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        advice = "Rename the columns (names are compared as text, so 1 and '1' are the same)."
        if all(name.replace(".", "").isdecimal() for name in names):
            advice = "If these are answers, put a row of names above them."
        raise InputError(
            f"column names must be unique; got {quote_names(repeated)} more than once. {advice}",
            argument="data",
        )


def check_writable_names(names: Sequence[str], argument: str) -> None:
    """Refuse names that no file can hold: with lone surrogates, as bad decoding leaves them."""
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"names must be text that can be written; got {shown(name)}, which contains an "
                "invalid Unicode surrogate. Read the file again with its right encoding, or "
                "rename the column.",
                argument=argument,
            ) from None


def check_shape(n_rows: int, n_items: int) -> None:
    """Refuse data with fewer than two rows or two items."""
    if n_items < 2:
        raise InputError(
            f"the data must have at least two items (columns); got {n_items}. "
            "Dependence is measured between items.",
            argument="data",
        )
    if n_rows < 2:
        raise InputError(
            f"the data must have at least two rows; got {n_rows}. Check the file and any filter, "
            "and whether rows were dropped because of missing answers.",
            argument="data",
        )


def check_variation(values: NDArray[np.float64], names: Sequence[str]) -> None:
    """Refuse items without any answer, and items whose answers are all the same."""
    unanswered = np.asarray(np.isnan(values).all(axis=0))
    empty = [name for name, missing in zip(names, unanswered, strict=True) if missing]
    if empty:
        raise InputError(
            f"every item needs answers; got only missing values in {items_phrase(empty)}. "
            "Leave such items out or check how missing answers were coded.",
            argument="data",
        )
    lowest, highest = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    constant = [name for name, same in zip(names, lowest == highest, strict=True) if same]
    if constant:
        raise InputError(
            f"every item must vary; got only one distinct answer in {items_phrase(constant)}. "
            "Leave constant items out.",
            argument="data",
        )


def check_finite(values: NDArray[np.float64], names: Sequence[str]) -> None:
    """Refuse infinite values, naming the first item and row that hold one."""
    columns, rows = np.nonzero(np.isinf(values).T)
    if len(rows):
        row, column = int(rows[0]), int(columns[0])
        raise InputError(
            f"answers must be finite; got {values[row, column]} in item '{names[column]}', "
            f"row {row + 1}. Replace it by a number or by NaN for missing.",
            argument="data",
        )


def is_symmetric_matrix(values: NDArray[np.float64]) -> bool:
    """Whether a table can only be a matrix of items by items: p × p with p > 2, and symmetric.

    No answers of people look so, and all covariance and correlation matrices do.
    """
    n, p = values.shape
    if n != p or p < 3 or not np.isfinite(values).all():
        return False
    half = values / 2  # differences of the largest numbers stay numbers
    sd = np.sqrt(np.abs(np.diag(half)))
    rounding = 1e-6 * np.maximum(np.abs(half), np.abs(half.T)) + 1e-9 * np.outer(sd, sd)
    return bool((np.abs(half - half.T) <= rounding).all())


def check_not_moments(values: NDArray[np.float64]) -> None:
    """Refuse a correlation or covariance matrix where answers are expected."""
    if not is_symmetric_matrix(values):
        return
    p = len(values)
    unit = (np.diag(values) == 1).all()
    what = " with ones on its diagonal" if unit else ", such as covariances"
    raise InputError(
        f"the data must be answers, people in rows; got a symmetric {p} × {p} matrix{what}. For "
        f"{'correlations' if unit else 'them'} use DependenceMatrix.from_matrix(matrix, n_obs).",
        argument="data",
    )


class Suspect(NamedTuple):
    """A code of one item, and how often it occurs."""

    item: str
    code: float
    times: int


class _Answers(NamedTuple):
    """Distinct values of an item, sorted, and how often each occurs."""

    values: Values
    counts: NDArray[np.int64]

    def split(self, codes: NDArray[np.bool_]) -> tuple[_Answers, _Answers]:
        """Values that may be codes, and the others."""
        return (
            _Answers(self.values[codes], self.counts[codes]),
            _Answers(self.values[~codes], self.counts[~codes]),
        )


def suspected_codes(
    values: Values,
    names: Sequence[str],
    labels: Mapping[str, Mapping[object, str]] | None = None,
) -> list[Suspect]:
    """Apply the rule of this module to (n, p) answers, NaN where missing.

    Every column must have an answer. A code with a label is judged by that, not here. Cost: O(np),
    and a sort for items whose largest or smallest answer may be a code.
    """
    lowest, highest = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    minus_one = not np.isin(lowest, _SMALL_NEGATIVES).any()
    found = []
    ratings = None
    for k, name in enumerate(names):
        low, high = float(lowest[k]), float(highest[k])
        if not (low in BELOW or low == -1 or high in ABOVE or high == max(NINES)):
            continue
        labeled = list((labels or {}).get(name, ()))
        answers = _distinct(values[:, k], [x for x in labeled if not isinstance(x, str)])
        codes = [*_below(answers, minus_one), *_above(answers)]
        if not codes and high == max(NINES):
            ratings = _ratings(values) if ratings is None else ratings
            codes = list(_nines(answers, ratings, k))
        found += [Suspect(name, code, count) for code, count in codes]
    return found


def warn_of_codes(suspects: Sequence[Suspect], stacklevel: int = 2) -> None:
    """Warn of codes, all items of a code in one sentence."""
    holders: dict[float, list[Suspect]] = {}
    for one in suspects:
        holders.setdefault(one.code, []).append(one)
    for code, of_code in holders.items():
        warn(
            f"{code:g} looks like a missing-data code, separate from all other answers: "
            f"{_list_suspects(of_code)}. If it is one, read the file with "
            f"missing_codes=[{code:g}], or replace it by NaN.",
            DataWarning,
            stacklevel=stacklevel + 1,
        )


def _list_suspects(suspects: Sequence[Suspect]) -> str:
    texts = [
        f"{one.times} time{'s' * (one.times > 1)} in '{shorten_middle(one.item, LONGEST_NAME)}'"
        for one in suspects[:MAX_LISTED]
    ]
    rest = len(suspects) - MAX_LISTED
    more = f" and in {rest} more item{'s' * (rest > 1)}" if rest > 0 else ""
    return ", ".join(texts) + more


def _distinct(column: Values, labeled: Sequence[object]) -> _Answers:
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    kept = ~np.isin(values, np.array(labeled, dtype=np.float64))
    return _Answers(values[kept], counts[kept])


def _below(answers: _Answers, minus_one: bool) -> Codes:
    """Rule 1; ``minus_one`` says whether −1 may be a code."""
    codes, others = answers.split(answers.values < 0)
    if len(others.values) < 2 or not len(codes.values):
        return
    from_one = len(others.values) >= 3 and others.values[0] >= 1 and (others.values % 1 == 0).all()
    usual = BELOW | {-1.0} if minus_one and from_one else BELOW
    if usual.issuperset(codes.values.tolist()):
        yield from _frequent(codes, others)


def _above(answers: _Answers) -> Codes:
    """Rule 2."""
    codes, others = answers.split(np.isin(answers.values, list(ABOVE)))
    if len(others.values) < 2 or not len(codes.values):
        return
    positive = others.values[others.values >= 0]  # those of rule 1 are no answers either
    if len(positive) < 2:
        return
    low, high = positive[0], positive[-1]
    if codes.values[0] - high >= max((high - low) / 2, 2):
        yield from _frequent(codes, others)


def _frequent(codes: _Answers, others: _Answers) -> Codes:
    few = np.isin(others.values, np.arange(LONGEST_SCALE)).all()
    for code, count in zip(codes.values.tolist(), codes.counts.tolist(), strict=True):
        if few or count >= _REPEATED:
            yield code, count


def _nines(answers: _Answers, ratings: NDArray[np.bool_], item: int) -> Codes:
    """Rule 3; ``ratings`` says which of 0 to 10 each rating item has."""
    values = answers.values
    gaps = np.flatnonzero(values[1:] != values[:-1] + 1)
    if not len(gaps) or gaps[0] == 0 or len(values) > MAX_ORDINAL_LEVELS or values[0] < 0:
        return
    last = int(gaps[0])  # place of the last answer before the gap
    codes, _ = answers.split(np.arange(len(values)) > last)
    if not NINES.issuperset(codes.values.tolist()):
        return
    a, b = int(values[last]), int(codes.values[0])
    t = np.arange(1, b - a) / (b - a)
    expected = float(answers.counts[last]) ** (1 - t) * float(codes.counts[0]) ** t
    others = np.delete(ratings, item, axis=1)
    others = others[:, others.any(axis=0)]
    longer = others[a + 1 : b].any(axis=0)
    if expected.sum() >= LEAST_EXPECTED and longer.sum() * 2 <= others.shape[1]:
        yield from zip(codes.values.tolist(), codes.counts.tolist(), strict=True)


def _ratings(values: Values) -> NDArray[np.bool_]:
    """(11, p) which of the answers 0 to 10 an item has; none if it has others than these."""
    points = np.arange(LONGEST_SCALE)
    # Codes are no answers of the scale, so an item may have those of rules 1 and 2 besides.
    besides = np.array([*BELOW, *ABOVE, -1.0])
    used = np.stack([(values == point).any(axis=0) for point in points])
    known = np.isin(values, np.concatenate([points, besides])) | np.isnan(values)
    return used & known.all(axis=0)


class Combination(NamedTuple):
    """An item that others determine, as a sentence without its full stop, and the advice."""

    says: str
    advice: str


def find_combinations(values: Values, names: Sequence[str]) -> list[Combination]:
    """Find items that are sums, means or other linear combinations of two or more others.

    Rows with gaps are left out. Cost: O(np² + p³) for at most 20 p + 2000 of the rows; nothing is
    looked for in more than ``MOST_ITEMS`` items, or in hardly more rows than items.
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
    found = [_describe(X, sd, weights, names) for weights in vectors]
    return [one for one in found if one is not None]


def warn_of_combinations(found: Sequence[Combination], stacklevel: int = 2) -> None:
    """Warn of items that others determine."""
    if found:
        text = "; ".join(f"{one.says}: {one.advice}" for one in found[:MOST_NAMED])
        rest = len(found) - MOST_NAMED
        more = f"; and {rest} more such item{'s' * (rest > 1)}" if rest > 0 else ""
        warn(f"{text}{more}.", DataWarning, stacklevel=stacklevel + 1)


def _complete(values: Values) -> Values:
    return values[~np.isnan(values).any(axis=1)]


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


def _describe(X: Values, sd: Values, weights: Values, names: Sequence[str]) -> Combination | None:
    """Say which item is what of which others; None if that is not so on all rows."""
    raw = weights / sd
    for average in (False, True):
        for lead in np.flatnonzero(np.abs(weights) > 1e-6):
            signs = _signs(-raw / raw[lead], int(lead), average)
            if signs is not None and _adds_up(X, int(lead), signs, average):
                return _words(X, int(lead), signs, average, names)
    return _describe_exact(X, sd, weights, names)


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
        return Combination(
            f"items {quote_names(parts)} add up to {together:g}", "leave one of them out"
        )
    what = "mean" if average else "sum"
    of = quote_names(plus) + (f" and, reversed, {quote_names(minus)}" if plus and minus else "")
    if not plus:
        of = f"{quote_names(minus)}, reversed"
    return Combination(f"item '{names[lead]}' is the {what} of {of}", "leave it out")


def _describe_exact(
    X: Values, sd: Values, weights: Values, names: Sequence[str]
) -> Combination | None:
    """Name an exact combination that is neither sum nor mean: its last item is called computed."""
    used = np.flatnonzero(np.abs(weights) > 1e-6)
    left = X[:, used] @ (weights[used] / sd[used])
    if len(used) < 3 or np.ptp(left) > 2 * _EXACT:
        return None
    *others, last = used.tolist()
    parts = quote_names([names[k] for k in others])
    return Combination(
        f"item '{names[last]}' is an exact linear combination of {parts}", "leave one of them out"
    )
