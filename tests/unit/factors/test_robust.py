"""The test of fit and standard errors beside matrices written out, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

import dtstat as dt
from dtstat.dependence.influence import latent_influence
from dtstat.dependence.pearson import pearson
from dtstat.factors.copula import FactorEstimate, fit_factors
from dtstat.factors.derivatives import Information, Score
from dtstat.factors.robust import (
    degrees_of_freedom,
    discrepancy,
    implied_correlations,
    mean_square_product,
    misfit_scaling,
    robust_inference,
)

SUPPORT = np.array([[1, 0], [1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [0, 1]], dtype=bool)
ABOVE = np.triu_indices(7, 1)
STEP = 1e-6


def answers(n, seed=3, skewed=False):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2)) @ np.linalg.cholesky([[1, 0.4], [0.4, 1]]).T
    X = z @ (SUPPORT * [0.7, 0.6]).T + 0.7 * rng.standard_normal((n, 7))
    return np.exp(0.4 * X) if skewed else X


def fitted(n=400, **options):
    X = answers(n, **options)
    R = pearson(X)
    estimate = fit_factors(R, n, SUPPORT, tolerance=1e-10)
    return R, estimate, latent_influence(X, ["continuous"] * 7, "pearson", R)


def parameters(estimate):
    loadings = estimate.loadings[SUPPORT]
    return np.concatenate([loadings, estimate.factor_correlations[:1, 1], estimate.uniquenesses])


def covariances(theta):
    L, Phi = np.zeros((7, 2)), np.eye(2)
    L[SUPPORT], Phi[0, 1], Phi[1, 0] = theta[:8], theta[8], theta[8]
    return L @ Phi @ L.T + np.diag(theta[9:])


def written_out(R, estimate):
    """Jacobian of all moments, normal-theory weight, in the order of the lower triangle."""
    low = np.tril_indices(7)
    theta = parameters(estimate)
    sides = [
        [covariances(theta + sign * STEP * e)[low] for sign in (1, -1)] for e in np.eye(len(theta))
    ]
    Delta = np.array([(up - down) / (2 * STEP) for up, down in sides]).T
    P = np.linalg.inv(covariances(theta))
    basis = []
    for i, j in zip(*low, strict=True):
        E = np.zeros((7, 7))
        E[i, j] = E[j, i] = 1.0
        basis.append(E)
    V = np.array([[0.5 * np.trace(P @ A @ P @ B) for B in basis] for A in basis])
    return Delta, V, low


def second_derivatives(R, theta, step=1e-3):
    """Hessian of ½ (log|Σ| + tr Σ⁻¹R) by differences."""

    def loss(x):
        Sigma = covariances(x)
        return 0.5 * (np.linalg.slogdet(Sigma)[1] + np.trace(np.linalg.solve(Sigma, R)))

    e = step * np.eye(len(theta))
    return np.array(
        [
            [
                (loss(theta + a + b) - loss(theta + a - b) - loss(theta - a + b)
                 + loss(theta - a - b)) / (4 * step**2)
                for b in e
            ]
            for a in e
        ]
    )  # fmt: skip


def test_errors_of_an_approximate_model_are_those_of_resamples():
    """The nine tests, whose model misfits: there expected information says half of the error."""
    X = dt.load_dataset("holzinger_swineford_9").to_numpy(dtype=float)
    n, three = len(X), np.kron(np.eye(3), np.ones((3, 1))) > 0
    R = pearson(X)
    estimate = fit_factors(R, n, three)
    influence = latent_influence(X, ["continuous"] * 9, "pearson", R)
    _, errors = robust_inference(R, estimate, influence, n)
    rng = np.random.default_rng(1)
    resampled = [fit_factors(pearson(X[rng.integers(n, size=n)]), n, three) for _ in range(300)]
    spread = np.std([one.loadings[three] for one in resampled], axis=0)
    assert errors.loadings[three] == pytest.approx(spread, rel=0.25)


def test_traces_and_errors_are_those_of_the_matrices():
    R, estimate, influence = fitted()
    test, errors = robust_inference(R, estimate, influence, 400)
    Delta, V, low = written_out(R, estimate)
    inverse = np.linalg.inv(Delta.T @ V @ Delta)
    Q = np.eye(len(V)) - Delta @ inverse @ Delta.T @ V
    off = low[0] != low[1]

    def moments(pairs):
        """(m, 28) influences on the lower triangle, 0 on the diagonal."""
        full = np.zeros((7, 7, pairs.shape[1]))
        full[ABOVE] = pairs
        return full.transpose(1, 0, 2)[low].T

    def trace(pairs):
        G = np.cov(moments(pairs).T)
        return np.trace((Q @ G @ Q.T)[np.ix_(off, off)])

    halves = np.mean([trace(half) for half in influence.halves])
    wider = 2 - halves / trace(influence.pairs)
    assert test.trace == pytest.approx(trace(influence.pairs) * max(wider, 1.0), rel=1e-5)
    E = (moments(influence.pairs) @ Q.T)[:, off]
    pairs = [(E[r] @ E[s]) ** 2 for r in range(400) for s in range(400) if r != s]
    assert test.trace_of_square == pytest.approx(np.mean(pairs) * max(wider, 1.0) ** 2, rel=1e-5)
    Gamma = np.cov(moments(influence.pairs).T) * 399 / 400
    outer = np.linalg.inv(second_derivatives(R, parameters(estimate)))
    sandwich = outer @ Delta.T @ V @ Gamma @ V @ Delta @ outer / 400 * max(wider, 1.0)
    expected = np.sqrt(np.diag(sandwich))
    assert errors.loadings[SUPPORT] == pytest.approx(expected[:8], rel=1e-3)
    assert errors.factor_correlations[0, 1] == pytest.approx(expected[8], rel=1e-3)
    assert np.isnan(errors.loadings[~SUPPORT]).all()
    assert np.isnan(np.diag(errors.factor_correlations)).all()


def test_the_statistic_is_of_residual_correlations():
    R, estimate, influence = fitted()
    test, _ = robust_inference(R, estimate, influence, 400)
    residual = (R - implied_correlations(estimate))[ABOVE]
    assert test.statistic == pytest.approx(400 * residual @ residual)
    assert test.baseline == pytest.approx(400 * (R[ABOVE] ** 2).sum())
    assert test.df == 28 - 16
    a = np.sqrt(test.df / test.trace_of_square)
    assert test.chisq == pytest.approx(test.statistic * a + test.df - test.trace * a)


@pytest.mark.parametrize("shape", [(5, 30), (30, 5)])
def test_mean_square_product_leaves_equal_rows_out(shape):
    E = np.random.default_rng(0).standard_normal(shape)
    K = (E.T @ E) ** 2
    expected = K[~np.eye(shape[1], dtype=bool)].mean()
    assert mean_square_product(E, (E**2).sum(axis=0)) == pytest.approx(expected)


def test_scaling_is_one_for_normal_rows_and_larger_for_ranks():
    n = 20_000
    X = answers(n)
    estimate = fit_factors(pearson(X), n, SUPPORT)
    c = misfit_scaling(estimate, latent_influence(X, ["continuous"] * 7, "pearson", pearson(X)))
    assert c == pytest.approx(1.0, abs=0.03)
    R = 2 * np.sin(np.pi / 6 * pearson(np.argsort(np.argsort(X, axis=0), axis=0).astype(float)))
    ranks = latent_influence(X, ["continuous"] * 7, "spearman", R)
    assert 1.1 < misfit_scaling(fit_factors(R, n, SUPPORT), ranks) < 1.3


def test_scaling_is_the_mean_of_the_discrepancy():
    """Over samples n G has the mean c df, of skewed items as well."""
    n, sets, total, scaling = 1000, 120, [], []
    for seed in range(sets):
        R, estimate, influence = fitted(n, seed=seed, skewed=True)
        total.append(n * discrepancy(R, estimate) / degrees_of_freedom(estimate))
        scaling.append(misfit_scaling(estimate, influence))
    error = np.std(total) / np.sqrt(sets)
    assert np.mean(scaling) == pytest.approx(np.mean(total), abs=4 * error)


def test_unequal_halves_widen():
    X = answers(300, skewed=True)
    R = pearson(X)
    estimate = fit_factors(R, 300, SUPPORT)
    influence = latent_influence(X, ["continuous"] * 7, "pearson", R)
    plain = robust_inference(R, estimate, type(influence)(influence.pairs, False), 300)[0]
    widened = robust_inference(R, estimate, influence, 300)[0]
    assert widened.trace >= plain.trace


def test_scores_are_those_of_the_matrices():
    """Woodbury's identity beside inverses written out, with shared, single and free items."""
    rng = np.random.default_rng(5)
    L = np.zeros((8, 3))
    L[[0, 1, 2, 3], 0], L[[3, 4, 5], 1], L[6, 2] = 0.7, 0.5, 0.9
    Phi = np.array([[1, 0.4, 0.2], [0.4, 1, -0.3], [0.2, -0.3, 1]])
    psi = np.full(8, 0.4)
    psi[6] = 0.001
    estimate = FactorEstimate(L, Phi, psi, 0.0, 0, True, 1)
    pairs = rng.standard_normal((28, 11))
    above = np.triu_indices(8, 1)
    rows = np.zeros((11, 8, 8))
    rows[:, above[0], above[1]] = pairs.T
    rows += rows.transpose(0, 2, 1)
    P = np.linalg.inv(L @ Phi @ L.T + np.diag(psi))
    N = P @ rows @ P
    i, k = np.nonzero(L)
    a, b = np.triu_indices(3, 1)
    free = np.flatnonzero(psi > 0.002)
    parts = (N @ L @ Phi)[:, i, k], (L.T @ N @ L)[:, a, b], 0.5 * N[:, free, free]
    score = Score(estimate)
    g = score.of_pairs(pairs)
    assert np.allclose(g, np.hstack(parts).T, rtol=1e-9, atol=1e-9)
    form = 0.5 * np.einsum("rij,rij->", N, rows)
    explained = np.vdot(g, np.linalg.pinv(score.information, hermitian=True) @ g)
    assert score.unexplained(pairs) == pytest.approx(form - explained, rel=1e-9)
    change = rng.standard_normal(g.shape)
    plain = []
    for row, moved in zip(rows, change.T, strict=True):
        dL, dPhi = np.zeros_like(L), np.zeros_like(Phi)
        dL[i, k] = moved[: len(i)]
        dPhi[a, b] = dPhi[b, a] = moved[len(i) : len(i) + len(a)]
        plain.append((row - dL @ Phi @ L.T - L @ Phi @ dL.T - L @ dPhi @ L.T)[above])
    E, squares = score.residuals(pairs, change)
    assert np.allclose(E, np.array(plain).T)
    assert np.allclose(squares, np.square(plain).sum(axis=1))
    assert score.residual_squares(pairs, change) == pytest.approx(squares.sum())


def test_a_ridge_is_solved_by_a_generalized_inverse():
    A = np.random.default_rng(2).standard_normal((6, 9))
    b = np.arange(12.0).reshape(6, 2)
    assert np.allclose(Information(A @ A.T).solve(b), np.linalg.solve(A @ A.T, b))
    singular = A[:, :4] @ A[:, :4].T
    assert np.allclose(Information(singular).solve(b), np.linalg.pinv(singular, rcond=1e-12) @ b)


def test_without_factors_all_influence_is_unexplained():
    X = answers(200)
    estimate = fit_factors(pearson(X), 200, np.zeros((7, 0), dtype=bool))
    influence = latent_influence(X, ["continuous"] * 7, "pearson", pearson(X))
    expected = (influence.pairs**2).sum() / 199 / 21
    assert misfit_scaling(estimate, influence) == pytest.approx(expected)
