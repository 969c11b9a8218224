"""Answers that are texts, put in order: "Strongly disagree" to "Strongly agree" and their like.

The scales below are those that English questionnaires use most. A column takes a scale if each of
its texts is one of the scale's, whatever the case, spaces and apostrophes, and no two of them stand
in the same place. Several scales may fit a column that lacks some answers. Since the items of a
form mostly share their scales, it is then asked how many columns of the file show a scale from end
to end: the shortest scale is taken that is shown by at least a third as many as any other that
fits.

Texts that begin with a number, as in "1 - Never" or "5 (Extremely)", are that number, and the rest
is its label.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from dtstat.core import checks
from dtstat.core.errors import InputError, shown
from dtstat.data.columns import choose_columns
from dtstat.data.formats import reading_with

Order = tuple[tuple[str, ...], ...]  # places from low to high, each with its texts
UserLevels = Iterable[str] | Mapping[str, Iterable[str]] | None

_MOST_ANSWERS = 11  # points of the longest scale that people answer

_NEITHER = "neither agree nor disagree|neither disagree nor agree|neither|neutral|undecided|unsure"
_AGREE = (
    "strongly disagree|disagree strongly|completely disagree|totally disagree|fully disagree",
    "disagree|mostly disagree|moderately disagree|disagree moderately",
    "somewhat disagree|slightly disagree|disagree a little|disagree slightly|disagree somewhat"
    "|tend to disagree|rather disagree|mildly disagree",
)
_SATISFIED = (
    "very dissatisfied|extremely dissatisfied|completely dissatisfied",
    "dissatisfied|moderately dissatisfied|mostly dissatisfied",
    "somewhat dissatisfied|slightly dissatisfied|rather dissatisfied",
)
_LIKELY = (
    "very unlikely|extremely unlikely",
    "unlikely|moderately unlikely",
    "somewhat unlikely|slightly unlikely|rather unlikely",
)
_ACCURATE = (
    "very inaccurate|extremely inaccurate",
    "inaccurate|moderately inaccurate",
    "somewhat inaccurate|slightly inaccurate",
)
_TRUE = (
    "very untrue of me|very untrue|extremely untrue|completely untrue",
    "untrue of me|untrue|mostly untrue|mostly untrue of me|usually untrue",
    "somewhat untrue of me|somewhat untrue|slightly untrue|rather untrue",
)
_FEW = "rarely|seldom|almost never|hardly ever|infrequently|very rarely|once in a while"
_SOME = "sometimes|occasionally|now and then|about half the time|some of the time|every so often"
_MANY = "often|frequently|fairly often|usually|regularly|most of the time|quite often"
_NEVER = "never|none of the time"
_ALWAYS = "always|almost always|all of the time|nearly always"
_NONE = "not at all|none|very slightly or not at all"
_LITTLE = "a little|slightly|a little bit|a bit|a small amount|mildly"
_MEDIUM = "moderately|a moderate amount|to some extent|some|moderate|somewhat"


def _mirrored(low: Sequence[str], turn: tuple[str, str], middle: str) -> list[tuple[str, ...]]:
    """Scales of four to seven places from their lower half, whose words turn into the upper's."""
    strong, plain, weak = low
    high = [re.sub(rf"\b{turn[0]}", turn[1], one) for one in (weak, plain, strong)]
    either, either_high = f"{plain}|{weak}", f"{high[1]}|{high[0]}"
    return [
        (plain, high[1]),
        (plain, middle, high[1]),
        (strong, either, either_high, high[2]),
        (strong, either, middle, either_high, high[2]),
        (*low, *high),
        (*low, middle, *high),
    ]


_OFTEN = (
    "very rarely|almost never",
    "rarely|seldom",
    "sometimes|occasionally",
    "often|frequently",
    "very often|very frequently|almost always",
)
_WRITTEN: list[tuple[str, ...]] = [
    *_mirrored(_AGREE, ("disagree", "agree"), _NEITHER),
    *_mirrored(
        _SATISFIED,
        ("dissatisfied", "satisfied"),
        "neither satisfied nor dissatisfied|neither dissatisfied nor satisfied|neutral|neither",
    ),
    *_mirrored(
        _LIKELY, ("unlikely", "likely"), "neither likely nor unlikely|neutral|undecided|unsure"
    ),
    *_mirrored(
        _ACCURATE, ("inaccurate", "accurate"), "neither accurate nor inaccurate|neutral|neither"
    ),
    *_mirrored(_TRUE, ("untrue", "true"), "neither true nor untrue|neutral|neither"),
    (_NEVER, _SOME, _MANY, _ALWAYS),
    (_NEVER, _FEW, _SOME, _MANY),
    (_NEVER, _FEW, _SOME, _MANY, _ALWAYS),
    (_NEVER, _FEW, _SOME, _MANY, "very often|very frequently"),
    (_NEVER, *_OFTEN),
    (_NEVER, *_OFTEN, "always"),
    (_NEVER, _FEW, "sometimes|occasionally", "often|frequently", "usually|mostly", "always"),
    ("not at all", "several days", "more than half the days", "nearly every day"),
    (_NONE, _LITTLE, "a lot|very much|quite a bit|very"),
    (_NONE, _LITTLE, _MEDIUM, "a lot|very much|extremely|severely|quite a bit|a great deal|very"),
    (_NONE, _LITTLE, "quite a bit", "very much|extremely"),
    (
        _NONE,
        _LITTLE,
        _MEDIUM,
        "quite a bit|quite|quite a lot|considerably|mostly|very|a lot",
        "extremely|very much|completely|a great deal|totally",
    ),
    (
        _NONE,
        _LITTLE,
        _MEDIUM,
        "very much|very|a lot",
        "extremely|an extreme amount|completely|a great deal",
    ),
    (_NONE, _LITTLE, "somewhat", "moderately", "extremely|very much|very"),
    ("not at all true", "hardly true", "moderately true", "exactly true"),
    (
        "not at all true|not at all true of me|not true at all",
        "slightly true|slightly true of me|a little true|rarely true",
        "moderately true|moderately true of me|somewhat true|somewhat true of me|sometimes true",
        "mostly true|mostly true of me|very true|often true",
        "completely true|completely true of me|extremely true|very true of me"
        "|true nearly all the time",
    ),
    ("not true", "somewhat true|sometimes true", "certainly true|very true|often true"),
    ("false", "mostly false", "don't know|unsure", "mostly true", "true"),
    (
        "not at all like me|not like me at all|very much unlike me|very unlike me",
        "not much like me|not like me|unlike me|a little like me|mostly unlike me",
        "somewhat like me|neutral|moderately like me",
        "mostly like me|like me|a lot like me|quite a bit like me",
        "very much like me|exactly like me|just like me|completely like me|very like me",
    ),
    (
        "not at all like me|not like me at all",
        "not like me|not much like me",
        "a little like me",
        "somewhat like me",
        "like me|mostly like me",
        "very much like me",
    ),
    (
        "very poor|terrible|very bad",
        "poor|bad",
        "fair|average|ok|okay|acceptable|neutral",
        "good",
        "very good|excellent",
    ),
    ("poor", "fair", "good", "very good"),
    ("poor", "fair", "good", "excellent"),
    ("poor", "fair", "good", "very good", "excellent"),
    ("not important", "somewhat important|important", "very important"),
    (
        "not at all important|not important at all|not important|unimportant",
        "slightly important|of little importance|a little important",
        "moderately important|important|neutral|somewhat important|fairly important",
        "very important|quite important",
        "extremely important|absolutely essential|essential",
    ),
    (
        "very difficult|very hard|extremely difficult",
        "difficult|hard|somewhat difficult",
        "neither easy nor difficult|neutral|neither difficult nor easy",
        "easy|somewhat easy",
        "very easy|extremely easy",
    ),
    (
        "much worse",
        "worse|somewhat worse|a little worse|slightly worse",
        "about the same|the same|same|no change",
        "better|somewhat better|a little better|slightly better",
        "much better",
    ),
    ("no|n", "yes|y"),
    ("no", "maybe|unsure|not sure|don't know|sometimes", "yes"),
    ("false|f", "true|t"),
    ("unchecked|not selected|not quoted", "checked|selected|quoted"),
]
_TWO = 2


def _order(written: Sequence[str]) -> Order:
    return tuple(tuple(place.split("|")) for place in written)


SCALES: tuple[Order, ...] = tuple(sorted(map(_order, _WRITTEN), key=len))
_NUMBERED = re.compile(r"([+-]?\d{1,3})\s*(?:[-–—.:=()\[\]]+|\s)\s*(\D.*)")
_WHOLE = re.compile(r"[+-]?\d{1,3}(?:\.0)?")
_CODED = re.compile(r"([A-Za-z]{1,3})0*(\d{1,2})")


class Ordered(NamedTuple):
    """Columns of text that were put in order, and those that could not be.

    Attributes
    ----------
    columns
        Ordered categoricals by item.
    orders
        Answers from low to high, with the items that have them.
    unordered
        Items whose texts have no known order.
    """

    columns: dict[str, pd.Series[Any]]
    orders: dict[tuple[str, ...], list[str]]
    unordered: list[str]


def plain(text: str) -> str:
    """Write a text as texts are compared: lower case, straight apostrophes, single blanks.

    Examples
    --------
    >>> plain("  Don’t  know. ")
    "don't know"
    """
    straight = re.sub("[’‘`´]", "'", text.casefold())
    return " ".join(straight.split()).strip(" .")


def numbers_of_texts(
    column: pd.Series[Any], coded: bool = False
) -> tuple[pd.Series[float], dict[float | str, str]] | None:
    """Read a column of texts that begin with their number; None if it is none.

    ``coded`` takes codes such as A1 or AO05 too, as LimeSurvey writes them.

    Examples
    --------
    >>> column, labels = numbers_of_texts(pd.Series(["1 (never)", "2", "3 (always)"]))
    >>> column.tolist(), labels
    ([1.0, 2.0, 3.0], {1.0: 'never', 3.0: 'always'})
    """
    distinct = _distinct_texts(column)
    read = None if distinct is None else _numbered(distinct)
    if read is None and coded and distinct is not None:
        read = _coded(distinct)
    if read is None:
        return None
    labels = {number: label for number, label in read.values() if label}
    values = column.map(lambda cell: read[str(cell).strip()][0], na_action="ignore")
    return values.astype(float), dict(sorted(labels.items()))


def _distinct_texts(column: pd.Series[Any]) -> list[str] | None:
    """Return the distinct texts, stripped; None if they are many, or all are numbers."""
    cells = column.dropna().unique()
    if not 1 < len(cells) <= 3 * _MOST_ANSWERS:
        return None
    texts = list(dict.fromkeys(str(cell).strip() for cell in cells))
    return None if all(_WHOLE.fullmatch(text) for text in texts) else texts


def _numbered(texts: Sequence[str]) -> dict[str, tuple[float, str]] | None:
    read: dict[str, tuple[float, str]] = {}
    for text in texts:
        match = _NUMBERED.fullmatch(" ".join(text.split()))
        if match is not None:
            read[text] = float(match[1]), match[2].rstrip(" )]")
        elif _WHOLE.fullmatch(text):
            read[text] = float(text), ""
        else:
            return None
    labels = {(number, label) for number, label in read.values() if label}
    one_each = len(dict(labels)) == len(labels) == len({label for _, label in labels})
    few = len({number for number, _ in read.values()}) <= _MOST_ANSWERS
    return read if one_each and few else None


def _coded(texts: Sequence[str]) -> dict[str, tuple[float, str]] | None:
    matches = {text: _CODED.fullmatch(text) for text in texts}
    letters = {match and match[1] for match in matches.values()}
    if None in letters or len(letters) > 1:
        return None
    return {text: (float(match[2]), "") for text, match in matches.items() if match}


def order_texts(columns: Mapping[str, pd.Series[Any]], levels: UserLevels) -> Ordered:
    """Put columns of text in order, by the user's ``levels`` first, then by the known scales.

    Parameters
    ----------
    columns
        Texts by item, missing where there is none.
    levels
        Answers from low to high for all columns that have no others, or a dict from items (as
        :func:`choose_columns` reads them) to answers, which these must not exceed.
    """
    given, common = _read_levels(levels, list(columns))
    answers = {item: _answers(column) for item, column in columns.items()}
    fitting = {
        item: [order for order in (common or SCALES) if _fits(answers[item], order)]
        or [order for order in SCALES if _fits(answers[item], order)]
        for item in columns
        if item not in given and 0 < len(answers[item]) <= _MOST_ANSWERS
    }
    shown_whole = Counter(
        order
        for item, orders in fitting.items()
        for order in orders
        if len(answers[item]) == len(order) > _TWO
    )
    spelling = _spellings(columns.values())
    result = Ordered({}, {}, [])
    for item, column in columns.items():
        order = given.get(item) or _choose(fitting.get(item, []), shown_whole)
        if order is None:
            result.unordered.append(item)
            continue
        _check_answers(item, answers[item], order)
        sharing = [found for found in answers.values() if _fits(found, order)]
        names = _level_names(order, answers[item], sharing, spelling)
        place = {text: k for k, texts in enumerate(order) for text in texts}
        codes = [place[plain(cell)] if isinstance(cell, str) else -1 for cell in column]
        levels = pd.Index(names, dtype=object)
        values = pd.Categorical.from_codes(codes, levels, ordered=True)
        result.columns[item] = pd.Series(values, index=column.index, name=column.name)
        result.orders.setdefault(names, []).append(item)
    return result


def _choose(orders: Sequence[Order], shown_whole: Counter[Order]) -> Order | None:
    """Choose among the scales that fit, shortest first, as the module says."""
    most = max((shown_whole[order] for order in orders), default=0)
    return next((order for order in orders if 3 * shown_whole[order] >= most), None)


def _answers(column: pd.Series[Any]) -> frozenset[str]:
    return frozenset(plain(cell) for cell in column.unique() if isinstance(cell, str))


def _spellings(columns: Iterable[pd.Series[Any]]) -> dict[str, str]:
    """How each answer is written most often."""
    written: Counter[str] = Counter()
    for column in columns:
        written.update(" ".join(cell.split()) for cell in column if isinstance(cell, str))
    return {plain(text): text for text, _ in reversed(written.most_common())}


def _fits(answers: frozenset[str], order: Order) -> bool:
    places = [k for k, texts in enumerate(order) for text in texts if text in answers]
    return len(places) == len(answers) == len(set(places))


def _level_names(
    order: Order,
    own: frozenset[str],
    sharing: Sequence[frozenset[str]],
    spelling: Mapping[str, str],
) -> tuple[str, ...]:
    """Name each place as the column does, else as others with this scale do, else as known here."""
    used = Counter(text for answers in sharing for text in answers)
    names = [max(texts, key=lambda text: (text in own, used[text])) for texts in order]
    return tuple(spelling.get(name, name.capitalize()) for name in names)


def _read_levels(
    levels: UserLevels, names: Sequence[str]
) -> tuple[dict[str, Order], tuple[Order, ...]]:
    """Orders of single items, and the order for all that fit it."""
    if levels is None:
        return {}, ()
    if not isinstance(levels, Mapping):
        return {}, (_user_order(levels),)
    given: dict[str, Order] = {}
    for wanted, texts in levels.items():
        given |= dict.fromkeys(choose_columns(names, wanted, "levels"), _user_order(texts))
    return given, ()


def _user_order(texts: object) -> Order:
    advice = 'Give the answers from low to high: ["never", "sometimes", "often"].'
    listed = checks.texts("levels", texts, advice)
    places = tuple((plain(text),) for text in listed)
    if len(places) < _TWO or len(set(places)) < len(places):
        raise checks.refusal("levels", "two or more different answers", listed, advice)
    return places


def _check_answers(item: str, answers: frozenset[str], order: Order) -> None:
    for text in sorted(answers.difference(*order)):
        raise InputError(
            f"`levels` must have every answer of item '{item}'; got {shown(text)}, which is not "
            "among them. Add it, or list it in `missing_codes`.",
            "levels",
        )


def no_order(item: str, column: pd.Series[Any]) -> InputError:
    """Refuse a column whose texts have no known order, and say how to give it."""
    texts = list(_spellings([column]).values())
    listed = ", ".join(shown(text) for text in texts[:3]) + (", ..." if len(texts) > 3 else "")
    example = ", ".join(f'"{text[:30]}"' for text in texts[:2]) + ", ..." * (len(texts) > 2)
    return InputError(
        f"item '{item}' holds texts whose order is not known: {listed}. Give it from low to high, "
        f'levels={{"{item}": [{example}]}}, or leave the item out with '
        f"{reading_with('drop', item)}.",
        "levels",
    )
