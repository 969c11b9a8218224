"""Every argument of every function with every bad value: ``python tests/fuzz --every``.

Drawn cases meet a rare pair of argument and value by chance only. Here each pair is a case; the
arguments that a call needs, and now and then one of the others, have good values.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from fuzz_arguments import ALWAYS, good_value, parameters_of
from fuzz_functions import PLAIN
from fuzz_harness import LOG, Entry, attempt, run_entry
from fuzz_tables import tables, usable_tables
from fuzz_values import BAD
from hypothesis import strategies as st

import dtstat as dt

FUNCTIONS = sorted({*PLAIN, "dependence", "independent_maximal_cliques", "compare", "diagnose"})


def run_every(only: str, number: int) -> None:
    """Make all calls of the functions whose names contain a text."""
    for name in (one for one in FUNCTIONS if only in one):
        before = sum(LOG.cases.values())
        for parameter in parameters_of(getattr(dt, name)):
            for k, bad in enumerate(BAD):
                call = partial(_call, name, parameter, bad)
                run_entry(Entry(f"{name}({parameter}), {k}", call), 1, number)
        print(f"{sum(LOG.cases.values()) - before:7d} calls  {name}", flush=True)


def _call(name: str, parameter: str, bad: Any, draw: Any) -> None:
    function = getattr(dt, name)
    known = parameters_of(function)
    needed = [k for k, v in known.items() if v.default is v.empty or k in ALWAYS.get(name, ())]
    others = [k for k in known if k not in needed and k != parameter]
    more = draw(st.lists(st.sampled_from(others), max_size=1)) if others else []
    given = {}
    for other in (*needed, *more):
        good = good_value(name, other)
        given[other] = (usable_tables if good is tables else good)(draw)
    attempt(name, function, **{**given, parameter: bad()})
