"""Scores on rows that a model has not seen."""

import warnings

import numpy as np
import pytest

import dtstat as dt
from dtstat.factors.copula import fit_factors, latent_correlations
from dtstat.factors.scores import learn_marginals, row_log_likelihoods
from dtstat.search.evaluate import Evaluator
from dtstat.search.held_out import HeldOut, cross_validate, folds, split_rows, validate
from dtstat.search.records import Proposal

DATA = dt.load_dataset("holzinger_swineford_9")
X = DATA.to_numpy(dtype=float)
THREE = np.kron(np.eye(3), np.ones((3, 1))).astype(bool)
ONE = np.ones((9, 1), dtype=bool)


def latent(rows):
    return latent_correlations(dt.dependence(DATA[rows])).R


@pytest.mark.parametrize("n", [5, 10, 301])
def test_a_split_has_every_row_once_and_a_fifth_held_out(n):
    fitted, held = split_rows(n, 1)
    assert sorted([*fitted, *held]) == list(range(n))
    assert len(held) == max(round(0.2 * n), 2)


def test_splits_and_folds_follow_the_seed():
    for one, other in [(split_rows(50, 1)[1], split_rows(50, 2)[1]), (folds(50, 1), folds(50, 2))]:
        assert (one != other).any()
    np.testing.assert_array_equal(split_rows(50, 1)[1], split_rows(50, 1)[1])
    np.testing.assert_array_equal(folds(50, 1), folds(50, 1))


def test_folds_have_equal_sizes():
    assert sorted(np.bincount(folds(52, 3))) == [10, 10, 10, 11, 11]


def test_behind_is_paired_with_the_best():
    held = HeldOut(np.array([[-2.0, -3, -1, -2], [-1, -2, -1, -2]]))
    behind, errors = held.behind()
    np.testing.assert_allclose(held.mean, [-2, -1.5])
    np.testing.assert_allclose(behind, [0.5, 0])
    np.testing.assert_allclose(errors, [np.std([1, 1, 0, 0], ddof=1) / 2, 0])


def test_one_held_out_row_has_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HeldOut(np.array([[-2.0], [-1.0]])).behind()


def test_validation_uses_margins_and_parameters_of_the_other_rows():
    fitted_rows, held_rows = split_rows(len(X), 4)
    evaluator = Evaluator(latent(np.isin(np.arange(len(X)), fitted_rows)), len(fitted_rows))
    one = evaluator.fit(Proposal(THREE, "by hand"))
    other = evaluator.fit(Proposal(ONE, "by hand"))
    scored = validate(evaluator.fitted, X[fitted_rows], X[held_rows])
    Z = learn_marginals(X[fitted_rows]).normal_scores(X[held_rows])
    np.testing.assert_allclose(scored.rows[0], row_log_likelihoods(one.estimate, Z))
    np.testing.assert_allclose(scored.rows[1], row_log_likelihoods(other.estimate, Z))
    assert scored.mean.argmax() == 0


def test_cross_validation_scores_each_row_with_its_fold_left_out():
    fold = folds(len(X), 2)
    correlations = [latent(fold != k) for k in range(5)]
    scored = cross_validate([THREE, ONE], X, correlations, fold)
    assert scored.rows.shape == (2, len(X))
    out = fold == 3
    Z = learn_marginals(X[~out]).normal_scores(X[out])
    estimate = fit_factors(correlations[3], int((~out).sum()), ONE)
    np.testing.assert_allclose(scored.rows[1, out], row_log_likelihoods(estimate, Z))
    assert scored.mean.argmax() == 0
