"""What should be looked at before anything is computed: findings about items and people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import InputError, nearest
from dtstat.data import careless
from dtstat.data.checks import find_combinations, items_phrase, suspected_codes
from dtstat.data.keys import absent_item, read_key

Limits = Sequence[float] | Mapping[str, Sequence[float]] | None
Finding = tuple[str, str, str]  # what, where, what to do
Labels = Mapping[str, Mapping[Any, str]]

_RARE = 0.01  # share of answers beyond the common scale up to which they are named
_FEWEST_ROWS = 10
_FEWEST_SCALES = 3
_KEYS = 'Give a dict from scale to items: {"A": ["-A1", "A2", "A3"], ...}.'
# Indices of people: what they show, and what to do.
_INDICES = {
    "longest_string": (
        "equal answers in a row",
        "look at these rows; long runs of identical answers suggest careless responding",
    ),
    "variability": (
        "hardly any variability",
        "look at these rows; they hardly vary from item to item",
    ),
    "distance": (
        "unusual combinations (Mahalanobis distance)",
        "look at these rows; such combinations of answers are unusual in the sample",
    ),
    "even_odd": (
        "inconsistent halves of scales (even-odd)",
        "look at these rows; halves of the same scales disagree",
    ),
    "repeat": (
        "same answers as an earlier row",
        "check whether somebody was entered twice; keep one row per person",
    ),
}


@dataclass(frozen=True, eq=False)
class ScreenedData:
    """Answers with what is needed to judge them.

    Attributes
    ----------
    values
        (n, p), NaN where missing; items may have no answer or always the same.
    names, kinds
        Of the items.
    low, high
        (p,) lowest and highest answers, NaN without any.
    count
        (p,) numbers of answers.
    """

    values: FloatArray
    names: list[str]
    kinds: list[str]
    low: FloatArray
    high: FloatArray
    count: IntArray

    @classmethod
    def of(cls, values: FloatArray, names: list[str], kinds: Sequence[str]) -> ScreenedData:
        """Find ends and numbers of the answers."""
        low = np.fmin.reduce(values, axis=0)
        high = np.fmax.reduce(values, axis=0)
        return cls(values, names, list(kinds), low, high, (~np.isnan(values)).sum(axis=0))

    @property
    def varying(self) -> IntArray:
        """Places of the items that vary."""
        return np.flatnonzero(self.low < self.high)

    def ratings(self) -> list[int]:
        """Places of the ratings that vary."""
        return [k for k in self.varying.tolist() if self.kinds[k] != "continuous"]

    def common_ends(self) -> tuple[tuple[float, float], list[int]]:
        """Lowest and highest answer that most ratings have, and the places of these."""
        ratings = self.ratings()
        ends = [(float(self.low[k]), float(self.high[k])) for k in ratings]
        usual = max(dict.fromkeys(ends), key=ends.count, default=(np.nan, np.nan))
        return usual, [k for k, end in zip(ratings, ends, strict=True) if end == usual]


def screen_items(answers: ScreenedData, limits: Limits, labels: Labels) -> list[Finding]:
    """Find items without answers or variation, answers out of range, copies and sums."""
    return [
        *_useless_items(answers),
        *_out_of_range(answers, limits, labels),
        *_copied_items(answers),
    ]


def _useless_items(answers: ScreenedData) -> list[Finding]:
    empty = [name for name, n in zip(answers.names, answers.count, strict=True) if not n]
    constant = [answers.names[k] for k in np.flatnonzero(answers.low == answers.high)]
    named = (("no answers", empty), ("always the same answer", constant))
    return [(what, items_phrase(items), "leave out") for what, items in named if items]


def _out_of_range(answers: ScreenedData, limits: Limits, labels: Labels) -> list[Finding]:
    answered = np.flatnonzero(answers.count)
    names = [answers.names[k] for k in answered]
    found: dict[str, dict[float, int]] = {}
    for one in suspected_codes(answers.values[:, answered], names, labels) if names else ():
        found.setdefault(one.item, {})[one.code] = one.times
    ranges, certain = _ranges(answers, limits, labels)
    for k, (low, high) in ranges.items():
        x = answers.values[:, k]
        outside, counts = np.unique(x[(x < low) | (x > high)], return_counts=True)
        if certain or counts.sum() <= max(1, _RARE * answers.count[k]):
            pairs = zip(outside.tolist(), counts.tolist(), strict=True)
            found.setdefault(answers.names[k], {}).update(pairs)
    return [
        (
            "answers out of range",
            f"item '{name}': " + ", ".join(f"{code:g} ({n} times)" for code, n in codes.items()),
            "correct, or read with missing_codes=[" + ", ".join(f"{c:g}" for c in codes) + "]",
        )
        for name, codes in found.items()
        if codes
    ]


def _ranges(
    answers: ScreenedData, limits: Limits, labels: Labels
) -> tuple[dict[int, tuple[float, float]], bool]:
    """Lowest and highest possible answer by place, and whether somebody said so."""
    names = answers.names
    if limits is not None:
        given = limits if isinstance(limits, Mapping) else dict.fromkeys(names, limits)
        for name in given:
            if name not in names:
                raise InputError(
                    f"`limits` must name items of the data; got '{name}'. "
                    f"{nearest(str(name), names)}",
                    "limits",
                )
        return {names.index(name): _pair(pair) for name, pair in given.items()}, True
    labeled = {
        k: [float(code) for code in labels.get(name, ()) if not isinstance(code, str)]
        for k, name in enumerate(names)
    }
    known = {k: (min(codes), max(codes)) for k, codes in labeled.items() if len(codes) > 1}
    if known:
        return known, True
    usual, sharing = answers.common_ends()
    if len(sharing) < 3 or 2 * len(sharing) < len(names):
        return {}, False
    return dict.fromkeys(answers.ratings(), usual), False


def _pair(limits: Any) -> tuple[float, float]:
    advice = "Give the lowest and the highest possible answer: (1, 5)."
    try:
        low, high = (float(end) for end in limits)
    except (TypeError, ValueError, OverflowError):
        raise checks.refusal("limits", "two numbers", limits, advice) from None
    if not low < high:
        raise checks.refusal("limits", "a lower and a higher number", limits, advice)
    return low, high


def _copied_items(answers: ScreenedData) -> list[Finding]:
    """Find items whose answers are those of another to the last one, and sums."""
    findings = []
    first: dict[bytes, int] = {}
    for k in answers.varying.tolist():
        original = first.setdefault((answers.values[:, k] + 0.0).tobytes(), k)
        if original != k:
            where = f"item '{answers.names[k]}' is a copy of '{answers.names[original]}'"
            findings.append(("copy", where, "leave one of them out"))
    kept = list(first.values())
    combined = find_combinations(answers.values[:, kept], [answers.names[k] for k in kept])
    return findings + [("computed from others", one.says, one.advice) for one in combined]


def screen_people(
    answers: ScreenedData, scales: Sequence[careless.Scale], level: float, seed: int
) -> tuple[pd.DataFrame, list[Finding], list[str]]:
    """Compute the indices of every row, with flags; findings; and what could not be computed."""
    values, varying = answers.values, answers.varying
    people = pd.DataFrame({"missing": np.isnan(values).sum(axis=1)})
    columns = ("longest_string", "variability", "distance", "distance_p", "even_odd")
    people = people.assign(**dict.fromkeys(columns, np.nan), flags="")
    if len(varying) < 2 or len(values) < _FEWEST_ROWS:
        note = f"Fewer than {_FEWEST_ROWS} rows or two items: people are not screened."
        return people, _people_findings(people, values.shape[1]), [note]
    drawn = careless.draw_honest(values[:, varying], np.random.default_rng(seed))
    honest = np.full((len(drawn), values.shape[1]), np.nan)
    honest[:, varying] = drawn
    # Of each index: that of the people, that of honest ones, and whether a low one is suspicious.
    found: dict[str, tuple[FloatArray, FloatArray, bool]] = {}
    _, rated = answers.common_ends()
    if len(rated) > 2:
        X, H = values[:, rated], honest[:, rated]
        found["longest_string"] = careless.longest_string(X), careless.longest_string(H), False
        found["variability"] = careless.variability(X), careless.variability(H), True
    if scales:
        ends = answers.low + answers.high
        own, others = (careless.even_odd(table, scales, ends) for table in (values, honest))
        found["even_odd"] = own, others, True
    for name, (index, _, _) in found.items():
        people[name] = index
    X = values[:, varying]
    moments = careless.covariance(X)
    notes = []
    if moments is None:
        why = "there are too few rows, or items that others determine"
        notes.append(f"No Mahalanobis distance: {why}.")
    else:
        distance = careless.mahalanobis(X, *moments)
        p = careless.distance_p(distance, X)
        people["distance"], people["distance_p"] = distance, p
        of_honest = careless.distance_p(careless.mahalanobis(drawn, *moments), drawn)
        found["distance"] = p, of_honest, True
    flagged = {
        name: careless.chance(index, of_honest, low) <= level
        for name, (index, of_honest, low) in found.items()
    }
    if _share_of_twins(drawn, len(X)) <= level:
        flagged["repeat"] = careless.repeats(X)
    people["flags"] = [
        ", ".join(name for name in _INDICES if name in flagged and flagged[name][row])
        for row in range(len(people))
    ]
    return people, _people_findings(people, values.shape[1]), notes


def _share_of_twins(honest: FloatArray, n: int) -> float:
    """Share of rows that repeat an earlier one by chance, among n attentive respondents."""
    parts = [honest[start : start + n] for start in range(0, max(len(honest) - n, 0) + 1, n)]
    return float(np.mean([careless.repeats(part).mean() for part in parts]))


def _people_findings(people: pd.DataFrame, n_items: int) -> list[Finding]:
    silent = int((people["missing"] == n_items).sum())
    findings = [("no answers at all", _rows(silent), "leave out")] if silent else []
    flags = [text.split(", ") for text in people["flags"]]
    for name, (what, advice) in _INDICES.items():
        count = sum(name in of_row for of_row in flags)
        if count:
            findings.append((what, _rows(count), advice))
    return findings


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count > 1)}"


def read_scales(keys: Any, answers: ScreenedData) -> list[careless.Scale]:
    """Places and signs of the items of each scale, those that never vary left out."""
    if keys is None:
        return []
    scales: list[careless.Scale] = []
    varying = set(answers.varying.tolist())
    for members in _signed_items(keys, answers.names):
        signs = {_place(name, answers.names): -1.0 if turned else 1.0 for name, turned in members}
        kept = [place for place in signs if place in varying]
        if len(kept) > 1:
            scales.append((kept, [signs[place] for place in kept]))
    if len(scales) < _FEWEST_SCALES:
        wanted = f"at least {_FEWEST_SCALES} scales of two items or more"
        raise checks.refusal("keys", wanted, keys, _KEYS)
    return scales


def _signed_items(keys: Any, names: list[str]) -> Iterator[list[tuple[str, bool]]]:
    """Items of each scale, and whether they are reversed."""
    keys = getattr(keys, "structure", keys)
    if isinstance(keys, Mapping):
        for members in keys.values():
            yield [read_key(name, names) for name in checks.texts("keys", members, _KEYS)]
    elif hasattr(keys, "support"):
        for members, turned in zip(keys.support.T, keys.reversed.T, strict=True):
            yield [(keys.item_names[i], bool(turned[i])) for i in np.flatnonzero(members)]
    else:
        raise checks.refusal("keys", "a dict, a structure or a fit", keys, _KEYS)


def _place(name: str, names: list[str]) -> int:
    if name not in names:
        raise absent_item(name, names)
    return names.index(name)
