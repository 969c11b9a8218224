"""``dtstat.stability``: what happens to a structure when the rows are others.

Rows are drawn, the whole procedure of ``fit`` runs on them (:class:`StructureFinder`), and the
structures found are compared with that of all rows, factors matched
(:func:`dtstat.trust.resampling.agreement`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dtstat.core import checks
from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.checkpoints import CheckpointFile, checkpoint_seed, digest, open_checkpoint
from dtstat.core.checks import Seed, seed_number
from dtstat.core.errors import EstimationError, EstimationWarning, InputError, silenced, warn
from dtstat.core.parallel import Jobs, Progress, check_jobs, one_thread
from dtstat.data.items import ItemData, as_items
from dtstat.data.sources import columns_of
from dtstat.dependence.api import Data
from dtstat.dependence.compute import RowDependence
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.maximal import exceeding_pairs
from dtstat.dependence.measures import BRIDGES
from dtstat.dependence.on_demand import MOST_WHOLE
from dtstat.factors.copula import latent_correlations
from dtstat.factors.reported import Answers, Source
from dtstat.fit.api import fit as fit_data
from dtstat.fit.curve_pipeline import fit_curves
from dtstat.fit.many import fit_many, take_many
from dtstat.fit.pipeline import Problem, find_structure, fit_items, refuse_uncovered, typical_rows
from dtstat.fit.request import FitRequest, Run
from dtstat.fit.result import DTFit
from dtstat.search.criteria import HELD_OUT
from dtstat.search.ranking import by_first_item
from dtstat.search.records import GIVEN
from dtstat.trust.resampling import (
    SCHEMES,
    Resamples,
    Scheme,
    check_same_data,
    resample,
    row_dependence,
    saved_structures,
)
from dtstat.trust.stability_result import SampleRound, Stability


@one_thread()
def stability(
    data: Data,
    n_boot: int = 200,
    fit: DTFit | None = None,
    scheme: Scheme = "bootstrap",
    share: float | None = None,
    sizes: Iterable[float] = (),
    seed: Seed = None,
    n_jobs: Jobs = None,
    progress: Progress = None,
    checkpoint: CheckpointFile = None,
    **options: Any,
) -> Stability:
    """Run the whole procedure on resamples, and see what comes out the same.

    Rows are drawn, dependence, search and choice are run on them, and factors are matched to
    those of all rows. Shares of resamples are not probabilities of being right.

    Parameters
    ----------
    data
        Answers, as in :func:`dtstat.fit`.
    n_boot
        Number of resamples.
    fit
        The fit to these data whose procedure is repeated; made with ``options`` if omitted.
    scheme
        "bootstrap": as many rows as there are, drawn with replacement; "subsample": half of
        them, without.
    share
        Share of the rows in a resample, if other than that.
    sizes
        Shares of the rows for further subsamples, such as ``(0.25, 0.5, 0.75)``: the effect of n.
    seed
        Whole number; None for a fresh one, recorded in the result, or that of ``checkpoint``. The
        result is the same for any ``n_jobs``.
    n_jobs, progress
        Workers, as in :func:`dtstat.dependence`, and progress.
    checkpoint
        File to which each resample is added when done. The same call resumes where that file ends,
        whatever ended it; ``n_boot`` and ``n_jobs`` may differ.
    options
        Arguments of :func:`dtstat.fit`.

    Returns
    -------
    Stability

    Raises
    ------
    InputError
        If there are no rows to draw, the structure of the fit was given, not found, or
        ``checkpoint`` is the file of another call.

    Warns
    -----
    EstimationWarning
        If it was interrupted from the keyboard: the result is from the resamples done.
    DataWarning
        If the end of ``checkpoint`` was damaged: it is removed, and done again.

    Notes
    -----
    Cost: with the estimators "copula" and "linear" some 20 ms per resample of 2800 rows of 25
    items, a fraction of a call of ``fit``; with others, and beyond 1,000 items, a call of ``fit``
    each.

    Examples
    --------
    >>> import dtstat as dt
    >>> data = dt.load_dataset("holzinger_swineford_9")
    >>> dt.stability(data, n_boot=50, seed=1)
    Stability: 50 bootstrap resamples of 301 rows, mean agreement F1 0.9...
    """
    checks.choice("scheme", scheme, SCHEMES)
    count = checks.repeats("n_boot", n_boot, 2, "200 is usually enough.")
    parts = _check_sizes(sizes)
    usual = 1.0 if scheme == "bootstrap" else 0.5
    part = usual if share is None else _check_share("share", share)
    if scheme == "subsample" and part == 1.0:
        raise checks.refusal("share", "below 1 for subsamples", share, "Half is usual.")
    jobs = check_jobs(n_jobs)
    number = seed_number(checkpoint_seed(checkpoint) if seed is None else seed)
    if isinstance(data, DependenceMatrix):
        raise InputError(
            "`data` must be answers, not a matrix: resampling draws rows, and a matrix has none.",
            "data",
        )
    items = as_items(data)
    if items.n_items > MOST_WHOLE:
        raise InputError(
            f"`data` may have {MOST_WHOLE} items at most, since shares are kept of all pairs; got "
            f"{items.n_items}. See how stable the items of some factors are.",
            "data",
        )
    reference = _reference_fit(items, fit, options, number)
    measure = options.get("measure", reference.call.measure) if fit is None else fit.call.measure
    rows = row_dependence(items, reference, measure)
    find_structure = StructureFinder(rows, reference.call, reference.grid)
    header = {
        "work": "stability",
        "data": rows.items.digest(),
        **reference.call.arguments(),
        "grid": None if reference.grid is None else digest([reference.grid]),
        "scheme": scheme,
        "share": part,
        "sizes": sorted(parts),
        "seed": number,
    }
    if checkpoint is not None and not isinstance(measure, str):
        raise InputError(
            "`checkpoint` cannot tell one function from another, and `measure` is one. Use a "
            "measure that has a name, or leave out the checkpoint.",
            "checkpoint",
        )
    ledger = open_checkpoint(checkpoint, header)

    def run(share: float, scheme: Scheme, key: int) -> SampleRound:
        size = max(2, round(share * rows.n_rows))
        own = number if not key else int(np.random.SeedSequence([number, key]).generate_state(1)[0])
        saved = None if ledger is None else saved_structures(ledger, key, len(reference.item_names))
        return _sample_round(
            resample(find_structure, rows.n_rows, count, own, scheme, size, jobs, progress, saved)
        )

    main = run(part, scheme, 0)
    smaller = tuple(run(one, "subsample", k + 1) for k, one in enumerate(sorted(parts)))
    pairs = exceeding_pairs(items.select(reference.item_names).values)
    return Stability(reference, scheme, main, smaller, pairs, number)


def _reference_fit(items: ItemData, fit: DTFit | None, options: dict[str, Any], seed: int) -> DTFit:
    if fit is None:
        fit = fit_data(items, seed=seed, **options)
    elif not isinstance(fit, DTFit):
        raise InputError(f"`fit` must be a result of fit(); got {type(fit).__name__}.", "fit")
    elif options:
        raise checks.refusal(
            next(iter(options)), "left out with `fit`", "both", "The fit has its own arguments."
        )
    else:
        items = items.select(fit.item_names)
        check_same_data(fit, row_dependence(items, fit, fit.call.measure))
    if fit.call.search == GIVEN:
        raise InputError(
            "The structure of the fit was given, so it is the same in every resample. Fit without "
            "`structure`, or see diagnose().",
            "fit",
        )
    return fit


def _check_sizes(sizes: object) -> list[float]:
    """Shares of the rows, each below 1: a subsample of all rows is always the same."""
    if not isinstance(sizes, Iterable) or isinstance(sizes, str) or checks.is_scalar(sizes):
        raise checks.refusal("sizes", "a list of shares", sizes, "Such as (0.25, 0.5).")
    parts = [_check_share("sizes", one) for one in sizes]
    if len(set(parts)) < len(parts):
        twice = next(one for k, one in enumerate(parts) if one in parts[:k])
        text = f"`sizes` must be different shares; got {twice} twice. Give each once."
        raise InputError(text, "sizes")
    if any(one == 1.0 for one in parts):
        raise checks.refusal("sizes", "shares below 1", 1.0, "All rows are the fit itself.")
    return parts


def _check_share(name: str, value: object) -> float:
    return checks.positive_unit(name, value, "It is a share of the rows.")


def _sample_round(found: Resamples[BoolArray]) -> SampleRound:
    if not found.outcomes:
        raise EstimationError(
            f"None of the resamples of {found.n_rows} rows could be fitted: an item does not vary "
            "in them. Use more rows, or leave out items with rare answers."
        )
    if found.interrupted:
        warn(
            f"Interrupted after {len(found.outcomes)} of {found.n_asked} resamples of "
            f"{found.n_rows} rows.",
            EstimationWarning,
            stacklevel=4,
        )
    return SampleRound(found.n_rows, found.outcomes, found.n_asked, found.n_failed)


@dataclass(frozen=True, eq=False)
class StructureFinder:
    """Finds the structure in chosen rows, as a call of ``fit`` would.

    Dependence, search and choice run alone, with compiled estimates of the candidate models.
    Criteria that hold out rows, curves, and very many items run ``fit`` as it is.

    Parameters
    ----------
    dependence
        All rows, with the measure of dependence.
    call
        What ``fit`` was asked for.
    grid
        Thresholds that were asked for; None for all.
    """

    dependence: RowDependence
    call: FitRequest
    grid: FloatArray | None = None

    def __call__(self, rows: IntArray, seed: int) -> BoolArray:
        """Return the (p, d) structure; warnings are not given again."""
        call, measure = self.call, self.dependence.measure
        compiled = call.estimator == "copula" and measure in BRIDGES
        compiled |= call.estimator == "linear" and measure == "pearson"
        many = take_many(self.dependence.items, call)
        with silenced():
            if many is not None and (found := self._find_among_many(rows)) is not None:
                return found
            if compiled and call.criterion not in HELD_OUT:
                return self._find_compiled(rows)
            return self._find_by_fit(rows, seed)

    def _find_among_many(self, rows: IntArray) -> BoolArray | None:
        columns = columns_of(self.dependence.items.take(rows))
        found = fit_many(columns, self.call, Run(self.dependence.measure, self.grid))
        return None if found is None else by_first_item(found.support)

    def _find_compiled(self, rows: IntArray) -> BoolArray:
        matrix = self.dependence(rows)
        latent = latent_correlations(matrix)
        answers = Answers.of(self.dependence.items.take(rows), by_content=True)
        n = typical_rows(matrix)
        problem = Problem(matrix, Source(latent, answers), latent.R, n, self.call.rules)
        _, outcome = find_structure(problem, self.call, Run(self.dependence.measure, self.grid))
        support = by_first_item(outcome.best.proposal.support)
        refuse_uncovered(support, matrix.names, self.call)
        return support

    def _find_by_fit(self, rows: IntArray, seed: int) -> BoolArray:
        call = self.call if self.call.seed is None else replace(self.call, seed=seed)
        fit = fit_curves if call.draws_curves else fit_items
        taken = self.dependence.items.take(rows)
        return fit(taken, call, Run(self.dependence.measure, self.grid)).support
