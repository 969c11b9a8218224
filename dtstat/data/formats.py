"""Tables as they stand in files, before answers are chosen and cleaned.

*Text* (csv, tsv, txt) is read whoever wrote it: any separator, encoding, line end and decimal mark.
Two kinds of numbers cannot be read safely, so an item that holds one is refused if it is wanted:

1. *Two decimal marks.* In files separated by semicolons or tabs "1,5" is one and a half, and so is
   "1.5". But where a file has commas *and* points in its numbers, "1.234" or "1,234" may be
   something over one, or a thousand and more.
2. *Whole numbers beyond 2^53*, of which some have no float, so that different ones become equal, in
   a column with gaps or very long numbers. Other columns of whole numbers are read exactly.

*SPSS and Stata* files hold codes with labels, some of them declared missing.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import importlib
import io
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api import types

from dtstat.core.errors import DataWarning, InputError, MissingExtraError, foreign_warnings, warn
from dtstat.core.files import allowed_bytes, check_unpacked
from dtstat.core.parallel import Progress, Steps
from dtstat.data.checks import check_names, items_phrase
from dtstat.data.exports import MOST_HEADER_ROWS, note_of_numbers, read_header, recognize

Code = float | str
ValueLabels = Mapping[str, Mapping[Code, str]]
Cells = Iterator[tuple[int, str, str]]  # row from 1, item, text
Range = Mapping[str, Any]

SEPARATORS = (",", ";", "\t")
NA_TEXTS = ("", "NA", "N/A", "NaN", "nan", "null", ".")
_SAMPLE_CHARACTERS = 1_000_000
_EXCEL_HINT = re.compile(r"\Asep=.\r?\n")
_COMMA = re.compile(r"[+-]?\d*,\d+")
_POINT = re.compile(r"[+-]?\d*\.\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}(\1\d{3})*")
_LONG = re.compile(r"([+-]?\d{16,300})([.,]0*)?")
# Cheap tests of the whole text, since nearly every file passes them.
_ANY_COMMA = re.compile(r"\d,\d")
_ANY_POINT = re.compile(r"\d\.\d")
_ANY_LONG = re.compile(r"\d{16}")
_DIGITS = 16
_PIECE = 1 << 18  # characters that are read at a time

# Codes that survey houses use for missing answers.
USUAL_MISSING_CODES = frozenset({-999, -99, -9, -1, 97, 98, 99, 997, 998, 999})
# A scale such as -1, 0, 1 must not be taken for one; a code this far from the scale may be.
MIN_GAP = 2
_MISSING_LABEL = re.compile(
    r"\b(missing|refus(ed|al)|no (answer|response|reply)|not (answered|applicable|asked|stated)"
    r"|prefer not|(don['’`]?t|do not|doesn['’`]?t) know|skipped|keine angaben?|wei(ß|ss) nicht"
    r"|verweigert|nicht beantwortet|sans réponse|ne sait pas|no (sabe|contesta))\b"
    r"|^\W*(n\s?/\s?a|n\.a\.|dk|k\.\s?a\.)\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RawTable:
    """What a reader of one format hands on.

    Attributes
    ----------
    frame
        Rows counted from 0, column names checked; cells as the format stores them.
    decimal_comma
        Whether text such as "2,5" means two and a half.
    value_labels, item_texts
        Labels of answer codes and question texts, for the formats that have them; None otherwise.
    unclear
        Items with a number that cannot be read safely, and the sentence that says which; such an
        item is refused if it is wanted. Its cells are texts.
    program, aside
        Survey program that wrote the file, None if it is not known, and its columns that are no
        items.
    notes
        What was done that may not have been expected, as sentences.
    row_names
        Texts of a first column without a name, which is left out of ``frame``.
    """

    frame: pd.DataFrame
    decimal_comma: bool = False
    value_labels: ValueLabels | None = None
    item_texts: Mapping[str, str] = field(default_factory=dict)
    unclear: Mapping[str, str] = field(default_factory=dict)
    program: str | None = None
    aside: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    row_names: tuple[str, ...] = ()


def reading_with(argument: str, item: str) -> str:
    """Write the call that treats a column so; R and the shell write it in their own words.

    Examples
    --------
    >>> reading_with("drop", "age")
    "read_survey(path, drop=['age'])"
    """
    return f"read_survey(path, {argument}={[item]!r})"


def read_delimited(
    path: Path, header_rows: int | None = None, progress: Progress = None
) -> RawTable:
    """Read a text file whose fields are separated by commas, semicolons or tabs.

    In files separated by semicolons or tabs a comma inside a number is a decimal comma, as
    spreadsheets write it in much of Europe.
    """
    text = _decode(_read_bytes(path))
    if "\r" in text:  # files put together by hand have several kinds of line ends
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _EXCEL_HINT.sub("", text.lstrip("\ufeff"))  # some programs write the mark twice
    if not text.strip():
        raise InputError(
            f"'{path.name}' is empty; got no header and no rows. Export the data again.",
            argument="path",
        )
    if "\0" in text:  # some versions of pandas would end the cell there
        raise InputError(
            f"'{path.name}' has null bytes, which no text has. Export the data again.",
            argument="path",
        )
    separator, first = _find_separator(text, path)
    if len(first) > 1 and len(first[1]) == len(first[0]) + 1:
        # A separator at the end of each row, or row names without a header, as R writes them.
        names = [*first[0], ""] if not first[1][-1].strip() else ["", *first[0]]
        first = [names, *first[1:]]
    header = read_header(first, header_rows)
    body = _below_header(text, separator, header.rows)
    with Steps(progress, "reading", 2) as steps:
        cells = _parse(body, separator, len(header.names), steps)
        steps.done()
        frame = named_table(cells, header.names)
        unclear = find_unclear_numbers(body, separator, header.names, frame, steps)
    for item in unclear:
        frame[item] = _texts_of(body, separator, header.names, item)
    return RawTable(
        frame,
        decimal_comma=separator != ",",
        item_texts=header.texts,
        unclear=unclear,
        program=header.program,
        aside=header.aside,
        notes=note_of_numbers(header.names),
        row_names=row_names(cells, header.names),
    )


def _read_bytes(path: Path) -> bytes:
    if path.suffix.lower() != ".gz":
        return path.read_bytes()
    size = path.stat().st_size
    with gzip.open(path) as stream:
        content = stream.read(allowed_bytes(size) + 1)
    check_unpacked(size, len(content))
    return content


def _decode(content: bytes) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252")


def _find_separator(text: str, path: Path) -> tuple[str, list[list[str]]]:
    """Find the separator; return it with the first records, which may all be of the header."""
    sample = text[:_SAMPLE_CHARACTERS]
    candidates = [(separator, _first_records(sample, separator)) for separator in SEPARATORS]

    def quality(candidate: tuple[str, list[list[str]]]) -> tuple[bool, int]:
        # Commas inside question texts may outnumber the true separator in the header, but then
        # header and first row do not agree on the number of fields.
        header, *rows = candidate[1]
        agree = not rows or len(rows[0]) in (len(header), len(header) + 1)
        return len(header) > 1 and agree, len(header)

    separator, first = max(candidates, key=quality)
    if len(first[0]) == 1 and len(first[0][0].split()) > 1:
        raise InputError(
            "columns must be separated by commas, semicolons or tabs; "
            f"'{path.name}' begins with '{first[0][0][:60]}'. Save it as csv.",
            argument="path",
        )
    return separator, first


def _first_records(text: str, separator: str) -> list[list[str]]:
    records = filter(None, csv.reader(io.StringIO(text), delimiter=separator))
    return list(itertools.islice(records, MOST_HEADER_ROWS))


def _below_header(text: str, separator: str, rows: int) -> str:
    """Blank the first records, whose fields may have line breaks; lines keep their numbers."""
    stream = io.StringIO(text, newline="")
    reader = csv.reader(iter(stream.readline, ""), delimiter=separator)
    for _ in itertools.islice(filter(None, reader), rows):
        pass
    return "\n" * reader.line_num + stream.read()


class _Told(io.StringIO):
    """Text that is read in pieces, which are parts of a step."""

    def __init__(self, text: str, steps: Steps) -> None:
        super().__init__(text)
        self._pieces = steps.through(range(len(text) // _PIECE + 2))  # the last is empty

    def read(self, size: int | None = -1) -> str:
        """Return what comes next; pandas asks for as much as ``_PIECE``."""
        next(self._pieces, None)
        return super().read(size)


def _parse(body: str, separator: str, width: int, steps: Steps) -> pd.DataFrame:
    # Only a matter of speed: columns that pandas leaves as text are parsed again, either way.
    commas = separator != "," and _ANY_COMMA.search(body[:_SAMPLE_CHARACTERS])
    if not body.strip():
        return pd.DataFrame(columns=range(width), dtype=object)
    # Rows longer than the header would otherwise lose their last fields with a mere warning.
    with foreign_warnings("error", pd.errors.ParserWarning):
        return pd.read_csv(
            _Told(body, steps),
            sep=separator,
            decimal="," if commas else ".",
            header=None,
            names=list(range(width)),
            index_col=False,
            keep_default_na=False,
            na_values=list(NA_TEXTS),
            low_memory=False,
        )


def _texts_of(body: str, separator: str, names: Sequence[str], item: str) -> pd.Series[Any]:
    """Read one column as it is written, such as an identifier with many digits."""
    place = [name.strip() for name in names].index(item)
    column = pd.read_csv(
        io.StringIO(body),
        sep=separator,
        header=None,
        names=list(range(len(names))),
        usecols=[place],
        index_col=False,
        dtype=str,
        keep_default_na=False,
        na_values=list(NA_TEXTS),
    )
    return column[place]


def find_unclear_numbers(
    text: str,
    separator: str,
    header: Sequence[str],
    frame: pd.DataFrame,
    steps: Steps | None = None,
) -> dict[str, str]:
    """Return the sentence of refusal by item, for items with a number that is unclear."""
    names = [name.strip() for name in header]

    def cells() -> Cells:
        records = filter(None, csv.reader(io.StringIO(text), delimiter=separator))
        for row, record in enumerate(records, start=1):
            yield from (
                (row, name, cell.strip()) for name, cell in zip(names, record, strict=False)
            )

    found: dict[str, str] = {}
    if separator != "," and _ANY_COMMA.search(text) and _ANY_POINT.search(text):
        found |= _find_two_marks(cells)
    pieces = (steps or Steps()).through(range(0, len(text), _PIECE))
    if any(_ANY_LONG.search(text, k, k + _PIECE + _DIGITS) for k in pieces):
        exact = {str(name) for name in frame if types.is_integer_dtype(frame[name].dtype)}
        found |= _find_merged(cells, exact)
    return found


def _find_two_marks(cells: Callable[[], Cells]) -> dict[str, str]:
    commas = any(_COMMA.fullmatch(cell) for _, _, cell in cells())
    points = any(_POINT.fullmatch(cell) for _, _, cell in cells())
    if not (commas and points):
        return {}
    found: dict[str, str] = {}
    for row, item, cell in cells():
        if item not in found and _THOUSANDS.fullmatch(cell):
            found[item] = (
                f"item '{item}' holds '{cell}' in row {row}, in a file whose numbers have commas "
                "and points: it may be a decimal number or a number above a thousand. Write all "
                "numbers of the file with the same decimal mark and without thousands separators."
            )
    return found


def _find_merged(cells: Callable[[], Cells], exact: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for row, item, cell in cells():
        long = None if item in exact or item in found else _LONG.fullmatch(cell)
        if long and int(float(long[1])) != int(long[1]):
            found[item] = (
                f"item '{item}' holds {cell[:40]} in row {row}, a whole number with more digits "
                "than numbers are computed with. Leave the item out with "
                f"{reading_with('drop', item)}, keep it with `aside`, or give it fewer digits."
            )
    return found


def read_spss(path: Path) -> RawTable:
    """Read a .sav or .zsav file; answers declared missing in it become NaN."""
    pyreadstat = require("pyreadstat", "Reading SPSS files")
    if path.suffix.lower() == ".zsav":  # equal answers take next to no room in it
        _, about = pyreadstat.read_sav(path, metadataonly=True)
        unpacked = 8 * (about.number_rows or 0) * about.number_columns
        check_unpacked(path.stat().st_size, unpacked)
    # The codes are needed as they are, to leave out the labels of those declared missing.
    with _no_renaming():
        frame, meta = pyreadstat.read_sav(path, user_missing=True)
    declared: dict[str, list[Range]] = meta.missing_ranges
    for item, ranges in declared.items():
        frame[item] = frame[item].mask(_declared_missing(frame[item], ranges))

    def is_answer(item: str, code: Code) -> bool:
        return not _declared_missing(pd.Series([code]), declared.get(item, ())).any()

    return _labeled_table(frame, meta, is_answer)


def read_stata(path: Path) -> RawTable:
    """Read a .dta file; the missing values ., .a to .z become NaN."""
    pyreadstat = require("pyreadstat", "Reading Stata files")
    with _no_renaming():
        frame, meta = pyreadstat.read_dta(path)
    # Labels of .a to .z come under the letter; all other labels of Stata are on numbers.
    return _labeled_table(frame, meta, lambda _, code: not isinstance(code, str))


def _no_renaming() -> AbstractContextManager[None]:
    """Refuse names that occur twice, as in a damaged file; pyreadstat would rename one of them."""
    return foreign_warnings("error", UserWarning, ".*duplicated")


def _declared_missing(codes: pd.Series[Any], ranges: Sequence[Range]) -> pd.Series[bool]:
    """Mark the codes that lie in one of the ranges declared missing."""
    missing = pd.Series(False, index=codes.index)
    for limits in ranges:
        low, high = limits["lo"], limits["hi"]
        if isinstance(low, str):
            missing |= codes.eq(low)
        elif types.is_numeric_dtype(codes.dtype):
            missing |= codes.between(low, high)
    return missing


def _labeled_table(
    frame: pd.DataFrame, meta: Any, is_answer: Callable[[str, Code], bool]
) -> RawTable:
    check_names(list(frame.columns))
    labels: dict[str, dict[Code, str]] = {
        item: {
            code if isinstance(code, str) else float(code): str(label)
            for code, label in of_item.items()
            if is_answer(item, code)
        }
        for item, of_item in meta.variable_value_labels.items()
    }
    texts = {item: text for item, text in meta.column_names_to_labels.items() if text}
    known = recognize(list(frame.columns))
    return RawTable(
        frame, value_labels=labels, item_texts=texts, program=known.program, aside=known.aside
    )


def warn_of_missing_codes(frame: pd.DataFrame, labels: ValueLabels) -> None:
    """Warn of labeled codes that occur in the data and look like missing answers.

    A code looks so when its label says so, or when it is one of the usual codes (such as 99) and
    lies at least two beyond the other labeled codes of the item.
    """
    holders: dict[tuple[float, str], list[str]] = {}
    for item in frame.columns:
        for code, label in _suspected_codes(frame[item], labels.get(item, {})):
            holders.setdefault((code, label), []).append(item)
    for (code, label), items in holders.items():
        warn(
            f"{items_phrase(items)}: code {code:g} is labeled '{label}' but not declared missing; "
            f"pass missing_codes=[{code:g}] if it is not an answer.",
            DataWarning,
            stacklevel=5,
        )


def _suspected_codes(
    column: pd.Series[Any], labels: Mapping[Code, str]
) -> Iterator[tuple[float, str]]:
    numeric = {code: label for code, label in labels.items() if not isinstance(code, str)}
    scale = [code for code in numeric if code not in USUAL_MISSING_CODES]
    for code, label in numeric.items():
        far = bool(scale) and not min(scale) - MIN_GAP < code < max(scale) + MIN_GAP
        suspected = (far and code in USUAL_MISSING_CODES) or _MISSING_LABEL.search(label)
        if suspected and column.eq(code).any():
            yield code, label


def named_table(frame: pd.DataFrame, header: Sequence[Any]) -> pd.DataFrame:
    """Give a table its header, leaving out columns without a name that hold no answers.

    These are a first column of row names, as R and pandas write them, and empty columns, as
    spreadsheets leave behind.
    """
    names = ["" if pd.isna(cell) else str(cell).strip() for cell in header]
    unused = frame.isna().all(axis=0).to_numpy()
    kept = [k for k, name in enumerate(names) if name or not (k == 0 or unused[k])]
    check_names([names[k] for k in kept])
    return frame.iloc[:, kept].set_axis([names[k] for k in kept], axis=1)


def row_names(frame: pd.DataFrame, header: Sequence[Any]) -> tuple[str, ...]:
    """Texts of the first column if it has no name; numbers are mere counts of rows."""
    if not len(header) or not (pd.isna(header[0]) or not str(header[0]).strip()):
        return ()
    cells = frame.iloc[:, 0].tolist()
    return tuple(cells) if all(isinstance(cell, str) for cell in cells) else ()


def require(package: str, feature: str) -> Any:
    """Import a package of the extra ``survey``, or say how to do without it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        # A broken installation of the package is another matter and must show as itself.
        if error.name != package:
            raise
        raise MissingExtraError(feature, package, "survey", "Or save the data as csv.") from error
