"""Checks of arguments, whose messages say what was wrong, what was got, and what to do.

Whole numbers may arrive as floats, because R has no other numbers by default. A seed becomes one
whole number from which every simulation can be repeated.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dtstat.core.errors import InputError, nearest, shown

# Beyond it not every whole number is a float, and R could not hold it. No count comes near it.
LARGEST_WHOLE = 2**53
MOST_REPEATS = 100_000  # more is a slip of the keyboard, and the list of them would fill the memory
# Numbers that one array may have, 8 GB of them: what asks for more is a slip of the keyboard.
MOST_CELLS = 10**9
_MOST_THRESHOLDS = 1_000_000  # far more than a path of any survey has structures
_GRID = "The paper uses 50, spaced evenly on [0, 1]."
_SEED_BITS = 53  # seeds chosen here are exact in a double, so that R can hold them

Thresholds = str | int | Iterable[float]  # the text is "exact"
Seed = int | np.random.SeedSequence | np.random.Generator | None


def integer(
    name: str, value: object, at_least: int, advice: str, at_most: int | None = LARGEST_WHOLE
) -> int:
    """Return ``value`` as an int if it is a whole number within limits; None for no upper one."""
    whole = isinstance(value, Integral) or _real(value).is_integer()
    if not whole or isinstance(value, bool):
        raise refusal(name, f"a whole number of at least {at_least}", value, advice)
    number: int = int(value)  # type: ignore[call-overload]
    if number < at_least:
        raise refusal(name, f"a whole number of at least {at_least}", value, advice)
    if at_most is not None and number > at_most:
        raise refusal(name, f"a whole number of at most {at_most}", value, advice)
    return number


def repeats(name: str, value: object, at_least: int, advice: str) -> int:
    """Return how often something is to be done, as :func:`integer`, if it may end some day."""
    return integer(name, value, at_least, advice, MOST_REPEATS)


def positive(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if 0 < value < ∞."""
    return _real_where(lambda x: 0 < x < math.inf, "a positive number", name, value, advice)


def unit_interval(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if 0 ≤ value ≤ 1."""
    return _real_where(lambda x: 0 <= x <= 1, "a number in [0, 1]", name, value, advice)


def positive_unit(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if 0 < value ≤ 1."""
    return _real_where(lambda x: 0 < x <= 1, "a number in (0, 1]", name, value, advice)


def open_unit(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if 0 < value < 1."""
    return _real_where(lambda x: 0 < x < 1, "a number in (0, 1)", name, value, advice)


def proportion(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if 0 ≤ value < 1."""
    return _real_where(lambda x: 0 <= x < 1, "a number in [0, 1)", name, value, advice)


def finite(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if it is neither infinite nor missing."""
    return _real_where(math.isfinite, "a finite number", name, value, advice)


def size(name: str, value: object, shape: tuple[int, ...]) -> None:
    """Refuse a number that would make an array larger than the memory of most computers."""
    cells = math.prod(shape)
    if cells > MOST_CELLS:
        wanted = f"so small that no table has more than {MOST_CELLS} numbers"
        raise refusal(name, wanted, value, f"This would need {shown(cells)}.")


def choice(name: str, value: object, known: Iterable[str]) -> str:
    """Return ``value`` if it is one of the ``known`` names."""
    known = tuple(known)
    if not isinstance(value, str) or value not in known:
        raise unknown(name, "a known name", value, known)
    return value


def flag(name: str, value: object, advice: str) -> bool:
    """Return ``value`` as a bool if it is one, of Python or numpy, or 0 or 1."""
    if isinstance(value, bool | np.bool_) or (_real(value) in (0.0, 1.0)):
        return bool(value)
    raise refusal(name, "true or false", value, advice)


def check_children(min_children: object) -> int:
    """Return the fewest items of a factor."""
    return integer("min_children", min_children, 2, "A single item is not a factor.")


def check_thresholds(thresholds: Thresholds) -> npt.NDArray[np.float64] | None:
    """Return the thresholds to visit, rising; None for all there are."""
    if isinstance(thresholds, str):
        if thresholds == "exact":
            return None
        wanted = "'exact', a number of thresholds, or numbers in [0, 1]"
        raise refusal("thresholds", wanted, thresholds, "'exact' is all of them.")
    if isinstance(thresholds, float) and 0 < thresholds < 1:
        raise InputError(
            f"`thresholds` must be 'exact', a number of thresholds, or a list of them; "
            f"got {thresholds}. For this one threshold give [{thresholds}].",
            "thresholds",
        )
    if not isinstance(thresholds, Iterable):
        return np.linspace(0.0, 1.0, integer("thresholds", thresholds, 2, _GRID, _MOST_THRESHOLDS))
    try:
        values: npt.NDArray[np.float64] = np.unique(np.asarray(list(thresholds), dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise refusal(
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


def texts(name: str, values: object, advice: str) -> list[str]:
    """Return names as a list of texts; one text is a list of one."""
    if isinstance(values, str):
        return [values]
    if not isinstance(values, Iterable) or is_scalar(values):
        raise refusal(name, "a list of names", values, advice)
    try:
        return [str(one) for one in values]
    except Exception:  # a str of somebody else's class
        raise refusal(name, "a list of names", values, advice) from None


def is_scalar(value: object) -> bool:
    """Whether a value is an array without dimensions, which says of itself that it is iterable."""
    return isinstance(value, np.ndarray) and value.ndim == 0


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
        raise InputError(f"Cannot write {shown(str(file))}: {why}", "path")
    return file


def _obstacle(file: Path) -> str:
    """Say what is in the way of writing a file; "" if nothing is."""
    if "\0" in os.fspath(file):  # of such a name the system says that it is not there
        return "it has a null byte in its name."
    try:
        os.fsencode(file)
    except UnicodeEncodeError:
        return "its name has an invalid Unicode surrogate. Choose another name."
    if not file.parent.is_dir():
        return f"there is no folder '{file.parent}'."
    if file.is_dir():
        return "it is a folder. Name a file in it."
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        return "permission denied. Choose another folder."
    return ""


def seed_number(seed: Seed) -> int:
    """Return the whole number that stands for ``seed``.

    A number stands for itself and None for a fresh one. A Generator gives its next number (and
    so advances); a SeedSequence always gives the same.
    """
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**_SEED_BITS))
    if seed is None:
        seed = fresh_seed()
    if isinstance(seed, np.random.SeedSequence):
        return int(seed.generate_state(1, np.uint64)[0]) >> (64 - _SEED_BITS)
    advice = "Use a whole number, a numpy Generator or SeedSequence, or None."
    return integer("seed", seed, 0, advice, at_most=None)


def fresh_seed() -> np.random.SeedSequence:
    """Return a seed that nobody had before."""
    return np.random.SeedSequence()


def streams(seed: int, count: int) -> list[np.random.Generator]:
    """Return ``count`` independent generators, the same for the same seed."""
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(count)]


def refusal(name: str, wanted: str, value: object, advice: str) -> InputError:
    """Build the error for argument ``name``, which should have been ``wanted``."""
    got = value.item() if isinstance(value, np.generic) else value
    return InputError(f"`{name}` must be {wanted}; got {shown(got)}. {advice}", name)


def unknown(name: str, wanted: str, value: object, known: Iterable[str]) -> InputError:
    """Build the error for a name that is none of the ``known``, with a suggestion."""
    return refusal(name, wanted, value, nearest(value if isinstance(value, str) else "", known))


def _real_where(
    holds: Callable[[float], bool], wanted: str, name: str, value: object, advice: str
) -> float:
    number = _real(value)
    if not holds(number):
        raise refusal(name, wanted, value, advice)
    return number


def _real(value: object) -> float:
    """Return ``value`` as a float, NaN (which fails every check) if it is no number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
