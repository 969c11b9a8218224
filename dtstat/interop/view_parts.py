"""Pieces that the parts of results are made of: numbers, texts, tables, and the path diagram.

The path diagram is drawn by R, from tables of shapes, lines and numbers with places in inches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dtstat.core import canvas
from dtstat.core.diagram import Diagram, Point, residual_arrow, written
from dtstat.core.diagram_text import on_curve
from dtstat.core.saved import to_bytes
from dtstat.core.tables import Table
from dtstat.interop.wire import RArray, vector

View = dict[str, Any]

# Names that broom has for what others call otherwise.
_BROOM = {
    "std_error": "std.error",
    "conf_low": "conf.low",
    "conf_high": "conf.high",
    "lower": "conf.low",
    "upper": "conf.high",
    "pvalue": "p.value",
    "p_value": "p.value",
    "chi_square": "chisq",
    "rmsea.ci.lower": "rmsea.conf.low",
    "rmsea.ci.upper": "rmsea.conf.high",
    "rmsea_low": "rmsea.conf.low",
    "rmsea_high": "rmsea.conf.high",
    "rmsea.pvalue": "rmsea.p.value",
    "aic": "AIC",
    "bic": "BIC",
    "n_obs": "nobs",
}


def broom(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table for R's ``tidy`` or ``glance``, which have names for everything."""
    return table.rename(columns=_BROOM)


def numbers(measures: Mapping[str, float | None]) -> RArray:
    """Return named numbers; what is not known is missing."""
    values = {name: float("nan") if v is None else float(v) for name, v in measures.items()}
    return vector(pd.Series(values, dtype=float))


def texts(values: Iterable[str]) -> RArray:
    """Return texts as a vector, also if there are none: an empty list has no kind in R."""
    return RArray("character", np.array([*values, None], dtype=object)[:-1])


def attributes(one: object, *names: str) -> View:
    """Return attributes by their names."""
    return {name: getattr(one, name) for name in names}


def kept(one: object, text: str) -> View:
    """Return what R prints of a result, and its bytes, of which Python makes it again."""
    return {"text": text, "state": to_bytes(one, compressed=False)}


def cells(table: Table) -> View:
    """Return a table as texts, column by column."""
    columns = zip(*table.rows, strict=True)
    return {"columns": texts(table.headers), "cells": [texts(column) for column in columns]}


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
