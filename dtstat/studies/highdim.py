"""The paper's second simulation (Section 6.2, its figure)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial

from dtstat import checks
from dtstat.errors import InputError
from dtstat.execution.ledger import Ledger
from dtstat.execution.parallel import Jobs, check_jobs
from dtstat.progress import Progress
from dtstat.studies.checking import MOST_REPS, MOST_ROWS, check_each, check_names, check_seed
from dtstat.studies.highdim_cells import (
    READINGS,
    SEARCHES,
    Cell,
    HighDimCall,
    Task,
    conditions,
    recover_cell,
)
from dtstat.studies.highdim_result import STUDY, HighDimResult
from dtstat.studies.paper import (
    HIGHDIM_CORRELATIONS,
    HIGHDIM_DATA_SETS,
    HIGHDIM_SHARES,
    HIGHDIM_SIZES,
)
from dtstat.studies.runner import run_missing

_FEWEST_ROWS = 20  # two factors


def highdim(
    reps: int = HIGHDIM_DATA_SETS,
    sizes: float | Iterable[float] = HIGHDIM_SIZES,
    *,
    phis: float | Iterable[float] = HIGHDIM_CORRELATIONS,
    shares: float | Iterable[float] = HIGHDIM_SHARES,
    readings: str | Iterable[str] = READINGS,
    searches: str | Iterable[str] = tuple(SEARCHES),
    seed: int = 1,
    n_jobs: Jobs = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> HighDimResult:
    """Repeat the paper's second simulation: recovery in high dimensions, assumptions broken.

    Data sets have n rows, 1.5 n items and 0.1 n factors. Either every two factors correlate at φ,
    or a share of the uncorrelated factors has no unique child. For each data set up to three
    structures are compared with the true one: the most accurate that one threshold gives
    (oracle, as in the paper), and those that :func:`dtstat.fit` finds without knowing the truth,
    as it is (plain) and with ``search="sequential"`` (sequential).

    Parameters
    ----------
    reps
        Data sets of each condition.
    sizes
        Rows n of the data sets, 20 or more.
    phis
        Correlations φ of the factors, where all have unique children.
    shares
        Shares of the factors without unique children, at φ = 0. A share of 0 is the condition of
        φ = 0.
    readings
        What "randomly assigning its children an additional parent" means: each child draws
        its own ("own"), all children of a factor have the same ("shared"), or both in turn.
    searches
        Any of "oracle", "plain" and "sequential".
    seed
        Whole number. Data set k of a condition depends on it, the condition and k alone.
    n_jobs
        Processes; -1 for all cores. Does not change the result, but more of them than cores, or
        other work beside it, lengthen the seconds.
    out
        File to which each outcome is added when finished, and not found again in another call
        with the same ``seed``; all other arguments may differ.
    progress
        True for a bar, or a function of (done, total).

    Returns
    -------
    HighDimResult

    Raises
    ------
    InputError
        If an argument cannot be used, or ``out`` is the ledger of another call.
    EstimationError
        If a data set cannot be fitted.

    Warns
    -----
    DataWarning
        If the last line of ``out`` was cut short.

    Notes
    -----
    Cost: a data set of n = 250 takes about a second and a half, one of n = 1000 one to two minutes,
    nearly all of it for the two fits; the oracle takes seconds.

    The oracle has the paper's 50 thresholds and factors of at least two items. Seconds are those
    from the data to the structure, comparisons with the truth included for the oracle alone.

    Examples
    --------
    >>> from dtstat.studies import highdim
    >>> small = highdim(reps=2, sizes=50, phis=0, shares=(), searches=["oracle", "plain"])
    >>> small.table()[["n", "phi", "search", "d", "data_sets"]]
        n  phi  search  d  data_sets
    0  50  0.0  oracle  5          2
    1  50  0.0   plain  5          2
    """
    count = checks.integer("reps", reps, 1, f"The paper uses {HIGHDIM_DATA_SETS}.", MOST_REPS)
    cells = _cells(sizes, phis, shares, readings)
    chosen = check_names("searches", searches, tuple(SEARCHES))
    call, jobs = HighDimCall(check_seed(seed)), check_jobs(n_jobs)
    ledger = Ledger.open(out, {"study": STUDY, **asdict(call)})
    # One data set of each condition in turn, so that a study that is ended early is balanced.
    tasks = [Task(*cell, k, one) for k in range(1, count + 1) for cell in cells for one in chosen]
    work = partial(recover_cell, call)
    records = run_missing(tasks, Task._fields, work, ledger, jobs, progress)
    return HighDimResult(call, records)


def _cells(
    sizes: object, phis: object, shares: object, readings: str | Iterable[str]
) -> list[Cell]:
    chosen = conditions(
        check_each(sizes, _size),
        check_each(phis, _correlation),
        check_each(shares, _share),
        check_names("readings", readings, READINGS),
    )
    if not chosen:
        raise InputError(
            "There must be one or more conditions; got no `sizes`, or neither `phis` nor `shares`. "
            "Name a level, such as phis=0.",
            "phis",
        )
    return chosen


def _size(n: object) -> int:
    return checks.integer("sizes", n, _FEWEST_ROWS, "The paper uses 250, 500 and 1000.", MOST_ROWS)


def _correlation(phi: object) -> float:
    return checks.proportion("phis", phi, "The paper uses 0, 0.25 and 0.75.")


def _share(share: object) -> float:
    return checks.proportion("shares", share, "The paper uses 0, 0.2 and 0.4.")
