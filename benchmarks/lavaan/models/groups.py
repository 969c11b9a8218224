"""Several groups: free, equal and partly equal parameters."""

from __future__ import annotations

from typing import Any

from benchmarks.lavaan.entry import Feature
from benchmarks.lavaan.models.texts import HS, ONE, TWO, random_model, scales

# fmt: off
FEATURE = Feature("groups")


def add(name: str, data: str, model: str, function: str = "cfa", **args: Any) -> None:
    args.setdefault("group", {"hs": "school", "bfi5": "gender", "mediation": "sex"}.get(data, "g"))
    FEATURE.add(f"groups: {name}", data, model, function, **args)


EXTRAVERSION = "E =~ E1 + E2 + E3 + E4 + E5\nN =~ N1 + N2 + N3 + N4 + N5"
LADDER = {
    "configural": [],
    "metric": ["loadings"],
    "scalar": ["loadings", "intercepts"],
    "strict": ["loadings", "intercepts", "residuals"],
}
KINDS = ("loadings", "intercepts", "residuals", "residual.covariances", "lv.variances",
         "lv.covariances", "means", "regressions")  # fmt: skip

for step, equal in LADDER.items():
    options = {"group_equal": equal} if equal else {}
    add(f"ladder, {step}", "hs", HS, **options)
    add(f"ladder, bfi, {step}", "bfi5", EXTRAVERSION, **options)
    add(f"ladder, three groups, {step}", "pool", scales("y", 3), **options)
    add(f"ladder, mlr, {step}", "hs", HS, estimator="mlr", **options)
add("equal: all means too", "hs", HS, group_equal=["loadings", "intercepts", "residuals", "means"])
add("equal: everything", "hs", HS, group_equal=["loadings", "intercepts", "residuals", "means",
                                              "lv.variances", "lv.covariances"])
for kind in KINDS:
    model = HS + "\nspeed ~ visual + textual" if kind == "regressions" else HS + "\nx7 ~~ x8"
    add(f"equal: {kind}", "hs", model, "sem", group_equal=[kind])
add("equal: loadings, lv.variances, std_lv", "hs", HS, std_lv=True,
    group_equal=["loadings", "lv.variances"])
add("equal: loadings, std_lv", "hs", HS, std_lv=True, group_equal=["loadings"])
add("equal: scalar, std_lv", "hs", HS, std_lv=True, group_equal=["loadings", "intercepts"])
add("equal: regressions and loadings", "hs", HS + "\nspeed ~ visual", "sem",
    group_equal=["loadings", "regressions"])
add("partial: one loading", "hs", HS, group_equal=["loadings"], group_partial=["visual=~x2"])
add("partial: tutorial", "hs", HS, group_equal=["loadings", "intercepts"],
    group_partial=["visual=~x2", "x7~1"])
add("partial: intercepts x3 and x7", "hs", HS, group_equal=["loadings", "intercepts"],
    group_partial=["x3~1", "x7~1"])
add("partial: one residual", "hs", HS, group_equal=["loadings", "intercepts", "residuals"],
    group_partial=["x1~~x1", "x5~~x5"])
add("partial: covariance", "hs", HS, group_equal=["loadings", "lv.covariances"],
    group_partial=["visual~~textual"])

add("c(): loadings fixed in one group", "hs",
    "visual =~ x1 + 0.5*x2 + c(0.6, 0.8)*x3\ntextual =~ x4 + x5 + x6")
add("c(): labels by group", "hs",
    "visual =~ x1 + c(a1, a2)*x2 + c(b1, b1)*x3\ntextual =~ x4 + x5 + x6")
add("c(): fixed in one, free in the other", "hs", TWO + "\nvisual ~~ c(0, NA)*textual")
add("c(): starting values", "hs",
    "visual =~ x1 + start(c(0.5, 0.9))*x2 + x3\ntextual =~ x4 + x5 + x6")
add("c(): one label in both groups", "hs",
    "visual =~ x1 + c(a, a)*x2 + x3\ntextual =~ x4 + x5 + x6")
add("c(): difference defined", "hs", HS + "\nspeed ~ c(b1, b2)*visual\ndiff := b1 - b2", "sem")
add("c(): equal by ==", "hs", HS + "\nspeed ~ c(b1, b2)*visual\nb1 == b2", "sem")
add("c(): means by hand", "hs", TWO + "\nvisual ~ c(0, NA)*1\ntextual ~ c(0, NA)*1\n"
    "x1 ~ c(i1, i1)*1\nx4 ~ c(i4, i4)*1")
add("c(): nonlinear across groups", "hs", ONE.replace("x2", "c(a1, a2)*x2") + "\na1*a2 == 0.3")
add("mediation by group", "mediation",
    "m1 ~ c(a1, a2)*x\ny ~ c(b1, b2)*m1 + x\ni1 := a1*b1\ni2 := a2*b2\nd := i1 - i2", "sem")
add("regression by group", "mediation", "y ~ x + m1", "sem")
add("regression by group, equal slopes", "mediation", "y ~ x + m1\ny2 ~ y", "sem",
    group_equal=["regressions"])
add("path model, equal intercepts and residuals", "mediation", "m1 ~ x\ny ~ m1", "sem",
    group_equal=["intercepts", "residuals"])
add("MIMIC by group", "pool", scales("y", 2) + "\nF1 ~ z + w\nF2 ~ F1 + z", "sem")
add("MIMIC by group, metric", "pool", scales("y", 2) + "\nF1 ~ z + w\nF2 ~ F1 + z", "sem",
    group_equal=["loadings", "regressions"])
add("no means", "hs", HS, mean_structure=False)
add("no means, metric", "hs", HS, mean_structure=False, group_equal=["loadings"])
add("covariances and n", "hs", HS, moments="means", group_equal=["loadings", "intercepts"])
add("three labels, three groups", "pool", scales("y", 2).replace("y2", "c(a, a, b)*y2"))
add("mlm, scalar", "hs", HS, estimator="mlm", group_equal=["loadings", "intercepts"])
add("fiml, scalar", "hs_gaps", HS, missing="fiml", group="school",
    group_equal=["loadings", "intercepts"])
add("sex as numbers", "hs", TWO, group="sex", group_equal=["loadings"])
add("group_label", "hs", TWO, group_label=["Pasteur", "Grant-White"], group_equal=["loadings"])
add("wishart", "hs", TWO, likelihood="wishart", group_equal=["loadings"])
add("an outcome of a factor", "hs", HS + "\nageyr ~ speed\nspeed ~ visual", "sem",
    group_equal=["loadings", "regressions"])
for seed in range(21, 25):
    add(f"random {seed}", "pool", random_model(seed, "y"), "sem")
    add(f"random {seed}, scalar", "pool", random_model(seed, "y"), "sem",
        group_equal=["loadings", "intercepts"])
