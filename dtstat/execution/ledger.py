"""A ledger of finished work: a file of JSON lines that survives a kill.

The first line says what the work is; every other line is one finished piece. Lines are only ever
added, each in one write that is on the disk before the piece counts as finished, so a process
that dies leaves at most a last line cut short.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import stat
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy

from dtstat.errors import DataWarning, InputError, warn
from dtstat.execution.ledger_lines import (
    MADE_WITH,
    Record,
    check_same_work,
    parse_records,
    whole_lines,
)
from dtstat.version import __version__

FORMAT = 1


class Ledger:
    """Finished pieces of long work, in a file or, without one, in memory alone.

    One process at a time may write to a file.

    Parameters
    ----------
    path
        The file; None for no file.
    first_line
        The line that says what the work is.
    finished
        Pieces that are in the file already.
    length
        Bytes of the file; with the first piece goes the first line.
    argument
        What callers call the file.
    """

    def __init__(
        self,
        path: Path | None,
        first_line: bytes,
        finished: list[Record],
        length: int = 0,
        argument: str = "out",
    ) -> None:
        self._path, self._first_line = path, first_line
        self._finished, self._length = finished, length
        self._argument = argument

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None,
        header: Mapping[str, object],
        argument: str = "out",
    ) -> Ledger:
        """Read what is finished; a new file is created with its first piece.

        Parameters
        ----------
        path
            File to go on with or to begin; None for no file.
        header
            Name of the work and all arguments that its pieces depend on. Version and format are
            added, and the versions of Python, numpy and scipy, with which a ledger may be gone on
            with whatever they are.
        argument
            What the caller's argument is called, for messages.

        Raises
        ------
        InputError
            If the file cannot be used, is no ledger, or is that of other work.

        Warns
        -----
        DataWarning
            If its end is damaged; it is removed.
        """
        first_line = _line(
            {**header, "dtstat": __version__, "format": FORMAT, MADE_WITH: _versions()}
        )
        if path is None:
            return cls(None, first_line, [])
        file = Path(path)
        content = _read(file, argument)
        check_same_work(file, content, first_line, argument)
        whole = whole_lines(content)
        records = parse_records(file, content[:whole], argument)
        if whole < len(content):
            _cut(file, whole, argument)
        return cls(file, first_line, records[1:], whole, argument)

    @property
    def finished(self) -> tuple[Record, ...]:
        """Finished pieces, in the order they were finished."""
        return tuple(self._finished)

    def append(self, record: Mapping[str, object]) -> None:
        """Add a finished piece, which is on the disk when this returns."""
        line = _line(record)
        if self._path is not None:
            lines = line if self._length else self._first_line + line
            self._length = _add(self._path, lines, self._length, self._argument)
        self._finished.append(json.loads(line))


def _versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def _line(record: Mapping[str, object]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _read(file: Path, argument: str) -> bytes:
    """Return what the file holds; refuse, before any work is done, one that cannot be written."""
    if "\0" in os.fspath(file):
        raise InputError(f"Cannot write '{file}': it has a null byte in its name.", argument)
    if not file.parent.is_dir():
        raise InputError(f"Cannot write '{file}': there is no folder '{file.parent}'.", argument)
    try:
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if file.exists() and not stat.S_ISREG(file.stat().st_mode):
            raise InputError(f"Cannot write '{file}': it is no plain file. Name another.", argument)
        return file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise _unusable("read", file, error, "Name another file.", argument) from None


def _cut(file: Path, length: int, argument: str) -> None:
    """Remove the end, which was being written when its process or the machine died."""
    try:
        os.truncate(file, length)
    except OSError as error:
        advice = "Fix its permissions, or name another file."
        raise _unusable("write", file, error, advice, argument) from None
    warn(
        f"The end of the ledger '{file}' was cut short or damaged, and is removed: the process "
        "that wrote it was ended. What it recorded is done again.",
        DataWarning,
        stacklevel=4,
    )


def _add(file: Path, lines: bytes, expected: int, argument: str) -> int:
    """Add lines to a file of the expected length, and return its new one."""
    try:
        with file.open("ab") as opened:
            if opened.seek(0, os.SEEK_END) != expected:
                raise InputError(
                    f"The ledger '{file}' was changed by another process while this one worked. "
                    "Let one of them write to it; the same call then goes on from there.",
                    argument,
                )
            opened.write(lines)
            opened.flush()
            os.fsync(opened.fileno())
        if not expected:
            _sync_folder(file.parent)
        return expected + len(lines)
    except OSError as error:
        advice = "What is finished is kept; mend that, then repeat the call."
        raise _unusable("write", file, error, advice, argument) from None


def _sync_folder(folder: Path) -> None:
    """Write down that there is a new file in the folder, where that can be done."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _unusable(do: str, file: Path, error: OSError, advice: str, argument: str) -> InputError:
    why = error.strerror or error
    return InputError(f"Cannot {do} the ledger '{file}': {why}. {advice}", argument)
