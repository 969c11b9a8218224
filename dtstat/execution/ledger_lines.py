"""What the lines of a ledger hold, and whether they belong to the work at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dtstat.errors import InputError

Record = dict[str, Any]
_TELLING = 16  # bytes at the beginning of a first line that no other file has
MADE_WITH = "made_with"  # in a first line: what is said of the machinery, and not compared


def check_same_work(file: Path, content: bytes, first_line: bytes, argument: str) -> None:
    """Refuse what is not a ledger, and one that was begun with other arguments."""
    head, newline, _ = content.partition(b"\n")
    # New, or its very first write was cut short; of the seed, which may be a fresh one, nothing is
    # compared then.
    beginning = first_line[:_TELLING]
    if not newline and (head.startswith(beginning) or beginning.startswith(head)):
        return
    old, new = _parsed(head), json.loads(first_line)
    if old is None or "format" not in old:
        raise InputError(
            f"'{file}' is not a checkpoint written by this function. "
            "Name another file; this one was left as it is.",
            argument,
        )
    compared = [key for key in {**old, **new} if key != MADE_WITH]
    differing = [key for key in compared if old.get(key) != new.get(key)]
    if differing:
        said = ", ".join(f"`{k}` was {old.get(k)!r} and is now {new.get(k)!r}" for k in differing)
        raise InputError(
            f"The ledger '{file}' was begun by another call: {said}. Give the same arguments to "
            "go on with it, or name another file.",
            argument,
        )


def whole_lines(content: bytes) -> int:
    """Return how many bytes are whole lines: a line cut short, and what follows, is an end.

    After a power cut the end may also be lines of anything, with no good line behind them.
    """
    length = content.rfind(b"\n") + 1
    while length and _parsed(content[content.rfind(b"\n", 0, length - 1) + 1 : length]) is None:
        length = content.rfind(b"\n", 0, length - 1) + 1
    return length


def parse_records(file: Path, content: bytes, argument: str = "out") -> list[Record]:
    """Read whole lines, the first one too; refuse a line that holds no record."""
    records = []
    for number, line in enumerate(content.splitlines(), start=1):
        record = _parsed(line)
        if record is None:
            raise InputError(
                f"Line {number} of the ledger '{file}' is damaged: it holds {line[:20]!r}. "
                "Remove that line, and what it recorded is done again.",
                argument,
            )
        records.append(record)
    return records


def _parsed(line: bytes) -> Record | None:
    """Return the record that a line holds, None if it holds none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
