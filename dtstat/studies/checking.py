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
