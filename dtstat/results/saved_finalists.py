"""Structures with curves as lines of a checkpoint."""

from __future__ import annotations

import base64
from typing import Any

from dtstat.errors import EstimationError, InputError
from dtstat.estimation.nonlinear.estimate import NonlinearEstimate
from dtstat.estimation.nonlinear.likelihood import LogLikelihood
from dtstat.execution.ledger import Ledger
from dtstat.execution.saved import Saved
from dtstat.results.serialize import from_bytes, register, to_bytes
from dtstat.selection.evaluate import Proposal
from dtstat.selection.finalists import Finalist, Tried

for _part in (LogLikelihood, NonlinearEstimate, Proposal, Finalist):
    register(_part)


def saved_finalists(ledger: Ledger) -> Saved[Tried]:
    """Return what keeps structures fitted with curves, and why others could not be."""
    return Saved(ledger, "structure", _encode, _decode)


def _encode(tried: Tried) -> Any:
    if isinstance(tried, Exception):
        about = getattr(tried, "argument", None)
        return {"error": type(tried).__name__, "text": str(tried), "argument": about}
    return {"fitted": base64.b64encode(to_bytes(tried)).decode()}


def _decode(written: Any) -> Tried:
    if "error" in written:
        if written["error"] == InputError.__name__:
            return InputError(written["text"], written["argument"])
        return EstimationError(written["text"])
    finalist: Finalist = from_bytes(base64.b64decode(written["fitted"]), "checkpoint")
    return finalist
