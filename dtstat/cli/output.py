"""What commands write to files.

Csv files are often opened in a spreadsheet, which takes a text that begins with =, +, -, @, a tab
or a carriage return for a formula and runs it. Item names come from anybody's file, so such texts
get an apostrophe in front (``'=cmd()``), which spreadsheets take as "this is text". Numbers
and lavaan's operators stay as they are. JSON, lavaan and saved files hold names unchanged.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from dtstat import checks
from dtstat.errors import InputError
from dtstat.files import FileKind, check_ending, write
from dtstat.version import __version__

_OPERATORS = ("=~", "==")  # of lavaan, in columns of operators; they compute nothing
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


CSV = FileKind("a table of comma-separated values", (".csv", ".txt"))
JSON = FileKind("JSON", (".json", ".txt"))
LAVAAN = FileKind("a model in lavaan's syntax", (".lav", ".txt", ".r"))
PAGE = FileKind("an HTML page", (".html", ".htm"))
SAVED = FileKind("a saved result", (".dtstat", ".zip"))
_KINDS = {
    **dict.fromkeys(("--csv", "--candidates", "--scores", "--curves", "OUT"), CSV),
    "--json": JSON,
    "--lavaan": LAVAAN,
    "--output": PAGE,
    "--save": SAVED,
}


def check_outputs(
    outputs: Mapping[str, Path | None],
    force: bool,
    inputs: Iterable[str | None] = (),
    resumed: Mapping[str, Path | None] | None = None,
) -> None:
    """Refuse, before any work is done, files that cannot or must not be written.

    No file that is read is written, and no file is written twice, whatever ``force`` says; any
    other file that exists is written only with it. Files are the same if the system says so,
    under whatever name.

    Parameters
    ----------
    outputs
        Files to write, by option; None for those that are not wanted.
    force
        Whether files that exist may be replaced.
    inputs
        What is read, if it is a file.
    resumed
        Files that are added to, which check for themselves that they are theirs.
    """
    wanted = {option: file for option, file in outputs.items() if file is not None}
    added = {option: file for option, file in (resumed or {}).items() if file is not None}
    for option, file in (wanted | added).items():
        checks.writable(file)
        if option in _KINDS:
            check_ending(file, _KINDS[option])
        for read in inputs:
            if read is not None and _same(file, Path(read)):
                raise InputError(f"{option} must not be a file that is read; got '{file}'.")
    for (option, file), (other, second) in itertools.combinations((wanted | added).items(), 2):
        if _same(file, second):
            raise InputError(f"{option} and {other} must be two files; got '{file}' for both.")
    for option, file in wanted.items():
        if file.is_file() and not force:
            raise InputError(f"{option}: '{file}' exists. Give --force to replace it.")


def _same(one: Path, other: Path) -> bool:
    """Whether two names are those of one file, now or when it is written."""
    try:
        if one.exists() and other.exists():
            return one.samefile(other)
        return one.resolve() == other.resolve()
    except (OSError, ValueError, RuntimeError):  # an input that is a text, or a loop of links
        return False


def write_csv(frame: pd.DataFrame, file: Path) -> None:
    """Write a table whose texts no spreadsheet takes for formulas."""
    safe = frame.rename(columns=lambda name: _no_formula(str(name)))
    for k, kind in enumerate(safe.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            safe.isetitem(k, [_no_formula(cell) for cell in safe.iloc[:, k].tolist()])
    write_text(file, safe.to_csv(index=False))


def write_text(file: Path, text: str) -> None:
    """Write a text, whole or not at all; what cannot be written ends with a sentence."""
    write(file, text.encode("utf-8", errors="replace"))


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
