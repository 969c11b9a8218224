"""What rows are worth as evidence about a nonlinear model."""

import numpy as np
import pytest
from scipy.stats import norm

import dtstat as dt
from dtstat.curves import bspline
from dtstat.curves.estimate import (
    NonlinearEstimate,
    draw_answers,
    effective_rows,
    rank_correlations,
)
from dtstat.curves.response_model import ResponseModel
from dtstat.curves.scales import AnswerScale, NormalScores

LINE = (np.arange(bspline.K) - 9) * bspline.WIDTH  # f(z) = z
L = np.kron(np.eye(2), np.array([[0.8], [0.7], [0.6]]))
PHI = np.array([[1, 0.3], [0.3, 1]])
SIGMA = L @ PHI @ L.T + np.diag(1 - (L**2).sum(axis=1))


def estimate(L=L, Phi=PHI, rated=False):
    support, p = L != 0, len(L)
    n_tau = np.where(rated & (np.arange(p) == 0), 2, 0)
    thresholds = np.zeros((p, 2 if rated else 0))
    if rated:
        thresholds[0] = [-0.4, 0.9]
    model = ResponseModel(
        support,
        L[support][:, None] * LINE,
        np.zeros(p),
        np.where(n_tau, 1.0, 1 - (L**2).sum(axis=1)),
        thresholds,
        n_tau,
        Phi,
    )
    none = (NormalScores.none(),) * p
    scale = AnswerScale(np.zeros(p), np.ones(p), (np.empty(0),) * p, none)
    return NonlinearEstimate(model, scale, np.zeros((1, 2)), 0.0, np.ones(6), 0.5, 0)


def test_rows_drawn_from_the_model_have_its_moments():
    X = draw_answers(estimate().model, 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(np.cov(X.T), SIGMA, atol=0.04)


def test_ratings_are_drawn_with_their_probabilities():
    X = draw_answers(estimate(rated=True).model, 20_000, np.random.default_rng(0))
    total = np.sqrt(1 + 0.8**2)
    expected = np.diff(norm.cdf(np.array([-np.inf, -0.4, 0.9, np.inf]) / total))
    assert set(X[:, 0]) == {0, 1, 2}
    np.testing.assert_allclose(np.bincount(X[:, 0].astype(int)) / 20_000, expected, atol=0.015)


def test_rank_correlations_are_latent():
    """Of any increasing function, and without the rows that are missing."""
    X = np.random.default_rng(1).multivariate_normal(np.zeros(6), SIGMA, 5000, method="cholesky")
    np.testing.assert_allclose(rank_correlations(np.exp(X)), SIGMA, atol=0.06)
    np.testing.assert_array_equal(np.diag(rank_correlations(X)), 1)
    spearman = dt.dependence(X).values
    off = ~np.eye(6, dtype=bool)
    expected = 2 * np.sin(np.pi / 6 * spearman)
    np.testing.assert_allclose(rank_correlations(X)[off], expected[off], atol=1e-12)


def test_all_rows_count_if_the_model_is_true():
    for n in (500, 5000):
        assert effective_rows(estimate(), SIGMA, n, np.random.default_rng(0)) == n


def test_chance_in_the_drawn_rows_is_no_misfit():
    """More rows than are drawn from the model: they count all the same, as a rule."""
    worth = [effective_rows(estimate(), SIGMA, 30_000, np.random.default_rng(s)) for s in range(11)]
    assert np.median(worth) == 30_000


def test_rows_of_a_wrong_model_count_for_less():
    """df over the discrepancy of population matrices; the same with ten times the rows."""
    R = SIGMA.copy()
    R[0, 3] = R[3, 0] = R[0, 3] + 0.25
    residual = np.linalg.solve(SIGMA, R) - np.eye(6)
    df = 21 - (6 + 6 + 1)
    expected = df / (0.5 * np.sum(residual * residual.T))
    assert expected < 500
    for n in (1000, 10_000):
        found = effective_rows(estimate(), R, n, np.random.default_rng(0))
        assert found == pytest.approx(expected, rel=0.1)


def test_a_worse_model_makes_rows_worth_less():
    rng = np.random.default_rng(0)
    worth = []
    for extra in (0.1, 0.2, 0.3):
        R = SIGMA.copy()
        R[0, 3] = R[3, 0] = R[0, 3] + extra
        worth.append(effective_rows(estimate(), R, 100_000, rng))
    assert worth[0] > worth[1] > worth[2]


def test_without_degrees_of_freedom_nothing_can_misfit():
    three = np.array([[0.8], [0.7], [0.6]])
    model = estimate(three, np.eye(1))
    R = np.full((3, 3), 0.1) + 0.9 * np.eye(3)
    assert effective_rows(model, R, 400, np.random.default_rng(0)) == 400


def test_fits_tell_what_their_rows_counted_as():
    """Pairs of items that share more than the factor; misfit='none' counts all rows."""
    rng = np.random.default_rng(4)
    z, pairs = rng.normal(size=(600, 1)), np.repeat(rng.normal(size=(600, 3)), 2, axis=1)
    X = z + 0.5 * pairs + 0.6 * rng.normal(size=(600, 6))
    structure = dt.Structure(np.ones((6, 1)))
    fit = dt.fit(X, estimator="spline", structure=structure, seed=1)
    assert fit.n_effective < 300
    whole = dt.fit(X, estimator="spline", structure=structure, seed=1, misfit="none")
    assert whole.n_effective == 600
    assert whole.nonlinear.log_likelihood == fit.nonlinear.log_likelihood
