"""Regressions with factors: against sem, brute force, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from statsmodels.base.model import LikelihoodModelResults

import dtstat as dt

KEYS = {"F1": ["a1", "a2", "a3", "a4"], "F2": ["b1", "b2", "b3"]}
ITEMS = [name for names in KEYS.values() for name in names]
CUTS = [-1.0, -0.3, 0.5, 1.2]
MODEL = "F1 =~ a1 + a2 + a3 + a4\nF2 =~ b1 + b2 + b3\n"


def survey(n, cuts=None, seed=3):
    """Two factors, age, a group and a wage with skewed errors."""
    rng = np.random.default_rng(seed)
    age, group = rng.normal(40, 10, n), rng.random(n) < 0.4
    F2 = 0.03 * (age - 40) + rng.normal(0, 0.9, n)
    F1 = 0.5 * F2 + 0.4 * group + rng.normal(0, 0.8, n)
    wage = 500 + 90 * F1 + 40 * F2 + rng.exponential(80, n)
    columns = {}
    for F, names in ((F1, KEYS["F1"]), (F2, KEYS["F2"])):
        for k, name in enumerate(names):
            x = (0.85 - 0.1 * k) * F + rng.normal(0, 0.6, n)
            columns[name] = x if cuts is None else np.digitize(x, cuts)
    text = np.where(group, "urban", "rural")
    return pd.DataFrame(columns | {"age": age, "group": text, "wage": wage})


def fitted(data, **options):
    return dt.fit(data[ITEMS], structure=dt.Structure.from_keys(KEYS), **options)


@pytest.mark.parametrize(
    ("formula", "model"),
    [
        ("F1 ~ age + C(group) + F2", "F1 ~ age + urban + F2\nF2 ~~ age + urban"),
        ("wage ~ F1 + F2 + age", "wage ~ F1 + F2 + age\nF1 ~~ age\nF2 ~~ age\nage ~~ age"),
        ("F2 ~ age", "F2 ~ age\nF1 ~~ F2 + age\nage ~~ age"),
    ],
)
def test_equals_sem_on_the_same_model(formula, model):
    data = survey(2000)
    data = data.assign(urban=(data["group"] == "urban").astype(float), wage=data["wage"] / 100)
    if "urban" in model:
        model += "\nage ~~ age + urban\nurban ~~ urban"
    found = dt.regress(formula, fitted(data, estimator="linear"), data)
    joint = dt.sem(data, MODEL + model)
    table = joint.parameters
    rows = table[(table["op"] == "~") & (table["lhs"] == found.outcome)].set_index("rhs")
    ours = found.params.rename({"C(group)[T.urban]": "urban"})
    errors = found.bse.rename({"C(group)[T.urban]": "urban"})
    for name, row in rows.iterrows():
        share = row["std.lv"] / row["est"]
        assert ours[name] == pytest.approx(row["std.lv"], abs=1e-2)
        # those of sem are of unscaled factors, and rely on normal errors
        assert errors[name] == pytest.approx(row["se"] * abs(share), rel=0.15)


@pytest.mark.parametrize(
    ("cuts", "formula"),
    [
        (None, "F1 ~ age + C(group) + F2"),
        pytest.param(CUTS, "F1 ~ age + C(group) + F2", marks=pytest.mark.long),
        pytest.param(CUTS, "wage ~ F1 + F2 + age", marks=pytest.mark.long),
    ],
)
def test_errors_are_those_of_leaving_rows_out(cuts, formula):
    """The jackknife, in which no derivative takes part."""
    n = 120
    data = survey(n, cuts)
    fit = fitted(data, estimator="linear" if cuts is None else "copula")
    found = dt.regress(formula, fit, data)
    without = np.array(
        [dt.regress(formula, fit, data.drop(index=k)).params.to_numpy() for k in range(n)]
    )
    jackknife = (n - 1) * without.var(axis=0)
    assert np.sqrt(jackknife) == pytest.approx(found.bse.to_numpy(), rel=0.1)


def test_is_unbiased_where_scores_are_not():
    data = survey(4000, CUTS, seed=8)
    fit = fitted(data)
    found = dt.regress("F1 ~ F2", fit, data)
    scores = smf.ols("F1 ~ F2", data.join(fit.factor_scores(data))).fit()
    truth = fit.factor_correlations.loc["F1", "F2"]
    assert found.params["F2"] == pytest.approx(truth, abs=1e-8)
    assert abs(scores.params["F2"] - truth) > 5 * found.bse["F2"]


def test_result_has_what_statsmodels_has():
    data = survey(400, CUTS)
    data.loc[:9, "age"] = np.nan
    found = dt.regress("F1 ~ age + C(group) + F2", fitted(data), data)
    assert isinstance(found, LikelihoodModelResults)
    names = ["Intercept", "C(group)[T.urban]", "age", "F2"]
    assert list(found.params.index) == list(found.bse.index) == list(found.pvalues.index) == names
    low, high = found.conf_int().loc["F2"]
    assert low < found.params["F2"] < high
    assert (found.nobs, found.n_given, found.df_resid) == (390, 400, 386)
    assert np.allclose(np.sqrt(np.diag(found.cov_params())), found.bse)
    one = found.t_test("F2 = 0")
    assert float(one.tvalue.item()) == pytest.approx(found.tvalues["F2"])
    assert float(found.wald_test("F2 = 0").statistic) == pytest.approx(found.tvalues["F2"] ** 2)
    with pytest.raises(dt.InputError, match="`yname` must be a text"):
        found.summary(yname=pd.DataFrame({"a": [1]}))
    text = str(found.summary())
    assert "10 of 400 rows were left out" in text
    assert "invariance()" in text
    assert repr(found) == text
    assert list(found.table().columns) == ["coef", "std err", "t", "p", "lower", "upper"]


def test_rsquared_is_the_share_explained():
    data = survey(3000)
    found = dt.regress("F1 ~ F2", fitted(data), data)
    assert found.rsquared == pytest.approx(found.params["F2"] ** 2)
    assert found.scale == pytest.approx(1 - found.rsquared)


@pytest.mark.parametrize("cuts", [None, CUTS], ids=["numbers", "ratings"])
def test_units_and_order_of_columns_do_not_matter(cuts):
    data = survey(300, cuts)
    fit = fitted(data)
    first = dt.regress("wage ~ F1 + age", fit, data)
    other = data.assign(age=data["age"] * 1e6, wage=data["wage"] / 1e3)[data.columns[::-1]]
    second = dt.regress("wage ~ F1 + age", fit, other)
    scale = np.array([1e-3, 1e-3, 1e-9])
    assert second.params.to_numpy() == pytest.approx(first.params.to_numpy() * scale, rel=1e-5)
    assert second.bse.to_numpy() == pytest.approx(first.bse.to_numpy() * scale, rel=1e-5)


def test_a_saved_fit_says_the_same(tmp_path):
    data = survey(300, CUTS)
    fit = fitted(data)
    fit.save(tmp_path / "fit.dtstat")
    again = dt.regress("F1 ~ age", dt.load(tmp_path / "fit.dtstat"), data)
    assert again.params.to_numpy() == pytest.approx(
        dt.regress("F1 ~ age", fit, data).params.to_numpy(), abs=1e-8
    )


def test_new_rows_have_loadings_of_their_own():
    fit = fitted(survey(400, CUTS))
    found = dt.regress("F1 ~ age", fit, survey(400, CUTS, seed=4))
    assert any("not all the fit's" in note for note in found.notes)


def test_keys_are_a_structure():
    data = survey(300)
    found = dt.regress("F1 ~ age", KEYS, data)
    assert found.params["age"] == pytest.approx(
        dt.regress("F1 ~ age", fitted(data), data).params["age"], abs=1e-8
    )


REFUSED = {
    "F1 ~ F1:age": "multiplies it",
    "wage ~ F1 * F2": "multiplies it",
    "F1 ~ np.log(F2)": "transforms the factor",
    "F1 ~": "cannot be used",
    "f1 ~ age": "must name a factor",
    "F1 ~ agee": "Did you mean 'age'",
    "wage ~ age": "must name a factor",
    "F1 ~ a1": "an item that measures factors",
    "group ~ F1": "has categories",
    "yes ~ F1": "fewer than three values",
    "F1 ~ age - 1": "must have an intercept",
    "F1 ~ 1": "no predictors",
    "F1 ~ same": "do not vary",
    "F1 ~ age + I(2 * age)": "is determined by the predictors before it",
    "F1 ~ F1": "has no predictors|both sides",
    "F1 + F2 ~ age": "one outcome",
    "F1 ~ age ~ wage": "one formula",
    "F1 ~ C(wage)": "at least",
    "F1 ~ huge": "infinite values",
}


@pytest.mark.parametrize("formula", REFUSED)
def test_refused_in_words(formula):
    data = survey(200, CUTS).assign(same="x", yes=np.arange(200) % 2, huge=np.inf)
    with pytest.raises(dt.InputError, match=REFUSED[formula]):
        dt.regress(formula, fitted(data), data)


def test_a_name_of_two_meanings_is_refused():
    data = survey(200)
    with pytest.raises(dt.InputError, match="a factor of the fit and a column of the data"):
        dt.regress("F1 ~ age", fitted(data), data.assign(F1=1.0))


def test_no_fit_is_refused():
    with pytest.raises(dt.InputError, match="`fit` must be"):
        dt.regress("F1 ~ age", 7, survey(100))
