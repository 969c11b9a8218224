"""Codes of missing answers that were left among the answers, such as −9 or 99.

Nothing is blanked: a code is named, and the user says what it is. The rule, for the distinct
values of an item without those that have a label in the file:

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
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtstat.data.checks import LONGEST_NAME, MAX_LISTED
from dtstat.data.kinds import MAX_ORDINAL_LEVELS
from dtstat.errors import DataWarning, shortened, warn

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


class Suspect(NamedTuple):
    """A code of one item, and how often it occurs."""

    item: str
    code: float
    times: int


class _Answers(NamedTuple):
    """Distinct values of an item, sorted, and how often each occurs."""

    values: NDArray[np.float64]
    counts: NDArray[np.int64]

    def split(self, codes: NDArray[np.bool_]) -> tuple[_Answers, _Answers]:
        """Values that may be codes, and the others."""
        return (
            _Answers(self.values[codes], self.counts[codes]),
            _Answers(self.values[~codes], self.counts[~codes]),
        )


def suspected_codes(
    values: NDArray[np.float64],
    names: Sequence[str],
    labels: Mapping[str, Mapping[object, str]] | None = None,
) -> list[Suspect]:
    """Apply the rule of this module.

    Parameters
    ----------
    values
        (n, p) answers, NaN where missing; every column has an answer.
    names
        Of the p items.
    labels
        Labels of answer codes by item; a code with a label is judged by that, not here.

    Notes
    -----
    Cost: O(np), and a sort for items whose largest or smallest answer may be a code.
    """
    lowest, highest = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    minus_one = not np.isin(lowest, _SMALL_NEGATIVES).any()
    found = []
    ratings = None
    for k, name in enumerate(names):
        low, high = float(lowest[k]), float(highest[k])
        if not (low in BELOW or low == -1 or high in ABOVE or high == max(NINES)):
            continue
        labelled = list((labels or {}).get(name, ()))
        answers = _distinct(values[:, k], [x for x in labelled if not isinstance(x, str)])
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
            f"{code:g} looks like a code for a missing answer, apart from all other answers: "
            f"{_listed(of_code)}. If it is one, read the file with missing_codes=[{code:g}], or "
            "replace it by NaN.",
            DataWarning,
            stacklevel=stacklevel + 1,
        )


def _listed(suspects: Sequence[Suspect]) -> str:
    texts = [
        f"{one.times} time{'s' * (one.times > 1)} in '{shortened(one.item, LONGEST_NAME)}'"
        for one in suspects[:MAX_LISTED]
    ]
    rest = len(suspects) - MAX_LISTED
    more = f" and in {rest} more item{'s' * (rest > 1)}" if rest > 0 else ""
    return ", ".join(texts) + more


def _distinct(column: NDArray[np.float64], labelled: Sequence[object]) -> _Answers:
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    kept = ~np.isin(values, np.array(labelled, dtype=np.float64))
    return _Answers(values[kept], counts[kept])


Codes = Iterator[tuple[float, int]]


def _below(answers: _Answers, minus_one: bool) -> Codes:
    """Rule 1; ``minus_one`` says whether −1 may be a code."""
    codes, others = answers.split(answers.values < 0)
    if len(others.values) < 2 or not len(codes.values):
        return
    scale = minus_one and _is_scale_from_one(others.values)
    usual = BELOW | {-1.0} if scale else BELOW
    if usual.issuperset(codes.values.tolist()):
        yield from _often_enough(codes, others)


def _is_scale_from_one(values: NDArray[np.float64]) -> bool:
    return bool(len(values) >= 3 and values[0] >= 1 and (values % 1 == 0).all())


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
        yield from _often_enough(codes, others)


def _often_enough(codes: _Answers, others: _Answers) -> Codes:
    few = np.isin(others.values, np.arange(LONGEST_SCALE)).all()
    for code, count in zip(codes.values.tolist(), codes.counts.tolist(), strict=True):
        if few or count >= _REPEATED:
            yield code, count


def _nines(answers: _Answers, ratings: NDArray[np.bool_], item: int) -> Codes:
    """Rule 3; ``ratings`` says which of 0 to 10 each rating item has."""
    values = answers.values
    gaps = np.flatnonzero(np.diff(values) != 1)
    if not len(gaps) or gaps[0] == 0 or len(values) > MAX_ORDINAL_LEVELS or values[0] < 0:
        return
    last = int(gaps[0])  # place of the last answer before the gap
    codes, _ = answers.split(np.arange(len(values)) > last)
    if not NINES.issuperset(codes.values.tolist()):
        return
    a, b = int(values[last]), int(codes.values[0])
    t = np.arange(1, b - a) / (b - a)
    expected = float(answers.counts[last]) ** (1 - t) * float(codes.counts[0]) ** t
    others = np.delete(ratings, item, axis=1)[:, np.delete(ratings, item, axis=1).any(axis=0)]
    longer = others[a + 1 : b].any(axis=0)
    if expected.sum() >= LEAST_EXPECTED and longer.sum() * 2 <= others.shape[1]:
        yield from zip(codes.values.tolist(), codes.counts.tolist(), strict=True)


def _ratings(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(11, p) which of the answers 0 to 10 an item has; none if it has others than these."""
    points = np.arange(LONGEST_SCALE)
    # Codes are no answers of the scale, so an item may have those of rules 1 and 2 besides.
    besides = np.array([*BELOW, *ABOVE, -1.0])
    used = np.stack([(values == point).any(axis=0) for point in points])
    known = np.isin(values, np.concatenate([points, besides])) | np.isnan(values)
    return used & known.all(axis=0)
