"""What is reported of a structure: ratings as ordinal, scores, tests, and why there is none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.factors.reported import scoring_model
from dtstat.factors.scores import learn_marginals, linear_marginals

LOADING, PHI = 0.8, 0.4
TWO = dt.Structure(np.kron(np.eye(2), np.ones((4, 1))) > 0)


def rows(n, seed=5):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2)) @ np.linalg.cholesky([[1, PHI], [PHI, 1]]).T
    X = LOADING * np.repeat(z, 4, axis=1) + 0.6 * rng.standard_normal((n, 8))
    return z, X


def fitted(X, **options):
    names = [f"x{i + 1}" for i in range(X.shape[1])]
    return dt.fit(pd.DataFrame(X, columns=names), structure=TWO, **options)


@pytest.mark.parametrize("cuts", [[0.0], [1.04], [-0.5, 0.5], [-1.2, -0.4, 0.4, 1.2], [0.6, 1.3]])
def test_loadings_of_ratings_are_those_behind_them(cuts):
    _, X = rows(8000)
    fit = fitted(np.digitize(X, cuts).astype(float))
    assert fit.reported.latent.measure == "polychoric"
    found = fit.loadings.to_numpy()[TWO.support]
    assert found.mean() == pytest.approx(LOADING, abs=0.015)
    assert fit.factor_correlations.iloc[0, 1] == pytest.approx(PHI, abs=0.03)
    of_ranks = fit.estimate.loadings[TWO.support].mean()
    assert of_ranks < found.mean() - 0.015  # what the report would be without


@pytest.mark.parametrize("measure", ["kendall", "pearson", "polychoric", "distance"])
def test_the_report_of_ratings_does_not_depend_on_the_measure(measure):
    _, X = rows(500)
    ratings = np.digitize(X, [-0.5, 0.5]).astype(float)
    default, other = fitted(ratings), fitted(ratings, measure=measure)
    assert other.loadings.equals(default.loadings)
    assert other.fit_measures == default.fit_measures


def test_mixed_items_do_not_depend_on_units():
    _, X = rows(3000)
    X[:, [0, 1, 4]] = np.digitize(X[:, [0, 1, 4]], [-0.7, 0.2, 1.0])
    plain = fitted(X)
    bent = X.copy()
    bent[:, [2, 3]] = np.exp(bent[:, [2, 3]])
    again = fitted(bent)
    assert plain.reported.latent.measure == "mixed"
    assert again.loadings.to_numpy() == pytest.approx(plain.loadings.to_numpy(), abs=1e-8)
    assert again.fit_measures["chisq"] == pytest.approx(plain.fit_measures["chisq"], rel=1e-6)
    assert plain.loadings.to_numpy()[TWO.support].mean() == pytest.approx(LOADING, abs=0.02)


def test_the_linear_model_of_ratings_stays_linear():
    _, X = rows(500)
    fit = fitted(np.digitize(X, [-0.5, 0.5]).astype(float), measure="pearson", estimator="linear")
    assert fit.reported.latent.measure == "pearson"
    assert fit.reported.estimate is fit.estimate


# Scores of two answers correlate a little more than a product of their validities says.
@pytest.mark.parametrize(
    ("cuts", "near"), [([0.3], 0.09), ([-1.2, -0.4, 0.4, 1.2], 0.03), (None, 0.03)]
)
def test_scores_predict_the_factors_without_bias(cuts, near):
    z, X = rows(12_000)
    answers = X if cuts is None else np.digitize(X, cuts).astype(float)
    fit = fitted(answers)
    frame = pd.DataFrame(answers, columns=fit.item_names)
    scores = fit.factor_scores(frame, sd=True)
    for k, factor in enumerate(fit.factor_names):
        slope = np.polyfit(scores[factor], z[:, k], 1)[0]
        assert slope == pytest.approx(1.0, abs=near)
        error = np.std(z[:, k] - scores[factor])
        assert error == pytest.approx(scores[f"{factor}_sd"].iloc[0], rel=near)


def test_normal_scores_of_ratings_correlate_less_with_what_is_behind():
    _, X = rows(4000)
    margins = learn_marginals(np.digitize(X, [0.0]).astype(float))
    # The score of a median split correlates √(2/π) with the normal variable.
    assert margins.score_correlation(0) == pytest.approx(np.sqrt(2 / np.pi), abs=0.005)
    assert learn_marginals(X).score_correlation(0) == pytest.approx(1.0, abs=0.01)
    assert linear_marginals(X).score_correlation(0) == 1.0


def test_scoring_keeps_variances_at_one():
    _, X = rows(2000)
    fit = fitted(np.digitize(X, [-0.5, 0.5]).astype(float))
    model = scoring_model(fit.reported, fit.marginals)
    L = model.loadings
    total = ((L @ model.factor_correlations) * L).sum(axis=1) + model.uniquenesses
    assert total == pytest.approx(np.ones(8))
    assert (np.abs(L[TWO.support]) < fit.loadings.to_numpy()[TWO.support]).all()


def test_few_rows_are_not_tested_and_the_summary_says_so():
    _, X = rows(90)
    fit = fitted(X)
    assert fit.reported.test is None
    assert "at least 100 rows" in fit.reported.untested
    assert "Not tested. 8 items need at least 100 rows" in repr(fit.summary())
    assert np.isnan(fit.fit_measures["chisq"])
    assert not np.isnan(fit.fit_measures["srmr"])
    assert fit.tidy()["std_error"].isna().all()


@pytest.mark.parametrize(("items", "tested"), [(12, False), (11, True)])
def test_yes_and_no_needs_more_rows(items, tested):
    rng = np.random.default_rng(2)
    X = (rng.standard_normal((110, 1)) + rng.standard_normal((110, items)) > 0).astype(float)
    one = dt.Structure(np.ones((items, 1), dtype=bool))
    fit = dt.fit(pd.DataFrame(X, columns=list(one.item_names)), structure=one)
    assert (fit.reported.untested == "") == tested
    assert tested or "at least 120 rows" in fit.reported.untested


def test_a_matrix_is_tested_as_of_normal_rows():
    _, X = rows(600)
    data = fitted(X, measure="pearson", estimator="linear")
    matrix = DependenceMatrix.from_matrix(np.corrcoef(X.T), n_obs=600)
    given = dt.fit(matrix, structure=TWO)
    assert given.fit_measures["chisq"] == pytest.approx(data.fit_measures["chisq"], rel=0.1)
    errors = given.loading_errors.to_numpy()[TWO.support]
    assert errors == pytest.approx(data.loading_errors.to_numpy()[TWO.support], rel=0.2)
    assert "as of normal rows" in repr(given.summary())


def test_a_polychoric_matrix_has_no_test():
    _, X = rows(600)
    R = dt.dependence(np.digitize(X, [-0.5, 0.5]).astype(float), "polychoric")
    fit = dt.fit(R, structure=TWO)
    assert "depend on the answers" in fit.reported.untested
    assert "Chi-square" not in repr(fit.summary())


def test_a_saturated_model_is_not_tested():
    _, X = rows(300)
    three = dt.Structure([[1], [1], [1]])
    fit = dt.fit(pd.DataFrame(X[:, :3], columns=["x1", "x2", "x3"]), structure=three)
    assert fit.reported.untested == "The model has no degrees of freedom."


def test_rows_left_out_listwise_are_left_out_of_the_test():
    _, X = rows(400)
    X[::4, 0] = np.nan
    listwise, complete = fitted(X, missing="listwise"), fitted(X[~np.isnan(X[:, 0])])
    assert listwise.fit_measures == complete.fit_measures


def test_true_models_are_rejected_rarely_and_intervals_cover():
    rejected, covered = [], []
    for seed in range(60):
        _, X = rows(300, seed)
        fit = fitted(np.digitize(X, [-0.8, 0.0, 0.8]).astype(float))
        rejected.append(fit.fit_measures["pvalue"] < 0.05)
        tidy = fit.tidy()
        truth = np.where(tidy["op"] == "=~", LOADING, PHI)
        covered.append(((tidy["conf_low"] <= truth) & (truth <= tidy["conf_high"])).mean())
    assert np.mean(rejected) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)
    assert 0.90 <= np.mean(covered) <= 0.98


def test_a_forgotten_loading_is_rejected():
    rng = np.random.default_rng(8)
    z, X = rows(1000)
    X[:, 0] += 0.4 * z[:, 1]
    assert fitted(X).fit_measures["pvalue"] < 1e-6
    assert fitted(X + 0 * rng.random(X.shape)).fit_measures["rmsea"] > 0.05
