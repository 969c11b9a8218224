"""Checks of names and values, each with the one message a user reads when it fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dtstat.core.errors import InputError, shorten_middle, shown

MAX_LISTED = 5
LONGEST_NAME = 100  # characters of a name that a message prints


def quote_names(names: Sequence[str]) -> str:
    """Quote up to five names and count the rest.

    Examples
    --------
    >>> quote_names(["a", "b"])
    "'a', 'b'"
    >>> quote_names(list("abcdefg"))
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    text = ", ".join(f"'{shorten_middle(name, LONGEST_NAME)}'" for name in names[:MAX_LISTED])
    rest = len(names) - MAX_LISTED
    return f"{text} and {rest} more" if rest > 0 else text


def items_phrase(names: Sequence[str]) -> str:
    """Write "item 'a'" or "items 'a', 'b'", as grammar asks."""
    return f"{'item' if len(names) == 1 else 'items'} {quote_names(names)}"


def check_names(names: Sequence[str]) -> None:
    """Refuse item names that are empty, cannot be written, or occur twice."""
    empty = [str(k) for k, name in enumerate(names, start=1) if not name.strip()]
    if empty:
        raise InputError(
            f"every column needs a name; got an empty one in column {', '.join(empty)}. "
            "Name the column or leave it out.",
            argument="data",
        )
    check_writable_names(names, "data")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            f"column names must be unique; got {quote_names(repeated)} more than once. "
            "Rename the columns (names are compared as text, so 1 and '1' are the same).",
            argument="data",
        )


def check_writable_names(names: Sequence[str], argument: str) -> None:
    """Refuse names that no file can hold: with lone surrogates, as bad decoding leaves them."""
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"names must be text that can be written; got {shown(name)}, which contains an "
                "invalid Unicode surrogate. Read the file again with its right encoding, or "
                "rename the column.",
                argument=argument,
            ) from None


def check_shape(n_rows: int, n_items: int) -> None:
    """Refuse data with fewer than two rows or two items."""
    if n_items < 2:
        raise InputError(
            f"the data must have at least two items (columns); got {n_items}. "
            "Dependence is measured between items.",
            argument="data",
        )
    if n_rows < 2:
        raise InputError(
            f"the data must have at least two rows; got {n_rows}. Check the file and any filter, "
            "and whether rows were dropped because of missing answers.",
            argument="data",
        )


def check_variation(values: NDArray[np.float64], names: Sequence[str]) -> None:
    """Refuse items without any answer, and items whose answers are all the same."""
    unanswered = np.asarray(np.isnan(values).all(axis=0))
    empty = [name for name, missing in zip(names, unanswered, strict=True) if missing]
    if empty:
        raise InputError(
            f"every item needs answers; got only missing values in {items_phrase(empty)}. "
            "Leave such items out or check how missing answers were coded.",
            argument="data",
        )
    lowest, highest = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    constant = [name for name, same in zip(names, lowest == highest, strict=True) if same]
    if constant:
        raise InputError(
            f"every item must vary; got one and the same answer in {items_phrase(constant)}. "
            "Leave constant items out.",
            argument="data",
        )


def check_finite(values: NDArray[np.float64], names: Sequence[str]) -> None:
    """Refuse infinite values, naming the first item and row that hold one."""
    columns, rows = np.nonzero(np.isinf(values).T)
    if len(rows):
        row, column = int(rows[0]), int(columns[0])
        raise InputError(
            f"answers must be finite; got {values[row, column]} in item '{names[column]}', "
            f"row {row + 1}. Replace it by a number or by NaN for missing.",
            argument="data",
        )


def is_symmetric_matrix(values: NDArray[np.float64]) -> bool:
    """Whether a table can only be a matrix of items by items: p × p with p > 2, and symmetric.

    No answers of people look so, and all covariance and correlation matrices do.
    """
    n, p = values.shape
    if n != p or p < 3 or not np.isfinite(values).all():
        return False
    half = values / 2  # differences of the largest numbers stay numbers
    sd = np.sqrt(np.abs(np.diag(half)))
    rounding = 1e-6 * np.maximum(np.abs(half), np.abs(half.T)) + 1e-9 * np.outer(sd, sd)
    return bool((np.abs(half - half.T) <= rounding).all())


def check_not_moments(values: NDArray[np.float64]) -> None:
    """Refuse a correlation or covariance matrix where answers are expected."""
    if not is_symmetric_matrix(values):
        return
    p = len(values)
    unit = (np.diag(values) == 1).all()
    what = " with ones on its diagonal" if unit else ", such as covariances"
    raise InputError(
        f"the data must be answers, people in rows; got a symmetric {p} × {p} matrix{what}. For "
        f"{'correlations' if unit else 'them'} use DependenceMatrix.from_matrix(matrix, n_obs).",
        argument="data",
    )
