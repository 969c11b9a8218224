"""Arguments of dt.fit, and data that are hardly any."""

import re

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import DTWarning

DATA = dt.load_dataset("holzinger_swineford_9")
MATRIX = dt.dependence(DATA)
SCALES = [{"x1", "x2", "x3"}, {"x4", "x5", "x6"}, {"x7", "x8", "x9"}]


def noise(n=200, p=6, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


def one_factor(n=200, p=6, seed=0, error=0.8):
    return noise(n, 1, seed + 100) + error * noise(n, p, seed)


def refused(match):
    return pytest.raises(dt.InputError, match=match)


# --- data ---------------------------------------------------------------------------------------


def test_independent_items_have_no_factor():
    fit = dt.fit(noise())
    assert fit.n_factors == 0
    assert fit.structure.uncovered == fit.item_names
    assert fit.explanation == "No factor: a model of independent items fits just as well."
    text = str(fit.summary())
    assert "no factor behind 6 items" in text
    assert "No structure describes the items better than independence." in text
    assert re.search(r"strongest dependence is 0\.\d{3} \(x\d with x\d\)", text)
    assert re.search(r"values up to about 0\.\d{3} come by chance", text)


def test_no_factor_has_every_result():
    X = noise()
    fit = dt.fit(X)
    assert fit.loadings.shape == (6, 0)
    assert fit.factor_correlations.shape == (0, 0)
    np.testing.assert_allclose(fit.uniquenesses, 1, atol=1e-6)
    assert fit.factor_scores(X).shape == (200, 0)
    assert list(fit.augment(X)) == list(fit.item_names)
    assert fit.tidy().empty
    assert fit.factors.empty
    assert fit.to_keys() == {}
    assert fit.to_lavaan() == ""
    assert fit.glance()["n_factors"].item() == 0
    assert set(fit.uncovered["reason"]) == {"there are no factors"}
    assert "0 factors" in repr(fit)


def test_one_factor():
    fit = dt.fit(one_factor())
    assert fit.structure == dt.Structure(np.ones((6, 1)))
    assert "1 factor behind 6 items" in str(fit.summary())
    assert fit.factor_correlations.to_numpy().tolist() == [[1.0]]


def test_three_items():
    fit = dt.fit(one_factor(p=3))
    assert fit.structure.children("F1") == ("x1", "x2", "x3")
    assert fit.fit_measures["df"] == 0
    text = str(fit.summary())
    assert "Not tested. The model has no degrees of freedom." in text
    assert "Chi-square" not in text


def test_two_items_are_no_factor_of_three():
    fit = dt.fit(one_factor(p=2), min_children=3)
    assert fit.n_factors == 0
    assert fit.explanation == "No factor: there are fewer items than a factor must have."
    assert "A factor needs 3 items; there are 2." in str(fit.summary())


def test_two_items_are_a_factor_if_they_depend():
    fit = dt.fit(one_factor(p=2))
    assert fit.to_keys() == {"F1": ["x1", "x2"]}
    assert dt.fit(noise(p=2)).n_factors == 0
    assert str(fit.summary())


def test_ten_rows():
    fit = dt.fit(one_factor(10))
    assert fit.n_obs == 10
    assert fit.n_effective <= 10
    assert str(fit.summary())


def test_fewer_rows_than_items_warn():
    three = np.repeat(noise(15, 3, 0), 8, axis=1) + 0.6 * noise(15, 24, 9)
    with pytest.warns(dt.EstimationWarning) as caught:
        fit = dt.fit(three)
    assert any("fewer rows (15) than items (24)" in str(one.message) for one in caught)
    assert any("fewer rows (15) than items (24)" in note for note in fit.notes)
    text = str(fit.summary())
    assert "Note:   There are fewer rows (15)" in text
    assert "Not tested. 24 items need at least 100 rows" in text
    assert "Chi-square" not in text


def test_an_item_given_twice_warns():
    X = one_factor()
    with pytest.warns(DTWarning) as caught:
        fit = dt.fit(np.column_stack([X, X[:, 0]]))
    said = {one.category: str(one.message) for one in caught}
    assert "'x1' and 'x7' determine each other" in said[dt.DataWarning]
    assert "explain x1, x7 without error" in said[dt.EstimationWarning]
    assert any("Heywood" in note for note in fit.notes)
    assert (fit.uniquenesses > 0).all()


def test_a_single_item_is_refused():
    with refused("at least two items"):
        dt.fit(noise(p=1))


def test_two_rows_are_refused():
    with refused("at least 3 rows"):
        dt.fit(noise(2))


def test_weird_names_of_columns():
    data = DATA.set_axis(range(9), axis=1)
    fit = dt.fit(data)
    assert fit.structure.children("F1") == ("0", "1", "2")
    assert list(fit.factor_scores(data)) == ["F1", "F2", "F3"]


def test_missing_answers_are_left_out_pairwise():
    data = DATA.copy()
    data.loc[:99, "x1"] = np.nan
    fit = dt.fit(data)
    assert [set(fit.structure.children(k)) for k in range(3)] == SCALES
    assert (fit.n_obs, fit.sample.n_complete) == (301, 201)
    assert 201 < fit.n_typical < 301
    listwise = dt.fit(data, missing="listwise")
    assert listwise.n_obs == listwise.n_typical == 201
    with refused("missing"):
        dt.fit(data, missing="error")


def test_a_file_is_read(tmp_path):
    DATA.to_csv(tmp_path / "nine.csv", index=False)
    fit = dt.fit(tmp_path / "nine.csv")
    assert fit.structure == dt.fit(DATA).structure
    scores = dt.fit(DATA).factor_scores(DATA)
    np.testing.assert_allclose(fit.factor_scores(tmp_path / "nine.csv"), scores, atol=1e-9)


# --- matrices -----------------------------------------------------------------------------------


def test_a_matrix_gives_what_its_data_give():
    from_matrix, from_data = dt.fit(MATRIX), dt.fit(DATA)
    assert from_matrix.structure == from_data.structure
    pd.testing.assert_frame_equal(from_matrix.loadings, from_data.loadings)
    costs = [
        *("n_factors", "n_loadings", "log_likelihood", "n_parameters"),
        *("aic", "bic", "ebic", "origin"),
    ]
    pd.testing.assert_frame_equal(from_matrix.candidates[costs], from_data.candidates[costs])
    assert from_matrix.sample is None
    assert "a matrix of spearman dependence, 301 rows" in str(from_matrix.summary())


def test_a_matrix_is_taken_as_of_normal_rows():
    """How much its entries vary is that of normal rows, and not that of the answers."""
    from_matrix, from_data = dt.fit(MATRIX), dt.fit(DATA)
    assert from_matrix.n_effective == pytest.approx(from_data.n_effective, rel=0.15)
    told = from_data.fit_measures["chisq"]
    assert from_matrix.fit_measures["chisq"] == pytest.approx(told, rel=0.15)
    from_matrix, from_data = dt.fit(MATRIX, misfit="none"), dt.fit(DATA, misfit="none")
    assert from_matrix.explanation == from_data.explanation


def test_a_matrix_without_rows_needs_n_obs():
    bare = dt.DependenceMatrix.from_matrix(MATRIX.values, measure="spearman")
    with refused("`n_obs` is required") as caught:
        dt.fit(bare)
    assert caught.value.argument == "n_obs"
    assert dt.fit(bare, n_obs=301).structure == dt.fit(MATRIX).structure


@pytest.mark.parametrize("n_obs", [2, 2.5, "many", -1])
def test_bad_n_obs(n_obs):
    with refused("`n_obs` must be a whole number of at least 3"):
        dt.fit(MATRIX, n_obs=n_obs)


def test_n_obs_with_data_is_refused():
    with refused("`n_obs` must be left out with data; got 301"):
        dt.fit(DATA, n_obs=301)


@pytest.mark.parametrize("criterion", ["validation", "validation_2se", "cv"])
def test_a_matrix_has_no_rows_to_hold_out(criterion):
    with refused(f"'{criterion}' holds out rows, and a matrix has none"):
        dt.fit(MATRIX, criterion=criterion)


def test_linear_needs_pearson_correlations():
    with refused("'linear' needs Pearson correlations; the matrix is of the measure 'spearman'"):
        dt.fit(MATRIX, estimator="linear")
    assert dt.fit(dt.dependence(DATA, "pearson"), estimator="linear").n_factors == 3


def test_a_measure_without_latent_correlation():
    with refused("measure 'distance', which has no latent correlation"):
        dt.fit(dt.dependence(DATA, "distance"))
    fit = dt.fit(DATA, measure="distance")
    assert (fit.dependence.measure, fit.latent.measure) == ("distance", "spearman")
    assert "Based on Spearman correlations" in str(fit.summary())


def test_a_function_as_measure():
    def covariation(x, y):
        return float(np.corrcoef(x, y)[0, 1])

    fit = dt.fit(DATA, measure=covariation)
    assert fit.call.measure == "covariation"
    assert fit.latent.measure == "spearman"
    assert [set(fit.structure.children(k)) for k in range(3)] == SCALES


@pytest.mark.parametrize("measure", ["pearson", "kendall"])
def test_other_measures(measure):
    fit = dt.fit(DATA, measure=measure)
    assert fit.latent.measure == fit.dependence.measure == measure
    assert [set(fit.structure.children(k)) for k in range(3)] == SCALES


# --- arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "value", "meant"),
    [
        ("criterion", "ebicc", "ebic"),
        ("criterion", "validation_2s", "validation_2se"),
        ("search", "treee", "tree"),
        ("estimator", "copulla", "copula"),
        ("uncovered", "atach", "attach"),
        ("misfit", "non", "none"),
    ],
)
def test_unknown_names_suggest_the_nearest(argument, value, meant):
    with refused(f"`{argument}` must be a known name; got '{value}'. Did you mean '{meant}'") as e:
        dt.fit(DATA, **{argument: value})
    assert e.value.argument == argument


@pytest.mark.parametrize("argument", ["criterion", "search", "estimator", "uncovered", "misfit"])
@pytest.mark.parametrize("value", [None, 3, ["ebic"]])
def test_names_must_be_text(argument, value):
    with refused(f"`{argument}` must be a known name"):
        dt.fit(DATA, **{argument: value})


@pytest.mark.parametrize("min_children", [1, 0, 2.5, None])
def test_bad_min_children(min_children):
    with refused("`min_children` must be a whole number of at least 2"):
        dt.fit(DATA, min_children=min_children)


def test_unknown_measure():
    with refused("spearman"):
        dt.fit(DATA, "spearmann")


@pytest.mark.parametrize("thresholds", [10, [0.1, 0.3]])
def test_thresholds_do_not_go_with_the_tree(thresholds):
    with refused("`thresholds` applies only to search='threshold'") as caught:
        dt.fit(DATA, thresholds=thresholds)
    assert caught.value.argument == "thresholds"


@pytest.mark.parametrize("thresholds", ["exact", 50, [0.1, 0.25, 0.3]])
def test_one_threshold_for_all(thresholds):
    fit = dt.fit(DATA, search="threshold", thresholds=thresholds)
    assert fit.call.search == "threshold"
    assert 'search="threshold", thresholds=' in str(fit.summary())
    structures = {one.structure for one in fit.path.candidates}
    assert fit.structure.n_factors >= 1
    if thresholds != "exact":
        assert structures == {
            one.structure
            for one in dt.solution_path(DATA, min_children=2, thresholds=thresholds).candidates
        }


def test_uncovered_items():
    X = np.column_stack([one_factor(), noise(p=2, seed=50)])
    with pytest.raises(dt.EstimationError, match=r"2 items are in no factor \(x7, x8\)"):
        dt.fit(X, uncovered="error")
    fit = dt.fit(X)
    assert fit.structure.uncovered == ("x7", "x8")
    assert fit.uncovered["item"].tolist() == ["x7", "x8"]
    assert fit.uncovered["reason"].str.contains("does not pay by ebic").all()
    assert "Items in no factor" in str(fit.summary())
    report = dt.fit(X, uncovered="report")
    assert not report.attached.any()
    assert set(report.uncovered["reason"]) == {"in no clique of the structure"}
    assert dt.fit(one_factor(), uncovered="error").structure.uncovered == ()


def test_attached_items_are_marked():
    fit = dt.fit(dt.load_dataset("holzinger_swineford_26"))
    attached = fit.attached_items
    assert attached == ("t19_figword",)  # a pair with no other test of its factor, at any threshold
    tidy = fit.tidy()
    assert set(tidy.loc[tidy["attached"], "rhs"]) == set(attached)
    text = str(fit.summary())
    assert "t19_figword+" in text
    assert "t01_visperc " in text


def test_all_rows_count_without_misfit():
    exact = dt.fit(DATA, misfit="none")
    assert exact.n_effective == 301
    assert "counted as about" not in str(exact.summary())
    fit = dt.fit(DATA)
    assert fit.n_effective < 301
    assert fit.fit_measures["pvalue"] < 0.05
    told = f"the 301 rows are counted as about {fit.n_effective:.0f}."
    assert f"Because the model misfits by more than sampling error, {told}" in str(fit.summary())


def test_seed_is_told_only_where_it_matters():
    assert dt.fit(DATA, seed=3).call.seed is None
    assert dt.fit(DATA, seed=3, criterion="cv").call.seed == 3
    fresh = dt.fit(DATA, criterion="validation")
    again = dt.fit(DATA, criterion="validation", seed=fresh.call.seed)
    pd.testing.assert_frame_equal(again.candidates, fresh.candidates)


@pytest.mark.parametrize("seed", [-1, 1.5, "one"])
def test_bad_seed(seed):
    with refused("seed"):
        dt.fit(DATA, criterion="cv", seed=seed)


@pytest.mark.parametrize("n_jobs", [-2, "all", 1.5])
def test_bad_n_jobs(n_jobs):
    with refused("`n_jobs`"):
        dt.fit(DATA, n_jobs=n_jobs)


def test_progress_is_called():
    seen = []
    dt.fit(DATA, progress=lambda done, total: seen.append((done, total)))
    assert seen
    assert seen[-1][0] == seen[-1][1]
