"""Counts of pairs against counting by hand, and correlations from them against the usual ways."""

import numpy as np
import pytest

import dtstat as dt
from dtstat.data import pair_tables
from dtstat.data.items import as_items
from dtstat.data.pair_tables import count_pairs, suits_pair_tables
from dtstat.dependence.compute import dependence_matrix
from dtstat.dependence.maximal import exceeding_pairs
from dtstat.dependence.polychoric import latent_correlation_matrix
from dtstat.fit.api import fit


def ratings(n, seed=0, gaps=0.0):
    """Items of 5, 5, 2, 4, 7, 5 answers that share a factor, coded in odd steps."""
    rng = np.random.default_rng(seed)
    Z = 0.6 * rng.normal(size=(n, 1)) + 0.8 * rng.normal(size=(n, 6))
    cuts = [np.linspace(-1.5, 1.2, k - 1) for k in (5, 5, 2, 4, 7, 5)]
    X = np.column_stack([np.searchsorted(c, z) for c, z in zip(cuts, Z.T, strict=True)]) * 2.0 - 3
    X[rng.random(X.shape) < gaps] = np.nan
    return X


@pytest.mark.parametrize("n", [10, 64, 65, 1000])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_counts_equal_counting(n, gaps, monkeypatch):
    monkeypatch.setattr(pair_tables, "_BLOCK", 192)  # several blocks, the last one short
    X = ratings(n, n, gaps)
    levels = [np.unique(x[~np.isnan(x)]) for x in X.T]
    found = count_pairs(X, levels)
    for k, (i, j) in enumerate(zip(*np.triu_indices(6, 1), strict=True)):
        table = [[((X[:, i] == a) & (X[:, j] == b)).sum() for b in levels[j]] for a in levels[i]]
        assert np.array_equal(found.cells[k, : len(levels[i]), : len(levels[j])], table)
        assert found.cells[k].sum() == np.sum(table)
    for (values, counts), x, own in zip(found.margins(), X.T, levels, strict=True):
        assert np.array_equal(values, own)
        assert counts.tolist() == [(x == a).sum() for a in own]
    assert found.n_complete == (~np.isnan(X)).all(axis=1).sum()
    assert np.array_equal(found.of_item(4), found.cells[-1:])


def test_tables_are_for_many_rows_of_ratings():
    many = pair_tables.FEWEST_ROWS
    five = (1.0, 2.0, 3.0, 4.0, 5.0)
    assert suits_pair_tables(many, [five] * 30)
    assert not suits_pair_tables(many - 1, [five] * 30)
    assert not suits_pair_tables(many, [five, None])
    assert not suits_pair_tables(many, [five, ()])
    assert not suits_pair_tables(many, [tuple(range(40)), five])
    assert not suits_pair_tables(many, [five] * 2000)


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_what_is_read_off_counts_is_what_rows_give(gaps, monkeypatch):
    X = ratings(900, 3, gaps)
    X[:, 5] = np.abs(X[:, 0] - 1) // 2  # rises and falls with the first
    measures = ("spearman", "kendall", "polychoric", "mixed")
    plain = {name: dependence_matrix(as_items(X), name) for name in measures}
    pairs = exceeding_pairs(X)
    latent = latent_correlation_matrix(X, ["ordinal"] * 6)
    monkeypatch.setattr(pair_tables, "FEWEST_ROWS", 1)
    items = as_items(X)
    tables = items.pair_tables()
    assert tables is not None
    assert items.pair_tables() is tables  # counted once
    for name in measures:
        found = dependence_matrix(items, name)
        np.testing.assert_allclose(found.values, plain[name].values, atol=1e-12)
        assert np.array_equal(found.pairwise_n, plain[name].pairwise_n)
    found = exceeding_pairs(X, tables=tables)
    assert [(q.first, q.second) for q in found] == [(q.first, q.second) for q in pairs]
    assert pairs
    np.testing.assert_allclose(
        [q.any_correlation for q in found], [q.any_correlation for q in pairs], atol=1e-12
    )
    by_counts = latent_correlation_matrix(X, ["ordinal"] * 6, tables=tables)
    np.testing.assert_allclose(by_counts, latent, atol=1e-12)


def test_a_fit_from_counts_is_the_fit(monkeypatch):
    data = dt.load_dataset("likert_survey")
    plain = fit(data)
    monkeypatch.setattr(pair_tables, "FEWEST_ROWS", 1)
    found = fit(data)
    assert found.structure == plain.structure
    np.testing.assert_allclose(found.loadings, plain.loadings, atol=1e-6)
    assert found.sample == plain.sample


def test_progress_is_told_and_work_can_be_stopped(monkeypatch):
    monkeypatch.setattr(pair_tables, "_BLOCK", 100)
    X, told = ratings(1000), []
    levels = [np.unique(x) for x in X.T]
    count_pairs(X, levels, lambda done, total: told.append((done, total)))
    assert told == [(k, 10) for k in range(1, 11)]

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count_pairs(X, levels, stop)
