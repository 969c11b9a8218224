"""Splines against scipy's, their slopes against differences, the penalty against its meaning."""

import numpy as np
import pytest
from scipy.interpolate import BSpline

from dtstat.curves import bspline

INSIDE = np.linspace(-4, 4, 201)


def test_splines_are_those_of_scipy():
    knots = bspline.LOW + bspline.WIDTH * np.arange(-3, bspline.INTERVALS + 4)
    expected = BSpline.design_matrix(INSIDE, knots, 3).toarray()
    np.testing.assert_allclose(bspline.design(INSIDE), expected, atol=1e-12)


@pytest.mark.parametrize("z", [np.linspace(-6, 6, 301)])
def test_they_sum_to_one_everywhere(z):
    np.testing.assert_allclose(bspline.design(z).sum(axis=1), 1, atol=1e-12)


def test_straight_beyond_the_ends():
    beta = np.random.default_rng(0).normal(size=bspline.K)
    outside = np.array([4.0, 5.0, 6.0, -4.0, -5.0, -6.0])
    curve = bspline.design(outside) @ beta
    assert curve[2] - curve[1] == pytest.approx(curve[1] - curve[0])
    assert curve[5] - curve[4] == pytest.approx(curve[4] - curve[3])


def test_the_penalty_leaves_straight_lines_free():
    P = bspline.penalty()
    straight = np.arange(bspline.K) * 0.7 - 2
    assert straight @ P @ straight == pytest.approx(0, abs=1e-9)
    assert np.linalg.matrix_rank(P) == bspline.K - 2
    z = np.linspace(-4, 4, 9)
    assert np.ptp(np.diff(bspline.design(z) @ straight)) < 1e-9
