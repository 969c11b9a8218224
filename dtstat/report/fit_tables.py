"""Tables of a chosen structure: its factors, its fit, what else was possible, what is left out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from dtstat.report.tables import Table

_MOST_MEMBERS = 12  # listed in a cell


def factors_table(frame: pd.DataFrame, title: str) -> Table:
    """One row per factor: its thresholds, its size, and the clique it was read off."""
    shown = frame.rename(columns={"persistence": "width", "n_items": "items", "n_unique": "unique"})
    shown = shown.assign(core=[_listed(core) for core in frame["core"]])
    for column in ("from", "to", "width"):
        shown[column] = ["" if math.isnan(v) else f"{v:.3f}" for v in shown[column]]
    notes = [
        "from, to: thresholds at which the core is an independent maximal clique; width: how far "
        "apart.",
        "core: that clique, the longest-lived within the factor. unique: items of no other factor.",
    ]
    if any(not core for core in frame["core"]):
        notes.append(
            "No core: what is left of cliques that overlap, or shows when others are explained."
        )
    table = Table.from_frame(shown, title, notes)
    return replace(table, alignment="lrrrrrl")


def measures_table(measures: Mapping[str, float], notes: tuple[str, ...] = ()) -> Table:
    """Fit measures, two columns; those that do not exist are left out."""
    rows = [(name, text) for name, text in _measure_rows(measures) if text]
    return Table("Fit of the chosen structure", ("measure", "value"), tuple(rows), "ll", notes)


def _measure_rows(m: Mapping[str, float]) -> list[tuple[str, str]]:
    p = m["pvalue"]
    tested = "" if math.isnan(p) else "yes"
    test = f"p = {p:.3f}" if p >= 0.0005 else "p < 0.001"
    interval = f" (90% interval {m['rmsea.ci.lower']:.3f} to {m['rmsea.ci.upper']:.3f})"
    return [
        ("Chi-square, adjusted", tested and f"{m['chisq']:.1f} on {m['df']:.0f} df, {test}"),
        ("CFI", tested and f"{m['cfi']:.3f}"),
        ("TLI", tested and f"{m['tli']:.3f}"),
        ("RMSEA", tested and f"{m['rmsea']:.3f}{interval}"),
        ("SRMR", f"{m['srmr']:.3f}"),
    ]


def intervals_table(tidy: pd.DataFrame) -> Table:
    """List loadings and factor correlations with standard errors and 95 % intervals."""
    columns = {
        "term": "",
        "estimate": "estimate",
        "std_error": "SE",
        "conf_low": "95% from",
        "conf_high": "to",
    }
    shown = tidy[list(columns)].rename(columns=columns)
    notes = () if tidy["std_error"].notna().any() else ("No standard errors: not tested.",)
    return Table.from_frame(shown, "Loadings and factor correlations", notes, digits=3)


def contenders_table(
    frame: pd.DataFrame, criterion: str, n_effective: float, max_rows: int
) -> Table:
    """Give the best structures, one row each, the chosen one first."""
    bounds = int((~frame["fitted"]).sum())
    frame = frame[frame["fitted"]]
    columns = ["n_factors", "n_loadings", "n_uncovered", "log_likelihood"]
    if frame["cost"].notna().any():
        columns += ["cost"]
    if frame["held_out"].notna().any():
        columns += ["held_out", "behind", "behind_se"]
    shown = frame[[*columns, "origin"]].head(max_rows)
    shown = shown.rename(
        columns={
            "n_factors": "factors",
            "n_loadings": "loadings",
            "n_uncovered": "left out",
            "log_likelihood": "log-lik",
            "cost": criterion,
            "held_out": "held out",
            "behind_se": "SE",
        }
    )
    for column in ("held out", "behind", "SE"):
        if column in shown:
            shown[column] = [f"{v:.4f}" for v in shown[column]]
    notes = [f"Best first by {criterion}."]
    if criterion in shown:
        notes[0] += f" It counts the rows as {n_effective:.0f}; smaller is better."
    if "SE" in shown:
        notes.append("held out: log-likelihood per row, larger is better; behind the best; its SE.")
    if len(frame) > max_rows:
        notes.append(f"{len(frame) - max_rows} more in candidates.")
    if bounds:
        notes.append(
            f"{bounds} more could not win, by a bound on their likelihood or its slow rise."
        )
    return Table.from_frame(shown, "What else was possible", notes, digits=1)


def uncovered_table(frame: pd.DataFrame) -> Table:
    """Items of no factor, and why."""
    return Table.from_frame(frame, "Items in no factor", digits=2)


def _listed(core: tuple[str, ...]) -> str:
    more = f" and {len(core) - _MOST_MEMBERS} more" if len(core) > _MOST_MEMBERS else ""
    return " ".join(core[:_MOST_MEMBERS]) + more
