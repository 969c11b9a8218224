"""Long work that is killed at random moments ends as if nothing had happened."""

import random
import signal
import subprocess
import sys

import pytest

import dtstat as dt
from dtstat.core.saved import to_bytes
from dtstat.studies.table1 import table1

KILLS = 10
STUDY = {"reps": 20, "n": 4000, "seed": 11}
# The program kills itself, so that on a busy machine it does not get to its end before that.
DIES = """
import os, pathlib, signal, sys, threading, time
def die(file, lines, delay):
    while not file.exists() or len(file.read_bytes().splitlines()) < lines:
        time.sleep(0.01)
    time.sleep(delay)
    os.kill(os.getpid(), signal.SIGKILL)
how = pathlib.Path(sys.argv[1]), int(sys.argv[3]), float(sys.argv[4])
threading.Thread(target=die, args=how, daemon=True).start()
"""
RUN_STUDY = """
from dtstat.studies import table1
table1(reps=20, n=4000, seed=11, n_jobs=int(sys.argv[2]), out=sys.argv[1])
"""
RUN_BOOTSTRAP = """
import dtstat as dt
data = dt.simulate("chain", n=600, seed=5).data
dt.stability(data, n_boot=300, seed=1, n_jobs=int(sys.argv[2]), checkpoint=sys.argv[1])
"""


def kill_at_random(program, file, kills, lines):
    """Start the program again and again, and kill it at moments spread over all of its work.

    Returns how many times it was killed: it may be done before.
    """
    rng = random.Random(1)
    for kill in range(kills):
        before = len(file.read_bytes().splitlines()) if file.exists() else 0
        jobs = rng.choice("12")
        enough = before + rng.randint(0, (lines - before) // (kills - kill + 1))
        moment = str(enough), str(rng.uniform(0, 0.1))  # in the middle of anything
        command = [sys.executable, "-W", "ignore", "-c", DIES + program, file, jobs, *moment]
        if subprocess.run(command, check=False).returncode != -signal.SIGKILL:
            return kill
    return kills


@pytest.mark.filterwarnings("ignore:The end of the checkpoint file")
def test_a_study_killed_ten_times(tmp_path):
    file = tmp_path / "study.jsonl"
    killed = kill_at_random(RUN_STUDY, file, KILLS, 61)
    assert killed == KILLS
    assert len(file.read_bytes().splitlines()) < 61  # or nothing would be left to resume
    resumed, whole = table1(**STUDY, out=file), table1(**STUDY)
    assert resumed.outcomes.to_csv().encode() == whole.outcomes.to_csv().encode()
    assert len(file.read_bytes().splitlines()) == 61  # nothing was done twice


@pytest.mark.filterwarnings("ignore:The end of the checkpoint file")
def test_a_bootstrap_killed_three_times(tmp_path):
    file = tmp_path / "bootstrap.jsonl"
    assert kill_at_random(RUN_BOOTSTRAP, file, 3, 301) == 3
    data = dt.simulate("chain", n=600, seed=5).data
    resumed = dt.stability(data, n_boot=300, checkpoint=file)
    assert to_bytes(resumed) == to_bytes(dt.stability(data, n_boot=300, seed=1))
    assert len(file.read_bytes().splitlines()) == 301
