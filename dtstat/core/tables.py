"""Tables and summaries, printed as text, HTML and LaTeX from one source."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from dtstat.core.errors import printable

_LATEX = {
    **{character: "\\" + character for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


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
        One letter per column: l or r.
    notes
        Lines below the table.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    alignment: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Names of items may hold anything; a cell is one line.
        rows = tuple(tuple(map(printable, row)) for row in self.rows)
        object.__setattr__(self, "title", printable(self.title))
        object.__setattr__(self, "headers", tuple(map(printable, self.headers)))
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "notes", tuple(map(printable, self.notes)))

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, title: str, notes: Sequence[str] = (), digits: int = 3
    ) -> Table:
        """Format a data frame: numbers right with ``digits`` decimals, texts left."""
        rows = tuple(
            tuple(f"{x:.{digits}f}" if isinstance(x, float) else str(x) for x in row)
            for row in frame.itertuples(index=False, name=None)
        )
        numeric = [pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]
        alignment = "".join("r" if number else "l" for number in numeric)
        return cls(title, tuple(map(str, frame.columns)), rows, alignment, tuple(notes))

    def to_text(self) -> str:
        """Plain text, columns two blanks apart."""
        lines = [self.headers, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        head, *body = (self._line(line, widths) for line in lines)
        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        return "\n".join([self.title, head, rule, *body, *self.notes])

    def __repr__(self) -> str:
        return self.to_text()

    def to_html(self) -> str:
        """HTML table, everything the user named escaped; no head if no column has a name."""
        rows = [_html_row("th", self.headers, self.alignment)] if any(self.headers) else []
        rows += [_html_row("td", row, self.alignment) for row in self.rows]
        notes = [f"<p>{html.escape(note)}</p>" for note in _sentences(self.notes)]
        caption = [f"<caption>{html.escape(self.title)}</caption>"] if self.title else []
        return "\n".join(["<table>", *caption, *rows, "</table>", *notes])

    def to_latex(self) -> str:
        """LaTeX tabular with booktabs rules and the notes below, special characters escaped.

        The title is left out: it belongs in the caption.
        """
        head, *body = (
            " & ".join(map(_latex_cell, line)) + r" \\" for line in (self.headers, *self.rows)
        )
        start = rf"\begin{{tabular}}{{{self.alignment}}}"
        across = rf"\multicolumn{{{len(self.headers)}}}{{l}}"
        notes = [f"{across}{{{latex_escape(note)}}} \\\\" for note in self.notes]
        named = [head, r"\midrule"] if any(self.headers) else []
        lines = [r"\toprule", *named, *body, r"\bottomrule", *notes]
        return "\n".join([start, *lines, r"\end{tabular}"])

    def to_frame(self) -> pd.DataFrame:
        """Cells as a DataFrame of text."""
        return pd.DataFrame(list(self.rows), columns=list(self.headers))

    def _line(self, cells: Sequence[str], widths: Sequence[int], gap: str = "  ") -> str:
        padded = (
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(cells, widths, self.alignment, strict=True)
        )
        return gap.join(padded).rstrip()


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

    def to_html(self) -> str:
        """HTML fragment."""
        head = [f"<p>{html.escape(line)}</p>" for line in self.head]
        return "\n".join([*head, *(table.to_html() for table in self.tables)])

    def to_latex(self) -> str:
        """LaTeX: the head lines as a paragraph, then the tabulars."""
        head = " \\\\\n".join(map(latex_escape, self.head))
        return "\n\n".join([head, *(table.to_latex() for table in self.tables)])

    def to_frames(self) -> dict[str, pd.DataFrame]:
        """Tables as DataFrames of text, by title, or number if there is none."""
        named = enumerate(self.tables, start=1)
        return {table.title or f"table {k}": table.to_frame() for k, table in named}

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


def latex_escape(text: str) -> str:
    r"""Write the characters LaTeX gives a meaning to as text.

    Examples
    --------
    >>> latex_escape("t05_geninfo & more")
    't05\\_geninfo \\& more'
    """
    return re.sub(r"[&%$#_{}~^\\<>|]", lambda match: _LATEX[match.group()], text)


def _latex_cell(cell: str) -> str:
    """Escape a cell; a star or bracket at its beginning would go with the row above."""
    escaped = latex_escape(cell)
    return f"{{{escaped[0]}}}{escaped[1:]}" if escaped.startswith(("[", "*")) else escaped


def _sentences(lines: Sequence[str]) -> list[str]:
    """Join lines that were broken for the width of a terminal."""
    whole: list[str] = []
    for line in lines:
        if whole and line[:1].islower() and not whole[-1].endswith("."):
            whole[-1] += f" {line}"
        else:
            whole.append(line)
    return whole


def _html_row(tag: str, cells: Sequence[str], alignment: str) -> str:
    sides = {"l": "left", "r": "right"}
    written = (
        f'<{tag} style="text-align: {sides[side]}">{html.escape(cell)}</{tag}>'
        for cell, side in zip(cells, alignment, strict=True)
    )
    return f"<tr>{''.join(written)}</tr>"


Facts = tuple[tuple[str, str], ...]  # label and text; "" for a text without a label


def labeled_lines(facts: Facts) -> tuple[str, ...]:
    """Write facts one per line, texts below each other."""
    width = max((len(label) + 1 for label, _ in facts), default=0)
    return tuple(f"{label + ':':<{width}} {text}" if label else text for label, text in facts)
