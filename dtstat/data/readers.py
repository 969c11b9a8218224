"""Files of answers as data frames.

A file is read by its ending; then columns are chosen, missing codes blanked and texts put in order.

Columns that are not items, such as age or a time stamp, stay in the table, and
``frame.attrs["aside"]`` lists their names. Whatever takes all columns for items leaves these out;
what is asked for a column by name finds it. The list may be set by hand.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types

from dtstat.core.errors import DataWarning, InputError, warn
from dtstat.core.parallel import Progress
from dtstat.data.checks import (
    LONGEST_SCALE,
    items_phrase,
    quote_names,
    suspected_codes,
    warn_of_codes,
)
from dtstat.data.columns import (
    CodeSet,
    MissingCodes,
    choose_columns,
    clean_column,
    is_date,
    resolve_codes,
)
from dtstat.data.files import Sheet, read_raw
from dtstat.data.formats import (
    RawTable,
    ValueLabels,
    reading_with,
    warn_of_missing_codes,
)
from dtstat.data.scales import UserLevels, no_order, numbers_of_texts, order_texts
from dtstat.data.texts import Labels, given_texts

_MOST_ODD = 0.25  # of the columns
_MARKED_NUMBER = re.compile(r"[+-]?\d[\d.,'’\s]*")
_DATE = re.compile(r"\d{1,4}[.\s]+\d{1,2}[.\s]+\d{1,4}\.?")  # such as 31.12.2020

ColumnChoice = str | Iterable[str] | None


def read_survey(
    path: str | os.PathLike[str],
    missing_codes: MissingCodes = None,
    columns: ColumnChoice = None,
    *,
    drop: ColumnChoice = None,
    id: ColumnChoice = None,
    aside: ColumnChoice = None,
    levels: UserLevels = None,
    labels: Labels = None,
    sheet: Sheet = None,
    header_rows: int | None = None,
    progress: Progress = None,
) -> pd.DataFrame:
    r"""Read the answers of a survey from a file.

    Use it when the file has missing codes such as 99, columns that are not items, or answers in an
    order of their own; otherwise a path can be passed wherever dtstat takes data.

    Parameters
    ----------
    path
        File ending in .csv, .tsv, .txt (these also with .gz), .parquet, .xlsx, .sav, .zsav or
        .dta. Text files may be separated by commas, semicolons or tabs, the latter two with
        decimal commas, in utf-8, utf-16 or cp1252. The first row holds the item names; a first
        column without a name holds row names and is left out. Empty cells and NA, N/A, NaN, nan,
        null and "." are missing. Exports of Qualtrics, Google Forms, Microsoft Forms, LimeSurvey
        and REDCap are known (:mod:`dtstat.data.exports`).
    missing_codes
        Answers that mean "missing", for all items or as a dict from item to codes. Numbers are
        compared as numbers, text as text: ``[99, "refused"]``. Codes declared missing in an
        SPSS or Stata file need not be repeated.
    columns
        The items, in this order: names, patterns and ranges, as in ``"A*, C1-C5"``, or a list of
        such. By default all columns that are not kept aside.
    drop
        Columns to leave out, written in the same way.
    id
        Column or columns that say whose answers they are: they become the index of the table, and
        of scores.
    aside
        Columns to keep that are not items, such as ``"age, gender"``.
    levels
        Answers that are texts, from low to high, for all items that have no others, or as a dict
        from items (written as in ``columns``) to answers. The usual scales in English need not be
        given (:mod:`dtstat.data.scales`).
    labels
        Texts of the items: a dict from item to text, or a codebook, as a data frame or a file, with
        a column item (or name, variable) and a column text (or label, question).
    sheet
        Of an .xlsx file, the sheet to read: its name, or its number from 1. The first by default.
    header_rows
        Number of rows above the answers: names, then questions, then others. Found by default.
    progress
        True for a bar, or a function of (done, total); of text files.

    Returns
    -------
    DataFrame
        Columns whose answers are all numbers are numeric, with NaN for missing; texts with a known
        order are ordered categoricals. ``attrs["aside"]`` lists the columns that are not items and
        stand behind these: those of ``aside``, those that a survey program adds, and, if
        ``columns`` is not given, texts without an order. All of dtstat leaves them out unless it is
        asked for one by its name. ``attrs["item_texts"]`` maps item to question,
        ``attrs["value_labels"]`` item to code to label; either is there if the file has it.

    Raises
    ------
    InputError
        When the file cannot be read, holds no rows, a column mixes numbers with text, texts of
        ``columns`` have no known order, or a number can be read in two ways: 1.234 in a file with
        decimal commas.
    MissingExtraError
        When the format needs a package that is not installed.

    Warns
    -----
    DataWarning
        To say what was recognized: the survey program, columns kept aside, texts put in order. When
        ``columns`` is not given and an age or another such number is among ratings. When
        a labeled code looks like a missing answer and is not declared as one, or when an answer
        without a label looks like a code for a missing one: -9, 99, or 9 on a scale of 1 to 5
        (:mod:`dtstat.data.checks` has the rule). When an id occurs twice.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "survey.csv"
    >>> _ = file.write_text("who;q1;q2;age\na;1;2,5;31\nb;99;3,5;44\n")
    >>> frame = read_survey(file, missing_codes=[99], id="who", aside="age")
    >>> frame.reset_index()
      who   q1   q2  age
    0   a  1.0  2.5   31
    1   b  NaN  3.5   44
    >>> frame.attrs["aside"]
    ['age']
    """
    choice = _Choice(columns, drop, id, aside)
    frame = read_answers(path, missing_codes, choice, levels, labels, sheet, header_rows, progress)
    numbers = items_only(frame).select_dtypes("number").dropna(axis=1, how="all")
    if numbers.size:
        values, names = numbers.to_numpy(dtype=np.float64, na_value=np.nan), list(numbers.columns)
        known = frame.attrs.get("value_labels")
        warn_of_codes(suspected_codes(values, names, known))
    return frame


class _Choice(NamedTuple):
    """Which columns are what, as the user says it."""

    columns: ColumnChoice = None
    drop: ColumnChoice = None
    id: ColumnChoice = None
    aside: ColumnChoice = None

    def resolve(self, names: list[str], known_aside: frozenset[str]) -> _Columns:
        """Apply what was said to the columns of a file."""
        dropped, index, kept = (
            [] if wanted is None else choose_columns(names, wanted, argument)
            for argument, wanted in (("drop", self.drop), ("id", self.id), ("aside", self.aside))
        )
        gone = {*dropped, *index, *kept}
        if self.columns is None:
            kept += [name for name in names if name in known_aside and name not in gone]
        chosen = choose_columns(names, self.columns)
        items = [name for name in chosen if name not in {*gone, *kept}]
        if not items:
            raise InputError(
                "`columns` must leave at least one item; all columns are dropped, set aside or "
                "used as id.",
                "columns",
            )
        return _Columns(items, [name for name in kept if name not in {*dropped, *index}], index)


_ALL = _Choice()


class _Columns(NamedTuple):
    items: list[str]
    aside: list[str]
    ids: list[str]


def read_answers(
    path: str | os.PathLike[str],
    missing_codes: MissingCodes = None,
    choice: _Choice = _ALL,
    levels: UserLevels = None,
    labels: Labels = None,
    sheet: Sheet = None,
    header_rows: int | None = None,
    progress: Progress = None,
) -> pd.DataFrame:
    """Read a survey, as :func:`read_survey`, without looking for codes that have no label."""
    raw = read_raw(path, sheet, header_rows, progress)
    names = list(raw.frame.columns)
    codes = resolve_codes(missing_codes, names)
    columns = choice.resolve(names, raw.aside)
    answers, value_labels, notes = _read_items(raw, columns.items, codes, levels)
    unordered = [item for item in columns.items if item not in answers]
    if unordered and choice.columns is not None:
        raise _no_item(unordered[0], raw.frame[unordered[0]])
    kept = {name: _as_it_is(raw, name, codes) for name in [*columns.aside, *unordered]}
    frame = pd.DataFrame(answers | kept)
    if value_labels or raw.value_labels is not None:
        _keep_labels(frame, value_labels, codes)
    texts = {**raw.item_texts, **given_texts(labels, names)}
    known = {name: texts[name] for name in frame if name in texts}
    if known or raw.value_labels is not None:
        frame.attrs["item_texts"] = known
    if kept:
        frame.attrs["aside"] = list(kept)
    notes = [*raw.notes, *_program_note(raw, list(kept), unordered), *notes]
    if choice.columns is None:
        notes += _odd_note(items_only(frame))
    if notes:
        warn(" ".join(notes), DataWarning, stacklevel=3)
    return _with_index(frame, raw.frame, columns.ids)


def _read_items(
    raw: RawTable, items: list[str], codes: Mapping[str, CodeSet], levels: UserLevels
) -> tuple[dict[str, pd.Series[Any]], dict[str, Mapping[Any, str]], list[str]]:
    """Columns of items, those without a known order left out; labels of codes; what was done."""
    columns: dict[str, pd.Series[Any]] = {}
    labels = dict(raw.value_labels or {})
    texts: dict[str, pd.Series[Any]] = {}
    for item in items:
        if item in raw.unclear:
            raise InputError(raw.unclear[item], argument="path")
        column, own = raw.frame[item], codes.get(item, CodeSet())
        if _is_nested(column):
            continue
        numbered = _numbered(column, own, raw.program == "LimeSurvey")
        if numbered is not None:
            column, labels[item] = numbered
        columns[item] = clean_column(column, item, own, raw.decimal_comma)
        if _is_text(columns[item]) or _is_time(columns[item]):
            texts[item] = columns[item]
            _check_marks(item, columns[item])
    ordered = order_texts(texts, levels)
    columns = {
        item: ordered.columns.get(item, column)
        for item, column in columns.items()
        if item not in ordered.unordered
    }
    notes = [
        f"Text answers to {items_phrase(of_items)} were read as ordered categories: "
        f"{' < '.join(order)}."
        for order, of_items in ordered.orders.items()
    ]
    return columns, labels, notes


def _numbered(
    column: pd.Series[Any], codes: CodeSet, coded: bool
) -> tuple[pd.Series[float], dict[float | str, str]] | None:
    """Read texts that begin with their number, without those that mean "missing"."""
    if not _is_text(column):
        return None
    missing = column.map(lambda cell: isinstance(cell, str) and cell.strip() in codes)
    return numbers_of_texts(column.mask(missing.astype(bool)), coded)


def _is_text(column: pd.Series[Any]) -> bool:
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return False
    return types.is_object_dtype(kind) or types.is_string_dtype(kind)


def _is_time(column: pd.Series[Any]) -> bool:
    return types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column)


def _is_nested(column: pd.Series[Any]) -> bool:
    """Whether cells are lists, tables or other things that Parquet can hold."""
    return types.is_object_dtype(column.dtype) and not all(map(types.is_scalar, column))


def _kind(column: pd.Series[Any]) -> str:
    """Say what a column holds that is no item: "texts", "dates", or "others"."""
    if any(isinstance(cell, str) for cell in column):
        return "texts"
    return "dates" if _is_time(column) or any(map(is_date, column)) else "others"


def _check_marks(item: str, column: pd.Series[Any]) -> None:
    """Refuse texts that are numbers with marks of thousands, or with a comma that may be one."""
    for cell in column.unique():
        text = cell.strip() if isinstance(cell, str) else ""
        if _MARKED_NUMBER.fullmatch(text) and not _DATE.fullmatch(text):
            row = int(np.argmax((column == cell).fillna(False).to_numpy(bool))) + 1
            raise InputError(
                f"item '{item}' holds '{cell}' in row {row}, whose marks may separate thousands or "
                "decimals. Write numbers with a decimal point and without thousands separators, or "
                f"leave the item out with {reading_with('drop', item)}.",
                "path",
            )


def _as_it_is(raw: RawTable, name: str, codes: Mapping[str, CodeSet]) -> pd.Series[Any]:
    """Return a column that is no item: cleaned if it can be, as in the file otherwise."""
    if name in raw.unclear:
        return raw.frame[name]
    try:
        return clean_column(raw.frame[name], name, codes.get(name, CodeSet()), raw.decimal_comma)
    except InputError:
        return raw.frame[name]


def _no_item(item: str, column: pd.Series[Any]) -> InputError:
    """Refuse a column that was asked for."""
    if not _is_nested(column):
        return no_order(item, column)
    row = [types.is_scalar(cell) for cell in column].index(False)
    return InputError(
        f"item '{item}' must hold one answer per cell; got a {type(column.iloc[row]).__name__} in "
        f"row {row + 1}. Leave it out with `drop`.",
        "path",
    )


def _program_note(raw: RawTable, aside: list[str], unordered: list[str]) -> list[str]:
    notes = []
    if raw.program is not None:
        notes.append(f"Read as an export of {raw.program}.")
    own = [name for name in aside if name in raw.aside]
    if own:
        notes.append(f"Its columns that are not items are kept aside: {quote_names(own)}.")
    kinds: dict[str, list[str]] = {"texts": [], "dates": [], "others": []}
    for name in unordered:
        kinds[_kind(raw.frame[name])].append(name)
    texts, dates, others = kinds.values()
    if texts:
        notes.append(
            f"Texts of {items_phrase(texts)} have no known order and are kept aside; `levels` "
            "gives them one."
        )
    if dates:
        notes.append(f"Dates or times are kept aside: {quote_names(dates)}.")
    if others:
        notes.append(f"Neither numbers nor texts, and kept aside: {quote_names(others)}.")
    return notes


def _odd_note(items: pd.DataFrame) -> list[str]:
    """Point out an age among ratings: nobody said which columns are the items."""
    numbers = items.select_dtypes("number")
    odd = [str(name) for name in numbers if numbers[name].nunique() > LONGEST_SCALE]
    if not 0 < len(odd) <= _MOST_ODD * items.shape[1]:
        return []
    return [
        f"Most columns are ratings, but not {quote_names(odd)}. Keep aside what is not an item: "
        f"{reading_with('aside', odd[0])}."
    ]


def _with_index(frame: pd.DataFrame, raw: pd.DataFrame, index: list[str]) -> pd.DataFrame:
    if not index:
        return frame
    ids = raw[index]
    for name in index:
        if ids[name].isna().any():
            row = int(np.argmax(ids[name].isna().to_numpy())) + 1
            raise InputError(
                f"`id` must not be missing in any row; got nothing in column '{name}', row {row}. "
                "Fill it in, or choose another column.",
                "id",
            )
    repeated = ids[ids.duplicated()]
    if len(repeated):
        first = ", ".join(str(cell) for cell in repeated.iloc[0])
        warn(
            f"{len(repeated)} rows have an id that an earlier row has, such as {first}; if these "
            "are the same people, keep one row of each.",
            DataWarning,
            stacklevel=4,
        )
    keys = [ids[name] for name in index]
    frame.index = (
        pd.Index(keys[0], name=index[0])
        if len(keys) == 1
        else pd.MultiIndex.from_arrays(keys, names=index)
    )
    return frame


def _keep_labels(frame: pd.DataFrame, labels: ValueLabels, codes: Mapping[str, CodeSet]) -> None:
    """Keep labels of codes that are answers, and warn of those that look like missing ones."""
    kept = {
        item: {
            code: label
            for code, label in labels[item].items()
            if code not in codes.get(item, CodeSet())
        }
        for item in map(str, frame)
        if item in labels
    }
    warn_of_missing_codes(frame, kept)
    frame.attrs["value_labels"] = kept


def items_only(frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out the columns that are kept aside."""
    aside = {str(name) for name in _aside(frame)}
    if aside.isdisjoint(map(str, frame.columns)):
        return frame
    return frame.loc[:, [str(name) not in aside for name in frame.columns]]


def take_columns(frame: pd.DataFrame, places: Iterable[int]) -> pd.DataFrame:
    """Take columns that were asked for by name: none of them is aside any more."""
    taken = frame.take(list(places), axis=1)
    taken.attrs = {key: value for key, value in frame.attrs.items() if key != "aside"}
    return taken


def _aside(frame: pd.DataFrame) -> list[Any]:
    names = frame.attrs.get("aside", ())
    return list(names) if isinstance(names, list | tuple | set | frozenset) else [names]
