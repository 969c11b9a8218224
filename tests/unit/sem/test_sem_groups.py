"""Models in groups: tables, equal parameters, refusals."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import EstimationError, EstimationWarning, InputError
from dtstat.sem.model import build_model

MODEL = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6"
ITEMS = [f"x{k}" for k in range(1, 10)]


@pytest.fixture(scope="module")
def data():
    table = dt.load_dataset("holzinger_swineford_9")
    return table.assign(school=["Pasteur"] * 156 + ["Grant-White"] * 145)


@pytest.fixture(scope="module")
def fit(data):
    return dt.cfa(data, MODEL, group="school", group_equal=["loadings"])


def labels(text=MODEL, **options):
    model = build_model(text, ITEMS, True, groups=("g", "h"), **options)
    return {(row.name, row.group): row for row in model.parameters}


def test_without_equal_parameters_groups_are_fitted_one_by_one(data):
    both = dt.cfa(data, MODEL, group="school")
    alone = [dt.cfa(part, MODEL, mean_structure=True) for _, part in data.groupby("school")]
    total = sum(one.fit_measures["chisq"] for one in alone)
    assert both.fit_measures["chisq"] == pytest.approx(total, rel=1e-8)
    assert both.fit_measures["df"] == sum(one.fit_measures["df"] for one in alone)
    pd.testing.assert_frame_equal(
        both.loadings.loc["Grant-White"], alone[0].loadings, rtol=1e-5, check_names=False
    )


def test_groups_of_the_same_rows_are_one_sample_twice(data):
    twice = pd.concat([data.assign(copy="a"), data.assign(copy="b")], ignore_index=True)
    kinds = ["loadings", "intercepts", "residuals", "means", "lv_variances", "lv_covariances"]
    equal = dt.cfa(twice, MODEL, group="copy", group_equal=kinds)
    once = dt.cfa(data, MODEL, mean_structure=True)
    assert equal.fit_measures["chisq"] == pytest.approx(2 * once.fit_measures["chisq"], rel=1e-8)
    assert equal.fit_measures["npar"] == once.fit_measures["npar"]
    ours, theirs = (one.parameters.query("op == '=~'")["est"].to_numpy() for one in (equal, once))
    np.testing.assert_allclose(ours, np.tile(theirs, 2), rtol=1e-6)


def test_equal_parameters_share_a_number():
    rows = labels(group_equal=("loadings", "intercepts"))
    assert rows["visual =~ x2", 1].free == rows["visual =~ x2", 2].free
    assert rows["x1 ~ 1", 1].free == rows["x1 ~ 1", 2].free
    assert rows["x1 ~~ x1", 1].free != rows["x1 ~~ x1", 2].free
    assert not rows["visual ~ 1", 1].free
    assert rows["visual ~ 1", 2].free


def test_with_equal_means_no_means_are_freed():
    rows = labels(group_equal=("loadings", "intercepts", "means"))
    assert not rows["visual ~ 1", 2].free


def test_equal_loadings_free_the_variances_that_std_lv_fixes():
    assert labels(std_lv=True, group_equal=("loadings",))["visual ~~ visual", 2].free
    assert not labels(std_lv=True)["visual ~~ visual", 2].free


def test_partial_parameters_stay_apart():
    rows = labels(group_equal=("loadings",), group_partial=("visual =~ x2",))
    assert rows["visual =~ x2", 1].free != rows["visual =~ x2", 2].free
    assert rows["visual =~ x3", 1].free == rows["visual =~ x3", 2].free


def test_written_labels_stay():
    rows = labels("visual =~ x1 + c(a, b)*x2 + x3", group_equal=("loadings",))
    assert (rows["visual =~ x2", 1].label, rows["visual =~ x2", 2].label) == ("a", "b")


def test_tables_name_the_groups(fit, data):
    assert list(fit.parameters["group"].unique()) == ["Pasteur", "Grant-White"]
    assert fit.loadings.loc["Pasteur"].shape == (6, 2)
    assert list(fit.tidy().columns[:3]) == ["term", "op", "group"]
    assert set(fit.modification_indices()["group"]) == {"Pasteur", "Grant-White"}
    assert fit.glance()["ngroups"].item() == 2
    text = fit.summary().to_text()
    assert "Latent Variables [Grant-White]:" in text
    assert "    Pasteur                                        156" in text
    assert "Group: Grant-White" in fit.factor_table(group="Grant-White").to_text()


def test_rows_are_scored_in_their_group(fit, data):
    scores = fit.factor_scores(data)
    means = scores.groupby(data["school"]).mean()
    assert np.abs(means.to_numpy()).max() < 1e-6  # intercepts are free, so factors have mean 0
    other = fit.factor_scores(data.assign(school="elsewhere"))
    assert other.isna().all(axis=None)


def test_a_fit_with_groups_is_saved_and_loaded(fit, tmp_path):
    fit.save(tmp_path / "groups.dtstat")
    pd.testing.assert_frame_equal(dt.load(tmp_path / "groups.dtstat").parameters, fit.parameters)


def test_rows_without_a_group_are_left_out(data):
    some = data.assign(school=data["school"].where(data.index > 4))
    with pytest.warns(EstimationWarning, match="5 rows were left out: they do not say"):
        assert dt.cfa(some, MODEL, group="school").n_obs == 296


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group": "shool"}, "Did you mean 'school'?"),
        ({"group": 3}, "`group` must be the name of a column"),
        ({"group_equal": "loadings"}, "`group_equal` says what groups have in common"),
        ({"group": "school", "group_equal": "loading"}, "Did you mean 'loadings'?"),
        ({"group": "school", "group_partial": "visual =~ x9"}, "which is no parameter"),
        ({"effect_coding": "means"}, "`effect_coding` must be"),
    ],
)
def test_refusals(data, options, message):
    with pytest.raises(InputError) as caught:
        dt.cfa(data, MODEL, **options)
    assert message in str(caught.value)


def test_one_group_is_none(data):
    with pytest.raises(InputError, match="two groups or more; 'school' has 1"):
        dt.cfa(data.head(100), MODEL, group="school")


def test_a_group_of_one_row_is_named(data):
    alone = data.assign(school=data["school"].where(data.index > 0, "Alone"))
    with pytest.raises(EstimationError, match="In group 'Alone': Maximum likelihood needs more"):
        dt.cfa(alone, MODEL, group="school")


def test_a_constant_item_is_named_with_its_group(data):
    flat = data.assign(x2=data["x2"].where(data["school"] == "Pasteur", 1.0))
    with pytest.raises(InputError, match="In group 'Grant-White': item 'x2' has only one distinct"):
        dt.cfa(flat, MODEL, group="school")
