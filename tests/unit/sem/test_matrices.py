"""Implied moments and their derivatives against a plain twin (RAM) and finite differences."""

import numpy as np
import pytest

from dtstat.sem.matrices import Layout, covariance_gradient, covariance_information
from dtstat.sem.model import build_model

# Sums of products of numbers of size one, in another order.
ROUNDING = 1e-11
# Central differences with steps of 1e-5: the third derivative times 1e-10, rounding 1e-11.
DIFFERENCE = 1e-7
STEP = 1e-5

ITEMS = (*(f"x{k}" for k in range(1, 10)), "y1", "y2", "z", "w")
MODELS = {
    "cfa": "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6",
    "crossed": "f =~ x1 + x2 + x3 + x4; g =~ x4 + x5 + x1; x1 ~~ x5; x2 ~~ x3",
    "equal": "f =~ NA*x1 + a*x2 + a*x3; g =~ x4 + a*x5 + b*x6; x1 ~~ b*x1; f ~~ c*f; g ~~ c*g",
    "sem": "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6; h =~ x7 + x8; g ~ f; h ~ f + g; x1 ~~ x4",
    "second_order": "f =~ x1 + x2 + x3; g =~ x4 + x5; h =~ x6 + x7; t =~ f + g + h",
    "paths": "y1 ~ z + w; y2 ~ y1 + z",
    "mixed": "f =~ x1 + x2 + x3; f ~ z; y1 ~ f + x2; x3 ~~ y1; y2 ~~ x1",
    "loop": "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6; f ~ 0.3*g; g ~ f",
    "means": "f =~ x1 + a*x2 + x3; g =~ x4 + x5; f ~ 1; g ~ m*1; x1 ~ 0*1; x2 ~ m*1; g ~ f",
    "mixed_means": "f =~ x1 + x2 + x3; f ~ 1; f ~ z; y1 ~ f + x2; z ~~ z; y1 ~ 0.5*1; x1 ~ 0*1",
    "orthogonal_fixed": "f =~ 2*x1 + x2 + -0.5*x3; g =~ x3 + x4; f ~~ 0.3*g; x1 ~~ 0.1*x2",
}


def layout_of(name):
    return Layout(build_model(MODELS[name], ITEMS))


def random_theta(layout, seed):
    """Values of either sign; nothing here needs a proper solution."""
    return np.random.default_rng(seed).uniform(-0.7, 0.9, layout.model.n_free)


def ram(model, theta):
    """Σ = F (I − A)⁻¹ S (I − A)⁻ᵀ Fᵀ and μ = F (I − A)⁻¹ m, from the names alone."""
    names = [*model.observed, *model.latent]
    at = {name: k for k, name in enumerate(names)}
    A, S, m = np.zeros((len(names),) * 2), np.zeros((len(names),) * 2), np.zeros(len(names))
    for row in model.parameters:
        value = theta[row.free - 1] if row.free else row.value or 0.0
        if row.op == "=~":
            A[at[row.rhs], at[row.lhs]] = value
        elif row.op == "~":
            A[at[row.lhs], at[row.rhs]] = value
        elif row.op == "~1":
            m[at[row.lhs]] = value
        else:
            S[at[row.lhs], at[row.rhs]] = S[at[row.rhs], at[row.lhs]] = value
    K = np.linalg.inv(np.eye(len(names)) - A)[: len(model.observed)]
    return K @ S @ K.T, K @ m


def numeric_derivatives(layout, theta):
    """(q, p, p) and (q, p) central differences of the plain twin."""
    covariances, means = [], []
    for k in range(len(theta)):
        step = np.zeros(len(theta))
        step[k] = STEP
        (up, mu_up), (down, mu_down) = (ram(layout.model, theta + s * step) for s in (1, -1))
        covariances.append((up - down) / (2 * STEP))
        means.append((mu_up - mu_down) / (2 * STEP))
    return np.array(covariances), np.array(means)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_implied_moments_are_those_of_the_plain_twin(name, seed):
    layout = layout_of(name)
    theta = random_theta(layout, seed)
    implied = layout.implied(theta)
    Sigma, mu = ram(layout.model, theta)
    np.testing.assert_allclose(implied.Sigma, Sigma, atol=ROUNDING)
    np.testing.assert_allclose(implied.mu, mu, atol=ROUNDING)


def test_the_matrices_follow_the_lisrel_formula():
    layout = layout_of("sem")
    theta = random_theta(layout, 0)
    M = layout.matrices(theta)
    K = np.linalg.inv(np.eye(len(M.Psi)) - M.Beta)
    Sigma = M.Lambda @ K @ M.Psi @ K.T @ M.Lambda.T + M.Theta
    np.testing.assert_allclose(layout.implied(theta).Sigma, Sigma, atol=ROUNDING)
    np.testing.assert_array_equal(M.Psi, M.Psi.T)
    np.testing.assert_array_equal(M.Theta, M.Theta.T)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(2))
def test_derivatives_are_those_of_finite_differences(name, seed):
    layout = layout_of(name)
    theta = random_theta(layout, seed)
    implied = layout.implied(theta)
    slots = np.einsum("ia,ja->ija", implied.U, implied.V)
    slots = slots + slots.transpose(1, 0, 2)
    covariances, means = numeric_derivatives(layout, theta)
    np.testing.assert_allclose(
        np.moveaxis(layout.collect(slots), -1, 0), covariances, atol=DIFFERENCE
    )
    np.testing.assert_allclose(layout.collect(implied.dmu).T, means, atol=DIFFERENCE)


@pytest.mark.parametrize("name", MODELS)
def test_information_and_gradient_are_the_traces_they_stand_for(name):
    layout = layout_of(name)
    theta = random_theta(layout, 5)
    implied = layout.implied(theta)
    rng = np.random.default_rng(6)
    p = len(implied.Sigma)
    G = rng.normal(size=(p, p))
    W, G = G @ G.T + np.eye(p), G + G.T
    covariances, _ = numeric_derivatives(layout, theta)
    traces = [[np.trace(W @ a @ W @ b) / 2 for b in covariances] for a in covariances]
    information = layout.collect_square(covariance_information(implied, W))
    scale = np.abs(information).max()
    np.testing.assert_allclose(information, traces, atol=scale * DIFFERENCE)
    gradient = layout.collect(covariance_gradient(implied, G))
    expected = [np.trace(G @ a) for a in covariances]
    np.testing.assert_allclose(gradient, expected, atol=100 * DIFFERENCE)


def test_equal_parameters_move_all_their_entries():
    layout = layout_of("equal")
    M = layout.matrices(np.arange(1.0, layout.model.n_free + 1))
    free = {row.name: row.free for row in layout.model.parameters}
    assert M.Lambda[1, 0] == M.Lambda[2, 0] == M.Lambda[4, 1] == free["f =~ x2"]
    assert M.Lambda[5, 1] == M.Theta[0, 0] == free["g =~ x6"]


def test_fixed_values_stand_where_they_belong():
    layout = layout_of("orthogonal_fixed")
    M = layout.matrices(np.zeros(layout.model.n_free))
    assert (M.Lambda[0, 0], M.Lambda[2, 0], M.Lambda[2, 1]) == (2.0, -0.5, 1.0)
    assert M.Psi[0, 1] == M.Psi[1, 0] == 0.3
    assert M.Theta[0, 1] == M.Theta[1, 0] == 0.1


def test_a_model_without_means_has_none():
    layout = layout_of("cfa")
    implied = layout.implied(random_theta(layout, 1))
    assert not implied.mu.any()
    assert not implied.dmu.any()


def test_values_changed_in_place_are_noticed():
    """A layout keeps the last moments it computed; the same array may hold other values."""
    layout = layout_of("sem")
    theta = random_theta(layout, 0)
    before = layout.implied(theta).Sigma.copy()
    theta *= 0.5
    np.testing.assert_allclose(layout.implied(theta).Sigma, ram(layout.model, theta)[0])
    theta *= 2.0
    np.testing.assert_array_equal(layout.implied(theta).Sigma, before)
