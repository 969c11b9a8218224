"""Whole default fits, timed: ``python -m benchmarks.whole``.

Each piece of work has a process of its own with the user's own threads. "first" is the first call
of that process, with the compiled code of an earlier one on disk; "again" is the second call.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd

from benchmarks.harness import ROOT, Report
from benchmarks.surveys.keyed import folder
from benchmarks.threads import VARIABLES

RESULTS = ROOT / "benchmarks" / "results" / "whole.md"
READ = 'import pandas as pd; x = pd.read_csv("FOLDER/{}.csv")'
DRAW = "x = dt.simulate({}, seed=1).data"
WHOLE, TREE = "dt.fit(x)", "tree()"
WORK = {
    "bfi": (READ.format("bfi"), WHOLE),
    "spi": (READ.format("spi"), WHOLE),
    "300 items, 1000 five-point ratings": (
        DRAW.format("'clusters', 1000, n_factors=20, items_per_factor=15, levels=5"),
        WHOLE,
    ),
    "1500 items, 1000 rows": (DRAW.format("'high_dimensional', 1000"), WHOLE),
    "1500 items, 1000 rows, violating .4": (
        DRAW.format("'high_dimensional', 1000, violating=0.4"),
        WHOLE,
    ),
    "1500 items, 1000 rows, violating .4, sequential": (
        DRAW.format("'high_dimensional', 1000, violating=0.4"),
        "dt.fit(x, search='sequential')",
    ),
    "100 items, 500 rows, tree alone": (
        DRAW.format("'clusters', 500, n_factors=10, items_per_factor=10, maps='linear', snr=1.0")
        + "; request, run = FitRequest(), Run(); problem = prepare(as_items(x), request, run)",
        TREE,
    ),
}
CODE = """
import json, resource, time, warnings
warnings.simplefilter("ignore")
import dtstat as dt
from dtstat.core.parallel import one_thread
from dtstat.data.items import as_items
from dtstat.fit.pipeline import find_structure, prepare
from dtstat.fit.request import FitRequest, Run

def used():
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in own)

def tree():
    with one_thread():  # as dt.fit does
        return find_structure(problem, request, run)

SETUP
times = []
for _ in range(2):
    cpu, wall = used(), time.perf_counter()
    found = CALL
    times += [used() - cpu, time.perf_counter() - wall]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([*x.shape, *times, peak, getattr(found, "n_factors", 0) or found[1].supported]))
"""


def _timed(setup: str, call: str, source: Path) -> list[float]:
    code = CODE.replace("SETUP", setup.replace("FOLDER", str(source))).replace("CALL", call)
    free = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", code], env=free, capture_output=True, text=True, check=True
    )
    found: list[float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Write ``whole.md``."""
    report, rows = Report(), []
    source = folder()
    for name, (setup, call) in WORK.items():
        n, p, first, first_wall, again, again_wall, peak, d = _timed(setup, call, source)
        rows.append(
            {
                "work": name, "rows": n, "items": p, "factors": d, "first, CPU s": first,
                "first, s": first_wall, "again, CPU s": again, "again, s": again_wall,
                "peak MB": round(peak),
            }
        )  # fmt: skip
        print(rows[-1], flush=True)
    report.line("# Whole fits\n\nWritten by `make bench`, on a machine that did other work too.\n")
    report.line(f"```\n{__doc__}```")
    report.table(pd.DataFrame(rows), "Default fits, the user's own threads")
    RESULTS.write_text("\n".join(report.parts) + "\n")


if __name__ == "__main__":
    main()
