"""The public function: dependence of all pairs of items, or of the strong ones alone."""

from __future__ import annotations

import os
from typing import get_args, overload

import numpy.typing as npt
import pandas as pd

from dtstat.core import checks
from dtstat.core.errors import InputError
from dtstat.core.parallel import Jobs, Progress, check_jobs, one_thread
from dtstat.data.items import ItemData, as_items
from dtstat.data.sources import columns_of
from dtstat.dependence.compute import Missing, PairFunction, dependence_matrix
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.sparse import MEMORY, Floor, SparseDependence, sparse_dependence

Data = pd.DataFrame | npt.ArrayLike | str | os.PathLike[str] | ItemData | DependenceMatrix


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
        "pairwise": each pair on the rows both items have; "listwise": complete rows only;
        "error": refuse missing answers.
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
        independent have one neighbor on average. None: keep all pairs.
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
        if floor is not None:
            advice = "A matrix has been computed already. Give the data."
            raise checks.refusal("floor", "left out with a matrix", floor, advice)
        return data
    if floor is None:
        with one_thread():
            return dependence_matrix(
                as_items(data, progress=progress), measure, missing, jobs, progress
            )
    advice = "Pairs with |r| above it are kept."
    chance = isinstance(floor, str) and floor == "chance"
    least: Floor = "chance" if chance else checks.proportion("floor", floor, advice)
    allowed = checks.positive("memory", memory, "It is in GB.")
    if checks.choice("missing", missing, get_args(Missing)) == "listwise":
        raise InputError(
            "`missing` must be 'pairwise' or 'error' with `floor`; got 'listwise'. Drop the rows "
            "with gaps yourself, or leave out `floor`.",
            "missing",
        )
    with one_thread():
        return sparse_dependence(columns_of(data), measure, least, allowed, missing, jobs, progress)
