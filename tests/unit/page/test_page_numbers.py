"""What the page's script draws from, against the fit."""

import base64
import functools
import json

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.fit import frames
from dtstat.page import numbers as module
from dtstat.page.numbers import page_numbers

NINE = dt.load_dataset("holzinger_swineford_9")
MANY = dt.load_dataset("holzinger_swineford_26")
NOISE = np.random.default_rng(3).normal(size=(150, 8))
FITS = {
    "nine": lambda: dt.fit(NINE),
    "many": lambda: dt.fit(MANY, misfit="none"),
    "threshold": lambda: dt.fit(MANY, search="threshold"),
    "grid": lambda: dt.fit(NINE, search="threshold", thresholds=20),
    "refined": lambda: dt.fit(NINE, refine=True),
    "reported": lambda: dt.fit(MANY, uncovered="report", criterion="aic"),
    "cv": lambda: dt.fit(NINE, criterion="cv", seed=1),
    "given": lambda: dt.fit(
        NINE, structure=dt.Structure.from_keys({"a": ["x1", "x5", "x9"]}, list(NINE))
    ),
    "matrix": lambda: dt.fit(dt.dependence(MANY)),
    "curves": lambda: dt.fit(NINE, estimator="spline", finalists=1, seed=1),
    "none": lambda: dt.fit(NOISE),
    "none by threshold": lambda: dt.fit(NOISE, search="threshold"),
    "three": lambda: dt.fit(NINE[["x4", "x5", "x6"]]),
    "two": lambda: dt.fit(NINE[["x4", "x5"]]),
}


@functools.cache
def known(name):
    fit = FITS[name]()
    return fit, json.loads(json.dumps(page_numbers(fit), allow_nan=False))


@pytest.mark.parametrize("name", FITS)
def test_dependence_is_that_of_the_fit_to_the_last_bit(name):
    fit, numbers = known(name)
    p = len(fit.item_names)
    triangle = np.frombuffer(base64.b64decode(numbers["dependence"]), "<f8")
    R = fit.dependence.values
    assert triangle.tolist() == [R[i, j] for i in range(p) for j in range(i)]
    assert numbers["items"] == list(fit.item_names)
    assert sorted(numbers["order"]) == list(range(p))
    assert numbers["measure"] == fit.dependence.measure


@pytest.mark.parametrize("name", FITS)
def test_bars_give_the_structure_at_every_threshold(name):
    fit, numbers = known(name)
    for tau in np.random.default_rng(0).uniform(size=40):
        alive = [bar for bar in numbers["bars"] if bar["birth"] <= tau < bar["death"]]
        found = sorted(sorted(bar["items"]) for bar in alive)
        support = fit.path.at(tau).support
        assert found == sorted(np.flatnonzero(column).tolist() for column in support.T)
    assert all(set(bar["unique"]) <= set(bar["items"]) for bar in numbers["bars"])


def chosen_level(numbers):
    (level,) = [one for one in numbers["levels"] if one["n"] == numbers["chosenLevel"]]
    return level


@pytest.mark.parametrize("name", [name for name in FITS if not name.startswith("none")])
def test_factors_are_those_of_the_fit(name):
    fit, numbers = known(name)
    level = chosen_level(numbers)
    assert [one["name"] for one in level["factors"]] == list(fit.factor_names)
    assert level["attached"] == np.flatnonzero(fit.attached).tolist()
    for k, one in enumerate(level["factors"]):
        names = [fit.item_names[i] for i in one["items"]]
        assert names == list(fit.structure.children(k))
        own = fit.loadings.loc[names, fit.factor_names[k]]
        np.testing.assert_allclose(one["loadings"], own, rtol=1e-7)
        row = fit.factors.iloc[k]
        if one["core"] < 0:
            assert (one["from"], one["to"]) == (None, None)
            assert np.isnan(row["from"])
            assert one["verdict"] == f"{one['name']} is seen at no threshold."
        else:
            assert (one["from"], one["to"]) == (row["from"], row["to"])
            bar = numbers["bars"][one["core"]]
            assert (bar["birth"], bar["death"]) == (one["from"], one["to"])
            assert tuple(fit.item_names[i] for i in bar["items"]) == row["core"]


@pytest.mark.parametrize("name", ["nine", "grid", "cv", "reported", "three", "two"])
def test_scores_are_those_of_the_path(name):
    fit, numbers = known(name)
    criterion = fit.call.criterion if name in ("grid", "reported") else "ebic"
    assert numbers["criterion"] == criterion
    scores = fit.path_scores()
    assert [one["low"] for one in numbers["scores"]] == scores["tau_low"].tolist()
    assert [one["high"] for one in numbers["scores"]] == scores["tau_high"].tolist()
    assert [one["factors"] for one in numbers["scores"]] == scores["n_factors"].tolist()
    assert [one["criterion"] for one in numbers["scores"]] == scores[criterion].tolist()
    for k, one in enumerate(numbers["scores"]):
        others = {"aic", "bic", "ebic"} - {criterion}
        assert one["others"] == scores.iloc[k][sorted(others)].to_dict()


def test_the_page_starts_where_the_chosen_structure_is():
    fit, numbers = known("threshold")
    low, high = numbers["chosen"]
    assert low <= numbers["start"] < high
    at = fit.path.at(numbers["start"])
    assert at.n_factors == fit.n_factors
    for column in at.support.T:  # items were attached, none taken out
        assert any((column <= factor).all() for factor in fit.support.T)
    score = [one for one in numbers["scores"] if one["low"] <= numbers["start"] < one["high"]]
    assert score[0]["criterion"] == pytest.approx(numbers["chosenCriterion"], abs=1e-6)


@pytest.mark.parametrize("name", ["nine", "many", "refined", "given", "curves", "matrix"])
def test_the_page_starts_where_most_chosen_factors_are_seen(name):
    _, numbers = known(name)
    assert numbers["chosen"] is None
    factors = chosen_level(numbers)["factors"]
    bars = [(one["from"], one["to"]) for one in factors if one["core"] >= 0]

    def seen(tau):
        return sum(low <= tau < high for low, high in bars)

    assert seen(numbers["start"]) == max(seen(tau) for tau in np.linspace(0, 1, 4001))


@pytest.mark.parametrize("name", ["none", "none by threshold"])
def test_without_factors_the_page_starts_somewhere(name):
    _, numbers = known(name)
    assert 0 <= numbers["start"] <= 1
    assert numbers["levels"] == []
    assert numbers["chosen"] is None
    assert "curves" not in numbers


@pytest.mark.parametrize("name", FITS)
def test_the_criterion_of_the_choice_is_given_where_it_compares(name):
    fit, numbers = known(name)
    value = numbers["chosenCriterion"]
    if name in ("cv", "curves"):
        assert value is None
    else:
        assert value == fit.candidates["cost"].iloc[0]


@pytest.mark.parametrize("name", ["many", "curves", "refined"])
def test_curves_are_those_of_the_fit_to_five_digits(name):
    fit, numbers = known(name)
    frame = fit.response_curves()
    assert numbers["grid"] == frame["z"].unique().tolist()
    assert len(numbers["curves"]) == fit.support.sum()
    for one in numbers["curves"]:
        item, factor = fit.item_names[one["item"]], fit.factor_names[one["factor"]]
        part = frame[(frame["item"] == item) & (frame["factor"] == factor)]
        np.testing.assert_allclose(one["value"], part["value"], rtol=5e-5)
        assert (one["lower"] is not None) == (name == "curves")
        if name == "curves":
            np.testing.assert_allclose(one["lower"], part["lower"], rtol=5e-5)
            np.testing.assert_allclose(one["upper"], part["upper"], rtol=5e-5)


def test_too_many_items_are_not_drawn(monkeypatch):
    fit, numbers = known("nine")
    monkeypatch.setattr(module, "MOST_DRAWN", 8)
    drawn = {"measure", "dependence", "bars", "scores", "order", "start", "curves", "grid"}
    assert not drawn & set(page_numbers(fit))
    monkeypatch.setattr(module, "MOST_DRAWN", 9)
    assert set(page_numbers(fit)) == set(numbers)


def test_scores_that_were_not_computed_are_null(monkeypatch):
    fit, _ = known("nine")
    monkeypatch.setattr(frames, "_FEWEST", 2)
    monkeypatch.setattr(frames, "_WORK", 0)
    scores = json.loads(json.dumps(page_numbers(fit), allow_nan=False))["scores"]
    missing = [one for one in scores if one["criterion"] is None]
    assert 0 < len(missing) < len(scores)
    assert all(one["others"] == {} for one in missing)


def test_names_like_numbers_stay_names():
    fit = dt.fit(pd.DataFrame(NINE.to_numpy(), columns=[3, 2, 1, 10, 20, 30, 0, -1, 7]))
    numbers = page_numbers(fit)
    assert numbers["items"] == ["3", "2", "1", "10", "20", "30", "0", "-1", "7"]
    plain, _ = known("nine")
    assert numbers["curves"] == page_numbers(plain)["curves"]
