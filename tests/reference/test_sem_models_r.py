"""Models that need care, against live lavaan: paths, gaps, means, thresholds, robust indices."""

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

# As in test_sem_lavaan: lavaan stops searching at 1e-10 of the objective.
ESTIMATE, STANDARD_ERROR, MEASURE, MODIFICATION = 1e-4, 1e-3, 1e-3, 5e-3

HS = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
TWO = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6"
MEANS = HS + "\nx1 ~ 5*1\nx2 ~ 6*1\nx4 ~ a*1\nx5 ~ a*1"
MARKED = "A =~ a1 + a2 + a3\nC =~ c1 + c2 + c3"


def nine() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    data = dt.load_dataset("holzinger_swineford_9")
    data["z"] = rng.normal(size=len(data)) + 0.3 * data["x1"]
    data["w"] = rng.normal(size=len(data)) + 0.4 * data["x4"]
    return data


def with_gaps(share: float = 0.08) -> pd.DataFrame:
    data = nine()[[f"x{k}" for k in range(1, 10)]]
    return data.mask(np.random.default_rng(2).random(data.shape) < share)


def planned() -> pd.DataFrame:
    """x1 and x5 are never answered together."""
    data = nine()
    return data.assign(
        x1=data["x1"].where(data.index >= 150), x5=data["x5"].where(data.index < 150)
    )


def ordered(n: int = 800) -> pd.DataFrame:
    """Two factors, six items of four categories, and a predictor z with a mean."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=n)
    F = (
        rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], n, method="cholesky")
        + 0.4 * z[:, None]
    )
    X = np.repeat(F, 3, axis=1) * 0.8 + 0.6 * rng.normal(size=(n, 6))
    data = pd.DataFrame(np.digitize(X, [-1, 0, 0.9]), columns=["a1", "a2", "a3", "c1", "c2", "c3"])
    return data.assign(z=z + 2.0)


ORDERED = "ordered = c('a1','a2','a3','c1','c2','c3'), estimator = 'WLSMV'"
SIX = ["a1", "a2", "a3", "c1", "c2", "c3"]
CASES = {
    "orthogonal": (HS + "\ntextual ~ visual\nspeed ~ visual", nine, "orthogonal = TRUE",
                   {"orthogonal": True}),
    "orthogonal_outcomes": (
        HS + "\ntextual ~ visual\nspeed ~ visual\nz ~ visual\nw ~ visual", nine,
        "orthogonal = TRUE", {"orthogonal": True},
    ),
    "paths": ("x1 ~ z + w\nx4 ~ x1 + w", nine, "fixed.x = FALSE", {}),
    "chain": ("x1 ~ z\nx4 ~ x1 + w\nx7 ~ x4", nine, "fixed.x = FALSE", {}),
    "random_paths": ("x1 ~ x2 + x3\nx4 ~ x2\nx5 ~ x1 + x4\nx2 ~~ x2\nx2 ~~ x3\nx3 ~~ x3", nine,
                     "", {}),
    "item_regressed": (TWO + "\nx1 ~~ .1*x2\ntextual =~ .1*x1\nx7 ~ x4", nine, "", {}),
    "one_covariate": (TWO + "\ntextual ~ visual + z\nx7 ~ textual", nine, "", {}),
    "one_covariate_means": (TWO + "\ntextual ~ visual + z\nx7 ~ textual", nine,
                            "meanstructure = TRUE", {"mean_structure": True}),
    "second_order": (HS + "\ng =~ visual + textual + speed\ng ~ z\nw ~ g", nine, "", {}),
    "means": (MEANS, nine, "", {}),
    "means_mlr": (MEANS, nine, "estimator = 'MLR'", {"estimator": "mlr"}),
    "saturated": ("f =~ x1 + x2 + x3", nine, "", {}),
    "fiml": (HS, with_gaps, "missing = 'ml'", {"missing": "fiml"}),
    "fiml_means": (MEANS, with_gaps, "missing = 'ml'", {"missing": "fiml"}),
    "fiml_complete": (HS, nine, "missing = 'ml'", {"missing": "fiml"}),
    "fiml_mlr": (HS, with_gaps, "missing = 'ml', estimator = 'MLR'",
                 {"missing": "fiml", "estimator": "mlr"}),
    "many_gaps": (HS, lambda: with_gaps(0.3), "missing = 'ml'", {"missing": "fiml"}),
    "planned": (HS, planned, "missing = 'ml'", {"missing": "fiml"}),
    "start": (TWO + "\nvisual ~~ textual", nine, "", {}),
    "ordered": (MARKED, ordered, ORDERED, {"ordered": SIX}),
    "ordered_free_mean": (MARKED + "\nA ~ z\nz ~~ z\nz ~ 1", ordered, ORDERED, {"ordered": SIX}),
    "ordered_predictor": (MARKED + "\nA ~ z\nC ~ A\nz ~~ z", ordered, ORDERED, {"ordered": SIX}),
}  # fmt: skip


@pytest.fixture(scope="module")
def lavaan(tmp_path_factory) -> dict:
    cases = [Case(name, text, data(), options) for name, (text, data, options, _) in CASES.items()]
    return lavaan_results(cases, tmp_path_factory.mktemp("models"))


def fitted(name):
    text, data, _, options = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EstimationWarning)
        return dt.sem(data(), text, **options)


def _by_key(table):
    return {(r["lhs"], r["op"], r["rhs"]): r for _, r in table.iterrows()}


def _pairs(ours, theirs):
    """Rows of both tables that are about the same parameter."""
    known = _by_key(ours)
    for key, row in _by_key(theirs).items():
        key = key if key in known or key[1] != "~~" else key[::-1]
        if key in known:
            yield known[key], row


@pytest.mark.parametrize("name", [n for n in CASES if CASES[n][2] != "fixed.x = FALSE"])
def test_estimates_equal_lavaan(name, lavaan):
    fit, theirs = fitted(name), lavaan[name]
    compared = 0
    mixed = "predictor" in name or "free_mean" in name
    # lavaan's search for polyserial correlations ends early, and its Γ is one of normal items:
    # a covariance of 800 rows has a standard error within 15 % of the one without that premise
    estimate, error = (30 * ESTIMATE, 0.15) if mixed else (ESTIMATE, STANDARD_ERROR)
    for kind, ours in (("parameters", fit.parameters), ("standardized", fit.standardized)):
        value = "est" if kind == "parameters" else "est.std"
        for mine, row in _pairs(ours, theirs[kind]):
            scale = max(1.0, abs(row[value]))
            assert mine[value] == pytest.approx(row[value], abs=estimate * scale), row.tolist()
            assert mine["se"] == pytest.approx(row["se"], rel=error, abs=2e-5), row.tolist()
            compared += 1
    assert compared >= 2 * sum(bool(r.free) for r in fit.estimate.model.parameters)


@pytest.mark.parametrize(
    "name", [n for n in CASES if "predictor" not in n and "free_mean" not in n and n != "planned"]
)
def test_fit_measures_equal_lavaan(name, lavaan):
    ours = fitted(name).fit_measures
    table = lavaan[name]["measures"]
    theirs = dict(zip(table["name"], table["value"], strict=True))
    ours = as_lavaan_counts(ours, theirs)
    if CASES[name][2] == "fixed.x = FALSE":  # which counts the predictors' parameters and moments
        ours = {key: ours[key] for key in ("chisq", "df", "rmsea", "srmr")}
    for key, value in ours.items():
        if key in theirs and not np.isnan(theirs[key]):
            scale = max(1.0, abs(theirs[key]) / 1000)
            assert value == pytest.approx(theirs[key], abs=MEASURE * scale), key


@pytest.mark.parametrize("name", ["fiml", "fiml_means", "fiml_complete", "fiml_mlr", "ordered"])
def test_robust_indices_are_there_where_lavaan_has_them(name, lavaan):
    table = lavaan[name]["measures"]
    others = ("nnfi.robust", "rni.robust")
    theirs = {n for n in table["name"] if n.endswith(".robust") and n not in others}
    assert theirs <= set(fitted(name).fit_measures)
    assert len(theirs) == 7


MODIFIED = ["paths", "chain", "random_paths", "item_regressed", "one_covariate",
            "one_covariate_means", "second_order", "orthogonal", "orthogonal_outcomes"]  # fmt: skip


@pytest.mark.parametrize("name", MODIFIED)
def test_modification_indices_equal_lavaan(name, lavaan):
    ours, theirs = fitted(name).modification_indices(), lavaan[name]["modification"]
    theirs = theirs[theirs["mi"] > 1e-6]  # it lists what would change nothing
    pairs = list(_pairs(ours, theirs))
    assert len(pairs) == len(theirs) > 0
    columns = ["mi", "epc", "sepc.lv", "sepc.all"]
    for mine, row in pairs:
        scale = max(1.0, row["mi"] / 10)
        np.testing.assert_allclose(
            mine[columns].astype(float), row[columns].astype(float),
            atol=MODIFICATION * scale, rtol=1e-2,
        )  # fmt: skip


def test_planned_missingness_has_estimates_but_no_chi_square(lavaan):
    with pytest.warns(EstimationWarning, match="'x1' and 'x5' are not answered together"):
        fit = dt.sem(planned(), HS, missing="fiml")
    measures = fit.fit_measures
    table = lavaan["planned"]["measures"]
    theirs = dict(zip(table["name"], table["value"], strict=True))
    for name in ("logl", "aic", "bic", "npar"):
        assert measures[name] == pytest.approx(theirs[name], rel=1e-6)
    for name in ("chisq", "cfi", "tli", "rmsea", "rmsea.ci.upper", "srmr", "gfi"):
        assert np.isnan(measures[name]), name
    assert any("not available" in sentence for sentence in fit.warnings)
    assert "NA" in str(fit.summary())


@pytest.mark.parametrize("bad", ["visual ~~ start(90)*textual", "x1 ~~ start(-40)*x1"])
def test_a_bad_start_is_dropped_and_said_so(bad, lavaan):
    with pytest.warns(EstimationWarning, match="no minimum from the values given"):
        fit = dt.sem(nine(), f"{TWO}\n{bad}")
    table = lavaan["start"]["measures"]
    assert fit.fit_measures["chisq"] == pytest.approx(
        dict(zip(table["name"], table["value"], strict=True))["chisq"], abs=MEASURE
    )
    assert any("start()" in sentence for sentence in fit.warnings)


REFUSED = {
    "a1 ~~ 1*a1": "is the residual variance of an ordered item",
    "a1 ~~ v*a1\na2 ~~ v*a2": "is the residual variance of an ordered item",
    "z | t1": "needs an ordered item",
    "a1 | t9": "has 4 categories, so the thresholds t1 to t3; got 't9'",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_ordered_items_do_not_have_is_refused(line):
    with pytest.raises(dt.InputError, match=REFUSED[line]):
        dt.sem(ordered(), f"{MARKED}\nA ~ z\nz ~~ z\n{line}", ordered=SIX)


def test_means_that_say_nothing_new_are_taken():
    plain = dt.sem(ordered(), MARKED, ordered=SIX)
    written = dt.sem(ordered(), MARKED + "\nA ~ 0*1\na1 ~ 0*1", ordered=SIX, mean_structure=True)
    assert written.fit_measures == plain.fit_measures
