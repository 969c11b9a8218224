"""Work on resamples of the rows: side by side, repeatable, and not lost when interrupted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np

from dtstat.arrays import IntArray
from dtstat.errors import EstimationError, InputError
from dtstat.execution.parallel import Jobs, run
from dtstat.execution.saved import Saved
from dtstat.progress import Progress, track

T = TypeVar("T")
RowWork = Callable[[IntArray, int], T]
Scheme = Literal["bootstrap", "subsample"]

SCHEMES = ("bootstrap", "subsample")


@dataclass(frozen=True, eq=False)
class Resamples(Generic[T]):
    """What came out of resamples.

    Attributes
    ----------
    outcomes
        One a resample that could be worked on, in the order of the resamples.
    n_rows
        Rows of a resample.
    n_asked
        Resamples that were asked for.
    n_failed
        Resamples that could not be worked on, for an item did not vary in them.
    """

    outcomes: tuple[T, ...]
    n_rows: int
    n_asked: int
    n_failed: int

    @property
    def interrupted(self) -> bool:
        """Whether the work was stopped before all resamples were done."""
        return len(self.outcomes) + self.n_failed < self.n_asked


def resample(
    work: RowWork[T],
    n_rows: int,
    n_resamples: int,
    seed: int,
    scheme: Scheme = "bootstrap",
    size: int | None = None,
    n_jobs: Jobs = None,
    progress: Progress = None,
    saved: Saved[T | None] | None = None,
) -> Resamples[T]:
    """Do some work on resamples of the rows.

    Interrupted from the keyboard, it returns what is done, if anything is.

    Parameters
    ----------
    work
        Function of the numbers of the rows, and a seed.
    n_rows
        Rows to draw from.
    n_resamples
        How many.
    seed
        Each resample has a stream of its own: the result does not depend on ``n_jobs``.
    scheme, size
        "bootstrap" draws ``size`` rows with, "subsample" without putting them back.
    n_jobs, progress
        Workers, and progress.
    saved
        Where outcomes are kept as they come, None (no outcome) too; None for nowhere.
    """
    take = n_rows if size is None else size
    attempt = _Attempt(work, _Draws(n_rows, take, scheme == "bootstrap", seed))
    numbers = range(n_resamples)
    if saved is None:
        results = run(attempt, numbers, n_jobs, fine=True)
    else:
        results = saved.run(attempt, numbers, numbers, n_jobs)
    done: dict[int, T | None] = {}
    try:
        for k, outcome in track(results, progress, "resampling", total=n_resamples):
            done[k] = outcome
    except KeyboardInterrupt:
        results.close()
        if not done:
            raise
    found = [done[k] for k in sorted(done)]
    outcomes = tuple(outcome for outcome in found if outcome is not None)
    return Resamples(outcomes, take, n_resamples, len(found) - len(outcomes))


@dataclass(frozen=True)
class _Draws:
    """Which rows each resample has."""

    n_rows: int
    size: int
    replace: bool
    seed: int

    def of(self, k: int) -> tuple[IntArray, int]:
        """Rows of resample k, and a seed for what is done with them."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(k,)))
        rows: IntArray = rng.choice(self.n_rows, self.size, replace=self.replace)
        return rows, int(rng.integers(2**53))


@dataclass(frozen=True)
class _Attempt(Generic[T]):
    """Work on the resample of a number; None if an item does not vary in its rows."""

    work: RowWork[T]
    draws: _Draws

    def __call__(self, k: int) -> T | None:
        try:
            return self.work(*self.draws.of(k))
        except (InputError, EstimationError):
            return None
