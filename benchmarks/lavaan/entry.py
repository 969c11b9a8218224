"""One model of the catalog, and what both programs are asked to do with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Arguments that lavaan spells otherwise; all others only trade their underscores for dots.
SPELLED = {"mean_structure": "meanstructure"}
MISSING = {"fiml": "ml", "fiml.x": "ml.x"}


@dataclass(frozen=True)
class Entry:
    """A model, its data, and arguments under dtstat's names.

    Attributes
    ----------
    feature
        Part of the catalog.
    name
        Unique name.
    data
        Name of a data set of ``data.R``.
    model
        Model text, the same for both.
    function
        "cfa", "sem" or "growth".
    args
        Keyword arguments of dtstat's function; :attr:`lavaan_args` translates them.
    moments
        "" for rows; "cov" hands over covariances and the number of rows, "means" means besides.
    """

    feature: str
    name: str
    data: str
    model: str
    function: str = "sem"
    args: dict[str, Any] = field(default_factory=dict)
    moments: str = ""

    @property
    def lavaan_args(self) -> dict[str, Any]:
        """The arguments as lavaan calls them."""
        found = {SPELLED.get(k, k.replace("_", ".")): v for k, v in self.args.items()}
        if "estimator" in found:
            found["estimator"] = found["estimator"].upper()
        if "missing" in found:
            found["missing"] = MISSING.get(found["missing"], found["missing"])
        return found


class Feature:
    """Collects the entries of one part of the catalog."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: list[Entry] = []

    def add(
        self, name: str, data: str, model: str, function: str = "sem", moments: str = "",
        **args: Any,
    ) -> None:  # fmt: skip
        """Add a model; ``args`` are those of dtstat's function."""
        self.entries.append(Entry(self.name, name, data, model, function, args, moments))
