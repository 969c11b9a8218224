"""Equalities, inequalities, defined parameters and bounds."""

from __future__ import annotations

from benchmarks.lavaan.entry import Feature
from benchmarks.lavaan.models.texts import DEMOCRACY, HS, TWO, scales

# fmt: off
FEATURE = Feature("constraints")
add = FEATURE.add
MEDIATION = "m1 ~ a*x\ny ~ b*m1 + c*x"
TWO_MEDIATORS = "m1 ~ a1*x\nm2 ~ a2*x\ny ~ b1*m1 + b2*m2 + c*x\nm1 ~~ m2"
LABELED = """visual =~ x1 + a*x2 + b*x3
textual =~ x4 + c*x5 + d*x6
speed =~ x7 + e*x8 + f*x9"""
VARIANCES = TWO + "\nvisual ~~ v*visual\ntextual ~~ t*textual\nvisual ~~ c*textual"

# Defined parameters
add("indirect effect", "mediation", MEDIATION + "\nab := a*b\ntotal := c + a*b")
add("two mediators", "mediation",
    TWO_MEDIATORS + "\ni1 := a1*b1\ni2 := a2*b2\ndiff := i1 - i2\ntotal := c + i1 + i2")
add("serial mediation", "mediation",
    "m1 ~ a*x\nm2 ~ d*m1 + e*x\ny ~ b*m2 + f*m1 + c*x\nserial := a*d*b\n"
    "all := a*d*b + a*f + e*b + c")
add("proportion mediated", "mediation", MEDIATION + "\nprop := a*b/(a*b + c)")
add("latent mediation", "hs",
    HS + "\ntextual ~ a*visual\nspeed ~ b*textual + c*visual\nab := a*b")
add("mediation with a covariate, mlr", "mediation",
    "m1 ~ a*x + c1\ny ~ b*m1 + c*x + c1\nab := a*b", estimator="mlr")
add("moderated mediation", "mediation",
    "m1 ~ a*x + d*treat + e*xm\ny ~ b*m1 + c*x\nlow := a*b\nhigh := (a + e)*b\nindex := e*b")
add("defined by powers and functions", "hs",
    LABELED + "\ng := sqrt(a^2 + b^2)\nh := exp(a) - log(c)")
add("defined from defined", "hs", LABELED + "\nm := (a + b)/2\nn := (c + d)/2\nk := m - n")
add("ratio of variances", "hs", VARIANCES + "\nrho := c/sqrt(v*t)\nratio := v/t")
add("reliability as a parameter", "hs", """visual =~ l1*x1 + l2*x2 + l3*x3
visual ~~ 1*visual
x1 ~~ e1*x1
x2 ~~ e2*x2
x3 ~~ e3*x3
omega := (l1 + l2 + l3)^2/((l1 + l2 + l3)^2 + e1 + e2 + e3)""", "cfa", std_lv=True)

# Equalities
add("equal labels", "hs", "visual =~ x1 + a*x2 + a*x3\ntextual =~ x4 + b*x5 + b*x6", "cfa")
add("equal() modifier", "hs",
    'visual =~ x1 + x2 + equal("visual=~x2")*x3\ntextual =~ x4 + x5 + x6', "cfa")
add("labels ==", "hs", LABELED + "\na == b\nc == d", "cfa")
add("label == number", "hs", LABELED + "\na == 0.6", "cfa")
add("linear: sum", "hs", LABELED + "\na + b == 1.5", "cfa")
add("linear: b = 2 a", "hs", LABELED + "\nb == 2*a", "cfa")
add("linear: mean of loadings", "hs", LABELED + "\n(a + b)/2 == (c + d)/2\ne == f", "cfa")
add("tau-equivalent", "hs", "g =~ a*x1 + a*x2 + a*x3 + a*x4", "cfa", std_lv=True)
add("parallel items", "hs",
    "g =~ a*x4 + a*x5 + a*x6\nx4 ~~ e*x4\nx5 ~~ e*x5\nx6 ~~ e*x6", "cfa", std_lv=True)
add("equal regressions", "hs", HS + "\nspeed ~ k*visual + k*textual")
add("equal covariances", "hs",
    HS + "\nvisual ~~ r*textual\nvisual ~~ r*speed\ntextual ~~ r*speed", "cfa")
add("circumplex", "pool", "y1 ~~ p*y2 + q*y5\ny2 ~~ p*y3\ny3 ~~ p*y4\ny1 ~~ v*y1\ny2 ~~ v*y2\n"
    "y3 ~~ v*y3\ny4 ~~ v*y4")
add("equal residuals and labels, mlr", "heavy",
    scales("y", 2) + "\ny1 ~~ e*y1\ny2 ~~ e*y2", "cfa", estimator="mlr")
add("no direct effect", "mediation", MEDIATION + "\nc == 0\nab := a*b")
add("equal indirect effects", "mediation", TWO_MEDIATORS + "\na1*b1 == a2*b2")
add("nonlinear: product", "hs", LABELED + "\na*b == 0.5", "cfa")
add("nonlinear: help page", "pool", "y1 ~ b1*y2 + b2*y3 + b3*y4\nb1 == (b2 + b3)^2")
add("nonlinear: unit norm", "hs",
    "g =~ NA*x4 + a*x4 + b*x5 + c*x6 + d*x1\na^2 + b^2 + c^2 + d^2 == 3",
    "cfa")
add("nonlinear: exp and log", "pool", "y1 ~ b1*y2 + b2*y3 + b3*y4\nb1 == exp(b2)/5 + log(b3 + 1)")
add("reliability held at 0.7", "hs", """visual =~ l*x1 + l*x2 + l*x3
x1 ~~ e*x1
x2 ~~ e*x2
x3 ~~ e*x3
9*l^2/(9*l^2 + 3*e) == 0.7""", "cfa", std_lv=True)

# Inequalities and bounds
add("inequality, not active", "hs", LABELED + "\na > 0\nb > 0.1", "cfa")
add("inequality, active", "hs", LABELED + "\na > 0.8", "cfa")
add("inequality of two labels, active", "hs", LABELED + "\na > b", "cfa")
add("inequality, help page", "pool",
    "y1 ~ b1*y2 + b2*y3 + b3*y4\nb1 == (b2 + b3)^2\nb1 > exp(b2 + b3)/40")
add("variance above zero", "hs", HS + "\nx1 ~~ e*x1\ne > 0", "cfa")
add("variance below a number, active", "hs", HS + "\nx1 ~~ e*x1\ne < 0.4", "cfa")
add("lower()", "hs", "visual =~ x1 + lower(0.7)*x2 + x3\ntextual =~ x4 + x5 + x6", "cfa")
add("upper()", "hs", "visual =~ x1 + x2 + upper(0.6)*x3\ntextual =~ x4 + x5 + x6", "cfa")
add("lower() and upper(), not active", "hs",
    "visual =~ x1 + lower(0)*x2 + upper(5)*x3\ntextual =~ x4 + x5 + x6", "cfa")
add("bounds of variances", "democracy", DEMOCRACY, bounds="pos.var")
add("bounds, standard", "hs", HS, "cfa", bounds="standard")
add("bounds, wide", "hs", HS, "cfa", bounds="wide")
