"""The best few structures of a search, with curves."""

import math

import numpy as np
import pytest

import dtstat as dt
from dtstat.core.errors import EstimationError
from dtstat.curves import mala
from dtstat.curves.estimate import Method, answers_log_likelihood
from dtstat.factors.copula import latent_correlations
from dtstat.search.evaluate import Evaluator
from dtstat.search.finalists import (
    CurveRows,
    Curves,
    cross_validate_curves,
    fit_finalists,
    most_promising,
    validate_curves,
)
from dtstat.search.records import Fitted, Proposal

ONE = np.ones((6, 1), dtype=bool)
TWO = np.kron(np.eye(2), np.ones((3, 1))).astype(bool)
TURNED = TWO[:, ::-1]
NONE = np.zeros((6, 0), dtype=bool)
CURVES = Curves(Method("spline"), "importance", 50, seed=3)


def answers(n=150, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.multivariate_normal(np.zeros(2), [[1, 0.3], [0.3, 1]], n, method="cholesky")
    X = np.repeat(Z, 3, axis=1) + 0.7 * rng.normal(size=(n, 6))
    return CurveRows(X, (None,) * 6, latent_correlations(dt.dependence(X)).R, n)


@pytest.fixture(scope="module")
def data():
    return answers()


def fitted(data, support, origin="test"):
    return Evaluator(data.R, data.n_obs).fit(Proposal(support, origin))


def scored(support, log_likelihood, n=100):
    return Fitted(Proposal(support, "test"), log_likelihood, n, None)


# --- who gets curves ----------------------------------------------------------------------------


def test_the_best_come_first(data):
    both = [fitted(data, ONE), fitted(data, TWO)]
    found = most_promising(both, "ebic", data.n_obs, 2)
    assert [one.support.shape[1] for one in found] == [2, 1]
    assert len(most_promising(both, "ebic", data.n_obs, 1)) == 1


def test_structures_without_factors_have_no_curves(data):
    found = most_promising([fitted(data, NONE), fitted(data, ONE)], "ebic", data.n_obs, 3)
    assert [one.support.shape[1] for one in found] == [1]
    assert most_promising([fitted(data, NONE)], "ebic", data.n_obs, 3) == []


def test_factors_come_in_the_order_of_their_first_items(data):
    (found,) = most_promising([fitted(data, TURNED, "here")], "ebic", data.n_obs, 3)
    np.testing.assert_array_equal(found.support, TWO)
    assert found.origin == "here"


def far_and_near():
    """Costs rise in this order; the third is .2 nats a row behind, the fourth .05."""
    grown = [np.hstack([ONE] * d) for d in (1, 2, 3, 4)]
    return [
        scored(support, -1000.0 - behind * 100)
        for support, behind in zip(grown, (0, 0.3, 0.2, 0.05), strict=True)
    ]


def test_from_the_third_on_those_far_behind_are_left_out():
    all_ = far_and_near()
    found = most_promising(all_, "ebic", 100, 3)
    assert [one.support.shape[1] for one in found] == [1, 2, 4]


def test_nobody_is_left_out_if_there_is_room():
    assert len(most_promising(far_and_near(), "ebic", 100, 4)) == 4


# --- fitting ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finalists(data):
    return fit_finalists([Proposal(ONE, "a"), Proposal(TWO, "b")], data, CURVES)


def test_finalists_are_scored_by_their_likelihoods(data, finalists):
    for one, support in zip(finalists, (ONE, TWO), strict=True):
        assert one.log_likelihood == one.likelihood.total
        assert len(one.runs) == 2
        assert one.log_likelihood == one.runs.max()
        draws, apart = one.likelihood.standard_error, abs(np.diff(one.runs).item())
        assert one.monte_carlo_se == pytest.approx(math.hypot(draws, apart / math.sqrt(2)))
        assert draws > 0
        assert one.n_parameters == one.estimate.n_parameters
        assert one.n_obs == 150
        k = one.n_parameters
        assert one.cost("bic", 150) == pytest.approx(-2 * one.log_likelihood + k * math.log(150))
        np.testing.assert_array_equal(one.estimate.model.support, support)
    assert finalists[1].log_likelihood > finalists[0].log_likelihood + 20


def test_straight_lines_cost_about_what_a_factor_model_has(finalists):
    """Two factors of six items: 6 loadings, 6 levels, 6 variances, a correlation."""
    assert 17.9 < finalists[1].n_parameters < 28


def test_each_finalist_has_the_same_random_numbers(data, finalists):
    """Alone or in company, first or last."""
    (alone,) = fit_finalists([Proposal(TWO, "b")], data, CURVES)
    assert alone.log_likelihood == finalists[1].log_likelihood
    np.testing.assert_array_equal(alone.estimate.z, finalists[1].estimate.z)


def test_side_by_side_is_the_same(data, finalists):
    parallel = Curves(CURVES.method, "importance", 50, seed=3, n_jobs=2)
    again = fit_finalists([Proposal(ONE, "a"), Proposal(TWO, "b")], data, parallel)
    assert [one.log_likelihood for one in again] == [one.log_likelihood for one in finalists]


def test_other_seeds_give_other_numbers_within_their_error(data, finalists):
    other = Curves(CURVES.method, "importance", 50, seed=4)
    (again,) = fit_finalists([Proposal(TWO, "b")], data, other)
    gap = abs(again.log_likelihood - finalists[1].log_likelihood)
    assert 0 < gap < 10  # the estimate moves as well


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_is_told(data, n_jobs):
    seen = []
    curves = Curves(CURVES.method, "importance", 50, seed=3, n_jobs=n_jobs)
    proposals = [Proposal(ONE, "a"), Proposal(TWO, "b")]
    fit_finalists(proposals, data, curves, lambda *at: seen.append(at))
    assert seen == [(1, 2), (2, 2)]


@pytest.fixture
def freezing(monkeypatch):
    """Chains of so many factors freeze."""

    def freeze(d):
        monkeypatch.setattr(mala, "is_frozen", lambda state, _: state.z.shape[1] == d)

    return freeze


def test_structures_whose_sampler_freezes_are_left_out(data, freezing):
    freezing(2)
    found = fit_finalists([Proposal(ONE, "a"), Proposal(TWO, "b")], data, CURVES)
    assert [one.proposal.origin for one in found] == ["a"]


def test_if_all_freeze_it_is_an_error(data, freezing):
    freezing(2)
    with pytest.raises(EstimationError, match="froze: hardly any move was accepted"):
        fit_finalists([Proposal(TWO, "b")], data, CURVES)


def test_structures_too_large_for_the_rows_are_left_out():
    """Items with two factors need 38 rows, those with one 19."""
    cross = TWO.copy()
    cross[0] = True
    found = fit_finalists([Proposal(ONE, "a"), Proposal(cross, "b")], answers(30), CURVES)
    assert [one.proposal.origin for one in found] == ["a"]


# --- held-out rows ------------------------------------------------------------------------------


def test_validation_scores_rows_that_were_not_fitted(data, finalists):
    new = answers(60, seed=9).X
    held = validate_curves(finalists, new, CURVES)
    assert held.rows.shape == (2, 60)
    assert (held.monte_carlo_se > 0).all()
    for one, rows, error in zip(finalists, held.rows, held.errors, strict=True):
        model, scale = one.estimate.model, one.estimate.scale
        exact = answers_log_likelihood(model, scale, new, np.random.default_rng(0), "quadrature")
        assert abs(rows.sum() - exact.total) < 4 * error
    behind, _ = held.behind()
    assert behind[1] == 0
    assert behind[0] > 0.1


def test_cross_validation_leaves_each_fold_out(data):
    fold = np.arange(150) % 3
    parts = []
    for k in range(3):
        X = data.X[fold != k]
        R = latent_correlations(dt.dependence(X)).R
        parts.append((CurveRows(X, data.levels, R, len(X)), data.X[fold == k]))
    proposals = [Proposal(ONE, "a"), Proposal(TWO, "b")]
    found, kept = cross_validate_curves(proposals, parts, CURVES)
    assert kept == [0, 1]
    assert found.rows.shape == (2, 150)
    one_by_one = []
    for part, held in parts:
        one_by_one.append(validate_curves(fit_finalists(proposals, part, CURVES), held, CURVES))
    np.testing.assert_array_equal(found.rows, np.hstack([one.rows for one in one_by_one]))
    errors = np.sqrt(sum(one.errors**2 for one in one_by_one))
    np.testing.assert_allclose(found.errors, errors)
    assert found.mean[1] > found.mean[0]


def test_cross_validation_bears_a_structure_that_freezes_in_a_fold(data, monkeypatch):
    """It is left out; the rest is compared."""
    parts = [(data, data.X[:20]), (answers(149, seed=1), data.X[20:40])]
    monkeypatch.setattr(mala, "is_frozen", lambda state, _: state.z.shape == (149, 2))
    proposals = [Proposal(ONE, "a"), Proposal(TWO, "b")]
    found, kept = cross_validate_curves(proposals, parts, CURVES)
    assert kept == [0]
    assert found.rows.shape == (1, 40)
    assert np.isfinite(found.rows).all()
