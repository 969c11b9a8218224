"""The ranking of fitted structures, and the sentence that explains the answer.

Which number of factors is the answer is decided where structures are searched: by the tree of
factors in :mod:`dtstat.search.levels`, by thresholds in :mod:`dtstat.search.proposals`. Here it is
put first, or overruled by criteria that need more than one fit of all rows (held-out rows, curves).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dtstat.core.arrays import BoolArray, IntArray
from dtstat.core.saved import register
from dtstat.search.evaluate import (
    HELD_OUT,
    SEQUENTIAL,
    STEP,
    Evaluator,
    Outcome,
    Proposal,
    Scored,
    searching,
)
from dtstat.search.held_out import HeldOut
from dtstat.structure.compare import compare
from dtstat.structure.structure import Structure

# Steps from which the number of factors was right in 98 % of 800 data sets of many designs, and in
# all of the few that it covers in harder ones (benchmarks/results/levels/calibration.md).
WELL_SUPPORTED = 3.0
GIVEN: Final = "given"  # origin of a structure that was not searched for


@register(shapes={"support": "pd"})
@dataclass(frozen=True, eq=False)
class Contender:
    """A structure that was considered, with all its scores.

    Attributes
    ----------
    support
        (p, d) which item is in which factor.
    origin
        Where it comes from, in words.
    log_likelihood, n_parameters
        Of its fit to all rows (with "validation": to the rows for fitting).
    aic, bic, ebic
        Information criteria, the rows counting as much as the model deserves.
    held_out, behind, behind_se
        Mean log-likelihood of a row that was not fitted, how far that is behind the best, and
        the standard error of this; NaN if no rows were held out.
    fitted
        False if it could not win by a bound on its likelihood: its scores are bounds then.
    monte_carlo_se
        Standard error from the draws that estimated the likelihood that decides (``held_out`` if
        rows were held out, else ``log_likelihood``); 0 if it is exact.
    """

    support: BoolArray
    origin: str
    log_likelihood: float
    n_parameters: float
    aic: float
    bic: float
    ebic: float
    held_out: float = math.nan
    behind: float = math.nan
    behind_se: float = math.nan
    fitted: bool = True
    monte_carlo_se: float = 0.0

    def structure(self, item_names: tuple[str, ...]) -> Structure:
        """Return the structure with names."""
        return Structure(self.support, item_names)


@dataclass(frozen=True, eq=False)
class Choice:
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


def choose_found(
    evaluator: Evaluator,
    outcome: Outcome,
    criterion: str,
    n_factors: int | None,
    held: HeldOut | None = None,
) -> Choice:
    """Choose among all that a search fitted, or among what has the number of factors asked for."""
    everything = contenders(evaluator.fitted, outcome.passed_over, outcome.n_effective, held)
    if n_factors is not None and held is not None:
        everything = tuple(one for one in everything if one.support.shape[1] == n_factors)
    share = outcome.n_effective / evaluator.n_obs
    return choose(everything, criterion, share, outcome, n_factors is not None)


def choose(
    everything: tuple[Contender, ...],
    criterion: str,
    share: float,
    outcome: Outcome | None = None,
    asked: bool = False,
    before: str = "",
) -> Choice:
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
    order = ranking(everything, criterion)
    if outcome is not None and criterion not in HELD_OUT:
        key = outcome.best.proposal.key
        first = next(k for k in order if Proposal(everything[k].support, "").key == key)
        order = [first, *(k for k in order if k != first)]
    rest = [k for k in range(len(everything)) if k not in set(order)]
    said = before + explanation(everything, order, criterion, outcome, asked)
    if outcome is not None and outcome.in_turn:
        said += _say_what_rounds_found(everything[order[0]])
    return Choice(tuple(everything[k] for k in [*order, *rest]), said, share, outcome)


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
    """(d,) positions of the factors by their first items, the larger first."""
    order: IntArray = np.lexsort((-support.sum(axis=0), support.argmax(axis=0)))
    return order


def ranking(all_: tuple[Contender, ...], criterion: str) -> list[int]:
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


def explanation(
    all_: tuple[Contender, ...],
    order: list[int],
    criterion: str,
    outcome: Outcome | None = None,
    asked: bool = False,
) -> str:
    """Say what was chosen, by what, and what came next; or that so many factors were asked for."""
    best = all_[order[0]]
    if best.origin == GIVEN:
        return f"{_count(best)}, as given."
    if criterion == STEP and outcome is not None:
        return _explain_level(best, outcome, asked)
    if len(all_) == 1:
        return f"{_count(best)}; no other structure was possible."
    chosen = f"{_count(best)} by {criterion}, of {len(all_)} structures"
    if len(order) == 1:
        return f"{chosen}; no other structure was competitive."
    second = all_[order[1]]
    if _too_close(best, second, criterion):
        return (
            f"{chosen}; best other structure found: {_difference(best, second)}. The two differ by "
            "less than the Monte Carlo error of their likelihoods: examine both, or rerun with "
            "other seeds."
        )
    distance = _distance(best, second, criterion)
    return f"{chosen}; best other structure found: {_difference(best, second)}, {distance}."


def _explain_level(best: Contender, outcome: Outcome, asked: bool) -> str:
    """Say what one factor fewer and one more would mean, and which other level stands out."""
    d, levels = best.support.shape[1], outcome.levels
    if not levels:
        return "No factor: there are fewer items than a factor must have."
    if not d:
        return "No factor: a model of independent items fits just as well."
    most = outcome.supported
    text = f"{_count(best)}{', as asked' * asked}; the data support at most {most}."
    prices = []
    if d > 1:
        prices.append(f"dropping one would cost {levels[d - 1].price:.3f}")
    if d < len(levels):
        prices.append(f"adding one would gain {levels[d].price:.3f}")
    if prices:
        said = " and ".join(prices)
        text += f" {said[0].upper()}{said[1:]} in log-likelihood per person."
    # The share is of surveys small enough for ways to sort that could agree.
    known = d > 0 and not math.isnan(levels[d - 1].agreement)
    if not asked and known and 1 < d <= most and levels[d - 1].step >= WELL_SUPPORTED:
        text += (
            f" The number is well supported: its step is {levels[d - 1].step:.1f}, and from "
            f"{WELL_SUPPORTED:g} on it was right in 98 % of simulated surveys."
        )
    if outcome.second is not None:
        other = outcome.second
        which = "Another" if asked else "The other"
        text += f" {which} level that stands out has {other} factor{'s' * (other > 1)}."
    return text


def _say_what_rounds_found(chosen: Contender) -> str:
    """Say what came of extracting factors sequentially."""
    if chosen.origin != SEQUENTIAL:
        return " Extracting factors sequentially found nothing clearly better."
    own = chosen.support[chosen.support.sum(axis=1) == 1].any(axis=0)
    hidden = int((~own).sum())
    without = {0: "each has an item of its own", 1: "1 has no item of its own"}
    said = without.get(hidden, f"{hidden} have no item of their own")
    return f" Found by sequential extraction; {said}."


def _too_close(best: Contender, second: Contender, criterion: str) -> bool:
    """Whether two structures differ by no more than the error of their estimated likelihoods."""
    error = math.hypot(best.monte_carlo_se, second.monte_carlo_se)
    if not error:
        return False
    if criterion in HELD_OUT:
        return abs(best.held_out - second.held_out) < 2 * error
    # Criteria are −2 times the log-likelihood of as many rows as count, plus a price.
    share = (best.aic - 2 * best.n_parameters) / (-2 * best.log_likelihood)
    gap = float(getattr(second, criterion)) - float(getattr(best, criterion))
    return gap / 2 < 2 * error * share


def _count(one: Contender) -> str:
    d = one.support.shape[1]
    return "no factor" if d == 0 else "1 factor" if d == 1 else f"{d} factors"


def _difference(best: Contender, second: Contender) -> str:
    if best.support.shape[1] != second.support.shape[1]:
        return _count(second)
    changed = compare(Structure(second.support), Structure(best.support)).hamming
    return f"{_count(second)} too, with {changed} loading{'' if changed == 1 else 's'} changed"


def _distance(best: Contender, second: Contender, criterion: str) -> str:
    if criterion in HELD_OUT:
        gap = best.held_out - second.held_out
        if gap < 0:
            return (
                f"{-gap:.4f} per row more likely, but with more parameters "
                f"(SE {best.behind_se:.4f})"
            )
        return f"{gap:.4f} per row less likely (SE {second.behind_se:.4f})"
    gap = float(getattr(second, criterion)) - float(getattr(best, criterion))
    return f"{criterion} {gap:.1f} higher"
