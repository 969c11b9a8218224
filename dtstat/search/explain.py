"""The sentence that explains the answer: why this structure, and what came next."""

from __future__ import annotations

import math

from dtstat.search.criteria import HELD_OUT, STEP
from dtstat.search.records import GIVEN, SEQUENTIAL, Contender, Outcome
from dtstat.structure.compare import compare
from dtstat.structure.structure import Structure

# Steps from which the number of factors was right in 98 % of 800 data sets of many designs, and in
# all of the few that it covers in harder ones (benchmarks/results/levels/calibration.md).
WELL_SUPPORTED = 3.0


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


def explain_rounds(chosen: Contender) -> str:
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
