"""Trace one data set through the rooms of dtstat: what is visited by ``dt.fit``, in which order.

    python tools/walk.py [FILE]    print the walk, or write it to a file (docs/walk.md)

How it counts. Data are loaded and dtstat is imported first. Then every call of a Python function
of dtstat in the main thread is an event (``sys.setprofile``), and nothing is left out. A function
counts once, where it is first called. A comprehension belongs to the function it is written in, so
that the count does not depend on the version of Python; the body of a module that is imported on
the way counts as a function ``(import)``. Compiled kernels call no Python and cannot be seen. A
room is a folder of dtstat; a change of room is a first visit in another room than the one before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import groupby, pairwise
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import dtstat as dt  # noqa: E402

DATA = "holzinger_swineford_9"
INNER = re.compile(r"(\.<locals>)?\.<(listcomp|genexpr|dictcomp|setcomp)>")
Visit = tuple[str, str]  # module, function


def traced(call: Callable[[], Any]) -> list[Visit]:
    """Return every call of a function of dtstat while something is done, in order."""
    visits: list[Visit] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("dtstat"):
            visits.append((module, name_of(frame)))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return visits


def name_of(frame: FrameType) -> str:
    """Return the name of the function that a frame belongs to."""
    name = INNER.sub("", frame.f_code.co_qualname)
    if name.startswith("__create_fn__"):  # made by dataclass, which does not say for which class
        made_for = frame.f_locals["self"]
        name = f"{type(made_for).__qualname__}.{frame.f_code.co_name}"
    return "(import)" if name == "<module>" else name


def room(visit: Visit) -> str:
    """Return the room of a visit."""
    return visit[0].partition(".")[2].partition(".")[0] or "dtstat"


def changes(visits: list[Visit]) -> int:
    """Count the changes of room."""
    return sum(room(one) != room(two) for one, two in pairwise(visits))


def walk() -> str:
    """Return the walk as a page in Markdown."""
    data = dt.load_dataset(DATA)
    visits = traced(lambda: dt.fit(data))
    first = list(dict.fromkeys(visits))
    modules = list(dict.fromkeys(module for module, _ in first))
    lines = [
        "# The walk of one data set",
        "",
        "<!-- Written by tools/walk.py; `make refresh` writes it anew. -->",
        "",
        f'What `dt.fit(dt.load_dataset("{DATA}"))` visits, in the order of first visits.',
        "",
        f"- {len(first)} functions in {len(modules)} modules of {len(set(map(room, first)))} rooms",
        f"- {changes(first)} changes of room along the first visits",
        "",
        *["| Step | Module | Functions visited there for the first time |", "|---|---|---|"],
    ]
    for step, (module, found) in enumerate(groupby(first, key=lambda visit: visit[0]), 1):
        names = ", ".join(f"`{name}`" for _, name in found)
        lines.append(f"| {step} | `{module.removeprefix('dtstat.')}` | {names} |")
    told = (__doc__ or "").split("How it counts. ")[1].replace("``", "`").strip()
    return "\n".join([*lines, "", "## How it counts", "", told, ""])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(walk(), encoding="utf-8")
    else:
        print(walk())
