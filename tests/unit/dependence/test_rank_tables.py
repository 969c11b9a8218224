import warnings

import numpy as np
import pytest
from scipy.stats import ConstantInputWarning, spearmanr

import dtstat as dt
from dtstat.dependence.spearman import spearman_from_tables


def coded(columns):
    """Items in columns, -1 where missing, as the kernel wants them: items in rows."""
    return np.ascontiguousarray(np.asarray(columns, dtype=np.int32).T)


def by_scipy(codes):
    """Every pair on its common rows."""
    p = len(codes)
    R = np.eye(p)
    for i in range(p):
        for j in range(i + 1, p):
            rows = (codes[i] >= 0) & (codes[j] >= 0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstantInputWarning)  # NaN is wanted then
                R[i, j] = R[j, i] = spearmanr(codes[i, rows], codes[j, rows]).statistic
    return R


def ratings(seed, n=200, p=6, levels=5, gaps=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) + rng.normal(size=(n, p))
    codes = np.clip(np.floor(1.2 * X + levels / 2), 0, levels - 1).astype(int)
    codes[rng.random(codes.shape) < gaps] = -1
    return codes


@pytest.mark.parametrize("gaps", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("levels", [2, 5, 11])
def test_equals_scipy_pair_by_pair(levels, gaps):
    codes = coded(ratings(levels, levels=levels, gaps=gaps))
    np.testing.assert_allclose(spearman_from_tables(codes), by_scipy(codes), atol=1e-13)


def test_items_may_have_different_numbers_of_levels():
    parts = [ratings(k, p=2, levels=levels) for k, levels in enumerate((2, 3, 9))]
    codes = coded(np.hstack(parts))
    np.testing.assert_allclose(spearman_from_tables(codes), by_scipy(codes), atol=1e-13)


def test_empty_levels_change_nothing():
    X = ratings(1)
    spread = coded(np.where(X < 0, X, 3 * X + 2))
    assert (spearman_from_tables(spread) == spearman_from_tables(coded(X))).all()


def test_reversing_an_item_changes_its_signs_only():
    X = ratings(2, gaps=0.1)
    turned = X.copy()
    turned[:, 0] = np.where(X[:, 0] < 0, -1, 4 - X[:, 0])
    R, S = spearman_from_tables(coded(X)), spearman_from_tables(coded(turned))
    np.testing.assert_allclose(S[0, 1:], -R[0, 1:], atol=1e-15)
    np.testing.assert_array_equal(S[1:, 1:], R[1:, 1:])


def test_equals_the_other_way_of_dtstat():
    X = ratings(3, gaps=0.2)
    items = np.where(X < 0, np.nan, X)
    expected = dt.dependence(items, "spearman").values
    np.testing.assert_allclose(spearman_from_tables(coded(X)), expected, atol=1e-13)


def test_a_constant_item_is_nan_and_spoils_no_other_pair():
    X = ratings(4, p=4)
    X[:, 1] = 2
    R = spearman_from_tables(coded(X))
    assert np.isnan(R[1, [0, 2, 3]]).all()
    assert R[1, 1] == 1
    rest = [0, 2, 3]
    np.testing.assert_allclose(R[np.ix_(rest, rest)], by_scipy(coded(X[:, rest])), atol=1e-13)


def test_an_item_constant_in_the_common_rows_is_nan():
    X = ratings(5, p=3)
    X[:, 0] = np.where(X[:, 1] == 2, X[:, 0], -1)
    R = spearman_from_tables(coded(X))
    assert np.isnan(R[0, 1])
    assert np.isfinite(R[1, 2])
    assert np.isfinite(R[0, 2])


def test_no_common_rows_are_nan():
    X = ratings(6, p=2)
    X[:100, 0], X[100:, 1] = -1, -1
    assert np.isnan(spearman_from_tables(coded(X))[0, 1])


def test_copies_and_opposites_are_exactly_one():
    x = ratings(7, p=1)[:, 0]
    R = spearman_from_tables(coded(np.column_stack([x, x, 4 - x])))
    assert R[0].tolist() == [1, 1, -1]


def test_threads_and_progress():
    codes, seen = coded(ratings(8)), []
    R = spearman_from_tables(codes, 2, lambda done, total: seen.append((done, total)))
    np.testing.assert_array_equal(R, spearman_from_tables(codes))
    assert seen[-1] == (5, 5)
