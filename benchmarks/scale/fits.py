"""Whole fits of very many items: time, memory and accuracy by the number of items; few rows.

Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import resource
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report, fresh_python
from dtstat.core.errors import EstimationWarning, silenced

N, PER_FACTOR, LOADING, CORRELATION = 500, 10, 0.7, 0.3
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
TARGET = 200_000
WANTED_MINUTES, WANTED_GB, WANTED_F1 = 10, 6, 0.95  # of the largest size
FEW_ROWS = ((2_000, 50), (2_000, 70), (2_000, 100), (2_000, 150))  # items, rows
CROSSED = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
SECOND, ONE_IN = 0.4, 10  # second loadings, and which items have one
CALLS = {"plain": {}, "refined": {"refine": True}, "sequential": {"search": "sequential"}}
CROSSED_FIT = """
import json, os, time
import dtstat as dt
from benchmarks.scale.fits import CALLS, crossed_survey
from dtstat.core.errors import EstimationWarning, silenced
with silenced(EstimationWarning):
    for p in (60, 300, 1020):  # compiled, and loaded
        dt.fit(crossed_survey(p, 200, 1)[0], refine=True)
    X, truth = crossed_survey({p}, {n}, 1)
    found = {{"items": {p}}}
    for name, how in CALLS.items():
        cpu = time.process_time()
        fit = dt.fit(X, **how)
        found[f"{{name}}, cpu s"] = time.process_time() - cpu
        found[f"{{name}}, F1"] = dt.compare(fit, truth).f1
    print(json.dumps(found | {{"load": os.getloadavg()[0]}}))
"""
FIT = """
import json, os, resource, time
import dtstat as dt
from benchmarks.scale.fits import CORRELATION, LOADING, survey, truth
from dtstat.core.errors import EstimationWarning, silenced
X = survey({p}, {n}, {seed})
with silenced(EstimationWarning):
    dt.fit(survey(1020, 60, 1))  # compiled, and loaded
    start, cpu = time.perf_counter(), time.process_time()
    fit = dt.fit(X)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
found = dt.compare(fit, truth({p}, fit.item_names))
Phi, d = fit.responses.factor_correlations, fit.n_factors
print(json.dumps({{"cpu s": cpu, "wall s": wall, "load": os.getloadavg()[0],
    "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    "levels": len(fit.tree), "factors": d, "supported": fit.supported, "F1": found.f1,
    "loading": float(fit.estimate.loadings.max(axis=1).mean()),
    "correlation": float((Phi.sum() - d) / max(d * (d - 1), 1))}}))
"""
ALONE = """
import json, resource, time
import dtstat as dt
from benchmarks.scale.fits import digest
from dtstat.core.errors import EstimationWarning, silenced
with silenced(EstimationWarning):
    start = time.perf_counter()
    found = digest(dt.fit({file!r}))
print(json.dumps([found, time.perf_counter() - start,
    resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6]))
"""


def survey(p: int, n: int, seed: int) -> np.ndarray[Any, Any]:
    """(n, p) normal answers, ten items per factor, factors that correlate by .3."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n, 1))
    own = rng.standard_normal((n, p // PER_FACTOR))
    factors = math.sqrt(CORRELATION) * common + math.sqrt(1 - CORRELATION) * own
    X = math.sqrt(1 - LOADING**2) * rng.standard_normal((n, p))
    X += LOADING * factors[:, np.arange(p) // PER_FACTOR]
    return X


def truth(p: int, names: tuple[str, ...]) -> dt.Structure:
    """Return the structure behind :func:`survey`."""
    own = np.arange(p)[:, None] // PER_FACTOR
    return dt.Structure(own == np.arange(p // PER_FACTOR), names)


def crossed_survey(p: int, n: int, seed: int) -> tuple[np.ndarray[Any, Any], dt.Structure]:
    """Draw the same with one item in ten that loads on another factor, too."""
    rng = np.random.default_rng(seed)
    d, items = p // PER_FACTOR, np.arange(p)
    L = np.zeros((p, d))
    L[items, items // PER_FACTOR] = LOADING
    some = rng.choice(p, p // ONE_IN, replace=False)
    L[some, (some // PER_FACTOR + rng.integers(1, d, len(some))) % d] = SECOND
    factors = math.sqrt(CORRELATION) * rng.standard_normal((n, 1))
    factors = factors + math.sqrt(1 - CORRELATION) * rng.standard_normal((n, d))
    names = tuple(f"x{k + 1}" for k in range(p))
    return factors @ L.T + LOADING * rng.standard_normal((n, p)), dt.Structure(L != 0, names)


def crossed(report: Report, sizes: tuple[int, ...] = CROSSED) -> None:
    """Measure second loadings: what looking for them takes and finds, by the number of items."""
    rows: list[dict[str, Any]] = []
    for p in sizes:
        rows.append(json.loads(fresh_python(CROSSED_FIT.format(p=p, n=N))))
        print(rows[-1], flush=True)
    frame = pd.DataFrame(rows)
    steps = np.log(frame["items"] / frame["items"].shift())
    for name in CALLS:
        cpu = frame[f"{name}, cpu s"]
        at = list(frame.columns).index(f"{name}, F1")
        frame.insert(at, f"{name}, as p^", np.log(cpu / cpu.shift()) / steps)
    report.heading("Second loadings")
    title = (
        f"dt.fit, n = {N}, as above, but one item in {ONE_IN} loads {SECOND} on another factor, "
        "too; one process"
    )
    report.table(frame.astype({"items": str}), title)
    report.line(
        'refined: `refine=True`; sequential: `search="sequential"`. Beyond 1,000 items they follow '
        "the edges of the graph of the strongest pairs, 64 per item at most, on average; up to "
        "there they work with the matrix."
    )


def _measure(p: int, n: int, seed: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fresh_python(FIT.format(p=p, n=n, seed=seed)))
    return found


def growth(report: Report, sizes: tuple[int, ...] = SIZES) -> None:
    """Measure every size, and project to the target."""
    rows: list[dict[str, Any]] = []
    for p in sizes:
        rows.append({"items": p, **_measure(p, N)})
        print(rows[-1], flush=True)  # the largest takes minutes
    frame = pd.DataFrame(rows)
    steps = np.log(frame["items"] / frame["items"].shift())
    frame.insert(2, "as p^", np.log(frame["cpu s"] / frame["cpu s"].shift()) / steps)
    report.heading("Whole fits")
    counts = ["items", "levels", "factors", "supported"]
    title = (
        f"dt.fit, n = {N}, ten items per factor with loadings of {LOADING}, factors that correlate "
        f"by {CORRELATION}; one process"
    )
    report.table(frame.astype({name: str for name in counts}), title)
    report.line(
        "`as p^`: power of the number of items by which CPU seconds grow from the row above. "
        "`load` is the load average at the end: above 1.5 the machine did other work too, which "
        "makes seconds longer. 1,000 items are fitted with the matrix, more without. `loading` and "
        "`correlation`: means of what was estimated."
    )
    if sizes[-1] == SIZES[-1]:
        report.line(_reached(rows[-1]))
    report.line(_projection(frame))


def _reached(largest: dict[str, Any]) -> str:
    met = {
        f"at most {WANTED_MINUTES} minutes": largest["wall s"] <= 60 * WANTED_MINUTES,
        f"{WANTED_GB} GB": largest["peak GB"] <= WANTED_GB,
        f"F1 of at least {WANTED_F1}": largest["F1"] >= WANTED_F1,
    }
    each = ", ".join(f"{name} ({'reached' if it else 'NOT REACHED'})" for name, it in met.items())
    return f"Wanted for {largest['items']:,} items on two cores: {each}."


def _projection(frame: pd.DataFrame) -> str:
    """Power of p from the two largest sizes, carried on to the target."""
    last = frame.iloc[-1]
    ratio = TARGET / last["items"]
    powers = (last["as p^"], max(last["as p^"], 2.0))
    least, most = (last["cpu s"] * ratio**power / 3600 for power in powers)
    k = TARGET // PER_FACTOR
    # Twice the answers, sums of the leaves and of a stage, edges; factor correlations and their
    # eigenvectors; the result's loadings and support, a whole table.
    work = (2 * 8 * N * TARGET + 2 * 8 * N * 0.4 * TARGET + 64 * 40 * TARGET) / 1e9
    inner, table = 3 * 8 * k**2 / 1e9, 9 * TARGET * k / 1e9
    return (
        f"On paper, p = {TARGET:,}: with the power of the last row, or as p², {least:.1f} to "
        f"{most:.1f} hours of one core. "
        f"Memory there, counted: {work:.1f} GB for answers, sums and pairs, {inner:.1f} GB for the "
        f"correlations of {k:,} factors and their eigenvectors, and {table:.0f} GB for the table "
        "of loadings, items by factors, that a result holds: that table, not the work, is what "
        f"stands against {TARGET:,} items today."
    )


def few_rows(report: Report) -> None:
    """Measure fewer rows than items: from how many rows the factors are found."""
    rows = [{"items": p, "rows": n, **_measure(p, n, seed)} for p, n in FEW_ROWS for seed in (1, 2)]
    frame = pd.DataFrame(rows)[["items", "rows", "factors", "supported", "F1", "cpu s"]]
    counts = ["items", "rows", "factors", "supported"]
    title = f"Fewer rows than items: {FEW_ROWS[0][0] // PER_FACTOR} factors, two samples each"
    report.heading("Fewer rows than items")
    report.table(frame.astype({name: str for name in counts}), title)


def on_a_cluster(report: Report, p: int) -> None:
    """Fit on two workers of a cluster of which one is killed midway; compare with one process."""
    from dask.distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory() as folder, silenced(EstimationWarning):
        file = Path(folder) / "answers.npy"
        np.save(file, survey(p, N, 1))
        here, alone, peak = json.loads(fresh_python(ALONE.format(file=str(file))))
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
            joblib.parallel_config("dask"),
        ):
            killer = Killer(client)
            start = time.perf_counter()
            there = digest(dt.fit(file, progress=killer))
            together = time.perf_counter() - start
            peaks = [_peak(), *sorted(client.run(_peak).values())]
    same = "the same bytes" if here == there else "OTHER BYTES"
    report.heading("On a cluster")
    report.line(
        f"p = {p}, read from a .npy file, on two workers of a dask cluster, {killer.killed} of "
        f"them killed while the pairs came in: {same} (labels, loadings, factor "
        f"correlations, prices of all levels); {alone:.0f} seconds in one process, {together:.0f} "
        f"on the cluster, load average {os.getloadavg()[0]:.1f} at the end. Peak memory in GB: "
        f"{peak:.2f} in one process; on the cluster {peaks[0]:.2f} where it was called, which is "
        f"also the scheduler, and {' and '.join(f'{one:.2f}' for one in peaks[1:])} in the workers "
        "alive at the end."
    )


def digest(fit: dt.DTFit) -> str:
    """Return what stands for all bytes of a fit."""
    estimate = fit.estimate
    found = hashlib.sha256()
    for one in (fit.support, estimate.loadings, estimate.factor_correlations, fit.tree.prices):
        found.update(np.ascontiguousarray(one))
    return found.hexdigest()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


class Killer:
    """Progress that kills a worker when half of the pairs are done: the second thing counted."""

    def __init__(self, client: Any) -> None:
        self._client, self._counted, self.killed = client, 0, 0

    def __call__(self, done: int, total: int) -> None:
        """Kill once."""
        self._counted += done == 1
        if not self.killed and self._counted == 2 and 2 * done >= total:
            self.killed += 1
            os.kill(next(iter(self._client.run(os.getpid).values())), signal.SIGKILL)
