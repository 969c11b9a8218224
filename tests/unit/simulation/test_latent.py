import numpy as np
import pytest

from dtstat.core.errors import InputError
from dtstat.simulation.designs import (
    GRAPHS,
    MARGINALS,
    draw_latents,
    equicorrelated,
    graph_correlations,
    path_correlations,
)

N = 50_000
# Monte Carlo standard errors allowed; a single comparison exceeds 4 once in 16,000.
SE = 4
KURTOSIS = {"gaussian": 3, "t5": 9, "skewed": 9, "uniform": 1.8, "bimodal": 1.689}
SKEWNESS = {"gaussian": 0, "skewed": 2, "uniform": 0, "bimodal": 0}

BY_TRACING_PATHS = {
    "v_structure": [[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]],
    "chain": [
        [1, 0.5, 0.25, 0.125],
        [0.5, 1, 0.5, 0.25],
        [0.25, 0.5, 1, 0.5],
        [0.125, 0.25, 0.5, 1],
    ],
    "double_mediation": [
        [1, 0.5, 0.5, 0.5],
        [0.5, 1, 0.25, 0.625],
        [0.5, 0.25, 1, 0.625],
        [0.5, 0.625, 0.625, 1],
    ],
}


@pytest.mark.parametrize("graph", GRAPHS)
def test_population_correlations(graph):
    Phi = graph_correlations(graph, 0.5)
    np.testing.assert_allclose(Phi, BY_TRACING_PATHS[graph], rtol=0, atol=1e-15)


def test_another_path_coefficient():
    b = -0.3
    r = graph_correlations("double_mediation", b)
    np.testing.assert_allclose(r[0, 3], 2 * b**2)
    np.testing.assert_allclose(r[1, 3], b + b**3)
    np.testing.assert_allclose(np.diag(r), 1)


def test_path_model_reproduces_drawn_variables():
    rng = np.random.default_rng(1)
    B = np.tril(rng.uniform(-0.4, 0.4, (4, 4)), k=-1)
    Phi = path_correlations(B)
    residual = (np.eye(4) - B) @ Phi @ (np.eye(4) - B).T
    np.testing.assert_allclose(residual, np.diag(np.diag(residual)), atol=1e-15)
    np.testing.assert_allclose(np.diag(Phi), 1)


@pytest.mark.parametrize(
    ("graph", "coefficient", "factor"),
    [("v_structure", 0.8, 3), ("chain", 1.0, 2), ("double_mediation", 0.65, 4)],
)
def test_too_large_a_coefficient(graph, coefficient, factor):
    with pytest.raises(InputError) as caught:
        graph_correlations(graph, coefficient)
    assert str(caught.value) == (
        "`path_coefficient` must be small enough for factors of variance 1; got "
        f"{coefficient:g}, which makes factor {factor} vary more than that. The paper uses 0.5."
    )


def test_equicorrelated():
    np.testing.assert_array_equal(
        equicorrelated(3, 0.25), [[1, 0.25, 0.25], [0.25, 1, 0.25], [0.25, 0.25, 1]]
    )


@pytest.mark.parametrize("graph", GRAPHS)
def test_sample_correlations(graph):
    Phi = graph_correlations(graph, 0.5)
    Z = draw_latents(N, Phi, "gaussian", np.random.default_rng(2))
    error = np.abs(np.corrcoef(Z.T) - Phi)
    assert (error <= SE * (1 - Phi**2) / np.sqrt(N) + 1e-12).all()


@pytest.mark.parametrize("name", MARGINALS)
def test_mean_zero_and_variance_one(name):
    Z = draw_latents(N, np.eye(4), name, np.random.default_rng(3))
    assert (np.abs(Z.mean(axis=0)) < SE / np.sqrt(N)).all()
    assert (np.abs(Z.var(axis=0) - 1) < SE * np.sqrt((KURTOSIS[name] - 1) / N)).all()


@pytest.mark.parametrize("name", SKEWNESS)
def test_shape_of_the_distribution(name):
    (Z,) = draw_latents(N, np.eye(1), name, np.random.default_rng(4)).T
    # Skewness and kurtosis have heavy-tailed errors; these bounds tell the shapes apart.
    assert np.mean(Z**3) == pytest.approx(SKEWNESS[name], abs=0.3)
    assert np.mean(Z**4) == pytest.approx(KURTOSIS[name], rel=0.15)


def test_t5_against_its_quantiles():
    from scipy import stats

    y = np.array([-9.0, -3.0, 0.0, 1.0, 9.0])
    expected = stats.t.ppf(stats.norm.cdf(-np.abs(y)), 5) * -np.sign(y) / np.sqrt(5 / 3)
    np.testing.assert_allclose(MARGINALS["t5"](y), expected, rtol=1e-10)


def test_bimodal_has_two_modes():
    (Z,) = draw_latents(N, np.eye(1), "bimodal", np.random.default_rng(5)).T
    low, middle, high = (np.mean(np.abs(Z - c) < 0.1) for c in (-0.9, 0, 0.9))
    assert min(low, high) > 3 * middle


@pytest.mark.parametrize("name", MARGINALS)
def test_marginals_rise_and_keep_the_order_of_the_copula(name):
    y = np.linspace(-6, 6, 1001)
    assert (np.diff(MARGINALS[name](y)) > 0).all()


@pytest.mark.parametrize("name", [m for m in MARGINALS if m != "gaussian"])
def test_other_marginals_correlate_less_than_the_copula(name):
    Z = draw_latents(N, equicorrelated(2, 0.5), name, np.random.default_rng(6))
    assert 0.4 < np.corrcoef(Z.T)[0, 1] < 0.5 + SE * 0.75 / np.sqrt(N)
