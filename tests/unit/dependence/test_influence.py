"""Influence of rows on correlations: the derivative in the weight of a row, by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from dtstat.dependence.influence import latent_influence, most_rows, row_influences
from dtstat.dependence.kendall import kendall
from dtstat.dependence.pearson import pearson
from dtstat.dependence.polychoric import latent_correlation_matrix
from dtstat.dependence.spearman import spearman

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
    found = row_influences(X, kinds, measure, R)
    brute = np.array([by_brute_force(X, measure, kinds, row) for row in range(len(X))])
    off = ~np.eye(4, dtype=bool)
    size = brute[:, off].std()
    # With gaps plug-in margins of all rows stand for those of the common ones; expected
    # information stands for the observed: equal for many rows, nearly so for sixty.
    loose = gaps or measure in ("polychoric", "mixed")
    apart = np.abs(found - brute)[:, off]
    assert np.sqrt(np.mean(apart**2)) < (0.12 if loose else 0.03) * size
    assert np.corrcoef(found[:, off].ravel(), brute[:, off].ravel())[0, 1] > 0.99


@pytest.mark.parametrize(("measure", "kind", "gaps"), CASES)
def test_it_gives_the_variance_of_the_correlations(measure, kind, gaps):
    draws = [draw(250, kind, gaps, seed) for seed in range(200)]
    R = np.array([correlations(X, measure, kinds)[0, 1:] for X, kinds in draws])
    stated = [
        (row_influences(X, kinds, measure, correlations(X, measure, kinds))[:, 0, 1:] ** 2).mean(0)
        for X, kinds in draws[:40]
    ]
    ratio = 250 * R.var(axis=0).mean() / np.mean(stated)
    assert 0.8 < ratio < 1.25  # three standard errors of a variance from 200 draws, pooled over 3


@pytest.mark.parametrize(("measure", "kind", "gaps"), CASES)
def test_it_is_symmetric_and_has_mean_zero(measure, kind, gaps):
    X, kinds = draw(60, kind, gaps)
    rows = row_influences(X, kinds, measure, correlations(X, measure, kinds))
    assert np.allclose(rows, rows.transpose(0, 2, 1))
    assert np.abs(rows.mean(axis=0)).max() < 1e-12
    assert not np.einsum("rii->ri", rows).any()


def test_memory_is_bounded():
    assert most_rows(10**6, 25, "spearman") * 25**2 <= 10**7
    assert most_rows(10**6, 25, "kendall") < most_rows(10**6, 25, "spearman")
    X, kinds = draw(500, "normal", False)
    few = latent_influence(X, kinds, "spearman", correlations(X, "spearman", kinds), 1600)
    assert len(few.rows) == 100
    again = latent_influence(X, kinds, "spearman", correlations(X, "spearman", kinds), 1600)
    assert np.array_equal(few.rows, again.rows)


def test_halves_are_about_their_own_correlations():
    X, kinds = draw(101, "normal", False)
    found = latent_influence(X, kinds, "pearson", pearson(X))
    assert not found.bounded
    assert [len(half) for half in found.halves] == [51, 50]
    assert np.allclose(found.halves[1], row_influences(X[1::2], kinds, "pearson", pearson(X[1::2])))
    assert latent_influence(X, kinds, "spearman", spearman(X)).halves == ()


def test_a_half_without_variation_leaves_the_halves_out():
    X, kinds = draw(60, "ratings", False)
    X[:, 0] = 0.0
    X[::2, 0] = np.resize([0.0, 1.0], 30)
    R = np.nan_to_num(latent_correlation_matrix(X, kinds))
    assert latent_influence(X, kinds, "polychoric", R).halves == ()
