"""The margin of a structure, and how many people a survey needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from dtstat import checks
from dtstat.api.fit import picked
from dtstat.api.given import Given, as_structure
from dtstat.api.path import Data, dependence
from dtstat.dependence import DependenceMatrix
from dtstat.dependence.registry import find_measure
from dtstat.errors import InputError
from dtstat.execution.parallel import Jobs, check_jobs
from dtstat.progress import Progress
from dtstat.results.fit_call import FitCall
from dtstat.results.trust.survey_plan import SurveyPlan
from dtstat.results.trust.survey_simulation import events
from dtstat.simulation.seeds import Seed, seed_number
from dtstat.theory.margin import Margin, structure_margin
from dtstat.theory.recovery import RecoveryCurve, rows_for_recovery
from dtstat.theory.survey import SurveyDesign, survey_design
from dtstat.version import __version__

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
