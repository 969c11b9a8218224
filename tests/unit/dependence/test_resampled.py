import warnings

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.data.items import as_items
from dtstat.dependence.compute import RowDependence, dependence_matrix


def answers(seed, n=120, p=5, levels=5, gaps=0.0):
    """Ratings, or any numbers without ``levels``."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) + rng.normal(size=(n, p))
    if levels:
        X = np.clip(np.floor(1.2 * X + levels / 2), 0, levels - 1)
    X[rng.random(X.shape) < gaps] = np.nan
    return as_items(pd.DataFrame(X, columns=list("abcdefgh")[:p]))


def bootstrap(n, seed=0, size=None):
    return np.random.default_rng(seed).integers(n, size=size or n)


def expected(items, rows, measure, missing="pairwise"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dt.DataWarning)
        return dependence_matrix(items.take(rows), measure, missing)


def assert_same(a, b):
    np.testing.assert_allclose(a.values, b.values, atol=1e-12)
    assert (a.names, a.measure, a.n_obs) == (b.names, b.measure, b.n_obs)
    if b.pairwise_n is None:
        assert a.pairwise_n is None
    else:
        np.testing.assert_array_equal(a.pairwise_n, b.pairwise_n)


@pytest.mark.parametrize("measure", ["spearman", "kendall", "pearson", "distance"])
@pytest.mark.parametrize("levels", [2, 5, 0])
@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_same_as_the_matrix_of_the_rows(measure, levels, gaps):
    items = answers(1, levels=levels, gaps=gaps)
    dependence = RowDependence(items, measure)
    for seed in range(3):
        rows = bootstrap(items.n_rows, seed)
        assert len(set(rows)) < len(rows)
        assert_same(dependence(rows), expected(items, rows, measure))


@pytest.mark.parametrize("measure", ["spearman", "kendall", "pearson", "distance"])
def test_listwise_draws_from_complete_rows(measure):
    items = answers(2, gaps=0.1)
    complete = items.complete_rows()
    dependence = RowDependence(items, measure, "listwise")
    assert dependence.n_rows == complete.n_rows == int((~np.isnan(items.values)).all(1).sum())
    rows = bootstrap(complete.n_rows, 3)
    assert_same(dependence(rows), expected(complete, rows, measure, "listwise"))


@pytest.mark.parametrize("measure", ["spearman", "kendall"])
def test_all_rows_give_the_matrix_of_all(measure):
    items = answers(3, gaps=0.1)
    found = RowDependence(items, measure)(np.arange(items.n_rows))
    np.testing.assert_allclose(found.values, dt.dependence(items, measure).values, atol=1e-13)


@pytest.mark.parametrize("measure", ["spearman", "kendall"])
def test_few_rows_of_items_with_many_levels(measure):
    """Tables suit all rows, but not so few of them."""
    items = answers(4, n=200, levels=21)
    rows = bootstrap(items.n_rows, 1, size=15)
    assert_same(RowDependence(items, measure)(rows), expected(items, rows, measure))


@pytest.mark.parametrize("measure", ["spearman", "kendall"])
def test_one_row_many_times(measure):
    items = answers(5)
    rows = np.concatenate([np.zeros(50, dtype=int), np.arange(60)])
    assert_same(RowDependence(items, measure)(rows), expected(items, rows, measure))


@pytest.mark.parametrize("measure", ["spearman", "kendall"])
def test_the_order_of_the_rows_does_not_matter(measure):
    items = answers(6, gaps=0.1)
    dependence, rows = RowDependence(items, measure), bootstrap(items.n_rows)
    np.testing.assert_array_equal(dependence(rows).values, dependence(np.sort(rows)).values)


def first_moment(x, y):
    return float(np.corrcoef(x, y)[0, 1])


def test_functions():
    items, rows = answers(7, gaps=0.1), bootstrap(120, 2)
    found = RowDependence(items, first_moment)(rows)
    X = items.values[rows]
    seen = ~np.isnan(X[:, 0] + X[:, 3])
    assert found.measure == "first_moment"
    assert found.values[0, 3] == pytest.approx(np.corrcoef(X[seen, 0], X[seen, 3])[0, 1])


@pytest.mark.parametrize("measure", ["spearman", "kendall", "pearson", "distance"])
def test_an_item_that_does_not_vary_is_refused(measure):
    items = answers(8)
    rows = np.flatnonzero(items.values[:, 2] == 2)
    with pytest.raises(dt.InputError):
        RowDependence(items, measure)(rows)


@pytest.mark.parametrize("measure", ["spearman", "kendall", "pearson"])
def test_too_few_common_rows_are_refused_as_by_fit(measure):
    """Two rows make every correlation ±1; the matrix of the rows is refused for it."""
    values = answers(9, n=40, p=3, levels=3).values.copy()
    values[:, 0] = np.nan
    values[:6, 0] = [0, 1, 2, 0, 1, 2]
    values[:6, 1] = [0, 2, 1, 0, 1, 2]
    values[:6, 2] = [0, 2, 0, 1, 1, 2]
    items = as_items(values)
    rows = np.r_[0, 1, np.arange(6, 40)]
    with pytest.raises(dt.InputError):
        expected(items, rows, measure)
    with pytest.raises(dt.InputError):
        RowDependence(items, measure)(rows)


@pytest.mark.parametrize("measure", ["spearman", "kendall", "pearson"])
def test_two_rows_are_refused_as_by_fit(measure):
    values = answers(9, n=40, p=3, levels=2).values.copy()
    values[:2] = [[0, 0, 1], [1, 1, 0]]
    items, rows = as_items(values), np.array([0, 1])
    with pytest.raises(dt.InputError):
        expected(items, rows, measure)
    with pytest.raises(dt.InputError):
        RowDependence(items, measure)(rows)


def test_warnings_are_not_repeated():
    """Copies of an item are pointed out once, by dependence(), not in every resample."""
    values = answers(10).values
    items = as_items(np.column_stack([values, values[:, 0]]))
    for measure in ("spearman", "pearson"):
        found = RowDependence(items, measure)(bootstrap(items.n_rows))
        assert found.values[0, -1] == pytest.approx(1)
