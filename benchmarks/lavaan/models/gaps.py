"""Missing answers: full information and its relatives."""

from __future__ import annotations

from typing import Any

from benchmarks.lavaan.entry import Feature
from benchmarks.lavaan.models.texts import GROWTH, HS, TWO, random_model, scales

# fmt: off
FEATURE = Feature("gaps")


def add(name: str, data: str, model: str, function: str = "sem", **args: Any) -> None:
    args.setdefault("missing", "fiml")
    FEATURE.add(f"gaps: {name}", data, model, function, **args)


add("three factors", "hs_gaps", HS, "cfa")
add("three factors, mlr", "hs_gaps", HS, "cfa", estimator="mlr")
add("three factors, mlf", "hs_gaps", HS, "cfa", estimator="mlf")
add("three factors, std_lv", "hs_gaps", HS, "cfa", std_lv=True)
add("three factors, orthogonal", "hs_gaps", HS, "cfa", orthogonal=True)
add("three factors, listwise", "hs_gaps", HS, "cfa", missing="listwise")
add("three factors, expected information", "hs_gaps", HS, "cfa", information="expected")
add("nothing missing", "hs", HS, "cfa")
add("equal loadings and means", "hs_gaps",
    "visual =~ x1 + a*x2 + a*x3\ntextual =~ x4 + x5 + x6\nx4 ~ m*1\nx6 ~ m*1", "cfa")
add("constraint and defined parameter", "hs_gaps",
    HS + "\ntextual ~ a*visual\nspeed ~ b*textual + c*visual\nab := a*b\nb == c")
add("structural", "hs_gaps", HS + "\nspeed ~ visual + textual")
add("complete predictors", "hs_gaps", HS + "\nvisual ~ ageyr + sex\nspeed ~ visual + ageyr")
add("complete predictors, mlr", "hs_gaps", HS + "\nvisual ~ ageyr + sex", estimator="mlr")
add("complete predictors, random", "hs_gaps", HS + "\nvisual ~ ageyr + sex", fixed_x=False)
add("predictors with gaps, rows left out", "hs_gaps_x", HS + "\nvisual ~ ageyr + sex")
add("predictors with gaps, fiml.x", "hs_gaps_x", HS + "\nvisual ~ ageyr + sex", missing="fiml.x")
add("predictors with gaps, random", "hs_gaps_x", HS + "\nvisual ~ ageyr + sex", fixed_x=False)
add("predictors with gaps, fiml.x, mlr", "hs_gaps_x", TWO + "\nvisual ~ ageyr\ntextual ~ visual",
    missing="fiml.x", estimator="mlr")
add("auxiliary variable", "hs_gaps", TWO + "\n" + "\n".join(f"ageyr ~~ x{k}" for k in range(1, 7)))
add("planned missingness", "hs_planned", HS, "cfa")
add("planned missingness, predictors", "hs_planned", HS + "\nvisual ~ ageyr\nspeed ~ ageyr")
add("planned missingness, groups", "hs_planned",
    HS, "cfa", group="school", group_equal=["loadings"])
add("groups, configural", "hs_gaps", HS, "cfa", group="school")
add("groups, strict, mlr", "hs_gaps", HS, "cfa", group="school", estimator="mlr",
    group_equal=["loadings", "intercepts", "residuals"])
add("path model", "hs_gaps", "x4 ~ x1 + ageyr\nx7 ~ x4 + x1", fixed_x=False)
add("growth with dropout", "growth_dropout", GROWTH, "growth")
add("growth with dropout and predictors", "growth_dropout", GROWTH + "\ni + s ~ x1 + x2", "growth")
add("bfi, two scales", "bfi", "A =~ A1 + A2 + A3 + A4 + A5\nN =~ N1 + N2 + N3 + N4 + N5", "cfa")
add("heavy tails, mlr", "heavy_gaps", scales("y", 4), "cfa", estimator="mlr")
add("two-stage", "hs_gaps", HS, "cfa", missing="two.stage")
add("two-stage, robust", "hs_gaps", HS, "cfa", missing="robust.two.stage")
for seed in range(51, 54):
    add(f"random {seed}", "heavy_gaps", random_model(seed, "y"))
    add(f"random {seed}, mlr", "heavy_gaps", random_model(seed, "y"), estimator="mlr")
