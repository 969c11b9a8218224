"""Numerically hard cases whose answers are known."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dtstat as dt
from dtstat.factors.copula import fit_factors
from dtstat.factors.small_models import fit_small

LINEAR = ("pearson", "spearman", "kendall")
MEASURES = (*LINEAR, "mixed", "distance", "hsic", "maximal", "xi")
LOADINGS = np.zeros((8, 2))
LOADINGS[:4, 0] = 0.8, 0.7, 0.6, 0.5
LOADINGS[4:, 1] = 0.75, 0.65, 0.55, 0.45
# On the ridge of factors that are nearly one, gains of 1e-6 end the search this far from the top.
RIDGE = 1e-4
# Rounding in some ten thousand operations on numbers of size 1.
ROUNDING = 1e-12


def correlations(phi):
    """Exactly those of the model, so its parameters are the maximum of the likelihood."""
    R = LOADINGS @ np.array([[1, phi], [phi, 1]]) @ LOADINGS.T
    np.fill_diagonal(R, 1.0)
    return R


def named(R, n_obs=500):
    return dt.DependenceMatrix.from_matrix(R, n_obs=n_obs)


# --- factors that are nearly, or exactly, the same ---


@pytest.mark.parametrize("phi", [0.999, 1.0, -0.999, -1.0])
@pytest.mark.parametrize("search", [fit_factors, fit_small])
def test_factors_that_are_nearly_one(search, phi):
    found = search(correlations(phi), 500, LOADINGS != 0)
    assert found.converged
    np.testing.assert_allclose(np.abs(found.loadings), LOADINGS, atol=RIDGE)
    assert found.factor_correlations[0, 1] == pytest.approx(phi, abs=RIDGE)


@pytest.mark.parametrize("phi", [0.999, 1.0, -0.999])
def test_cfa_of_factors_that_are_nearly_one(phi):
    R = named(correlations(phi))
    fit = dt.cfa(R, dt.Structure(LOADINGS != 0, item_names=R.names))
    assert fit.factor_correlations.iloc[0, 1] == pytest.approx(phi, abs=1e-6)
    assert fit.fit_measures["chisq"] == pytest.approx(0, abs=1e-8)
    assert fit.warnings == ()


def test_factors_that_are_one_are_not_kept_apart():
    assert dt.fit(named(correlations(1.0))).n_factors == 1


# --- Heywood cases: of three items the loadings are λ₁² = r₁₂ r₁₃ / r₂₃ ---

HEYWOOD = [(0.8, 0.8, 0.4), (0.6, 0.6, 0.3), (-0.9, 0.7, -0.5)]


def three(r12, r13, r23):
    return named(np.array([[1, r12, r13], [r12, 1, r23], [r13, r23, 1]]), 200)


@pytest.mark.parametrize("r", HEYWOOD)
def test_cfa_gives_the_negative_variance_and_says_so(r):
    with pytest.warns(dt.EstimationWarning, match="Heywood case: the residual variance of 'x1'"):
        fit = dt.cfa(three(*r), "f =~ x1 + x2 + x3")
    r12, r13, r23 = r
    expected = 1 - np.array([r12 * r13 / r23, r12 * r23 / r13, r13 * r23 / r12])
    assert expected[0] < 0
    np.testing.assert_allclose(fit.uniquenesses, expected, atol=1e-6)


@pytest.mark.parametrize("r", [(0.8, 0.8, 0.64), (0.9, 0.5, 0.45)])
def test_a_variance_of_exactly_nothing_is_not_negative(r):
    fit = dt.cfa(three(*r), "f =~ x1 + x2 + x3")
    assert fit.uniquenesses.iloc[0] == pytest.approx(0, abs=1e-6)
    assert fit.warnings == ()


@pytest.mark.parametrize("r", HEYWOOD)
def test_the_structure_is_fitted_with_the_least_variance(r):
    given = dt.Structure(np.ones((3, 1), dtype=bool), item_names=["x1", "x2", "x3"])
    with pytest.warns(dt.EstimationWarning, match="explain x1 without error"):
        fit = dt.fit(three(*r), structure=given)
    assert fit.uniquenesses.iloc[0] == pytest.approx(0.001, rel=1e-5)
    with pytest.warns(dt.DataWarning, match="Heywood case: the factors explain x1"):
        assert dt.efa(three(*r), 1).heywood == ("x1",)


# --- ties ---


@pytest.mark.parametrize("seed", range(5))
def test_items_with_two_values_have_one_coefficient(seed):
    """Pearson, Spearman and Kendall are all φ, from the four cells of the table."""
    rng = np.random.default_rng(seed)
    x = rng.random(50) < 0.3
    y = np.where(rng.random(50) < 0.7, x, rng.random(50) < 0.5)
    a, b, c, d = (x & y).sum(), (x & ~y).sum(), (~x & y).sum(), (~x & ~y).sum()
    phi = (a * d - b * c) / np.sqrt(float((a + b) * (c + d) * (a + c) * (b + d)))
    X = np.column_stack([x * 5.0 - 2, y * 1e-9])
    for measure in LINEAR:
        assert dt.dependence(X, measure).values[0, 1] == pytest.approx(phi, abs=ROUNDING)


@pytest.mark.parametrize("levels", [2, 3, 20])
def test_ties_everywhere_against_scipy(levels):
    X = np.random.default_rng(levels).integers(0, levels, size=(40, 4)).astype(float)
    X[:, 1] = np.round((X[:, 0] + X[:, 1]) / 2)
    pairs = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr}
    for measure, theirs in pairs.items():
        R = dt.dependence(X, measure).values
        for i, j in zip(*np.triu_indices(4, 1), strict=True):
            assert R[i, j] == pytest.approx(theirs(X[:, i], X[:, j])[0], abs=ROUNDING)


@pytest.mark.parametrize("measure", LINEAR)
@pytest.mark.parametrize("n", [4, 7, 50])
def test_columns_that_are_constant_but_for_one_row(measure, n):
    """Two different exceptions: r = −1 / (n − 1). The same exception: 1."""
    X = np.eye(n)[:, :3]
    X = np.column_stack([X, X[:, 0]])
    with np.errstate(all="raise"):
        R = dt.dependence(X, measure) if n < 10 else _with_twins(X, measure)
    expected = np.full((4, 4), -1 / (n - 1))
    np.fill_diagonal(expected, 1.0)
    expected[0, 3] = expected[3, 0] = 1.0
    np.testing.assert_allclose(R.values, expected, atol=ROUNDING)


def _with_twins(X, measure):
    with pytest.warns(dt.DataWarning, match="determine each other"):
        return dt.dependence(X, measure)


# --- few rows ---


@pytest.mark.parametrize("n", [3, 4, 5])
def test_every_order_of_few_rows(n):
    x = np.arange(n, dtype=float)
    for order in permutations(range(n)):
        y = np.array(order, dtype=float)
        X = np.column_stack([x, y])
        rho = 1 - 6 * ((x - y) ** 2).sum() / (n * (n * n - 1))
        signs = [np.sign(y[b] - y[a]) for a in range(n) for b in range(a + 1, n)]
        assert dt.dependence(X, "spearman").values[0, 1] == pytest.approx(rho, abs=ROUNDING)
        assert dt.dependence(X, "kendall").values[0, 1] == pytest.approx(np.mean(signs))


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")  # of so few rows there is much to warn of
@pytest.mark.parametrize("n", range(3, 11))
def test_few_rows_give_numbers_or_reasons(n):
    rng = np.random.default_rng(n)
    X = np.repeat(rng.normal(size=(n, 2)), 3, axis=1) + rng.normal(size=(n, 6))
    for measure in MEASURES:
        R = dt.dependence(X, measure).values
        assert np.isfinite(R).all()
        assert (np.abs(R) <= 1).all()
    for search in ("tree", "threshold", "sequential"):
        fit = dt.fit(X, search=search)
        assert np.isfinite(fit.estimate.log_likelihood)
        assert (fit.uniquenesses > 0).all()
    assert dt.stability(X, n_boot=4, seed=1).main.n_done == 4
    assert np.isfinite(dt.efa(X, 1).loadings).all(axis=None)
    if n <= 6:
        with pytest.raises(dt.EstimationError, match="more rows than items"):
            dt.cfa(X, "f =~ x1 + x2 + x3 + x4 + x5 + x6")


def test_two_rows_are_too_few():
    with pytest.raises(dt.InputError, match="at least 3 rows; got 2"):
        dt.fit(np.array([[1.0, 2, 3], [3, 1, 2]]))


def test_more_items_than_rows():
    """Two factors of 20 items each, seen by 15 rows: a singular matrix, and a clear structure."""
    z = np.random.default_rng(3).normal(size=(15, 2))
    X = np.repeat(z, 20, axis=1) + 0.1 * np.random.default_rng(4).normal(size=(15, 40))
    R = dt.dependence(X, "pearson")
    assert (np.linalg.eigvalsh(R.values) > ROUNDING).sum() == 14
    blocks = np.repeat(np.eye(2, dtype=bool), 20, axis=0)
    assert dt.compare(dt.solution_path(R).at(0.8), dt.Structure(blocks)).f1 == 1.0
    for search in (fit_factors, fit_small):
        fit = search(R.values, 15, blocks)
        np.testing.assert_allclose(fit.loadings[blocks], 1, atol=0.05)
        between = np.corrcoef(X[:, :20].mean(axis=1), X[:, 20:].mean(axis=1))[0, 1]
        assert fit.factor_correlations[0, 1] == pytest.approx(between, abs=0.02)


# --- items that are copies ---


def test_a_copy_has_dependence_one_and_no_place_in_a_likelihood():
    X = pd.DataFrame(np.random.default_rng(5).normal(size=(60, 3)), columns=list("abc"))
    X["d"] = -3 * X["a"] + 7
    for measure in ("pearson", "spearman", "kendall", "distance", "hsic"):
        with pytest.warns(dt.DataWarning, match="'a' and 'd' determine each other"):
            r = dt.dependence(X, measure).values[0, 3]
        assert abs(r) == pytest.approx(1, abs=1e-6)
    with pytest.raises(dt.EstimationError, match="'a' and 'd' are perfectly correlated"):
        dt.cfa(X, "f =~ a + b + c + d")


# --- dependence at the threshold ---


def test_a_pair_is_joined_above_the_threshold_to_the_last_bit():
    R = np.eye(5)
    tau = 0.3
    above, below = np.nextafter(tau, 1), np.nextafter(tau, 0)
    for (i, j), value in {(0, 1): above, (1, 2): above, (0, 2): -above}.items():
        R[i, j] = R[j, i] = value
    for (i, j), value in {(2, 3): tau, (3, 4): below, (2, 4): -tau}.items():
        R[i, j] = R[j, i] = value
    path = dt.solution_path(named(R), min_children=2)
    for threshold in (np.nextafter(below, 0), below, tau, above):
        graph = (np.abs(R) > threshold) & ~np.eye(5, dtype=bool)
        expected = dt.independent_maximal_cliques(graph, min_children=2).support
        found = path.at(threshold).support
        assert {tuple(c) for c in found.T} == {tuple(c) for c in expected.T}
    assert path.at(tau).support.T.tolist() == [[True, True, True, False, False]]
    assert path.at(above).support.shape == (5, 0)


# --- scale ---


def test_offsets_beyond_the_spread():
    """Multiples of 2⁻¹⁰ beside 2³⁰ are exact, so nothing about the items is lost."""
    rng = np.random.default_rng(6)
    X = np.repeat(rng.normal(size=(200, 2)), 3, axis=1) + rng.normal(size=(200, 6))
    X = pd.DataFrame(np.round(X * 2**10) / 2**10, columns=list("abcdef"))
    far = X + 2.0**30
    for measure in LINEAR:
        ours, theirs = (dt.dependence(data, measure).values for data in (far, X))
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    model = "F =~ a + b + c; G =~ d + e + f"
    gaps = rng.random(X.shape) < 0.1
    for missing, holes in (("listwise", gaps & False), ("fiml", gaps & False), ("fiml", gaps)):
        near, away = (dt.cfa(data.mask(holes), model, missing=missing) for data in (X, far))
        for name in ("chisq", "cfi", "rmsea", "baseline.chisq"):
            ours, theirs = away.fit_measures[name], near.fit_measures[name]
            assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-6), name
        np.testing.assert_allclose(
            away.standardized["est.std"][:6], near.standardized["est.std"][:6], atol=1e-6
        )


@pytest.mark.parametrize("power", [12, 300])
def test_every_scale_in_one_table(power):
    X = np.repeat(np.random.default_rng(7).normal(size=(80, 2)), 3, axis=1)
    X += np.random.default_rng(8).normal(size=X.shape)
    scaled = X * 10.0 ** np.linspace(-power, power, 6)
    for measure in MEASURES:
        ours, theirs = (dt.dependence(data, measure).values for data in (scaled, X))
        # distance and hsic are computed in single precision
        np.testing.assert_allclose(ours, theirs, atol=1e-6, err_msg=measure)
