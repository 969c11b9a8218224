"""Working out a diagnosis: what the model implies, and intervals of the margins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.arrays import BoolArray, FloatArray, IntArray
from dtstat.data import as_items
from dtstat.dependence import REGISTRY, DependenceMatrix, dependence_matrix
from dtstat.dependence.registry import LATENT
from dtstat.dependence.resampled import RowDependence
from dtstat.errors import EstimationError, EstimationWarning, silenced, warn
from dtstat.estimation.factors.misfit import implied_correlations
from dtstat.estimation.nonlinear.draws import draw_answers
from dtstat.execution.ledger import Ledger
from dtstat.execution.parallel import Jobs
from dtstat.progress import Progress
from dtstat.results.fit import DTFit
from dtstat.results.trust.diagnosis import MarginIntervals
from dtstat.results.trust.diagnosis_frames import cores
from dtstat.results.trust.saved_resamples import saved_numbers
from dtstat.selection.resampling import resample
from dtstat.theory.margin import margin_values
from dtstat.theory.survey import POPULATION, simulated_rows

_LEVEL = 0.95
_IMPLIED_SEED = 0


def implied_dependence(fit: DTFit) -> tuple[DependenceMatrix | None, bool]:
    """Return the dependence that the fitted model implies, and whether it is simulated.

    By formula for rank measures and correlations of linear and copula models; from rows drawn
    from the model otherwise. None if the measure is not one of dtstat's.
    """
    measure, names = fit.dependence.measure, fit.item_names
    if measure not in REGISTRY:
        return None, False
    to_measure = np.copy if measure in LATENT else POPULATION.get(measure)
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
    with silenced():
        drawn = dependence_matrix(as_items(X, screened=False), measure)
    return DependenceMatrix(drawn.values, names, measure), True


@dataclass(frozen=True, eq=False)
class _Deviations:
    """How far margins may be off in one resample, of every set of items.

    The smallest |r| of a set of pairs, and the largest, move by no more than the most that any of
    these pairs moves. So with A = |r* − r|, margins move by at most ½(max A within + max A
    between). A plain bootstrap of the margin itself fails: the minimum over many pairs that are
    about equal is biased, and more so in resamples. Signs are kept in r* − r, because |r| of pairs
    that hardly depend is biased, too.
    """

    dependence: RowDependence
    values: FloatArray
    support: BoolArray
    cores: BoolArray

    def __call__(self, rows: IntArray, seed: int) -> FloatArray:
        """(1 + 2d,) most for the structure, its factors, and their cores."""
        del seed
        A = np.abs(self.dependence(rows).values - self.values)
        S = self.support.astype(np.float32)
        shared = (S @ S.T) > 0
        off_diagonal = ~np.eye(len(A), dtype=bool)
        most = [_most(A[shared & off_diagonal], A[~shared & off_diagonal])]
        for members in (*self.support.T, *self.cores.T):
            inside = A[np.ix_(members, members)]  # 0 on the diagonal
            most.append(_most(inside, A[np.ix_(members, ~members)]))
        return np.array(most)


def _most(within: FloatArray, between: FloatArray) -> float:
    return float(within.max(initial=0.0) + between.max(initial=0.0)) / 2


def margin_intervals(
    fit: DTFit,
    dependence: RowDependence,
    n_boot: int,
    seed: int,
    n_jobs: Jobs,
    progress: Progress,
    ledger: Ledger | None = None,
) -> MarginIntervals:
    """Bootstrap the dependence of all pairs for intervals of all margins."""
    strength, d = fit.dependence.strength, fit.n_factors
    core_sets = cores(fit)
    work = _Deviations(dependence, fit.dependence.values, fit.support, core_sets)
    saved = None if ledger is None else saved_numbers(ledger, 1 + 2 * d)
    done = resample(
        work, dependence.n_rows, n_boot, seed, n_jobs=n_jobs, progress=progress, saved=saved
    )
    if not done.outcomes:
        raise EstimationError(
            "None of the resamples can be used: in each an item does not vary. Leave out items "
            "with rare answers, or leave out `data` for a diagnosis without intervals."
        )
    if done.interrupted:
        warn(
            f"Interrupted after {len(done.outcomes)} of {n_boot} resamples.",
            EstimationWarning,
            stacklevel=3,
        )
    half = np.quantile(np.stack(done.outcomes), _LEVEL, axis=0)
    whole, local = margin_values(strength, fit.support)
    core_values = margin_values(strength, core_sets)[1]
    core_values = np.where(core_sets.any(axis=0), core_values, np.nan)
    estimates = np.concatenate([[whole], local, core_values])
    intervals = np.column_stack([estimates - half, estimates + half])
    return MarginIntervals(
        intervals[0], intervals[1 : 1 + d], intervals[1 + d :], len(done.outcomes), done.n_failed
    )
