"""A network as arrays: masks, slopes, likelihoods. No torch."""

import math
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from dtstat.curves.likelihood import log_likelihood
from dtstat.curves.network_model import NetworkModel, Pass

SUPPORT = np.array(
    [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 0, 0]],
    dtype=bool,
)
PHI = np.array([[1, 0.4, 0.2], [0.4, 1, -0.3], [0.2, -0.3, 1]])


def random_model(support=SUPPORT, Phi=PHI, seed=0, width=20, scale=1.3):
    rng = np.random.default_rng(seed)
    p, d = support.shape
    sizes = [d, width, width, width, p]
    weights = tuple(rng.normal(size=(a, b)) * scale / math.sqrt(a) for a, b in pairwise(sizes))
    biases = tuple(rng.normal(size=b) * 0.3 for b in sizes[1:])
    return NetworkModel(support, weights, biases, rng.uniform(0.2, 0.8, p), Phi)


def by_hand(model, z):
    """g(z) of one row: a pass for each item."""
    g = np.empty(len(model.support))
    for i, mask in enumerate(model.support):
        a = z * mask
        for W, b in zip(model.weights[:-1], model.biases[:-1], strict=True):
            a = np.tanh(a @ W + b)
        g[i] = (a @ model.weights[-1] + model.biases[-1])[i]
    return g


def log_joint_by_hand(model, Z, X):
    left = X - np.array([by_hand(model, z) for z in Z])
    terms = -0.5 * (left**2 / model.noise + np.log(2 * math.pi * model.noise))
    prior = -0.5 * np.einsum("nj,jk,nk->n", Z, np.linalg.inv(model.factor_correlations), Z)
    return np.nansum(terms, axis=1) + prior


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(1)
    Z, X = 1.5 * rng.normal(size=(40, 3)), rng.normal(size=(40, 8))
    X[rng.random(X.shape) < 0.2] = np.nan
    return random_model(), Z, X


def test_passes_are_the_distinct_masks():
    passes = Pass.all_of(SUPPORT)
    assert {tuple(q.parents): tuple(q.items) for q in passes} == {
        (): (7,),
        (0,): (0, 1),
        (1,): (2,),
        (2,): (3,),
        (0, 1): (4, 5),
        (1, 2): (6,),
    }


def test_predictors_are_the_masked_network(drawn):
    model, Z, _ = drawn
    np.testing.assert_allclose(model.predictors(Z), [by_hand(model, z) for z in Z], atol=1e-12)


def test_a_prediction_does_not_move_with_a_factor_that_is_no_parent(drawn):
    model, Z, _ = drawn
    before = model.predictors(Z)
    for k in range(3):
        moved = Z.copy()
        moved[:, k] += 1.0
        change = np.abs(model.predictors(moved) - before).max(axis=0)
        np.testing.assert_array_equal(change > 0, SUPPORT[:, k])


def test_slopes_are_derivatives(drawn):
    model, Z, _ = drawn
    J, h = model.slopes(Z), 1e-5
    assert J.shape == (40, SUPPORT.sum())
    for e, (i, k) in enumerate(zip(*np.nonzero(SUPPORT), strict=True)):
        step = h * np.eye(3)[k]
        rise = (model.predictors(Z + step) - model.predictors(Z - step))[:, i] / (2 * h)
        np.testing.assert_allclose(J[:, e], rise, atol=1e-8)


def test_the_joint_density_leaves_missing_answers_out(drawn):
    model, Z, X = drawn
    np.testing.assert_allclose(model.log_joint(Z, X)[0], log_joint_by_hand(model, Z, X), atol=1e-4)


def test_tabulated_curves_are_the_networks():
    """Read off a table, items with one parent are within 1e-6."""
    support = SUPPORT[:4]
    model = random_model(support)
    Z = np.random.default_rng(2).normal(size=(200, 3)) * 1.5
    X = model.predictors(Z) + 1.0
    exact = log_joint_by_hand(model, Z, X)
    np.testing.assert_allclose(model.log_joint(Z, X)[0], exact, atol=2e-5)


def test_long_data_are_taken_in_blocks(drawn):
    model, Z, X = drawn
    rows = np.random.default_rng(9).integers(40, size=1100)
    for whole, part in zip(model.log_joint(Z[rows], X[rows]), model.log_joint(Z, X), strict=True):
        np.testing.assert_allclose(whole, part[rows], atol=1e-10)


@pytest.mark.parametrize("repeats", [1, 10])
def test_gradients_are_derivatives(drawn, repeats):
    """Rows of z that repeat, as on a grid, are computed once and another way."""
    model, Z, X = drawn
    Z = np.repeat(Z[: 40 // repeats], repeats, axis=0)
    _, gradient = model.log_joint(Z, X)
    h = 1e-5
    for k in range(3):
        step = h * np.eye(3)[k]
        rise = (model.log_joint(Z + step, X)[0] - model.log_joint(Z - step, X)[0]) / (2 * h)
        np.testing.assert_allclose(gradient[:, k], rise, atol=1e-5)


def test_far_out_curves_are_straight_and_finite():
    model = random_model(SUPPORT[:4])
    Z = np.array([[50.0, -50.0, 7.0], [6.0, -6.0, 0.0]])
    value, gradient = model.log_joint(Z, np.zeros((2, 4)))
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()


def test_information_and_likelihood_are_exact_for_straight_lines():
    """With tiny weights tanh is the identity: a linear factor model."""
    L = np.array([0.8, 0.6, 0.9, 0.5])
    support = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=bool)
    small = 1e-4
    weights = (small * np.eye(2), np.eye(2), np.eye(2), (support * L[:, None]).T / small)
    zeros = tuple(np.zeros(s) for s in (2, 2, 2, 4))
    Phi, noise = np.array([[1, 0.3], [0.3, 1]]), np.array([0.3, 0.4, 0.5, 0.6])
    model = NetworkModel(support, weights, zeros, noise, Phi)
    W = support * L[:, None]
    Z = np.random.default_rng(3).normal(size=(20, 2))
    X = np.random.default_rng(4).normal(size=(20, 4))
    expected = np.linalg.inv(Phi) + W.T @ (W / noise[:, None])
    np.testing.assert_allclose(model.information(Z, X), [expected] * 20, rtol=1e-6)
    found = log_likelihood(model, X, np.random.default_rng(5), "quadrature")
    Sigma = W @ Phi @ W.T + np.diag(noise)
    quadratic = np.einsum("ni,ij,nj->n", X, np.linalg.inv(Sigma), X)
    exact = -0.5 * (quadratic + 4 * math.log(2 * math.pi) + np.linalg.slogdet(Sigma)[1])
    np.testing.assert_allclose(found.rows, exact, atol=1e-4)


def test_information_is_of_the_answers_there_are(drawn):
    model, Z, X = drawn
    slopes = np.zeros((40, *SUPPORT.shape))
    slopes[:, SUPPORT] = model.slopes(Z)
    weight = np.where(np.isnan(X), 0.0, 1 / model.noise)
    expected = np.linalg.inv(PHI) + np.einsum("nij,ni,nik->njk", slopes, weight, slopes)
    np.testing.assert_allclose(model.information(Z, X), expected, atol=1e-9)


def test_quadrature_and_importance_sampling_agree():
    """Answers drawn from the model, with curves tame enough for one mode a row."""
    keep = [0, 1, 2, 4, 5]
    model = random_model(SUPPORT[keep][:, :2], PHI[:2, :2], width=10, scale=0.9)
    rng = np.random.default_rng(6)
    Z = rng.multivariate_normal(np.zeros(2), PHI[:2, :2], 50, method="cholesky")
    X = model.predictors(Z) + rng.normal(size=(50, 5)) * np.sqrt(model.noise)
    exact = log_likelihood(model, X, np.random.default_rng(7), "quadrature")
    sampled = log_likelihood(model, X, np.random.default_rng(7), "importance", draws=400)
    assert abs(exact.total - sampled.total) < 4 * sampled.standard_error + 0.05


def test_it_needs_no_torch():
    module = "dtstat.curves.network_model"
    code = f"import sys, {module}; assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
