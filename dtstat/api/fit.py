"""From answers to the structure behind them, in one call."""

from __future__ import annotations

from typing import Literal

from dtstat import checks
from dtstat.api.path import Data, Thresholds, check_children, check_jobs, check_thresholds
from dtstat.data import as_items
from dtstat.dependence import DependenceMatrix
from dtstat.dependence.compute import Missing, PairFunction
from dtstat.errors import InputError
from dtstat.progress import Progress
from dtstat.results import DTFit
from dtstat.results.fit import FitCall
from dtstat.results.fitting import Work, check_call, fit_items, fit_matrix
from dtstat.selection.criteria import HELD_OUT
from dtstat.simulation.seeds import Seed, seed_number
from dtstat.version import __version__


def fit(
    data: Data,
    measure: str | PairFunction = "spearman",
    search: Literal["barcode", "threshold"] = "barcode",
    thresholds: Thresholds = "exact",
    estimator: Literal["copula", "linear"] = "copula",
    criterion: str = "ebic",
    min_children: int = 3,
    uncovered: Literal["attach", "report", "error"] = "attach",
    refine: bool = False,
    missing: Missing = "pairwise",
    misfit: Literal["estimated", "none"] = "estimated",
    n_obs: int | None = None,
    seed: Seed = None,
    n_jobs: int = 1,
    progress: Progress = None,
) -> DTFit:
    """Find the factors behind the items, fit them, and say what else was possible.

    Items are joined where their dependence exceeds a threshold; independent maximal cliques are
    candidate factors (Algorithm 1). Candidate structures are fitted as confirmatory factor models
    and one is chosen.

    Parameters
    ----------
    data
        DataFrame, 2-d array, path of a file, ItemData, or a DependenceMatrix.
    measure
        What is thresholded; see :func:`dtstat.measures`.
    search
        "barcode": each factor is a clique at its own threshold, so strong and weak scales are
        found together; "threshold": one threshold for all factors, as in the paper.
    thresholds
        For "threshold": "exact" for all, a number of evenly spaced ones, or a list.
    estimator
        "copula": maximum likelihood on latent correlations from ranks (any increasing item
        response); "linear": on Pearson correlations.
    criterion
        "ebic", "bic" or "aic": fit against number of parameters. "validation": likelihood of a
        fifth of the rows under models of the others; "validation_2se": the smallest structure not
        clearly behind the best of those; "cv": five-fold cross-validation.
    min_children
        Fewest items of a factor.
    uncovered
        Items of no clique: "attach" them to the factor they load on most where the loading pays
        (marked in every table), "report" them, or make it an "error".
    refine
        Whether to add and drop single loadings (cross-loadings) as long as the criterion falls;
        only loadings of at least 0.2 are added.
    missing
        As in :func:`dtstat.dependence`.
    misfit
        "estimated": the model is an approximation; misfit beyond sampling error limits what the
        rows count as evidence (Wu & Browne 2015), so that large surveys do not buy a factor for
        every small misfit. "none": the model is exactly true of some structure.
    n_obs
        Number of rows behind a DependenceMatrix, if it does not know.
    seed
        For criteria that hold out rows: a whole number; None for a fresh one, which the result
        tells.
    n_jobs, progress
        As in :func:`dtstat.dependence`.

    Returns
    -------
    DTFit

    Raises
    ------
    InputError
        If the data or an argument cannot be used.
    EstimationError
        If ``uncovered="error"`` and an item is in no factor.

    Warns
    -----
    EstimationWarning
        If there are fewer rows than items, the correlations had to be smoothed, or an item is
        explained without error.

    Notes
    -----
    Cost: the dependence matrix, some ten maximum-likelihood fits of milliseconds ("threshold":
    as many as the path has structures).

    Examples
    --------
    >>> import dtstat as dt
    >>> fit = dt.fit(dt.load_dataset("holzinger_swineford_9"))
    >>> fit.structure
    Structure: 3 factors, 9 items
      F1: x1 x2 x3
      F2: x4 x5 x6
      F3: x7 x8 x9
    """
    held_out = criterion in HELD_OUT
    if isinstance(data, DependenceMatrix):
        measure = data.measure
    call = FitCall(
        measure=measure if isinstance(measure, str) else getattr(measure, "__name__", "function"),
        search=search,
        thresholds=str(thresholds) if isinstance(thresholds, str | int) else "given",
        estimator=estimator,
        criterion=criterion,
        min_children=check_children(min_children),
        uncovered=uncovered,
        refine=bool(refine),
        missing=missing,
        misfit=misfit,
        seed=seed_number(seed) if held_out else None,
        version=__version__,
    )
    check_call(call)
    grid = check_thresholds(thresholds)
    if grid is not None and search == "barcode":
        raise InputError(
            "`thresholds` goes with search='threshold'; with 'barcode' every factor has its own.",
            "thresholds",
        )
    work = Work(measure, grid, check_jobs(n_jobs), progress)
    if isinstance(data, DependenceMatrix):
        return fit_matrix(data, n_obs, call, work)
    if n_obs is not None:
        raise checks.refusal("n_obs", "left out with data", n_obs, "The rows are counted.")
    return fit_items(as_items(data), call, work)
