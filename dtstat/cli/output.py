"""What commands write to files.

Csv files are often opened in a spreadsheet, which takes a text that begins with =, +, -, @, a tab
or a carriage return for a formula and runs it. Item names come from anybody's file, so such texts
get an apostrophe in front (``'=cmd()``), which spreadsheets take as "this is text". Numbers
and lavaan's operators stay as they are. JSON, lavaan and saved files hold names unchanged.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from dtstat import checks
from dtstat.errors import InputError
from dtstat.version import __version__

_OPERATORS = ("=~", "==")  # of lavaan, in columns of operators; they compute nothing
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def check_writable(*files: Path | None) -> None:
    """Refuse, before any work is done, files that cannot be written."""
    for file in files:
        if file is not None:
            checks.writable(file)


def write_csv(frame: pd.DataFrame, file: Path) -> None:
    """Write a table whose texts no spreadsheet takes for formulas."""
    safe = frame.rename(columns=lambda name: _no_formula(str(name)))
    for k, kind in enumerate(safe.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            safe.isetitem(k, [_no_formula(cell) for cell in safe.iloc[:, k].tolist()])
    write_text(file, safe.to_csv(index=False))


def write_text(file: Path, text: str) -> None:
    """Write a text; what cannot be written ends with a sentence."""
    try:
        file.write_text(text, encoding="utf-8", errors="replace", newline="")
    except OSError as error:
        raise InputError(f"Cannot write '{file}': {error.strerror or error}.", "path") from None


def _no_formula(cell: object) -> object:
    """Put an apostrophe before what a spreadsheet would compute."""
    if not isinstance(cell, str) or cell in _OPERATORS or not cell.startswith(_FORMULA):
        return cell
    return f"'{cell}"


def write_json(file: Path, call: Mapping[str, object], content: Mapping[str, object]) -> None:
    """Write results below the version of dtstat and what was asked for."""
    document = {"dtstat": __version__, "call": call, **content}
    write_text(file, json.dumps(document, indent=1, allow_nan=False))


def plain(value: object) -> object:
    """Value that JSON knows: numbers that do not exist are null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
