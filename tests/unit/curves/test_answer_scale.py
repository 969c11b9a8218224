"""Answers to numbers a model is fitted to, and what that does to densities."""

import numpy as np
import pytest

import dtstat as dt
from dtstat.curves.estimate import answers_log_likelihood
from dtstat.curves.scales import AnswerScale

NAN = np.nan
X = np.array(
    [
        [10.0, 1, 0.2],
        [14.0, 2, 0.4],
        [12.0, 5, 0.1],
        [NAN, 5, 0.9],
        [16.0, NAN, 0.3],
        [11.0, 1, NAN],
    ]
)
LEVELS = (None, (1.0, 2.0, 5.0), None)


@pytest.fixture
def scale():
    return AnswerScale.learn(X, LEVELS)


def test_continuous_items_have_mean_0_and_variance_1(scale):
    coded = scale.encode(X)
    np.testing.assert_allclose(np.nanmean(coded[:, [0, 2]], axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(np.nanstd(coded[:, [0, 2]], axis=0), 1, atol=1e-8)


def test_coded_answers_are_the_same_in_all_units(scale):
    """To the last bit: a long chain of moves would make a difference of any."""
    a, b = np.array([3.7, 1, -0.3]), np.array([1e3, 0, 7])
    other = AnswerScale.learn(X * a + b, (None, scale.levels[1], None))
    coded, turned = scale.encode(X)[:, [0, 2]], other.encode(X * a + b)[:, [0, 2]]
    np.testing.assert_array_equal(turned, coded * np.array([1, -1]))


def test_answers_come_back(scale):
    coded = scale.encode(X)
    back = coded * scale.sd + scale.mean
    places = np.nan_to_num(coded[:, 1]).astype(int)
    back[:, 1] = np.where(np.isnan(coded[:, 1]), NAN, scale.levels[1][places])
    np.testing.assert_allclose(back, X, atol=1e-12)


def test_levels_with_gaps_are_counted_without_them(scale):
    np.testing.assert_array_equal(scale.encode(X)[:, 1], [0, 1, 2, 2, NAN, 0])
    assert scale.n_categories.tolist() == [0, 3, 0]


@pytest.mark.parametrize(
    ("answer", "category"),
    [(-9, 0), (0, 0), (1.4, 0), (1.6, 1), (3, 1), (3.4, 1), (3.6, 2), (4, 2), (5, 2), (99, 2)],
)
def test_unseen_levels_go_to_the_nearest(scale, answer, category):
    assert scale.encode(np.array([[12.0, answer, 0.2]]))[0, 1] == category


def test_missing_answers_stay_missing(scale):
    np.testing.assert_array_equal(np.isnan(scale.encode(X)), np.isnan(X))


def test_rows_are_contiguous_and_the_answers_untouched(scale):
    before = X.copy()
    coded = scale.encode(np.asfortranarray(X))
    assert coded.flags.c_contiguous
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(coded, scale.encode(X))


def test_new_rows_are_coded_by_the_old_mean_and_variance(scale):
    row = np.array([[np.nanmean(X[:, 0]) + 3 * np.nanstd(X[:, 0]), 2.0, np.nanmean(X[:, 2])]])
    np.testing.assert_allclose(scale.encode(row), [[3, 1, 0]], atol=1e-12)


def test_the_jacobian_of_a_rating_is_nothing(scale):
    found, seen = scale.log_jacobian(X), ~np.isnan(X[:, [0, 2]])
    assert (found[:, 1] == 0).all()
    expected = -np.log(np.nanstd(X[:, [0, 2]], axis=0)) * seen
    np.testing.assert_allclose(found[:, [0, 2]], expected)


def test_the_density_of_an_item_in_other_units_changes_by_their_logarithm():
    """Ten times the numbers: the same model, and each answer log 10 less likely."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 1)) + 0.7 * rng.normal(size=(120, 4))
    X[rng.random(X.shape) < 0.1] = NAN
    other = X.copy()
    other[:, 2] *= 10
    structure = dt.Structure(np.ones((4, 1)))
    fits = [dt.fit(x, estimator="spline", structure=structure, seed=1) for x in (X, other)]
    one, two = (
        answers_log_likelihood(
            fit.nonlinear.model, fit.nonlinear.scale, x, np.random.default_rng(2), "quadrature"
        ).rows
        for fit, x in zip(fits, (X, other), strict=True)
    )
    np.testing.assert_allclose(one - two, np.log(10) * ~np.isnan(X[:, 2]), atol=1e-6)
