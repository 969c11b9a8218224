"""Tables as files: the ending of a name says the format, and no file is replaced unasked."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from dtstat.core import checks, files, markup
from dtstat.core.documents import Paragraph, excel_workbook, word_document
from dtstat.core.errors import InputError
from dtstat.core.markup import Grid

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>th, td {{ padding: 0.15em 0.8em; vertical-align: top }}</style>
</head>
<body>
{body}
</body>
</html>"""
ENDINGS = ".docx, .xlsx, .tex, .html, .md, .csv or .txt"


def target(path: str | os.PathLike[str], overwrite: bool) -> Path:
    """Return the file to write, after all that can be refused before any work is done.

    Unlike results and pages, tables are often edited by hand, so that no file that exists is
    replaced without being asked for, not even one that dtstat wrote.
    """
    replaced = checks.flag("overwrite", overwrite, "True replaces a file, whatever it is.")
    file = checks.writable(path)
    if file.suffix.lower() not in (*_WRITERS, ".tex"):
        got = f"'{file.suffix}' is no format of tables" if file.suffix else "this one has none"
        raise InputError(
            f"Cannot write '{file}': the ending of the name says the format, and {got}. Give a "
            f"name that ends in {ENDINGS}.",
            "path",
        )
    refuse_existing(file, replaced)
    return file


def refuse_existing(file: Path, replaced: bool) -> None:
    """Refuse to replace a file unless that was asked for; an empty one is nobody's work."""
    if file.is_file() and file.stat().st_size and not replaced:
        raise InputError(
            f"Cannot write '{file}': it exists. Give another name, or overwrite=True to replace "
            "it.",
            "path",
        )


def write(
    file: Path, head: Sequence[str], grids: Sequence[Grid], latex: str, text: str | None
) -> Path:
    """Write lines and tables in the format of the file's ending, whole or not at all.

    ``latex`` and ``text`` are what tables say of themselves in these formats, None if nothing.
    """
    ending = file.suffix.lower()
    content: str | bytes
    if ending == ".tex":
        content = latex
    elif ending == ".txt" and text is not None:
        content = text
    else:
        content = _WRITERS[ending](head, grids)
    if isinstance(content, str):
        content = (content.rstrip("\n") + "\n").encode("utf-8", "replace")
    files.write(file, content)
    return file


def html_fragment(head: Sequence[str], grids: Sequence[Grid]) -> str:
    """HTML of the lines as paragraphs, then the tables."""
    lines = [f"<p>{html.escape(line)}</p>" for line in head]
    return "\n".join([*lines, *map(markup.html_table, grids)])


def markdown(head: Sequence[str], grids: Sequence[Grid]) -> str:
    """Markdown of the lines as paragraphs, then the tables."""
    lines = (markup.markdown_escape(line.strip()) for line in head)  # indented, it would be code
    return "\n\n".join([*lines, *map(markup.markdown_table, grids)])


def _page(head: Sequence[str], grids: Sequence[Grid]) -> str:
    titles = [*head, *(grid.title for grid in grids), "Table"]
    title = html.escape(next(text for text in titles if text))
    return _PAGE.format(title=title, body=html_fragment(head, grids))


def _csv(head: Sequence[str], grids: Sequence[Grid]) -> str:
    """One table alone is what programs read; several have titles, and blank lines between."""
    if not head and len(grids) == 1:
        return markup.csv_table(grids[0])
    titled = [markup.csv_rows([(grid.title,)]) + markup.csv_table(grid) for grid in grids]
    return "\n".join([markup.csv_rows([(line,) for line in head]), *titled])


def _text(head: Sequence[str], grids: Sequence[Grid]) -> str:
    return "\n\n".join(["\n".join(head), *map(markup.text_table, grids)]).lstrip("\n")


def _word(head: Sequence[str], grids: Sequence[Grid]) -> bytes:
    return word_document([*map(Paragraph, head), *grids])


def _excel(head: Sequence[str], grids: Sequence[Grid]) -> bytes:
    return excel_workbook(grids, head)


_WRITERS: dict[str, Callable[[Sequence[str], Sequence[Grid]], str | bytes]] = {
    ".docx": _word,
    ".xlsx": _excel,
    ".html": _page,
    ".htm": _page,
    ".md": markdown,
    ".csv": _csv,
    ".txt": _text,
}
