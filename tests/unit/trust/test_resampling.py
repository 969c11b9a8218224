import numpy as np
import pytest

import dtstat as dt
from dtstat.trust.resampling import resample


def echo(rows, seed):
    """Outcome that shows the rows and the seed."""
    return rows.copy(), seed


def fails_without_row_zero(rows, seed):
    if 0 not in rows:
        raise dt.InputError("no row 0")
    return rows


def fails_to_converge(rows, seed):
    raise dt.EstimationError("never")


def has_a_bug(rows, seed):
    raise ZeroDivisionError


class Interrupt:
    """Press Ctrl-C in the resample after ``after`` others."""

    def __init__(self, after):
        self.left = after

    def __call__(self, rows, seed):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return rows


def same(a, b):
    return len(a) == len(b) and all(
        np.array_equal(x, y) and s == t for (x, s), (y, t) in zip(a, b, strict=True)
    )


def test_the_number_of_processes_does_not_matter():
    for scheme in ("bootstrap", "subsample"):
        one = resample(echo, 30, 21, 7, scheme, 12, n_jobs=1)
        two = resample(echo, 30, 21, 7, scheme, 12, n_jobs=2)
        assert same(one.outcomes, two.outcomes)


def test_resamples_do_not_depend_on_how_many_are_asked_for():
    assert same(resample(echo, 30, 10, 7).outcomes[:5], resample(echo, 30, 5, 7).outcomes)


def test_resamples_and_seeds_differ():
    found = resample(echo, 30, 10, 7).outcomes
    assert len({rows.tobytes() for rows, _ in found}) == 10
    assert len({seed for _, seed in found}) == 10
    assert not same(found, resample(echo, 30, 10, 8).outcomes)


def test_bootstrap_draws_all_rows_evenly_with_repeats():
    found = resample(echo, 20, 500, 1)
    rows = np.concatenate([rows for rows, _ in found.outcomes])
    assert found.n_rows == 20
    assert all(len(set(r)) < 20 for r, _ in found.outcomes)
    counts = np.bincount(rows, minlength=20)
    assert len(counts) == 20
    # binomial(10000, 1/20): mean 500, standard deviation 22
    assert np.abs(counts - 500).max() < 4.5 * 22


def test_subsamples_have_no_repeats():
    found = resample(echo, 20, 200, 1, "subsample", 8)
    assert found.n_rows == 8
    assert all(len(r) == len(set(r)) == 8 for r, _ in found.outcomes)
    counts = np.bincount(np.concatenate([r for r, _ in found.outcomes]), minlength=20)
    # each row is in 0.4 of 200: mean 80, standard deviation 7
    assert np.abs(counts - 80).max() < 4.5 * 7


def test_bootstrap_of_another_size():
    assert all(len(rows) == 50 for rows, _ in resample(echo, 20, 3, 1, size=50).outcomes)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_failures_are_counted_and_the_rest_keeps_its_order(n_jobs):
    found = resample(fails_without_row_zero, 5, 60, 2, n_jobs=n_jobs)
    expected = [rows for rows, _ in resample(echo, 5, 60, 2).outcomes if 0 in rows]
    assert 0 < found.n_failed < 60
    assert (found.n_asked, found.n_failed) == (60, 60 - len(expected))
    assert [r.tolist() for r in found.outcomes] == [r.tolist() for r in expected]
    assert not found.interrupted


def test_all_may_fail():
    found = resample(fails_to_converge, 5, 4, 1)
    assert (found.outcomes, found.n_failed, found.interrupted) == ((), 4, False)


def test_bugs_are_not_failures():
    with pytest.raises(ZeroDivisionError):
        resample(has_a_bug, 5, 4, 1)


@pytest.mark.parametrize("after", [1, 3])
def test_what_is_done_is_kept_when_interrupted(after):
    found = resample(Interrupt(after), 30, 10, 7)
    expected = [rows for rows, _ in resample(echo, 30, after, 7).outcomes]
    assert [r.tolist() for r in found.outcomes] == [r.tolist() for r in expected]
    assert (found.n_asked, found.n_failed, found.interrupted) == (10, 0, True)


def test_interrupted_before_anything_is_done():
    with pytest.raises(KeyboardInterrupt):
        resample(Interrupt(0), 30, 10, 7)


def test_interrupted_while_reporting_progress():
    def progress(done, total):
        if done == 4:
            raise KeyboardInterrupt

    found = resample(echo, 30, 10, 7, progress=progress)
    assert same(found.outcomes, resample(echo, 30, 4, 7).outcomes)
    assert found.interrupted


# A thread of joblib may stumble over the work that is taken away from it; nothing is lost by that.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_interrupted_with_several_processes():
    def progress(done, total):
        if done == 3:
            raise KeyboardInterrupt

    found = resample(echo, 30, 64, 7, n_jobs=2, progress=progress)
    every = {rows.tobytes() for rows, _ in resample(echo, 30, 64, 7).outcomes}
    assert len(found.outcomes) == 3
    assert {rows.tobytes() for rows, _ in found.outcomes} <= every
    assert found.interrupted


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress(n_jobs):
    seen = []
    resample(echo, 30, 7, 7, n_jobs=n_jobs, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(k, 7) for k in range(1, 8)]
