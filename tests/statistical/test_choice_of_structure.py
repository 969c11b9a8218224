"""One structure is chosen from the path: the true one, also where the model is an approximation."""

import numpy as np
import pytest

import dtstat as dt
from dtstat.factors.copula import latent_correlations
from dtstat.search.evaluate import Evaluator
from dtstat.search.levels import search_tree
from dtstat.search.records import Rules
from dtstat.structure.barcode import barcode

DEFAULT = Rules("ebic", min_children=3, attach=True, approximate=True)
ALL_ROWS = Rules("ebic", min_children=3, attach=True, approximate=False)
D = 5
SEEDS = range(8)


def chosen(data, rules=DEFAULT):
    """Structure chosen, and what the rows counted as."""
    matrix = dt.dependence(data)
    evaluator = Evaluator(latent_correlations(matrix).R, len(data))
    outcome = search_tree(evaluator, barcode(matrix.values, matrix.names, 3), rules)
    return dt.Structure(outcome.best.proposal.support, matrix.names), outcome.n_effective


@pytest.mark.parametrize("design", ["v_structure", "chain", "double_mediation"])
def test_first_simulation_with_few_rows(design):
    """The paper has 5000 rows; 300 suffice in each of ten samples.

    Ten of ten are seen with a probability of less than 1 % if the true rate is below .63.
    """
    for seed in range(10):
        simulation = dt.simulate(design, n=300, seed=seed)
        assert chosen(simulation.data)[0] == simulation.structure, seed


def test_correlated_factors():
    """Four factors that all correlate at .75, linear items, in each of five samples."""
    for seed in range(5):
        simulation = dt.simulate(
            *("clusters", 500), n_factors=4, factor_correlation=0.75, maps="linear", seed=seed
        )
        assert chosen(simulation.data)[0] == simulation.structure, seed


@pytest.mark.parametrize("n", [300, 2000])
def test_independent_items_have_no_factor(n):
    for seed in range(10):
        rows = np.random.default_rng(seed).standard_normal((n, 15))
        assert chosen(rows)[0].n_factors == 0, seed


# A model that is not exactly true


def misspecified(seed):
    """Truth, and correlations of five factors with 5 to 8 items each and flaws that are not in it.

    Three items of ten have a second loading of ±.1 to .2, and half of all items are in pairs
    whose errors correlate at .1.
    """
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(D), rng.integers(5, 9, D))
    p = len(own)
    A = own[:, None] == np.arange(D)
    L = A * rng.uniform(0.5, 0.8, (p, 1))
    for i in rng.permutation(p)[: round(0.3 * p)]:
        second = (own[i] + rng.integers(1, D)) % D
        L[i, second] = rng.uniform(0.1, 0.2) * rng.choice([-1, 1])
    Phi = np.full((D, D), 0.3) + 0.7 * np.eye(D)
    common = L @ Phi @ L.T
    psi = 1 - common.diagonal()
    errors = np.diag(psi)
    for i, j in rng.permutation(p)[: p // 4 * 2].reshape(-1, 2):
        errors[i, j] = errors[j, i] = 0.1 * np.sqrt(psi[i] * psi[j])
    return dt.Structure(A), common + errors


def outcomes(n, rules):
    """(F1, number of factors, what the rows counted as) of each sample."""
    found = []
    for seed in SEEDS:
        truth, Sigma = misspecified(seed)
        rng = np.random.default_rng(1000 + seed)
        rows = rng.standard_normal((n, len(Sigma))) @ np.linalg.cholesky(Sigma).T
        structure, n_effective = chosen(rows, rules)
        found.append((dt.compare(structure, truth).f1, structure.n_factors, n_effective))
    return np.array(found)


def test_small_flaws_of_the_model_do_not_make_factors():
    """At any n the truth is found, give or take a factor in one of eight samples.

    The mean F1 of eight samples, each 1 or about .9, has a standard error of about .015.
    """
    results = {n: outcomes(n, DEFAULT) for n in (300, 1000, 5000)}
    for n, found in results.items():
        assert found[:, 0].mean() >= 0.95, n
        assert abs(found[:, 1].mean() - D) <= 0.25, n
    # What rows count as: with v of flaws, no more than 1/v however many there are.
    counts = [found[:, 2].mean() for found in results.values()]
    assert counts[0] <= 300
    assert counts == sorted(counts)
    assert counts[2] < 0.4 * 5000


def test_with_all_rows_counted_they_do():
    """What the test above would show if misfit did not limit what rows count as."""
    found = outcomes(5000, ALL_ROWS)
    assert found[:, 1].mean() > D + 1
    assert found[:, 0].mean() < 0.9
    assert (found[:, 2] == 5000).all()
