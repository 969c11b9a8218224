"""The sequential search from outside: options, results, and everything that takes a fit."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import dtstat as dt
from dtstat.interop.sklearn import DependenceThresholding

SIMULATED = dt.simulate("clusters", 600, n_factors=4, items_per_factor=6, violating=0.25, seed=1)
DATA, TRUTH = SIMULATED.data, SIMULATED.structure


@pytest.fixture(scope="module")
def fitted():
    return dt.fit(DATA, search="sequential")


def test_finds_what_the_plain_search_cannot(fitted):
    assert not TRUTH.satisfies_ucc
    assert fitted.structure == TRUTH
    assert dt.fit(DATA).structure != TRUTH
    assert fitted.call.search == "sequential"


def test_is_the_confirmatory_model_of_its_structure(fitted):
    given = dt.fit(DATA, structure=fitted.structure)
    assert given.estimate.log_likelihood == pytest.approx(fitted.estimate.log_likelihood, abs=0.05)
    np.testing.assert_allclose(given.loadings, fitted.loadings, atol=0.01)


def test_the_chosen_structure_leads_the_candidates_and_is_explained(fitted):
    assert isinstance(fitted.explanation, str)
    assert fitted.explanation.strip()
    assert fitted.candidates.iloc[0]["n_factors"] == fitted.n_factors
    assert "sequential" in repr(fitted.summary())


def test_saved_and_loaded_again(fitted, tmp_path):
    file = tmp_path / "fit.dtstat"
    fitted.save(file)
    again = dt.load(file)
    assert again.structure == fitted.structure
    assert again.call == fitted.call
    assert again.explanation == fitted.explanation
    pd.testing.assert_frame_equal(again.loadings, fitted.loadings)


def test_neither_seed_nor_jobs_nor_order_of_items_matter(fitted):
    for options in ({"seed": 1}, {"seed": 2, "n_jobs": 2}):
        other = dt.fit(DATA, search="sequential", **options)
        pd.testing.assert_frame_equal(other.loadings, fitted.loadings)
    turned = dt.fit(DATA[DATA.columns[::-1]], search="sequential")
    assert turned.structure == fitted.structure


def test_a_matrix_with_its_rows_is_as_good_as_data(fitted):
    assert dt.fit(dt.dependence(DATA), search="sequential").structure == fitted.structure


@pytest.mark.parametrize(
    "options",
    [
        {"criterion": "bic"},
        {"criterion": "cv", "seed": 1},
        {"uncovered": "report"},
        {"uncovered": "error"},
        {"refine": True},
        {"min_children": 4},
        {"misfit": "none"},
        {"measure": "kendall"},
        {"estimator": "linear", "measure": "pearson"},
    ],
    ids=str,
)
def test_goes_with_other_options(options):
    found = dt.fit(DATA, search="sequential", **{"min_children": 3, **options})
    assert dt.compare(found.structure, TRUTH).f1 > 0.9
    assert (found.structure.support.sum(axis=0) >= options.get("min_children", 3)).all()


def test_thresholds_do_not_go_with_it():
    with pytest.raises(dt.InputError, match="thresholds"):
        dt.fit(DATA, search="sequential", thresholds=20)


def test_curves_through_what_was_found():
    few = dt.simulate("clusters", 200, n_factors=2, items_per_factor=4, seed=3)
    found = dt.fit(few.data, search="sequential", estimator="spline", finalists=1, seed=1)
    assert found.structure == few.structure
    assert found.nonlinear is not None


# little to find


@pytest.mark.parametrize("seed", range(5))
def test_independent_items_have_no_factor(seed):
    rows = np.random.default_rng(seed).standard_normal((300, 12))
    found = dt.fit(rows, search="sequential")
    assert found.n_factors == 0
    assert len(found.structure.uncovered) == 12


@pytest.mark.parametrize("seed", range(3))
def test_one_factor(seed):
    one = dt.simulate("clusters", 300, n_factors=1, items_per_factor=6, seed=seed)
    assert dt.fit(one.data, search="sequential").structure == one.structure


def test_an_item_of_no_factor():
    data = DATA.assign(alone=np.random.default_rng(0).standard_normal(len(DATA)))
    found = dt.fit(data, search="sequential", uncovered="report", min_children=3)
    assert found.structure.uncovered == ("alone",)
    with pytest.raises(dt.EstimationError, match="alone"):
        dt.fit(data, search="sequential", uncovered="error", min_children=3)


def test_two_items():
    rng = np.random.default_rng(1)
    first = rng.standard_normal(200)
    data = np.column_stack([first, first + rng.standard_normal(200)])
    assert dt.fit(data, search="sequential").n_factors == 1
    assert dt.fit(data, search="sequential").structure == dt.fit(data).structure
    assert dt.fit(data, search="sequential", min_children=3).n_factors == 0


@pytest.mark.parametrize("seed", range(30))
def test_weak_data_are_no_error(seed):
    weak = dt.simulate("clusters", 60, n_factors=2, items_per_factor=3, snr=0.5, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dt.EstimationWarning)
        found = dt.fit(weak.data, search="sequential")
    assert found.n_factors <= 2
    assert np.isfinite(found.estimate.log_likelihood)


# surveys


@pytest.mark.parametrize(
    "name", ["holzinger_swineford_9", "holzinger_swineford_26", "likert_survey"]
)
def test_surveys_keep_the_plain_answer(name):
    data = dt.load_dataset(name)
    assert dt.fit(data, search="sequential").structure == dt.fit(data).structure


# what takes a fit


def test_stability_searches_in_the_same_way(fitted):
    found = dt.stability(DATA, n_boot=4, fit=fitted, seed=1)
    assert found.fit.structure == fitted.structure
    assert repr(found).startswith("Stability: 4 bootstrap resamples of 600 rows")
    by_name, plain = (
        dt.stability(DATA, n_boot=4, search=search, seed=1) for search in ("sequential", "tree")
    )
    assert repr(by_name) == repr(found) != repr(plain)


def test_diagnosis(fitted):
    found = dt.diagnose(fitted, DATA, n_boot=20, seed=1)
    assert not found.audit.satisfied
    assert found.audit.factors["n_unique"].tolist() == [6, 6, 6, 0]
    assert "F4 has none" in repr(found.summary())


def test_scikit_learn_estimator(fitted):
    model = DependenceThresholding(search="sequential")
    scores = clone(model).fit_transform(DATA)
    assert scores.shape == (len(DATA), TRUTH.n_factors)
    np.testing.assert_allclose(scores, fitted.factor_scores(DATA).to_numpy())
    assert model.fit(DATA).structure_ == TRUTH
