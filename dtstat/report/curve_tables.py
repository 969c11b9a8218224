"""Tables of fitted item responses: how steep, how far from straight, and how factors correlate."""

from __future__ import annotations

import math

import pandas as pd

from dtstat.report.tables import Table


def response_table(frame: pd.DataFrame, marks: pd.Series[str], notes: tuple[str, ...]) -> Table:
    """One row per item and factor, steep items of a factor first.

    Parameters
    ----------
    frame
        item, factor, loading, slope, r2_map, r2_line, nonlinearity.
    marks
        By item, what to print behind its name.
    notes
        Lines below the table that explain the marks.
    """
    place = {factor: k for k, factor in enumerate(dict.fromkeys(frame["factor"]))}
    order = frame.assign(place=frame["factor"].map(place)).sort_values(
        ["place", "slope"], ascending=[True, False], kind="stable"
    )
    shown = pd.DataFrame(
        {
            "item": [name + marks[name] for name in order["item"]],
            "factor": order["factor"],
            "loading": order["loading"],
            "slope": order["slope"],
            "R2 map": order["r2_map"],
            "R2 line": order["r2_line"],
            "nonlinear": [f"{100 * share:.0f}%" for share in order["nonlinearity"]],
        }
    )
    legend = (
        "loading: slope of the straight line nearest to the curve; slope: mean absolute slope of "
        "the curve; both in standard units.",
        "R2: share of the item's variance that its curve, or its best straight line, explains; "
        "nonlinear: what of it the line misses.",
    )
    return Table.from_frame(shown, "Item responses", (*notes, *legend), digits=2)


def correlation_table(correlations: pd.DataFrame, errors: pd.DataFrame) -> Table:
    """Lower triangle of the factor correlations, with standard errors in brackets."""
    names = [str(name) for name in correlations.index]
    values, spread = correlations.to_numpy(dtype=float), errors.to_numpy(dtype=float)
    rows = tuple(
        (name, *(_cell(values[j, k], spread[j, k], j, k) for k in range(len(names))))
        for j, name in enumerate(names)
    )
    title = "Factor correlations (standard errors)"
    return Table(title, ("", *names), rows, "l" + "r" * len(names))


def _cell(value: float, error: float, j: int, k: int) -> str:
    if k >= j:
        return "1" if j == k else ""
    return f"{value:.2f}" + ("" if math.isnan(error) else f" ({error:.2f})")
