"""Doing the pieces of a study that are not in its ledger yet, side by side if wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from joblib import Parallel, delayed

from dtstat.errors import DTError, MissingExtraError
from dtstat.progress import Progress, track
from dtstat.studies.ledger import Ledger
from dtstat.studies.ledger_lines import Record

Task = tuple[str | int | float, ...]
Work = Callable[..., Record]


def run_missing(
    tasks: Sequence[Task],
    names: Sequence[str],
    work: Work,
    ledger: Ledger,
    n_jobs: int = 1,
    progress: Progress = None,
) -> tuple[Record, ...]:
    """Do the tasks that the ledger lacks; return the records of all, in the order of the tasks.

    Parameters
    ----------
    tasks
        What is to be done; each is the arguments of one call of ``work``.
    names
        What the parts of a task are called in a record.
    work
        Function of the parts of a task that returns what to record besides them.
    ledger
        Where finished tasks are; this process alone writes to it, each as soon as it is done.
    n_jobs
        Processes; -1 for all cores.
    progress
        True for a bar, or a function of (done, total), both of the missing tasks.
    """
    done = {tuple(record[name] for name in names): record for record in ledger.finished}
    missing = [task for task in tasks if task not in done]
    results = _results(work, missing, n_jobs)
    for task, outcome in track(results, progress, "data sets", total=len(missing)):
        done[task] = {**dict(zip(names, task, strict=True)), **outcome}
        ledger.append(done[task])
    return tuple(done[task] for task in tasks)


def _results(work: Work, tasks: Sequence[Task], n_jobs: int) -> Iterator[tuple[Task, Record]]:
    """Yield every task with its outcome, in the order they are finished."""
    if n_jobs == 1 or len(tasks) < 2:
        return ((task, work(*task)) for task in tasks)
    pool = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    finished: Iterator[tuple[Task, Record]] = pool(delayed(_apart)(work, task) for task in tasks)
    return finished


def _apart(work: Work, task: Task) -> tuple[Task, Record]:
    """Do a task in a process of its own."""
    try:
        return task, work(*task)
    except MissingExtraError as error:  # cannot be sent to another process
        raise DTError(str(error)) from None
