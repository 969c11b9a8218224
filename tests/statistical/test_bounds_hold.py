"""The bounds hold: in simulated surveys nothing goes wrong more often than they allow."""

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from dtstat.dependence.kendall import kendall
from dtstat.dependence.pearson import pearson
from dtstat.dependence.spearman import average_ranks
from dtstat.structure.cliques import independent_maximal_cliques
from dtstat.trust.bounds import Bound
from dtstat.trust.sample_size import error_bound
from dtstat.trust.survey import local_error, survey_design

DRAWS = 200
SURE = 0.999  # one-sided confidence that a rate is above its bound, for the test to fail

EQUAL, UNEQUAL = 0.8, [0.9, 0.8, 0.7]
# (measure, factors, items each, loading, factor correlation, wanted bound)
DESIGNS = [
    (measure, *design)
    for measure in ("kendall", "spearman", "pearson")
    for design in [
        (2, 3, EQUAL, 0.0, 0.1),
        (2, 3, UNEQUAL * 2, 0.2, 0.5),
        (3, 3, EQUAL, 0.3, 0.8),
        (3, 3, UNEQUAL * 3, 0.0, 0.3),
        (4, 2, 0.9, 0.1, 0.6),
        (5, 4, 0.85, 0.0, 0.9),
    ]
] + [("kendall", 1, 4, 0.6, 0.0, 0.7), ("pearson", 2, 2, 0.95, 0.4, 0.05)]


def strength_of(X, measure):
    if measure == "kendall":
        return np.abs(kendall(X))
    return np.abs(pearson(average_ranks(X) if measure == "spearman" else X))


def rows_for(p, margin, measure, error):
    """Smallest n by plain bisection whose bound is at most the error; not by sample_size."""
    b, pairs = Bound.of(measure), p * (p - 1) // 2
    low, high = 4, 2**16
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if pairs * b(middle, margin) <= error else (middle, high)
    return high


@cache
def simulated(k):
    """Design, n, and for each draw: no threshold gives E₀, τ₀ is wrong, factors missed."""
    measure, d, size, loading, correlation, error = DESIGNS[k]
    design = survey_design(d, size, loading, correlation)
    A, margin = design.support, design.margin(measure)
    E = (A.astype(int) @ A.T.astype(int)) > 0
    n = rows_for(len(A), margin.value, measure, error)
    above = np.triu(np.ones_like(E), 1).astype(bool)
    tau = margin.weakest_edge.value - margin.value
    middles = [
        ((one.outside.value if one.outside else 0.0) + one.weakest.value) / 2
        for one in margin.factors
    ]
    rng = np.random.default_rng(k)
    L = np.linalg.cholesky(design.correlations)
    none, wrong, missed = [], [], []
    for _ in range(DRAWS):
        r = strength_of(rng.standard_normal((n, len(A))) @ L.T, measure)
        none.append(r[E & above].min() <= r[~E & above].max(initial=0.0))
        wrong.append(((r > tau) != E)[above].any())
        missed.append([not seen(r, t, members) for t, members in zip(middles, A.T, strict=True)])
    return design, n, np.array(none), np.array(wrong), np.array(missed)


def seen(r, tau, members):
    """Whether the items are an independent maximal clique of the graph at τ."""
    found = independent_maximal_cliques(r > tau).support
    return any((column == members).all() for column in found.T)


def assert_not_above(failures, bound):
    """The lower confidence limit of the rate is no larger than the bound."""
    result = stats.binomtest(int(np.sum(failures)), len(failures))
    assert result.proportion_ci(2 * SURE - 1).low <= bound


@pytest.mark.parametrize("k", range(len(DESIGNS)))
def test_the_graph_is_not_wrong_more_often(k):
    design, n, none, wrong, _ = simulated(k)
    measure = DESIGNS[k][0]
    bound = error_bound(n, len(design.loadings), design.margin(measure).value, measure)
    assert 0.02 < bound <= DESIGNS[k][-1] * (1 + 1e-9)
    assert_not_above(wrong, bound)
    assert_not_above(none, bound)
    assert (none <= wrong).all()  # where τ₀ is right, some threshold is


@pytest.mark.parametrize("k", range(len(DESIGNS)))
def test_a_factor_is_not_missed_more_often(k):
    design, n, _, _, missed = simulated(k)
    measure = DESIGNS[k][0]
    margin = design.margin(measure)
    p = len(design.loadings)
    for one, failures in zip(margin.factors, missed.T, strict=True):
        bound = error_bound(n, p, one.value, measure, factor_size=len(one.items))
        assert_not_above(failures, bound)
    assert_not_above(missed.any(axis=1), local_error(n, margin, Bound.of(measure), p))


def test_the_local_bound_is_the_sum_over_factors():
    for measure, d, size, loading, correlation, _ in DESIGNS:
        design = survey_design(d, size, loading, correlation)
        margin, p = design.margin(measure), d * size
        by_hand = sum(
            (math.comb(size, 2) + p - size) * Bound.of(measure)(800, one.value)
            for one in margin.factors
        )
        found = local_error(800, margin, Bound.of(measure), p)
        assert found == pytest.approx(min(1, by_hand), rel=1e-9)


def test_the_bounds_are_informative():
    """Fewer rows break what is promised: the events do happen, and most bounds are below 1."""
    local = []
    for k, (measure, *_) in enumerate(DESIGNS):
        design, n, *_ = simulated(k)
        margin = design.margin(measure)
        local.append(local_error(n, margin, Bound.of(measure), len(design.loadings)))
    assert np.mean(np.array(local) < 1) > 0.8
    exact = [k for k, design in enumerate(DESIGNS) if design[0] == "pearson"]
    assert sum(simulated(k)[3].sum() for k in exact) > 20  # where the tail is exact, it shows


def test_the_exact_bound_of_two_items_is_attained():
    """p = 2, ρ = w at the worst: the rate of |r − ρ| ≥ γ is the bound itself, not just below."""
    n, rho, draws = 12, 0.25, 20_000
    bound = error_bound(n, 2, 0.5, "pearson")
    Z = np.random.default_rng(99).standard_normal((draws, n, 2))
    Z[..., 1] = rho * Z[..., 0] + math.sqrt(1 - rho**2) * Z[..., 1]
    Z -= Z.mean(axis=1, keepdims=True)
    r = (Z[..., 0] * Z[..., 1]).sum(axis=1) / np.sqrt((Z**2).sum(axis=1).prod(axis=1))
    assert_not_above(np.abs(r - rho) >= 0.5, bound)
    assert (np.abs(r - rho) >= 0.5).mean() > 0.6 * bound
