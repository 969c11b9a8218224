"""Heat maps of items and factors, which several rooms share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from dtstat.core import canvas, checks
from dtstat.core.arrays import BoolArray, FloatArray
from dtstat.core.canvas import CUTOFF
from dtstat.core.errors import InputError
from dtstat.core.loading_tables import table_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colorbar import Colorbar

_MOST_LABELS = 60
_SEQUENTIAL, _DIVERGING = "Blues", "RdBu"  # the first darkens all the way; blue is positive
_MOST_VECTORS = 40_000  # cells in a pdf as shapes; more as one image
_NAMED = 3  # residuals that are named
_NOTABLE = 0.1  # residual from which on its sign is drawn

Interval = tuple[str, float, float]


class FactorModel(Protocol):
    """A fitted model with factors."""

    @property
    def loadings(self) -> pd.DataFrame:
        """Items by factors, standardized."""

    @property
    def factor_correlations(self) -> pd.DataFrame:
        """Factors by factors."""

    @property
    def item_texts(self) -> Mapping[str, str]:
        """Questions of the items, as far as they are known."""


def draw_loadings(model: FactorModel, ax: Any, cutoff: float = 0.0, texts: bool = False) -> Any:
    """Draw the loadings, with numbers for those of at least ``cutoff`` in size."""
    asked = canvas.item_texts(model, texts)
    loadings = _sorted_loadings(model)
    least = checks.unit_interval("cutoff", cutoff, CUTOFF)
    return loading_map(loadings, [""] * len(loadings), least, ax=ax, texts=asked)


def _sorted_loadings(model: FactorModel) -> pd.DataFrame:
    loadings = model.loadings
    if not loadings.shape[1]:
        raise InputError("The model has no factors, so there are no loadings to draw.", "kind")
    return loadings.iloc[table_order(loadings)]


def dependence_map(
    strength: pd.DataFrame,
    support: BoolArray,
    intervals: Sequence[Interval],
    label: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw absolute dependence, items in the order given.

    Parameters
    ----------
    strength
        Items by items.
    support
        (p, d) the factors, which are boxed; cross-loadings make boxes off the diagonal, dashed.
    intervals
        Name, lower and upper end of thresholds, marked beside the color bar.
    label
        What the numbers are.
    """
    values = strength.to_numpy(dtype=float, copy=True)
    np.fill_diagonal(values, np.nan)
    largest = max([np.nanmax(values, initial=0.1), *(high for _, _, high in intervals)])
    top = min(1.0, np.ceil(10 * largest) / 10)
    ax = _square_axes(ax, strength.index, len(intervals))
    mesh = _mesh(ax, values, _SEQUENTIAL, 0.0, float(top))
    _name_items(ax, list(strength.index))
    for members in support.T:
        _box(ax, members)
    bar = _color_bar(ax, mesh, label)
    _mark_intervals(bar, intervals)
    canvas.set_titles(ax, "Dependence of items" + (", factors boxed" if support.size else ""))
    return ax


def residual_map(residuals: pd.DataFrame, support: BoolArray, ax: Axes | None = None) -> Axes:
    """Draw what a model leaves of the correlations, items in the order given.

    Signs are drawn on notable cells, because light and dark do not tell them apart in gray print.
    """
    values = residuals.to_numpy(dtype=float, copy=True)
    np.fill_diagonal(values, np.nan)
    limit = max(float(np.nanmax(np.abs(values), initial=0.0)), _NOTABLE)
    ax = _square_axes(ax, residuals.index)
    mesh = _mesh(ax, values, _DIVERGING, -limit, limit)
    _name_items(ax, list(residuals.index))
    for members in support.T:
        _box(ax, members)
    _signs(ax, mesh, values)
    _color_bar(ax, mesh, "residual", "right")
    title = "Residual correlations (observed less implied)"
    canvas.set_titles(ax, title, _largest(residuals))
    return ax


def loading_map(
    loadings: pd.DataFrame,
    marks: Sequence[str],
    cutoff: float = 0.0,
    note: str = "",
    ax: Axes | None = None,
    texts: Mapping[str, str] | None = None,
) -> Axes:
    """Draw loadings with their numbers, rows in the order given.

    Parameters
    ----------
    loadings
        Items by factors; 0 is no loading and stays white.
    marks
        Signs behind the names of the items.
    cutoff
        Loadings of smaller absolute value have no number.
    note
        What the signs mean.
    texts
        Questions of items, written before their names.
    """
    values = loadings.to_numpy(dtype=float)
    limit = max(1.0, float(np.abs(values).max(initial=0.0)))
    labels = [canvas.item_label(name, texts or {}) for name in loadings.index]
    ax = _table_axes(ax, loadings, max(map(len, labels)) if texts else 0)
    mesh = _mesh(ax, np.where(values == 0, np.nan, values), _DIVERGING, -limit, limit)
    names = [label + mark for label, mark in zip(labels, marks, strict=True)]
    _name_rows_and_columns(ax, names, loadings.columns)
    _numbers(ax, mesh, values, (np.abs(values) >= cutoff) & (values != 0), 2)
    canvas.set_titles(ax, "Standardized loadings", note)
    return ax


def share_map(shares: pd.DataFrame, support: BoolArray, ax: Axes | None = None) -> Axes:
    """Draw how often items are in factors, in %, with the structure outlined."""
    values = shares.to_numpy(dtype=float)
    ax = _table_axes(ax, shares)
    mesh = _mesh(ax, values, _SEQUENTIAL, 0.0, 1.0)
    _name_rows_and_columns(ax, [canvas.shorten(n) for n in shares.index], shares.columns)
    _numbers(ax, mesh, 100 * values, values >= 0.005, 0)
    for i, k in zip(*np.nonzero(support), strict=True):
        _rectangle(ax, k, i, 1, 1, "-")
    note = "% of resamples with the item in the factor; outlined: in the structure"
    canvas.set_titles(ax, "Stability of the items", note)
    return ax


def _square_axes(ax: Axes | None, names: Iterable[object], n_marks: int = 0) -> Axes:
    """Make room for names on two sides, and for the color bar and its marks on the third."""
    texts = [canvas.shorten(name) for name in names]
    labels = canvas.LETTER * max(map(len, texts))
    beside = labels + 0.9 + 0.17 * n_marks
    side = max(canvas.WIDTH - beside, 0.14 * min(len(texts), _MOST_LABELS))
    height = min(side, max(2.4, 0.5 * len(texts)))
    # Cells are about square by these sizes, not by a fixed aspect, which layout cannot foresee.
    return canvas.axes(ax, height + labels + 0.6, side + beside)


def _table_axes(ax: Axes | None, frame: pd.DataFrame, letters: int = 0) -> Axes:
    """Make room for the cells, and for names of so many letters if that is more than usual."""
    height = max(2.2, len(frame) * canvas.LINE + 1.1)
    beside = max(2.2, letters * canvas.LETTER)
    return canvas.axes(ax, height, max(canvas.WIDTH, beside + 0.42 * frame.shape[1]))


def _mesh(ax: Axes, values: FloatArray, colors: str, low: float, high: float) -> QuadMesh:
    """Draw cells of width 1 with corners at whole numbers, the first row on top."""
    many = values.size > _MOST_VECTORS
    mesh: QuadMesh = ax.pcolormesh(values, cmap=colors, vmin=low, vmax=high, rasterized=many)
    ax.invert_yaxis()
    ax.set_facecolor("white")
    ax.tick_params(length=0, labelsize=canvas.SMALL)
    for side in ax.spines.values():
        side.set_color(canvas.PALE)
    return mesh


def _name_items(ax: Axes, names: Sequence[object]) -> None:
    """Name every k-th item, so that names have room."""
    step = -(-len(names) // _MOST_LABELS)
    places = np.arange(0, len(names), step)
    shown = [canvas.shorten(name) for name in names[::step]]
    ax.set_xticks(places + 0.5, shown, rotation=90)
    ax.set_yticks(places + 0.5, shown)


def _name_rows_and_columns(ax: Axes, rows: Sequence[str], columns: Iterable[object]) -> None:
    ax.set_yticks(np.arange(len(rows)) + 0.5, rows)
    names = [canvas.shorten(name) for name in columns]
    upright = max(map(len, names), default=0) > 6
    ax.set_xticks(np.arange(len(names)) + 0.5, names, rotation=90 if upright else 0)
    ax.xaxis.tick_top()


def _box(ax: Axes, members: BoolArray) -> None:
    """Outline the cells of one factor: its runs of neighbors by its runs."""
    change = np.diff(np.concatenate([[False], members, [False]]).astype(int))
    ends = (np.flatnonzero(change == step).tolist() for step in (1, -1))
    runs = list(zip(*ends, strict=True))
    for a, b in runs:
        for c, d in runs:
            _rectangle(ax, a, c, b - a, d - c, "-" if a == c else ":")


def _rectangle(ax: Axes, x: float, y: float, width: float, height: float, line: str) -> None:
    from matplotlib.patches import Rectangle

    style: dict[str, Any] = {"fill": False, "edgecolor": canvas.VERMILION, "linestyle": line}
    weight = 1.6 if line == "-" else 1.0
    ax.add_patch(Rectangle((x, y), width, height, linewidth=weight, clip_on=False, **style))


def _color_bar(
    ax: Axes, mesh: QuadMesh, label: str, side: Literal["left", "right"] = "left"
) -> Colorbar:
    """Draw the scale as part of the axes, so that no others are made or moved."""
    width = canvas.size_in_inches(ax)[0]
    gap = (0.45 if side == "left" else 0.12) / width
    place = ax.inset_axes((1 + gap, 0.0, 0.15 / width, 1.0))
    bar = ax.figure.colorbar(mesh, cax=place)
    place.yaxis.set_ticks_position(side)
    place.set_title(label, fontsize=canvas.SMALL, loc="right" if side == "left" else "left")
    bar.ax.tick_params(labelsize=canvas.SMALL)
    return bar


def _mark_intervals(bar: Colorbar, intervals: Sequence[Interval]) -> None:
    """Draw intervals right of the color bar, side by side where they or their names meet."""
    ends: list[float] = []  # of each lane: up to where it is taken
    letter = canvas.LETTER / canvas.size_in_inches(bar.ax)[1] * bar.ax.get_ylim()[1]
    for name, low, high in sorted(intervals, key=lambda one: one[1]):
        needs = high + letter * (len(canvas.shorten(name)) + 1)
        lane = next((k for k, end in enumerate(ends) if end <= low), len(ends))
        ends[lane : lane + 1] = [needs]
        x = 1.7 + 0.95 * lane
        bar.ax.plot([0, 1], [low, low], color=canvas.VERMILION, linewidth=1.2)
        bar.ax.plot([x, x], [low, high], color=canvas.VERMILION, linewidth=3, clip_on=False)
        style: dict[str, Any] = {"ha": "center", "va": "bottom", "rotation": 90}
        bar.ax.text(x, high + 0.4 * letter, canvas.shorten(name), fontsize=canvas.SMALL, **style)


def _signs(ax: Axes, mesh: QuadMesh, values: FloatArray) -> None:
    """Draw plus and minus on the notable cells, dark on light and light on dark."""
    size = float(np.clip(900 / len(values) ** 1.3, 2, 30))
    inks = _inks(mesh, values.shape)
    for marker, cells in (("+", values >= _NOTABLE), ("_", values <= -_NOTABLE)):
        y, x = np.nonzero(cells)
        ax.scatter(x + 0.5, y + 0.5, s=size, c=inks[y, x], marker=marker, linewidths=0.8)


def _inks(mesh: QuadMesh, shape: tuple[int, ...]) -> npt.NDArray[np.object_]:
    """Return the color to write in on every cell."""
    colors = mesh.to_rgba(np.ma.asarray(mesh.get_array()).reshape(shape))
    light = colors[..., :3] @ np.array(canvas.LIGHTNESS) >= 0.55
    return np.where(light, canvas.INK, "white").astype(object)


def _largest(residuals: pd.DataFrame) -> str:
    """Name the pairs with the largest residuals."""
    values, names = (
        residuals.to_numpy(dtype=float),
        [canvas.shorten(n, 16) for n in residuals.index],
    )
    i, j = np.triu_indices(len(names), 1)
    order = np.argsort(-np.abs(values[i, j]), kind="stable")[:_NAMED]
    order = order[np.abs(values[i, j])[order] >= 0.005]  # no zeros
    named = [
        f"{names[i[k]]}–{names[j[k]]} {values[i[k], j[k]]:+.2f}".replace("-", "−") for k in order
    ]
    return "largest: " + "\n".join(named) if named else ""


def _numbers(ax: Axes, mesh: QuadMesh, values: FloatArray, shown: BoolArray, digits: int) -> None:
    """Write numbers on cells, dark on light and light on dark."""
    inks = _inks(mesh, values.shape)
    for i, k in zip(*np.nonzero(shown), strict=True):
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": canvas.SMALL}
        text = canvas.format_signed(values[i, k], digits)
        ax.text(k + 0.5, i + 0.5, text, color=inks[i, k], **style)
