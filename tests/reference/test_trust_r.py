"""The key of psych's bfi: what its margin is, and which pairs violate it.

Kendall's tau is computed pair by pair with scipy, and on some rows with base R.
"""

import json
import subprocess
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

import dtstat as dt

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "surveys" / "keyed.R"

pytestmark = pytest.mark.against_r


@pytest.fixture(scope="session")
def bfi(tmp_path_factory):
    """Answers and the five scales."""
    path = tmp_path_factory.mktemp("trust")
    subprocess.run(["Rscript", str(SCRIPT), str(path)], capture_output=True, check=True)
    return pd.read_csv(path / "bfi.csv"), json.loads((path / "bfi.json").read_text())["key"]


@pytest.fixture(scope="session")
def tau(bfi):
    """|tau-b| of every pair, on the rows both were answered in."""
    data, _ = bfi
    return {
        frozenset(pair): abs(kendalltau(*data[list(pair)].dropna().to_numpy().T).statistic)
        for pair in combinations(data.columns, 2)
    }


def extremes(tau, key):
    """Weakest pair within a scale, and strongest of two scales."""
    within = {frozenset(pair) for items in key.values() for pair in combinations(items, 2)}
    return min(within, key=tau.get), max(set(tau) - within, key=tau.get)


def test_the_key_is_not_thresholdable(require_r, bfi, tau):
    data, key = bfi
    weakest, strongest = extremes(tau, key)
    structure = dt.Structure.from_keys(key, list(data.columns))
    found = dt.diagnose(dt.fit(data, measure="kendall", structure=structure))
    assert found.margin.value == pytest.approx((tau[weakest] - tau[strongest]) / 2)
    assert found.margin.value == pytest.approx(-0.16, abs=0.005)
    assert tau[weakest] == pytest.approx(0.09, abs=0.005)
    assert tau[strongest] == pytest.approx(0.41, abs=0.005)
    edge, other = found.margin.weakest_edge, found.margin.strongest_non_edge
    assert {edge.first, edge.second} == weakest
    assert {other.first, other.second} == strongest
    assert (
        found.verdict == f"violated: {edge} within a factor is weaker than {other} between factors"
    )
    assert "Thresholdable:   violated" in found.summary().to_text()
    assert dt.margin(data, structure).value == found.margin.value


def test_local_margins(require_r, bfi, tau):
    data, key = bfi
    structure = dt.Structure.from_keys(key, list(data.columns))
    frame = dt.margin(data, structure).to_frame().set_index("factor")
    for name, items in key.items():
        rest = set(data.columns) - set(items)
        within = min(tau[frozenset(pair)] for pair in combinations(items, 2))
        outside = min(max(tau[frozenset((u, v))] for v in rest) for u in items)
        assert frame.loc[name, "margin"] == pytest.approx((within - outside) / 2)
        assert frame.loc[name, "from"] == pytest.approx(outside)
        assert frame.loc[name, "to"] == pytest.approx(within)


def test_on_some_rows_as_base_r(run_r, bfi):
    data, key = bfi
    some = data.iloc[:250]
    R = np.array(run_r('list(tau = cor(x, method = "kendall", use = "pairwise"))', x=some)["tau"])
    names = list(some.columns)
    tau = {frozenset((names[i], names[j])): abs(R[i, j]) for i, j in combinations(range(25), 2)}
    weakest, strongest = extremes(tau, key)
    found = dt.margin(some, dt.Structure.from_keys(key, names))
    assert found.value == pytest.approx((tau[weakest] - tau[strongest]) / 2)
    assert {found.weakest_edge.first, found.weakest_edge.second} == weakest


def test_the_interval_of_the_margin_is_below_zero(require_r, bfi):
    """With 2800 rows the violation is beyond chance."""
    data, key = bfi
    structure = dt.Structure.from_keys(key, list(data.columns))
    fit = dt.fit(data, measure="kendall", structure=structure)
    found = dt.diagnose(fit, data, n_boot=50, seed=1)
    low, high = found.intervals.whole
    assert low < found.margin.value < high < 0
