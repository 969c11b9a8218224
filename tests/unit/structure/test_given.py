"""What may be given: covariance matrices, structures in all their forms, columns of any name."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.sem.model import build_model, check_model

NINE = dt.load_dataset("holzinger_swineford_9")
S = NINE.cov()
HS = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
KEYS = {"A": ["x1", "x2", "x3"], "B": ["x4", "x5", "x6"], "C": ["x7", "x8", "x9"]}


def refused(match):
    return pytest.raises(dt.InputError, match=match)


@pytest.mark.parametrize("form", [lambda x: x, np.asarray, lambda x: np.asarray(x).tolist()])
def test_a_covariance_matrix_is_never_people(form, tmp_path):
    given = form(S)
    for call in (dt.fit, dt.dependence, dt.solution_path, dt.kmo, dt.items, dt.stability):
        with refused(r"got a symmetric 9 × 9 matrix, such as covariances.*from_matrix"):
            call(given)
    for call in (lambda x: dt.cfa(x, HS), lambda x: dt.efa(x, 3), dt.parallel_analysis):
        with refused("is a covariance matrix: say how many rows it rests on with `n_obs`"):
            call(given)
    file = tmp_path / "S.csv"
    S.to_csv(file)
    with refused("got a symmetric 9 × 9 matrix, such as covariances"):
        dt.fit(file)
    assert dt.cfa(file, HS, n_obs=301).fit_measures == pytest.approx(
        dt.cfa(given, HS, n_obs=301).fit_measures, rel=1e-6
    )


def test_a_covariance_matrix_with_rows_is_its_correlations():
    R = dt.DependenceMatrix.from_matrix(NINE.corr(), 301)
    for given in (S, S.to_numpy()):
        fit = dt.fit(given, n_obs=301)
        assert fit.call.measure == "pearson"
        np.testing.assert_allclose(fit.loadings, dt.fit(R).loadings, atol=1e-6)
        efa = dt.efa(given, 3, n_obs=301)
        np.testing.assert_allclose(efa.loadings, dt.efa(R, 3).loadings, atol=1e-6)
    with refused("holds correlations; say which kind"):
        dt.fit(NINE.corr(), n_obs=301)  # which correlations they are has to be said
    with refused("`n_obs` must be left out with answers"):
        dt.cfa(NINE, HS, n_obs=301)
    with refused("the variance of 'x2' on its diagonal is -1"):
        bad = S.copy()
        bad.iloc[1, 1] = -1
        dt.cfa(bad, HS, n_obs=301)


@pytest.mark.parametrize(
    ("measure", "advice"),
    [
        ("polychoric", "Give the data with ordered=True"),
        ("mixed", "Give the data with ordered=True"),
        ("spearman", r"Give the data, or use fit\("),
        ("kendall", r"Give the data, or use fit\("),
        ("distance", "say measure='pearson'"),
        ("agreement", "say measure='pearson'"),
    ],
)
def test_normal_theory_is_for_pearson_correlations(measure, advice):
    matrix = dt.DependenceMatrix.from_matrix(NINE.corr(), 301, measure)
    with refused(f"a matrix of {measure} dependence, and the tests.*{advice}"):
        dt.cfa(matrix, HS)


def test_pairs_on_different_rows_have_no_chi_square():
    gaps = NINE.copy()
    gaps.iloc[:40, 0] = np.nan
    matrix = dt.dependence(gaps, "pearson")
    with refused(r"pairs rest on different rows \(261 to 301\).*missing='fiml'"):
        dt.cfa(matrix, HS)
    part = "textual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"  # whose items have no gaps
    assert dt.cfa(matrix, part).fit_measures == pytest.approx(
        dt.cfa(dt.dependence(NINE, "pearson"), part).fit_measures
    )
    listwise = dt.cfa(dt.dependence(gaps, "pearson", missing="listwise"), HS)
    assert listwise.fit_measures["chisq"] == pytest.approx(dt.cfa(gaps, HS).fit_measures["chisq"])


@pytest.mark.parametrize(
    ("model", "std_lv", "free"),
    [
        ("f =~ x1 + x2 + x3 + x4", False, True),
        ("f =~ x1 + x2 + x3 + x4", True, True),
        ("f =~ 2*x1 + x2 + x3 + x4", False, True),
        ("f =~ x1 + x2 + x3 + x4\nx1 ~~ 0*x2", False, True),
        ("f =~ x1 + x2 + x3\ng =~ x4 + x5 + x6\nf ~~ 0*g", False, True),
        ("f =~ x1 + x2 + x3\ng =~ x4 + x5 + x6\nf ~~ 0.3*g", True, True),
        ("f =~ x1 + x2 + x3\ng =~ x4 + x5 + x6\nf ~~ 0.3*g", False, False),
        ("f =~ x1 + 1*x2 + x3 + x4", False, False),
        ("f =~ 0.5*x1 + x2 + x3 + x4", True, False),
        ("f =~ x1 + a*x2 + a*x3 + x4", False, False),
        ("f =~ x1 + x2 + x3 + x4\nx1 ~~ a*x1\nx2 ~~ a*x2", False, False),
        ("f =~ x1 + x2 + x3 + x4\nx1 ~~ 0.5*x1", False, False),
        ("f =~ x1 + x2 + x3\ng =~ x4 + x5 + x6\ng ~ 0.5*f", False, False),
    ],
)
def test_models_that_depend_on_scales_need_covariances(model, std_lv, free):
    """A model holds for correlations if its chi-square is the same on other scales."""
    built = build_model(model, list(NINE.columns), std_lv=std_lv)
    check_model(built, "covariances")
    if not free:
        with refused("depends on the scales of the items, and correlations have none"):
            check_model(built, "correlations")
    else:
        check_model(built, "correlations")
    scales = np.array([2, 3, 0.2, 5, 1, 2, 0.5, 4, 1])
    chisq = dt.cfa(NINE, model, std_lv=std_lv).fit_measures["chisq"]
    other = dt.cfa(NINE * scales, model, std_lv=std_lv).fit_measures["chisq"]
    assert (abs(chisq - other) < 1e-4) == free


def test_means_need_rows():
    with refused("`model` has intercepts, and a matrix says nothing of means"):
        dt.cfa(S, HS + "\nx1 ~ 1", n_obs=301)
    with refused("`model` has intercepts, and a matrix says nothing of means"):
        dt.cfa(S, HS, mean_structure=True, n_obs=301)


def test_the_summary_says_what_was_analyzed():
    assert "covariances of 301 rows" in repr(dt.cfa(S, HS, n_obs=301))
    assert "Data: a covariance matrix." in str(dt.cfa(S, HS, n_obs=301).summary())
    assert "Data: Pearson correlations" in str(dt.cfa(NINE.corr(), HS, n_obs=301).summary())
    assert "Data:" not in str(dt.cfa(NINE, HS).summary())


def test_rows_of_a_matrix_are_told_once():
    matrix = dt.DependenceMatrix.from_matrix(NINE.corr())
    with refused("how many rows the matrix rests on"):
        dt.cfa(matrix, HS)
    assert dt.cfa(matrix, HS, n_obs=301).n_obs == 301
    with refused("`n_obs` must be left out with this matrix; got 100"):
        dt.cfa(dt.dependence(NINE, "pearson"), HS, n_obs=100)


def test_a_structure_in_all_its_forms():
    structure = dt.Structure.from_keys(KEYS)
    text = structure.to_lavaan()
    fit = dt.fit(NINE, structure=KEYS)
    forms = [structure, KEYS, text, fit, dt.cfa(NINE, text)]
    for form in forms:
        assert dt.compare(form, structure).exact
        assert dt.fit(NINE, structure=form).structure == structure
        assert dt.margin(NINE, form).value == dt.margin(NINE, structure).value
        assert dt.cfa(NINE, form).fit_measures["chisq"] == pytest.approx(85.3055, abs=1e-3)
    for call in (
        lambda: dt.cfa(NINE, 3),
        lambda: dt.fit(NINE, structure=3),
        lambda: dt.margin(NINE, 3),
        lambda: dt.compare(3, structure),
    ):
        with refused("must be a Structure, a fit, a dict from factor to items, or lavaan's syntax"):
            call()


def test_columns_are_found_by_the_names_r_gives_them():
    odd = NINE.rename(columns={"x1": "a b", "x2": "2nd"})
    text = "f =~ a.b + X2nd + x3\nf ~~ f\nx3 ~~ a.b"
    fit = dt.cfa(odd, "f =~ a.b + X2nd + x3")
    assert fit.item_names == ("a b", "2nd", "x3")
    assert list(fit.factor_scores(odd).columns) == ["f"]
    with refused("'a.b', which may be the column 'a b' or 'a!b'"):
        dt.cfa(odd.rename(columns={"x4": "a!b"}), text)
    with refused("names 'a.c', which is neither an item of the data nor a factor"):
        dt.cfa(odd, "f =~ a.c + x3 + x4")


def test_factors_point_the_same_way_everywhere():
    """The first item of each factor is answered the other way round."""
    data = NINE.copy()
    data[["x1", "x4", "x7"]] *= -1
    fit = dt.fit(data)
    assert fit.to_keys() == {
        "F1": ["-x1", "x2", "x3"],
        "F2": ["-x4", "x5", "x6"],
        "F3": ["-x7", "x8", "x9"],
    }
    scores = fit.factor_scores(data)
    models = [fit, fit.structure, fit.to_keys(), fit.to_lavaan()]
    for model in models:
        for std_lv in (False, True):
            confirmed = dt.cfa(data, model, std_lv=std_lv)
            again = confirmed.factor_scores(data)
            for name in fit.factor_names:
                assert np.corrcoef(scores[name], again[name])[0, 1] > 0.9
            assert confirmed.structure.to_keys().keys() == fit.to_keys().keys()
            assert {frozenset(v) for v in confirmed.structure.to_keys().values()} == {
                frozenset(v) for v in fit.to_keys().values()
            }


def test_orientation_of_factors_without_markers_follows_the_structure():
    """The first item hardly loads, so that it cannot say where the factor points."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=500)
    X = z[:, None] * [0.02, -0.8, -0.8, -0.7] + rng.normal(size=(500, 4)) * 0.6
    data = pd.DataFrame(X, columns=list("abcd"))
    for key, sign in ((["a", "b", "c", "d"], 1), (["a", "-b", "-c", "-d"], -1)):
        fit = dt.cfa(data, {"F": key}, std_lv=True)
        assert (np.sign(fit.loadings["F"][1:]) == sign).all()
        assert (fit.parameters["se"].fillna(0) >= 0).all()


def test_orientation_survives_saving(tmp_path):
    data = NINE.copy()
    data["x1"] *= -1
    fit = dt.fit(data)
    fit.save(tmp_path / "fit.dtstat")
    again = dt.load(tmp_path / "fit.dtstat")
    assert again.structure.to_keys() == fit.to_keys()
    confirmed = dt.cfa(data, again, std_lv=True)
    confirmed.save(tmp_path / "cfa.dtstat")
    loaded = dt.load(tmp_path / "cfa.dtstat")
    assert loaded.structure.to_keys() == confirmed.structure.to_keys()
    assert loaded.estimate.source == "rows"


def test_headlines_of_robust_estimators_are_scaled():
    fit = dt.cfa(NINE, HS, estimator="mlr")
    m, row = fit.fit_measures, fit.glance().iloc[0]
    assert f"scaled chisq(24) = {m['chisq.scaled']:.3f} (yuan.bentler.mplus)" in repr(fit)
    assert f"scaled CFI {m['cfi.scaled']:.3f}, scaled RMSEA {m['rmsea.scaled']:.3f}" in repr(fit)
    assert repr(fit).partition("; ")[2] in str(fit.summary()).splitlines()[1]
    for name in ("chisq", "cfi", "tli", "rmsea"):
        assert row[name] == m[f"{name}.scaled"] != m[name]
    assert row["rmsea.conf.high"] == m["rmsea.ci.upper.scaled"]
    assert row["test"] == "yuan.bentler.mplus"
    plain = dt.cfa(NINE, HS)
    assert (plain.glance()["test"].iloc[0], "scaled" in repr(plain)) == ("standard", False)
    assert plain.glance()["chisq"].iloc[0] == plain.fit_measures["chisq"]
