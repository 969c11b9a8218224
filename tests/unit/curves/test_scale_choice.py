"""Which items are known by their normal scores."""

import numpy as np
import pytest

import dtstat as dt
from dtstat.curves.scales import better_by_scores, gains_by_scores
from dtstat.factors.copula import fit_factors, latent_correlations
from dtstat.factors.scores import learn_marginals

THREE = np.kron(np.eye(3), np.ones((3, 1))).astype(bool)


def lines(n=400, seed=0):
    rng = np.random.default_rng(seed)
    z, e = rng.standard_normal((n, 3)), rng.standard_normal((n, 9))
    return 0.8 * np.repeat(z, 3, axis=1) + 0.6 * e


def arguments(X, support):
    R = latent_correlations(dt.dependence(X)).R
    return X, support, fit_factors(R, len(X), support), learn_marginals(X).normal_scores(X)


def test_lines_stay_as_measured():
    assert not better_by_scores(*arguments(lines(), THREE)).any()


@pytest.mark.parametrize("s", [0.7, 1.0, 1.5])
def test_long_tails_are_known_by_their_scores(s):
    assert better_by_scores(*arguments(np.exp(s * lines()), THREE)).all()


def test_each_item_is_judged_by_itself():
    X = lines()
    X[:, [1, 5]] = np.exp(X[:, [1, 5]])
    X[3, 5] = X[7, 0] = np.nan
    found = better_by_scores(*arguments(X, THREE))
    np.testing.assert_array_equal(np.flatnonzero(found), [1, 5])


@pytest.mark.parametrize("maps", ["paper", "one_in_five", "non_monotone"])
def test_curves_with_noise_about_them_stay_as_measured(maps):
    data = dt.simulate("v_structure", 2000, maps=maps, seed=1)
    found = better_by_scores(*arguments(data.data.to_numpy(), data.structure.support))
    assert not found.any()


def test_signs_order_and_units_do_not_matter():
    X = np.exp(lines()) * [1, 1, -1, 1, 1, 1, -1, 1, 1]
    gains = gains_by_scores(*arguments(X, THREE))
    other = gains_by_scores(*arguments(-7 * X + 100, THREE))
    np.testing.assert_allclose(other, gains, atol=0.01)
    order = np.random.default_rng(1).permutation(9)
    turned = gains_by_scores(*arguments(X[:, order], THREE[order]))
    np.testing.assert_allclose(turned, gains[order], atol=0.01)


def test_items_with_few_answers_stay_as_measured():
    X = np.exp(2 * lines())
    X[:, 0] = np.minimum(np.round(X[:, 0]), 9)
    gains = gains_by_scores(*arguments(X, THREE))
    assert gains[0] == -np.inf
    assert (gains[1:] > 0.15).all()
