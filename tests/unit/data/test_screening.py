"""Codes for missing answers are named, and answers are not."""

import warnings

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.data import careless
from dtstat.data.checks import LEAST_EXPECTED, suspected_codes
from dtstat.data.datasets import DATASETS

N = 200
SCALES = {"binary": (0, 1), "five": (1, 5), "seven": (1, 7), "eleven": (0, 10)}


def ratings(low, high, p=6, n=N, seed=1):
    rng = np.random.default_rng(seed)
    z = 0.7 * rng.standard_normal((n, 1)) + 0.7 * rng.standard_normal((n, p))
    return np.clip(np.round((low + high) / 2 + z * (high - low) / 4), low, high)


def with_code(X, code, count=8, item=2):
    changed = X.copy()
    changed[:count, item] = code
    return changed


def codes(X):
    return [
        (s.item, s.code, s.times) for s in suspected_codes(X, [f"q{k}" for k in range(X.shape[1])])
    ]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("code", [-9, -8, -99, -999, 77, 88, 98, 99, 999, 9999])
@pytest.mark.parametrize("count", [1, 8])
def test_usual_codes_beyond_a_rating_scale(scale, code, count):
    X = ratings(*SCALES[scale])
    assert codes(with_code(X, code, count)) == [("q2", code, count)]


@pytest.mark.parametrize("scale", ["five", "seven"])
def test_minus_one_among_positives(scale):
    assert codes(with_code(ratings(*SCALES[scale]), -1)) == [("q2", -1, 8)]


@pytest.mark.parametrize("scale", ["binary", "five", "seven"])
def test_nine_after_a_gap(scale):
    assert codes(with_code(ratings(*SCALES[scale], n=2000), 9)) == [("q2", 9, 8)]


def test_seven_eight_and_nine_together():
    scale = ratings(1, 5, n=1000)
    X = with_code(with_code(scale, 9, 8), 8, 3)
    assert codes(X) == [("q2", 8, 3), ("q2", 9, 5)]
    X = with_code(with_code(scale, 9, 8), 7, 3)
    assert codes(X) == [("q2", 7, 3), ("q2", 9, 5)]
    assert codes(with_code(scale, 7)) == []  # may be an answer


def test_several_codes_of_one_item():
    X = with_code(with_code(ratings(1, 5), 99, 8), -9, 3)
    assert codes(X) == [("q2", -9, 3), ("q2", 99, 5)]


@pytest.mark.parametrize(
    "values",
    [
        ratings(1, 9),
        ratings(-2, 2),
        ratings(-3, 3),
        ratings(-9, 9),
        np.where(ratings(-3, 3) == 0, 1, ratings(-3, 3)),
        np.where(ratings(0, 1) == 0, -1, 1),
        ratings(-1, 1),
        ratings(0, 100),
        10 * ratings(0, 10),
        2 * ratings(0, 4),
        np.round(np.random.default_rng(1).normal(48, 18, (N, 3)).clip(18, 99)),
        np.random.default_rng(1).poisson(3, (N, 5)),
        np.random.default_rng(1).poisson(70, (N, 5)),
        np.floor(np.random.default_rng(1).lognormal(2, 1.5, (N, 5))),
        np.random.default_rng(1).standard_normal((N, 5)),
        99 * np.random.default_rng(1).random((N, 5)),
    ],
)
def test_answers_are_not_named(values):
    assert codes(np.asarray(values, dtype=float)) == []


def test_a_long_scale_with_a_gap_by_chance():
    """Nobody chose 8 or 10; the other items show that the scale has them."""
    X = ratings(0, 10, n=2000)
    X[np.isin(X[:, 2], (8, 10)), 2] = 9
    assert codes(X) == []
    small = ratings(0, 10, n=25, p=2)
    small[:, 0] = np.r_[0, 1, 2, 3, 4, 5, 6, 7, 9, 9, 3, 4, 5, 4, 3, 4, 5, 5, 5, 4, 4, 3, 3, 6, 7]
    small[:, 1] = small[:, 0]
    assert np.sqrt(2 * 2) < LEAST_EXPECTED
    assert codes(small) == []


def test_continuous_items_need_an_exact_repeated_value_far_outside():
    X = np.random.default_rng(1).gamma(5, 2, (N, 3))
    assert codes(with_code(X, -99, 2)) == [("q2", -99, 2)]
    assert codes(with_code(X, 999, 2)) == [("q2", 999, 2)]
    assert codes(with_code(X, -99, 1)) == []
    assert codes(with_code(X, X.max() + 1, 5)) == []
    assert codes(with_code(X - 10, -99, 5)) == []  # others are below zero, too


@pytest.mark.parametrize("name", DATASETS)
def test_data_sets_that_come_with_dtstat_have_none(name):
    frame = dt.load_dataset(name)
    assert suspected_codes(frame.to_numpy(float), list(frame)) == []


@pytest.mark.parametrize(
    "use",
    [
        dt.fit,
        dt.dependence,
        lambda data: dt.efa(data, 1),
        lambda data: dt.cfa(data, "f =~ a + b + c + d"),
        dt.solution_path,
    ],
)
def test_every_function_warns_once(use):
    data = pd.DataFrame(with_code(ratings(1, 5, 4), 99, 12), columns=list("abcd"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        use(data)
    told = [str(w.message) for w in caught if "looks like a missing-data code" in str(w.message)]
    assert len(told) == 1
    assert "99 looks like" in told[0]
    assert "12 times in 'c'" in told[0]
    assert "missing_codes=[99]" in told[0]
    assert all(issubclass(w.category, dt.DTWarning) for w in caught)


def test_a_file_is_warned_of_once_and_then_clean(tmp_path):
    file = tmp_path / "answers.csv"
    frame = pd.DataFrame(with_code(ratings(1, 5, 4), -9, 12), columns=list("abcd"))
    frame.assign(comment="text").to_csv(file, index=False)
    with pytest.warns(dt.DTWarning) as caught:
        dt.read_survey(file)
    aside, code = (str(one.message) for one in caught)
    assert "'comment' have no known order" in aside
    assert "12 times in 'c'" in code
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = dt.read_survey(file, missing_codes=[-9], columns=list("abcd"))
        dt.dependence(answers)
    frame.to_csv(file, index=False)
    with pytest.warns(dt.DTWarning, match="12 times in 'c'") as caught:
        dt.dependence(file)
    assert len(caught) == 1


def test_labels_are_believed():
    """A code with a label is judged by what the label says."""
    X = with_code(ratings(1, 5), 99)
    names = [f"q{k}" for k in range(6)]
    assert suspected_codes(X, names, {"q2": {99.0: "Extremely", "x": "y"}}) == []
    assert suspected_codes(X, names, {"q2": {1.0: "Not at all"}})


def test_answers_whose_squares_are_zero_have_no_distances():
    tiny = 1e-200 * np.random.default_rng(0).standard_normal((60, 4))
    found = dt.describe(pd.DataFrame(tiny))
    assert any(note.startswith("No Mahalanobis distance") for note in found.notes)
    assert found.people["distance"].isna().all()


@pytest.mark.parametrize("seed", range(20))
def test_repeated_rows_are_those_of_pandas(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(rng.integers(1, 60), rng.integers(2, 5))).astype(float)
    X[X == 0] *= rng.choice([1.0, -1.0], (X == 0).sum())
    X[rng.random(X.shape) < 0.2] = np.nan
    some = 2 * np.isnan(X).sum(axis=1) < X.shape[1]
    np.testing.assert_array_equal(careless.repeats(X), pd.DataFrame(X).duplicated() & some)
