"""Working out a diagnosis: what the model implies, and intervals of the margins."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import BoolArray, FloatArray, IntArray
from dtstat.data import as_items
from dtstat.dependence import DependenceMatrix, dependence_matrix
from dtstat.dependence.resampled import RowDependence
from dtstat.errors import DTWarning
from dtstat.estimation.factors.fit_measures import implied_correlations
from dtstat.estimation.nonlinear.draws import draw_answers
from dtstat.progress import Progress
from dtstat.results.diagnosis import MarginIntervals
from dtstat.results.diagnosis_frames import cores
from dtstat.results.fit import DTFit
from dtstat.selection.resampling import resample
from dtstat.theory.margin import margin_values
from dtstat.theory.survey import POPULATION, simulated_rows

_LEVEL = 0.95
_LATENT = ("polychoric", "tetrachoric", "mixed")  # their population values are the correlations
_IMPLIED_SEED = 0


def implied_dependence(fit: DTFit) -> tuple[DependenceMatrix, bool]:
    """Return the dependence that the fitted model implies, and whether it is simulated.

    By formula for rank measures and correlations of linear and copula models; from rows drawn
    from the model otherwise.
    """
    measure, names = fit.dependence.measure, fit.item_names
    to_measure = np.copy if measure in _LATENT else POPULATION.get(measure)
    if fit.nonlinear is None and to_measure is not None:
        values = to_measure(np.clip(implied_correlations(fit.estimate), -1.0, 1.0))
        return DependenceMatrix(values, names, measure), False
    rng = np.random.default_rng(_IMPLIED_SEED)
    n = simulated_rows(measure)
    if fit.nonlinear is not None:
        X = draw_answers(fit.nonlinear.model, n, rng)
    else:
        root = np.linalg.cholesky(implied_correlations(fit.estimate))
        X = rng.standard_normal((n, len(names))) @ root.T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DTWarning)
        drawn = dependence_matrix(as_items(X), measure)
    return DependenceMatrix(drawn.values, names, measure), True


@dataclass(frozen=True, eq=False)
class _Deviations:
    """How far margins may be off in one resample: the least and the most, of every item set.

    The smallest dependence of a set of pairs, and the largest, move by no less than the least and
    no more than the most that any of these pairs moves. So with dev = r* − r, margins move by
    between ½(min dev within − max dev between) and ½(max dev within − min dev between). A plain
    bootstrap of the margin itself fails: the minimum over many pairs that are about equal is
    biased, and more so in resamples.
    """

    dependence: RowDependence
    strength: FloatArray
    support: BoolArray
    cores: BoolArray

    def __call__(self, rows: IntArray, seed: int) -> FloatArray:
        """(1 + 2d, 2) least and most for the structure, its factors, and their cores."""
        del seed
        deviation = self.dependence(rows).strength - self.strength
        A = self.support.astype(np.float32)
        shared = (A @ A.T) > 0
        np.fill_diagonal(shared, False)
        between = ~shared
        np.fill_diagonal(between, False)
        limits = [_limits(deviation[shared], deviation[between])]
        for members in (*self.support.T, *self.cores.T):
            inside = deviation[np.ix_(members, members)]
            inside = inside[np.triu_indices(len(inside), 1)]
            limits.append(_limits(inside, deviation[np.ix_(members, ~members)].ravel()))
        return np.array(limits)


def _limits(within: FloatArray, between: FloatArray) -> tuple[float, float]:
    low = within.min(initial=0.0) if within.size == 0 else within.min()
    high = within.max(initial=0.0) if within.size == 0 else within.max()
    if between.size:
        low, high = low - between.max(), high - between.min()
    return float(low) / 2, float(high) / 2


def margin_intervals(
    fit: DTFit,
    dependence: RowDependence,
    n_boot: int,
    seed: int,
    n_jobs: int,
    progress: Progress,
) -> MarginIntervals:
    """Bootstrap the dependence of all pairs for intervals of all margins."""
    strength, d = fit.dependence.strength, fit.n_factors
    core_sets = cores(fit)
    work = _Deviations(dependence, strength, fit.support, core_sets)
    done = resample(
        work, dependence.n_rows, n_boot, seed, n_jobs=n_jobs, progress=progress
    ).outcomes
    limits = np.stack(done)
    tail = (1 - _LEVEL) / 2
    lower = np.quantile(limits[:, :, 1], 1 - tail, axis=0)
    upper = np.quantile(limits[:, :, 0], tail, axis=0)
    whole, local = margin_values(strength, fit.support)
    core_values = margin_values(strength, core_sets)[1]
    core_values = np.where(core_sets.any(axis=0), core_values, np.nan)
    estimates = np.concatenate([[whole], local, core_values])
    intervals = np.column_stack([estimates - lower, estimates - upper])
    return MarginIntervals(intervals[0], intervals[1 : 1 + d], intervals[1 + d :], len(done))
