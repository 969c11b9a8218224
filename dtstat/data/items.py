"""The one form in which dtstat keeps survey answers, the way into it, and rows to be scored.

Items are of three kinds. The rule, applied to the observed (not missing) values of an item:

1. two distinct values: ``binary``;
2. an ordered categorical column, or at most ten distinct values that are all whole numbers:
   ``ordinal``;
3. anything else: ``continuous``.

A user who knows better passes ``kinds``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.checkpoints import digest
from dtstat.core.errors import DataWarning, InputError, nearest, silenced, warn
from dtstat.core.parallel import Progress, one_thread
from dtstat.core.tables import Printed
from dtstat.data.checks import (
    MAX_ORDINAL_LEVELS,
    check_finite,
    check_names,
    check_not_moments,
    check_shape,
    check_variation,
    find_combinations,
    items_phrase,
    suspected_codes,
    warn_of_codes,
    warn_of_combinations,
)
from dtstat.data.columns import column_numbers, table_numbers
from dtstat.data.containers import as_frame, has_names
from dtstat.data.levels import Counted, count_columns, count_levels
from dtstat.data.pair_tables import PairTables, count_pairs, suits_pair_tables
from dtstat.data.readers import items_only
from dtstat.data.texts import Labels, given_texts, texts_of

ItemKind = Literal["binary", "ordinal", "continuous"]
Kinds = ItemKind | Mapping[str, ItemKind] | None
Levels = tuple[float, ...]
KNOWN_KINDS: dict[str, ItemKind] = {kind: kind for kind in get_args(ItemKind)}

# Fewer rows than this count up by chance often enough to make the warning a nuisance.
MIN_ROWS_OF_COUNTER = 10
R_MISSING_INTEGER = -(2**31)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ItemData(Printed):
    """Answers of n people to p items; nothing in it can be changed.

    Build it with :func:`as_items`, which checks what this class takes for granted.

    Attributes
    ----------
    values : ndarray of float64, shape (n, p)
        Answers, NaN where missing; C-contiguous and read-only.
    names : tuple of str, length p
        Item names, unique.
    kinds : tuple of {"binary", "ordinal", "continuous"}, length p
        Kind of each item; the module has the rule.
    levels : tuple, length p
        Sorted distinct answers of each binary or ordinal item, None for a continuous one.
    texts : dict
        Questions of the items, by name, as far as they are known.
    """

    values: FloatArray
    names: tuple[str, ...]
    kinds: tuple[ItemKind, ...]
    levels: tuple[Levels | None, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    _tables: PairTables | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        own = self.values
        if own.dtype != np.float64 or own.flags.writeable or not own.flags.c_contiguous:
            own = np.array(own, dtype=np.float64, order="C", copy=True)
            own.setflags(write=False)
            object.__setattr__(self, "values", own)

    @property
    def n_rows(self) -> int:
        """Number of people (rows)."""
        return int(self.values.shape[0])

    @property
    def n_items(self) -> int:
        """Number of items (columns)."""
        return int(self.values.shape[1])

    @property
    def has_missing(self) -> bool:
        """Whether any answer is missing."""
        return bool(np.isnan(self.values).any())

    @property
    def n_complete(self) -> int:
        """Number of rows without any missing answer."""
        if self._tables is not None:
            return self._tables.n_complete
        return self.n_rows - int(np.isnan(self.values).any(axis=1).sum())

    def pair_tables(self, progress: Progress = None) -> PairTables | None:
        """Count the answers of all pairs; None unless there are many rows, all of ratings.

        This is done when it is first asked for.
        """
        rated = [own for own in self.levels if own is not None]
        if len(rated) < self.n_items or not suits_pair_tables(self.n_rows, rated):
            return None
        if self._tables is None:
            object.__setattr__(self, "_tables", count_pairs(self.values, rated, progress))
        return self._tables

    def select(self, names: Iterable[str]) -> ItemData:
        """Keep the named items, in the order given.

        Raises
        ------
        InputError
            When a name is not an item of the data or is given twice.
        """
        wanted = checks.texts("names", names, "Name items of the data.")
        check_names(wanted)
        for name in wanted:
            if name not in self.names:
                raise InputError(
                    f"`names` must be items of the data; got '{name}'. {nearest(name, self.names)}",
                    argument="names",
                )
        places = [self.names.index(name) for name in wanted]
        return ItemData(
            self.values[:, places],
            tuple(wanted),
            tuple(self.kinds[k] for k in places),
            tuple(self.levels[k] for k in places),
            {name: self.texts[name] for name in wanted if name in self.texts},
        )

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> ItemData:
        """Keep some rows, given by positions or marks.

        As with :meth:`complete_rows`, call :func:`check_usable` before computing with the result.
        """
        return _with_levels(self.values[rows], self.names, self.kinds, self.texts)

    def complete_rows(self) -> ItemData:
        """Keep the rows without any missing answer (listwise deletion).

        Kinds stay; levels are those that are left. Call :func:`check_usable` before computing
        with the result, for an item may have become constant.
        """
        return self.take(np.flatnonzero(~np.isnan(self.values).any(axis=1)))

    def labeled(self, labels: Labels) -> ItemData:
        """Return the same items with the texts that a user gives, as in :func:`dtstat.fit`."""
        if labels is None:
            return self
        return replace(self, texts={**self.texts, **given_texts(labels, self.names)})

    def to_frame(self) -> pd.DataFrame:
        """Return the answers as a new DataFrame."""
        return pd.DataFrame(self.values.copy(), columns=list(self.names))

    def digest(self) -> str:
        """Name the answers by what they are: names, kinds and values."""
        return digest([*self.names, *self.kinds, self.values])

    def __repr__(self) -> str:
        count = {kind: self.kinds.count(kind) for kind in dict.fromkeys(self.kinds)}
        kinds = ", ".join(f"{number} {kind}" for kind, number in count.items())
        missing = int(np.isnan(self.values).sum())
        return f"<ItemData: {self.n_rows} rows, {self.n_items} items ({kinds}), {missing} missing>"


def as_items(
    data: Any, kinds: Kinds = None, screened: bool = True, progress: Progress = None
) -> ItemData:
    """Check survey answers and bring them into the form dtstat computes with.

    Parameters
    ----------
    data : DataFrame, 2-d array, nested list, path or ItemData
        One row per person, one column per item; a DataFrame of pandas, or of any library that
        hands its tables over by the Arrow or the DataFrame protocol, as polars does. Array
        columns are named x1, x2, ...; a path is read with :func:`dtstat.read_survey`; an
        ItemData is not checked again. Text columns are accepted when every answer is a number,
        ordered categoricals become level codes. Columns that ``data.attrs["aside"]`` names are
        left out.
    kinds : {"binary", "ordinal", "continuous"} or dict, optional
        Kind of all items, or of the items named in a dict. Items not named are detected: two
        distinct values are binary; an ordered categorical, or at most ten distinct values that
        are all whole numbers, is ordinal; anything else is continuous.
    screened
        Whether to look for what is probably no answer. Not needed for rows that were simulated.
    progress : bool or function, optional
        True for a bar of a file being read, or a function of (done, total).

    Returns
    -------
    ItemData

    Raises
    ------
    InputError
        When the data cannot be used: fewer than two rows or items, text, dates, infinite values,
        items that never vary or are never answered, names that are empty or occur twice.

    Warns
    -----
    DataWarning
        When a column merely counts the rows; when an answer looks like a code for a missing one,
        such as -9, 99, or 9 on a scale of 1 to 5 (:mod:`dtstat.data.checks` has the rule); when
        an item is the sum, the mean or another exact linear combination of others
        (:mod:`dtstat.data.checks`).

    Notes
    -----
    Cost: one sort per item, O(p n log n), and O(n p² + p³) for at most 400 items and 20 p + 2000
    rows to look for sums.

    Examples
    --------
    >>> items = as_items([[1, 2.5], [0, 3.1], [1, 0.7]])
    >>> items.names, items.kinds
    (('x1', 'x2'), ('binary', 'continuous'))
    """
    if isinstance(data, ItemData):
        return _with_kinds(data, kinds)
    frame = items_only(as_frame(data, progress))
    names = tuple(str(name) for name in frame.columns)
    check_names(names)
    check_shape(*frame.shape)
    values, ordered = table_numbers(frame, names)
    values = _without_r_missing(values, names)
    values.setflags(write=False)  # nobody else has it, and ItemData need not copy it
    check_finite(values, names)
    check_variation(values, names)
    check_not_moments(values)
    few = count_columns(values)
    found = _with_levels(values, names, _kinds_of(few, ordered), texts_of(frame, names), few)
    items = _with_kinds(found, kinds)
    _warn_of_counters(items)
    if screened:
        labels = frame.attrs.get("value_labels")
        warn_of_codes(suspected_codes(values, names, labels), stacklevel=3)
        with one_thread():
            combinations = find_combinations(values, names)
        warn_of_combinations(combinations, stacklevel=3)
    return items


def check_usable(items: ItemData) -> None:
    """Refuse items that nothing can be computed from.

    These have no answers or one distinct answer only, or there are fewer than two rows or items.
    Call it again whenever rows have been dropped, for instance by listwise deletion.
    """
    check_shape(items.n_rows, items.n_items)
    check_variation(items.values, items.names)


def items(data: Any, kinds: Any = None) -> ItemData:
    """Check survey answers, and say what kind each item is.

    Every function that takes ``data`` does this by itself. Call it to see what was detected, or
    to say otherwise before a measure that depends on it (polychoric, tetrachoric, mixed).

    Parameters
    ----------
    data
        DataFrame, 2-d array, or path of a file; people in rows, items in columns.
    kinds
        "binary", "ordinal" or "continuous" for all items, or a dict for some. The others are
        detected: two distinct values are binary; an ordered categorical, or at most ten whole
        numbers, is ordinal; anything else is continuous.

    Examples
    --------
    >>> import dtstat as dt
    >>> dt.items(dt.load_dataset("political_democracy"), kinds={"y1": "ordinal"})
    <ItemData: 75 rows, 11 items (1 ordinal, 10 continuous), 0 missing>
    """
    return as_items(data, kinds)


def rows_to_score(data: Any, names: tuple[str, ...]) -> tuple[pd.Index, FloatArray]:
    """Index and (n, p) answers of the named items, coded as when a model is fitted.

    The data have the items by name, among others, or are an array of just these.
    """
    frame = data.to_frame() if isinstance(data, ItemData) else as_frame(data)
    if not has_names(data):
        if frame.shape[1] != len(names):
            raise InputError(
                f"An array to score must have {len(names)} columns, one per item in the order "
                f"fitted; got shape {frame.shape}.",
                "data",
            )
        return frame.index, _answers(frame, range(len(names)), names)
    known = [str(column) for column in frame.columns]
    absent = [name for name in names if name not in known]
    if len(absent) > 1:
        raise InputError(
            f"The data lack the item '{absent[0]}' and {len(absent) - 1} more. Give the items that "
            "were fitted, by name.",
            "data",
        )
    if absent:
        raise InputError(
            f"The data must have all items of the model; '{absent[0]}' is not there. "
            + nearest(absent[0], known),
            "data",
        )
    return frame.index, _answers(frame, [known.index(name) for name in names], names)


def item_names(data: Any) -> list[str]:
    """Return the names of the columns of a table or file, or of the items of a matrix."""
    own = getattr(data, "names", None)
    if isinstance(own, tuple):
        return list(own)
    with silenced():  # what is read again was warned of, or will be
        return list(map(str, as_frame(data).columns))


def with_scores(data: Any, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the data with one column of scores for each factor, named ``<factor>_score``."""
    frame = data.to_frame() if isinstance(data, ItemData) else as_frame(data)
    added = {f"{name}_score": scores[name].to_numpy() for name in scores}
    taken = next((name for name in added if name in frame.columns), None)
    if taken is not None:
        raise InputError(f"The data already have a column '{taken}'. Rename or drop it.", "data")
    return frame.assign(**added)


def _without_r_missing(values: FloatArray, names: tuple[str, ...]) -> FloatArray:
    """Take −2147483648 for missing: R's NA of whole numbers, as older bridges hand it over."""
    missing = values == R_MISSING_INTEGER
    if not missing.any():
        return values
    affected = [name for name, m in zip(names, missing.any(axis=0), strict=True) if m]
    warn(
        f"{items_phrase(affected)} held {R_MISSING_INTEGER}, R's NA for whole numbers; taken as "
        "missing. In R, convert with as.numeric() before passing data to Python.",
        DataWarning,
        stacklevel=3,
    )
    return np.where(missing, np.nan, values)


def _with_levels(
    values: FloatArray,
    names: tuple[str, ...],
    kinds: tuple[ItemKind, ...],
    texts: Mapping[str, str],
    few: Sequence[Counted] | None = None,
) -> ItemData:
    levels = tuple(
        None
        if kind == "continuous"
        else observed_levels(values[:, k])
        if known is None
        else tuple(known[0].tolist())
        for k, (kind, known) in enumerate(zip(kinds, few or count_columns(values), strict=True))
    )
    return ItemData(values, names, kinds, levels, texts)


def _with_kinds(items: ItemData, kinds: Kinds) -> ItemData:
    if kinds is None:
        return items
    changed = _with_levels(
        items.values, items.names, resolve_kinds(kinds, items.kinds, items.names), items.texts
    )
    for name, kind, levels in zip(changed.names, changed.kinds, changed.levels, strict=True):
        check_kind_fits(name, kind, levels or ())
    return changed


def _counts(values: FloatArray) -> bool:
    return bool((values[1:] == values[:-1] + 1).all())


def _warn_of_counters(items: ItemData) -> None:
    if items.n_rows < MIN_ROWS_OF_COUNTER:
        return
    for k in range(items.n_items):
        column = items.values[:, k]
        if column[0] % 1 != 0 or not _counts(column[:MIN_ROWS_OF_COUNTER]):
            continue  # as nearly all items show in their first rows
        if not _counts(column):
            continue
        first, last = int(items.values[0, k]), int(items.values[-1, k])
        warn(
            f"item '{items.names[k]}' counts the rows {first} to {last}; "
            "leave it out unless it is an answer.",
            DataWarning,
            stacklevel=3,
        )


def _answers(frame: pd.DataFrame, places: Iterable[int], names: tuple[str, ...]) -> FloatArray:
    named = zip(places, names, strict=True)
    columns = [column_numbers(frame.iloc[:, place], name).values for place, name in named]
    values = np.column_stack(columns)
    check_finite(values, names)
    return values


def observed_levels(values: NDArray[np.float64]) -> Levels:
    """Return the distinct values of one item, sorted, without missing ones."""
    return tuple(count_levels(values)[0].tolist())


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


def _kinds_of(columns: Sequence[Counted], ordered: Sequence[bool]) -> tuple[ItemKind, ...]:
    """Apply the rule to distinct values, which most continuous items have too many of."""
    kinds: list[ItemKind] = []
    for k, few in enumerate(columns):
        if few is not None:
            kinds.append(detect_kind(tuple(few[0].tolist()), ordered[k]))
        else:
            kinds.append("ordinal" if ordered[k] else "continuous")
    return tuple(kinds)


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
