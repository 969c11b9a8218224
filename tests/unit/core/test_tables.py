import warnings

import numpy as np
import pandas as pd
import pytest
from examples import Cells

from dtstat.core.loading_tables import variance_frame
from dtstat.core.markup import latex_escape
from dtstat.core.tables import Summary, Table

FRAME = pd.DataFrame({"item": ["a", "longer"], "loading": [0.12345, -10.0], "n": [5, 120]})
HOSTILE = "<script>alert('x')</script>&"


def test_text_aligns_numbers_right_and_texts_left():
    assert Table.from_frame(FRAME, "Title", ["A note."]).to_text().splitlines() == [
        "Title",
        "item    loading    n",
        "--------------------",
        "a         0.123    5",
        "longer  -10.000  120",
        "A note.",
    ]


def test_headers_wider_than_cells():
    frame = pd.DataFrame({"a wide header": [1], "b": ["x"]})
    assert Table.from_frame(frame, "T").to_text().splitlines()[1:] == [
        "a wide header  b",
        "----------------",
        "            1  x",
    ]


@pytest.mark.parametrize(("digits", "cell"), [(0, "0"), (2, "0.12"), (5, "0.12345")])
def test_digits_of_floats_only(digits, cell):
    row = Table.from_frame(FRAME, "T", digits=digits).rows[0]
    assert row == ("a", cell, "5")


def test_no_rows():
    table = Table.from_frame(FRAME.iloc[:0], "T")
    assert table.to_text().splitlines() == ["T", "item  loading  n", "----------------"]
    assert table.to_frame().empty


def test_to_frame_has_the_cells():
    frame = Table.from_frame(FRAME, "T").to_frame()
    assert list(frame.columns) == list(FRAME.columns)
    assert frame["loading"].tolist() == ["0.123", "-10.000"]


def test_html_has_every_cell_once():
    page = Cells(Table.from_frame(FRAME, "Title", ["A note."]).to_html())
    assert page.texts == ["Title", *FRAME, "a", "0.123", "5", "longer", "-10.000", "120", "A note."]
    assert page.tags.count("tr") == 3
    assert page.tags.count("th") == 3
    assert page.tags.count("td") == 6


def test_html_aligns():
    text = Table.from_frame(FRAME, "T").to_html()
    assert '<td style="text-align: right">0.123</td>' in text
    assert '<td style="text-align: left">a</td>' in text


def test_html_escapes_everything_users_name():
    frame = pd.DataFrame({HOSTILE: [HOSTILE]})
    table = Table.from_frame(frame, HOSTILE, [HOSTILE])
    fragment = Summary((HOSTILE,), (table,)).to_html()
    assert "<script" not in fragment
    assert Cells(fragment).texts == [HOSTILE] * 5


def test_latex():
    lines = Table.from_frame(FRAME, "Title", ["10 % left out."]).to_latex().splitlines()
    assert lines == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"item & loading & n \\",
        r"\midrule",
        r"a & 0.123 & 5 \\",
        r"longer & -10.000 & 120 \\",
        r"\bottomrule",
        r"\multicolumn{3}{l}{10 \% left out.} \\",
        r"\end{tabular}",
    ]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("50%", r"50\%"),
        ("a_b & c#1 $x {y}", r"a\_b \& c\#1 \$x \{y\}"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("<1>", r"\textless{}1\textgreater{}"),
        ("plain", "plain"),
    ],
)
def test_latex_escape(text, escaped):
    assert latex_escape(text) == escaped


def test_latex_escapes_headers_and_cells():
    text = Table.from_frame(pd.DataFrame({"q_1": ["50%"]}), "T").to_latex()
    assert r"q\_1 \\" in text
    assert r"50\% \\" in text


def test_summary_has_head_and_tables_in_every_format():
    table = Table.from_frame(FRAME, "Title")
    summary = Summary(("First & last", "Second"), (table, table))
    assert repr(summary) == summary.to_text()
    assert summary.to_text() == "First & last\nSecond\n\n" + "\n\n".join([table.to_text()] * 2)
    assert summary._repr_html_() == summary.to_html()
    assert summary.to_html().startswith("<p>First &amp; last</p>\n<p>Second</p>\n<table>")
    head = "First \\& last \\\\\nSecond"
    assert summary.to_latex() == "\n\n".join([head, *[table.to_latex()] * 2])


def test_factors_that_explain_nothing_have_no_shares_of_what_is_explained():
    """As those of an edited file; numpy warned of a division."""
    L = pd.DataFrame(np.zeros((3, 2)), columns=["F1", "F2"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        shares = variance_frame(L, pd.DataFrame(np.eye(2), L.columns, L.columns))
    assert shares.iloc[:3].eq(0).all(axis=None)
    assert shares.iloc[3:].isna().all(axis=None)
