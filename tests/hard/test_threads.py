"""Several threads at once: the same bytes as one after the other, and nothing left changed."""

import ast
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

import dtstat as dt
from dtstat.core.errors import DataWarning, DTWarning, EstimationWarning, silenced, warn

ROOT = Path(dt.__file__).parent
MODEL = "A =~ q1 + q2 + q3; B =~ q4 + q5 + q6"
# What they change belongs to the whole process, so only these may.
PROCESS_WIDE = {
    "catch_warnings": {
        "core/errors.py",  # one thread at a time
        "cli/app.py",  # the program itself
        "interop/r_bridge.py",  # R has one thread
        "interop/r/session.py",  # once, when R starts
        "studies/recovery.py",
    },
    "threadpool_limits": set(),  # dtstat.core.parallel counts who has asked
}
FIRST_CALLS = """
import sys
sys.path.insert(0, {folder!r})
from test_threads import alone, at_once, compiled
print(*[a == b for a, b in zip(at_once(compiled), alone(compiled))])
"""


def answers(seed, n=120):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(n, 2)), 3, axis=1) * 0.8 + rng.normal(size=(n, 6)) * 0.6
    return pd.DataFrame(np.round(X, 1), columns=[f"q{k}" for k in range(1, 7)])


def saved(result):
    """Save, load and save again; return what both files hold."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "first.dtstat", Path(folder) / "second.dtstat"
        result.save(files[0])
        dt.load(files[0]).save(files[1])
        return b"".join(file.read_bytes() for file in files)


def everything(seed):
    """What the public functions answer, as bytes."""
    X = answers(seed)
    measures = ("pearson", "spearman", "kendall", "mixed", "distance", "hsic", "maximal", "xi")
    found = [dt.dependence(X, measure=name).values.tobytes() for name in measures]
    fit = dt.fit(X)
    found += [saved(fit), saved(dt.cfa(X, MODEL)), dt.efa(X, 2).loadings.to_numpy().tobytes()]
    found += [saved(dt.diagnose(fit, X, n_boot=10, seed=seed))]
    found += [saved(dt.stability(X, n_boot=5, seed=seed))]
    found += [dt.parallel_analysis(X, n_iter=5, seed=seed).to_frame().to_csv().encode()]
    return found


def compiled(seed):
    """What needs many kernels that call each other, and a file; few, as each is compiled."""
    X = answers(seed)
    return [dt.dependence(X, "kendall").values.tobytes(), saved(dt.stability(X, n_boot=3, seed=1))]


def at_once(work=everything):
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(work, range(4)))


def alone(work=everything):
    return [work(seed) for seed in range(4)]


def test_the_same_bytes_as_one_after_the_other():
    for together, single in zip(at_once(), alone(), strict=True):
        assert [a == b for a, b in zip(together, single, strict=True)] == [True] * len(single)


@pytest.mark.parametrize("work", [dt.fit, lambda X: dt.efa(X, 12)], ids=["fit", "efa"])
def test_the_same_bytes_with_more_threads_of_linear_algebra(work):
    """So large that products would be shared out; benchmarks/same_bytes.py has all functions."""
    rng = np.random.default_rng(2)
    factors = rng.normal(size=(500, 12)) + 0.7 * rng.normal(size=(500, 1))
    X = 0.7 * np.repeat(factors, 10, axis=1) + 0.7 * rng.normal(size=(500, 120))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(saved(work(X)))
    assert found[0] == found[1]


@pytest.mark.long  # everything is compiled anew
def test_the_first_calls_may_come_from_several_threads(tmp_path):
    """Kernels are compiled, packages imported and classes registered by four threads at once."""
    code = FIRST_CALLS.format(folder=str(Path(__file__).parent))
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("True True True True", 0), done.stderr


# --- warnings ---


def overlapping(first, second):
    """Enter and leave two contexts in two threads so that the first one entered is left first."""
    entered, inside, left = threading.Event(), threading.Event(), threading.Event()

    def one():
        with first:
            entered.set()
            inside.wait()
        left.set()

    thread = threading.Thread(target=one)
    thread.start()
    entered.wait()
    with second:
        inside.set()
        left.wait()
    thread.join()


def test_warnings_are_still_given_after_threads_were_silenced():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        overlapping(silenced(), silenced())
        warn("heard", DataWarning)
    assert len(caught) == 1


def test_one_thread_silenced_does_not_silence_another():
    with (
        silenced(),
        ThreadPoolExecutor(1) as pool,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        warn("not heard", DataWarning)
        pool.submit(warn, "heard", DataWarning).result()
    assert [str(one.message) for one in caught] == ["heard"]


def test_only_the_category_is_silenced_and_only_inside():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with silenced(EstimationWarning):
            warn("of data", DataWarning)
            warn("of estimation", EstimationWarning)
            with silenced(DataWarning):
                warn("of data, inner", DataWarning)
                warn("of estimation, inner", EstimationWarning)
        warn("after", EstimationWarning, stacklevel=1)
    assert [str(one.message) for one in caught] == ["of data", "after"]
    assert caught[-1].filename == __file__


def test_resampling_leaves_the_filters_alone():
    X = answers(1, n=15)  # resamples of so few rows would warn
    before = [one for one in warnings.filters if issubclass(DTWarning, one[2])]
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seed: dt.stability(X, n_boot=8, seed=seed), range(4)))
        kinds = [one for one in warnings.filters if one[0] == "ignore" and one[2] is DTWarning]
    assert kinds == []
    assert [one for one in warnings.filters if issubclass(DTWarning, one[2])] == before


# --- what the library may not use ---


@pytest.mark.parametrize("name", PROCESS_WIDE)
def test_who_changes_the_whole_process(name):
    users = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if getattr(node, "attr", getattr(node, "id", None)) == name:
                users.add(path.relative_to(ROOT).as_posix())
    assert users <= PROCESS_WIDE[name]
