"""The picture of a study: accuracy, number of factors and seconds under several conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from dtstat.core import canvas
from dtstat.core.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_WIDTH, _ROW = 9.0, 2.4  # inches
_FILLED = 0.86  # share of the room of a size that its marks take
_FAINT = "white"
# Marks of searches in turn, and whether they are filled.
_MARKS = (("o", False), ("s", True), ("^", True), ("D", False))
_COLUMNS = {
    "f1": "accuracy F₁",
    "n_factors": "factors found",
    "seconds": "seconds (log scale)",
}


class Conditions(NamedTuple):
    """One row of panels.

    Attributes
    ----------
    title
        What its levels are levels of.
    symbol
        What comes before a level in the legend.
    table
        One row per level, size and search: level, n, d (true number of factors), search; f1_mean,
        f1_se, n_factors_mean, n_factors_se, seconds_mean, seconds_se; f1_paper, n_factors_paper
        (reported elsewhere, NaN for nothing).
    """

    title: str
    symbol: str
    table: pd.DataFrame


def recovery_plot(
    rows: Sequence[Conditions], most_seconds: float, ax: Axes | None = None
) -> Figure | SubFigure:
    """Draw a row of three panels for each kind of condition.

    Sizes stand side by side; within a size every level has its color and every search its mark,
    with one standard error up and down.

    Parameters
    ----------
    rows
        What the rows of panels show.
    most_seconds
        Seconds that were reported as the most, a line.
    """
    figure, panels = canvas.tile_panels(ax, 3 * len(rows), 3, _ROW, _WIDTH)
    searches = list(dict.fromkeys(name for row in rows for name in row.table["search"]))
    for k, row in enumerate(rows):
        for panel, (name, words) in zip(panels[3 * k :], _COLUMNS.items(), strict=False):
            _panel(panel, row.table, name, searches)
            canvas.strip_frame(panel)
            panel.set_ylabel(words, fontsize=canvas.NORMAL)
        accuracy, found, seconds = panels[3 * k : 3 * k + 3]
        accuracy.set_title(row.title, fontsize=canvas.NORMAL + 1, loc="left")
        accuracy.set_ylim(_lowest(row.table), 1.02)
        _true_numbers(found, row.table)
        seconds.set_yscale("log")
        seconds.yaxis.set_major_formatter("{x:g}")
        seconds.axhline(most_seconds, color=canvas.GREY, linestyle=":", linewidth=1)
        _level_legend(seconds, row)
    signs = _signs(panels[-2], searches, most_seconds)
    if ax is None:
        style = {"fontsize": canvas.SMALL, "frameon": False}
        panels[-2].figure.legend(handles=signs, loc="outside lower center", ncols=6, **style)
    else:
        canvas.legend_below(panels[-2], 3, handles=signs)
    return figure


def _panel(ax: Axes, table: pd.DataFrame, name: str, searches: Sequence[str]) -> None:
    """Draw the means of one outcome, and what was reported of it."""
    sizes, levels = _values(table, "n"), _values(table, "level")
    slot = _FILLED / len(levels)
    for i, level in enumerate(levels):
        own = table[table["level"] == level]
        middle = np.searchsorted(sizes, own["n"]) + (i + 0.5) * slot - _FILLED / 2
        if f"{name}_paper" in own:
            reported = own[f"{name}_paper"]
            ax.hlines(reported, middle - slot / 2, middle + slot / 2, color=canvas.GREY, lw=2.5)
        for j, search in enumerate(searches):
            at = (own["search"] == search).to_numpy()
            x = middle[at] + ((j + 0.5) / len(searches) - 0.5) * slot * 0.9
            shown = own[at]
            _means(ax, x, shown[f"{name}_mean"], shown[f"{name}_se"], i, j)
    ax.set_xticks(range(len(sizes)), [f"{n:,.0f}" for n in sizes])
    ax.set_xlim(-0.5, len(sizes) - 0.5)
    ax.set_xlabel("rows n", fontsize=canvas.NORMAL)


def _means(
    ax: Axes, x: FloatArray, mean: pd.Series[float], se: pd.Series[float], level: int, search: int
) -> None:
    marker, filled = _MARKS[search % len(_MARKS)]
    color = canvas.CYCLE[level % len(canvas.CYCLE)]
    ax.errorbar(
        x,
        mean,
        yerr=se,
        fmt=marker,
        color=color,
        markerfacecolor=color if filled else _FAINT,
        markersize=4.5,
        ecolor=canvas.INK,
        elinewidth=1,
        capsize=1.5,
        zorder=3,
    )


def _true_numbers(ax: Axes, table: pd.DataFrame) -> None:
    """Mark the true number of factors of every size."""
    true = table.drop_duplicates("n").sort_values("n")["d"]
    at = np.arange(len(true))
    ax.hlines(true, at - _FILLED / 2, at + _FILLED / 2, color=canvas.INK, lw=1, zorder=1)
    reach = (table["n_factors_mean"] + table["n_factors_se"].fillna(0)).max()
    ax.set_ylim(0, 1.08 * max(reach, true.max()))


def _level_legend(ax: Axes, row: Conditions) -> None:
    """Name the colors above the last panel of a row."""
    levels = _values(row.table, "level")
    for i, level in enumerate(levels):
        color = canvas.CYCLE[i % len(canvas.CYCLE)]
        label = f"{row.symbol} {level:g}"
        ax.plot([], [], "s", color=color, markersize=7, label=label)
    legend = ax.legend(
        loc="lower right",
        bbox_to_anchor=(1.02, 0.98),
        ncols=len(levels),
        fontsize=canvas.SMALL,
        frameon=False,
        handletextpad=0.1,
        columnspacing=0.9,
    )
    legend.set_in_layout(False)  # wider than its panel, in a line that the title keeps free


def _signs(ax: Axes, searches: Sequence[str], most_seconds: float) -> list[Artist]:
    """Return what a legend shows of marks and lines."""
    ink, grey = canvas.INK, canvas.GREY
    marks = [_MARKS[j % len(_MARKS)] for j in range(len(searches))]
    shown: list[Artist] = []
    for search, (marker, filled) in zip(searches, marks, strict=True):
        face = ink if filled else _FAINT
        shown += ax.plot([], [], marker, color=ink, markerfacecolor=face, label=search)
    shown += ax.plot([], [], color=ink, lw=1, label="true number d")
    shown += ax.plot([], [], color=grey, lw=2.5, label="paper, oracle, about")
    return shown + ax.plot([], [], ":", color=grey, lw=1, label=f"paper: under {most_seconds:g} s")


def _lowest(table: pd.DataFrame) -> float:
    """Where the axis of F₁ begins: at 0.5, or the tenth below the lowest mark."""
    reach = (table["f1_mean"] - table["f1_se"].fillna(0)).min()
    return float(min(0.5, np.floor(10 * reach - 0.2) / 10))


def _values(table: pd.DataFrame, name: str) -> FloatArray:
    return np.unique(table[name].to_numpy(dtype=float))
