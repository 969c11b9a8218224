"""How many factors: one stays one, two that correlate strongly are two."""

import numpy as np
import pytest

import dtstat as dt

pytestmark = pytest.mark.filterwarnings("ignore::dtstat.EstimationWarning")  # of few rows


def answers(sizes, phi, n, seed):
    """Normal answers with loadings of .5 to .8 on factors that all correlate at phi."""
    rng = np.random.default_rng(seed)
    d = len(sizes)
    Z = rng.multivariate_normal(np.zeros(d), phi + (1 - phi) * np.eye(d), n, method="cholesky")
    loading = rng.uniform(0.5, 0.8, sum(sizes))
    own = np.repeat(np.arange(d), sizes)
    return loading * Z[:, own] + np.sqrt(1 - loading**2) * rng.normal(size=(n, len(own)))


@pytest.mark.parametrize("p", [9, 20])
def test_one_factor_stays_one(p):
    """In 19 of 20 samples at least: below a rate of .78 that has a probability of .05."""
    found = [dt.fit(answers((p,), 0, 200, seed)).n_factors for seed in range(20)]
    assert found.count(1) >= 19


def test_two_factors_that_correlate_at_seven_tenths_are_two():
    """Five items each, 300 rows."""
    own = np.repeat([0, 1], 5)
    truth = dt.Structure(own[:, None] == np.arange(2))
    found = [dt.fit(answers((5, 5), 0.7, 300, seed)) for seed in range(20)]
    assert sum(fit.n_factors == 2 for fit in found) >= 18
    assert sum(fit.structure == truth for fit in found) >= 16


def test_three_small_factors_that_correlate_are_three():
    """Three items each, loadings .6, φ = .6, 250 rows: below a rate of .68 that has p < .05."""
    own = np.repeat(np.arange(3), 3)
    Sigma = 0.36 * np.where(own[:, None] == own, 1.0, 0.6) + 0.64 * np.eye(9)
    truth = dt.Structure(own[:, None] == np.arange(3))
    found = []
    for seed in range(40):
        rows = np.random.default_rng(seed).standard_normal((250, 9))
        found.append(dt.fit(rows @ np.linalg.cholesky(Sigma).T))
    assert sum(fit.n_factors == 3 for fit in found) >= 32
    assert sum(fit.n_factors == 3 and dt.compare(fit, truth).exact for fit in found) >= 31


@pytest.mark.long
@pytest.mark.parametrize("d", [3, 5, 8])
def test_scales_are_counted(d):
    """Four items each, factors that correlate at .4, 500 rows."""
    found = [dt.fit(answers((4,) * d, 0.4, 500, seed)).n_factors for seed in range(20)]
    assert found.count(d) >= 18
