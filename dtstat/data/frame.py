"""One order of items and rows, and one sign of every item, that their content alone decides.

The order of columns and rows, and which items are keyed in reverse, say nothing of the factors. But
searches start somewhere, stop somewhere, and of equals take the first; and rows that are drawn at
random are drawn by their numbers. So searches run, and rows are drawn, in an order that follows
from the correlations and the answers:

- **Items** by their correlations with the others, the strongest first. Each item is described by
  its sorted |r|, then by these and the descriptions of the other items, and so on, until no two
  that differ have the same description (color refinement).
- **Signs** along the largest |r|: each item points as does the one it is tied to in the maximum
  spanning tree.
- **Rows** by a hash of their answers, each taken as the number of people below less those above.
  Of the two directions of all items together, the smaller sum of all hashes decides.

Two items with the same correlations throughout, as copies have, nobody can tell apart. Then either
may come first, and what is found is the same but for their exchange.

Sums of the same numbers in another order differ in the last digits; with correlations rounded to
ten decimals, a search sees the same digits in every order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.parallel import Progress, track
from dtstat.core.saved import register
from dtstat.data.levels import find_levels

Words = npt.NDArray[np.uint64]

_ITEMS_PER_BLOCK = 512
DECIMALS = 10  # of a correlation; in later ones the order of sums shows


@register(
    shapes={"order": "p", "signs": "p"},
    rules={
        "the order names everything once": lambda frame: (
            np.sort(frame.order).tolist() == list(range(len(frame.order)))
        ),
        "signs are 1 or -1": lambda frame: bool((np.abs(frame.signs) == 1).all()),
    },
)
@dataclass(frozen=True, eq=False)
class Frame:
    """The order and the signs of p items (or of factors).

    Attributes
    ----------
    order
        (p,) the items in their order.
    signs
        (p,) −1 for the items, as they are given, that are turned round, else 1.
    """

    order: IntArray
    signs: FloatArray

    @classmethod
    def as_they_are(cls, p: int) -> Frame:
        """Leave p items where and as they are."""
        return cls(np.arange(p), np.ones(p))

    @classmethod
    def of(cls, R: FloatArray, *others: FloatArray) -> Frame:
        """Find the frame of (p, p) correlations; other measures of the same items help to tell."""
        strengths = [np.abs(_rounded(one)) for one in (R, *others)]
        order = _order(strengths)
        signs = np.empty(len(R))
        signs[order] = _signs(_rounded(R[np.ix_(order, order)]))
        return cls(order, signs)

    @classmethod
    def of_answers(cls, values: FloatArray) -> Frame:
        """Find the frame of (n, p) answers, NaN where missing, by rank correlations.

        Here it is known which way all items together point, too.
        """
        balance = np.array([_below_less_above(x) for x in values.T], dtype=np.float64)
        balance /= np.maximum(np.linalg.norm(balance, axis=1, keepdims=True), 1.0)
        frame = cls.of(balance @ balance.T)
        names = _name_rows(values, frame)
        return frame if _points_up(names) else cls(frame.order, -frame.signs)

    @classmethod
    def of_many(cls, Z: FloatArray) -> tuple[Frame, IntArray]:
        """Find the order of (p, n) standardized items, of which no matrix is made, and of people.

        With s_r = Σ_i z_ir² people go by s_r, and items by Σ_r z_ir² s_r, which have no sign and no
        order. Signs stay as they are: with −z_i for z_i what follows is the same but for signs.
        """
        blocks = [slice(k, k + _ITEMS_PER_BLOCK) for k in range(0, len(Z), _ITEMS_PER_BLOCK)]
        size = np.sum([np.einsum("ir,ir->r", Z[at], Z[at]) for at in blocks], axis=0)
        keys = np.concatenate([np.einsum("ir,ir,r->i", Z[at], Z[at], size) for at in blocks])
        frame = cls(np.argsort(keys, kind="stable"), np.ones(len(Z)))
        return frame, np.argsort(size, kind="stable")

    @classmethod
    def of_scores(cls, scores: FloatArray) -> Frame:
        """Find the frame of (n, d) scores on factors, NaN where not known, by their moments.

        Those that vary most come first, and their long tails point up.
        """
        known = np.nan_to_num(scores)
        square, cube = (_rounded((known**k).sum(axis=0)) for k in (2, 3))
        return cls(np.lexsort((-np.abs(cube), -square)), np.where(cube < 0, -1.0, 1.0))

    @cached_property
    def place(self) -> IntArray:
        """(p,) where each item, as given, stands in the order."""
        place = np.empty_like(self.order)
        place[self.order] = np.arange(len(place))
        return place

    def rows_as_given(self, loadings: FloatArray) -> FloatArray:
        """(p, d) numbers of items, which change sign with them, in the order given."""
        own: FloatArray = loadings[self.place] * self.signs[:, None]
        return own + 0.0

    def support(self, support: BoolArray) -> tuple[BoolArray, IntArray]:
        """(p, d) structure in the frame, its factors by their first items; and which these are."""
        framed = support[self.order]
        factors = np.lexsort(~framed[::-1])
        return framed[:, factors], factors

    def answers(self, values: FloatArray) -> FloatArray:
        """(n, p) answers to the items in the frame."""
        return np.ascontiguousarray((values * self.signs)[:, self.order])

    def columns_as_given(self, answers: FloatArray) -> FloatArray:
        """(n, p) answers to the items in the frame, as answers to the items given."""
        return np.ascontiguousarray(answers[:, self.place] * self.signs) + 0.0

    def matrix(self, R: FloatArray) -> FloatArray:
        """(p, p) correlations in the frame, to ten decimals."""
        turned = R * np.outer(self.signs, self.signs)
        return _rounded(turned[np.ix_(self.order, self.order)])

    def unsigned(self, R: FloatArray) -> FloatArray:
        """(p, p) numbers of any other measure in the frame, as they are."""
        return R[np.ix_(self.order, self.order)]


def reorder(Z: FloatArray, order: IntArray, people: IntArray | None = None) -> None:
    """Put the rows of (p, n) numbers, and in each the columns, in another order, in place."""
    left = np.ones(len(Z), dtype=bool)
    for start in range(len(Z)):
        if not left[start]:
            continue
        first, k, source = Z[start].copy(), start, -1
        while source != start:  # along a cycle each place takes what the next one has
            left[k], source = False, int(order[k])
            row = first if source == start else Z[source]
            Z[k], k = (row if people is None else row[people]), source


def _rounded(R: FloatArray) -> FloatArray:
    return np.round(R, DECIMALS) + 0.0  # no zero is negative


def _order(strengths: list[FloatArray]) -> IntArray:
    """(p,) items by their strengths, refined until no two that differ have the same color."""
    p = len(strengths[0])
    for S in strengths:
        np.fill_diagonal(S, 0.0)
    color = _ranks(np.hstack([np.sort(-S, axis=1) for S in strengths]))
    while (n_colors := int(color.max(initial=-1)) + 1) < p:
        told: list[FloatArray] = [color[:, None].astype(np.float64)]
        for S in strengths:
            by_strength = np.lexsort((np.broadcast_to(color, S.shape), -S), axis=1)
            told += [
                np.take_along_axis(-S, by_strength, axis=1),
                color[by_strength].astype(np.float64),
            ]
        color = _ranks(np.hstack(told))
        if color.max() + 1 == n_colors:  # nobody can tell these apart: take one of them
            tied = np.flatnonzero(np.bincount(color) > 1)[0]
            chosen = np.flatnonzero(color == tied)[0]
            color = 2 * color + 1
            color[chosen] -= 1
            color = np.unique(color, return_inverse=True)[1]
    return np.argsort(color)


def _ranks(rows: FloatArray) -> IntArray:
    """(p,) ranks of rows, the largest numbers first; equal rows have the same."""
    ranks: IntArray = np.unique(rows, axis=0, return_inverse=True)[1]
    return ranks.ravel()


def _signs(R: FloatArray) -> FloatArray:
    """(p,) signs along the maximum spanning tree, that of the first item positive."""
    p = len(R)
    signs = np.ones(p)
    nearest, strength = np.zeros(p, dtype=np.int64), np.abs(R[0]) if p else np.empty(0)
    strength[:1] = -1.0  # in the tree
    for _ in range(p - 1):
        i = int(strength.argmax())
        signs[i] = -signs[nearest[i]] if R[i, nearest[i]] < 0 else signs[nearest[i]]
        strength[i] = -1.0
        closer = (np.abs(R[i]) > strength) & (strength >= 0)
        nearest[closer], strength[closer] = i, np.abs(R[i])[closer]
    return signs


def rows_by_content(
    values: FloatArray, frame: Frame | None = None, progress: Progress = None
) -> IntArray:
    """(n,) the rows of (n, p) answers, NaN where missing, in the order of their content.

    Parameters
    ----------
    values
        The answers.
    frame
        That of the items, if it is known.
    progress
        True for a bar, or a function of (done, total): items.

    Notes
    -----
    Cost: one sort of each item, of ratings one pass, and one of the rows.
    """
    names = _name_rows(values, Frame.of_answers(values) if frame is None else frame, progress)
    return np.argsort(_mixed(names if _points_up(names) else -names), kind="stable")


def _name_rows(values: FloatArray, frame: Frame, progress: Progress = None) -> Words:
    """(n,) one number per row, weighted sums of its answers; opposite rows have opposite ones."""
    weights = _mixed(np.arange(1, len(frame.order) + 1, dtype=np.uint64)) | np.uint64(1)
    names = np.zeros(len(values), dtype=np.uint64)
    for weight, i in zip(weights, track(frame.order, progress, "rows"), strict=True):
        balance = _below_less_above(values[:, i])
        names += weight * (balance * np.int64(frame.signs[i])).astype(np.uint64)
    return names


def _points_up(names: Words) -> bool:
    """Which of the two directions of all items is taken, by sums that have no rounding."""
    return bool(_mixed(names).sum() <= _mixed(-names).sum())


def _below_less_above(x: FloatArray) -> IntArray:
    """(n,) how many answers are smaller, less how many are larger; 0 where missing."""
    _, codes, counts = find_levels(x)
    below = np.cumsum(counts) - counts
    balance = np.append(2 * below + counts - counts.sum(), 0)
    return balance[codes]


def _mixed(x: Words) -> Words:
    """Scatter 64-bit numbers (the finalizer of SplitMix64: Steele, Lea & Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
