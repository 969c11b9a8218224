"""Reading csv, tsv and txt files, whoever wrote them."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
from pathlib import Path

import pandas as pd

from dtstat.data import limits
from dtstat.data.raw import RawTable, named_table
from dtstat.data.unclear import unclear_numbers
from dtstat.errors import InputError, foreign_warnings

SEPARATORS = (",", ";", "\t")
NA_TEXTS = ("", "NA", "N/A", "NaN", "nan", "null", ".")
_SAMPLE_CHARACTERS = 1_000_000
_EXCEL_HINT = re.compile(r"\Asep=.\r?\n")
_DECIMAL_COMMA = re.compile(r"\d,\d")


def read_delimited(path: Path) -> RawTable:
    """Read a text file whose fields are separated by commas, semicolons or tabs.

    In files separated by semicolons or tabs a comma inside a number is a decimal comma, as
    spreadsheets write it in much of Europe.
    """
    text = _EXCEL_HINT.sub("", _one_line_end(_decode(_read_bytes(path))))
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
    separator, header, first_row = _sniff(text, path)
    header = _pad_header(header, first_row)
    frame = _parse(text, separator, header)
    unclear = unclear_numbers(text, separator, header, frame)
    return RawTable(frame, decimal_comma=separator != ",", unclear=unclear)


def _read_bytes(path: Path) -> bytes:
    if path.suffix.lower() != ".gz":
        return path.read_bytes()
    size = path.stat().st_size
    with gzip.open(path) as stream:
        content = stream.read(limits.allowed_bytes(size) + 1)
    limits.check_unpacked(size, len(content))
    return content


def _one_line_end(text: str) -> str:
    """Make every line end a newline: files put together by hand have several kinds."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _decode(content: bytes) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252")


def _sniff(text: str, path: Path) -> tuple[str, list[str], list[str]]:
    """Find the separator; return it with the fields of the header and of the first row."""
    sample = text[:_SAMPLE_CHARACTERS]
    candidates = [(separator, *_first_records(sample, separator)) for separator in SEPARATORS]
    # Commas inside question texts may outnumber the true separator in the header, but then
    # header and first row do not agree on the number of fields.
    separator, header, first_row = max(
        candidates, key=lambda c: (len(c[1]) > 1 and _agree(c[1], c[2]), len(c[1]))
    )
    if len(header) == 1 and len(header[0].split()) > 1:
        raise InputError(
            "columns must be separated by commas, semicolons or tabs; "
            f"'{path.name}' begins with '{header[0][:60]}'. Save it as csv.",
            argument="path",
        )
    return separator, header, first_row


def _first_records(text: str, separator: str) -> tuple[list[str], list[str]]:
    records = filter(None, csv.reader(io.StringIO(text), delimiter=separator))
    first = list(itertools.islice(records, 2))
    return first[0], first[1] if len(first) > 1 else []


def _agree(header: list[str], first_row: list[str]) -> bool:
    return not first_row or len(first_row) in (len(header), len(header) + 1)


def _pad_header(header: list[str], first_row: list[str]) -> list[str]:
    """Add the name that is lacking when rows have one field more than the header."""
    if len(first_row) != len(header) + 1:
        return header
    # A separator at the end of each row, or row names without a header, as R writes them.
    return [*header, ""] if not first_row[-1].strip() else ["", *header]


def _decimal_mark(text: str, separator: str) -> str:
    # Only a matter of speed: columns that pandas leaves as text are parsed again, either way.
    commas = separator != "," and _DECIMAL_COMMA.search(text[:_SAMPLE_CHARACTERS])
    return "," if commas else "."


def _parse(text: str, separator: str, header: list[str]) -> pd.DataFrame:
    # Rows longer than the header would otherwise lose their last fields with a mere warning.
    with foreign_warnings("error", pd.errors.ParserWarning):
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            decimal=_decimal_mark(text, separator),
            header=0,
            names=list(range(len(header))),
            index_col=False,
            keep_default_na=False,
            na_values=list(NA_TEXTS),
            low_memory=False,
        )
    return named_table(frame, header)
