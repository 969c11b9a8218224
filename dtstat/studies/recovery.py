"""One data set of known structure: how well it is recovered, in either simulation of the paper.

The first simulation (:func:`recover`) takes the structure of the path that is most accurate (the
oracle) and the one that ``fit`` chooses from it. The second (:func:`recover_cell`) has conditions,
:class:`Cell`, and one search at a time.
"""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from dtstat.core.checkpoints import Record
from dtstat.core.checks import seed_number
from dtstat.core.errors import EstimationError
from dtstat.fit.api import fit
from dtstat.path.solution_path import solution_path
from dtstat.simulation.generate import simulate
from dtstat.structure.compare import compare
from dtstat.structure.structure import Structure

MEASURE = "spearman"
SELECTIONS = ("oracle", "likelihood")
SCORES = ("f1", "hamming")
READINGS = ("own", "shared")
NO_READING = "none"  # where all factors have unique children
# Search → arguments of fit; None for the oracle, which takes the best of the path.
SEARCHES: dict[str, dict[str, Any] | None] = {
    "oracle": None,
    "plain": {},
    "sequential": {"search": "sequential"},
}


@dataclass(frozen=True)
class RecoveryCall:
    """Everything the outcome for a data set depends on, besides its design and number.

    Attributes
    ----------
    n
        Rows of a data set.
    seed
        Whole number that all data sets derive from.
    thresholds, min_children
        Grid of the path, and fewest items of a factor.
    estimator, criterion
        What chooses from the path; None if ``preset`` says so.
    preset
        Preset of :func:`dtstat.fit` that chooses instead; None for none.
    """

    n: int
    seed: int
    thresholds: int
    min_children: int
    estimator: str | None
    criterion: str | None
    preset: str | None

    def fit_arguments(self) -> dict[str, Any]:
        """Arguments of :func:`dtstat.fit` other than data and seed."""
        if self.preset is not None:
            return {"preset": self.preset}
        return {
            "measure": MEASURE,
            "search": "threshold",
            "thresholds": self.thresholds,
            "estimator": self.estimator,
            "criterion": self.criterion,
            "min_children": self.min_children,
            "uncovered": "report",  # a structure of the path as it is, nothing attached
        }


def recover(call: RecoveryCall, design: str, replicate: int) -> Record:
    """Draw data set ``replicate`` of a design; compare both selections with the truth.

    Returns
    -------
    dict
        Seeds of the data and of the choice, and for "oracle" and "likelihood" each n_factors, f1,
        hamming, seconds and warnings.
    """
    load_code()
    data_seed, fit_seed = child_seeds(call.seed, design, replicate)
    drawn = simulate(design, n=call.n, seed=data_seed)
    data, truth = drawn.data, drawn.structure

    def likelihood() -> Structure:
        return fit(data, seed=fit_seed, **call.fit_arguments()).structure

    try:
        return {
            "seed": data_seed,
            "fit_seed": fit_seed,
            "oracle": outcome(lambda: oracle(data, truth, call), truth),
            "likelihood": outcome(likelihood, truth),
        }
    except EstimationError as error:
        where = f"Data set {replicate} of '{design}' (seed {data_seed})"
        raise EstimationError(f"{where} cannot be fitted. {error}") from None


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


class PathCall(Protocol):
    """What the oracle's path depends on."""

    @property
    def thresholds(self) -> int:
        """Number of thresholds, spaced evenly on [0, 1]."""

    @property
    def min_children(self) -> int:
        """Fewest items of a factor."""


def child_seeds(seed: int, design: str, replicate: int) -> tuple[int, int]:
    """Return the seeds of a data set and of the choice; no other data set has a part in them."""
    own = (zlib.crc32(design.encode()), replicate)
    draw, choose = np.random.SeedSequence(seed, spawn_key=own).spawn(2)
    return seed_number(draw), seed_number(choose)


def oracle(data: pd.DataFrame, truth: Structure, call: PathCall) -> Structure:
    """Return the structure of the path that is most accurate (F₁; of equals the least distance)."""
    path = solution_path(data, MEASURE, call.thresholds, call.min_children)
    # The grid ends at 1, where nothing is joined; the path lists structures with factors only.
    structures = [path.at(1.0), *(candidate.structure for candidate in path.candidates)]

    def accuracy(structure: Structure) -> tuple[float, int]:
        agreement = compare(structure, truth)
        return agreement.f1, -agreement.hamming

    return max(structures, key=accuracy)


@cache
def load_code() -> None:
    """Load modules and compiled code, once per process, so that no data set is timed with it."""
    path = solution_path(np.random.default_rng(1).random((20, 3)), MEASURE)
    compare(path.at(0.0), path.at(1.0))


def outcome(
    choose: Callable[[], Structure], truth: Structure, scores: Sequence[str] = SCORES
) -> Record:
    """Time a choice, keep its warnings, and compare it with the truth.

    Returns
    -------
    dict
        n_factors, the ``scores`` of :class:`dtstat.Comparison`, seconds and warnings.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        chosen = choose()
        seconds = time.perf_counter() - start
    agreement = compare(chosen, truth)
    return {
        "n_factors": agreement.n_factors[0],
        **{name: getattr(agreement, name) for name in scores},
        "seconds": round(seconds, 4),
        "warnings": [str(warning.message) for warning in caught],
    }
