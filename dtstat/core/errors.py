"""Errors and warnings of dtstat.

Every message says what was wrong, what was got, and what to do next:

    `threshold` must be a number in [0, 1]; got 1.3. Thresholds are absolute dependence values.

Catch :class:`DTError` to catch all of them. The subclasses also derive from the built-in class
a Python user would expect (``ValueError``, ``ImportError``).

A message is read by people, so it is never longer than 1,500 characters, whatever was got.
"""

from __future__ import annotations

import difflib
import re
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

_LONGEST_MESSAGE = 1_500
_LONGEST_VALUE = 200
_LONGEST_GUESS = 100  # a longer name is no mistyped one, and comparing it takes long


# Line breaks of any kind; and what else a terminal obeys instead of showing it: control characters,
# and those that turn the direction of writing round.
_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
_CONTROLS = re.compile("[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""Write names and texts of others so that they stay on their line and command no terminal.

    Examples
    --------
    >>> printable("Q1\nHow happy?"), printable("\x1b[31mred")
    ('Q1 How happy?', '\\x1b[31mred')
    """
    one_line = _BREAKS.sub(" ", text)
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), one_line)


def printable_lines(text: str) -> str:
    """Write a text of several lines so that none of them commands a terminal."""
    return "\n".join(map(printable, text.split("\n")))


class DTError(Exception):
    """Base class of every error dtstat raises on purpose."""

    def __init__(self, message: str = "") -> None:
        super().__init__(shorten_middle(printable(message), _LONGEST_MESSAGE))


class InputError(DTError, ValueError):
    """An argument or a data set cannot be used.

    Attributes
    ----------
    argument
        Name of the argument at fault, or None when the data themselves are.
    """

    def __init__(self, message: str, argument: str | None = None) -> None:
        super().__init__(message)
        self.argument = argument


class MissingExtraError(DTError, ImportError):
    """A feature needs a package that is not installed."""

    def __init__(self, feature: str, package: str, extra: str, instead: str = "") -> None:
        self._parts = feature, package, extra, instead
        super().__init__(
            f"{feature} needs the package '{package}', which is not installed. "
            f'Install it with: pip install "dtstat[{extra}]", or in a checkout of dtstat: '
            f'pip install ".[{extra}]".' + (f" {instead}" if instead else "")
        )

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, ...]]:
        return type(self), self._parts  # so that a worker can send it


class EstimationError(DTError):
    """A model cannot be fitted to these data."""


class DTWarning(UserWarning):
    """Base class of every warning dtstat gives."""

    def __init__(self, message: str = "") -> None:
        super().__init__(shorten_middle(printable(message), _LONGEST_MESSAGE))


class DataWarning(DTWarning):
    """The data can be used, but probably not as the user meant."""


class EstimationWarning(DTWarning):
    """A model was fitted, but its solution needs attention."""


_SILENCED: ContextVar[tuple[type[DTWarning], ...]] = ContextVar("silenced", default=())


def warn(message: str, category: type[DTWarning], stacklevel: int = 2) -> None:
    """Give a warning, as ``warnings.warn`` does, unless it is silenced."""
    if not issubclass(category, _SILENCED.get()):
        warnings.warn(message, category, stacklevel=stacklevel + 1)


@contextmanager
def silenced(category: type[DTWarning] = DTWarning) -> Iterator[None]:
    """Keep dtstat's own warnings of a category back, in this thread alone.

    ``warnings.catch_warnings`` changes the filters of the whole process: when two threads leave it
    in the order in which they came, what one of them ignored stays ignored for good.
    """
    token = _SILENCED.set((*_SILENCED.get(), category))
    try:
        yield
    finally:
        _SILENCED.reset(token)


_FILTERS = threading.RLock()


@contextmanager
def foreign_warnings(
    action: Literal["error", "ignore"], category: type[Warning] = Warning, message: str = ""
) -> Iterator[None]:
    """Refuse or ignore warnings of other libraries.

    The filters belong to the whole process, so dtstat changes them in one thread at a time.
    """
    with _FILTERS, warnings.catch_warnings():
        warnings.filterwarnings(action, message, category)
        yield


def shorten_middle(text: str, longest: int) -> str:
    """Leave out the middle of a long text: its beginning says what it is, its end what to do.

    Examples
    --------
    >>> shorten_middle("abcdefghijklmnop", 9)
    'abc...nop'
    """
    if len(text) <= longest:
        return text
    half = (longest - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def shown(value: object) -> str:
    """Write a value for a message: what Python prints, shortened; its type if that fails."""
    try:
        # Of a long text only the part that is shown is escaped.
        text = shorten_middle(value, 2 * _LONGEST_VALUE) if type(value) is str else value
        return shorten_middle(repr(text), _LONGEST_VALUE)
    except Exception:  # a repr of somebody else's class, or a number of too many digits
        return f"a value of type {type(value).__name__}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Sentence that suggests the known name closest to a mistyped one, or lists them all."""
    known = sorted(known)
    lowered = {k.lower(): k for k in known}
    guess = name.lower() if len(name) <= _LONGEST_GUESS else ""
    close = difflib.get_close_matches(guess, lowered, n=1, cutoff=0.6)
    if close:
        return f"Did you mean '{lowered[close[0]]}'?"
    names = [shorten_middle(k, _LONGEST_GUESS) for k in known[:20]]
    listed = ", ".join(names) + (", ..." if len(known) > 20 else ".")
    return f"Known: {listed}"
