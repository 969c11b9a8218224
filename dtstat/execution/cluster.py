"""How work travels to the workers of a dask cluster, and outcomes back.

Packed: a cluster would lay arrays down at any address, and sums over an array that begins at an
odd one are made in another order, so that last digits would differ from those of one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cloudpickle  # comes with dask
from joblib import delayed

from dtstat.execution.parallel import Chunk, do


def tasks(work: Callable[[Any], Any], chunks: Sequence[Chunk[Any]], client: Any) -> Iterator[Any]:
    """Make a task of each chunk; every worker gets a copy of the work, once.

    joblib would send the work to one worker, and it would be lost with that worker.
    """
    everywhere = client.scatter(_Packed(work), broadcast=True, hash=False)
    return (delayed(_do)(everywhere, cloudpickle.dumps(chunk)) for chunk in chunks)


def opened(part: bytes) -> list[tuple[int, Any]]:
    """Unpack what came back."""
    outcomes: list[tuple[int, Any]] = cloudpickle.loads(part)
    return outcomes


class _Packed:
    """Work that is packed for every journey, between workers too."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (cloudpickle.dumps(self.work),)


def _unpacked(content: bytes) -> _Packed:
    return _Packed(cloudpickle.loads(content))


def _do(packed: _Packed, chunk: bytes) -> bytes:
    outcomes: bytes = cloudpickle.dumps(do(packed.work, cloudpickle.loads(chunk)))
    return outcomes
