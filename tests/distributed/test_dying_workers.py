"""Two workers die, each at its first piece, and public calls give the same bytes as without."""

import importlib.util
import os
import signal

import joblib
import numpy as np
import pytest
from requirement import require

import dtstat as dt
from dtstat.core import parallel
from dtstat.core.saved import to_bytes
from dtstat.studies.table1 import table1


class Deadly:
    """Work that kills the first two workers that begin with it."""

    def __init__(self, work, folder):
        self.work, self.folder, self.caller = work, folder, os.getpid()

    def __call__(self, piece):
        if os.getpid() != self.caller:
            for death in ("first", "second"):
                try:
                    (self.folder / death).touch(exist_ok=False)
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return self.work(piece)


@pytest.fixture
def deaths(monkeypatch, tmp_path):
    """A folder with a file for each worker that died; all work is deadly."""
    once = parallel._run_once
    monkeypatch.setattr(
        parallel, "_run_once", lambda work, *how: once(Deadly(work, tmp_path), *how)
    )
    return tmp_path


@pytest.fixture
def cluster():
    """For one test: a worker that is killed while it starts is not started again."""
    require(importlib.util.find_spec("distributed") is not None, "dask")
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def stability(**how):
    data = dt.simulate("chain", n=300, seed=5).data
    return to_bytes(dt.stability(data, n_boot=20, seed=1, **how))


def plan(**how):
    return to_bytes(dt.plan(n_factors=2, n_draws=20, seed=1, **how))


def bootstrap(**how):
    data = dt.load_dataset("holzinger_swineford_9")
    fit = dt.cfa(data, "v =~ x1 + x2 + x3\nt =~ x4 + x5 + x6")
    return to_bytes(dt.bootstrap(fit, data, n_boot=20, seed=1, **how))


def study(**how):
    return table1(reps=2, n=300, seed=3, designs="chain", **how).outcomes.to_csv().encode()


def sparse_pairs(**how):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 300))[:, np.arange(3000) // 10] + rng.standard_normal((60, 3000))
    found = dt.dependence(X, "pearson", floor=0.4, **how)
    return b"".join(part.tobytes() for part in (found.starts, found.neighbors, found.values))


LONG = [pytest.param(call, marks=pytest.mark.long) for call in (plan, bootstrap, study)]


@pytest.mark.parametrize("call", [stability, *LONG])
def test_processes(deaths, call):
    expected = call(n_jobs=1)
    with joblib.parallel_config("loky"):
        assert call(n_jobs=2) == expected
    assert len([*deaths.iterdir()]) == 2


@pytest.mark.parametrize("call", [sparse_pairs, *LONG])
def test_a_cluster(cluster, deaths, call):
    cluster.wait_for_workers(2, timeout=120)  # to end a hang, not to measure
    expected = call(n_jobs=1)
    with joblib.parallel_config("dask"):
        assert call() == expected
    assert len([*deaths.iterdir()]) == 2
