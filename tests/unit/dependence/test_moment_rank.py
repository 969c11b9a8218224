"""Pearson, Spearman and ranks, against scipy and one pair at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from dtstat.dependence import pearson as pearson_module
from dtstat.dependence import spearman as spearman_module
from dtstat.dependence.kendall import kendall
from dtstat.dependence.pearson import pearson, rescale_extremes, standardize_items
from dtstat.dependence.spearman import average_ranks, dense_codes, spearman

# Sums of a few hundred products of numbers of size 1, added up in another order.
ROUNDING_TOL = 1e-12

Twin = Callable[[np.ndarray, np.ndarray], float]


def pearson_twin(x: np.ndarray, y: np.ndarray) -> float:
    return stats.pearsonr(x, y).statistic


def spearman_twin(x: np.ndarray, y: np.ndarray) -> float:
    return stats.spearmanr(x, y).statistic


def pair_by_pair(X: np.ndarray, twin: Twin) -> np.ndarray:
    """Each pair alone, on the rows in which both columns are observed."""
    R = np.eye(X.shape[1])
    for i in range(len(R)):
        for j in range(i):
            common = ~np.isnan(X[:, i]) & ~np.isnan(X[:, j])
            R[i, j] = R[j, i] = twin(X[common, i], X[common, j])
    return R


def related(n: int, p: int, seed: int = 0) -> np.ndarray:
    """Columns that share a factor, with loadings of both signs."""
    rng = np.random.default_rng(seed)
    return np.outer(rng.normal(size=n), np.linspace(-1, 1, p)) + rng.normal(size=(n, p))


def likert(n: int, p: int, seed: int = 0) -> np.ndarray:
    return np.clip(np.rint(related(n, p, seed) + 3), 1, 5)


def with_gaps(X: np.ndarray, columns: slice = slice(None), seed: int = 1) -> np.ndarray:
    X = X.copy()
    part = X[:, columns]
    part[np.random.default_rng(seed).random(part.shape) < 0.2] = np.nan
    return X


SAMPLES = {
    "continuous": related(101, 6),
    "ties": likert(80, 5),
    "missing": with_gaps(related(60, 6)),
    "ties and missing": with_gaps(likert(90, 6)),
    "some columns complete": with_gaps(likert(50, 6), slice(2, 4)),
    "one complete column": with_gaps(related(40, 4), slice(1, None)),
    "three rows": related(3, 4),
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize(
    ("measure", "twin"), [(pearson, pearson_twin), (spearman, spearman_twin)], ids=["r", "rho"]
)
def test_equals_scipy_on_common_rows(measure: Callable, twin: Twin, name: str) -> None:
    X = SAMPLES[name]
    np.testing.assert_allclose(measure(X), pair_by_pair(X, twin), rtol=0, atol=ROUNDING_TOL)


def test_spearman_ranks_each_pair_anew() -> None:
    """Ranks of all rows, as one might be tempted to use, give another number."""
    X = with_gaps(related(60, 2))
    common = ~np.isnan(X).any(axis=1)
    ranked_once = stats.rankdata(X, axis=0, nan_policy="omit")[common]
    ours = spearman(X)[0, 1]
    assert ours == pytest.approx(spearman_twin(*X[common].T), abs=ROUNDING_TOL)
    assert abs(ours - pearson_twin(*ranked_once.T)) > 1e-4


@pytest.mark.parametrize("measure", [pearson, spearman, kendall])
def test_constant_in_the_common_rows_gives_nan(measure: Callable) -> None:
    nan = np.nan
    X = np.array([[0.1, 2, 1], [0.1, 5, 2], [0.1, 3, 5], [0.7, nan, 3], [0.3, nan, 4]])
    for turned in (X, X[:, [1, 0, 2]]):  # the first of the pair constant, then the second
        R = measure(turned)
        assert np.isnan(R[[0, 1], [1, 0]]).all()
        assert np.isfinite(R[[0, 1], [2, 2]]).all()


@pytest.mark.parametrize("measure", [pearson, spearman, kendall])
@pytest.mark.parametrize("gaps", [False, True])
def test_constant_column_gives_nan(measure: Callable, gaps: bool) -> None:
    X = related(30, 4)
    X[:, 1] = 0.1  # its mean is not exactly 0.1
    X[0, 3] = np.nan if gaps else X[0, 3]
    R = measure(X)
    assert np.isnan(R[1, [0, 2, 3]]).all()
    assert np.isnan(R[[0, 2, 3], 1]).all()
    assert np.isfinite(R[np.ix_([0, 2, 3], [0, 2, 3])]).all()


@pytest.mark.parametrize("measure", [pearson, spearman, kendall])
@pytest.mark.parametrize("name", SAMPLES)
def test_symmetric_with_ones_and_in_range(measure: Callable, name: str) -> None:
    R = measure(SAMPLES[name])
    assert (R == R.T).all()
    assert (np.diag(R) == 1).all()
    assert (np.abs(R) <= 1).all()


@pytest.mark.parametrize("measure", [pearson, spearman, kendall])
@pytest.mark.parametrize("gap", [False, True])
def test_perfect_dependence_never_exceeds_one(measure: Callable, gap: bool) -> None:
    for n in range(3, 40):
        x = related(n, 1, seed=n)[:, 0]
        X = np.column_stack([x, x, -x])
        X[0, 0] = np.nan if gap and n > 3 else X[0, 0]
        R = measure(X)
        assert (np.abs(R) <= 1).all()
        np.testing.assert_allclose(R[0], [1, 1, -1], rtol=0, atol=ROUNDING_TOL)


@pytest.mark.parametrize("measure", [pearson, spearman, kendall])
@pytest.mark.parametrize("name", ["continuous", "ties", "ties and missing"])
class TestInvariance:
    def test_scale(self, measure: Callable, name: str) -> None:
        X = SAMPLES[name]
        scaled = X * np.logspace(-12, 12, X.shape[1])
        np.testing.assert_allclose(measure(scaled), measure(X), rtol=0, atol=ROUNDING_TOL)

    def test_location(self, measure: Callable, name: str) -> None:
        X = np.round(SAMPLES[name] * 2**10) / 2**10  # so that adding a million is exact
        np.testing.assert_allclose(measure(X + 2**20), measure(X), rtol=0, atol=ROUNDING_TOL)

    def test_row_order(self, measure: Callable, name: str) -> None:
        X = SAMPLES[name]
        shuffled = np.random.default_rng(5).permutation(X)
        np.testing.assert_allclose(measure(shuffled), measure(X), rtol=0, atol=ROUNDING_TOL)

    def test_column_order(self, measure: Callable, name: str) -> None:
        X = SAMPLES[name]
        turned = measure(X[:, ::-1])[::-1, ::-1]
        np.testing.assert_allclose(turned, measure(X), rtol=0, atol=ROUNDING_TOL)

    def test_reversing_an_item_flips_the_sign(self, measure: Callable, name: str) -> None:
        X = SAMPLES[name]
        sign = np.where(np.arange(X.shape[1]) == 1, -1.0, 1.0)
        expected = measure(X) * np.outer(sign, sign)
        np.testing.assert_allclose(measure(X * sign), expected, rtol=0, atol=ROUNDING_TOL)


@pytest.mark.parametrize("measure", [spearman, kendall])
@pytest.mark.parametrize("name", ["continuous", "ties", "ties and missing"])
def test_rank_measures_ignore_monotone_transforms(measure: Callable, name: str) -> None:
    X = SAMPLES[name]
    np.testing.assert_array_equal(measure(np.exp(X)), measure(X))
    np.testing.assert_array_equal(measure(X**3), measure(X))


@pytest.mark.parametrize("n", [1, 2, 3, 10, 101])
def test_average_ranks_equal_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    X = np.column_stack(
        [rng.normal(size=n), rng.integers(0, 3, n), rng.integers(0, n, n), np.zeros(n)]
    )
    np.testing.assert_array_equal(average_ranks(X), stats.rankdata(X, axis=0))


def test_average_ranks_tie_the_two_zeros() -> None:
    ranks = average_ranks(np.array([[0.0], [-0.0], [1.0], [-1.0]]))
    assert ranks.ravel().tolist() == [2.5, 2.5, 4.0, 1.0]


def test_dense_codes_by_example() -> None:
    codes, order = dense_codes(np.array([[2.5, 7.0], [np.nan, 3.0], [-1.0, 7.0], [2.5, 9.0]]))
    assert codes.tolist() == [[1, -1, 0, 1], [1, 0, 1, 2]]
    assert order[0, 0] == 2
    assert order[0, -1] == 1


def test_dense_codes_equal_unique_and_sort_their_column() -> None:
    X = with_gaps(likert(70, 4))
    codes, order = dense_codes(X)
    for x, code, rows in zip(X.T, codes, order, strict=True):
        seen = ~np.isnan(x)
        np.testing.assert_array_equal(code[seen], np.unique(x[seen], return_inverse=True)[1])
        assert (code[~seen] == -1).all()
        np.testing.assert_array_equal(x[rows], np.sort(x))  # missing last
        assert sorted(rows) == list(range(len(x)))


def test_pearson_of_a_pair_whose_item_varies_mostly_elsewhere() -> None:
    """An outlier in a row the other item lacks must not eat the digits of the pair."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    X[:, 1] += X[:, 0]
    expected = np.corrcoef(X[1:].T)[0, 1]
    X[0] = 1e8, np.nan
    np.testing.assert_allclose(pearson(X)[0, 1], expected, rtol=1e-6)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("p", [1, 2, 3, 7, 8])
def test_items_standardized_in_blocks_are_the_same_to_the_last_bit(monkeypatch, p, order):
    X = np.asarray(related(1001, p), order=order)
    whole, seen = standardize_items(X), []
    monkeypatch.setattr(pearson_module, "_NUMBERS", 3 * len(X))
    parts = standardize_items(X, lambda done, total: seen.append((done, total)))
    assert parts.tobytes() == whole.tobytes()
    assert seen == [(k, len(seen)) for k in range(1, len(seen) + 1)]
    assert (len(seen) > 1) == (p > 4)
    np.testing.assert_allclose(whole, stats.zscore(X, axis=0).T, rtol=ROUNDING_TOL, atol=1e-12)


def test_extremes_are_seen_wherever_they_stand(monkeypatch):
    monkeypatch.setattr(pearson_module, "_CACHED", 30)
    for row in (0, 11, 49):
        X = np.ones((50, 4))
        X[:, 3] = np.nan
        assert rescale_extremes(X) is X
        X[row, 1], X[:20, 2] = -1e200, np.nan
        size = np.abs(rescale_extremes(X)).max(axis=0)
        assert size[0] == 1
        assert 0.1 < size[1] < 10
        assert np.abs(rescale_extremes(X[:, 1])).max() == size[1]  # and of a column alone


def test_codes_of_blocks_of_items_are_those_of_all(monkeypatch):
    X = np.random.default_rng(4).integers(0, 9, size=(200, 7)).astype(float)
    X[::5, 2], X[:, 5] = np.nan, np.random.default_rng(5).normal(size=200)
    whole, seen = dense_codes(X), []
    monkeypatch.setattr(spearman_module, "_BLOCK", 2 * len(X))
    parts = dense_codes(X, lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    for one, other in zip(parts, whole, strict=True):
        np.testing.assert_array_equal(one, other)
