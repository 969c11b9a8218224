"""The page that ``DTFit.report`` writes: its parts, in the order a reader asks for them.

First the answer, then how sure it is, then what else there is to see; how to reproduce it last.
"""

from __future__ import annotations

import platform
import re
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import scipy

from dtstat.core import checks
from dtstat.core.about import CITATION, __version__
from dtstat.core.errors import InputError
from dtstat.core.parallel import Progress, track
from dtstat.core.tables import Facts, Table
from dtstat.fit.dendrogram import has_tree
from dtstat.fit.request import python_code, r_code
from dtstat.fit.summary import (
    call_line,
    choice_tables,
    data_line,
    evidence_lines,
    factor_thresholds,
    left_out_lines,
    loading_tables,
    measures_line,
    why_nothing,
)
from dtstat.page.document import Page, Section
from dtstat.page.items import about_reliability
from dtstat.page.numbers import MOST_DRAWN, can_draw, has_curves, page_numbers
from dtstat.page.verdicts import bottom_line
from dtstat.search.criteria import searching
from dtstat.search.records import GIVEN
from dtstat.trust.diagnosis import Diagnosis, implied_dependence
from dtstat.trust.diagnosis_tables import diagnosis_facts
from dtstat.trust.stability_result import Stability, stability_facts

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit


_ROWS = 30  # of a table
_MINUS = re.compile(r"(?<![\w-])-(?=\d)")
_ROUNDING = 1e-6  # of a dependence that was computed twice


def fit_page(
    fit: DTFit,
    diagnosis: Diagnosis | None,
    stability: Stability | None,
    title: str | None,
    progress: Progress = None,
) -> Page:
    """Put the parts of the page together; progress counts these, then the levels."""
    d, p = fit.n_factors, len(fit.item_names)
    found = "No factor" if not d else "1 factor" if d == 1 else f"{d} factors"
    if diagnosis is None and d:
        diagnosis = Diagnosis(fit, *implied_dependence(fit), None)
    parts = (
        partial(_answer, fit, diagnosis, stability),
        *((partial(_trust, fit, diagnosis, stability),) if d or stability is not None else ()),
        partial(_explore, fit),
        *((partial(_items, fit),) if d or fit.marginals is not None else ()),
        *((partial(_responses, fit),) if has_curves(fit) else ()),
        partial(_reproduce, fit),
    )
    sections = tuple(write() for write in track(parts, progress, "parts"))
    numbers = page_numbers(fit, diagnosis, progress)
    return Page(title or f"{found} behind {p} items", data_line(fit), sections, numbers)


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


def _answer(fit: DTFit, diagnosis: Diagnosis | None, stability: Stability | None) -> Section:
    facts = [("Choice", fit.explanation)]
    if fit.n_factors:
        facts.append(("How sure", " ".join(bottom_line(fit, diagnosis, stability))))
        facts.append(("Fit", measures_line(fit.fit_measures)))
    else:
        facts += zip(("Why", "What next"), why_nothing(fit), strict=False)
    facts += [("Evidence", line.strip()) for line in evidence_lines(fit)]
    facts += [("Left out", line.removeprefix("Note:").strip()) for line in left_out_lines(fit)]
    facts += [("Note", note) for note in fit.notes]
    said = _typeset(fit, tuple(facts))
    if not fit.n_factors:
        return Section("answer", "Answer", facts=said, tables=choice_tables(fit, _ROWS))
    # The script draws loadings and correlations, of every level.
    folded = loading_tables(fit, 0.0) if fit.has_curves else loading_tables(fit, 0.0)[1:2]
    return Section("answer", "Answer", facts=said, widget=True, folded=folded)


def _trust(fit: DTFit, diagnosis: Diagnosis | None, stability: Stability | None) -> Section:
    facts: Facts = (("Bottom line", " ".join(bottom_line(fit, diagnosis, stability))),)
    parts: list[Table] = []
    if diagnosis is not None:
        facts += diagnosis_facts(diagnosis)
        parts += diagnosis.summary(_ROWS).tables
    if stability is not None:
        facts += stability_facts(stability)
        parts += stability.summary(_ROWS).tables
    facts = _typeset(fit, facts)
    if not fit.n_factors:
        return Section("trust", "How sure", facts=facts, folded=tuple(parts))
    measures, *others = choice_tables(fit, _ROWS)
    folded = (measures, *parts, factor_thresholds(fit), *others)
    return Section("trust", "How sure", facts=facts, folded=folded)


def _typeset(fit: DTFit, facts: Facts) -> Facts:
    """Write true minus signs before numbers, unless a name looks like a negative number."""
    if any(_MINUS.search(name) for name in (*fit.item_names, *fit.factor_names)):
        return facts
    return tuple((label, _MINUS.sub("\u2212", text)) for label, text in facts)


def _searched(fit: DTFit) -> tuple[str, ...]:
    if fit.call.search == GIVEN or not can_draw(fit):
        return ()
    completed = ", items attached where that pays" if fit.call.uncovered == "attach" else ""
    return (
        f"Over the thresholds {searching(fit.call.criterion)} is that of the structures of one "
        f"threshold for all factors{completed}. What was compared is listed under How sure.",
    )


def _explore(fit: DTFit) -> Section:
    tree = (
        "Factors join to broader ones, and these to one. The tree is drawn by what one fewer "
        "factor costs; what costs much to give up is a level of its own. Pick a level, and "
        "everything on this page shows its factors."
    )
    intro = (*((tree,) if has_tree(fit) else ()), *_searched(fit))
    if can_draw(fit):
        return Section("explore", "Explore", intro, widget=True)
    text = (
        f"There are {len(fit.item_names)} items: more than the {MOST_DRAWN} of which a graph can "
        "be read. The tables of this page show all of them; fit.path lists the structure at every "
        "threshold. For a graph, make the page of some of the items."
    )
    tables = fit.path.summary(_ROWS).tables
    return Section("explore", "Explore", (*intro, text), widget=has_tree(fit), tables=tables)


def _items(fit: DTFit) -> Section:
    intro = []
    if fit.n_factors:
        intro.append(about_reliability(fit))
    if fit.marginals is not None:
        intro.append(
            "Floor and ceiling: share of the lowest and of the highest answer that was given."
        )
    return Section("items", "Items", tuple(intro), widget=True)


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
    return Section("reproduce", "Reproduce", tables=(about,), texts=tuple(texts))
