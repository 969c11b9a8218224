"""Parallel analysis."""

from dataclasses import replace

import numpy as np
import pytest

from dtstat.core.checks import streams
from dtstat.core.errors import InputError
from dtstat.data.datasets import load_dataset
from dtstat.data.items import as_items
from dtstat.dependence.compute import dependence_matrix
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.dependence.pearson import pearson
from dtstat.dependence.polychoric import polychoric_pair, thresholds
from dtstat.efa.parallel_analysis import (
    cut_eigenvalues,
    eigenvalues,
    random_correlations,
    resampled_eigenvalues,
    run_parallel_analysis,
    simulated_eigenvalues,
    suggested_number,
)


@pytest.fixture(scope="module")
def nine():
    return as_items(load_dataset("holzinger_swineford_9"))


@pytest.fixture(scope="module")
def analysis(nine):
    return run_parallel_analysis(nine, seed=1)


def test_eigenvalues_of_one_factor():
    loading = np.array([0.8, 0.7, 0.6, 0.5])
    R = np.outer(loading, loading)
    np.fill_diagonal(R, 1)
    found = eigenvalues(R)
    np.testing.assert_allclose(found.factors, [loading @ loading, 0, 0, 0], atol=1e-4)
    np.testing.assert_allclose(found.components, np.linalg.eigvalsh(R)[::-1], atol=1e-12)


@pytest.mark.parametrize(
    ("observed", "expected"), [([3, 2, 0.5, 2], 2), ([0.5, 2, 2, 2], 0), ([2, 2, 2, 2], 4)]
)
def test_counting_stops_at_the_first_that_fails(observed, expected):
    assert suggested_number(np.array(observed, dtype=float), np.ones(4)) == expected


def test_drawn_correlations_have_the_distribution_of_those_of_rows():
    """Bartlett's decomposition beside plain rows: mean, spread and largest eigenvalue."""
    n, p, draws = 30, 6, 4000
    upper = np.triu_indices(p, 1)
    fast = [random_correlations(n, p, rng) for rng in streams(1, draws)]
    plain = [pearson(rng.normal(size=(n, p))) for rng in streams(2, draws)]
    a, b = (np.array([R[upper] for R in drawn]) for drawn in (fast, plain))
    # var r = 1 / (n − 1) exactly; 4 standard errors over 15 × 4000 draws, pairs nearly independent
    assert abs(a.mean()) < 4 / np.sqrt((n - 1) * a.size)
    assert a.var() == pytest.approx(1 / (n - 1), rel=4 * np.sqrt(2 / a.size))
    tops = [np.array([np.linalg.eigvalsh(R)[-1] for R in drawn]) for drawn in (fast, plain)]
    error = np.sqrt(sum(top.var() for top in tops) / draws)
    assert abs(tops[0].mean() - tops[1].mean()) < 4 * error
    np.testing.assert_allclose(np.array(fast).diagonal(axis1=1, axis2=2), 1, atol=1e-12)
    assert a.shape == b.shape


def test_fewer_rows_than_items_can_be_simulated():
    R = random_correlations(5, 8, np.random.default_rng(0))
    assert np.linalg.matrix_rank(R) == 4
    np.testing.assert_allclose(np.diag(R), 1)


def test_resampling_destroys_what_items_share_and_keeps_gaps(nine):
    X = nine.values.copy()
    X[:30, 0] = np.nan
    before = X.copy()
    found = resampled_eigenvalues(X, streams(0, 10))
    np.testing.assert_array_equal(X, before)
    simulated = simulated_eigenvalues(301, 9, streams(1, 10))
    assert found.components.shape == (10, 9)
    # both are pure noise of 301 rows: largest eigenvalue near 1.27 with spread .05, observed 3.2
    assert abs(found.components[:, 0].mean() - simulated.components[:, 0].mean()) < 0.1


def test_the_nine_tests_have_three_factors(analysis):
    assert (analysis.n_factors, analysis.n_components) == (3, 3)


def test_the_same_seed_gives_the_same(nine, analysis):
    again = run_parallel_analysis(nine, seed=1)
    np.testing.assert_array_equal(again.to_frame(), analysis.to_frame())
    other = run_parallel_analysis(nine, seed=2)
    assert not np.array_equal(other.simulated.factors, analysis.simulated.factors)


def test_a_fresh_seed_is_told(nine):
    first = run_parallel_analysis(nine, n_iter=2)
    again = run_parallel_analysis(nine, n_iter=2, seed=first.seed)
    np.testing.assert_array_equal(again.to_frame(), first.to_frame())


def test_noise_rarely_has_factors():
    """Noise exceeds the .95 quantile in 5% of data sets; 4 standard errors of 200 and 200."""
    reference = simulated_eigenvalues(200, 8, streams(1, 200)).quantile(0.95)
    noise = simulated_eigenvalues(200, 8, streams(2, 200))
    highest = 0.05 + 4 * np.sqrt(0.05 * 0.95 * 2 / 200)
    for observed, limit in [
        (noise.factors, reference.factors),
        (noise.components, reference.components),
    ]:
        found = [suggested_number(values, limit) for values in observed]
        assert 0 < np.count_nonzero(found) / 200 < highest


def test_a_larger_quantile_never_finds_more(analysis):
    counts = [replace(analysis, quantile=q).n_factors for q in (0.0, 0.5, 0.95)]
    assert counts == sorted(counts, reverse=True)


def test_frame_and_summary(analysis):
    frame = analysis.to_frame()
    assert list(frame.columns) == [
        *("factors", "simulated_factors", "resampled_factors"),
        *("components", "simulated_components", "resampled_components"),
    ]
    assert frame.index.tolist() == list(range(1, 10))
    expected = np.quantile(analysis.simulated.factors, 0.95, axis=0)
    np.testing.assert_array_equal(frame["simulated_factors"], expected)
    text = analysis.summary(max_rows=4).to_text()
    assert "3 factors, 3 components" in text
    assert "seed 1" in text
    assert len(analysis.summary(max_rows=4).tables[0].rows) == 4


def test_a_matrix_needs_rows_and_has_nothing_to_resample(nine):
    R = pearson(nine.values)
    with pytest.raises(InputError, match="`n_obs` must be given"):
        run_parallel_analysis(DependenceMatrix.from_matrix(R), seed=1)
    found = run_parallel_analysis(DependenceMatrix.from_matrix(R), n_obs=301, seed=1)
    assert found.resampled is None
    assert "resampled_factors" not in found.to_frame()
    assert found.n_factors == 3


@pytest.mark.parametrize(
    ("wrong", "name"), [({"n_iter": 1}, "n_iter"), ({"quantile": 95}, "quantile")]
)
def test_impossible_arguments_are_refused(nine, wrong, name):
    with pytest.raises(InputError, match=f"`{name}` must be"):
        run_parallel_analysis(nine, **wrong)


def test_progress_is_reported(nine):
    calls = []
    run_parallel_analysis(nine, n_iter=3, seed=1, progress=lambda done, all_: calls.append(done))
    assert calls == [1, 2, 3, 1, 2, 3]


# --- latent correlations: noise is cut as the items are ---


def skewed_noise(seed, n=300, p=12):
    """Independent yes/no items, some hard, some easy."""
    return (np.random.default_rng(seed).random((n, p)) < np.linspace(0.05, 0.95, p)).astype(float)


@pytest.mark.parametrize("seed", range(6))
def test_independent_skewed_items_have_no_factor(seed):
    found = run_parallel_analysis(as_items(skewed_noise(seed)), measure="tetrachoric", seed=seed)
    assert found.n_factors == found.n_components == 0
    uncut = simulated_eigenvalues(300, 12, streams(seed, 20)).quantile(0.95)
    assert suggested_number(found.observed.components, uncut.components) >= 3


@pytest.mark.parametrize("measure", ["tetrachoric", "polychoric", "mixed"])
def test_factors_of_yes_no_items_are_counted(measure):
    rng = np.random.default_rng(1)
    latent = 0.8 * np.repeat(rng.normal(size=(500, 2)), 5, axis=1) + 0.6 * rng.normal(
        size=(500, 10)
    )
    X = (latent > np.tile([-1.2, -0.6, 0, 0.6, 1.2], 2)).astype(float)
    found = run_parallel_analysis(as_items(X), measure=measure, seed=1)
    assert found.n_factors == found.n_components == 2
    assert found.resampled is not None
    assert "cut as the items are" in repr(found)


def test_noise_is_cut_where_the_items_are_and_has_their_gaps():
    """Beside a plain twin: draw, cut, take out, correlate pair by pair."""
    X = np.column_stack([skewed_noise(1, p=3), np.random.default_rng(2).integers(1, 6, 300)])
    X[::7, 1] = X[:40, 3] = np.nan
    rng = np.random.default_rng(5)
    found = cut_eigenvalues(X, ["binary"] * 3 + ["ordinal"], [rng])
    Z = np.random.default_rng(5).normal(size=X.shape)
    cut = [(Z[:, [j]] > thresholds(X[:, j])).sum(axis=1) for j in range(4)]
    Y = np.where(np.isnan(X), np.nan, np.column_stack(cut))
    R = np.array(
        [
            [1 if i == j else polychoric_pair(a, b) for j, b in enumerate(Y.T)]
            for i, a in enumerate(Y.T)
        ]
    )
    np.testing.assert_allclose(found.components[0], np.linalg.eigvalsh(R)[::-1], atol=1e-10)


def test_continuous_items_are_not_cut():
    found = cut_eigenvalues(np.zeros((50, 4)), ["continuous"] * 4, [np.random.default_rng(5)])
    R = pearson(np.random.default_rng(5).normal(size=(50, 4)))
    np.testing.assert_allclose(found.components[0], np.linalg.eigvalsh(R)[::-1], atol=1e-12)


@pytest.mark.parametrize("measure", ["polychoric", "tetrachoric", "mixed"])
def test_latent_correlations_without_the_answers_are_refused(measure):
    matrix = dependence_matrix(as_items(skewed_noise(1)), measure)
    with pytest.raises(InputError, match=rf'parallel_analysis\(data, measure="{measure}"\)'):
        run_parallel_analysis(matrix, seed=1)


def test_a_measure_without_noise_to_compare_with_is_refused(nine):
    with pytest.raises(InputError, match="`measure` must be"):
        run_parallel_analysis(nine, measure="distance")
