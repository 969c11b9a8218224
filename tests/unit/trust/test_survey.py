"""Survey designs: population dependence, margins and bad input."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dtstat.core.errors import InputError
from dtstat.dependence.kendall import kendall
from dtstat.dependence.measures import LATENT_VARIANCES
from dtstat.dependence.pearson import pearson
from dtstat.dependence.spearman import average_ranks
from dtstat.trust.survey import global_pairs, local_pairs, survey_design

SE = 4

CROSSED = np.array(
    [[0.8, 0.0], [0.6, 0.0], [0.4, -0.5], [0.0, 0.7], [0.0, -0.9]]
)  # a cross-loading and a reversed item


def draw_by_hand(L, Phi, n, rng):
    """Multivariate normal items with the model's covariance matrix."""
    R = L @ Phi @ L.T
    np.fill_diagonal(R, 1.0)
    return rng.multivariate_normal(np.zeros(len(L)), R, size=n, method="cholesky"), R


def sample_values(X, measure):
    if measure == "kendall":
        return kendall(X)
    return pearson(average_ranks(X) if measure == "spearman" else X)


@pytest.mark.parametrize("measure", ["pearson", "spearman", "kendall"])
def test_closed_form_is_what_samples_approach(measure):
    """Standard errors are at most 1/√n, of Kendall ⅔/√n, in a normal copula."""
    n = 200_000
    Phi = np.array([[1, 0.4], [0.4, 1]])
    design = survey_design(loading=CROSSED, factor_correlation=Phi)
    X, R = draw_by_hand(CROSSED, Phi, n, np.random.default_rng(1))
    np.testing.assert_allclose(design.correlations, R, atol=1e-14)
    found = design.dependence(measure).values
    np.testing.assert_allclose(found, sample_values(X, measure), atol=SE / math.sqrt(n))
    drawn = design.draw(n, np.random.default_rng(2))
    np.testing.assert_allclose(found, sample_values(drawn, measure), atol=SE / math.sqrt(n))
    assert found.min() < -0.1  # signs are kept


def test_draws_have_mean_0_and_variance_1():
    n = 100_000
    X = survey_design(3, 2, [0.9, 0.5, 0.2], 0.5).draw(n, np.random.default_rng(3))
    assert X.shape == (n, 6)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=SE / math.sqrt(n))
    np.testing.assert_allclose(X.var(axis=0), 1, atol=SE * math.sqrt(2 / n))


def test_independent_factors_have_half_the_weakest_within():
    """Loadings .5 and .6 are the two smallest of one factor: ρ = .3 is the weakest."""
    design = survey_design(2, 3, [0.5, 0.6, 0.9, 0.7, 0.8, 0.9])
    expected = {
        "pearson": 0.3,
        "kendall": 2 / math.pi * math.asin(0.3),
        "spearman": 6 / math.pi * math.asin(0.15),
    }
    for measure, weakest in expected.items():
        found = design.margin(measure)
        assert found.value == pytest.approx(weakest / 2, rel=1e-12)
        assert found.strongest_non_edge.value == 0
        assert {found.weakest_edge.first, found.weakest_edge.second} == {"x1", "x2"}
        assert not found.simulated
    local = [one.value for one in design.margin("pearson").factors]
    assert local == pytest.approx([0.15, 0.28])  # .7 × .8 / 2


def test_unequal_loadings_and_close_factors_violate():
    """Weakest within .4 × .5 = .20; strongest between .9 × .8 × .75 = .54."""
    design = survey_design(2, 3, [0.4, 0.5, 0.9, 0.6, 0.7, 0.8], 0.75)
    found = design.margin("pearson")
    assert not found.satisfied
    assert found.value == pytest.approx((0.20 - 0.54) / 2)
    assert {found.weakest_edge.first, found.weakest_edge.second} == {"x1", "x2"}
    assert {found.strongest_non_edge.first, found.strongest_non_edge.second} == {"x3", "x6"}
    assert found.verdict.startswith("violated: x1–x2 (0.20) within")
    assert "x3–x6 (0.54)" in found.verdict


@pytest.mark.parametrize("measure", ["pearson", "spearman", "kendall"])
def test_equal_loadings_by_hand(measure):
    """λ² within, λ²φ between; both margins are then half the difference."""
    transform = {
        "pearson": lambda rho: rho,
        "spearman": lambda rho: 6 / math.pi * math.asin(rho / 2),
        "kendall": lambda rho: 2 / math.pi * math.asin(rho),
    }[measure]
    design = survey_design(3, [2, 3, 4], 0.7, 0.3)
    expected = (transform(0.49) - transform(0.49 * 0.3)) / 2
    found = design.margin(measure)
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert [one.value for one in found.factors] == pytest.approx([expected] * 3, rel=1e-12)


def test_few_points_narrow_the_margin():
    continuous = survey_design(2, 3, 0.7, 0.3)
    coarse = survey_design(2, 3, 0.7, 0.3, levels=5)
    for measure in ("pearson", "spearman"):
        found = coarse.margin(measure)
        assert found.simulated
        error = SE / math.sqrt(100_000)
        assert found.value < continuous.margin(measure).value - error
        assert found.value > 0.7 * continuous.margin(measure).value


@pytest.mark.parametrize("levels", [2, 3, 5, 7])
def test_shares_of_the_points(levels):
    """Even steps between −2 and 2; the ends take the tails."""
    n = 50_000
    X = survey_design(1, 2, 0.5, levels=levels).draw(n, np.random.default_rng(4))
    cuts = np.linspace(-2, 2, levels + 1)
    cuts[0], cuts[-1] = -np.inf, np.inf
    shares = np.diff(stats.norm.cdf(cuts))
    for column in X.T:
        counts = np.bincount(column.astype(int), minlength=levels + 1)
        assert counts[0] == 0
        assert len(counts) == levels + 1
        np.testing.assert_allclose(
            counts[1:] / n, shares, atol=SE * np.sqrt(shares * (1 - shares) / n).max()
        )


def test_simulated_margin_is_repeatable_by_seed():
    design = survey_design(2, 2, 0.7, levels=3)
    assert design.margin("spearman", 1).value == design.margin("spearman", 1).value
    assert design.margin("spearman", 1).value != design.margin("spearman", 2).value


def test_forms_of_loadings_agree():
    sizes, d = [2, 3], 2
    by_factor = survey_design(d, sizes, [0.5, 0.8])
    by_item = survey_design(d, sizes, [0.5, 0.5, 0.8, 0.8, 0.8])
    matrix = np.array([[0.5, 0], [0.5, 0], [0, 0.8], [0, 0.8], [0, 0.8]])
    given = survey_design(loading=pd.DataFrame(matrix))
    for design in (by_factor, by_item, given):
        np.testing.assert_array_equal(design.loadings, matrix)
        np.testing.assert_array_equal(design.support, matrix != 0)
        np.testing.assert_array_equal(design.factor_correlations, np.eye(2))
    matrix[0, 0] = 0.1
    assert given.loadings[0, 0] == 0.5  # a copy
    with pytest.raises(ValueError, match="read-only"):
        given.loadings[0, 0] = 0.1


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"n_factors": None}, "n_factors"),
        ({"n_factors": 0}, "n_factors"),
        ({"n_factors": 1.5}, "n_factors"),
        ({"n_factors": "2"}, "n_factors"),
        ({"n_factors": 3, "loading": CROSSED}, "n_factors"),
        ({"items_per_factor": 1}, "items_per_factor"),
        ({"items_per_factor": 2.5}, "items_per_factor"),
        ({"items_per_factor": math.nan}, "items_per_factor"),
        ({"items_per_factor": "4"}, "items_per_factor"),
        ({"items_per_factor": [3, 4, 5]}, "items_per_factor"),
        ({"items_per_factor": [3, 0]}, "items_per_factor"),
        ({"items_per_factor": [[3, 4]]}, "items_per_factor"),
        ({"loading": 0}, "loading"),
        ({"loading": 1}, "loading"),
        ({"loading": 1.2}, "loading"),
        ({"loading": -1.0}, "loading"),
        ({"loading": math.nan}, "loading"),
        ({"loading": [0.5, 0.6, 0.7]}, "loading"),
        ({"loading": [0.5, 1.5]}, "loading"),
        ({"loading": "high"}, "loading"),
        ({"loading": None}, "loading"),
        ({"loading": [[0.5, "a"]]}, "loading"),
        ({"loading": np.full((2, 2, 2), 0.5)}, "loading"),
        ({"loading": np.array([[0.5, math.nan], [0.5, 0.5]])}, "loading"),
        ({"loading": np.array([[0.5, 0.0], [0.5, 0.0]])}, "loading"),
        ({"loading": np.array([[0.8, 0.7], [0.5, 0.0]])}, "loading"),  # .64 + .49 > 1
        ({"loading": np.array([[1.0, 0.0], [0.0, 0.5]])}, "loading"),
        ({"factor_correlation": 1}, "factor_correlation"),
        ({"factor_correlation": -0.1}, "factor_correlation"),
        ({"factor_correlation": math.nan}, "factor_correlation"),
        ({"factor_correlation": "none"}, "factor_correlation"),
        ({"factor_correlation": None}, "factor_correlation"),
        ({"factor_correlation": np.eye(3)}, "factor_correlation"),
        ({"factor_correlation": [0.1, 0.2]}, "factor_correlation"),
        ({"factor_correlation": [[1, 0.2], [0.3, 1]]}, "factor_correlation"),
        ({"factor_correlation": [[1, math.nan], [math.nan, 1]]}, "factor_correlation"),
        ({"factor_correlation": [[2, 0.2], [0.2, 1]]}, "factor_correlation"),
        ({"factor_correlation": [[1, 1], [1, 1]]}, "factor_correlation"),
        ({"factor_correlation": [[1, 1.2], [1.2, 1]]}, "factor_correlation"),
        ({"levels": 1}, "levels"),
        ({"levels": 2.5}, "levels"),
        ({"levels": "5"}, "levels"),
    ],
)
def test_bad_input_names_the_argument(change, name):
    with pytest.raises(InputError, match=f"`{name}`") as caught:
        survey_design(**{"n_factors": 2, **change})
    assert caught.value.argument == name


# the normal approximation


@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_expected_error_bounds_the_wrong_side_of_the_threshold(correlation):
    """Σ P(pair on the wrong side) by the exact normal law of each |r|, two-sided for non-edges."""
    design = survey_design(2, 3, 0.7, correlation)
    for measure in ("pearson", "kendall", "spearman"):
        R = design.correlations - np.eye(6)  # the diagonal has no standard error
        margin = design.margin(measure)
        tau = margin.weakest_edge.value - margin.value
        rho = design.dependence(measure).values
        E = design.structure.parent_sharing_graph()
        for n in (40, 80, 160):
            se = np.sqrt(LATENT_VARIANCES[measure](R) / n)
            above = stats.norm.sf(tau, rho, se) + stats.norm.cdf(-tau, rho, se)
            wrong = np.where(E, 1 - above, above)[np.triu_indices(6, 1)].sum()
            found = global_pairs(design, measure).error(n)
            assert found == pytest.approx(min(1, wrong), rel=0.02)


def test_local_expected_error_of_independent_factors_is_two_sided_outside():
    """Each factor: 3 pairs within, on one side, and 3 of a member with the outside, on two."""
    design = survey_design(2, 3, 0.7)
    n, tau = 60, 0.49 / 2
    within = stats.norm.cdf(-(0.49 - tau) * math.sqrt(n) / (1 - 0.49**2))
    outside = 2 * stats.norm.cdf(-tau * math.sqrt(n))
    expected = 2 * (3 * within + 3 * outside)
    assert local_pairs(design, "pearson").error(n) == pytest.approx(expected, rel=1e-6)


def test_no_expected_error_without_a_margin_or_a_formula():
    close = survey_design(2, 3, [0.3, 0.9, 0.9, 0.9, 0.9, 0.3], 0.9)
    assert close.margin("pearson").value < 0
    assert global_pairs(close, "pearson") is None
    assert global_pairs(survey_design(2, 3, levels=5), "pearson") is None
    assert local_pairs(survey_design(2, 3), "distance") is None
