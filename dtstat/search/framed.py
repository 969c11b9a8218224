"""What a search in the frame of the items found, brought back to the items as they are given.

Searches see the items in an order and with signs that their correlations decide
(:mod:`dtstat.data.frame`). What they find is in terms of these items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from dtstat.core.arrays import FloatArray, IntArray
from dtstat.data.frame import Frame
from dtstat.factors.copula import as_given
from dtstat.search.records import Fitted, Level, Outcome, Scored
from dtstat.structure.groups import Groups, canonical_labels

_NOTHING = 1e-12  # sum of loadings that says nothing of a direction
One = TypeVar("One", bound=Scored)


@dataclass(frozen=True, eq=False)
class WayBack:
    """Brings findings back to the items as they are given.

    Attributes
    ----------
    frame
        The frame that was searched in.
    R, floor
        (p, p) correlations in the frame, and their standard error.
    """

    frame: Frame
    R: FloatArray
    floor: float

    def scored(self, one: One, factors: IntArray | None = None) -> One:
        """Bring a structure with its likelihood, and its estimate if it has one, back.

        ``factors`` are the (d,) numbers that its factors have in the frame; the same if None.
        """
        support = one.proposal.support[self.frame.place]
        support = support if factors is None else support[:, factors]
        found = replace(one, proposal=replace(one.proposal, support=support))
        if isinstance(found, Fitted):
            return replace(found, estimate=as_given(found.estimate, self.frame, factors))
        return found

    def level(self, level: Level) -> Level:
        """Bring a level back: its factors are numbered by their first items."""
        a, b = level.pair
        turned = self._direction(level, a) * self._direction(level, b)
        found = _renumbered(level, self.frame.place)
        return replace(found, correlation=level.correlation * turned) if a != b else found

    def _direction(self, level: Level, k: int) -> float:
        """Say whether a factor, whose loadings sum to more than 0, points the other way here."""
        items = np.flatnonzero(level.labels == k)
        signs = self.frame.signs[self.frame.order[items]]
        if (signs == signs[0]).all():
            return float(signs[0])
        alone = Groups(self.R[np.ix_(items, items)], np.zeros(len(items), np.int64), self.floor)
        own = alone.signs * alone.strength[:, 0]
        there, here = (-1.0 if total < -_NOTHING else 1.0 for total in (own.sum(), own @ signs))
        return there * here

    def at_level(self, fitted: Fitted, level: Level, framed: Level) -> Fitted:
        """Bring the fit of a level back, its factors in the order they have in the level."""
        labels = level.labels[self.frame.order]
        numbers = [labels[(framed.labels == k).argmax()] for k in range(framed.n_factors)]
        return self.scored(fitted, np.argsort(numbers))

    def outcome(self, outcome: Outcome) -> Outcome:
        """Bring all that a search found back."""
        return replace(
            outcome,
            best=self.scored(outcome.best),
            passed_over=tuple(map(self.scored, outcome.passed_over)),
            levels=tuple(map(self.level, outcome.levels)),
        )


def into_frame(level: Level, frame: Frame) -> Level:
    """Bring a level into the frame."""
    return _renumbered(level, frame.order)


def _renumbered(level: Level, items: IntArray) -> Level:
    """Take the items in another order; factors are numbered by their first items."""
    before, labels = level.labels[items], canonical_labels(level.labels[items])
    a, b = sorted(int(labels[(before == k).argmax()]) for k in level.pair)
    return replace(level, labels=labels, pair=(a, b))
