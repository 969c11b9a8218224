"""Comparing models and testing parameters, against live lavaan."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

HS = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
LADDER = ((), ("loadings",), ("loadings", "intercepts"), ("loadings", "intercepts", "residuals"))
R_LADDER = """
library(lavaan)
HS <- "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
fit <- function(...) cfa(HS, d, group = "school", group.equal = c(...), {options})
f1 <- fit(""); f2 <- fit("loadings"); f3 <- fit("loadings", "intercepts")
f4 <- fit("loadings", "intercepts", "residuals")
as.list(as.data.frame(lavTestLRT(f1, f2, f3, f4, method = "{method}")))
"""


def schools(gaps: bool = False) -> pd.DataFrame:
    data = dt.load_dataset("holzinger_swineford_9")
    if gaps:
        data = data.mask(np.random.default_rng(2).random(data.shape) < 0.08)
    return data.assign(school=["Pasteur"] * 156 + ["Grant-White"] * 145)


@pytest.mark.parametrize(
    ("options", "given", "method"),
    [
        ("estimator = 'ML'", {}, "default"),
        ("estimator = 'MLR'", {"estimator": "mlr"}, "default"),
        ("estimator = 'MLR'", {"estimator": "mlr"}, "satorra.2000"),
        ("std.lv = TRUE", {"std_lv": True}, "default"),
        ("missing = 'ml'", {"missing": "fiml"}, "default"),
        pytest.param(
            "missing = 'ml', estimator = 'MLR'",
            {"missing": "fiml", "estimator": "mlr"},
            "default",
            marks=pytest.mark.long,
        ),
    ],
)
def test_difference_tests_equal_lavaan(options, given, method, run_r):
    data = schools(gaps="missing" in given)
    code = R_LADDER.replace("{options}", options).replace("{method}", method)
    theirs = run_r(code, d=data)
    fits = [dt.cfa(data, HS, group="school", group_equal=equal, **given) for equal in LADDER]
    ours = dt.compare_models(*fits[::-1], method=method).table
    for column, values in theirs.items():
        wanted = [np.nan if v is None else v for v in values]
        mine = ours[column].to_numpy(dtype=float)
        if method == "satorra.2000" and column in ("Chisq diff", "Pr(>Chisq)"):
            # lavaan takes moments around the sample means, we scores at the model's; equal
            # intercepts do not fit these means, so that the last step differs by 2 %
            assert mine[3] == pytest.approx(wanted[3], rel=0.15)
            mine, wanted = mine[:3], wanted[:3]
        assert mine == pytest.approx(wanted, rel=1e-3, abs=1e-6, nan_ok=True), column
    assert set(ours.columns) == set(theirs)


def test_difference_test_under_written_constraints_equals_lavaan(run_r):
    data = dt.load_dataset("political_democracy")
    free = "ind60 =~ x1 + a*x2 + b*x3; dem60 =~ y1 + c*y2 + d*y3 + e*y4; dem60 ~ ind60"
    tied = free + "; c + d == 2*e"
    theirs = run_r(
        f"""
        library(lavaan)
        f1 <- sem("{free}", d, estimator = "MLR"); f2 <- sem("{tied}; a == b", d, estimator = "MLR")
        f3 <- sem("{tied}", d, estimator = "MLR")
        list(sb = lavTestLRT(f3, f2)[2, 5], s = lavTestLRT(f3, f2, method = "satorra.2000")[2, 5],
             s1 = lavTestLRT(f1, f3, method = "satorra.2000")[2, 5])
        """,
        d=data,
    )
    one, two, three = (
        dt.sem(data, text, estimator="mlr") for text in (free, tied + "; a == b", tied)
    )
    for key, pair, method in (
        ("sb", (three, two), "default"),
        ("s", (three, two), "satorra_2000"),
        ("s1", (one, three), "satorra_2000"),
    ):
        ours = dt.compare_models(*pair, method=method).differences[0].chisq
        assert ours == pytest.approx(theirs[key][0], rel=2e-3), key


def test_wald_tests_equal_lavaan(run_r):
    data = schools()
    groups = "visual =~ x1 + c(a1, a2)*x2 + c(b1, b2)*x3"
    one = "visual =~ x1 + a*x2 + b*x3\nab := a*b"
    theirs = run_r(
        f"""
        library(lavaan)
        f <- cfa("{groups}", d, group = "school"); g <- cfa("{one}", d, estimator = "MLR")
        as.list(sapply(list(
          g = lavTestWald(f, "a1 == a2; b1 == b2"), n = lavTestWald(f, "a1*b1 == a2*b2"),
          r = lavTestWald(g, "a == b; ab == 0.5")), function(x) x$stat))
        """,
        d=data,
    )
    fit, robust = dt.cfa(data, groups, group="school"), dt.cfa(data, one, estimator="mlr")
    assert dt.wald_test(fit, "a1 == a2; b1 == b2").chisq == pytest.approx(theirs["g"][0], rel=1e-3)
    assert dt.wald_test(fit, "a1*b1 == a2*b2").chisq == pytest.approx(theirs["n"][0], rel=1e-3)
    # lavaan knows no defined parameters here and cannot be asked; with labels it is the same
    assert dt.wald_test(robust, "a == b; ab == 0.5").chisq == pytest.approx(
        dt.wald_test(robust, "a == b; a*b == 0.5").chisq
    )
    if theirs["r"][0] is not None:
        wanted = pytest.approx(theirs["r"][0], rel=1e-3)
        assert dt.wald_test(robust, "a == b; ab == 0.5").chisq == wanted


def test_score_tests_of_equal_parameters_equal_lavaan(run_r):
    data = schools().assign(third=np.resize(["u", "v", "w"], 301))
    theirs = run_r(
        f"""
        library(lavaan)
        f <- cfa("{HS}", d, group = "school", group.equal = c("loadings", "intercepts"))
        g <- cfa("{HS}", d, group = "third", group.equal = "loadings")
        a <- lavTestScore(f); b <- lavTestScore(g)
        list(x2 = a$uni$X2, total = a$test$X2, three = b$uni$X2, all = b$test$X2, df = b$test$df)
        """,
        d=data,
    )
    fit = dt.cfa(data, HS, group="school", group_equal=["loadings", "intercepts"])
    ours = dt.score_test(fit)
    assert ours.table["chisq"].to_numpy() == pytest.approx(theirs["x2"], abs=2e-3)
    assert ours.chisq == pytest.approx(theirs["total"][0], rel=1e-3)
    # one intercept per factor cannot be told from its mean: 12 of 15 restrictions are testable
    assert ours.df == 12
    three = dt.score_test(dt.cfa(data, HS, group="third", group_equal="loadings"))
    later = three.table[three.table["group"] != "u"]["chisq"].to_numpy()
    by_group = np.array(theirs["three"])  # lavaan lists all of the second group, then the third
    assert sorted(later) == pytest.approx(sorted(by_group), abs=2e-3)
    assert three.chisq == pytest.approx(theirs["all"][0], rel=1e-3)
    assert three.df == theirs["df"][0]


def test_score_tests_of_added_parameters_and_equations_equal_lavaan(run_r):
    data = schools()
    tied = "visual =~ x1 + a*x2 + b*x3; speed =~ x7 + c*x8 + e*x9; a + b == 2*c; e == 1.1*a"
    theirs = run_r(
        f"""
        library(lavaan)
        f <- cfa("{HS}", d, group = "school", group.equal = c("loadings", "intercepts"))
        a <- lavTestScore(f, add = "visual =~ x9"); b <- lavTestScore(cfa("{tied}", d))
        list(x2 = a$uni$X2, total = a$test$X2, tied = b$uni$X2, all = b$test$X2)
        """,
        d=data,
    )
    fit = dt.cfa(data, HS, group="school", group_equal=["loadings", "intercepts"])
    added = dt.score_test(fit, add="visual =~ x9")
    assert added.table["chisq"].to_numpy() == pytest.approx(theirs["x2"], rel=1e-3)
    assert added.chisq == pytest.approx(theirs["total"][0], rel=1e-3)
    equations = dt.score_test(dt.cfa(data, tied))
    assert equations.table["chisq"].to_numpy() == pytest.approx(theirs["tied"], abs=2e-3)
    assert equations.chisq == pytest.approx(theirs["all"][0], rel=1e-3)


def test_vuong_equals_its_formulas_on_the_numbers_of_lavaan(run_r):
    data = schools()
    texts = (
        "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6; x1 ~~ x4",
        "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6 + x1",
    )
    theirs = run_r(
        f"""
        library(lavaan)
        a <- cfa("{texts[0]}", d, meanstructure = TRUE)
        b <- cfa("{texts[1]}", d, meanstructure = TRUE)
        la <- lavInspect(a, "loglik.casewise"); lb <- lavInspect(b, "loglik.casewise")
        n <- length(la); w2 <- var(la - lb) * (n - 1) / n
        sa <- lavScores(a); sb <- lavScores(b)
        S <- crossprod(cbind(sa, sb)) / n
        q <- ncol(sa)
        I <- matrix(0, ncol(S), ncol(S))
        I[1:q, 1:q] <- n * vcov(a); I[-(1:q), -(1:q)] <- -n * vcov(b)
        l <- sort(Re(eigen(S %*% I)$values))
        set.seed(1)
        draws <- colSums(matrix(rnorm(length(l) * 200000)^2, length(l)) * l^2)
        list(w2 = w2, z = sum(la - lb) / sqrt(n * w2), p = mean(draws > n * w2))
        """,
        d=data,
    )
    a, b = (dt.cfa(data, text, mean_structure=True) for text in texts)
    ours = dt.vuong(a, b, data)
    assert ours.variance == pytest.approx(theirs["w2"][0], rel=1e-3)
    assert ours.z == pytest.approx(theirs["z"][0], rel=1e-3)
    margin = 4 * np.sqrt(theirs["p"][0] / 200_000) + 1e-5
    assert ours.distinguishable_pvalue == pytest.approx(theirs["p"][0], abs=margin)
