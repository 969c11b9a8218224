"""The way into every search: in the frame of the items, and back to the items as they are given.

Searches see the items in an order and with signs that their correlations decide
(:mod:`dtstat.data.frame`). What they find is in terms of these items, and is brought back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from dtstat.core.arrays import BoolArray, FloatArray, IntArray
from dtstat.core.parallel import Progress
from dtstat.data.frame import Frame
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.factors.copula import as_given
from dtstat.search.choose import count_rows
from dtstat.search.evaluate import Evaluator, Scaling
from dtstat.search.levels import fit_level, search_tree
from dtstat.search.records import GIVEN, Fitted, Level, Outcome, Proposal, Rules, Scored
from dtstat.search.refine import refine
from dtstat.search.sequential import search_sequential
from dtstat.search.threshold import assess, search_threshold
from dtstat.search.tree import Tree
from dtstat.structure.barcode import Barcode, barcode
from dtstat.structure.groups import Groups, canonical_labels
from dtstat.structure.path import candidates

_NOTHING = 1e-12  # sum of loadings that says nothing of a direction
_ROUNDING = 1e-12  # of a strength
One = TypeVar("One", bound=Scored)
Found = tuple[tuple[Fitted, ...], Outcome]  # all that was fitted, and what was found


class FramedSearch:
    """Where the structure behind some items is searched, whatever their order and signs.

    Parameters
    ----------
    R
        (p, p) correlations by which structures are compared.
    measured
        The matrix to threshold.
    n
        Rows behind an entry.
    rules
        Criterion, size of factors, what to do with items of no clique.
    scaling
        Constant of the misfit of an estimate; None for 1.
    """

    def __init__(
        self,
        R: FloatArray,
        measured: DependenceMatrix,
        n: int,
        rules: Rules,
        scaling: Scaling | None = None,
    ) -> None:
        frame = Frame.of(R, measured.values)
        framed = None if scaling is None else lambda found: scaling(as_given(found, frame))
        self._measured, self._rules, self._frame = measured, rules, frame
        self._evaluator = Evaluator(frame.matrix(R), n, framed)
        self._back = WayBack(frame, self._evaluator.R, 1 / math.sqrt(n))

    @cached_property
    def _barcode(self) -> Barcode:
        names = tuple(self._measured.names[i] for i in self._frame.order)
        strength = _with_exact_ties(self._frame.unsigned(self._measured.values))
        return barcode(strength, names, self._rules.min_children)

    @cached_property
    def barcode(self) -> Barcode:
        """Every clique of the path, computed when first asked for."""
        return self._barcode.as_given(self._measured.names, self._frame.order)

    def assess(self, support: BoolArray) -> Found:
        """Fit a structure that was given."""
        given, factors = self._frame.support(support)
        outcome = assess(self._evaluator, Proposal(given, GIVEN), self._rules)
        best = self._back.scored(outcome.best, np.argsort(factors))
        return (best,), replace(outcome, best=best)

    def find(
        self,
        how: str,
        grid: FloatArray | None,
        n_factors: int | None,
        by_cost: bool,
        refined: bool,
        everything: bool,
        progress: Progress,
    ) -> Found:
        """Propose, fit and compare structures.

        Parameters
        ----------
        how
            "tree", "sequential" or "threshold".
        grid
            Thresholds; None for all.
        n_factors
            Number of factors, if it is known.
        by_cost
            Whether the level of the tree that costs least is the answer.
        refined
            Whether single loadings are added and dropped.
        everything
            Whether all structures are fitted, those too that cannot win by a bound on their
            likelihood.
        progress
            True for a bar, or a function of (done, total).
        """
        evaluator, bars, rules = self._evaluator, self._barcode, self._rules
        if how == "tree":
            outcome = search_tree(evaluator, bars, rules, progress, n_factors, by_cost)
        elif how == "sequential":
            outcome = search_sequential(evaluator, bars, rules, progress)
        else:
            other = evaluator.afresh()  # levels of the tree are no structures of the path
            n = count_rows(other, Tree(other, bars, rules).grow()[::-1], rules)
            path = candidates(bars, grid)
            outcome = search_threshold(evaluator, path, rules, n, progress, n_factors)
        if refined:
            outcome = refine(evaluator, outcome, rules, progress)
        if everything:
            for one in outcome.passed_over:
                evaluator.fit(one.proposal)
        return tuple(map(self._back.scored, evaluator.fitted)), self._back.outcome(outcome)

    def at_level(self, level: Level, n: float) -> Fitted:
        """Fit a level of the tree that was found, n rows counting."""
        framed = _renumbered(level, self._frame.order)
        fitted = fit_level(self._evaluator, self._barcode, framed, self._rules, n)
        return self._back.at_level(fitted, level, framed)


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


def _renumbered(level: Level, items: IntArray) -> Level:
    """Take the items in another order; factors are numbered by their first items."""
    before, labels = level.labels[items], canonical_labels(level.labels[items])
    a, b = sorted(int(labels[(before == k).argmax()]) for k in level.pair)
    return replace(level, labels=labels, pair=(a, b))


def _with_exact_ties(R: FloatArray) -> FloatArray:
    """|R|, with equal values where the order of sums alone tells them apart."""
    strength = np.abs(R)
    i, j = np.triu_indices(len(strength), 1)
    values = strength[i, j]
    order = np.argsort(values)
    steps = np.diff(values[order])
    if not ((steps > 0) & (steps <= _ROUNDING)).any():
        return strength
    group = np.cumsum(np.concatenate([[True], steps > _ROUNDING])) - 1
    first = np.concatenate([[0], np.flatnonzero(steps > _ROUNDING) + 1])
    values[order] = values[order][first][group]
    strength[i, j] = strength[j, i] = values
    return strength
