"""Rules by which a level of the tree may be taken, and what each gives on keyed surveys.

With c_k the price of going from k factors to one fewer, a the level's agreement, n the rows that
count, and C_k = log(c_k + o/n),

    step_k = a^α v(k) {mean of C_j over k/w < j ≤ k − mean of C_j over k < j ≤ wk},

2 ≤ k ≤ supported, and the level of the largest step is taken; without a window w it is C_k −
C_{k+1}. The gate leaves out levels whose closest two factors correlate by more than .9. "monotone":
prices replaced by their running maximum from fine to broad. "to least ebic": levels up to that of
the least ebic, not those within its standard error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from benchmarks.surveys.keyed import SETS
from benchmarks.surveys.ours import Ours
from dtstat.core.arrays import FloatArray
from dtstat.search.choose import NEARLY_ONE

WEIGHTS: dict[str, Callable[[int], float]] = {
    "1": lambda k: 1.0,
    "log(1+k)": lambda k: math.log(1 + k),
    "sqrt(k-1)": lambda k: math.sqrt(k - 1),
    "k-1": lambda k: k - 1.0,
}
LEAST_EBIC, LARGEST = "least ebic", "largest supported, gate"
HALVES = ("odd", "even")


@dataclass(frozen=True)
class Step:
    """One rule of this kind; the defaults are those of :mod:`dtstat.search.choose`."""

    alpha: int = 1
    weight: str = "1"
    offset: float = 1.0
    monotone: bool = False
    gate: bool = True
    window: float | None = 2.0
    least: bool = False

    @property
    def name(self) -> str:
        """Short text."""
        parts = [f"a^{self.alpha}", self.weight, f"o={self.offset:g}"]
        parts += [] if self.window is None else [f"w={self.window:g}"]
        parts += ["monotone"] * self.monotone + ["gate"] * self.gate
        parts += ["to least ebic"] * self.least
        return ", ".join(parts)

    def choose(self, fit: dt.DTFit) -> int:
        """Return the number of factors."""
        prices = np.array([0.0, 0.0, *(level.price for level in fit.tree[1:]), 0.0])
        if self.monotone:
            prices = np.maximum.accumulate(prices[::-1])[::-1]
        C = np.log(prices + self.offset / fit.n_effective)
        best, answer = -math.inf, 1
        for k in range(2, (least_ebic(fit) if self.least else fit.supported) + 1):
            level = fit.tree[k - 1]
            if self.gate and abs(level.correlation) > NEARLY_ONE:
                continue
            agreed = 1.0 if math.isnan(level.agreement) else max(level.agreement, 0.0)
            step = agreed**self.alpha * WEIGHTS[self.weight](k) * self._fall(C, k)
            if step > best:
                best, answer = step, k
        return answer

    def _fall(self, C: FloatArray, k: int) -> float:
        """Return how much cheaper joins are above level k; prices beyond the tree do not count."""
        w, last = self.window or 1.0, len(C) - 2
        below = max(min(math.floor(k / w) + 1, k), 2)
        above = k + 1 if k == last else min(max(math.floor(w * k), k + 1), last)
        return float(C[below : k + 1].mean() - C[k + 1 : above + 1].mean())


def least_ebic(fit: dt.DTFit) -> int:
    """Return the number of factors of the structure of least ebic."""
    return int(min(fit.contenders, key=lambda one: one.ebic).support.shape[1])


def largest_supported(fit: dt.DTFit) -> int:
    """Return the largest number of factors that is supported and passes the gate."""
    levels = fit.tree[1 : fit.supported]
    return max((t.n_factors for t in levels if abs(t.correlation) <= NEARLY_ONE), default=1)


SINGLE = [
    Step(*choices, window=None)
    for choices in product((0, 1, 2), WEIGHTS, (0.5, 1.0, 3.0), (False, True), (False, True))
]
WINDOWS = [
    Step(alpha, weight, gate=gate, window=window)
    for window, alpha, weight, gate in product(
        (1.25, 1.5, 1.75, 2.0, 2.5), (0, 1), ("1", "log(1+k)"), (False, True)
    )
]
RULES: dict[str, Callable[[dt.DTFit], int]] = {
    LEAST_EBIC: least_ebic,
    LARGEST: largest_supported,
} | {step.name: step.choose for step in [*SINGLE, *WINDOWS, Step(least=True)]}


def tried(found: list[Ours]) -> pd.DataFrame:
    """One row per survey, one column per rule: F₁ of the level that the rule takes."""
    rows = {}
    for one in found:
        nothing = one.fit.n_factors == 0
        rows[one.survey.name] = {
            name: 0.0 if nothing else one.at(rule(one.fit)) for name, rule in RULES.items()
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def halves(found: list[Ours], by: Callable[[str], str]) -> pd.Series:
    """Half of each survey: within each set every other one by name, or by another name of it."""
    half = {}
    for group in SETS:
        names = sorted(one.survey.name for one in found if one.survey.group == group)
        order = list(dict.fromkeys(sorted(by(name) for name in names)))
        half |= {name: HALVES[order.index(by(name)) % 2] for name in names}
    return pd.Series(half)


def questionnaire(name: str) -> str:
    """First word of a survey's name: versions and parts of one questionnaire share it."""
    return name.removeprefix("op_").split("_")[0]


def run(report: Report, found: list[Ours]) -> None:
    """Print all rules, and what a rule chosen on one half gives on the other."""
    f1 = tried(found)
    chosen = [(one.fit.n_factors or 1) == Step().choose(one.fit) for one in found]
    assert all(chosen), "the default of this table is not that of dtstat"
    group = pd.Series({one.survey.name: one.survey.group for one in found})
    half = halves(found, lambda name: name).loc[f1.index]
    columns = {f"{name} ({(group == name).sum()})": f1[group == name].mean() for name in SETS}
    columns |= {f"all {len(f1)}": f1.mean()}
    columns |= {f"{name} half ({(half == name).sum()})": f1[half == name].mean() for name in HALVES}
    table = pd.DataFrame(columns).reset_index(names="rule")
    default = Step().name
    table.insert(1, "default", np.where(table["rule"] == default, "yes", ""))
    report.heading("Rules that were tried")
    report.line(f"```\n{__doc__}```")
    report.line(
        f"'{LEAST_EBIC}' takes the level of least ebic; '{LARGEST}' the largest number supported "
        "whose factors pass the gate."
    )
    order = table.sort_values(f"all {len(f1)}", ascending=False, kind="stable")
    report.table(order, f"Mean F1 of {len(table)} rules, the best first", 3)
    error = f1[default].sem()
    report.line(f"Standard error of the default's mean over {len(f1)} surveys: {error:.3f}.")
    _across(report, f1, group, half, "halves: every other survey by name, within each set")
    kept = halves(found, questionnaire)
    _across(report, f1, group, kept, "the same, versions of one questionnaire in the same half")


def _across(
    report: Report, f1: pd.DataFrame, group: pd.Series, half: pd.Series, title: str
) -> None:
    """Print what the best rules of one half give on the other; of equals, their mean."""
    half = half.loc[f1.index]
    rows, default = [], Step().name
    for chosen_on, other in (HALVES, HALVES[::-1]):
        means = f1[half == chosen_on].mean()
        best = list(means.index[means >= means.max() - 1e-9])
        rest = f1[half == other]
        row = {"chosen on": chosen_on, "surveys": int((half == chosen_on).sum())}
        row |= {"rule": best[0] + (f" and {len(best) - 1} equal" if len(best) > 1 else "")}
        row |= {"F1 there": means.max(), "reported on": other, "F1": rest[best].mean().mean()}
        for name in SETS:
            row[name] = rest.loc[group[rest.index] == name, best].mean().mean()
        rows.append(row | {"default's F1": rest[default].mean()})
    weights = [int((half == row["reported on"]).sum()) for row in rows]
    report.table(pd.DataFrame(rows), f"Chosen on one half, reported on the other; {title}", 3)
    unseen = np.average([row["F1"] for row in rows], weights=weights)
    seen = np.average([row["F1 there"] for row in rows], weights=weights[::-1])
    report.line(
        f"Mean over all {sum(weights)}: {unseen:.3f} where the rule was not chosen, {seen:.3f} "
        f"where it was; the default has {f1[default].mean():.3f}."
    )
