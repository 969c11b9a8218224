"""Ordinal moments: the estimates against their own module, Γ against derivatives and resampling."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dtstat.core.errors import InputError
from dtstat.dependence.ordinal_scores import (
    ContinuousMargin,
    OrdinalMargin,
    continuous_margin,
    mean_slopes,
    normal_derivatives,
    ordinal_margin,
    serial_derivatives,
    table_derivatives,
)
from dtstat.dependence.polychoric import latent_correlation_matrix, thresholds
from dtstat.sem.ordinal_moments import (
    ordinal_moments,
    row_influences,
    stack_statistics,
)

# Scores vanish where the search for rho ended, within 1e-9 of the maximum.
ZERO_TOL = 1e-7
# Central differences with step 1e-5 of functions known to about 1e-14.
STEP = 1e-5
DIFFERENCE_TOL = 1e-6
ROUNDING_TOL = 1e-10

KINDS = ["ordinal", "continuous", "binary", "ordinal", "continuous"]
CUTS = [[-1.2, -0.3, 0.9], None, [0.4], [-0.5, 0.6], None]


def sample(n: int, seed: int, skewed: bool = False) -> np.ndarray:
    """Five items of one factor: three cut into categories, two left continuous."""
    rng = np.random.default_rng(seed)
    factor, noise = rng.normal(size=(n, 1)), rng.normal(size=(n, 5))
    if skewed:
        factor = (factor**2 - 1) / np.sqrt(2)
    latent = factor * [0.8, 0.7, 0.6, -0.5, 0.9] + noise * 0.6
    columns = [x if c is None else np.digitize(x, c) for x, c in zip(latent.T, CUTS, strict=True)]
    return np.column_stack(columns).astype(float) * [1, 10, 1, 1, 0.2] + [0, 30, 0, 0, -1]


@pytest.fixture(scope="module")
def mixed() -> np.ndarray:
    return sample(800, 1)


@pytest.fixture(scope="module")
def likert() -> np.ndarray:
    """Four items with 2 to 5 categories; one row in eight answers at random."""
    rng = np.random.default_rng(3)
    latent = rng.normal(size=(1500, 1)) * 0.9 + rng.normal(size=(1500, 4)) * 0.45
    latent[::8] = rng.normal(size=(188, 4)) * 2
    cuts = [[0.3], [-0.8, 0.5], [-1, 0, 1], [-1.3, -0.4, 0.4, 1.5]]
    return np.column_stack([np.digitize(x, c) for x, c in zip(latent.T, cuts, strict=True)]) * 1.0


def test_estimates_are_those_of_the_dependence_measure(mixed: np.ndarray) -> None:
    moments = ordinal_moments(mixed, KINDS)
    for j in (0, 2, 3):
        assert_allclose(moments.thresholds[j], thresholds(mixed[:, j]), rtol=0)
    assert_allclose(moments.correlations, latent_correlation_matrix(mixed, KINDS), rtol=0)
    assert_allclose(moments.means[[1, 4]], mixed[:, [1, 4]].mean(axis=0))
    assert_allclose(moments.variances, [1, np.var(mixed[:, 1]), 1, 1, np.var(mixed[:, 4])])
    expected = np.cov(mixed[:, 1], mixed[:, 4], bias=True)[0, 1]
    assert_allclose(moments.covariances[1, 4], expected)


def test_the_order_of_the_statistics(mixed: np.ndarray) -> None:
    moments = ordinal_moments(mixed, KINDS, names=list("abcde"))
    items = ["a|t1", "a|t2", "a|t3", "b~1", "c|t1", "d|t1", "d|t2", "e~1", "b~~b", "e~~e"]
    assert list(moments.labels) == items + [f"{x}~~{y}" for x, y in combinations("abcde", 2)]
    s = dict(zip(moments.labels, moments.statistics, strict=True))
    assert s["a|t2"] == moments.thresholds[0][1]
    assert s["e~1"] == moments.means[4]
    assert s["b~~b"] == pytest.approx(moments.variances[1])
    assert s["b~~d"] == moments.covariances[3, 1]
    assert s["c~~d"] == moments.correlations[3, 2]


def test_stacking_takes_the_columns_below_the_diagonal() -> None:
    sigma = np.tril(np.arange(16.0).reshape(4, 4))  # nothing above may be used
    tau = [np.array([0.1]), np.empty(0), np.array([0.2, 0.3]), np.array([0.4])]
    z = np.array([False, True, False, False])
    s = stack_statistics(tau, np.array([9.0, 7.0, 9.0, 9.0]), sigma, z)
    assert s.tolist() == [0.1, 7.0, 0.2, 0.3, 0.4, 5.0, 4.0, 8.0, 12.0, 9.0, 13.0, 14.0]


@pytest.mark.parametrize("derivative", ["product", "observed"])
def test_influences_average_to_zero(mixed: np.ndarray, derivative: str) -> None:
    columns = zip(mixed.T, KINDS, strict=True)
    margins = [
        continuous_margin(x, derivative) if k == "continuous" else ordinal_margin(x)
        for x, k in columns
    ]
    F = row_influences(margins, latent_correlation_matrix(mixed, KINDS), derivative)
    assert np.abs(F.mean(axis=0) / F.std(axis=0)).max() < ZERO_TOL


def with_thresholds(item: OrdinalMargin, tau: np.ndarray) -> OrdinalMargin:
    limits = np.concatenate([item.limits[:1], tau, item.limits[-1:]])
    return OrdinalMargin(item.rows, limits, item.influence)


def with_moments(item: ContinuousMargin, values: np.ndarray) -> ContinuousMargin:
    x = item.mean + item.sd * item.z
    mean, sd = float(values[0]), float(np.sqrt(values[1]))
    return ContinuousMargin((x - mean) / sd, item.row_influence, mean, sd)


def pair_scores(kinds: tuple, first, second, rho: float):
    """Scores and curvature of a pair, with the share of each line."""
    if kinds == ("continuous", "continuous"):
        lines = normal_derivatives(first, second, rho)
    elif kinds == ("ordinal", "continuous"):
        lines = serial_derivatives(first, second, rho)
    else:
        L = second.limits.size - 1
        cells = np.bincount(first.rows * L + second.rows, minlength=(first.limits.size - 1) * L)
        return *table_derivatives(first.limits, second.limits, rho), cells / cells.sum()
    return *lines, np.full(first.row_influence.shape[0], 1 / first.row_influence.shape[0])


def log_likelihood(kinds: tuple, first, second, rho: float) -> float:
    """Mean log-likelihood of a pair from scipy's distributions."""
    from scipy.stats import multivariate_normal, norm

    if kinds == ("continuous", "continuous"):
        rows = np.column_stack([first.z, second.z])
        density = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).logpdf(rows)
        return float(np.mean(density) - np.log(first.sd * second.sd))
    if kinds == ("ordinal", "continuous"):
        given = norm(rho * second.z, np.sqrt(1 - rho**2))
        low, high = first.limits[first.rows], first.limits[first.rows + 1]
        density = norm.logpdf(second.z) - np.log(second.sd)
        return float(np.mean(density + np.log(given.cdf(high) - given.cdf(low))))
    corner = np.array([[h, k] for h in first.limits for k in second.limits]).clip(-30, 30)
    Phi2 = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf(corner)
    pi = np.diff(np.diff(Phi2.reshape(first.limits.size, -1), axis=0), axis=1)
    return float(np.mean(np.log(pi[first.rows, second.rows])))


def perturbed(item, c: int, step: float):
    """The item with one of its parameters moved."""
    if isinstance(item, OrdinalMargin):
        return with_thresholds(
            item, item.thresholds + step * (np.arange(len(item.thresholds)) == c)
        )
    return with_moments(item, np.array([item.mean, item.sd**2]) + step * (np.arange(2) == c))


def differences(function, first, second, rho: float) -> tuple:
    """Central differences of ``function(first, second, rho)`` in rho and both items' parameters."""

    def slope(move) -> float:
        return (function(*move(STEP)) - function(*move(-STEP))) / (2 * STEP)

    m, k = (max(item.thresholds.size, 2 * (item.thresholds.size == 0)) for item in (first, second))
    return (
        slope(lambda e: (first, second, rho + e)),
        [slope(lambda e, c=c: (perturbed(first, c, e), second, rho)) for c in range(m)],
        [slope(lambda e, c=c: (first, perturbed(second, c, e), rho)) for c in range(k)],
    )


PAIRS = [("ordinal", "ordinal"), ("ordinal", "continuous"), ("continuous", "continuous")]


def pair_of(values: np.ndarray, kinds: tuple) -> tuple:
    columns = {("ordinal", "ordinal"): (0, 3), ("ordinal", "continuous"): (0, 4)}.get(kinds, (1, 4))
    return tuple(
        continuous_margin(values[:, j], "product")
        if k == "continuous"
        else ordinal_margin(values[:, j])
        for j, k in zip(columns, kinds, strict=True)
    )


@pytest.mark.parametrize("rho", [-0.4, 0.0, 0.7])
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_scores_are_the_slopes_of_the_likelihood(mixed: np.ndarray, kinds, rho: float) -> None:
    first, second = pair_of(mixed, kinds)
    scores, _, share = pair_scores(kinds, first, second, rho)
    expected = differences(lambda *pair: log_likelihood(kinds, *pair), first, second, rho)
    for lines, slope in zip(scores, expected, strict=True):
        assert_allclose(share @ lines, slope, rtol=1e-4, atol=1e-5)  # scipy's table is good to 1e-8


@pytest.mark.parametrize("rho", [-0.4, 0.0, 0.7, 0.97])
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_observed_derivatives_are_those_of_the_mean_score(
    mixed: np.ndarray, kinds, rho: float
) -> None:
    first, second = pair_of(mixed, kinds)

    def mean_score(*pair) -> float:
        scores, _, share = pair_scores(kinds, *pair)
        return float(share @ scores.rho)

    A = mean_slopes(*pair_scores(kinds, first, second, rho), "observed")
    for ours, slope in zip(A, differences(mean_score, first, second, rho), strict=True):
        assert_allclose(ours, -np.array(slope), rtol=DIFFERENCE_TOL, atol=DIFFERENCE_TOL)


def test_products_equal_derivatives_when_the_shares_are_the_probabilities() -> None:
    from dtstat.dependence.bivariate_normal import cell_probabilities

    h, k, rho = np.array([-1e10, -1, 0.2, 1e10]), np.array([-1e10, -0.3, 0.5, 1.4, 1e10]), 0.55
    pair = *table_derivatives(h, k, rho), cell_probabilities(rho, h, k)[0].ravel()
    product, observed = (mean_slopes(*pair, kind) for kind in ("product", "observed"))
    for ours, theirs in zip(product, observed, strict=True):
        assert_allclose(ours, theirs, rtol=0, atol=ROUNDING_TOL)


def test_observed_gamma_of_continuous_items_is_free_of_distribution() -> None:
    values = sample(400, 5, skewed=True)[:, [1, 4]]
    moments = ordinal_moments(values, ["continuous"] * 2, derivative="observed")
    x, y = (values - values.mean(axis=0)).T
    rows = np.column_stack([x, y, x * x, y * y, x * y])
    assert_allclose(moments.gamma, np.cov(rows.T, bias=True), rtol=ROUNDING_TOL)


def stacked(values: np.ndarray) -> np.ndarray:
    """Statistics of ordinal items alone."""
    R = latent_correlation_matrix(values, ["ordinal"] * values.shape[1])
    tau = [thresholds(x) for x in values.T]
    p = len(tau)
    return stack_statistics(tau, np.zeros(p), R, np.zeros(p, dtype=bool))


def test_observed_gamma_is_the_covariance_over_resamples(likert: np.ndarray) -> None:
    """The variables are not jointly normal, so products are too small by more than the margin."""
    rng, (n, _), B = np.random.default_rng(7), likert.shape, 800
    resampled = n * np.cov([stacked(likert[rng.integers(0, n, n)]) for _ in range(B)], rowvar=False)
    sd = np.sqrt(np.diag(resampled))
    product, observed = (
        np.abs((ordinal_moments(likert, derivative=d).gamma - resampled) / np.outer(sd, sd)).max()
        for d in ("product", "observed")
    )
    # A covariance from B pairs has a standard error of at most sqrt(2 / B) = 0.05 of the product of
    # their standard deviations; the margin is four of them, for the largest of 136 entries.
    margin = 4 * np.sqrt(2 / B)
    assert observed < margin < product


def test_gamma_by_products_agrees_on_normal_variables() -> None:
    values = sample(40_000, 9)[:, [0, 2, 3]]
    product, observed = (
        ordinal_moments(values, derivative=d).gamma for d in ("product", "observed")
    )
    scale = np.sqrt(np.diag(observed))
    assert np.abs((product - observed) / np.outer(scale, scale)).max() < 0.05


def test_thresholds_have_the_covariance_of_transformed_shares(likert: np.ndarray) -> None:
    moments = ordinal_moments(likert)
    tau = moments.thresholds[2]
    from scipy.stats import norm

    P, phi = norm.cdf(tau), norm.pdf(tau)
    expected = (np.minimum.outer(P, P) - np.outer(P, P)) / np.outer(phi, phi)
    at = [k for k, label in enumerate(moments.labels) if label.startswith("x3|")]
    assert_allclose(moments.gamma[np.ix_(at, at)], expected, rtol=ROUNDING_TOL)


def test_diagonal_weights(likert: np.ndarray) -> None:
    moments = ordinal_moments(likert)
    assert_allclose(moments.weights * np.diag(moments.gamma), 1.0)


def test_items_may_come_in_any_order_and_coding(likert: np.ndarray) -> None:
    """Γ belongs to the statistics, wherever they stand; codes count only by their order."""
    moments, turned = ordinal_moments(likert), ordinal_moments(np.exp(likert[:, ::-1]), names=NAMES)
    at = {label: k for k, label in enumerate(turned.labels)}
    names = [at.get(x) if x in at else at["~~".join(x.split("~~")[::-1])] for x in moments.labels]
    assert_allclose(turned.gamma[np.ix_(names, names)], moments.gamma, rtol=1e-6, atol=1e-8)


NAMES = ["x4", "x3", "x2", "x1"]


@pytest.mark.parametrize("derivative", ["product", "observed"])
def test_an_empty_cell_of_two_binary_items_leaves_gamma_usable(derivative: str) -> None:
    cells = np.repeat([[0.0, 1], [1, 0], [1, 1]], [119, 150, 2], axis=0)
    gamma = ordinal_moments(cells, derivative=derivative).gamma
    assert np.linalg.eigvalsh(gamma).min() > -ROUNDING_TOL
    assert np.isfinite(gamma).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: np.where(np.arange(4) == 2, 3.0, x), "Item 'c' must have at least two"),
        (lambda x: x + np.outer(np.arange(len(x)), [1, 0, 0, 0]), "Ordinal item 'a' must have at"),
        (lambda x: x[:, [0, 2, 1, 2]], "Items 'b' and 'd' must not be perfectly associated"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(likert: np.ndarray, change, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ordinal_moments(change(likert), names=list("abcd"))


def test_a_constant_continuous_item_is_refused(mixed: np.ndarray) -> None:
    values = mixed.copy()
    values[:, 1] = 0.1 + 1e-17 * np.arange(len(values))
    with pytest.raises(InputError, match="Item 'x2' must have at least two"):
        ordinal_moments(values, KINDS)


def test_an_unknown_derivative_is_refused(likert: np.ndarray) -> None:
    with pytest.raises(InputError, match="`derivative` must be"):
        ordinal_moments(likert, derivative="expected")
