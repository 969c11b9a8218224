"""The choice among fitted structures, and the sentence that explains it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dtstat.arrays import BoolArray
from dtstat.selection.criteria import HELD_OUT, INFORMATION
from dtstat.selection.evaluate import Fitted, Scored
from dtstat.selection.holdout import HeldOut
from dtstat.structure import Structure, compare

# Kass & Raftery (1995), Bayes factors, JASA 90, 773-795: evidence by differences in BIC.
_EVIDENCE = ((2.0, "hardly any"), (6.0, "some"), (10.0, "strong"), (math.inf, "very strong"))


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
    """

    support: BoolArray
    origin: str
    log_likelihood: float
    n_parameters: int
    aic: float
    bic: float
    ebic: float
    held_out: float = math.nan
    behind: float = math.nan
    behind_se: float = math.nan
    fitted: bool = True

    def structure(self, item_names: tuple[str, ...]) -> Structure:
        """Return the structure with names."""
        return Structure(self.support, item_names)


def contenders(
    fitted: tuple[Fitted, ...], passed_over: tuple[Scored, ...], n: float, held: HeldOut | None
) -> tuple[Contender, ...]:
    """All structures with their scores, in the order they came up.

    Parameters
    ----------
    fitted, passed_over
        What was fitted, and what could not win.
    n
        What the rows count as.
    held
        Likelihoods of held-out rows, one row a fitted structure.
    """
    none = np.full(len(fitted), np.nan)
    means = none if held is None else held.mean
    behind, errors = (none, none) if held is None else held.behind()
    scored = [
        _contender(one, n, float(means[k]), float(behind[k]), float(errors[k]), True)
        for k, one in enumerate(fitted)
    ]
    bounds = [_contender(one, n, math.nan, math.nan, math.nan, False) for one in passed_over]
    return (*scored, *bounds)


def _contender(
    one: Scored, n: float, mean: float, behind: float, error: float, fitted: bool
) -> Contender:
    return Contender(
        _by_first_item(one.proposal.support),
        one.proposal.origin,
        one.log_likelihood,
        one.n_parameters,
        one.cost("aic", n),
        one.cost("bic", n),
        one.cost("ebic", n),
        mean,
        behind,
        error,
        fitted,
    )


def _by_first_item(support: BoolArray) -> BoolArray:
    """Put the factors in the order of their first items, the larger first."""
    order = np.lexsort((-support.sum(axis=0), support.argmax(axis=0)))
    return np.ascontiguousarray(support[:, order])


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
        return not within, float(one.n_parameters) if within else one.behind, one.behind

    return sorted(known, key=preference)


def explanation(all_: tuple[Contender, ...], order: list[int], criterion: str) -> str:
    """One sentence: what was chosen, by what, and what came next."""
    best = all_[order[0]]
    if len(order) == 1:
        return f"{_count(best)}; no other structure was possible."
    chosen = f"{_count(best)} by {criterion}, of {len(all_)} structures"
    second = all_[order[1]]
    return (
        f"{chosen}; runner-up: {_difference(best, second)}, {_distance(best, second, criterion)}."
    )


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
                f"{-gap:.4f} a row more likely, but with more parameters (SE {best.behind_se:.4f})"
            )
        return f"{gap:.4f} a row less likely (SE {second.behind_se:.4f})"
    gap = float(getattr(second, criterion)) - float(getattr(best, criterion))
    if criterion == "aic":
        return f"{gap:.1f} higher"
    grade = next(word for limit, word in _EVIDENCE if gap < limit)
    return f"{gap:.1f} higher ({grade} evidence)"
