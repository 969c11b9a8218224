"""One group, continuous answers, maximum likelihood."""

from __future__ import annotations

from benchmarks.lavaan.entry import Feature
from benchmarks.lavaan.models.texts import DEMOCRACY, ERRORS, HS, ONE, TWO, random_model, scales

# fmt: off
FEATURE = Feature("single group")
add = FEATURE.add

# Factor models
add("three factors", "hs", HS, "cfa")
add("three factors, std_lv", "hs", HS, "cfa", std_lv=True)
add("three factors, orthogonal", "hs", HS, "cfa", orthogonal=True)
add("three factors, means", "hs", HS, "cfa", mean_structure=True)
add("three factors, std_lv, means", "hs", HS, "cfa", std_lv=True, mean_structure=True)
add("one factor", "hs", "g =~ x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9", "cfa")
add("just identified", "hs", "visual =~ x1 + x2 + x3", "cfa")
add("markers by hand", "hs", HS.replace("x1", "NA*x1").replace("x2", "1*x2"), "cfa")
add("another marker with std_lv in the text", "hs",
    TWO.replace("x1", "NA*x1").replace("x4", "NA*x4")
    + "\nvisual ~~ 1*visual\ntextual ~~ 1*textual",
    "cfa")
add("fixed loadings", "hs", "visual =~ 1*x1 + 0.5*x2 + x3\ntextual =~ x4 + 1.1*x5 + x6", "cfa")
add("fixed covariance", "hs", TWO + "\nvisual ~~ 0*textual", "cfa")
add("fixed variance of a factor", "hs", TWO + "\nvisual ~~ 0.8*visual", "cfa")
add("fixed residual variance", "hs", HS + "\nx1 ~~ 0.5*x1", "cfa")
add("cross-loading", "hs", HS.replace("x3\n", "x3 + x9\n"), "cfa")
add("residual covariances", "hs", HS + "\nx7 ~~ x8\nx4 ~~ x5", "cfa")
add("starting values", "hs", "visual =~ x1 + start(0.8)*x2 + start(1.2)*x3 + x4", "cfa")
add("single indicator", "hs", TWO + "\nage =~ ageyr", "cfa")
add("single indicator with known error", "hs", TWO + "\nage =~ ageyr\nageyr ~~ 0.3*ageyr", "cfa")
add("two items with equal loadings", "hs", "visual =~ 1*x1 + 1*x2\ntextual =~ x4 + x5 + x6", "cfa")
add("intercepts written", "hs", HS + "\nx1 ~ 1\nx2 ~ 6*1", "cfa")
add("intercepts all zero but free factor means", "hs",
    ONE + "\nx1 ~ 0*1\nx2 ~ 1\nvisual ~ NA*1", "cfa")
add("bfi, five scales", "bfi5", """A =~ A1 + A2 + A3 + A4 + A5
C =~ C1 + C2 + C3 + C4 + C5
E =~ E1 + E2 + E3 + E4 + E5
N =~ N1 + N2 + N3 + N4 + N5
O =~ O1 + O2 + O3 + O4 + O5""", "cfa")
add("pool, four factors", "pool", scales("y", 4), "cfa")
add("pool, four factors, std_lv", "pool", scales("y", 4), "cfa", std_lv=True)
add("wishart likelihood", "hs", HS, "cfa", likelihood="wishart")
add("covariances and n", "hs", HS, "cfa", moments="cov")
add("covariances, means and n", "hs", HS + "\nx1 ~ 1", "cfa", moments="means")
add("covariances, path model", "democracy", DEMOCRACY, moments="cov")

# Structural models
add("political democracy", "democracy", DEMOCRACY + "\n" + ERRORS)
add("political democracy, no error covariances", "democracy", DEMOCRACY)
add("political democracy, equal loadings", "democracy",
    "ind60 =~ x1 + x2 + x3\ndem60 =~ y1 + a*y2 + b*y3 + c*y4\ndem65 =~ y5 + a*y6 + b*y7 + c*y8\n"
    "dem60 ~ ind60\ndem65 ~ ind60 + dem60\n" + ERRORS)
add("political democracy, means", "democracy", DEMOCRACY + "\n" + ERRORS, mean_structure=True)
add("political democracy, std_lv", "democracy", DEMOCRACY, std_lv=True)
add("factors regressed", "hs", HS + "\nspeed ~ visual + textual")
add("chain of factors", "hs", HS + "\ntextual ~ visual\nspeed ~ textual")
add("fixed regression", "hs", HS + "\nspeed ~ 0.3*visual + textual")
add("MIMIC", "hs", TWO + "\nvisual ~ ageyr + sex\ntextual ~ ageyr + sex")
add("MIMIC with a direct effect", "hs", TWO + "\nvisual ~ ageyr + sex\ntextual ~ ageyr\nx3 ~ sex")
add("MIMIC, random predictors", "hs", TWO + "\nvisual ~ ageyr + sex", fixed_x=False)
add("MIMIC, means", "pool", scales("y", 2) + "\nF1 ~ z + w\nF2 ~ F1 + z", mean_structure=True)
add("factor predicts an item", "hs", TWO + "\nx9 ~ visual + textual")
add("item predicts a factor and an item", "hs", TWO + "\nvisual ~ x7\nx9 ~ visual + x7")
add("two outcomes", "hs", HS + "\nageyr ~ visual\ngrade ~ textual + speed")
add("formative path", "pool", "F1 =~ y1 + y2 + y3\nF1 ~ y9 + y10\nF2 =~ y5 + y6 + y7\nF2 ~ F1 + y9")
add("nonrecursive", "pool", "F1 =~ y1 + y2 + y3\nF2 =~ y5 + y6 + y7\nF1 ~ F2 + z\nF2 ~ F1 + w")
add("disturbances correlate", "pool", scales("y", 3) + "\nF2 ~ F1\nF3 ~ F1\nF2 ~~ 0*F3")
add("longitudinal factor", "panel",
    "A =~ a1 + l2*a2 + l3*a3 + l4*a4\nB =~ b1 + l2*b2 + l3*b3 + l4*b4\nB ~ A\n"
    "a1 ~~ b1\na2 ~~ b2\na3 ~~ b3\na4 ~~ b4")

# Path models
add("regression", "mediation", "y ~ x + m1 + m2")
add("regression with an intercept", "mediation", "y ~ 1 + x + m1")
add("regression, random predictors", "mediation", "y ~ x + m1", fixed_x=False)
add("two regressions", "mediation", "y ~ m1 + x\ny2 ~ m1 + c1")
add("two regressions, uncorrelated residuals", "mediation", "y ~ m1\ny2 ~ m1\ny ~~ 0*y2")
add("path model", "mediation", "m1 ~ x\nm2 ~ m1 + x\ny ~ m1 + m2")
add("path model, random predictors", "mediation",
    "m1 ~ x + c1\nm2 ~ m1\ny ~ m2 + c1", fixed_x=False)
add("path model with means", "mediation", "m1 ~ x\ny ~ m1 + treat\ny2 ~ y", mean_structure=True)
add("burns", "burns", "Selfesteem ~ Age + TBSA + HADS + RUM\nHADS ~ RUM + TBSA")
add("saturated covariances", "mediation", "x ~~ m1 + y\nm1 ~~ y")
add("independence", "hs", "x1 ~~ x1\nx2 ~~ x2\nx3 ~~ x3")
add("means only", "hs", "x1 ~~ x1 + x2\nx2 ~~ x2\nx1 ~ m*1\nx2 ~ m*1")

for seed in range(1, 16):
    add(f"random {seed}", "pool", random_model(seed, "y"))
