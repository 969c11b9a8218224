"""Sample size by simulation: draw surveys, see whether the structure is found, adjust n.

Four events are looked for (:func:`recovery_events`): one threshold separates all pairs of items,
every factor is seen at a threshold of its own, ``fit`` finds exactly the factors, or ``certify``
certifies all of them. The chance of recovery is taken to rise with log n as a logistic curve.
After a bracket is found by doubling or halving, batches are drawn at the n where the curve, fitted
to all draws so far, reaches the target; since nearly all draws are made there, the curve need only
be right nearby.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import DTError, EstimationError, silenced
from dtstat.core.parallel import Jobs, Progress, run, track
from dtstat.core.saved import register
from dtstat.data.items import ItemData, detect_kind, observed_levels
from dtstat.dependence.compute import RowDependence, dependence_matrix
from dtstat.dependence.measures import BRIDGES
from dtstat.fit.request import FitRequest
from dtstat.search.ranking import by_first_item
from dtstat.structure.margin import margin_values
from dtstat.trust.certify import certifies
from dtstat.trust.stability import StructureFinder
from dtstat.trust.survey import SurveyDesign

Recovers = Callable[[int, np.random.Generator], bool]

CERTIFIED_ERROR = 0.05  # of the certificates that are planned for
# Draws at each n of the bracket, and the factor from one to the next; the same if draws are dear.
_PILOT, _STEP = 20, 2.0
_FEW_PILOT, _SHORT_STEP = 5, 1.5
_MANY_DRAWS = 100
_BATCHES = 8
_CONFIRMATIONS = 3
_NEARBY, _ENOUGH = 1.15, 250  # a factor of n, and draws that outweigh a curve
_TOO_FAR = 2.0  # standard errors that draws may fall short of the curve
# Where all draws so far are at one n, nothing is known of the slope; then it is about this.
_SLOPE, _SLOPE_SD, _LEAST_SLOPE = 6.0, 3.0, 0.5
# Below this the rate would need twenty times the rows from one half to .95: it does not rise.
_FLATTEST = 1.0
_FLAT = 1e-4  # precision of the prior of the intercept: next to nothing
_NEWTON_STEPS, _CLOSE = 100, 1e-8
_FEWEST_ROWS = 10
_LARGEST_LOG = 600.0


def recovery_events(design: SurveyDesign, call: FitRequest) -> dict[str, Recovers]:
    """Return what to simulate, by the names of the targets of a plan."""
    events: dict[str, Recovers] = {
        "graph": _SurveyEvent(partial(_thresholds_separate, False), design, call),
        "factors": _SurveyEvent(partial(_thresholds_separate, True), design, call),
        "fit": _SurveyEvent(_fit_finds, design, call),
    }
    if call.measure in BRIDGES and design.support.sum(axis=0).min() > 1:
        events["certified"] = _SurveyEvent(_all_certified, design, call)
    return events


@dataclass(frozen=True, eq=False)
class _SurveyEvent:
    """Whether a survey of n people shows its structure; False if too few rows to compute it."""

    happens: Callable[[SurveyDesign, FitRequest, int, np.random.Generator], bool]
    design: SurveyDesign
    call: FitRequest

    def __call__(self, n: int, rng: np.random.Generator) -> bool:
        with silenced():
            try:
                return self.happens(self.design, self.call, n, rng)
            except DTError:
                return False


def _drawn(design: SurveyDesign, n: int, rng: np.random.Generator) -> ItemData:
    """Draw a survey, whose answers need none of the checks that real ones do."""
    X = design.draw(n, rng)
    p = X.shape[1]
    names = tuple(f"x{i + 1}" for i in range(p))
    if design.levels is None:
        return ItemData(X, names, ("continuous",) * p, (None,) * p)
    levels = [observed_levels(x) for x in X.T]
    if min(map(len, levels)) < 2:
        raise EstimationError("Everybody has the same answer to an item.")
    return ItemData(X, names, tuple(detect_kind(own) for own in levels), tuple(levels))


def _thresholds_separate(
    one_per_factor: bool, design: SurveyDesign, call: FitRequest, n: int, rng: np.random.Generator
) -> bool:
    items = _drawn(design, n, rng)
    strength = dependence_matrix(items, call.measure).strength
    whole, local = margin_values(strength, design.support)
    return bool((local > 0).all()) if one_per_factor else bool(whole > 0)


def _fit_finds(design: SurveyDesign, call: FitRequest, n: int, rng: np.random.Generator) -> bool:
    items = _drawn(design, n, rng)
    rows = RowDependence(items, call.measure, call.missing)
    found = StructureFinder(rows, call)(np.arange(n), int(rng.integers(2**53)))
    return np.array_equal(found, by_first_item(design.support))


def _all_certified(
    design: SurveyDesign, call: FitRequest, n: int, rng: np.random.Generator
) -> bool:
    items = _drawn(design, n, rng)
    return certifies(items, call.measure, design.support, CERTIFIED_ERROR)


@register(shapes={"rows": "m", "draws": "m", "recovered": "m"})
@dataclass(frozen=True, eq=False)
class RecoveryCurve:
    """What simulation says about the rows a survey needs.

    Attributes
    ----------
    target
        Chance of recovery that was asked for.
    n
        Smallest number of rows that reaches it, None if not even ``most_rows`` do.
    low, high
        95 % interval of ``n`` by the number of draws.
    rows, draws, recovered
        What was tried: (m,) numbers of rows, draws at each, and how many recovered the structure.
    intercept, slope
        Of the logistic curve in log n.
    most_rows
        Where the search would stop.
    """

    target: float
    n: int | None
    low: float
    high: float
    rows: IntArray
    draws: IntArray
    recovered: IntArray
    intercept: float
    slope: float
    most_rows: int

    def rate(self, n: FloatArray) -> FloatArray:
        """Chance of recovery with n rows, by the fitted curve."""
        return _rate(self.intercept, self.slope, n)


def rows_for_recovery(
    recovers: Recovers,
    target: float,
    start: int,
    n_draws: int,
    seed: int,
    n_jobs: Jobs = None,
    progress: Progress = None,
    most_rows: int = 100_000,
) -> RecoveryCurve:
    """Search for the number of rows with which a structure is found with probability ``target``.

    Parameters
    ----------
    recovers
        Function of n and a random generator: draws a survey and says whether its structure was
        found.
    target
        Chance of recovery in (0, 1).
    start
        Number of rows to begin with.
    n_draws
        Surveys drawn around the answer; the rate there is known to √(target (1 − target) /
        n_draws).
    seed
        Each draw has a stream of its own, so the answer does not depend on ``n_jobs``.
    n_jobs, progress
        Workers; progress of all draws.
    most_rows
        Give up beyond.
    """
    tries = _Tries(recovers, seed, n_jobs, most_rows)
    pilot, step = _bracket(n_draws)
    total = n_draws + pilot * math.ceil(4 / math.log2(step))  # a bracket of some four doublings
    steps = _approach(tries, target, start, n_draws)
    for _ in track(steps, progress, "simulating", total=total):
        pass
    return _conclude(tries, target, n_draws)


@dataclass
class _Tries:
    """Draws made so far, by number of rows."""

    recovers: Recovers
    seed: int
    n_jobs: Jobs
    most_rows: int
    made: int = 0
    tried: dict[int, tuple[int, int]] = field(default_factory=dict)

    def at(self, n: int, count: int) -> Iterator[None]:
        """Make draws with n rows, one step of progress each."""
        keys = range(self.made, self.made + count)
        self.made += count
        work = partial(_draw, self.recovers, n, self.seed)
        for _, found in run(work, keys, self.n_jobs, fine=True):
            draws, recovered = self.tried.get(n, (0, 0))
            self.tried[n] = draws + 1, recovered + bool(found)
            yield

    def answer(self, target: float) -> int:
        """Rows at which the curve fitted so far reaches the target, within what may be tried.

        Where there are draws enough nearby, by these alone: no curve is right far and wide. If all
        of them have the same outcome, they say nothing of where it changes.
        """
        rows, draws, recovered = self.columns()
        reached = _quantile(*_fit(rows, draws, recovered), target)
        near = (rows > reached / _NEARBY) & (rows < reached * _NEARBY)
        if draws[near].sum() >= _ENOUGH and 0 < recovered[near].sum() < draws[near].sum():
            reached = _quantile(*_fit(rows[near], draws[near], recovered[near]), target)
        n = math.ceil(reached)
        return max(_FEWEST_ROWS, min(n, self.most_rows))

    def near(self, n: int) -> tuple[int, float]:
        """Draws made with about n rows, and by how many standard errors they fall short.

        Short of the fitted curve: a curve that cannot be flat passes over a plateau.
        """
        rows, draws, recovered = self.columns()
        close = (rows >= 0.9 * n) & (rows <= 1.1 * n)
        rate = _rate(*_fit(rows, draws, recovered), rows[close].astype(np.float64))
        made = draws[close]
        spread = math.sqrt(float(made @ (rate * (1 - rate))) + _FLAT)
        short = (float(made @ rate) - int(recovered[close].sum())) / spread
        return int(made.sum()), short

    def rate(self, n: int) -> float:
        """Share recovered with n rows."""
        draws, recovered = self.tried[n]
        return recovered / draws

    def columns(self) -> tuple[IntArray, IntArray, IntArray]:
        """Rows, draws and recovered, by rising number of rows."""
        rows = np.array(sorted(self.tried), dtype=np.int64)
        counts = np.array([self.tried[int(n)] for n in rows], dtype=np.int64).reshape(-1, 2)
        return rows, counts[:, 0], counts[:, 1]


def _draw(recovers: Recovers, n: int, seed: int, key: int) -> bool:
    return recovers(n, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,))))


def _approach(tries: _Tries, target: float, start: int, n_draws: int) -> Iterator[None]:
    n = max(_FEWEST_ROWS, min(start, tries.most_rows))
    pilot, step = _bracket(n_draws)
    yield from tries.at(n, pilot)
    rising = tries.rate(n) < target
    while (tries.rate(n) < target) == rising:
        further = int(n * step if rising else n / step)
        further = max(_FEWEST_ROWS, min(further, tries.most_rows))
        if further == n:
            break
        n = further
        yield from tries.at(n, pilot)
    if n == tries.most_rows and tries.rate(n) < target - _TOO_FAR * _spread(target, pilot):
        return  # not even with so many: more draws would not help
    for _ in range(_BATCHES):
        yield from tries.at(tries.answer(target), math.ceil(n_draws / _BATCHES))
    for _ in range(_CONFIRMATIONS):  # a flat curve leads the draws astray: stay where the answer is
        if tries.near(tries.answer(target))[0] >= n_draws / 2:
            break
        yield from tries.at(tries.answer(target), math.ceil(n_draws / 2))


def _bracket(n_draws: int) -> tuple[int, float]:
    return (_PILOT, _STEP) if n_draws >= _MANY_DRAWS else (_FEW_PILOT, _SHORT_STEP)


def _conclude(tries: _Tries, target: float, n_draws: int) -> RecoveryCurve:
    rows, draws, recovered = tries.columns()
    intercept, slope = _fit(rows, draws, recovered)
    n = tries.answer(target)
    made, short = tries.near(n)
    within = _quantile(intercept, slope, target) <= tries.most_rows
    rises = slope > _FLATTEST or n == _FEWEST_ROWS  # nothing to rise from there
    reached = made >= n_draws / 2 and short < _TOO_FAR and within and rises
    spread = _spread(target, max(made, 1))
    # The rate near n is known from the draws made there; its error in n is by the slope.
    factor = _exp(1.96 * spread / (slope * target * (1 - target)))
    return RecoveryCurve(
        target,
        n if reached else None,
        n / factor if reached else math.nan,
        n * factor if reached else math.nan,
        rows,
        draws,
        recovered,
        intercept,
        slope,
        tries.most_rows,
    )


def _fit(rows: IntArray, draws: IntArray, recovered: IntArray) -> tuple[float, float]:
    """Fit a logistic curve in log n: Newton steps, the slope held near what is usual."""
    x = np.log(rows.astype(np.float64))
    center = float(np.average(x, weights=draws))
    X = np.column_stack([np.ones_like(x), x - center])
    prior = np.diag([_FLAT, _SLOPE_SD**-2])
    usual = np.array([0.0, _SLOPE])
    beta = usual.copy()
    for _ in range(_NEWTON_STEPS):
        rate = 1 / (1 + np.exp(-np.clip(X @ beta, -30, 30)))
        information = (X.T * (draws * rate * (1 - rate))) @ X + prior
        score = X.T @ (recovered - draws * rate) - prior @ (beta - usual)
        step = np.clip(np.linalg.solve(information, score), -1.0, 1.0)
        beta = beta + step
        if np.abs(step).max() < _CLOSE:
            break
    slope = max(float(beta[1]), _LEAST_SLOPE)
    return float(beta[0]) - slope * center, slope


def _rate(intercept: float, slope: float, n: FloatArray) -> FloatArray:
    rate: FloatArray = 1 / (1 + np.exp(-(intercept + slope * np.log(n))))
    return rate


def _quantile(intercept: float, slope: float, target: float) -> float:
    return _exp((math.log(target / (1 - target)) - intercept) / slope)


def _exp(x: float) -> float:
    """Return e^x, or a number beyond all samples where that is none."""
    return math.exp(min(x, _LARGEST_LOG))


def _spread(target: float, draws: int) -> float:
    """Return the standard error of a rate."""
    return math.sqrt(target * (1 - target) / draws)
