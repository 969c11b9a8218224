"""Assemble the page: texts and tables escaped, numbers as JSON, script and style inside.

The file asks the network for nothing, and its policy forbids it to: only the script whose hash the
policy names may run, so that nothing in the name of an item can.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from dtstat.core import files
from dtstat.core.tables import Facts, Table

PAGE = files.FileKind(
    "an HTML page",
    (".html", ".htm"),
    "A name that ends in .docx gives a Word document. For a PDF, print the page from the browser.",
)
_GENERATOR = b'<meta name="generator" content="dtstat">'
# Pages of version 0.1.0 do not name their maker.
_POLICY = b'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src'
# In the order in which they build on each other.
_SCRIPTS = (
    "numbers.js",
    "elements.js",
    "tables.js",
    "levels.js",
    "answer.js",
    "loadings.js",
    "path.js",
    "reasons.js",
    "charts.js",
    "graph.js",
    "tree.js",
    "explorer.js",
    "items.js",
    "curves.js",
    "tabs.js",
    "page.js",
)
_ASSETS = resources.files("dtstat.page") / "assets"


@dataclass(frozen=True)
class Section:
    """A part of the page, from top to bottom.

    Attributes
    ----------
    name, title
        For the machine, and for the reader.
    intro
        Paragraphs.
    facts
        Labeled sentences.
    widget
        Whether the page's script draws something here.
    tables
        Open, for all to see.
    folded
        Tables that are opened by their titles; on paper they are open.
    texts
        Titled texts to copy: code, models, references.
    """

    name: str
    title: str
    intro: tuple[str, ...] = ()
    facts: Facts = ()
    widget: bool = False
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Page:
    """What the page says.

    Attributes
    ----------
    title
        Heading.
    lead
        Line below it.
    sections
        Parts, a tab for each.
    numbers
        What the page's script draws from; anything that JSON knows.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    numbers: Mapping[str, Any]

    def to_html(self) -> str:
        """Return the whole document."""
        body = "\n".join(_asset(name) for name in _SCRIPTS)
        script = f'(() => {{\n"use strict";\n{body}\n}})();\n'
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        parts = {
            "title": html.escape(self.title),
            "policy": f"script-src 'sha256-{digest}'",
            "style": _asset("page.css"),
            "lead": html.escape(self.lead),
            "tabs": "\n".join(_tab(section, k == 0) for k, section in enumerate(self.sections)),
            "panels": "\n".join(_panel(section) for section in self.sections),
            "numbers": _as_json(self.numbers),
            "script": script,
        }
        # One pass: what is put in is not looked at again, whatever it contains.
        return re.sub(r"{{(\w+)}}", lambda match: parts[match[1]], _asset("page.html"))


def numbers_of(values: Sequence[float]) -> list[float | None]:
    """Numbers that JSON knows: what does not exist is null."""
    return [None if value != value or abs(value) == float("inf") else value for value in values]


def rounded(values: Iterable[float], digits: int = 8) -> list[float]:
    """Numbers of so many digits: more than anybody sees, and a page of half the size."""
    return [float(f"{value:.{digits}g}") for value in values]


def is_page(file: Path) -> bool:
    """Whether a file is a page that dtstat wrote."""
    try:
        with file.open("rb") as stream:
            head = stream.read(1_000)
    except OSError:
        return False
    return _GENERATOR in head or _POLICY in head


def write_page(page: Page, target: Path) -> Path:
    """Write the page to a file, and return it.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    files.write(target, page.to_html().encode("utf-8", errors="replace"))
    return target


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _as_json(numbers: Mapping[str, Any]) -> str:
    """Write JSON that no HTML parser takes for the end of the script element."""
    text = json.dumps(_known(numbers), allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    escapes = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
    return re.sub(r"[<>&]", lambda match: escapes[match[0]], text)


def _known(value: Any) -> Any:
    """Put null for numbers that JSON does not know, wherever they stand."""
    if isinstance(value, dict):
        return {key: _known(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_known(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _tab(section: Section, first: bool) -> str:
    chosen, stop = ("true", "0") if first else ("false", "-1")
    return (
        f'<button role="tab" id="tab-{section.name}" aria-controls="panel-{section.name}" '
        f'aria-selected="{chosen}" tabindex="{stop}">{html.escape(section.title)}</button>'
    )


def _panel(section: Section) -> str:
    name = section.name
    parts = [f"<h2>{html.escape(section.title)}</h2>"]
    parts += [_facts(section.facts)] if section.facts else []
    parts += [f"<p>{html.escape(text)}</p>" for text in section.intro]
    parts += [f'<div id="{name}"></div>'] if section.widget else []
    parts += [f'<div class="sheet">{_table(one, True)}</div>' for one in section.tables]
    folded = "".join(_folded(table) for table in section.folded)
    parts += [f'<div class="folds">{folded}</div>'] if folded else []
    parts += [_text(title, text) for title, text in section.texts]
    body = "\n".join(parts)
    return (
        f'<section role="tabpanel" id="panel-{name}" aria-labelledby="tab-{name}" tabindex="0">\n'
        f"{body}\n</section>"
    )


def _facts(facts: Facts) -> str:
    rows = (
        f"<div><dt>{html.escape(label)}</dt><dd>{html.escape(text)}</dd></div>"
        for label, text in facts
    )
    return f'<dl class="facts">{"".join(rows)}</dl>'


def _folded(table: Table) -> str:
    title = html.escape(table.title or "Table")
    return f"<details><summary>{title}</summary>{_table(table, False)}</details>"


def _table(table: Table, titled: bool) -> str:
    """Write a table; numbers, which stand right, have true minus signs.

    Roles and labels of cells are written out: where it is too wide, rows become lists.
    """
    sides = ["number" if side == "r" else "words" for side in table.alignment]
    heads = "".join(
        f'<th scope="col" role="columnheader" class="{side}">{html.escape(head)}</th>'
        for head, side in zip(table.headers, sides, strict=True)
    )
    head = f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
    rows = "".join(_row(row, table.headers, sides) for row in table.rows)
    title = html.escape(table.title)
    caption = f"<caption>{title}</caption>" if titled and title else ""
    name = "" if titled else f' aria-label="{html.escape(table.title or "Table", quote=True)}"'
    notes = "".join(f'<p class="note">{html.escape(one)}</p>' for one in table.grid().notes)
    return (
        f'<table role="table"{name}>{caption}{head if any(table.headers) else ""}'
        f'<tbody role="rowgroup">{rows}</tbody></table>{notes}'
    )


def _row(cells: Sequence[str], heads: Sequence[str], sides: Sequence[str]) -> str:
    first, *others = (
        html.escape(cell.replace("-", "\u2212") if side == "number" else cell)
        for cell, side in zip(cells, sides, strict=True)
    )
    body = "".join(
        f'<td role="cell" class="{side}" data-label="{html.escape(head, quote=True)}">{cell}</td>'
        for cell, head, side in zip(others, heads[1:], sides[1:], strict=True)
    )
    return (
        f'<tr role="row"><th scope="row" role="rowheader" class="{sides[0]}">{first}</th>'
        f"{body}</tr>"
    )


def _text(title: str, text: str) -> str:
    name = html.escape(title, quote=True)
    return (
        f'<div class="copied"><h3>{name}</h3>'
        f'<pre tabindex="0" aria-label="{name}">{html.escape(text)}</pre></div>'
    )
