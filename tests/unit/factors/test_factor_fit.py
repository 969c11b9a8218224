"""Fit measures of a reported model, and what they are where there is no test."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dtstat as dt
from dtstat.data.items import as_items
from dtstat.factors.copula import fit_factors, latent_correlations
from dtstat.factors.reported import Answers, Source, as_reported, factor_fit_measures, srmr
from dtstat.factors.robust import implied_correlations

DATA = dt.load_dataset("holzinger_swineford_9")
THREE = np.kron(np.eye(3), np.ones((3, 1))).astype(bool)
CROSS = THREE.copy()
CROSS[8, 0] = True
NOTHING = np.zeros((9, 0), dtype=bool)
N = 301
RMSEA = ["rmsea", "rmsea.ci.lower", "rmsea.ci.upper", "rmsea.pvalue"]
NAMES = ["npar", "chisq", "df", "pvalue", "cfi", "tli", *RMSEA, "srmr"]
TESTED = [name for name in NAMES if name not in ("npar", "df", "srmr")]


def reported(data, support, measure="spearman"):
    latent = latent_correlations(dt.dependence(data, measure))
    source = Source(latent, Answers.of(as_items(data)))
    return as_reported(source, fit_factors(latent.R, len(data), support), support, len(data), True)


NINE = reported(DATA, THREE).latent.R


@pytest.mark.parametrize("support", [THREE, CROSS], ids=["simple", "cross"])
def test_counts_and_residuals_are_those_of_cfa(support):
    measures = factor_fit_measures(reported(DATA, support), N)
    matrix = dt.DependenceMatrix.from_matrix(NINE, N)
    expected = dt.cfa(matrix, dt.Structure(support)).fit_measures
    assert list(measures) == NAMES
    for name in ("npar", "df", "srmr"):
        assert measures[name] == pytest.approx(expected[name], abs=1e-3), name


@pytest.mark.parametrize("measure", ["pearson", "spearman"])
@pytest.mark.parametrize("support", [THREE, CROSS], ids=["simple", "cross"])
def test_measures_are_those_of_the_test(support, measure):
    model = reported(DATA, support, measure)
    test, measures = model.test, factor_fit_measures(model, N)
    df = measures["df"]
    assert measures["chisq"] == test.chisq
    assert measures["pvalue"] == pytest.approx(stats.chi2.sf(test.chisq, df), abs=1e-12)
    excess = test.statistic / test.trace - 1
    base = test.baseline / test.baseline_trace - 1
    assert measures["cfi"] == pytest.approx(1 - df * excess / (36 * base))
    assert measures["tli"] == pytest.approx(1 - excess / base)
    assert measures["rmsea"] == pytest.approx(math.sqrt(excess / N))
    assert measures["rmsea.ci.lower"] < measures["rmsea"] < measures["rmsea.ci.upper"]
    # noncentralities at the ends of the interval put the statistic at its tails
    scaled = test.statistic * test.trace / test.trace_of_square
    freedom = test.trace**2 / test.trace_of_square
    for end, tail in (("rmsea.ci.lower", 0.95), ("rmsea.ci.upper", 0.05)):
        shift = measures[end] ** 2 * N * freedom
        assert stats.ncx2.cdf(scaled, freedom, shift) == pytest.approx(tail, abs=1e-4)


def test_implied_correlations_have_a_unit_diagonal():
    Sigma = implied_correlations(fit_factors(NINE, N, THREE))
    np.testing.assert_allclose(Sigma.diagonal(), 1)
    np.testing.assert_allclose(Sigma, Sigma.T)


def test_srmr_counts_the_diagonal():
    estimate = fit_factors(NINE, N, NOTHING)
    off = NINE[np.triu_indices(9, 1)]
    assert srmr(NINE, estimate) == pytest.approx(math.sqrt((off**2).sum() / 45), abs=1e-6)


@pytest.mark.parametrize(
    ("data", "support", "df", "why"),
    [
        (DATA, NOTHING, 36, "There are no factors to test."),
        (DATA.iloc[:, :3], np.ones((3, 1), dtype=bool), 0, "The model has no degrees of freedom."),
        (DATA.head(99), THREE, 24, "9 items need at least 100 rows for a test that holds"),
    ],
    ids=["no factors", "saturated", "few rows"],
)
def test_what_is_not_tested_has_only_srmr(data, support, df, why):
    model = reported(data, support)
    measures = factor_fit_measures(model, len(data))
    assert model.test is None
    assert model.untested.startswith(why)
    assert list(measures) == NAMES
    assert measures["df"] == df
    assert measures["srmr"] == srmr(model.latent.R, model.estimate)
    assert all(math.isnan(measures[name]) for name in TESTED)
    assert np.isnan(model.errors.loadings).all()


def test_singular_correlations_have_only_srmr():
    X = pd.DataFrame(np.random.default_rng(2).standard_normal((6, 9)))
    measures = factor_fit_measures(reported(X, THREE, "pearson"), 6)
    assert math.isfinite(measures["srmr"])
    assert all(math.isnan(measures[name]) for name in TESTED)
