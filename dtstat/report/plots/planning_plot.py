"""Planning: the probability of error against the number of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from dtstat.report.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_METHODS = {
    "guarantee": ("-", canvas.BLUE, "guarantee"),
    "normal": ("--", canvas.VERMILION, "normal approximation"),
    "simulation": ("-.", canvas.GREEN, "simulation"),
}


def planning_plot(
    curves: pd.DataFrame,
    needed: Mapping[str, float],
    error: float,
    title: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw the curves of one target.

    Parameters
    ----------
    curves
        method ("guarantee", "normal", "simulation", "draws"), n, error.
    needed
        Method → rows it asks for; NaN if none are enough.
    error
        The probability of error that is accepted, a line.
    title
        What is aimed at.
    """
    ax = canvas.axes(ax, 4.2)
    for method, (line, colour, words) in _METHODS.items():
        own = curves[curves["method"] == method]
        if len(own):
            n = needed.get(method, math.nan)
            label = words + ("" if math.isnan(n) else f": {n:,.0f} rows")
            ax.plot(own["n"], own["error"], line, color=colour, linewidth=1.8, label=label)
            ax.plot([n], [error], "o", color=colour, markeredgecolor=canvas.INK, zorder=4)
    draws = curves[curves["method"] == "draws"]
    if len(draws):
        style: dict[str, Any] = {"markerfacecolor": "white", "markersize": 5}
        ax.plot(draws["n"], draws["error"], "o", color=canvas.GREEN, label="draws", **style)
    ax.axhline(error, color=canvas.GREY, linewidth=1, linestyle=":", label=f"accepted: {error:g}")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_ylim(-0.03, 1.05)
    canvas.bare(ax)
    canvas.titled(ax, title, "rows n (log scale)", "probability of error")
    canvas.legend_below(ax, 2)
    return ax
