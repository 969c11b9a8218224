"""What kind of answers an item holds: binary, ordinal or continuous.

The rule, applied to the observed (not missing) values of an item:

1. two distinct values: ``binary``;
2. an ordered categorical column, or at most ten distinct values that are all whole numbers:
   ``ordinal``;
3. anything else: ``continuous``.

A user who knows better passes ``kinds``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dtstat.core import checks
from dtstat.core.errors import InputError, nearest

ItemKind = Literal["binary", "ordinal", "continuous"]
Kinds = ItemKind | Mapping[str, ItemKind] | None
Levels = tuple[float, ...]
KNOWN_KINDS: dict[str, ItemKind] = {kind: kind for kind in get_args(ItemKind)}

# Answer scales rarely have more than eleven points; counts and ages soon have more than ten
# distinct values and are better treated as numbers.
MAX_ORDINAL_LEVELS = 10


def observed_levels(values: NDArray[np.float64]) -> Levels:
    """Return the distinct values of one item, sorted, without missing ones."""
    return tuple(np.unique(values[~np.isnan(values)]).tolist())


def detect_kind(levels: Levels, ordered: bool = False) -> ItemKind:
    """Apply the rule of this module to the distinct values of one item.

    Examples
    --------
    >>> detect_kind((0.0, 1.0)), detect_kind((1.0, 2.0, 3.0)), detect_kind((0.5, 1.0, 2.0))
    ('binary', 'ordinal', 'continuous')
    """
    if len(levels) == 2:
        return "binary"
    few_whole = len(levels) <= MAX_ORDINAL_LEVELS and all(v.is_integer() for v in levels)
    return "ordinal" if ordered or few_whole else "continuous"


def detect_kinds(values: NDArray[np.float64], ordered: Sequence[bool]) -> tuple[ItemKind, ...]:
    """Apply the rule to all columns; each must have an answer.

    Only columns that may turn out binary or ordinal are searched for their distinct values.
    """
    missing = np.isnan(values)
    with np.errstate(invalid="ignore"):  # set differently by the host when embedded in R
        whole = ((values % 1 == 0) | missing).all(axis=0)
    ends = (values == np.nanmin(values, axis=0)) | (values == np.nanmax(values, axis=0))
    possible = whole | (ends | missing).all(axis=0) | np.asarray(ordered)
    return tuple(
        detect_kind(observed_levels(values[:, k]), ordered[k]) if possible[k] else "continuous"
        for k in range(values.shape[1])
    )


def resolve_kinds(
    kinds: Kinds, detected: Sequence[ItemKind], names: Sequence[str]
) -> tuple[ItemKind, ...]:
    """Combine what the user said about the items with what was detected."""
    if kinds is None:
        return tuple(detected)
    if isinstance(kinds, str):
        return tuple(_known_kind(kinds) for _ in names)
    if not isinstance(kinds, Mapping):
        raise InputError(
            "`kinds` must be one kind or a dict from item name to kind; "
            f"got {type(kinds).__name__}. For example kinds={{'{names[0]}': 'ordinal'}}.",
            argument="kinds",
        )
    # Column names that are numbers have become text, so the keys must too.
    given = {str(name): _known_kind(kind) for name, kind in kinds.items()}
    for name in given:
        if name not in names:
            raise InputError(
                f"`kinds` must name items of the data; got '{name}'. {nearest(name, names)}",
                argument="kinds",
            )
    return tuple(given.get(name, kind) for name, kind in zip(names, detected, strict=True))


def check_kind_fits(name: str, kind: ItemKind, levels: Levels) -> None:
    """Refuse to call an item binary when it has more than two distinct values."""
    if kind == "binary" and len(levels) > 2:
        raise InputError(
            f"a binary item must have two distinct values; got {len(levels)} in item '{name}'. "
            "Call it 'ordinal' or 'continuous' in `kinds`.",
            argument="kinds",
        )


def _known_kind(kind: str) -> ItemKind:
    if not isinstance(kind, str) or kind not in KNOWN_KINDS:
        wanted = "'binary', 'ordinal' or 'continuous'"
        raise checks.unknown("kinds", wanted, kind, KNOWN_KINDS)
    return KNOWN_KINDS[kind]
