"""Slopes, loadings and shares of variance where they are known in closed form."""

import math

import numpy as np
import pytest

from dtstat.curves import bspline
from dtstat.curves.network_model import NetworkModel
from dtstat.curves.response_model import ResponseModel
from dtstat.curves.result import GRID, curves, shape

FINE = np.linspace(-4, 4, 801)


def fitted(function):
    """Spline coefficients of a function, by least squares between the knots."""
    return np.linalg.lstsq(bspline.design(FINE), function(FINE), rcond=None)[0]


def model_of(support, functions, noise, Phi=None, intercepts=None):
    support = np.asarray(support, dtype=bool)
    p, d = support.shape
    return ResponseModel(
        support,
        np.array([fitted(f) for f in functions]),
        np.zeros(p) if intercepts is None else np.asarray(intercepts, float),
        np.asarray(noise, float),
        np.zeros((p, 0)),
        np.zeros(p, dtype=int),
        np.eye(d) if Phi is None else np.asarray(Phi, float),
    )


def times(a):
    return lambda z: a * z


def test_a_straight_line_has_the_loading_of_a_factor_model():
    slopes, noise = np.array([0.8, -1.5, 3.0]), np.array([0.36, 1.0, 4.0])
    about = shape(model_of(np.ones((3, 1)), [times(a) for a in slopes], noise))
    expected = slopes / np.sqrt(slopes**2 + noise)
    np.testing.assert_allclose(about.loading, expected, atol=1e-6)
    np.testing.assert_allclose(about.slope, np.abs(expected), atol=1e-6)
    np.testing.assert_allclose(about.r2_map, expected**2, atol=1e-6)
    np.testing.assert_allclose(about.r2_line, about.r2_map, atol=1e-9)
    np.testing.assert_allclose(np.abs(about.loading), np.sqrt(about.r2_map), atol=1e-6)


def test_a_parabola_has_slopes_but_no_loading():
    """Var z² = 2, E|2z| = 2 √(2/π); draws have variance 1 but a few percent of skewness."""
    about = shape(model_of([[1]], [lambda z: z**2], [2.0]))
    assert about.loading[0] == pytest.approx(0, abs=0.02)
    assert about.slope[0] == pytest.approx(2 * math.sqrt(2 / math.pi) / 2, rel=0.02)
    assert about.r2_map[0] == pytest.approx(0.5, abs=0.02)
    assert about.r2_line[0] == pytest.approx(0, abs=0.001)


def test_a_cubic_has_the_loading_of_its_straight_line():
    """z³ = 3z + remainder: slope 3 (Stein), variance 15, of which the line has 9."""
    about = shape(model_of([[1]], [lambda z: z**3], [15.0]))
    assert about.loading[0] == pytest.approx(3 / math.sqrt(30), rel=0.03)
    assert about.r2_map[0] == pytest.approx(0.5, abs=0.03)
    assert about.r2_line[0] / about.r2_map[0] == pytest.approx(0.6, abs=0.03)


def test_two_correlated_parents_share_the_variance():
    """Var(az₁ + bz₂) = a² + b² + 2abρ."""
    Phi = [[1, 0.5], [0.5, 1]]
    about = shape(model_of([[1, 1]], [times(1.0), times(2.0)], [3.0], Phi))
    total = 1 + 4 + 2 + 3
    np.testing.assert_allclose(about.loading, np.array([1, 2]) / math.sqrt(total), atol=1e-6)
    assert about.r2_map[0] == pytest.approx(0.7, abs=1e-6)
    assert about.r2_line[0] == pytest.approx(0.7, abs=1e-6)


def test_the_line_is_in_all_factors_of_the_item():
    """z₂² adds to the map and nothing to the line."""
    about = shape(model_of([[1, 1]], [times(1.0), lambda z: z**2], [1.0]))
    assert about.r2_map[0] == pytest.approx(3 / 4, abs=0.02)
    assert about.r2_line[0] == pytest.approx(1 / 4, abs=0.02)


def test_an_item_without_factors_has_nothing():
    about = shape(model_of([[1], [0]], [times(1.0)], [1.0, 1.0]))
    assert (about.r2_map[1], about.r2_line[1]) == (0, 0)
    assert about.slope.shape == about.loading.shape == (1,)


def test_a_network_has_the_shape_of_the_line_it_is():
    small = 1e-4  # tanh is the identity
    W = np.array([[0.8, 0.0, 0.5], [0.0, 1.2, 0.7]])
    weights = (small * np.eye(2), np.eye(2), np.eye(2), W / small)
    zeros = tuple(np.zeros(s) for s in (2, 2, 2, 3))
    Phi, noise = np.array([[1, 0.3], [0.3, 1]]), np.array([0.5, 0.6, 0.7])
    model = NetworkModel(W.T != 0, weights, zeros, noise, Phi)
    about = shape(model)
    total = np.einsum("ji,jk,ki->i", W, Phi, W) + noise
    loadings = (W / np.sqrt(total)).T[W.T != 0]
    np.testing.assert_allclose(about.loading, loadings, atol=1e-5)
    np.testing.assert_allclose(about.r2_map, 1 - noise / total, atol=1e-5)
    np.testing.assert_allclose(curves(model)[0], 0.8 * GRID, atol=1e-5)


def test_curves_of_one_parent_are_the_functions():
    model = model_of([[1, 0], [0, 1]], [np.sin, lambda z: z**2 - 1], [1, 1], intercepts=[2, -1])
    np.testing.assert_allclose(curves(model)[0], np.sin(GRID) + 2, atol=1e-3)
    np.testing.assert_allclose(curves(model)[1], GRID**2 - 2, atol=1e-9)


def test_other_parents_are_averaged_over():
    """Partial dependence of b + f(z₁) + h(z₂): b + f + E h. E z² = 1, also in 200 draws."""
    model = model_of(
        [[1, 1], [1, 0]], [np.sin, lambda z: z**2, times(1.0)], [1, 1], [[1, 0.6], [0.6, 1]], [3, 0]
    )
    values = curves(model)
    np.testing.assert_allclose(values[0], 3 + np.sin(GRID) + 1, atol=1e-3)
    np.testing.assert_allclose(values[1] - GRID**2, values[1][30], atol=1e-9)
    assert values[1][30] == pytest.approx(3, abs=0.1)  # E sin = 0, up to 200 draws
    np.testing.assert_allclose(values[2], GRID, atol=1e-9)


def test_the_grid_is_the_callers():
    model = model_of([[1]], [times(2.0)], [1.0])
    np.testing.assert_allclose(curves(model, grid=np.array([-1.0, 5.0])), [[-2, 10]], atol=1e-9)


def test_the_shape_is_the_same_every_time():
    model = model_of([[1]], [lambda z: z**3], [1.0])
    np.testing.assert_array_equal(shape(model).slope, shape(model).slope)
