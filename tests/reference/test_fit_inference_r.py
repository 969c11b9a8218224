"""Standard errors and fit of found structures beside lavaan's robust ones, live.

Other estimators of the same models: maximum likelihood on the correlations here, MLR and DWLS
there. So they agree as estimators of the same quantities do, not to the last digit.
"""

from __future__ import annotations

import numpy as np
import pytest
from sem_reference import Case, lavaan_results

import dtstat as dt

pytestmark = pytest.mark.against_r


def _likert():
    rng = np.random.default_rng(11)
    z = rng.standard_normal((1500, 2)) @ np.linalg.cholesky([[1, 0.4], [0.4, 1]]).T
    X = 0.7 * np.repeat(z, 4, axis=1) + np.sqrt(0.51) * rng.standard_normal((1500, 8))
    X[:, 1] += 0.1 * z[:, 1]
    frame = dt.load_dataset("holzinger_swineford_9").iloc[:0, :0]
    for k, name in enumerate("abcdefgh"):
        frame[name] = np.digitize(X[:, k], [-1.0, -0.2, 0.6, 1.3]).astype(float)
    return frame


NINE, LIKERT = dt.load_dataset("holzinger_swineford_9"), _likert()
THREE = dt.Structure.from_keys(
    {"F1": ["x1", "x2", "x3"], "F2": ["x4", "x5", "x6"], "F3": ["x7", "x8", "x9"]}
)
TWO = dt.Structure.from_keys({"F1": list("abcd"), "F2": list("efgh")})
CASES = {
    "nine": (NINE, THREE, {"measure": "pearson", "estimator": "linear"}, 'estimator = "MLR"'),
    "likert": (LIKERT, TWO, {}, "ordered = TRUE"),
}


@pytest.fixture(scope="module")
def lavaan(tmp_path_factory):
    cases = [
        Case(name, structure.to_lavaan(), data, f"std.lv = TRUE, {options}")
        for name, (data, structure, _, options) in CASES.items()
    ]
    return lavaan_results(cases, tmp_path_factory.mktemp("inference"))


@pytest.mark.parametrize("name", CASES)
def test_estimates_and_errors(lavaan, name):
    data, structure, options, _ = CASES[name]
    ours = dt.fit(data, structure=structure, **options).tidy()
    theirs = lavaan[name]["standardized"]
    for row in ours.itertuples():
        at = (theirs["lhs"] == row.lhs) & (theirs["op"] == row.op) & (theirs["rhs"] == row.rhs)
        assert row.estimate == pytest.approx(theirs.loc[at, "est.std"].item(), abs=0.03), row.term
        assert row.std_error == pytest.approx(theirs.loc[at, "se"].item(), rel=0.15), row.term


@pytest.mark.parametrize(("name", "suffix"), [("nine", "robust"), ("likert", "scaled")])
def test_indices(lavaan, name, suffix):
    data, structure, options, _ = CASES[name]
    ours = dt.fit(data, structure=structure, **options).fit_measures
    theirs = lavaan[name]["measures"].set_index("name")["value"]
    assert ours["df"] == theirs["df"]
    for index, near in (("cfi", 0.02), ("tli", 0.03), ("rmsea", 0.015)):
        assert ours[index] == pytest.approx(theirs[f"{index}.{suffix}"], abs=near), index
    assert (ours["pvalue"] < 0.05) == (theirs["pvalue.scaled"] < 0.05)
