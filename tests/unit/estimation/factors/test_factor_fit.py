"""Fit measures of the factor model agree with the confirmatory model of the same structure."""

import math

import numpy as np
import pytest

import dtstat as dt
from dtstat.estimation.factors.copula import fit_factors, latent_correlations
from dtstat.estimation.factors.fit_measures import factor_fit_measures, implied_correlations, srmr

NINE = latent_correlations(dt.dependence(dt.load_dataset("holzinger_swineford_9"))).R
THREE = np.kron(np.eye(3), np.ones((3, 1))).astype(bool)
CROSS = THREE.copy()
CROSS[8, 0] = True
N = 301
NAMES = ["npar", "chisq", "df", "pvalue", "cfi", "tli", "rmsea", "rmsea.ci.lower"]
NAMES += ["rmsea.ci.upper", "rmsea.pvalue", "srmr", "logl"]


@pytest.mark.parametrize("support", [THREE, CROSS], ids=["simple", "cross"])
def test_measures_are_those_of_cfa(support):
    measures = factor_fit_measures(NINE, fit_factors(NINE, N, support), N)
    matrix = dt.DependenceMatrix.from_matrix(NINE, N)
    expected = dt.cfa(matrix, dt.Structure(support)).fit_measures
    assert sorted(measures) == sorted(NAMES)
    for name in NAMES:
        assert measures[name] == pytest.approx(expected[name], abs=1e-3), name


def test_implied_correlations_have_a_unit_diagonal():
    Sigma = implied_correlations(fit_factors(NINE, N, THREE))
    np.testing.assert_allclose(Sigma.diagonal(), 1)
    np.testing.assert_allclose(Sigma, Sigma.T)


def test_srmr_counts_the_diagonal():
    estimate = fit_factors(NINE, N, np.zeros((9, 0), dtype=bool))
    off = NINE[np.triu_indices(9, 1)]
    assert srmr(NINE, estimate) == pytest.approx(math.sqrt((off**2).sum() / 45), abs=1e-6)


def test_no_factor_is_the_baseline():
    measures = factor_fit_measures(NINE, fit_factors(NINE, N, np.zeros((9, 0), dtype=bool)), N)
    assert measures["df"] == 36
    assert measures["cfi"] == pytest.approx(0, abs=1e-6)


def test_singular_correlations_have_only_srmr():
    X = np.random.default_rng(2).standard_normal((6, 9))
    R = np.corrcoef(X, rowvar=False)
    measures = factor_fit_measures(R, fit_factors(R, 6, THREE), 6)
    assert math.isfinite(measures["srmr"])
    unknown = ["chisq", "pvalue", "cfi", "tli", "rmsea", "rmsea.ci.lower", "rmsea.ci.upper"]
    assert all(math.isnan(measures[name]) for name in unknown)


def test_a_saturated_model_fits_perfectly():
    R = NINE[:3, :3]
    measures = factor_fit_measures(R, fit_factors(R, N, np.ones((3, 1), dtype=bool)), N)
    assert (measures["df"], measures["chisq"]) == (0, pytest.approx(0, abs=1e-4))
    assert (measures["cfi"], measures["rmsea"]) == (pytest.approx(1), pytest.approx(0))
