"""Scoring and saying: what benchmarks with a known truth share."""

from __future__ import annotations

from functools import partial

import pandas as pd

import dtstat as dt
from benchmarks.choice.rules import Rule
from benchmarks.harness import Report, best_of


def scores(rules: dict[str, Rule], data: pd.DataFrame, truth: dt.Structure) -> pd.DataFrame:
    """One row per rule: F₁, whether exact, number of factors, seconds."""
    rows = []
    for name, rule in rules.items():
        seconds, support = best_of(partial(rule, data), 1)
        found = dt.compare(dt.Structure(support, tuple(data.columns)), truth)
        row = {"rule": name, "f1": found.f1, "exact": float(found.exact)}
        rows.append(row | {"d": found.n_factors[0], "seconds": seconds})
    return pd.DataFrame(rows)


def side_by_side(
    frame: pd.DataFrame, case: list[str], value: str, columns: list[str]
) -> pd.DataFrame:
    """One row a case in the order they came, one column a rule; "" where it was not tried."""
    order = pd.MultiIndex.from_frame(frame[case].drop_duplicates())
    wide = frame.pivot(index=case, columns="rule", values=value).loc[order, columns]
    return wide.astype(object).where(wide.notna(), "").reset_index()


def at_least(report: Report, what: str, found: float, wanted: float, digits: int = 3) -> None:
    """Say what was found beside what was wanted."""
    met = "reached" if found >= wanted else "NOT REACHED"
    report.line(f"- {what}: {found:.{digits}f} (wanted: at least {wanted:g}; {met})")


def under(report: Report, what: str, found: float, wanted: float, unit: str = " s") -> None:
    """Say what was found beside what it should stay under."""
    met = "reached" if found < wanted else "NOT REACHED"
    report.line(f"- {what}: {found:.1f}{unit} (wanted: under {wanted:g}{unit}; {met})")
