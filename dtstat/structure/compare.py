"""How close two structures are, whatever their factors are called (appendix B.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dtstat.core.arrays import BoolArray
from dtstat.core.errors import InputError
from dtstat.core.tables import Printed, Summary, Table
from dtstat.structure.structure import Structure
from dtstat.structure.syntax import Given, as_structure


@dataclass(frozen=True, repr=False)
class Comparison(Printed):
    """Agreement of an estimated structure with a true one, after matching their factors.

    Attributes
    ----------
    f1
        Harmonic mean of precision and recall of the item–factor edges; 1 if equal.
    hamming
        Edges to add or delete to turn one into the other.
    precision, recall
        Share of estimated edges that are true, of true edges that were found.
    n_factors
        Numbers of factors (estimated, true).
    matching
        Estimated factor → true factor. Factors without a partner are left out.
    """

    f1: float
    hamming: int
    precision: float
    recall: float
    n_factors: tuple[int, int]
    matching: dict[str, str]

    @property
    def exact(self) -> bool:
        """Whether the two are the same structure."""
        return self.hamming == 0

    def summary(self) -> Summary:
        """Lay out the agreement, and which factor was matched to which."""
        said = "The two are the same structure." if self.exact else "The two differ."
        measures = (
            ("agreement (F1 score)", f"{self.f1:.3f}"),
            ("edges to add or delete", str(self.hamming)),
            ("precision", f"{self.precision:.3f}"),
            ("recall", f"{self.recall:.3f}"),
            ("factors, estimated", str(self.n_factors[0])),
            ("factors, true", str(self.n_factors[1])),
        )
        notes = (
            "Agreement: harmonic mean of precision and recall. Precision: share of the estimated "
            "item-factor pairs that are true. Recall: share of the true ones that were found.",
        )
        bounded = ("agreement (F1 score)", "precision", "recall")
        tables = [Table("Comparison", ("", "value"), measures, "lr", notes, bounded)]
        if self.matching:
            pairs = tuple(self.matching.items())
            tables.append(Table("Matched factors", ("estimated", "true"), pairs, "ll"))
        return Summary((said,), tuple(tables))

    def __repr__(self) -> str:
        return self.summary().to_text()


def compare(estimated: Given, truth: Given) -> Comparison:
    """Compare two structures over the best matching of their factors.

    F₁ = max_π 2|Â^π ∩ A| / (2|Â^π ∩ A| + |Â^π △ A|) and HD = min_π |Â^π △ A|. Both are reached by
    the matching π that has the most edges in common, found by optimal assignment; a factor left
    without a partner counts with all its edges as wrong.

    Parameters
    ----------
    estimated, truth
        Structures of the same items, in any order, with any numbers of factors; or fits, scoring
        keys, lavaan syntax.

    Raises
    ------
    InputError
        If the items are not the same.

    Examples
    --------
    >>> import dtstat as dt
    >>> truth = {"A": ["a1", "a2"], "B": ["b1", "b2"]}
    >>> result = dt.compare({"F1": ["b1", "b2", "a2"], "F2": ["a1", "a2"]}, truth)
    >>> result.hamming, result.matching
    (1, {'F1': 'B', 'F2': 'A'})
    """
    from scipy.optimize import linear_sum_assignment

    items = None if isinstance(truth, Mapping) else as_structure(truth, "truth").item_names
    estimated = as_structure(estimated, "estimated", lambda: items or ())
    found = estimated.item_names
    truth = as_structure(truth, "truth", lambda: found)
    A, B = _same_items(estimated, truth), truth.support
    # Counts of so few items are exact in products of floating-point numbers, which are fast.
    overlap = (A.T.astype(np.float32) @ B.astype(np.float32)).astype(np.int64)
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    hits = int(overlap[rows, columns].sum())
    n_estimated, n_true = int(A.sum()), int(B.sum())
    return Comparison(
        f1=_ratio(2 * hits, n_estimated + n_true),
        hamming=n_estimated + n_true - 2 * hits,
        precision=_ratio(hits, n_estimated),
        recall=_ratio(hits, n_true),
        n_factors=(estimated.n_factors, truth.n_factors),
        matching={
            estimated.factor_names[a]: truth.factor_names[b]
            for a, b in zip(rows, columns, strict=True)
            if overlap[a, b]
        },
    )


def _ratio(part: int, whole: int) -> float:
    """Share of a whole; an empty whole has nothing wrong in it."""
    return part / whole if whole else 1.0


def _same_items(estimated: Structure, truth: Structure) -> BoolArray:
    """Rows of ``estimated.support`` in the order of the items of ``truth``."""
    unshared = set(truth.item_names) ^ set(estimated.item_names)
    if unshared:
        more = f", and so are {len(unshared) - 1} more" if len(unshared) > 1 else ""
        raise InputError(
            f"The two structures must have the same items; '{min(unshared)}' is in only one of "
            f"them{more}. Give both the same `item_names`."
        )
    position = {name: i for i, name in enumerate(estimated.item_names)}
    rows = np.array([position[name] for name in truth.item_names], dtype=int)
    reordered: BoolArray = estimated.support[rows]
    return reordered
