"""The paper's first simulation (Section 6.1, Table 1)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial

from dtstat import checks
from dtstat.api.path import check_children
from dtstat.errors import InputError
from dtstat.execution.ledger import Ledger
from dtstat.execution.parallel import Jobs, check_jobs
from dtstat.progress import Progress
from dtstat.studies.checking import MOST_REPS, check_names, check_seed
from dtstat.studies.paper import MODELS, TABLE1_DATA_SETS, TABLE1_ROWS
from dtstat.studies.recovery import RecoveryCall, recover
from dtstat.studies.runner import run_missing
from dtstat.studies.table1_result import Table1Result

DESIGNS = tuple(MODELS)
_DEFAULTS = {"thresholds": 50, "min_children": 2, "estimator": "copula", "criterion": "ebic"}


def table1(
    reps: int = TABLE1_DATA_SETS,
    designs: str | Iterable[str] = DESIGNS,
    n: int = TABLE1_ROWS,
    *,
    estimator: str | None = None,
    criterion: str | None = None,
    min_children: int | None = None,
    thresholds: int | None = None,
    preset: str | None = None,
    seed: int = 1,
    n_jobs: Jobs = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Table1Result:
    """Repeat the paper's first simulation: how well known structures are recovered.

    For each data set two structures are compared with the true one: the most accurate on the
    solution path (oracle), and the one :func:`dtstat.fit` chooses from it (likelihood).

    Parameters
    ----------
    reps
        Data sets of each design.
    designs
        Any of "v_structure", "chain" and "double_mediation".
    n
        Rows of a data set.
    estimator, criterion
        What chooses, as in :func:`dtstat.fit`; "copula" and "ebic" if omitted.
    min_children, thresholds
        Fewest items of a factor, and number of thresholds spaced evenly on [0, 1]; 2 and 50 if
        omitted. The paper has 50, and counts single items as factors, as ``preset="paper"`` does.
    preset
        Preset of :func:`dtstat.fit` that chooses, instead of the four arguments above.
    seed
        Whole number. Data set k of a design depends on it, the design and k alone.
    n_jobs
        Processes; -1 for all cores. Does not change the result.
    out
        File to which each data set is added when finished, and not done again in another call
        with the same arguments; ``reps``, ``designs`` and ``n_jobs`` may differ.
    progress
        True for a bar, or a function of (done, total).

    Returns
    -------
    Table1Result

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
    Cost: by the copula about a tenth of a second a data set of 5000 rows.

    The oracle's path is that of all rows. Criteria that validate on a part of them threshold the
    other part, so that their choice need not be on that path.

    Examples
    --------
    >>> from dtstat.studies import table1
    >>> table1(reps=2, designs="chain", n=1000).table()[["selection", "d", "f1_mean"]]
        selection  d  f1_mean
    0      oracle  4      1.0
    1  likelihood  4      1.0
    """
    count = checks.integer("reps", reps, 1, f"The paper uses {TABLE1_DATA_SETS}.", MOST_REPS)
    chosen = check_names("designs", designs, DESIGNS)
    given = {
        "thresholds": thresholds,
        "min_children": min_children,
        "estimator": estimator,
        "criterion": criterion,
    }
    call, jobs = _call(n, seed, preset, given), check_jobs(n_jobs)
    ledger = Ledger.open(out, {"study": "table1", **asdict(call)})
    # One of each design in turn, so that a study that is ended early is balanced.
    tasks = [(design, k) for k in range(1, count + 1) for design in chosen]
    work = partial(recover, call)
    records = run_missing(tasks, ("design", "replicate"), work, ledger, jobs, progress)
    return Table1Result(call, count, chosen, records)


def _call(n: object, seed: object, preset: str | None, given: Mapping[str, object]) -> RecoveryCall:
    """Check the arguments that outcomes depend on; names are left to :func:`dtstat.fit`."""
    clash = [name for name, value in given.items() if value is not None]
    if preset is not None and clash:
        raise InputError(
            f"`{clash[0]}` does not go with `preset`, which sets it; got {given[clash[0]]!r} and "
            f"'{preset}'. Leave out one of them.",
            clash[0],
        )
    chosen = {k: _DEFAULTS[k] if value is None else value for k, value in given.items()}
    return RecoveryCall(
        n=checks.integer("n", n, 3, f"The paper uses {TABLE1_ROWS}."),
        seed=check_seed(seed),
        thresholds=checks.integer(
            "thresholds", chosen["thresholds"], 2, "The paper uses 50.", MOST_REPS
        ),
        min_children=check_children(chosen["min_children"]),
        estimator=None if preset else str(chosen["estimator"]),
        criterion=None if preset else str(chosen["criterion"]),
        preset=preset,
    )
