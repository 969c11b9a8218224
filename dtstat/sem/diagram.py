"""The pictures of a structural equation model; its path diagram, from the standardized solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from dtstat.core import canvas, checks, diagram_plot
from dtstat.core.canvas import DrawFunction
from dtstat.core.diagram import Arrow, Diagram, Kind, Variable, item_words, layout
from dtstat.core.errors import InputError
from dtstat.core.loading_tables import table_order
from dtstat.core.plots import draw_loadings, residual_map

if TYPE_CHECKING:
    from dtstat.sem.result import CFAFit

_KINDS: dict[str, Kind] = {"=~": "loading", "~": "path", "~~": "covariance"}
_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_STARS_NOTE = "* p < .05, ** p < .01, *** p < .001."


def model_diagram(
    solution: pd.DataFrame,
    latent: Sequence[str],
    observed: Sequence[str],
    cutoff: float = 0.0,
    residuals: bool = False,
    texts: Mapping[str, str] | None = None,
    stars: bool = False,
) -> Diagram:
    """Lay out a model: loadings, regressions and covariances, those of residuals included.

    Parameters
    ----------
    solution
        Standardized solution: lhs, op, rhs, est.std, pvalue.
    latent, observed
        Variables of the model.
    cutoff
        Loadings of smaller absolute value have no arrow.
    residuals
        Whether to draw unexplained shares of variances.
    texts
        Words of items, by their names, written beside them.
    stars
        Whether to mark values that differ from 0 at the 5, 1 and 0.1 % level.
    """
    least = checks.unit_interval("cutoff", cutoff, canvas.CUTOFF)
    with_residuals = checks.flag("residuals", residuals, "True draws residual variances.")
    marked = checks.flag("stars", stars, "True marks significant values.")
    rows = list(solution[solution["op"].isin(list(_KINDS))].itertuples(index=False, name=None))
    at = {name: k for k, name in enumerate(solution.columns)}
    lhs, op, rhs, value = (at[name] for name in ("lhs", "op", "rhs", "est.std"))
    words = dict(zip(observed, item_words(texts, list(observed)), strict=True))
    explained = {row[rhs] if row[op] == "=~" else row[lhs] for row in rows if row[op] != "~~"}
    own = {row[lhs]: float(row[value]) for row in rows if row[op] == "~~" and row[lhs] == row[rhs]}
    names = _order(rows, at, list(latent), list(observed))
    variables = [
        Variable(
            name,
            name in latent,
            words.get(name, ""),
            own.get(name) if with_residuals and name in explained else None,
        )
        for name in names
    ]
    place = {name: k for k, name in enumerate(names)}
    arrows = []
    for row in rows:
        if row[lhs] == row[rhs] or row[rhs] not in place:  # a variance, or an intercept
            continue
        if row[op] == "=~" and abs(row[value]) < least:
            continue
        ends = (row[lhs], row[rhs]) if row[op] != "~" else (row[rhs], row[lhs])
        mark = _stars(float(row[at["pvalue"]])) if marked else ""
        if abs(row[value]) > 0:
            source, target = (place[name] for name in ends)
            arrows.append(Arrow(source, target, float(row[value]), _KINDS[row[op]], mark))
    if not arrows:
        raise InputError("The model has no arrows to draw: no loadings, no regressions.", "kind")
    return layout(variables, arrows, _STARS_NOTE if marked else "")


def _order(
    rows: Sequence[tuple[object, ...]],
    at: Mapping[str, int],
    latent: list[str],
    observed: list[str],
) -> list[str]:
    """Items by the factor they load on most, strongest first; then the factors."""
    best: dict[str, tuple[int, float]] = {}
    for row in rows:
        name, size = str(row[at["rhs"]]), abs(float(str(row[at["est.std"]])))
        if row[at["op"]] == "=~" and name in observed and size > best.get(name, (0, -1.0))[1]:
            best[name] = latent.index(str(row[at["lhs"]])), size
    last = len(latent), 0.0
    return [*sorted(observed, key=lambda x: (best.get(x, last)[0], -best.get(x, last)[1])), *latent]


def _stars(p: float) -> str:
    return next((stars for level, stars in _STARS if p < level), "")


def _draw_diagram(
    fit: CFAFit,
    ax: Any,
    cutoff: float = 0.0,
    residuals: bool = False,
    texts: bool = False,
    stars: bool = False,
) -> Any:
    """Draw the path diagram."""
    return diagram_plot.draw(fit.path_diagram(cutoff, residuals, texts, stars), ax)


def _draw_residuals(fit: CFAFit, ax: Any) -> Any:
    """Draw residual correlations, items by factor."""
    residuals, loadings = fit.residuals(), fit.loadings
    rest = [name for name in residuals.index if name not in loadings.index]
    by_factor = [*(str(loadings.index[i]) for i in table_order(loadings)), *rest]
    support = (loadings != 0).reindex(by_factor, fill_value=False).to_numpy(dtype=bool)
    return residual_map(residuals.loc[by_factor, by_factor], support, ax)


MODEL_KINDS: dict[str, DrawFunction] = {
    "diagram": _draw_diagram,
    "loadings": draw_loadings,
    "residuals": _draw_residuals,
}
