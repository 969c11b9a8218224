"""Files that survey programs export: their header rows, and the columns that are no items.

A program is known by the columns that it adds to every file, such as ResponseId. These are kept
aside. Long headers are questions: the items get short names, Q1, Q2, ..., and the questions become
their texts.

- *Qualtrics* writes three header rows: names, questions, and {"ImportId": ...}. Timers, order of
  display and free texts (Q3_TEXT) are no items.
- *Google Forms* and *Microsoft Forms* have the questions as headers; rows of a grid are
  "Question [Row]".
- *LimeSurvey* has codes, G1Q1[SQ001], questions, or "code. question" as headers. Brackets in
  codes become G1Q1_SQ001, as in its exports to R and SPSS.
- *REDCap* has record_id, and a column that ends in _complete for each form.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pandas as pd

from dtstat.core import checks

MOST_HEADER_ROWS = 10
_LONGEST_NAME = 40  # of a header that is a name and not a question


class Program(NamedTuple):
    """A survey program.

    Attributes
    ----------
    name
        As people call it.
    always
        Columns, lower case, of which a file must have ``least``.
    aside
        Pattern of further columns that are no items, lower case.
    """

    name: str
    always: frozenset[str]
    least: int
    aside: re.Pattern[str]


def _known(text: str) -> frozenset[str]:
    return frozenset(text.split("|"))


_QUALTRICS = Program(
    "Qualtrics",
    _known(
        "startdate|enddate|status|ipaddress|progress|duration (in seconds)|duration__in_seconds_"
        "|finished|recordeddate|responseid|recipientlastname|recipientfirstname|recipientemail"
        "|externalreference|locationlatitude|locationlongitude|distributionchannel|userlanguage"
        "|responseset|q_recaptchascore|q_relevantidduplicate|q_relevantidfraudscore"
    ),
    3,
    re.compile(
        r".*(_text|_first click|_last click|_page submit|_click count|_do(_.*)?)|q_.*|fl_.*"
    ),
)
_LIMESURVEY = Program(
    "LimeSurvey",
    _known(
        "id|submitdate|lastpage|startlanguage|seed|startdate|datestamp|ipaddr|refurl|token"
        "|interviewtime|response id|date submitted|last page|start language|date started"
        "|date last action|ip address|referrer url|total time"
    ),
    3,
    re.compile(r"(group ?time|question ?time).*|.*\[(comment|other)\]|.*_(comment|other)"),
)
_REDCAP = Program(
    "REDCap",
    _known(
        "record_id|record id|redcap_event_name|redcap_repeat_instrument|redcap_repeat_instance"
        "|redcap_survey_identifier|redcap_data_access_group|event name|repeat instrument"
        "|repeat instance|survey identifier|data access group"
    ),
    1,
    re.compile(r".*_complete|.*_timestamp|complete\?|survey timestamp"),
)
_GOOGLE = Program(
    "Google Forms",
    _known(
        "timestamp|zeitstempel|horodateur|marca temporal|carimbo de data/hora"
        "|informazioni cronologiche|tijdstempel"
    ),
    1,
    re.compile(r"(email address|username|score|e-mail-adresse|nutzername)"),
)
_MICROSOFT = Program(
    "Microsoft Forms",
    _known("start time|completion time|last modified time"),
    2,
    re.compile(r"(id|email|name|language|total points|quiz feedback|grade posted time)"),
)
_PROGRAMS = (_QUALTRICS, _LIMESURVEY, _REDCAP, _GOOGLE, _MICROSOFT)
_IMPORT_ID = '"importid"'
_FORM_COMPLETE = re.compile(r".+_complete|complete\?")
_ANSWER = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?")
_TAG = re.compile(r"<[^<>]{1,200}>")
_GRID = re.compile(r"(.*\S)\s*\[(.+)\]", re.DOTALL)
_CODE_AND_TEXT = re.compile(r"([A-Za-z]\w*(?:\[\w+\])*)\. (.+)", re.DOTALL)
_CODE = re.compile(r"[A-Za-z]\w*(?:\[\w+\])+")


@dataclass(frozen=True)
class Header:
    """What the first rows of a file say.

    Attributes
    ----------
    names
        Names of the columns.
    rows
        Number of rows that are no answers.
    program
        Name of the program that wrote the file; None if it is not known.
    aside
        Columns that are no items.
    texts
        Questions by column.
    """

    names: list[str]
    rows: int = 1
    program: str | None = None
    aside: frozenset[str] = frozenset()
    texts: Mapping[str, str] = field(default_factory=dict)


def clean_text(cell: object) -> str:
    r"""Write a question without tags and line breaks.

    Examples
    --------
    >>> clean_text("<b>How</b> happy&nbsp;are\nyou?")
    'How happy are you?'
    """
    if cell is None or (not isinstance(cell, str) and pd.isna(cell)):  # type: ignore[call-overload]
        return ""
    return " ".join(html.unescape(_TAG.sub(" ", str(cell))).split())


def read_header(first: Sequence[Sequence[object]], header_rows: int | None = None) -> Header:
    """Read the first rows of a file.

    Parameters
    ----------
    first
        The first rows, at least as many as may belong to the header.
    header_rows
        How many do: names, then questions, then others that are not used; None to find out.
    """
    names = ["" if pd.isna(cell) else str(cell).strip() for cell in first[0]]  # type: ignore[call-overload]
    program = _find_program(names)
    if header_rows is None:
        rows = _count_rows(first, program)
    else:
        advice = "Names, then questions, then others; leave it out to have it detected."
        rows = checks.integer("header_rows", header_rows, 1, advice, MOST_HEADER_ROWS)
    if rows > 1 and _has_import_ids(first[rows - 1]):
        program = _QUALTRICS
    texts = [clean_text(cell) for cell in first[1]] if 1 < rows <= len(first) else []
    texts += [""] * (len(names) - len(texts))
    return _settle(names, texts, rows, program)


def recognize(names: Sequence[str]) -> Header:
    """Find out by names alone, for files that know the names of their columns."""
    program = _find_program(names)
    return Header(
        list(names),
        program=program and program.name,
        aside=frozenset(name for name in names if program and _is_aside(name, program)),
    )


def note_of_numbers(names: Sequence[str]) -> tuple[str, ...]:
    """Sentence about a first row of numbers that do not count the items: they may be answers.

    Examples
    --------
    >>> note_of_numbers(["1", "2", "3"])
    ()
    """
    numbers = [float(name) if _ANSWER.fullmatch(name) else None for name in names if name]
    known = [number for number in numbers if number is not None]
    if len(known) < max(2, len(numbers)) or known == sorted(set(known)):
        return ()
    return (
        "The first row was read as the names of the columns, although it holds numbers, such as "
        f"'{next(filter(None, names))}'; if they are answers, put a row of names above them.",
    )


def _find_program(names: Sequence[str]) -> Program | None:
    lowered = [_bare(name) for name in names]
    for program in _PROGRAMS:
        found = sum(name in program.always for name in set(lowered))
        if program is _REDCAP:
            found *= any(_FORM_COMPLETE.fullmatch(name) for name in lowered)
        if program is _GOOGLE:
            found *= lowered[:1] != [] and lowered[0] in program.always
        if found >= program.least:
            return program
    return None


def _bare(name: str) -> str:
    """Lower case, without LimeSurvey's code in front."""
    both = _CODE_AND_TEXT.fullmatch(name)
    return (both[1] if both else name).lower()


def _count_rows(first: Sequence[Sequence[object]], program: Program | None) -> int:
    for k, row in enumerate(first[:MOST_HEADER_ROWS]):
        if k and _has_import_ids(row):
            return k + 1
    questions = {clean_text(cell).lower() for cell in first[1]} if len(first) > 1 else set()
    if program is _QUALTRICS and questions & {"start date", "response id", "end date"}:
        return 2
    return 1


def _has_import_ids(row: Sequence[object]) -> bool:
    marked = [_IMPORT_ID in str(cell).lower().replace("'", '"') for cell in row]
    return sum(marked) * 2 > len(row)


def _settle(names: list[str], texts: list[str], rows: int, program: Program | None) -> Header:
    if program is None:
        return Header(names, rows, texts={n: t for n, t in zip(names, texts, strict=True) if t})
    is_aside = [_is_aside(name, program) for name in names]
    asked = [name for name, kept in zip(names, is_aside, strict=True) if not kept]
    short, own_texts = _short_names(asked, set(names), program is _LIMESURVEY)
    renamed = iter(short)
    settled = _unique(
        [n if kept else next(renamed) for n, kept in zip(names, is_aside, strict=True)]
    )
    said = {n: t for n, t, kept in zip(settled, texts, is_aside, strict=True) if t and not kept}
    said = _without_stems(said) if said else _without_grids(own_texts)
    aside = frozenset(n for n, kept in zip(settled, is_aside, strict=True) if kept)
    return Header(settled, rows, program.name, aside, said)


def _is_aside(name: str, program: Program) -> bool:
    bare = _bare(name)
    return bare in program.always or program.aside.fullmatch(bare) is not None


def _short_names(
    headers: Sequence[str], taken: set[str], coded: bool
) -> tuple[list[str], dict[str, str]]:
    """Names of items, and the questions that stood in their place or beside them."""
    names: list[str] = []
    texts: dict[str, str] = {}
    for k, header in enumerate(headers, start=1):
        both = _CODE_AND_TEXT.fullmatch(header) if coded else None
        name = both[1] if both else header
        if coded and _CODE.fullmatch(name):
            name = re.sub(r"[\[\]]+", "_", name).strip("_")
        text = both[2] if both else ""
        if " " in name or len(name) > _LONGEST_NAME:
            name, text = (f"Q{k}" if f"Q{k}" not in taken else f"Question{k}"), header
        names.append(name)
        texts |= {name: clean_text(text)} if text else {}
    return names, texts


def _unique(names: Sequence[str]) -> list[str]:
    """Count columns of the same name, as REDCap has one "Complete?" for each form."""
    counts = Counter(names)
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(f"{name}.{seen[name]}" if counts[name] > 1 and name.endswith("?") else name)
    return unique


def _without_stems(texts: Mapping[str, str]) -> dict[str, str]:
    """Leave out what the rows of a matrix have in common: "To what extent ... - I am tired".

    Rows are named Q3_1, Q3_2, ...; those with names of their own are known by three equal stems.
    """
    stems = {name: text[: text.find(" - ") + 3] for name, text in texts.items() if " - " in text}
    shared = Counter(stems.values())
    groups: dict[str, list[str]] = {}
    for name in texts:
        own = name.rpartition("_")[0] or name
        stem = stems.get(name, "")
        groups.setdefault(stem if shared[stem] > 2 else own, []).append(name)
    shortened = dict(texts)
    for members in groups.values():
        stem = stems.get(members[0], "")
        if len(members) > 1 and all(stems.get(name) == stem for name in members):
            shortened |= {name: texts[name].removeprefix(stem) for name in members}
    return shortened


def _without_grids(texts: Mapping[str, str]) -> dict[str, str]:
    """Leave out the question above the rows of a grid: "How often ... [I am tired]"."""
    grids = {name: match for name, text in texts.items() if (match := _GRID.fullmatch(text))}
    stems = Counter(match[1] for match in grids.values())
    return {
        name: grids[name][2] if name in grids and stems[grids[name][1]] > 1 else text
        for name, text in texts.items()
    }
