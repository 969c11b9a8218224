"""Ordered items: least squares of thresholds and polychoric correlations."""

from __future__ import annotations

from typing import Any

from benchmarks.lavaan.entry import Feature
from benchmarks.lavaan.models.texts import random_model, scales

# fmt: off
FEATURE = Feature("ordered")
ITEMS = [f"u{k}" for k in range(1, 17)]
TWO = scales("u", 2)
THREE = scales("u", 3)
MIMIC = TWO + "\nF1 + F2 ~ z + w"


def add(name: str, data: str, model: str, function: str = "sem", **args: Any) -> None:
    used = [item for item in ITEMS if item in model.replace("*", " ").split()]
    categories = used if data != "mixed" else [item for item in used if item in ITEMS[:8]]
    args.setdefault("ordered", categories)
    FEATURE.add(f"ordered: {name}", data, model, function, **args)


# Estimators
for estimator in ("wlsmv", "wlsm", "ulsmv", "dwls", "wls", "uls"):
    add(f"{estimator}", "ordered", TWO, "cfa", estimator=estimator)
    add(f"{estimator}, theta", "ordered", TWO, "cfa", estimator=estimator, parameterization="theta")
    add(f"{estimator}, binary", "binary", TWO, "cfa", estimator=estimator)
add("by default", "ordered", TWO, "cfa")
add("by default, all items", "three", THREE, "cfa", ordered=True)
add("four factors", "ordered", scales("u", 4), "cfa")
add("std_lv", "ordered", TWO, "cfa", std_lv=True)
add("orthogonal", "ordered", TWO, "cfa", orthogonal=True)
add("std_lv, theta, binary", "binary", TWO, "cfa", std_lv=True, parameterization="theta")
add("bfi, five points", "bfi5", "A =~ A1 + A2 + A3 + A4 + A5\nN =~ N1 + N2 + N3 + N4 + N5", "cfa",
    ordered=True)

# Models
add("one factor, four items", "ordered", scales("u", 1), "cfa")
add("one factor, theta", "three", scales("u", 1), "cfa", parameterization="theta")
add("residual covariance", "ordered", TWO + "\nu1 ~~ u5", "cfa")
add("residual covariance, theta", "ordered", TWO + "\nu1 ~~ u5", "cfa", parameterization="theta")
add("cross-loading", "ordered", TWO + "\nF2 =~ u1", "cfa")
add("equal loadings", "ordered", TWO.replace("u2", "a*u2").replace("u3", "a*u3"), "cfa")
add("equal loadings, theta", "ordered", TWO.replace("u2", "a*u2").replace("u3", "a*u3"), "cfa",
    parameterization="theta")
add("linear constraint", "ordered",
    TWO.replace("u2", "a*u2").replace("u3", "b*u3") + "\nb == 2*a - 1",
    "cfa")
add("defined parameter", "ordered", THREE + "\nF2 ~ a*F1\nF3 ~ b*F2 + F1\nab := a*b")
add("second order", "ordered", scales("u", 4) + "\nG =~ F1 + F2 + F3 + F4", "cfa")
add("bifactor", "ordered", "G =~ u1 + u2 + u3 + u4 + u5 + u6 + u7 + u8\nS1 =~ u1 + u2 + u3 + u4",
    "cfa", orthogonal=True)
add("regressions among factors", "ordered", THREE + "\nF2 ~ F1\nF3 ~ F1 + F2")

# Thresholds and scales written
add("thresholds written", "ordered", TWO + "\nu1 | t1 + t2 + t3", "cfa")
add("thresholds fixed", "ordered", TWO + "\nu1 | -1*t1 + t2 + t3", "cfa")
add("thresholds equal", "ordered", TWO + "\nu1 | a*t1\nu2 | a*t1\nu3 | b*t3\nu4 | b*t3", "cfa")
add("binary thresholds equal", "binary", TWO + "\nu1 | a*t1\nu2 | a*t1\nu3 | a*t1", "cfa")
add("thresholds free two means", "three",
    TWO + "\nu1 | 0*t1 + 1*t2\nu1 ~ NA*1\nu1 ~*~ NA*u1", "cfa")
add("scale written", "ordered", TWO + "\nu1 ~*~ 1*u1", "cfa")
add("residual variance written, theta", "ordered",
    TWO + "\nu1 ~~ 1*u1", "cfa", parameterization="theta")
add("threshold constraint", "ordered", TWO + "\nu1 | a*t1 + b*t2 + c*t3\nb - a == c - b", "cfa")

# Predictors, outcomes, mixtures
add("MIMIC", "ordered", MIMIC)
add("MIMIC, theta", "ordered", MIMIC, parameterization="theta")
add("MIMIC, binary", "binary", MIMIC)
add("MIMIC, direct effect", "ordered", MIMIC + "\nu3 ~ w")
add("MIMIC, ulsmv", "ordered", MIMIC, estimator="ulsmv")
add("MIMIC, wls", "ordered", scales("u", 1) + "\nF1 ~ z", estimator="wls")
add("MIMIC, random predictors", "ordered", MIMIC, fixed_x=False)
add("probit regression", "ordered", "b1 ~ z + w", ordered=["b1"])
add("ordered probit", "ordered", "o1 ~ z + w", ordered=["o1"])
add("two probits", "ordered", "b1 ~ z + w\no1 ~ z", ordered=["b1", "o1"])
add("path with an ordered outcome", "ordered", "c1 ~ z + w\no1 ~ c1 + z", ordered=["o1"])
add("path with an ordered mediator", "ordered", "o1 ~ z\nc1 ~ o1 + w", ordered=["o1"])
add("mediation with a binary outcome", "mediation",
    "m1 ~ a*x\nyb ~ b*m1 + x\nab := a*b", ordered=["yb"])
add("mediation with an ordered outcome, theta", "mediation", "m1 ~ a*x\nyo ~ b*m1 + x\nab := a*b",
    ordered=["yo"], parameterization="theta")
add("factor predicts a binary outcome", "ordered", TWO + "\nb1 ~ F1 + F2",
    ordered=[*ITEMS[:8], "b1"])
add("factor predicts a continuous outcome", "ordered", TWO + "\nc1 ~ F1 + z")
add("factor and predictor, ordered outcome", "ordered", TWO + "\no1 ~ F2 + z\nF1 ~ z",
    ordered=[*ITEMS[:8], "o1"])
add("mixed factors", "mixed", THREE, "cfa")
add("mixed within a factor", "mixed", "F1 =~ u7 + u8 + u9 + u10\nF2 =~ u1 + u2 + u11 + u12", "cfa",
    ordered=ITEMS[:8])
add("mixed, theta", "mixed", THREE, "cfa", parameterization="theta")
add("mixed, predictors", "mixed", THREE + "\nF1 + F3 ~ z + w")
add("mixed, wls", "mixed", "F1 =~ u1 + u2 + u3\nF3 =~ u9 + u10 + u11", "cfa",
    estimator="wls")
add("mixed, ulsmv", "mixed", THREE, "cfa", estimator="ulsmv")
add("mixed, means written", "mixed", THREE + "\nu9 ~ 0*1\nF3 ~ NA*1", "cfa")

# Groups
add("groups, configural", "ordered", TWO, "cfa", group="g")
add("groups, configural, theta", "ordered", TWO, "cfa", group="g", parameterization="theta")
add("groups, thresholds", "ordered", TWO, "cfa", group="g", group_equal=["thresholds"])
add("groups, loadings", "ordered", TWO, "cfa", group="g", group_equal=["loadings"])
add("groups, thresholds and loadings", "ordered", TWO, "cfa", group="g",
    group_equal=["thresholds", "loadings"])
add("groups, thresholds and loadings, theta", "ordered", TWO, "cfa", group="g",
    group_equal=["thresholds", "loadings"], parameterization="theta")
add("groups, strict, theta", "ordered", TWO, "cfa", group="g", parameterization="theta",
    group_equal=["thresholds", "loadings", "residuals"])
add("groups, thresholds, loadings, means", "ordered", TWO, "cfa", group="g",
    group_equal=["thresholds", "loadings", "means"])
add("groups, partial", "ordered", TWO, "cfa", group="g", group_equal=["thresholds", "loadings"],
    group_partial=["F1=~u2", "u2|t1"])
add("groups, binary", "binary", TWO, "cfa", group="g", group_equal=["thresholds", "loadings"])
add("groups, binary, loadings", "binary", TWO, "cfa", group="g", group_equal=["loadings"])
add("groups, predictors", "ordered", MIMIC, group="g", group_equal=["loadings", "thresholds"])
add("groups, mixed", "mixed", THREE, "cfa", group="g",
    group_equal=["loadings", "thresholds", "intercepts"])
add("groups, bfi by gender", "bfi5", "E =~ E1 + E2 + E3 + E4 + E5", "cfa", group="gender",
    ordered=True, group_equal=["thresholds", "loadings"])
add("groups, ulsmv", "ordered", TWO, "cfa", group="g", estimator="ulsmv", group_equal=["loadings"])
# The identification of Wu & Estabrook (2016): thresholds equal, scales and intercepts free
add("groups, Wu and Estabrook", "ordered", """F1 =~ c(1, 1, 1)*u1 + u2 + u3 + u4
u1 | c(a1, a1, a1)*t1 + c(a2, a2, a2)*t2 + c(a3, a3, a3)*t3
u2 | c(b1, b1, b1)*t1 + c(b2, b2, b2)*t2 + c(b3, b3, b3)*t3
u1 ~*~ c(1, NA, NA)*u1
u2 ~*~ c(1, NA, NA)*u2
u1 ~ c(0, NA, NA)*1
u2 ~ c(0, NA, NA)*1""", "cfa", group="g")

# Gaps
add("gaps, pairwise", "ordered_gaps", TWO, "cfa", missing="pairwise")
add("gaps, listwise", "ordered_gaps", TWO, "cfa")
add("gaps, pairwise, predictors", "ordered_gaps", MIMIC, missing="pairwise")
add("gaps, pairwise, groups", "ordered_gaps", TWO, "cfa", missing="pairwise", group="g",
    group_equal=["loadings"])

for seed in range(31, 37):
    add(f"random {seed}", "ordered", random_model(seed, "u"))
for seed in range(37, 40):
    add(f"random {seed}, theta, three categories", "three", random_model(seed, "u"),
        parameterization="theta")
