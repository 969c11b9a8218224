"""Scoring keys: the items of a scale by their names, a minus in front of those to reverse."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dtstat.core.errors import InputError, nearest


def read_key(written: str, names: Collection[str]) -> tuple[str, bool]:
    """Return the item that an entry of a scoring key names, and whether a minus reverses it.

    An item that is called just so is that item, whatever else a minus means.

    Examples
    --------
    >>> read_key("-a1", ["a1"]), read_key("-1", ["-1"])
    (('a1', True), ('-1', False))
    """
    plain = written.removeprefix("-")
    if written != plain and written in names and plain in names:
        raise InputError(
            f"`keys` has '{written}', which may be the item '{written}' or the item '{plain}' "
            "reversed, as there are both. Rename one of them, or give a Structure with `reversed`.",
            "keys",
        )
    item = written if written in names else plain
    if item not in names:
        raise absent_item(item, names)
    return item, item != written


def absent_item(name: str, names: Iterable[str]) -> InputError:
    """Build the error for a key that names an item that there is not."""
    return InputError(
        f"`keys` names the item '{name}', which is not among the items. {nearest(name, names)}",
        "keys",
    )
