"""Rules for the other level that is printed beside the answer, and what each gives.

Of the supported levels that pass the gate and have at least 1.25 (or 1.5) times as many factors as
the answer, or the answer as many times theirs: the largest step, a peak of the steps first (the
default); the largest step alone; the same on the side of the answer that has more of them; the
highest agreement. "best level": the best of all supported levels, which no rule can know. A rule
would take the place of the default if it were better on both halves and by two standard errors of
the difference over all surveys.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.surveys.keyed import SETS
from benchmarks.surveys.ours import Ours
from benchmarks.surveys.rules import HALVES, halves
from dtstat.search.choose import NEARLY_ONE

BEST = "best level"
Rule = Callable[[dt.DTFit], int | None]


def apart(fit: dt.DTFit, ratio: float) -> list[int]:
    """Return the levels that may be printed beside the answer, the largest step first."""
    levels, k = fit.tree[1 : fit.supported], fit.n_factors
    usable = [one for one in levels if abs(one.correlation) <= NEARLY_ONE]
    usable.sort(key=lambda one: -one.step)
    numbers = [one.n_factors for one in usable] + [1]
    return [d for d in numbers if d >= ratio * k or k >= ratio * d]


def largest_step(fit: dt.DTFit, ratio: float) -> int | None:
    """Return the level of the largest step; one factor if there is no other."""
    return next(iter(apart(fit, ratio)), None)


def fuller_side(fit: dt.DTFit, ratio: float) -> int | None:
    """Return the largest step on the side of the answer with more levels."""
    found = apart(fit, ratio)
    finer = [d for d in found if d > fit.n_factors]
    broader = [d for d in found if d < fit.n_factors]
    return next(iter(finer if len(finer) >= len(broader) else broader), None)


def most_agreed(fit: dt.DTFit, ratio: float) -> int | None:
    """Return the level on which ways to sort the items agree most."""
    several = [d for d in apart(fit, ratio) if d > 1]
    if not several:
        return largest_step(fit, ratio)
    return max(several, key=lambda d: fit.tree[d - 1].agreement)


RULES: dict[str, Rule] = {"default": lambda fit: fit.second} | {
    f"{name}, {ratio:g} times": lambda fit, rule=rule, ratio=ratio: rule(fit, ratio)
    for name, rule in (
        ("largest step", largest_step),
        ("fuller side", fuller_side),
        ("agreement", most_agreed),
    )
    for ratio in (1.25, 1.5)
}


def run(report: Report, found: list[Ours]) -> None:
    """Print the mean F₁ of the better of answer and other level, by rule, set and half."""
    rows = {}
    for one in found:
        seconds = {name: rule(one.fit) for name, rule in RULES.items()}
        better = {
            name: one.default if k is None or not one.fit.n_factors else max(one.default, one.at(k))
            for name, k in seconds.items()
        }
        every = (one.at(k) for k in range(1, one.fit.supported + 1))
        rows[one.survey.name] = better | {BEST: max(one.default, *every)}
    f1 = pd.DataFrame.from_dict(rows, orient="index")
    group = pd.Series({one.survey.name: one.survey.group for one in found})
    half = halves(found, lambda name: name).loc[f1.index]
    columns = {f"{name} ({(group == name).sum()})": f1[group == name].mean() for name in SETS}
    gain = f1.sub(f1["default"], axis=0)
    columns |= {f"{name} half ({(half == name).sum()})": f1[half == name].mean() for name in HALVES}
    columns |= {"gain": gain.mean(), "its error": gain.std() / len(gain) ** 0.5}
    report.heading("The other level that is printed")
    report.line(f"```\n{__doc__}```")
    table = pd.DataFrame(columns).reset_index(names="rule")
    report.table(table, "Mean F1 of the better of two levels", 3)
