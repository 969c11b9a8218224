"""``dtstat.diagnose`` and ``dtstat.margin``: whether thresholds can recover the structure.

The margin γ of a structure is half the distance from the weakest dependence within factors to the
strongest between them; with γ > 0 one threshold gives exactly this structure. A diagnosis
(:mod:`dtstat.trust.diagnosis`) has the margin in the sample, with an interval from resamples, and
the one that the fitted model implies; the same for every factor at a threshold of its own; bounds
on the probability of error; and the unique children.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.checkpoints import CheckpointFile, Ledger, checkpoint_seed, digest, open_checkpoint
from dtstat.core.checks import Seed, seed_number
from dtstat.core.errors import EstimationError, EstimationWarning, InputError, silenced, warn
from dtstat.core.parallel import Jobs, Progress, check_jobs, one_thread
from dtstat.data.items import item_names
from dtstat.dependence.api import Data, dependence
from dtstat.dependence.compute import RowDependence
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.measures import BRIDGES
from dtstat.fit.api import pick_items
from dtstat.fit.result import DTFit
from dtstat.structure.margin import Margin, margin_values, structure_margin
from dtstat.structure.syntax import Given, as_structure
from dtstat.trust.certificate import Certificate
from dtstat.trust.certify import FEWEST_ROWS, certify
from dtstat.trust.diagnosis import Diagnosis, MarginIntervals, implied_dependence
from dtstat.trust.diagnosis_tables import core_support
from dtstat.trust.resampling import check_same_data, resample, row_dependence, saved_numbers
from dtstat.trust.survey import SurveyDesign

_N_BOOT = 200
_LEVEL = 0.95  # of the intervals


def diagnose(
    fit: DTFit,
    data: Data | None = None,
    n_boot: int | None = None,
    seed: Seed = None,
    n_jobs: Jobs = None,
    progress: Progress = None,
    checkpoint: CheckpointFile = None,
) -> Diagnosis:
    """Say how far a fit can be trusted, and whether the method's own assumptions hold.

    Reports thresholdability (is every pair within a factor more dependent than every pair between
    factors, by what margin, which pairs decide), the same for each factor at its own threshold,
    bounds on the probability of error, unique children and which factors depend on a single item,
    which missing edges keep items out, and which factors are certified (:func:`dtstat.certify`).

    Bounds are conditional: on the margin of the population being that of the sample, on the
    threshold in the middle of the gap, and on items without ties; there are none for ratings. Those
    of a factor (its core is among the cliques of the path) and of the graph (one threshold gives
    exactly these factors) are about different events.

    Parameters
    ----------
    fit
        Result of :func:`dtstat.fit`; of a structure that was given, too.
    data
        The data that were fitted, for intervals; without them margins have none.
    n_boot
        Resamples for the intervals; 200 with data. The intervals allow for every pair being the
        one that decides, so that they cover with 95 % probability or more; with very few rows the
        bootstrap itself is an approximation.
    seed
        Whole number; None for a fresh one, or that of ``checkpoint``.
    n_jobs, progress
        Workers, as in :func:`dtstat.dependence`, and progress.
    checkpoint
        File to which each resample is added when done; the same call resumes where it ends.

    Returns
    -------
    Diagnosis

    Raises
    ------
    InputError
        If the fit has no factor, resamples are asked for without data, the data are not those
        of the fit, or ``checkpoint`` is the file of another call.

    Notes
    -----
    Cost: the dependence matrix for each resample. Interrupted from the keyboard, intervals are
    from the resamples done.

    Examples
    --------
    >>> import dtstat as dt
    >>> fit = dt.fit(dt.load_dataset("holzinger_swineford_9"))
    >>> print(dt.diagnose(fit).verdict)
    violated: x1–x2 (0.28) within a factor is weaker than x1–x9 (0.38) between factors
    """
    if not isinstance(fit, DTFit):
        raise InputError(
            f"`fit` must be a result of fit(); got {type(fit).__name__}. Call diagnose(fit, data).",
            "fit",
        )
    if not fit.n_factors:
        raise InputError("The fit has no factor, so there is nothing to diagnose.", "fit")
    if data is None and n_boot is not None:
        raise InputError(
            "`n_boot` needs the data: a fit does not keep them. Call diagnose(fit, data).", "data"
        )
    intervals = certificate = None
    if data is not None:
        count = checks.repeats(
            "n_boot", _N_BOOT if n_boot is None else n_boot, 2, "200 is usually enough."
        )
        rows, jobs = _rows_of_fit(fit, data), check_jobs(n_jobs)
        number = seed_number(checkpoint_seed(checkpoint) if seed is None else seed)
        header = {
            "work": "diagnose",
            "data": rows.items.digest(),
            "structure": digest([fit.support, core_support(fit)]),
            "measure": fit.call.measure,
            "missing": fit.call.missing,
            "seed": number,
        }
        ledger = open_checkpoint(checkpoint, header)
        intervals = margin_intervals(fit, rows, count, number, jobs, progress, ledger)
        certificate = _certificate(fit, rows, number, progress)
    with one_thread():
        implied, simulated = implied_dependence(fit)
    return Diagnosis(fit, implied, simulated, intervals, certificate)


def margin(
    data: Data | SurveyDesign, structure: Given | None = None, measure: str = "kendall"
) -> Margin:
    """Measure how far a structure can be read off dependence by thresholds (Definition 4).

    γ is half the distance from the weakest dependence within factors to the strongest between
    them; each factor has a local margin of its own. A positive margin says that some threshold
    gives this structure; another structure may have one at another threshold.

    Parameters
    ----------
    data
        Answers or a DependenceMatrix, for the margin in the sample; a SurveyDesign, for that in the
        population. Pearson, Spearman and Kendall of a design are computed by formula, other
        measures and answers on a scale from 100,000 simulated rows (4,000 where the cost grows
        with their square). For any other model, simulate as many and give them as data.
    structure
        The factors; a SurveyDesign has its own.
    measure
        As in :func:`dtstat.dependence`; a DependenceMatrix has its own.

    Raises
    ------
    InputError
        If the structure is missing, or its items are not those of the data.

    Examples
    --------
    >>> import dtstat as dt
    >>> tight = dt.survey_design(3, 3, [0.9, 0.8, 0.5] * 3, factor_correlation=0.75)
    >>> dt.margin(tight)
    Margin by kendall: -0.077, violated: x2–x3 (0.26) within a factor is weaker than x1–x4 (0.42) \
between factors

    One factor with the loadings .87, .69, .58, or two with the correlation .72, the first with
    the loadings .87, .69 and the second with .8, have the same correlations. Both structures are
    thresholdable, at thresholds below .4 and from .5 to .6:

    >>> R = dt.DependenceMatrix.from_matrix([[1, 0.6, 0.5], [0.6, 1, 0.4], [0.5, 0.4, 1]])
    >>> one = dt.Structure([[1], [1], [1]], R.names)
    >>> two = dt.Structure([[1, 0], [1, 0], [0, 1]], R.names)
    >>> dt.margin(R, one).satisfied, dt.margin(R, two).satisfied
    (True, True)
    """
    if isinstance(data, SurveyDesign):
        if structure is not None:
            raise InputError("`structure` is part of a SurveyDesign; leave it out.", "structure")
        return data.margin(measure)
    if structure is None:
        raise InputError(
            "`structure` is required: a margin belongs to a structure. Give a Structure, or a fit.",
            "structure",
        )
    structure = as_structure(structure, "structure", lambda: item_names(data))
    if isinstance(data, DependenceMatrix):
        matrix = data.select(structure.item_names)
    else:
        matrix = dependence(pick_items(data, structure.item_names), measure)
    return structure_margin(matrix.strength, structure, matrix.measure)


def _rows_of_fit(fit: DTFit, data: Data) -> RowDependence:
    """Return the rows to draw from, checked to be those of the fit."""
    if isinstance(data, DependenceMatrix):
        raise InputError(
            "`data` must be answers, not a matrix: resampling draws rows, and a matrix has none. "
            "Leave `data` out for a diagnosis without intervals.",
            "data",
        )
    try:
        items = pick_items(data, fit.item_names)
    except InputError as error:
        if error.argument != "structure":
            raise
        text = str(error).replace("`structure` has the item", "The fit has the item")
        raise InputError(text, "data") from None
    rows = row_dependence(items, fit, fit.call.measure)
    check_same_data(fit, rows)
    return rows


def _certificate(
    fit: DTFit, rows: RowDependence, seed: int, progress: Progress
) -> Certificate | None:
    """Certify what can be; None where errors are not known, or rows or items are too few."""
    if rows.measure not in BRIDGES or rows.n_rows < FEWEST_ROWS or rows.items.n_items < 3:
        return None
    with silenced():  # what there is to warn of was said of the fit
        return certify(rows.items, structure=fit, min_children=2, seed=seed, progress=progress)


def margin_intervals(
    fit: DTFit,
    rows: RowDependence,
    n_boot: int,
    seed: int,
    n_jobs: Jobs,
    progress: Progress,
    ledger: Ledger | None = None,
) -> MarginIntervals:
    """Bootstrap the dependence of all pairs for intervals of all margins."""
    strength, d = fit.dependence.strength, fit.n_factors
    core_sets = core_support(fit)
    work = _MarginDeviations(rows, fit.dependence.values, fit.support, core_sets)
    saved = None if ledger is None else saved_numbers(ledger, 1 + 2 * d)
    done = resample(work, rows.n_rows, n_boot, seed, n_jobs=n_jobs, progress=progress, saved=saved)
    if not done.outcomes:
        raise EstimationError(
            "None of the resamples can be used: each has an item that does not vary. Leave out "
            "items with rare answers, or leave out `data` for a diagnosis without intervals."
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


@dataclass(frozen=True, eq=False)
class _MarginDeviations:
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
