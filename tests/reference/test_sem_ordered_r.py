"""Ordered items against live lavaan: estimators, thresholds, covariates, groups, gaps, scores."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

sys.path.insert(0, str(Path(__file__).parent))
from sem_reference import Case, lavaan_results

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

# lavaan stops searching at 1e-10 of the objective
ESTIMATE, STANDARD_ERROR, MEASURE, MODIFICATION = 1e-4, 1e-3, 1e-3, 5e-3
ITEMS = [f"u{k}" for k in range(1, 7)]
TWO = "F =~ u1 + u2 + u3\nG =~ u4 + u5 + u6"
ORDERED = f"ordered = c({', '.join(repr(name) for name in [*ITEMS, 'b'])})"
EQUAL = ["thresholds", "loadings"]
R_EQUAL = "group = 'g', group.equal = c('thresholds', 'loadings')"

# model, arguments of dtstat, those of lavaan
MODELS = {
    "wlsmv": (TWO, {}, ""),
    "wlsm": (TWO, {"estimator": "WLSM"}, "estimator = 'WLSM'"),
    "wls": (TWO, {"estimator": "wls"}, "estimator = 'WLS'"),
    "dwls": (TWO, {"estimator": "dwls"}, "estimator = 'DWLS'"),
    "ulsmv": (TWO, {"estimator": "ulsmv"}, "estimator = 'ULSMV'"),
    "uls": (TWO, {"estimator": "uls"}, "estimator = 'ULS'"),
    "theta": (
        TWO + "\nu1 ~~ u4", {"parameterization": "theta"}, "parameterization = 'theta'",
    ),
    "thresholds": (TWO + "\nu1 | a*t1 + b*t2\nu2 | a*t1\nb > 0.9\nu4 | -0.5*t1", {}, ""),
    "scales": (TWO + "\nu1 | 0*t1 + 1*t2\nu1 ~ NA*1\nu1 ~*~ NA*u1", {}, ""),
    "covariates": (TWO + "\nF + G ~ z + w\nu3 ~ z", {}, ""),
    "outcome": (TWO + "\nb ~ F + z\nG ~ w", {}, ""),
    "mediator": ("b ~ z\nu1 ~ b + w", {}, ""),
    "groups": (TWO, {"group": "g", "group_equal": EQUAL}, R_EQUAL),
    "groups_theta": (
        TWO, {"group": "g", "group_equal": EQUAL, "parameterization": "theta"},
        R_EQUAL + ", parameterization = 'theta'",
    ),
    "groups_partial": (
        TWO + "\nF ~ z", {"group": "g", "group_equal": EQUAL, "group_partial": ["F=~u2", "u2|t1"]},
        R_EQUAL + ", group.partial = c('F=~u2', 'u2|t1')",
    ),
    "weights": (TWO, {"sampling_weights": "weight"}, "sampling.weights = 'weight'"),
    "weights_ulsmv": (
        TWO, {"sampling_weights": "weight", "estimator": "ulsmv"},
        "sampling.weights = 'weight', estimator = 'ULSMV'",
    ),
    "weights_covariates": (
        TWO + "\nF ~ z", {"sampling_weights": "weight"}, "sampling.weights = 'weight'",
    ),
    "weights_groups": (
        TWO, {"sampling_weights": "weight", "group": "g", "group_equal": EQUAL},
        R_EQUAL + ", sampling.weights = 'weight'",
    ),
    "pairwise": (TWO + "\nF ~ z", {"missing": "pairwise"}, "missing = 'pairwise'"),
}  # fmt: skip
BARE = {"thresholds", "scales"}  # whose robust indices lavaan gets wrong, or has none


def answers() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    n = 500
    z, w = rng.normal(size=n), rng.integers(0, 2, n)
    F = 0.4 * z + rng.normal(size=n)
    G = 0.5 * F + 0.3 * w + rng.normal(size=n)
    behind = np.column_stack([F, F, F, G, G, G]) * [1, 0.8, 0.9, 1, 0.7, 0.8]
    behind += 0.8 * rng.normal(size=(n, 6))
    data = pd.DataFrame(np.digitize(behind, [-0.8, 0.6]), columns=ITEMS)
    b = (0.5 * F + rng.normal(size=n) > 0.2).astype(int)
    weight = rng.uniform(0.3, 3.0, n) * np.where(F > 0, 1.0, 1.6)
    north = np.arange(n) % 5 < 2
    return data.assign(b=b, z=z, w=w, weight=weight, g=np.where(north, "north", "south"))


def with_gaps() -> pd.DataFrame:
    data = answers()
    gone = np.random.default_rng(3).random((len(data), 6)) < 0.1
    return data.assign(**data[ITEMS].mask(gone))


def data_of(name: str) -> pd.DataFrame:
    return with_gaps() if name == "pairwise" else answers()


def fitted(name: str) -> dt.CFAFit:
    model, arguments, _ = MODELS[name]
    data, used = data_of(name), [item for item in [*ITEMS, "b"] if item in model]
    return dt.sem(data, model, ordered=used, **arguments)


@pytest.fixture(scope="module")
def lavaan(tmp_path_factory) -> dict:
    cases = [
        Case(name, model, data_of(name), ", ".join(filter(None, [ORDERED, options])))
        for name, (model, _, options) in MODELS.items()
    ]
    return lavaan_results(cases, tmp_path_factory.mktemp("ordered"))


def keyed(table: pd.DataFrame, groups: tuple[str, ...]) -> dict:
    found = {}
    for row in table[~table["op"].isin(["==", "<", ">"])].to_dict("records"):
        ends = (
            tuple(sorted((row["lhs"], row["rhs"])))
            if row["op"] == "~~"
            else (row["lhs"], row["rhs"])
        )
        group = row.get("group", "")
        name = groups[int(group) - 1] if groups and not isinstance(group, str) else group
        found[(row["op"], *ends, name if groups else "")] = row
    return found


@pytest.mark.parametrize("name", MODELS)
def test_equals_lavaan(name, lavaan):
    theirs, fit = lavaan[name], fitted(name)
    mine = keyed(fit.parameters, fit.groups)
    rows = keyed(theirs["parameters"], fit.groups)
    assert {key for key, row in rows.items() if row["se"] > 1e-5} <= mine.keys()
    for key, row in rows.items():
        if key not in mine:
            continue
        assert mine[key]["est"] == pytest.approx(row["est"], rel=ESTIMATE, abs=ESTIMATE), key
        assert mine[key]["std.all"] == pytest.approx(row["std.all"], abs=3 * ESTIMATE), key
        if row["se"] > 1e-5:
            assert mine[key]["se"] == pytest.approx(row["se"], rel=STANDARD_ERROR), key
    measures = fit.fit_measures
    for measure, value in theirs["measures"].itertuples(index=False):
        bare = name in BARE and measure.endswith(".robust")
        if measure in measures and np.isfinite(value) and not bare:
            assert measures[measure] == pytest.approx(value, rel=MEASURE, abs=MEASURE), measure


STANDARD = ("theta", "groups", "covariates", "outcome")


@pytest.mark.parametrize("name", STANDARD)
def test_standardized_errors_equal_lavaan(name, lavaan):
    fit = fitted(name)
    mine, theirs = (
        keyed(table, fit.groups) for table in (fit.standardized, lavaan[name]["standardized"])
    )
    for key, row in theirs.items():
        # lavaan holds residual variances and moments of predictors fixed where dtstat does
        if key in mine and row["se"] > 1e-5 and key[0] in ("=~", "~", "|"):
            assert mine[key]["se"] == pytest.approx(row["se"], rel=5e-3), key


@pytest.mark.parametrize("name", ["wlsmv", "theta", "covariates", "outcome", "groups"])
def test_modification_indices_equal_lavaan(name, lavaan):
    fit = fitted(name)
    mine = keyed(fit.modification_indices(), fit.groups)
    theirs = keyed(lavaan[name]["modification"], fit.groups)
    assert len(mine.keys() & theirs.keys()) > 10
    for key in mine.keys() & theirs.keys():
        for column in ("mi", "epc", "sepc.all"):
            value = theirs[key][column]
            assert mine[key][column] == pytest.approx(value, rel=1e-2, abs=MODIFICATION), key


SCORES = """
suppressPackageStartupMessages(library(lavaan))
folder <- commandArgs(TRUE)[1]
d <- read.csv(file.path(folder, "d.csv"))
items <- paste0("u", 1:6)
two <- "F =~ u1 + u2 + u3\\nG =~ u4 + u5 + u6"
save <- function(f, name) write.csv(lavPredict(f), file.path(folder, name), row.names = FALSE)
save(cfa(two, d, ordered = items), "plain.csv")
save(sem(paste0(two, "\\nF ~ z"), d, ordered = items), "covariate.csv")
save(cfa("F =~ u1 + u2 + z", d, ordered = items), "mixed.csv")
"""


def test_scores_are_the_modes_that_lavaan_finds(tmp_path):
    data = answers().head(200)
    data.to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "s.R").write_text(SCORES)
    subprocess.run(["Rscript", "--vanilla", str(tmp_path / "s.R"), str(tmp_path)], check=True)
    mixed = dt.cfa(data, "F =~ u1 + u2 + z", ordered=["u1", "u2"])
    fits = {
        "plain": dt.cfa(data, TWO, ordered=ITEMS),
        "covariate": dt.sem(data, TWO + "\nF ~ z", ordered=ITEMS),
        "mixed": mixed,
    }
    for name, fit in fits.items():
        theirs = pd.read_csv(tmp_path / f"{name}.csv")
        np.testing.assert_allclose(fit.factor_scores(data), theirs, atol=2e-3)
