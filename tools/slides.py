"""Make the slides of the lesson: one HTML file that needs nothing else.

``vignettes/slides/lesson.md`` holds the slides, separated by lines of ``---``. Code is run as in
the vignettes, in one namespace; below a block stands what it printed. Of a block of ``python hide``
only what it printed is taken, as Markdown. Figures are SVG files that the code saves; they become
part of the page. A paragraph that begins with ``Note:`` is for the instructor.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

import markdown

sys.path.insert(0, str(Path(__file__).parent))
from refresh_docs import VIGNETTES, run_code

SOURCE = VIGNETTES / "slides" / "lesson.md"
CODE = re.compile(r"^```python(?P<hide> hide)?\n(?P<code>.*?)^```\n", re.DOTALL | re.MULTILINE)
FIGURE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<file>[^)]+\.svg)\)")
NOTE = re.compile(r"^Note: (?P<note>.*?)$", re.MULTILINE)


def main() -> int:
    """Write the slides beside their source, or to the file that is named."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE.with_suffix(".html")
    target.write_text(slides(SOURCE.read_text()))
    return 0


def slides(text: str) -> str:
    """Return the page of a text with slides."""
    style, script = ((Path(__file__).parent / f"slides.{end}").read_text() for end in ("css", "js"))
    parts = re.split(r"^---\n", executed(text), flags=re.MULTILINE)
    title = parts[0].splitlines()[0].removeprefix("# ")
    body = "\n".join(slide(part, k, len(parts)) for k, part in enumerate(parts, 1))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<main>\n{body}\n</main>\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def executed(text: str) -> str:
    """Run the code of a text; return it with what the code printed, and with its figures."""
    names: dict[str, Any] = {"__name__": "__main__"}

    def block(match: re.Match[str]) -> str:
        printed = run_code(match["code"], names).rstrip()
        if match["hide"]:
            return f"{printed}\n"
        shown = f"\n```text\n{printed}\n```\n" if printed else ""
        return f"```python\n{match['code']}```\n{shown}"

    def figure(match: re.Match[str]) -> str:
        file, alt = Path(match["file"]), escape(match["alt"])
        drawn = file.read_text()
        drawn = drawn[drawn.index("<svg") :].replace(
            "<svg", f'<svg role="img" aria-label="{alt}"', 1
        )
        drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
        drawn = re.sub(r' id="[^"]* [^"]*"', "", drawn)  # labels, to which nothing refers
        # Figures share a page: what one refers to by a name must not be found in another.
        own = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{file.stem}-", drawn)
        return f"<figure>{own}</figure>"

    os.environ.setdefault("MPLBACKEND", "Agg")
    import matplotlib as mpl

    settings = {"svg.hashsalt": "dtstat", "savefig.bbox": "tight", "savefig.transparent": True}
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mpl.rc_context(settings),
    ):
        return FIGURE.sub(figure, CODE.sub(block, text))


def slide(text: str, number: int, total: int) -> str:
    """Return one slide, and the instructor's note on it."""
    notes = " ".join(NOTE.findall(text))
    body = markdown.markdown(NOTE.sub("", text), extensions=["tables", "fenced_code"])
    said = f'<aside class="note"><b>Note.</b> {escape(notes)}</aside>' if notes else ""
    return (
        f'<section id="s{number}" aria-label="Slide {number} of {total}">\n<div class="slide">\n'
        f'{body}\n<p class="number">{number} / {total}</p>\n</div>\n{said}\n</section>'
    )


if __name__ == "__main__":
    sys.exit(main())
