"""Sums over patterns of missing answers against plain loops over the patterns."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.sem.gaps import saturated_hessian
from dtstat.sem.matrices import Layout, inverse
from dtstat.sem.model import build_model
from dtstat.sem.normal import (
    expected_information,
    likelihood,
    objective,
    observed_information,
    parameters_of,
    saturated_layout,
    squared_length,
)
from dtstat.sem.rows import pairwise_moments, sample_from_rows

ITEMS = tuple(f"x{k}" for k in range(1, 6))
ROUNDING = 1e-10
DIFFERENCE = 1e-6  # central differences, steps of 1e-5, of gradients of size 1


def rows(share, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, 5)) + np.arange(5.0)
    X[rng.random(X.shape) < share] = np.nan
    return X[~np.isnan(X).all(axis=1)]


def moments(seed=1):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(5, 5))
    return A @ A.T + np.eye(5), rng.normal(size=5)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7])
def test_value_and_gradients_are_sums_over_the_patterns(share):
    sample, (Sigma, mu) = sample_from_rows(rows(share)), moments()
    value, G, g = 0.0, np.zeros((5, 5)), np.zeros(5)
    for pattern in sample.patterns:
        o, weight = pattern.items, pattern.n / sample.n_obs
        W, logdet = inverse(Sigma[np.ix_(o, o)])
        d = pattern.mean - mu[o]
        A = pattern.S + np.outer(d, d)
        value += 0.5 * weight * (logdet + np.trace(W @ A))
        G[np.ix_(o, o)] += weight * (W - W @ A @ W)
        g[o] += weight * W @ d
    mine = likelihood(sample, Sigma, mu)
    assert mine[0] == pytest.approx(value, abs=ROUNDING)
    np.testing.assert_allclose(mine[1], G, atol=ROUNDING)
    np.testing.assert_allclose(mine[2], g, atol=ROUNDING)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7])
def test_expected_information_is_the_sum_over_the_patterns(share):
    sample = sample_from_rows(rows(share))
    layout = Layout(build_model("f =~ x1 + x2 + x3 + x4 + x5; x1 ~~ x2", ITEMS, True))
    theta = np.full(layout.model.n_free, 0.6)
    implied, total = layout.implied(theta), 0.0
    derivatives = np.einsum("ia,ja->aij", implied.U, implied.V)
    derivatives = derivatives + np.swapaxes(derivatives, 1, 2)
    for pattern in sample.patterns:
        o = pattern.items
        W = np.linalg.inv(implied.Sigma[np.ix_(o, o)])
        D = W @ derivatives[:, o][:, :, o]
        part = 0.5 * np.einsum("aij,bji->ab", D, D) + implied.dmu[o].T @ W @ implied.dmu[o]
        total = total + pattern.n / sample.n_obs * part
    mine = expected_information(sample, layout, theta)
    np.testing.assert_allclose(mine, layout.collect_square(total), atol=ROUNDING)


@pytest.mark.parametrize("share", [0.05, 0.4])
def test_saturated_information_is_the_derivative_of_the_gradient(share):
    sample, (Sigma, mu) = sample_from_rows(rows(share)), moments()
    layout = saturated_layout(ITEMS, True)
    theta = parameters_of(layout, Sigma, mu)
    mine = saturated_hessian(sample.batches, Sigma, mu)
    np.testing.assert_allclose(mine, observed_information(sample, layout, theta), atol=DIFFERENCE)
    for k in range(len(theta)):
        step = np.where(np.arange(len(theta)) == k, 1e-5, 0.0)
        ends = [objective(sample, layout, theta + s * step)[1] for s in (1, -1)]
        np.testing.assert_allclose(mine[k], (ends[0] - ends[1]) / 2e-5, atol=DIFFERENCE)


def test_pairwise_moments_are_those_of_pandas():
    X = rows(0.3)
    S, mean = pairwise_moments(sample_from_rows(X))
    frame, n = pd.DataFrame(X), len(X)
    np.testing.assert_allclose(S, frame.cov() * (n - 1) / n, atol=ROUNDING)
    np.testing.assert_allclose(mean, frame.mean(), atol=ROUNDING)


def test_pairs_never_answered_have_no_covariance():
    X = rows(0.0)
    X[:60, 0], X[60:, 3] = np.nan, np.nan
    S, _ = pairwise_moments(sample_from_rows(X))
    assert np.isnan(S[0, 3])
    assert np.isnan(S).sum() == 2


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_squared_length_is_the_quadratic_form_of_the_saturated_information(share):
    sample, (Sigma, mu) = sample_from_rows(rows(share)), moments()
    D, d = moments(2)
    layout = saturated_layout(ITEMS, True)
    information = expected_information(sample, layout, parameters_of(layout, Sigma, mu))
    x = parameters_of(layout, D, d)
    assert squared_length(sample, Sigma, D, d) == pytest.approx(x @ information @ x)


def test_the_baseline_of_free_predictors_is_the_best_of_its_kind():
    data = dt.load_dataset("holzinger_swineford_9").astype(float)
    rng = np.random.default_rng(4)
    data = data.mask(rng.random(data.shape) < 0.2)
    fit = dt.sem(data, "x4 ~ x1 + x2; x7 ~ x4 + x1", missing="fiml", fixed_x=False)
    alone = "; ".join(f"{name} ~~ {name}" for name in ("x1", "x2", "x4", "x7"))
    baseline = dt.sem(data, f"{alone}; x1 ~~ x2", missing="fiml")
    assert fit.fit_measures["baseline.df"] == baseline.fit_measures["df"]
    assert fit.fit_measures["baseline.chisq"] == pytest.approx(
        baseline.fit_measures["chisq"], abs=1e-5
    )
