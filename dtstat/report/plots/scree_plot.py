"""The scree of a parallel analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from dtstat.report.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = {"factors": ("o", canvas.BLUE), "components": ("^", canvas.VERMILION)}


def scree_plot(
    eigenvalues: pd.DataFrame, quantile: float, suggested: str, ax: Axes | None = None
) -> Axes:
    """Draw eigenvalues and those of data without factors.

    Parameters
    ----------
    eigenvalues
        By rank from 1: factors and components, and both again with the prefixes "simulated_" and,
        if there were data, "resampled_".
    quantile
        Quantile of the references that is drawn.
    suggested
        Title: what was found.
    """
    ax = canvas.axes(ax, 4.4)
    rank = eigenvalues.index.to_numpy()
    for kind, (marker, colour) in _KINDS.items():
        ax.plot(rank, eigenvalues[kind], marker, ls="-", color=colour, ms=4, label=f"{kind}, data")
        for source, line in (("simulated", "--"), ("resampled", ":")):
            column = f"{source}_{kind}"
            if column in eigenvalues:
                label = f"{kind}, {source}, {100 * quantile:g} % quantile"
                ax.plot(rank, eigenvalues[column], line, color=colour, lw=1.4, label=label)
    ax.axhline(0, color=canvas.PALE, linewidth=0.8, zorder=0)
    ax.locator_params(axis="x", integer=True)
    canvas.bare(ax)
    canvas.titled(ax, suggested, "rank of the eigenvalue", "eigenvalue")
    canvas.legend_below(ax, 2)
    return ax
