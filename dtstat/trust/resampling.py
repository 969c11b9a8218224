"""Resamples of the rows, and how the structures found in them agree with a reference.

Resamples run in parallel; they are repeatable, kept in a checkpoint, and not lost when interrupted.
Factors have no names, so those of a resample are matched to those of the reference by the
assignment with most items in common; what is left over has no partner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.checkpoints import Ledger, Resumable
from dtstat.core.errors import EstimationError, InputError
from dtstat.core.parallel import Jobs, Progress, run, track
from dtstat.data.frame import rows_by_content
from dtstat.data.items import ItemData
from dtstat.dependence.compute import PairFunction, RowDependence
from dtstat.dependence.measures import REGISTRY

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit

T = TypeVar("T")
RowWork = Callable[[IntArray, int], T]
Scheme = Literal["bootstrap", "subsample"]

SCHEMES = ("bootstrap", "subsample")
_ROUNDING = 1e-8  # the same answers give the same dependence up to this


def row_dependence(items: ItemData, fit: DTFit, measure: str | PairFunction) -> RowDependence:
    """Return the rows of a fit's items, ready to be drawn from."""
    if isinstance(measure, str) and measure not in REGISTRY:
        raise InputError(
            f"The measure of the fit is the function '{measure}', which a fit does not keep, so "
            "rows cannot be drawn again for it. Give `data` and the arguments of fit() instead of "
            "a fit, or for a diagnosis leave out `data`.",
            "fit",
        )
    own = items.select(fit.item_names)
    own = own.take(rows_by_content(own.values))  # so that the order of rows does not matter
    return RowDependence(own, measure, fit.call.missing)


def check_same_data(fit: DTFit, rows: RowDependence) -> None:
    """Refuse rows that do not have the dependence of the fit."""
    here = rows(np.arange(rows.n_rows)).values
    apart = np.abs(here - fit.dependence.values) > _ROUNDING
    if apart.any():
        i, j = np.argwhere(apart)[0]
        a, b = fit.item_names[i], fit.item_names[j]
        raise InputError(
            f"`data` are not the data of the fit: the dependence of '{a}' and '{b}' is "
            f"{fit.dependence.values[i, j]:.4f} in the fit and {here[i, j]:.4f} in `data`. Give "
            "the same rows.",
            "data",
        )


@dataclass(frozen=True, eq=False)
class Resamples(Generic[T]):
    """What came out of resamples.

    Attributes
    ----------
    outcomes
        One per resample that could be used, in the order of the resamples.
    n_rows
        Rows of a resample.
    n_asked
        Resamples that were asked for.
    n_failed
        Resamples that could not be used, because an item did not vary in them.
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
    saved: Resumable[T | None] | None = None,
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
    attempt = _Attempt(work, n_rows, take, scheme == "bootstrap", seed)
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
class _Attempt(Generic[T]):
    """Work on the resample of a number; None if an item does not vary in its rows."""

    work: RowWork[T]
    n_rows: int
    size: int
    replace: bool
    seed: int

    def __call__(self, k: int) -> T | None:
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(k,)))
        rows: IntArray = rng.choice(self.n_rows, self.size, replace=self.replace)
        try:
            return self.work(rows, int(rng.integers(2**53)))
        except (InputError, EstimationError):
            return None


@dataclass(frozen=True, eq=False)
class Agreement:
    """How resamples agree with a reference structure of p items and d factors.

    Attributes
    ----------
    edges
        (p, p) share of resamples in which two items share a factor.
    memberships
        (p, d) share in which an item is in the partner of a factor.
    items
        (p,) share in which an item is in the partners of its factors and nowhere else.
    exact, jaccard
        (d,) share in which a factor comes out exactly, and mean |A ∩ B| / |A ∪ B| with its
        partner (0 without one).
    n_factors
        Number of factors → how many resamples have it.
    f1
        (m,) agreement of each resample with the reference.
    """

    edges: FloatArray
    memberships: FloatArray
    items: FloatArray
    exact: FloatArray
    jaccard: FloatArray
    n_factors: dict[int, int]
    f1: FloatArray


def agreement(
    reference: BoolArray, supports: Sequence[BoolArray], order: IntArray | None = None
) -> Agreement:
    """Compare structures with a reference, factors matched; of equal matches ``order`` decides.

    ``order`` is that of the items in their frame; as they are given if None.
    """
    order = np.arange(len(reference)) if order is None else order
    p, d = reference.shape
    m = len(supports)
    edges, memberships = np.zeros((p, p)), np.zeros((p, d))
    items, exact, jaccard = np.zeros(p), np.zeros(d), np.zeros(d)
    f1 = np.empty(m)
    for s, support in enumerate(supports):
        A = support.astype(np.float32)
        edges += (A @ A.T) > 0
        aligned, unmatched = _match_factors(reference, support, order)
        memberships += aligned
        items += (aligned == reference).all(axis=1) & ~unmatched.any(axis=1)
        exact += (aligned == reference).all(axis=0)
        jaccard += (aligned & reference).sum(axis=0) / (aligned | reference).sum(axis=0)
        hits, total = int((aligned & reference).sum()), int(reference.sum() + support.sum())
        f1[s] = 2 * hits / total if total else 1.0
    counts = Counter(int(support.shape[1]) for support in supports)
    np.fill_diagonal(edges, m)
    return Agreement(
        edges / m,
        memberships / m,
        items / m,
        exact / m,
        jaccard / m,
        dict(sorted(counts.items())),
        f1,
    )


def _match_factors(
    reference: BoolArray, support: BoolArray, order: IntArray
) -> tuple[BoolArray, BoolArray]:
    """Return the partners of the reference's factors, empty where there is none, and the rest."""
    from scipy.optimize import linear_sum_assignment

    overlap = reference.astype(int).T @ support.astype(int)
    union = reference.sum(axis=0)[:, None] + support.sum(axis=0) - overlap
    # Of equal overlaps the one with least else; the shares add up to less than one item.
    preference = overlap + overlap / union / (1 + len(overlap))
    first, second = (np.lexsort(one[order][::-1]) for one in (reference, support))
    mine, theirs = linear_sum_assignment(preference[np.ix_(first, second)], maximize=True)
    mine, theirs = first[mine], second[theirs]
    paired = overlap[mine, theirs] > 0
    aligned = np.zeros_like(reference)
    aligned[:, mine[paired]] = support[:, theirs[paired]]
    return aligned, np.delete(support, theirs[paired], axis=1)


def saved_structures(ledger: Ledger, part: int, p: int) -> Resumable[BoolArray | None]:
    """Return what keeps the structures of p items, of one part of the resamples: one size."""

    def encode(support: BoolArray | None) -> Any:
        if support is None:
            return None
        return {"items": len(support), "factors": [np.flatnonzero(f).tolist() for f in support.T]}

    def decode(written: Any) -> BoolArray | None:
        if written is None:
            return None
        if written["items"] != p:
            raise ValueError(f"it has {written['items']} items, not {p}")
        support = np.zeros((p, len(written["factors"])), dtype=bool)
        for k, items in enumerate(written["factors"]):
            support[items, k] = True
        return support

    return Resumable(ledger, f"resample of part {part}", encode, decode)


def saved_numbers(ledger: Ledger, count: int) -> Resumable[FloatArray | None]:
    """Return what keeps so many numbers for each resample."""

    def encode(numbers: FloatArray | None) -> list[float] | None:
        return None if numbers is None else numbers.tolist()

    def decode(written: Any) -> FloatArray | None:
        return None if written is None else np.array(written, dtype=float).reshape(count)

    return Resumable(ledger, "resample", encode, decode)
