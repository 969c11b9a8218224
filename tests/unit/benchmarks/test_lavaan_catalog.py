"""The yardstick itself: that the catalog sees a wrong number, a missing and an added parameter."""

from dataclasses import replace

import pytest

from benchmarks.lavaan.answers import Answer, Value
from benchmarks.lavaan.compare import differences
from benchmarks.lavaan.entry import Entry
from benchmarks.lavaan.models import ENTRIES, FEATURES

LOADING, FIXED = ("", "f", "=~", "x2"), ("", "f", "=~", "x1")
ANSWER = Answer({FIXED: Value(1.0, 0.0, 0.8), LOADING: Value(2.0, 0.1, 0.7)}, {"cfi": 0.95})


def with_loading(**changes):
    return replace(ANSWER, parameters=ANSWER.parameters | {
        LOADING: replace(ANSWER.parameters[LOADING], **changes)
    })  # fmt: skip


def test_an_answer_equals_itself():
    assert differences(ANSWER, ANSWER) == []


@pytest.mark.parametrize("changes", [{"est": 2.0003}, {"se": 0.1002}, {"std": 0.7002}])
def test_a_number_beyond_its_tolerance_is_seen(changes):
    assert len(differences(ANSWER, with_loading(**changes))) == 1


@pytest.mark.parametrize("changes", [{"est": 2.0001}, {"se": 0.10005}, {"std": 0.70005}])
def test_a_number_within_its_tolerance_is_not(changes):
    assert differences(ANSWER, with_loading(**changes)) == []


@pytest.mark.parametrize("value", [0.952, float("nan")])
def test_a_wrong_or_missing_measure_is_seen(value):
    assert len(differences(ANSWER, replace(ANSWER, measures={"cfi": value}))) == 1


def test_what_is_absent_or_added_is_seen_if_it_is_free():
    only_fixed = replace(ANSWER, parameters={FIXED: ANSWER.parameters[FIXED]})
    only_free = replace(ANSWER, parameters={LOADING: ANSWER.parameters[LOADING]})
    assert [d.what for d in differences(ANSWER, only_fixed)] == ["f =~ x2 (absent)"]
    assert [d.what for d in differences(only_fixed, ANSWER)] == ["f =~ x2 (added)"]
    assert differences(ANSWER, only_free) == differences(only_free, ANSWER) == []


def test_arguments_are_translated():
    args = {"std_lv": True, "mean_structure": True, "estimator": "mlr", "missing": "fiml.x"}
    assert Entry("", "", "", "", args=args).lavaan_args == {
        "std.lv": True, "meanstructure": True, "estimator": "MLR", "missing": "ml.x",
    }  # fmt: skip


def test_the_catalog_covers_every_feature():
    assert len(ENTRIES) >= 260
    assert min(len(feature.entries) for feature in FEATURES) >= 15
