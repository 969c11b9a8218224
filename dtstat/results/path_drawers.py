"""The pictures of a solution path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dtstat import checks
from dtstat.arrays import BoolArray, FloatArray
from dtstat.dependence import SparseDependence
from dtstat.errors import InputError
from dtstat.report.plots.heat_maps import dependence_map
from dtstat.report.plots.path_plots import barcode_plot, path_panels
from dtstat.results.drawing import Drawer

if TYPE_CHECKING:
    from dtstat.results.path import SolutionPath

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


def draw_barcode(path: SolutionPath, ax: Any, max_bars: int = 30) -> Any:
    """Draw the ``max_bars`` longest-lived cliques."""
    return draw_bars(path, {}, max_bars, ax)


def draw_dependence(path: SolutionPath, ax: Any, threshold: float | None = None) -> Any:
    """Draw absolute dependence, similar items together; boxed what ``threshold`` gives."""
    if isinstance(path.dependence, SparseDependence):
        raise InputError(
            "A map of all pairs needs all pairs, and only those above the floor were kept. Draw "
            "the items of some factors: solution_path(data[items]).plot('dependence').",
            "kind",
        )
    strength, measure = path.dependence.strength, path.dependence.measure
    order = _similar_together(strength)
    support: BoolArray = np.zeros((len(order), 0), dtype=bool)
    marks: list[tuple[str, float, float]] = []
    if threshold is not None:
        structure = path.at(threshold)
        support, marks = structure.support, [("threshold", float(threshold), float(threshold))]
        first = np.where(support.any(axis=1), support.argmax(axis=1, keepdims=False), len(order))
        order = order[np.argsort(first[order], kind="stable")]
    items = [path.dependence.names[i] for i in order]
    frame = pd.DataFrame(strength[np.ix_(order, order)], items, items)
    return dependence_map(frame, support[order], marks, measure, ax)


PATH_KINDS: dict[str, Drawer] = {
    "path": draw_steps,
    "barcode": draw_barcode,
    "dependence": draw_dependence,
}


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


def _similar_together(strength: FloatArray) -> Any:
    """Order items by average linkage, so that groups show before any is chosen."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(strength) < 3:
        return np.arange(len(strength))
    apart = 1 - strength[np.triu_indices(len(strength), 1)]
    return leaves_list(linkage(apart, "average", optimal_ordering=len(strength) <= 500))
