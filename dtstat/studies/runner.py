"""What the studies share: running what is not in the ledger yet, argument checks, table cells."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd

from dtstat.core import checks
from dtstat.core.checkpoints import Ledger, Record
from dtstat.core.parallel import Jobs, Progress, run, track

Task = tuple[str | int | float, ...]
Work = Callable[..., Record]
Number = TypeVar("Number", int, float)

MOST_ROWS = 10_000  # with 15,000 items; a data set of more does not fit into the memory
SPREAD = ("mean", "sd", "se")
_WIDTH = 100


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
        Workers, as in :func:`dtstat.core.parallel.run`.
    progress
        True for a bar, or a function of (done, total), both of the missing tasks.
    """
    whole = [record for record in ledger.finished if record.keys() >= set(names)]
    done = {tuple(record[name] for name in names): record for record in whole}
    missing = [task for task in tasks if task not in done]
    results = run(_Unpacked(work), missing, n_jobs)
    for k, outcome in track(results, progress, "data sets", total=len(missing)):
        done[missing[k]] = {**dict(zip(names, missing[k], strict=True)), **outcome}
        ledger.append(done[missing[k]])
    return tuple(done[task] for task in tasks)


@dataclass(frozen=True)
class _Unpacked:
    """A function of a whole task, made from one of its parts."""

    work: Work

    def __call__(self, task: Task) -> Record:
        return self.work(*task)


def check_names(name: str, given: str | Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return the names, each once; refuse none at all and those that are not known."""
    wanted = checks.texts(name, given, f"Known: {', '.join(known)}.")
    if not wanted:
        raise checks.unknown(name, f"one or more {name}", wanted, known)
    return tuple(dict.fromkeys(checks.choice(name, one, known) for one in wanted))


def check_each(given: Any, check: Callable[[object], Number]) -> tuple[Number, ...]:
    """Return one or several numbers, each checked and once."""
    one = isinstance(given, str) or not isinstance(given, Iterable) or checks.is_scalar(given)
    wanted = [given] if one else list(given)
    return tuple(dict.fromkeys(check(one) for one in wanted))


def check_seed(seed: object) -> int:
    """Return the whole number that all data sets derive from."""
    return checks.integer("seed", seed, 0, "The same number gives the same data sets.")


def spread_columns(group: pd.DataFrame, name: str) -> dict[str, float]:
    """Return mean, standard deviation and standard error of a column, as in f1_mean."""
    mean, sd = float(group[name].mean()), float(group[name].std(ddof=1))
    return {f"{name}_mean": mean, f"{name}_sd": sd, f"{name}_se": sd / math.sqrt(len(group))}


def number(value: float) -> str:
    """Three decimals; a dash for what one data set cannot tell."""
    return "-" if math.isnan(value) else f"{value:.3f}"


def duration(seconds: float) -> str:
    """Seconds; of ten and more one decimal is enough."""
    return f"{seconds:.1f}" if seconds >= 10 else number(seconds)


def warning_notes(warned: int) -> tuple[str, ...]:
    """Say how many choices came with warnings; nothing if none did."""
    choices = "1 choice" if warned == 1 else f"{warned} choices"
    return (f"{choices} came with warnings; see the records.",) if warned else ()


def wrap_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """Cut lines that are too long; what follows is set below what came after the label."""
    cut = (
        textwrap.wrap(line, _WIDTH, subsequent_indent=" " * 8, break_on_hyphens=False)
        for line in lines
    )
    return tuple(part for parts in cut for part in parts)
