"""The same bytes from a real cluster: two workers of one thread, one of them killed midway."""

import importlib.util
import itertools
import os
import signal
import time
from contextlib import contextmanager, suppress

import joblib
import numpy as np
import pytest
from requirement import require

import dtstat as dt
from dtstat.core import parallel
from dtstat.core.parallel import run
from dtstat.core.saved import to_bytes
from dtstat.studies.table1 import table1

LONGEST = 120  # seconds for a worker to be started; to end a hang, not to measure


@contextmanager
def two_workers():
    require(importlib.util.find_spec("distributed") is not None, "dask")
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        joblib.parallel_config("dask"),
    ):
        client.wait_for_workers(2, timeout=LONGEST)
        yield client


@pytest.fixture(scope="module")
def client():
    """A cluster for the tests that kill nobody."""
    with two_workers() as client:
        yield client


@pytest.fixture
def victims():
    """A cluster of its own: a worker that is killed while it starts is not started again."""
    with two_workers() as client:
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


class DiesUnpacked:
    """Work that kills the process in which it is unpacked for the first, second, ... time.

    Nothing is done before that: one worker could do all while the other has yet to begin.
    """

    def __init__(self, folder, which):
        self.folder, self.which = folder, which

    def __setstate__(self, state):
        self.__dict__.update(state)
        for number in itertools.count(1):
            with suppress(FileExistsError):
                (self.folder / str(number)).touch(exist_ok=False)
                break
        if number == self.which:
            os.kill(os.getpid(), signal.SIGKILL)

    def __call__(self, k):
        end = time.monotonic() + LONGEST
        while not (self.folder / str(self.which)).exists() and time.monotonic() < end:
            time.sleep(0.01)
        return k


@pytest.mark.parametrize("which", [1, 2])
def test_a_worker_that_dies_while_it_gets_the_data(victims, tmp_path, monkeypatch, which):
    """In the same pass: nothing is lost, and nobody looks for the dead."""
    passes, once = [], parallel._run_once
    monkeypatch.setattr(parallel, "_run_once", lambda *how: passes.append(how) or once(*how))
    assert sorted(run(DiesUnpacked(tmp_path, which), range(12))) == [(k, k) for k in range(12)]
    assert (tmp_path / str(which)).exists()
    assert len(passes) == 1


def test_outcomes_of_a_cluster_come_in_order_if_wanted(client):
    assert list(run(str, range(30), ordered=True)) == [(k, str(k)) for k in range(30)]


class KillsAt:
    def __init__(self, k):
        self.k = k

    def __call__(self, k):
        if k == self.k:
            os.kill(os.getpid(), signal.SIGKILL)
        return k


def test_a_piece_that_always_kills_its_worker_ends_the_work(victims):
    """Dask gives the piece up, or starts no more workers if they were killed while they started."""
    with pytest.raises(dt.DTError, match=r"Workers were killed from outside|lost all its workers"):
        list(run(KillsAt(2), range(6)))


def fails(k):
    raise dt.InputError("`x` is wrong.", "x")


def test_an_error_of_the_work_on_a_cluster_is_raised_as_it_is(client):
    with pytest.raises(dt.InputError, match="`x` is wrong") as caught:
        list(run(fails, range(6)))
    assert caught.value.argument == "x"


def test_a_cluster_that_loses_its_workers_for_good(victims, monkeypatch):
    monkeypatch.setattr(parallel, "_LONGEST_ABSENCE", 2.0)
    outcomes = run(HoldsData(), range(1000))
    next(outcomes)
    victims.cluster.scale(0)
    with pytest.raises(dt.DTError, match="lost all its workers, and none came back"):
        list(outcomes)


class NoScheduler:
    def nthreads(self):
        raise OSError("Timed out")


def test_a_cluster_whose_scheduler_is_gone():
    with pytest.raises(dt.DTError, match=r"scheduler .* cannot be reached \(Timed out\)"):
        parallel._find_workers(NoScheduler())


def no_worker(n_jobs):
    raise TimeoutError("DaskDistributedBackend has no worker after 10 seconds.")


def test_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr(parallel, "effective_n_jobs", no_worker)
    with pytest.raises(dt.DTError, match="The cluster has no workers, and none came"):
        list(run(str, range(3)))


def test_a_bootstrap(client, data):
    here = locally(dt.stability, data, n_boot=40, seed=1)
    there = dt.stability(data, n_boot=40, seed=1)
    assert to_bytes(there) == to_bytes(here)


@pytest.mark.parametrize("after", [(20,), (20, 20)], ids=["one", "both"])
def test_a_bootstrap_that_loses_workers(victims, data, after):
    """One; both at once, and with them all copies of the data."""
    here = locally(dt.stability, data, n_boot=60, seed=2)
    bad_day = KillsWorkers(victims, *after)
    there = dt.stability(data, n_boot=60, seed=2, progress=bad_day)
    assert bad_day.killed == len(after)
    assert to_bytes(there) == to_bytes(here)


def test_a_study_that_loses_a_worker(victims, tmp_path):
    how = {"reps": 4, "n": 400, "seed": 3}
    here = locally(table1, **how)
    bad_day = KillsWorkers(victims, 3)
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
def test_a_whole_fit_of_many_items(victims, tmp_path):
    """Read from a file, with a worker killed while the pairs are looked for."""
    rng = np.random.default_rng(3)
    factors = rng.standard_normal((100, 110)) + 0.7 * rng.standard_normal((100, 1))
    X = factors[:, np.arange(1100) // 10] + rng.standard_normal((100, 1100))
    np.save(tmp_path / "answers.npy", X)
    here = locally(dt.fit, X)
    killer = KillsWorkers(victims, 1)
    there = dt.fit(tmp_path / "answers.npy", progress=killer)
    assert killer.killed
    assert here.n_factors > 100
    assert to_bytes(there) == to_bytes(here)
