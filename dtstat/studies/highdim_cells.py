"""The second simulation: its conditions, and one data set of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dtstat.core.checkpoints import Record
from dtstat.core.errors import EstimationError
from dtstat.fit.api import fit
from dtstat.simulation.generate import simulate
from dtstat.studies.recovery import SCORES, child_seeds, load_code, oracle, outcome

READINGS = ("own", "shared")
NO_READING = "none"  # where all factors have unique children
# Search → arguments of fit; None for the oracle, which takes the best of the path.
SEARCHES: dict[str, dict[str, Any] | None] = {
    "oracle": None,
    "plain": {},
    "sequential": {"search": "sequential"},
}


class Cell(NamedTuple):
    """A condition.

    Attributes
    ----------
    n
        Rows of a data set; it has 1.5 n items of 0.1 n factors.
    phi
        Correlation of every two factors.
    share
        Share of the factors without unique children.
    reading
        What second parents their children have: "own", "shared", or "none" if ``share`` is 0.
    """

    n: int
    phi: float
    share: float
    reading: str

    @property
    def name(self) -> str:
        """The condition in a few letters, such as "phi 0.25" or "share 0.2 own"."""
        return f"share {self.share:g} {self.reading}" if self.share else f"phi {self.phi:g}"

    @property
    def key(self) -> str:
        """What the seeds of its data sets derive from."""
        return "high_dimensional," + ",".join(f"{part}" for part in self)


class Task(NamedTuple):
    """A data set and what searches it: the names of a record's first fields."""

    n: int
    phi: float
    share: float
    reading: str
    replicate: int
    search: str

    @property
    def cell(self) -> Cell:
        """The condition of the data set."""
        return Cell(self.n, self.phi, self.share, self.reading)


@dataclass(frozen=True)
class HighDimCall:
    """Everything an outcome depends on, besides condition, number of the data set and search.

    Attributes
    ----------
    seed
        Whole number that all data sets derive from.
    thresholds, min_children
        Grid of the oracle's path, and fewest items of its factors.
    """

    seed: int
    thresholds: int = 50
    min_children: int = 2


def conditions(
    sizes: Sequence[int], phis: Sequence[float], shares: Sequence[float], readings: Sequence[str]
) -> list[Cell]:
    """List the conditions, small sizes first; a share of 0 is the condition with φ = 0."""
    levels = [(phi, 0.0, NO_READING) for phi in phis]
    for share in shares:
        names = readings if share else (NO_READING,)
        levels += [(0.0, share, reading) for reading in names]
    return [Cell(n, *level) for n in sorted(sizes) for level in dict.fromkeys(levels)]


def recover_cell(
    call: HighDimCall, n: int, phi: float, share: float, reading: str, replicate: int, search: str
) -> Record:
    """Draw data set ``replicate`` of a condition, search it, and compare with the truth.

    Returns
    -------
    dict
        Seeds of the data and of the choice, d (true number of factors), n_factors, f1, hamming,
        precision, recall, seconds and warnings.
    """
    load_code()
    cell = Cell(n, phi, share, reading)
    data_seed, fit_seed = child_seeds(call.seed, cell.key, replicate)
    drawn = simulate(
        "high_dimensional",
        n=n,
        factor_correlation=phi,
        violating=share,
        second_parent=reading if share else READINGS[0],
        seed=data_seed,
    )
    truth, arguments = drawn.structure, SEARCHES[search]
    scores = (*SCORES, "precision", "recall")
    head = {"seed": data_seed, "fit_seed": fit_seed, "d": truth.n_factors}
    if arguments is None:
        return head | outcome(lambda: oracle(drawn.data, truth, call), truth, scores)
    try:
        return head | outcome(
            lambda: fit(drawn.data, seed=fit_seed, **arguments).structure, truth, scores
        )
    except EstimationError as error:
        where = f"Data set {replicate} of n = {n}, {cell.name} (seed {data_seed})"
        raise EstimationError(f"{where} cannot be fitted ({search}). {error}") from None
