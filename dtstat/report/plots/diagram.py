"""The path diagram: items in one column, factors in another, lines for loadings.

Lengths are in inches, so that what has to be apart is apart on paper: one unit of either axis is
an inch of the figure made for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dtstat.arrays import BoolArray, FloatArray
from dtstat.report.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST = 4.0  # points: a loading of 1
_FACTOR_GAP = 0.36  # inches between factors
_ARC_STEP, _ARC_MOST = 0.36, 2.0  # inches that an arc reaches out for each factor it passes
_NUMBER = 0.32, 0.16  # inches that a number takes
_MANY_FACTORS, _LEAST_SHOWN = 8, 0.3
# Colour and line of loadings, by (cross-loading, negative).
_LINES: dict[tuple[bool, bool], tuple[str, Any, str]] = {
    (False, False): (canvas.BLUE, "-", "loading"),
    (False, True): (canvas.VERMILION, (0, (4, 1.5)), "negative loading"),
    (True, False): (canvas.SKY, (0, (1, 1)), "cross-loading"),
    (True, True): (canvas.ORANGE, (0, (5, 1.5, 1, 1.5)), "negative cross-loading"),
}


@dataclass(frozen=True)
class _Layout:
    """Where things are: heights of items and factors, places of the columns, in inches."""

    items: FloatArray
    factors: FloatArray
    factor_x: float
    arc_x: float


def path_diagram(
    loadings: pd.DataFrame,
    correlations: pd.DataFrame,
    attached: BoolArray,
    ax: Axes | None = None,
) -> Axes:
    """Draw a factor model, items in the order given, those without a loading last.

    Parameters
    ----------
    loadings
        Items by factors, 0 where there is none; the width of a line is proportional to it.
    correlations
        Factors by factors; arcs, the weak ones left out if there are more than eight factors.
    attached
        (p,) items drawn hollow.
    """
    L, Phi = loadings.to_numpy(dtype=float), correlations.to_numpy(dtype=float)
    layout = _layout(L, [str(name) for name in loadings.columns])
    arcs = list(_arcs(Phi, layout))
    lowest = float(min(layout.items.min(), layout.factors.min())) - 0.2
    highest = float(max(layout.items.max(), layout.factors.max())) + 0.2
    names = [canvas.short(name) for name in loadings.index]
    left = 0.25 + canvas.LETTER * max(map(len, names))
    right = layout.arc_x + max((reach for *_, reach in arcs), default=0.0) + 0.35
    ax = canvas.axes(ax, highest - lowest + 1.0, max(canvas.WIDTH, left + right))
    ax.set_axis_off()
    ax.set_xlim(-left, right)
    ax.set_ylim(lowest, highest)
    _draw_loadings(ax, L, layout)
    _draw_items(ax, names, L, attached, layout)
    _draw_factors(ax, [canvas.short(name) for name in loadings.columns], layout)
    _draw_arcs(ax, arcs, layout)
    ax.set_title("Factors and their items", fontsize=canvas.NORMAL + 1, loc="left")
    _explain(ax)
    return ax


def _layout(L: FloatArray, factors: list[str]) -> _Layout:
    """Place items at even heights, and factors at the mean heights of theirs, apart."""
    items = -canvas.LINE * np.arange(len(L), dtype=float)
    counts = (L != 0).sum(axis=0)
    means = ((L != 0) * items[:, None]).sum(axis=0) / np.maximum(counts, 1)
    means[counts == 0] = items.min()
    half = canvas.LETTER * min(max(map(len, factors)), canvas.LONGEST_NAME) / 2 + 0.1
    factor_x = 2.0 + half
    return _Layout(items, canvas.spread(means, _FACTOR_GAP), factor_x, factor_x + half)


def _arcs(Phi: FloatArray, layout: _Layout) -> Iterator[tuple[int, int, float, float]]:
    """Yield pairs of factors with their correlation and how far out their arc goes.

    An arc reaches out by the number of factors it passes, so that numbers of neighbouring arcs
    stand in different columns.
    """
    d = len(Phi)
    place = np.argsort(np.argsort(-layout.factors))
    step = min(_ARC_STEP, _ARC_MOST / max(d - 1, 1)) if d > _MANY_FACTORS else _ARC_STEP
    for j in range(d):
        for k in range(j + 1, d):
            weak = abs(Phi[j, k]) < (_LEAST_SHOWN if d > _MANY_FACTORS else 0.005)
            if not weak:
                yield j, k, float(Phi[j, k]), float(step * abs(place[j] - place[k]))


def _draw_loadings(ax: Axes, L: FloatArray, layout: _Layout) -> None:
    strongest = np.abs(L).argmax(axis=1)
    for i, k in zip(*np.nonzero(L), strict=True):
        colour, line, label = _LINES[bool(k != strongest[i]), bool(L[i, k] < 0)]
        ax.plot(
            [0, layout.factor_x],
            [layout.items[i], layout.factors[k]],
            color=colour,
            linestyle=line,
            linewidth=WIDEST * abs(L[i, k]),
            solid_capstyle="butt",
            dash_capstyle="butt",
            gid=f"loading {i} {k}",
            label=label,
            zorder=1 if k == strongest[i] else 2,
        )


def _draw_items(
    ax: Axes, names: list[str], L: FloatArray, attached: BoolArray, layout: _Layout
) -> None:
    alone = ~(L != 0).any(axis=1)
    kinds: dict[str, tuple[BoolArray, dict[str, Any]]] = {
        "item": (~alone & ~attached, {"marker": "s", "color": canvas.INK}),
        "attached item (in no clique of the factor)": (
            ~alone & attached,
            {"marker": "s", "facecolors": "white", "edgecolors": canvas.INK},
        ),
        "item of no factor": (alone, {"marker": "x", "color": canvas.GREY}),
    }
    for label, (which, style) in kinds.items():
        if which.any():
            y = layout.items[which]
            ax.scatter(np.zeros(len(y)), y, s=22, zorder=3, label=label, **style)
    for name, y in zip(names, layout.items, strict=True):
        ax.text(-0.1, y, name, ha="right", va="center", fontsize=canvas.SMALL)


def _draw_factors(ax: Axes, names: list[str], layout: _Layout) -> None:
    shape = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": canvas.INK}
    for name, y in zip(names, layout.factors, strict=True):
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": canvas.NORMAL}
        ax.text(layout.factor_x, y, name, bbox=shape, zorder=4, **style)


def _draw_arcs(ax: Axes, arcs: list[tuple[int, int, float, float]], layout: _Layout) -> None:
    """Draw arcs, and their numbers as far as there is room, the strongest first."""
    taken: list[tuple[float, float]] = []
    turn = np.linspace(-np.pi / 2, np.pi / 2, 60)
    for j, k, value, reach in sorted(arcs, key=lambda arc: -abs(arc[2])):
        middle, half = (layout.factors[[j, k]].sum() / 2, np.ptp(layout.factors[[j, k]]) / 2)
        x, y = layout.arc_x + reach * np.cos(turn), middle + half * np.sin(turn)
        label = "factor correlation" + (", negative" if value < 0 else "")
        line = "-" if value > 0 else "--"
        ax.plot(x, y, color=canvas.GREY, linewidth=0.4 + 1.2 * abs(value), ls=line, label=label)
        spot = (layout.arc_x + reach, float(middle))
        if all(abs(spot[0] - a) >= _NUMBER[0] or abs(spot[1] - b) >= _NUMBER[1] for a, b in taken):
            taken.append(spot)
            paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": canvas.SMALL}
            ax.text(*spot, _correlation(value), bbox=paper, zorder=5, **style)


def _correlation(value: float) -> str:
    """Write a correlation as psychologists do: without the zero."""
    return canvas.signed(value, 2).replace("0.", ".", 1)


def _explain(ax: Axes) -> None:
    """List every sign that was used, once, loadings at one width."""
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    first = dict(zip(reversed(labels), reversed(handles), strict=True))
    signs: dict[str, Any] = {
        words: Line2D([], [], color=colour, linestyle=line, linewidth=2)
        for colour, line, words in _LINES.values()
        if words in first
    }
    signs |= {words: first[words] for words in reversed(first) if words not in signs}
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "handlelength": 2.8}
    canvas.legend_below(ax, 2, handles=list(signs.values()), labels=list(signs), **place)
