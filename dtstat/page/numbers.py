"""The numbers that the page's script draws from, as JSON knows them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dtstat.core.loading_tables import table_order
from dtstat.core.parallel import Progress
from dtstat.fit import frames
from dtstat.fit.summary import ATTACHED
from dtstat.page.document import numbers_of, rounded
from dtstat.page.items import descriptives, item_texts
from dtstat.page.levels import level_numbers
from dtstat.search.criteria import INFORMATION, searching
from dtstat.structure.barcode import Barcode

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit
    from dtstat.trust.diagnosis import Diagnosis


MOST_DRAWN = 400  # items in the graph; more are a blot, and megabytes


def page_numbers(
    fit: DTFit, diagnosis: Diagnosis | None = None, progress: Progress = None
) -> dict[str, Any]:
    """Everything the script needs."""
    numbers: dict[str, Any] = {
        "items": list(fit.item_names),
        "texts": item_texts(fit),
        "marks": ATTACHED,
        "described": descriptives(fit),
        "criterion": searching(fit.call.criterion),
        **level_numbers(fit, diagnosis, progress),
    }
    if can_draw(fit):
        numbers |= _path_numbers(fit)
    if has_curves(fit):
        numbers |= _curves(fit)
    return numbers


def can_draw(fit: DTFit) -> bool:
    """Whether the items are few enough for a graph."""
    return len(fit.item_names) <= MOST_DRAWN


def has_curves(fit: DTFit) -> bool:
    """Whether there are answers and factors to draw curves of."""
    known = fit.nonlinear is not None or fit.marginals is not None
    return bool(fit.n_factors) and known and can_draw(fit)


def _path_numbers(fit: DTFit) -> dict[str, Any]:
    bars = fit.path.barcode()
    triangle = fit.dependence.values[np.tril_indices(len(fit.item_names), -1)]
    return {
        "measure": fit.dependence.measure,
        "dependence": base64.b64encode(triangle.astype("<f8").tobytes()).decode(),
        "bars": _bars(bars),
        "scores": _scores(fit.path_scores(), searching(fit.call.criterion)),
        "order": table_order(fit.loadings),  # by factor, those of none last
        "start": _start(fit, bars),
        "chosen": _chosen_interval(fit),
        "chosenCriterion": _chosen_cost(fit),
        "attach": fit.call.uncovered == "attach",
    }


def _bars(bars: Barcode) -> list[dict[str, Any]]:
    return [
        {
            "birth": float(bars.births[b]),
            "death": float(bars.deaths[b]),
            "items": np.flatnonzero(bars.members[b]).tolist(),
            "unique": np.flatnonzero(bars.unique_members[b]).tolist(),
        }
        for b in range(len(bars))
    ]


def _scores(scores: pd.DataFrame, criterion: str) -> list[dict[str, Any]]:
    columns = [scores[name].tolist() for name in ("tau_low", "tau_high", "n_factors")]
    values = numbers_of(scores[criterion].tolist())
    others = scores[[name for name in INFORMATION if name != criterion]].to_dict(orient="records")
    return [
        {
            "low": low,
            "high": high,
            "factors": count,
            "criterion": value,
            "others": {} if value is None else rest,
        }
        for low, high, count, value, rest in zip(*columns, values, others, strict=True)
    ]


def _start(fit: DTFit, bars: Barcode) -> float:
    """Threshold to begin at: the chosen one, or where most of the chosen factors are seen."""
    chosen = _chosen_interval(fit)
    if chosen is not None:
        return sum(chosen) / 2
    known = [core for core in frames.factor_cores(fit) if core is not None]
    cores = known or [0][: len(bars)]  # without factors the longest-lived clique, if there is one
    births, deaths = bars.births[cores], bars.deaths[cores]
    ends = np.unique(np.concatenate([births, deaths, [0.0]]))
    middles = (ends[:-1] + ends[1:]) / 2
    if not len(middles):
        return 0.0
    seen = ((births <= middles[:, None]) & (middles[:, None] < deaths)).sum(axis=1)
    most = np.flatnonzero(seen == seen.max())
    return float(middles[most[np.diff(ends)[most].argmax()]])


def _chosen_interval(fit: DTFit) -> tuple[float, float] | None:
    """Thresholds of the chosen structure, if it has factors and one threshold for all of them."""
    return frames.chosen_interval(fit) if fit.n_factors else None


def _chosen_cost(fit: DTFit) -> float | None:
    """Return what the chosen structure costs, if that compares with the scores of the path."""
    value = fit.candidates["cost"].iloc[0]
    return float(value) if fit.nonlinear is None and np.isfinite(value) else None


def _curves(fit: DTFit) -> dict[str, Any]:
    frame = fit.response_curves()
    items = {name: i for i, name in enumerate(fit.item_names)}
    factors = {name: k for k, name in enumerate(fit.factor_names)}
    curves = []
    for (item, factor), part in frame.groupby(["item", "factor"], sort=False):
        band = part["lower"].notna().all()
        curves.append(
            {
                "item": items[str(item)],
                "factor": factors[str(factor)],
                "value": rounded(part["value"], 5),
                "lower": rounded(part["lower"], 5) if band else None,
                "upper": rounded(part["upper"], 5) if band else None,
            }
        )
    return {"curves": curves, "grid": frame["z"].unique().tolist()}
