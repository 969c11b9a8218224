"""Trace one data set through the rooms of dtstat: what is visited by ``dt.fit``, in which order.

    python tools/walk.py [FILE]    print the walk, or write it to a file (docs/walk.md)

How it counts. Data are loaded and dtstat is imported first. Then every call of a Python function
of dtstat in the main thread is an event (``sys.setprofile``), and nothing is left out. A function
counts once, where it is first called. A comprehension belongs to the function it is written in, so
that the count does not depend on the version of Python; the body of a module that is imported on
the way counts as a function ``(import)``. Compiled kernels call no Python and cannot be seen. A
room is a folder of dtstat; a change of room is a first visit in another room than the one before.
The outline is made of the same events, without those whose caller is in another room than ``fit``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import groupby, pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import dtstat as dt  # noqa: E402

DATA = "holzinger_swineford_9"
INNER = re.compile(r"(\.<locals>)?\.<(listcomp|genexpr|dictcomp|setcomp)>")


class Visit(NamedTuple):
    """A call of a function."""

    module: str
    function: str

    @property
    def room(self) -> str:
        """The folder of the module."""
        return room_of(self.module)


def room_of(module: str) -> str:
    """Return the folder of a module."""
    return module.partition(".")[2].partition(".")[0] or "dtstat"


def traced(call: Callable[[], Any]) -> list[tuple[Visit, str]]:
    """Return every call of a function of dtstat, in order, with the room it is called from."""
    visits: list[tuple[Visit, str]] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = module_of(frame)
        if event == "call" and module:
            visits.append((Visit(module, name_of(frame)), room_of(caller_of(frame))))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return visits


def module_of(frame: FrameType) -> str:
    """Return the module of dtstat that a frame belongs to, "" for another one."""
    module = str(frame.f_globals.get("__name__", ""))
    return module if module.startswith("dtstat") else ""


def caller_of(frame: FrameType) -> str:
    """Return the module of dtstat that made a call, perhaps through another library."""
    back = frame.f_back
    while back is not None and not module_of(back):
        back = back.f_back
    return "dtstat.fit" if back is None else module_of(back)  # the first call is ours to follow


def name_of(frame: FrameType) -> str:
    """Return the name of the function that a frame belongs to."""
    name = INNER.sub("", frame.f_code.co_qualname)
    if name.startswith("__create_fn__"):  # made by dataclass, which does not say for which class
        made_for = frame.f_locals["self"]
        name = f"{type(made_for).__qualname__}.{frame.f_code.co_name}"
    return "(import)" if name == "<module>" else name


def listed(visits: list[Visit]) -> list[str]:
    """Count first visits, and list them as a table."""
    first = list(dict.fromkeys(visits))
    modules, rooms = ({getattr(visit, what) for visit in first} for what in ("module", "room"))
    changes = sum(one.room != two.room for one, two in pairwise(first))
    lines = [
        f"{len(first)} functions in {len(modules)} modules of {len(rooms)} rooms; {changes} "
        "changes of room along the first visits.",
        "",
        *["| Step | Module | Functions visited there for the first time |", "|---|---|---|"],
    ]
    for step, (module, found) in enumerate(groupby(first, key=lambda visit: visit.module), 1):
        names = ", ".join(f"`{visit.function}`" for visit in found)
        lines.append(f"| {step} | `{module.removeprefix('dtstat.')}` | {names} |")
    return lines


def walk() -> str:
    """Return the walk as a page in Markdown."""
    data = dt.load_dataset(DATA)
    fit = dt.fit  # imported before the walk begins
    visits = traced(lambda: fit(data))
    told = (__doc__ or "").split("How it counts. ")[1].replace("``", "`").strip()
    lines = [
        "# The walk of one data set",
        "",
        "<!-- Written by tools/walk.py; `make refresh` writes it anew. -->",
        "",
        f'What `dt.fit(dt.load_dataset("{DATA}"))` visits, in the order of first visits.',
        "",
        *["## The outline", ""],
        "What the room `fit` does and what it asks other rooms for, without how they do it:",
        *listed([visit for visit, caller in visits if caller == "fit"]),
        "",
        *["## Every step", ""],
        *listed([visit for visit, _ in visits]),
        *["", "## How it counts", "", told, ""],
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(walk(), encoding="utf-8")
    else:
        print(walk())
