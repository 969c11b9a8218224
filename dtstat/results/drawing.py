"""From the name of a picture to what draws it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dtstat import checks
from dtstat.errors import InputError

Drawer = Callable[..., Any]
CUTOFF = "It is compared with absolute loadings."
NO_FACTOR = "There is no factor to draw; see plot('path') and plot('dependence')."


def draw(
    kinds: Mapping[str, Drawer], result: object, kind: object, ax: Any, options: Mapping[str, Any]
) -> Any:
    """Draw one kind of picture of a result.

    Parameters
    ----------
    kinds
        Name → function of the result, ``ax``, and the options of the picture.
    result
        What to draw.
    kind, ax, options
        As the user gave them.

    Raises
    ------
    InputError
        If there is no such kind, or it has no such option.
    """
    name = checks.choice("kind", kind, kinds)
    known = list(inspect.signature(kinds[name]).parameters)[2:]
    for option in options:
        if option not in known and not known:
            raise InputError(f"plot('{name}') has no options; got `{option}`.", option)
        if option not in known:
            raise checks.unknown("options", f"options of plot('{name}')", option, known)
    return kinds[name](result, ax, **options)


def names(argument: str, given: str | Iterable[str] | None, known: Iterable[str]) -> list[str]:
    """Return one name or several as a list, in the given order; all of the known if None."""
    known = list(known)
    if given is None:
        return known
    listed = checks.texts(argument, given, "Leave it out to draw all.")
    for name in listed:
        checks.choice(argument, name, known)
    if not listed:
        raise InputError(f"`{argument}` names nothing to draw. Leave it out to draw all.", argument)
    return listed
