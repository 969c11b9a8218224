"""What all plots share: how a kind of plot is found, where it is drawn, colors, and lettering."""

from __future__ import annotations

import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dtstat.core import checks
from dtstat.core.arrays import FloatArray
from dtstat.core.errors import InputError, MissingExtraError
from dtstat.core.markup import cut_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


# Okabe and Ito: everybody can tell them apart. Their lightness hardly differs, so plots add line
# styles, markers or filling.
BLUE, VERMILION, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, ORANGE = "#56B4E9", "#E69F00"
CYCLE = (BLUE, VERMILION, GREEN, PINK, SKY, ORANGE)
INK, GREY, PALE = "#222222", "#767676", "#CCCCCC"
LIGHTNESS = 0.299, 0.587, 0.114  # of red, green and blue in gray print

WIDTH = 6.5  # inches: the text width of a page
SMALL, NORMAL = 8.0, 9.0  # points
LINE = 0.19  # inches that a line of small text needs
LETTER = 0.075  # inches that a letter of small text takes at most, on average
TITLE_LETTER = 0.085  # inches, of a title
LONGEST_NAME, LONGEST_TEXT = 24, 48  # letters

CUTOFF = "It is compared with absolute loadings."
NO_FACTOR = "There is no factor to draw; see plot('path') and plot('dependence')."

DrawFunction = Callable[..., Any]  # of a result, axes or None, and options by name


def draw(
    kinds: Mapping[str, DrawFunction],
    result: object,
    kind: object,
    ax: Any,
    options: Mapping[str, Any],
) -> Any:
    """Draw one kind of plot of a result; ``kind``, ``ax`` and ``options`` come from the user.

    Raises
    ------
    InputError
        If there is no such kind, or it has no such option.
    """
    name = checks.choice("kind", kind, kinds)
    check_options(f"plot('{name}')", kinds[name], options, 2)
    return kinds[name](result, ax, **options)


def check_options(
    where: str, function: Callable[..., Any], options: Mapping[str, Any], first: int = 0
) -> Mapping[str, Any]:
    """Return options by name if the function has them behind its ``first`` arguments."""
    known = list(inspect.signature(function).parameters)[first:]
    for option in options:
        if option not in known and not known:
            raise InputError(f"{where} has no options; got `{option}`.", option)
        if option not in known:
            raise checks.unknown("options", f"options of {where}", option, known)
    return options


def choose_names(
    argument: str, given: str | Iterable[str] | None, known: Iterable[str]
) -> list[str]:
    """Return one name or several as a list, in the given order; all of the known if None."""
    known = list(known)
    if given is None:
        return known
    chosen = checks.texts(argument, given, "Leave it out to draw all.")
    for name in chosen:
        checks.choice(argument, name, known)
    if not chosen:
        raise InputError(f"`{argument}` names nothing to draw. Leave it out to draw all.", argument)
    return chosen


def pyplot() -> Any:
    """Import pyplot, or say how to get it.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        return importlib.import_module("matplotlib.pyplot")
    except ModuleNotFoundError as error:
        # A broken installation is another matter and must show as itself.
        if error.name != "matplotlib":
            raise
        raise MissingExtraError("Plotting", "matplotlib", "plot") from error


def axes(ax: Axes | None, height: float, width: float = WIDTH) -> Axes:
    """Return ``ax``, or the axes of a new figure of this size in inches."""
    plt = pyplot()
    if ax is not None:
        return _check_axes(ax)
    new: Axes = plt.subplots(figsize=(width, height), layout="constrained")[1]
    return new


def stack_panels(
    ax: Axes | None, shares: Sequence[float], height: float
) -> tuple[Figure | SubFigure, list[Axes]]:
    """Return panels above each other with one x-axis, of these relative heights.

    They divide a new figure, or the area of ``ax``, whose own axes are hidden.
    """
    if ax is None:
        figure, grid = pyplot().subplots(
            len(shares),
            figsize=(WIDTH, height),
            sharex=True,
            squeeze=False,
            gridspec_kw={"height_ratios": shares},
            layout="constrained",
        )
        return figure, list(grid[:, 0])
    pyplot()
    gap = 0.05
    heights = np.asarray(shares, dtype=float) / sum(shares) * (1 - gap * (len(shares) - 1))
    tops = 1 - np.cumsum(heights) - gap * np.arange(len(shares))
    panels = _insets(ax, [(0.0, y, 1.0, h) for y, h in zip(tops, heights, strict=True)])
    for panel in panels[:-1]:
        panel.sharex(panels[-1])
        panel.tick_params(labelbottom=False)
    return ax.figure, panels


def tile_panels(
    ax: Axes | None, count: int, columns: int, row_height: float, width: float = WIDTH
) -> tuple[Figure | SubFigure, list[Axes]]:
    """Return ``count`` panels, row by row, in a new figure or the area of ``ax``."""
    columns = min(columns, count)
    rows = -(-count // columns)
    if ax is None:
        figure, grid = pyplot().subplots(
            rows,
            columns,
            figsize=(width, rows * row_height + 0.5),
            squeeze=False,
            layout="constrained",
        )
        for unused in grid.ravel()[count:]:
            unused.remove()
        return figure, list(grid.ravel()[:count])
    pyplot()
    wide, high = 1 / columns, 1 / rows
    boxes = [
        (wide * (k % columns + 0.2), 1 - high * (k // columns + 0.8), 0.75 * wide, 0.6 * high)
        for k in range(count)
    ]
    return ax.figure, _insets(ax, boxes)


def shorten(name: object, most: int = LONGEST_NAME, dollar: str = r"\$") -> str:
    """Write a name in at most so many letters, with an ellipsis in the middle.

    What cannot be printed becomes a dot, and a dollar is a dollar, not the start of a formula of
    matplotlib.
    """
    text = "".join(c if c.isprintable() else "·" for c in str(name))
    if len(text) > most:
        head = most // 2
        text = f"{text[:head]}…{text[len(text) - (most - head - 1) :]}"
    return text.replace("$", dollar)


def shorten_text(text: str, most: int = LONGEST_TEXT) -> str:
    """Write a text in at most so many letters, cut after a whole word."""
    printed = "".join(c if c.isprintable() else "·" for c in text)
    return cut_text(printed, most).replace("$", r"\$")


def item_label(item: object, texts: Mapping[str, str]) -> str:
    """Write what an item asks, as far as there is room and it is known, and its name."""
    text = texts.get(str(item), "")
    return f"{shorten_text(text)}  {shorten(item)}" if text else shorten(item)


def item_texts(result: Any, texts: object) -> Mapping[str, str]:
    """Return the texts of a result's items if they are asked for; refuse if it has none."""
    if not checks.flag("texts", texts, "True writes what the items ask beside their names."):
        return {}
    if not result.item_texts:
        raise InputError(
            "`texts` needs the texts of the items, which are not known. Give them with `labels` "
            "when fitting.",
            "texts",
        )
    known: Mapping[str, str] = result.item_texts
    return known


def list_names(names: Sequence[str], most: int) -> str:
    """Write the first names that fit into so many letters, and how many more there are."""
    shown = [shorten(name) for name in names]
    for count in range(len(shown), 1, -1):
        more = f" +{len(shown) - count}" if count < len(shown) else ""
        if len(text := ", ".join(shown[:count]) + more) <= most:
            return text
    return shown[0] + (f" +{len(shown) - 1}" if len(shown) > 1 else "")


def size_in_inches(ax: Axes) -> tuple[float, float]:
    """Return width and height of axes; of new ones roughly, since layout comes when drawn."""
    box = ax.get_window_extent()
    dpi = ax.figure.dpi
    return max(box.width / dpi, 0.5), max(box.height / dpi, 0.5)


def format_signed(value: float, digits: int) -> str:
    """Write a number with a proper minus."""
    return f"{value:.{digits}f}".replace("-", "−")


def strip_frame(ax: Axes) -> None:
    """Leave the lower and left lines of the frame only, and make ticks small."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL)


def set_titles(ax: Axes, title: str, x: str = "", y: str = "") -> None:
    """Write title and axis labels; a title too long for the axes takes two lines."""
    letters = max(int(size_in_inches(ax)[0] / TITLE_LETTER), 12)
    ax.set_title(textwrap.fill(title, letters), fontsize=NORMAL + 1, loc="left")
    ax.set_xlabel(x, fontsize=NORMAL)
    ax.set_ylabel(y, fontsize=NORMAL)


def legend_below(ax: Axes, columns: int = 2, **options: Any) -> None:
    """Explain the signs below the axes, where they hide nothing."""
    drop = -0.5 / size_in_inches(ax)[1]  # half an inch: room for ticks and the label
    anchor = {"loc": "upper center", "bbox_to_anchor": (0.5, drop)}
    ax.legend(**(anchor | {"ncols": columns, "fontsize": SMALL, "frameon": False} | options))


def spread_apart(targets: FloatArray, gap: float) -> FloatArray:
    """Move heights as little as possible (in squares) so that all are ``gap`` apart.

    Less its rank times the gap, each height has to be at least the one before: isotonic
    regression, by pooling neighbors that are out of order.
    """
    order = np.argsort(targets, kind="stable")
    steps = gap * np.arange(len(order))
    pools: list[tuple[float, int]] = []
    for value in targets[order] - steps:
        mean, size = float(value), 1
        while pools and pools[-1][0] > mean:
            before, count = pools.pop()
            mean = (mean * size + before * count) / (size + count)
            size += count
        pools.append((mean, size))
    moved = np.empty(len(order))
    moved[order] = np.repeat([m for m, _ in pools], [s for _, s in pools]) + steps
    return moved


def _insets(ax: Axes, boxes: Sequence[tuple[float, float, float, float]]) -> list[Axes]:
    _check_axes(ax).set_axis_off()
    return [ax.inset_axes(box) for box in boxes]


def _check_axes(ax: Axes) -> Axes:
    if not hasattr(ax, "inset_axes"):
        raise checks.refusal("ax", "axes of matplotlib", ax, "Leave it out to draw on new ones.")
    return ax
