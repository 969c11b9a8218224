"""What users call: exploratory factor analysis, parallel analysis, and tests of adequacy."""

from __future__ import annotations

from dtstat.core.errors import InputError
from dtstat.core.parallel import Progress, one_thread
from dtstat.data.items import ItemData, as_items
from dtstat.dependence.api import Data, dependence
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.moments import as_matrix, rows_behind
from dtstat.efa.adequacy import KMO, BartlettTest
from dtstat.efa.adequacy import bartlett_test as sphericity_test
from dtstat.efa.adequacy import kmo as sampling_adequacy
from dtstat.efa.parallel_analysis import ParallelAnalysis, run_parallel_analysis
from dtstat.efa.result import EFAFit, fit_efa


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
    given = _matrix_or_items(data, n_obs)
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
    given = _matrix_or_items(data, n_obs)
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
        return sphericity_test(matrix.values, rows_behind(matrix), matrix.names)


def _matrix_or_items(data: Data, n_obs: int | None) -> DependenceMatrix | ItemData:
    given = as_matrix(data, n_obs)
    return given if isinstance(given, DependenceMatrix) else as_items(given)


def _correlations(data: Data) -> DependenceMatrix:
    return data if isinstance(data, DependenceMatrix) else dependence(data, "pearson")
