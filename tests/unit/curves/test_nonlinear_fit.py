"""What a fit with curves tells: curves, bands, loadings, scores, tables, files."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import dtstat as dt
from dtstat.curves import bspline
from dtstat.curves.network_model import NetworkModel
from dtstat.curves.response_model import ResponseModel
from dtstat.curves.result import GRID, NonlinearFit, answer_reader, curves
from dtstat.curves.scales import AnswerScale, NormalScores

LINE = (np.arange(bspline.K) - 9) * bspline.WIDTH  # f(z) = z
NAMES = [f"x{k}" for k in range(1, 7)]


def answers(n=250, seed=0):
    """Two factors of three items; the first two items are ratings from 1 to 5, without 3."""
    rng = np.random.default_rng(seed)
    Z = rng.multivariate_normal(np.zeros(2), [[1, 0.4], [0.4, 1]], n, method="cholesky")
    X = np.repeat(Z, 3, axis=1) + 0.7 * rng.normal(size=(n, 6))
    X[:, 5] = np.exp(X[:, 5] / 2)
    for i in (0, 1):
        X[:, i] = np.array([1, 2, 4, 5])[np.searchsorted([-1, 0, 1], X[:, i])]
    return pd.DataFrame(X, columns=NAMES)


@pytest.fixture(scope="module")
def fit():
    return dt.fit(answers(), estimator="spline", seed=1)


@pytest.fixture(scope="module")
def copula():
    return dt.fit(answers())


def network_fit():
    """A fit whose curves are a small network's."""
    base = dt.fit(answers(), estimator="spline", seed=1)
    rng = np.random.default_rng(0)
    sizes = [2, 5, 5, 5, 6]
    weights = tuple(rng.normal(size=(a, b)) / math.sqrt(a) for a, b in itertools.pairwise(sizes))
    biases = tuple(rng.normal(size=b) * 0.2 for b in sizes[1:])
    model = NetworkModel(
        base.support, weights, biases, np.full(6, 0.5), np.array([[1, 0.2], [0.2, 1]])
    )
    X = answers().to_numpy()
    scale = AnswerScale.learn(X, (None,) * 6)
    shown = NonlinearFit(
        model,
        scale,
        -1.0,
        0.1,
        math.nan,
        np.array([[0, 0.05], [0.05, 0]]),
        GRID,
        curves(model, answer_reader(model, scale)),
        np.full((6, 61), np.nan),
        np.full((6, 61), np.nan),
        0.57,
        0,
        1,
    )
    return replace(base, nonlinear=shown)


# --- curves -------------------------------------------------------------------------------------


def test_curves_have_a_row_for_every_edge_and_value_of_the_factor(fit):
    frame = fit.response_curves()
    assert list(frame) == ["item", "factor", "z", "value", "lower", "upper"]
    assert len(frame) == 6 * 61
    pairs = frame[["item", "factor"]].drop_duplicates().to_numpy().tolist()
    assert pairs == [[f"x{k}", "F1" if k < 4 else "F2"] for k in range(1, 7)]
    for _, part in frame.groupby("item"):
        np.testing.assert_allclose(part["z"], np.linspace(-3, 3, 61))


def test_bands_contain_the_curves(fit):
    frame = fit.response_curves()
    assert (frame["lower"] < frame["value"]).all()
    assert (frame["value"] < frame["upper"]).all()


def test_bands_are_narrowest_where_the_people_are(fit):
    frame = fit.response_curves().query("item == 'x3'").set_index("z")
    width = (frame["upper"] - frame["lower"]).to_numpy()
    assert width[30] < width[0]
    assert width[30] < width[60]


def test_bands_have_two_errors_to_either_side(fit):
    frame = fit.response_curves().query("item == 'x4'")
    sd = fit.nonlinear.scale.sd[fit.nonlinear.items.place[3]]
    half = (frame["upper"] - frame["value"]).to_numpy()
    np.testing.assert_allclose(frame["value"] - frame["lower"], half, rtol=1e-6)
    assert (half > 1.96 * sd / math.sqrt(len(answers())) / 2).all()


def test_curves_of_ratings_stay_within_the_levels(fit):
    frame = fit.response_curves().query("item in ['x1', 'x2']")
    assert frame[["lower", "value", "upper"]].min(axis=None) >= 1
    assert frame[["lower", "value", "upper"]].max(axis=None) <= 5
    assert frame["value"].max() > 4.5
    assert frame["value"].min() < 1.5


def test_the_value_of_a_rating_is_its_mean_answer(fit):
    model = fit.nonlinear.model
    frame = fit.response_curves().query("item == 'x2'")
    items, factors = fit.nonlinear.items, fit.nonlinear.factors
    i, sign = items.place[1], items.signs[1]
    eta = bspline.design(GRID * factors.signs[0]) @ model.coefficients[i] + model.intercepts[i]
    up_to = norm.cdf(model.thresholds[i][:3] - eta[:, None])
    shares = np.diff(np.column_stack([np.zeros(61), up_to, np.ones(61)]), axis=1)
    levels = np.sort(sign * np.array([1, 2, 4, 5]))
    np.testing.assert_allclose(frame["value"], sign * (shares @ levels), atol=1e-9)


def test_curves_are_on_the_scale_of_the_items(fit):
    """Averaged over the factor, a curve is the mean of the item."""
    frame = fit.response_curves()
    weight = norm.pdf(GRID) / norm.pdf(GRID).sum()
    for name in NAMES:
        mean = frame.query("item == @name")["value"] @ weight
        spread = answers()[name].std()
        assert mean == pytest.approx(answers()[name].mean(), abs=0.25 * spread)


def mixed_fit(b=1.2):
    """One rating of two uncorrelated factors, both steep."""
    model = ResponseModel(
        np.ones((1, 2), dtype=bool),
        np.array([0.8 * LINE, b * LINE]),
        np.zeros(1),
        np.ones(1),
        np.array([[-0.5, 1.0]]),
        np.array([2]),
        np.eye(2),
    )
    scale = AnswerScale(
        np.zeros(1), np.ones(1), (np.array([1.0, 2.0, 3.0]),), (NormalScores.none(),)
    )
    values, known = curves(model, answer_reader(model, scale)), np.zeros((2, 2))
    return NonlinearFit(model, scale, 0.0, 0.0, 1.0, known, GRID, values, values, values, 0.5, 0, 1)


def test_the_mean_answer_to_one_factor_is_averaged_over_the_other():
    """Σ_c x_c P(c | z₁) with z₂ integrated out: thresholds and slopes shrink by √(1 + b²)."""
    b = 1.2
    frame = mixed_fit(b).curve_frame(("x",), ("F1", "F2")).query("factor == 'F1'")
    up_to = norm.cdf((np.array([-0.5, 1.0]) - 0.8 * GRID[:, None]) / math.sqrt(1 + b**2))
    shares = np.diff(np.column_stack([np.zeros(61), up_to, np.ones(61)]), axis=1)
    np.testing.assert_allclose(frame["value"], shares @ [1, 2, 3], atol=0.03)


# --- loadings -----------------------------------------------------------------------------------


def test_nonlinear_loadings(fit):
    frame = fit.nonlinear_loadings
    assert list(frame) == [
        "item",
        "factor",
        "loading",
        "slope",
        "r2_map",
        "r2_line",
        "nonlinearity",
    ]
    assert frame["item"].tolist() == NAMES
    assert (frame["slope"] >= frame["loading"].abs() - 1e-9).all()
    assert frame["r2_map"].between(0, 1).all()
    assert (frame["r2_line"] <= frame["r2_map"] + 1e-9).all()
    np.testing.assert_allclose(frame["nonlinearity"], 1 - frame["r2_line"] / frame["r2_map"])


def test_an_item_bent_by_its_units_is_straight_by_its_scores(fit):
    """x6 = exp(y/2) with y a line: its scores are a line again, its mean answers are not."""
    by_scores = fit.nonlinear.scale.by_scores[fit.nonlinear.items.place]
    assert by_scores.tolist() == [False] * 5 + [True]
    straight = fit.nonlinear_loadings.set_index("item")["nonlinearity"]
    assert max(straight["x6"], straight["x4"]) < 0.03
    curve = fit.response_curves().query("item == 'x6'").set_index(GRID)["value"]
    truth = np.exp(GRID / 2 + 0.7**2 / 8)
    inner = np.abs(GRID) < 1.8
    np.testing.assert_allclose(curve[inner], truth[inner], rtol=0.2)
    assert "normal scores of 'x6'" in fit.notes[0]
    assert "Note:   Curves are fitted to the normal scores of 'x6'" in str(fit.summary())


def test_loadings_are_those_of_the_curves(fit):
    frame = fit.nonlinear_loadings
    for item, factor, loading, r2 in frame[["item", "factor", "loading", "r2_map"]].to_numpy():
        assert fit.loadings.loc[item, factor] == loading
        assert fit.uniquenesses[item] == pytest.approx(1 - r2)
    assert (fit.loadings.to_numpy() != 0).sum() == 6


def test_factor_correlations_are_those_of_the_curves(fit):
    np.testing.assert_array_equal(
        np.abs(fit.factor_correlations), np.abs(fit.nonlinear.model.factor_correlations)
    )
    errors = fit.factor_correlation_errors
    assert list(errors) == list(errors.index) == ["F1", "F2"]
    assert 0.03 < errors.iloc[0, 1] < 0.12


def test_tables_are_copies(fit):
    for name in ("factor_correlations", "factor_correlation_errors", "loadings"):
        frame = getattr(fit, name)
        frame.iloc[0, 1] = 9.0
        assert getattr(fit, name).iloc[0, 1] != 9.0


def test_tidy_has_errors_and_shapes(fit):
    frame = fit.tidy()
    assert list(frame) == [
        "term",
        "lhs",
        "op",
        "rhs",
        "estimate",
        "std_error",
        "conf_low",
        "conf_high",
        "unique_child",
        "attached",
        "slope",
        "r2_map",
        "r2_line",
        "nonlinearity",
    ]
    loadings, correlations = frame[frame["op"] == "=~"], frame[frame["op"] == "~~"]
    assert (len(loadings), len(correlations)) == (6, 1)
    assert loadings[["std_error", "conf_low", "conf_high"]].isna().all(axis=None)
    assert fit.loading_errors.isna().all(axis=None)
    assert loadings["slope"].notna().all()
    assert correlations["std_error"].item() == fit.factor_correlation_errors.iloc[0, 1]
    half = (correlations["conf_high"] - correlations["conf_low"]).item() / 2
    assert half == pytest.approx(norm.ppf(0.975) * correlations["std_error"].item())
    assert correlations["estimate"].item() == fit.factor_correlations.iloc[0, 1]
    assert correlations["slope"].isna().all()
    about = fit.nonlinear_loadings.set_index("item")
    np.testing.assert_array_equal(loadings["slope"], about.loc[loadings["rhs"], "slope"])


def test_glance_counts_the_parameters_of_the_curves(fit):
    line = fit.glance()
    ll, k = fit.nonlinear.log_likelihood, fit.nonlinear.n_parameters
    assert line["aic"].item() == pytest.approx(-2 * ll + 2 * k)
    assert line["bic"].item() == pytest.approx(-2 * ll + k * math.log(250))


def test_candidates_tell_their_monte_carlo_error(fit, copula):
    assert (fit.candidates["monte_carlo_se"] > 0).all()
    assert fit.candidates["monte_carlo_se"].iloc[0] == fit.nonlinear.monte_carlo_se
    assert (copula.candidates["monte_carlo_se"] == 0).all()


# --- scores -------------------------------------------------------------------------------------


def on_a_grid(fit, X):
    """Posterior means and standard deviations by sums over z."""
    shown = fit.nonlinear
    axis = np.linspace(-5, 5, 81)
    nodes = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    moments = []
    for x in shown.scale.encode(shown.items.answers(X)):
        value = shown.model.log_joint(nodes, x[None])[0]
        w = np.exp(value - value.max())
        w /= w.sum()
        mean = w @ nodes
        sd = np.sqrt(w @ (nodes - mean) ** 2)
        place = shown.factors.place
        moments.append([mean[place] * shown.factors.signs, sd[place]])
    return np.array(moments).transpose(1, 0, 2)


def straightened(data):
    """The last item without its bend."""
    return data.assign(x6=2 * np.log(data["x6"]))


def test_scores_are_means_of_the_factors_given_the_answers():
    """200 draws of a chain: off by about a sixth of a standard deviation."""
    fit = dt.fit(straightened(answers()), estimator="spline", seed=1)
    data = straightened(answers(60, seed=7))
    data.iloc[3, :3] = np.nan
    data.iloc[4, 1:] = np.nan
    scores = fit.factor_scores(data, sd=True)
    assert list(scores) == ["F1", "F2", "F1_sd", "F2_sd"]
    mean, sd = on_a_grid(fit, data.to_numpy())
    gap = (scores[["F1", "F2"]].to_numpy() - mean) / sd
    assert np.sqrt((gap**2).mean()) < 0.2
    assert np.abs(gap).max() < 0.8
    ratio = scores[["F1_sd", "F2_sd"]].to_numpy() / sd
    assert ratio.mean() == pytest.approx(1, abs=0.05)
    assert scores["F1_sd"].iloc[3] > scores["F1_sd"].drop(index=3).median()


def test_scores_of_persons_on_a_steep_curve(fit):
    """The answers tell more about them than about others: their draws need smaller steps."""
    mean, sd = on_a_grid(fit, answers().to_numpy())
    scores = fit.factor_scores(answers(), sd=True).to_numpy()
    assert scores[:, 2:].min() > 0.01
    assert np.abs((scores[:, :2] - mean) / sd).max() < 1.5


def test_scores_are_the_same_every_time(fit):
    data = answers(30, seed=8)
    pd.testing.assert_frame_equal(fit.factor_scores(data), fit.factor_scores(data))
    plain = fit.factor_scores(data, sd=True)[["F1", "F2"]]
    pd.testing.assert_frame_equal(fit.factor_scores(data), plain)


def test_scores_know_items_by_name(fit):
    data = answers(30, seed=8)
    turned = data[NAMES[::-1]].assign(more="text")
    pd.testing.assert_frame_equal(fit.factor_scores(turned), fit.factor_scores(data))


def test_scores_keep_the_index(fit):
    data = answers(5, seed=8).set_index(pd.Index(list("abcde")))
    data.loc["c"] = np.nan
    scores = fit.factor_scores(data, sd=True)
    assert list(scores.index) == list("abcde")
    assert scores.loc["c"].isna().all()
    assert scores.drop(index="c").notna().all(axis=None)


def test_unheard_of_ratings_count_as_the_nearest(fit):
    data = answers(4, seed=8)
    odd, even = data.assign(x1=9.0), data.assign(x1=5.0)
    pd.testing.assert_frame_equal(fit.factor_scores(odd), fit.factor_scores(even))


def test_augment_adds_scores(fit):
    data = answers(20, seed=8)
    more = fit.augment(data)
    assert list(more)[-2:] == ["F1_score", "F2_score"]
    np.testing.assert_array_equal(more["F2_score"], fit.factor_scores(data)["F2"])


def test_scores_of_a_copula_have_errors_too(copula):
    scores = copula.factor_scores(answers(), sd=True)
    assert list(scores) == ["F1", "F2", "F1_sd", "F2_sd"]
    assert scores[["F1_sd", "F2_sd"]].to_numpy().min() > 0
    assert scores["F1_sd"].max() < 1


# --- without curves -----------------------------------------------------------------------------


def test_what_needs_curves_says_so(copula):
    with pytest.raises(dt.InputError, match=r"'copula' draws no curves\. Fit again") as caught:
        _ = copula.nonlinear_loadings
    assert "estimator='spline'" in str(caught.value)
    assert caught.value.argument == "estimator"


def test_errors_without_curves_are_those_of_the_correlations(copula):
    assert copula.nonlinear is None
    known = copula.reported.errors
    np.testing.assert_array_equal(copula.factor_correlation_errors, known.factor_correlations)
    np.testing.assert_array_equal(copula.loading_errors, known.loadings)
    assert copula.factor_correlation_errors.notna().equals(copula.factor_correlations < 1)
    assert copula.loading_errors.notna().equals(copula.loadings != 0)
    frame = copula.tidy()
    assert (frame["std_error"] > 0).all()
    assert frame["std_error"].iloc[-1] == known.factor_correlations[0, 1]


# --- pages and files ----------------------------------------------------------------------------


def test_the_summary_has_the_tables_of_curves(fit):
    text = str(fit.summary())
    assert "Item responses" in text
    assert "R2 map" in text
    assert "Factor correlations (standard errors)" in text
    value, error = fit.factor_correlations.iloc[1, 0], fit.factor_correlation_errors.iloc[1, 0]
    assert f"{value:.2f} ({error:.2f})" in text
    likelihood, spread = fit.nonlinear.log_likelihood, fit.nonlinear.monte_carlo_se
    assert f"log-likelihood is {likelihood:.1f} (Monte Carlo error {spread:.1f})" in text
    assert "Standardized loadings" not in text


def test_the_summary_of_a_copula_has_loadings(copula):
    text = str(copula.summary())
    assert "Standardized loadings" in text
    assert "Item responses" not in text


@pytest.mark.parametrize("form", ["to_html", "to_latex"])
def test_pages_in_other_forms(fit, form):
    page = getattr(fit.summary(), form)()
    error = fit.factor_correlation_errors.iloc[1, 0]
    for word in ("R2 map", "nonlinear", "slope of the straight line nearest", f"({error:.2f})"):
        assert word in page


def equal(one, two):
    pd.testing.assert_frame_equal(one.response_curves(), two.response_curves())
    pd.testing.assert_frame_equal(one.nonlinear_loadings, two.nonlinear_loadings)
    pd.testing.assert_frame_equal(one.factor_correlation_errors, two.factor_correlation_errors)
    pd.testing.assert_frame_equal(one.candidates, two.candidates)
    pd.testing.assert_frame_equal(one.tidy(), two.tidy())
    data = answers(15, seed=3)
    pd.testing.assert_frame_equal(
        one.factor_scores(data, sd=True), two.factor_scores(data, sd=True)
    )
    assert str(one.summary()) == str(two.summary())
    return one.call == two.call


def test_saved_and_loaded(fit, tmp_path):
    fit.save(tmp_path / "fit.dtstat")
    again = dt.load(tmp_path / "fit.dtstat")
    assert equal(fit, again)
    assert isinstance(again.nonlinear.model, ResponseModel)
    one, two = (f.nonlinear.log_likelihoods(answers(9).to_numpy()) for f in (fit, again))
    np.testing.assert_array_equal(one.rows, two.rows)


def test_networks_are_saved_and_loaded(tmp_path):
    fit = network_fit()
    fit.save(tmp_path / "fit.dtstat")
    again = dt.load(tmp_path / "fit.dtstat")
    assert isinstance(again.nonlinear.model, NetworkModel)
    assert equal(fit, again)
    assert math.isnan(again.nonlinear.n_parameters)
    for a, b in zip(fit.nonlinear.model.weights, again.nonlinear.model.weights, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_network_takes_every_item_for_a_number():
    fit = network_fit()
    frame = fit.response_curves().query("item == 'x1'")
    scale = fit.nonlinear.scale
    np.testing.assert_allclose(
        frame["value"], curves(fit.nonlinear.model)[0] * scale.sd[0] + scale.mean[0]
    )
    assert frame["upper"].isna().all()


def test_curves_are_those_of_one_level():
    rng = np.random.default_rng(0)
    Z = rng.multivariate_normal(np.zeros(2), 0.4 + 0.6 * np.eye(2), 200, method="cholesky")
    X = np.repeat(Z, 3, axis=1) + 0.7 * rng.normal(size=(200, 6))
    fit = dt.fit(X, n_factors=2, estimator="spline", finalists=1, seed=1)
    assert fit.n_factors == 2
    with pytest.raises(dt.InputError, match="has its curves for one level"):
        fit.level(1)
