"""Numbers in a text file that cannot be read safely.

1. *Two decimal marks.* In files separated by semicolons or tabs "1,5" is one and a half, and so is
   "1.5". But where a file has commas *and* points in its numbers, "1.234" or "1,234" may be
   something over one, or a thousand and more.
2. *Whole numbers beyond 2^53*, of which some have no float, so that different ones become equal, in
   a column with gaps or very long numbers. Other columns of whole numbers are read exactly.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence

import pandas as pd
from pandas.api import types

_COMMA = re.compile(r"[+-]?\d*,\d+")
_POINT = re.compile(r"[+-]?\d*\.\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}(\1\d{3})*")
_LONG = re.compile(r"[+-]?\d{16,300}")
# Cheap tests of the whole text, since nearly every file passes them.
_ANY_COMMA = re.compile(r"\d,\d")
_ANY_POINT = re.compile(r"\d\.\d")
_ANY_LONG = re.compile(r"\d{16}")

Cells = Iterator[tuple[int, str, str]]  # row from 1, item, text


def unclear_numbers(
    text: str, separator: str, header: Sequence[str], frame: pd.DataFrame
) -> dict[str, str]:
    """Return the sentence of refusal by item, for items with a number that is unclear."""
    names = [name.strip() for name in header]

    def cells() -> Cells:
        records = filter(None, csv.reader(io.StringIO(text), delimiter=separator))
        next(records, None)
        for row, record in enumerate(records, start=1):
            yield from (
                (row, name, cell.strip()) for name, cell in zip(names, record, strict=False)
            )

    found: dict[str, str] = {}
    if separator != "," and _ANY_COMMA.search(text) and _ANY_POINT.search(text):
        found |= _two_marks(cells)
    if _ANY_LONG.search(text):
        exact = {str(name) for name in frame if types.is_integer_dtype(frame[name].dtype)}
        found |= _merged(cells, exact)
    return found


def _two_marks(cells: Callable[[], Cells]) -> dict[str, str]:
    commas = any(_COMMA.fullmatch(cell) for _, _, cell in cells())
    points = any(_POINT.fullmatch(cell) for _, _, cell in cells())
    if not (commas and points):
        return {}
    found: dict[str, str] = {}
    for row, item, cell in cells():
        if item not in found and _THOUSANDS.fullmatch(cell):
            found[item] = (
                f"item '{item}' holds '{cell}' in row {row}, in a file whose numbers have commas "
                "and points: it may be a decimal number or one over a thousand. Write all numbers "
                "of the file with the same decimal mark and without marks of thousands."
            )
    return found


def _merged(cells: Callable[[], Cells], exact: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for row, item, cell in cells():
        long = item not in exact and item not in found and _LONG.fullmatch(cell)
        if long and int(float(cell)) != int(cell):
            found[item] = (
                f"item '{item}' holds {cell[:40]} in row {row}, a whole number with more digits "
                "than numbers are computed with. Leave it out with `columns`, or give it fewer "
                "digits."
            )
    return found
