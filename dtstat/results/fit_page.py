"""The page of a fit: what ``DTFit.report`` writes."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import scipy

from dtstat import checks
from dtstat.errors import InputError
from dtstat.report import Summary, Table
from dtstat.report.citation import CITATION
from dtstat.report.page import Page, Section
from dtstat.results.fit_code import python_code, r_code
from dtstat.results.fit_summary import (
    MARKS,
    call_line,
    choice_tables,
    data_line,
    evidence_lines,
    factor_thresholds,
    loading_tables,
    why_nothing,
)
from dtstat.results.page_numbers import (
    MOST_DRAWN,
    can_draw,
    has_curves,
    page_numbers,
)
from dtstat.results.trust.diagnosing import implied_dependence
from dtstat.results.trust.diagnosis import Diagnosis
from dtstat.results.trust.stability import Stability
from dtstat.selection.choose import GIVEN
from dtstat.selection.criteria import searching
from dtstat.version import __version__

if TYPE_CHECKING:
    from dtstat.results.fit import DTFit

_ROWS = 30  # a table
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
    for name, kind, maker, part in (
        ("diagnosis", Diagnosis, "diagnose", diagnosis),
        ("stability", Stability, "stability", stability),
    ):
        if part is None:
            continue
        if not isinstance(part, kind):
            what = f"a result of dtstat.{maker}()"
            raise checks.refusal(name, what, part, "Leave it out for a page without it.")
        if not _same(part.fit, fit):
            raise InputError(f"`{name}` is about another fit. Make it from this one.", name)


def _same(one: DTFit, other: DTFit) -> bool:
    """Whether two fits are to the same answers, and have the same structure."""
    return (
        one.item_names == other.item_names
        and np.array_equal(one.support, other.support)
        and np.allclose(one.dependence.values, other.dependence.values, rtol=0, atol=_ROUNDING)
    )


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
        "Standardised loadings, items by their strongest factor. h2: share of an item's variance "
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
    bands = (
        "Bands hold the curve with 95 % probability, point by point."
        if fit.nonlinear is not None and np.isfinite(fit.nonlinear.lower).all()
        else "The estimator '" + fit.call.estimator + "' has no bands."
    )
    if fit.nonlinear is None:
        shape = (
            "By the model, every item answers along a straight line."
            if fit.call.estimator == "linear"
            else "By the model, every item rises or falls all the way, bent by its margin alone."
        )
        bands = shape + (
            " To let the data bend the curves, and for bands, fit with estimator='spline'."
        )
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
    parts: list[Summary] = [] if diagnosis is None else [diagnosis.summary(_ROWS)]
    parts += [] if stability is None else [stability.summary(_ROWS)]
    facts = [_fact_table(part) for part in parts]
    tables = [
        table for part, head in zip(parts, facts, strict=True) for table in (head, *part.tables)
    ]
    more = (
        ()
        if stability is not None
        else ("How stable the structure is under resampling: dt.stability(data).",)
    )
    return Section("trust", "Trust", more, tuple(tables))


def _fact_table(summary: Summary) -> Table:
    """Head lines of a summary as a table: what stands before the colon, and behind."""
    title, *lines = summary.head
    rows = []
    for line in lines:
        label, colon, text = line.partition(":  ")
        rows.append((label, text.strip()) if colon else _plain(line))
    return Table(title, ("", ""), tuple(rows), "ll")


def _plain(line: str) -> tuple[str, str]:
    label, colon, text = line.partition(": ")
    return (label, text) if colon and len(label) < 20 else ("", line)


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
