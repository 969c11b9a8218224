"""Continuous answers by other estimators, standard errors and tests."""

from __future__ import annotations

from benchmarks.lavaan.entry import Feature
from benchmarks.lavaan.models.texts import DEMOCRACY, ERRORS, HS, random_model, scales

# fmt: off
FEATURE = Feature("estimators")
LIMITED = HS + "\nspeed ~ visual + textual"
HEAVY = scales("y", 3) + "\nF3 ~ F1 + F2"


def add(name: str, data: str, model: str, function: str = "sem", **args: str | bool) -> None:
    FEATURE.add(f"estimators: {name}", data, model, function, **args)


NORMAL = ("mlm", "mlmv", "mlmvs", "mlf", "mlr", "gls", "uls")
for estimator in (*NORMAL, "wls", "ulsmv", "wlsmv", "dwls"):
    add(f"{estimator}, three factors", "hs", HS, "cfa", estimator=estimator)
for estimator in NORMAL:
    add(f"{estimator}, heavy tails", "heavy", HEAVY, estimator=estimator)
for estimator in ("mlm", "mlr", "gls"):
    add(f"{estimator}, democracy", "democracy", DEMOCRACY + "\n" + ERRORS, estimator=estimator)
    add(f"{estimator}, means", "heavy",
        scales("y", 2) + "\ny1 ~ 0*1\nF1 ~ NA*1", estimator=estimator)
for estimator in ("mlm", "mlr"):
    add(f"{estimator}, predictors", "heavy", scales("y", 2) + "\nF1 ~ z + w\nF2 ~ F1 + z",
        estimator=estimator)
    add(f"{estimator}, equal loadings", "heavy",
        scales("y", 2).replace("y2", "a*y2").replace("y3", "a*y3"), estimator=estimator)
    add(f"{estimator}, path model", "mediation", "m1 ~ x\ny ~ m1 + x\ny2 ~ y", estimator=estimator)
for seed in range(41, 45):
    add(f"mlr, random {seed}", "heavy", random_model(seed, "y"), estimator="mlr")
for information in ("observed", "expected"):
    add(f"{information} information", "heavy", HEAVY, information=information)
add("first-order information", "heavy", HEAVY, information="first.order",
    mean_structure=True)
add("mlr, observed information", "hs", LIMITED, estimator="mlr", information="observed")
add("mlr, expected information", "hs", LIMITED, estimator="mlr", information="expected")
add("robust.sem errors", "hs", HS, "cfa", se="robust.sem")
add("robust.huber.white errors", "hs", HS, "cfa", se="robust.huber.white")
add("no standard errors", "hs", HS, "cfa", se="none")
add("Satorra-Bentler test", "hs", HS, "cfa", test="satorra.bentler")
add("Yuan-Bentler test", "hs", HS, "cfa", test="yuan.bentler")
add("scaled and shifted test", "hs", HS, "cfa", test="scaled.shifted")
add("mean and variance adjusted test", "hs", HS, "cfa", test="mean.var.adjusted")
