"""Numbers that could be read in two ways, or that computing would merge, are refused by name."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import InputError
from dtstat.data.readers import read_survey

LARGE = 2**53


def written(tmp_path, text):
    file = tmp_path / "answers.csv"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("text", "cell", "row", "item"),
    [
        ("a;b\n1,5;2\n1.234;3\n2,5;4\n", "1.234", 2, "a"),
        ("a;b\n1,5;2\n2,5;1.234\n3,5;3\n", "1.234", 2, "b"),
        ("a\tb\n1,234\t2\n2.5\t3\n", "1,234", 1, "a"),
        ("a;b\n1,5;2\n2,5;1.234.567\n3.5;3\n", "1.234.567", 2, "b"),
        ('a;b\n"1,5";2\n"-1.234";3\n', "-1.234", 2, "a"),
    ],
)
def test_two_decimal_marks(tmp_path, text, cell, row, item):
    with pytest.raises(InputError, match=f"item '{item}' holds '{cell}' in row {row}"):
        read_survey(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a;b\n1,5;2\n1,234;3\n", [1.5, 1.234]),  # one mark
        ("a;b\n1.5;2\n1.234;3\n", [1.5, 1.234]),
        ("a;b\n1,5;2\n2.5;3\n", [1.5, 2.5]),  # no number of thousands
        ("a;b\n1,5;2\n0.123;3\n", [1.5, 0.123]),
        ("a;b\n1,5;so 1.234 or so\n2,5;x\n", [1.5, 2.5]),  # a text
    ],
)
@pytest.mark.filterwarnings("ignore:Texts of item 'b'")
def test_clear_numbers(tmp_path, text, values):
    assert read_survey(written(tmp_path, text))["a"].tolist() == values


def test_items_that_are_not_wanted_do_no_harm(tmp_path):
    file = written(tmp_path, "a;b\n1,5;2\n1.234;3\n2,5;4\n")
    assert read_survey(file, columns="b")["b"].tolist() == [2, 3, 4]


def test_large_whole_numbers_of_a_file(tmp_path):
    whole = written(tmp_path, f"id,b\n{LARGE + 1},1\n{LARGE},2\n5,3\n")
    assert read_survey(whole)["id"].tolist() == [LARGE + 1, LARGE, 5]  # as they are
    with pytest.raises(InputError, match=f"item 'id' holds {LARGE + 1} in row 1"):
        dt.dependence(whole)
    for first, cell, last in (
        (1, LARGE + 1, ""),
        (1, 10**30 + 1, 3),
        (1, f"{LARGE + 1}.0", 3),
        (1.5, f"{LARGE + 1}.", 3),
    ):
        text = f"id,b\n{first},1\n{cell},2\n{last},3\n"
        with pytest.raises(InputError, match=r"item 'id' holds .* in row 2"):
            read_survey(written(tmp_path, text))
        assert read_survey(tmp_path / "answers.csv", columns="b").shape == (3, 1)


@pytest.mark.parametrize(
    "column",
    [
        [1, LARGE + 1, 2],
        np.array([1, 2**64 - 1, 3], dtype=np.uint64),
        pd.array([1, LARGE + 1, None], dtype="Int64"),
        [1, -LARGE - 1, 2],
        ["1", str(LARGE + 1), "2"],
        pd.Series([1, LARGE + 1, None], dtype=object),
        ["1", f"{LARGE + 1}.0", "2"],
        [Decimal(1), Decimal(LARGE + 1), Decimal(2)],
        [1, Fraction(LARGE + 1), 2],
    ],
)
def test_large_whole_numbers_in_memory(column):
    with pytest.raises(InputError, match=r"item 'a' holds .* in row 2; whole numbers beyond"):
        dt.dependence(pd.DataFrame({"a": column, "b": [1, 2, 3]}))


@pytest.mark.parametrize("column", [[1, LARGE, 2], [1.0, 1e20, 3.0], ["1", "1e20", "2"]])
def test_numbers_that_have_a_float_are_taken(column):
    found = dt.dependence(pd.DataFrame({"a": column, "b": [1, 3, 2]}))
    assert found.values[0, 1] == pytest.approx(1)


def test_large_whole_numbers_behind_a_decimal_comma(tmp_path):
    with pytest.raises(InputError, match=r"item 'id' holds .* in row 2"):
        read_survey(written(tmp_path, f"id;b\n1,5;1\n{LARGE + 1},0;2\n3,5;3\n"))


@pytest.mark.filterwarnings("ignore:Items 'a' and 'b' have only")
@pytest.mark.parametrize("kind", ["int64", "uint64", "decimal"])
def test_large_whole_numbers_of_arrow(kind):
    arrow = pytest.importorskip("pyarrow")
    types = {"int64": arrow.int64(), "uint64": arrow.uint64(), "decimal": arrow.decimal128(20)}
    small = {"a": arrow.array([1, 2, None, 4], types[kind]), "b": [1, 3, 2, 4]}
    assert dt.dependence(arrow.table(small)).values[0, 1] == pytest.approx(1)
    cells = [1, LARGE + 1, None, 2]
    table = arrow.table({"a": arrow.array(cells, types[kind]), "b": [1, 2, 3, 4]})
    with pytest.raises(InputError, match=r"item 'a' holds .* in row 2"):
        dt.dependence(table)
