"""Sampling adequacy and sphericity: plain twins, closed forms, messages."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from dtstat.core.errors import InputError
from dtstat.efa.adequacy import BartlettTest, sampling_adequacy, sphericity_test


def correlations(n: int = 200, p: int = 6, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) + rng.normal(size=(n, p))
    return np.corrcoef(X, rowvar=False)


def equal_correlations(p: int, r: float) -> np.ndarray:
    return np.full((p, p), r) + (1 - r) * np.eye(p)


def test_kmo_equals_its_definition_by_residuals() -> None:
    """Partial correlations as correlations of what the other items leave unexplained."""
    R = correlations()
    p = len(R)
    partial = np.zeros((p, p))
    for i in range(p):
        for j in range(p):
            if i != j:
                pair, rest = [i, j], [k for k in range(p) if k not in (i, j)]
                weights = np.linalg.solve(R[np.ix_(rest, rest)], R[np.ix_(rest, pair)])
                left = R[np.ix_(pair, pair)] - R[np.ix_(pair, rest)] @ weights
                partial[i, j] = left[0, 1] / np.sqrt(left[0, 0] * left[1, 1])
    off = R - np.eye(p)
    found = sampling_adequacy(R)
    assert found.overall == pytest.approx((off**2).sum() / ((off**2).sum() + (partial**2).sum()))
    shares = (off**2).sum(axis=1) / (off**2 + partial**2).sum(axis=1)
    np.testing.assert_allclose(found.per_item, shares, rtol=1e-10)


def test_two_items_have_kmo_one_half() -> None:
    found = sampling_adequacy(equal_correlations(2, 0.6))
    assert found.overall == pytest.approx(0.5)
    np.testing.assert_allclose(found.per_item, 0.5)


def test_kmo_follows_items_and_ignores_their_signs() -> None:
    R, order = correlations(), np.array([3, 1, 5, 0, 2, 4])
    sign = np.array([1, -1, 1, 1, -1, 1])
    found = sampling_adequacy(R)
    moved = sampling_adequacy((R * np.outer(sign, sign))[np.ix_(order, order)])
    assert moved.overall == pytest.approx(found.overall)
    np.testing.assert_allclose(moved.per_item, found.per_item[order], rtol=1e-10)


def test_kmo_without_correlations_is_missing() -> None:
    none = sampling_adequacy(np.eye(3))
    assert np.isnan(none.overall)
    assert np.isnan(none.per_item).all()
    assert "all correlations are 0" in repr(none)
    R = np.eye(3)
    R[0, 1] = R[1, 0] = 0.5
    found = sampling_adequacy(R)
    assert found.overall == pytest.approx(0.5)
    assert np.isnan(found.per_item).tolist() == [False, False, True]


def test_matrix_given_is_not_changed() -> None:
    R = correlations()
    before = R.copy()
    sampling_adequacy(R)
    sphericity_test(R, 200)
    np.testing.assert_array_equal(R, before)


def test_bartlett_closed_form() -> None:
    test = sphericity_test(equal_correlations(2, 0.3), 52)
    assert test.chisq == pytest.approx(-(52 - 1 - 9 / 6) * np.log(1 - 0.3**2))
    assert test.df == 1
    assert 0.02 < test.pvalue < 0.05


def test_bartlett_without_correlations() -> None:
    assert sphericity_test(np.eye(4), 50) == BartlettTest(0.0, 6, 1.0)


def test_bartlett_rejects_at_its_level() -> None:
    """Share of rejections among samples of independent items."""
    rng, level, repeats = np.random.default_rng(1), 0.1, 1000
    rejected = [
        sphericity_test(np.corrcoef(rng.normal(size=(60, 5)), rowvar=False), 60).pvalue < level
        for _ in range(repeats)
    ]
    monte_carlo = np.sqrt(level * (1 - level) / repeats)
    assert abs(np.mean(rejected) - level) < 4 * monte_carlo


def repeated() -> np.ndarray:
    """Item 3 is the sum of items 0 and 1; item 2 stands apart."""
    X = np.random.default_rng(2).normal(size=(50, 3))
    return np.corrcoef(np.column_stack([X, X[:, 0] + X[:, 1]]), rowvar=False)


@pytest.mark.parametrize("compute", [sampling_adequacy, lambda R, **k: sphericity_test(R, 50, **k)])
def test_singular_matrix_names_the_items_and_what_to_do(compute) -> None:
    with pytest.raises(InputError, match=r"singular .*counted from 0\) 0, 1, 3\. Leave out one"):
        compute(repeated())
    with pytest.raises(InputError, match=r"of the items 'a', 'b', 'd'\. Leave out"):
        compute(repeated(), names=["a", "b", "c", "d"])


def test_fewer_rows_than_items_is_singular() -> None:
    R = np.corrcoef(np.random.default_rng(3).normal(size=(5, 8)), rowvar=False)
    with pytest.raises(InputError, match="fewer rows than items, use fewer items"):
        sampling_adequacy(R)


def test_indefinite_matrix_is_refused() -> None:
    R = equal_correlations(3, 0.9)
    R[0, 2] = R[2, 0] = -0.9
    with pytest.raises(InputError, match=r"not positive definite .* computed pairwise"):
        sampling_adequacy(R)


@pytest.mark.parametrize(
    ("R", "got"),
    [
        (np.ones(3), r"shape \(3,\)"),
        (np.ones((2, 3)), r"shape \(2, 3\)"),
        (np.eye(1), r"shape \(1, 1\)"),
        (np.array([[1, np.nan], [np.nan, 1]]), "missing or infinite"),
        (np.array([[2.0, 0.5], [0.5, 1.0]]), "a diagonal other than 1"),
        (np.array([[1.0, 0.5], [0.3, 1.0]]), "one that is not symmetric"),
    ],
)
def test_what_is_no_correlation_matrix_is_refused(R, got: str) -> None:
    with pytest.raises(InputError, match=f"`R` must be a correlation matrix .* got {got}"):
        sampling_adequacy(R)


@pytest.mark.parametrize("n_obs", [1, 10.5, "many", True])
def test_number_of_rows_is_checked(n_obs) -> None:
    with pytest.raises(InputError, match="`n_obs` must be a whole number of at least 2"):
        sphericity_test(correlations(), n_obs)


def test_too_few_rows_are_refused() -> None:
    assert sphericity_test(np.eye(6), 4).df == 15
    with pytest.raises(InputError, match=r"`n_obs` must be more than 3\.8 for 6 items; got 3"):
        sphericity_test(np.eye(6), 3)


def test_import_does_not_load_scipy_stats() -> None:
    code = "import sys, dtstat.efa.adequacy; assert 'scipy.stats' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
