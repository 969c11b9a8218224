"""Compiled densities, predictors and normal equations against plain numpy."""

import numpy as np
import pytest
from scipy.stats import norm, truncnorm

from dtstat.curves import bspline, ratings
from dtstat.curves.response_kernels import locate, normal_equations, underlying
from dtstat.curves.response_model import Edges, ResponseModel

SUPPORT = np.array(
    [[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 0, 0], [0, 0, 1], [0, 0, 0]], dtype=bool
)
PHI = np.array([[1, 0.4, -0.2], [0.4, 1, 0.3], [-0.2, 0.3, 1]])
N_TAU = np.array([0, 3, 1, 0, 0, 2, 2])
BLOCK = 256  # rows that the kernel takes at once


def bent_model(seed=0):
    """Rough curves, ratings of 2, 3 and 4 categories, items with three parents and with none."""
    rng = np.random.default_rng(seed)
    thresholds = np.zeros((7, 3))
    for i, m in enumerate(N_TAU):
        thresholds[i, :m] = np.sort(rng.normal(size=m))
    rated = N_TAU > 0
    return ResponseModel(
        SUPPORT,
        rng.normal(size=(int(SUPPORT.sum()), bspline.K)) * 0.7,
        np.where(rated, 0.0, rng.normal(size=7)),
        np.where(rated, 1.0, rng.uniform(0.3, 2.0, 7)),
        thresholds,
        N_TAU,
        PHI,
    )


def answers(n, seed=1, share=0.2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7))
    for i in np.flatnonzero(N_TAU):
        X[:, i] = rng.integers(N_TAU[i] + 1, size=n)
    X[rng.random(X.shape) < share] = np.nan
    return X


def eta_by_hand(model, Z):
    """Item by item, parent by parent, from the whole matrix of splines."""
    eta = np.tile(model.intercepts, (len(Z), 1))
    for e, (i, k) in enumerate(zip(*np.nonzero(model.support), strict=True)):
        eta[:, i] += bspline.design(Z[:, k]) @ model.coefficients[e]
    return eta


def log_joint_by_hand(model, Z, X):
    eta = eta_by_hand(model, Z)
    total = -0.5 * np.einsum("nj,jk,nk->n", Z, np.linalg.inv(model.factor_correlations), Z)
    for i, m in enumerate(model.n_thresholds):
        seen = ~np.isnan(X[:, i])
        x, h = X[seen, i], eta[seen, i]
        if m:
            edges = np.concatenate([[-np.inf], model.thresholds[i, :m], [np.inf]])
            c = x.astype(int)
            upper, lower = edges[c + 1] - h, edges[c] - h
            p = np.where(
                lower > 0, norm.sf(lower) - norm.sf(upper), norm.cdf(upper) - norm.cdf(lower)
            )
            total[seen] += np.log(np.maximum(p, 1e-12))
        else:
            total[seen] += norm.logpdf(x, h, np.sqrt(model.noise[i]))
    return total


def factors(n, seed=2, spread=1.0):
    return np.random.default_rng(seed).normal(size=(n, 3)) * spread


@pytest.mark.parametrize("n", [1, 7, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 37])
def test_the_joint_density_is_that_of_plain_numpy(n):
    model, Z, X = bent_model(), factors(n), answers(n)
    value, _ = model.log_joint(Z, X)
    np.testing.assert_allclose(value, log_joint_by_hand(model, Z, X), atol=3e-4)


def test_normal_items_are_exact():
    """No table: only rounding is left. The pattern of missing answers differs by row."""
    model, X = bent_model(), answers(500)
    X[:, N_TAU > 0] = np.nan
    Z = factors(500)
    value, _ = model.log_joint(Z, X)
    np.testing.assert_allclose(value, log_joint_by_hand(model, Z, X), atol=1e-10)


def test_beyond_the_knots_curves_are_straight():
    model, X = bent_model(), answers(300)
    X[:, N_TAU > 0] = np.nan  # tables end; the density of a normal item does not
    Z = np.sign(factors(300)) * (4 + np.abs(factors(300, seed=5, spread=3.0)))
    assert (np.abs(Z) >= 4).all()
    value, gradient = model.log_joint(Z, X)
    np.testing.assert_allclose(value, log_joint_by_hand(model, Z, X), rtol=1e-10)
    h = 1e-5
    for k in range(3):
        step = h * np.eye(3)[k]
        up, down = (log_joint_by_hand(model, Z + s, X) for s in (step, -step))
        np.testing.assert_allclose(gradient[:, k], (up - down) / (2 * h), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("n", [40, BLOCK + 40])
def test_gradients_are_derivatives_of_the_twin(n):
    model, Z, X = bent_model(), factors(n), answers(n)
    _, gradient = model.log_joint(Z, X)
    h = 1e-5
    for k in range(3):
        step = h * np.eye(3)[k]
        rise = log_joint_by_hand(model, Z + step, X) - log_joint_by_hand(model, Z - step, X)
        np.testing.assert_allclose(gradient[:, k], rise / (2 * h), atol=3e-3)


@pytest.mark.parametrize(("n", "times"), [(5, 4), (100, 7), (300, 3)])
def test_rows_of_answers_are_met_again_and_again(n, times):
    """Blocks of 256 end within a round of the answers."""
    model, Z, X = bent_model(), factors(n * times), answers(n)
    value, gradient = model.log_joint(Z, X)
    again_value, again_gradient = model.log_joint(Z, np.tile(X, (times, 1)))
    np.testing.assert_array_equal(value, again_value)
    np.testing.assert_array_equal(gradient, again_gradient)
    one_by_one = [model.log_joint(Z[[r]], X[[r % n]])[0][0] for r in range(0, n * times, 29)]
    np.testing.assert_allclose(value[::29], one_by_one, atol=1e-12)


def test_without_any_answer_the_prior_is_left():
    model, Z = bent_model(), factors(20)
    value, gradient = model.log_joint(Z, np.full((20, 7), np.nan))
    P = np.linalg.inv(PHI)
    np.testing.assert_allclose(value, -0.5 * np.einsum("nj,jk,nk->n", Z, P, Z), atol=1e-12)
    np.testing.assert_allclose(gradient, -Z @ P, atol=1e-12)


def test_layouts_of_memory_do_not_matter():
    model, Z, X = bent_model(), factors(300), answers(300)
    value, gradient = model.log_joint(Z, X)
    for other_Z, other_X in [
        (np.asfortranarray(Z), X),
        (Z, np.asfortranarray(X)),
        (Z[::-1], X[::-1]),
    ]:
        found, slope = model.log_joint(other_Z, other_X)
        back = slice(None, None, -1) if other_Z.strides[0] < 0 else slice(None)
        np.testing.assert_allclose(found[back], value, atol=1e-12)
        np.testing.assert_allclose(slope[back], gradient, atol=1e-12)


def test_predictors_and_slopes_are_those_of_the_splines():
    model, Z = bent_model(), factors(300, spread=2.5)
    assert (np.abs(Z) > 4).any()
    np.testing.assert_allclose(model.predictors(Z), eta_by_hand(model, Z), atol=1e-10)
    for e, k in enumerate(np.nonzero(SUPPORT)[1]):
        above, below = (bspline.design(Z[:, k] + h) for h in (1e-6, -1e-6))
        expected = (above - below) / 2e-6 @ model.coefficients[e]
        np.testing.assert_allclose(model.slopes(Z)[:, e], expected, atol=1e-6)


def test_information_is_of_the_answers_there_are():
    model, Z, X = bent_model(), factors(60), answers(60)
    J = np.zeros((60, 7, 3))
    J[:, SUPPORT] = model.slopes(Z)
    eta, W = eta_by_hand(model, Z), np.zeros((60, 7))
    for i, m in enumerate(N_TAU):
        W[:, i] = 1 / model.noise[i]
        if m:
            edges = np.concatenate([[-np.inf], model.thresholds[i, :m], [np.inf]])
            gaps = edges - eta[:, [i]]
            p = np.diff(norm.cdf(gaps), axis=1)
            W[:, i] = (np.diff(norm.pdf(gaps), axis=1) ** 2 / np.maximum(p, 1e-12)).sum(axis=1)
    W[np.isnan(X)] = 0
    expected = np.linalg.inv(PHI) + np.einsum("nij,ni,nik->njk", J, W, J)
    np.testing.assert_allclose(model.information(Z, X), expected, rtol=0.02, atol=0.02)


def test_pieces_are_the_curves_between_the_knots():
    beta = np.random.default_rng(3).normal(size=(4, bspline.K))
    cubics = bspline.pieces(beta)
    assert cubics.shape == (4, bspline.INTERVALS, 4)
    for z in np.random.default_rng(4).uniform(-4, 4, 200):
        j, u, beyond = locate(z, bspline.LOW, 1 / bspline.WIDTH, bspline.INTERVALS - 1)
        assert 0 <= u <= 1
        assert beyond == 0
        curve = bspline.design(np.array([z]))[0] @ beta.T
        np.testing.assert_allclose(cubics[:, j] @ u ** np.arange(4), curve, atol=1e-12)


@pytest.mark.parametrize(
    ("z", "place"),
    [(-4.0, (0, 0.0, 0.0)), (4.0, (15, 1.0, 0.0)), (5.0, (15, 1.0, 2.0)), (-6.0, (0, 0.0, -4.0))],
)
def test_where_the_ends_lie(z, place):
    assert locate(z, -4.0, 2.0, 15) == place


def test_the_response_behind_a_rating_is_the_mean_of_a_truncated_normal():
    tau = np.array([-0.7, 0.2, 1.4])
    table = ratings.answer_table(tau[None], np.array([3]))[0]
    eta = np.repeat(np.linspace(-2.5, 2.5, 41) + 1e-3, 4)
    x = np.tile(np.arange(4.0), 41)
    y = np.empty(len(x))
    underlying(x, eta, table, ratings.LOW, float(ratings.PER_UNIT), y)
    edges = np.concatenate([[-np.inf], tau, [np.inf]])
    c = x.astype(int)
    expected = truncnorm.mean(edges[c] - eta, edges[c + 1] - eta, loc=eta)
    np.testing.assert_allclose(y, expected, atol=2e-4)
    assert ((edges[c] < y) & (y < edges[c + 1])).all()


def test_the_response_behind_a_missing_rating_is_left_out():
    table = ratings.answer_table(np.array([[0.0]]), np.array([1]))[0]
    y = np.full(3, 9.0)
    underlying(np.array([np.nan, 0.0, 1.0]), np.zeros(3), table, ratings.LOW, 64.0, y)
    np.testing.assert_allclose(y, [0.0, -np.sqrt(2 / np.pi), np.sqrt(2 / np.pi)], atol=1e-9)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_normal_equations_are_those_of_the_whole_design(q):
    rng = np.random.default_rng(q)
    Z, y, w = rng.normal(size=(90, q)) * 2, rng.normal(size=90), rng.uniform(0, 2, 90)
    w[:20] = 0.0
    y[:20] = np.nan  # nobody looks
    pairs = [bspline.basis(z) for z in Z.T]
    first, values = (np.stack([one[k] for one in pairs], axis=1) for k in (0, 1))
    S, t = np.zeros((q * bspline.K, q * bspline.K)), np.zeros(q * bspline.K)
    normal_equations(first, values, y, w, S, t)
    B = np.hstack([bspline.design(z) for z in Z.T])[20:]
    np.testing.assert_allclose(S, B.T @ (w[20:, None] * B), atol=1e-10)
    np.testing.assert_allclose(t, B.T @ (w[20:] * y[20:]), atol=1e-10)


def test_edges_are_sorted_by_item():
    edges = Edges.of(SUPPORT)
    assert edges.item.tolist() == [0, 1, 1, 2, 3, 3, 3, 5]
    assert edges.factor.tolist() == [0, 0, 1, 1, 0, 1, 2, 2]
    assert [edges.of_item(i) for i in (1, 4)] == [slice(1, 3), slice(7, 7)]
