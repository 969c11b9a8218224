"""ItemData and as_items: conversion, kinds, and every refusal with its message."""

from __future__ import annotations

import datetime
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dtstat.core.errors import DataWarning, InputError
from dtstat.data.items import ItemData, as_items, check_usable


def frame_with(column, name="q3"):
    """A usable frame of four rows in which one column is under test."""
    return pd.DataFrame({"other": [1.5, 2.5, 0.5, 7.0], name: column})


def converted(column):
    return as_items(frame_with(column)).values[:, 1].tolist()


# ---- the record ------------------------------------------------------------------------------


def test_values_are_a_read_only_contiguous_copy_of_floats():
    source = np.asfortranarray([[1, 2], [3, 5], [2, 2]])
    items = as_items(source)
    assert items.values.dtype == np.float64
    assert items.values.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        items.values[0, 0] = 9
    source[0, 0] = 9
    assert items.values[0, 0] == 1


def test_fields_cannot_be_replaced():
    items = as_items([[1, 2], [3, 5]])
    with pytest.raises(AttributeError):
        items.names = ("a", "b")


def test_sizes_and_missing():
    items = as_items([[1, 2, 4], [3, 5, None], [2, 2, 3]])
    assert (items.n_rows, items.n_items, items.has_missing) == (3, 3, True)
    assert not as_items([[1, 2], [3, 5]]).has_missing


def test_select_keeps_order_kinds_and_levels():
    items = as_items(pd.DataFrame({"a": [0, 1, 1], "b": [0.5, 1.5, 2.0], "c": [1, 2, 3]}))
    chosen = items.select(["c", "a"])
    assert chosen.names == ("c", "a")
    assert chosen.kinds == ("ordinal", "binary")
    assert chosen.levels == ((1.0, 2.0, 3.0), (0.0, 1.0))
    np.testing.assert_array_equal(chosen.values, [[1, 0], [2, 1], [3, 1]])


def test_select_suggests_the_name_that_was_meant():
    items = as_items(pd.DataFrame({"anger": [0, 1], "calm": [1, 0]}))
    with pytest.raises(InputError, match=r"got 'angr'\. Did you mean 'anger'\?"):
        items.select(["angr"])


def test_complete_rows_drops_rows_and_levels_but_keeps_kinds():
    items = as_items([[1, 5.5], [2, np.nan], [3, 1.5], [4, 2.5]])
    complete = items.complete_rows()
    assert complete.n_rows == 3
    assert complete.levels == ((1.0, 3.0, 4.0), None)
    assert complete.kinds == items.kinds == ("ordinal", "continuous")


def test_check_usable_after_listwise_deletion():
    items = as_items(pd.DataFrame({"a": [1, 1, 2], "b": [3.5, 4.5, np.nan]}))
    with pytest.raises(InputError, match=r"only one distinct answer in item 'a'\. Leave constant"):
        check_usable(items.complete_rows())
    none_left = as_items([[1, np.nan], [2, np.nan], [np.nan, 1], [np.nan, 2]]).complete_rows()
    with pytest.raises(InputError, match=r"at least two rows; got 0\."):
        check_usable(none_left)


def test_to_frame_is_independent_of_the_items():
    items = as_items([[1, 2], [3, 5]])
    frame = items.to_frame()
    frame.iloc[0, 0] = 9
    assert items.values[0, 0] == 1


def test_repr_counts_kinds_and_missing():
    text = repr(as_items([[1, 2.5, 1], [3, 5.1, None], [1, 0.3, 0]]))
    assert text == "<ItemData: 3 rows, 3 items (2 binary, 1 continuous), 1 missing>"


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(2, 9), st.integers(2, 5)),
        elements=st.floats(allow_infinity=False, allow_nan=True),
    )
)
def test_any_numeric_frame_survives_the_round_trip(values):
    # The first two rows make every item vary, which as_items demands.
    values[0], values[1] = 0.0, 1.0
    frame = pd.DataFrame(values, columns=[f"item {k}" for k in range(values.shape[1])])
    pd.testing.assert_frame_equal(as_items(frame).to_frame(), frame, check_exact=True)


# ---- what may come in ------------------------------------------------------------------------


def test_arrays_and_nested_lists_get_names():
    assert as_items(np.array([[1, 2], [3, 5]])).names == ("x1", "x2")
    assert as_items([[1, 2, 3], [3, 5, 1]]).names == ("x1", "x2", "x3")


def test_item_data_passes_through_and_may_change_kind():
    items = as_items([[1, 2.5], [2, 3.5], [3, 4.5]])
    assert as_items(items) is items
    changed = as_items(items, kinds={"x1": "continuous"})
    assert changed.kinds == ("continuous", "continuous")
    assert changed.levels == (None, None)
    assert items.kinds == ("ordinal", "continuous")


@pytest.mark.parametrize("as_path", [str, lambda path: path])
def test_a_path_is_read(tmp_path, as_path):
    file = tmp_path / "answers.csv"
    file.write_text("q1,q2\n1,2\n2,\n3,5\n")
    items = as_items(as_path(file))
    assert items.names == ("q1", "q2")
    np.testing.assert_array_equal(items.values, [[1, 2], [2, np.nan], [3, 5]])


def test_names_become_text():
    assert as_items(pd.DataFrame({1: [1, 2], 2: [2, 1]})).names == ("1", "2")


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, None, 0, 1], dtype="Int64"),
        pd.array([1.0, None, 0.0, 1.0], dtype="Float64"),
        pd.array([True, None, False, True], dtype="boolean"),
        pd.Series([True, None, False, True], dtype=object),
        pd.Series(["1", None, "0", " 1.0 "], dtype=object),
        pd.Series(["1", None, "0", "1e0"], dtype="string"),
        pd.Series(["1", None, "0", "1"], dtype="category"),
        pd.Series([1, pd.NA, 0, Decimal(1)], dtype=object),
    ],
    ids=["Int64", "Float64", "boolean", "bools", "text", "string", "category", "objects"],
)
def test_every_column_type_gives_the_same_numbers(column):
    items = as_items(frame_with(column))
    np.testing.assert_array_equal(items.values[:, 1], [1, np.nan, 0, 1])
    assert items.kinds[1] == "binary"


def test_bool_becomes_zero_and_one():
    assert converted([True, False, False, True]) == [1, 0, 0, 1]


def test_ordered_categories_become_level_codes():
    answers = pd.Categorical(
        ["often", "never", None, "rarely"], categories=["never", "rarely", "often"], ordered=True
    )
    items = as_items(frame_with(answers))
    np.testing.assert_array_equal(items.values[:, 1], [3, 1, np.nan, 2])
    assert items.kinds[1] == "ordinal"
    assert items.levels[1] == (1.0, 2.0, 3.0)


def test_ordered_categories_that_are_numbers_keep_them():
    answers = pd.Categorical(["10", "5", "1", "5"], categories=["1", "5", "10"], ordered=True)
    assert converted(answers) == [10, 5, 1, 5]


def test_ordered_numbers_against_their_order_become_codes():
    answers = pd.Categorical([3, 2, 1, 1], categories=[3, 2, 1], ordered=True)
    assert converted(answers) == [1, 2, 3, 3]


def test_ordered_category_with_two_levels_is_binary():
    answers = pd.Categorical(["no", "yes", "no", "no"], categories=["no", "yes"], ordered=True)
    assert as_items(frame_with(answers)).kinds[1] == "binary"


def test_ordered_category_with_many_levels_stays_ordinal():
    levels = [f"step {k}" for k in range(12)]
    frame = pd.DataFrame(
        {"a": pd.Categorical(levels, categories=levels, ordered=True), "b": np.arange(12) % 5}
    )
    with pytest.warns(DataWarning, match="counts the rows 1 to 12"):
        assert as_items(frame).kinds[0] == "ordinal"


# ---- kinds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind", "levels"),
    [
        ([0.25, 7.5] * 6, "binary", (0.25, 7.5)),
        ([1, 2, 3] * 4, "ordinal", (1.0, 2.0, 3.0)),
        ([*range(10, 0, -1), 1, 2], "ordinal", tuple(float(k) for k in range(1, 11))),
        ([*range(11, 0, -1), 1], "continuous", None),
        ([1, 2, 2.5] * 4, "continuous", None),
        ([1, 2, np.nan] * 4, "binary", (1.0, 2.0)),
    ],
    ids=["two values", "three whole", "ten whole", "eleven whole", "fraction", "missing ignored"],
)
def test_kind_detection(values, kind, levels):
    items = as_items(pd.DataFrame({"a": values, "b": [1, 0] * 6}))
    assert items.kinds[0] == kind
    assert items.levels[0] == levels


def test_one_kind_for_all():
    items = as_items([[1, 2.5], [2, 3.5], [3, 4.5]], kinds="ordinal")
    assert items.kinds == ("ordinal", "ordinal")
    assert items.levels == ((1.0, 2.0, 3.0), (2.5, 3.5, 4.5))


def test_kinds_of_some_items_leave_the_rest_detected():
    items = as_items([[1, 2.5, 0], [2, 3.5, 1], [3, 4.5, 1]], kinds={"x1": "continuous"})
    assert items.kinds == ("continuous", "continuous", "binary")


def test_kinds_by_number_find_columns_named_by_number():
    frame = pd.DataFrame({1: [1, 2, 3], 2: [2, 1, 3]})
    assert as_items(frame, kinds={1: "continuous"}).kinds == ("continuous", "ordinal")


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"mod": "ordinal"}, r"must name items of the data; got 'mod'\. Did you mean 'mood'\?"),
        ("ordnal", r"'binary', 'ordinal' or 'continuous'; got 'ordnal'\. Did you mean 'ordinal'"),
        ({"mood": "nominal"}, r"'binary', 'ordinal' or 'continuous'; got 'nominal'"),
        (["ordinal"], r"one kind or a dict from item name to kind; got list\. For example"),
        ("binary", r"two distinct values; got 3 in item 'mood'\. Call it 'ordinal'"),
    ],
)
def test_kinds_that_cannot_be(kinds, message):
    frame = pd.DataFrame({"mood": [1, 2, 3], "sleep": [1, 0, 1]})
    with pytest.raises(InputError, match=message) as caught:
        as_items(frame, kinds=kinds)
    assert caught.value.argument == "kinds"


# ---- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pd.DataFrame({"a": [], "b": []}), r"at least two rows; got 0\. Check the file"),
        ([[1, 2]], r"at least two rows; got 1\."),
        ([[1], [2]], r"at least two items \(columns\); got 1\. Dependence"),
        (np.arange(4.0), r"must have 2 dimensions; got 1\. Put people in rows"),
        (np.zeros((2, 2, 2)), r"must have 2 dimensions; got 3\."),
        ([[1, 2], [3]], r"must be equally long; got rows of different lengths\. Use NaN"),
        (pd.Series([1, 2]), r"a DataFrame, a 2-d array or a path to a file; got Series\. Pass"),
        ({"a": [1, 2]}, r"a DataFrame, a 2-d array or a path to a file; got dict\."),
        (None, r"got NoneType\."),
    ],
    ids=["no rows", "row", "column", "1-d", "3-d", "ragged", "Series", "dict", "None"],
)
def test_shapes_that_cannot_be_used(data, message):
    with pytest.raises(InputError, match=message) as caught:
        as_items(data)
    assert caught.value.argument == "data"


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["1", None, "often", "2"], r"^item 'q3' holds text: 'often' in row 3\. Code the answers"),
        (pd.Categorical(["a", "b", "a", "b"]), r"item 'q3' holds text: 'a' in row 1\."),
        (pd.Series([1, "", 2, 3], dtype=object), r"item 'q3' holds text: '' in row 2\."),
        (["1", "inf", "2", "3"], r"item 'q3' holds text: 'inf' in row 2\."),
        (["1", "1_000", "2", "3"], r"item 'q3' holds text: '1_000' in row 2\."),
        (
            pd.date_range("2024-01-01", periods=4),
            r"item 'q3' holds dates or times of type datetime",
        ),
        (pd.to_timedelta([1, 2, 3, 4], unit="s"), r"holds dates or times of type timedelta"),
        (pd.period_range("2024", periods=4, freq="Y"), r"holds dates or times of type period"),
        (pd.interval_range(0, 4), r"item 'q3' holds values of type interval"),
        ([datetime.date(2024, 1, 2)] * 4, r"holds dates or times: 2024-01-02 in row 1\."),
        ([1j, 2, 3, 4], r"item 'q3' holds complex numbers; answers must be real"),
        (pd.Series([1, 2j, 3, 4], dtype=object), r"holds complex numbers: 2j in row 2\."),
        ([1, [2], 3, 4], r"item 'q3' must hold one number per cell; got a list in row 2\."),
    ],
)
def test_columns_that_are_not_numbers(column, message):
    with pytest.raises(InputError, match=message):
        as_items(frame_with(column))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinities_are_refused_by_item_and_row(value):
    with pytest.raises(InputError, match=rf"finite; got {value} in item 'q3', row 2\. Replace"):
        as_items(frame_with([1, value, 2, 3]))


def test_rows_are_counted_by_place_not_by_index():
    frame = frame_with(["1", "2", "often", "4"])
    frame.index = pd.Index([10, 20, 30, 40])
    with pytest.raises(InputError, match="in row 3"):
        as_items(frame)


def test_constant_items_are_all_named():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [4, 4, 4], "c": [1, np.nan, 1]})
    with pytest.raises(
        InputError, match=r"must vary; got .* answer in items 'b', 'c'\. Leave constant"
    ):
        as_items(frame)


def test_a_long_list_of_constant_items_is_cut():
    frame = pd.DataFrame({f"q{k}": [1, 1] for k in range(1, 9)})
    with pytest.raises(InputError, match=r"items 'q1', 'q2', 'q3', 'q4', 'q5' and 3 more\."):
        as_items(frame)


def test_items_without_answers_are_named():
    frame = pd.DataFrame({"a": [1, 2], "b": [np.nan, np.nan]})
    with pytest.raises(InputError, match=r"only missing values in item 'b'\. Leave"):
        as_items(frame)


def test_duplicate_names_are_named():
    frame = pd.DataFrame([[1, 2, 3], [2, 3, 1]], columns=["a", "b", "a"])
    with pytest.raises(InputError, match=r"must be unique; got 'a' more than once\. Rename"):
        as_items(frame)


def test_names_that_clash_as_text_are_duplicates():
    frame = pd.DataFrame([[1, 2], [2, 3]], columns=[1, "1"])
    with pytest.raises(InputError, match=r"got '1' more than once"):
        as_items(frame)


def test_empty_names_are_refused():
    frame = pd.DataFrame([[1, 2], [2, 3]], columns=["a", " "])
    with pytest.raises(InputError, match=r"needs a name; got an empty one in column 2\. Name"):
        as_items(frame)


# ---- the row counter -------------------------------------------------------------------------


def test_a_column_that_counts_the_rows_is_noted():
    frame = pd.DataFrame({"id": np.arange(1, 302), "q1": np.arange(301) % 5})
    with pytest.warns(DataWarning, match=r"^item 'id' counts the rows 1 to 301; leave it out") as w:
        as_items(frame)
    assert len(w) == 1
    assert w[0].filename == __file__


@pytest.mark.parametrize(
    "column",
    [
        np.arange(9),
        np.arange(10) + 0.5,
        np.arange(10) * 2,
        np.arange(10)[::-1],
        np.where(np.arange(10) == 4, np.nan, np.arange(10)),
    ],
    ids=["nine rows", "fractions", "steps of two", "downwards", "a gap"],
)
def test_other_columns_are_not_noted(column):
    as_items(pd.DataFrame({"id": column, "q1": np.arange(len(column)) % 3}))


# ---- imports ---------------------------------------------------------------------------------


def test_import_loads_no_optional_package():
    # pandas itself loads pyarrow when it is there, so only what comes on top of it counts.
    script = (
        "import sys, pandas; before = set(sys.modules); import dtstat.data; "
        "new = set(sys.modules) - before; "
        "print(sorted(new & {'pyreadstat', 'openpyxl', 'pyarrow'}))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_item_data_is_built_only_from_what_it_is_given():
    items = ItemData(np.zeros((0, 2)), ("a", "b"), ("ordinal", "continuous"), ((), None))
    assert (items.n_rows, items.n_items, items.has_missing) == (0, 2, False)


def test_missing_integers_of_r_are_missing():
    frame = pd.DataFrame({"a": [1, 2, -2147483648, 4], "b": [2, 1, 3, 4]}, dtype="int32")
    with pytest.warns(DataWarning, match="item 'a' held -2147483648, R's NA for whole numbers"):
        items = as_items(frame)
    assert np.isnan(items.values[2, 0])
    assert items.levels[0] == (1.0, 2.0, 4.0)


def test_a_correlation_matrix_is_not_answers():
    R = np.array([[1, 0.5, 0.2], [0.5, 1, 0.1], [0.2, 0.1, 1]])
    with pytest.raises(InputError, match=r"got a symmetric 3 × 3 matrix .*from_matrix"):
        as_items(R)
