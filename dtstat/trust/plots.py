"""The pictures of a diagnosis, of stability, of a certificate, and of a plan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dtstat.core import canvas, checks
from dtstat.core.canvas import DrawFunction
from dtstat.core.errors import InputError
from dtstat.core.loading_tables import table_order
from dtstat.core.plots import share_map
from dtstat.dependence.measures import strength_label
from dtstat.fit.plots import draw_margin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dtstat.trust.certificate import Certificate
    from dtstat.trust.plan import SurveyPlan
    from dtstat.trust.stability_result import Stability

_METHODS = {
    "guarantee": ("-", canvas.BLUE, "guarantee"),
    "normal": ("--", canvas.VERMILION, "normal approximation"),
    "simulation": ("-.", canvas.GREEN, "simulation"),
}
# Color and filling of the margin, by what was found.
_VERDICTS: dict[str, tuple[str, str, str]] = {
    "firm": (canvas.BLUE, canvas.BLUE, "firm: the interval is above 0"),
    "unsure": (canvas.VERMILION, "white", "unsure: the interval reaches 0"),
    "seen": (canvas.GREY, canvas.GREY, "seen; no interval without data"),
}
# Color of what is certain about a factor.
_CERTAINTY = {"certified": canvas.BLUE, "open": canvas.PALE, "refuted": canvas.VERMILION}
_FEW_SIZES = 6
_AGREEMENTS = {
    "f1": ("o", "-", canvas.BLUE, "agreement of loadings (F1)"),
    "same_n_factors": ("s", "--", canvas.GREEN, "same number of factors"),
    "same_structure": ("^", ":", canvas.VERMILION, "exactly the same structure"),
}


def factor_margins(factors: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the margin of every factor with its interval, the first on top.

    Parameters
    ----------
    factors
        factor, margin, core_margin, core_lower, core_upper, verdict.
    """
    ax = canvas.axes(ax, 1.7 + 0.28 * len(factors))
    place = np.arange(len(factors))
    ax.axvline(0, color=canvas.GREY, linewidth=1)
    for verdict, (color, fill, label) in _VERDICTS.items():
        own = (factors["verdict"] == verdict).to_numpy()
        if own.any():
            shown = factors[own]
            margin, low, high = (
                shown[name].to_numpy(dtype=float)
                for name in ("core_margin", "core_lower", "core_upper")
            )
            ax.hlines(place[own], low, high, color=color, linewidth=2)
            style: dict[str, Any] = {"color": color, "markerfacecolor": fill, "label": label}
            ax.plot(margin, place[own], "o", markersize=6, **style)
    whole = factors["margin"].to_numpy(dtype=float)
    ax.plot(whole, place, "|", color=canvas.INK, markersize=9, label="margin of all its items")
    ax.set_yticks(place, [canvas.shorten(name) for name in factors["factor"]])
    ax.set_ylim(len(factors) - 0.4, -0.6)
    canvas.strip_frame(ax)
    title = "How well is each factor supported?"
    canvas.set_titles(ax, title, "local margin of the clique it is read off, with 95 % interval")
    canvas.legend_below(ax, 2)
    return ax


def draw_items(stability: Stability, ax: Any) -> Any:
    """Draw how often items are in factors."""
    fit = stability.fit
    if not fit.n_factors:
        raise InputError(
            "There is no factor that items could be in; see plot('n_factors').", "kind"
        )
    order = table_order(fit.loadings)
    return share_map(stability.memberships.iloc[order], fit.support[order], ax)


def factor_numbers(numbers: pd.DataFrame, chosen: int, ax: Axes | None = None) -> Axes:
    """Draw how often each number of factors was found; the number chosen is dark.

    Parameters
    ----------
    numbers
        n_factors, count, share.
    chosen
        Number of factors of the fit.
    """
    ax = canvas.axes(ax, 3.0)
    own = [n == chosen for n in numbers["n_factors"]]
    bars = ax.bar(
        numbers["n_factors"],
        100 * numbers["share"],
        color=[canvas.BLUE if one else canvas.PALE for one in own],
        edgecolor=canvas.INK,
        linewidth=0.6,
    )
    ax.bar_label(bars, [str(count) for count in numbers["count"]], fontsize=canvas.SMALL)
    ax.set_xticks(np.arange(numbers["n_factors"].min(), numbers["n_factors"].max() + 1))
    ax.margins(y=0.1)
    canvas.strip_frame(ax)
    title = f"Number of factors in resamples (dark: {chosen}, as in all rows)"
    canvas.set_titles(ax, title, "number of factors", "% of resamples")
    return ax


def agreement_by_size(sizes: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw agreement with the structure of all rows against the rows of a resample.

    Parameters
    ----------
    sizes
        n, f1, same_n_factors, same_structure, by rising n; scheme, "bootstrap" drawn hollow.
    """
    ax = canvas.axes(ax, 3.8)
    hollow = (sizes["scheme"] == "bootstrap").to_numpy()
    for column, (marker, line, color, label) in _AGREEMENTS.items():
        n, share = sizes["n"].to_numpy(dtype=float), sizes[column].to_numpy(dtype=float)
        ax.plot(n, share, marker=marker, linestyle=line, color=color, label=label)
        style: dict[str, Any] = {"markerfacecolor": "white", "linestyle": "", "zorder": 3}
        ax.plot(n[hollow], share[hollow], marker=marker, color=color, **style)
    ax.set_ylim(-0.03, 1.05)
    if len(sizes) <= _FEW_SIZES:
        ax.set_xticks(sizes["n"].unique())
    canvas.strip_frame(ax)
    note = "rows of a resample" + (" (hollow: bootstrap of all rows)" if hollow.any() else "")
    canvas.set_titles(ax, "Agreement with the structure of all rows", note, "mean, or share")
    canvas.legend_below(ax, 3)
    return ax


def draw_plan(plan: SurveyPlan, ax: Any, target: str) -> Any:
    """Draw the probability of error against n for one target of the plan."""
    checks.choice("target", target, plan.table["target"])
    row = plan.table[plan.table["target"] == target].iloc[0]
    curves = plan.curves()
    curves = curves[curves["target"] == target]
    if curves.empty:
        raise InputError(
            f"No sample-size curve is available for target '{target}'. Plan with simulations "
            "(`n_draws` above 0), or see the summary.",
            "target",
        )
    needed = {name: float(row[name]) for name in ("guarantee", "normal", "simulation")}
    meaning = str(row["meaning"])
    title = f"{meaning[0].upper()}{meaning[1:]}: rows needed"
    return planning_plot(curves, needed, plan.error, title, ax)


def planning_plot(
    curves: pd.DataFrame,
    needed: Mapping[str, float],
    error: float,
    title: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw the curves of one target.

    Parameters
    ----------
    curves
        method ("guarantee", "normal", "simulation", "draws"), n, error.
    needed
        Method → rows it asks for; NaN if none are enough.
    error
        The probability of error that is accepted, a line.
    title
        What is aimed at.
    """
    ax = canvas.axes(ax, 4.2)
    for method, (line, color, words) in _METHODS.items():
        own = curves[curves["method"] == method]
        if len(own):
            n = needed.get(method, math.nan)
            label = words + ("" if math.isnan(n) else f": {n:,.0f} rows")
            ax.plot(own["n"], own["error"], line, color=color, linewidth=1.8, label=label)
            ax.plot([n], [error], "o", color=color, markeredgecolor=canvas.INK, zorder=4)
    draws = curves[curves["method"] == "draws"]
    if len(draws):
        style: dict[str, Any] = {"markerfacecolor": "white", "markersize": 5}
        ax.plot(draws["n"], draws["error"], "o", color=canvas.GREEN, label="draws", **style)
    ax.axhline(error, color=canvas.GREY, linewidth=1, linestyle=":", label=f"accepted: {error:g}")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_ylim(-0.03, 1.05)
    canvas.strip_frame(ax)
    canvas.set_titles(ax, title, "rows n (log scale)", "probability of error")
    canvas.legend_below(ax, 2)
    return ax


def draw_certified_bars(result: Certificate, ax: Any, max_bars: int = 20) -> Any:
    """Draw bars with their bands, the certified ones in color."""
    most = checks.integer("max_bars", max_bars, 1, "It is the number of bars.")
    frame = result.to_frame()
    order = [*np.flatnonzero(result.certified), *np.flatnonzero(~result.certified)][:most]
    frame = frame.iloc[order]
    ax = canvas.axes(ax, 1.6 + canvas.LINE * max(len(frame), 1))
    place = np.arange(len(frame))
    sure = frame["certified"].to_numpy(dtype=bool)
    for marks, color, label in (
        (sure, canvas.BLUE, "certified"),
        (~sure, canvas.PALE, "not certified"),
    ):
        own = frame[marks]
        if len(own):
            ax.barh(place[marks], own["death"] - own["birth"], left=own["birth"], height=0.6,
                    color=color, edgecolor=canvas.INK, linewidth=0.6, label=label)  # fmt: skip
    for k, end in enumerate(("birth", "death")):
        ax.hlines(
            place + 0.3 * (2 * k - 1), frame[f"{end}_low"], frame[f"{end}_high"],
            color=canvas.VERMILION, linewidth=1.2,
            label="" if k else "band: left end above, right end below",
        )  # fmt: skip
    ax.set_yticks(place, [canvas.list_names(items, 34) for items in frame["items"]])
    ax.set_ylim(len(frame) - 0.4, -0.6)
    canvas.strip_frame(ax)
    title = f"Cliques certified with error at most {100 * result.error:g} %"
    canvas.set_titles(ax, title, f"threshold on {strength_label(result.measure)}")
    canvas.legend_below(ax, 3)
    return ax


def draw_certified_levels(result: Certificate, ax: Any) -> Any:
    """Stack the factors of each level by what is certain about them."""
    levels = result.levels
    if not len(result.tree):
        raise InputError(
            "There are no levels to draw. Call certify(data, structure=fit) with a fit that has a "
            "tree (search='tree').",
            "kind",
        )
    ax = canvas.axes(ax, 3.2)
    place, below = levels["n_factors"].to_numpy(), np.zeros(len(levels))
    for verdict in (one for one in _CERTAINTY if levels[one].any()):
        height = levels[verdict].to_numpy(dtype=float)
        ax.bar(place, height, bottom=below, width=0.7, color=_CERTAINTY[verdict],
               edgecolor=canvas.INK, linewidth=0.6, label=verdict)  # fmt: skip
        below += height
    too_few = int(levels["rejected"].sum())
    if too_few:
        ax.axvspan(0.5, too_few + 0.5, color=canvas.GREY, alpha=0.18, linewidth=0,
                   label="more factors are needed")  # fmt: skip
    for k in levels.loc[levels["possible"], "n_factors"]:
        ax.annotate("possible", (k, below[k - 1]), (0, 3), textcoords="offset points",
                    ha="center", fontsize=canvas.SMALL)  # fmt: skip
    ax.set_xlim(0.5, len(levels) + 0.5)
    ax.set_ylim(0, len(levels) * 1.08 + 0.5)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel("factors of the level")
    title = f"Levels of the tree, error at most {100 * result.error:g} % per reason"
    canvas.set_titles(ax, title, "number of factors")
    canvas.legend_below(ax, 4)
    return ax


DIAGNOSIS_KINDS: dict[str, DrawFunction] = {
    "margin": lambda diagnosis, ax: draw_margin(diagnosis.fit, ax),
    "factors": lambda diagnosis, ax: factor_margins(diagnosis.factors, ax),
}
STABILITY_KINDS: dict[str, DrawFunction] = {
    "items": draw_items,
    "n_factors": lambda stability, ax: factor_numbers(
        stability.n_factors, stability.fit.n_factors, ax
    ),
    "sizes": lambda stability, ax: agreement_by_size(stability.sizes.sort_values("n"), ax),
}
CERTIFICATE_KINDS: dict[str, DrawFunction] = {
    "bars": draw_certified_bars,
    "levels": draw_certified_levels,
}
