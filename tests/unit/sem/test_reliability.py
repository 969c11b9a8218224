"""Alpha, omega and average variance extracted: closed forms and edge cases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.data.items import as_items
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.likelihood import fit_normal
from dtstat.sem.model import build_model
from dtstat.sem.ordered import fit_ordered, ordered_rows
from dtstat.sem.reliability import cronbach_alpha, reliability

# Two searches for the same maximum end within about 1e-6 of each other.
REFIT_TOL = 1e-5

CFA = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"


@pytest.fixture
def data() -> pd.DataFrame:
    return dt.load_dataset("holzinger_swineford_9")


def fitted(text: str, data: pd.DataFrame) -> SEMEstimate:
    model = build_model(text, list(data.columns))
    X = data[list(model.observed)].to_numpy(dtype=float)
    return fit_normal(model, X, "ml", len(X))


def with_values(estimate: SEMEstimate, **values: float) -> SEMEstimate:
    """Set parameters, such as ``f_by_x2=1.5`` or ``x1_with_x1=0.2``."""
    theta = estimate.theta.copy()
    word = {"=~": "by", "~~": "with"}
    for row in estimate.model.parameters:
        key = f"{row.lhs}_{word[row.op]}_{row.rhs}"
        if key in values:
            theta[row.free - 1] = values.pop(key)
    assert not values
    implied = estimate.layout.implied(theta)
    return replace(
        estimate,
        theta=theta,
        blocks=(replace(estimate.blocks[0], Sigma=implied.Sigma, S=implied.Sigma),),
    )


def single(data: pd.DataFrame, extra: str = "", **values: float) -> SEMEstimate:
    """One factor with variance 4, loadings 1, 2, 3 and residual variances 5, 6, 7."""
    estimate = fitted("f =~ x1 + x2 + x3\n" + extra, data)
    loadings = {"f_by_x2": 2.0, "f_by_x3": 3.0, "f_with_f": 4.0}
    residuals = {"x1_with_x1": 5.0, "x2_with_x2": 6.0, "x3_with_x3": 7.0}
    return with_values(estimate, **{**loadings, **residuals, **values})


def test_closed_form(data) -> None:
    table = reliability(single(data))
    assert list(table.columns) == ["alpha", "omega", "ave", "n_items"]
    assert table.index.tolist() == ["f"]
    alpha, omega, ave, n_items = table.loc["f"]
    assert omega == pytest.approx(36 * 4 / (36 * 4 + 18))
    assert ave == pytest.approx(np.mean([4 / 9, 16 / 22, 36 / 43]))
    assert alpha == pytest.approx(1.5 * (1 - (9 + 22 + 43) / (36 * 4 + 18)))
    assert n_items == 3


def test_alpha_equals_omega_if_loadings_are_equal(data) -> None:
    table = reliability(single(data, f_by_x2=1.0, f_by_x3=1.0))
    assert table.loc["f", "alpha"] == pytest.approx(table.loc["f", "omega"])


def test_alpha_is_at_most_omega_without_residual_covariances(data) -> None:
    table = reliability(single(data))
    assert table.loc["f", "alpha"] < table.loc["f", "omega"]


def test_residual_covariance_counts_as_error(data) -> None:
    estimate = fitted("f =~ x1 + x2 + x3 + x9\nx3 ~~ x9", data)
    loadings = {f"f_by_x{i}": 1.0 for i in (2, 3, 9)}
    residuals = {f"x{i}_with_x{i}": 2.0 for i in (1, 2, 3, 9)}
    table = reliability(
        with_values(estimate, f_with_f=1.0, x3_with_x9=0.5, **loadings, **residuals)
    )
    assert table.loc["f", "omega"] == pytest.approx(16 / (16 + 8 + 2 * 0.5))


def test_alpha_is_from_the_sample_and_the_rest_from_the_model(data) -> None:
    estimate = fitted(CFA, data)
    other = replace(estimate, blocks=(replace(estimate.blocks[0], S=np.eye(9)),))
    np.testing.assert_allclose(reliability(other)["alpha"], 0, atol=1e-12)
    rest = ["omega", "ave", "n_items"]
    pd.testing.assert_frame_equal(reliability(other)[rest], reliability(estimate)[rest])


def test_reversed_items_change_nothing(data) -> None:
    other = data.assign(x2=10 - data["x2"], x4=-data["x4"])
    np.testing.assert_allclose(
        reliability(fitted(CFA, other)), reliability(fitted(CFA, data)), atol=REFIT_TOL
    )


def test_reversed_item_with_residual_covariance_changes_nothing(data) -> None:
    text = "f =~ x1 + x2 + x3 + x9\nx3 ~~ x9"
    other = data.assign(x9=-data["x9"])
    np.testing.assert_allclose(
        reliability(fitted(text, other)), reliability(fitted(text, data)), atol=REFIT_TOL
    )


def test_omega_of_simple_structure_is_the_share_of_the_implied_variance_of_the_sum(data) -> None:
    estimate = fitted(CFA, data)
    M = estimate.layout.matrices(estimate.theta)
    omega = [
        M.Lambda[o, k].sum() ** 2 * M.Psi[k, k] / estimate.Sigma[o, o].sum()
        for k, o in enumerate([slice(0, 3), slice(3, 6), slice(6, 9)])
    ]
    np.testing.assert_allclose(reliability(estimate)["omega"], omega, rtol=1e-12)


def test_cross_loading_item_belongs_to_both_factors(data) -> None:
    estimate = fitted(CFA + "\nvisual =~ x9", data)
    table = reliability(estimate)
    assert table["n_items"].tolist() == [4, 3, 3]
    M = estimate.layout.matrices(estimate.theta)
    o, k = [6, 7, 8], 2
    true = M.Lambda[o, k].sum() ** 2 * M.Psi[k, k]
    assert table.loc["speed", "omega"] == pytest.approx(true / (true + np.diag(M.Theta)[o].sum()))
    squared = M.Lambda[o, k] ** 2 * M.Psi[k, k] / np.diag(estimate.Sigma)[o]
    assert table.loc["speed", "ave"] == pytest.approx(squared.mean())


def test_variance_of_a_regressed_factor_is_its_whole_variance(data) -> None:
    """A regression among factors is another way to write their covariance."""
    regressed = reliability(fitted(CFA + "\nspeed ~ visual + textual\nvisual ~~ textual", data))
    np.testing.assert_allclose(regressed, reliability(fitted(CFA, data)), atol=REFIT_TOL)


def test_item_that_takes_part_in_a_regression_keeps_its_loading(data) -> None:
    """Such items are η in the core; x4 as covariate of x3 changes where x3 sits."""
    table = reliability(fitted("f =~ x1 + x2 + x3\nx3 ~ 0*x4", data))
    plain = reliability(fitted("f =~ x1 + x2 + x3", data))
    np.testing.assert_allclose(table, plain, atol=REFIT_TOL)


def test_loading_fixed_at_zero_makes_no_item(data) -> None:
    table = reliability(fitted("f =~ x1 + x2 + x3 + 0*x4", data))
    np.testing.assert_allclose(
        table, reliability(fitted("f =~ x1 + x2 + x3", data)), atol=REFIT_TOL
    )


def test_what_does_not_exist_is_missing(data) -> None:
    single_item = reliability(fitted("f =~ x1 + x2 + x3\ng =~ x4", data)).loc["g"]
    assert np.isnan(single_item["alpha"])
    assert single_item["omega"] == pytest.approx(1)
    second = reliability(fitted(CFA + "\ng =~ visual + textual + speed", data))
    assert second.loc["g", ["alpha", "omega", "ave"]].isna().all()
    assert second.loc["g", "n_items"] == 0
    assert second["n_items"].dtype == int


def test_of_ordered_items_it_is_that_of_the_responses_behind_them() -> None:
    names = ["engage_1", "engage_2", "engage_3", "engage_4"]
    items = as_items(dt.load_dataset("likert_survey")[names].dropna(), kinds="ordinal")
    rows = ordered_rows(items, names)
    text = "f =~ engage_1 + engage_2 + engage_3 + engage_4"
    estimate = fit_ordered(build_model(text, names, std_lv=True, ordered=rows.ordered), rows)
    loadings = estimate.estimates[:4]
    table = reliability(estimate)
    true = loadings.sum() ** 2
    assert table.loc["f", "omega"] == pytest.approx(true / (true + (1 - loadings**2).sum()))
    assert table.loc["f", "ave"] == pytest.approx((loadings**2).mean())
    assert table.loc["f", "alpha"] == pytest.approx(4 / 3 * (1 - 4 / estimate.S.sum()))


def test_cronbach_alpha_of_parallel_items_is_spearman_brown() -> None:
    S = np.full((4, 4), 0.3) + 0.7 * np.eye(4)
    assert cronbach_alpha(S) == pytest.approx(4 * 0.3 / (1 + 3 * 0.3))
    assert np.isnan(cronbach_alpha(np.eye(1)))


def test_hierarchical_omega_of_a_bifactor_model_is_its_closed_form() -> None:
    items = [f"x{k}" for k in range(1, 10)]
    g = np.array([0.7, 0.6, 0.7, 0.5, 0.6, 0.7, 0.6, 0.5, 0.6])
    s = np.array([0.4, 0.3, 0.4, 0.5, 0.4, 0.3, 0.5, 0.4, 0.4])
    own = np.arange(9)[:, None] // 3 == np.arange(3)
    L = np.column_stack([g, s[:, None] * own])
    Sigma = L @ L.T + np.diag(1 - (L**2).sum(axis=1))
    X = np.random.default_rng(1).normal(size=(400, 9))
    X -= X.mean(axis=0)
    X = X @ np.linalg.inv(np.linalg.cholesky(X.T @ X / 400)).T @ np.linalg.cholesky(Sigma).T
    text = "g =~ " + " + ".join(items) + "; a =~ x1 + x2 + x3; b =~ x4 + x5 + x6; c =~ x7 + x8 + x9"
    fit = dt.cfa(pd.DataFrame(X, columns=items), text, std_lv=True, orthogonal=True)
    table = fit.reliability()
    total = Sigma.sum()
    assert table.loc["g", "omega_h"] == pytest.approx(g.sum() ** 2 / total, rel=1e-3)
    explained = 1 - (1 - (L**2).sum(axis=1)).sum() / total
    assert table.loc["g", "omega_total"] == pytest.approx(explained, rel=1e-3)
    part = Sigma[:3, :3].sum()
    assert table.loc["a", "omega_h"] == pytest.approx(s[:3].sum() ** 2 / part, rel=1e-3)


def test_hierarchical_omega_of_a_second_order_factor_counts_all_items(data) -> None:
    fit = dt.cfa(data, CFA + "\ng =~ visual + textual + speed")
    table, values = fit.reliability(), fit.parameters
    est = values.set_index(["lhs", "op", "rhs"])["est"]
    sums = {f: est.loc[[(f, "=~", i) for i in items]].sum() for f, items in KEYS.items()}
    upper = sum(est["g", "=~", f] * total for f, total in sums.items())
    wanted = upper**2 * est["g", "~~", "g"] / fit.implied_covariance.to_numpy().sum()
    assert table.loc["g", "omega_h"] == pytest.approx(wanted)
    assert table.loc["g", "n_items"] == 9
    assert table.loc["g", "alpha"] == pytest.approx(cronbach_alpha(data.cov().to_numpy()))
    assert table.loc["g", "omega_h"] < table.loc["g", "omega_total"]


KEYS = {"visual": ["x1", "x2", "x3"], "textual": ["x4", "x5", "x6"], "speed": ["x7", "x8", "x9"]}


def test_without_shared_items_all_omegas_are_the_same(data) -> None:
    table = dt.cfa(data, CFA).reliability()
    for column in ("omega_h", "omega_total"):
        np.testing.assert_allclose(table[column], table["omega"], rtol=1e-10)


def test_htmt_is_a_ratio_of_mean_correlations(data) -> None:
    found = dt.cfa(data, CFA).htmt()
    R = data.corr().abs()
    within = {
        f: np.mean([R.loc[a, b] for a in items for b in items if a < b])
        for f, items in KEYS.items()
    }
    for a, mine in KEYS.items():
        for b, its in KEYS.items():
            ratio = R.loc[mine, its].to_numpy().mean() / np.sqrt(within[a] * within[b])
            assert found.loc[a, b] == pytest.approx(1.0 if a == b else ratio)
    assert dt.cfa(data, CFA.replace("x3", "x3 + x4", 1)).htmt().isna().to_numpy().any()


def test_groups_have_their_own_reliability(data) -> None:
    data = data.assign(school=["p"] * 156 + ["g"] * 145)
    both = dt.cfa(data, CFA, group="school")
    alone = dt.cfa(data[data["school"] == "g"], CFA)
    np.testing.assert_allclose(
        both.reliability().loc["g"], alone.reliability(), rtol=1e-4, equal_nan=True
    )
    np.testing.assert_allclose(both.htmt().loc["g"], alone.htmt())
