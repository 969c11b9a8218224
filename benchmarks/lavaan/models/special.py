"""Growth, effect coding, exploratory blocks, second-order and bifactor models, two levels."""

from __future__ import annotations

from typing import Any

from benchmarks.lavaan.entry import Feature
from benchmarks.lavaan.models.texts import GROWTH, HS, TWO, scales

# fmt: off
FEATURE = Feature("growth and others")
SECOND = HS + "\ng =~ visual + textual + speed"
BIFACTOR = "G =~ " + " + ".join(f"y{k}" for k in range(1, 13)) + "\n" + scales("y", 3)
VARYING = "\ni + s ~ x1 + x2\nt1 ~ c1\nt2 ~ c2\nt3 ~ c3\nt4 ~ c4"
LEVELS = """level: 1
  fw =~ y1 + y2 + y3
  fw ~ x1 + x2 + x3
level: 2
  fb =~ y1 + y2 + y3
  fb ~ w1 + w2"""


def add(name: str, data: str, model: str, function: str = "cfa", **args: Any) -> None:
    FEATURE.add(f"special: {name}", data, model, function, **args)


add("growth", "growth", GROWTH, "growth")
add("growth, predictors", "growth", GROWTH + "\ni + s ~ x1 + x2", "growth")
add("growth, varying predictors", "growth", GROWTH + VARYING, "growth")
add("growth, equal residuals", "growth",
    GROWTH + "\nt1 ~~ r*t1\nt2 ~~ r*t2\nt3 ~~ r*t3\nt4 ~~ r*t4", "growth")
add("growth, quadratic", "growth",
    GROWTH + "\nq =~ 0*t1 + 1*t2 + 4*t3 + 9*t4\nq ~~ 0*q + 0*i + 0*s", "growth")
add("growth, free times", "growth",
    "i =~ 1*t1 + 1*t2 + 1*t3 + 1*t4\ns =~ 0*t1 + t2 + t3 + 3*t4", "growth")
add("growth, intercept only", "growth", "i =~ 1*t1 + 1*t2 + 1*t3 + 1*t4", "growth")
add("growth, mlr", "growth", GROWTH + "\ni + s ~ x1", "growth", estimator="mlr")
add("growth, slope on intercept", "growth", GROWTH + "\ns ~ i + x1\ni ~ x1", "growth")
add("growth, factors", "panel", "A =~ a1 + k2*a2 + k3*a3\nB =~ b1 + k2*b2 + k3*b3\n"
    "a1 ~ 0*1\nb1 ~ 0*1\na2 ~ m2*1\nb2 ~ m2*1\na3 ~ m3*1\nb3 ~ m3*1\nA ~ NA*1\nB ~ NA*1")

add("effect coding", "hs", HS, effect_coding=True)
add("effect coding, loadings", "hs", HS, effect_coding="loadings")
add("effect coding, means", "hs", HS, effect_coding=True, mean_structure=True)
add("effect coding, groups", "hs", HS, effect_coding=True, group="school",
    group_equal=["loadings", "intercepts"])
add("std_lv with a written variance", "hs", HS + "\nvisual ~~ 2*visual", std_lv=True)

add("second order", "hs", SECOND)
add("second order, std_lv", "hs", SECOND, std_lv=True)
add("second order, predictor", "hs", SECOND + "\ng ~ ageyr", "sem")
add("second order, four scales", "pool", scales("y", 4) + "\nG =~ F1 + F2 + F3 + F4")
add("second order, groups", "hs", SECOND, group="school", group_equal=["loadings"])
add("bifactor", "pool", BIFACTOR, orthogonal=True, std_lv=True)
add("bifactor, markers", "pool", BIFACTOR, orthogonal=True)
add("bifactor, predictor", "pool", BIFACTOR + "\nG ~ z", "sem", orthogonal=True, std_lv=True)
add("method factors", "panel",
    "A =~ a1 + a2 + a3 + a4\nB =~ b1 + b2 + b3 + b4\nM =~ 1*a1 + 1*b1\nN =~ 1*a2 + 1*b2\n"
    "M ~~ 0*A + 0*B + 0*N\nN ~~ 0*A + 0*B")
add("latent difference", "panel",
    "A =~ a1 + a2 + a3\nB =~ b1 + b2 + b3\nD =~ 1*B\nB ~ 1*A\nB ~~ 0*B\nD ~~ A", "sem")
add("phantom variable", "hs",
    TWO + "\nP =~ 0\nP ~~ 1*P\nvisual ~ start(0.7)*P\nvisual ~~ 0*visual", "sem")
add("formative <~", "pool", "C <~ 1*z + w\nF1 =~ y1 + y2 + y3\nF1 ~ C\ny9 ~ C", "sem")

EFA = 'efa("b")*f1 + efa("b")*f2 =~ x1 + x2 + x3 + x4 + x5 + x6'
NINE = " + ".join(f"x{k}" for k in range(1, 10))
EFA3 = f'efa("b")*f1 + efa("b")*f2 + efa("b")*f3 =~ {NINE}'
for rotation in ("geomin", "oblimin", "varimax", "quartimin"):
    add(f"ESEM, {rotation}", "hs", EFA3, rotation=rotation)
add("ESEM, two factors", "hs", EFA)
add("ESEM, a factor besides", "hs", EFA + "\nspeed =~ x7 + x8 + x9", "sem")
add("ESEM, outcome", "hs", EFA + "\nspeed =~ x7 + x8 + x9\nspeed ~ f1 + f2", "sem")
add("ESEM, predictor", "hs", EFA + "\nf1 + f2 ~ ageyr", "sem")
add("ESEM, mlr", "hs", EFA3, estimator="mlr")
add("ESEM, ordered", "ordered",
    'efa("b")*f1 + efa("b")*f2 =~ u1 + u2 + u3 + u4 + u5 + u6 + u7 + u8',
    ordered=[f"u{k}" for k in range(1, 9)])

add("two levels", "twolevel", LEVELS, "sem", cluster="cluster")
add("two levels, no predictors", "twolevel",
    "level: 1\n  fw =~ y1 + y2 + y3\nlevel: 2\n  fb =~ y1 + y2 + y3", "sem", cluster="cluster")
