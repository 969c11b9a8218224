"""Checkpoints: outcomes of long work, kept in a ledger as they come and not found twice."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from dtstat import checks
from dtstat.errors import InputError
from dtstat.execution.ledger import Ledger
from dtstat.execution.parallel import Jobs, Outcomes, run

T = TypeVar("T")
U = TypeVar("U")
Key = str | int
CheckpointFile = str | os.PathLike[str] | None

ARGUMENT = "checkpoint"
_LONGEST_HEADER = 100_000  # bytes


@dataclass(frozen=True)
class Saved(Generic[U]):
    """Outcomes of one kind in a ledger, which may hold those of other kinds too.

    Attributes
    ----------
    ledger
        Where they are.
    kind
        What the pieces are.
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
        """Yield outcomes as :func:`dtstat.execution.parallel.run` does, those in the ledger first.

        ``keys`` name the pieces in the ledger; an outcome is there before it is yielded.
        """
        done = {one["piece"]: one for one in self._finished()}
        for k, key in enumerate(keys):
            if key in done:
                yield k, self._decoded(done[key])
        missing = [k for k, key in enumerate(keys) if key not in done]
        left = [pieces[k] for k in missing]
        for place, outcome in run(work, left, n_jobs, threads=threads):
            k = missing[place]
            record = {"kind": self.kind, "piece": keys[k], "outcome": self.encode(outcome)}
            self.ledger.append(record)
            yield k, outcome

    def _finished(self) -> Sequence[Mapping[str, Any]]:
        found = [one for one in self.ledger.finished if one.get("kind") == self.kind]
        for one in found:
            if not isinstance(one.get("piece"), str | int):
                raise InputError(
                    f"A {self.kind} of the checkpoint has no name that could be read. Remove its "
                    "line, and it is done again.",
                    ARGUMENT,
                )
        return found

    def _decoded(self, record: Mapping[str, Any]) -> U:
        try:
            return self.decode(record["outcome"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(
                f"The {self.kind} '{record.get('piece')}' of the checkpoint cannot be read "
                f"({error}). Remove its line, and it is done again.",
                ARGUMENT,
            ) from None


def open_checkpoint(path: CheckpointFile, header: Mapping[str, Any]) -> Ledger | None:
    """Open the file that a call goes on with; None if it has none."""
    if path is None:
        return None
    return Ledger.open(_file(path), json.loads(json.dumps(header)), ARGUMENT)


def begun_seed(path: CheckpointFile) -> int | None:
    """Return the seed of the call that began a file, None if there is no such file."""
    if path is None:
        return None
    file = _file(path)
    try:
        if not file.is_file():
            return None
        with file.open("rb") as opened:
            header = json.loads(opened.readline(_LONGEST_HEADER))
    except (OSError, ValueError, RecursionError):  # new, or refused with a reason when opened
        return None
    seed = header.get("seed") if isinstance(header, dict) else None
    return seed if isinstance(seed, int) else None


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


def _file(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise checks.refusal(ARGUMENT, "the name of a file", path, 'Such as "run.jsonl".')
    return Path(path)
