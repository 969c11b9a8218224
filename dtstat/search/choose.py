"""The choice among fitted structures, and the sentence that explains it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dtstat.core.arrays import BoolArray, IntArray
from dtstat.core.saved import register
from dtstat.search.evaluate import HELD_OUT, INFORMATION, HeldOut, Scored
from dtstat.structure.compare import compare
from dtstat.structure.structure import Structure

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
    if criterion in INFORMATION:
        return sorted(known, key=lambda k: float(getattr(all_[k], criterion)))
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


def explanation(all_: tuple[Contender, ...], order: list[int], criterion: str) -> str:
    """One sentence: what was chosen, by what, and what came next."""
    best = all_[order[0]]
    if best.origin == GIVEN:
        return f"{_count(best)}, as given."
    if len(all_) == 1:
        return f"{_count(best)}; no other structure was possible."
    chosen = f"{_count(best)} by {criterion}, of {len(all_)} structures"
    if len(order) == 1:
        return f"{chosen}; no other comes near."
    second = all_[order[1]]
    if _too_close(best, second, criterion):
        return (
            f"{chosen}; best other structure found: {_difference(best, second)}. The two differ by "
            "less than the Monte Carlo error of their likelihoods: look at both, or repeat with "
            "other seeds."
        )
    distance = _distance(best, second, criterion)
    return f"{chosen}; best other structure found: {_difference(best, second)}, {distance}."


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
