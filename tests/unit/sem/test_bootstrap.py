"""The bootstrap: closed forms, repeatability, checkpoints, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import EstimationWarning, InputError
from dtstat.sem.bootstrap import _Refit, _rows, _transformed

MEDIATION = "m ~ a*x; y ~ b*m + x; ab := a*b"
TWO = "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6"


def mediation(n: int = 120, seed: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    m = 0.5 * x + rng.normal(size=n)
    return pd.DataFrame({"x": x, "m": m, "y": 0.4 * m + rng.normal(size=n)})


@pytest.fixture(scope="module")
def found():
    data = mediation()
    return dt.bootstrap(dt.sem(data, MEDIATION), data, n_boot=400, seed=1)


def test_standard_errors_are_near_those_of_theory(found):
    table = found.parameters().set_index("label")
    theory = found.fit.parameters.set_index("label")
    for label in ("a", "b", "ab"):
        assert table.loc[label, "se"] == pytest.approx(theory.loc[label, "se"], rel=0.25)
        assert table.loc[label, "ci.lower"] < table.loc[label, "est"] < table.loc[label, "ci.upper"]


def test_the_defined_parameter_is_that_of_each_resample(found):
    rows = list(found.fit.parameters["label"])
    a, b, ab = (found.values[:, rows.index(label)] for label in ("a", "b", "ab"))
    assert ab == pytest.approx(a * b)


def test_basic_intervals_mirror_those_of_percentiles(found):
    percentile, basic = found.parameters("percentile"), found.parameters("basic")
    mirrored = 2 * percentile["est"] - percentile["ci.upper"]
    assert basic["ci.lower"].to_numpy() == pytest.approx(mirrored.to_numpy())


def test_acceleration_of_a_mean_is_a_sixth_of_its_skewness():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.exponential(size=150), "y": rng.normal(size=150)})
    fit = dt.sem(data, "x ~~ y; x ~ 1")
    found = dt.bootstrap(fit, data, n_boot=30, seed=1)
    d = data["x"].to_numpy() - data["x"].mean()
    wanted = (d**3).sum() / (6 * (d**2).sum() ** 1.5)
    table = fit.parameters
    row = table.index[(table["lhs"] == "x") & (table["op"] == "~1")][0]
    assert found.acceleration[row] == pytest.approx(wanted, rel=1e-6)


def test_workers_and_a_second_try_do_not_show(found, tmp_path):
    data = mediation()
    fit = dt.sem(data, MEDIATION)
    file = tmp_path / "boot.jsonl"
    one = dt.bootstrap(fit, data, n_boot=40, seed=3, n_jobs=2)
    two = dt.bootstrap(fit, data, n_boot=25, seed=3, checkpoint=file)
    lines = len(file.read_text().splitlines())
    three = dt.bootstrap(fit, data, n_boot=40, checkpoint=file)
    assert len(file.read_text().splitlines()) == lines + 15
    assert np.array_equal(one.values[:25], two.values)
    assert np.array_equal(one.values, three.values)
    assert np.array_equal(one.acceleration, three.acceleration)
    with pytest.raises(InputError, match="begun by another call"):
        dt.bootstrap(fit, data, n_boot=40, seed=4, checkpoint=file)


def test_a_bootstrap_can_be_saved(found, tmp_path):
    found.save(tmp_path / "boot.dtstat")
    again = dt.load(tmp_path / "boot.dtstat")
    pd.testing.assert_frame_equal(again.parameters("bca"), found.parameters("bca"))
    assert "<table>" in found._repr_html_()


def test_factors_without_a_marker_do_not_turn_round():
    data = dt.load_dataset("holzinger_swineford_9")
    fit = dt.cfa(data, "visual =~ x1 + x2 + x3; speed =~ x7 + x8 + x9", std_lv=True)
    found = dt.bootstrap(fit, data, n_boot=40, seed=1)
    loadings = found.values[:, :6]
    assert (loadings > -0.2).all()


@pytest.mark.parametrize("group", [None, "school"])
def test_in_transformed_rows_the_model_holds(group):
    data = dt.load_dataset("holzinger_swineford_9")
    data["school"] = np.resize(["p", "g", "g"], len(data))
    fit = dt.cfa(data, TWO, group=group)
    frame = _rows(fit, data)
    holds = _transformed(fit, frame)
    assert dt.cfa(holds, TWO, group=group).fit_measures["chisq"] == pytest.approx(0, abs=1e-6)
    assert _Refit(fit, frame, 1, holds)(("test", 0)) is not None


@pytest.mark.long
def test_bollen_stine_rejects_a_wrong_model_and_keeps_a_right_one():
    data = dt.load_dataset("holzinger_swineford_9")
    wrong = dt.cfa(data, "f =~ x1 + x2 + x3 + x4 + x5 + x6")
    assert dt.bootstrap(wrong, data, n_boot=60, seed=1, test=True).pvalue < 0.05
    right = dt.sem(mediation(), "m ~ x; y ~ m")  # nothing but m leads from x to y
    found = dt.bootstrap(right, mediation(), n_boot=200, seed=1, test=True)
    assert "Bollen-Stine test" in str(found.summary())
    # the mean of a chi-square is its degrees of freedom; its standard error here 0.1
    assert found.test_chisq.mean() == pytest.approx(right.fit_measures["df"], abs=0.4)
    assert found.pvalue > 0.01


def test_resamples_that_cannot_be_fitted_are_counted():
    data = mediation(40).assign(rare=(np.arange(40) == 3) * 1.0)
    fit = dt.sem(data, "y ~ m + rare")
    with pytest.warns(EstimationWarning, match="could not be fitted and are left out"):
        found = dt.bootstrap(fit, data, n_boot=60, seed=1)
    assert 0 < found.n_failed < 60


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fit": "fit"}, "must be a result"),
        ({"n_boot": 1}, "`n_boot`"),
        ({"seed": -1}, "`seed`"),
        ({"test": 3}, "`test`"),
        ({"test": True}, "degrees of freedom"),
        ({"data": mediation(seed=9)}, "not the data of the fit"),
        ({"data": mediation().drop(columns="y")}, "no column 'y'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(given, message):
    data = mediation()
    usual = {"fit": dt.sem(data, MEDIATION), "data": data, "n_boot": 5}
    with pytest.raises(InputError, match=message):
        dt.bootstrap(**{**usual, **given})


def test_intervals_have_names_and_levels(found):
    with pytest.raises(InputError, match="`interval`"):
        found.parameters("student")
    with pytest.raises(InputError, match="`level`"):
        found.parameters(level=95)
