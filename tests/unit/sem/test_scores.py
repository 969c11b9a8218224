"""Factor scores: what they must satisfy in any model, gaps, and messages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import EstimationError, InputError
from dtstat.sem.discrepancy import ORDERED_PROCEDURES
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.likelihood import fit_normal
from dtstat.sem.model import build_model
from dtstat.sem.scores import factor_scores, measurement, score_reliability

ROUNDING_TOL = 1e-9
# Two searches for the same maximum end within about 1e-6 of each other.
REFIT_TOL = 1e-5

CFA = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6"
CROSS = "visual =~ x1 + x2 + x3 + x9\nspeed =~ x7 + x8 + x9\nx2 ~~ x7"
SEM = "ind60 =~ x1 + x2 + x3\ndem60 =~ y1 + y2 + y3 + y4\ndem60 ~ ind60\ny2 ~~ y4"
DIRECT_EFFECT = "f =~ x1 + x2 + x3\nf ~ y1\nx3 ~ y1"
OUTCOME = "f =~ x1 + x2 + x3\ny1 ~ f"
MODELS = [CFA, CROSS, SEM, DIRECT_EFFECT, OUTCOME]
NAMES = ["cfa", "cross-loading", "sem", "direct effect", "outcome"]
METHODS = ["regression", "Bartlett"]


def data_for(text: str) -> pd.DataFrame:
    return dt.load_dataset("political_democracy" if "y1" in text else "holzinger_swineford_9")


def columns(estimate: SEMEstimate, data: pd.DataFrame) -> np.ndarray:
    return data[list(estimate.model.observed)].to_numpy(dtype=float)


def fitted(text: str, data: pd.DataFrame, means: bool = True) -> SEMEstimate:
    model = build_model(text, list(data.columns), mean_structure=means)
    X = data[list(model.observed)].to_numpy(dtype=float)
    return fit_normal(model, X, "ml", len(X))


def with_moments(Sigma: np.ndarray, mu: np.ndarray, n: int = 100) -> np.ndarray:
    """(n, p) rows, n > p, whose sample moments (divisor n) are exactly these."""
    Z = np.random.default_rng(0).normal(size=(n, len(mu)))
    Z -= Z.mean(axis=0)
    Z = Z @ np.linalg.inv(np.linalg.cholesky(Z.T @ Z / n)).T
    return mu + Z @ np.linalg.cholesky(Sigma).T


@pytest.fixture(scope="module", params=MODELS, ids=NAMES)
def estimate(request) -> SEMEstimate:
    return fitted(request.param, data_for(request.param))


def test_measurement_form_gives_back_the_implied_moments(estimate) -> None:
    """x = ν + Λη + Dx + e, so (I − D) Σ (I − D)ᵀ = ΛVΛᵀ + Θ but for Cov(η, e) of covariates."""
    form = measurement(estimate)
    p = len(estimate.Sigma)
    residual = np.eye(p) - form.D
    explained = form.Lambda @ form.C @ residual.T
    left = residual @ estimate.Sigma @ residual.T
    free = (form.Lambda != 0).any(axis=1)  # rows of items that measure something
    np.testing.assert_allclose(
        left[np.ix_(free, free)], (explained + form.Theta)[np.ix_(free, free)], atol=ROUNDING_TOL
    )


def test_regression_scores_have_variance_reliability_times_factor_variance(estimate) -> None:
    scores = factor_scores(estimate, with_moments(estimate.Sigma, estimate.mu))
    variance = np.diag(measurement(estimate).eta_covariance)
    np.testing.assert_allclose(
        scores.var(axis=0), score_reliability(estimate) * variance, atol=ROUNDING_TOL
    )


@pytest.mark.parametrize("method", METHODS)
def test_scores_have_the_mean_of_the_factors(estimate, method: str) -> None:
    scores = factor_scores(estimate, with_moments(estimate.Sigma, estimate.mu), method)
    form = measurement(estimate)
    np.testing.assert_allclose(scores.mean(axis=0), form.eta_mean, atol=ROUNDING_TOL)


def test_bartlett_scores_recover_factors_of_rows_without_error(estimate) -> None:
    """Whatever the values of covariates, which measure nothing."""
    form, rng = measurement(estimate), np.random.default_rng(1)
    p, d = form.Lambda.shape
    eta = rng.normal(size=(20, d))
    inner = np.linalg.inv(np.eye(p) - form.D)
    nu = (np.eye(p) - form.D) @ estimate.mu - form.Lambda @ form.eta_mean
    covariates = rng.normal(size=(20, p)) * (form.Lambda == 0).all(axis=1)
    X = (nu + eta @ form.Lambda.T + covariates) @ inner.T
    np.testing.assert_allclose(factor_scores(estimate, X, "Bartlett"), eta, atol=ROUNDING_TOL)


@pytest.mark.parametrize("method", METHODS)
def test_score_reliability_is_the_squared_correlation_in_simulated_rows(method: str) -> None:
    estimate = fitted(CROSS, data_for(CROSS))
    form, rng, n = measurement(estimate), np.random.default_rng(2), 100_000
    eta = rng.multivariate_normal(form.eta_mean, form.eta_covariance, n, method="cholesky")
    errors = rng.multivariate_normal(np.zeros(len(form.Theta)), form.Theta, n, method="cholesky")
    X = estimate.mu + (eta - form.eta_mean) @ form.Lambda.T + errors
    scores = factor_scores(estimate, X, method)
    r2 = np.array([np.corrcoef(scores[:, k], eta[:, k])[0, 1] ** 2 for k in range(2)])
    expected = score_reliability(estimate, method)
    monte_carlo = 2 * np.sqrt(expected) * (1 - expected) / np.sqrt(n)
    assert (np.abs(r2 - expected) < 4 * monte_carlo).all()
    assert (np.abs(r2 - np.sqrt(expected)) > 20 * monte_carlo).all()  # it is not the determinacy


def test_no_linear_score_is_more_reliable_than_that_by_regression(estimate) -> None:
    best, bartlett = score_reliability(estimate), score_reliability(estimate, "Bartlett")
    assert (bartlett <= best + ROUNDING_TOL).all()
    assert ((bartlett > 0) & (best < 1)).all()


def test_both_scores_of_a_single_factor_are_equally_reliable() -> None:
    estimate = fitted("f =~ x1 + x2 + x3", data_for("f =~ x1"))
    form = measurement(estimate)
    lam, theta = form.Lambda[:, 0], np.diag(form.Theta)
    information = form.eta_covariance[0, 0] * (lam**2 / theta).sum()
    for method in METHODS:
        expected = information / (1 + information)
        np.testing.assert_allclose(score_reliability(estimate, method), expected, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_scores_follow_their_rows(estimate, method: str) -> None:
    X = with_moments(estimate.Sigma, estimate.mu, 30)
    X[4, 1] = X[7, 0] = np.nan
    order = np.random.default_rng(3).permutation(30)
    scores = factor_scores(estimate, X, method)
    np.testing.assert_allclose(
        factor_scores(estimate, X[order], method), scores[order], atol=ROUNDING_TOL
    )
    np.testing.assert_allclose(
        factor_scores(estimate, X[4:5], method), scores[4:5], atol=ROUNDING_TOL
    )


@pytest.mark.parametrize("method", METHODS)
def test_reversing_an_item_leaves_the_scores(method: str) -> None:
    data = data_for(CFA)
    reversed_item = data.assign(x2=-data["x2"])
    first, second = fitted(CFA, data), fitted(CFA, reversed_item)
    a = factor_scores(first, columns(first, data), method)
    b = factor_scores(second, columns(second, reversed_item), method)
    np.testing.assert_allclose(a, b, atol=REFIT_TOL)


@pytest.mark.parametrize("method", METHODS)
def test_reversing_the_marker_reverses_the_scores(method: str) -> None:
    data = data_for(CFA)
    reversed_item = data.assign(x1=-data["x1"])
    first, second = fitted(CFA, data), fitted(CFA, reversed_item)
    a = factor_scores(first, columns(first, data), method)
    b = factor_scores(second, columns(second, reversed_item), method)
    np.testing.assert_allclose(a * [-1, 1], b, atol=REFIT_TOL)


@pytest.mark.parametrize("method", METHODS)
def test_an_observed_outcome_tells_as_much_as_an_item(method: str) -> None:
    """``y1 ~ f`` and ``f =~ y1`` are the same model."""
    data = data_for(OUTCOME)
    outcome, item = fitted(OUTCOME, data), fitted("f =~ x1 + x2 + x3 + y1", data)
    assert outcome.model.eta != item.model.eta
    X = columns(item, data)
    a, b = factor_scores(outcome, X, method), factor_scores(item, X, method)
    np.testing.assert_allclose(a, b, atol=REFIT_TOL)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", MODELS, ids=NAMES)
def test_mean_structure_does_not_matter_while_intercepts_are_free(text: str, method: str) -> None:
    data = data_for(text)
    with_means, without = fitted(text, data), fitted(text, data, means=False)
    X = columns(with_means, data)
    a, b = factor_scores(with_means, X, method), factor_scores(without, X, method)
    np.testing.assert_allclose(a, b, atol=REFIT_TOL)


def test_fit_without_mean_structure_keeps_the_sample_means() -> None:
    data = data_for(CFA)
    estimate = fitted(CFA, data, means=False)
    np.testing.assert_allclose(estimate.mean, columns(estimate, data).mean(axis=0))


def test_gap_equals_the_conditional_mean_of_what_is_observed(estimate) -> None:
    """Plain twin: condition the joint normal of (η, x) on the observed entries, row by row."""
    form = measurement(estimate)
    X = with_moments(estimate.Sigma, estimate.mu, 25)
    X[np.random.default_rng(4).random(X.shape) < 0.3] = np.nan
    scores = factor_scores(estimate, X)
    for row, score in zip(X, scores, strict=True):
        o = ~np.isnan(row)
        if o.any():
            weights = np.linalg.solve(estimate.Sigma[np.ix_(o, o)], row[o] - estimate.mu[o])
            expected = form.eta_mean + form.C[:, o] @ weights
        else:
            expected = np.full(len(score), np.nan)
        np.testing.assert_allclose(score, expected, atol=ROUNDING_TOL)


def test_bartlett_with_gaps_is_weighted_least_squares_of_what_is_observed() -> None:
    estimate = fitted(SEM, data_for(SEM))
    form = measurement(estimate)
    X = with_moments(estimate.Sigma, estimate.mu, 25)
    X[:, 2:][np.random.default_rng(5).random((25, X.shape[1] - 2)) < 0.3] = np.nan
    nu = estimate.mu - form.Lambda @ form.eta_mean
    for row, score in zip(X, factor_scores(estimate, X, "Bartlett"), strict=True):
        o = ~np.isnan(row)
        weighted = np.linalg.solve(form.Theta[np.ix_(o, o)], form.Lambda[o])
        expected = np.linalg.solve(weighted.T @ form.Lambda[o], weighted.T @ (row - nu)[o])
        np.testing.assert_allclose(score, expected, atol=ROUNDING_TOL)


def test_missing_covariate_takes_the_item_that_depends_on_it_out_of_bartlett() -> None:
    estimate = fitted(DIRECT_EFFECT, data_for(DIRECT_EFFECT))
    X = with_moments(estimate.Sigma, estimate.mu)[:5]
    position = [estimate.model.observed.index(name) for name in ("x3", "y1")]
    without_both = X.copy()
    without_both[:, position] = np.nan
    X[:, position[1]] = np.nan
    np.testing.assert_allclose(
        factor_scores(estimate, X, "Bartlett"), factor_scores(estimate, without_both, "Bartlett")
    )


def test_bartlett_score_is_missing_where_the_items_leave_the_factor_open() -> None:
    estimate = fitted(CROSS, data_for(CROSS))
    X = with_moments(estimate.Sigma, estimate.mu)[:4]
    names = estimate.model.observed
    for row, gone in enumerate([["x7", "x8", "x9"], ["x7", "x8"], list(set(names) - {"x9"})]):
        X[row, [names.index(name) for name in gone]] = np.nan
    known = ~np.isnan(factor_scores(estimate, X, "Bartlett"))
    # x9 alone measures both factors and tells neither; with x1 to x3 it tells speed
    assert known.tolist() == [[True, False], [True, True], [False, False], [True, True]]
    assert np.isfinite(factor_scores(estimate, X)).all()


@pytest.mark.parametrize("method", METHODS)
def test_empty_rows_and_no_rows(method: str) -> None:
    estimate = fitted(CFA, data_for(CFA))
    assert np.isnan(factor_scores(estimate, np.full((2, 6), np.nan), method)).all()
    assert factor_scores(estimate, np.empty((0, 6)), method).shape == (0, 2)


def test_rows_given_are_not_changed() -> None:
    estimate = fitted(CFA, data_for(CFA))
    X = with_moments(estimate.Sigma, estimate.mu)[:3]
    before = X.copy()
    factor_scores(estimate, X, "Bartlett")
    np.testing.assert_array_equal(X, before)


@pytest.fixture
def cfa() -> SEMEstimate:
    return fitted(CFA, data_for(CFA))


def test_unknown_method_is_refused(cfa) -> None:
    message = r"`method` must be a known name; got 'bartlet'. Did you mean 'Bartlett'\?"
    with pytest.raises(InputError, match=message):
        factor_scores(cfa, np.zeros((1, 6)), "bartlet")
    with pytest.raises(InputError, match=message):
        score_reliability(cfa, "bartlet")


def test_ordinal_estimates_are_refused(cfa) -> None:
    ordinal = replace(cfa, procedure=ORDERED_PROCEDURES["dwls"])
    with pytest.raises(InputError, match="got 'dwls'"):
        factor_scores(ordinal, np.zeros((1, 6)))
    with pytest.raises(InputError, match="got 'dwls'"):
        score_reliability(ordinal)


def with_value(estimate: SEMEstimate, name: str, value: float) -> SEMEstimate:
    """Set a parameter."""
    theta = estimate.theta.copy()
    theta[next(row.free for row in estimate.model.parameters if row.name == name) - 1] = value
    implied = estimate.layout.implied(theta)
    return replace(
        estimate,
        theta=theta,
        blocks=(replace(estimate.blocks[0], Sigma=implied.Sigma, mu=implied.mu),),
    )


@pytest.mark.parametrize("value", [0.0, -0.05])
def test_bartlett_names_the_item_without_residual_variance(cfa, value: float) -> None:
    heywood = with_value(cfa, "x2 ~~ x2", value)
    message = f"positive residual variances; that of item 'x2' is {value:.3g}. Use method='regr"
    with pytest.raises(EstimationError, match=message):
        factor_scores(heywood, np.zeros((1, 6)), "Bartlett")
    with pytest.raises(EstimationError, match=message):
        score_reliability(heywood, "Bartlett")
    assert np.isfinite(factor_scores(heywood, np.zeros((1, 6)))).all()


def test_bartlett_refuses_residual_covariances_that_cannot_be() -> None:
    estimate = fitted(CFA + "\nx1 ~~ x4", data_for(CFA))
    with pytest.raises(EstimationError, match="form a positive definite matrix"):
        factor_scores(with_value(estimate, "x1 ~~ x4", 2.0), np.zeros((1, 6)), "Bartlett")


def test_bartlett_refuses_a_factor_of_factors() -> None:
    data = data_for(CFA)
    text = CFA + "\nspeed =~ x7 + x8 + x9\ngeneral =~ visual + textual + speed"
    estimate = fitted(text, data)
    with pytest.raises(EstimationError, match="factor 'general' do not exist"):
        factor_scores(estimate, columns(estimate, data), "Bartlett")
    assert np.isfinite(factor_scores(estimate, columns(estimate, data))).all()


def test_reliability_of_a_factor_without_variance_is_missing(cfa) -> None:
    improper = with_value(cfa, "textual ~~ textual", -0.01)
    improper = with_value(improper, "visual ~~ textual", 0.0)
    reliability = score_reliability(improper)
    assert np.isnan(reliability).tolist() == [False, True]
