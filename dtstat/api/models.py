"""Fitting models: confirmatory, structural, exploratory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pandas as pd

from dtstat import checks
from dtstat.api.given import Given, as_matrix, as_model, as_moments
from dtstat.api.path import Data, dependence
from dtstat.data import ItemData, as_frame, as_items, has_names
from dtstat.dependence import DependenceMatrix
from dtstat.errors import InputError
from dtstat.estimation.efa.adequacy import KMO, BartlettTest
from dtstat.estimation.efa.adequacy import bartlett_test as sphericity_test
from dtstat.estimation.efa.adequacy import kmo as sampling_adequacy
from dtstat.estimation.sem import plan
from dtstat.estimation.sem.model import build_model
from dtstat.estimation.sem.orientation import oriented
from dtstat.execution.threads import one_thread
from dtstat.progress import Progress
from dtstat.results import CFAFit, EFAFit, ParallelAnalysis, SEMCall
from dtstat.results.efa import fit_efa
from dtstat.results.parallel import run_parallel_analysis
from dtstat.structure import Structure
from dtstat.version import __version__


def cfa(
    data: Data,
    model: Given,
    estimator: str = "ml",
    missing: str = "listwise",
    ordered: bool | Iterable[str] | None = None,
    std_lv: bool = False,
    orthogonal: bool = False,
    mean_structure: bool | None = None,
    n_obs: int | None = None,
) -> CFAFit:
    """Fit a confirmatory factor model, or any structural equation model.

    The model is completed as lavaan's ``cfa`` does: residual variances, correlated factors, and
    the first loading of every factor fixed at 1.

    Parameters
    ----------
    data
        DataFrame, 2-d array, path of a file, or ItemData; columns the model does not name are
        ignored. For estimator "ml" a covariance matrix with ``n_obs`` serves as well, and for
        models that do not depend on the scales of the items a DependenceMatrix of Pearson
        correlations.
    model
        Text in lavaan's syntax, in which columns may have the names that R makes of theirs; or a
        Structure, a result of :func:`dtstat.fit`, or a scoring key (dict from factor to items):
        every factor measured by its children, pointing where the first of them that is not
        reversed points.
    estimator
        "ml": maximum likelihood; "mlr": the same estimates with standard errors and tests that
        do not need normal answers; "fiml": as ``missing="fiml"``; "dwls": for ordinal items,
        from polychoric correlations.
    missing
        "listwise": rows without any gap; "fiml": all rows, by the likelihood of what each
        observes (answers missing at random).
    ordered
        Items to take as ordinal, or True for all; makes the estimator "dwls".
    std_lv
        Whether to fix the variances of the factors at 1 instead of their first loadings.
    orthogonal
        Whether factors, and what regressions leave of them, are uncorrelated.
    mean_structure
        Whether to estimate intercepts; by default only when rows have gaps.
    n_obs
        Number of rows behind a covariance matrix.

    Returns
    -------
    CFAFit

    Raises
    ------
    InputError
        If the data or the model cannot be used.
    EstimationError
        If the model is not identified, cannot be fitted to these data, or does not converge.

    Warns
    -----
    EstimationWarning
        If the solution is improper (negative variances, correlations beyond 1), or a factor has
        one item.

    Notes
    -----
    Cost: some ten steps of Fisher scoring, O(p³ + p² q) each for p items and q parameters; with
    "fiml" O(m q²) more for each pattern of m gaps.

    Examples
    --------
    >>> import dtstat as dt
    >>> model = "textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
    >>> fit = dt.cfa(dt.load_dataset("holzinger_swineford_9"), model)
    >>> fit
    CFAFit: 2 factors, 6 items, 301 rows, ml; chisq(8) = 14.354, CFI 0.990, RMSEA 0.051
    >>> fit.loadings.round(2)["speed"].tolist()
    [0.0, 0.0, 0.0, 0.62, 0.77, 0.59]
    """
    wanted = plan.wanted_ordered(ordered)
    method, gaps = plan.chosen_estimator(estimator, missing, bool(wanted))
    means = _mean_structure(mean_structure, gaps)
    data = as_frame(data) if isinstance(data, str | os.PathLike) else data
    given = as_moments(data, n_obs)
    frame = pd.DataFrame() if given is not None else _sem_columns(data)
    names = list(map(str, frame.columns)) if given is None else list(given.names)
    fixed = checks.flag("std_lv", std_lv, "True fixes the variances of the factors.")
    apart = checks.flag("orthogonal", orthogonal, "True keeps factors uncorrelated.")
    wished = as_model(model)
    built = build_model(wished, names, means, fixed, apart)
    ordinal = plan.ordered_items(method, wanted, built.observed)
    single = plan.warn_of_single_items(built)
    with one_thread():
        if given is not None:
            matrix = data if isinstance(data, DependenceMatrix) else None
            estimate = plan.fit_given(built, given, matrix, method)
        else:
            items = as_items(_chosen(frame, names, built.observed))
            estimate = plan.fit_items(built, items, method, gaps, ordinal)
        if isinstance(wished, Structure) and fixed:
            estimate = oriented(estimate, wished)
    call = SEMCall(
        version=__version__,
        model=wished.to_lavaan() if isinstance(wished, Structure) else wished,
        estimator=method,
        missing="fiml" if gaps else "listwise",
        ordered=ordinal,
        std_lv=fixed,
        orthogonal=apart,
        mean_structure=built.mean_structure,
    )
    return CFAFit(estimate, call, (*single, *estimate.notes))


def sem(
    data: Data,
    model: Given,
    estimator: str = "ml",
    missing: str = "listwise",
    ordered: bool | Iterable[str] | None = None,
    std_lv: bool = False,
    orthogonal: bool = False,
    mean_structure: bool | None = None,
    n_obs: int | None = None,
) -> CFAFit:
    """Fit a structural equation model: the same function as :func:`dtstat.cfa`.

    Examples
    --------
    >>> import dtstat as dt
    >>> model = "ind60 =~ x1 + x2 + x3; dem60 =~ y1 + y2 + y3 + y4; dem60 ~ ind60"
    >>> fit = dt.sem(dt.load_dataset("political_democracy"), model)
    >>> round(float(fit.r_squared["dem60"]), 3)
    0.212
    """
    return cfa(data, model, estimator, missing, ordered, std_lv, orthogonal, mean_structure, n_obs)


def efa(
    data: Data,
    n_factors: int,
    rotation: str = "oblimin",
    method: str = "minres",
    n_obs: int | None = None,
) -> EFAFit:
    """Fit an exploratory factor model, to compare a structure with the classical way.

    Parameters
    ----------
    data
        DataFrame, 2-d array, path of a file or ItemData (Pearson correlations are taken, on the
        rows each pair has in common), a DependenceMatrix, or a covariance or correlation matrix
        with ``n_obs``.
    n_factors
        Number of factors.
    rotation
        "oblimin", "promax", "varimax" or "none".
    method
        "minres" or "ml".
    n_obs
        Number of rows behind a matrix; of a DependenceMatrix that does not know it, it may be left
        out, but tests and RMSEA need it.

    Returns
    -------
    EFAFit

    Examples
    --------
    >>> import dtstat as dt
    >>> fit = dt.efa(dt.load_dataset("holzinger_swineford_9"), n_factors=3)
    >>> fit.to_structure(cutoff=0.3).n_factors
    3
    """
    given = as_matrix(data, n_obs)
    given = given if isinstance(given, DependenceMatrix) else as_items(given)
    with one_thread():
        return fit_efa(given, n_factors, method, rotation, n_obs)


def parallel_analysis(
    data: Data,
    n_obs: int | None = None,
    n_iter: int = 20,
    quantile: float = 0.95,
    measure: str = "pearson",
    seed: int | None = None,
    progress: Progress = None,
) -> ParallelAnalysis:
    """Suggest a number of factors: those stronger than factors of noise (Horn 1965).

    Parameters
    ----------
    data
        As in :func:`dtstat.efa`; not a matrix of polychoric, tetrachoric or mixed correlations,
        whose noise needs the answers.
    n_obs
        Number of rows behind a matrix that does not know it.
    n_iter
        Number of data sets of noise.
    quantile
        Of their eigenvalues, the one to be exceeded.
    measure
        Correlations of answers: "pearson", "polychoric", "tetrachoric" or "mixed". Beside the last
        three, noise is cut where the items are and has the same gaps. A DependenceMatrix has its
        own.
    seed
        The same seed gives the same answer.
    progress
        True for a bar, or a function of (done, total).

    Returns
    -------
    ParallelAnalysis

    Raises
    ------
    InputError
        If the data or an argument cannot be used.

    Notes
    -----
    Cost: two matrices per data set of noise, as :func:`dtstat.dependence` computes them; 2800 rows
    of 25 ratings by "polychoric": about a second.

    Examples
    --------
    >>> import dtstat as dt
    >>> dt.parallel_analysis(dt.load_dataset("holzinger_swineford_9"), seed=1).n_factors
    3
    """
    given = as_matrix(data, n_obs)
    given = given if isinstance(given, DependenceMatrix) else as_items(given)
    with one_thread():
        return run_parallel_analysis(given, n_obs, n_iter, quantile, measure, seed, progress)


def kmo(data: Data) -> KMO:
    """Measure whether the items are fit for factor analysis (Kaiser-Meyer-Olkin).

    Parameters
    ----------
    data
        As in :func:`dtstat.efa`.

    Returns
    -------
    KMO
        ``overall``, and ``per_item`` in the order of the items. Above .8 is good, below .5
        unacceptable (Kaiser 1974).

    Examples
    --------
    >>> import dtstat as dt
    >>> round(dt.kmo(dt.load_dataset("holzinger_swineford_9")).overall, 2)
    0.75
    """
    matrix = _correlations(data)
    with one_thread():
        return sampling_adequacy(matrix.values, matrix.names)


def bartlett_test(data: Data) -> BartlettTest:
    """Test whether the items are correlated at all (Bartlett's test of sphericity).

    Parameters
    ----------
    data
        As in :func:`dtstat.efa`; a matrix must know its ``n_obs``, and be of Pearson or Spearman
        correlations: others vary otherwise where items are unrelated.

    Raises
    ------
    InputError
        If the matrix is of another measure, or does not know its rows.

    Examples
    --------
    >>> import dtstat as dt
    >>> dt.bartlett_test(dt.load_dataset("holzinger_swineford_9")).df
    36
    """
    matrix = _correlations(data)
    if matrix.measure not in ("pearson", "spearman"):
        raise InputError(
            f"`data` is a matrix of the measure '{matrix.measure}', of which Bartlett's test is "
            "not valid. Give the data, or Pearson or Spearman correlations.",
            "data",
        )
    with one_thread():
        return sphericity_test(matrix.values, plan.rows_behind(matrix), matrix.names)


def _correlations(data: Data) -> DependenceMatrix:
    return data if isinstance(data, DependenceMatrix) else dependence(data, "pearson")


def _mean_structure(wanted: bool | None, gaps: bool) -> bool:
    if wanted is not None:
        wanted = checks.flag("mean_structure", wanted, "True estimates intercepts.")
    if gaps and wanted is False:
        raise InputError(
            "`mean_structure` cannot be False when rows have gaps: the likelihood of what a row "
            "observes needs means. Leave it out, or use missing='listwise'.",
            "mean_structure",
        )
    return gaps or bool(wanted)


def _chosen(frame: pd.DataFrame, names: list[str], wanted: tuple[str, ...]) -> pd.DataFrame:
    """Columns of the model, in its order; taking columns is slow, so not without need."""
    if tuple(names) == wanted:
        return frame
    return frame.iloc[:, [names.index(name) for name in wanted]]


def _sem_columns(data: Any) -> pd.DataFrame:
    """Answers as a table whose columns the model can choose from before they are checked."""
    if isinstance(data, ItemData) or not has_names(data):
        return as_items(data, screened=False).to_frame()
    return as_frame(data)
