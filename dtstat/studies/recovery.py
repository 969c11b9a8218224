"""One data set of known structure: how well the path, and the choice from it, recover it."""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
import pandas as pd

from dtstat.api import fit, solution_path
from dtstat.errors import EstimationError
from dtstat.execution.ledger_lines import Record
from dtstat.simulation import simulate
from dtstat.simulation.seeds import seed_number
from dtstat.structure import Structure, compare

MEASURE = "spearman"
SELECTIONS = ("oracle", "likelihood")
SCORES = ("f1", "hamming")


class PathCall(Protocol):
    """What the oracle's path depends on."""

    @property
    def thresholds(self) -> int:
        """Number of thresholds, spaced evenly on [0, 1]."""

    @property
    def min_children(self) -> int:
        """Fewest items of a factor."""


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
    """Load modules and compiled code, once a process, so that no data set is timed with it."""
    path = solution_path(np.random.default_rng(1).random((20, 3)), MEASURE)
    compare(path.at(0.0), path.at(1.0))


def outcome(
    choose: Callable[[], Structure], truth: Structure, scores: Sequence[str] = SCORES
) -> Record:
    """Time a choice, keep its warnings, and compare it with the truth.

    Returns
    -------
    dict
        n_factors, the ``scores`` of :class:`~dtstat.structure.Comparison`, seconds and warnings.
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
