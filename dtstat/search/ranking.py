"""Fitted structures in order, the answer first.

Which number of factors is the answer is decided where structures are searched: by the tree of
factors in :mod:`dtstat.search.choose`, by thresholds in :mod:`dtstat.search.threshold`. Here it is
put first, or overruled by criteria that need more than one fit of all rows (held-out rows, curves).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dtstat.core.arrays import BoolArray, IntArray
from dtstat.search.criteria import HELD_OUT, searching
from dtstat.search.explain import explain_rounds, explanation
from dtstat.search.held_out import HeldOut
from dtstat.search.records import Contender, Fitted, Outcome, Proposal, Scored


@dataclass(frozen=True, eq=False)
class Ranking:
    """Structures with their scores, and why the first of them was chosen.

    Attributes
    ----------
    contenders
        The structures, the best first; those that could not win last.
    explanation
        What was chosen, by what, and what came next.
    share
        Share of the rows that counted.
    outcome
        What the search found; None if curves chose.
    """

    contenders: tuple[Contender, ...]
    explanation: str
    share: float
    outcome: Outcome | None


def rank_found(
    fitted: Sequence[Fitted],
    outcome: Outcome,
    criterion: str,
    n_factors: int | None,
    held: HeldOut | None = None,
) -> Ranking:
    """Choose among all that a search fitted, or among what has the number of factors asked for."""
    everything = contenders(fitted, outcome.passed_over, outcome.n_effective, held)
    if n_factors is not None and held is not None:
        everything = tuple(one for one in everything if one.support.shape[1] == n_factors)
    share = outcome.n_effective / outcome.best.n_obs
    return rank(everything, criterion, share, outcome, n_factors is not None)


def rank(
    everything: tuple[Contender, ...],
    criterion: str,
    share: float,
    outcome: Outcome | None = None,
    asked: bool = False,
    before: str = "",
) -> Ranking:
    """Choose by held-out rows or by curves, else as the search says.

    Parameters
    ----------
    everything
        All structures.
    criterion
        What decides.
    share
        Share of the rows that counted.
    outcome
        What the search found; None if curves choose.
    asked
        Whether the number of factors was given.
    before
        What is said before the choice is explained.
    """
    order = best_first(everything, criterion)
    if outcome is not None and criterion not in HELD_OUT:
        key = outcome.best.proposal.key
        first = next(k for k in order if Proposal(everything[k].support, "").key == key)
        order = [first, *(k for k in order if k != first)]
    rest = [k for k in range(len(everything)) if k not in set(order)]
    said = before + explanation(everything, order, criterion, outcome, asked)
    if outcome is not None and outcome.in_turn:
        said += explain_rounds(everything[order[0]])
    return Ranking(tuple(everything[k] for k in [*order, *rest]), said, share, outcome)


def contenders(
    fitted: Sequence[Scored], passed_over: Sequence[Scored], n: float, held: HeldOut | None
) -> tuple[Contender, ...]:
    """All structures with their scores, in the order they came up.

    Parameters
    ----------
    fitted, passed_over
        What was fitted, and what could not win.
    n
        What the rows count as.
    held
        Likelihoods of held-out rows, one row per fitted structure.
    """
    scored = [_contender(one, n, True) for one in fitted]
    if held is not None:
        behind, errors = held.behind()
        columns = zip(held.mean, behind, errors, held.monte_carlo_se, strict=True)
        scored = [
            replace(
                one,
                held_out=float(mean),
                behind=float(gap),
                behind_se=float(error),
                monte_carlo_se=float(by_chance),
            )
            for one, (mean, gap, error, by_chance) in zip(scored, columns, strict=True)
        ]
    return (*scored, *(_contender(one, n, False) for one in passed_over))


def _contender(one: Scored, n: float, fitted: bool) -> Contender:
    return Contender(
        by_first_item(one.proposal.support),
        one.proposal.origin,
        one.log_likelihood,
        one.n_parameters,
        one.cost("aic", n),
        one.cost("bic", n),
        one.cost("ebic", n),
        fitted=fitted,
        monte_carlo_se=one.monte_carlo_se,
    )


def by_first_item(support: BoolArray) -> BoolArray:
    """Put the factors in the order of their first items, the larger first."""
    return np.ascontiguousarray(support[:, first_item_order(support)])


def first_item_order(support: BoolArray) -> IntArray:
    """(d,) positions of the factors by their first items, the larger first, then by the others."""
    first, size = support.argmax(axis=0), support.sum(axis=0)
    order: IntArray = np.lexsort((-size, first))
    same = (np.diff(first[order]) == 0) & (np.diff(size[order]) == 0)
    return np.lexsort((*~support[::-1], -size, first)) if same.any() else order


def best_first(all_: tuple[Contender, ...], criterion: str) -> list[int]:
    """Positions of the contenders, the best first.

    "validation" and "cv" go by the mean held-out log-likelihood; "validation_2se" prefers, among
    those at most two standard errors behind the best, the one with the fewest parameters.
    """
    known = [k for k, one in enumerate(all_) if one.fitted]
    if criterion not in HELD_OUT:
        return sorted(known, key=lambda k: float(getattr(all_[k], searching(criterion))))
    if criterion != "validation_2se":
        return sorted(known, key=lambda k: -all_[k].held_out)

    def preference(k: int) -> tuple[bool, float, float]:
        one = all_[k]
        within = one.behind <= 2 * one.behind_se
        return not within, _size(one) if within else one.behind, one.behind

    return sorted(known, key=preference)


def _size(one: Contender) -> float:
    """Count parameters; of a network, which has no honest count, loadings and correlations."""
    d = one.support.shape[1]
    edges = float(one.support.sum() + d * (d - 1) / 2)
    return edges if math.isnan(one.n_parameters) else one.n_parameters
