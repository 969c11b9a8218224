"""The margin: pairs that share a factor beside those that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dtstat.arrays import FloatArray
from dtstat.report.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WORDS = 60  # letters of a pair in words
_MOST_DOTS = 2000  # a curve; more cannot be seen


def margin_plot(
    within: FloatArray,
    between: FloatArray,
    weakest: str,
    strongest: str,
    measure: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw both kinds of pairs from strong to weak, and shade what is between them.

    Parameters
    ----------
    within, between
        Absolute dependence of the pairs that share a factor, and of the others (may be empty).
    weakest, strongest
        The weakest pair within and the strongest between, which decide, in words.
    measure
        Measure of dependence.
    """
    ax = canvas.axes(ax, 4.4)
    low, high = float(np.min(within)), float(np.max(between, initial=0.0))
    gamma = (low - high) / 2
    colour = canvas.SKY if gamma > 0 else canvas.ORANGE
    ax.axhspan(min(low, high), max(low, high), facecolor=colour, alpha=0.3, edgecolor="none")
    _curve(
        ax,
        within,
        "o",
        canvas.BLUE,
        f"pairs sharing a factor; weakest {canvas.short(weakest, _WORDS)}",
    )
    ax.plot(1, low, "o", color=canvas.BLUE, markeredgecolor=canvas.INK, markersize=8)
    if len(between):
        words = f"pairs sharing none; strongest {canvas.short(strongest, _WORDS)}"
        _curve(ax, between, "x", canvas.VERMILION, words)
        ax.plot(0, high, "X", color=canvas.VERMILION, markeredgecolor=canvas.INK, markersize=8)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(bottom=0)
    canvas.bare(ax)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["strongest", "25 %", "half", "75 %", "weakest"])
    said = "gap" if gamma > 0 else "overlap"
    verdict = "one threshold separates them" if gamma > 0 else "no threshold separates them"
    title = f"Margin γ = {canvas.signed(gamma, 3)}: {said}, {verdict}"
    canvas.titled(ax, title, "pairs, by rank", canvas.strength_label(measure))
    canvas.legend_below(ax, 1)
    return ax


def _curve(ax: Axes, values: FloatArray, marker: str, colour: str, label: str) -> None:
    falling = np.sort(values)[::-1]
    share = np.linspace(0, 1, len(falling)) if len(falling) > 1 else np.zeros(1)
    count = min(len(falling), _MOST_DOTS)
    shown = np.linspace(0, len(falling) - 1, count).round().astype(int)
    ax.plot(share[shown], falling[shown], marker, color=colour, markersize=3, label=label)
