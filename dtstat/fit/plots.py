"""The pictures of a fit: its results as the columns and arrays that are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dtstat.core import canvas, checks, diagram_plot
from dtstat.core.arrays import FloatArray
from dtstat.core.canvas import CUTOFF, NO_FACTOR, DrawFunction, choose_names
from dtstat.core.errors import InputError
from dtstat.core.loading_tables import table_order
from dtstat.core.plots import dependence_map, loading_map, residual_map
from dtstat.curves.result import curve_panels
from dtstat.dependence.measures import strength_label
from dtstat.fit import frames
from dtstat.fit.tree_plot import draw_tree
from dtstat.path.plots import COUNTS, draw_bars, gap_values, nothing_to_draw, path_panels
from dtstat.search.criteria import searching
from dtstat.structure.margin import structure_margin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dtstat.fit.result import DTFit


_ATTACHED = "+ attached: in no clique within the factor"


def draw_diagram(
    fit: DTFit, ax: Any, cutoff: float = 0.0, residuals: bool = False, texts: bool = False
) -> Any:
    """Draw factors, items, and loadings of at least ``cutoff`` in size."""
    return diagram_plot.draw(fit.path_diagram(cutoff, residuals, texts), ax)


def draw_dependence(fit: DTFit, ax: Any) -> Any:
    """Draw absolute dependence by factor, with the thresholds."""
    order = table_order(fit.loadings)
    items = [fit.item_names[i] for i in order]
    strength = pd.DataFrame(fit.dependence.strength[np.ix_(order, order)], items, items)
    chosen = frames.chosen_interval(fit)
    marks = _factor_intervals(fit) if chosen is None else [("threshold", *chosen)]
    label = strength_label(fit.dependence.measure)
    return dependence_map(strength, fit.support[order], marks, label, ax)


def draw_path(fit: DTFit, ax: Any) -> Any:
    """Draw what the thresholds give, and which are chosen."""
    if not fit.path.candidates:
        raise nothing_to_draw(fit.path)
    criterion = searching(fit.call.criterion)
    panels = {name: COUNTS[name] for name in ("n_factors", "n_loadings")}
    chosen = frames.chosen_interval(fit)
    cost = float(fit.candidates["cost"].iloc[0])
    # The criterion of curves is of another likelihood than that of the path; held-out rows have no
    # cost.
    comparable = not fit.has_curves and chosen is None and fit.n_factors > 0
    return path_panels(
        fit.path_scores(),
        panels | {criterion: f"{criterion}\n(smaller is better)"},
        fit.dependence.measure,
        chosen,
        [] if chosen else _factor_intervals(fit),
        gap_values(fit.path, panels),
        cost if comparable and np.isfinite(cost) else None,
        ax,
    )


def draw_barcode(fit: DTFit, ax: Any, max_bars: int = 30) -> Any:
    """Draw the longest-lived cliques, those the factors are read off dark."""
    factors: dict[int, list[str]] = {}
    for name, bar in zip(fit.factor_names, frames.factor_cores(fit), strict=True):
        if bar is not None:
            factors.setdefault(bar, []).append(name)
    named = {bar: ", ".join(own) for bar, own in factors.items()}
    return draw_bars(fit.path, named, max_bars, ax)


def draw_margin(fit: DTFit, ax: Any) -> Any:
    """Draw pairs that share a factor beside those that do not."""
    if not fit.n_factors:
        raise InputError("There is no factor whose pairs have a margin; see plot('path').", "kind")
    strength, measure = fit.dependence.strength, fit.dependence.measure
    margin = structure_margin(strength, fit.structure, measure)
    upper = np.triu_indices(len(strength), 1)
    shared = fit.structure.parent_sharing_graph()[upper]
    values = strength[upper]
    pairs = str(margin.weakest_edge), str(margin.strongest_non_edge or "")
    return margin_plot(values[shared], values[~shared], *pairs, measure, ax)


def draw_curves(
    fit: DTFit,
    ax: Any,
    items: str | Iterable[str] | None = None,
    factors: str | Iterable[str] | None = None,
    texts: bool = False,
) -> Any:
    """Draw how items answer to their factors; ``items`` and ``factors`` choose among them."""
    asked = canvas.item_texts(fit, texts)
    loadings = _sorted_loadings(fit)
    chosen_items = choose_names("items", items, [str(name) for name in loadings.index])
    chosen_factors = choose_names("factors", factors, fit.factor_names)
    support = pd.DataFrame(fit.support, list(fit.item_names), list(fit.factor_names))
    panels = {}
    for item in chosen_items:
        size = -np.abs(loadings.to_numpy()[loadings.index.get_loc(item)])
        by_size = [fit.factor_names[k] for k in np.argsort(size, kind="stable")]
        own = [name for name in by_size if support.loc[item, name] and name in chosen_factors]
        if own:
            panels[item] = own
    if not panels:
        raise InputError("None of these items is in one of these factors; see structure.", "items")
    return curve_panels(fit.response_curves(), panels, ax, asked)


def draw_residuals(fit: DTFit, ax: Any) -> Any:
    """Draw what the model leaves of the correlations."""
    order = table_order(fit.loadings)
    return residual_map(fit.residuals().iloc[order, order], fit.support[order], ax)


def draw_loadings(fit: DTFit, ax: Any, cutoff: float = 0.0, texts: bool = False) -> Any:
    """Draw the loadings as printed, with numbers for those of at least ``cutoff`` in size."""
    asked = canvas.item_texts(fit, texts)
    loadings = _sorted_loadings(fit)
    least = checks.unit_interval("cutoff", cutoff, CUTOFF)
    marks = ["+" if name in fit.attached_items else "" for name in loadings.index]
    return loading_map(loadings, marks, least, _ATTACHED if any(marks) else "", ax, asked)


FIT_KINDS: dict[str, DrawFunction] = {
    "diagram": draw_diagram,
    "tree": draw_tree,
    "dependence": draw_dependence,
    "path": draw_path,
    "barcode": draw_barcode,
    "margin": draw_margin,
    "curves": draw_curves,
    "residuals": draw_residuals,
    "loadings": draw_loadings,
}


def _sorted_loadings(fit: DTFit) -> pd.DataFrame:
    if not fit.n_factors:
        raise InputError(NO_FACTOR, "kind")
    loadings = fit.loadings
    return loadings.iloc[table_order(loadings)]


def _factor_intervals(fit: DTFit) -> list[tuple[str, float, float]]:
    known = fit.factors.dropna(subset="from")
    return [
        (str(name), float(low), float(high))
        for name, low, high in zip(known["factor"], known["from"], known["to"], strict=True)
    ]


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
    shade = canvas.SKY if gamma > 0 else canvas.ORANGE
    ax.axhspan(min(low, high), max(low, high), facecolor=shade, alpha=0.3, edgecolor="none")
    _curve(
        ax,
        within,
        "o",
        canvas.BLUE,
        f"pairs sharing a factor; weakest {canvas.shorten(weakest, _WORDS)}",
    )
    ax.plot(1, low, "o", color=canvas.BLUE, markeredgecolor=canvas.INK, markersize=8)
    if len(between):
        words = f"pairs sharing none; strongest {canvas.shorten(strongest, _WORDS)}"
        _curve(ax, between, "x", canvas.VERMILION, words)
        ax.plot(0, high, "X", color=canvas.VERMILION, markeredgecolor=canvas.INK, markersize=8)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(bottom=0)
    canvas.strip_frame(ax)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["strongest", "25 %", "half", "75 %", "weakest"])
    said = "gap" if gamma > 0 else "overlap"
    verdict = "one threshold separates them" if gamma > 0 else "no threshold separates them"
    title = f"Margin γ = {canvas.format_signed(gamma, 3)}: {said}, {verdict}"
    canvas.set_titles(ax, title, "pairs, by rank", strength_label(measure))
    canvas.legend_below(ax, 1)
    return ax


def _curve(ax: Axes, values: FloatArray, marker: str, shade: str, label: str) -> None:
    falling = np.sort(values)[::-1]
    share = np.linspace(0, 1, len(falling)) if len(falling) > 1 else np.zeros(1)
    count = min(len(falling), _MOST_DOTS)
    shown = np.linspace(0, len(falling) - 1, count).round().astype(int)
    ax.plot(share[shown], falling[shown], marker, color=shade, markersize=3, label=label)
