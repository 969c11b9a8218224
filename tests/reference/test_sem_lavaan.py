"""Structural equation models against live lavaan: every number a user would report."""

from __future__ import annotations

import subprocess
import sys
import warnings
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from examples import DEMOCRACY, HS

import dtstat as dt
from dtstat.core.errors import EstimationError, EstimationWarning
from dtstat.sem.fit_measures import fit_measures
from dtstat.sem.likelihood import fit_normal
from dtstat.sem.model import build_model
from dtstat.sem.ordered import fit_ordered, ordered_rows
from dtstat.sem.solution import modification_indices, standardize, standardized_table

sys.path.insert(0, str(Path(__file__).parent))
from sem_reference import Case, as_lavaan_counts, lavaan_results, random_case

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

# lavaan stops when the objective changes by less than 1e-10 in relation, which leaves the
# estimates uncertain by about 1e-5 of their standard error times √n.
ESTIMATE, STANDARD_ERROR, MEASURE, MODIFICATION = 1e-4, 1e-3, 1e-3, 5e-3

BFI = "A =~ A1 + A2 + A3 + A4 + A5\nC =~ C1 + C2 + C3 + C4 + C5\nN =~ N1 + N2 + N3 + N4 + N5"
N_RANDOM = 30


def holzinger() -> pd.DataFrame:
    return dt.load_dataset("holzinger_swineford_9")


def with_gaps() -> pd.DataFrame:
    """Five patterns of missing values."""
    data = holzinger()
    for k, item in enumerate(["x1", "x4", "x7", "x9"]):
        data.loc[30 * k : 30 * k + 20, item] = np.nan
    return data


def with_covariates() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    data = holzinger()
    data["z"] = rng.normal(size=len(data)) + 0.3 * data["x1"]
    data["w"] = rng.normal(size=len(data)) + 0.4 * data["z"]
    return data


def bfi() -> pd.DataFrame:
    code = "write.csv(na.omit(psychTools::bfi[, 1:25]), row.names = FALSE)"
    done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True)
    return pd.read_csv(StringIO(done.stdout))


FIXED = {
    "hs_ml": ("ml", {}, HS, holzinger, ""),
    "hs_std_lv": ("ml", {"std_lv": True}, HS, holzinger, "std.lv = TRUE"),
    "hs_orthogonal": ("ml", {"orthogonal": True}, HS, holzinger, "orthogonal = TRUE"),
    "hs_means": ("ml", {"mean_structure": True}, HS, holzinger, "meanstructure = TRUE"),
    "hs_mlr": ("mlr", {}, HS, holzinger, "estimator = 'MLR'"),
    "hs_fiml": ("fiml", {"mean_structure": True}, HS, with_gaps, "missing = 'ml'"),
    "hs_mlr_gaps": (
        "mlr", {"mean_structure": True}, HS, with_gaps, "estimator = 'MLR', missing = 'ml'",
    ),
    "hs_mlr_covariates": (
        "mlr", {}, HS + "\nvisual ~ z + w\nspeed ~ visual", with_covariates, "estimator = 'MLR'",
    ),
    "hs_second_order": ("ml", {}, HS + "\ng =~ visual + textual + speed", holzinger, ""),
    "hs_covariates": ("ml", {}, HS + "\nvisual ~ z + w\nspeed ~ visual", with_covariates, ""),
    "hs_fixed": ("ml", {}, HS + "\nx1 ~~ 0.3*x2\nspeed =~ 0*x1", holzinger, ""),
    "paths": ("ml", {}, "x1 ~ z + w\nx4 ~ x1 + w", with_covariates, ""),
    "democracy": (
        "ml", {}, DEMOCRACY.format("", "", ""), lambda: dt.load_dataset("political_democracy"),
        "",
    ),
    "democracy_equal": (
        "ml", {}, DEMOCRACY.format("a*", "b*", "c*"),
        lambda: dt.load_dataset("political_democracy"), "",
    ),
    "democracy_mlr": (
        "mlr", {}, DEMOCRACY.format("a*", "b*", "c*"),
        lambda: dt.load_dataset("political_democracy"), "estimator = 'MLR'",
    ),
    "bfi_ml": ("ml", {}, BFI, bfi, ""),
    "bfi_mlr": ("mlr", {}, BFI, bfi, "estimator = 'MLR'"),
    "bfi_wlsmv": ("wlsmv", {}, BFI, bfi, "estimator = 'WLSMV', ordered = TRUE"),
}  # fmt: skip


@pytest.fixture(scope="module")
def cases() -> dict[str, tuple[Case, str, dict]]:
    fixed = {
        name: (Case(name, model, data(), options), estimator, build)
        for name, (estimator, build, model, data, options) in FIXED.items()
    }
    drawn = [random_case(seed) for seed in range(N_RANDOM)]
    robust = [Case(c.name + "_mlr", c.model, c.data, "estimator = 'MLR'") for c in drawn[::3]]
    fixed |= {case.name: (case, "ml", {}) for case in drawn}
    return fixed | {case.name: (case, "mlr", {}) for case in robust}


@pytest.fixture(scope="module")
def lavaan(cases, tmp_path_factory) -> dict:
    return lavaan_results([case for case, _, _ in cases.values()], tmp_path_factory.mktemp("sem"))


def fitted(case: Case, estimator: str, build: dict):
    names = list(case.data.columns)
    if estimator == "wlsmv":
        answers = ordered_rows(dt.items(case.data, kinds="ordinal"), names)
        return fit_ordered(build_model(case.model, names, ordered=answers.ordered), answers)
    model = build_model(case.model, names, **build)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EstimationWarning)  # lavaan warns of the same
        rows = case.data[list(model.observed)].to_numpy(dtype=float)
        return fit_normal(model, rows, estimator, len(rows))


NAMES = [
    *FIXED,
    *(f"random{seed}" for seed in range(N_RANDOM)),
    *(f"random{seed}_mlr" for seed in range(0, N_RANDOM, 3)),
]


@pytest.mark.parametrize("name", NAMES)
def test_equals_lavaan(name, cases, lavaan):
    theirs = lavaan[name]
    if theirs is None:
        with pytest.raises(EstimationError):
            fitted(*cases[name])
        return
    ours = fitted(*cases[name])
    _check_parameters(ours, theirs["parameters"])
    _check_standardized(ours, theirs["standardized"])
    _check_measures(fit_measures(ours), theirs["measures"])
    if "modification" in theirs and ours.procedure.likelihood:
        _check_modification(modification_indices(ours), theirs["modification"])


def _key(row, known):
    key = (row["lhs"], row["op"], row["rhs"])
    return key if key in known else (key[2], key[1], key[0])


def _check_parameters(ours, table):
    lv, all_ = standardize(ours)
    rows = ours.model.parameters
    known = {
        (r.lhs, r.op, r.rhs): values
        for r, *values in zip(rows, ours.estimates, ours.standard_errors, lv, all_, strict=True)
    }
    compared = 0
    for _, row in table.iterrows():
        if row["op"] == "~*~" or (row["op"] == "~1" and _key(row, known) not in known):
            continue  # scaling factors and zero intercepts that lavaan lists for ordered items
        est, se, std_lv, std_all = known[_key(row, known)]
        scale = max(1.0, abs(row["est"]))
        assert est == pytest.approx(row["est"], abs=ESTIMATE * scale), row.tolist()
        assert se == pytest.approx(row["se"], rel=STANDARD_ERROR, abs=1e-6), row.tolist()
        assert std_lv == pytest.approx(row["std.lv"], abs=ESTIMATE * scale, nan_ok=True), (
            row.tolist()
        )
        assert std_all == pytest.approx(row["std.all"], abs=ESTIMATE, nan_ok=True), row.tolist()
        compared += 1
    assert compared >= sum(bool(r.free) for r in rows)


def _check_standardized(ours, table):
    est, se = standardized_table(ours)
    rows = ours.model.parameters
    known = {(r.lhs, r.op, r.rhs): v for r, *v in zip(rows, est, se, strict=True)}
    for _, row in table.iterrows():
        key = _key(row, known)
        if key in known and row["op"] not in ("~*~",):
            assert known[key][0] == pytest.approx(row["est.std"], abs=ESTIMATE, nan_ok=True), (
                row.tolist()
            )
            assert known[key][1] == pytest.approx(
                row["se"], rel=STANDARD_ERROR, abs=1e-5, nan_ok=True
            ), row.tolist()


def _check_measures(ours, table):
    theirs = dict(zip(table["name"], table["value"], strict=True))
    wanted = {"chisq", "df", "cfi", "tli", "rmsea", "rmsea.ci.lower", "rmsea.ci.upper", "srmr"}
    assert wanted <= set(ours)
    for name, value in as_lavaan_counts(ours, theirs).items():
        if name in theirs and not np.isnan(theirs[name]):
            scale = max(1.0, abs(theirs[name]) / 1000)
            assert value == pytest.approx(theirs[name], abs=MEASURE * scale), name


def _check_modification(ours, table):
    known = {
        (r["lhs"], r["op"], r["rhs"]): (r["mi"], r["epc"], r["sepc.lv"], r["sepc.all"])
        for _, r in ours.iterrows()
    }
    compared = 0
    for _, row in table.iterrows():
        key = _key(row, known)
        if key in known:
            compared += 1
            theirs = (row["mi"], row["epc"], row["sepc.lv"], row["sepc.all"])
            scale = max(1.0, row["mi"] / 10)
            np.testing.assert_allclose(known[key], theirs, atol=MODIFICATION * scale, rtol=1e-2)
    if any(op == "=~" for op in table["op"]):
        assert compared > len(table) / 2
