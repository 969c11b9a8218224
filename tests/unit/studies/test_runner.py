import os

import pytest

from dtstat.core.checkpoints import Ledger
from dtstat.core.errors import DTError, InputError, MissingExtraError
from dtstat.studies.runner import run_missing

NAMES = ("design", "replicate")
TASKS = [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
RECORDS = tuple({"design": d, "replicate": k, "value": f"{d}{k}"} for d, k in TASKS)


def value(design, replicate):
    return {"value": f"{design}{replicate}"}


def process(design, replicate):
    return {"process": os.getpid()}


def without_extra(design, replicate):
    raise MissingExtraError("This", "torch", "neural")


def with_bad_input(design, replicate):
    raise InputError("`x` is wrong.", "x")


@pytest.fixture
def counted():
    done = []

    def work(design, replicate):
        done.append((design, replicate))
        return value(design, replicate)

    return work, done


def memory():
    return Ledger.open(None, {"study": "trial"})


def test_all_tasks_are_done_in_their_order(counted):
    work, done = counted
    assert run_missing(TASKS, NAMES, work, memory()) == RECORDS
    assert done == TASKS


def test_finished_tasks_are_not_done_again(counted, tmp_path):
    work, done = counted
    for tasks in (TASKS[1:3], TASKS, TASKS):
        ledger = Ledger.open(tmp_path / "l.jsonl", {"study": "trial"})
        run_missing(tasks, NAMES, work, ledger)
    assert done == [TASKS[1], TASKS[2], TASKS[0], TASKS[3]]
    assert run_missing(TASKS, NAMES, work, ledger) == RECORDS


def test_each_is_in_the_ledger_before_the_next_is_begun(tmp_path):
    file = tmp_path / "l.jsonl"
    lines = []

    def work(design, replicate):
        lines.append(len(file.read_text().splitlines()) if file.exists() else 0)
        return {}

    run_missing(TASKS, NAMES, work, Ledger.open(file, {"study": "trial"}))
    assert lines == [0, 2, 3, 4]


def test_only_what_was_asked_for_is_returned(counted):
    ledger = memory()
    run_missing(TASKS, NAMES, counted[0], ledger)
    assert run_missing(TASKS[:1], NAMES, counted[0], ledger) == RECORDS[:1]


def test_processes_give_the_same(tmp_path):
    ledger = Ledger.open(tmp_path / "l.jsonl", {"study": "trial"})
    assert run_missing(TASKS, NAMES, value, ledger, n_jobs=2) == RECORDS
    assert sorted(map(str, ledger.finished)) == sorted(map(str, RECORDS))


def test_processes_are_not_this_one():
    records = run_missing(TASKS, NAMES, process, memory(), n_jobs=2)
    assert os.getpid() not in {record["process"] for record in records}


def test_progress_counts_what_was_missing(counted):
    ledger, seen = memory(), []
    run_missing(TASKS[:1], NAMES, counted[0], ledger)
    run_missing(TASKS, NAMES, counted[0], ledger, progress=lambda *at: seen.append(at))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_errors_are_raised_as_they_are():
    with pytest.raises(InputError, match="`x` is wrong"):
        run_missing(TASKS, NAMES, with_bad_input, memory())


def test_errors_come_back_from_processes():
    """One that cannot be sent between processes: its arguments are not its message."""
    with pytest.raises(DTError, match=r"This needs the package 'torch'.*dtstat\[neural\]"):
        run_missing(TASKS, NAMES, without_extra, memory(), n_jobs=2)
