"""Progress of long work, reported to whoever asked for it.

``progress`` is, everywhere in dtstat, one of: None or False (silence), True (a bar on standard
error), or a function ``(done, total)`` that is called from the caller's own thread. The core
never prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, TypeVar

T = TypeVar("T")
ProgressCallback = Callable[[int, int], Any]
Progress = bool | ProgressCallback | None


def track(
    work: Iterable[T], progress: Progress, label: str, total: int | None = None
) -> Iterator[T]:
    """Yield from ``work`` and report after each piece is done."""
    if total is None:
        total = len(work) if isinstance(work, Sized) else 0
    if progress is True:
        from tqdm import tqdm

        yield from tqdm(work, desc=label, total=total, leave=False)
    elif callable(progress):
        for done, piece in enumerate(work, start=1):
            yield piece
            progress(done, total)
    else:
        yield from work
