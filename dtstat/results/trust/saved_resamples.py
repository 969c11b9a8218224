"""What came out of resamples as lines of a checkpoint."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dtstat.arrays import BoolArray, FloatArray
from dtstat.execution.ledger import Ledger
from dtstat.execution.saved import Saved


def saved_structures(ledger: Ledger, part: int, p: int) -> Saved[BoolArray | None]:
    """Return what keeps the structures of p items, of one part of the resamples: one size."""
    return Saved(ledger, f"resample of part {part}", _encode, partial(_decode, p))


def saved_numbers(ledger: Ledger, count: int) -> Saved[FloatArray | None]:
    """Return what keeps so many numbers for each resample."""

    def encode(numbers: FloatArray | None) -> list[float] | None:
        return None if numbers is None else numbers.tolist()

    def decode(written: Any) -> FloatArray | None:
        return None if written is None else np.array(written, dtype=float).reshape(count)

    return Saved(ledger, "resample", encode, decode)


def _encode(support: BoolArray | None) -> Any:
    """Write the numbers of the items of each factor; None if there was no structure."""
    if support is None:
        return None
    return {"items": len(support), "factors": [np.flatnonzero(f).tolist() for f in support.T]}


def _decode(p: int, written: Any) -> BoolArray | None:
    if written is None:
        return None
    if written["items"] != p:
        raise ValueError(f"it has {written['items']} items, not {p}")
    support = np.zeros((p, len(written["factors"])), dtype=bool)
    for k, items in enumerate(written["factors"]):
        support[items, k] = True
    return support
