"""The printed diagnosis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from dtstat.report import Summary, Table
from dtstat.theory.bounds import bounds

if TYPE_CHECKING:
    from dtstat.results.trust.diagnosis import Diagnosis

_MOST_ITEMS = 8  # named in a cell


def diagnosis_summary(diagnosis: Diagnosis, max_rows: int) -> Summary:
    """Head, margins, factors, unique children, items that are left out."""
    tables = [_factor_table(diagnosis), _core_table(diagnosis), _unique_table(diagnosis)]
    dropping = _dropping_table(diagnosis, max_rows)
    outside = _outside_table(diagnosis, max_rows)
    found = [table for table in (*tables, dropping, outside) if table is not None]
    return Summary(_head(diagnosis), tuple(found))


def _head(diagnosis: Diagnosis) -> tuple[str, ...]:
    fit, margin = diagnosis.fit, diagnosis.margin
    plural = "" if fit.n_factors == 1 else "s"
    lines = [
        f"How far to trust {fit.n_factors} factor{plural} behind {len(fit.item_names)} items",
        f"Data:            {fit.n_obs} rows, {diagnosis.measure} dependence",
        f"Thresholdable:   {diagnosis.verdict}",
        f"Margin:          {margin.value:.3f}{_interval(diagnosis)}{_implied(diagnosis)}",
        f"Wrong graph:     {_error(diagnosis)}",
        f"Factors:         {_ground(diagnosis)}",
        f"Unique children: {_condition(diagnosis)}",
    ]
    if diagnosis.gap is not None:
        low, high = diagnosis.gap
        lines.insert(4, f"Threshold:       no dependence lies between {low:.3f} and {high:.3f}")
    if diagnosis.intervals is None:
        lines.append("Intervals need the answers: diagnose(fit, data).")
    return tuple(lines)


def _interval(diagnosis: Diagnosis) -> str:
    if diagnosis.intervals is None:
        return ""
    low, high = diagnosis.intervals.whole
    failed = diagnosis.intervals.n_failed
    unused = f", {failed} more could not be used" if failed else ""
    count = f"{diagnosis.intervals.n_boot} resamples{unused}"
    return f" (95 % interval {low:.3f} to {high:.3f}, {count})"


def _implied(diagnosis: Diagnosis) -> str:
    if diagnosis.implied_margin is None:
        return ""
    how = " (simulated)" if diagnosis.implied_is_simulated else ""
    return f"; the fitted model implies {diagnosis.implied_margin.value:.3f}{how}"


def _error(diagnosis: Diagnosis) -> str:
    bound = diagnosis.bound
    if not diagnosis.margin.satisfied:
        return "no one threshold gives this structure; factors have their own, see below"
    if bound is None:
        return f"{_no_bound(diagnosis)} (see bounds())"
    return (
        f"probability at most {_probability(diagnosis.error_bound)} at the threshold in the middle "
        f"of the gap, if the population has this margin ({bound.formula} per pair; for "
        f"{bound.holds_for}). At another threshold another structure may have a margin."
    )


def _ground(diagnosis: Diagnosis) -> str:
    """Which factors stand on firm ground, each at its own threshold."""
    verdicts = diagnosis.factors.groupby("verdict", sort=False)["factor"].agg(", ".join)
    words = {
        "firm": "on firm ground at thresholds of their own",
        "unsure": "not beyond chance",
        "seen": "seen at thresholds of their own",
        "no core": "seen at no threshold",
    }
    return "; ".join(f"{text}: {verdicts[key]}" for key, text in words.items() if key in verdicts)


def _no_bound(diagnosis: Diagnosis) -> str:
    """Say why there is no inequality."""
    if diagnosis.measure in bounds().index:
        return (
            f"no guarantee: that of '{diagnosis.measure}' is for items without ties, and "
            f"{diagnosis.n_tied} of the {len(diagnosis.fit.item_names)} items have ties; plan() "
            "simulates instead"
        )
    return f"no inequality is known for the measure '{diagnosis.measure}'"


def _condition(diagnosis: Diagnosis) -> str:
    audit = diagnosis.audit
    if not audit.satisfied:
        without = audit.factors.loc[audit.factors["n_unique"] == 0, "factor"]
        return f"none: {', '.join(without)}; the condition is violated"
    if audit.fragile:
        return f"every factor has one; a factor hangs on each of: {', '.join(audit.fragile)}"
    return "every factor has at least two; no single item's loss would lose a factor"


def _factor_table(diagnosis: Diagnosis) -> Table:
    frame = diagnosis.factors
    shown = frame[["factor", "n_items", "margin", "lower", "upper", "weakest_within", "outside"]]
    shown = _without_empty(shown, diagnosis).rename(columns=_HEADERS)
    notes = [
        "margin: half of weakest within less outside; positive if all items of the factor are seen",
        "together at one threshold. outside: its item least tied to other factors, and where to.",
    ]
    return Table.from_frame(shown, "Margin of each factor, all its items", notes)


def _core_table(diagnosis: Diagnosis) -> Table:
    frame = diagnosis.factors
    shown = frame[["factor", "verdict", "core_margin", "core_lower", "core_upper"]].assign(
        bound=[_probability(value) for value in frame["error_bound"]],
        normal=[_probability(value) for value in frame["error_normal"]],
        core=[_some(items) for items in frame["core"]],
    )
    offered = {"bound": diagnosis.bound, "normal": diagnosis.normal}
    shown = shown.drop(columns=[name for name, bound in offered.items() if bound is None])
    shown = _without_empty(shown, diagnosis).rename(columns=_HEADERS)
    notes = [
        "core: the clique that the factor is read off; firm: its margin is above 0 beyond chance."
    ]
    if diagnosis.bound is not None:
        notes += [
            "missed: the probability that the core is not among the cliques of the path is at most "
            "this,",
            f"if its margin in the population is as here (for {diagnosis.bound.holds_for}).",
        ]
    else:
        notes.append(f"That a core is missed: {_no_bound(diagnosis)}.")
    if diagnosis.normal is not None:
        notes.append("normal: the same bound by a normal approximation; no guarantee.")
    return Table.from_frame(shown, "Ground that each factor stands on", notes)


def _unique_table(diagnosis: Diagnosis) -> Table:
    frame = diagnosis.audit.factors
    names = [_some(items) for items in frame["unique_children"]]
    shown = frame.assign(unique_children=names).rename(columns=_HEADERS)
    return Table.from_frame(shown, "Unique children (items of no other factor)")


def _dropping_table(diagnosis: Diagnosis, max_rows: int) -> Table | None:
    """Items without which a factor is lost, or no longer seen at any threshold."""
    frame = diagnosis.audit.dropping
    before = {one.factor: one.value for one in diagnosis.margin.factors}
    rows = []
    for item, factors, lost, into, change in zip(
        *(frame[c] for c in ("item", "factors", "lost", "merged_into", "margin_change")),
        strict=True,
    ):
        own = min((before[factor] for factor in factors), default=0.0)
        gone, home = " ".join(lost), " ".join(into)
        if lost:
            rows.append((item, f"{gone} merges into {home}" if into else f"{gone} is lost"))
        elif own > 0 >= own + change:
            at_home = " ".join(factors)
            rows.append((item, f"{at_home}: no threshold shows all its other items together"))
    if not rows:
        return None
    shown = pd.DataFrame(rows[:max_rows], columns=["item", "without it"])
    return Table.from_frame(shown, "Items without which a factor is lost or harder to see")


def _outside_table(diagnosis: Diagnosis, max_rows: int) -> Table | None:
    """For every item outside the cores its own factor, or the one it lacks the fewest edges to."""
    frame = diagnosis.audit.outside
    if frame.empty:
        return None
    nearest = frame.sort_values(["own", "share"], ascending=[False, True], kind="stable")
    nearest = nearest.groupby("item", sort=False).head(1).sort_index()
    shown = nearest.assign(
        missing_edges=[_some(items) for items in nearest["missing_edges"]],
        own=["yes" if own else "no" for own in nearest["own"]],
    )[["item", "factor", "own", "missing_edges", "threshold", "would_need"]]
    notes = [
        "At the threshold from which the core of the factor is seen, the item has no edge to these",
        "members; it would have all at thresholds below the last column. More: audit.outside.",
    ]
    if len(shown) > max_rows:
        notes.append(f"{len(shown) - max_rows} items not shown.")
    title = "Items outside the cores, and the edges they lack"
    return Table.from_frame(shown.head(max_rows).rename(columns=_HEADERS), title, notes)


def _without_empty(frame: pd.DataFrame, diagnosis: Diagnosis) -> pd.DataFrame:
    """Leave out columns of intervals if there are none."""
    if diagnosis.intervals is not None:
        return frame
    return frame.drop(columns=[c for c in frame if str(c).endswith(("lower", "upper"))])


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_ITEMS
    return " ".join(names[:_MOST_ITEMS]) + (f" and {more} more" if more > 0 else "")


def _probability(value: float) -> str:
    if math.isnan(value):
        return "unknown"
    return f"{value:.2g}" if value < 0.995 else "no bound"


_HEADERS = {
    "n_items": "items",
    "n_unique": "unique",
    "weakest_within": "weakest within",
    "unique_children": "which",
    "core_margin": "margin",
    "core_lower": "lower",
    "core_upper": "upper",
    "bound": "missed",
    "own": "its own",
    "missing_edges": "lacks edges to",
    "would_need": "all below",
}
