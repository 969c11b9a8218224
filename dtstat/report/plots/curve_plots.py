"""Item response curves, one panel an item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from dtstat.report.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_ROW = 1.35  # inches
_LETTERS = {4: 18, 3: 25}  # columns → letters that a title above a panel has room for
_STYLES = ("-", "--", "-.", ":")  # of the item's first, second, ... factor


def curve_panels(
    curves: pd.DataFrame, panels: dict[str, list[str]], ax: Axes | None = None
) -> Figure | SubFigure:
    """Draw the mean answer to every item over its factors, with the band where one is known.

    Parameters
    ----------
    curves
        item, factor, z, value, lower, upper.
    panels
        Item → its factors, the first with a solid line; one panel each, in this order.
    """
    longest = max(len(_title(item, own, canvas.LONGEST_NAME)) for item, own in panels.items())
    columns = 4 if longest <= _LETTERS[4] else 3
    figure, axes = canvas.tiled(ax, len(panels), columns, _ROW)
    factors = list(dict.fromkeys(factor for own in panels.values() for factor in own))
    by_edge = dict(list(curves.groupby(["item", "factor"], sort=False)))
    banded = bool(curves["lower"].notna().any())
    for panel, (item, own) in zip(axes, panels.items(), strict=True):
        for place, factor in enumerate(own):
            colour = canvas.CYCLE[factors.index(factor) % len(canvas.CYCLE)]
            _curve(panel, by_edge[item, factor], colour, _STYLES[place % len(_STYLES)])
        canvas.bare(panel)
        panel.set_title(_title(item, own, _LETTERS[columns]), fontsize=canvas.SMALL, loc="left")
        panel.set_xticks([-2, 0, 2])
        panel.locator_params(axis="y", nbins=3)
    words = "mean answer over the factor in standard deviations"
    words += "; band: 95 %" if banded else ""
    words += "; dashed: the item's further factors" if max(map(len, panels.values())) > 1 else ""
    if ax is None:
        figure.supxlabel(words, fontsize=canvas.NORMAL)
    else:
        ax.set_title(words, fontsize=canvas.NORMAL)
    return figure


def _curve(ax: Axes, curve: pd.DataFrame, colour: str, line: str) -> None:
    z = curve["z"].to_numpy(dtype=float)
    if curve["lower"].notna().any():
        low, high = (curve[end].to_numpy(dtype=float) for end in ("lower", "upper"))
        ax.fill_between(z, low, high, color=colour, alpha=0.25, linewidth=0)
    ax.plot(z, curve["value"].to_numpy(dtype=float), color=colour, linestyle=line, linewidth=1.6)


def _title(item: str, factors: list[str], most: int) -> str:
    """Name the item and its first factors, the item shortened to fit into so many letters."""
    named = ", ".join(canvas.short(factor, 8) for factor in factors[:2])
    named += ", …" if len(factors) > 2 else ""
    return f"{canvas.short(item, max(most - len(named) - 3, 5))} ({named})"
