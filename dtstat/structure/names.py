"""Names that R and lavaan can read, whatever items and factors are called.

lavaan 0.6 takes no quoted names: blanks inside backticks are dropped, and ? and ! mean something
else. So its texts use the names that R itself makes of others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

_R_WORDS = frozenset(
    {
        *("if", "else", "repeat", "while", "function", "for", "next", "break", "in"),
        *("TRUE", "FALSE", "NULL", "Inf", "NaN"),
        *("NA", "NA_integer_", "NA_real_", "NA_character_", "NA_complex_"),
    }
)
_LEGEND = re.compile(r'^# (\S+) is (".*")$', re.MULTILINE)


def r_name(name: str) -> str:
    """Return what R's ``make.names`` makes of a name.

    Examples
    --------
    >>> r_name("Q 1?"), r_name("1st"), r_name("age")
    ('Q.1.', 'X1st', 'age')
    """
    starts_well = name[:1].isalpha() or (name[:1] == "." and not name[1:2].isdecimal())
    r = name if starts_well else "X" + name
    r = "".join(c if c.isalpha() or c.isdecimal() or c in "._" else "." for c in r)
    return r + "." if r in _R_WORDS else r


def r_names(names: Sequence[str]) -> list[str]:
    """Return what R's ``make.names(unique = TRUE)`` makes of names: good ones stay as they are.

    Examples
    --------
    >>> r_names(["Q1?", "Q1!", "Q1."])
    ['Q1..1', 'Q1..2', 'Q1.']
    """
    made = [r_name(name) for name in names]
    order = sorted(range(len(names)), key=lambda k: made[k] != names[k])
    for k, distinct in zip(order, distinct_names([made[k] for k in order]), strict=True):
        made[k] = distinct
    return made


def distinct_names(names: Sequence[str]) -> list[str]:
    """Add numbers to repeated names as R's ``make.unique`` does.

    Examples
    --------
    >>> distinct_names(["a", "a", "b", "a"])
    ['a', 'a.1', 'b', 'a.2']
    """
    taken, seen, counts = set(names), set[str](), dict[str, int]()
    distinct = []
    for name in names:
        new = name
        while new in seen or (new != name and new in taken):
            counts[name] = counts.get(name, 0) + 1
            new = f"{name}.{counts[name]}"
        seen.add(new)
        distinct.append(new)
    return distinct


def legend(names: Mapping[str, str]) -> list[str]:
    """Write comments that say what the names in a model text stand for, where they differ."""
    return [
        f"# {spelling} is {json.dumps(name, ensure_ascii=False)}"
        for spelling, name in names.items()
        if spelling != name
    ]


def read_legend(text: str) -> dict[str, str]:
    """Read what :func:`legend` wrote: name in the text → what it stands for.

    Comments by which a name would stand for one that R does not change into it are passed over.

    Examples
    --------
    >>> read_legend('# Q1. is "Q1?"' + chr(10) + "F =~ Q1. + Q2")
    {'Q1.': 'Q1?'}
    """
    names = {}
    for spelling, quoted in _LEGEND.findall(text):
        try:
            name = str(json.loads(quoted))
        except ValueError:
            continue
        if re.fullmatch(re.escape(r_name(name)) + r"(\.\d+)?", spelling):
            names[spelling] = name
    return names
