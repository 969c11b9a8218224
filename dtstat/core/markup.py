"""Tables as HTML, LaTeX, Markdown and CSV, plain or in the style of the APA.

The APA (Publication Manual, 7th ed., sections 6.36 and 7.8 to 7.21) has the number of a table in
bold and its title in italics above it, horizontal rules only, notes that begin with "Note.", and no
zero before the point of numbers that cannot be greater than 1, such as correlations and
probabilities.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

STYLES = ("plain", "apa")
_LATEX = {
    **{character: "\\" + character for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "−": r"\ensuremath{-}",
    "²": r"\textsuperscript{2}",
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#$~&])|^([+\-])")
_NUMBER = re.compile(r"-?(\d+)?(\.\d+)?")
_ZERO = re.compile(r"(?<![\d.])0(?=\.\d)")
_P_ZERO = re.compile(r"(\bp [<=] )0(?=\.\d)")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LONG = 32  # letters from which on a column of texts is set in several lines
SYMBOLS = {"h2": "h²", "u2": "u²", "R2": "R²"}
# Names of columns and rows, wherever they stand: probabilities, and what else is at most 1 in size
# or by custom written as such.
PROBABILITIES = {
    *("p", "pvalue", "p.value", "p_value", "P(>|z|)", "Pr(>Chisq)", "p_diff"),
    *("P-value", "P-value (Chi-square)", "P-value H_0: RMSEA <= 0.050"),
    "P-value H_0: RMSEA >= 0.080",
}
BOUNDED = PROBABILITIES | {
    *("CFI", "TLI", "RMSEA", "SRMR", "RMSR", "cfi", "tli", "rmsea", "srmr", "Fit off the diagonal"),
    *("Comparative Fit Index (CFI)", "Tucker-Lewis Index (TLI)", "Tucker-Lewis index"),
    *("90 Percent confidence interval - lower", "90 Percent confidence interval - upper"),
    *("RMSEA, 90% from", "RMSEA, 90% to", "RMSR, df corrected"),
}
ITALIC = {"p", "r", "n", "N", "M", "SD", "SE", "df", "t", "z", "h²", "u²", "R²"}


@dataclass(frozen=True)
class Grid:
    """A table as it is set: cells are final, one line each.

    Attributes
    ----------
    number, title
        What stands above it: "Table 1" (in APA style alone) and its title.
    headers, rows, alignment
        As of a table.
    notes
        Sentences below it.
    apa
        Whether it is in the style of the APA.
    pictures
        By the header of a column, what HTML draws in the place of its cells.
    """

    number: str
    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    alignment: str
    notes: tuple[str, ...]
    apa: bool
    pictures: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def long(self) -> tuple[bool, ...]:
        """Which columns hold texts that need several lines."""
        widths = (max(map(len, column)) for column in zip(self.headers, *self.rows, strict=True))
        return tuple(
            side == "l" and width > _LONG
            for side, width in zip(self.alignment, widths, strict=True)
        )

    @property
    def note(self) -> str:
        """Notes as one paragraph."""
        return " ".join(line if line.endswith((".", ":")) else f"{line}." for line in self.notes)


def apa_header(header: str) -> str:
    """Write the name of a column as the APA does: "p" for all that are probabilities."""
    return "p" if header in PROBABILITIES else SYMBOLS.get(header, header)


def apa_cell(cell: str, bounded: bool, probability: bool) -> str:
    """Write a number as the APA does, with a minus sign, without a zero that says nothing.

    Examples
    --------
    >>> apa_cell("-0.52", bounded=True, probability=False), apa_cell("0.000", True, True)
    ('−.52', '< .001')
    """
    if probability and cell.replace(" ", "") in ("0.000", "<0.001"):
        return "< .001"
    written = _ZERO.sub("", cell) if bounded else _P_ZERO.sub(r"\1", cell)
    return re.sub(r"(?<![\w.])-(?=[\d.])", "−", written)


def as_number(cell: str) -> float | None:
    """Return the number a cell shows; None if it shows none.

    Examples
    --------
    >>> as_number("−.52"), as_number("12"), as_number("12 (3)")
    (-0.52, 12.0, None)
    """
    text = cell.replace("−", "-")
    match = _NUMBER.fullmatch(text)
    return float(text) if match and any(match.groups()) else None


def decimals(cell: str) -> int:
    """Return the digits behind the point of a number."""
    return len(cell.partition(".")[2])


def cut_text(text: str, most: int) -> str:
    """Cut a text after a whole word, if it is longer than so many letters.

    Examples
    --------
    >>> cut_text("Know how to comfort others", 20)
    'Know how to comfort…'
    """
    if len(text) <= most:
        return text
    head = text[:most]
    whole = head.rsplit(" ", 1)[0]
    return (whole if 2 * len(whole) > most else head[:-1]).rstrip(" ,;:") + "…"


def aligned_lines(
    headers: Sequence[str], rows: Sequence[Sequence[str]], alignment: str, gap: str = "  "
) -> list[str]:
    """Plain text: the headers, a rule, and the rows, columns below each other."""
    lines = [headers, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    head, *body = (
        gap.join(
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(line, widths, alignment, strict=True)
        ).rstrip()
        for line in lines
    )
    return [head, "-" * (sum(widths) + len(gap) * (len(widths) - 1)), *body]


def text_table(grid: Grid) -> str:
    """Plain text, columns two blanks apart."""
    lines = aligned_lines(grid.headers, grid.rows, grid.alignment)
    notes = [f"Note. {grid.note}"] if grid.apa and grid.notes else grid.notes
    return "\n".join([*([grid.number] if grid.apa else []), grid.title, *lines, *notes])


def html_table(grid: Grid) -> str:
    """HTML table, everything the user named escaped; no head if no column has a name."""
    sides = {"l": "left", "r": "right"}
    rule = "1px solid currentColor"

    def row(tag: str, shown: Iterable[str], border: str) -> str:
        written = (
            f'<{tag} style="text-align: {sides[side]}{border}">{cell}</{tag}>'
            for cell, side in zip(shown, grid.alignment, strict=True)
        )
        return f"<tr>{''.join(written)}</tr>"

    lines = f"; border: 0; border-top: {rule}; border-bottom: {rule}" if grid.apa else ""
    headers = [_html_header(name, grid.apa) for name in grid.headers]
    rows = [row("th", headers, lines)] if any(headers) else []
    columns = [
        grid.pictures[name] if name in grid.pictures else map(html.escape, column)
        for name, *column in zip(grid.headers, *grid.rows, strict=True)
    ]
    rows += [
        row("td", cells, "; border: 0" if grid.apa else "") for cells in zip(*columns, strict=True)
    ]
    title = html.escape(grid.title)
    if not grid.apa:
        caption = [f"<caption>{title}</caption>"] if title else []
        notes = [f"<p>{html.escape(note)}</p>" for note in grid.notes]
        return "\n".join(["<table>", *caption, *rows, "</table>", *notes])
    top = f'<table style="border-collapse: collapse; border: 0; border-bottom: {rule}">'
    head = f'<caption style="text-align: left"><b>{grid.number}</b><br><i>{title}</i></caption>'
    note = [f"<p><i>Note.</i> {html.escape(grid.note)}</p>"] if grid.notes else []
    return "\n".join([top, head, *rows, "</table>", *note])


def _html_header(name: str, apa: bool) -> str:
    escaped = html.escape(name)
    return f"<i>{escaped}</i>" if apa and name in ITALIC else escaped


def latex_escape(text: str) -> str:
    r"""Write the characters LaTeX gives a meaning to as text.

    Examples
    --------
    >>> latex_escape("t05_geninfo & more")
    't05\\_geninfo \\& more'
    """
    return re.sub(r"[&%$#_{}~^\\<>|−²]", lambda match: _LATEX[match.group()], text)


def latex_label(text: str) -> str:
    r"""Write a name that \label and \ref can use: letters, digits and a few signs."""
    return re.sub(r"[^\w:.+/-]", "-", text)


def latex_tabular(grid: Grid, notes: Sequence[str] = ()) -> str:
    """LaTeX tabular with booktabs rules, special characters escaped, notes as its last rows."""
    head = " & ".join(
        rf"\textit{{{latex_escape(cell)}}}" if grid.apa and cell in ITALIC else _latex_cell(cell)
        for cell in grid.headers
    )
    body = [" & ".join(map(_latex_cell, row)) + r" \\" for row in grid.rows]
    share = f"{0.6 / max(sum(grid.long), 1):.2f}"
    columns = "".join(
        rf"p{{{share}\linewidth}}" if long else side
        for side, long in zip(grid.alignment, grid.long, strict=True)
    )
    across = rf"\multicolumn{{{len(grid.headers)}}}{{l}}"
    below = [f"{across}{{{latex_escape(note)}}} \\\\" for note in notes]
    named = [rf"{head} \\", r"\midrule"] if any(grid.headers) else []
    lines = [r"\toprule", *named, *body, r"\bottomrule", *below]
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *lines, r"\end{tabular}"])


def latex_table(grid: Grid, label: str | None) -> str:
    r"""LaTeX table environment with caption, label and notes; needs the package booktabs.

    In APA style number and title stand above the table as the APA has them in any document class;
    LaTeX counts, and \ref finds them.
    """
    title = latex_escape(grid.title)
    mark = rf"\label{{{latex_label(label)}}}" if label else ""
    head = [r"\centering", rf"\caption{{{title}}}{mark}"]
    if grid.apa:
        entry = rf"\addcontentsline{{lot}}{{table}}{{\protect\numberline{{\thetable}}{title}}}"
        named = rf"\textbf{{Table \thetable}}\par\textit{{{title}}}\par\smallskip"
        head = [r"\raggedright", rf"\refstepcounter{{table}}{mark}", entry, named]
    said = rf"\textit{{Note.}} {latex_escape(grid.note)}"
    note = [r"\par\smallskip", rf"\parbox{{\linewidth}}{{\footnotesize {said}}}"]
    parts = [r"\begin{table}[htbp]", *head, latex_tabular(grid), *(note if grid.notes else [])]
    return "\n".join([*parts, r"\end{table}"])


def _latex_cell(cell: str) -> str:
    """Escape a cell; a star or bracket at its beginning would go with the row above."""
    escaped = latex_escape(cell)
    return f"{{{escaped[0]}}}{escaped[1:]}" if escaped.startswith(("[", "*")) else escaped


def markdown_escape(text: str) -> str:
    r"""Write the characters Markdown gives a meaning to as text.

    Examples
    --------
    >>> markdown_escape("a|b"), markdown_escape("-0.5"), markdown_escape("a-b")
    ('a\\|b', '\\-0.5', 'a-b')
    """
    return _MARKDOWN.sub(lambda match: "\\" + match.group(), text)


def markdown_table(grid: Grid) -> str:
    """Pipe table, as GitHub, pandoc and Quarto read it, below its title, its notes below it."""
    marks = {"l": ":---", "r": "---:"}

    def row(cells: Sequence[str]) -> str:
        written = (cell if as_number(cell) is not None else markdown_escape(cell) for cell in cells)
        return f"| {' | '.join(written)} |"

    title = markdown_escape(grid.title)
    head = [f"**{title}**", ""] if title else []
    notes = [part for note in grid.notes for part in ("", markdown_escape(note))]
    if grid.apa:
        head = [f"**{grid.number}**", "", f"*{title}*", ""]
        notes = ["", f"*Note.* {markdown_escape(grid.note)}"] if grid.notes else []
    rule = f"| {' | '.join(marks[side] for side in grid.alignment)} |"
    return "\n".join([*head, row(grid.headers), rule, *map(row, grid.rows), *notes])


def csv_table(grid: Grid) -> str:
    """Headers and rows; the title and the notes are left out."""
    return csv_rows([grid.headers, *grid.rows])


def csv_rows(rows: Sequence[Sequence[str]]) -> str:
    """Rows as lines; a text that a spreadsheet would take for a formula gets an apostrophe."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([map(csv_cell, row) for row in rows])
    return written.getvalue()


def csv_cell(cell: str) -> str:
    """Keep a text a text, as OWASP advises against formulas in the names of others.

    Examples
    --------
    >>> csv_cell("=cmd()"), csv_cell("-0.52"), csv_cell("-x")
    ("'=cmd()", '-0.52', "'-x")
    """
    return f"'{cell}" if cell.startswith(_FORMULA) and as_number(cell) is None else cell
