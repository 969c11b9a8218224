"""The page that ``DTFit.report`` writes: its tabs, and the numbers that its script draws from."""

from __future__ import annotations

import base64
import platform
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy

from dtstat.core import checks
from dtstat.core.about import CITATION, __version__
from dtstat.core.errors import InputError
from dtstat.core.loading_table import loading_frame, table_order
from dtstat.core.tables import Table
from dtstat.fit import frames
from dtstat.fit.request import python_code, r_code
from dtstat.fit.summary import (
    MARKS,
    call_line,
    choice_tables,
    data_line,
    evidence_lines,
    factor_thresholds,
    item_marks,
    loading_tables,
    why_nothing,
)
from dtstat.page.document import Page, Section, numbers_of
from dtstat.search.choose import GIVEN
from dtstat.search.evaluate import INFORMATION, searching
from dtstat.structure.barcode import Barcode
from dtstat.trust.diagnosis import Diagnosis, implied_dependence
from dtstat.trust.diagnosis_tables import diagnosis_facts, diagnosis_title
from dtstat.trust.stability_result import Stability, stability_facts, stability_title

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit


MOST_DRAWN = 400  # items in the graph; more are a blot, and megabytes
_MOST_CELLS = 40_000  # of a table of items by factors; larger ones are listed
_ROWS = 30  # of a table
_ROUNDING = 1e-6  # of a dependence that was computed twice


def fit_page(
    fit: DTFit, diagnosis: Diagnosis | None, stability: Stability | None, title: str | None
) -> Page:
    """Put the parts of the page in the order a reader asks for them."""
    d, p = fit.n_factors, len(fit.item_names)
    found = "No factor" if not d else "1 factor" if d == 1 else f"{d} factors"
    sections = (
        _explore(fit),
        *((_loadings(fit),) if d else ()),
        *((_responses(fit),) if has_curves(fit) else ()),
        _choice(fit),
        *((_trust(fit, diagnosis, stability),) if d or stability is not None else ()),
        _reproduce(fit),
    )
    return Page(title or f"{found} behind {p} items", _facts(fit), sections, page_numbers(fit))


def check_parts(fit: DTFit, diagnosis: object, stability: object) -> None:
    """Refuse results that are not about this fit."""
    advice = "Leave it out for a page without it."
    if not isinstance(diagnosis, Diagnosis | None):
        raise checks.refusal("diagnosis", "a result of dtstat.diagnose()", diagnosis, advice)
    if not isinstance(stability, Stability | None):
        raise checks.refusal("stability", "a result of dtstat.stability()", stability, advice)
    for name, part in (("diagnosis", diagnosis), ("stability", stability)):
        if part is None:
            continue
        values, others = fit.dependence.values, part.fit.dependence.values
        same = (
            part.fit.item_names == fit.item_names
            and np.array_equal(part.fit.support, fit.support)
            and np.allclose(others, values, rtol=0, atol=_ROUNDING)
        )
        if not same:
            raise InputError(f"`{name}` is about another fit. Make it from this one.", name)


def _facts(fit: DTFit) -> tuple[tuple[str, str], ...]:
    lines = [("Data", data_line(fit)), ("Choice", fit.explanation)]
    lines += [("Evidence", line.strip()) for line in evidence_lines(fit)]
    if not fit.n_factors:
        lines += list(zip(("Why", "What next"), why_nothing(fit), strict=False))
    return (*lines, *(("Note", note) for note in fit.notes))


def _explore(fit: DTFit) -> Section:
    if can_draw(fit):
        return Section("explore", "Thresholds", widget=True)
    text = (
        f"There are {len(fit.item_names)} items: more than the {MOST_DRAWN} of which a graph can "
        "be read. The tables of this page show all of them; fit.path lists the structure at every "
        "threshold. For a graph, make the page of some of the items."
    )
    return Section("structures", "Thresholds", (text,), fit.path.summary(_ROWS).tables)


def _loadings(fit: DTFit) -> Section:
    intro = (
        "Standardized loadings, items by their strongest factor. h2: share of an item's variance "
        "that the factors explain; u2: the rest; com: number of factors it takes (Hofmann). Click "
        "a head to sort.",
        *MARKS,
    )
    pattern = 1 if fit.nonlinear is None else 0  # the page has a table of its own for it
    tables = loading_tables(fit, 0.0)[pattern:]
    return Section("loadings", "Loadings", intro, tables, widget=True)


def _responses(fit: DTFit) -> Section:
    how = (
        "How each item answers as the factor rises, on the item's own scale; other factors of the "
        "item are averaged over. The factor has mean 0 and standard deviation 1."
    )
    if fit.nonlinear is None:
        shape = (
            "By the model, every item answers along a straight line."
            if fit.call.estimator == "linear"
            else "By the model, every item rises or falls all the way, bent by its margin alone."
        )
        advice = "To let the data bend the curves, and for bands, fit with estimator='spline'."
        bands = f"{shape} {advice}"
    elif np.isfinite(fit.nonlinear.lower).all():
        bands = "Bands hold the curve with 95 % probability, point by point."
    else:
        bands = f"The estimator '{fit.call.estimator}' has no bands."
    return Section("responses", "Responses", (how, bands), widget=True)


def _choice(fit: DTFit) -> Section:
    factors = (factor_thresholds(fit),) if fit.n_factors else ()
    tables = (*factors, *choice_tables(fit, _ROWS))
    if fit.call.search == GIVEN or not can_draw(fit):
        return Section("choice", "Choice and fit", (fit.explanation,), tables)
    completed = ", items attached where that pays" if fit.call.uncovered == "attach" else ""
    along = (
        f"The tab Thresholds shows {searching(fit.call.criterion)} of the structures of one "
        f"threshold for all factors{completed}; the last table here has what was compared."
    )
    return Section("choice", "Choice and fit", (fit.explanation, along), tables)


def _trust(fit: DTFit, diagnosis: Diagnosis | None, stability: Stability | None) -> Section:
    if diagnosis is None and fit.n_factors:
        diagnosis = Diagnosis(fit, *implied_dependence(fit), None)
    tables: list[Table] = []
    if diagnosis is not None:
        facts = diagnosis_facts(diagnosis)
        tables.append(Table(diagnosis_title(diagnosis), ("", ""), facts, "ll"))
        tables += diagnosis.summary(_ROWS).tables
    if stability is not None:
        facts = stability_facts(stability)
        tables.append(Table(stability_title(stability), ("", ""), facts, "ll"))
        tables += stability.summary(_ROWS).tables
    more = "How stable the structure is under resampling: dt.stability(data)."
    return Section("trust", "Trust", (more,) if stability is None else (), tuple(tables))


def _reproduce(fit: DTFit) -> Section:
    versions = {
        "dtstat": fit.call.version,
        "page by dtstat": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "pandas": pd.__version__,
    }
    about = Table("Versions", ("program", "version"), tuple(versions.items()), "ll")
    texts = [("Python", python_code(fit)), ("R", r_code(fit)), ("In short", call_line(fit))]
    if fit.n_factors:
        texts.append(("Model in lavaan's syntax", fit.to_lavaan()))
    texts.append(("How to cite", CITATION))
    return Section("reproduce", "Reproduce", (data_line(fit),), (about,), tuple(texts))


def page_numbers(fit: DTFit) -> dict[str, Any]:
    """Everything the script needs, as JSON knows it."""
    numbers = {
        "items": list(fit.item_names),
        "factors": _factors(fit),
        "table": _loading_table(fit),
        "criterion": searching(fit.call.criterion),
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
        "verdicts": _verdicts(fit),
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


def _factors(fit: DTFit) -> list[dict[str, Any]]:
    bars, alone = fit.path.barcode(), fit.support.sum(axis=1) == 1
    found = []
    for k, core in enumerate(frames.factor_cores(fit)):
        items, name = fit.support[:, k], fit.factor_names[k]
        found.append(
            {
                "name": name,
                "items": np.flatnonzero(items).tolist(),
                "unique": np.flatnonzero(items & alone).tolist(),
                "core": -1 if core is None else core,
                "from": None if core is None else float(bars.births[core]),
                "to": None if core is None else float(bars.deaths[core]),
            }
        )
    return found


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


def _chosen_interval(fit: DTFit) -> list[float] | None:
    """Thresholds of the chosen structure, if it has one threshold for all factors."""
    if fit.call.search != "threshold" or not fit.n_factors:
        return None
    chosen = frames.chosen_candidate(fit)
    return None if chosen is None else [chosen.tau_low, chosen.tau_high]


def _chosen_cost(fit: DTFit) -> float | None:
    """Return what the chosen structure costs, if that compares with the scores of the path."""
    value = fit.candidates["cost"].iloc[0]
    return float(value) if fit.nonlinear is None and np.isfinite(value) else None


def _verdicts(fit: DTFit) -> list[str]:
    """Say in words what became of every item."""
    loadings = fit.loadings.to_numpy()
    reasons = dict(zip(fit.uncovered["item"], fit.uncovered["reason"], strict=True))
    verdicts = []
    for i, name in enumerate(fit.item_names):
        own = np.flatnonzero(fit.support[i])
        if len(own):
            text = " and ".join(f"{loadings[i, k]:.2f} on {fit.factor_names[k]}" for k in own)
            attached = "; attached: in no clique within the factor, but it loads on it most"
            verdicts.append(f"loads {text}{attached if fit.attached[i] else ''}.")
        else:
            verdicts.append(f"is in no factor: {reasons[name]}.")
    return verdicts


def _loading_table(fit: DTFit) -> dict[str, Any]:
    order, loadings = table_order(fit.loadings), fit.loadings
    names = [f"{name}{mark}" for name, mark in item_marks(fit).items()]
    frame = loading_frame(loadings, fit.uniquenesses).drop(columns="item")
    L, h2 = loadings.to_numpy(), frame["h2"].to_numpy(dtype=np.float64)
    listed = L.size > _MOST_CELLS
    if listed:
        rows: list[list[Any]] = [
            [names[i], fit.factor_names[k], float(L[i, k]), float(h2[i])]
            for i in order
            for k in np.flatnonzero(fit.support[i])
        ]
        columns, first, last = ["item", "factor", "loading", "h2"], 2, 2
    else:
        frame[loadings.columns] = loadings.where(fit.support)
        values = frame.to_numpy().tolist()
        rows = [[names[i], *numbers_of(values[i])] for i in order]
        columns, first, last = ["item", *map(str, frame.columns)], 1, fit.n_factors
    return {
        "columns": columns,
        "rows": rows,
        "firstLoading": first,
        "lastLoading": last,
        "long": listed,
    }


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
                "value": _rounded(part["value"]),
                "lower": _rounded(part["lower"]) if band else None,
                "upper": _rounded(part["upper"]) if band else None,
            }
        )
    return {"curves": curves, "grid": frame["z"].unique().tolist()}


def _rounded(values: pd.Series[float]) -> list[float]:
    """Five digits: more than a screen shows, and a page of half the size."""
    return [float(f"{value:.5g}") for value in values]
