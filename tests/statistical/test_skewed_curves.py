"""Curves through skewed items: the same structure with every seed, sign and order of columns."""

import numpy as np
import pytest

import dtstat as dt
from dtstat.curves.estimate import Method
from dtstat.factors.copula import latent_correlations
from dtstat.search.finalists import CurveRows, Curves, fit_finalists
from dtstat.search.records import Proposal

THREE = np.kron(np.eye(3), np.ones((3, 1))).astype(bool)
SIGNS = np.array([1, -1, 1, 1, 1, -1, -1, 1, -1])
ORDER = np.array([4, 0, 8, 2, 6, 1, 3, 7, 5])


def lines(n, seed):
    rng = np.random.default_rng(seed)
    z, e = rng.standard_normal((n, 3)), rng.standard_normal((n, 9))
    return 0.8 * np.repeat(z, 3, axis=1) + 0.6 * e


@pytest.fixture(scope="module")
def fits():
    """Two seeds, turned round, in another order."""
    X = np.exp(1.5 * lines(300, 1))
    versions = [(X, 1), (X, 2), (X * SIGNS, 3), (X[:, ORDER], 4)]
    return [dt.fit(x, estimator="spline", seed=seed) for x, seed in versions]


def test_the_structure_is_the_same(fits):
    for fit in fits[:3]:
        assert fit.structure == dt.Structure(THREE)
    assert {frozenset(np.flatnonzero(f)) for f in fits[3].support.T} == {
        frozenset(np.flatnonzero(THREE[ORDER, k])) for k in range(3)
    }


def test_likelihoods_agree_within_their_stated_errors(fits):
    """As long as no run says that it is not settled."""
    values = np.array([fit.nonlinear.log_likelihood for fit in fits])
    errors = np.array([fit.nonlinear.monte_carlo_se for fit in fits])
    gaps = np.abs(values[:, None] - values)
    assert (gaps <= 3 * np.hypot(errors[:, None], errors)).all()
    assert errors.max() < 5
    assert not any("apart in log-likelihood" in note for fit in fits for note in fit.notes)


def test_the_curves_are_those_of_the_logarithms(fits):
    """Φ and the shares that factors explain do not depend on the units."""
    straight = dt.fit(
        1.5 * lines(300, 1), structure=dt.Structure(THREE), estimator="spline", seed=1
    )
    np.testing.assert_allclose(fits[0].factor_correlations, straight.factor_correlations, atol=0.05)
    r2 = [fit.nonlinear_loadings["r2_map"].to_numpy() for fit in (fits[0], straight)]
    np.testing.assert_allclose(*r2, atol=0.08)


def test_runs_on_a_bad_scale_show_in_the_stated_error():
    """Left in their own units, skewed items give another likelihood with every run."""
    X = np.exp(1.5 * lines(300, 1))
    answers = CurveRows(X, (None,) * 9, latent_correlations(dt.dependence(X)).R, 300)
    curves = [Curves(Method("spline"), "importance", 50, seed) for seed in (1, 2)]
    one, two = (fit_finalists([Proposal(THREE, "a")], answers, c)[0] for c in curves)
    assert max(one.apart, two.apart) > 4
    gap = abs(one.log_likelihood - two.log_likelihood)
    assert gap < 3 * np.hypot(one.monte_carlo_se, two.monte_carlo_se)
