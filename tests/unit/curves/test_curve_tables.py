"""Tables of item responses and of factor correlations with their errors."""

import numpy as np
import pandas as pd
import pytest

from dtstat.curves.result import correlation_table, response_table

FRAME = pd.DataFrame(
    {
        "item": ["a", "b", "c", "c"],
        "factor": ["F1", "F1", "F2", "F1"],
        "loading": [0.5, 0.1, -0.7, 0.2],
        "slope": [0.55, 0.8, 0.75, 0.2],
        "r2_map": [0.3, 0.64, 0.6, 0.6],
        "r2_line": [0.25, 0.016, 0.57, 0.57],
        "nonlinearity": [1 - 0.25 / 0.3, 0.975, 0.05, 0.05],
    }
)
MARKS = pd.Series({"a": "*", "b": "*+", "c": ""})


@pytest.fixture
def responses():
    return response_table(FRAME, MARKS, ("* alone",), {})


def test_steep_items_of_a_factor_come_first(responses):
    assert [row[:2] for row in responses.rows] == [
        ("b*+", "F1"),
        ("a*", "F1"),
        ("c", "F1"),
        ("c", "F2"),
    ]


def test_factors_keep_their_order():
    turned = FRAME.assign(factor=["F2", "F2", "F1", "F2"]).iloc[[2, 0, 1, 3]]
    found = response_table(turned, MARKS, (), {})
    assert [row[1] for row in found.rows] == ["F1", "F2", "F2", "F2"]
    ten = pd.concat([FRAME.head(1).assign(factor=f"F{k}") for k in range(1, 12)])
    assert [row[1] for row in response_table(ten, MARKS, (), {}).rows] == [
        f"F{k}" for k in range(1, 12)
    ]


def test_numbers_have_two_digits_and_shares_are_percent(responses):
    assert responses.headers == (
        "item",
        "factor",
        "loading",
        "slope",
        "R2 map",
        "R2 line",
        "nonlinear",
    )
    assert responses.rows[0] == ("b*+", "F1", "0.10", "0.80", "0.64", "0.02", "98%")
    assert responses.rows[1][-1] == "17%"
    assert responses.rows[3][2] == "-0.70"


def test_marks_and_columns_are_explained(responses):
    assert responses.title == "Item responses"
    assert responses.notes[0] == "* alone"
    text = " ".join(responses.notes)
    assert "mean absolute slope" in text
    assert "what of it the line misses" in text


def frame(values):
    return pd.DataFrame(values, index=["F1", "F2", "F3"], columns=["F1", "F2", "F3"])


PHI = frame([[1, 0.314, -0.5], [0.314, 1, 0.005], [-0.5, 0.005, 1]])


def test_correlations_have_their_errors_in_brackets():
    errors = frame([[0, 0.052, 0.1], [0.052, 0, 0.2], [0.1, 0.2, 0]])
    table = correlation_table(PHI, errors)
    assert table.headers == ("", "F1", "F2", "F3")
    assert table.rows == (
        ("F1", "1", "", ""),
        ("F2", "0.31 (0.05)", "1", ""),
        ("F3", "-0.50 (0.10)", "0.01 (0.20)", "1"),
    )


def test_unknown_errors_are_left_out():
    table = correlation_table(PHI, frame(np.full((3, 3), np.nan)))
    assert table.rows[1] == ("F2", "0.31", "1", "")
