"""Second loadings by answers: the gains of the whole matrix, and what is asked along the edges."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from dtstat.factors.copula import fit_factors
from dtstat.factors.crossed import CrossedModel
from dtstat.search.crossings import _barcode_of_rest, _candidates, _Score, refine_many
from dtstat.search.records import Rules
from dtstat.search.refine import expected_gains
from dtstat.structure.barcode import barcode
from dtstat.structure.composites import Neighbors

RULES = Rules("ebic", 2, attach=True, approximate=True)


def answers(n, seed, second=0.0):
    """Draw 24 items of four factors; one in five may have a second one."""
    rng = np.random.default_rng(seed)
    L = np.zeros((24, 4))
    L[np.arange(24), np.arange(24) % 4] = rng.uniform(0.6, 0.8, 24)
    L[np.arange(0, 24, 5), (np.arange(0, 24, 5) + 1) % 4] = second
    Phi = np.full((4, 4), 0.2) + 0.8 * np.eye(4)
    Z = L @ rng.multivariate_normal(
        np.zeros(4), Phi, n, method="cholesky"
    ).T + 0.6 * rng.standard_normal((24, n))
    Z -= Z.mean(axis=1, keepdims=True)
    return Z / Z.std(axis=1, keepdims=True), L


def all_pairs(p):
    """The graph in which every item is the neighbor of every other."""
    items = np.array([[j for j in range(p) if j != i] for i in range(p)], dtype=np.int32)
    return Neighbors(np.arange(0, p * (p - 1) + 1, p - 1), items.ravel())


def maximum(Z, support):
    n = Z.shape[1]
    found = fit_factors(Z @ Z.T / n, n, support, tolerance=1e-10)
    Phi, psi = found.factor_correlations, found.uniquenesses
    return found, CrossedModel(csr_array(found.loadings), psi, Phi, 0.0)


@pytest.mark.parametrize("crossed", [False, True])
def test_gains_are_those_of_the_whole_matrix(crossed):
    """At the maximum, where the parents of an item have no gradient."""
    Z, L = answers(300, 1, 0.4)
    support = L != 0 if crossed else np.arange(24)[:, None] % 4 == np.arange(4)
    estimate, model = maximum(Z, support)
    wanted = expected_gains(Z @ Z.T / 300, estimate, support)
    items, factors = np.nonzero(~support)
    gains = _Score(Z, model).expected_gains(items, factors)
    np.testing.assert_allclose(gains, wanted[items, factors], rtol=1e-4, atol=1e-9)


def test_gains_away_from_the_maximum_foresee_the_refit():
    """Loadings of the item's own factors move along, so that their gradient counts."""
    Z, L = answers(5000, 2)
    _, model = maximum(Z, L != 0)
    off = CrossedModel(model.loadings * 0.97, model.uniquenesses, model.factor_correlations, 0.0)
    items, factors = np.nonzero(L == 0)
    near, far = (_Score(Z, one).expected_gains(items, factors) for one in (model, off))
    assert 5000 * near.max() < 15
    assert 5000 * far.max() < 25


def test_items_are_asked_about_the_factors_of_their_neighbors():
    loadings = csr_array(np.array([[0.7, 0], [0.7, 0], [0, 0.7], [0, 0.7], [0, 0.0]]))
    model = CrossedModel(loadings, np.full(5, 0.5), np.eye(2), 0.0)
    graph = Neighbors(np.array([0, 2, 3, 5, 6, 6]), np.array([1, 2, 0, 0, 3, 2], dtype=np.int32))
    known = csr_array(model.support)

    def asked(neighbors, known=known):
        return [
            (int(i), int(k))
            for items, factors in _candidates(model, neighbors, known)
            for i, k in zip(items, factors, strict=True)
        ]

    assert asked(graph) == [(0, 1), (2, 0)]
    assert asked(None) == [(0, 1), (1, 1), (2, 0), (3, 0)]  # an item of no factor is not asked
    known = csr_array(model.support | (np.arange(10).reshape(5, 2) == 1))
    assert asked(None, known) == [(1, 1), (2, 0), (3, 0)]


@pytest.mark.parametrize("graph", [all_pairs(24), None])
def test_what_pays_is_found_and_nothing_else(graph):
    Z, L = answers(1500, 3, 0.4)
    _, simple = maximum(Z, np.arange(24)[:, None] % 4 == np.arange(4))
    found = refine_many(Z, simple, graph, RULES, 1500.0)
    np.testing.assert_array_equal(found.support, L != 0)
    Z, L = answers(1500, 4)
    _, simple = maximum(Z, L != 0)
    found = refine_many(Z, simple, graph, RULES, 1500.0)
    np.testing.assert_array_equal(found.support, L != 0)


def test_what_is_left_of_all_pairs():
    Z, L = answers(200, 5, 0.5)
    estimate, model = maximum(Z, np.arange(24)[:, None] % 4 == np.arange(4))
    names = tuple(f"x{k}" for k in range(24))
    bars = _barcode_of_rest(Z, model, all_pairs(24), names, RULES, None)
    L, Phi = estimate.loadings, estimate.factor_correlations
    rest = Z @ Z.T / 200 - L @ Phi @ L.T
    sd = np.sqrt(np.maximum(1 - ((L @ Phi) * L).sum(axis=1), 0.05))
    whole = barcode(np.clip(rest / np.outer(sd, sd), -1, 1), names, 2)
    wanted = {(bar.items, round(bar.death, 9)) for bar in whole if bar.death > bars.floor}
    assert {(bar.items, round(bar.death, 9)) for bar in bars} == wanted
    assert wanted
