"""Power of tests of models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import InputError
from dtstat.sem.power import population_covariances

TRUE = "f =~ .7*x1 + .7*x2 + .7*x3; g =~ .7*y1 + .7*y2 + .7*y3; f ~~ .2*g"
NULL = "f =~ x1 + x2 + x3; g =~ y1 + y2 + y3; f ~~ 0*g"


@pytest.mark.parametrize(("df", "n"), [(50, 214), (100, 132)])
def test_sample_sizes_of_maccallum_browne_and_sugawara(df, n):
    """Their Table 4 has 214 and 132 rows for a power of .80 of close fit, .05 against .08."""
    found = dt.model_power(power=0.8, df=df, rmsea=0.08, null_rmsea=0.05).n_obs
    assert found == n
    reached = dt.model_power(n_obs=found, df=df, rmsea=0.08, null_rmsea=0.05).power
    below = dt.model_power(n_obs=found - 1, df=df, rmsea=0.08, null_rmsea=0.05).power
    assert below < 0.8 <= reached


def test_better_fit_than_the_null_is_tested_from_below():
    one = dt.model_power(n_obs=200, df=50, rmsea=0.01, null_rmsea=0.05)
    assert 0.5 < one.power < 0.7
    assert one.noncentrality < one.null_noncentrality


@pytest.mark.long
def test_power_is_that_of_simulated_tests():
    planned = dt.model_power(n_obs=200, model=NULL, population=TRUE, df=1)
    names, Sigma = population_covariances(TRUE)
    rng = np.random.default_rng(5)
    root = np.linalg.cholesky(Sigma)
    hits, draws = 0, 300
    for _ in range(draws):
        frame = pd.DataFrame(rng.normal(size=(200, 6)) @ root.T, columns=names)
        null, full = dt.cfa(frame, NULL), dt.cfa(frame, NULL.replace("0*g", "g"))
        hits += dt.compare_models(null, full).differences[0].pvalue < 0.05
    margin = 4 * np.sqrt(planned.power * (1 - planned.power) / draws)
    assert planned.power == pytest.approx(hits / draws, abs=margin)


def test_the_population_is_standardized():
    text = "f =~ .7*x1 + .6*x2; g =~ .7*y1 + .5*y2; g ~ .5*f + .3*z; h =~ .6*w1 + .5*w2; h ~ .4*g"
    names, Sigma = population_covariances(text)
    assert np.diag(Sigma) == pytest.approx(1.0)
    assert Sigma[names.index("x1"), names.index("y1")] == pytest.approx(0.7 * 0.5 * 0.7)
    assert Sigma[names.index("z"), names.index("w1")] == pytest.approx(0.3 * 0.4 * 0.6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "one of `n_obs` and `power`"),
        ({"n_obs": 100, "power": 0.8}, "one of `n_obs` and `power`"),
        ({"n_obs": 100}, "`rmsea` and `df`, or `model` and `population`"),
        ({"n_obs": 100, "rmsea": 0.05}, "give `df`"),
        ({"n_obs": 100, "df": 5, "rmsea": 0.05, "null_rmsea": 0.05}, "as well as the null"),
        ({"n_obs": 100, "model": NULL, "population": "f =~ x1 + x2"}, "no value for"),
        ({"n_obs": 100, "model": NULL, "population": TRUE.replace(".7*x1", "1.7*x1")}, "of 'x1'"),
        ({"n_obs": 100, "model": "f =~ q1 + q2 + q3", "population": TRUE}, "q1"),
        ({"power": 0.8, "df": 5, "rmsea": 1e-6}, "more than"),
    ],
)
def test_what_cannot_be_planned_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        dt.model_power(**given)
