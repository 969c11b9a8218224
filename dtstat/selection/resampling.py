"""Work on resamples of the rows: side by side, repeatable, and not lost when interrupted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from dtstat.arrays import IntArray
from dtstat.errors import EstimationError, InputError
from dtstat.progress import Progress, track

T = TypeVar("T")
RowWork = Callable[[IntArray, int], T]
Scheme = Literal["bootstrap", "subsample"]

SCHEMES = ("bootstrap", "subsample")
_CHUNKS_A_WORKER = 8  # enough for progress and for workers to finish together


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
    n_jobs: int = 1,
    progress: Progress = None,
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
        Processes, and progress.
    """
    take = n_rows if size is None else size
    plan = _Draws(n_rows, take, scheme == "bootstrap", seed)
    done: dict[int, T | None] = {}
    results = _results(work, plan, n_resamples, n_jobs)
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


def _results(
    work: RowWork[T], plan: _Draws, count: int, n_jobs: int
) -> Generator[tuple[int, T | None]]:
    """Yield outcomes as they come; linear algebra has one thread, so that sums are the same."""
    if n_jobs == 1:
        with threadpool_limits(1):
            yield from ((k, _attempt(work, *plan.of(k))) for k in range(count))
        return
    chunk = max(1, count // (_CHUNKS_A_WORKER * effective_n_jobs(n_jobs)))
    pool = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    parts = pool(
        delayed(_attempts)(work, plan, range(start, min(start + chunk, count)))
        for start in range(0, count, chunk)
    )
    try:
        for part in parts:
            yield from part
    finally:
        with warnings.catch_warnings():  # joblib tells of tasks that were given up
            warnings.simplefilter("ignore", UserWarning)
            parts.close()


def _attempts(work: RowWork[T], plan: _Draws, which: range) -> list[tuple[int, T | None]]:
    with threadpool_limits(1):
        return [(k, _attempt(work, *plan.of(k))) for k in which]


def _attempt(work: RowWork[T], rows: IntArray, seed: int) -> T | None:
    try:
        return work(rows, seed)
    except (InputError, EstimationError):  # an item does not vary in these rows
        return None
