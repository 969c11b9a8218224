"""Doing the pieces of a study that are not in its ledger yet, side by side if wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dtstat.execution.ledger import Ledger
from dtstat.execution.ledger_lines import Record
from dtstat.execution.parallel import Jobs, run
from dtstat.progress import Progress, track

Task = tuple[str | int | float, ...]
Work = Callable[..., Record]


def run_missing(
    tasks: Sequence[Task],
    names: Sequence[str],
    work: Work,
    ledger: Ledger,
    n_jobs: Jobs = None,
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
        Workers, as in :func:`dtstat.execution.parallel.run`.
    progress
        True for a bar, or a function of (done, total), both of the missing tasks.
    """
    whole = [record for record in ledger.finished if record.keys() >= set(names)]
    done = {tuple(record[name] for name in names): record for record in whole}
    missing = [task for task in tasks if task not in done]
    results = run(_Spread(work), missing, n_jobs)
    for k, outcome in track(results, progress, "data sets", total=len(missing)):
        done[missing[k]] = {**dict(zip(names, missing[k], strict=True)), **outcome}
        ledger.append(done[missing[k]])
    return tuple(done[task] for task in tasks)


@dataclass(frozen=True)
class _Spread:
    """A function of a task instead of its parts."""

    work: Work

    def __call__(self, task: Task) -> Record:
        return self.work(*task)
