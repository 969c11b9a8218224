"""CPU seconds with the user's own settings beside one thread: ``python -m benchmarks.threads``.

Threads that wait for one another burn CPU. Every piece of work is done in new processes, in turn
with a single thread and without any variable that limits threads, so that both meet the same
machine. After a call to warm up each process measures three times, calls of milliseconds repeated
for a fifth of a second; the median of all is taken. The two should cost the same, for dtstat limits
linear algebra by itself.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

import pandas as pd

from benchmarks.harness import ROOT, Report
from benchmarks.surveys.keyed import folder

RESULTS = ROOT / "benchmarks" / "results" / "threads.md"
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MOST = 1.15
ROUNDS = 3  # processes of each kind
WORK = {
    "fit": "dt.fit(x)",
    "fit, refined": "dt.fit(x, refine=True)",
    "fit, sequential": 'dt.fit(x, search="sequential")',
    "efa": "dt.efa(x, 5)",
    "parallel_analysis": "dt.parallel_analysis(x, seed=1)",
    "cfa": "dt.cfa(x, model)",
    "stability": "dt.stability(x, n_boot=5, fit=found, seed=1)",
    "diagnose": "dt.diagnose(found)",
}
SKIPPED = {"spi": ("fit, refined", "fit, sequential")}  # minutes
# The first scales are enough for a confirmatory model.
CODE = """
import resource, sys, warnings
warnings.simplefilter("ignore")
import json, pandas as pd, dtstat as dt

x, key = pd.read_csv(sys.argv[1] + ".csv"), json.load(open(sys.argv[1] + ".json"))["key"]
model = "\\n".join(f"{name} =~ {' + '.join(items)}" for name, items in [*key.items()][:6])
found = dt.fit(x)

def used():
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in own)

def work():
    WORK

work()
before = used()
work()
calls = max(1, round(0.2 / max(used() - before, 1e-4)))
for _ in range(3):
    before = used()
    for _ in range(calls):
        work()
    print((used() - before) / calls)
"""
LARGE = """
import time, warnings
warnings.simplefilter("ignore")
import numpy as np, dtstat as dt
from dtstat.core.parallel import one_thread

rng = np.random.default_rng(1)
z = np.repeat(rng.normal(size=(1000, 100)), 10, axis=1)
x = 0.7 * z + 0.7 * rng.normal(size=(1000, 1000))

def seconds(work):
    before = time.process_time()
    work()
    return time.process_time() - before

with one_thread():
    dt.fit(x[:, :200])
    print(seconds(lambda: x.T @ x), seconds(lambda: dt.fit(x)))
"""


def fresh(code: str, *arguments: str, threads: int | None) -> list[float]:
    """Run code in a new interpreter with so many threads, or as the user has it."""
    environment = {k: v for k, v in os.environ.items() if k not in VARIABLES}
    if threads is not None:
        environment |= dict.fromkeys(VARIABLES, str(threads))
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(word) for word in done.stdout.split()]


def rows(survey: Path) -> list[dict[str, object]]:
    """Measure all pieces of work on one survey."""
    found = []
    for name, work in WORK.items():
        if name in SKIPPED.get(survey.name, ()):
            continue
        code = CODE.replace("WORK", work)
        seconds: dict[int | None, list[float]] = {1: [], None: []}
        for _ in range(ROUNDS):
            for threads, measured in seconds.items():
                measured += fresh(code, str(survey), threads=threads)
        one, default = map(statistics.median, seconds.values())
        found.append(
            {
                "data": survey.name,
                "work": name,
                "one thread (s)": one,
                "default (s)": default,
                "ratio": default / one,
                "wanted": f"at most {MOST}",
                "reached": "yes" if default / one <= MOST else "NO",
            }
        )
    return found


def main() -> None:
    report = Report()
    report.line("# Threads\n\nWritten by `python -m benchmarks.threads`, a part of `make bench`.")
    report.line(f"{os.cpu_count()} cores. CPU seconds of a call, children included.\n")
    table = [row for name in ("bfi", "spi") for row in rows(folder() / name)]
    report.table(pd.DataFrame(table), "The user's settings beside one thread", digits=3)
    product, whole = fresh(LARGE, threads=None)
    report.line(
        f"\nThe largest single product of a fit, that of the answers, with 1,000 rows of 1,000 "
        f"items: {product:.3f} of {whole:.2f} s, too little to give it threads of its own."
    )
    RESULTS.write_text("\n".join(report.parts) + "\n")


if __name__ == "__main__":
    main()
