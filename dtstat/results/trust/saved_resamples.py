"""What came out of resamples as lines of a checkpoint."""

from __future__ import annotations

from typing import Any

import numpy as np

from dtstat.arrays import BoolArray, FloatArray
from dtstat.execution.ledger import Ledger
from dtstat.execution.saved import Saved


def saved_structures(ledger: Ledger, part: int) -> Saved[BoolArray | None]:
    """Return what keeps the structures of one part of the resamples: one size of them."""
    return Saved(ledger, f"resample of part {part}", _encode, _decode)


def saved_numbers(ledger: Ledger) -> Saved[FloatArray | None]:
    """Return what keeps a row of numbers for each resample."""
    return Saved(
        ledger,
        "resample",
        lambda numbers: None if numbers is None else numbers.tolist(),
        lambda written: None if written is None else np.array(written, dtype=float),
    )


def _encode(support: BoolArray | None) -> Any:
    """Write the numbers of the items of each factor; None if there was no structure."""
    if support is None:
        return None
    return {"items": len(support), "factors": [np.flatnonzero(f).tolist() for f in support.T]}


def _decode(written: Any) -> BoolArray | None:
    if written is None:
        return None
    support = np.zeros((written["items"], len(written["factors"])), dtype=bool)
    for k, items in enumerate(written["factors"]):
        support[items, k] = True
    return support
