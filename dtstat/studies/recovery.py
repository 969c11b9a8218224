"""One data set of known structure: how well the path, and the choice from it, recover it.

Recovery of known structures under several conditions: accuracy, number of factors, seconds.
"""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from dtstat.core import canvas
from dtstat.core.arrays import FloatArray
from dtstat.core.checkpoints import Record
from dtstat.core.checks import seed_number
from dtstat.core.errors import EstimationError
from dtstat.fit.api import fit
from dtstat.path.solution_path import solution_path
from dtstat.simulation.generate import simulate
from dtstat.structure.compare import compare
from dtstat.structure.structure import Structure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


MEASURE = "spearman"
SELECTIONS = ("oracle", "likelihood")
SCORES = ("f1", "hamming")


class PathCall(Protocol):
    """What the oracle's path depends on."""

    @property
    def thresholds(self) -> int:
        """Number of thresholds, spaced evenly on [0, 1]."""

    @property
    def min_children(self) -> int:
        """Fewest items of a factor."""


@dataclass(frozen=True)
class RecoveryCall:
    """Everything the outcome for a data set depends on, besides its design and number.

    Attributes
    ----------
    n
        Rows of a data set.
    seed
        Whole number that all data sets derive from.
    thresholds, min_children
        Grid of the path, and fewest items of a factor.
    estimator, criterion
        What chooses from the path; None if ``preset`` says so.
    preset
        Preset of :func:`dtstat.fit` that chooses instead; None for none.
    """

    n: int
    seed: int
    thresholds: int
    min_children: int
    estimator: str | None
    criterion: str | None
    preset: str | None

    def fit_arguments(self) -> dict[str, Any]:
        """Arguments of :func:`dtstat.fit` other than data and seed."""
        if self.preset is not None:
            return {"preset": self.preset}
        return {
            "measure": MEASURE,
            "search": "threshold",
            "thresholds": self.thresholds,
            "estimator": self.estimator,
            "criterion": self.criterion,
            "min_children": self.min_children,
            "uncovered": "report",  # a structure of the path as it is, nothing attached
        }


def recover(call: RecoveryCall, design: str, replicate: int) -> Record:
    """Draw data set ``replicate`` of a design; compare both selections with the truth.

    Returns
    -------
    dict
        Seeds of the data and of the choice, and for "oracle" and "likelihood" each n_factors, f1,
        hamming, seconds and warnings.
    """
    load_code()
    data_seed, fit_seed = child_seeds(call.seed, design, replicate)
    drawn = simulate(design, n=call.n, seed=data_seed)
    data, truth = drawn.data, drawn.structure

    def likelihood() -> Structure:
        return fit(data, seed=fit_seed, **call.fit_arguments()).structure

    try:
        return {
            "seed": data_seed,
            "fit_seed": fit_seed,
            "oracle": outcome(lambda: oracle(data, truth, call), truth),
            "likelihood": outcome(likelihood, truth),
        }
    except EstimationError as error:
        where = f"Data set {replicate} of '{design}' (seed {data_seed})"
        raise EstimationError(f"{where} cannot be fitted. {error}") from None


def child_seeds(seed: int, design: str, replicate: int) -> tuple[int, int]:
    """Return the seeds of a data set and of the choice; no other data set has a part in them."""
    own = (zlib.crc32(design.encode()), replicate)
    draw, choose = np.random.SeedSequence(seed, spawn_key=own).spawn(2)
    return seed_number(draw), seed_number(choose)


def oracle(data: pd.DataFrame, truth: Structure, call: PathCall) -> Structure:
    """Return the structure of the path that is most accurate (F₁; of equals the least distance)."""
    path = solution_path(data, MEASURE, call.thresholds, call.min_children)
    # The grid ends at 1, where nothing is joined; the path lists structures with factors only.
    structures = [path.at(1.0), *(candidate.structure for candidate in path.candidates)]

    def accuracy(structure: Structure) -> tuple[float, int]:
        agreement = compare(structure, truth)
        return agreement.f1, -agreement.hamming

    return max(structures, key=accuracy)


@cache
def load_code() -> None:
    """Load modules and compiled code, once a process, so that no data set is timed with it."""
    path = solution_path(np.random.default_rng(1).random((20, 3)), MEASURE)
    compare(path.at(0.0), path.at(1.0))


def outcome(
    choose: Callable[[], Structure], truth: Structure, scores: Sequence[str] = SCORES
) -> Record:
    """Time a choice, keep its warnings, and compare it with the truth.

    Returns
    -------
    dict
        n_factors, the ``scores`` of :class:`dtstat.Comparison`, seconds and warnings.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        chosen = choose()
        seconds = time.perf_counter() - start
    agreement = compare(chosen, truth)
    return {
        "n_factors": agreement.n_factors[0],
        **{name: getattr(agreement, name) for name in scores},
        "seconds": round(seconds, 4),
        "warnings": [str(warning.message) for warning in caught],
    }


_WIDTH, _ROW = 9.0, 2.4  # inches
_FILLED = 0.86  # share of the room of a size that its marks take
_FAINT = "white"
# Marks of searches in turn, and whether they are filled.
_MARKS = (("o", False), ("s", True), ("^", True), ("D", False))
_COLUMNS = {
    "f1": "accuracy F₁",
    "n_factors": "factors found",
    "seconds": "seconds (log scale)",
}


class Conditions(NamedTuple):
    """One row of panels.

    Attributes
    ----------
    title
        What its levels are levels of.
    symbol
        What comes before a level in the legend.
    table
        One row per level, size and search: level, n, d (true number of factors), search; f1_mean,
        f1_se, n_factors_mean, n_factors_se, seconds_mean, seconds_se; f1_paper, n_factors_paper
        (reported elsewhere, NaN for nothing).
    """

    title: str
    symbol: str
    table: pd.DataFrame


def recovery_plot(
    rows: Sequence[Conditions], most_seconds: float, ax: Axes | None = None
) -> Figure | SubFigure:
    """Draw a row of three panels for each kind of condition.

    Sizes stand side by side; within a size every level has its colour and every search its mark,
    with one standard error up and down.

    Parameters
    ----------
    rows
        What the rows of panels show.
    most_seconds
        Seconds that were reported as the most, a line.
    """
    figure, panels = canvas.tile_panels(ax, 3 * len(rows), 3, _ROW, _WIDTH)
    searches = list(dict.fromkeys(name for row in rows for name in row.table["search"]))
    for k, row in enumerate(rows):
        for panel, (name, words) in zip(panels[3 * k :], _COLUMNS.items(), strict=False):
            _panel(panel, row.table, name, searches)
            canvas.strip_frame(panel)
            panel.set_ylabel(words, fontsize=canvas.NORMAL)
        accuracy, found, seconds = panels[3 * k : 3 * k + 3]
        accuracy.set_title(row.title, fontsize=canvas.NORMAL + 1, loc="left")
        accuracy.set_ylim(_lowest(row.table), 1.02)
        _true_numbers(found, row.table)
        seconds.set_yscale("log")
        seconds.yaxis.set_major_formatter("{x:g}")
        seconds.axhline(most_seconds, color=canvas.GREY, linestyle=":", linewidth=1)
        _level_legend(seconds, row)
    signs = _signs(panels[-2], searches, most_seconds)
    if ax is None:
        style = {"fontsize": canvas.SMALL, "frameon": False}
        panels[-2].figure.legend(handles=signs, loc="outside lower center", ncols=6, **style)
    else:
        canvas.legend_below(panels[-2], 3, handles=signs)
    return figure


def _panel(ax: Axes, table: pd.DataFrame, name: str, searches: Sequence[str]) -> None:
    """Draw the means of one outcome, and what was reported of it."""
    sizes, levels = _values(table, "n"), _values(table, "level")
    slot = _FILLED / len(levels)
    for i, level in enumerate(levels):
        own = table[table["level"] == level]
        middle = np.searchsorted(sizes, own["n"]) + (i + 0.5) * slot - _FILLED / 2
        if f"{name}_paper" in own:
            reported = own[f"{name}_paper"]
            ax.hlines(reported, middle - slot / 2, middle + slot / 2, color=canvas.GREY, lw=2.5)
        for j, search in enumerate(searches):
            at = (own["search"] == search).to_numpy()
            x = middle[at] + ((j + 0.5) / len(searches) - 0.5) * slot * 0.9
            shown = own[at]
            _means(ax, x, shown[f"{name}_mean"], shown[f"{name}_se"], i, j)
    ax.set_xticks(range(len(sizes)), [f"{n:,.0f}" for n in sizes])
    ax.set_xlim(-0.5, len(sizes) - 0.5)
    ax.set_xlabel("rows n", fontsize=canvas.NORMAL)


def _means(
    ax: Axes, x: FloatArray, mean: pd.Series[float], se: pd.Series[float], level: int, search: int
) -> None:
    marker, filled = _MARKS[search % len(_MARKS)]
    colour = canvas.CYCLE[level % len(canvas.CYCLE)]
    ax.errorbar(
        x,
        mean,
        yerr=se,
        fmt=marker,
        color=colour,
        markerfacecolor=colour if filled else _FAINT,
        markersize=4.5,
        ecolor=canvas.INK,
        elinewidth=1,
        capsize=1.5,
        zorder=3,
    )


def _true_numbers(ax: Axes, table: pd.DataFrame) -> None:
    """Mark the true number of factors of every size."""
    true = table.drop_duplicates("n").sort_values("n")["d"]
    at = np.arange(len(true))
    ax.hlines(true, at - _FILLED / 2, at + _FILLED / 2, color=canvas.INK, lw=1, zorder=1)
    reach = (table["n_factors_mean"] + table["n_factors_se"].fillna(0)).max()
    ax.set_ylim(0, 1.08 * max(reach, true.max()))


def _level_legend(ax: Axes, row: Conditions) -> None:
    """Name the colours above the last panel of a row."""
    levels = _values(row.table, "level")
    for i, level in enumerate(levels):
        colour = canvas.CYCLE[i % len(canvas.CYCLE)]
        label = f"{row.symbol} {level:g}"
        ax.plot([], [], "s", color=colour, markersize=7, label=label)
    legend = ax.legend(
        loc="lower right",
        bbox_to_anchor=(1.02, 0.98),
        ncols=len(levels),
        fontsize=canvas.SMALL,
        frameon=False,
        handletextpad=0.1,
        columnspacing=0.9,
    )
    legend.set_in_layout(False)  # wider than its panel, in a line that the title keeps free


def _signs(ax: Axes, searches: Sequence[str], most_seconds: float) -> list[Artist]:
    """Return what a legend shows of marks and lines."""
    ink, grey = canvas.INK, canvas.GREY
    marks = [_MARKS[j % len(_MARKS)] for j in range(len(searches))]
    shown: list[Artist] = []
    for search, (marker, filled) in zip(searches, marks, strict=True):
        face = ink if filled else _FAINT
        shown += ax.plot([], [], marker, color=ink, markerfacecolor=face, label=search)
    shown += ax.plot([], [], color=ink, lw=1, label="true number d")
    shown += ax.plot([], [], color=grey, lw=2.5, label="paper, oracle, about")
    return shown + ax.plot([], [], ":", color=grey, lw=1, label=f"paper: under {most_seconds:g} s")


def _lowest(table: pd.DataFrame) -> float:
    """Where the axis of F₁ begins: at 0.5, or the tenth below the lowest mark."""
    reach = (table["f1_mean"] - table["f1_se"].fillna(0)).min()
    return float(min(0.5, np.floor(10 * reach - 0.2) / 10))


def _values(table: pd.DataFrame, name: str) -> FloatArray:
    return np.unique(table[name].to_numpy(dtype=float))
