"""What two workers gain over one, and whether the bytes are the same: here and on a cluster."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import joblib
import pandas as pd

import dtstat as dt
from benchmarks.harness import Report
from dtstat.core.saved import to_bytes
from dtstat.studies.highdim import highdim

RESAMPLES = 200


def study_cell(**how: Any) -> bytes:
    """One condition of the second simulation, 40 data sets of 375 items."""
    cell = {"phis": 0.25, "shares": (), "searches": "plain"}
    return highdim(40, 250, **cell, seed=5, **how).outcomes.to_csv().encode()


def bootstraps(**how: Any) -> bytes:
    """200 bootstraps of 1,000 people and 36 items."""
    data = dt.simulate("clusters", n=1000, n_factors=6, seed=1).data
    return to_bytes(dt.stability(data, n_boot=RESAMPLES, seed=1, **how))


WORK = {"study cell": study_cell, f"{RESAMPLES} bootstraps": bootstraps}


def gain(report: Report) -> None:
    """One worker, two processes, two workers of a cluster, and one of them killed."""
    rows = []
    for name, work in WORK.items():
        work(n_jobs=2)  # starts the processes, which stay; compiles and loads
        alone, expected = _timed(work)
        two, here = _timed(work, n_jobs=2)
        rows.append([name, "2 processes", alone, two, alone / two, here == expected])
        rows += [[name, *one] for one in _on_cluster(work, alone, expected)]
    columns = ["work", "workers", "1 worker s", "2 workers s", "gain", "same bytes"]
    frame = pd.DataFrame(rows, columns=columns)
    frame["same bytes"] = frame["same bytes"].map({True: "yes", False: "NO"})
    report.heading("Workers")
    report.table(frame, "Two workers beside one, each with one thread, started before")


def _timed(work: Callable[..., bytes], **how: Any) -> tuple[float, bytes]:
    start = time.perf_counter()
    found = work(**how)
    return time.perf_counter() - start, found


def _on_cluster(work: Callable[..., bytes], alone: float, expected: bytes) -> list[list[Any]]:
    from dask.distributed import Client, LocalCluster

    rows: list[list[Any]] = []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
        joblib.parallel_config("dask"),
    ):
        work()
        seconds, found = _timed(work)
        rows.append(["dask, 2 workers", alone, seconds, alone / seconds, found == expected])
        seconds, found = _timed(work, progress=_Killer(client))
        rows.append(["dask, one killed midway", alone, seconds, alone / seconds, found == expected])
    return rows


class _Killer:
    """Progress that kills a worker when half is done."""

    def __init__(self, client: Any) -> None:
        self._client, self._done = client, False

    def __call__(self, done: int, total: int) -> None:
        if not self._done and 2 * done >= total:
            self._done = True
            os.kill(next(iter(self._client.run(os.getpid).values())), signal.SIGKILL)
