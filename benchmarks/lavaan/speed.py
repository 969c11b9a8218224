"""CPU seconds of whole calls beside lavaan and semopy, in one run.

Every program has a process of its own; after a call to warm up, the median of some calls is taken:
fit, parameters with standard errors, fit measures. Programs take turns, three rounds, and the
median of the rounds counts, so that a busy hour of the machine hits all of them. What takes longer
than ten seconds is called once. All is measured with the user's own threads and with one: threads
that wait for one another burn CPU, so that on a busy machine a ratio with many threads can be high
for no merit of ours (30 items by semopy: 37 and, on a busier machine, 340 with two threads; 5 with
one). The smaller of the two ratios has to be reached.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass

import pandas as pd

from benchmarks.harness import ROOT, Report
from benchmarks.lavaan.answers import data_file
from benchmarks.lavaan.entry import Entry
from benchmarks.lavaan.models.texts import HS, scales
from benchmarks.lavaan.tables import write_tables
from benchmarks.threads import VARIABLES

RESULTS = ROOT / "benchmarks" / "results" / "lavaan_speed.md"
SEMOPY_WANTED = 6
LONG = 10  # seconds
LIMIT = 400  # seconds of a process
ROUNDS = 3


@dataclass(frozen=True)
class Task:
    """A model, the ratio of CPU time to lavaan that is wanted, and calls to take the median of."""

    entry: Entry
    wanted: float
    calls: int = 5
    semopy: str = ""  # its objective, where it can fit the model


def _entry(name: str, data: str, model: str, **args: object) -> Entry:
    return Entry("speed", name, data, model, "cfa", args)


TASKS = [
    Task(_entry("9 items, ML", "hs", HS), 10, 21, "MLW"),
    Task(_entry("30 items, MLR", "speed_30_items", scales("y", 5, 6), estimator="mlr"), 10, 5),
    Task(_entry("30 items, ML", "speed_30_items", scales("y", 5, 6)), 10, 5, "MLW"),
    Task(
        _entry("40 ordered items", "speed_40_ordered", scales("y", 4, 10), ordered=True), 25, 3
    ),
    Task(
        _entry("FIML, 600 patterns", "speed_600_patterns", scales("y", 4, 5), missing="fiml"),
        8, 3, "FIML",
    ),
    Task(_entry("100,000 rows, MLR", "hard_many_rows", scales("y", 3, 3), estimator="mlr"), 4, 3),
    Task(
        _entry("two groups, scalar", "hs", HS, group="school",
               group_equal=["loadings", "intercepts"]),
        10, 11,
    ),
]  # fmt: skip

_USED = """
import resource
def used():
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(r.ru_utime + r.ru_stime for r in map(resource.getrusage, who))
def timed(work):
    before = used()
    work()
    return used() - before
def median_of(work, calls):
    first = timed(work)
    print(*([first] if first > LONG else [timed(work) for _ in range(calls)]))
"""
DTSTAT = (
    _USED
    + """
import json, sys, warnings
warnings.simplefilter("ignore")
import pandas as pd, dtstat as dt
task = json.loads(sys.argv[1])
data = pd.read_csv(task["file"])
def work():
    fit = getattr(dt, task["function"])(data, task["model"], **task["args"])
    return fit.parameters, fit.fit_measures
median_of(work, task["calls"])
"""
)
SEMOPY = (
    _USED
    + """
import json, sys, warnings
warnings.simplefilter("ignore")
import pandas as pd, semopy
task = json.loads(sys.argv[1])
data = pd.read_csv(task["file"])
def work():
    model = semopy.Model(task["model"])
    model.fit(data, obj=task["objective"])
    return model.inspect(), semopy.calc_stats(model)
median_of(work, task["calls"])
"""
)
LAVAAN = """
suppressPackageStartupMessages({library(lavaan); library(jsonlite)})
task <- fromJSON(commandArgs(TRUE)[1])
data <- read.csv(task$file)
work <- function() {
  fit <- do.call(task[["function"]], c(list(model = task$model, data = data), task$args))
  list(parameterEstimates(fit), fitMeasures(fit))
}
used <- function() sum(proc.time()[c(1, 2, 4, 5)])
timed <- function() { before <- used(); work(); used() - before }
first <- timed()
cat(if (first > LONG) first else replicate(task$calls, timed()))
"""


def run(arguments: argparse.Namespace) -> None:
    """Time all tasks, and write the table."""
    write_tables()
    report = Report()
    report.line(
        "# CPU seconds beside lavaan and semopy\n\nWritten by `python -m benchmarks.lavaan speed`: "
        f"{os.cpu_count()} cores, medians of calls after one to warm up and of {ROUNDS} rounds in "
        "which the programs take turns, with default threads and with one; the smaller ratio has "
        "to be reached.\n"
    )
    found = []
    for task in TASKS:
        if arguments.name in task.entry.name:
            found += _rows(task)
            print(found[-1], flush=True)
    report.table(pd.DataFrame(found), "CPU seconds of a call, and ratios", digits=3)
    if not arguments.name:
        RESULTS.write_text("\n".join(report.parts) + "\n")


def _rows(task: Task) -> list[dict[str, object]]:
    entry = task.entry
    call = {"function": entry.function, "file": str(data_file(entry.data)), "model": entry.model}
    call |= {"calls": task.calls}
    python, r = [sys.executable, "-c"], ["Rscript", "--vanilla", "-e"]
    programs = {
        "dtstat": [*python, DTSTAT, json.dumps(call | {"args": entry.args})],
        "lavaan": [*r, LAVAAN, json.dumps(call | {"args": entry.lavaan_args})],
    }
    if task.semopy and importlib.util.find_spec("semopy"):
        programs["semopy"] = [*python, SEMOPY, json.dumps(call | {"objective": task.semopy})]
    rounds: list[dict[str, list[float | str]]] = []
    while len(rounds) < ROUNDS:
        rounds.append({name: _both(command) for name, command in programs.items()})
        if any(isinstance(t, str) or t > LONG for times in rounds[-1].values() for t in times):
            break
    ours, *peers = (_over_rounds([one[name] for one in rounds]) for name in programs)
    wanted = (task.wanted, SEMOPY_WANTED)
    names = [name for name in programs if name != "dtstat"]
    return [
        _row(entry.name, name, ours, times, ratio)
        for name, times, ratio in zip(names, peers, wanted, strict=False)
    ]


def _both(command: list[str]) -> list[float | str]:
    """Median seconds of a program with the user's threads and with one, or its last words."""
    *program, code, call = command
    whole = [*program, code.replace("LONG", str(LONG)), call]
    user = {k: v for k, v in os.environ.items() if k not in VARIABLES}
    return [_median(whole, user), _median(whole, user | dict.fromkeys(VARIABLES, "1"))]


def _over_rounds(rounds: list[list[float | str]]) -> list[float | str]:
    """Medians of all rounds; the words of a program that failed in one of them."""
    found: list[float | str] = []
    for times in zip(*rounds, strict=True):
        words = [t for t in times if isinstance(t, str)]
        found.append(words[0] if words else statistics.median(map(float, times)))
    return found


def _median(command: list[str], environment: dict[str, str]) -> float | str:
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return f"over {LIMIT} s"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    return statistics.median(map(float, done.stdout.split()))


def _row(
    name: str, peer: str, ours: list[float | str], theirs: list[float | str], wanted: float
) -> dict[str, object]:
    row: dict[str, object] = {"task": name, "peer": peer}
    ratios = []
    for threads, our, their in zip(("default", "one"), ours, theirs, strict=True):
        row |= {f"dtstat, {threads}": our, f"peer, {threads}": their, f"ratio, {threads}": ""}
        if isinstance(our, float) and isinstance(their, float):
            ratios.append(their / our)
            row[f"ratio, {threads}"] = f"{ratios[-1]:.1f}"
    if any(isinstance(our, str) for our in ours):
        reached = "NO"
    elif len(ratios) < len(ours):
        reached = "peer unfinished"
    else:
        reached = "yes" if min(ratios) >= wanted else "NO"
    return row | {"wanted": wanted, "reached": reached}
