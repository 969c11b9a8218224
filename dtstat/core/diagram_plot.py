"""The path diagram drawn by matplotlib, as it is laid out by :mod:`dtstat.core.diagram`."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from dtstat.core import canvas
from dtstat.core.diagram import Box, Diagram, Line, Variable, residual_arrow, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TEXT_LETTER = 0.062  # inches that a letter of an item's words takes, on average
_SMALLEST = 4.0  # points


def draw(diagram: Diagram, ax: Axes | None = None) -> Axes:
    """Draw a path diagram; letters shrink with the axes if these are smaller than it needs."""
    left, right, lower, upper = diagram.limits
    longest = max(len(variable.text) for variable in diagram.variables)
    right += _TEXT_LETTER * longest + 0.05
    notes = textwrap.wrap(diagram.note, max(int((right - left) / _TEXT_LETTER), 30))
    lower -= canvas.LINE * len(notes) + (0.1 if notes else 0.0)
    width, height = right - left, upper - lower
    given = ax is not None
    ax = canvas.axes(ax, height + 0.1, width + 0.1)
    size = canvas.size_in_inches(ax)
    scale = min(1.0, size[0] / width, size[1] / height) if given else 1.0
    ax.set_axis_off()
    ax.set_xlim(left, right)
    ax.set_ylim(lower, upper)
    ax.set_aspect("equal")
    for line in diagram.lines:
        _draw_line(ax, line, scale)
    for k, (variable, box) in enumerate(zip(diagram.variables, diagram.boxes, strict=True)):
        _draw_variable(ax, variable, box, k, scale)
        if variable.text:
            words = canvas.shorten(variable.text, 10_000)
            style: dict[str, Any] = {"fontsize": _points(canvas.SMALL, scale), "va": "center"}
            ax.text(diagram.words_x, box.y, words, color=canvas.INK, **style)
    if notes:
        place = left + 0.1, lower + 0.05
        ax.text(*place, "\n".join(notes), fontsize=_points(canvas.SMALL, scale), va="bottom")
    return ax


def _points(size: float, scale: float) -> float:
    return max(size * scale, _SMALLEST)


def _draw_line(ax: Axes, line: Line, scale: float) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    covariance = line.arrow.kind == "covariance"
    points = [line.start, *line.controls, line.end]
    codes = [Path.MOVETO, *[Path.CURVE4 if line.controls else Path.LINETO] * (len(points) - 1)]
    ax.add_patch(
        FancyArrowPatch(
            path=Path(points, codes),
            arrowstyle="<|-|>" if covariance else "-|>",
            mutation_scale=7 * scale,
            shrinkA=0,
            shrinkB=0,
            linewidth=0.7 * scale,
            linestyle=(0, (4, 2)) if line.weak else "-",
            color=canvas.GREY if covariance else canvas.INK,
            gid=f"{line.arrow.kind} {line.arrow.source} {line.arrow.target}",
            zorder=1,
        )
    )
    if line.spot is not None:
        _number(ax, line.spot, written(line.arrow.value, line.arrow.mark), scale)


def _number(ax: Axes, spot: tuple[float, float], text: str, scale: float) -> None:
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.6 * scale}
    style: dict[str, Any] = {"ha": "center", "va": "center"}
    size = _points(canvas.SMALL, scale)
    ax.text(*spot, text, fontsize=size, color=canvas.INK, bbox=paper, zorder=2, **style)


def _draw_variable(ax: Axes, variable: Variable, box: Box, k: int, scale: float) -> None:
    from matplotlib.patches import Ellipse, Rectangle

    style: dict[str, Any] = {"facecolor": "white", "edgecolor": canvas.INK, "zorder": 3}
    style |= {"linewidth": scale * (1.0 if variable.latent else 0.8), "gid": f"variable {k}"}
    if variable.latent:
        ax.add_patch(Ellipse((box.x, box.y), box.width, box.height, **style))
    else:
        corner = box.x - box.width / 2, box.y - box.height / 2
        dashes = (0, (3, 1.5)) if variable.attached else "-"
        ax.add_patch(Rectangle(corner, box.width, box.height, linestyle=dashes, **style))
    middle: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 4, "color": canvas.INK}
    size = _points(canvas.NORMAL if variable.latent else canvas.SMALL, scale)
    ax.text(box.x, box.y, canvas.shorten(variable.name), fontsize=size, **middle)
    if variable.residual is not None:
        start, end, spot = residual_arrow(variable, box)
        head = {"arrowstyle": "-|>", "mutation_scale": 7 * scale, "linewidth": 0.7 * scale}
        head |= {"shrinkA": 0, "shrinkB": 0, "color": canvas.INK}
        ax.annotate("", end, start, arrowprops=head)
        _number(ax, spot, written(variable.residual), scale)
