"""Expected gains of missing loadings: the score test written out, and what refits gain."""

import numpy as np
import pytest

from dtstat.factors.copula import FactorEstimate, fit_factors
from dtstat.search.refine import expected_gains

N = 1000


def log_likelihood(R, L, Phi, psi):
    """Per row, less the constant."""
    Sigma = L @ Phi @ L.T + np.diag(psi)
    return -0.5 * (np.linalg.slogdet(Sigma)[1] + np.trace(np.linalg.solve(Sigma, R)))


def random_model(rng, most_parents):
    """A model at no maximum, and correlations of other items; some items have no parent."""
    p, d = 11, 4
    A = np.zeros((p, d), dtype=bool)
    for i in range(p):
        parents = i % (most_parents + 1)
        A[i, rng.choice(d, parents, replace=False)] = True
    B = rng.standard_normal((d, d)) + 2 * np.eye(d)
    Phi = B @ B.T
    Phi /= np.sqrt(np.outer(Phi.diagonal(), Phi.diagonal()))
    L = A * rng.uniform(-0.7, 0.7, A.shape)
    psi = rng.uniform(0.2, 0.9, p)
    R = np.corrcoef(rng.standard_normal((40, p)), rowvar=False)
    return R, FactorEstimate(L, Phi, psi, 0.0, 0, True, 0), A


def plain_gains(R, estimate, support, step=1e-5):
    """Numeric derivatives; ½ tr(Σ⁻¹ dΣ Σ⁻¹ dΣ) with the full inverse; parents give way."""
    L, Phi, psi = estimate.loadings, estimate.factor_correlations, estimate.uniquenesses
    P = np.linalg.inv(L @ Phi @ L.T + np.diag(psi))
    p, d = L.shape
    gains = np.zeros((p, d))
    for i in range(p):
        changes = []
        for k in range(d):
            E = np.zeros((p, d))
            E[i, k] = 1
            changes.append(P @ (E @ Phi @ L.T + L @ Phi @ E.T))
        information = np.array([[0.5 * np.trace(a @ b) for b in changes] for a in changes])
        S = np.flatnonzero(support[i])
        for k in np.flatnonzero(~support[i]):
            up, down = L.copy(), L.copy()
            up[i, k] += step
            down[i, k] -= step
            g = log_likelihood(R, up, Phi, psi) - log_likelihood(R, down, Phi, psi)
            left = information[k, k] - information[k, S] @ np.linalg.solve(
                information[np.ix_(S, S)], information[S, k]
            )
            gains[i, k] = (g / (2 * step)) ** 2 / left
    return gains


@pytest.mark.parametrize("most_parents", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_same_as_the_score_test_written_out(seed, most_parents):
    R, estimate, support = random_model(np.random.default_rng(seed), most_parents)
    found = expected_gains(R, estimate, support)
    np.testing.assert_allclose(found, plain_gains(R, estimate, support), rtol=1e-5, atol=1e-8)
    assert (found[support] == 0).all()
    assert (found[~support] > 0).all()


SIMPLE = np.kron(np.eye(3), np.ones((5, 1))).astype(bool)


def population(cross, phi, i=0, k=1):
    """Three factors of five items; item i also loads on factor k."""
    L = np.linspace(0.5, 0.8, 15)[:, None] * SIMPLE
    L[i, k] = cross
    Phi = np.full((3, 3), phi) + (1 - phi) * np.eye(3)
    R = L @ Phi @ L.T
    np.fill_diagonal(R, 1)
    return R


@pytest.mark.parametrize(("phi", "short"), [(0.0, 0.06), (0.3, 0.09), (0.6, 0.19)])
@pytest.mark.parametrize("cross", [0.05, -0.05])
def test_foretells_what_a_refit_gains(phi, short, cross):
    """A little less than that, for other items' loadings and the factors give way as well."""
    R = population(cross, phi, 7, 2)
    before = fit_factors(R, N, SIMPLE, tolerance=1e-10)
    gains = N * expected_gains(R, before, SIMPLE)
    assert np.unravel_index(gains.argmax(), gains.shape) == (7, 2)
    more = SIMPLE.copy()
    more[7, 2] = True
    after = fit_factors(R, N, more, tolerance=1e-10)
    gain = 2 * (after.log_likelihood - before.log_likelihood)
    assert (1 - short) * gain < gains[7, 2] < gain


def test_a_model_that_fits_lacks_nothing():
    R = population(0.0, 0.3)
    assert expected_gains(R, fit_factors(R, N, SIMPLE, tolerance=1e-10), SIMPLE).max() < 1e-8


def test_a_loading_that_its_parents_leave_nothing_of_gains_nothing():
    """A factor that is another under a second name."""
    rng = np.random.default_rng(0)
    L = np.array([[0.7, 0], [0.6, 0], [0.5, 0], [0, 0.7], [0, 0.6], [0, 0.5]])
    estimate = FactorEstimate(L, np.ones((2, 2)), 1 - (L**2).sum(axis=1), 0.0, 0, True, 0)
    R = np.corrcoef(rng.standard_normal((50, 6)), rowvar=False)
    np.testing.assert_array_equal(expected_gains(R, estimate, L > 0), np.zeros((6, 2)))
