"""Tables and summaries, printed and saved in all formats from one source."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from dtstat.core import checks, export, markup
from dtstat.core.errors import printable, printable_lines
from dtstat.core.markup import Grid, latex_escape

_WIDTH, _LEAST_TEXT = 100, 24  # letters of a line, and of a text that is cut


@dataclass(frozen=True, repr=False)
class Table:
    """A titled table whose cells are already formatted.

    Attributes
    ----------
    title
        Line above the table.
    headers
        Column names.
    rows
        Cells as text.
    alignment
        One letter per column: l for texts, r for numbers.
    notes
        Lines below the table.
    bounded
        Columns, or rows by their first cell, whose numbers cannot be greater than 1 in size:
        correlations, loadings, shares, probabilities. APA style writes them without a leading zero.
    long
        Whether the last column holds texts of any length, which plain text cuts to its width.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    alignment: str
    notes: tuple[str, ...] = ()
    bounded: tuple[str, ...] = ()
    long: bool = False

    def __post_init__(self) -> None:
        # Names of items may hold anything; a cell is one line.
        rows = tuple(tuple(map(printable, row)) for row in self.rows)
        object.__setattr__(self, "title", printable(self.title))
        object.__setattr__(self, "headers", tuple(map(printable, self.headers)))
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "notes", tuple(map(printable, self.notes)))

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        title: str,
        notes: Sequence[str] = (),
        digits: int = 3,
        bounded: Sequence[str] = (),
    ) -> Table:
        """Format a data frame: numbers right with ``digits`` decimals, NaN blank, texts left."""
        rows = tuple(
            tuple(_written(x, digits) for x in row)
            for row in frame.itertuples(index=False, name=None)
        )
        numeric = [pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]
        alignment = "".join("r" if number else "l" for number in numeric)
        headers = tuple(map(str, frame.columns))
        return cls(title, headers, rows, alignment, tuple(notes), tuple(bounded))

    def to_text(self) -> str:
        """Plain text, columns two blanks apart."""
        lines = markup.aligned_lines(self.headers, self._fitting_rows(2), self.alignment)
        return "\n".join([self.title, *lines, *self.notes])

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()

    def grid(self, style: str = "plain", number: int = 1, caption: str | None = None) -> Grid:
        """Return the table as it is set in a style."""
        apa = checks.choice("style", style, markup.STYLES) == "apa"
        count = checks.integer("number", number, 1, "It is the number of the table.")
        if caption is not None and not isinstance(caption, str):
            raise checks.refusal("caption", "a text", caption, "Leave it out for the title.")
        title = self.title if caption is None else printable(caption)
        notes = tuple(_sentences(self.notes))
        if not apa:
            return Grid("", title, self.headers, self.rows, self.alignment, notes, apa)
        bounded = markup.BOUNDED.union(self.bounded)

        def written(cell: str, *names: str) -> str:
            probability = not markup.PROBABILITIES.isdisjoint(names)
            return markup.apa_cell(cell, not bounded.isdisjoint(names), probability)

        rows = tuple(
            (row[0], *(written(x, row[0], name) for x, name in zip(row[1:], rest, strict=True)))
            for rest in [self.headers[1:]]
            for row in self.rows
        )
        headers = tuple(map(markup.apa_header, self.headers))
        return Grid(f"Table {count}", title, headers, rows, self.alignment, notes, apa)

    def to_html(self, style: str = "plain", number: int = 1) -> str:
        """HTML table, everything the user named escaped; no head if no column has a name.

        Parameters
        ----------
        style
            "plain", or "apa": number and title above it, horizontal rules only, no zero before the
            point of numbers that cannot be greater than 1, "Note." below it.
        number
            Number of the table, in APA style.
        """
        return markup.html_table(self.grid(style, number))

    def to_latex(
        self, caption: str | None = None, label: str | None = None, style: str = "plain"
    ) -> str:
        r"""LaTeX with booktabs rules, special characters escaped.

        Parameters
        ----------
        caption, label
            If one is given, or in APA style, the result is a table environment with this caption
            (the title if left out) and label for \\ref; else a tabular without its title.
        style
            "plain" or "apa", as in :meth:`to_html`. LaTeX counts the tables itself.
        """
        grid = self.grid(style, caption=caption)
        _check_label(label)
        if caption is None and label is None and not grid.apa:
            return markup.latex_tabular(grid, self.notes)
        return markup.latex_table(grid, label)

    def to_markdown(self, style: str = "plain", number: int = 1) -> str:
        """Pipe table of Markdown below its title, its notes below it."""
        return markup.markdown_table(self.grid(style, number))

    def save(
        self,
        path: str | os.PathLike[str],
        style: str = "plain",
        caption: str | None = None,
        label: str | None = None,
        number: int = 1,
        overwrite: bool = False,
    ) -> Path:
        """Write the table to a file whose ending says the format.

        Numbers are those that are printed. In Excel they are numbers; texts stay texts there and
        in CSV, whatever they begin with.

        Parameters
        ----------
        path
            File that ends in .docx or .xlsx (these need the extra ``office``), .tex, .html, .md,
            .csv or .txt.
        style
            "plain" or "apa", as in :meth:`to_html`.
        caption
            Title to write instead of its own.
        label
            Label of a LaTeX table, for ``ref``; other formats have none.
        number
            Number of the table, in APA style.
        overwrite
            Whether to replace a file of that name.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InputError
            If the ending names no such format, or the file exists or cannot be written.
        MissingExtraError
            If the format needs a package that is not installed.
        """
        file = export.target(path, overwrite)
        grid = self.grid(style, number, caption)
        latex = self.to_latex(caption, label, style)
        text = replace(self, title=grid.title).to_text() if not grid.apa else None
        return export.write(file, (), [grid], latex, text)

    def to_frame(self) -> pd.DataFrame:
        """Cells as a DataFrame of text."""
        return pd.DataFrame(list(self.rows), columns=list(self.headers))

    def _fitting_rows(self, gap: int) -> tuple[tuple[str, ...], ...]:
        """Return the rows, long texts cut to what the other columns leave of the width."""
        if not self.long:
            return self.rows
        columns = list(zip(self.headers, *self.rows, strict=True))
        taken = sum(max(map(len, column)) + gap for column in columns[:-1])
        most = max(_WIDTH - taken, _LEAST_TEXT)
        return tuple((*row[:-1], markup.cut_text(row[-1], most)) for row in self.rows)


_Table = TypeVar("_Table", bound=Table)


@dataclass(frozen=True, repr=False)
class Summary:
    """What a result's ``summary()`` returns: head lines and tables, printable as they are."""

    head: tuple[str, ...]
    tables: tuple[Table, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "head", tuple(map(printable, self.head)))

    def to_text(self) -> str:
        """Plain text."""
        return "\n\n".join(["\n".join(self.head), *(table.to_text() for table in self.tables)])

    def grids(self, style: str = "plain", number: int = 1) -> list[Grid]:
        """Return the tables as they are set in a style, counted from ``number``."""
        first = checks.integer("number", number, 1, "It is the number of the first table.")
        checks.choice("style", style, markup.STYLES)
        return [table.grid(style, first + k) for k, table in enumerate(self.tables)]

    def to_html(self, style: str = "plain", number: int = 1) -> str:
        """HTML fragment; style and number (of the first table) as of a table."""
        return export.html_fragment(self.head, self.grids(style, number))

    def to_latex(self, label: str | None = None, style: str = "plain") -> str:
        r"""LaTeX: the head lines as a paragraph, then the tables.

        Parameters
        ----------
        label
            If given, or in APA style, tables are table environments with their titles as captions,
            labeled ``label-1``, ``label-2`` and so on.
        style
            "plain" or "apa", as in :meth:`Table.to_html`.
        """
        _check_label(label)
        head = " \\\\\n".join(map(latex_escape, self.head))
        tables = [
            table.to_latex(label=None if label is None else f"{label}-{k}", style=style)
            for k, table in enumerate(self.tables, start=1)
        ]
        return "\n\n".join([head, *tables])

    def to_markdown(self, style: str = "plain", number: int = 1) -> str:
        """Markdown: the head lines as paragraphs, then the tables."""
        return export.markdown(self.head, self.grids(style, number))

    def save(
        self,
        path: str | os.PathLike[str],
        style: str = "plain",
        label: str | None = None,
        number: int = 1,
        overwrite: bool = False,
    ) -> Path:
        """Write everything to a file whose ending says the format, as :meth:`Table.save` does.

        Parameters
        ----------
        path
            File that ends in .docx, .xlsx (one sheet per table), .tex, .html, .md, .csv or .txt.
        style
            "plain" or "apa", as in :meth:`Table.to_html`.
        label
            Label of LaTeX tables, as in :meth:`to_latex`; other formats have none.
        number
            Number of the first table, in APA style.
        overwrite
            Whether to replace a file of that name.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InputError
            If the ending names no such format, or the file exists or cannot be written.
        MissingExtraError
            If the format needs a package that is not installed.
        """
        file = export.target(path, overwrite)
        grids = self.grids(style, number)
        text = self.to_text() if style == "plain" else None
        return export.write(file, self.head, grids, self.to_latex(label, style), text)

    def to_frames(self) -> dict[str, pd.DataFrame]:
        """Tables as DataFrames of text, by title, or number if there is none."""
        named = enumerate(self.tables, start=1)
        return {table.title or f"table {k}": table.to_frame() for k, table in named}

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


def _check_label(label: str | None) -> None:
    """Refuse labels that are no text, before anything is made of them."""
    if label is not None and not isinstance(label, str):
        raise checks.refusal("label", "a text", label, 'Give one such as "tab:loadings".')


def _sentences(lines: Sequence[str]) -> list[str]:
    """Join lines that were broken for the width of a terminal."""
    whole: list[str] = []
    for line in lines:
        if whole and line[:1].islower() and not whole[-1].endswith("."):
            whole[-1] += f" {line}"
        else:
            whole.append(line)
    return whole


def _written(value: object, digits: int) -> str:
    """Write a value; what is not known is blank."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.{digits}f}"
    return str(value)


class Printed:
    """A result that prints itself, in a notebook too.

    Classes say what ``summary()`` shows; without one it is what is printed. Whatever names and
    texts of others are in it, what is printed commands no terminal.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        written = vars(cls).get("__repr__")
        if written is not None:
            harmless = wraps(written)(lambda self: printable_lines(written(self)))
            cls.__repr__ = harmless  # type: ignore[method-assign]

    def summary(self) -> Summary:
        """Return what is printed, to save or to show."""
        return Summary(tuple(repr(self).splitlines()), ())

    def _repr_html_(self) -> str:
        """Return the summary as notebooks show it; Jupyter calls this."""
        summary: Any = self.summary()
        shown: str = summary.to_html()
        return shown


Facts = tuple[tuple[str, str], ...]  # label and text; "" for a text without a label


def labeled_lines(facts: Facts) -> tuple[str, ...]:
    """Write facts one per line, texts below each other."""
    width = max((len(label) + 1 for label, _ in facts), default=0)
    return tuple(f"{label + ':':<{width}} {text}" if label else text for label, text in facts)


@dataclass(frozen=True, repr=False)
class CompactTable(Table):
    """A table with columns one blank apart and no rule, as R prints matrices."""

    def to_text(self) -> str:
        """Plain text."""
        rows = self._fitting_rows(1)
        head, _, *body = markup.aligned_lines(self.headers, rows, self.alignment, " ")
        return "\n".join([self.title, head, *body, *self.notes])


def with_texts(table: _Table, items: Iterable[str], texts: Mapping[str, str]) -> _Table:
    """Add what the items ask as a last column, if that is known of any.

    Parameters
    ----------
    table
        One row per item, or per item and factor.
    items
        Items of the rows.
    texts
        Their questions, as far as known.
    """
    asked = [texts.get(item, "") for item in items]
    if not any(asked):
        return table
    rows = tuple((*row, text) for row, text in zip(table.rows, asked, strict=True))
    headers, alignment = (*table.headers, "text"), table.alignment + "l"
    return replace(table, headers=headers, rows=rows, alignment=alignment, long=True)
