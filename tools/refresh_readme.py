"""Run the examples of the README and put what they print where it shows it.

A line ``<!-- run: COMMAND -->`` owns the fenced block below it: ``dtstat ...`` runs the command
line, ``python`` runs the Python block above it, ``cat FILE`` shows a file of the repository. With
``--check`` nothing is written; the exit status says whether the README is up to date.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"<!-- run: (?P<command>.+?) -->\n```\n(?P<output>.*?)```\n", re.DOTALL)


def main() -> int:
    """Refresh or check the README."""
    text = README.read_text()
    fresh = refreshed(text)
    if "--check" in sys.argv:
        return int(fresh != text)
    README.write_text(fresh)
    return 0


def refreshed(text: str) -> str:
    """Return the text with every owned block made anew."""

    def block(match: re.Match[str]) -> str:
        command = match["command"]
        above = text[: match.start()]
        output = run_python(above) if command == "python" else run_command(command)
        return f"<!-- run: {command} -->\n```\n{output.rstrip()}\n```\n"

    return BLOCK.sub(block, text)


def run_python(above: str) -> str:
    """Run the last Python block of the text above; return what it prints."""
    code = re.findall(r"```python\n(.*?)```", above, re.DOTALL)[-1]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README", "exec"), {})
    return printed.getvalue()


def run_command(command: str) -> str:
    """Run a dtstat command, or show a file; return what it prints."""
    if command.startswith("cat "):
        return (README.parent / command.removeprefix("cat ")).read_text()
    program = [sys.executable, "-c", "from dtstat.cli import main; main()"]
    arguments = shlex.split(command)[1:]
    done = subprocess.run([*program, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
