"""Extraction of factors, its fit, and the result."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import DataWarning, InputError
from dtstat.data.datasets import load_dataset
from dtstat.data.items import as_items
from dtstat.dependence.matrix import DependenceMatrix
from dtstat.efa.extraction import (
    degrees_of_freedom,
    extract,
    fit_indices,
    maximum_likelihood,
    minres,
    minres_objective,
    ml_objective,
)
from dtstat.efa.result import fit_efa

# Exact correlations have an exact solution; the optimisers stop at derivatives of 1e-6.
SOLVED_TOL = 1e-4
# Central differences with steps of 1e-6 lose about ten digits of the value.
DIFFERENCE_TOL = 1e-6

P = np.zeros((9, 3))
P[:3, 0], P[3:6, 1], P[6:, 2] = (0.8, 0.7, 0.6), (0.75, -0.65, 0.7), (0.6, 0.5, 0.85)
PHI = np.array([[1.0, 0.4, 0.2], [0.4, 1.0, 0.3], [0.2, 0.3, 1.0]])
SHARED = P @ PHI @ P.T
R = SHARED + np.diag(1 - np.diag(SHARED))
NINE = "holzinger_swineford_9"


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return np.corrcoef(rng.multivariate_normal(np.zeros(9), R, n, method="cholesky").T)


@pytest.fixture(scope="module")
def nine():
    return as_items(load_dataset(NINE))


@pytest.fixture(scope="module")
def fit(nine):
    return fit_efa(nine, 3)


@pytest.mark.parametrize("objective", [minres_objective, ml_objective])
@pytest.mark.parametrize("d", [1, 3])
def test_gradients_are_those_of_finite_differences(objective, d):
    S, psi = sample(), np.random.default_rng(1).uniform(0.2, 0.9, 9)
    step = 1e-6
    numeric = [
        (objective(psi + e, S, d)[0] - objective(psi - e, S, d)[0]) / (2 * step)
        for e in step * np.eye(9)
    ]
    np.testing.assert_allclose(objective(psi, S, d)[1], numeric, rtol=1e-5, atol=DIFFERENCE_TOL)


def test_objectives_hold_where_a_leading_factor_has_no_variance():
    """Uniquenesses of 1 leave nothing, and the derivative is still the derivative."""
    psi, S = np.full(3, 0.99), np.eye(3) - 0.1 * (1 - np.eye(3))
    step = 1e-6
    for objective in (minres_objective, ml_objective):
        value, gradient = objective(psi, S, 2)
        numeric = [
            (objective(psi + e, S, 2)[0] - objective(psi - e, S, 2)[0]) / (2 * step)
            for e in step * np.eye(3)
        ]
        assert value >= 0
        np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=DIFFERENCE_TOL)


@pytest.mark.parametrize("method", ["minres", "ml"])
def test_exact_correlations_are_reproduced(method):
    found = extract(R, 3, method)
    assert found.converged
    assert not found.heywood.any()
    np.testing.assert_allclose(found.loadings @ found.loadings.T, SHARED, atol=SOLVED_TOL)
    np.testing.assert_allclose(found.uniquenesses, 1 - np.diag(SHARED), atol=SOLVED_TOL)
    assert found.objective == pytest.approx(0, abs=1e-8)


def test_minres_minimises_the_residuals_off_the_diagonal():
    """The search over uniquenesses ends where one over all loadings does."""
    from scipy.optimize import minimize

    S, off = sample(), 1 - np.eye(9)

    def residuals(flat):
        L = flat.reshape(9, 2)
        return 0.5 * float(np.sum(((S - L @ L.T) * off) ** 2))

    found = minres(S, 2)
    directly = minimize(residuals, np.random.default_rng(0).normal(size=18) / 3, method="BFGS")
    assert residuals(found.loadings.ravel()) == pytest.approx(directly.fun, abs=1e-6)
    assert found.objective == pytest.approx(directly.fun, abs=1e-6)


def test_ml_objective_is_the_discrepancy_of_the_fitted_matrix():
    S = sample()
    found = maximum_likelihood(S, 2)
    Sigma = found.loadings @ found.loadings.T + np.diag(found.uniquenesses)
    ratio = np.linalg.solve(Sigma, S)
    discrepancy = np.trace(ratio) - np.log(np.linalg.det(ratio)) - 9
    assert found.objective == pytest.approx(discrepancy, abs=1e-8)
    assert fit_indices(S, found, 300).objective == pytest.approx(discrepancy, abs=1e-8)


def test_minres_takes_a_matrix_that_ml_refuses():
    S = np.array([[1, 0.9, 0.1], [0.9, 1, 0.9], [0.1, 0.9, 1]])
    with pytest.raises(InputError, match=r"positive definite.*minres"):
        maximum_likelihood(S, 1)
    found = minres(S, 1)
    assert found.converged
    indices = fit_indices(S, found, 100)
    assert (indices.chi_square, indices.tli, indices.rmsea, indices.bic) == (None,) * 4
    assert indices.rmsr > 0


@pytest.mark.parametrize("bad", [0, -1, 9, 10, 2.5, "two", True])
def test_impossible_numbers_of_factors_are_refused(bad):
    with pytest.raises(InputError, match="`n_factors` must be"):
        minres(R, bad)


def test_heywood_cases_are_marked():
    S = np.array([[1, 0.9, 0.8], [0.9, 1, 0.5], [0.8, 0.5, 1]])  # λ₁² = .9 · .8 / .5 > 1
    assert minres(S, 1).heywood.tolist() == [True, False, False]
    with pytest.warns(DataWarning, match="explain a without error"):
        fit = fit_efa(DependenceMatrix.from_matrix(S, names=list("abc")), 1)
    assert fit.heywood == ("a",)
    assert fit.notes[0] in fit.summary().to_text()


def test_degrees_of_freedom():
    assert [degrees_of_freedom(9, d) for d in (1, 3, 5, 6)] == [27, 12, 1, -3]
    assert degrees_of_freedom(25, 5) == 185


def test_too_many_factors_warn(nine):
    with pytest.warns(DataWarning) as caught:
        fit = fit_efa(nine, 7)
    assert "-6 degrees of freedom" in str(caught[0].message)
    assert fit.fit_indices.p_value is None
    assert fit.fit_indices.rmsea is None


def test_unknown_names_are_refused(nine):
    with pytest.raises(InputError, match=r"`method`.*minres"):
        fit_efa(nine, 3, method="minre")
    with pytest.raises(InputError, match=r"`rotation`.*oblimin"):
        fit_efa(nine, 3, rotation="oblimn")


def test_the_factors_of_the_nine_tests(fit):
    assert fit.to_structure(0.4).to_keys() == {
        "F1": ["x4", "x5", "x6"],
        "F2": ["x1", "x2", "x3"],
        "F3": ["x7", "x8", "x9"],
    }


def test_parts_agree(fit):
    P_, Phi = fit.loadings.to_numpy(), fit.factor_correlations.to_numpy()
    np.testing.assert_allclose(np.diag(P_ @ Phi @ P_.T), fit.communalities, atol=1e-10)
    np.testing.assert_allclose(fit.communalities + fit.uniquenesses, 1, atol=SOLVED_TOL)
    variance = fit.variance
    assert variance.loc["SS loadings"].sum() == pytest.approx(fit.communalities.sum())
    assert variance.loc["SS loadings"].is_monotonic_decreasing
    assert variance.loc["Cumulative Proportion"].iloc[-1] == pytest.approx(1)
    assert variance.loc["Cumulative Var"].iloc[-1] == pytest.approx(fit.communalities.mean())


def test_frames(fit):
    assert list(fit.to_frame().columns) == ["F1", "F2", "F3", "h2", "u2", "com"]
    tidy = fit.tidy()
    assert tidy.shape == (27, 3)
    assert (
        tidy.query("item == 'x5' and factor == 'F1'").loading.item() == fit.loadings.loc["x5", "F1"]
    )
    glance = fit.glance()
    assert len(glance) == 1
    assert glance["n_obs"].item() == 301
    assert glance["chi_square"].item() == fit.fit_measures["chi_square"]


def test_nothing_can_be_changed(fit):
    before, changed = fit.loadings, fit.loadings
    changed.iloc[0, 0] = 99
    pd.testing.assert_frame_equal(fit.loadings, before)
    with pytest.raises(ValueError, match="read-only"):
        fit.rotated.pattern[0, 0] = 99
    with pytest.raises(AttributeError):
        fit.method = "ml"


def test_summary_sorts_and_blanks(fit):
    table = fit.summary(sort=True, cutoff=0.3).tables[0].to_frame()
    assert table["item"].tolist()[:3] == ["x5", "x4", "x6"]
    assert table.iloc[0, 2] == ""
    assert float(table.iloc[0, 1]) == round(fit.loadings.loc["x5", "F1"], 2)
    text = fit.summary().to_text()
    assert "Factor correlations" in text
    assert "RMSEA" in text


def test_orthogonal_and_single_factors_have_no_correlation_table(nine):
    for fit in (fit_efa(nine, 3, rotation="varimax"), fit_efa(nine, 1)):
        assert "Factor correlations" not in fit.summary().to_text()
        np.testing.assert_array_equal(fit.factor_correlations, np.eye(fit.n_factors))


def test_without_rows_there_is_no_test_and_it_is_said():
    fit = fit_efa(DependenceMatrix.from_matrix(sample()), 3)
    missing = {"chi_square", "p_value", "chi_square_null", "tli", "rmsea", "bic"}
    assert all(fit.fit_measures[name] is None for name in missing)
    text = fit.summary().to_text()
    assert "Give `n_obs`" in text
    assert "RMSEA  " not in text
    assert np.isnan(fit.glance()["chi_square"].item())
    known = fit_efa(DependenceMatrix.from_matrix(sample()), 3, n_obs=300)
    assert known.fit_measures["chi_square"] > 0


def test_gaps_are_left_out_pair_by_pair(nine):
    frame = nine.to_frame().mask(np.random.default_rng(0).random((301, 9)) < 0.1)
    fit = fit_efa(as_items(frame), 3)
    f, residual = fit.fit_indices, fit.fit_indices.rmsr**2 * 72
    assert fit.n_obs == 301
    assert 220 < f.empirical_chi_square / residual < 260  # about 301 · .9² rows a pair


def test_empty_factors_leave_the_structure(fit):
    assert fit.to_structure(0.84).n_factors == 1
    with pytest.raises(InputError, match="`cutoff`"):
        fit.to_structure(1.5)


def test_how_many_factors_must_be_said():
    with pytest.raises(InputError, match="`n_factors` is missing: how many"):
        dt.efa(load_dataset("holzinger_swineford_9"))


def test_a_solution_is_saved(fit, tmp_path):
    fit = fit.rename(["one", "two", "three"]).reflect(["two"])
    fit.save(tmp_path / "efa.dtstat")
    again = dt.load(tmp_path / "efa.dtstat")
    pd.testing.assert_frame_equal(again.loadings, fit.loadings)
    assert again.summary().to_text() == fit.summary().to_text()
    assert again.to_tikz() == fit.to_tikz()


def test_residuals_and_scores_follow_from_loadings():
    data = load_dataset("holzinger_swineford_9")
    fit = fit_efa(as_items(data), 3)
    P, Phi = fit.loadings.to_numpy(), fit.factor_correlations.to_numpy()
    R = data.corr().to_numpy()
    implied = P @ Phi @ P.T + np.diag(fit.uniquenesses)
    np.testing.assert_allclose(fit.implied_correlations, implied)
    np.testing.assert_allclose(fit.residuals(), R - implied, atol=1e-12)
    Z = (data - data.mean()) / data.std()
    scores = fit.factor_scores(data)
    np.testing.assert_allclose(scores, Z @ np.linalg.solve(R, P @ Phi), atol=1e-8)
    assert list(fit.augment(data))[-3:] == ["F1_score", "F2_score", "F3_score"]
    gaps = data.copy()
    gaps.iloc[4, 2] = np.nan
    assert fit.factor_scores(gaps).isna().any(axis=1).tolist() == [k == 4 for k in range(301)]


def test_rows_that_cannot_be_standardized_are_refused():
    data = load_dataset("holzinger_swineford_9")
    with pytest.raises(InputError, match=r"same answer to x1, .* Give all rows"):
        fit_efa(as_items(data), 3).factor_scores(data.iloc[:1])
