"""read_survey: every format there and back, codes, labels, and every refusal."""

from __future__ import annotations

import gzip
import importlib

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from dtstat.core.errors import DataWarning, InputError, MissingExtraError
from dtstat.data.items import as_items
from dtstat.data.readers import read_survey

ANSWERS = pd.DataFrame({"q1": [1.0, 2.0, np.nan, 5.0], "q2": [0.1, -2.5, 3.25, 1 / 3]})


@pytest.fixture
def survey(tmp_path):
    """Return a function that writes a text file and gives its path."""

    def write(text, name="survey.csv", encoding="utf-8"):
        file = tmp_path / name
        file.write_bytes(text.encode(encoding))
        return file

    return write


def assert_answers(file, **arguments):
    pd.testing.assert_frame_equal(read_survey(file, **arguments), ANSWERS, check_exact=True)


# ---- every format ----------------------------------------------------------------------------


def test_csv(tmp_path):
    ANSWERS.to_csv(tmp_path / "a.csv", index=False)
    assert_answers(tmp_path / "a.csv")
    assert_answers(str(tmp_path / "a.csv"))


def test_endings_may_be_in_capitals(tmp_path):
    ANSWERS.to_csv(tmp_path / "A.CSV", index=False)
    assert_answers(tmp_path / "A.CSV")


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "wave.2.txt.gz"])
def test_tab_separated(tmp_path, name):
    ANSWERS.to_csv(tmp_path / name, index=False, sep="\t")
    assert_answers(tmp_path / name)


def test_csv_gz(tmp_path):
    ANSWERS.to_csv(tmp_path / "a.csv.gz", index=False)
    assert_answers(tmp_path / "a.csv.gz")


def test_semicolons_with_decimal_commas(tmp_path):
    ANSWERS.to_csv(tmp_path / "a.csv", index=False, sep=";", decimal=",")
    assert_answers(tmp_path / "a.csv")


def test_parquet(tmp_path):
    ANSWERS.to_parquet(tmp_path / "a.parquet")
    assert_answers(tmp_path / "a.parquet")


def test_parquet_rows_are_counted_anew(tmp_path):
    ANSWERS.set_axis([7, 8, 9, 10]).to_parquet(tmp_path / "a.parquet")
    assert_answers(tmp_path / "a.parquet")


def test_xlsx(tmp_path):
    ANSWERS.to_excel(tmp_path / "a.xlsx", index=False)
    assert_answers(tmp_path / "a.xlsx")


@pytest.mark.parametrize("compress", [False, True], ids=["sav", "zsav"])
def test_spss(tmp_path, compress):
    file = tmp_path / ("a.zsav" if compress else "a.sav")
    pyreadstat.write_sav(ANSWERS, file, compress=compress)
    assert_answers(file)


def test_stata(tmp_path):
    pyreadstat.write_dta(ANSWERS, tmp_path / "a.dta")
    assert_answers(tmp_path / "a.dta")


# ---- text files as people write them ---------------------------------------------------------


def test_every_way_to_write_missing(survey):
    missing = ["", "NA", "N/A", "NaN", "nan", "null", ".", " NA "]
    file = survey("a,b\n" + "".join(f"{k},{text}\n" for k, text in enumerate(["7", *missing])))
    frame = read_survey(file)
    assert frame["b"].notna().tolist() == [True] + [False] * len(missing)
    assert frame["b"].dtype == np.float64


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_encodings(survey, encoding):
    frame = read_survey(survey("größe,q2\n1,2\n2,3\n", encoding=encoding))
    assert list(frame.columns) == ["größe", "q2"]


def test_commas_in_question_texts_do_not_mislead(survey):
    frame = read_survey(survey("calm, at ease, or glad;tense, upset, or sad\n1;2\n2;3\n"))
    assert list(frame.columns) == ["calm, at ease, or glad", "tense, upset, or sad"]


def test_a_decimal_comma_in_each_field_does_not_mislead(survey):
    frame = read_survey(survey("a;b;c\n1,5;2,5;3,5\n1;-,5;1,5e2\n"))
    assert frame.to_numpy().tolist() == [[1.5, 2.5, 3.5], [1.0, -0.5, 150.0]]


def test_points_and_commas_may_both_mark_decimals(survey):
    frame = read_survey(survey("a;b\n1,5;2.5\n2,5;3.5\n"))
    assert frame.to_numpy().tolist() == [[1.5, 2.5], [2.5, 3.5]]


def test_the_hint_that_excel_writes_is_no_header(survey):
    assert read_survey(survey("sep=;\r\na;b\r\n1;2\r\n")).to_dict("list") == {"a": [1], "b": [2]}


def test_quoted_fields_may_hold_separators_and_line_ends(survey):
    frame = read_survey(survey('"how, are\nyou?","q2"\n"1","2"\n2,3\n'))
    assert list(frame.columns) == ["how, are\nyou?", "q2"]
    assert frame.to_numpy().tolist() == [[1, 2], [2, 3]]


def test_spaces_around_names_and_numbers(survey):
    frame = read_survey(survey("q1 , q2\n1 , 2\n NA, 3\n"))
    assert list(frame.columns) == ["q1", "q2"]
    np.testing.assert_array_equal(frame, [[1, 2], [np.nan, 3]])


def test_true_and_false_are_one_and_zero(survey):
    frame = read_survey(survey("a,b\nTRUE,FALSE\nFALSE,NA\n"))
    np.testing.assert_array_equal(frame, [[1, 0], [0, np.nan]])
    assert (frame.dtypes == np.float64).all()


def test_a_wholly_text_column_is_kept(survey):
    with pytest.warns(DataWarning, match="item 'town' have no known order and are kept aside"):
        frame = read_survey(survey("town,q1,q2\n Bonn,1,2\nNA,2,4\nKiel,3,3\n"))
    assert frame["town"].tolist()[::2] == [" Bonn", "Kiel"]
    assert frame["town"].isna().tolist() == [False, True, False]
    assert as_items(frame).names == ("q1", "q2")
    frame.attrs.clear()
    with pytest.raises(InputError, match=r"item 'town' holds text: ' Bonn' in row 1"):
        as_items(frame)


@pytest.mark.parametrize(
    "text",
    ['"",q1,q2\n1,5,6\n2,7,8\n', "q1\tq2\n1\t5\t6\n2\t7\t8\n", "q1,q2\nann,5,6\nbob,7,8\n"],
    ids=["write.csv", "write.table", "named rows"],
)
def test_row_names_are_left_out(survey, text):
    frame = read_survey(survey(text))
    assert frame.to_dict("list") == {"q1": [5, 7], "q2": [6, 8]}


@pytest.mark.parametrize(
    "text", ["q1;q2;;\n5;6;;\n7;8;;\n", "q1;q2\n5;6;\n7;8;\n"], ids=["empty columns", "row ends"]
)
def test_what_spreadsheets_leave_behind_is_left_out(survey, text):
    assert read_survey(survey(text)).to_dict("list") == {"q1": [5, 7], "q2": [6, 8]}


def test_many_rows_give_no_warning_about_types(survey):
    rows = [f"{k % 5},{'' if k % 3 else 'x'}\n" for k in range(300_000)]
    with pytest.warns(DataWarning, match="item 'b' have no known order") as caught:
        frame = read_survey(survey("a,b\n" + "".join(rows)))
    assert len(frame) == 300_000
    assert len(caught) == 1


# ---- choosing columns ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["q2", "q1"], ["q2", "q1"]),
        (["age", "q*"], ["age", "q1", "q2", "q[1]"]),
        (["q2", "q?"], ["q2", "q1"]),
        ("q*", ["q1", "q2", "q[1]"]),
        (["q[1]"], ["q[1]"]),
        (["[aq]?[!1]"], ["age"]),
    ],
    ids=["order", "pattern", "no repeats", "one pattern", "exact first", "class"],
)
def test_columns(survey, columns, expected):
    file = survey("q1,age,q2,q[1]\n1,2,3,4\n5,6,7,8\n")
    assert list(read_survey(file, columns=columns).columns) == expected


def test_unknown_column_suggests_the_one_that_was_meant(survey):
    with pytest.raises(InputError, match=r"got 'anxeity'\. Did you mean 'anxiety'\?") as caught:
        read_survey(survey("anxiety,mood\n1,2\n"), columns=["anxeity"])
    assert caught.value.argument == "columns"


def test_no_columns_left(survey):
    with pytest.raises(InputError, match=r"at least one column; got an empty list\. Leave it out"):
        read_survey(survey("a,b\n1,2\n"), columns=[])


def test_columns_that_are_not_chosen_may_be_mixed(survey):
    file = survey("note,q1\n1,1\nwell,2\n")
    assert read_survey(file, columns=["q1"])["q1"].tolist() == [1, 2]


# ---- missing codes ---------------------------------------------------------------------------


@pytest.mark.parametrize("codes", [[99], 99, [99.0], ["99"], "99", (99, 77)])
def test_missing_codes_for_all_items(survey, codes):
    frame = read_survey(survey("a,b\n1,99\n99.0,2\n3,4\n"), missing_codes=codes)
    np.testing.assert_array_equal(frame, [[1, np.nan], [np.nan, 2], [3, 4]])


def test_missing_codes_by_item(survey):
    frame = read_survey(survey("a,b\n1,9\n9,2\n"), missing_codes={"a": [9]})
    np.testing.assert_array_equal(frame, [[1, 9], [np.nan, 2]])


def test_text_codes_in_a_column_of_numbers(survey):
    file = survey("a;b\n1;refused\nrefused ;2,5\n99;-1\n")
    frame = read_survey(file, missing_codes=["refused", 99, -1])
    np.testing.assert_array_equal(frame, [[1, np.nan], [np.nan, 2.5], [np.nan, np.nan]])
    assert (frame.dtypes == np.float64).all()


def test_text_codes_in_a_column_of_text(survey):
    with pytest.warns(DataWarning, match="'a' have no known order"):
        frame = read_survey(survey("a,b\nx,1\n?,2\n"), missing_codes=["?"])
    assert frame["a"].isna().tolist() == [False, True]


def test_missing_codes_in_parquet_categories_and_nullable_numbers(tmp_path):
    answers = pd.Categorical(["no", "n/a", "yes"], categories=["no", "yes", "n/a"], ordered=True)
    frame = pd.DataFrame({"a": answers, "b": pd.array([1, 99, None], dtype="Int64")})
    frame.to_parquet(tmp_path / "a.parquet")
    read = read_survey(tmp_path / "a.parquet", missing_codes=["n/a", 99])
    assert read["a"].cat.categories.tolist() == ["no", "yes"]
    assert read["a"].isna().tolist() == [False, True, False]
    assert read["b"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ({"mod": [9]}, r"must name columns of the file; got 'mod'\. Did you mean 'mood'\?"),
        ([[9]], r"must hold numbers and text; got \[9\]\. For example missing_codes=\[99"),
        ([None], r"must hold numbers and text; got None"),
    ],
)
def test_missing_codes_that_cannot_be(survey, codes, message):
    with pytest.raises(InputError, match=message) as caught:
        read_survey(survey("mood,b\n1,2\n"), missing_codes=codes)
    assert caught.value.argument == "missing_codes"


def test_missing_codes_of_columns_not_chosen_are_no_error(survey):
    frame = read_survey(survey("a,b\n1,9\n2,3\n"), missing_codes={"b": [9]}, columns=["a"])
    assert frame["a"].tolist() == [1, 2]


MIXED = (
    r"item 'b' mixes numbers with text; got 'often' in row 2\. Leave the item out with "
    r"read_survey\(path, drop=\['b'\]\), or list the text in `missing_codes`"
)


def test_numbers_mixed_with_text_in_csv(survey):
    with pytest.raises(InputError, match=MIXED):
        read_survey(survey("a,b\n1,3\n2,often\n3,4\n"))


def test_numbers_mixed_with_text_in_xlsx(tmp_path):
    pd.DataFrame({"a": [1, 2], "b": [3, "often"]}).to_excel(tmp_path / "a.xlsx", index=False)
    with pytest.raises(InputError, match=MIXED):
        read_survey(tmp_path / "a.xlsx")
    frame = read_survey(tmp_path / "a.xlsx", missing_codes={"b": "often"})
    np.testing.assert_array_equal(frame, [[1, 3], [2, np.nan]])


def test_numbers_among_ratings_are_pointed_out_unless_they_were_asked_for(survey):
    rows = [f"{k % 5 + 1},{k % 3 + 1},{k % 4 + 1},{20 + 7 * k % 41}" for k in range(30)]
    file = survey("\n".join(["a,b,c,age", *rows, ""]))
    said = r"Most columns are ratings, but not 'age'\. .*read_survey\(path, aside=\['age'\]\)"
    for read in (read_survey, as_items):
        with pytest.warns(DataWarning, match=said):
            read(file)
    assert read_survey(file, aside="age").attrs["aside"] == ["age"]
    assert "age" in read_survey(file, columns=["a", "b", "c", "age"])
    half = survey("\n".join(["a,age", *(row[4:] for row in rows), ""]))
    assert list(read_survey(half)) == ["a", "age"]  # ratings are not most of these


# ---- spreadsheets ----------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["xlsx", "parquet"])
def test_dates_stay_dates_and_are_no_items(tmp_path, ending):
    frame = pd.DataFrame({"a": [1, 2], "when": pd.to_datetime(["2024-01-02", "2024-01-03"])})
    file = tmp_path / f"a.{ending}"
    frame.to_excel(file, index=False) if ending == "xlsx" else frame.to_parquet(file)
    with pytest.warns(DataWarning, match="Dates or times are kept aside: 'when'"):
        read = read_survey(file)
    assert read.attrs["aside"] == ["when"]
    read.attrs.clear()
    with pytest.raises(InputError, match=r"item 'when' holds dates or times"):
        as_items(read)


def test_xlsx_with_row_names(tmp_path):
    ANSWERS.to_excel(tmp_path / "a.xlsx")
    assert_answers(tmp_path / "a.xlsx")


# ---- labels of SPSS and Stata ----------------------------------------------------------------


@pytest.fixture
def labelled(tmp_path):
    frame = pd.DataFrame(
        {
            "mood": [1.0, 2.0, 9.0, 3.0],
            "age": [30.0, 997.0, 998.0, 41.0],
            "town": ["Bonn", "xx", "Kiel", ""],
        }
    )
    file = tmp_path / "a.sav"
    pyreadstat.write_sav(
        frame,
        file,
        column_labels={"mood": "How are you?"},
        variable_value_labels={"mood": {1.0: "bad", 3.0: "good", 9.0: "no answer"}},
        missing_ranges={"mood": [9.0], "age": [{"lo": 990.0, "hi": 999.0}], "town": ["xx"]},
    )
    return file


@pytest.mark.filterwarnings("ignore:Texts of item 'town'")
def test_spss_declared_codes_and_ranges_are_missing(labelled):
    frame = read_survey(labelled)
    np.testing.assert_array_equal(frame["mood"], [1, 2, np.nan, 3])
    np.testing.assert_array_equal(frame["age"], [30, np.nan, np.nan, 41])
    assert frame["town"].isna().tolist() == [False, True, False, True]


@pytest.mark.filterwarnings("ignore:Texts of item 'town'")
def test_spss_labels_and_texts_are_kept_without_those_of_missing_codes(labelled):
    attributes = read_survey(labelled).attrs
    assert attributes["value_labels"] == {"mood": {1.0: "bad", 3.0: "good"}}
    assert attributes["item_texts"] == {"mood": "How are you?"}


@pytest.mark.filterwarnings("ignore:Texts of item 'town'")
def test_labels_follow_the_chosen_columns_and_given_codes(labelled):
    assert read_survey(labelled, columns=["age"]).attrs == {"value_labels": {}, "item_texts": {}}
    labels = read_survey(labelled, missing_codes=[1]).attrs["value_labels"]
    assert labels == {"mood": {3.0: "good"}}


@pytest.mark.filterwarnings("ignore:Dates or times are kept aside")
def test_spss_dates_with_declared_missing_values_are_read(tmp_path):
    frame = pd.DataFrame({"day": pd.to_datetime(["2024-01-02", "2024-01-03"]), "q": [1.0, 2.0]})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", missing_ranges={"q": [2.0]})
    assert read_survey(tmp_path / "a.sav")["q"].isna().tolist() == [False, True]


def test_stata_letters_are_missing(tmp_path):
    answers = pd.Series([1, "a", 2, "z"], dtype=object)
    pyreadstat.write_dta(
        pd.DataFrame({"q1": answers, "q2": [1, 2, 3, 4]}),
        tmp_path / "a.dta",
        column_labels={"q1": "How are you?"},
        missing_user_values={"q1": ["a", "z"]},
        variable_value_labels={"q1": {1: "bad", 2: "good", "a": "refused"}},
    )
    frame = read_survey(tmp_path / "a.dta")
    np.testing.assert_array_equal(frame["q1"], [1, np.nan, 2, np.nan])
    assert frame["q1"].dtype == np.float64
    assert frame.attrs["value_labels"] == {"q1": {1.0: "bad", 2.0: "good"}}
    assert frame.attrs["item_texts"] == {"q1": "How are you?"}


def write_labelled(path, values, labels, **arguments):
    frame = pd.DataFrame({"mood": np.asarray(values, dtype=float), "sleep": [1.0, 2.0, 3.0]})
    pyreadstat.write_sav(frame, path, variable_value_labels={"mood": labels}, **arguments)
    return path


@pytest.mark.parametrize(
    ("code", "label"),
    [
        (9.0, "Refused"),
        (4.0, "don’t know"),
        (8.0, "Keine Angabe"),
        (7.0, "N/A"),
        (99.0, "something else"),
        (-9.0, "something else"),
    ],
)
def test_labels_that_look_like_missing_answers_are_noted(tmp_path, code, label):
    file = write_labelled(tmp_path / "a.sav", [1, 3, code], {1.0: "bad", 3.0: "good", code: label})
    message = (
        rf"^item 'mood': code {code:g} is labeled '{label}' but not declared missing; "
        rf"pass missing_codes=\[{code:g}\]"
    )
    with pytest.warns(DataWarning, match=message) as caught:
        read_survey(file)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("values", "labels", "arguments"),
    [
        ([1, 3, 2], {1.0: "bad", 3.0: "good", 9.0: "refused"}, {}),
        ([1, 3, 9], {1.0: "bad", 3.0: "good", 9.0: "refused"}, {"missing_ranges": {"mood": [9.0]}}),
        ([-1, 0, 1], {-1.0: "worse", 0.0: "same", 1.0: "better"}, {}),
        ([1, 50, 99], {99.0: "99 or older"}, {}),
        ([1, 2, 3], {1.0: "I miss nothing", 3.0: "I refuse help"}, {}),
    ],
    ids=["does not occur", "declared", "part of the scale", "top code", "ordinary words"],
)
def test_other_labels_are_not_noted(tmp_path, values, labels, arguments):
    read_survey(write_labelled(tmp_path / "a.sav", values, labels, **arguments))


def test_a_code_given_as_missing_is_not_noted(tmp_path):
    file = write_labelled(
        tmp_path / "a.sav", [1, 3, 99], {1.0: "bad", 3.0: "good", 99.0: "refused"}
    )
    frame = read_survey(file, missing_codes=[99])
    np.testing.assert_array_equal(frame["mood"], [1, 3, np.nan])


def test_items_with_the_same_doubtful_code_share_one_warning(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 99.0], "b": [99.0, 2.0]})
    labels = {item: {1.0: "no", 2.0: "yes", 99.0: "refused"} for item in frame}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels=labels)
    with pytest.warns(DataWarning, match=r"^items 'a', 'b': code 99 is labeled") as caught:
        read_survey(tmp_path / "a.sav")
    assert len(caught) == 1


# ---- refusals --------------------------------------------------------------------------------


def test_missing_file_suggests_a_neighbour(survey):
    file = survey("a,b\n1,2\n", name="survey.csv")
    with pytest.raises(InputError, match=r"surve\.csv'\. Did you mean 'survey\.csv'\?"):
        read_survey(file.with_name("surve.csv"))


def test_missing_file_in_an_empty_or_missing_folder(tmp_path):
    with pytest.raises(InputError, match=r"a file that exists; got .*a\.csv'\. Check name and"):
        read_survey(tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"There is no such folder either\."):
        read_survey(tmp_path / "nowhere" / "a.csv")


def test_folder(tmp_path):
    with pytest.raises(InputError, match=r"must be a file; got the folder .*\. Name a file in it"):
        read_survey(tmp_path)


def test_not_a_path():
    with pytest.raises(InputError, match=r"must be the path of a file; got DataFrame"):
        read_survey(ANSWERS)


@pytest.mark.parametrize("name", ["a.rds", "a", "a.gz"])
def test_unknown_ending_lists_the_known(survey, name):
    known = r"one of \.csv, \.tsv, .*\.xlsx, \.sav, \.zsav, \.dta"
    with pytest.raises(InputError, match=known + rf"; got '{name}'\. Save"):
        read_survey(survey("x", name=name))


@pytest.mark.parametrize("name", ["a.csv", "a.sav", "a.xlsx", "a.parquet", "a.dta"])
def test_empty_file(survey, name):
    with pytest.raises(InputError, match=rf"'{name}' is empty; got 0 bytes\. Export"):
        read_survey(survey("", name=name))


def test_file_of_blanks_and_empty_archive(survey, tmp_path):
    with pytest.raises(InputError, match=r"'survey\.csv' is empty; got no header"):
        read_survey(survey(" \n\n"))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(InputError, match=r"'a\.csv\.gz' is empty; got no header"):
        read_survey(tmp_path / "a.csv.gz")


NO_ROWS = r"holds no answers; got 0 rows below a header of 2 columns\. Check the export"


def test_header_only(survey, tmp_path):
    empty = pd.DataFrame({"a": [], "b": []})
    empty.to_excel(tmp_path / "a.xlsx", index=False)
    empty.to_parquet(tmp_path / "a.parquet")
    pyreadstat.write_sav(empty, tmp_path / "a.sav")
    for file in (survey("a,b\n"), *(tmp_path / f"a.{e}" for e in ("xlsx", "parquet", "sav"))):
        with pytest.raises(InputError, match=NO_ROWS):
            read_survey(file)


def test_empty_workbook(tmp_path):
    pd.DataFrame().to_excel(tmp_path / "a.xlsx", index=False)
    with pytest.raises(InputError, match=r"holds no answers; got 0 rows"):
        read_survey(tmp_path / "a.xlsx")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.sav", "an SPSS file"),
        ("a.dta", "a Stata file"),
        ("a.xlsx", "an Excel workbook"),
        ("a.parquet", "a Parquet file"),
        ("a.csv.gz", "delimited text"),
    ],
)
def test_damaged_file(survey, name, form):
    message = rf"^'{name}' cannot be read as {form}; got the error: [^\n]+\. Check that the file"
    with pytest.raises(InputError, match=message):
        read_survey(survey("neither one nor the other", name=name))


def test_rows_longer_than_the_header(survey):
    with pytest.raises(InputError, match=r"delimited text; .*Expected 2 fields in line 3, saw 4"):
        read_survey(survey("a,b\n1,2\n1,2,3,4\n"))
    with pytest.raises(InputError, match=r"cannot be read as delimited text; .*does not match"):
        read_survey(survey("a,b\n1,2,3,4\n1,2,3,4\n"))


def test_fields_separated_by_spaces(survey):
    with pytest.raises(
        InputError, match=r"semicolons or tabs; 'a\.txt' begins with 'q1 q2'\. Save"
    ):
        read_survey(survey("q1 q2\n1 2\n", name="a.txt"))


def test_duplicate_names(survey, tmp_path):
    message = r"must be unique; got 'q1' more than once"
    with pytest.raises(InputError, match=message):
        read_survey(survey("q1,q2,q1\n1,2,3\n"))
    pd.DataFrame([[1, 2], [3, 4]], columns=["q1", "q1"]).to_excel(tmp_path / "a.xlsx", index=False)
    with pytest.raises(InputError, match=message):
        read_survey(tmp_path / "a.xlsx")


def test_a_column_of_answers_without_a_name(survey):
    with pytest.raises(InputError, match=r"needs a name; got an empty one in column 2"):
        read_survey(survey("q1,,q2\n1,2,3\n"))


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("a.sav", "pyreadstat"),
        ("a.dta", "pyreadstat"),
        ("a.xlsx", "openpyxl"),
        ("a.parquet", "pyarrow"),
    ],
)
def test_missing_package(survey, monkeypatch, name, package):
    def not_installed(wanted):
        raise ModuleNotFoundError(f"No module named '{wanted}'", name=wanted)

    monkeypatch.setattr(importlib, "import_module", not_installed)
    message = rf"needs the package '{package}'.*dtstat\[survey\].*Or save the data as csv\."
    with pytest.raises(MissingExtraError, match=message):
        read_survey(survey("x", name=name))


def test_a_broken_package_is_not_called_missing(survey, monkeypatch):
    def broken(wanted):
        raise ModuleNotFoundError("No module named 'part_of_it'", name="part_of_it")

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="part_of_it"):
        read_survey(survey("x", name="a.sav"))
