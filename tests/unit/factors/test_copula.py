"""Latent correlations, and factor models of a given support fitted to them."""

import warnings

import numpy as np
import pytest

from dtstat.core.errors import EstimationWarning, InputError
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.measures import REGISTRY
from dtstat.factors.copula import fit_factors, is_single, latent_correlations
from dtstat.factors.maximum_likelihood import LEAST_UNIQUENESS, FactorLikelihood, accelerated_em
from dtstat.sem.discrepancy import PROCEDURES
from dtstat.sem.likelihood import fit_moments
from dtstat.sem.model import build_model
from dtstat.structure.structure import Structure

# Both searches stop at gains of about 1e-6; near the maximum that leaves loadings to 1e-4.
SAME_LIKELIHOOD, SAME_PARAMETERS = 1e-4, 1e-3
# Exact correlations: the likelihood is flat to 1e-6 within this distance of the parameters.
RECOVERED = 1e-4
# Central differences with steps of 1e-6 lose about ten digits of the value.
DIFFERENCE = 1e-7
N = 1000


def population(p=12, d=3, cross=(), seed=0):
    """Support, loadings (some negative), factor correlations and implied correlations."""
    rng = np.random.default_rng(seed)
    A = np.arange(p)[:, None] % d == np.arange(d)
    for i, k in cross:
        A[i, k] = True
    L = A * rng.uniform(0.4, 0.8, (p, d)) / np.sqrt(A.sum(axis=1, keepdims=True))
    L[3 * d :] *= -1  # reverse-keyed
    Phi = np.full((d, d), 0.3) + 0.7 * np.eye(d)
    R = L @ Phi @ L.T
    np.fill_diagonal(R, 1)
    return A, L, Phi, R


def sampled(R, n=N, seed=0):
    rng = np.random.default_rng(seed)
    w, Q = np.linalg.eigh(R)
    return np.corrcoef((rng.standard_normal((n, len(R))) * np.sqrt(w)) @ Q.T, rowvar=False)


def implied(fit):
    L = fit.loadings
    return L @ fit.factor_correlations @ L.T + np.diag(fit.uniquenesses)


def random_support(seed, p=10, d=3):
    rng = np.random.default_rng(seed)
    return rng.random((p, d)) < 0.4, sampled(population(p, 2)[3], 100, seed)


# latent correlations


@pytest.mark.parametrize(
    ("measure", "value", "latent"),
    [
        ("spearman", 6 / np.pi * np.arcsin(0.25), 0.5),
        ("spearman", -6 / np.pi * np.arcsin(0.4), -0.8),
        ("kendall", 1 / 3, 0.5),
        ("kendall", -0.5, -np.sqrt(0.5)),
        *((name, 0.37, 0.37) for name in ("pearson", "polychoric", "tetrachoric", "mixed")),
    ],
)
def test_bridges_at_known_values(measure, value, latent):
    found = latent_correlations(
        DependenceMatrix.from_matrix([[1, value], [value, 1]], n_obs=50, measure=measure)
    )
    np.testing.assert_allclose(found.R, [[1, latent], [latent, 1]], atol=1e-14)
    assert (found.n_obs, found.smoothed) == (50, False)
    assert found.smallest_eigenvalue == pytest.approx(1 - abs(latent))


BRIDGED = {"pearson", "spearman", "kendall", "polychoric", "tetrachoric", "mixed"}


@pytest.mark.parametrize("measure", [*sorted(REGISTRY.keys() - BRIDGED), "home-made"])
def test_other_measures_are_refused(measure):
    matrix = DependenceMatrix.from_matrix([[1, 0.2], [0.2, 1]], measure=measure)
    with pytest.raises(InputError, match=f"'{measure}', which has no latent.* Give the data") as e:
        latent_correlations(matrix)
    assert e.value.argument == "data"
    assert all(name in str(e.value) for name in BRIDGED)


def test_the_dependence_matrix_stays_as_it_was():
    given = DependenceMatrix.from_matrix([[1, 0.2], [0.2, 1]])
    R = latent_correlations(given).R
    assert not np.shares_memory(R, given.values)
    assert not R.flags.writeable


def test_an_indefinite_matrix_is_smoothed_and_says_so():
    bad = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    with pytest.warns(EstimationWarning, match=r"smoothed.*smallest eigenvalue -0\.8\).*fewer"):
        found = latent_correlations(DependenceMatrix.from_matrix(bad))
    assert found.smoothed
    assert found.smallest_eigenvalue == pytest.approx(-0.8)
    np.testing.assert_array_equal(np.diag(found.R), 1)
    np.testing.assert_array_equal(found.R, found.R.T)
    assert np.linalg.eigvalsh(found.R)[0] > 0
    assert (np.sign(found.R) == np.sign(bad)).all()


def test_a_singular_matrix_is_not_smoothed():
    R = sampled(np.eye(20), n=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = latent_correlations(DependenceMatrix.from_matrix(R))
    np.testing.assert_allclose(found.R, R, atol=1e-15)
    assert not found.smoothed


# likelihood


@pytest.mark.parametrize("seed", range(3))
def test_likelihood_is_that_of_the_multivariate_normal(seed):
    from scipy.stats import multivariate_normal

    A, _, _, R = population(cross=[(0, 1), (4, 2), (5, 0)], seed=seed)
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((40, 12)) @ np.linalg.cholesky(R).T
    rows -= rows.mean(axis=0)
    rows /= rows.std(axis=0)
    fit = fit_factors(rows.T @ rows / 40, 40, A)
    brute = multivariate_normal(np.zeros(12), implied(fit)).logpdf(rows).sum()
    assert fit.log_likelihood == pytest.approx(brute, abs=1e-8)


def test_gradient_is_that_of_finite_differences():
    A, R = random_support(0)
    likelihood = FactorLikelihood(R, A)
    theta = likelihood.start()
    theta[likelihood.psi] -= 0.1  # off the upper bound, where items of no factor are
    theta[-6:] += 0.1  # factors whose variance is not 1
    step = 1e-6
    numeric = [
        (likelihood.evaluate(theta + e)[0] - likelihood.evaluate(theta - e)[0]) / (2 * step)
        for e in step * np.eye(theta.size)
    ]
    gradient = likelihood.gradient(likelihood.evaluate(theta)[1])
    np.testing.assert_allclose(gradient, numeric, atol=DIFFERENCE)


@pytest.mark.parametrize("seed", range(5))
def test_an_em_step_never_lowers_the_likelihood(seed):
    A, R = random_support(seed)
    likelihood = FactorLikelihood(R, A)
    theta, values = likelihood.start(), []
    for _ in range(30):
        value, moments = likelihood.evaluate(theta)
        values.append(value)
        theta = likelihood.em_step(moments)
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] > values[0] + 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_the_likelihood_never_falls(seed):
    A, R = random_support(seed)
    values = [fit_factors(R, 1, A, 1e-9, steps).log_likelihood for steps in (*range(30), 40, 80)]
    assert (np.diff(values) > -1e-9).all()


def test_acceleration_pays():
    """Twenty accelerated steps lead further than two hundred plain ones."""
    A, _, _, R = population(8, 4, seed=1)
    likelihood = FactorLikelihood(sampled(R), A)
    theta = likelihood.start()
    for _ in range(200):
        theta = likelihood.em_step(likelihood.evaluate(theta)[1])
    assert accelerated_em(likelihood, 0.0, 20).value > likelihood.evaluate(theta)[0]


# fits


@pytest.mark.parametrize(
    ("p", "d", "cross", "seed"),
    [
        (6, 1, (), 0),
        (12, 3, (), 1),
        (12, 3, [(0, 1), (4, 2), (11, 0)], 2),
        (20, 4, [(0, 1), (5, 2), (5, 3), (9, 0)], 3),
    ],
)
def test_same_as_the_structural_equation_model(p, d, cross, seed):
    A, _, _, R = population(p, d, cross, seed)
    S = sampled(R, seed=seed)
    fit = fit_factors(S, N, A)
    structure = Structure(A)
    model = build_model(structure, structure.item_names, std_lv=True)
    at = {name: i for i, name in enumerate((*structure.item_names, *structure.factor_names))}
    order = np.ix_(*[[at[name] for name in model.observed]] * 2)
    unbiased = S[order] * N / (N - 1)  # of which it takes (N - 1) / N, as lavaan does
    sem = fit_moments(model, [(unbiased, None, N)], PROCEDURES["ml"], "covariances")
    L, Phi = np.zeros((p, d)), np.eye(d)
    for row, value in zip(sem.model.parameters, sem.estimates, strict=True):
        if row.op == "=~":
            L[at[row.rhs], at[row.lhs] - p] = value
        elif row.lhs != row.rhs:  # factor correlations
            k, m = at[row.lhs] - p, at[row.rhs] - p
            Phi[k, m] = Phi[m, k] = value
    sign = np.where(L.sum(axis=0) < 0, -1, 1)
    assert fit.converged
    assert fit.log_likelihood == pytest.approx(sem.logl, abs=SAME_LIKELIHOOD)
    assert fit.n_parameters == sem.model.n_free
    np.testing.assert_allclose(fit.loadings, L * sign, atol=SAME_PARAMETERS)
    np.testing.assert_allclose(
        fit.factor_correlations, Phi * np.outer(sign, sign), atol=SAME_PARAMETERS
    )
    np.testing.assert_allclose(implied(fit)[order], sem.Sigma, atol=SAME_PARAMETERS)


@pytest.mark.parametrize("cross", [(), [(0, 1), (4, 2)]])
def test_exact_correlations_give_back_their_parameters(cross):
    A, L, Phi, R = population(15, 3, cross)
    assert (L < 0).any()
    fit = fit_factors(R, N, A)
    np.testing.assert_allclose(fit.loadings, L, atol=RECOVERED)
    np.testing.assert_allclose(fit.factor_correlations, Phi, atol=RECOVERED)
    np.testing.assert_allclose(fit.uniquenesses, np.diag(R - L @ Phi @ L.T), atol=RECOVERED)


def test_sum_of_loadings_fixes_the_sign():
    A, L, Phi, _ = population()
    L = L * [1, -1, 1]
    R = L @ Phi @ L.T
    np.fill_diagonal(R, 1)
    fit = fit_factors(R, N, A)
    np.testing.assert_allclose(fit.loadings, L * [1, -1, 1], atol=RECOVERED)
    assert (fit.factor_correlations[1, [0, 2]] < 0).all()


def test_no_factors_is_independence():
    R = sampled(np.eye(5))
    fit = fit_factors(R, 80, np.zeros((5, 0), dtype=bool))
    assert fit.log_likelihood == pytest.approx(-40 * 5 * (np.log(2 * np.pi) + 1))
    assert (fit.loadings.shape, fit.factor_correlations.shape) == ((5, 0), (0, 0))
    assert (fit.n_parameters, fit.converged) == (5, True)
    np.testing.assert_allclose(fit.uniquenesses, 1)


def test_items_of_no_factor_are_independent():
    A, _, _, R = population()
    S = sampled(R)
    extended = np.eye(14)
    extended[:12, :12] = S
    extended[12, :12] = extended[:12, 12] = 0.1
    alone = fit_factors(S, N, A)
    fit = fit_factors(extended, N, np.vstack([A, np.zeros((2, 3), dtype=bool)]))
    np.testing.assert_allclose(fit.loadings[:12], alone.loadings, atol=RECOVERED)
    np.testing.assert_array_equal(fit.loadings[12:], 0)
    np.testing.assert_allclose(fit.uniquenesses[12:], 1)
    difference = fit.log_likelihood - alone.log_likelihood
    assert difference == pytest.approx(-N * (np.log(2 * np.pi) + 1), abs=1e-5)
    assert fit.n_parameters == alone.n_parameters + 2


def test_a_heywood_case_stays_at_the_floor():
    """r_12 r_13 / r_23 = 1.6: the first item would need a negative uniqueness."""
    R = np.array([[1, 0.8, 0.8], [0.8, 1, 0.4], [0.8, 0.4, 1]])
    fit = fit_factors(R, N, np.ones((3, 1), dtype=bool))
    assert fit.converged
    assert fit.uniquenesses[0] == pytest.approx(LEAST_UNIQUENESS)
    assert (fit.uniquenesses[1:] > 0.1).all()
    # The likelihood falls from there: no other uniqueness, loadings refitted, does better.
    for other in (0.002, 0.01, 0.1):
        L = np.append(np.sqrt(1 - other), fit.loadings[1:, 0])
        Sigma = np.outer(L, L) + np.diag(np.append(other, 1 - L[1:] ** 2))
        terms = 3 * np.log(2 * np.pi) + np.linalg.slogdet(Sigma)[1]
        assert -N / 2 * (terms + np.trace(np.linalg.solve(Sigma, R))) < fit.log_likelihood


def test_order_of_items_and_factors_does_not_matter():
    A, _, _, R = population(cross=[(0, 1), (4, 2)])
    S = sampled(R)
    items, factors = np.random.default_rng(0).permutation(12), [2, 0, 1]
    fit = fit_factors(S, N, A)
    other = fit_factors(S[np.ix_(items, items)], N, A[np.ix_(items, factors)])
    assert other.log_likelihood == pytest.approx(fit.log_likelihood, abs=SAME_LIKELIHOOD)
    tolerance = {"atol": SAME_PARAMETERS}
    np.testing.assert_allclose(other.loadings, fit.loadings[np.ix_(items, factors)], **tolerance)
    np.testing.assert_allclose(
        other.factor_correlations, fit.factor_correlations[np.ix_(factors, factors)], **tolerance
    )


def test_fewer_rows_than_items():
    A, _, _, R = population(40, 4)
    fit = fit_factors(sampled(R, n=15), 15, A)
    assert fit.converged
    assert np.isfinite(fit.log_likelihood)
    assert (fit.uniquenesses >= LEAST_UNIQUENESS * (1 - 1e-12)).all()


@pytest.mark.parametrize("seed", range(3))
def test_duplicate_factors_do_as_well_as_one(seed):
    """One factor measured as two: the factors merge, and the fit is at least as good."""
    _, _, _, R = population(8, 1, seed=seed)
    S = sampled(R, seed=seed)
    one = fit_factors(S, N, np.ones((8, 1), dtype=bool))
    halves = fit_factors(S, N, np.arange(8)[:, None] % 2 == np.arange(2))
    same = fit_factors(S, N, np.ones((8, 2), dtype=bool))
    assert min(halves.log_likelihood, same.log_likelihood) > one.log_likelihood - 1e-3
    assert abs(halves.factor_correlations[0, 1]) > 0.9
    assert np.linalg.eigvalsh(same.factor_correlations)[0] > -1e-12


@pytest.mark.parametrize("sizes", [(2, 2), (2, 5), (1, 4), (0, 4)])
def test_factors_of_few_items(sizes):
    p = sum(sizes)
    A = np.repeat(np.eye(2, dtype=bool), sizes, axis=0)
    R = np.full((p, p), 0.3) + 0.7 * np.eye(p)
    fit = fit_factors(R, N, A)
    assert fit.converged
    np.testing.assert_allclose(implied(fit), R, atol=RECOVERED if 0 not in sizes else 1e-3)


def test_too_few_steps_are_admitted():
    A, R = random_support(1)
    fit = fit_factors(R, N, A, max_iterations=2)
    assert (fit.converged, fit.n_iterations) == (False, 2)
    assert not fit_factors(R, N, A, 1e-12, 35).converged


# --- factors of one item --------------------------------------------------------------------------


def test_a_single_item_is_free_of_error_by_convention():
    """Only λφ is determined; Σ and the likelihood are what they were."""
    R = sampled(population(p=7, d=2)[3])
    support = np.zeros((7, 3), dtype=bool)
    support[[0, 2, 4], 0] = support[[1, 3, 5], 1] = support[6, 2] = True
    fit = fit_factors(R, N, support)
    assert fit.uniquenesses[6] == pytest.approx(1e-3)
    assert fit.loadings[6, 2] == pytest.approx(np.sqrt(0.999), abs=1e-6)
    assert (fit.uniquenesses[:6] > 0.01).all()
    Phi = fit.factor_correlations
    np.testing.assert_allclose(np.diag(Phi), 1)
    assert np.linalg.eigvalsh(Phi)[0] > 0
    S = implied(fit)
    expected = -N / 2 * (7 * np.log(2 * np.pi) + np.linalg.slogdet(S)[1])
    expected -= N / 2 * np.trace(np.linalg.solve(S, R))
    assert fit.log_likelihood == pytest.approx(expected, abs=1e-6)
    assert abs(S[6, :6]).max() > 0.1  # it is tied to the others


def test_single_items_are_those_without_companions_and_other_factors():
    L = np.array([[0.5, 0, 0], [0.5, 0.5, 0], [0, 0.7, 0.3], [0, 0.7, 0]])
    assert not is_single(L).any()  # factor 3 has one item, which loads on factor 2 as well
    assert is_single(np.eye(3)[:, :2]).tolist() == [True, True, False]
