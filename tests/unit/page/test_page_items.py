"""Descriptives and reliability on the page are those of `describe` and `fit.reliability()`."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.page.items import about_reliability, descriptives, item_texts, reliability

NINE = dt.load_dataset("holzinger_swineford_9")
LIKERT = dt.load_dataset("likert_survey")
pytestmark = pytest.mark.filterwarnings("ignore::dtstat.DTWarning")


def loaded(fit, tmp_path):
    """The fit without the answers, as a file has it."""
    fit.save(tmp_path / "fit.dtstat")
    return dt.load(tmp_path / "fit.dtstat")


@pytest.mark.parametrize("kept", [True, False])
def test_moments_of_ratings_are_those_of_the_answers(kept, tmp_path):
    fit = dt.fit(LIKERT)
    found = pd.DataFrame(descriptives(fit if kept else loaded(fit, tmp_path)))
    known = dt.describe(LIKERT)
    columns = ["n", "min", "max", "mean", "sd", "skew", "kurtosis", "floor", "ceiling"]
    for column in columns:
        np.testing.assert_allclose(found[column], known.items[column], rtol=1e-9, atol=1e-9)
    for counts, bars in zip(known.bars, found["bars"], strict=True):
        np.testing.assert_allclose(bars, counts / counts.sum(), atol=6e-5)


@pytest.mark.parametrize("shape", ["normal", "lognormal", "exponential"])
def test_of_many_different_answers_a_saved_fit_is_right_to_a_hundredth(shape, tmp_path):
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(5000, 2))
    X = np.repeat(Z, 3, axis=1) + rng.normal(size=(5000, 6))
    made = {"normal": X, "lognormal": np.exp(X / 2), "exponential": np.abs(X) ** 1.5}[shape]
    data = pd.DataFrame(made, columns=list("abcdef"))
    found = pd.DataFrame(descriptives(loaded(dt.fit(data), tmp_path)))
    assert (np.abs(found["mean"] - data.mean().to_numpy()) < 0.01 * data.std().to_numpy()).all()
    assert (np.abs(found["sd"] / data.std().to_numpy() - 1) < 0.01).all()
    np.testing.assert_array_equal(found["min"], data.min())
    assert all(len(bars) == 8 and abs(sum(bars) - 1) < 1e-3 for bars in found["bars"])


def test_straight_margins_of_a_saved_fit_have_mean_and_sd_and_no_more(tmp_path):
    found = pd.DataFrame(descriptives(loaded(dt.fit(NINE, estimator="linear"), tmp_path)))
    assert list(found) == ["n", "mean", "sd"]
    np.testing.assert_allclose(found["mean"], NINE.mean())
    np.testing.assert_allclose(found["sd"], NINE.std())


def test_curves_have_descriptives_and_a_matrix_has_none():
    fit = dt.fit(NINE, estimator="spline", finalists=1, seed=1)
    np.testing.assert_allclose([one["mean"] for one in descriptives(fit)], NINE.mean(), atol=0.01)
    assert descriptives(dt.fit(dt.dependence(NINE))) == []


def test_alpha_and_omega_are_those_of_the_reliability_of_the_fit(tmp_path):
    fit = dt.fit(LIKERT)
    found, known = pd.DataFrame(reliability(fit)), fit.reliability().factors
    pd.testing.assert_frame_equal(found, known[list(found)])
    assert found.notna().all(axis=None)
    assert "with 95 % intervals" in about_reliability(fit)
    saved = loaded(fit, tmp_path)
    found = pd.DataFrame(reliability(saved), dtype=float)
    np.testing.assert_array_equal(found["omega"], saved.reliability().factors["ordinal_omega"])
    assert found[["alpha_lower", "omega_upper"]].isna().all(axis=None)
    assert "behind the ratings" in about_reliability(saved)


def test_items_whose_sum_makes_no_sense_have_no_reliability(tmp_path):
    fit = dt.fit(NINE * [1e-9, *[1.0] * 7, 1e9])
    assert all(value is None for one in reliability(fit) for value in one.values())
    assert "similar sizes" in about_reliability(fit)
    fit.report(tmp_path / "page.html")
    assert "scaled to variance 1" in about_reliability(loaded(fit, tmp_path))


def test_items_without_a_text_have_an_empty_one():
    assert item_texts(dt.fit(NINE.to_numpy())) == [""] * 9
    assert item_texts(dt.fit(NINE))[0] == "Visual perception"
