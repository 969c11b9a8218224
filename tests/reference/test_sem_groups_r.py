"""Groups, constraints and defined parameters, against live lavaan."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import EstimationWarning

sys.path.insert(0, str(Path(__file__).parent))
from sem_reference import Case, as_lavaan_counts, lavaan_results

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

# lavaan stops searching at 1e-10 of the objective
ESTIMATE, STANDARD_ERROR, MEASURE, MODIFICATION = 1e-4, 1e-3, 1e-3, 5e-3

HS = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
ONE = "visual =~ x1 + x2 + x3 + x9"
EQUAL = {
    "configural": (),
    "metric": ("loadings",),
    "scalar": ("loadings", "intercepts"),
    "strict": ("loadings", "intercepts", "residuals"),
    "all": ("loadings", "intercepts", "residuals", "means", "lv_variances", "lv_covariances"),
}
DEMOCRACY = """
ind60 =~ x1 + x2 + x3
dem60 =~ y1 + a*y2 + b*y3 + c*y4
dem65 =~ y5 + a*y6 + b*y7 + c*y8
dem60 ~ p*ind60
dem65 ~ q*ind60 + r*dem60
y1 ~~ y5
y2 ~~ y4 + y6
y3 ~~ y7
y4 ~~ y8
y6 ~~ y8
"""


def schools() -> pd.DataFrame:
    data = dt.load_dataset("holzinger_swineford_9")
    rng = np.random.default_rng(5)
    data["school"] = ["Pasteur"] * 156 + ["Grant-White"] * 145
    data["third"] = rng.choice(["u", "v", "w"], len(data))
    data["z"] = rng.normal(size=len(data)) + 0.3 * data["x1"]
    return data


def with_gaps() -> pd.DataFrame:
    data = schools()
    items = [f"x{k}" for k in range(1, 10)]
    gone = np.random.default_rng(2).random((len(data), 9)) < 0.08
    return data.assign(**data[items].mask(gone))


def democracy() -> pd.DataFrame:
    return dt.load_dataset("political_democracy")


def mediation() -> pd.DataFrame:
    rng = np.random.default_rng(1234)
    X = rng.normal(size=100)
    M = 0.5 * X + rng.normal(size=100)
    return pd.DataFrame({"X": X, "Y": 0.7 * M + rng.normal(size=100), "M": M})


def three_predictors() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(150, 3))
    y = X @ [0.5, 0.9, 0.6] + rng.normal(size=150)
    return pd.DataFrame(X, columns=["x1", "x2", "x3"]).assign(y=y)


def _groups(equal: tuple[str, ...] = (), more: str = "", **options) -> tuple[str, dict]:
    """Options for both programs."""
    names = ", ".join(f"'{name.replace('_', '.')}'" for name in equal)
    text = "group = 'school'" + (f", group.equal = c({names})" if equal else "") + more
    return text, {"group": "school", "group_equal": equal, **options}


THREE = ("loadings", "intercepts", "residuals")
CASES = {
    **{name: (HS, schools, *_groups(equal)) for name, equal in EQUAL.items()},
    **{
        f"{name}_mlr": (HS, schools, *_groups(equal, ", estimator = 'MLR'", estimator="mlr"))
        for name, equal in EQUAL.items()
    },
    "fiml": (HS, with_gaps, *_groups(("loadings",), ", missing = 'ml'", missing="fiml")),
    "fiml_mlr": (HS, with_gaps, *_groups(
        ("loadings", "intercepts"), ", missing = 'ml', estimator = 'MLR'", missing="fiml",
        estimator="mlr")),
    "std_lv": (HS, schools, *_groups((), ", std.lv = TRUE", std_lv=True)),
    "std_lv_metric": (HS, schools, *_groups(("loadings",), ", std.lv = TRUE", std_lv=True)),
    "std_lv_scalar": (HS, schools, *_groups(THREE[:2], ", std.lv = TRUE", std_lv=True)),
    "std_lv_all": (HS, schools, *_groups(EQUAL["all"], ", std.lv = TRUE", std_lv=True)),
    "partial": (HS, schools, *_groups(
        THREE[:2], ", group.partial = c('visual=~x2', 'x3~1', 'x7~1')",
        group_partial=["visual =~ x2", "x3 ~ 1", "x7~1"])),
    "no_means": (HS, schools, *_groups(
        ("loadings",), ", meanstructure = FALSE", mean_structure=False)),
    "three_groups": (HS, schools, "group = 'third', group.equal = 'loadings'",
                     {"group": "third", "group_equal": "loadings"}),
    "modifiers": (ONE.replace("x2", "c(a, b)*x2").replace("x9", "c(0.4, NA)*x9")
                  + "\nvisual ~~ c(v, w)*visual\nx1 ~ c(i, i)*1", schools, *_groups()),
    "modifiers_metric": (ONE.replace("x2", "c(a, b)*x2"), schools, *_groups(("loadings",))),
    "one_label": (ONE.replace("x2", "a*x2").replace("x3", "a*x3"), schools, *_groups()),
    "difference": (ONE.replace("x2", "c(a, b)*x2") + "\nd := a - b\nratio := exp(log(a) - log(b))",
                   schools, *_groups()),
    "regression": (HS + "\nspeed ~ visual + textual", schools, *_groups(
        ("loadings", "intercepts", "regressions"))),
    "covariate": (HS + "\nspeed ~ visual + z\ntextual ~ z", schools, *_groups(("loadings",))),
    "covariate_mlr": (HS + "\nspeed ~ visual + z\ntextual ~ z", schools, *_groups(
        ("loadings",), ", estimator = 'MLR'", estimator="mlr")),
    "residual_covariances": (HS + "\nx1 ~~ x4\nx7 ~~ x8", schools, *_groups(
        ("loadings", "residual_covariances"))),
    "effect_coding": (HS, schools, "effect.coding = TRUE", {"effect_coding": True}),
    "effect_coding_groups": (HS, schools, *_groups(
        THREE[:2], ", effect.coding = TRUE", effect_coding=True)),
    "effect_coding_loadings": (HS, schools, *_groups(
        ("loadings",), ", effect.coding = 'loadings'", effect_coding="loadings")),
    "democracy": (DEMOCRACY + "ind := p*r\ntotal := q + p*r", democracy, "", {}),
    "democracy_mlr": (DEMOCRACY + "ind := p*r\ntotal := q + ind", democracy, "estimator = 'MLR'",
                      {"estimator": "mlr"}),
    "linear": (DEMOCRACY + "a + b == 2*c\nq == 0.5*p - 0.1", democracy, "", {}),
    "linear_mlr": (DEMOCRACY + "a + b == 2*c", democracy, "estimator = 'MLR'",
                   {"estimator": "mlr"}),
    "nonlinear": (DEMOCRACY + "p*r == 1\nab := a*b", democracy, "", {}),
    "nonlinear_mlr": (DEMOCRACY + "p*r == 1.2", democracy, "estimator = 'MLR'",
                      {"estimator": "mlr"}),
    "mediation": ("Y ~ c*X\nM ~ a*X\nY ~ b*M\nab := a*b\ntotal := c + (a*b)", mediation, "", {}),
    "tutorial": ("y ~ b1*x1 + b2*x2 + b3*x3\nb1 == (b2 + b3)^2\nb1 > exp(b2 + b3)/100",
                 three_predictors, "", {}),
    "inactive": ("y ~ b1*x1 + b2*x2 + b3*x3\nb1 > 0\nb2 < 2", three_predictors, "", {}),
    "active": ("y ~ b1*x1 + b2*x2 + b3*x3\nb1 > b2", three_predictors, "", {}),
    "lower": ("y ~ x1 + lower(0)*x2 + upper(3)*x3", three_predictors, "", {}),
    "bounds": (DEMOCRACY, democracy, "bounds = 'pos.var'", {"bounds": "pos.var"}),
    "effect_coding_means": (HS, schools, "effect.coding = TRUE, meanstructure = TRUE",
                            {"effect_coding": True, "mean_structure": True}),
}  # fmt: skip


@pytest.fixture(scope="module")
def lavaan(tmp_path_factory) -> dict:
    cases = [Case(name, text, data(), options) for name, (text, data, options, _) in CASES.items()]
    return lavaan_results(cases, tmp_path_factory.mktemp("groups"))


def fitted(name):
    text, data, _, options = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EstimationWarning)
        return dt.sem(data(), text, **options)


def _by_key(table, groups):
    """Rows by parameter; lavaan numbers groups, here they have names."""
    numbers = {name: k for k, name in enumerate(groups, 1)} | {"": 0}
    found = {}
    for row in table.to_dict("records"):
        group = row.get("group", 1)
        group = numbers[group] if isinstance(group, str) else int(group)
        found[row["lhs"], row["op"], "" if row["op"] == ":=" else row["rhs"], group] = row
    return found


def _pairs(ours, theirs, groups):
    known = _by_key(ours, groups)
    for (lhs, op, rhs, group), row in _by_key(theirs, groups).items():
        group = group if groups else 1
        for key in ((lhs, op, rhs, group), (rhs, op, lhs, group)):
            if key in known:
                yield known[key], row
                break


@pytest.mark.parametrize("name", CASES)
def test_estimates_equal_lavaan(name, lavaan):
    fit, theirs = fitted(name), lavaan[name]
    # under nonlinear constraints lavaan stops early: its chi-square is 3e-6 above ours, and it
    # misses p*r == 1.2 by 5e-7 where we miss it by 2e-11
    tolerance = (5 if name.startswith("nonlinear") else 1) * ESTIMATE
    for kind, ours in (("parameters", fit.parameters), ("standardized", fit.standardized)):
        value = "est" if kind == "parameters" else "est.std"
        compared = 0
        for mine, row in _pairs(ours, theirs[kind], fit.groups):
            scale = max(1.0, abs(row[value]))
            said = (name, kind, row["lhs"], row["op"], row["rhs"])
            assert mine[value] == pytest.approx(row[value], abs=tolerance * scale), said
            assert mine["se"] == pytest.approx(row["se"], rel=STANDARD_ERROR, abs=2e-5), said
            compared += 1
        assert compared == len(ours)


@pytest.mark.parametrize("name", CASES)
def test_fit_measures_equal_lavaan(name, lavaan):
    table = lavaan[name]["measures"]
    theirs = dict(zip(table["name"], table["value"], strict=True))
    compared = 0
    for key, mine in as_lavaan_counts(fitted(name).fit_measures, theirs).items():
        # lavaan has no RFI for models with more degrees of freedom than the baseline, and takes
        # NFI as 1 without any, although an active inequality does cost fit
        known = key in theirs and np.isfinite(theirs[key])
        if known and not (name == "active" and key in ("nfi", "rfi", "pnfi", "ifi", "rni")):
            scale = max(1.0, abs(theirs[key]))
            assert mine == pytest.approx(theirs[key], abs=MEASURE * scale, nan_ok=True), key
            compared += 1
    assert compared > 25
    if "fiml" in name:
        assert {"cfi.robust", "tli.robust", "rmsea.robust"} <= set(fitted(name).fit_measures)


@pytest.mark.parametrize(
    "name", [name for name in CASES if "modification" in name or name in EQUAL]
)
def test_modification_indices_equal_lavaan(name, lavaan):
    fit = fitted(name)
    table = lavaan[name]["modification"]
    compared = 0
    for mine, row in _pairs(fit.modification_indices(), table, fit.groups):
        for column in ("mi", "epc", "sepc.lv", "sepc.all"):
            scale = max(1.0, abs(row[column]))
            assert mine[column] == pytest.approx(row[column], abs=MODIFICATION * scale), row
        compared += 1
    assert compared > 20
