"""Standard errors against those of an exact linear factor model, where curves are straight."""

import numpy as np
import pytest

import dtstat as dt
from dtstat.curves import bspline
from dtstat.curves.posterior import posterior_draws
from dtstat.curves.response_model import ResponseModel
from dtstat.curves.uncertainty import phi_uncertainty, spline_uncertainty

LINE = (np.arange(bspline.K) - 9) * bspline.WIDTH  # f(z) = z
STRAIGHT = 1e7  # smoothing that leaves nothing but lines
GRID = np.array([-1.5, 0.0, 1.0, 2.0])
LOADINGS = np.kron(np.eye(2), np.array([[0.9], [0.8], [0.7], [0.6]]))
NOISE = np.array([0.3, 0.4, 0.5, 0.6, 0.3, 0.4, 0.5, 0.6])
PHI = np.array([[1, 0.4], [0.4, 1]])


def model_of(L, noise, Phi):
    support = L != 0
    p = len(L)
    return ResponseModel(
        support,
        L[support][:, None] * LINE,
        np.zeros(p),
        noise,
        np.zeros((p, 0)),
        np.zeros(p, dtype=int),
        Phi,
    )


def covariance(theta, support, noise):
    """Σ of loadings, then factor correlations."""
    d = support.shape[1]
    L = np.zeros(support.shape)
    L[support] = theta[: support.sum()]
    Phi = np.eye(d)
    Phi[np.triu_indices(d, 1)] = theta[support.sum() :]
    Phi = Phi + np.triu(Phi, 1).T
    return L @ Phi @ L.T + np.diag(noise)


def exact_errors(L, noise, Phi, n, missing=None):
    """Standard errors of loadings and Φ, the noise known: the normal model's own information.

    ``missing`` marks answers that are not there; the information is a sum over rows.
    """
    support = L != 0
    theta = np.concatenate([L[support], Phi[np.triu_indices(len(Phi), 1)]])
    h, k = 1e-6, len(theta)
    D = [
        (covariance(theta + h * e, support, noise) - covariance(theta - h * e, support, noise))
        / (2 * h)
        for e in np.eye(k)
    ]
    Sigma = covariance(theta, support, noise)
    patterns = np.zeros((1, len(L)), bool) if missing is None else missing
    J = np.zeros((k, k))
    for gone in patterns:
        at = np.ix_(~gone, ~gone)
        A = [np.linalg.solve(Sigma[at], one[at]) for one in D]
        J += [[0.5 * np.sum(a * b.T) for b in A] for a in A]
    J *= n / len(patterns)
    return np.sqrt(np.diag(np.linalg.inv(J)))


def drawn(L, noise, Phi, n, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.multivariate_normal(np.zeros(len(Phi)), Phi, n, method="cholesky")
    return Z @ L.T + rng.normal(size=(n, len(L))) * np.sqrt(noise)


def errors_of(L, noise, Phi, X, seed=1, smoothing=STRAIGHT):
    model = model_of(L, noise, Phi)
    draws = posterior_draws(model, X, np.random.default_rng(seed), 80)[::2]
    return spline_uncertainty(model, X, draws, np.full((L != 0).sum(), smoothing), GRID)


def test_errors_of_factor_correlations_are_those_of_a_linear_model():
    """Within a tenth: the information is summed over 2000 rows that were drawn."""
    found = errors_of(LOADINGS, NOISE, PHI, drawn(LOADINGS, NOISE, PHI, 2000))
    expected = exact_errors(LOADINGS, NOISE, PHI, 2000)[-1]
    assert found.factor_correlations[0, 1] == pytest.approx(expected, rel=0.1)
    np.testing.assert_array_equal(found.factor_correlations, found.factor_correlations.T)
    np.testing.assert_array_equal(np.diag(found.factor_correlations), 0)


def test_three_factors_have_their_errors_in_their_places():
    L = np.kron(np.eye(3), np.array([[0.9], [0.8], [0.5]]))
    L[6:] *= 0.6  # the third is known least
    Phi = np.array([[1, 0.7, 0.2], [0.7, 1, -0.3], [0.2, -0.3, 1]])
    noise = np.full(9, 0.5)
    found = errors_of(L, noise, Phi, drawn(L, noise, Phi, 3000)).factor_correlations
    expected = exact_errors(L, noise, Phi, 3000)[-3:]
    np.testing.assert_allclose(found[np.triu_indices(3, 1)], expected, rtol=0.15)
    assert expected[0] < 0.8 * expected[1]


def test_bands_of_straight_lines_have_the_errors_of_level_and_loading():
    """Var(b + az) = Var b + z² Var a; Var b is the item's variance over n."""
    n = 2000
    found = errors_of(LOADINGS, NOISE, PHI, drawn(LOADINGS, NOISE, PHI, n)).curves
    slopes = exact_errors(LOADINGS, NOISE, PHI, n)[:8]
    level = np.sqrt(np.diag(LOADINGS @ PHI @ LOADINGS.T + np.diag(NOISE)) / n)
    expected = np.hypot(level[:, None], slopes[:, None] * GRID)
    assert found.shape == (8, 4)
    np.testing.assert_allclose(found, expected, rtol=0.15)


def test_missing_answers_make_errors_larger():
    n = 1500
    X = drawn(LOADINGS, NOISE, PHI, n)
    gone = np.random.default_rng(2).random(X.shape) < 0.4
    whole = errors_of(LOADINGS, NOISE, PHI, X)
    X[gone] = np.nan
    found = errors_of(LOADINGS, NOISE, PHI, X)
    expected = exact_errors(LOADINGS, NOISE, PHI, n, gone)[-1]
    assert found.factor_correlations[0, 1] == pytest.approx(expected, rel=0.15)
    assert (found.curves > whole.curves).mean() > 0.9


def test_chance_in_few_draws_is_not_information():
    """Six draws of weakly measured factors: most of a person's score is Monte Carlo error."""
    L, noise, n = 0.6 * LOADINGS, np.full(8, 0.8), 6000
    X = drawn(L, noise, PHI, n)
    model = model_of(L, noise, PHI)
    draws = posterior_draws(model, X, np.random.default_rng(1), 60)[::10]
    found = spline_uncertainty(model, X, draws, np.full(8, STRAIGHT), GRID)
    expected = exact_errors(L, noise, PHI, n)[-1]
    assert found.factor_correlations[0, 1] == pytest.approx(expected, rel=0.2)


def test_bands_of_an_item_with_two_factors_have_the_other_at_its_mean():
    """Var(b + a₁z) again: the level of the other curve is not counted twice."""
    L, n = LOADINGS.copy(), 3000
    L[0, 1] = 0.4
    found = errors_of(L, NOISE, PHI, drawn(L, NOISE, PHI, n)).curves[:2]
    slopes = exact_errors(L, NOISE, PHI, n)[:2]
    level = np.sqrt((L @ PHI @ L.T + np.diag(NOISE))[0, 0] / n)
    np.testing.assert_allclose(found, np.hypot(level, slopes[:, None] * GRID), rtol=0.2)


def test_errors_fall_with_the_root_of_the_rows():
    few, many = (
        errors_of(LOADINGS, NOISE, PHI, drawn(LOADINGS, NOISE, PHI, n)) for n in (500, 8000)
    )
    ratio = few.factor_correlations[0, 1] / many.factor_correlations[0, 1]
    assert ratio == pytest.approx(4, rel=0.2)
    np.testing.assert_allclose(few.curves / many.curves, 4, rtol=0.4)


def test_rough_curves_have_wider_bands():
    X = drawn(LOADINGS, NOISE, PHI, 1000)
    straight, free = (errors_of(LOADINGS, NOISE, PHI, X, smoothing=s).curves for s in (1e7, 1.0))
    assert (free >= 0.99 * straight).all()
    assert free.mean() > 1.3 * straight.mean()


def test_one_factor_has_no_correlations():
    L, noise = np.full((4, 1), 0.8), np.full(4, 0.4)
    found = errors_of(L, noise, np.eye(1), drawn(L, noise, np.eye(1), 300))
    assert found.factor_correlations.tolist() == [[0.0]]
    assert np.isfinite(found.curves).all()


def test_blocks_of_rows_add_up():
    """More rows than are held at once: twice the rows, 1/√2 of the errors."""
    X = drawn(LOADINGS, NOISE, PHI, 1500)
    model = model_of(LOADINGS, NOISE, PHI)
    draws = posterior_draws(model, X, np.random.default_rng(1), 40)
    smoothing = np.full(8, STRAIGHT)
    once = spline_uncertainty(model, X, draws, smoothing, GRID)
    twice = spline_uncertainty(
        model, np.tile(X, (2, 1)), np.tile(draws, (1, 2, 1)), smoothing, GRID
    )
    ratio = once.factor_correlations[0, 1] / twice.factor_correlations[0, 1]
    assert ratio == pytest.approx(np.sqrt(2), rel=1e-3)


def test_with_known_curves_phi_is_known_better():
    """Networks: curves taken as known. The exact error has Φ alone unknown."""
    n = 2000
    X = drawn(LOADINGS, NOISE, PHI, n)
    model = model_of(LOADINGS, NOISE, PHI)
    draws = posterior_draws(model, X, np.random.default_rng(1), 80)[::2]
    found = phi_uncertainty(model, draws, 4, 8)
    h = 1e-6
    theta = np.append(LOADINGS[LOADINGS != 0], 0.4)
    step = h * np.eye(9)[-1]
    up, down = (covariance(theta + s, LOADINGS != 0, NOISE) for s in (step, -step))
    A = np.linalg.solve(covariance(theta, LOADINGS != 0, NOISE), (up - down) / (2 * h))
    expected = 1 / np.sqrt(n * 0.5 * np.sum(A * A.T))
    assert found.factor_correlations[0, 1] == pytest.approx(expected, rel=0.1)
    assert expected < exact_errors(LOADINGS, NOISE, PHI, n)[-1]
    assert found.curves.shape == (8, 4)
    assert np.isnan(found.curves).all()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Two runs of the curves:dtstat.DTWarning")  # true of some sets
def test_told_errors_are_those_of_repetitions():
    """Forty data sets: the spread of fitted correlations is what each fit tells.

    The standard deviation of 40 is known to 11 %; the margin is three times that.
    """
    structure = dt.Structure(np.kron(np.eye(2), np.ones((4, 1))))
    correlations, told = [], []
    for seed in range(40):
        X = drawn(LOADINGS, NOISE, PHI, 250, seed)
        fit = dt.fit(X, estimator="spline", structure=structure, seed=seed)
        correlations.append(fit.factor_correlations.iloc[0, 1])
        told.append(fit.factor_correlation_errors.iloc[0, 1])
    assert np.mean(correlations) == pytest.approx(0.4, abs=0.04)
    assert np.mean(told) / np.std(correlations, ddof=1) == pytest.approx(1, abs=0.33)
