"""Cut normal responses: probabilities, thresholds, and what an answer tells."""

import numpy as np
import pytest
from scipy.stats import norm

from dtstat.curves import ratings

TAU = np.array([-1.1, -0.2, 0.4, 1.7])


def log_p(eta, tau, c):
    edges = np.concatenate([[-np.inf], tau, [np.inf]])
    upper, lower = edges[c + 1] - eta, edges[c] - eta
    p = norm.sf(lower) - norm.sf(upper) if lower > 0 else norm.cdf(upper) - norm.cdf(lower)
    return np.log(max(p, 1e-300))


def test_probabilities_are_shares_of_a_normal_distribution():
    eta = np.array([-9.0, -1.0, 0.0, 0.5, 9.0])
    P = ratings.probabilities(eta, TAU)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    assert (P >= 0).all()
    np.testing.assert_allclose(P[:, :-1].cumsum(axis=1), norm.cdf(TAU - eta[:, None]), atol=1e-12)


def test_higher_predictors_mean_higher_answers():
    means = ratings.probabilities(np.linspace(-6, 6, 200), TAU) @ np.arange(5)
    assert (np.diff(means) > 0).all()


def test_tables_of_all_categories_sum_to_one():
    table = ratings.answer_table(TAU[None], np.array([4]))[0]
    np.testing.assert_allclose(np.exp(table[..., 0]).sum(axis=0), 1, atol=1e-9)


def test_the_table_has_log_probabilities_and_their_derivatives():
    table = ratings.answer_table(TAU[None], np.array([4]))[0]
    h = 1e-5
    for c in range(5):
        for g in (300, 450, 512, 600, 720):
            eta = ratings.GRID[g]
            value, slope = table[c, g]
            assert value == pytest.approx(log_p(eta, TAU, c), abs=1e-9)
            rise = (log_p(eta + h, TAU, c) - log_p(eta - h, TAU, c)) / (2 * h)
            assert slope == pytest.approx(rise, rel=1e-4, abs=1e-6)


def test_impossible_answers_have_a_floor():
    table = ratings.answer_table(TAU[None], np.array([4]))[0]
    assert table[..., 0].min() == pytest.approx(np.log(1e-12))
    assert np.isfinite(table).all()


def test_items_with_fewer_categories_share_one_table():
    thresholds = np.array([[0.0, 0, 0], [-0.5, 0.5, 0], [-1, 0, 1]])
    table = ratings.answer_table(thresholds, np.array([0, 2, 3]))
    assert table.shape == (3, 4, len(ratings.GRID), 2)
    assert not table[0].any()
    assert not table[1, 3].any()
    np.testing.assert_allclose(np.exp(table[1, :3, :, 0]).sum(axis=0), 1, atol=1e-9)


def test_without_ratings_there_is_no_table():
    assert ratings.answer_table(np.zeros((3, 0)), np.zeros(3, dtype=int)).shape[:2] == (3, 0)


def test_information_is_the_expected_second_derivative():
    """E[−∂² log P], by differences of the log-probabilities themselves."""
    information = ratings.information_table(ratings.answer_table(TAU[None], np.array([4])))[0]
    h = 1e-3
    for g in (350, 450, 512, 600, 650):
        eta = ratings.GRID[g]
        total = 0.0
        for c in range(5):
            here, up, down = (log_p(eta + s, TAU, c) for s in (0.0, h, -h))
            total -= np.exp(here) * (up - 2 * here + down) / h**2
        assert information[g] == pytest.approx(total, rel=1e-3)


def test_information_of_an_item_with_fewer_categories_is_its_own():
    thresholds = np.array([[-0.5, 0.5, 0, 0], TAU])
    both = ratings.information_table(ratings.answer_table(thresholds, np.array([2, 4])))
    alone = ratings.information_table(ratings.answer_table(thresholds[:1, :2], np.array([2])))
    np.testing.assert_allclose(both[0], alone[0], rtol=1e-12)


def test_an_answer_never_tells_more_than_the_response_behind_it():
    """Nor less than nothing: the information stays between 0 and 1 where answers are possible."""
    many = np.linspace(-3, 3, 41)
    information = ratings.information_table(ratings.answer_table(many[None], np.array([41])))[0]
    middle = np.abs(ratings.GRID) < 2
    assert (information[middle] < 1).all()
    assert information[len(ratings.GRID) // 2] > 0.99  # fine categories lose hardly anything
    assert (information > 0).all()


def test_thresholds_match_the_shares():
    eta = np.random.default_rng(0).normal(size=2000) * 1.3
    shares = np.array([0.1, 0.35, 0.6, 0.95])
    tau = norm.ppf(shares)
    for _ in range(3):
        tau = ratings.matching_thresholds(eta, shares, tau)
    # η is rounded to the grid of 1/64.
    np.testing.assert_allclose(norm.cdf(tau - eta[:, None]).mean(axis=0), shares, atol=2e-3)
    assert (np.diff(tau) > 0).all()


def test_thresholds_that_match_stay():
    eta = np.random.default_rng(1).choice(ratings.GRID[400:640], 500)
    shares = norm.cdf(TAU - eta[:, None]).mean(axis=0)
    np.testing.assert_allclose(ratings.matching_thresholds(eta, shares, TAU), TAU, atol=1e-9)


def test_without_factors_thresholds_are_quantiles():
    np.testing.assert_allclose(
        ratings.matching_thresholds(np.zeros(10), norm.cdf(TAU), TAU + 0.1), TAU, atol=1e-6
    )


def test_shares_leave_missing_answers_out():
    x = np.array([0, 0, 1, 2, np.nan, 2, 2, np.nan, 2])
    np.testing.assert_allclose(ratings.shares_up_to(x, 2), [2 / 7, 3 / 7])


def test_a_category_that_never_occurs_counts_as_half_an_answer():
    x = np.array([0.0, 0, 2, 2, 2])
    np.testing.assert_allclose(ratings.shares_up_to(x, 2), [2 / 5.5, 2.5 / 5.5])
    assert ((ratings.shares_up_to(x, 4) > 0) & (ratings.shares_up_to(x, 4) < 1)).all()
    np.testing.assert_allclose(ratings.shares_up_to(np.array([1.0, 1]), 1), [0.2])
