"""Names of factors: those a user gives, which factors to turn round, and words that items share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dtstat.core import checks
from dtstat.core.errors import InputError, nearest
from dtstat.data.checks import check_writable_names
from dtstat.structure.structure import Structure

_ADVICE = "Give a dict from old to new names, or a list with a name for every factor."
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SENTENCE = 4  # words per text from which function words tell the language
_ENGLISH = 0.15  # least share of function words in English sentences
_SHARED = 2  # fewest items of a factor that share a word
_MOST_WORDS = 2  # of a name

# Words that say little about what an item is about.
_FUNCTION_WORDS = frozenset(
    _WORD.findall(
        """
        a about above after again against all almost also always am an and any are as at
        be because been before being below between both but by can could did do does doing
        don down during each easily ever every few for from further get gets getting had
        has have having he her here hers him his how i if in into is isn it its itself
        just like lot lots many me more most much my myself never no nor not nothing of
        off often on once one only or other our out over own per rarely same seldom she
        should so some something sometimes statement such than that the their them then
        there these they thing things this those through to too under until up usually
        very was we well were what when where which while who whom why will with would you
        your
        """
    )
)
_ENDINGS = ("ings", "ing", "ies", "ed", "es", "s", "ly")
_LEAST_STEM = 3


def new_names(
    given: object, factors: Sequence[str], items: Sequence[str], argument: str = "names"
) -> tuple[str, ...]:
    """Names of the factors after some, or all, are renamed.

    Parameters
    ----------
    given
        Mapping from old to new names, or one name per factor.
    factors, items
        Names of factors and items.

    Raises
    ------
    InputError
        If a name is unknown, empty, given twice, or that of an item.

    Examples
    --------
    >>> new_names({"F2": "speed"}, ["F1", "F2"], ["x1", "x2"])
    ('F1', 'speed')
    """
    if isinstance(given, Mapping):
        _refuse_new_to_old(given, factors, argument)
        _known(given, factors, argument)
        wanted = [given.get(name, name) for name in factors]
    elif isinstance(given, str) and len(factors) == 1:
        wanted = [given]
    else:
        wanted = checks.texts(argument, given, _ADVICE)
    names = tuple(checks.texts(argument, wanted, _ADVICE))
    if len(names) != len(factors):
        raise InputError(
            f"`{argument}` must have {len(factors)} names, one per factor; got {len(names)}. "
            "A dict renames some of them.",
            argument,
        )
    check_writable_names(names, argument)
    if any(not name.strip() for name in names):
        raise InputError(f"`{argument}` has an empty name. Give every factor one.", argument)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"`{argument}` must be distinct; '{twice}' occurs twice.", argument)
    renamed = (new for new, old in zip(names, factors, strict=True) if new != old)
    item = next((new for new in renamed if new in items), None)
    if item is not None:
        raise InputError(
            f"`{argument}`: '{item}' is an item. A factor needs a name of its own, since models "
            "know both by their names.",
            argument,
        )
    return names


def turned(given: object, factors: Sequence[str], argument: str = "factors") -> tuple[bool, ...]:
    """Which factors are to be turned round.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    one = [given] if isinstance(given, str) else given
    named = checks.texts(argument, one, "Give names of factors.")
    _known(named, factors, argument)
    return tuple(name in named for name in factors)


def _known(names: Iterable[object], factors: Sequence[str], argument: str) -> None:
    for name in names:
        if name not in factors:
            raise InputError(
                f"`{argument}`: there is no factor '{name}'. {nearest(str(name), factors)}",
                argument,
            )


def _refuse_new_to_old(given: Mapping[Any, Any], factors: Sequence[str], argument: str) -> None:
    """Tell those who put the new name first, as some data packages do, what the order is here."""
    new, old = next(iter(given.items()), ("", ""))
    if new not in factors and old in factors:
        raise InputError(
            f"`{argument}` goes from old to new names; got '{new}' first, which is no factor. Turn "
            f"it round: {{'{old}': '{new}'}}.",
            argument,
        )


def suggest_names(structure: Structure, texts: Mapping[str, str]) -> dict[str, str]:
    """Words that the items of a factor share, and those of other factors less.

    A word counts once per item; endings such as -s and -ing are passed over. A factor is left out
    if no two of its items share a word, or another factor's items share it as much. English only:
    of sentences in which English function words are rare, nothing is said.

    Parameters
    ----------
    structure
        Which items belong to which factors.
    texts
        Item → its question.

    Returns
    -------
    dict
        Factor → one or two words.

    Examples
    --------
    >>> two = Structure.from_keys({"F1": ["a", "b"], "F2": ["c", "d"]})
    >>> words = {"a": "I worry a lot", "b": "Worries keep me up", "c": "I sing", "d": "Singing"}
    >>> suggest_names(two, words)
    {'F1': 'Worry', 'F2': 'Sing'}
    """
    words = {item: [w.lower() for w in _WORD.findall(text)] for item, text in texts.items()}
    if not _is_english(words):
        return {}
    stems = {
        item: {_stem(w): w for w in reversed(own) if w not in _FUNCTION_WORDS and len(w) > 2}
        for item, own in words.items()
    }
    shares = [_shares(structure.children(k), stems) for k in range(structure.n_factors)]
    found = {}
    for k, own in enumerate(shares):
        others = [share for j, share in enumerate(shares) if j != k]
        best = [
            (share, stem)
            for stem, share in own.items()
            if share * len(structure.children(k)) > _SHARED - 0.5
            and all(share > other.get(stem, 0.0) for other in others)
        ]
        if best:
            ordered = sorted(best, key=lambda one: (-one[0], one[1]))[:_MOST_WORDS]
            shown = [_shortest(stem, structure.children(k), stems) for _, stem in ordered]
            found[structure.factor_names[k]] = ", ".join(shown).capitalize()
    return found


def _is_english(words: Mapping[str, Sequence[str]]) -> bool:
    """Whether texts are too short to tell, or have the function words of English."""
    every = [word for own in words.values() for word in own]
    if len(every) < _SENTENCE * len(words):
        return bool(every) and all(word.isascii() for word in every)
    return sum(word in _FUNCTION_WORDS for word in every) >= _ENGLISH * len(every)


def _stem(word: str) -> str:
    """Cut the commonest endings, for words that differ in nothing else."""
    word = re.sub("['’].*", "", word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            word = word.removesuffix(ending)
            break
    return word[:-1] if word[-1] in "ey" and len(word) > _LEAST_STEM else word


def _shares(items: Sequence[str], stems: Mapping[str, Mapping[str, str]]) -> dict[str, float]:
    """Of every stem the share of the items that have it."""
    own = [stem for item in items for stem in stems.get(item, ())]
    return {stem: own.count(stem) / len(items) for stem in own}


def _shortest(stem: str, items: Sequence[str], stems: Mapping[str, Mapping[str, str]]) -> str:
    """Return the shortest word of a stem; of several the first by the alphabet."""
    return min(
        (stems[i][stem] for i in items if stem in stems.get(i, ())), key=lambda w: (len(w), w)
    )
