"""Survey designs: sampling weights and clusters."""

from __future__ import annotations

from typing import Any

from benchmarks.lavaan.entry import Feature

# fmt: off
FEATURE = Feature("weights and clusters")
TWO = "F1 =~ v1 + v2 + v3 + v4\nF2 =~ v5 + v6 + v7 + v8"
ORDERED = "F1 =~ q1 + q2 + q3 + q4"
WITHIN = "f =~ y1 + y2 + y3"


def add(name: str, model: str, function: str = "sem", data: str = "survey", **args: Any) -> None:
    FEATURE.add(f"designs: {name}", data, model, function, **args)


add("weights", TWO, "cfa", sampling_weights="weight")
add("weights, mlr", TWO, "cfa", sampling_weights="weight", estimator="mlr")
add("weights, std_lv", TWO, "cfa", sampling_weights="weight", std_lv=True)
add("weights, predictor", TWO + "\nF1 ~ z\nF2 ~ F1", sampling_weights="weight")
add("weights, path model", "v1 ~ v2 + z\nv3 ~ v1", sampling_weights="weight", estimator="mlr")
add("weights, equal loadings", TWO.replace("v2", "a*v2").replace("v3", "a*v3"), "cfa",
    sampling_weights="weight")
add("weights, groups", TWO, "cfa", sampling_weights="weight", group="region")
add("weights, groups, scalar", TWO, "cfa", sampling_weights="weight", group="region",
    group_equal=["loadings", "intercepts"])
add("weights, groups normalized", TWO, "cfa", sampling_weights="weight", group="region",
    sampling_weights_normalization="group")
add("weights, ordered", ORDERED, "cfa", sampling_weights="weight", ordered=True)
add("weights, fiml", TWO.replace("v1", "p1").replace("v5", "p5"), "cfa", sampling_weights="weight",
    missing="fiml")
add("clusters", TWO, "cfa", cluster="school")
add("clusters, mlr", TWO, "cfa", cluster="school", estimator="mlr")
add("clusters, predictor", TWO + "\nF1 ~ z\nF2 ~ F1 + z", cluster="school")
add("clusters, path model", "v1 ~ v2 + z\nv3 ~ v1", cluster="school")
add("clusters, equal loadings", TWO.replace("v2", "a*v2").replace("v3", "a*v3"), "cfa",
    cluster="school")
add("clusters, indirect effect", TWO + "\nF1 ~ a*z\nF2 ~ b*F1 + z\nab := a*b", cluster="school")
add("clusters, groups", TWO, "cfa", cluster="school", group="region")
add("clusters, groups, metric", TWO, "cfa", cluster="school", group="region",
    group_equal=["loadings"])
add("clusters, fiml", TWO.replace("v1", "p1").replace("v5", "p5"), "cfa", cluster="school",
    missing="fiml")
add("weights and clusters", TWO, "cfa", sampling_weights="weight", cluster="school")
add("weights and clusters, predictor", TWO + "\nF1 ~ z", sampling_weights="weight",
    cluster="school")
add("clusters of the two-level data", WITHIN + "\nf ~ x1 + x2 + x3", data="twolevel",
    cluster="cluster")
