"""How far a fit can be trusted: its margins, its unique children, its stability.

The margin of a structure, and how many people a survey needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from dtstat.core import checks
from dtstat.core.about import __version__
from dtstat.core.arrays import BoolArray
from dtstat.core.checkpoints import CheckpointFile, checkpoint_seed, digest, open_checkpoint
from dtstat.core.checks import Seed, seed_number
from dtstat.core.errors import EstimationError, EstimationWarning, InputError, warn
from dtstat.core.parallel import Jobs, Progress, check_jobs, one_thread
from dtstat.data.items import ItemData, as_items
from dtstat.dependence.api import Data, dependence
from dtstat.dependence.compute import Missing, RowDependence
from dtstat.dependence.hidden import exceeding_pairs
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.measures import REGISTRY, find_measure
from dtstat.fit.api import fit as fit_data
from dtstat.fit.api import picked
from dtstat.fit.request import FitCall
from dtstat.fit.result import DTFit
from dtstat.search.choose import GIVEN
from dtstat.structure.margin import Margin, structure_margin
from dtstat.structure.syntax import Given, as_structure
from dtstat.trust.diagnosis import Diagnosis, implied_dependence, margin_intervals
from dtstat.trust.diagnosis_summary import cores
from dtstat.trust.plan import SurveyPlan
from dtstat.trust.procedure import Procedure, events
from dtstat.trust.recovery import RecoveryCurve, rows_for_recovery
from dtstat.trust.resampling import SCHEMES, Resamples, Scheme, resample, saved_structures
from dtstat.trust.stability import SampleRound, Stability
from dtstat.trust.survey import SurveyDesign, survey_design

_ROUNDING = 1e-8  # the same answers give the same dependence up to this
_N_BOOT = 200


def diagnose(
    fit: DTFit,
    data: Data | None = None,
    n_boot: int | None = None,
    seed: Seed = None,
    n_jobs: Jobs = None,
    progress: Progress = None,
    checkpoint: CheckpointFile = None,
) -> Diagnosis:
    """Say how far a fit can be trusted: do the method's own assumptions hold.

    Thresholdability (is every pair within a factor more dependent than every pair between
    factors, by what margin, which pairs decide), the same for each factor at its own threshold,
    bounds on the probability of error, unique children and what hangs on single items, and which
    missing edges keep items out.

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
        File to which each resample is added when done; the same call goes on where it ends.

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
        raise InputError(f"`fit` must be a result of fit(); got {type(fit).__name__}.", "fit")
    if not fit.n_factors:
        raise InputError("The fit has no factor, so there is nothing to diagnose.", "fit")
    if data is None and n_boot is not None:
        raise InputError(
            "`n_boot` needs the data: a fit does not keep them. Call diagnose(fit, data).", "data"
        )
    intervals = None
    if data is not None:
        count = checks.integer(
            "n_boot", _N_BOOT if n_boot is None else n_boot, 2, "200 is usually enough."
        )
        rows, jobs = _rows_of(fit, data), check_jobs(n_jobs)
        number = seed_number(checkpoint_seed(checkpoint) if seed is None else seed)
        header = {
            "work": "diagnose",
            "data": rows.items.digest(),
            "structure": digest([fit.support, cores(fit)]),
            **{"measure": fit.call.measure, "missing": fit.call.missing, "seed": number},
        }
        ledger = open_checkpoint(checkpoint, header)
        intervals = margin_intervals(fit, rows, count, number, jobs, progress, ledger)
    with one_thread():
        implied, simulated = implied_dependence(fit)
    return Diagnosis(fit, implied, simulated, intervals)


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
    """Run the whole procedure on resamples, and see what comes out again.

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
        File to which each resample is added when done. The same call goes on where that file ends,
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
    items, a fraction of a call of ``fit``; with others a call of ``fit`` each.

    Examples
    --------
    >>> import dtstat as dt
    >>> data = dt.load_dataset("holzinger_swineford_9")
    >>> dt.stability(data, n_boot=50, seed=1)
    Stability: 50 bootstrap resamples of 301 rows, mean agreement F1 0.9...
    """
    checks.choice("scheme", scheme, SCHEMES)
    count = checks.integer("n_boot", n_boot, 2, "200 is usually enough.")
    parts = _sizes(sizes)
    part = (1.0 if scheme == "bootstrap" else 0.5) if share is None else _share("share", share)
    if scheme == "subsample" and part == 1.0:
        raise checks.refusal("share", "below 1 for subsamples", share, "Half is usual.")
    jobs = check_jobs(n_jobs)
    number = seed_number(checkpoint_seed(checkpoint) if seed is None else seed)
    items = _answers(data)
    reference = _reference(items, fit, options, number)
    measure = options.get("measure", reference.call.measure) if fit is None else fit.call.measure
    procedure = Procedure(
        _row_dependence(items, reference, measure), reference.call, reference.grid
    )
    header = {
        "work": "stability",
        "data": procedure.dependence.items.digest(),
        **reference.call.asked(),
        "grid": None if reference.grid is None else digest([reference.grid]),
        **{"scheme": scheme, "share": part, "sizes": sorted(parts), "seed": number},
    }
    if checkpoint is not None and not isinstance(measure, str):
        raise InputError(
            "`checkpoint` cannot tell one function from another, and `measure` is one. Use a "
            "measure that has a name, or leave out the checkpoint.",
            "checkpoint",
        )
    ledger = open_checkpoint(checkpoint, header)

    def run(one: float, how: Scheme, key: int) -> SampleRound:
        size = max(2, round(one * procedure.dependence.n_rows))
        own = number if not key else int(np.random.SeedSequence([number, key]).generate_state(1)[0])
        saved = None if ledger is None else saved_structures(ledger, key, len(reference.item_names))
        found = resample(
            procedure, procedure.dependence.n_rows, count, own, how, size, jobs, progress, saved
        )
        return _sample_round(found)

    main = run(part, scheme, 0)
    smaller = tuple(run(one, "subsample", k + 1) for k, one in enumerate(sorted(parts)))
    pairs = exceeding_pairs(items.select(reference.item_names).values)
    return Stability(reference, scheme, main, smaller, pairs, number)


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


def _sizes(sizes: object) -> list[float]:
    """Shares of the rows, each below 1: a subsample of all rows is always the same."""
    if not isinstance(sizes, Iterable) or isinstance(sizes, str):
        raise checks.refusal("sizes", "a list of shares", sizes, "Such as (0.25, 0.5).")
    parts = [_share("sizes", one) for one in sizes]
    if any(one == 1.0 for one in parts):
        raise checks.refusal("sizes", "shares below 1", 1.0, "All rows are the fit itself.")
    return parts


def _share(name: str, value: object) -> float:
    return checks.positive_unit(name, value, "It is a share of the rows.")


def _answers(data: Data) -> ItemData:
    if isinstance(data, DependenceMatrix):
        raise InputError(
            "`data` must be answers, not a matrix: resampling draws rows, and a matrix has none.",
            "data",
        )
    return as_items(data)


def _reference(items: ItemData, fit: DTFit | None, options: dict[str, Any], seed: int) -> DTFit:
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
        _check_same(fit, _row_dependence(items, fit, fit.call.measure))
    if fit.call.search == GIVEN:
        raise InputError(
            "The structure of the fit was given, so it is the same in every resample. Fit without "
            "`structure`, or see diagnose().",
            "fit",
        )
    return fit


def _row_dependence(items: ItemData, fit: DTFit, measure: Any) -> RowDependence:
    if isinstance(measure, str) and measure not in REGISTRY:
        raise InputError(
            f"The measure of the fit is the function '{measure}', which a fit does not keep, so "
            "rows cannot be drawn again for it. Give `data` and the arguments of fit() instead of "
            "a fit, or for a diagnosis leave out `data`.",
            "fit",
        )
    chosen = items.select(fit.item_names)
    return RowDependence(chosen, measure, cast(Missing, fit.call.missing))


def _rows_of(fit: DTFit, data: Data) -> RowDependence:
    """Rows of a fit, checked to be those of the fit."""
    if isinstance(data, DependenceMatrix):
        raise InputError(
            "`data` must be answers, not a matrix: resampling draws rows, and a matrix has none. "
            "Leave `data` out for a diagnosis without intervals.",
            "data",
        )
    rows = _row_dependence(_items_of(fit, data), fit, fit.call.measure)
    _check_same(fit, rows)
    return rows


def _items_of(fit: DTFit, data: Data) -> ItemData:
    try:
        return picked(data, fit.item_names)
    except InputError as error:
        if error.argument != "structure":
            raise
        text = str(error).replace("`structure` has the item", "The fit has the item")
        raise InputError(text, "data") from None


def _check_same(fit: DTFit, rows: RowDependence) -> None:
    here = rows(np.arange(rows.n_rows)).values
    apart = np.abs(here - fit.dependence.values) > _ROUNDING
    if apart.any():
        i, j = np.argwhere(apart)[0]
        a, b = fit.item_names[i], fit.item_names[j]
        raise InputError(
            f"`data` are not the data of the fit: the dependence of '{a}' and '{b}' is "
            f"{fit.dependence.values[i, j]:.4f} there and {here[i, j]:.4f} here. Give the same "
            "rows.",
            "data",
        )


_START = 200  # rows that simulation starts with, if nothing better is known
_SUREST = 1 - 2.0**-53  # the largest chance below 1
_CAUTIOUS = 0.5  # of the normal approximation, which is a bound


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
            "`structure` must be given: whose margin is wanted? Give a Structure, or a fit.",
            "structure",
        )
    structure = as_structure(structure, "structure")
    if isinstance(data, DependenceMatrix):
        matrix = data.select(structure.item_names)
    else:
        matrix = dependence(picked(data, structure.item_names), measure)
    return structure_margin(matrix.strength, structure, matrix.measure)


def plan(
    design: SurveyDesign | None = None,
    n_factors: int | None = None,
    items_per_factor: int | Sequence[int] = 5,
    loading: float | Sequence[float] | npt.ArrayLike | pd.DataFrame = 0.7,
    factor_correlation: float | npt.ArrayLike = 0.0,
    levels: int | None = None,
    measure: str = "spearman",
    error: float = 0.05,
    sharp: bool = True,
    n_draws: int = 2000,
    most_rows: int = 20_000,
    seed: Seed = None,
    n_jobs: Jobs = None,
    progress: Progress = None,
) -> SurveyPlan:
    """Work out how many people a survey needs, from what its designer knows.

    Items per factor, loadings and factor correlations give the population dependence, hence the
    margin, hence the number of people: by guarantee (Lemma 2, and its local form), by normal
    approximation, and by simulation of the survey. Three things may be wanted: that one threshold
    separates all pairs (the paper's condition), that every factor is seen at its own threshold, or
    that :func:`dtstat.fit` finds exactly the factors. These are different events, so that a smaller
    number for one is no better bound of another. Guarantees are for the threshold in the middle of
    the gap and for items without ties: for ratings (``levels``) there is none, only simulation.

    Parameters
    ----------
    design
        Result of :func:`dtstat.survey_design`; or else its arguments:
    n_factors, items_per_factor, loading, factor_correlation, levels
        As in :func:`dtstat.survey_design`.
    measure
        A name from :func:`dtstat.measures`.
    error
        Probability of error that is accepted, in (0, 1).
    sharp
        As in :func:`dtstat.error_bound`.
    n_draws
        Surveys simulated around each answer; 0 for no simulation.
    most_rows
        Number of people at which simulation gives up.
    seed
        Whole number; None for a fresh one, recorded in the result.
    n_jobs, progress
        Processes, and progress.

    Returns
    -------
    SurveyPlan

    Raises
    ------
    InputError
        If an argument is out of range, or the measure unknown.

    Notes
    -----
    Cost of 2000 draws with 25 items: some seconds for the first two targets, half a minute for
    ``fit``.

    Examples
    --------
    >>> import dtstat as dt
    >>> plan = dt.plan(n_factors=5, loading=0.7, factor_correlation=0.3, n_draws=0)
    >>> plan.table[["target", "guarantee", "normal"]].head(2)
        target  guarantee  normal
    0    graph     2061.0   440.0
    1  factors     1911.0   381.0
    """
    find_measure(measure)
    accepted = checks.open_unit("error", error, "0.05 accepts one failure in twenty.")
    exact = checks.flag("sharp", sharp, "False is the paper's form.")
    draws = checks.integer("n_draws", n_draws, 0, "2000 is the default; 0 for no simulation.")
    most = checks.integer("most_rows", most_rows, 10, "20000 is the default.")
    if design is None:
        design = survey_design(n_factors, items_per_factor, loading, factor_correlation, levels)
    elif not isinstance(design, SurveyDesign):
        raise InputError(
            f"`design` must be made by survey_design(); got {type(design).__name__}.", "design"
        )
    elif n_factors is not None:
        raise checks.refusal("n_factors", "left out with `design`", n_factors, "It has its own.")
    jobs, number = check_jobs(n_jobs), seed_number(seed)
    expected = SurveyPlan(design, measure, accepted, exact, {}, number)
    if not draws:
        return expected
    found = _simulate(expected, draws, most, jobs, progress)
    return SurveyPlan(design, measure, accepted, exact, found, number)


def _simulate(
    expected: SurveyPlan, n_draws: int, most_rows: int, n_jobs: Jobs, progress: Progress
) -> dict[str, RecoveryCurve]:
    """Search for the number of people, target by target, starting from the approximation."""
    normal = dict(zip(expected.table["target"], expected.table["normal"], strict=True))
    found: dict[str, RecoveryCurve] = {}
    for key, (target, recovers) in enumerate(
        events(expected.design, planned_call(expected)).items()
    ):
        start = normal["factors" if target == "fit" else target]
        rows = round(_CAUTIOUS * start) if start == start else _START
        found[target] = rows_for_recovery(
            recovers,
            min(1 - expected.error, _SUREST),
            rows,
            n_draws,
            int(np.random.SeedSequence([expected.seed, key]).generate_state(1, np.uint64)[0]),
            n_jobs,
            progress,
            most_rows,
        )
    return found


def planned_call(plan: SurveyPlan) -> FitCall:
    """Return what ``fit`` is asked for: its defaults."""
    return FitCall(
        measure=plan.measure,
        search="barcode",
        thresholds="exact",
        estimator="copula",
        criterion="ebic",
        min_children=min(3, int(plan.design.support.sum(axis=0).min())),
        uncovered="attach",
        refine=bool((plan.design.support.sum(axis=1) > 1).any()),
        missing="pairwise",
        misfit="estimated",
        seed=None,
        version=__version__,
    )
