"""Checkpoints: outcomes of long work, kept as they come, so that nothing is done twice.

They are kept in a *ledger*, a file of JSON lines that survives a kill. The first line says what the
work is; every other line is one finished piece. Lines are only ever added, each in one write that
is on the disk before the piece counts as finished, so a process that dies leaves at most a last
line cut short. A ledger that was begun with other arguments is refused.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import scipy

from dtstat.core import checks
from dtstat.core.about import __version__
from dtstat.core.errors import DataWarning, InputError, shown, warn
from dtstat.core.parallel import Jobs, Outcomes, run

T = TypeVar("T")
U = TypeVar("U")
Key = str | int
Record = dict[str, Any]
CheckpointFile = str | os.PathLike[str] | None

ARGUMENT = "checkpoint"
FORMAT = 1
MADE_WITH = "made_with"  # in a first line: versions of other software, which are not compared
_TELLING = 16  # bytes at the beginning of a first line that no other file has
_LONGEST_HEADER = 100_000  # bytes


@dataclass(frozen=True)
class Resumable(Generic[U]):
    """Work that goes on where a ledger says that it ended.

    Attributes
    ----------
    ledger
        Where outcomes are kept; it may hold those of other kinds of work too.
    kind
        What the pieces are called in it.
    encode, decode
        From an outcome to what JSON can hold, and back.
    """

    ledger: Ledger
    kind: str
    encode: Callable[[U], Any]
    decode: Callable[[Any], U]

    def run(
        self,
        work: Callable[[T], U],
        pieces: Sequence[T],
        keys: Sequence[Key],
        n_jobs: Jobs = None,
        *,
        threads: bool = False,
    ) -> Outcomes[U]:
        """Yield outcomes as :func:`dtstat.core.parallel.run` does, those in the ledger first.

        ``keys`` name the pieces in the ledger; an outcome is there before it is yielded.
        """
        done = self._finished()
        for k, key in enumerate(keys):
            if key in done:
                yield k, self._decode(done[key])
        missing = [k for k, key in enumerate(keys) if key not in done]
        for place, outcome in run(work, [pieces[k] for k in missing], n_jobs, threads=threads):
            k = missing[place]
            record = {"kind": self.kind, "piece": keys[k], "outcome": self.encode(outcome)}
            self.ledger.append(record)
            yield k, outcome

    def _finished(self) -> dict[Key, Record]:
        """Return the records of this kind by piece."""
        found = [one for one in self.ledger.finished if one.get("kind") == self.kind]
        if not all(isinstance(one.get("piece"), str | int) for one in found):
            raise InputError(
                f"A {self.kind} of the checkpoint has no name that could be read. Delete that "
                "line; it will be recomputed.",
                ARGUMENT,
            )
        return {one["piece"]: one for one in found}

    def _decode(self, record: Record) -> U:
        try:
            return self.decode(record["outcome"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(
                f"The {self.kind} '{record.get('piece')}' of the checkpoint cannot be read "
                f"({error}). Delete that line; it will be recomputed.",
                ARGUMENT,
            ) from None


def open_checkpoint(path: CheckpointFile, header: Mapping[str, Any]) -> Ledger | None:
    """Open the file that a call goes on with; None if it has none."""
    if path is None:
        return None
    return Ledger.open(_check_path(path), json.loads(json.dumps(header)), ARGUMENT)


def checkpoint_seed(path: CheckpointFile) -> int | None:
    """Return the seed of the call that began a file, None if there is no such file."""
    if path is None:
        return None
    file = _check_path(path)
    try:
        if not file.is_file():
            return None
        with file.open("rb") as opened:
            header = json.loads(opened.readline(_LONGEST_HEADER))
    except (OSError, ValueError, RecursionError):  # new, or refused with a reason when opened
        return None
    seed = header.get("seed") if isinstance(header, dict) else None
    return seed if isinstance(seed, int) else None


def _check_path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise checks.refusal(ARGUMENT, "the name of a file", path, 'Such as "run.jsonl".')
    return Path(path)


def digest(parts: Iterable[np.ndarray[Any, Any] | str]) -> str:
    """Name data by what they hold: 16 hexadecimal digits of SHA-256."""
    hashed = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            hashed.update(part.encode("utf-8", "surrogatepass") + b"\0")
        else:
            hashed.update(f"{part.dtype.str}{part.shape}".encode())
            hashed.update(np.ascontiguousarray(part).tobytes())
    return hashed.hexdigest()[:16]


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
        Bytes of the file; 0 if it is new, and the first line goes with the first piece.
    argument
        The caller's argument that names the file, for messages.
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
            Name of the work and all arguments that its pieces depend on. The versions of dtstat
            and the format are added, which must agree, and those of Python, numpy and scipy, which
            need not.
        argument
            The caller's argument that names the file, for messages.

        Raises
        ------
        InputError
            If the file cannot be used, is no ledger, or is the ledger of other work.

        Warns
        -----
        DataWarning
            If its end is damaged; it is removed.
        """
        versions = {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        }
        first_line = _to_line(
            {**header, "dtstat": __version__, "format": FORMAT, MADE_WITH: versions}
        )
        if path is None:
            return cls(None, first_line, [])
        file = Path(path)
        content = _read(file, argument)
        _check_same_work(file, content, first_line, argument)
        whole = _count_whole(content)
        records = parse_records(file, content[:whole], argument)
        if whole < len(content):
            _truncate(file, whole, argument)
        return cls(file, first_line, records[1:], whole, argument)

    @property
    def finished(self) -> tuple[Record, ...]:
        """Finished pieces, in the order they were finished."""
        return tuple(self._finished)

    def append(self, record: Mapping[str, object]) -> None:
        """Add a finished piece, which is on the disk when this returns."""
        line = _to_line(record)
        if self._path is not None:
            lines = line if self._length else self._first_line + line
            self._length = _append(self._path, lines, self._length, self._argument)
        self._finished.append(json.loads(line))


def _read(file: Path, argument: str) -> bytes:
    """Return what the file holds; refuse, before any work is done, one that cannot be written."""
    if "\0" in os.fspath(file):
        raise InputError(f"Cannot write '{file}': it has a null byte in its name.", argument)
    try:
        os.fsencode(file)
    except UnicodeEncodeError:
        raise InputError(
            f"Cannot write {shown(str(file))}: its name has an invalid Unicode surrogate. Choose "
            "another name.",
            argument,
        ) from None
    if not file.parent.is_dir():
        raise InputError(f"Cannot write '{file}': there is no folder '{file.parent}'.", argument)
    try:
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if file.exists() and not stat.S_ISREG(file.stat().st_mode):
            raise InputError(
                f"Cannot write '{file}': it is not a regular file. Name another.", argument
            )
        return file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise _unusable("read", file, error, "Name another file.", argument) from None


def _check_same_work(file: Path, content: bytes, first_line: bytes, argument: str) -> None:
    """Refuse what is not a ledger, and one that was begun with other arguments."""
    head, newline, _ = content.partition(b"\n")
    # New, or its very first write was cut short; then nothing is compared.
    beginning = first_line[:_TELLING]
    if not newline and (head.startswith(beginning) or beginning.startswith(head)):
        return
    old, new = _from_line(head), json.loads(first_line)
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
            f"The checkpoint file '{file}' was begun by another call: {said}. Give the same "
            "arguments to go on with it, or name another file.",
            argument,
        )


def _count_whole(content: bytes) -> int:
    """Count the bytes of whole lines, up to the last line that holds a record.

    After a power cut the end of a file may be anything.
    """
    length = content.rfind(b"\n") + 1
    while length and _from_line(content[content.rfind(b"\n", 0, length - 1) + 1 : length]) is None:
        length = content.rfind(b"\n", 0, length - 1) + 1
    return length


def _truncate(file: Path, length: int, argument: str) -> None:
    """Remove the end, which was being written when its process or the machine died."""
    try:
        os.truncate(file, length)
    except OSError as error:
        advice = "Fix its permissions, or name another file."
        raise _unusable("write", file, error, advice, argument) from None
    warn(
        f"The end of the checkpoint file '{file}' was truncated or damaged (the process writing it "
        "was stopped) and has been removed. That part will be recomputed.",
        DataWarning,
        stacklevel=4,
    )


def parse_records(file: Path, content: bytes, argument: str = "out") -> list[Record]:
    """Read whole lines, the first one too; refuse a line that holds no record."""
    records = []
    for number, line in enumerate(content.splitlines(), start=1):
        record = _from_line(line)
        if record is None:
            raise InputError(
                f"Line {number} of the checkpoint file '{file}' is damaged: it holds "
                f"{line[:20]!r}. Delete that line; it will be recomputed.",
                argument,
            )
        records.append(record)
    return records


def _append(file: Path, lines: bytes, expected: int, argument: str) -> int:
    """Add lines to a file of the expected length, and return its new one."""
    new = not file.exists()
    try:
        with file.open("ab", buffering=0) as opened:
            if opened.seek(0, os.SEEK_END) != expected:
                raise InputError(
                    f"The checkpoint file '{file}' was changed by another process while this one "
                    "worked. Let one of them write to it; the same call then goes on from there.",
                    argument,
                )
            try:
                if opened.write(lines) < len(lines):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(opened.fileno())
            except (OSError, KeyboardInterrupt):  # a full disk, or Ctrl-C
                opened.truncate(expected)
                raise
        if not expected and os.name == "posix":
            _sync_folder(file.parent)
        return expected + len(lines)
    except (OSError, KeyboardInterrupt) as error:
        if new:
            file.unlink(missing_ok=True)
        if isinstance(error, KeyboardInterrupt):
            raise
        advice = "What is finished is kept. Make room or fix its permissions, then repeat the call."
        raise _unusable("write", file, error, advice, argument) from None


def _sync_folder(folder: Path) -> None:
    """Make sure that the disk knows of a new file in the folder."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _to_line(record: Mapping[str, object]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _from_line(line: bytes) -> Record | None:
    """Return the record that a line holds, None if it holds none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _unusable(do: str, file: Path, error: OSError, advice: str, argument: str) -> InputError:
    why = error.strerror or error
    return InputError(f"Cannot {do} the checkpoint file '{file}': {why}. {advice}", argument)
