"""The pages of the site that live elsewhere in the repository; a hook of mkdocs (see mkdocs.yml).

Vignettes, results of benchmarks, the change log and the data sets are shown as they are. The
references are made: Python's from the names in ``dtstat.__all__``, one page per room, R's from the
help pages by R itself. Links in all texts are written for the repository; here they are turned to
the pages of the site, and a link to a file that has no page becomes plain text.
"""

from __future__ import annotations

import html
import inspect
import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the checkout's dtstat, whichever one is installed

import dtstat  # noqa: E402
from dtstat.data.datasets import DATASETS, data_folder  # noqa: E402

# Rooms in the order of a reader's work; one that is not listed comes last, under its own name.
ROOMS = {
    "fit": "Finding factors",
    "regression": "Regression with factors",
    "path": "Solution paths",
    "trust": "Trust and planning",
    "data": "Data",
    "dependence": "Dependence",
    "structure": "Structures",
    "factors": "Factor models",
    "sem": "CFA and SEM",
    "efa": "Exploratory analysis",
    "simulation": "Simulation",
    "core": "Errors and saved results",
}
FENCED = re.compile(r"^(```.*?^```$)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?P<label>!?\[[^\[\]]*\])\((?P<target>[^)#\s]*)(?P<place>#[^)\s]*)?\)")
SOLUTIONS = re.compile(r"^## Solutions\n(?P<body>.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
ROLE = re.compile(r":(?:func|class|meth|mod|attr):<code>~?(?P<name>[\w.]+)</code>")
HIDDEN_CHUNK = re.compile(
    r"^```\{r[^}]*include ?= ?FALSE[^}]*\}.*?^```\n", re.DOTALL | re.MULTILINE
)
RD_SECTION = re.compile(r"<h3>(?P<head>.*?)</h3>(?P<body>.*?)(?=<h3>|</div>\s*</body>)", re.DOTALL)
RD_TITLE = re.compile(r"<h2>(.*?)</h2>", re.DOTALL)
RD_FUNCTION = re.compile(r"<code>(?P<name>[\w.]+)\(\)</code>")
SHIM = re.compile(r"https://[\w.]+/iframe-worker/shim")


# --- what mkdocs calls ---


def on_config(config: Any) -> Any:
    """Fill in the parts of the navigation that are made."""
    parts = {"@vignettes": vignettes, "@api": api, "@r": r_pages, "@benchmarks": benchmarks}
    for entry in config.nav:
        for head, value in entry.items():
            if isinstance(value, str) and value in parts:
                entry[head] = parts[value]()
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and pictures that are not in docs/."""
    for source, place in included().items():
        if (ROOT / source).is_file() and not (ROOT / "docs" / place).exists():
            content = (ROOT / source).read_bytes()
            files.append(File.generated(config, place, content=content))
    for place, text in made().items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn the links of a text to the pages of the site; fold the solutions of exercises."""
    source = {place: source for source, place in included().items()}.get(page.file.src_uri)
    if source is None or page.file.src_uri in made():
        return markdown
    if source.endswith(".Rmd"):
        markdown = from_r_markdown(markdown)
    return folded(linked(markdown, source, page.file.src_uri))


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Turn the cross-references of docstrings to the pages of the reference; let tables scroll."""

    def link(match: re.Match[str]) -> str:
        name = match["name"].split(".")[-1]
        shown = f"<code>{match['name']}</code>"
        if name not in dtstat.__all__:
            return shown
        place = f"api/{room(name)}.md"
        anchor = f"#{defined(name)}"
        return f'<a href="{address(place, page.file.src_uri)}{anchor}">{shown}</a>'

    return ROLE.sub(link, content)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Let the search of pages that are opened as files use a script that is part of the site."""
    script = address_of_source("assets/file_worker.js", page.file.src_uri)
    return SHIM.sub(script, output)


def on_post_template(output: str, **_: Any) -> str:
    """Do the same for the page that a server shows where there is none."""
    return SHIM.sub("/assets/file_worker.js", output)


# --- texts of the repository ---


@cache
def included() -> dict[str, str]:
    """Return the files that the site shows: their place on the site by their place here.

    Where docs/ has a page of its own at that place, as for the README, links lead to it.
    """
    shown = {
        "CHANGELOG.md": "changes.md",
        "CITATION.cff": "citing.md",
        "CONTRIBUTING.md": "contributing.md",
        "README.md": "index.md",
        "data/README.md": "data/index.md",
        "data/codebooks": "data/codebooks.md",
        "r-wrapper/PARITY.md": "r/parity.md",
        "benchmarks/results": "benchmarks/index.md",
        "data/exports/big_five_qualtrics.csv": "data/big_five_qualtrics.csv",
    }
    for file in sorted((ROOT / "r-wrapper" / "vignettes").glob("*.Rmd")):
        shown[f"r-wrapper/vignettes/{file.name}"] = f"r/{file.stem}.md"
    for folder, place in (("vignettes", "vignettes"), ("benchmarks/results", "benchmarks")):
        for file in sorted((ROOT / folder).rglob("*")):
            slides = file.parent.name == "slides"  # the page that was made of them is shown
            if file.suffix in ((".html",) if slides else (".md", ".png")):
                inside = file.relative_to(ROOT / folder).as_posix()
                shown[f"{folder}/{inside}"] = f"{place}/{inside.replace('README', 'index')}"
    for file in sorted((ROOT / "docs").rglob("*.md")):
        inside = file.relative_to(ROOT / "docs").as_posix()
        shown[f"docs/{inside}"] = inside
    return shown


def linked(text: str, source: str, place: str) -> str:
    """Turn the links in a text to the pages of the site.

    Parameters
    ----------
    text
        Markdown; code is left alone.
    source
        Where the text stands in the repository.
    place
        Where it stands on the site.
    """

    def link(match: re.Match[str]) -> str:
        if not match["target"] or ":" in match["target"]:
            return match[0]
        target = os.path.normpath(Path(source).parent / match["target"]).replace(os.sep, "/")
        if target in included():
            way = address_of_source(included()[target], place)
            return f"{match['label']}({way}{match['place'] or ''})"
        if not (ROOT / target).exists():
            raise PluginError(f"{source} links to {target}, which does not exist")
        return match["label"].strip("[]")

    parts = FENCED.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def address_of_source(target: str, place: str) -> str:
    """Return the way from one source of the site to another."""
    return os.path.relpath(target, Path(place).parent).replace(os.sep, "/")


def address(target: str, place: str) -> str:
    """Return the way from one page of the site to another, as a browser takes it."""
    return address_of_source(target, place).removesuffix(".md") + ".html"


def folded(text: str) -> str:
    """Fold the solutions away until a reader opens them."""
    box = '<details class="solutions" markdown="1"><summary>Show the solutions</summary>'
    return SOLUTIONS.sub(lambda m: f"## Solutions\n\n{box}\n{m['body']}\n</details>\n\n", text)


def from_r_markdown(text: str) -> str:
    """Return a vignette of the R package as Markdown: its code, without what the code prints."""
    head = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    if head is None:
        return text
    title = re.search(r'^title: "?(.*?)"?$', head[1], re.MULTILINE)
    body = HIDDEN_CHUNK.sub("", text[head.end() :])
    body = re.sub(r"^`r .*`$", "", body, flags=re.MULTILINE)
    body = re.sub(r"^```\{r[^}]*\}", "```r", body, flags=re.MULTILINE)
    note = 'Code only; the vignette in R (`browseVignettes("dtstat")`) shows its output too.'
    return f"# {title[1] if title else 'A vignette'}\n\n{note}\n\n{body}"


# --- pages that are made ---


@cache
def made() -> dict[str, str]:
    """Return the text of every page that is made, by its place on the site."""
    return {**api_texts(), **r_texts(), "data/codebooks.md": codebooks()}


def codebooks() -> str:
    """Return the codebooks of all data sets as one page."""
    parts = ["# Codebooks", "What each item of the [bundled data sets](index.md) means."]
    for name, info in DATASETS.items():
        book = pd.read_csv(data_folder() / "codebooks" / f"{name}.csv")
        parts += [
            f"## {name}",
            f"{info.title}. {info.rights}",
            table(book.columns, book.to_numpy()),
        ]
    return "\n\n".join(parts)


def table(head: Any, rows: Any) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def room(name: str) -> str:
    """Return the room that a public name is defined in."""
    return str(getattr(dtstat, name).__module__).split(".")[1]


def defined(name: str) -> str:
    """Return the full name of a public object, where it is defined."""
    thing = getattr(dtstat, name)
    return f"{thing.__module__}.{thing.__qualname__}"


def rooms() -> dict[str, list[str]]:
    """Return the public names of each room, functions first."""
    found: dict[str, list[str]] = {name: [] for name in ROOMS}
    for name in sorted(dtstat.__all__, key=lambda n: (inspect.isclass(getattr(dtstat, n)), n)):
        found.setdefault(room(name), []).append(name)
    return {name: names for name, names in found.items() if names}


def title(name: str) -> str:
    """Return the title of a room's page."""
    return ROOMS.get(name, name.capitalize())


def api() -> list[Any]:
    """Return the navigation of Python's reference."""
    return [{"Overview": "api/index.md"}, *({title(name): f"api/{name}.md"} for name in rooms())]


def api_texts() -> dict[str, str]:
    """Return the pages of Python's reference."""
    texts = {}
    overview = ["# Python reference", "All public names, as in `import dtstat as dt`."]
    for name, names in rooms().items():
        about = inspect.getdoc(sys.modules[f"dtstat.{name}"]) or ""
        listed = [(f"[`dt.{n}`]({name}.md#{defined(n)})", purpose(n)) for n in names]
        overview += [f"## {title(name)}", table(["Name", "What"], listed)]
        blocks = [f"::: {defined(n)}" for n in names]
        texts[f"api/{name}.md"] = "\n\n".join([f"# {title(name)}", about, *blocks])
    return {"api/index.md": "\n\n".join(overview), **texts}


def purpose(name: str) -> str:
    """Return the first line of a public object's docstring."""
    first = (inspect.getdoc(getattr(dtstat, name)) or "").splitlines()[0]
    return first.replace("|", "\\|")


@cache
def help_pages() -> dict[str, str]:
    """Return R's help pages as R writes them in HTML, by their names."""
    code = (
        'for (f in list.files("r-wrapper/man", "Rd$", full.names = TRUE)) tools::Rd2HTML(f, '
        'file.path(commandArgs(TRUE), sub("Rd$", "html", basename(f))))'
    )
    with tempfile.TemporaryDirectory() as folder:
        try:
            command = ["Rscript", "--vanilla", "-e", code, folder]
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise PluginError("R is missing; it writes the pages of its reference") from None
        except subprocess.CalledProcessError as error:
            raise PluginError(f"R could not write its help pages: {error.stderr}") from None
        return {file.stem: file.read_text("utf-8") for file in sorted(Path(folder).glob("*.html"))}


def r_pages() -> list[Any]:
    """Return the navigation of the part about R."""
    own = [{"R package": "r/index.md"}]
    for file in sorted((ROOT / "r-wrapper" / "vignettes").glob("*.Rmd")):
        own.append({heading_of(file): f"r/{file.stem}.md"})
    own += [{"R and Python, side by side": "r/parity.md"}]
    pages = [{"All functions": "r/reference/index.md"}]
    pages += [{name: f"r/reference/{name}.md"} for name in help_pages()]
    return [*own, {"Reference": pages}]


def r_texts() -> dict[str, str]:
    """Return the pages of R's reference."""
    aliases = {}
    for name in help_pages():
        text = (ROOT / "r-wrapper" / "man" / f"{name}.Rd").read_text("utf-8")
        aliases |= {alias: name for alias in re.findall(r"\\alias\{([^}]+)\}", text)}

    def link(match: re.Match[str]) -> str:
        page = aliases.get(match["name"])
        return match[0] if page is None else f'<a href="{page}.html">{match[0]}</a>'

    texts, listed = {}, []
    for name, page in help_pages().items():
        found = RD_TITLE.search(page)
        head = html.unescape(found[1].strip()) if found else name
        listed.append((f"[`{name}`]({name}.md)", head))
        sections = []
        for match in RD_SECTION.finditer(page):
            body = RD_FUNCTION.sub(link, match["body"]).strip()
            sections.append(f'## {match["head"]}\n\n<div class="rd">\n{body}\n</div>')
        texts[f"r/reference/{name}.md"] = "\n\n".join([f"# {name}", f"{head}.", *sections])
    overview = '# R reference\n\nOne page per topic, as in `help(package = "dtstat")`.\n\n'
    return {"r/reference/index.md": overview + table(["Topic", "What"], listed), **texts}


def heading_of(file: Path) -> str:
    """Return the title of a text."""
    found = re.search(
        r'^(?:##? |title: "?)(?P<title>.+?)"?$', file.read_text("utf-8"), re.MULTILINE
    )
    return found["title"] if found else file.stem


def vignettes() -> list[Any]:
    """Return the navigation of the vignettes, in the order of their overview."""
    overview = (ROOT / "vignettes" / "README.md").read_text("utf-8")
    names = re.findall(r"^\| \[[^\]]+\]\((\w+)\.md\)", overview, re.MULTILINE)
    pages = [{heading_of(ROOT / "vignettes" / f"{n}.md"): f"vignettes/{n}.md"} for n in names]
    return [{"Vignettes": "vignettes/index.md"}, *pages]


def benchmarks() -> list[Any]:
    """Return the navigation of the benchmarks."""
    pages: list[Any] = [{"Overview": "benchmarks/index.md"}]
    for file in sorted((ROOT / "benchmarks" / "results").rglob("*.md")):
        inside = file.relative_to(ROOT / "benchmarks" / "results").as_posix()
        short = re.split(r": | \(", heading_of(file))[0].replace("Benchmarks", "Speed in full")
        pages.append({short: f"benchmarks/{inside}"})
    return pages
