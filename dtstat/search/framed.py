"""What a search in the frame of the items found, brought back to the items as they are given.

Searches see the items in an order and with signs that their correlations decide
(:mod:`dtstat.data.frame`). What they find is in terms of these items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from dtstat.core.arrays import IntArray
from dtstat.data.frame import Frame
from dtstat.factors.copula import as_given
from dtstat.search.records import Fitted, Level, Outcome, Proposal, Scored
from dtstat.structure.groups import canonical_labels

One = TypeVar("One", bound=Scored)


@dataclass(frozen=True, eq=False)
class WayBack:
    """Brings findings back to the items as they are given."""

    frame: Frame

    def proposal(self, proposal: Proposal) -> Proposal:
        """Bring a structure back."""
        return replace(proposal, support=proposal.support[self.frame.place])

    def scored(self, one: One) -> One:
        """Bring a structure with its likelihood, and its estimate if it has one, back."""
        found = replace(one, proposal=self.proposal(one.proposal))
        if isinstance(found, Fitted):
            return replace(found, estimate=as_given(found.estimate, self.frame))
        return found

    def level(self, level: Level) -> Level:
        """Bring a level back: its factors are numbered by their first items."""
        return _renumbered(level, self.frame.place)

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
