"""Influence of rows on correlations: the derivative in the weight of a row, by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from dtstat.dependence.bivariate_normal import cell_probabilities, table_influence
from dtstat.dependence.influence import (
    latent_influence,
    most_rows,
    pair_blocks,
    pair_influences,
)
from dtstat.dependence.kendall import kendall
from dtstat.dependence.measures import BRIDGES
from dtstat.dependence.pearson import pearson
from dtstat.dependence.polychoric import code_item, latent_correlation_matrix
from dtstat.dependence.spearman import spearman

ABOVE = np.triu_indices(4, 1)
COPIES = 40  # of every row, so that one more is a small change of the weights


def correlations(X, measure, kinds):
    R = {
        "pearson": lambda: pearson(X),
        "spearman": lambda: 2 * np.sin(np.pi / 6 * spearman(X)),
        "kendall": lambda: np.sin(np.pi / 2 * kendall(X)),
    }.get(measure, lambda: latent_correlation_matrix(X, kinds))()
    np.fill_diagonal(R, 1.0)
    return R


def draw(n, kind, gaps, seed=1):
    rng = np.random.default_rng(seed)
    X = 0.7 * rng.standard_normal((n, 1)) + 0.7 * rng.standard_normal((n, 4))
    kinds = ["continuous"] * 4
    if kind == "tied":
        X = np.round(X)
    if kind == "ratings":
        X, kinds = np.digitize(X, [-0.8, 0.1, 0.9]).astype(float), ["ordinal"] * 4
    if kind == "mixed":
        X[:, :2] = np.digitize(X[:, :2], [-0.5, 0.6])
        kinds[:2] = ["ordinal", "ordinal"]
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, kinds


def by_brute_force(X, measure, kinds, row):
    """Derivative of the correlations in the share of a row, by one more and one fewer copy."""
    many = np.repeat(X, COPIES, axis=0)
    more = np.vstack([many, X[[row]]])
    fewer = np.delete(many, row * COPIES, axis=0)
    change = correlations(more, measure, kinds) - correlations(fewer, measure, kinds)
    return change * len(many) / 2


CASES = [
    (measure, kind, gaps)
    for measure, kind in [
        ("pearson", "normal"),
        ("spearman", "normal"),
        ("spearman", "tied"),
        ("kendall", "normal"),
        ("kendall", "tied"),
        ("polychoric", "ratings"),
        ("mixed", "mixed"),
    ]
    for gaps in (False, True)
]


@pytest.mark.parametrize(("measure", "kind", "gaps"), CASES)
def test_it_is_the_derivative_in_the_weight_of_a_row(measure, kind, gaps):
    X, kinds = draw(60, kind, gaps)
    R = correlations(X, measure, kinds)
    found = pair_influences(X, kinds, measure, R)
    brute = np.array([by_brute_force(X, measure, kinds, row)[ABOVE] for row in range(len(X))]).T
    size = brute.std()
    # With gaps plug-in margins of all rows stand for those of the common ones; expected
    # information stands for the observed: equal for many rows, nearly so for sixty.
    loose = gaps or measure in ("polychoric", "mixed")
    assert np.sqrt(np.mean((found - brute) ** 2)) < (0.12 if loose else 0.03) * size
    assert np.corrcoef(found.ravel(), brute.ravel())[0, 1] > 0.99


@pytest.mark.parametrize(("measure", "kind", "gaps"), CASES)
def test_it_gives_the_variance_of_the_correlations(measure, kind, gaps):
    draws = [draw(250, kind, gaps, seed) for seed in range(200)]
    R = np.array([correlations(X, measure, kinds)[0, 1:] for X, kinds in draws])
    stated = [
        (pair_influences(X, kinds, measure, correlations(X, measure, kinds))[:3] ** 2).mean(axis=1)
        for X, kinds in draws[:40]
    ]
    ratio = 250 * R.var(axis=0).mean() / np.mean(stated)
    assert 0.8 < ratio < 1.25  # three standard errors of a variance from 200 draws, pooled over 3


@pytest.mark.parametrize(("measure", "kind", "gaps"), CASES)
def test_it_has_mean_zero_for_every_pair(measure, kind, gaps):
    X, kinds = draw(60, kind, gaps)
    pairs = pair_influences(X, kinds, measure, correlations(X, measure, kinds))
    assert pairs.shape == (6, 60)
    assert np.abs(pairs.mean(axis=1)).max() < 1e-12


def test_pairs_stand_in_the_order_of_the_upper_triangle():
    i, j = np.triu_indices(5, 1)
    for item, block in enumerate(pair_blocks(5)):
        assert (i[block] == item).all()
        assert j[block].tolist() == list(range(item + 1, 5))
    assert pair_blocks(0) == []


@pytest.mark.parametrize("gaps", [False, True])
def test_ratings_are_looked_up_in_the_table_of_their_pair(gaps):
    """The compiled passes beside a loop over rows, with the formula of a cell written out."""
    X, kinds = draw(80, "ratings", gaps)
    R = correlations(X, "polychoric", kinds)
    found = pair_influences(X, kinds, "polychoric", R)
    for line, i, j in zip(found, *ABOVE, strict=True):
        (x, h), (y, k) = code_item(X[:, i]), code_item(X[:, j])
        weights = 80 / np.array([((x >= 0) & (y >= 0)).sum(), (x >= 0).sum(), (y >= 0).sum()])
        F = influence_of_cells(R[i, j], h, k, weights)
        assert np.allclose(table_influence(R[i, j], h, k, weights), F, atol=1e-12)
        plain = np.array([F[a + 1, b + 1] for a, b in zip(x, y, strict=True)])
        assert np.allclose(line, plain - plain.mean(), atol=1e-12)


def influence_of_cells(rho, h, k, weights):
    """F_ab of `table_influence`, missing answers first, by its formula."""
    pi, dpi = cell_probabilities(rho, h, k)
    psi = dpi / pi
    F = np.zeros((len(h), len(k)))
    F[1:, 1:] = weights[0] * psi
    F -= weights[1] * moved_thresholds(rho, h, k, psi)[:, None]
    F -= weights[2] * moved_thresholds(rho, k, h, psi.T)
    return F / (dpi * psi).sum()


def moved_thresholds(rho, h, k, psi):
    moved = np.zeros(len(h))
    for c in range(1, len(h) - 1):
        strip = np.diff(ndtr((k - rho * h[c]) / np.sqrt(1 - rho**2)))
        slope = strip @ (psi[c - 1] - psi[c])
        moved[1:] += slope * ((np.arange(1, len(h)) <= c) - ndtr(h[c]))
    return moved


def test_memory_is_bounded():
    assert most_rows(10**6, 25, "spearman") * 25**2 <= 10**7
    assert most_rows(10**6, 25, "kendall") < most_rows(10**6, 25, "spearman")
    X, kinds = draw(500, "normal", False)
    few = latent_influence(X, kinds, "spearman", correlations(X, "spearman", kinds), 1600)
    assert few.pairs.shape == (6, 100)
    again = latent_influence(X, kinds, "spearman", correlations(X, "spearman", kinds), 1600)
    assert np.array_equal(few.pairs, again.pairs)


def test_halves_are_about_their_own_correlations():
    X, kinds = draw(101, "normal", False)
    found = latent_influence(X, kinds, "pearson", pearson(X), by_content=True)
    assert not found.bounded
    assert [half.shape[1] for half in found.halves] == [51, 50]
    alone = pair_influences(X[1::2], kinds, "pearson", pearson(X[1::2]))
    assert np.allclose(found.halves[1], alone)
    assert latent_influence(X, kinds, "spearman", spearman(X)).halves == ()


def test_a_half_without_variation_leaves_the_halves_out():
    X, kinds = draw(60, "ratings", False)
    X[:, 0] = 0.0
    X[::2, 0] = np.resize([0.0, 1.0], 30)
    R = np.nan_to_num(latent_correlation_matrix(X, kinds))
    assert latent_influence(X, kinds, "polychoric", R, by_content=True).halves == ()


@pytest.mark.parametrize("measure", sorted(BRIDGES))
def test_every_measure_with_a_bridge_has_its_influence(measure):
    values = np.round(np.random.default_rng(0).normal(size=(40, 3)))
    kinds = ["binary" if measure == "tetrachoric" else "ordinal"] * 3
    X = (values > 0).astype(float) if measure == "tetrachoric" else values
    found = pair_influences(X, kinds, measure, np.eye(3))
    assert found.shape == (3, 40)
    np.testing.assert_allclose(found.mean(axis=1), 0, atol=1e-12)


def test_a_table_that_tells_nothing_has_no_influence():
    """Near 1, with thresholds far apart, all cells are certain or impossible."""
    low, high = (np.array([-np.inf, cut, np.inf]) for cut in (-1.5, 1.5))
    assert not table_influence(0.999, low, high, np.ones(3)).any()
