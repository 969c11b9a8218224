"""Normal scores: ranks in, a standard normal out."""

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from dtstat.factors.scores import learn_marginals, linear_marginals

RNG = np.random.default_rng(7)
FEW = np.column_stack([RNG.integers(1, 6, 200), RNG.integers(0, 2, 200)]).astype(float)
SMOOTH = RNG.standard_normal((200, 2))
MANY = np.exp(RNG.standard_normal((5000, 1)))


@pytest.mark.parametrize("X", [FEW, SMOOTH], ids=["ratings", "continuous"])
def test_scores_are_those_of_mid_ranks_scaled(X):
    Z = learn_marginals(X).normal_scores(X)
    expected = norm.ppf((rankdata(X, axis=0) - 0.5) / len(X))
    expected /= np.sqrt((expected**2).mean(axis=0))
    np.testing.assert_allclose(Z, expected, atol=1e-12)


@pytest.mark.parametrize("X", [FEW, SMOOTH, MANY], ids=["ratings", "continuous", "many"])
def test_scores_rise_and_have_variance_one(X):
    Z = learn_marginals(X).normal_scores(X)
    for x, z in zip(X.T, Z.T, strict=True):
        assert (np.diff(z[np.argsort(x)]) >= 0).all()
    np.testing.assert_allclose((Z**2).mean(axis=0), 1, atol=5e-3)


def test_few_knots_stand_for_many_answers():
    margins = learn_marginals(MANY)
    assert len(margins.answers[0]) <= 257
    assert (margins.answers[0][0], margins.answers[0][-1]) == (MANY.min(), MANY.max())
    exact = norm.ppf((rankdata(MANY[:, 0]) - 0.5) / len(MANY))
    inner = np.abs(exact) < 2
    np.testing.assert_allclose(margins.normal_scores(MANY)[inner, 0], exact[inner], atol=0.02)


def test_increasing_transformations_of_many_answers_change_nothing():
    Z = learn_marginals(np.log(MANY)).normal_scores(np.log(MANY))
    np.testing.assert_allclose(learn_marginals(MANY).normal_scores(MANY), Z, atol=0.05)


def test_missing_answers_stay_missing_and_do_not_count():
    gaps = SMOOTH.copy()
    gaps[::3, 0] = np.nan
    Z = learn_marginals(gaps).normal_scores(gaps)
    np.testing.assert_array_equal(np.isnan(Z), np.isnan(gaps))
    kept = ~np.isnan(gaps[:, 0])
    alone = learn_marginals(gaps[kept, :1]).normal_scores(gaps[kept, :1])
    np.testing.assert_array_equal(Z[kept, 0], alone[:, 0])


def test_new_answers_are_interpolated_and_extremes_capped():
    margins = learn_marginals(np.array([[1.0], [2.0], [4.0], [4.0]]))
    low, mid, high = margins.normal_scores(np.array([[1.0], [2.0], [4.0]])).ravel()
    new = margins.normal_scores(np.array([[-9.0], [1.5], [3.0], [99.0]])).ravel()
    np.testing.assert_allclose(new, [low, (low + mid) / 2, (mid + high) / 2, high])


def test_increasing_transformations_change_nothing():
    Z = learn_marginals(SMOOTH).normal_scores(SMOOTH)
    np.testing.assert_allclose(learn_marginals(np.exp(SMOOTH)).normal_scores(np.exp(SMOOTH)), Z)


def test_linear_margins_standardise():
    X = 50 + 10 * SMOOTH
    X[0, 0] = np.nan
    expected = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    np.testing.assert_allclose(linear_marginals(X).normal_scores(X), expected, atol=1e-9)
