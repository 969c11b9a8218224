"""Least squares of ordered items: derivatives, conventions, covariates, gaps, scores, refusals."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal

import dtstat as dt
from dtstat.dependence.bivariate_normal import table_correlation
from dtstat.dependence.rectangles import rectangle_correlation, rectangle_probabilities
from dtstat.sem.matrices import Layout
from dtstat.sem.model import build_model
from dtstat.sem.model_statistics import ModelStatistics
from dtstat.sem.ordinal_moments import ordinal_moments

ITEMS = [f"u{k}" for k in range(1, 7)]
TWO = "F =~ u1 + u2 + u3\nG =~ u4 + u5 + u6"
EQUAL = ["thresholds", "loadings"]
ROUNDING = 1e-9


def answers(n=400, seed=4):
    rng = np.random.default_rng(seed)
    z, w = rng.normal(size=n), rng.integers(0, 2, n)
    F = 0.4 * z + rng.normal(size=n)
    G = 0.5 * F + 0.3 * w + rng.normal(size=n)
    behind = np.column_stack([F, F, F, G, G, G]) * [1, 0.8, 0.9, 1, 0.7, 0.8]
    behind += 0.8 * rng.normal(size=(n, 6))
    data = pd.DataFrame(np.digitize(behind, [-0.8, 0.6]), columns=ITEMS)
    c = np.exp(0.5 * F) + rng.exponential(size=n)
    return data.assign(c=c, z=z, w=w, g=np.where(np.arange(n) % 5 < 2, "north", "south"))


DATA = answers()

DERIVATIVES = {
    "delta": (TWO, {}),
    "theta": (TWO + "\nu1 ~~ u4", {"parameterization": "theta"}),
    "covariates": (TWO + "\nF + G ~ z + w\nu3 ~ z", {}),
    "covariates, theta": (TWO + "\nF + G ~ z\nu3 ~ w", {"parameterization": "theta"}),
    "ordered outcome and mediator": ("F =~ u1 + u2 + u3\nu4 ~ F + z\nu5 ~ u4 + F\nu6 ~ u5", {}),
    "free scales": (
        "F =~ u1 + u2 + u3\nu1 ~*~ NA*u1\nu2 ~*~ NA*u2\nu4 ~ F\nu5 ~ u4\nu4 ~*~ NA*u4\nu1 ~ NA*1",
        {},
    ),
    "continuous": ("F =~ u1 + u2 + c\nc ~ z\nG =~ u4 + u5 + u6", {}),
}


@pytest.mark.parametrize("case", DERIVATIVES)
def test_derivatives_of_the_statistics(case):
    text, options = DERIVATIVES[case]
    ordered = {name: 3 for name in ITEMS}
    model = build_model(text, list(DATA.columns), ordered=ordered, **options)
    rng = np.random.default_rng(0)
    values = {"=~": 0.7, "~~": 0.4, "~": 0.3, "~1": 0.2, "|": 0.1, "~*~": 0.9}
    theta = np.zeros(model.n_free)
    for row in model.parameters:
        if row.free:
            theta[row.free - 1] = values[row.op] + 0.1 * rng.random()
    statistics = ModelStatistics(Layout(model))
    at, J = statistics.values_and_derivatives(theta)
    np.testing.assert_allclose(at, statistics.values(theta))
    for k in range(len(theta)):
        step = 1e-5 * np.eye(len(theta))[k]
        rise = statistics.values(theta + step) - statistics.values(theta - step)
        np.testing.assert_allclose(J[:, k], rise / 2e-5, atol=1e-8, err_msg=case)


@pytest.mark.parametrize("options", [{}, {"group": "g", "group_equal": EQUAL}])
def test_delta_and_theta_are_the_same_model(options):
    delta, theta = (
        dt.sem(DATA, TWO + "\nF ~ z", ordered=ITEMS, parameterization=name, **options)
        for name in ("delta", "theta")
    )
    for name, value in delta.fit_measures.items():
        assert theta.fit_measures[name] == pytest.approx(value, rel=1e-5, abs=1e-6), name
    np.testing.assert_allclose(delta.loadings, theta.loadings, atol=1e-5)
    np.testing.assert_allclose(delta.r_squared, theta.r_squared, atol=1e-5)
    np.testing.assert_allclose(delta.residuals(), theta.residuals(), atol=1e-5)
    for method in ("regression", "eap"):
        ratio = theta.factor_scores(DATA, method) / delta.factor_scores(DATA, method)
        for _, part in ratio.groupby(DATA["g"]):  # factors in other units
            np.testing.assert_allclose(part, np.tile(part.iloc[0], (len(part), 1)), rtol=2e-3)


def test_residual_variances_and_scales_follow():
    for name in ("delta", "theta"):
        fit = dt.cfa(DATA, TWO, ordered=ITEMS, group="g", group_equal=EQUAL, parameterization=name)
        table = fit.parameters.set_index(["op", "lhs", "group"])["est"]
        for view, group in zip(fit.estimate.views, fit.groups, strict=True):
            Sigma = view.layout.implied(view.theta).Sigma
            for k, item in enumerate(ITEMS):
                scale = table["~*~", item, group]
                assert scale**2 * Sigma[k, k] == pytest.approx(1.0), (name, item)


def test_estimators_share_estimates_and_differ_in_errors():
    robust, plain = (dt.cfa(DATA, TWO, ordered=ITEMS, estimator=e) for e in ("wlsmv", "DWLS"))
    np.testing.assert_allclose(robust.parameters["est"], plain.parameters["est"], atol=ROUNDING)
    assert robust.fit_measures["chisq"] == pytest.approx(plain.fit_measures["chisq"])
    assert "chisq.scaled" not in plain.fit_measures
    free = robust.parameters["se"] > 0
    assert (robust.parameters["se"] - plain.parameters["se"])[free].abs().max() > 1e-3
    mean = dt.cfa(DATA, TWO, ordered=ITEMS, estimator="wlsm").estimate.test
    assert mean.shift == 0


def test_limits_of_rows_are_those_of_a_table():
    rng = np.random.default_rng(1)
    h, k = np.array([-1e10, -0.5, 0.8, 1e10]), np.array([-1e10, 0.1, 1e10])
    table = np.array([[30.0, 12.0], [25.0, 31.0], [9.0, 22.0]])
    a, b = (np.repeat(x.ravel(), table.ravel().astype(int)) for x in np.indices(table.shape))
    order = rng.permutation(a.size)
    rows = [np.column_stack([e[c], e[c + 1]])[order] for e, c in ((h, a), (k, b))]
    same = np.ones(a.size)
    whole = rectangle_correlation(*rows, same)
    assert whole == pytest.approx(table_correlation(table, h, k), abs=1e-8)
    for rho in (-0.97, -0.4, 0.0, 0.6, 0.95):
        P = rectangle_probabilities(rho, np.array([[-0.5, 0.8]]), np.array([[0.1, 2.0]]))
        normal = multivariate_normal([0, 0], [[1, rho], [rho, 1]])
        ends = product(((1, 0.8), (-1, -0.5)), ((1, 2.0), (-1, 0.1)))
        corners = [s * t * normal.cdf([x, y]) for (s, x), (t, y) in ends]
        assert P[0] == pytest.approx(sum(corners), abs=1e-7)


@pytest.mark.parametrize("derivative", ["product", "observed"])
def test_gaps_of_one_row_change_little_and_none_change_nothing(derivative):
    """The way by rows, which gaps need, gives what the way by tables gives."""
    values = DATA[["u1", "u2", "c", "u4"]].to_numpy(dtype=float)
    kinds = ["ordinal", "ordinal", "continuous", "ordinal"]
    tables = ordinal_moments(values, kinds, derivative=derivative)
    empty = np.vstack([values, [[1.0, np.nan, np.nan, np.nan]]])
    rows = ordinal_moments(empty, kinds, derivative=derivative)
    np.testing.assert_allclose(rows.correlations[1:, 1:], tables.correlations[1:, 1:], atol=1e-6)
    a, b = (np.diag(m.gamma)[-1] / m.n_obs for m in (rows, tables))  # of u4 and c
    assert a == pytest.approx(b, rel=1e-6)
    np.testing.assert_allclose(
        np.sqrt(np.diag(rows.gamma)), np.sqrt(np.diag(tables.gamma)), rtol=0.02
    )


def test_influences_are_what_leaving_out_a_row_does():
    """Infinitesimal jackknife: Γ / n is the covariance of leave-one-out estimates, times n − 1."""
    data = answers(150, 8)
    Y = data[["u1", "u4", "c"]].to_numpy(dtype=float)
    Y[:12, 0] = np.nan
    X = data[["z", "w"]].to_numpy(dtype=float)
    kinds = ["ordinal", "ordinal", "continuous"]
    found = ordinal_moments(Y, kinds, None, "observed", X, ("z", "w"))
    n = len(Y)
    without = np.array(
        [
            ordinal_moments(
                np.delete(Y, r, 0), kinds, None, "observed", np.delete(X, r, 0), ("z", "w")
            ).statistics
            for r in range(n)
        ]
    )
    jackknife = (n - 1) ** 2 / n * np.cov(without.T, bias=True)
    ratio = np.sqrt(np.diag(found.gamma) / n / np.diag(jackknife))
    np.testing.assert_allclose(ratio, 1.0, atol=0.06)
    sd = np.sqrt(np.diag(found.gamma))
    correlations = found.gamma / np.outer(sd, sd)
    spread = np.sqrt(np.diag(jackknife))
    np.testing.assert_allclose(correlations, jackknife / np.outer(spread, spread), atol=0.06)


def test_pairwise_of_complete_rows_is_listwise():
    one, two = (
        dt.cfa(DATA, TWO, ordered=ITEMS, missing=name).fit_measures
        for name in ("listwise", "pairwise")
    )
    assert one == pytest.approx(two, rel=1e-7, abs=1e-9, nan_ok=True)


def test_scores_are_mode_and_mean_of_the_posterior():
    fit = dt.cfa(DATA, "F =~ u1 + u2 + c", ordered=["u1", "u2"])
    M = fit.estimate.layout.matrices(fit.estimate.theta)
    row = DATA.iloc[[3]].astype({"u2": float}).copy()
    grid = np.linspace(-6, 6, 4001) * np.sqrt(M.Psi[0, 0])
    for answered in (True, False):
        if not answered:
            row["u2"] = np.nan
        log = -0.5 * grid**2 / M.Psi[0, 0]
        for i, item in enumerate(("u1", "u2")):
            if answered or item == "u1":
                edges = np.concatenate([[-np.inf], M.tau[i], [np.inf]])
                code = int(row[item].iloc[0])
                u = (edges[:, None] - M.Lambda[i, 0] * grid) / np.sqrt(M.Theta[i, i])
                log = log + np.log(np.maximum(ndtr(u[code + 1]) - ndtr(u[code]), 1e-300))
        off = row["c"].iloc[0] - M.nu[2] - M.Lambda[2, 0] * grid
        log = log - 0.5 * off**2 / M.Theta[2, 2]
        weight = np.exp(log - log.max())
        mode, mean = grid[np.argmax(log)], weight @ grid / weight.sum()
        assert fit.factor_scores(row).iloc[0, 0] == pytest.approx(mode, abs=5e-3)
        assert fit.factor_scores(row, "eap").iloc[0, 0] == pytest.approx(mean, abs=1e-5)


def test_rows_without_answers_or_predictors_have_no_score():
    fit = dt.sem(DATA, TWO + "\nF ~ z", ordered=ITEMS)
    rows = DATA.head(3).astype(dict.fromkeys(ITEMS, float)).copy()
    rows.loc[0, ITEMS] = np.nan
    rows.loc[1, "z"] = np.nan
    assert fit.factor_scores(rows).isna().all(axis=1).tolist() == [True, True, False]


def test_modification_indices_foretell_the_fall_of_chi_square():
    data = DATA.assign(u4=np.where(DATA.index % 4 == 0, DATA["u1"], DATA["u4"]))
    fit = dt.cfa(data, TWO, ordered=ITEMS)
    top = fit.modification_indices().iloc[0]
    assert {top["lhs"], top["rhs"]} & {"u1", "u4"}
    more = dt.cfa(data, f"{TWO}\n{top['lhs']} {top['op']} {top['rhs']}", ordered=ITEMS)
    fall = fit.fit_measures["chisq"] - more.fit_measures["chisq"]
    assert top["mi"] == pytest.approx(fall, rel=0.15)


REFUSALS = {
    "a category missing in a group": (
        lambda: dt.cfa(
            DATA.assign(u1=DATA["u1"].mask((DATA["g"] == "south") & (DATA["u1"] == 2), 1)),
            TWO, ordered=ITEMS, group="g",
        ),
        "In group 'south' nobody gives the answer 2 to 'u1'",
    ),
    "full weights for few rows": (
        lambda: dt.cfa(DATA.head(25), TWO, ordered=ITEMS, estimator="wls"),
        "needs more rows than statistics; got 25 rows and 27",
    ),
    "separation": (
        lambda: dt.sem(DATA.assign(u6=(DATA["z"] > 0) * 1), "F =~ u1 + u2 + u3\nu6 ~ F + z",
                       ordered=["u1", "u2", "u3", "u6"]),
        "The predictors tell answers to 'u6' apart without error",
    ),
    "an ordered predictor": (
        lambda: dt.sem(DATA, "F =~ u1 + u2 + u3\nF ~ u6", ordered=["u1", "u2", "u3", "u6"]),
        "`ordered` names 'u6', which the model does not explain",
    ),
    "collinear predictors": (
        lambda: dt.sem(DATA.assign(y=2 * DATA["z"]), TWO + "\nF ~ z + y", ordered=ITEMS),
        "The predictors 'z', 'y' determine one another",
    ),
    "items never answered together": (
        lambda: dt.cfa(
            DATA.assign(u1=DATA["u1"].where(DATA["w"] == 1), u2=DATA["u2"].where(DATA["w"] == 0)),
            TWO, ordered=ITEMS, missing="pairwise",
        ),
        "Items 'u1' and 'u2' are answered together by 0 rows",
    ),
    "a perfect correlation": (
        lambda: dt.cfa(DATA.assign(u2=DATA["u1"]), TWO, ordered=ITEMS),
        "'u1' and 'u2' must not be perfectly associated",
    ),
    "a strange answer": (
        lambda: dt.cfa(DATA, TWO, ordered=ITEMS).factor_scores(DATA.assign(u1=9)),
        "`data` has the answer 9 to 'u1', which nobody gave",
    ),
    "standard errors by another name": (
        lambda: dt.cfa(DATA, TWO, ordered=ITEMS, se="standard"),
        "`se` must be left out when items are ordered",
    ),
    "a scale under theta": (
        lambda: dt.cfa(DATA, TWO + "\nu1 ~*~ u1", ordered=ITEMS, parameterization="theta"),
        "the scale of 'u1' follows from its residual variance",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case):
    ask, words = REFUSALS[case]
    with pytest.raises(dt.DTError) as caught:
        ask()
    assert words in str(caught.value)


def test_standardized_residuals_are_standard_normal_where_the_model_holds():
    draws = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        f = rng.normal(size=(300, 1))
        X = pd.DataFrame(np.digitize(0.7 * f + 0.7 * rng.normal(size=(300, 5)), [-0.5, 0.5]))
        fit = dt.cfa(X.set_axis(list("abcde"), axis=1), "F =~ a + b + c + d + e", ordered=True)
        draws.append(fit.residuals("standardized").to_numpy()[np.tril_indices(5, -1)])
    # ten residuals in 60 samples; those of a sample depend on one another
    assert 0.85 < np.std(draws) < 1.15
    assert abs(np.mean(draws)) < 0.15


def test_standardized_residuals_of_groups_that_share_loadings_are_standard_normal():
    draws = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        f = rng.normal(size=(300, 1))
        X = pd.DataFrame(0.7 * f + 0.7 * rng.normal(size=(300, 4)), columns=list("abcd"))
        X["g"] = np.where(np.arange(300) < 140, "one", "two")
        fit = dt.cfa(X, "F =~ a + b + c + d", group="g", group_equal="loadings")
        z = fit.residuals("standardized").loc["one"].to_numpy()
        draws.append(z.diagonal())  # which no residual has within one group
    assert 0.85 < np.std(draws) < 1.15
    assert abs(np.mean(draws)) < 0.15


def test_standardized_residuals_of_groups():
    fit = dt.cfa(DATA, TWO, ordered=ITEMS, group="g", group_equal=EQUAL)
    z = fit.residuals("standardized")
    assert z.index.get_level_values("group").unique().tolist() == list(fit.groups)
    assert np.sign(z.loc["north"]).equals(np.sign(fit.residuals().loc["north"].round(9)))
