"""RMSEA where a scaling is not known."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.fit_indices import rmsea_interval, rmsea_measures


def test_nothing_is_known_without_degrees_of_freedom_of_the_statistic():
    assert np.isnan(list(rmsea_measures(14.3, np.nan, 65).values())).all()
    assert rmsea_interval(0.0, 0, 65) == (0.0, 0.0)


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_a_scaling_that_is_not_positive_scales_nothing():
    """Few rows of long tails: the trace of the model exceeds that of the saturated one."""
    found = []
    for seed in range(160, 230):
        rng = np.random.default_rng(seed)
        X = rng.standard_t(2.5, size=(12, 4)) + rng.standard_t(2.5, size=(12, 1))
        data = pd.DataFrame(X, columns=list("abcd"))
        try:
            fit = dt.cfa(data, "f =~ a + b + c + d", estimator="mlr")
        except dt.DTError:
            continue
        found.append(fit.fit_measures)
        said = any("robust test is not known" in note for note in fit.estimate.notes)
        assert said == np.isnan(found[-1]["chisq.scaled"])
    factors = np.array([one["chisq.scaling.factor"] for one in found])
    scaled = np.array([one["chisq.scaled"] for one in found])
    assert np.isnan(factors).any()
    assert (factors[~np.isnan(factors)] > 0).all()
    assert (np.isnan(scaled) == np.isnan(factors)).all()


def test_an_interval_of_a_chi_square_beyond_the_reach_of_the_series():
    lower, upper = rmsea_interval(2.5e10, 9, 1000)
    assert 0 < lower < np.sqrt(2.5e10 / 9 / 1000) < upper
    assert upper / lower == pytest.approx(1, abs=1e-4)
