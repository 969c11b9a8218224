"""How close two factor solutions are: Tucker's congruence, and the matching it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.errors import InputError
from dtstat.core.tables import Printed, Summary, Table
from dtstat.dependence.pearson import rescale_extremes
from dtstat.structure.structure import Structure


class MatchedFactors(NamedTuple):
    """Two factors that stand for each other, and their congruence with its sign."""

    factor_a: str
    factor_b: str
    congruence: float


@dataclass(frozen=True, eq=False, repr=False)
class SolutionComparison(Printed):
    """Agreement of two factor solutions of the same items.

    Attributes
    ----------
    matching
        The pairs of factors with the largest sum of absolute congruences.
    differing_items
        Items whose strongest factor in one solution is not matched to that in the other.
    """

    matching: tuple[MatchedFactors, ...]
    differing_items: tuple[str, ...]
    _congruence: pd.DataFrame

    @property
    def mean_congruence(self) -> float:
        """Mean absolute congruence of the matched factors."""
        return float(np.mean([abs(pair.congruence) for pair in self.matching]))

    def to_frame(self) -> pd.DataFrame:
        """Tucker congruences, factors of the first by factors of the second solution."""
        return self._congruence.copy()

    def summary(self) -> Summary:
        """Lay out the congruences, and the items that differ."""
        frame = self.to_frame().rename_axis("").reset_index()
        frame[""] = frame[""].astype(str)
        listed = ", ".join(self.differing_items) or "none"
        title, bounded = "Tucker congruences", [str(name) for name in frame.columns[1:]]
        notes = (f"Items whose strongest factors are not matched: {listed}.",)
        return Summary((repr(self),), (Table.from_frame(frame, title, notes, 2, bounded),))

    def __repr__(self) -> str:
        return (
            f"SolutionComparison: mean congruence {self.mean_congruence:.3f} of "
            f"{len(self.matching)} matched factors, {len(self.differing_items)} items differ"
        )


def compare_solutions(a: Any, b: Any) -> SolutionComparison:
    """Match the factors of two solutions by Tucker's congruence.

    The matching maximizes Σ |φ_kl| over one-to-one assignments; see :func:`congruence`.

    Parameters
    ----------
    a, b
        Each a Structure, anything whose ``loadings`` is a DataFrame of items by factors, or such
        a DataFrame; the same items in any order, any numbers of factors. An item of a Structure
        loads equally on all its factors, without sign: beside it, so do loadings.

    Raises
    ------
    InputError
        If one has no such loadings, or the items are not the same.

    Examples
    --------
    >>> one = Structure.from_keys({"A": ["a1", "a2"], "B": ["b1", "b2"]})
    >>> other = Structure.from_keys({"X": ["b1", "b2", "a2"], "Y": ["a1"]})
    >>> compare_solutions(one, other).differing_items
    ('a2',)
    """
    from scipy.optimize import linear_sum_assignment

    A, B = _loadings(a, "a"), _loadings(b, "b")
    unshared = {str(name) for name in set(A.index) ^ set(B.index)}
    if unshared:
        raise InputError(
            f"The two solutions must have the same items; '{min(unshared)}' is in only one of "
            "them. Give both the same item names."
        )
    B = B.loc[A.index]
    if isinstance(a, Structure) or isinstance(b, Structure):
        A, B = A.abs(), B.abs()
    phi = congruence(rescale_extremes(A.to_numpy()), rescale_extremes(B.to_numpy()))
    rows, columns = linear_sum_assignment(np.abs(phi), maximize=True)
    in_a, in_b = _strongest(A), _strongest(B)
    common = (in_a[:, rows] & in_b[:, columns]).sum(axis=1) > 0
    agree = common | (in_a.sum(axis=1) + in_b.sum(axis=1) == 0)
    frame = pd.DataFrame(phi, index=A.columns, columns=B.columns)
    return SolutionComparison(
        tuple(
            MatchedFactors(str(A.columns[k]), str(B.columns[m]), float(phi[k, m]))
            for k, m in zip(rows, columns, strict=True)
        ),
        tuple(str(item) for item, same in zip(A.index, agree.tolist(), strict=True) if not same),
        frame,
    )


def congruence(A: FloatArray, B: FloatArray) -> FloatArray:
    """Tucker's congruence of every column of A with every column of B, in [−1, 1].

    φ_kl = Σ_i a_ik b_il / √(Σ_i a_ik² Σ_i b_il²); 0 for a column of zeros. Above .95 two factors
    count as equal, from .85 as similar (Lorenzo-Seva & ten Berge 2006).
    """
    sizes = np.outer(np.linalg.norm(A, axis=0), np.linalg.norm(B, axis=0))
    cosines: FloatArray = A.T @ B / np.where(sizes > 0, sizes, 1.0)
    return cosines


def _loadings(solution: Any, argument: str) -> pd.DataFrame:
    found = solution if isinstance(solution, pd.DataFrame) else getattr(solution, "loadings", None)
    if isinstance(solution, Structure):
        found = solution.to_frame()
    if not isinstance(found, pd.DataFrame) or found.empty:
        raise InputError(
            f"`{argument}` must be a Structure, or have a DataFrame of items by factors as its "
            f"`loadings`; got {type(solution).__name__} without one.",
            argument,
        )
    try:
        loadings = found.astype(float)
        finite = bool(np.isfinite(loadings.to_numpy()).all())
    except (TypeError, ValueError, OverflowError):
        finite = False
    if not finite:
        raise InputError(
            f"`{argument}` must hold finite loadings; got missing, infinite or other entries. "
            "Leave out the items that have them.",
            argument,
        )
    return loadings


def _strongest(loadings: pd.DataFrame) -> BoolArray:
    """(p, d) marks of each item's strongest factor; several if they tie, none if all are 0."""
    size = np.abs(loadings.to_numpy())
    marks: BoolArray = (size == size.max(axis=1, keepdims=True)) & (size > 0)
    return marks
