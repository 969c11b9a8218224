"""The path diagram as text: for Graphviz (dot) and for LaTeX (TikZ), names escaped."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from dtstat.core import canvas
from dtstat.core.arrays import BoolArray
from dtstat.core.diagram import (
    Box,
    Diagram,
    Line,
    Point,
    Variable,
    factor_diagram,
    residual_arrow,
    written,
)
from dtstat.core.markup import latex_escape

_POINTS = 12  # that a curve passes in Graphviz


class Diagrammed:
    """A model whose path diagram can be written as text."""

    loadings: Any  # of the class: items by factors
    factor_correlations: Any
    uniquenesses: Any
    attached: BoolArray | None = None  # items whose boxes are dashed
    _least_drawn = 0.0  # loading, unless another cutoff is asked for

    def path_diagram(
        self,
        cutoff: float | None = None,
        residuals: bool = False,
        texts: bool = False,
    ) -> Diagram:
        """Lay out the path diagram that ``plot``, ``to_dot`` and ``to_tikz`` draw.

        Parameters
        ----------
        cutoff
            Loadings of smaller absolute value have no arrow; all have one by default, of an
            exploratory solution those of at least 0.3.
        residuals
            Whether to draw unexplained shares of variances.
        texts
            Whether to write what the items ask beside them.
        """
        parts = self.loadings, self.factor_correlations, self.uniquenesses
        asked = canvas.item_texts(self, texts)
        least = self._least_drawn if cutoff is None else cutoff
        return factor_diagram(*parts, least, residuals, asked, self.attached)

    def to_dot(self, **options: Any) -> str:
        """Write the path diagram for Graphviz: ``dot -Tpdf model.dot -o model.pdf``.

        Parameters
        ----------
        options
            As of ``plot("diagram")``.
        """
        return to_dot(
            self.path_diagram(**canvas.check_options("to_dot", self.path_diagram, options))
        )

    def to_tikz(self, **options: Any) -> str:
        """Write the path diagram for LaTeX, as a tikzpicture; needs the package tikz.

        Parameters
        ----------
        options
            As of ``plot("diagram")``.
        """
        canvas.check_options("to_tikz", self.path_diagram, options)
        return to_tikz(self.path_diagram(**options))


def to_dot(diagram: Diagram) -> str:
    """Write the diagram for Graphviz, with places: ``dot -Tpdf`` draws it as it is laid out.

    Names become quoted strings in which nothing has a meaning.
    """
    lines = [
        "digraph model {",
        "  graph [layout=neato, splines=line, overlap=true, outputorder=edgesfirst];",
        '  node [fontname="Helvetica", fontsize=9, fixedsize=true, margin=0];',
        '  edge [fontname="Helvetica", fontsize=8, arrowsize=0.5];',
    ]
    for k, (variable, box) in enumerate(zip(diagram.variables, diagram.boxes, strict=True)):
        lines += [f"  {line}" for line in _dot_node(k, variable, box, diagram.words_x)]
    for k, line in enumerate(diagram.lines):
        lines += [
            f"  {edge}"
            for edge in _dot_edges(k, line, not diagram.variables[line.arrow.target].latent)
        ]
    return "\n".join([*lines, "}"]) + "\n"


def _dot_node(k: int, variable: Variable, box: Box, words_x: float) -> Iterator[str]:
    shape = "ellipse" if variable.latent else "box"
    dashed = ", style=dashed" if variable.attached else ""
    name = _dot_text(canvas.shorten(variable.name, dollar="$"))
    where = f"{_dot_place(box.x, box.y)}, width={box.width:.2f}, height={box.height:.2f}"
    yield f"v{k} [label={name}, shape={shape}, {where}{dashed}];"
    if variable.residual is not None:
        number, (start, _, _) = written(variable.residual), residual_arrow(variable, box)
        size = "shape=plaintext, width=0.3, height=0.15, fontsize=8"
        yield f"e{k} [label={_dot_text(number)}, {size}, {_dot_place(*start)}];"
        yield f"e{k} -> v{k};"
    if variable.text:
        width = 0.08 * len(variable.text) + 0.1
        place = _dot_place(words_x + width / 2, box.y)
        size = f"shape=plaintext, width={width:.2f}, height=0.15, fontsize=8"
        yield f"t{k} [label={_dot_text(variable.text)}, {size}, {place}];"


def _dot_place(x: float, y: float) -> str:
    return f'pos="{x:.3f},{y:.3f}!"'


def _dot_edges(k: int, line: Line, into_item: bool) -> Iterator[str]:
    """Write an arrow and its number; Graphviz bends lines by points that they pass."""
    arrow = line.arrow
    two_heads = arrow.kind == "covariance"
    style = ", color=gray45" if two_heads else ", style=dashed" if line.weak else ""
    number = _dot_text(written(arrow.value, arrow.mark))
    size = "shape=box, style=filled, fillcolor=white, color=white, width=0.36, height=0.12"
    passed = []
    for j, place in enumerate(on_curve(line), start=1):
        passed.append(f"b{k}_{j}")
        yield f"{passed[-1]} [shape=point, style=invis, width=0, {_dot_place(*place)}];"
    stations = [f"v{arrow.source}", *passed, f"v{arrow.target}"]
    last = len(stations) - 2
    for j, (one, other) in enumerate(itertools.pairwise(stations)):
        heads = (two_heads and j == 0, j == last)
        direction = {(True, True): "both", (True, False): "back", (False, True): "forward"}
        port = ", headport=w" if into_item and not passed else ""
        yield f"{one} -> {other} [dir={direction.get(heads, 'none')}{port}{style}];"
    if line.spot is not None:
        yield f"n{k} [label={number}, {size}, fontsize=8, {_dot_place(*line.spot)}];"


def on_curve(line: Line) -> list[Point]:
    """Return points on a curve; none on a straight line."""
    if not line.controls:
        return []
    t = np.linspace(0, 1, _POINTS + 2)[1:-1, None]
    p0, p1, p2, p3 = (np.array(point) for point in (line.start, *line.controls, line.end))
    curve = (1 - t) ** 3 * p0 + 3 * (1 - t) ** 2 * t * p1 + 3 * (1 - t) * t**2 * p2 + t**3 * p3
    return [(float(x), float(y)) for x, y in curve]


def _dot_text(text: str) -> str:
    """Quote a text; a backslash would begin an escape of Graphviz."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'


def to_tikz(diagram: Diagram) -> str:
    r"""Write the diagram as a tikzpicture; needs \usepackage{tikz}, nothing else."""
    lines = [
        r"\begin{tikzpicture}[x=1in, y=1in, >=stealth, every node/.style={inner sep=1pt},",
        r"  number/.style={font=\scriptsize, fill=white}, covariance/.style={<->, black!55}]",
    ]
    for line in diagram.lines:
        lines.append(rf"  {_tikz_edge(line)}")
    for variable, box in zip(diagram.variables, diagram.boxes, strict=True):
        lines += [f"  {text}" for text in _tikz_node(variable, box, diagram.words_x)]
    return "\n".join([*lines, r"\end{tikzpicture}"]) + "\n"


def _tikz_node(variable: Variable, box: Box, words_x: float) -> Iterator[str]:
    name = latex_escape(canvas.shorten(variable.name, dollar="$"))
    dashed = "dashed, " if variable.attached else ""
    center = _point((box.x, box.y))
    if variable.latent:
        yield rf"\draw[fill=white] {center} ellipse ({box.width / 2:.3f} and {box.height / 2:.3f});"
        yield rf"\node[font=\small] at {center} {{{name}}};"
    else:
        low = _point((box.x - box.width / 2, box.y - box.height / 2))
        high = _point((box.x + box.width / 2, box.y + box.height / 2))
        yield rf"\draw[{dashed}fill=white] {low} rectangle {high};"
        yield rf"\node[font=\footnotesize] at {center} {{{name}}};"
    if variable.residual is not None:
        start, end, spot = residual_arrow(variable, box)
        yield rf"\draw[->] {_point(start)} -- {_point(end)};"
        yield rf"\node[number] at {_point(spot)} {{{latex_escape(written(variable.residual))}}};"
    if variable.text:
        at = _point((words_x, box.y))
        yield rf"\node[font=\footnotesize, anchor=west] at {at} {{{latex_escape(variable.text)}}};"


def _tikz_edge(line: Line) -> str:
    style = "covariance" if line.arrow.kind == "covariance" else "->"
    style += ", dashed" if line.weak else ""
    way = "--"
    if line.controls:
        way = f".. controls {_point(line.controls[0])} and {_point(line.controls[1])} .."
    drawn = rf"\draw[{style}] {_point(line.start)} {way} {_point(line.end)};"
    if line.spot is None:
        return drawn
    number = latex_escape(written(line.arrow.value, line.arrow.mark))
    return rf"{drawn} \node[number] at {_point(line.spot)} {{{number}}};"


def _point(point: Point) -> str:
    return f"({point[0]:.3f}, {point[1]:.3f})"
