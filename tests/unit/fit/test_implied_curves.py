"""Mean answers by the copula against draws from it."""

import functools

import numpy as np
import pytest
from scipy import stats

import dtstat as dt
from dtstat.factors.scores import learn_marginals, linear_marginals

DRAWS = 200_000
NINE = dt.load_dataset("holzinger_swineford_9")
LIKERT = dt.load_dataset("likert_survey")
CROSSED = dt.Structure.from_keys(
    {"a": ["x1", "x2", "x3", "x9"], "b": ["x4", "x5", "x6", "x1"], "c": ["x7", "x8", "x9"]}
)


@functools.cache
def crossed():
    return dt.fit(NINE, structure=CROSSED)


@functools.cache
def ratings():
    return dt.fit(LIKERT)


def empirical(x, u):
    """Answers whose normal scores are those of ranks u: quantiles of the answers themselves."""
    x = np.sort(x[~np.isnan(x)])
    return x[np.clip(np.ceil(u * len(x)).astype(int) - 1, 0, len(x) - 1)]


def drawn(fit, data, item, factor, z, rng):
    """Draws of answers at a value of the factor, the item's other factors drawn on their own."""
    L, Phi = fit.loadings.loc[item], fit.factor_correlations
    others = [name for name in fit.factor_names if name != factor]
    Z = rng.multivariate_normal(
        np.zeros(len(others)), Phi.loc[others, others], DRAWS, method="cholesky"
    )
    rest = Z @ L[others].to_numpy()
    Y = L[factor] * z + rest + np.sqrt(fit.uniquenesses[item]) * rng.normal(size=DRAWS)
    return empirical(data[item].to_numpy(float), stats.norm.cdf(Y))


def curve(fit, item, factor):
    frame = fit.response_curves()
    part = frame[(frame["item"] == item) & (frame["factor"] == factor)]
    return part.set_index(part["z"].round(6))["value"]


CASES = {
    "one factor": (lambda: crossed(), NINE, "x2", "a"),
    "falling or weak": (lambda: crossed(), NINE, "x9", "a"),
    "two factors": (lambda: crossed(), NINE, "x1", "a"),
    "two factors, the other": (lambda: crossed(), NINE, "x1", "b"),
    "rating": (lambda: ratings(), LIKERT, LIKERT.columns[0], None),
    "another rating": (lambda: ratings(), LIKERT, LIKERT.columns[-1], None),
}


@pytest.mark.parametrize("name", CASES)
def test_mean_answers_are_those_of_draws(name):
    """Within five standard errors of the mean of the draws."""
    make, data, item, factor = CASES[name]
    fit = make()
    factor = factor or fit.structure.parents(item)[0]
    found = curve(fit, item, factor)
    rng = np.random.default_rng(1)
    for z in (-3.0, -1.1, 0.0, 0.7, 2.5):
        answers = drawn(fit, data, item, factor, z, rng)
        # an answer that was drawn by hardly any row is hardly ever drawn here
        error = 5 * answers.std() / np.sqrt(DRAWS) + 1e-3 * data[item].std()
        assert found[z] == pytest.approx(answers.mean(), abs=error)


def test_the_draws_tell_two_factors_from_one():
    """The rest of an item with a second factor is not its uniqueness alone."""
    fit = crossed()
    assert (np.abs(fit.loadings.loc["x1", ["a", "b"]]) > 0.15).all()
    # averaged over correlated factors, not given them: slope λ, not that of the item on the factor
    i = fit.item_names.index("x1")
    others = fit.loadings.loc["x1", "b"] ** 2 + fit.uniquenesses["x1"]
    mean = fit.loadings.loc["x1", "a"] * np.linspace(-3, 3, 61)
    expected = fit.marginals.mean_answers(i, mean, float(np.sqrt(others)))
    np.testing.assert_allclose(curve(fit, "x1", "a"), expected, rtol=1e-9)


@pytest.mark.parametrize("make", [crossed, ratings])
def test_there_is_a_curve_for_every_loading_and_none_else(make):
    fit = make()
    frame = fit.response_curves()
    pairs = frame[["item", "factor"]].drop_duplicates().itertuples(index=False)
    expected = {(fit.item_names[i], fit.factor_names[k]) for i, k in np.argwhere(fit.support)}
    assert {tuple(pair) for pair in pairs} == expected
    assert len(frame) == 61 * len(expected)
    assert frame[["lower", "upper"]].isna().all(axis=None)
    for (item, factor), part in frame.groupby(["item", "factor"]):
        steps = np.diff(part["value"]) * np.sign(fit.loadings.loc[item, factor])
        assert (steps >= 0).all()


def test_over_everybody_curves_average_to_the_mean_answer():
    fit = ratings()
    z, weights = np.polynomial.hermite_e.hermegauss(61)
    for item in fit.item_names[:6]:
        (factor,) = fit.structure.parents(item)
        found = curve(fit, item, factor)
        at = np.interp(z[abs(z) <= 3], found.index, found)
        w = weights[abs(z) <= 3]
        # beyond 3 standard deviations lie 0.27 % of everybody
        assert at @ w / w.sum() == pytest.approx(LIKERT[item].mean(), abs=0.01)


def test_items_refined_to_several_factors():
    fit = dt.fit(NINE, refine=True)
    several = np.flatnonzero(fit.support.sum(axis=1) > 1)
    assert len(several)
    item = fit.item_names[several[0]]
    rng = np.random.default_rng(2)
    for factor in fit.structure.parents(item):
        found = curve(fit, item, factor)
        for z in (-2.0, 1.0):
            answers = drawn(fit, NINE, item, factor, z, rng)
            error = 5 * answers.std() / np.sqrt(DRAWS) + 1e-3 * NINE[item].std()
            assert found[z] == pytest.approx(answers.mean(), abs=error)


def test_linear_curves_are_straight_lines_through_the_mean():
    fit = dt.fit(NINE, estimator="linear")
    for item in fit.item_names:
        (factor,) = fit.structure.parents(item)
        found = curve(fit, item, factor)
        slope = fit.loadings.loc[item, factor] * NINE[item].std(ddof=0)
        np.testing.assert_allclose(found, NINE[item].mean() + slope * found.index, rtol=1e-9)


def test_an_item_without_error_answers_by_its_quantiles():
    """A Heywood case: no noise, so the curve is that of the quantiles at λz."""
    rng = np.random.default_rng(3)
    z, e = rng.normal(size=(2, 400))
    X = np.column_stack([z, z + e, z - 0.5 * e])  # r12 r13 / r23 is above 1
    told = pytest.warns(dt.DataWarning, match="'x3' is an exact linear combination of 'x1', 'x2'")
    with told, pytest.warns(dt.EstimationWarning, match="without error"):
        fit = dt.fit(X, structure=dt.Structure(np.ones((3, 1), dtype=bool)))
    loading = fit.loadings.iloc[0, 0]
    assert loading > 0.99
    found = curve(fit, "x1", "F1")
    assert np.isfinite(fit.response_curves()["value"]).all()
    expected = empirical(X[:, 0], stats.norm.cdf(loading * found.index.to_numpy()))
    np.testing.assert_allclose(found.iloc[2:-2], expected[2:-2], atol=0.25)
    assert found.iloc[0] >= X[:, 0].min()
    assert found.iloc[-1] <= X[:, 0].max()


# --- margins ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sd", [0.0, 0.3, 1.0])
def test_ratings_by_their_thresholds(sd):
    """Three answers, unevenly spaced, by their probabilities."""
    x = np.repeat([1.0, 2.0, 7.0], [20, 50, 30])
    margins = learn_marginals(x[:, None])
    mean = np.array([-1.0, 0.1, 0.9])
    found = margins.mean_answers(0, mean, sd)
    low, high = stats.norm.ppf([0.2, 0.7])
    scale = max(sd, 1e-6)
    first = stats.norm.cdf((low - mean) / scale)
    last = stats.norm.sf((high - mean) / scale)
    np.testing.assert_allclose(found, first + 2 * (1 - first - last) + 7 * last, rtol=1e-12)


@pytest.mark.parametrize("shape", ["normal", "skewed", "tied"])
def test_of_many_answers_some_are_kept_and_the_mean_is_right(shape):
    rng = np.random.default_rng(4)
    x = rng.normal(size=3000)
    x = {"normal": x, "skewed": np.exp(x), "tied": np.round(np.exp(x), 2)}[shape]
    margins = learn_marginals(x[:, None])
    assert len(margins.answers[0]) <= 257
    assert margins.mean_answers(0, np.zeros(1), 1.0)[0] == pytest.approx(
        x.mean(), abs=0.01 * x.std()
    )
    Y = 0.8 + 0.6 * rng.normal(size=DRAWS)
    answers = empirical(x, stats.norm.cdf(Y))
    error = 5 * answers.std() / np.sqrt(DRAWS) + 0.01 * x.std()
    found = margins.mean_answers(0, np.array([0.8]), 0.6)[0]
    assert found == pytest.approx(answers.mean(), abs=error)


def test_linear_margins_ignore_the_spread():
    X = np.random.default_rng(5).normal(3.0, 2.0, size=(50, 2))
    margins = linear_marginals(X)
    at = np.array([-2.0, 0.0, 1.5])
    for sd in (0.0, 1.0):
        expected = X[:, 1].mean() + X[:, 1].std() * at
        np.testing.assert_allclose(margins.mean_answers(1, at, sd), expected)


# --- where there are none -----------------------------------------------------------------------


def test_a_matrix_has_no_answers():
    with pytest.raises(dt.InputError, match="A matrix has no answers"):
        dt.fit(dt.dependence(NINE)).response_curves()


@pytest.mark.parametrize("as_matrix", [True, False])
def test_without_factors_there_are_columns_and_no_curves(as_matrix):
    noise = np.random.default_rng(3).normal(size=(150, 8))
    frame = dt.fit(dt.dependence(noise) if as_matrix else noise).response_curves()
    assert len(frame) == 0
    assert list(frame) == ["item", "factor", "z", "value", "lower", "upper"]


def test_a_fit_that_was_saved_has_the_same_curves(tmp_path):
    crossed().save(tmp_path / "fit.dtstat")
    assert dt.load(tmp_path / "fit.dtstat").response_curves().equals(crossed().response_curves())
