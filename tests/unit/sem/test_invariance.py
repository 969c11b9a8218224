"""Ladders of invariance: what is accepted, what is said, where a break is found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import InputError
from dtstat.sem.invariance import _identified, _ordered_steps

KEYS = {"f": ["a1", "a2", "a3", "a4"], "g": ["b1", "b2", "b3", "b4"]}
ITEMS = [item for items in KEYS.values() for item in items]


def two_groups(shift: float = 0.0, n: int = 500, seed: int = 1) -> pd.DataFrame:
    """Two factors in two groups; the intercept of b2 is ``shift`` higher in the second."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(2 * n, 2)) @ np.linalg.cholesky([[1, 0.4], [0.4, 1]]).T
    later = np.arange(2 * n) >= n
    z[later] += [0.3, -0.2]
    X = 0.8 * np.repeat(z, 4, axis=1) + 0.6 * rng.normal(size=(2 * n, 8))
    X[later, 5] += shift
    frame = pd.DataFrame(X, columns=ITEMS)
    return frame.assign(group=np.where(later, "second", "first"))


@pytest.fixture(scope="module")
def broken():
    return dt.invariance(two_groups(0.5), KEYS, "group")


def test_the_parameter_that_breaks_a_step_is_found_with_its_size(broken):
    assert broken.rejected == "scalar"
    worst = broken.releases.query("step == 'scalar'").iloc[0]
    assert (worst["lhs"], worst["op"], worst["group"]) == ("b2", "~1", "second")
    assert worst["epc"] == pytest.approx(0.5, abs=0.1)
    assert "b2" in str(broken.summary())


def test_partial_invariance_holds_without_it():
    found = dt.invariance(two_groups(0.5), KEYS, "group", group_partial="b2 ~ 1")
    assert found.rejected is None
    assert "No step is rejected" in str(found.summary())


@pytest.mark.parametrize(
    "model",
    [
        KEYS,
        dt.Structure.from_keys(KEYS),
        "f =~ a1 + a2 + a3 + a4\ng =~ b1 + b2 + b3 + b4",
        dt.cfa(two_groups(), KEYS),
    ],
)
def test_a_structure_comes_in_any_form(model, broken):
    found = dt.invariance(two_groups(0.5), model, "group")
    pd.testing.assert_frame_equal(found.table, broken.table, rtol=1e-5)


def test_steps_are_fits_and_can_be_left_out(broken):
    found = dt.invariance(two_groups(0.5), KEYS, "group", steps=["scalar", "configural"])
    assert found.steps == ("configural", "scalar")
    assert found.fit("scalar").fit_measures == broken.fit("scalar").fit_measures
    assert found.table["df_diff"].iloc[1] == broken.table["df_diff"].iloc[1:3].sum()
    assert set(found.releases["op"]) == {"=~", "~1"}


def test_a_ladder_can_be_saved_and_shown(broken, tmp_path, drawing):
    broken.save(tmp_path / "ladder.dtstat")
    again = dt.load(tmp_path / "ladder.dtstat")
    pd.testing.assert_frame_equal(again.table, broken.table)
    pd.testing.assert_frame_equal(again.releases, broken.releases)
    assert "<table>" in broken._repr_html_()
    assert len(broken.plot().axes) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"group": "a"}, "`group`"),
        ({"steps": ["metrical"]}, "metric"),
        ({"steps": ["metric"]}, "two steps or more"),
        ({"steps": 3}, "`steps`"),
        ({"group_partial": "b9 ~ 1"}, "b9"),
    ],
)
def test_what_is_no_ladder_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        dt.invariance(two_groups(), KEYS, **{"group": "group", **given})


def test_a_group_of_one_row_is_named():
    data = two_groups()
    data.loc[0, "group"] = "alone"
    with pytest.raises(dt.DTError, match="In group 'alone'"):
        dt.invariance(data, KEYS, "group")


def test_steps_of_ordered_items_depend_on_their_answers():
    steps = ["configural", "thresholds", "loadings", "intercepts"]
    rng = np.random.default_rng(1)
    for answers, left in (
        (2, ["configural", "intercepts"]),
        (3, ["configural", "loadings", "intercepts"]),
        (5, steps),
    ):
        frame = pd.DataFrame(rng.integers(0, answers, (200, 3)), columns=list("abc"))
        found, notes = _ordered_steps(steps, frame, list("abc"))
        assert found == left
        assert bool(notes) == (answers < 5)


def test_ordered_steps_are_identified_after_wu_and_estabrook():
    text = _identified("f =~ a + b", ["a", "b"], "loadings", 3)
    assert "a ~*~ c(1, NA, NA)*a" in text  # scales
    assert "a ~ c(0, NA, NA)*1" in text  # intercepts
    assert "f ~~ c(1, NA, NA)*f" in text
    assert "f ~ c(0, 0, 0)*1" in text
    assert "a ~ c(0, 0)*1" in _identified("f =~ a + b", ["a", "b"], "intercepts", 2)
    assert "f ~ c(0, NA)*1" in _identified("f =~ a + b", ["a", "b"], "intercepts", 2)
    assert "NA" not in _identified("f =~ a + b", ["a", "b"], "configural", 2)
