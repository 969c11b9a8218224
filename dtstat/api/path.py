"""From answers to the path of candidate structures."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Literal, get_args, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from dtstat import checks
from dtstat.arrays import FloatArray
from dtstat.data import ItemData, as_items
from dtstat.data.sources import columns_of
from dtstat.dependence import DependenceMatrix, SparseDependence, dependence_matrix
from dtstat.dependence.blocks import MEMORY, Floor, sparse_dependence
from dtstat.dependence.compute import Missing, PairFunction
from dtstat.errors import InputError
from dtstat.execution.parallel import Jobs, check_jobs
from dtstat.execution.threads import one_thread
from dtstat.progress import Progress
from dtstat.results import SolutionPath
from dtstat.structure.barcode import Barcode, barcode, sparse_barcode
from dtstat.structure.path import candidates

Data = pd.DataFrame | npt.ArrayLike | str | os.PathLike[str] | ItemData | DependenceMatrix
Thresholds = Literal["exact"] | int | Iterable[float]

_MOST_THRESHOLDS = 1_000_000  # far more than a path of any survey has structures
_GRID = "The paper uses 50, spaced evenly on [0, 1]."


def items(data: Any, kinds: Any = None) -> ItemData:
    """Check survey answers, and say what kind each item is.

    Every function that takes ``data`` does this by itself. Call it to see what was detected, or
    to say otherwise before a measure that depends on it (polychoric, tetrachoric, mixed).

    Parameters
    ----------
    data
        DataFrame, 2-d array, or path of a file; people in rows, items in columns.
    kinds
        "binary", "ordinal" or "continuous" for all items, or a dict for some. The others are
        detected: two distinct values are binary; an ordered categorical, or at most ten whole
        numbers, is ordinal; anything else is continuous.

    Examples
    --------
    >>> import dtstat as dt
    >>> dt.items(dt.load_dataset("political_democracy"), kinds={"y1": "ordinal"})
    <ItemData: 75 rows, 11 items (1 ordinal, 10 continuous), 0 missing>
    """
    return as_items(data, kinds)


@overload
def dependence(
    data: Data,
    measure: str | PairFunction = "spearman",
    missing: Missing = "pairwise",
    n_jobs: Jobs = None,
    progress: Progress = None,
    floor: None = None,
    memory: float = MEMORY,
) -> DependenceMatrix: ...


@overload
def dependence(
    data: Data | SparseDependence,
    measure: str | PairFunction = "spearman",
    missing: Missing = "pairwise",
    n_jobs: Jobs = None,
    progress: Progress = None,
    floor: Floor | None = None,
    memory: float = MEMORY,
) -> DependenceMatrix | SparseDependence: ...


def dependence(
    data: Data | SparseDependence,
    measure: str | PairFunction = "spearman",
    missing: Missing = "pairwise",
    n_jobs: Jobs = None,
    progress: Progress = None,
    floor: Floor | None = None,
    memory: float = MEMORY,
) -> DependenceMatrix | SparseDependence:
    """Measure the dependence of every pair of items.

    Signs are kept, but all that follows uses absolute values, so reverse-keyed items need no
    recoding.

    Parameters
    ----------
    data
        DataFrame, 2-d array, path of a file, or ItemData. A DependenceMatrix is returned as it is.
        With ``floor`` it is read some columns at a time, and need not fit into memory: a file
        ending in .parquet or .npy, a memory-mapped array, a dask array or dataframe.
    measure
        A name from :func:`dtstat.measures`, or a function of two columns that returns a number
        in [-1, 1]. Rank measures see monotone dependence; distance, hsic, maximal and xi see any.
    missing
        "pairwise": each pair on the rows both items have; "listwise": rows without any gap;
        "error": refuse gaps.
    n_jobs
        Workers: threads here; -1 for all cores. Does not change the result. None: one, or inside
        ``joblib.parallel_config`` what that says, such as the workers of a dask cluster. Measures
        that are one matrix product (distance, hsic, maximal) leave threads to the linear algebra
        library.
    progress
        True for a bar, or a function of (done, total).
    floor
        For thousands of items: keep only the pairs with |r| above this number, from which the path
        is exact; "chance" for the least floor that makes sense, above which items that are all
        independent have one neighbour on average. None: keep all pairs.
    memory
        With ``floor``: GB that blocks, prepared items and pairs may take. The floor is raised, with
        a warning, if there are more pairs.

    Returns
    -------
    DependenceMatrix, or with ``floor`` SparseDependence

    Raises
    ------
    InputError
        If the data cannot be used, or a pair has fewer than 3 rows in common.

    Warns
    -----
    DataWarning
        If two items determine each other, the floor was raised, or, without a floor, a pair has few
        rows in common.

    Notes
    -----
    Cost: p²/2 pairs, each as :func:`dtstat.measures` says.

    Examples
    --------
    >>> import dtstat as dt
    >>> dt.dependence(dt.load_dataset("holzinger_swineford_9"), measure="kendall")
    DependenceMatrix: kendall of 9 items, 301 rows
    """
    jobs = check_jobs(n_jobs)
    if isinstance(data, DependenceMatrix | SparseDependence):
        _check_no_floor(floor)
        return data
    if floor is None:
        with one_thread():
            return dependence_matrix(as_items(data), measure, missing, jobs, progress)
    advice = "Pairs with |r| above it are kept."
    chance = isinstance(floor, str) and floor == "chance"
    least: Floor = "chance" if chance else checks.proportion("floor", floor, advice)
    allowed = checks.positive("memory", memory, "It is in GB.")
    _check_missing(missing)
    with one_thread():
        return sparse_dependence(columns_of(data), measure, least, allowed, missing, jobs, progress)


def _check_no_floor(floor: object) -> None:
    if floor is not None:
        advice = "A matrix has been computed already. Give the data."
        raise checks.refusal("floor", "left out with a matrix", floor, advice)


def _check_missing(missing: str) -> None:
    if checks.choice("missing", missing, get_args(Missing)) == "listwise":
        raise InputError(
            "`missing` must be 'pairwise' or 'error' with `floor`; got 'listwise'. Drop the rows "
            "with gaps yourself, or leave out `floor`.",
            "missing",
        )


def solution_path(
    data: Data | SparseDependence,
    measure: str | PairFunction = "spearman",
    thresholds: Thresholds = "exact",
    min_children: int = 3,
    missing: Missing = "pairwise",
    n_jobs: Jobs = None,
    progress: Progress = None,
    floor: Floor | None = None,
    memory: float = MEMORY,
) -> SolutionPath:
    """Find every factor structure that dependence thresholding can produce.

    For each threshold τ the items are joined by Ê(τ) = {(i, j): |r_ij| > τ}; the independent
    maximal cliques of that graph are the factors (Algorithm 1, steps 1 to 7). The exact path has
    every distinct structure over all τ in [0, 1] with the interval of thresholds that gives it.

    Parameters
    ----------
    data
        DataFrame, 2-d array, path of a file, ItemData, DependenceMatrix or SparseDependence.
    measure, missing, n_jobs, progress, memory
        As in :func:`dtstat.dependence`.
    thresholds
        "exact" for all of them; a whole number k for k evenly spaced on [0, 1], as in the paper
        (k = 50); or the thresholds themselves.
    min_children
        Smallest number of items of a factor, at least 2.
    floor
        As in :func:`dtstat.dependence`: for thousands of items, the smallest threshold. From there
        up the path is that of all pairs.

    Returns
    -------
    SolutionPath

    Raises
    ------
    InputError
        If the data or a threshold cannot be used.

    Notes
    -----
    Cost after the dependence matrix: sorting each row of it. No threshold is visited.

    Examples
    --------
    >>> import dtstat as dt
    >>> path = dt.solution_path(dt.load_dataset("holzinger_swineford_9"))
    >>> path.at(0.3)
    Structure: 2 factors, 9 items
      F1: x4 x5 x6
      F2: x7 x8 x9
      in no factor: x1 x2 x3
    """
    wanted = check_thresholds(thresholds)
    smallest = check_children(min_children)
    matrix = dependence(data, measure, missing, n_jobs, progress, floor, memory)
    if isinstance(matrix, SparseDependence):
        bars = _sparse_barcode(matrix, smallest, check_jobs(n_jobs), progress)
    else:
        bars = barcode(matrix.values, matrix.names, smallest)
    return SolutionPath(matrix, candidates(bars, wanted), smallest, wanted, bars)


def _sparse_barcode(
    graph: SparseDependence, smallest: int, n_jobs: Jobs, progress: Progress
) -> Barcode:
    strengths = np.abs(graph.values)
    return sparse_barcode(
        graph.starts,
        graph.neighbours,
        strengths,
        graph.floor,
        graph.names,
        smallest,
        n_jobs,
        progress,
    )


def check_children(min_children: object) -> int:
    """Return the fewest items of a factor."""
    return checks.integer("min_children", min_children, 2, "A single item is not a factor.")


def check_thresholds(thresholds: Thresholds) -> FloatArray | None:
    """Return the thresholds to visit, rising; None for all there are."""
    if isinstance(thresholds, str):
        if thresholds == "exact":
            return None
        wanted = "'exact', a number of thresholds, or numbers in [0, 1]"
        raise checks.refusal("thresholds", wanted, thresholds, "'exact' is all of them.")
    if isinstance(thresholds, float) and 0 < thresholds < 1:
        raise InputError(
            f"`thresholds` must be 'exact', a number of thresholds, or a list of them; "
            f"got {thresholds}. For this one threshold give [{thresholds}].",
            "thresholds",
        )
    if not isinstance(thresholds, Iterable):
        return np.linspace(
            0.0, 1.0, checks.integer("thresholds", thresholds, 2, _GRID, _MOST_THRESHOLDS)
        )
    try:
        values: FloatArray = np.unique(np.asarray(list(thresholds), dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise checks.refusal(
            "thresholds", "numbers in [0, 1]", thresholds, "Or 'exact' for all of them."
        ) from None
    outside = values[~((values >= 0) & (values <= 1))]
    if outside.size or not values.size:
        got = f"{outside[0]:g}" if outside.size else "none"
        raise InputError(
            f"`thresholds` must be numbers in [0, 1]; got {got}. "
            "They are compared with absolute dependence.",
            "thresholds",
        )
    return values
