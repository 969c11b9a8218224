import os
import signal
import threading
import time
from concurrent.futures.process import BrokenProcessPool

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from dtstat.core import parallel
from dtstat.core.errors import DTError, InputError, MissingExtraError
from dtstat.core.parallel import check_jobs, one_thread, run

LONGEST = 120  # seconds; to end a hang, not to measure
DATA = np.random.default_rng(1).normal(size=(600, 40))


def product(k):
    return (DATA.T @ DATA)[k].tobytes()


def process(k):
    time.sleep(0.05)
    return os.getpid()


def thread(k):
    return threading.get_ident()


class Meets:
    """Work of which two pieces are done at the same time, or there is no second thread."""

    def __init__(self):
        self.barrier = threading.Barrier(2)

    def __call__(self, k):
        if k < 2:
            self.barrier.wait(LONGEST)
        return threading.get_ident()


def nested(k):
    return {outcome for _, outcome in run(process, range(3), 2)} == {os.getpid()}


def library_threads(k):
    return [library["num_threads"] for library in threadpool_info()]


class HoldsData:
    """Work with a large array: how does it have it where it is done?"""

    def __init__(self):
        self.data = np.arange(500_000.0)

    def __call__(self, k):
        return type(self.data).__name__, float(self.data.sum())


class DiesOnce:
    """Work whose process is killed the first time that each of some pieces is done."""

    def __init__(self, folder, at):
        self.folder, self.at = folder, at

    def __call__(self, k):
        mark = self.folder / f"died{k}"
        if k in self.at and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return k


def always_dies(k):
    os.kill(os.getpid(), signal.SIGKILL)


def fails(k):
    raise InputError("`x` is wrong.", "x")


def lacks_an_extra(k):
    raise MissingExtraError("This", "torch", "neural", "Or not.")


HOW = [{}, {"n_jobs": 2}, {"n_jobs": 2, "threads": True}, {"n_jobs": 2, "fine": True}]


@pytest.mark.parametrize("how", HOW)
def test_outcomes_are_those_of_their_pieces_however_it_is_run(how):
    assert dict(run(product, range(40), **how)) == {k: product(k) for k in range(40)}


def test_outcomes_come_in_order_if_wanted():
    assert [k for k, _ in run(process, range(8), 2, ordered=True)] == list(range(8))


def test_processes_are_used_and_threads_where_they_will_do():
    assert os.getpid() not in {pid for _, pid in run(process, range(6), 2)}
    here = run(process, range(6), 2, threads=True)
    assert {pid for _, pid in here} == {os.getpid()}


def test_without_a_number_the_configuration_of_joblib_holds():
    assert {t for _, t in run(thread, range(6))} == {threading.get_ident()}
    with joblib.parallel_config("threading", n_jobs=2):
        assert len({t for _, t in run(Meets(), range(12))} - {threading.get_ident()}) == 2


def test_large_arrays_are_mapped_into_processes_not_copied():
    work = HoldsData()
    for _, (kind, total) in run(work, range(4), 2):
        assert kind == "memmap"
        assert total == work.data.sum()


def test_a_worker_hands_out_no_work_of_its_own():
    assert all(alone for _, alone in run(nested, range(2), 2))


@pytest.mark.parametrize("how", HOW)
def test_linear_algebra_has_one_thread_in_every_worker(how):
    for _, counts in run(library_threads, range(3), **how):
        assert set(counts) == {1}


def test_the_last_to_leave_sets_the_threads_back():
    before = library_threads(0)
    with one_thread():
        with one_thread():
            pass
        assert set(library_threads(0)) == {1}
    assert library_threads(0) == before


def test_threads_that_overlap_do_not_leave_the_limit_behind():
    before = library_threads(0)
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # leaves before the one that came later
    assert set(library_threads(0)) == {1}
    second.__exit__(None, None, None)
    assert library_threads(0) == before


@pytest.mark.parametrize("at", [(0,), (7,), (19,), (4, 5), (0, 1), (0, 9, 19)])
def test_pieces_whose_processes_died_are_done_again(tmp_path, at):
    """Of two workers one, both at once, and both at their very first piece."""
    outcomes = list(run(DiesOnce(tmp_path, at), range(20), 2))
    assert sorted(outcomes) == [(k, k) for k in range(20)]  # and none twice
    assert len(list(tmp_path.iterdir())) == len(at)


def test_every_worker_may_die_at_its_first_piece(tmp_path):
    outcomes = list(run(DiesOnce(tmp_path, range(4)), range(12), 4))
    assert sorted(outcomes) == [(k, k) for k in range(12)]
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize(("workers", "passes"), [(2, 3), (4, 5), (8, 9), (64, 9)])
def test_passes_in_which_nothing_was_done(monkeypatch, workers, passes):
    """Each worker may die at its first piece; work that always kills ends all the same."""
    tried = []

    def dies(work, pieces, which, *_):
        tried.append(which)
        if len(tried) < passes or always:
            raise BrokenProcessPool
        yield from ((k, work(pieces[k])) for k in which)

    monkeypatch.setattr(parallel, "_run_once", dies)
    monkeypatch.setattr(parallel.time, "sleep", lambda _: None)
    always = False
    assert dict(run(str, range(5), workers)) == {k: str(k) for k in range(5)}
    tried.clear()
    always = True
    with pytest.raises(DTError, match="killed from outside"):
        list(run(str, range(5), workers))
    assert len(tried) == passes


def test_processes_that_always_die_are_given_up():
    with pytest.raises(DTError, match=r"killed from outside.*2 pieces"):
        list(run(always_dies, range(2), 2))


def test_an_error_of_the_work_is_raised_as_it_is():
    for n_jobs in (1, 2):
        with pytest.raises(InputError, match="`x` is wrong") as caught:
            list(run(fails, range(4), n_jobs))
        assert caught.value.argument == "x"
        with pytest.raises(MissingExtraError, match=r"dtstat\[neural\]\".* Or not\."):
            list(run(lacks_an_extra, range(4), n_jobs))


# A thread of joblib may stumble over the work that is taken away from it; nothing is lost by that.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_closing_early_leaves_nothing_behind():
    running = run(process, range(50), 2)
    next(running)
    running.close()
    assert len(dict(run(process, range(4), 2))) == 4


@pytest.mark.parametrize("n_jobs", [None, 1, 7, -1, 2.0])
def test_a_number_of_workers(n_jobs):
    assert check_jobs(n_jobs) == n_jobs


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, "all", True])
def test_what_is_no_number_of_workers(n_jobs):
    with pytest.raises(InputError, match="`n_jobs` must be"):
        check_jobs(n_jobs)


def test_threads_that_live_on_do_not_keep_the_limit():
    before = library_threads(0)
    asked, both, left, done = (threading.Event() for _ in range(4))

    def first():
        with one_thread():
            asked.set()
            both.wait(LONGEST)
        left.set()  # before the other, and alive when that one leaves
        done.wait(LONGEST)

    def last():
        with one_thread():
            both.set()
            left.wait(LONGEST)

    threads = [threading.Thread(target=one) for one in (first, last)]
    threads[0].start()
    asked.wait(LONGEST)  # it is the first to ask
    threads[1].start()
    threads[1].join()
    assert library_threads(0) == before
    done.set()
    threads[0].join()
