"""Tables, texts and pictures as Word documents and Excel workbooks.

Word needs python-docx, Excel openpyxl (the extra ``office`` has both).
"""

from __future__ import annotations

import importlib
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dtstat.core.errors import MissingExtraError
from dtstat.core.markup import ITALIC, Grid, as_number, decimals
from dtstat.core.parallel import Progress, track

_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML
_SHEET_NAME = re.compile(r"[\[\]:*?/\\']")
_LONGEST_SHEET_NAME = 31
_FONT, _MONOSPACED = "Times New Roman", "Courier New"
_TEXT, _CELL, _NARROW = 11, 10, 8  # points; the last for tables of many columns
_MANY_COLUMNS = 9
_SHORT, _FIRST_ROWS = 12, 4  # rows
_PAGE = 6.5  # inches between the margins
_MARGIN = 0.05  # inches beside the text of a cell
_LETTER = 0.56  # width of a letter on average, in parts of its height
_WIDEST_CELL = 60  # letters
_LINE = 15  # points, of a row in Excel
_BREAK = re.compile(r"\s+|(?<=_)")  # where a line may end
_MAY_BREAK = "\u200b"  # has no width; Word by itself breaks no line behind "_"


@dataclass(frozen=True)
class Heading:
    """A heading of a document; the title has level 0."""

    text: str
    level: int = 1


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; code keeps its lines, in letters of one width."""

    text: str
    code: bool = False


@dataclass(frozen=True)
class Picture:
    """A picture in PNG, at most as wide as the page, with words for those who cannot see it."""

    png: bytes
    description: str
    width: float = _PAGE


Block = Heading | Paragraph | Picture | Grid


def word_document(blocks: Sequence[Block], progress: Progress = None) -> bytes:
    """Return a Word document of these blocks, which progress counts.

    Raises
    ------
    MissingExtraError
        If python-docx is not installed.
    """
    docx = _library("docx", "python-docx", "office", "Writing Word documents")
    document = docx.Document()
    document.core_properties.author = "dtstat"
    document.core_properties.comments = ""
    for section in document.sections:
        section.left_margin = section.right_margin = docx.shared.Inches(1)
    for name in ("Normal", "Title", "Heading 1", "Heading 2"):
        _set_font(document.styles[name], _FONT)
    title = document.styles["Title"].element.pPr
    for line in title.findall(docx.oxml.ns.qn("w:pBdr")):
        title.remove(line)
    document.styles["Normal"].font.size = docx.shared.Pt(_TEXT)
    for block in track(blocks, progress, "parts"):
        _add(docx, document, block)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _set_font(style: Any, font: str) -> None:
    """Name a font for all kinds of letters; themes would otherwise win in headings."""
    style.font.name = font
    fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
    space = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
    for kind in ("ascii", "hAnsi", "eastAsia", "cs"):
        fonts.attrib.pop(f"{space}{kind}Theme", None)
        fonts.set(f"{space}{kind}", font)
    color = style.font.color
    color.rgb = type(color.rgb)(0, 0, 0) if color.rgb is not None else None


def _add(docx: Any, document: Any, block: Block) -> None:
    match block:
        case Heading(text, level):
            document.add_heading(_valid(text), level)
        case Paragraph(text, code):
            paragraph = document.add_paragraph(_valid(text))
            for run in paragraph.runs if code else ():
                run.font.name, run.font.size = _MONOSPACED, docx.shared.Pt(_NARROW)
            if code:
                paragraph.alignment = docx.enum.text.WD_ALIGN_PARAGRAPH.LEFT
        case Picture(png, description, width):
            picture = document.add_picture(io.BytesIO(png), docx.shared.Inches(min(width, _PAGE)))
            picture._inline.docPr.set("descr", _valid(description))
        case Grid():
            _add_table(docx, document, block)


def _add_table(docx: Any, document: Any, grid: Grid) -> None:
    Pt = docx.shared.Pt
    if grid.apa:
        _line(docx, document, grid.number, bold=True)
    if grid.title:
        _line(docx, document, grid.title, bold=not grid.apa, italic=grid.apa)
    named = any(grid.headers)
    lines = [*([grid.headers] if named else []), *grid.rows]
    table = document.add_table(len(lines), len(grid.headers))
    table.autofit = False
    crowded = len(grid.headers) > _MANY_COLUMNS or sum(_least_widths(grid, _CELL)) > _PAGE
    points = _NARROW if crowded else _CELL
    size = Pt(points)
    _set_margins(docx, table)
    right = docx.enum.text.WD_ALIGN_PARAGRAPH.RIGHT
    for column, width in zip(table.columns, _column_widths(grid, points), strict=True):
        column.width = docx.shared.Inches(width)  # Word goes by the cells, others by the column
        for cell in column.cells:
            cell.width = column.width
    for k, (row, cells) in enumerate(zip(table.rows, lines, strict=True)):
        # A short table stays on one page; of a long one the first rows stay with the title.
        together = k < len(lines) - 1 and (len(lines) <= _SHORT or k < _FIRST_ROWS)
        for cell, text, side in zip(row.cells, cells, grid.alignment, strict=True):
            paragraph = cell.paragraphs[0]
            paragraph.paragraph_format.space_before = Pt(1)
            paragraph.paragraph_format.space_after = Pt(1)
            paragraph.paragraph_format.keep_with_next = together
            paragraph.alignment = right if side == "r" else None
            head = named and k == 0
            shown = text.replace("_", f"_{_MAY_BREAK}") if head else text
            _write_cell(paragraph, shown, grid.apa, head=head, size=size)
    _rule(docx, table, named)
    space = document.add_paragraph()
    space.paragraph_format.space_before = Pt(3)
    space.paragraph_format.space_after = Pt(_TEXT)
    if grid.notes:
        if grid.apa:
            space.add_run("Note.").italic = True
        space.add_run(f" {_valid(grid.note)}" if grid.apa else _valid(grid.note))
        for run in space.runs:
            run.font.size = size


def _write_cell(paragraph: Any, text: str, apa: bool, head: bool, size: Any) -> None:
    run = paragraph.add_run(_valid(text))
    run.font.size = size
    run.italic = head and apa and text in ITALIC
    run.bold = head and not apa


def _line(docx: Any, document: Any, text: str, bold: bool, italic: bool = False) -> None:
    paragraph = document.add_paragraph()
    paragraph.paragraph_format.keep_with_next = True
    paragraph.paragraph_format.space_after = docx.shared.Pt(2)
    run = paragraph.add_run(_valid(text))
    run.bold, run.italic = bold, italic


def _column_widths(grid: Grid, points: float) -> list[float]:
    """Share the page: each column has its longest word, and a share of what its cells want more.

    Long texts give way first, then all columns, down to their longest words.
    """
    columns = list(zip(grid.headers, *grid.rows, strict=True))
    wanted = [_inches(max(map(_letters, column)), points) for column in columns]
    least = _least_widths(grid, points)
    for long_only in (True, False):
        gives = [long or not long_only for long in grid.long]
        excess = sum(wanted) - _PAGE
        spare = sum(w - m for w, m, give in zip(wanted, least, gives, strict=True) if give)
        if excess > 0 and spare > 0:
            kept = max(0.0, 1 - excess / spare)
            wanted = [
                m + kept * (w - m) if give else w
                for w, m, give in zip(wanted, least, gives, strict=True)
            ]
    scale = min(1.0, _PAGE / sum(wanted))
    return [scale * width for width in wanted]


def _least_widths(grid: Grid, points: float) -> list[float]:
    """Widths of the longest words."""
    columns = zip(grid.headers, *grid.rows, strict=True)
    words = [[word for cell in column for word in _BREAK.split(cell)] for column in columns]
    return [_inches(max(map(_letters, column)), points) for column in words]


def _inches(letters: float, points: float) -> float:
    return _LETTER * points / 72 * (letters + 1) + 2 * _MARGIN


def _letters(text: str) -> float:
    """Count letters; the blocks of little bars are wider than others."""
    return len(text) + 0.7 * sum("\u2580" <= letter <= "\u259f" for letter in text)


def _set_margins(docx: Any, table: Any) -> None:
    """Let cells begin near their edge: Word's own margins take a third of a table of 13 columns."""
    margins = docx.oxml.OxmlElement("w:tblCellMar")
    for side in ("left", "right"):
        edge = docx.oxml.OxmlElement(f"w:{side}")
        edge.set(docx.oxml.ns.qn("w:w"), str(round(1440 * _MARGIN)))
        edge.set(docx.oxml.ns.qn("w:type"), "dxa")
        margins.append(edge)
    properties = table._tbl.tblPr
    look = properties.find(docx.oxml.ns.qn("w:tblLook"))
    if look is None:
        properties.append(margins)
    else:
        look.addprevious(margins)


def _rule(docx: Any, table: Any, head: bool) -> None:
    """Draw horizontal lines above and below the table and below its head; repeat that on pages."""
    element, qualified = docx.oxml.OxmlElement, docx.oxml.ns.qn

    def border(parent: Any, sides: Sequence[str]) -> None:
        for side in sides:
            line = element(f"w:{side}")
            for name, value in {
                "val": "single",
                "sz": "6",
                "space": "0",
                "color": "000000",
            }.items():
                line.set(qualified(f"w:{name}"), value)
            parent.append(line)

    borders = element("w:tblBorders")
    border(borders, ("top", "bottom"))
    table._tbl.tblPr.append(borders)
    for row in table.rows:
        kept = element("w:cantSplit")
        row._tr.get_or_add_trPr().append(kept)
    if head:
        table.rows[0]._tr.get_or_add_trPr().append(element("w:tblHeader"))
        for cell in table.rows[0].cells:
            under = element("w:tcBorders")
            border(under, ("bottom",))
            cell._tc.get_or_add_tcPr().append(under)


def excel_workbook(grids: Sequence[Grid], head: Sequence[str] = ()) -> bytes:
    """Return an Excel workbook with one sheet per table, and one for the lines above them.

    Numbers are numbers, shown with as many digits as in print; texts stay texts, whatever they
    begin with.

    Raises
    ------
    MissingExtraError
        If openpyxl is not installed.
    """
    openpyxl = _library("openpyxl", "openpyxl", "office", "Writing Excel files")
    book = openpyxl.Workbook()
    book.properties.creator = "dtstat"
    book.remove(book.active)
    taken: set[str] = set()
    if head:
        sheet = book.create_sheet(_sheet_name("Summary", taken))
        for row, line in enumerate(head, start=1):
            _text_cell(sheet, row, 1, line)
        sheet.column_dimensions["A"].width = 2 * _WIDEST_CELL
    for k, grid in enumerate(grids, start=1):
        _fill_sheet(
            openpyxl, book.create_sheet(_sheet_name(grid.title or f"Table {k}", taken)), grid
        )
    if not book.worksheets:
        book.create_sheet("Summary")
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _fill_sheet(openpyxl: Any, sheet: Any, grid: Grid) -> None:
    Alignment, Font, Border, Side = (
        getattr(openpyxl.styles, name) for name in ("Alignment", "Font", "Border", "Side")
    )
    thin = Side(style="thin")
    row = 1
    for text, font in (
        (grid.number, Font(bold=True)),
        (grid.title, Font(bold=not grid.apa, italic=grid.apa)),
    ):
        if text:
            _text_cell(sheet, row, 1, text).font = font
            row += 1
    named = any(grid.headers)
    lines = [*([grid.headers] if named else []), *grid.rows]
    for k, cells in enumerate(lines):
        head = named and k == 0
        for column, (text, side) in enumerate(zip(cells, grid.alignment, strict=True), start=1):
            number = as_number(text) if side == "r" and not head else None
            if number is None:
                cell = _text_cell(sheet, row, column, text)
            else:
                cell = sheet.cell(row, column, number)
                cell.number_format = _number_format(text)
            wrap = grid.long[column - 1]
            cell.alignment = Alignment(
                horizontal="right" if side == "r" else "left", vertical="top", wrap_text=wrap
            )
            if head:
                cell.font = Font(bold=not grid.apa, italic=grid.apa and text in ITALIC)
            cell.border = Border(
                top=thin if k == 0 else None, bottom=thin if head or k == len(lines) - 1 else None
            )
        row += 1
    sheet.sheet_properties.pageSetUpPr = openpyxl.worksheet.properties.PageSetupProperties(
        fitToPage=True
    )
    sheet.page_setup.fitToHeight = 0  # as many pages as rows need, each as wide as the table
    if named:
        sheet.freeze_panes = sheet.cell(row - len(grid.rows), 2)
    longest = [max(map(len, cells)) for cells in zip(grid.headers, *grid.rows, strict=True)]
    widths = [min(max(letters + 2, 8), _WIDEST_CELL) for letters in longest]
    for note in [f"Note. {grid.note}"] if grid.apa and grid.notes else grid.notes:
        cell = _text_cell(sheet, row, 1, note)
        # As wide as the table, so that a printed sheet is not scaled to its longest note.
        sheet.merge_cells(start_row=row, end_row=row, start_column=1, end_column=len(widths))
        cell.alignment = Alignment(vertical="top", wrap_text=True)
        sheet.row_dimensions[row].height = _LINE * math.ceil(1.1 * len(note) / sum(widths))
        row += 1
    for column, width in enumerate(widths, start=1):
        sheet.column_dimensions[openpyxl.utils.get_column_letter(column)].width = width


def _text_cell(sheet: Any, row: int, column: int, text: str) -> Any:
    """Write a text as text: openpyxl takes one that begins with "=" for a formula."""
    cell = sheet.cell(row, column, _valid(text))
    if text:
        cell.data_type = "s"
    if text.startswith(("=", "+", "-", "@")):
        cell.quotePrefix = True
    return cell


def _number_format(cell: str) -> str:
    """Show as many digits as in print, and a leading zero if that has one."""
    zero = "" if cell.lstrip("-−").startswith(".") else "0"
    digits = decimals(cell)
    return f"{zero}.{'0' * digits}" if digits else "0"


def _sheet_name(title: str, taken: set[str]) -> str:
    """Name a sheet by the title of its table, as Excel allows: short, and no name twice."""
    whole = _SHEET_NAME.sub(" ", _valid(title)).strip() or "Table"
    name, k = whole[:_LONGEST_SHEET_NAME].strip(), 1
    while name.lower() in taken:
        k += 1
        name = whole[: _LONGEST_SHEET_NAME - len(f" {k}")] + f" {k}"
    taken.add(name.lower())
    return name


def _valid(text: str) -> str:
    """Replace what XML cannot hold."""
    return _INVALID.sub("\ufffd", text)


def _library(module: str, package: str, extra: str, feature: str) -> Any:
    """Import a library of an extra, or say how to get it."""
    try:
        library = importlib.import_module(module)
        if module == "docx":
            importlib.import_module("docx.enum.text")
        else:
            importlib.import_module("openpyxl.styles")
        return library
    except ModuleNotFoundError as error:
        # A broken installation is another matter and must show as itself.
        if error.name != module:
            raise
        raise MissingExtraError(feature, package, extra) from error
