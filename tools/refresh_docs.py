"""Run the examples of all texts and put what they print where they show it.

README and pages of docs: a line ``<!-- run: COMMAND -->`` owns the fenced block below it:
``dtstat ...`` runs the command line, ``python`` runs the Python block above it, ``R`` the R block
above it, ``cat FILE`` shows a file of the repository.

Vignettes: blocks of Python are run in order, in one namespace and in the folder of the vignette.
What a block prints, and what it is warned of, stands in a block of text below it. Figures are files
that the code saves.

With ``--check`` no text is written (figures are); the exit status says whether all are up to date.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
VIGNETTES = ROOT / "vignettes"
OWNED = re.compile(r"<!-- run: (?P<command>.+?) -->\n```\n(?P<output>.*?)```\n", re.DOTALL)
CODE = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
R_CODE = re.compile(r"^```r\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
CODE_AND_OUTPUT = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE
)
FIGURE = re.compile(r"!\[[^\]]*\]\((?P<file>[^)]+)\)")
WIDTH = 100
# What Python does not show of code that is imported.
_SILENT = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


def main() -> int:
    """Refresh or check all texts."""
    fresh = {page: refreshed(page.read_text()) for page in pages()}
    for page in vignettes():
        fresh[page] = vignette(page.read_text(), page.parent)
    if "--check" in sys.argv:
        return int(any(page.read_text() != text for page, text in fresh.items()))
    for page, text in fresh.items():
        page.write_text(text)
    return 0


def pages() -> list[Path]:
    """Return the README and the pages of the site that have examples."""
    return [
        README,
        *(page for page in sorted(DOCS.rglob("*.md")) if OWNED.search(page.read_text())),
    ]


def vignettes() -> list[Path]:
    """Return the files of the vignettes; their overview has no code."""
    return sorted(page for page in VIGNETTES.glob("*.md") if page.name != "README.md")


def refreshed(text: str) -> str:
    """Return a text with every owned block made anew."""

    def block(match: re.Match[str]) -> str:
        command = match["command"]
        above = text[: match.start()]
        runs = {"python": run_python, "R": run_r}
        output = runs[command](above) if command in runs else run_command(command)
        return f"<!-- run: {command} -->\n```\n{output.rstrip()}\n```\n"

    return OWNED.sub(block, text)


def vignette(text: str, folder: Path) -> str:
    """Return a vignette's text with all output made anew; its figures are written below a folder.

    Parameters
    ----------
    text
        The vignette.
    folder
        Where its code runs.
    """
    names: dict[str, Any] = {"__name__": "__main__"}

    def block(match: re.Match[str]) -> str:
        shown = f"```python\n{match['code']}```\n"
        lines = run_code(match["code"], names).rstrip().splitlines()
        printed = "\n".join(line.rstrip() for line in lines)
        return shown + (f"\n```text\n{printed}\n```\n" if printed else "")

    os.environ.setdefault("MPLBACKEND", "Agg")
    import matplotlib as mpl

    with contextlib.chdir(folder), mpl.rc_context():  # no vignette sets the style of the next
        return CODE_AND_OUTPUT.sub(block, text)


def figures(text: str) -> list[str]:
    """Return the files of the figures that a text shows."""
    return FIGURE.findall(text)


def run_python(above: str) -> str:
    """Run the last Python block of the text above; return what it prints."""
    return run_code(CODE.findall(above)[-1], {})


def run_r(above: str) -> str:
    """Run the last R block of the text above with the R package as it is; return what it prints."""
    # A library for each process: R locks one while it installs.
    library = ROOT / ".build" / f"rlib-{os.getpid()}"
    library.mkdir(parents=True, exist_ok=True)
    install = ["R", "CMD", "INSTALL", "--no-docs", "-l", str(library), str(ROOT / "r-wrapper")]
    subprocess.run(install, capture_output=True, check=True)
    environment = {**os.environ, "R_LIBS": str(library), "RETICULATE_PYTHON": sys.executable}
    code = R_CODE.findall(above)[-1]
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", code],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines())


def run_code(code: str, names: dict[str, Any]) -> str:
    """Run code in a namespace; return what it prints and is warned of."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), shown_warnings():
        exec(compile(code, "example", "exec"), names)
    return printed.getvalue()


@contextlib.contextmanager
def shown_warnings() -> Iterator[None]:
    """Print warnings among the output, as a reader sees them, but without the place in a file."""

    def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
        print(textwrap.fill(f"{category.__name__}: {message}", WIDTH))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for silent in _SILENT:
            warnings.simplefilter("ignore", silent)
        warnings.showwarning = show
        yield


def run_command(command: str) -> str:
    """Run a dtstat command, or show a file; return what it prints."""
    if command.startswith("cat "):
        return (ROOT / command.removeprefix("cat ")).read_text()
    program = [sys.executable, "-c", "from dtstat.cli import main; main()"]
    arguments = shlex.split(command)[1:]
    done = subprocess.run([*program, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
