"""Maximal correlation and Chatterjee's xi, against plain twins and brute force."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import linalg, stats

from dtstat.dependence import maximal as maximal_module
from dtstat.dependence.maximal import maximal_correlation
from dtstat.dependence.xi import xi_correlation

# Two orthonormal bases of the same polynomials, one of them from ill-conditioned powers.
BASIS_TOL = 1e-9
# Sums of the same numbers in another order.
ROUNDING_TOL = 1e-12


def polynomials(x: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the centred powers of the normal scores."""
    n = len(x)
    order = 4 if n >= 500 else 3 if n >= 200 else 2
    z = stats.norm.ppf((stats.rankdata(x) - 0.5) / n)
    powers = z[:, None] ** np.arange(1, order + 1)
    powers -= powers.mean(axis=0)
    return linalg.orth(powers / np.linalg.norm(powers, axis=0), rcond=1e-10)


def maximal_twin(x: np.ndarray, y: np.ndarray) -> float:
    return np.linalg.norm(polynomials(x).T @ polynomials(y), 2)


def maximal_of_table(x: np.ndarray, y: np.ndarray) -> float:
    """Largest correlation of any functions of two items with few levels (Hirschfeld 1935)."""
    P = stats.contingency.crosstab(x, y).count / len(x)
    r, c = P.sum(axis=1), P.sum(axis=0)
    return np.linalg.norm((P - np.outer(r, c)) / np.sqrt(np.outer(r, c)), 2)


def rated(n: int, levels: list[int], seed: int = 0) -> np.ndarray:
    """Items with given numbers of levels that share a factor, the odd ones through its size."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=n)
    columns = []
    for k, count in enumerate(levels):
        latent = (np.abs(factor) if k % 2 else factor) + rng.normal(size=n)
        columns.append(stats.rankdata(latent) * count // (n + 1))
    return np.column_stack(columns)


@pytest.mark.parametrize("n", [20, 199, 200, 499, 500, 777])
def test_maximal_equals_canonical_correlation(n: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    X = np.column_stack(
        [x, x**2 + rng.normal(size=n), np.exp(x), rng.integers(0, 7, n), rng.normal(size=n)]
    )
    ours = maximal_correlation(X)
    for i in range(5):
        for j in range(i):
            assert ours[i, j] == pytest.approx(maximal_twin(X[:, i], X[:, j]), abs=BASIS_TOL)


@pytest.mark.parametrize("n", [150, 300, 600])
def test_maximal_of_few_levels_is_the_largest_of_all_functions(n: int) -> None:
    X = rated(n, [2, 3, 3, 2, 3])
    ours = maximal_correlation(X)
    for i in range(5):
        for j in range(i):
            assert ours[i, j] == pytest.approx(maximal_of_table(X[:, i], X[:, j]), abs=BASIS_TOL)


def test_maximal_of_binary_items_is_phi() -> None:
    X = rated(400, [2, 2, 2])
    X[:, 2] = np.random.default_rng(1).random(400) < 0.02
    phi = np.abs(np.corrcoef(X.T))
    np.testing.assert_allclose(maximal_correlation(X), phi, rtol=0, atol=BASIS_TOL)


def test_maximal_of_known_dependence() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=2000)
    ours = maximal_correlation(np.column_stack([x, x, x**2, -np.exp(x), rng.normal(size=2000)]))
    assert ours[0, 1] == pytest.approx(1, abs=BASIS_TOL)
    assert ours[0, 3] == pytest.approx(1, abs=BASIS_TOL)
    assert ours[0, 2] > 0.95
    assert (ours[4, :4] < 0.15).all()


def test_maximal_blocks_do_not_change_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(3).normal(size=(60, 9))
    whole = maximal_correlation(X)
    monkeypatch.setattr(maximal_module, "_PAIRS_PER_BLOCK", 7)
    calls: list[tuple[int, int]] = []
    blocks = maximal_correlation(X, lambda done, total: calls.append((done, total)))
    np.testing.assert_array_equal(blocks, whole)
    assert calls == [(done, 6) for done in range(1, 7)]


def test_maximal_is_a_correlation_matrix_of_ranks() -> None:
    X = np.random.default_rng(4).normal(size=(90, 12))
    R = maximal_correlation(X)
    assert (R == R.T).all()
    assert (np.diag(R) == 1).all()
    assert ((R >= 0) & (R <= 1)).all()
    np.testing.assert_array_equal(maximal_correlation(np.exp(X)), R)
    shuffled = maximal_correlation(np.random.default_rng(0).permutation(X))
    np.testing.assert_allclose(shuffled, R, rtol=0, atol=BASIS_TOL)


def xi_in_order(y: np.ndarray) -> float:
    """Chatterjee's xi of y whose rows are already in the order of x."""
    n = len(y)
    r = (y <= y[:, None]).sum(axis=1)
    at_least = (y >= y[:, None]).sum(axis=1)
    return 1 - n * np.abs(np.diff(r)).sum() / (2 * np.sum(at_least * (n - at_least)))


def xi_over_all_orders(x: np.ndarray, y: np.ndarray) -> float:
    """Mean over all orders of the rows; sorting by x keeps them among ties."""
    values = []
    for order in permutations(range(len(x))):
        rows = np.array(order)[np.argsort(x[list(order)], kind="stable")]
        values.append(xi_in_order(y[rows]))
    return float(np.mean(values))


def xi_twin(x: np.ndarray, y: np.ndarray) -> float:
    return max(xi_over_all_orders(x, y), xi_over_all_orders(y, x), 0.0)


@pytest.mark.newest
@pytest.mark.parametrize("n", [3, 10, 101, 500])
def test_xi_without_ties_equals_scipy_in_the_larger_direction(n: int) -> None:
    x = np.random.default_rng(n).normal(size=n)
    X = np.column_stack([x, x**2 + 0.01 * np.sin(50 * x), np.cos(3 * x), x**3])
    ours = xi_correlation(X)
    for i in range(4):
        for j in range(i):
            both = [stats.chatterjeexi(X[:, a], X[:, b]).statistic for a, b in ((i, j), (j, i))]
            assert ours[i, j] == pytest.approx(max(*both, 0.0), abs=ROUNDING_TOL)


@pytest.mark.newest
def test_xi_takes_the_direction_that_is_a_function() -> None:
    x = np.linspace(-1, 1, 400)
    parabola = np.column_stack([x, (x - 0.001) ** 2])
    assert stats.chatterjeexi(*parabola.T).statistic > 0.95
    assert stats.chatterjeexi(*parabola.T[::-1]).statistic < 0.5
    assert xi_correlation(parabola)[0, 1] > 0.95
    assert xi_correlation(parabola[:, ::-1])[0, 1] > 0.95


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [3, 4, 6])
def test_xi_with_ties_is_the_mean_over_all_orders_of_tied_rows(n: int, seed: int) -> None:
    rng = np.random.default_rng([n, seed])
    x = rng.integers(0, 3, n)
    x[:2] = 0, 1
    y = 2 * x + rng.integers(0, 2, n)
    X = np.column_stack([x, y, np.arange(n)]).astype(float)
    ours = xi_correlation(X)
    for i in range(3):
        for j in range(i):
            expected = xi_twin(X[:, i], X[:, j])
            assert ours[i, j] == pytest.approx(expected, abs=ROUNDING_TOL)


def test_xi_with_ties_is_the_mean_of_random_orders() -> None:
    rng = np.random.default_rng(7)
    x = rng.integers(1, 6, 300).astype(float)
    y = np.clip((x - 3) ** 2 + rng.integers(-1, 2, 300), 0, 4)
    draws = []
    for _ in range(400):
        rows = rng.permutation(300)
        draws.append(xi_in_order(y[rows[np.argsort(x[rows], kind="stable")]]))
    error = np.std(draws) / np.sqrt(len(draws))
    ours = xi_correlation(np.column_stack([x, y]))[0, 1]
    assert np.mean(draws) > 0.3  # and thus larger than the other direction, which is not drawn
    assert ours == pytest.approx(np.mean(draws), abs=4 * error)
    assert error < 0.005


def test_xi_does_not_depend_on_the_order_of_the_rows_or_on_scale() -> None:
    X = np.round(np.random.default_rng(8).normal(size=(200, 5)), 1)
    X[:, 1] = X[:, 0] ** 2
    ours = xi_correlation(X)
    shuffled = xi_correlation(np.random.default_rng(9).permutation(X))
    np.testing.assert_allclose(shuffled, ours, rtol=0, atol=ROUNDING_TOL)
    np.testing.assert_array_equal(xi_correlation(1e-12 * X), ours)
    assert (ours == ours.T).all()
    assert (np.diag(ours) == 1).all()
    assert ((ours >= 0) & (ours <= 1)).all()


def test_xi_of_independent_items_is_small_and_never_negative() -> None:
    R = xi_correlation(np.random.default_rng(10).normal(size=(2000, 10)))
    upper = R[np.triu_indices(10, 1)]
    assert (upper >= 0).all()
    assert (upper == 0).any()
    assert upper.max() < 0.1


def test_xi_of_many_tied_rows_does_not_overflow() -> None:
    """Distances summed over 1e10 pairs of rows, each up to 2e5."""
    x = np.arange(200_000) % 2.0
    n, half = 200_000, 100_000
    expected = 1 - n / (2 * half * half)
    assert xi_correlation(np.column_stack([x, x]))[0, 1] == pytest.approx(expected, abs=1e-15)
