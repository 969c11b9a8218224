"""Scores by all methods, their errors, and plausible values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy.stats import norm

import dtstat as dt
from dtstat.dependence.ordinal_scores import UNBOUNDED
from dtstat.factors.copula import FactorEstimate
from dtstat.factors.expected import answer_limits, expected_factors
from dtstat.factors.scores import learn_marginals

KEYS = {"F1": ["a1", "a2", "a3", "-a4"], "F2": ["b1", "b2", "b3", "b4"]}
NAMES = [name.removeprefix("-") for names in KEYS.values() for name in names]
CUTS = {"five-point": [-1.2, -0.4, 0.4, 1.2], "yes/no": [0.3]}


def survey(n, answers=None, seed=1, loading=0.8):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, 2)) @ np.linalg.cholesky([[1, 0.5], [0.5, 1]]).T
    X = loading * np.repeat(F, 4, axis=1)
    X += np.sqrt(1 - loading**2) * rng.standard_normal((n, 8))
    X[:, 3] *= -1
    if answers is not None:
        X = np.digitize(X, CUTS[answers]).astype(float) + 1
    index = [f"person {k}" for k in range(n)]
    return pd.DataFrame(X, index, NAMES), F


def fitted(data):
    return dt.fit(data, structure=dt.Structure.from_keys(KEYS))


def by_grid(estimate, margins, X):
    """Means and standard deviations of two factors given categories, on a grid."""
    g = np.linspace(-6, 6, 161)
    z = np.stack(np.meshgrid(g, g, indexing="ij"), -1).reshape(-1, 2)
    inverse = np.linalg.inv(estimate.factor_correlations)
    log = -0.5 * np.einsum("gi,ij,gj->g", z, inverse, z)[None].repeat(len(X), 0)
    for i, (L, psi) in enumerate(zip(estimate.loadings, estimate.uniquenesses, strict=True)):
        edges = np.concatenate([[-np.inf], margins.thresholds[i], [np.inf]])
        code = np.searchsorted(
            margins.answers[i], np.nan_to_num(X[:, i], nan=margins.answers[i][0])
        )
        m, sd = z @ L, np.sqrt(psi)
        cell = norm.cdf((edges[code + 1][:, None] - m) / sd) - norm.cdf(
            (edges[code][:, None] - m) / sd
        )
        log += np.where(np.isnan(X[:, i])[:, None], 0.0, np.log(np.maximum(cell, 1e-300)))
    share = np.exp(log - log.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    mean = share @ z
    return mean, np.sqrt(share @ z**2 - mean**2)


@pytest.mark.parametrize("answers", CUTS)
@pytest.mark.parametrize("cross", [False, True])
def test_expected_factors_are_those_of_a_grid(answers, cross):
    data, _ = survey(60, answers)
    X = data.to_numpy().copy()
    X[3, :4] = X[5, 2] = np.nan
    L = np.kron(np.eye(2), np.full((4, 1), 0.85))
    L[3, 0] = -0.85
    if cross:
        L[0] = [0.6, 0.3]
    Phi = np.array([[1, 0.5], [0.5, 1]])
    psi = 1 - ((L @ Phi) * L).sum(axis=1)
    estimate = FactorEstimate(L, Phi, psi, 0.0, 1, True, 1)
    margins = learn_marginals(X)
    mean, V = expected_factors(estimate, margins, X)
    wanted, sd = by_grid(estimate, margins, X)
    assert mean == pytest.approx(wanted, abs=0.02)
    assert np.sqrt(np.einsum("nkk->nk", V)) == pytest.approx(sd, rel=0.03)


def test_with_one_factor_they_are_exact():
    data, _ = survey(80, "yes/no")
    X = data[NAMES[4:]].to_numpy()
    estimate = FactorEstimate(np.full((4, 1), 0.9), np.eye(1), np.full(4, 0.19), 0.0, 1, True, 1)
    margins = learn_marginals(X)
    mean, V = expected_factors(estimate, margins, X)
    g = np.linspace(-8, 8, 4001)
    like = np.ones((len(X), len(g)))
    for i in range(4):
        above = norm.sf((margins.thresholds[i][0] - 0.9 * g) / np.sqrt(0.19))
        like *= np.where(X[:, [i]] == 2, above, 1 - above)
    share = like * norm.pdf(g)
    share /= share.sum(axis=1, keepdims=True)
    assert mean[:, 0] == pytest.approx(share @ g, abs=1e-6)
    assert V[:, 0, 0] == pytest.approx(share @ g**2 - (share @ g) ** 2, abs=1e-6)


def test_errors_of_eap_cover_where_those_of_regression_are_too_small():
    data, F = survey(4000, "yes/no", loading=0.9)
    fit = fitted(data)
    covered = {}
    for method in ("eap", "regression"):
        found = fit.factor_scores(data, method, sd=True)
        inside = np.abs(F - found[["F1", "F2"]]) < 1.96 * found[["F1_sd", "F2_sd"]].to_numpy()
        covered[method] = inside.to_numpy().mean()
    assert covered["eap"] == pytest.approx(0.95, abs=0.01)
    assert covered["regression"] < covered["eap"]


def test_eap_of_numbers_is_the_regression_score():
    data, _ = survey(200)
    fit = fitted(data)
    pd.testing.assert_frame_equal(
        fit.factor_scores(data, "eap", sd=True), fit.factor_scores(data, sd=True)
    )


def test_bartlett_scores_are_unbiased_given_the_factors():
    data, F = survey(3000)
    found = fitted(data).factor_scores(data, "bartlett", sd=True)
    slope = np.polyfit(F[:, 0], found["F1"], 1)[0]
    assert slope == pytest.approx(1, abs=0.04)
    assert np.std(found["F1"] - F[:, 0]) == pytest.approx(found["F1_sd"].iloc[0], rel=0.05)


def test_sums_turn_negative_items_round_and_fill_gaps():
    data, _ = survey(200, "five-point")
    data.iloc[0, 0] = np.nan
    found = fitted(data).factor_scores(data, "sum", sd=True)
    signed = data.assign(a4=6 - data["a4"])[["a1", "a2", "a3", "a4"]]
    assert found["F1"].to_numpy() == pytest.approx((signed.mean(axis=1) * 4).to_numpy())
    alpha = dt.reliability(data, KEYS).factors["alpha"][0]
    S = signed.cov().to_numpy().sum()
    assert found["F1_sd"].iloc[1] == pytest.approx(np.sqrt(S * (1 - alpha)))


def test_index_is_kept_and_formulas_can_name_scores():
    data, _ = survey(100, "five-point")
    fit = fitted(data)
    for method in ("regression", "bartlett", "eap", "sum"):
        assert list(fit.factor_scores(data, method).index) == list(data.index)
    more = fit.augment(data)
    assert list(more)[-2:] == ["F1_score", "F2_score"]
    smf.ols("F1_score ~ F2_score", more).fit()
    with pytest.raises(dt.InputError, match="already have a column 'F1_score'"):
        fit.augment(more)


def test_plausible_values_vary_and_correlate_as_the_factors_do():
    data, _ = survey(4000, "five-point")
    fit = fitted(data)
    drawn = fit.plausible_values(data, draws=3, seed=1)
    assert len(drawn) == 12_000
    assert list(drawn) == ["draw", "F1", "F2"]
    assert list(drawn.index[:4000]) == list(data.index)
    pd.testing.assert_frame_equal(drawn, fit.plausible_values(data, draws=3, seed=1))
    one = drawn[drawn["draw"] == 2]
    assert one["F1"].std() == pytest.approx(1, abs=0.03)
    correlation = fit.factor_correlations.loc["F1", "F2"]
    assert one["F1"].corr(one["F2"]) == pytest.approx(correlation, abs=0.03)


@pytest.mark.parametrize("answers", [None, "five-point"])
def test_plausible_values_of_factors_in_another_order_are_the_same(answers):
    data, _ = survey(100, answers)
    data.iloc[3, :2] = np.nan
    other = -data.iloc[::-1, ::-1]
    one, two = (dt.fit(x).plausible_values(x, draws=2, seed=1) for x in (data, other))
    for k in (1, 2):
        ours, theirs = (drawn[drawn["draw"] == k] for drawn in (one, two))
        theirs = theirs.loc[ours.index, ["F2", "F1"]].to_numpy()
        signs = np.sign((theirs * ours[["F1", "F2"]].to_numpy()).sum(axis=0))
        np.testing.assert_allclose(theirs * signs, ours[["F1", "F2"]], rtol=0, atol=1e-8)


def test_rows_without_answers_have_no_scores():
    data, _ = survey(100, "five-point")
    fit = fitted(data)
    data.iloc[4] = np.nan
    for method in ("regression", "bartlett", "eap", "sum"):
        assert fit.factor_scores(data, method, sd=True).iloc[4].isna().all()
    assert fit.plausible_values(data, 1, seed=1).loc["person 4", "F1":].isna().all()


def test_refused_in_words():
    data, _ = survey(100)
    fit = fitted(data)
    with pytest.raises(dt.InputError, match="`method` must be"):
        fit.factor_scores(data, "Bartlet")
    with pytest.raises(dt.InputError, match="`draws` must be"):
        fit.plausible_values(data, 0)


@pytest.mark.parametrize("n", [258, 263, 275, 300])
def test_margins_of_items_turned_round_keep_the_same_answers(n):
    """Of more than 257 answers some are left out; not others because an item is turned round."""
    X = np.random.default_rng(n).normal(size=(n, 60))
    a, b = learn_marginals(X), learn_marginals(-X)
    for i in range(60):
        np.testing.assert_array_equal(a.answers[i], -b.answers[i][::-1])
        np.testing.assert_allclose(a.scores[i], -b.scores[i][::-1], atol=1e-12)


def test_eap_scores_of_continuous_items_among_ratings_do_not_depend_on_their_direction():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(400, 8)) * 0.7 + rng.normal(size=(400, 1))
    X[:, ::2] = np.clip(np.round(X[:, ::2] + 3), 1, 5)
    signs = np.array([1, -1, -1, 1, -1, 1, 1, -1])
    a, b = dt.fit(X, n_factors=1), dt.fit(X * signs, n_factors=1)
    one, other = (fit.factor_scores(Y, "eap").to_numpy() for fit, Y in ((a, X), (b, X * signs)))
    same = np.sign(a.loadings.to_numpy().sum() * (b.loadings.to_numpy().ravel() @ signs))
    np.testing.assert_allclose(one, same * other, atol=1e-8)


def test_an_answer_nobody_gave_is_one_of_the_two_next_to_it():
    margins = learn_marginals(np.repeat([1.0, 2.0, 4.0], 10)[:, None])
    low, high = answer_limits(margins, np.array([[0.0], [1], [2], [3], [4], [9]]))
    t = margins.thresholds[0]
    np.testing.assert_array_equal(low.ravel(), [-UNBOUNDED, -UNBOUNDED, t[0], t[0], t[1], t[1]])
    np.testing.assert_array_equal(high.ravel(), [t[0], t[0], t[1], *[UNBOUNDED] * 3])
