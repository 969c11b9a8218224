"""What was asked of ``dtstat.fit``, and what the data were."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dtstat.results.serialize import register


@register
@dataclass(frozen=True)
class FitCall:
    """What was asked for; the arguments of :func:`dtstat.fit`, and the version that answered."""

    measure: str
    search: str
    thresholds: str
    estimator: str
    criterion: str
    min_children: int
    uncovered: str
    refine: bool
    missing: str
    misfit: str
    seed: int | None
    version: str
    preset: str | None = None
    finalists: int | None = None

    def asked(self) -> dict[str, Any]:
        """Return the arguments by name, without the version."""
        return {name: value for name, value in asdict(self).items() if name != "version"}


@register
@dataclass(frozen=True)
class SampleFacts:
    """What the data were.

    Attributes
    ----------
    n_given, n_used, n_complete
        Rows given and used, and complete rows.
    kinds
        Number of items by kind.
    n_tied
        Items to which two people gave the same answer; None in files that do not say.
    """

    n_given: int
    n_used: int
    n_complete: int
    kinds: dict[str, int]
    n_tied: int | None = None
