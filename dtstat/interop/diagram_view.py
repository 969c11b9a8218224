"""The path diagram as tables, which R draws: shapes, lines and numbers, with places in inches."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dtstat.core import canvas
from dtstat.core.diagram import Diagram, Point, residual_arrow, written
from dtstat.core.diagram_text import on_curve
from dtstat.interop.view_parts import View

_LETTER = 0.062  # inches that a letter of an item's words takes, on average


def diagram_view(diagram: Diagram) -> View:
    """Return what is drawn, and how large it is.

    Returns
    -------
    variables
        name, latent, attached; x and y of the center, width, height; text.
    lines
        One row per point of a line: line, kind (loading, path, covariance or residual), weak, x, y.
    numbers
        label, x, y.
    words_x, size, note
        Where texts of items begin; width and height; what marks mean.
    """
    placed = list(zip(diagram.variables, diagram.boxes, strict=True))
    variables = pd.DataFrame(
        [
            (canvas.shorten(v.name, dollar="$"), v.latent, v.attached, box.x, box.y, box.width,
             box.height, v.text)
            for v, box in placed
        ],
        columns=["name", "latent", "attached", "x", "y", "width", "height", "text"],
    )  # fmt: skip
    lines: list[tuple[str, bool, list[Point]]] = [
        (one.arrow.kind, one.weak, [one.start, *on_curve(one), one.end]) for one in diagram.lines
    ]
    numbers = [
        (written(one.arrow.value, one.arrow.mark), *one.spot)
        for one in diagram.lines
        if one.spot is not None
    ]
    for v, box in placed:
        if v.residual is not None:
            start, end, spot = residual_arrow(v, box)
            lines.append(("residual", False, [start, end]))
            numbers.append((written(v.residual), *spot))
    points = [
        (k + 1, kind, weak, x, y) for k, (kind, weak, way) in enumerate(lines) for x, y in way
    ]
    plain = [(label.replace("\u2212", "-"), x, y) for label, x, y in numbers]  # R's pdf() is ASCII
    left, right, lower, upper = diagram.limits
    right += _LETTER * max(len(v.text) for v in diagram.variables)
    return {
        "variables": variables,
        "lines": pd.DataFrame(points, columns=["line", "kind", "weak", "x", "y"]),
        "numbers": pd.DataFrame(plain, columns=["label", "x", "y"]),
        "words_x": diagram.words_x,
        "size": np.array([right - left, upper - lower]),
        "note": diagram.note,
    }
