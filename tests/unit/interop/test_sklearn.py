"""The scikit-learn estimator: its checks, its numbers, its place in pipelines."""

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import dtstat as dt
from dtstat.interop.sklearn import DependenceThresholding

NINE = dt.load_dataset("holzinger_swineford_9")
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def model():
    return DependenceThresholding().fit(NINE)


# None is expected to fail. Their data are tiny and random: no factor is a legitimate answer, and
# warnings are deserved.
@parametrize_with_checks(
    [
        DependenceThresholding(),
        DependenceThresholding(
            measure="pearson",
            search="threshold",
            estimator="linear",
            criterion="validation",
            min_children=2,
        ),
    ]
)
@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_checks_of_scikit_learn(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # else one check skips itself
    check(estimator)


def test_takes_the_arguments_of_fit():
    here = inspect.signature(DependenceThresholding).parameters
    there = dict(inspect.signature(dt.fit).parameters)
    # A checkpoint belongs to one call, and an estimator is fitted again and again, to whichever
    # data, whose texts come with them.
    for name in ("data", "n_obs", "progress", "checkpoint", "labels"):
        del there[name]
    there["random_state"] = there.pop("seed")
    assert {name: p.default for name, p in here.items()} == {
        name: p.default for name, p in there.items()
    }


def test_what_is_found_is_what_fit_finds(model):
    fit = dt.fit(NINE)
    assert isinstance(model.fit_, dt.DTFit)
    assert model.structure_ == fit.structure
    assert (model.n_factors_, model.n_features_in_) == (3, 9)
    assert model.feature_names_in_.tolist() == list(NINE)
    np.testing.assert_array_equal(model.loadings_, fit.loadings)
    np.testing.assert_array_equal(model.factor_correlations_, fit.factor_correlations)


def test_every_argument_is_passed_on():
    options = {
        "measure": "kendall",
        "search": "threshold",
        "thresholds": [0.2, 0.25, 0.3],
        "estimator": "linear",
        "criterion": "validation",
        "min_children": 4,
        "uncovered": "report",
        "refine": True,
        "missing": "listwise",
        "misfit": "none",
    }
    model = DependenceThresholding(**options, random_state=5, n_jobs=2).fit(NINE)
    expected = dt.fit(NINE, **options, seed=5)
    assert model.fit_.call == expected.call
    np.testing.assert_array_equal(model.fit_.grid, options["thresholds"])
    pd.testing.assert_frame_equal(model.fit_.candidates, expected.candidates)


def test_transform_gives_factor_scores(model):
    scores = model.transform(NINE)
    assert type(scores) is np.ndarray
    np.testing.assert_array_equal(scores, dt.fit(NINE).factor_scores(NINE))
    np.testing.assert_array_equal(DependenceThresholding().fit_transform(NINE), scores)


def test_scores_of_a_row_do_not_depend_on_other_rows(model):
    """The checks of scikit-learn test it where no factor is found."""
    scores = model.transform(NINE)
    one_by_one = np.vstack([model.transform(NINE.iloc[[i]]) for i in range(20)])
    np.testing.assert_allclose(one_by_one, scores[:20], atol=ROUNDING)
    backwards = model.transform(NINE.iloc[::-1])
    np.testing.assert_allclose(backwards[::-1], scores, atol=ROUNDING)


def test_pickled_and_cloned(model):
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(NINE), model.transform(NINE))
    fresh = clone(DependenceThresholding(min_children=2, thresholds=[0.2]))
    assert (fresh.min_children, fresh.thresholds) == (2, [0.2])
    assert not hasattr(fresh, "fit_")


def test_score_is_the_mean_normal_log_likelihood_of_normal_scores(model):
    fit = model.fit_
    L, Phi = fit.loadings.to_numpy(), fit.factor_correlations.to_numpy()
    scale = np.sqrt(
        np.einsum("ij,jk,ik->i", fit.estimate.loadings, Phi, fit.estimate.loadings)
        + fit.estimate.uniquenesses
    )
    Sigma = (L @ Phi @ L.T + np.diag(fit.uniquenesses)) * np.outer(scale, scale)
    Z = fit.marginals.normal_scores(NINE.to_numpy())
    quadratic = np.einsum("ni,ij,nj->n", Z, np.linalg.inv(Sigma), Z)
    expected = -0.5 * (9 * np.log(2 * np.pi) + np.linalg.slogdet(Sigma)[1] + quadratic)
    assert model.score(NINE) == pytest.approx(expected.mean(), rel=1e-10)


def test_score_does_not_depend_on_the_scale_of_the_answers(model):
    increasing = np.exp(NINE / 3)
    other = DependenceThresholding().fit(increasing)
    assert other.score(increasing) == pytest.approx(model.score(NINE), rel=1e-9)


def test_missing_answers():
    holed = NINE.mask(np.random.default_rng(1).random(NINE.shape) < 0.1)
    holed.iloc[0] = np.nan
    model = DependenceThresholding().fit(holed)
    scores = model.transform(holed)
    assert model.n_factors_ == 3
    assert np.isnan(scores[0]).all()
    assert np.isfinite(scores[1:]).all()
    assert np.isfinite(model.score(holed))


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_answers_are_refused(model, bad):
    """scikit-learn leaves its check out where NaN is allowed."""
    X = NINE.to_numpy().copy()
    X[3, 2] = bad
    for call in (DependenceThresholding().fit, model.fit_transform, model.transform, model.score):
        with pytest.raises(ValueError, match="infinity"):
            call(pd.DataFrame(X, columns=NINE.columns))


def test_names_of_factors(model):
    names = model.get_feature_names_out()
    assert (names.dtype, names.tolist()) == (np.dtype(object), ["F1", "F2", "F3"])
    assert model.get_feature_names_out(list(NINE)).tolist() == names.tolist()


def test_pandas_output():
    table = DependenceThresholding().set_output(transform="pandas").fit_transform(NINE.tail(200))
    assert table.columns.tolist() == ["F1", "F2", "F3"]
    assert table.index.equals(NINE.tail(200).index)


def test_an_array_has_no_names():
    model = DependenceThresholding().fit(NINE.to_numpy())
    assert not hasattr(model, "feature_names_in_")
    assert model.structure_.item_names == tuple(f"x{k}" for k in range(1, 10))


def test_no_factors():
    X = np.random.default_rng(1).normal(size=(200, 5))
    model = DependenceThresholding().fit(X)
    assert (model.n_factors_, model.loadings_.shape) == (0, (5, 0))
    assert model.transform(X).shape == (200, 0)
    assert model.get_feature_names_out().shape == (0,)
    assert np.isfinite(model.score(X))
    assert model.set_output(transform="pandas").transform(X).shape == (200, 0)


def test_in_a_pipeline():
    steps = make_pipeline(StandardScaler(), DependenceThresholding(), LinearRegression())
    target = NINE.mean(axis=1)
    assert steps.fit(NINE, target).score(NINE, target) > 0.9
    assert steps[:-1].get_feature_names_out().tolist() == ["F1", "F2", "F3"]


def test_in_a_grid_search():
    data = dt.load_dataset("holzinger_swineford_26").filter(regex="t(0[1-9]|1[0-9])_").dropna()
    search = GridSearchCV(
        DependenceThresholding(), {"min_children": [3, 12]}, cv=3, error_score="raise"
    )
    search.fit(data)
    assert search.best_params_ == {"min_children": 3}
    assert search.best_estimator_.n_factors_ > 1


def test_numbers_of_factors_in_a_grid_search():
    """What is scored is the likelihood of rows not fitted, by models with so many factors."""
    data = dt.load_dataset("holzinger_swineford_26").filter(regex="t(0[1-9]|1[0-9])_").dropna()
    grid = {"n_factors": [1, 2, 4]}
    search = GridSearchCV(DependenceThresholding(), grid, cv=3, error_score="raise").fit(data)
    assert search.best_params_ == {"n_factors": 4}
    assert search.best_estimator_.n_factors_ == 4
    first = next(KFold(3).split(data))
    fitted, held = (data.iloc[rows] for rows in first)
    for k, found in zip(grid["n_factors"], search.cv_results_["split0_test_score"], strict=True):
        model = DependenceThresholding(n_factors=k).fit(fitted)
        assert model.structure_ == dt.fit(fitted, n_factors=k).structure
        assert found == model.score(held)


def test_too_many_factors_are_a_value_error():
    with pytest.raises(ValueError, match="`n_factors` must be at most 4 with 9 items"):
        DependenceThresholding(n_factors=5).fit(NINE)


@pytest.mark.parametrize(
    "state", [5, np.int64(5), np.random.RandomState(5), np.random.default_rng(5)]
)
def test_random_states(state):
    model = DependenceThresholding(criterion="validation", random_state=state).fit(NINE)
    assert model.random_state is state
    if isinstance(state, int | np.integer):
        assert model.fit_.call.seed == 5
    again = dt.fit(NINE, criterion="validation", seed=model.fit_.call.seed)
    assert again.structure == model.structure_


def test_bad_arguments_are_value_errors_when_fitted():
    model = DependenceThresholding(criterion="ebicc")
    with pytest.raises(ValueError, match="Did you mean 'ebic'"):
        model.fit(NINE)


@pytest.mark.parametrize("method", ["transform", "score"])
def test_before_fit(method):
    with pytest.raises(NotFittedError):
        getattr(DependenceThresholding(), method)(NINE)
    with pytest.raises(NotFittedError):
        DependenceThresholding().get_feature_names_out()


def test_columns_in_another_order_are_refused(model):
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(NINE.iloc[:, ::-1])


# --- curves -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def curved():
    return DependenceThresholding(estimator="spline", random_state=1).fit(NINE)


def test_curves_are_those_of_fit(curved):
    fit = dt.fit(NINE, estimator="spline", seed=1)
    assert curved.fit_.call == fit.call
    np.testing.assert_array_equal(curved.loadings_, fit.loadings)
    np.testing.assert_array_equal(curved.factor_correlations_, fit.factor_correlations)
    np.testing.assert_array_equal(curved.transform(NINE), fit.factor_scores(NINE))
    pd.testing.assert_frame_equal(curved.fit_.response_curves(), fit.response_curves())


def test_the_score_of_curves_is_the_mean_likelihood_of_the_answers(curved):
    rows = curved.fit_.nonlinear.log_likelihoods(NINE.to_numpy())
    assert curved.score(NINE) == pytest.approx(rows.total / len(NINE))
    error = 4 * rows.standard_error / len(NINE)
    told = curved.fit_.nonlinear.log_likelihood / len(NINE)
    assert curved.score(NINE) == pytest.approx(told, abs=error)
    twice = DependenceThresholding(estimator="spline", random_state=1).fit(2 * NINE)
    assert twice.score(2 * NINE) == pytest.approx(told - 9 * np.log(2), abs=0.1)


def test_strangers_are_less_likely(curved):
    rng = np.random.default_rng(0)
    shuffled = pd.DataFrame({name: rng.permutation(NINE[name]) for name in NINE})
    assert curved.score(shuffled) < curved.score(NINE) - 0.5


def test_curves_with_missing_answers(curved):
    holed = NINE.mask(np.random.default_rng(1).random(NINE.shape) < 0.1)
    holed.iloc[0] = np.nan
    scores = curved.transform(holed)
    assert np.isnan(scores[0]).all()
    assert np.isfinite(scores[1:]).all()
    assert np.isfinite(curved.score(holed))


def test_curves_are_pickled(curved):
    again = pickle.loads(pickle.dumps(curved))
    np.testing.assert_array_equal(again.transform(NINE), curved.transform(NINE))
    assert again.score(NINE) == curved.score(NINE)


def test_a_structure_is_passed_on():
    structure = dt.Structure(np.ones((9, 1)), list(NINE))
    model = DependenceThresholding(structure=structure, estimator="spline", random_state=3)
    model.fit(NINE)
    assert model.structure_ == structure
    assert model.fit_.explanation == "1 factor, as given."
    assert clone(model).structure == structure
    assert model.transform(NINE).shape == (301, 1)


def test_finalists_and_presets_are_passed_on():
    model = DependenceThresholding(estimator="spline", finalists=1, random_state=1).fit(NINE)
    assert (model.fit_.call.finalists, len(model.fit_.candidates)) == (1, 1)
    with pytest.raises(ValueError, match="means criterion='validation'; got 'bic'"):
        DependenceThresholding(preset="paper", criterion="bic").fit(NINE)


def test_scores_by_curves_do_not_depend_on_other_rows(curved):
    scores = curved.transform(NINE)
    np.testing.assert_allclose(curved.transform(NINE.tail(100)), scores[-100:], atol=0.02)


def ended_with(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1]


WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise ModuleNotFoundError(f"No module named '{{name}}'", name=name)
sys.meta_path.insert(0, Absent())
import dtstat.interop.sklearn
"""


def test_without_scikit_learn():
    assert ended_with(WITHOUT.format(name="sklearn")) == (
        "dtstat.core.errors.MissingExtraError: The scikit-learn estimator needs the package "
        "'scikit-learn', which is not installed. Install it with: pip install "
        '"dtstat[sklearn]", or in a checkout of dtstat: pip install ".[sklearn]". '
        "Or use dtstat.fit."
    )


def test_a_broken_scikit_learn_shows_as_itself():
    message = ended_with(WITHOUT.format(name="sklearn.base"))
    assert message == "ModuleNotFoundError: No module named 'sklearn.base'"
