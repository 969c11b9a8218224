"""Make pages for a browser of the vignettes: ``python tools/render_vignettes.py [FOLDER]``.

Each page is one file: figures and style are within it, and nothing is fetched from the network.
Links between vignettes lead to the pages; files of the repository that a vignette links to are put
beside them, in ``files``, Markdown as pages too. If the R package has been built (`make
r-package`), links to its vignettes lead to the pages that R made of them. Needs pandoc.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
VIGNETTES = ROOT / "vignettes"
TOOLS = ROOT / "tools"
BUILD = ROOT / ".build"
LINK = re.compile(r'href="(?P<target>[^"#:]+)(?P<place>#[^"]*)?"')
IMAGE = re.compile(r'src="(?P<file>[^":]+)"')
TITLE = re.compile(r"^# (?P<title>.+)$", re.MULTILINE)
TABLE = re.compile(r"<table.*?</table>", re.DOTALL)
SOLUTIONS = re.compile(
    r'<section id="solutions" class="level2">\s*(?P<head><h2.*?</h2>)(?P<body>.*?)</section>',
    re.DOTALL,
)


def main() -> int:
    """Render all vignettes; say where they are."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else BUILD / "vignettes"
    if shutil.which("pandoc") is None:
        print("pandoc is missing; `make setup` installs it.", file=sys.stderr)
        return 1
    render_all(folder)
    print(folder / "index.html")
    return 0


def render_all(folder: Path) -> list[Path]:
    """Write a page for each vignette, and the index, to a folder; return the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    return [render(source, folder) for source in sorted(VIGNETTES.glob("*.md"))]


def render(source: Path, folder: Path) -> Path:
    """Write the page of one vignette, and the files that it links to."""
    page = folder / page_name(source)
    text = to_html(source, contents=page.name != "index.html")
    page.write_text(linked(folded(text), source, folder))
    return page


def page_name(source: Path) -> str:
    """Return the name of a vignette's page; the overview is the index."""
    return "index.html" if source.name == "README.md" else f"{source.stem}.html"


def to_html(source: Path, contents: bool) -> str:
    """Return a Markdown file as a page with its figures within it."""
    title = TITLE.search(source.read_text())
    command = [
        *("pandoc", "--from", "gfm-raw_html", "--to", "html5", "--section-divs", "--wrap=preserve"),
        *("--template", str(TOOLS / "vignette.html"), "--highlight-style=tango"),
        *("--metadata", f"pagetitle={title['title'] if title else source.stem}"),
        *("--variable", f"style={(TOOLS / 'vignette.css').read_text()}"),
        *(("--toc", "--toc-depth=2") if contents else ()),
        str(source),
    ]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = TABLE.sub(lambda match: f'<div class="wide">{match.group()}</div>', text)
    return IMAGE.sub(lambda match: f'src="{embedded(source.parent / match["file"])}"', text)


def embedded(figure: Path) -> str:
    """Return a picture as an address that contains it."""
    return "data:image/png;base64," + base64.b64encode(figure.read_bytes()).decode()


def folded(text: str) -> str:
    """Fold the solutions away until a reader opens them."""
    summary = r"<summary>\g<head></summary>\g<body>"
    return SOLUTIONS.sub(f'<details class="solutions" id="solutions">{summary}</details>', text)


def linked(text: str, source: Path, folder: Path) -> str:
    """Let links lead to pages; put other files that are linked to beside them."""

    def link(match: re.Match[str]) -> str:
        return f'href="{destination(match["target"], source, folder)}{match["place"] or ""}"'

    return LINK.sub(link, text)


def destination(target: str, source: Path, folder: Path) -> str:
    """Return where a link leads in the folder of the pages; copy there what it needs."""
    file = (source.parent / target).resolve()
    if target.endswith(".html"):  # the slides; or a page that was linked to before
        if file.is_file():
            (folder / target).parent.mkdir(exist_ok=True)
            (folder / target).write_bytes(file.read_bytes())
        return target
    if file.parent == VIGNETTES:
        return page_name(file)
    (folder / "files").mkdir(exist_ok=True)
    copied = Path(os.path.relpath(file, ROOT).replace("/", "_"))
    if file.suffix == ".Rmd" and (page := page_of_r(file.stem)) is not None:
        copied, content = copied.with_suffix(".html"), page
    elif file.suffix == ".md":
        copied, content = (
            copied.with_suffix(".html"),
            unlinked(to_html(file, contents=False)).encode(),
        )
    else:
        copied, content = Path(f"{copied.name}.txt"), file.read_bytes()
    (folder / "files" / copied).write_bytes(content)
    return f"files/{copied}"


def unlinked(text: str) -> str:
    """Take links to other files out of a page that is shown by itself."""
    return re.sub(r'<a href="(?!#)[^"]*">(.*?)</a>', r"\1", text, flags=re.DOTALL)


def page_of_r(name: str) -> bytes | None:
    """Return the page that R made of a vignette of the R package; None if it is not built."""
    for package in sorted((BUILD / "r").glob("dtstat_*.tar.gz")):
        with tarfile.open(package) as files:
            member = f"dtstat/inst/doc/{name}.html"
            if member in files.getnames() and (page := files.extractfile(member)) is not None:
                return page.read()
    return None


if __name__ == "__main__":
    sys.exit(main())
