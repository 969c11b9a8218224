"""A factor structure: which items are children of which factors.

Written as a lavaan model it needs names that R can read, whatever items and factors are called.
lavaan 0.6 takes no quoted names: blanks inside backticks are dropped, and ? and ! mean something
else. So model texts use the names that R itself would make, and comments say what they stand for.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import numpy.typing as npt
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import BoolArray
from dtstat.core.errors import InputError, nearest, printable, shown
from dtstat.core.tables import Printed
from dtstat.data.checks import check_writable_names
from dtstat.data.keys import read_key

_R_WORDS = frozenset(
    {
        *("if", "else", "repeat", "while", "function", "for", "next", "break", "in"),
        *("TRUE", "FALSE", "NULL", "Inf", "NaN"),
        *("NA", "NA_integer_", "NA_real_", "NA_character_", "NA_complex_"),
    }
)
_LEGEND = re.compile(r'^# (\S+) is (".*")$', re.MULTILINE)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Structure(Printed):
    """Which items load on which factors: the paper's Jacobian support A (Definition 1).

    Factors have no order and no given names, so two structures are equal when they have the same
    items and the same child sets. Which way a factor points (``reversed``) does not count either.

    Parameters
    ----------
    support
        (p, d) array of booleans; ``support[i, k]`` says that item i is a child of factor k.
    item_names
        p names; those of a DataFrame, or "x1", "x2", ... if omitted.
    factor_names
        d names; those of a DataFrame, or "F1", "F2", ... if omitted.
    reversed
        (p, d) array of booleans: the items that load negatively. It says which way a factor points,
        and is carried over to keys, lavaan's syntax and models; none if omitted.

    Examples
    --------
    >>> structure = Structure([[1, 0], [1, 1], [0, 1]], item_names=["a", "b", "c"])
    >>> structure.children("F1"), structure.unique_children("F1")
    (('a', 'b'), ('a',))
    >>> structure.satisfies_ucc
    True
    """

    support: BoolArray
    item_names: tuple[str, ...]
    factor_names: tuple[str, ...]
    reversed: BoolArray

    def __init__(
        self,
        support: npt.ArrayLike | pd.DataFrame,
        item_names: Sequence[str] | None = None,
        factor_names: Sequence[str] | None = None,
        reversed: npt.ArrayLike | pd.DataFrame | None = None,
    ) -> None:
        if isinstance(support, pd.DataFrame):
            item_names = list(map(str, support.index)) if item_names is None else item_names
            factor_names = list(map(str, support.columns)) if factor_names is None else factor_names
        A = _checked_support(support)
        p, d = A.shape
        object.__setattr__(self, "support", A)
        object.__setattr__(self, "item_names", _names(item_names, p, "item_names", "x"))
        object.__setattr__(self, "factor_names", _names(factor_names, d, "factor_names", "F"))
        object.__setattr__(self, "reversed", _checked_signs(reversed, A))

    @classmethod
    def from_keys(
        cls, keys: Mapping[str, Iterable[str]], item_names: Sequence[str] | None = None
    ) -> Structure:
        """Build from a scoring key: factor name → its items, as psych writes it.

        A leading minus marks an item that loads negatively; but an item that is called "-1" in
        ``item_names`` is written so, and if there is a "1" besides, "-1" is refused. Items are
        those of ``item_names`` or, without it, those of the key in order of appearance.
        """
        if not isinstance(keys, Mapping):
            raise checks.refusal("keys", "a dict from factor to items", keys, "As to_keys() gives.")
        advice = "Give a list of items for every factor."
        sets = {k: checks.texts("keys", v, advice) for k, v in keys.items()}
        if item_names is None:
            every = (name.removeprefix("-") for names in sets.values() for name in names)
            item_names = list(dict.fromkeys(every))
        letters = list(item_names) if isinstance(item_names, str) else item_names
        items = checks.texts("item_names", letters, "Give a name for every item.")
        known = dict.fromkeys(items)
        return cls._of({k: [read_key(name, known) for name in v] for k, v in sets.items()}, items)

    @classmethod
    def _of(
        cls, children: Mapping[str, Collection[tuple[str, bool]]], item_names: Sequence[str]
    ) -> Structure:
        """Build from the items of each factor, and whether they are reversed."""
        position = {name: i for i, name in enumerate(item_names)}
        A = np.zeros((len(item_names), len(children)), dtype=bool)
        negative = A.copy()
        for k, (factor, signed) in enumerate(children.items()):
            if not signed:
                raise InputError(f"The factor '{factor}' has no items. Leave it out.", "keys")
            for item, turned in signed:
                A[position[item], k] = True
                negative[position[item], k] = turned
        return cls(A, item_names, list(children), negative)

    @property
    def n_items(self) -> int:
        """Number of items p."""
        return int(self.support.shape[0])

    @property
    def n_factors(self) -> int:
        """Number of factors d."""
        return int(self.support.shape[1])

    @property
    def n_edges(self) -> int:
        """Number of item–factor edges, that is of free loadings."""
        return int(self.support.sum())

    def children(self, factor: int | str) -> tuple[str, ...]:
        """ch(Z_k): the items of a factor."""
        k = _index(factor, self.factor_names, "factor")
        return self._names_of(self.support[:, k])

    def parents(self, item: int | str) -> tuple[str, ...]:
        """pa(X_i): the factors of an item."""
        i = _index(item, self.item_names, "item")
        return tuple(np.asarray(self.factor_names, dtype=object)[self.support[i]])

    def unique_children(self, factor: int | str) -> tuple[str, ...]:
        """U_k: the children of a factor that have no other parent (Condition 1)."""
        k = _index(factor, self.factor_names, "factor")
        return self._names_of(self._is_unique & self.support[:, k])

    @property
    def satisfies_ucc(self) -> bool:
        """Whether every factor has a unique child (Condition 1, the unique child condition)."""
        return bool(self.support[self._is_unique].any(axis=0).all())

    @property
    def uncovered(self) -> tuple[str, ...]:
        """Items that load on no factor."""
        return self._names_of(~self.support.any(axis=1))

    def parent_sharing_graph(self) -> BoolArray:
        """E₀: (p, p) adjacency of items that share at least one parent (Definition 3)."""
        A = self.support.astype(np.float32)
        E = (A @ A.T) > 0
        np.fill_diagonal(E, False)
        return E

    def under(self, upper: Structure) -> Structure:
        """Items under factors of these factors: domains above facets.

        Parameters
        ----------
        upper
            A structure whose items are the factors of this one.
        """
        if not isinstance(upper, Structure) or set(upper.item_names) != set(self.factor_names):
            raise InputError(
                "`upper` must have the factors of this structure as its items: "
                f"{', '.join(self.factor_names)}.",
                "upper",
            )
        rows = [upper.item_names.index(name) for name in self.factor_names]
        A = self.support.astype(int) @ upper.support[rows].astype(int) > 0
        negative = A & (self._signs @ upper._signs[rows] < 0)
        return Structure(A, self.item_names, upper.factor_names, negative)

    def to_frame(self) -> pd.DataFrame:
        """Items by factors, 1 where the item is a child."""
        return pd.DataFrame(
            self.support.astype(int), index=list(self.item_names), columns=list(self.factor_names)
        )

    def to_keys(self) -> dict[str, list[str]]:
        """Scoring key as psych's: factor name → its items, negative ones with a minus."""
        return {
            name: [
                "-" * bool(self.reversed[i, k]) + self.item_names[i]
                for i in np.flatnonzero(self.support[:, k])
            ]
            for k, name in enumerate(self.factor_names)
        }

    def to_lavaan(self) -> str:
        """Measurement model in lavaan syntax, one line per factor.

        The first item of a line is what lavaan takes as the marker, so it is one that loads
        positively: the factor then points the same way here and there. If all load negatively, the
        marker is -1, and so are the starting values of the others.

        Names that R would not accept are changed the way R's ``make.names(unique = TRUE)`` changes
        them, and a factor with the name of an item gets a number; comments say which name stands
        for what, and :func:`dtstat.cfa` reads them.
        """
        items, d = list(self.item_names), self.n_factors
        factors = distinct_names([*items, *self.factor_names])[self.n_items :]
        names = dict(zip([*items, *factors], r_names([*items, *factors]), strict=True))
        used = [*(items[i] for i in np.flatnonzero(self.support.any(axis=1))), *factors]
        lines = legend({names[name]: name for name in used})
        for k in range(d):
            terms = [names[items[i]] for i in self.marker_first(k)]
            if self.reversed[self.support[:, k], k].all():
                terms = [f"start(-1)*{term}" for term in terms]
            lines.append(f"{names[factors[k]]} =~ " + " + ".join(terms))
        return "\n".join(lines)

    def marker_first(self, k: int) -> list[int]:
        """Positions of the items of the k-th factor, the first that loads positively in front."""
        children = np.flatnonzero(self.support[:, k])
        positive = children[~self.reversed[children, k]]
        first = int(positive[0]) if positive.size else int(children[0])
        return [first, *(int(i) for i in children if i != first)]

    @property
    def _signs(self) -> npt.NDArray[np.int64]:
        """(p, d) 1, -1 where an item loads negatively, 0 where it does not load."""
        return self.support.astype(np.int64) - 2 * self.reversed.astype(np.int64)

    @property
    def _is_unique(self) -> BoolArray:
        one_parent: BoolArray = self.support.sum(axis=1) == 1
        return one_parent

    def _names_of(self, mask: npt.ArrayLike) -> tuple[str, ...]:
        return tuple(self.item_names[i] for i in np.flatnonzero(mask))

    def _child_sets(self) -> Counter[frozenset[str]]:
        return Counter(frozenset(self.children(k)) for k in range(self.n_factors))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return NotImplemented
        return (
            frozenset(self.item_names) == frozenset(other.item_names)
            and self._child_sets() == other._child_sets()
        )

    def __hash__(self) -> int:
        return hash((frozenset(self.item_names), frozenset(self._child_sets().items())))

    def __repr__(self) -> str:
        plural = "" if self.n_factors == 1 else "s"
        head = f"Structure: {self.n_factors} factor{plural}, {self.n_items} items"
        rows = [
            f"  {name}: " + " ".join(self.children(k)) for k, name in enumerate(self.factor_names)
        ]
        if self.uncovered:
            rows.append("  in no factor: " + " ".join(self.uncovered))
        return "\n".join(map(printable, [head, *rows]))


def plain_structure(children: Mapping[str, Iterable[str]], item_names: Sequence[str]) -> Structure:
    """Structure of the items of each factor, by their names as they are: no minus reverses."""
    return Structure._of(
        {k: [(name, False) for name in v] for k, v in children.items()}, item_names
    )


def keyed_structure(
    keys: Mapping[str, Iterable[str]], items: Callable[[], Iterable[str]] | None
) -> Structure:
    """Structure of the items that keys name; only a minus needs to know which items there are."""
    plain = Structure.from_keys(keys)
    if items is None or not plain.reversed.any():
        return plain
    known = list(items())
    if not any(name.startswith("-") for name in known):
        return plain
    whole = Structure.from_keys(keys, known)
    named = np.flatnonzero(whole.support.any(axis=1))
    names = [known[i] for i in named]
    return Structure(whole.support[named], names, whole.factor_names, whole.reversed[named])


def _checked_support(support: npt.ArrayLike) -> BoolArray:
    try:
        A = np.asarray(np.ma.filled(support, 0))
    except (TypeError, ValueError):
        raise InputError("`support` must have equally long rows.", "support") from None
    if A.ndim != 2:
        raise InputError(
            f"`support` must be a matrix of items by factors; got {A.ndim} dimension(s).", "support"
        )
    if A.dtype != bool and not np.isin(A, (0, 1)).all():
        raise InputError(
            "`support` must hold only true/false or 0/1; a loading matrix has to be "
            "thresholded first.",
            "support",
        )
    A = A.astype(bool)
    empty = np.flatnonzero(~A.any(axis=0))
    if empty.size:
        raise InputError(
            f"`support` has a factor without items (column {empty[0] + 1}). Leave it out.",
            "support",
        )
    A.setflags(write=False)
    return A


def _checked_signs(negative: npt.ArrayLike | None, A: BoolArray) -> BoolArray:
    try:
        N = np.zeros(A.shape) if negative is None else np.asarray(np.ma.filled(negative, 0))
    except (TypeError, ValueError):
        N = np.zeros(0)
    if N.shape != A.shape or (N.dtype != bool and not np.isin(N, (0, 1)).all()):
        raise InputError(
            "`reversed` must be true or false (1 or 0) for every entry of `support`; leave it out "
            "if no item loads negatively.",
            "reversed",
        )
    signs: BoolArray = N.astype(bool)
    if (signs & ~A).any():
        raise InputError("`reversed` marks an item of a factor that `support` lacks.", "reversed")
    signs.setflags(write=False)
    return signs


def _names(names: Sequence[str] | None, count: int, argument: str, stem: str) -> tuple[str, ...]:
    if names is None:
        return tuple(f"{stem}{i + 1}" for i in range(count))
    letters = list(names) if isinstance(names, str) else names  # "abc" names three
    named = tuple(checks.texts(argument, letters, "Give a list of names."))
    check_writable_names(named, argument)
    if len(named) != count:
        raise InputError(f"`{argument}` must have {count} names; got {len(named)}.", argument)
    if len(set(named)) != count:
        twice = next(name for name in named if named.count(name) > 1)
        raise InputError(f"`{argument}` must be distinct; '{twice}' occurs twice.", argument)
    return named


def _index(which: int | str, names: tuple[str, ...], what: str) -> int:
    if not names:
        raise InputError(f"There is no {what} {shown(which)}: the structure has none.", what)
    if isinstance(which, str):
        if which in names:
            return names.index(which)
        raise InputError(f"There is no {what} '{which}'. {nearest(which, names)}", what)
    if not isinstance(which, Integral) or isinstance(which, bool) or not 0 <= which < len(names):
        raise InputError(
            f"`{what}` must be a name or an index from 0 to {len(names) - 1}; got {shown(which)}.",
            what,
        )
    return int(which)


def r_name(name: str) -> str:
    """Return what R's ``make.names`` makes of a name.

    Examples
    --------
    >>> r_name("Q 1?"), r_name("1st"), r_name("age")
    ('Q.1.', 'X1st', 'age')
    """
    starts_well = name[:1].isalpha() or (name[:1] == "." and not name[1:2].isdecimal())
    r = name if starts_well else "X" + name
    r = "".join(c if c.isalpha() or c.isdecimal() or c in "._" else "." for c in r)
    return r + "." if r in _R_WORDS else r


def r_names(names: Sequence[str]) -> list[str]:
    """Return what R's ``make.names(unique = TRUE)`` makes of names: good ones stay as they are.

    Examples
    --------
    >>> r_names(["Q1?", "Q1!", "Q1."])
    ['Q1..1', 'Q1..2', 'Q1.']
    """
    made = [r_name(name) for name in names]
    order = sorted(range(len(names)), key=lambda k: made[k] != names[k])
    for k, distinct in zip(order, distinct_names([made[k] for k in order]), strict=True):
        made[k] = distinct
    return made


def distinct_names(names: Sequence[str]) -> list[str]:
    """Add numbers to repeated names as R's ``make.unique`` does.

    Examples
    --------
    >>> distinct_names(["a", "a", "b", "a"])
    ['a', 'a.1', 'b', 'a.2']
    """
    taken, seen, counts = set(names), set[str](), dict[str, int]()
    distinct = []
    for name in names:
        new = name
        while new in seen or (new != name and new in taken):
            counts[name] = counts.get(name, 0) + 1
            new = f"{name}.{counts[name]}"
        seen.add(new)
        distinct.append(new)
    return distinct


def legend(names: Mapping[str, str]) -> list[str]:
    """Write comments that say what the names in a model text stand for, where they differ."""
    return [
        f"# {spelling} is {json.dumps(name, ensure_ascii=False)}"
        for spelling, name in names.items()
        if spelling != name
    ]


def read_legend(text: str) -> dict[str, str]:
    """Read what :func:`legend` wrote: name in the text → what it stands for.

    Comments by which a name would stand for one that R does not change into it are passed over.

    Examples
    --------
    >>> read_legend('# Q1. is "Q1?"' + chr(10) + "F =~ Q1. + Q2")
    {'Q1.': 'Q1?'}
    """
    names = {}
    for spelling, quoted in _LEGEND.findall(text):
        try:
            name = str(json.loads(quoted))
        except ValueError:
            continue
        if re.fullmatch(re.escape(r_name(name)) + r"(\.\d+)?", spelling):
            names[spelling] = name
    return names
