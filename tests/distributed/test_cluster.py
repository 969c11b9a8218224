"""The same bytes from a real cluster: two workers of one thread, one of them killed midway."""

import importlib.util
import os
import signal
import sys
import threading
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from requirement import require

import dtstat as dt
from dtstat.core import parallel
from dtstat.core.parallel import run
from dtstat.core.saved import to_bytes
from dtstat.studies.table1 import table1


@pytest.fixture(scope="module")
def client():
    require(importlib.util.find_spec("distributed") is not None, "dask")
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        joblib.parallel_config("dask"),
    ):
        client.wait_for_workers(2)
        yield client


@pytest.fixture(scope="module")
def data():
    return dt.simulate("chain", n=800, seed=5).data


class KillsWorkers:
    """Progress that kills a worker when so many pieces are done, first one, then the next."""

    def __init__(self, client, *after):
        self.processes = list(client.run(os.getpid).values())
        self.after, self.killed = after, 0

    def __call__(self, done, total):
        while self.killed < len(self.after) and self.after[self.killed] == done:
            os.kill(self.processes[self.killed], signal.SIGKILL)
            self.killed += 1


def locally(call, *args, **options):
    with joblib.parallel_config("sequential"):
        return call(*args, **options)


def outcomes(result):
    return result.outcomes.to_csv().encode()


class HoldsData:
    """Work that tells which process has it, and where in its memory."""

    def __init__(self):
        self.data = np.arange(200_000.0)

    def __call__(self, k):
        return os.getpid(), self.data.ctypes.data


def test_a_worker_gets_the_data_once(client):
    seen = {place for _, place in run(HoldsData(), range(40))}
    assert len(seen) == len({process for process, _ in seen})  # one place in each process
    assert all(address % 8 == 0 for _, address in seen)


class LosesAWorker:
    """A client of which a worker dies while it gets a copy of the work; dask tries for ever."""

    def __init__(self):
        self.alive, self.unwanted = {"one": 1, "other": 1}, threading.Event()

    def nthreads(self):
        return dict(self.alive)

    def scatter(self, work, **how):
        del self.alive["other"]
        assert self.unwanted.wait(20)
        return work


def test_a_worker_that_dies_while_it_gets_the_data(monkeypatch):
    """The work is taken back, so that dask stops trying, and sent again."""
    lost = LosesAWorker()
    future = SimpleNamespace(release=lost.unwanted.set)
    monkeypatch.setitem(
        sys.modules, "distributed", SimpleNamespace(Future=lambda name, client: future)
    )
    with pytest.raises(parallel._LostInBetweenError):
        parallel._cluster_tasks(len, [[(0, [])]], lost)
    assert lost.unwanted.is_set()


def no_worker(n_jobs):
    raise TimeoutError("DaskDistributedBackend has no worker after 10 seconds.")


def test_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr(parallel, "effective_n_jobs", no_worker)
    with pytest.raises(dt.DTError, match="The cluster has no workers, and none came"):
        list(run(str, range(3)))


def test_a_cluster_that_loses_its_workers(monkeypatch):
    """They may come back; if not, the error says that they were killed."""
    tried = []

    def once(*how):
        tried.append(how)
        no_worker(None)

    monkeypatch.setattr(parallel, "_run_once", once)
    monkeypatch.setattr(parallel, "_LONGEST_WAIT", 0)
    with pytest.raises(dt.DTError, match="3 pieces of the work could not be finished"):
        list(run(str, range(3), n_jobs=2))
    assert len(tried) == 3


def test_work_that_no_worker_got_is_sent_again():
    """With one worker left joblib works here, and would take the cluster's handle for the work."""
    with pytest.raises(parallel._LostInBetweenError):
        parallel._do(object(), b"")


def test_a_bootstrap(client, data):
    here = locally(dt.stability, data, n_boot=40, seed=1)
    there = dt.stability(data, n_boot=40, seed=1)
    assert to_bytes(there) == to_bytes(here)


@pytest.mark.parametrize("after", [(20,), (20, 20)], ids=["one", "both"])
def test_a_bootstrap_that_loses_workers(client, data, after):
    """One; both at once, and with them all copies of the data."""
    client.wait_for_workers(2)
    here = locally(dt.stability, data, n_boot=60, seed=2)
    bad_day = KillsWorkers(client, *after)
    there = dt.stability(data, n_boot=60, seed=2, progress=bad_day)
    assert bad_day.killed == len(after)
    assert to_bytes(there) == to_bytes(here)


def test_a_study_that_loses_a_worker(client, tmp_path):
    how = {"reps": 4, "n": 400, "seed": 3}
    here = locally(table1, **how)
    bad_day = KillsWorkers(client, 3)
    there = table1(**how, out=tmp_path / "study.jsonl", progress=bad_day)
    assert bad_day.killed == 1
    assert outcomes(there) == outcomes(here)
    assert len((tmp_path / "study.jsonl").read_text().splitlines()) == 1 + 12  # none twice


@pytest.mark.parametrize("measure", ["spearman", "kendall", "xi", "polychoric"])
def test_blocks_of_a_matrix(client, measure):
    X = np.random.default_rng(4).integers(0, 5, size=(200, 30)).astype(float)
    if measure != "polychoric":
        X[:40, ::3] = np.nan
    here = locally(dt.dependence, X, measure)
    assert dt.dependence(X, measure).values.tobytes() == here.values.tobytes()


@pytest.mark.parametrize("criterion", ["ebic", "cv"])
def test_structures_with_curves(client, data, criterion):
    how = {"estimator": "spline", "criterion": criterion, "finalists": 2, "seed": 1}
    here = locally(dt.fit, data, **how)
    assert to_bytes(dt.fit(data, **how)) == to_bytes(here)


@pytest.mark.filterwarnings("ignore:There are fewer rows")
def test_a_whole_fit_of_many_items(client, tmp_path):
    """Read from a file, with a worker killed while the pairs are looked for."""
    rng = np.random.default_rng(3)
    factors = rng.standard_normal((100, 110)) + 0.7 * rng.standard_normal((100, 1))
    X = factors[:, np.arange(1100) // 10] + rng.standard_normal((100, 1100))
    np.save(tmp_path / "answers.npy", X)
    here = locally(dt.fit, X)
    killer = KillsWorkers(client, 1)
    there = dt.fit(tmp_path / "answers.npy", progress=killer)
    assert killer.killed
    assert here.n_factors > 100
    assert to_bytes(there) == to_bytes(here)
