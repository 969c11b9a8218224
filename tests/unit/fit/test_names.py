"""Other names and signs of factors, and texts of items, wherever a fit goes."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import InputError
from dtstat.fit.request import python_code, r_code
from dtstat.page.content import page_numbers

LIKERT = dt.load_dataset("likert_survey")


@pytest.fixture(scope="module")
def fit():
    return dt.fit(LIKERT)


@pytest.fixture(scope="module")
def turned(fit):
    return fit.rename({"F1": "Engagement"}).reflect(["Engagement", "F3"])


SIGNS = np.array([-1, 1, -1, 1])


def test_names_and_signs_are_in_every_table(fit, turned):
    assert turned.factor_names == ("Engagement", "F2", "F3", "F4")
    np.testing.assert_array_equal(turned.loadings, fit.loadings.to_numpy() * SIGNS)
    Phi = fit.factor_correlations.to_numpy() * np.outer(SIGNS, SIGNS)
    np.testing.assert_array_equal(turned.factor_correlations, Phi)
    np.testing.assert_array_equal(turned.loading_errors, fit.loading_errors)
    assert list(turned.factors["factor"]) == list(turned.factor_names)
    tidy = turned.tidy().set_index("term")["estimate"]
    assert tidy["Engagement =~ engage_6"] == -fit.loadings.loc["engage_6", "F1"]
    assert "Engagement" in str(turned.summary())
    assert fit.factor_names[0] == "F1"  # the old one is as it was


def test_scores_fit_and_residuals(fit, turned):
    scores = fit.factor_scores(LIKERT, sd=True)
    others = turned.factor_scores(LIKERT, sd=True)
    np.testing.assert_array_equal(others.iloc[:, :4], scores.iloc[:, :4].to_numpy() * SIGNS)
    np.testing.assert_array_equal(others.iloc[:, 4:], scores.iloc[:, 4:])
    assert list(turned.augment(LIKERT))[-4] == "Engagement_score"
    assert turned.fit_measures == fit.fit_measures
    np.testing.assert_array_equal(turned.residuals(), fit.residuals())


def test_curves_run_backwards(fit, turned):
    curves, others = fit.response_curves(), turned.response_curves()
    one = curves[curves["item"] == "engage_2"]
    two = others[others["item"] == "engage_2"]
    np.testing.assert_array_equal(one["z"], two["z"])
    np.testing.assert_array_equal(one["value"], two["value"][::-1])
    assert others["factor"].unique().tolist() == list(turned.factor_names)


def test_reflecting_twice_is_nothing(fit, turned):
    assert turned.reflect(turned.factor_names[::2]).signs == ()
    assert fit.reflect([]).signs == ()


@pytest.mark.parametrize("std_lv", [False, True])
def test_models_point_the_same_way(turned, std_lv):
    model = dt.cfa(LIKERT, turned, std_lv=std_lv)
    same = np.sign(turned.loadings) == np.sign(model.loadings.loc[list(turned.item_names)])
    assert same.all(axis=None)
    again = dt.cfa(LIKERT, turned.to_lavaan(), std_lv=std_lv)
    if not std_lv:  # a text does not say which way a factor of variance 1 points
        pd.testing.assert_frame_equal(again.loadings, model.loadings)


def test_a_given_structure_keeps_its_orientation(turned):
    again = dt.fit(LIKERT, structure=turned)
    assert again.signs == tuple(SIGNS)
    assert again.to_keys() == turned.to_keys()
    assert dt.fit(LIKERT, structure=turned.to_keys()).signs == tuple(SIGNS)


def test_levels_are_named_and_turned_after_the_fit(fit, turned):
    below = turned.level(2)
    plain = fit.level(2)
    joined = next(name for name in below.factor_names if "Engagement" in name)
    k = below.factor_names.index(joined)
    np.testing.assert_array_equal(below.loadings[joined], -plain.loadings.iloc[:, k])
    row, other = turned.levels.iloc[3], fit.levels.iloc[3]
    first, second = row["joins"].split(" and ")
    assert row["correlation"] == pytest.approx(
        other["correlation"] * SIGNS[list(turned.factor_names).index(first)]
        * SIGNS[list(turned.factor_names).index(second)]
    )  # fmt: skip


def test_a_file_keeps_names_signs_and_texts(turned, tmp_path):
    turned.save(tmp_path / "fit.dtstat")
    loaded = dt.load(tmp_path / "fit.dtstat")
    assert loaded.factor_names == turned.factor_names
    assert loaded.item_texts == turned.item_texts
    pd.testing.assert_frame_equal(loaded.loadings, turned.loadings)


def test_the_code_that_reproduces_it(turned):
    assert python_code(turned).endswith(
        'fit = fit.rename(["Engagement", "F2", "F3", "F4"])\n'
        'fit = fit.reflect(["Engagement", "F3"])'
    )
    assert r_code(turned).endswith('fit <- dt_reflect(fit, c("Engagement", "F3"))')
    scope = {"data": LIKERT}
    exec(python_code(turned), scope)
    pd.testing.assert_frame_equal(scope["fit"].loadings, turned.loadings)


def test_trust_uses_the_names(turned):
    assert list(dt.diagnose(turned).factors["factor"]) == list(turned.factor_names)
    stable = dt.stability(LIKERT, n_boot=3, fit=turned, seed=1)
    assert list(stable.factors["factor"]) == list(turned.factor_names)
    assert "Statement 1 of the scale" in str(stable.summary())


def test_spline_curves_are_turned_exactly():
    data = dt.simulate("chain", n=300, seed=3).data
    keys = {"A": ["x1", "x2", "x3"], "B": ["x6", "x7", "x8", "x3"]}
    fit = dt.fit(data, structure=keys, estimator="spline", seed=1)
    other = fit.reflect(["B"])
    signs = np.array([1, -1])
    np.testing.assert_array_equal(other.loadings, fit.loadings * signs)
    np.testing.assert_array_equal(other.factor_scores(data), fit.factor_scores(data) * signs)
    slopes, same = fit.nonlinear_loadings, other.nonlinear_loadings
    turned = slopes["factor"] == "B"
    np.testing.assert_array_equal(
        same["loading"], slopes["loading"].where(~turned, -slopes["loading"])
    )
    np.testing.assert_array_equal(same["slope"], slopes["slope"])
    a, b = (f.response_curves().query("factor == 'B' and item == 'x6'") for f in (fit, other))
    for column in ("value", "lower", "upper"):
        np.testing.assert_array_equal(a[column], b[column][::-1])


def test_texts_are_in_tables_pictures_and_the_page(fit):
    text = LIKERT.attrs["item_texts"]["engage_6"]
    assert text in str(fit.summary())
    assert text in fit.summary().to_html()
    assert page_numbers(fit)["texts"][5] == text
    assert "Statement 1 of the scale growth" in str(dt.efa(LIKERT, 4).summary())
    assert text in str(dt.cfa(LIKERT, fit).factor_table())
    bare = pd.DataFrame(LIKERT.to_numpy(), columns=LIKERT.columns)
    assert text in str(dt.cfa(bare, fit).factor_table())  # from the fit
    assert text not in str(dt.fit(bare).summary())
    assert dt.fit(bare, labels={"engage_6": "Asked"}).item_texts == {"engage_6": "Asked"}


def test_long_texts_are_cut_in_print_alone():
    long = "Do you agree, on the whole, " * 8 + "that this is a long question?"
    fit = dt.fit(dt.load_dataset("holzinger_swineford_9"), labels={"x2": long})
    printed = str(fit.summary())
    assert "Do you agree, on the whole" in printed
    assert long not in printed
    loadings = printed.split("(pattern matrix)")[1].split("Mean item")[0]
    assert max(map(len, loadings.splitlines())) <= 100
    assert long in fit.summary().to_html()
    assert long in fit.summary().to_latex()


@pytest.mark.parametrize("kind", ["diagram", "tree", "loadings", "curves"])
def test_pictures_show_texts_on_request(fit, kind):
    def texts(drawn):
        figure = getattr(drawn, "figure", drawn)
        figure.canvas.draw()
        found = [a.get_title(loc="left") for a in figure.axes]
        found += [t.get_text() for a in figure.axes for t in [*a.texts, *a.get_yticklabels()]]
        return " ".join(found)

    assert "Statement 2 of the scale" not in texts(fit.plot(kind))
    assert "Statement 2 of the scale" in texts(fit.plot(kind, texts=True))
    with pytest.raises(InputError, match="texts of the items, which are not known"):
        dt.fit(LIKERT.to_numpy()).plot(kind, texts=True)


def test_names_are_suggested_and_never_applied(fit):
    assert fit.suggest_names()["F1"] == "Engage"
    assert fit.factor_names[0] == "F1"
    with pytest.raises(InputError, match="labels="):
        dt.fit(LIKERT.to_numpy()).suggest_names()


def test_an_exploratory_solution_is_renamed_and_reflected():
    efa = dt.efa(LIKERT, 4)
    other = efa.rename({"F2": "second"}).reflect("second")
    signs = np.array([1, -1, 1, 1])
    np.testing.assert_array_equal(other.loadings, efa.loadings * signs)
    np.testing.assert_array_equal(
        other.factor_correlations, efa.factor_correlations * np.outer(signs, signs)
    )
    pd.testing.assert_series_equal(other.communalities, efa.communalities)
    structure = other.to_structure(0.4)
    assert structure.reversed.sum(axis=0)[1] == len(structure.children("second")) - 1


@pytest.mark.parametrize("method", ["regression", "bartlett", "eap"])
def test_scores_of_every_method_turn_with_the_factor(method):
    data = dt.load_dataset("holzinger_swineford_9")
    fit = dt.fit(data)
    turned = fit.reflect(["F2"])
    before, after = (one.factor_scores(data, method, sd=True) for one in (fit, turned))
    after["F2"] *= -1
    pd.testing.assert_frame_equal(before, after)


def test_draws_and_regressions_turn_with_the_factor():
    data = dt.load_dataset("holzinger_swineford_9", people=True)
    fit = dt.fit(data.drop(columns=["school", "age"], errors="ignore"))
    turned = fit.reflect(["F2"])
    before, after = (one.plausible_values(data, 400, seed=1).mean() for one in (fit, turned))
    scores = fit.factor_scores(data, "eap").mean()
    assert after["F2"] == pytest.approx(-scores["F2"], abs=0.02)
    assert before["F2"] == pytest.approx(scores["F2"], abs=0.02)
    slopes = [dt.regress("F2 ~ F1", one, data).params["F1"] for one in (fit, turned)]
    assert slopes[0] == pytest.approx(-slopes[1], abs=1e-9)


def test_new_names_that_are_given_first_are_turned_round_in_the_message(fit):
    with pytest.raises(dt.InputError, match=r"Turn it round: \{'F1': 'Engagement'\}"):
        fit.rename({"Engagement": "F1"})
