"""Estimators, weights, clusters, gaps, matrices, growth and exploratory blocks, against lavaan."""

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
from sem_reference import Case, lavaan_results

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

ESTIMATE, STANDARD_ERROR, MEASURE = 1e-4, 1e-3, 1e-3
HS = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
TWO = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6"
GROWTH = "i =~ 1*x1 + 1*x2 + 1*x3 + 1*x4\ns =~ 0*x1 + 1*x2 + 2*x3 + 3*x4"
BLOCK = 'efa("b")*f1 + efa("b")*f2 =~ x1 + x2 + x3 + x4 + x5 + x6'


def survey():
    """Items of the classical data, with made-up weights, clusters and gaps."""
    data = dt.load_dataset("holzinger_swineford_9").filter(like="x").copy()
    rng = np.random.default_rng(11)
    data["z"] = 0.3 * data["x1"] + rng.normal(size=len(data))
    data["school"] = np.where(np.arange(len(data)) < 156, "Pasteur", "Grant-White")
    data["weight"] = rng.uniform(0.3, 2.5, len(data))
    data["class"] = rng.integers(0, 40, len(data))
    for name in ("x1", "x5", "x9", "z"):
        data[f"{name}g"] = data[name].where(rng.random(len(data)) > 0.15)
    return data


DATA = survey()
GAPS = HS.replace("x1", "x1g").replace("x5", "x5g").replace("x9", "x9g")

# name: model, arguments of dtstat, arguments of lavaan
CASES = {
    "mlm": (HS, {"estimator": "MLM"}, 'estimator = "MLM"'),
    "mlmv_predictor": (HS + "\nspeed ~ z", {"estimator": "mlmv"}, 'estimator = "MLMV"'),
    "mlmvs": (HS, {"estimator": "mlmvs"}, 'estimator = "MLMVS"'),
    "mlf": (HS, {"estimator": "mlf"}, 'estimator = "MLF"'),
    "mlm_groups": (
        HS,
        {"estimator": "mlm", "group": "school", "group_equal": ["loadings"]},
        'estimator = "MLM", group = "school", group.equal = "loadings"',
    ),
    "gls": (HS, {"estimator": "gls"}, 'estimator = "GLS"'),
    "gls_groups": (
        HS,
        {"estimator": "gls", "group": "school", "group_equal": ["loadings", "intercepts"]},
        'estimator = "GLS", group = "school", group.equal = c("loadings", "intercepts")',
    ),
    "wls": (TWO, {"estimator": "wls"}, 'estimator = "WLS"'),
    "ulsmv": (HS, {"estimator": "ulsmv"}, 'estimator = "ULSMV"'),
    "uls_standard": (
        HS,
        {"estimator": "uls", "se": "standard", "test": "standard"},
        'estimator = "ULS"',
    ),
    "observed": (HS, {"information": "observed"}, 'information = "observed"'),
    "huber_white": (HS, {"se": "robust.huber.white"}, 'se = "robust.huber.white"'),
    "weights": (
        HS + "\nspeed ~ z",
        {"sampling_weights": "weight"},
        'sampling.weights = "weight"',
    ),
    "weights_groups": (
        HS,
        {"sampling_weights": "weight", "group": "school"},
        'sampling.weights = "weight", group = "school"',
    ),
    "clusters": (
        HS,
        {"cluster": "class", "estimator": "mlr"},
        'cluster = "class", estimator = "MLR"',
    ),
    "both_fiml": (
        GAPS,
        {"sampling_weights": "weight", "cluster": "class", "estimator": "mlr", "missing": "fiml"},
        'sampling.weights = "weight", cluster = "class", estimator = "MLR", missing = "ml"',
    ),
    "fiml_predictor": (
        GAPS + "\nspeed ~ z",
        {"missing": "fiml", "estimator": "mlr"},
        'missing = "ml", estimator = "MLR"',
    ),
    "fiml_random_predictor": (
        GAPS + "\nspeed ~ zg",
        {"missing": "fiml", "fixed_x": False},
        'missing = "ml", fixed.x = FALSE',
    ),
    "phantom": (TWO + "\nP =~ 0\nP ~~ 1*P\nvisual ~ start(0.7)*P\nvisual ~~ 0*visual", {}, ""),
    "varimax": (BLOCK, {"rotation": "varimax"}, 'rotation = "varimax"'),
}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    cases = [Case(name, model, DATA, options) for name, (model, _, options) in CASES.items()]
    return lavaan_results(cases, tmp_path_factory.mktemp("estimators"))


@pytest.mark.parametrize("name", list(CASES))
def test_estimates_errors_and_measures_equal_lavaan(name, theirs):
    model, options, _ = CASES[name]
    assert theirs[name] is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EstimationWarning)
        fit = dt.sem(DATA, model, **options)
    keys = ["lhs", "op", "rhs"]
    ours = fit.parameters.assign(rhs=fit.parameters["rhs"].astype(str))
    expected = theirs[name]["parameters"]
    if fit.groups:
        keys = [*keys, "group"]
        ours["group"] = [fit.groups.index(group) + 1 for group in ours["group"]]
    both = expected.merge(ours, on=keys, suffixes=("", ".ours"))
    assert len(both) >= len(expected) - 1  # lavaan writes P =~ 0*P
    np.testing.assert_allclose(both["est.ours"], both["est"], rtol=ESTIMATE, atol=ESTIMATE)
    free = both["se"] > 1e-5
    np.testing.assert_allclose(both["se.ours"][free], both["se"][free], rtol=STANDARD_ERROR)
    measures = theirs[name]["measures"].set_index("name")["value"].to_dict()
    for measure in ("chisq", "df", "cfi", "tli", "rmsea", "srmr", "rmsea.ci.upper"):
        for ending in ("", ".scaled", ".robust"):
            wanted = measures.get(measure + ending, np.nan)
            if np.isfinite(wanted):
                found = fit.fit_measures[measure + ending]
                assert found == pytest.approx(wanted, rel=MEASURE, abs=MEASURE), measure + ending


def test_matrices_of_groups_equal_their_rows():
    groups = dict(list(DATA.groupby("school", sort=False)))
    items = [f"x{k}" for k in range(1, 10)]
    equal = {"group_equal": ["loadings", "intercepts"]}
    fit = dt.cfa(
        {name: part[items].cov() for name, part in groups.items()},
        HS,
        n_obs={name: len(part) for name, part in groups.items()},
        means={name: part[items].mean() for name, part in groups.items()},
        **equal,
    )
    rows = dt.cfa(DATA, HS, group="school", **equal)
    np.testing.assert_allclose(fit.parameters["est"], rows.parameters["est"], atol=1e-6)
    assert fit.fit_measures["chisq"] == pytest.approx(rows.fit_measures["chisq"], abs=1e-6)


_GROWTH = """
suppressPackageStartupMessages(library(lavaan))
d <- read.csv(commandArgs(TRUE)[1]); out <- commandArgs(TRUE)[2]
g <- growth("GROWTH_MODEL\\ni + s ~ z", d)
write.csv(parameterEstimates(g), file.path(out, "growth.csv"), row.names = FALSE)
h <- cfa("HS_MODEL", d)
write.csv(unclass(resid(h, type = "standardized")$cov), file.path(out, "plain.csv"))
m <- cfa("GAPS_MODEL", d, missing = "ml")
write.csv(unclass(resid(m, type = "standardized")$cov), file.path(out, "gaps.csv"))
"""


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    import subprocess

    folder = tmp_path_factory.mktemp("others")
    DATA.to_csv(folder / "data.csv", index=False)
    texts = {"GROWTH_MODEL": GROWTH, "HS_MODEL": HS, "GAPS_MODEL": GAPS}
    script = _GROWTH
    for name, text in texts.items():
        script = script.replace(name, text.replace("\n", "\\n"))
    (folder / "run.R").write_text(script)
    command = ["Rscript", "--vanilla", "run.R", "data.csv", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_growth_equals_lavaan(others):
    expected = pd.read_csv(others / "growth.csv", keep_default_na=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EstimationWarning)
        fit = dt.growth(DATA, GROWTH + "\ni + s ~ z")
    both = expected.merge(fit.parameters, on=["lhs", "op", "rhs"], suffixes=("", ".ours"))
    assert len(both) == len(expected)
    np.testing.assert_allclose(both["est.ours"], both["est"], atol=ESTIMATE)
    np.testing.assert_allclose(both["se.ours"], both["se"], rtol=STANDARD_ERROR, atol=1e-6)


@pytest.mark.parametrize(("file", "model", "options"), [
    ("plain", HS, {}), ("gaps", GAPS, {"missing": "fiml"}),
])  # fmt: skip
def test_standardized_residuals_equal_lavaan(others, file, model, options):
    expected = pd.read_csv(others / f"{file}.csv", index_col=0)
    found = dt.cfa(DATA, model, **options).residuals("standardized")
    found = found.loc[list(expected.index), list(expected.columns)]
    known = ~np.eye(len(found), dtype=bool)
    np.testing.assert_allclose(found.to_numpy()[known], expected.to_numpy()[known], atol=2e-3)
