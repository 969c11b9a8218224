"""Ladders of invariance, step by step against live lavaan."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

HS = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
STEPS = """
library(lavaan)
f <- lapply(list("", "loadings", c("loadings", "intercepts"),
                 c("loadings", "intercepts", "residuals")),
            function(e) cfa(model, d, group = "school", group.equal = e, {options}))
a <- f[[1]]; b <- f[[2]]; c <- f[[3]]; e <- f[[4]]
tests <- as.data.frame(lavTestLRT(a, b, c, e))
m <- function(name) sapply(f, function(one) fitMeasures(one)[name])
list(chisq = m("chisq{s}"), df = m("df{s}"), pvalue = m("pvalue{s}"), cfi = m("cfi{s}"),
     rmsea = m("rmsea{s}"), srmr = m("srmr"), aic = m("aic"), bic = m("bic"),
     chisq_diff = tests[["Chisq diff"]], df_diff = tests[["Df diff"]],
     pvalue_diff = tests[["Pr(>Chisq)"]])
"""


def schools(gaps: bool):
    data = dt.load_dataset("holzinger_swineford_9")
    if gaps:
        data = data.mask(np.random.default_rng(2).random(data.shape) < 0.08)
    return data.assign(school=["Pasteur"] * 156 + ["Grant-White"] * 145)


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ("estimator = 'ML'", {}),
        ("estimator = 'MLR'", {"estimator": "mlr"}),
        pytest.param("missing = 'ml'", {"missing": "fiml"}, marks=pytest.mark.long),
        pytest.param(
            "missing = 'ml', estimator = 'MLR'",
            {"missing": "fiml", "estimator": "mlr"},
            marks=pytest.mark.long,
        ),
        ("group.partial = c('x3~1', 'x7~1')", {"group_partial": ["x3 ~ 1", "x7 ~ 1"]}),
    ],
)
def test_the_ladder_equals_that_of_lavaan(options, given, run_r):
    data = schools("missing" in given)
    scaled = ".scaled" if "estimator" in given else ""
    code = f'model <- "{HS}"\n' + STEPS.replace("{options}", options).replace("{s}", scaled)
    theirs = run_r(code, d=data)
    ours = dt.invariance(data, HS, "school", **given).table
    for column, values in theirs.items():
        wanted = [np.nan if v is None else v for v in values]
        scale = np.maximum(1.0, np.abs(wanted))
        assert ours[column].to_numpy(dtype=float) / scale == pytest.approx(
            np.array(wanted) / scale, abs=1e-3, nan_ok=True
        ), column
    assert ours["delta_cfi"].to_numpy()[1:] == pytest.approx(np.diff(theirs["cfi"]), abs=1e-4)


# lavaan frees c(0, NA)*1 of an ordered item only if it has a label
ORDERED = """
library(lavaan)
model <- "A =~ A1 + A2 + A3 + A4 + A5"
id <- function(tau, lambda, nu) paste0(model, "\\n", paste(sapply(1:5, function(k) paste0(
    "A", k, " ~*~ c(1, ", if (tau) "NA" else "1", ")*A", k, "\\n",
    "A", k, " ~ c(n", k, ", m", k, ")*1 + c(0, ", if (tau && !nu) "NA" else "0", ")*1\\n")),
    collapse = ""), "A ~~ c(1, ", if (lambda) "NA" else "1", ")*A\\n",
    "A ~ c(n, m)*1 + c(0, ", if (nu) "NA" else "0", ")*1")
g <- function(text, ...) cfa(text, d, group = "gender", ordered = TRUE, std.lv = TRUE,
                             group.equal = c(...))
a <- g(id(FALSE, FALSE, FALSE), "")
b <- g(id(TRUE, FALSE, FALSE), "thresholds")
c <- g(id(TRUE, TRUE, FALSE), "thresholds", "loadings")
e <- g(id(TRUE, TRUE, TRUE), "thresholds", "loadings", "intercepts")
tests <- as.data.frame(lavTestLRT(a, b, c, e))
list(df = tests$Df, chisq_diff = tests[["Chisq diff"]], df_diff = tests[["Df diff"]])
"""


def test_the_ladder_of_ordered_items_equals_that_of_lavaan(run_r):
    names = [f"A{k}" for k in range(1, 6)]
    columns = ", ".join(f"{name} = bfi${name}" for name in [*names, "gender"])
    known = run_r(f"data(bfi, package = 'psychTools'); list({columns})")
    data = pd.DataFrame(known).astype(float).dropna().reset_index(drop=True)
    data["gender"] = data["gender"].map({1.0: "men", 2.0: "women"})
    ours = dt.invariance(data, {"A": names}, "gender", ordered=True).table
    theirs = run_r(ORDERED, d=data)
    for column, values in theirs.items():
        wanted = [np.nan if v is None else v for v in values]
        assert ours[column].to_numpy(dtype=float) == pytest.approx(wanted, rel=2e-3, nan_ok=True)
