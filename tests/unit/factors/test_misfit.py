"""The discrepancy of a factor model, and the rows that it leaves."""

import numpy as np
import pytest

from dtstat.factors.copula import FactorEstimate, fit_factors
from dtstat.factors.robust import degrees_of_freedom, discrepancy, effective_rows

ROUNDING = 1e-10
STANDARD_ERRORS = 4  # of the Monte Carlo mean
N = 1000
N_SAMPLES = 60


def model(p=15, d=3, seed=0):
    """Support, and the estimate that is the true model of standard items."""
    rng = np.random.default_rng(seed)
    A = np.arange(p)[:, None] % max(d, 1) == np.arange(d)
    L = A * rng.uniform(0.4, 0.8, (p, d)) * rng.choice([-1, 1], (p, 1))
    Phi = np.full((d, d), 0.3) + 0.7 * np.eye(d)
    psi = 1 - np.einsum("ik,kl,il->i", L, Phi, L)
    k = int(A.sum()) + p + d * (d - 1) // 2
    return A, FactorEstimate(L, Phi, psi, np.nan, k, True, 0)


def implied(estimate):
    L = estimate.loadings
    return L @ estimate.factor_correlations @ L.T + np.diag(estimate.uniquenesses)


def rows_of(Sigma, n, rng):
    return rng.standard_normal((n, len(Sigma))) @ np.linalg.cholesky(Sigma).T


def sampled(Sigma, n, rng):
    return np.corrcoef(rows_of(Sigma, n, rng), rowvar=False)


def plain_discrepancy(R, estimate):
    M = np.linalg.inv(implied(estimate)) @ R - np.eye(len(R))
    return np.trace(M @ M) / 2


# discrepancy


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("d", [0, 1, 3])
def test_discrepancy_by_an_explicit_inverse(d, seed):
    rng = np.random.default_rng(seed)
    _, estimate = model(9, d, seed)
    R = sampled(np.eye(9) + 0.5, 30, rng)
    assert discrepancy(R, estimate) == pytest.approx(plain_discrepancy(R, estimate), rel=ROUNDING)


def test_discrepancy_of_items_with_two_parents_and_none():
    """Also with factors that are nearly the same."""
    L = np.array([[0.7, 0.3], [0.6, 0], [0.5, -0.4], [0, 0.8], [0, 0.4], [0, 0]])
    for correlation in (-0.6, 0.0, 0.999):
        Phi = np.array([[1, correlation], [correlation, 1]])
        estimate = FactorEstimate(L, Phi, np.linspace(0.2, 1, 6), np.nan, 14, True, 0)
        R = sampled(np.eye(6), 20, np.random.default_rng(0))
        assert discrepancy(R, estimate) == pytest.approx(plain_discrepancy(R, estimate))


def test_discrepancy_does_not_depend_on_units():
    _, estimate = model()
    R = sampled(np.eye(15), 40, np.random.default_rng(1))
    D = np.random.default_rng(2).uniform(0.1, 10, 15)
    scaled = FactorEstimate(
        *(estimate.loadings * D[:, None], estimate.factor_correlations.copy()),
        *(estimate.uniquenesses * D**2, np.nan, 33, True, 0),
    )
    found = discrepancy(R * np.outer(D, D), scaled)
    assert found == pytest.approx(discrepancy(R, estimate), rel=1e-8)


def test_without_factors_it_is_the_sum_of_squared_correlations():
    R = np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]])
    independence = fit_factors(R, N, np.zeros((3, 0), dtype=bool))
    assert discrepancy(R, independence) == pytest.approx(0.09 + 0.04 + 0.01)


def test_the_arguments_stay_as_they_were():
    _, estimate = model()
    R = sampled(np.eye(15), 40, np.random.default_rng(1))
    kept = R.copy()
    discrepancy(R, estimate)
    np.testing.assert_array_equal(R, kept)


@pytest.mark.parametrize("n", [4, 12, 100])
def test_mean_at_the_true_covariance(n):
    """n G has mean p(p + 1)/2 for any number of rows, fewer than the 12 items too."""
    _, truth = model(12, 2)
    rng = np.random.default_rng(n)
    half = np.linalg.cholesky(implied(truth))
    found = []
    for _ in range(1500):
        rows = rng.standard_normal((n, 12)) @ half.T
        found.append(n * discrepancy(rows.T @ rows / n, truth))
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert error < 0.02 * 78
    assert abs(np.mean(found) - 78) < STANDARD_ERRORS * error


# degrees of freedom


@pytest.mark.parametrize(
    ("p", "d", "expected"), [(15, 3, 120 - 33), (6, 0, 15), (3, 1, 0), (8, 2, 36 - 17)]
)
def test_degrees_of_freedom(p, d, expected):
    A, estimate = model(p, d)
    assert degrees_of_freedom(estimate) == expected
    assert degrees_of_freedom(fit_factors(np.eye(p), N, A)) == expected


# rows


def test_all_rows_count_if_the_model_is_exact():
    A, truth = model()
    R = implied(truth)
    for n in (50, 10**6):
        assert effective_rows(R, fit_factors(R, n, A), n) == n


def test_rows_without_factors():
    """G/df is the mean r²; what exceeds the 95 % point of a true model counts as misfit."""
    R = np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]])
    independence = fit_factors(R, N, np.zeros((3, 0), dtype=bool))
    v = 0.14 / 3 - (1 + 1.645 * np.sqrt(2 / 3)) / N
    assert effective_rows(R, independence, N) == pytest.approx(1 / (1 / N + v))
    # Fewer rows: at (1 + 1.645 √(2/3)) / n = .14 / 3 all of them count, that is below 50.2.
    assert effective_rows(R, independence, 50) == 50.0
    assert effective_rows(R, independence, 51) < 51
    assert isinstance(effective_rows(R, independence, 21), float)


@pytest.mark.parametrize("full", [False, True])
def test_no_degrees_of_freedom_is_no_evidence_of_misfit(full):
    """A Heywood case misfits with df = 0; four items on two factors have df = -3."""
    R = np.array([[1, 0.8, 0.8, 0], [0.8, 1, 0.4, 0], [0.8, 0.4, 1, 0], [0, 0, 0, 1]])
    R = R if full else R[:3, :3]
    estimate = fit_factors(R, N, np.ones((len(R), 1 + full), dtype=bool))
    assert degrees_of_freedom(estimate) == (-3 if full else 0)
    if not full:
        assert discrepancy(R, estimate) > 0.01
    assert effective_rows(R, estimate, N) == N


@pytest.mark.parametrize("seed", range(10))
def test_never_more_rows_than_there_are(seed):
    A, truth = model(10, 2, seed)
    rng = np.random.default_rng(seed)
    for n in (15, 60, 1000):
        R = sampled(implied(truth), n, rng)
        for support in (A, A[rng.permutation(10)]):
            assert 0 < effective_rows(R, fit_factors(R, n, support), n) <= n


def test_fewer_rows_than_items():
    A, truth = model(40, 4)
    R = sampled(implied(truth), 15, np.random.default_rng(0))
    assert np.linalg.matrix_rank(R) < 15
    estimate = fit_factors(R, 15, A)
    assert discrepancy(R, estimate) == pytest.approx(plain_discrepancy(R, estimate), rel=1e-6)
    assert 0 < effective_rows(R, estimate, 15) <= 15


def test_a_wrong_model_leaves_as_many_rows_however_many_there_are():
    """In the population of two factors one factor misfits by some G: df/G rows, and no more."""
    _, truth = model(10, 2)
    R, one = implied(truth), np.ones((10, 1), dtype=bool)
    few, many = (effective_rows(R, fit_factors(R, n, one), n) for n in (10**3, 10**6))
    assert few == pytest.approx(many, rel=0.05)  # up to sampling error, of order 1/n
    assert few < 100
    assert effective_rows(R, fit_factors(R, 10, one), 10) == 10


def adventitious(Sigma, v, rng):
    """Inverse Wishart with 1/v degrees of freedom about Σ, as Wu & Browne draw populations."""
    m = round(1 / v)
    W = rng.standard_normal((m, len(Sigma)))
    half = np.linalg.cholesky(Sigma)
    return half @ np.linalg.inv(W.T @ W / m) @ half.T


@pytest.mark.parametrize(("n", "v"), [(1000, 0.0), (1000, 1 / 500), (300, 1 / 1000), (4000, 0.002)])
def test_rows_are_what_sampling_and_misfit_leave(n, v):
    """G / df has the mean 1/n + v, up to terms of relative size p (1/n + v).

    Of that, 1.645 standard deviations √(2/df)/n are allowed for chance.
    """
    A, truth = model()
    scaled, rows = [], []
    for seed in range(N_SAMPLES):
        rng = np.random.default_rng(seed)
        Sigma = adventitious(implied(truth), v, rng) if v else implied(truth)
        R = sampled(Sigma, n, rng)
        estimate = fit_factors(R, n, A)
        scaled.append(discrepancy(R, estimate) / degrees_of_freedom(estimate) / (1 / n + v))
        rows.append(effective_rows(R, estimate, n))
    error, rest = np.std(scaled, ddof=1) / np.sqrt(N_SAMPLES), 15 * (1 / n + v)
    assert error < 0.025  # √(2/df/N_SAMPLES) = .02
    assert abs(np.mean(scaled) - 1) < STANDARD_ERRORS * error + rest
    # The bound n moves the mean, but not the median; that has 1.25 times the error of the mean.
    margin = 1.25 * STANDARD_ERRORS * error + rest
    by_chance = 1.645 * np.sqrt(2 / degrees_of_freedom(estimate)) / n
    expected = 1 / (1 / n + max(v - by_chance, 0.0))
    assert np.median(rows) == pytest.approx(expected, rel=margin)


def test_all_rows_count_in_nineteen_of_twenty_samples_of_a_true_model():
    A, truth = model(8, 2)
    reached = []
    for seed in range(4 * N_SAMPLES):
        R = sampled(implied(truth), N, np.random.default_rng(seed))
        reached.append(effective_rows(R, fit_factors(R, N, A), N) == N)
    # χ²_19 is below its mean and 1.645 standard deviations with probability .94.
    error = np.sqrt(0.94 * 0.06 / len(reached))
    assert abs(np.mean(reached) - 0.94) < STANDARD_ERRORS * error


@pytest.mark.parametrize("n", [50, 1000, 10**6])
@pytest.mark.parametrize("scaling", [1.0, 1.7])
def test_rows_have_a_floor(n, scaling):
    """The population varies about the model by v < 1/(p − 1) at most, however bad the model."""
    own = np.arange(10) < 5
    R = np.where(own[:, None] == own, 0.95, -0.2)
    np.fill_diagonal(R, 1)
    nothing = fit_factors(R, n, np.zeros((10, 0), dtype=bool))
    assert discrepancy(R, nothing) / degrees_of_freedom(nothing) > 3 / 9
    floor = 1 / (1 / n + 1 / 9)
    assert effective_rows(R, nothing, n, scaling) == pytest.approx(floor / scaling)
