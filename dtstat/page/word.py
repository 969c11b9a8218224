"""The Word document that ``DTFit.report`` writes: what articles say of a fit, in APA style."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dtstat.core import canvas, checks
from dtstat.core.about import CITATION
from dtstat.core.documents import Block, Heading, Paragraph, Picture, word_document
from dtstat.core.errors import MissingExtraError, foreign_warnings
from dtstat.core.export import refuse_existing
from dtstat.core.loading_tables import table_order
from dtstat.core.parallel import Progress
from dtstat.core.tables import Table
from dtstat.fit.request import python_code, r_code
from dtstat.fit.summary import (
    choice_tables,
    data_line,
    evidence_lines,
    item_marks,
    left_out_lines,
    level_tables,
    loading_tables,
    notes_on_marks,
    why_nothing,
)
from dtstat.trust.diagnosis import Diagnosis, implied_dependence
from dtstat.trust.diagnosis_tables import diagnosis_facts, diagnosis_title
from dtstat.trust.stability_result import Stability, stability_facts, stability_title

if TYPE_CHECKING:
    from dtstat.fit.result import DTFit

_MOST_DRAWN = 60  # items of a diagram that can be read on a page
_CONTENDERS = 10
_DPI = 200


def word_target(path: str | os.PathLike[str], overwrite: bool) -> Path | None:
    """Return the file if its name is that of a Word document, after all that can be refused."""
    file = checks.writable(path)
    if file.suffix.lower() != ".docx":
        return None
    replaced = checks.flag("overwrite", overwrite, "True replaces a file, whatever it is.")
    refuse_existing(file, replaced)
    return file


def fit_document(
    fit: DTFit,
    diagnosis: Diagnosis | None,
    stability: Stability | None,
    title: str | None,
    progress: Progress = None,
) -> bytes:
    """Return the document: answer, factors, fit, how sure, picture, how to reproduce it."""
    d, p = fit.n_factors, len(fit.item_names)
    found = "No factor" if not d else "1 factor" if d == 1 else f"{d} factors"
    blocks: list[Block] = [Heading(title or f"{found} behind {p} items", 0)]
    blocks += _facts(fit)
    number = 1
    for heading, tables in _parts(fit, diagnosis, stability):
        if tables:
            blocks.append(Heading(heading))
        for table in tables:
            blocks.append(table.grid("apa", number))
            number += 1
    blocks += _picture(fit) if d else []
    blocks.append(Heading("How to reproduce it"))
    for name, code in (("In Python:", python_code(fit)), ("In R:", r_code(fit))):
        blocks += [Paragraph(name), Paragraph(code, code=True)]
    if d:
        blocks += [Paragraph("Model in lavaan's syntax:"), Paragraph(fit.to_lavaan(), code=True)]
    blocks += [Heading("References"), *map(Paragraph, CITATION.splitlines())]
    return word_document(blocks, progress)


def _facts(fit: DTFit) -> list[Block]:
    lines = [f"Data: {data_line(fit)}.", fit.explanation]
    lines += [line.strip() for line in (*left_out_lines(fit), *evidence_lines(fit))]
    lines += why_nothing(fit) if not fit.n_factors else ()
    return [Paragraph(line) for line in (*lines, *fit.notes)]


def _parts(
    fit: DTFit, diagnosis: Diagnosis | None, stability: Stability | None
) -> Iterator[tuple[str, list[Table]]]:
    """Yield headings with their tables, in the order a reader asks for them."""
    measures, *others = choice_tables(fit, _CONTENDERS)
    if not fit.n_factors:
        yield "Alternatives considered", [measures, *others]
        return
    yield "Factors", [*_loading_part(fit), *level_tables(fit)]
    yield "Fit", [measures]
    if diagnosis is None:
        diagnosis = Diagnosis(fit, *implied_dependence(fit), None)
    sure = [Table(diagnosis_title(diagnosis), ("", ""), diagnosis_facts(diagnosis), "ll")]
    sure += diagnosis.summary().tables[:1]  # each factor's own threshold and margin
    if stability is not None:
        sure.append(Table(stability_title(stability), ("", ""), stability_facts(stability), "ll"))
        sure += stability.summary().tables
    yield "How sure", sure
    yield "Alternatives considered", others


def _loading_part(fit: DTFit) -> list[Table]:
    if fit.has_curves:
        return list(loading_tables(fit, 0.0))
    tables = [loading_table(fit)]
    return [*tables, correlation_table(fit)] if fit.n_factors > 1 else tables


def loading_table(fit: DTFit) -> Table:
    """Items with their words by loadings and communality, as articles have them."""
    texts, marks = fit.item_texts, item_marks(fit)
    loadings, u2 = fit.loadings, fit.uniquenesses
    factors = tuple(map(str, loadings.columns))
    rows = []
    for i in table_order(loadings):
        name = fit.item_names[i]
        cells = ("" if value == 0 else f"{value:.2f}" for value in loadings.iloc[i])
        words = (texts.get(name, ""),) if texts else ()
        rows.append((f"{name}{marks[name]}", *words, *cells, f"{1 - u2[name]:.2f}"))
    headers = ("Item", *(("Text",) if texts else ()), *factors, "h2")
    alignment = "l" * (len(headers) - len(factors) - 1) + "r" * (len(factors) + 1)
    notes = (f"N = {fit.n_obs}. h²: share of the item's variance that the factors explain.",)
    title = "Standardized Loadings of the Items"
    return Table(
        title, headers, tuple(rows), alignment, (*notes, *notes_on_marks(fit)), (*factors, "h2")
    )


def correlation_table(fit: DTFit) -> Table:
    """Lower triangle of the factor correlations, with standard errors where they are known."""
    Phi, errors = fit.factor_correlations.to_numpy(), fit.factor_correlation_errors.to_numpy()
    names = tuple(map(str, fit.factor_names))
    known = bool((errors == errors).any())

    def cell(j: int, k: int) -> str:
        if k >= j:
            return "—" if j == k else ""
        error = f" ({errors[j, k]:.2f})" if errors[j, k] == errors[j, k] else ""
        return f"{Phi[j, k]:.2f}{error}"

    rows = tuple((name, *(cell(j, k) for k in range(len(names)))) for j, name in enumerate(names))
    notes = ("Standard errors in parentheses.",) if known else ()
    headers = ("Factor", *names)
    return Table("Factor Correlations", headers, rows, "l" + "r" * len(names), notes, names)


def _picture(fit: DTFit) -> list[Block]:
    """Draw the path diagram, if matplotlib is there and it can be read on a page."""
    if len(fit.item_names) > _MOST_DRAWN:
        return []
    try:
        plt = canvas.pyplot()
    except MissingExtraError:
        return []
    figure = fit.plot("diagram").figure
    try:
        buffer = io.BytesIO()
        with foreign_warnings("ignore", UserWarning, "Glyph"):  # letters that the font lacks
            figure.savefig(buffer, format="png", dpi=_DPI)
        width, height = figure.get_size_inches()
    finally:
        plt.close(figure)
    fitted = min(width, 6.5, 8.0 * width / height)  # inches; on one page
    said = "Path diagram: factors, their items with standardized loadings, factor correlations."
    caption = Paragraph(f"Figure 1. {said.removeprefix('Path diagram: ').capitalize()}")
    return [Heading("Path diagram"), Picture(buffer.getvalue(), said, fitted), caption]
