"""Latent correlations: each compiled piece against a plain twin, a closed form or a symmetry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal

from dtstat.core.errors import InputError
from dtstat.dependence import bivariate_normal
from dtstat.dependence.bivariate_normal import table_correlation
from dtstat.dependence.polychoric import (
    latent_correlation_matrix,
    polychoric_pair,
    polyserial_pair,
    thresholds,
)

# The integral is good to a few units in the last place of 1.
CDF_TOL = 1e-14
# Adaptive quadrature of the twin stops near 1e-13.
QUADRATURE_TOL = 1e-12
# An exact table has its maximum at the true rho; the search ends at steps of 1e-9.
EXACT_TOL = 1e-8
# A maximum located from function values alone is blurred to about the root of their precision.
TWIN_TOL = 1e-5
# Two runs of the search that differ in rounding only.
ROUNDING_TOL = 1e-8

RHOS = [-0.9999, -0.95, -0.93, -0.8, -0.5, -0.2, 0.0, 0.3, 0.6, 0.9, 0.925, 0.926, 0.97, 0.999]
LIMITS = [-5.0, -2.5, -1.0, -0.99, 0.0, 0.01, 1.0, 2.5, 6.0]


def cdf_by_quadrature(h: float, k: float, rho: float) -> float:
    """P(X <= h, Y <= k) as the integral over x of phi(x) P(Y <= k | x)."""
    s = np.sqrt((1 - rho) * (1 + rho))
    kink = k / rho if rho else 0.0
    points = [p for p in (kink - 6 * s, kink, kink + 6 * s, -3.0, 0.0) if -9 < p < h]

    def density(x: float) -> float:
        return np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) * ndtr((k - rho * x) / s)

    return quad(density, -9.0, h, points=points, epsabs=1e-14, epsrel=1e-13, limit=400)[0]


def bivariate_normal_cdf(h: float, k: float, rho: float) -> float:
    """P(X <= h, Y <= k) as the kernel computes it that is given all limits of two items."""
    limits = (np.clip([-np.inf, x, np.inf], -1e10, 1e10) for x in (h, k))
    Phi = np.empty((3, 3))
    bivariate_normal._corner_probabilities(Phi, np.nan, rho, *limits)
    return Phi[1, 1]


def cell_probabilities(tau_x: np.ndarray, tau_y: np.ndarray, rho: float) -> np.ndarray:
    """Cells of the table between two sets of thresholds, from scipy's distribution function."""
    normal = multivariate_normal([0, 0], [[1, rho], [rho, 1]])
    below = np.zeros((tau_x.size + 2, tau_y.size + 2))
    below[-1, 1:] = ndtr([*tau_y, np.inf])
    below[1:, -1] = ndtr([*tau_x, np.inf])
    for a, h in enumerate(tau_x, start=1):
        below[a, 1:-1] = normal.cdf([[h, k] for k in tau_y])
    return np.diff(np.diff(below, axis=0), axis=1)


def polychoric_by_brute_force(table: np.ndarray, tau_x: np.ndarray, tau_y: np.ndarray) -> float:
    def deviance(rho: float) -> float:
        cells = np.maximum(cell_probabilities(tau_x, tau_y, rho), 1e-300)
        return -np.sum(table * np.log(cells))

    return minimize_scalar(
        deviance, bounds=(-0.9999, 0.9999), method="bounded", options={"xatol": 1e-9}
    ).x


def polyserial_by_brute_force(z: np.ndarray, y: np.ndarray) -> float:
    z = (z - z.mean()) / z.std()
    tau = np.array([-np.inf, *thresholds(y), np.inf])
    category = np.unique(y, return_inverse=True)[1]

    def deviance(rho: float) -> float:
        s = np.sqrt(1 - rho**2)
        p = ndtr((tau[category + 1] - rho * z) / s) - ndtr((tau[category] - rho * z) / s)
        return -np.sum(np.log(np.maximum(p, 1e-300)))

    return minimize_scalar(
        deviance, bounds=(-0.9999, 0.9999), method="bounded", options={"xatol": 1e-9}
    ).x


def columns_of(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of data with the given table of counts."""
    x, y = np.indices(table.shape)
    return np.repeat(x, table.ravel()).astype(float), np.repeat(y, table.ravel()).astype(float)


def ordinal_items(rng: np.random.Generator, n: int, levels: list[int]) -> np.ndarray:
    """Items that share one factor, cut into the given numbers of levels; all levels occur."""
    factor = rng.normal(size=(n, 1))
    latent = 0.7 * factor + rng.normal(size=(n, len(levels)))
    columns = []
    for column, k in zip(latent.T, levels, strict=True):
        cuts = np.quantile(column, np.sort(rng.dirichlet(np.full(k, 3.0)).cumsum()[:-1]))
        columns.append(np.searchsorted(cuts, column))
    return np.array(columns, dtype=float).T


def with_missing(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    return np.where(rng.random(values.shape) < 0.15, np.nan, values)


@pytest.mark.parametrize("rho", RHOS)
def test_cdf_equals_quadrature(rho: float) -> None:
    for h in LIMITS:
        for k in [*LIMITS, h + 0.003, -h]:
            ours = bivariate_normal_cdf(h, k, rho)
            assert ours == pytest.approx(cdf_by_quadrature(h, k, rho), abs=QUADRATURE_TOL)


@pytest.mark.parametrize("rho", [*RHOS, 0.9999999, -1.0, 1.0])
def test_cdf_at_the_origin_has_a_closed_form(rho: float) -> None:
    expected = 0.25 + np.arcsin(rho) / (2 * np.pi)
    assert bivariate_normal_cdf(0.0, 0.0, rho) == pytest.approx(expected, abs=CDF_TOL)


@pytest.mark.parametrize("rho", [*RHOS, -1.0, 1.0])
def test_cdf_with_infinite_limits_is_the_margin(rho: float) -> None:
    for h in LIMITS:
        assert bivariate_normal_cdf(h, np.inf, rho) == pytest.approx(ndtr(h), abs=CDF_TOL)
        assert bivariate_normal_cdf(np.inf, h, rho) == pytest.approx(ndtr(h), abs=CDF_TOL)
        assert bivariate_normal_cdf(h, -np.inf, rho) == 0.0
    assert bivariate_normal_cdf(np.inf, np.inf, rho) == 1.0


def test_cdf_of_identical_and_opposite_variables() -> None:
    for h in LIMITS:
        for k in LIMITS:
            same, opposite = ndtr(min(h, k)), max(ndtr(h) - ndtr(-k), 0.0)
            assert bivariate_normal_cdf(h, k, 1.0) == pytest.approx(same, abs=CDF_TOL)
            assert bivariate_normal_cdf(h, k, -1.0) == pytest.approx(opposite, abs=CDF_TOL)


@pytest.mark.parametrize("rho", [-0.97, -0.6, 0.0, 0.1, 0.45, 0.8, 0.93])
def test_cells_and_their_derivative_equal_plain_twins(rho: float) -> None:
    h, k = np.array([-1e10, -2.2, -0.4, 0.5, 1e10]), np.array([-1e10, -0.7, 0.6, 1e10])
    cells, slopes = bivariate_normal.cell_probabilities(rho, h, k)
    below = np.array([[bivariate_normal_cdf(a, b, rho) for b in k] for a in h])
    np.testing.assert_allclose(cells, np.diff(np.diff(below, axis=0), axis=1), atol=CDF_TOL)
    density = np.zeros(below.shape)
    normal = multivariate_normal([0, 0], [[1, rho], [rho, 1]])
    density[1:-1, 1:-1] = [[normal.pdf([a, b]) for b in k[1:-1]] for a in h[1:-1]]
    np.testing.assert_allclose(slopes, np.diff(np.diff(density, axis=0), axis=1), atol=CDF_TOL)


@pytest.mark.parametrize("start", [-0.92, -0.3, 0.0, 0.25, 0.9, np.nan])
@pytest.mark.parametrize("step", [0.0, 0.004, 0.03, 0.2, 0.6, 1.5])
def test_probabilities_moved_along_rho_are_those_computed_there(start: float, step: float) -> None:
    """Every rule of nodes, both directions, and across the limit of the arc integral."""
    h, k = np.array([-1e10, -4.0, -1.1, 0.3, 3.5, 1e10]), np.array([-1e10, -1.0, 0.2, 2.5, 1e10])
    for rho in {float(np.clip(np.nan_to_num(start) + s * step, -0.99, 0.99)) for s in (-1, 1)}:
        Phi = np.empty((h.size, k.size))
        if not np.isnan(start):
            bivariate_normal._corner_probabilities(Phi, np.nan, start, h, k)
        bivariate_normal._corner_probabilities(Phi, start, rho, h, k)
        plain = [[bivariate_normal_cdf(a, b, rho) for b in k] for a in h]
        np.testing.assert_allclose(Phi, plain, rtol=0, atol=CDF_TOL)


def test_curvature_is_the_derivative_of_the_slope() -> None:
    h, k = np.array([-1e10, -1.0, 0.2, 1e10]), np.array([-1e10, -0.3, 0.4, 1.8, 1e10])
    table = np.array([[9.0, 4.0, 3.0, 0.0], [6.0, 8.0, 5.0, 2.0], [1.0, 3.0, 7.0, 4.0]])

    def score(rho: float) -> tuple[float, float, float]:
        Phi = np.array([[bivariate_normal_cdf(a, b, rho) for b in k] for a in h])
        return bivariate_normal._table_score(rho, table, h, k, Phi)

    for rho in (-0.5, 0.0, 0.3, 0.8):
        difference = (score(rho - 1e-5)[0] - score(rho + 1e-5)[0]) / 2e-5
        assert score(rho)[2] == pytest.approx(difference, rel=1e-6)


def test_thresholds_of_uneven_margins() -> None:
    column = np.repeat([1.0, 2.0, 5.0, np.nan], [10, 30, 60, 17])
    np.testing.assert_allclose(thresholds(column), ndtri([0.1, 0.4]))


@pytest.mark.parametrize("rho", [-0.95, -0.6, 0.0, 0.3, 0.8, 0.95])
@pytest.mark.parametrize(
    ("tau_x", "tau_y"),
    [
        ([0.0], [0.0]),
        ([-0.4], [0.3]),
        ([-1.0, 0.2], [-0.3, 0.4, 1.8]),
        ([-2.0, -1.0, 0.0, 0.5, 1.5], [-0.5, 0.0, 0.5, 1.0, 2.5]),
    ],
)
def test_exact_tables_give_back_their_correlation(
    tau_x: list[float], tau_y: list[float], rho: float
) -> None:
    h, k = np.array([-1e10, *tau_x, 1e10]), np.array([-1e10, *tau_y, 1e10])
    below = np.array([[bivariate_normal_cdf(a, b, rho) for b in k] for a in h])
    table = 1000.0 * np.diff(np.diff(below, axis=0), axis=1)
    table[table < 1e-9] = 0.0  # rounding error, not rows
    assert table_correlation(table, h, k) == pytest.approx(rho, abs=EXACT_TOL)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_polychoric_equals_brute_force(seed: int, sign: float) -> None:
    rng = np.random.default_rng(seed)
    levels = [2 + seed % 5, 3 + seed % 3]
    x, y = ordinal_items(rng, 25 * (1 + seed), levels).T
    table = np.zeros(levels)
    np.add.at(table, (x.astype(int), y.astype(int)), 1)
    expected = polychoric_by_brute_force(table, thresholds(x), thresholds(y))
    assert sign * polychoric_pair(x, sign * y) == pytest.approx(expected, abs=TWIN_TOL)


def test_polychoric_with_empty_cells_equals_brute_force() -> None:
    table = np.array([[10, 0, 0, 1], [20, 20, 10, 0], [0, 10, 30, 0], [0, 0, 2, 5]])
    x, y = columns_of(table)
    expected = polychoric_by_brute_force(table, thresholds(x), thresholds(y))
    assert polychoric_pair(x, y) == pytest.approx(expected, abs=TWIN_TOL)


def test_tetrachoric_of_halves_is_a_sine() -> None:
    x, y = columns_of(np.array([[40, 10], [10, 40]]))
    assert polychoric_pair(x, y) == pytest.approx(np.sin(np.pi * 0.3), abs=EXACT_TOL)


@pytest.mark.parametrize("empty", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_empty_cell_of_a_two_by_two_table_gets_half_a_row(empty: tuple[int, int]) -> None:
    table = np.array([[20, 30], [40, 50]])
    table[empty] = 0
    x, y = columns_of(table)
    sign = 1 if empty[0] == empty[1] else -1
    filled = table + 0.5 * sign * np.array([[1, -1], [-1, 1]])
    expected = polychoric_by_brute_force(filled, thresholds(x), thresholds(y))
    assert polychoric_pair(x, y) == pytest.approx(expected, abs=TWIN_TOL)
    assert abs(polychoric_pair(x, y)) < 0.99


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_identical_items_stop_short_of_one(sign: float) -> None:
    x = np.repeat([1.0, 2.0, 3.0, 4.0], [5, 20, 30, 10])
    assert polychoric_pair(x, sign * x) == pytest.approx(sign * 0.9999, abs=ROUNDING_TOL)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_perfect_order_in_a_sparse_table_goes_to_the_bound(sign: float) -> None:
    x, y = columns_of(np.array([[84, 0], [73, 0], [190, 1]]))
    assert polychoric_pair(x, sign * y) == pytest.approx(sign * 0.9999, abs=ROUNDING_TOL)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_one_contradicting_row_stays_possible(sign: float) -> None:
    """The row's cell is far below rounding error at the bound, and must not be lost in it."""
    table = np.diag([1000] * 5)
    table[0, 4] = 1
    x, y = columns_of(table)
    rho = sign * polychoric_pair(x, sign * y)
    assert 0.95 < rho < 0.99
    assert (
        ndtr(thresholds(x)[0]) - bivariate_normal_cdf(thresholds(x)[0], thresholds(y)[3], rho) > 0.0
    )


def test_fifty_levels_approach_pearson() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=4000, method="cholesky").T
    cuts = np.linspace(-2.5, 2.5, 49)
    latent = polychoric_pair(*(np.searchsorted(cuts, v).astype(float) for v in (x, y)))
    # Both are efficient here, so they differ by less than their standard error of 0.01.
    assert latent == pytest.approx(np.corrcoef(x, y)[0, 1], abs=5e-3)


@pytest.mark.parametrize("seed", range(6))
def test_polyserial_equals_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z = rng.standard_t(5, size=150) * 3 + 10
    y = np.searchsorted(
        [-1.5, 0.0, 0.8, 2.0][: 1 + seed % 4], (seed - 3) * z / 6 + rng.normal(size=150)
    )
    y = y.astype(float)
    assert polyserial_pair(z, y) == pytest.approx(polyserial_by_brute_force(z, y), abs=TWIN_TOL)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_polyserial_of_a_cut_of_itself_stops_short_of_one(sign: float) -> None:
    z = ndtri((np.arange(100) + 0.5) / 100)
    assert 0.98 < sign * polyserial_pair(z, np.sign(sign * z)) <= 0.9999


def test_reversing_an_item_flips_the_sign() -> None:
    x, y = ordinal_items(np.random.default_rng(1), 400, [5, 4]).T
    z = x + np.random.default_rng(2).normal(size=400)
    assert polychoric_pair(-x, y) == pytest.approx(-polychoric_pair(x, y), abs=ROUNDING_TOL)
    assert polyserial_pair(z, -y) == pytest.approx(-polyserial_pair(z, y), abs=ROUNDING_TOL)
    assert polyserial_pair(-z, y) == pytest.approx(-polyserial_pair(z, y), abs=ROUNDING_TOL)


KINDS = ["ordinal", "continuous", "binary", "ordinal", "continuous"]


def mixed_values(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    items = ordinal_items(rng, 300, [5, 7, 2, 4, 7])
    items[:, [1, 4]] += rng.normal(size=(300, 2))
    return with_missing(rng, items)


def test_matrix_holds_the_pairs() -> None:
    values = mixed_values(4)
    matrix = latent_correlation_matrix(values, KINDS)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 1.0)
    assert matrix[0, 3] == polychoric_pair(values[:, 0], values[:, 3])
    assert matrix[2, 3] == polychoric_pair(values[:, 2], values[:, 3])
    assert matrix[0, 1] == polyserial_pair(values[:, 1], values[:, 0])
    assert matrix[4, 2] == polyserial_pair(values[:, 4], values[:, 2])
    common = values[~np.isnan(values[:, [1, 4]]).any(axis=1)][:, [1, 4]]
    assert matrix[1, 4] == pytest.approx(np.corrcoef(common.T)[0, 1], abs=ROUNDING_TOL)


def test_missing_rows_count_for_thresholds_but_not_for_the_table() -> None:
    values = mixed_values(5)
    x, y = values[:, 0], values[:, 3]
    common = ~np.isnan(x) & ~np.isnan(y)
    table = np.zeros((5, 4))
    np.add.at(table, (x[common].astype(int), y[common].astype(int)), 1)
    expected = polychoric_by_brute_force(table, thresholds(x), thresholds(y))
    assert polychoric_pair(x, y) == pytest.approx(expected, abs=TWIN_TOL)


def test_order_of_rows_is_irrelevant() -> None:
    values = mixed_values(6)
    shuffled = np.random.default_rng(0).permutation(values)
    np.testing.assert_allclose(
        latent_correlation_matrix(shuffled, KINDS),
        latent_correlation_matrix(values, KINDS),
        atol=ROUNDING_TOL,
    )


def test_threads_do_not_change_the_result() -> None:
    values = mixed_values(7)
    one, two = (latent_correlation_matrix(values, KINDS, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_progress_counts_ordinal_items() -> None:
    seen: list[tuple[int, int]] = []
    latent_correlation_matrix(mixed_values(8), KINDS, progress=lambda *done: seen.append(done))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_only_continuous_items_give_pearson() -> None:
    values = np.random.default_rng(9).normal(size=(50, 3)) + 1e6
    matrix = latent_correlation_matrix(values, ["continuous"] * 3)
    np.testing.assert_allclose(matrix, np.corrcoef(values.T), atol=ROUNDING_TOL)


def test_items_that_do_not_vary_in_common_rows_are_nan() -> None:
    nan = np.nan
    values = np.array(
        [
            [1.0, 2.0, 0.3, 5.0, nan],
            [1.0, 3.0, 0.1, 5.0, nan],
            [1.0, 2.0, 0.9, 5.0, nan],
            [2.0, nan, nan, 5.0, nan],
        ]
    )
    kinds = ["ordinal", "ordinal", "continuous", "continuous", "ordinal"]
    matrix = latent_correlation_matrix(values, kinds)
    assert np.isfinite(matrix[1, 2])
    off_diagonal = matrix[~np.eye(5, dtype=bool)]
    assert np.isnan(off_diagonal).sum() == off_diagonal.size - 2


def test_kinds_must_match_the_columns() -> None:
    with pytest.raises(InputError, match=r"each of the 2 `kinds`; got shape \(4, 3\)"):
        latent_correlation_matrix(np.zeros((4, 3)), ["ordinal", "binary"])
