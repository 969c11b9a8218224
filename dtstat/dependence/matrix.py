"""The dependence matrix, what the rest of dtstat computes from, and how one is filled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from dtstat.core import checks
from dtstat.core.arrays import FloatArray, IntArray
from dtstat.core.errors import DataWarning, InputError, nearest, warn
from dtstat.core.parallel import Jobs, Progress, run, track
from dtstat.core.saved import register
from dtstat.core.tables import Printed
from dtstat.data.checks import check_writable_names

T = TypeVar("T")
U = TypeVar("U")
Row = Callable[[int], npt.ArrayLike]
Block = tuple[slice, slice]

BLOCK = 1024  # items: large enough for fast products, small enough for a few in memory
_ROUNDING = 1e-6  # asymmetry, and excess over 1, that printed or computed matrices may have


@register(
    shapes={"values": "pp", "names": "p", "pairwise_n": "pp"},
    rules={
        "names are distinct": lambda matrix: len(set(matrix.names)) == len(matrix.names),
        "values are in [-1, 1]": lambda matrix: within_unit(matrix.values),
    },
)
@dataclass(frozen=True, eq=False, repr=False)
class DependenceMatrix(Printed):
    """Pairwise dependence of p items. Need not be positive definite; it is never inverted.

    Attributes
    ----------
    values
        (p, p) symmetric, signed where the measure has a sign, 1 on the diagonal; read-only.
    names
        p item names.
    measure
        Name of the measure.
    n_obs
        Number of rows it was computed from; None if unknown.
    pairwise_n
        (p, p) number of rows behind each entry, or None when that is ``n_obs`` for all.
    """

    values: FloatArray
    names: tuple[str, ...]
    measure: str
    n_obs: int | None = None
    pairwise_n: IntArray | None = None

    def __post_init__(self) -> None:
        # Exactly symmetric: a last bit that differs would make an edge one-sided at that threshold.
        values = self.values / 2 + self.values.T / 2
        values.setflags(write=False)
        object.__setattr__(self, "values", values)
        if self.pairwise_n is not None:
            counts = self.pairwise_n.copy()
            counts.setflags(write=False)
            object.__setattr__(self, "pairwise_n", counts)

    @classmethod
    def from_matrix(
        cls,
        matrix: npt.ArrayLike | pd.DataFrame,
        n_obs: int | None = None,
        measure: str = "pearson",
        names: Sequence[str] | None = None,
    ) -> DependenceMatrix:
        """Take a published matrix or a matrix of your own.

        Parameters
        ----------
        matrix
            (p, p) symmetric, entries in [-1, 1]; or one triangle of it, the other zero or NaN. Of
            a covariance matrix the correlations are taken.
        n_obs
            Number of rows it was computed from, if known. Some criteria need it.
        measure
            What the entries are; any name.
        names
            p item names; taken from a DataFrame, else "x1", "x2", ...

        Raises
        ------
        InputError
            If the matrix is not square, not symmetric, has missing entries or entries outside
            [-1, 1].

        Warns
        -----
        DataWarning
            If the diagonal is taken for variances, but may be communalities.

        Examples
        --------
        >>> DependenceMatrix.from_matrix([[1, 0, 0], [0.6, 1, 0], [0.5, 0.4, 1]], n_obs=200)
        DependenceMatrix: pearson of 3 items, 200 rows
        """
        if names is None and isinstance(matrix, pd.DataFrame):
            names = [str(column) for column in matrix.columns]
        R = _square(matrix)
        named = _item_names(names, len(R))
        if not isinstance(measure, str):
            raise checks.refusal("measure", "a name", measure, "Any name is allowed.")
        R = _symmetric(_both_triangles(R), named)
        if measure == "pearson":
            R = _correlations(R)
        _check_entries(R, named)
        if n_obs is not None:
            advice = "It is the number of rows behind the matrix."
            n_obs = checks.integer("n_obs", n_obs, 2, advice)
        return cls(R, named, str(measure), n_obs)

    @property
    def n_items(self) -> int:
        """Number of items p."""
        return len(self.names)

    @property
    def strength(self) -> FloatArray:
        """(p, p) absolute values: what a threshold is compared with."""
        return np.abs(self.values)

    def select(self, names: Sequence[str]) -> DependenceMatrix:
        """Keep some items, in this order.

        Raises
        ------
        InputError
            If a name is not an item of the matrix.
        """
        names = checks.texts("names", names, "Name items of the matrix.")
        for name in names:
            if name not in self.names:
                raise InputError(
                    f"There is no item '{name}' in the matrix. {nearest(name, self.names)}", "names"
                )
        places = np.array([self.names.index(name) for name in names], dtype=np.int64)
        at = np.ix_(places, places)
        counts = None if self.pairwise_n is None else self.pairwise_n[at]
        return replace(self, values=self.values[at], names=tuple(names), pairwise_n=counts)

    def to_frame(self) -> pd.DataFrame:
        """Items by items."""
        return pd.DataFrame(self.values.copy(), index=list(self.names), columns=list(self.names))

    def __repr__(self) -> str:
        text = f"DependenceMatrix: {self.measure} of {self.n_items} items"
        if self.n_obs is not None:
            text += f", {self.n_obs} rows"
        if self.pairwise_n is not None:
            least = self.pairwise_n[np.triu_indices(self.n_items, 1)].min()
            text += f" (at least {least} per pair)"
        return text


def within_unit(values: FloatArray) -> bool:
    """Whether all values are in [-1, 1], up to rounding."""
    return bool(np.isfinite(values).all() and (np.abs(values) <= 1 + _ROUNDING).all())


def check_pairs(bad: npt.NDArray[np.bool_], names: Sequence[str], problem: str) -> None:
    """Raise InputError naming the first marked pair of items; ``problem`` has a place for it."""
    i, j = np.nonzero(np.triu(bad, 1))
    if i.size:
        more = f" (and {i.size - 1} more)" if i.size > 1 else ""
        raise InputError(problem.format(f"'{names[i[0]]}' and '{names[j[0]]}'{more}"))


def _square(matrix: npt.ArrayLike | pd.DataFrame) -> FloatArray:
    try:
        if np.iscomplexobj(matrix):
            raise TypeError
        R = np.array(np.ma.filled(matrix, np.nan), dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError("`matrix` must hold numbers only.", "matrix") from None
    if R.ndim != 2 or R.shape[0] != R.shape[1]:
        raise InputError(
            f"`matrix` must be square; got shape {R.shape}. "
            "For answers (people in rows, items in columns) call dtstat.dependence.",
            "matrix",
        )
    if len(R) < 2:
        raise InputError("`matrix` must have at least two items; got one.", "matrix")
    return R


def _item_names(names: Sequence[str] | None, p: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{i + 1}" for i in range(p))
    letters = list(names) if isinstance(names, str) else names  # "abc" names three items
    named = tuple(checks.texts("names", letters, "Give one for each item."))
    if len(named) != p:
        raise InputError(f"`names` must have {p} names; got {len(named)}.", "names")
    if len(set(named)) != p:
        twice = next(name for name in named if named.count(name) > 1)
        raise InputError(f"`names` must be distinct; '{twice}' occurs twice.", "names")
    check_writable_names(named, "names")
    return named


def _both_triangles(R: FloatArray) -> FloatArray:
    """Mirror a matrix that was given as one triangle."""
    upper, lower = R[np.triu_indices(len(R), 1)], R[np.tril_indices(len(R), -1)]
    empty_upper, empty_lower = (not np.nan_to_num(part).any() for part in (upper, lower))
    if empty_upper == empty_lower:
        return R
    half = np.tril(R, -1) if empty_upper else np.triu(R, 1)
    return half + half.T + np.diag(np.diag(R))


def _symmetric(R: FloatArray, names: Sequence[str]) -> FloatArray:
    with np.errstate(invalid="ignore", over="ignore"):
        differ = np.abs(R - R.T) > _ROUNDING
    check_pairs(differ, names, "`matrix` must be symmetric; the two entries of {} differ.")
    return R / 2 + R.T / 2


def _correlations(S: FloatArray) -> FloatArray:
    """Correlations of a covariance matrix; any other matrix as it is."""
    variances = np.diag(S)
    is_unit = (np.abs(variances - 1) <= _ROUNDING).all()
    if not (np.isfinite(variances) & (variances > 0)).all() or is_unit:
        return S
    if (variances <= 1).all():  # variances of yes or no are at most 1/4
        warn(
            "The diagonal of `matrix` was taken for variances, and the rest for covariances. If it "
            "holds communalities, put ones there.",
            DataWarning,
            stacklevel=3,
        )
    sd = np.sqrt(variances)
    R: FloatArray = S / sd / sd[:, None]
    return R


def _check_entries(R: FloatArray, names: Sequence[str]) -> None:
    """Check the entries; set the diagonal to 1 and take rounding off the rest, in place."""
    diagonal = np.diag(R)
    if (np.abs(diagonal[~np.isnan(diagonal)] - 1) > _ROUNDING).any() and diagonal.any():
        raise InputError(
            "`matrix` must have ones on its diagonal, or variances if it holds covariances "
            "(measure='pearson'); got other values there.",
            "matrix",
        )
    np.fill_diagonal(R, 1.0)
    check_pairs(~np.isfinite(R), names, "`matrix` has no value for {}. Leave out one of them.")
    check_pairs(
        np.abs(R) > 1 + _ROUNDING,
        names,
        "`matrix` must hold values in [-1, 1]; that of {} is outside. Scale the measure.",
    )
    np.clip(R, -1.0, 1.0, out=R)


def run_blocks(
    work: Callable[[T], U], blocks: Sequence[T], n_jobs: Jobs, progress: Progress, label: str
) -> Iterator[tuple[int, U]]:
    """Yield the number of each block and what ``work`` makes of it.

    Threads will do, because kernels and matrix products release the interpreter lock, and they
    share the data instead of copying them.
    """
    done = run(work, blocks, n_jobs, threads=True, fine=True)
    return track(done, progress, label, total=len(blocks))


def symmetric_matrix(row: Row, p: int, n_jobs: Jobs, progress: Progress, label: str) -> FloatArray:
    """(p, p) matrix with ones on its diagonal; ``row(i)`` gives its entries (i, j) for j > i."""
    R = np.eye(p)
    for i, values in run_blocks(row, range(p - 1), n_jobs, progress, label):
        R[i, i + 1 :] = R[i + 1 :, i] = values
    return R


def blocks_of(p: int, width: int | None = None) -> list[Block]:
    """Blocks on and above the diagonal of a (p, p) matrix."""
    spans = block_spans(p, width)
    return [(rows, others) for k, rows in enumerate(spans) for others in spans[k:]]


def block_spans(p: int, width: int | None = None) -> list[slice]:
    """Cut p items into spans of about equal length, none longer than ``width`` or a block."""
    edges = np.linspace(0, p, math.ceil(p / (width or BLOCK)) + 1).astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(edges)]
