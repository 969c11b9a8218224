"""The path diagram of a model: what is drawn, where it stands, and the same as text for others.

Ellipses are latent variables, boxes observed ones. Items stand in the column to the right, their
factors left of them, and what is behind the factors left of these. Arrows are loadings and
regressions; curved arrows with two heads are covariances. Lengths are in inches, x to the right and
y up, so that what has to be apart is apart on paper. matplotlib (:mod:`dtstat.core.diagram_plot`),
Graphviz and TikZ (:mod:`dtstat.core.diagram_text`) draw the same layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from dtstat.core import canvas, checks
from dtstat.core.arrays import BoolArray
from dtstat.core.errors import InputError, printable
from dtstat.core.loading_tables import table_order
from dtstat.core.markup import cut_text

Kind = Literal["loading", "path", "covariance"]
Point = tuple[float, float]

ROW, GROUP_GAP, FACTOR_GAP = 0.25, 0.1, 0.62
_ITEM_HEIGHT, _FACTOR_HEIGHT = 0.19, 0.44
_COLUMN_GAP = 2.3  # between the edges of two columns
_ARC_STEP, _ARC_MOST = 0.36, 2.2  # that an arc reaches out for each variable it passes; at most
_NUMBER = 0.3, 0.13  # that a number takes
_RESIDUAL = 0.3  # length of an arrow from nowhere
_MANY, LEAST_SHOWN = 8, 0.3  # factors, and correlations among so many that are drawn
_MOST_WORDS = 60  # letters of an item's words
_ATTACHED = "Dashed box: attached item, in no clique within its factor."
_FLAT = 0.75  # share of the way to its controls that a cubic Bézier curve goes
_SPOTS = (0.8, 0.66, 0.52, 0.38, 0.9, 0.28)  # along a line, where its number may stand


@dataclass(frozen=True)
class Variable:
    """A variable of a model.

    Attributes
    ----------
    name
        As it is called.
    latent
        Whether it is a factor.
    text
        Words of the item, written beside its box; may be empty.
    residual
        Share of its variance that is left unexplained; None if none is drawn.
    attached
        Whether its box is dashed.
    """

    name: str
    latent: bool = False
    text: str = ""
    residual: float | None = None
    attached: bool = False


@dataclass(frozen=True)
class Arrow:
    """A loading, regression or covariance between two variables, by their places in the model."""

    source: int
    target: int
    value: float
    kind: Kind
    mark: str = ""


@dataclass(frozen=True)
class Box:
    """Where a variable stands: its center and size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Line:
    """An arrow as it is drawn.

    Attributes
    ----------
    arrow
        What it stands for.
    start, end
        Its ends, on the edges of the variables.
    controls
        Control points of the Bézier curve between them; none for a straight line.
    spot
        Center of its number; None if there is no room for it.
    weak
        Whether it is a cross-loading, which is dashed.
    """

    arrow: Arrow
    start: Point
    end: Point
    controls: tuple[Point, ...]
    spot: Point | None
    weak: bool


@dataclass(frozen=True)
class Diagram:
    """A laid out path diagram."""

    variables: tuple[Variable, ...]
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    note: str = ""

    @property
    def words_x(self) -> float:
        """Where the words of items begin: right of their boxes, residuals and covariances."""
        items = [
            residual_end(v, box)
            for v, box in zip(self.variables, self.boxes, strict=True)
            if not v.latent
        ]
        inner = max((box.x for box in self.boxes), default=0.0)
        return max([*items, *(x + 0.2 for (x, _) in self._spots if x > inner)]) + 0.08

    @property
    def _spots(self) -> list[Point]:
        return [line.spot for line in self.lines if line.spot is not None]

    @property
    def limits(self) -> tuple[float, float, float, float]:
        """Left, right, lower and upper end of everything but texts."""
        edges = [box.x - box.width / 2 for box in self.boxes]
        left = min([*edges, *(x - 0.2 for x, _ in self._spots)])
        upper = max(
            box.y
            + box.height / 2
            + (_RESIDUAL + 0.12 if v.latent and v.residual is not None else 0)
            for v, box in zip(self.variables, self.boxes, strict=True)
        )
        lower = min(box.y - box.height / 2 for box in self.boxes)
        return left - 0.1, self.words_x, lower - 0.1, upper + 0.1


def factor_diagram(
    loadings: pd.DataFrame,
    correlations: pd.DataFrame,
    uniquenesses: pd.Series[float],
    cutoff: float = 0.0,
    residuals: bool = False,
    texts: Mapping[str, str] | None = None,
    attached: BoolArray | None = None,
) -> Diagram:
    """Lay out a factor model, items by their strongest factor, those without a loading last.

    Parameters
    ----------
    loadings, correlations, uniquenesses
        Of the model, standardized; 0 is no loading.
    cutoff
        Loadings of smaller absolute value have no arrow.
    residuals
        Whether to draw the unexplained shares of the items' variances.
    texts
        Words of items, by their names, written beside them.
    attached
        (p,) items whose boxes are dashed.
    """
    if not loadings.shape[1]:
        raise InputError(canvas.NO_FACTOR, "kind")
    least = checks.unit_interval("cutoff", cutoff, canvas.CUTOFF)
    shown = checks.flag("residuals", residuals, "True draws residual variances.")
    names = [str(name) for name in loadings.index]
    words = item_words(texts, names)
    L = loadings.where(loadings.abs() >= least, 0.0)
    order = table_order(L)
    hollow = np.zeros(len(names), dtype=bool) if attached is None else attached
    u2 = uniquenesses.to_numpy(dtype=float)
    variables = [
        Variable(names[i], False, words[i], float(u2[i]) if shown else None, bool(hollow[i]))
        for i in order
    ]
    variables += [Variable(str(name), latent=True) for name in L.columns]
    values, Phi, p = L.to_numpy(dtype=float)[order], correlations.to_numpy(dtype=float), len(names)
    arrows = [
        Arrow(p + int(k), int(i), float(values[i, k]), "loading")
        for i, k in zip(*np.nonzero(values), strict=True)
    ]
    arrows += [
        Arrow(p + j, p + k, float(Phi[j, k]), "covariance")
        for j in range(len(Phi))
        for k in range(j + 1, len(Phi))
    ]
    return layout(variables, arrows, _ATTACHED if hollow.any() else "")


def item_words(texts: Mapping[str, str] | None, names: Sequence[str]) -> list[str]:
    """Return what the items ask, in their order, cut to one line; "" where it is not known."""
    known = texts or {}
    return [cut_text(printable(known.get(name, "")).strip(), _MOST_WORDS) for name in names]


def layout(variables: Sequence[Variable], arrows: Sequence[Arrow], note: str = "") -> Diagram:
    """Place variables and arrows, items in the order given.

    Parameters
    ----------
    variables
        The items in their order, and the others.
    arrows
        Between them. Among more than eight factors weak correlations are left out.
    note
        What marks mean, to be written below.
    """
    columns = _columns(variables, arrows)
    drawn = [arrow for arrow in arrows if not _too_weak(arrow, variables)]
    boxes = _place(variables, drawn, columns)
    strongest = _strongest(drawn)
    taken: list[Point] = []
    lines = []
    order = sorted(
        range(len(drawn)),
        key=lambda k: (drawn[k].kind == "covariance", k not in strongest, -abs(drawn[k].value)),
    )
    for k in order:
        weak = drawn[k].kind == "loading" and k not in strongest
        lines.append(_line(drawn[k], variables, boxes, columns, weak, taken))
        taken += [spot] if (spot := lines[-1].spot) is not None else []
    left_out = len(lines) - len(taken)
    if left_out:
        note = f"{note} Without their numbers, for want of room: {left_out} arrows.".lstrip()
    return Diagram(tuple(variables), tuple(boxes), tuple(lines), note)


def _too_weak(arrow: Arrow, variables: Sequence[Variable]) -> bool:
    latent = sum(variable.latent for variable in variables)
    among = variables[arrow.source].latent and variables[arrow.target].latent
    if arrow.kind != "covariance" or not among:
        return False
    return abs(arrow.value) < (LEAST_SHOWN if latent > _MANY else 0.005)


def _strongest(arrows: Sequence[Arrow]) -> set[int]:
    """Return which loadings are the largest of their items."""
    best: dict[int, int] = {}
    for k, arrow in enumerate(arrows):
        first = best.get(arrow.target)
        if arrow.kind == "loading" and (
            first is None or abs(arrow.value) > abs(arrows[first].value)
        ):
            best[arrow.target] = k
    return set(best.values())


def _columns(variables: Sequence[Variable], arrows: Sequence[Arrow]) -> list[int]:
    """Return the column of each variable: 0 for items, 1 for factors, 2 for what is behind them.

    Observed variables of regressions alone stand beside the factors if they are explained, behind
    them if not.
    """
    loadings = [arrow for arrow in arrows if arrow.kind == "loading"]
    measured = {arrow.target for arrow in loadings}
    explained = {arrow.target for arrow in arrows if arrow.kind == "path"}
    regressed = explained | {arrow.source for arrow in arrows if arrow.kind == "path"}
    with_items = {arrow.source for arrow in loadings if not variables[arrow.target].latent}
    columns = []
    for k, variable in enumerate(variables):
        if variable.latent:
            measuring = any(arrow.source == k for arrow in loadings)
            columns.append(2 if measuring and k not in with_items else 1)
        elif k in measured or k not in regressed:
            columns.append(0)
        else:
            columns.append(1 if k in explained else 2)
    return columns


def _place(
    variables: Sequence[Variable], arrows: Sequence[Arrow], columns: Sequence[int]
) -> list[Box]:
    """Place items at even heights, others at the mean heights of what they point to, apart."""
    y = np.zeros(len(variables))
    parent = {a.target: a.source for a in reversed(arrows) if a.kind == "loading"}
    for a in sorted(arrows, key=lambda a: abs(a.value)):
        if a.kind == "loading":
            parent[a.target] = a.source
    height, before = 0.0, None
    for k in (k for k, column in enumerate(columns) if column == 0):
        if before is not None:
            height -= ROW + (GROUP_GAP if parent.get(k) != parent.get(before) else 0.0)
        y[k], before = height, k
    for column in (1, 2):
        own = [k for k, c in enumerate(columns) if c == column]
        if not own:
            continue
        means = []
        for k in own:
            children = [a.target for a in arrows if a.source == k and columns[a.target] < column]
            first = [c for c in children if parent.get(c) == k] or children
            means.append(float(np.mean(y[first])) if first else height)
        y[own] = canvas.spread_apart(np.array(means), FACTOR_GAP)
    widths = [_width(variable, column) for variable, column in zip(variables, columns, strict=True)]
    x, places = 0.0, {}
    for column in (2, 1, 0):
        wide = max((w for w, c in zip(widths, columns, strict=True) if c == column), default=None)
        if wide is not None:
            places[column] = x + wide / 2
            x += wide + _COLUMN_GAP
    widest = max((w for w, c in zip(widths, columns, strict=True) if c == 0), default=0.0)
    return [
        Box(
            places[column],
            float(y[k]),
            widest if column == 0 else widths[k],
            _FACTOR_HEIGHT if variable.latent else _ITEM_HEIGHT + (0.05 if column else 0.0),
        )
        for k, (variable, column) in enumerate(zip(variables, columns, strict=True))
    ]


def _width(variable: Variable, column: int) -> float:
    letters = len(canvas.shorten(variable.name).replace("\\$", "$"))
    if variable.latent:
        return max(0.7, 0.09 * letters + 0.3)
    return max(0.4, canvas.LETTER * letters + 0.12) + (0.05 if column else 0.0)


def _line(
    arrow: Arrow,
    variables: Sequence[Variable],
    boxes: Sequence[Box],
    columns: Sequence[int],
    weak: bool,
    taken: Sequence[Point],
) -> Line:
    a, b = boxes[arrow.source], boxes[arrow.target]
    column = columns[arrow.source]
    if column != columns[arrow.target]:
        inner = (b.x - b.width / 2, b.y)
        start = _edge(a, variables[arrow.source].latent, inner)
        into = columns[arrow.target] == 0
        end = inner if into else _edge(b, variables[arrow.target].latent, start)
        return Line(arrow, start, end, (), _free_spot(start, end, taken), weak)
    same = sorted(box.y for box, c in zip(boxes, columns, strict=True) if c == column)
    passed = abs(same.index(a.y) - same.index(b.y))
    if column == 0:  # residuals of items covary, to the right of them
        start, end = (
            (residual_end(variables[k], boxes[k]), boxes[k].y) for k in (arrow.source, arrow.target)
        )
        out = max(start[0], end[0]) + (0.12 * passed + 0.1) / _FLAT
    else:
        up = 1 if b.y > a.y else -1
        latent = variables[arrow.source].latent, variables[arrow.target].latent
        # Arcs to neighbors leave a variable farther from its middle than those beyond.
        start = _left_edge(a, latent[0], up * 0.13 / passed)
        end = _left_edge(b, latent[1], -up * 0.13 / passed)
        step = min(_ARC_STEP, _ARC_MOST / max(len(same) - 1, 1))
        out = min(box.x - box.width / 2 for box in (a, b)) - (step * passed + 0.06) / _FLAT
    bend = 0.15 * (end[1] - start[1])
    controls = (out, start[1] + bend), (out, end[1] - bend)
    apex = ((1 - _FLAT) * (start[0] + end[0]) / 2 + _FLAT * out, (start[1] + end[1]) / 2)
    room = not any(_meet(apex, other) for other in taken)
    return Line(arrow, start, end, controls, apex if room else None, weak)


def _left_edge(box: Box, latent: bool, above: float) -> Point:
    """Return the point on the left edge of a variable that is so far above its middle."""
    share = np.sqrt(1 - (above / (box.height / 2)) ** 2) if latent else 1.0
    height = above if latent else np.clip(above, -box.height / 3, box.height / 3)
    return float(box.x - share * box.width / 2), float(box.y + height)


def _edge(box: Box, latent: bool, towards: Point) -> Point:
    """Return where the line from the center of a variable leaves it."""
    dx, dy = towards[0] - box.x, towards[1] - box.y
    if latent:
        scale = 1 / np.hypot(dx / (box.width / 2), dy / (box.height / 2))
    else:
        scale = 1 / max(abs(dx) / (box.width / 2), abs(dy) / (box.height / 2))
    return float(box.x + scale * dx), float(box.y + scale * dy)


def _free_spot(start: Point, end: Point, taken: Sequence[Point]) -> Point | None:
    """Return the first place along a line where a number covers no other; None if there is none."""
    spots = [
        (start[0] + t * (end[0] - start[0]), start[1] + t * (end[1] - start[1])) for t in _SPOTS
    ]
    free = (spot for spot in spots if not any(_meet(spot, other) for other in taken))
    return next(free, None)


def _meet(one: Point, other: Point) -> bool:
    return abs(one[0] - other[0]) < _NUMBER[0] and abs(one[1] - other[1]) < _NUMBER[1]


def residual_end(variable: Variable, box: Box) -> float:
    """Return where the residual of an item ends to the right; without one, the box does."""
    return box.x + box.width / 2 + (0.0 if variable.residual is None else _RESIDUAL + 0.32)


def residual_arrow(variable: Variable, box: Box) -> tuple[Point, Point, Point]:
    """Return start, end and number of the arrow of a residual variance."""
    if variable.latent:
        top = box.y + box.height / 2
        return (box.x, top + _RESIDUAL), (box.x, top), (box.x + 0.18, top + _RESIDUAL - 0.05)
    edge = box.x + box.width / 2
    return (edge + _RESIDUAL, box.y), (edge, box.y), (edge + _RESIDUAL + 0.16, box.y)


def written(value: float, mark: str = "") -> str:
    """Write a standardized number as psychologists do: no leading zero, a proper minus."""
    text = canvas.format_signed(value, 2)
    return text.replace("0.", ".", 1) + mark if abs(value) < 0.995 else text + mark
