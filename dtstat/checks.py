"""Checks of scalar arguments: what was wrong, what was got, what to do.

Whole numbers may arrive as floats, because R has no other numbers by default.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from numbers import Real
from pathlib import Path

import numpy as np

from dtstat.errors import InputError, nearest


def integer(name: str, value: object, at_least: int, advice: str) -> int:
    """Return ``value`` as an int if it is a whole number of at least ``at_least``."""
    number = _real(value)
    if not (number.is_integer() and number >= at_least):
        raise refusal(name, f"a whole number of at least {at_least}", value, advice)
    # not int(number): a seed may have more digits than a float
    return int(value)  # type: ignore[call-overload, no-any-return]


def positive(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if 0 < value < ∞."""
    number = _real(value)
    if not 0 < number < math.inf:
        raise refusal(name, "a positive number", value, advice)
    return number


def unit_interval(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if 0 ≤ value ≤ 1."""
    number = _real(value)
    if not 0 <= number <= 1:
        raise refusal(name, "a number in [0, 1]", value, advice)
    return number


def positive_unit(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if 0 < value ≤ 1."""
    number = _real(value)
    if not 0 < number <= 1:
        raise refusal(name, "a number in (0, 1]", value, advice)
    return number


def open_unit(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if 0 < value < 1."""
    number = _real(value)
    if not 0 < number < 1:
        raise refusal(name, "a number in (0, 1)", value, advice)
    return number


def proportion(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if 0 ≤ value < 1."""
    number = _real(value)
    if not 0 <= number < 1:
        raise refusal(name, "a number in [0, 1)", value, advice)
    return number


def finite(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if it is neither infinite nor missing."""
    number = _real(value)
    if not math.isfinite(number):
        raise refusal(name, "a finite number", value, advice)
    return number


def choice(name: str, value: object, known: Iterable[str]) -> str:
    """Return ``value`` if it is one of the ``known`` names."""
    known = tuple(known)
    if not isinstance(value, str) or value not in known:
        raise unknown(name, "a known name", value, known)
    return value


def unknown(name: str, wanted: str, value: object, known: Iterable[str]) -> InputError:
    """Build the error for a name that is none of the ``known``, with a suggestion."""
    return refusal(name, wanted, value, nearest(value if isinstance(value, str) else "", known))


def writable(path: str | os.PathLike[str]) -> Path:
    """Return the file to write; refuse, before any work is done, one that cannot be written."""
    if not isinstance(path, str | os.PathLike):
        raise refusal("path", "the name of a file", path, 'Give one such as "report.html".')
    file = Path(path)
    try:
        why = _obstacle(file)
    except OSError as error:  # such as a name that is too long
        why = f"{error.strerror or error}. Choose another name."
    if why:
        raise InputError(f"Cannot write '{file}': {why}", "path")
    return file


def _obstacle(file: Path) -> str:
    """Say what is in the way of writing a file; "" if nothing is."""
    if "\0" in os.fspath(file):  # of such a name the system says that it is not there
        return "it has a null byte in its name."
    if not file.parent.is_dir():
        return f"there is no folder '{file.parent}'."
    if file.is_dir():
        return "it is a folder. Name a file in it."
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        return "permission denied. Choose another folder."
    return ""


def refusal(name: str, wanted: str, value: object, advice: str) -> InputError:
    """Build the error for argument ``name``, which should have been ``wanted``."""
    got = value.item() if isinstance(value, np.generic) else value
    return InputError(f"`{name}` must be {wanted}; got {got!r}. {advice}", name)


def _real(value: object) -> float:
    """Return ``value`` as a float, NaN (which fails every check) if it is no number."""
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    return math.nan
