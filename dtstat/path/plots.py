"""The pictures of a solution path: steps over the threshold, the barcode, a map of dependence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dtstat.core import canvas, checks
from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.canvas import DrawFunction
from dtstat.core.errors import InputError
from dtstat.core.plots import dependence_map
from dtstat.dependence.measures import strength_label
from dtstat.dependence.sparse import SparseDependence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from dtstat.path.solution_path import SolutionPath


Interval = tuple[str, float, float]

COUNTS = {
    "n_factors": "factors",
    "n_loadings": "loadings",
    "n_covered": "items in factors",
}


def draw_steps(path: SolutionPath, ax: Any) -> Any:
    """Draw the number of factors, of loadings and of items in factors over the threshold."""
    if not path.candidates:
        raise nothing_to_draw(path)
    gaps = gap_values(path, COUNTS)
    return path_panels(path.steps(), COUNTS, path.dependence.measure, gaps=gaps, ax=ax)


def draw_dependence(path: SolutionPath, ax: Any, threshold: float | None = None) -> Any:
    """Draw absolute dependence, similar items together; boxed what ``threshold`` gives."""
    if isinstance(path.dependence, SparseDependence):
        raise InputError(
            "A map of all pairs needs all pairs, and only those above the floor were kept. Draw "
            "the items of some factors: solution_path(data[items]).plot('dependence').",
            "kind",
        )
    strength, measure = path.dependence.strength, path.dependence.measure
    order = _cluster_order(strength)
    support: BoolArray = np.zeros((len(order), 0), dtype=bool)
    marks: list[tuple[str, float, float]] = []
    if threshold is not None:
        structure = path.at(threshold)
        support, marks = structure.support, [("threshold", float(threshold), float(threshold))]
        first = np.where(support.any(axis=1), support.argmax(axis=1, keepdims=False), len(order))
        order = order[np.argsort(first[order], kind="stable")]
    items = [path.dependence.names[i] for i in order]
    frame = pd.DataFrame(strength[np.ix_(order, order)], items, items)
    return dependence_map(frame, support[order], marks, strength_label(measure), ax)


def draw_bars(path: SolutionPath, factors: Mapping[int, str], max_bars: int, ax: Any) -> Any:
    """Draw the longest-lived cliques, and those of the factors in any case."""
    bars = path.barcode()
    if not len(bars):
        raise nothing_to_draw(path)
    most = checks.integer("max_bars", max_bars, 1, "It is the number of bars to draw.")
    shown = np.arange(len(bars))[:most]
    hidden = sorted(set(factors) - set(shown.tolist()))
    shown = np.concatenate([shown[: max(most - len(hidden), 0)], hidden]).astype(int)
    if len(set(factors) - set(shown.tolist())):  # more factors than bars asked for
        shown = np.unique(np.concatenate([shown, list(factors)])).astype(int)
    items = [bars[int(k)].items for k in shown]
    frame = pd.DataFrame({"birth": bars.births[shown], "death": bars.deaths[shown], "items": items})
    place = {int(bar): k for k, bar in enumerate(shown)}
    named = {place[bar]: name for bar, name in factors.items()}
    return barcode_plot(frame, named, path.dependence.measure, ax)


PATH_KINDS: dict[str, DrawFunction] = {
    "path": draw_steps,
    "barcode": lambda path, ax, max_bars=30: draw_bars(path, {}, max_bars, ax),
    "dependence": draw_dependence,
}


def gap_values(path: SolutionPath, columns: Iterable[str]) -> dict[str, float]:
    """Return what counts are where the path has no candidate.

    0 for the exact path; NaN between grid thresholds.
    """
    between = 0.0 if path.thresholds is None else float("nan")
    return dict.fromkeys(columns, between)


def nothing_to_draw(path: SolutionPath) -> InputError:
    """Build the error for a path without factors."""
    return InputError(
        f"No threshold gives a factor of at least {path.min_children} items, so there is no path "
        "to draw. Try a smaller `min_children`, or see plot('dependence').",
        "kind",
    )


def _cluster_order(strength: FloatArray) -> Any:
    """Order items by average linkage, so that groups show before any is chosen."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(strength) < 3:
        return np.arange(len(strength))
    apart = 1 - strength[np.triu_indices(len(strength), 1)]
    return leaves_list(linkage(apart, "average", optimal_ordering=len(strength) <= 500))


def path_panels(
    scores: pd.DataFrame,
    panels: Mapping[str, str],
    measure: str,
    chosen: tuple[float, float] | None = None,
    intervals: Sequence[Interval] = (),
    gaps: Mapping[str, float] | None = None,
    reference: float | None = None,
    ax: Axes | None = None,
) -> Figure | SubFigure:
    """Draw columns over the threshold as steps, one panel each.

    Parameters
    ----------
    scores
        One row per interval of thresholds: tau_low, tau_high, and the columns to draw.
    panels
        Column → what to call it.
    measure
        Measure of dependence.
    chosen
        Thresholds that give the chosen structure, shaded.
    intervals
        Of factors with thresholds of their own: name, from, to; a strip of bars on top.
    gaps
        Column → its value between the intervals; without one the line is broken.
    reference
        Value of the chosen structure, a line in the last panel.
    """
    strip = [0.25 + 0.14 * len(intervals)] if intervals else []
    figure, axes = canvas.stack_panels(
        ax, [*strip, *[1.0] * len(panels)], 1.5 * len(panels) + 1.2 * sum(strip) + 0.8
    )
    if intervals:
        _strip(axes[0], intervals)
    for panel, (column, label) in zip(axes[len(strip) :], panels.items(), strict=True):
        edges, heights = steps(scores, column, (gaps or {}).get(column, np.nan))
        panel.stairs(heights, edges, baseline=None, color=canvas.BLUE, linewidth=1.4)
        panel.set_ylabel(label, fontsize=canvas.SMALL)
        panel.margins(y=0.12)
        if column in (gaps or {}):  # a count
            most = float(np.nanmax(heights))
            panel.set_ylim(-0.08 * most, 1.1 * most + 0.2)
            panel.locator_params(axis="y", integer=True, nbins=5)
    for panel in axes:
        canvas.strip_frame(panel)
        if chosen is not None:
            panel.axvspan(*chosen, facecolor=canvas.ORANGE, alpha=0.35, edgecolor=canvas.INK)
    if reference is not None:
        last = axes[-1]
        last.axhline(reference, color=canvas.VERMILION, linestyle="--", linewidth=1.2)
        last.annotate(
            "chosen",
            (1, reference),
            (2, 0),
            xycoords=last.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            fontsize=canvas.SMALL,
            color=canvas.INK,
        )
    axes[-1].set_xlabel(f"threshold on {strength_label(measure)}", fontsize=canvas.NORMAL)
    title = "Structures by threshold" + (", shaded: chosen" if chosen is not None else "")
    axes[0].set_title(title, fontsize=canvas.NORMAL + 1, loc="left")
    return figure


def steps(scores: pd.DataFrame, column: str, gap: float) -> tuple[FloatArray, FloatArray]:
    """Return (m + 1,) edges and (m,) heights of the steps of a column."""
    low, high = (scores[end].to_numpy(dtype=float) for end in ("tau_low", "tau_high"))
    edges = np.unique(np.concatenate([low, high]))
    heights = np.full(len(edges) - 1, gap)
    heights[np.searchsorted(edges, low)] = scores[column].to_numpy(dtype=float)
    return edges, heights


def barcode_plot(
    bars: pd.DataFrame, factors: Mapping[int, str], measure: str, ax: Axes | None = None
) -> Axes:
    """Draw the thresholds each clique lives at, the first row on top.

    Parameters
    ----------
    bars
        birth, death, and items, tuples of names.
    factors
        Row → name of the chosen factor that is read off it, drawn in color.
    measure
        Measure of dependence.
    """
    ax = canvas.axes(ax, 1.2 + canvas.LINE * len(bars))
    chosen = [k in factors for k in range(len(bars))]
    ax.barh(
        np.arange(len(bars)),
        bars["death"] - bars["birth"],
        left=bars["birth"],
        height=0.65,
        color=[canvas.BLUE if one else canvas.PALE for one in chosen],
        edgecolor=[canvas.INK if one else canvas.GREY for one in chosen],
        linewidth=0.6,
    )
    names = [
        (f"{canvas.shorten(factors[k], 12)}:  " if k in factors else "")
        + canvas.list_names(items, 34)
        for k, items in enumerate(bars["items"])
    ]
    ax.set_yticks(np.arange(len(bars)), names)
    ax.set_ylim(len(bars) - 0.4, -0.6)
    canvas.strip_frame(ax)
    for label, one in zip(ax.get_yticklabels(), chosen, strict=True):
        label.set_fontweight("bold" if one else "normal")
    title = "Longest-lived cliques" + (", chosen factors dark" if factors else "")
    canvas.set_titles(ax, title, f"threshold on {strength_label(measure)}")
    return ax


def _strip(ax: Axes, intervals: Sequence[Interval]) -> None:
    """Draw one thin bar per factor, with its name at the end."""
    for k, (name, low, high) in enumerate(intervals):
        ax.barh(k, high - low, left=low, height=0.45, color=canvas.ORANGE, edgecolor=canvas.INK)
        ax.annotate(
            canvas.shorten(name),
            (high, k),
            (3, 0),
            textcoords="offset points",
            va="center",
            fontsize=canvas.SMALL,
        )
    ax.set_ylim(len(intervals) - 0.4, -0.6)
    ax.set_yticks([])
    ax.set_ylabel("chosen\nfactors", fontsize=canvas.SMALL)
