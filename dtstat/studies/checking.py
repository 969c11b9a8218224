"""Checks of the arguments that studies share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from dtstat import checks

MOST_REPS = 100_000  # more is a slip of the keyboard, and the list of them would fill the memory
MOST_ROWS = 10_000  # with 15,000 items; a data set of more does not fit into the memory

Number = TypeVar("Number", int, float)


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


def check_jobs(n_jobs: object) -> int:
    """Return a number of processes, -1 for all cores."""
    advice = "Give a number of processes, or -1 for all cores."
    jobs = checks.integer("n_jobs", n_jobs, -1, advice)
    if jobs == 0:
        raise checks.refusal("n_jobs", "a number of processes", n_jobs, advice)
    return jobs
