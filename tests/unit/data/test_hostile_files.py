"""Files of answers that are odd, damaged, or made to do harm."""

import gzip
import os
import zipfile

import openpyxl
import pandas as pd
import pyreadstat
import pytest

import dtstat as dt
from dtstat.core import files as limits
from dtstat.data.columns import parse_number


@pytest.fixture
def read(tmp_path):
    def call(content, name="a.csv", **options):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return dt.read_survey(file, **options)

    return call


@pytest.mark.parametrize("formula", ["=1+1", "+cmd|' /C calc'!A0", "@SUM(A1)"])
def test_formulas_are_text(read, formula):
    with pytest.raises(dt.InputError, match="mixes numbers with text"):
        read(f"a,b\n{formula},2\n3,4\n")
    with pytest.warns(dt.DataWarning, match="'a' have no known order"):
        frame = read(f"a,b\n{formula},2\n{formula},4\n")
    assert frame["a"].tolist() == [formula, formula]


def test_a_very_long_cell_is_not_printed(read):
    with pytest.raises(dt.InputError) as refused:
        read("a,b\n1,2\n" + "x" * 100_000 + ",3\n")
    assert len(str(refused.value)) < 600


def test_a_very_long_number_is_text():
    """Matching it must not take the square of its length."""
    assert parse_number("1" * 100_000 + "x") is None
    assert parse_number("1" * 100_000) is None


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1\x00,2\n3,4\n",
        'a,b\n"1,2\n3,4\n',
        "a,b\n1,2,3,4\n3,4\n",
        "a,b\n",
        b"\xff\xfe",
        b"\xff\xfea",
        "",
        "\n\n\n",
        'a,"b\n',
    ],
)
def test_damaged_texts_are_refused(read, content):
    with pytest.raises(dt.InputError):
        read(content)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_line_ends_and_encodings(read, ends, encoding):
    frame = read(ends.join(["a,é", "1,2", "3,4", ""]).encode(encoding))
    assert frame.columns.tolist() == ["a", "é"]
    assert frame["é"].tolist() == [2, 4]


@pytest.mark.parametrize("ending", [".xlsx", ".parquet", ".sav", ".zsav", ".dta", ".csv.gz"])
def test_nonsense_is_refused(read, ending):
    with pytest.raises(dt.InputError, match="cannot be read"):
        read(b"PK\x03\x04 nonsense", f"a{ending}")


def test_packed_text_may_not_fill_the_memory(read, monkeypatch):
    monkeypatch.setattr(limits, "FREE_BYTES", 1_000)
    with pytest.raises(dt.InputError, match="are allowed"):
        read(gzip.compress(b"a,b\n" + b"1,2\n" * 100_000), "a.csv.gz")


def test_a_workbook_may_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "FREE_BYTES", 1_000)
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", bytes(1_000_000))
    with pytest.raises(dt.InputError, match="are allowed"):
        dt.read_survey(tmp_path / "a.xlsx")


@pytest.mark.parametrize("path", ["a\0b.csv", "\ud800.csv", "x" * 5_000 + ".csv"])
def test_names_no_file_can_have(path):
    with pytest.raises(dt.InputError, match="must be a file that exists"):
        dt.read_survey(path)


def test_a_parquet_file_may_not_fill_the_memory(tmp_path, monkeypatch):
    pd.DataFrame({"a": [1.0] * 1_000, "b": [2.0] * 1_000}).to_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr("dtstat.core.checks.MOST_CELLS", 1_500)
    with pytest.raises(dt.InputError, match="no table has more than 1500 numbers"):
        dt.read_survey(tmp_path / "a.parquet")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(dt.InputError, match="may have no end"):
        dt.read_survey(tmp_path / "a.csv")


@pytest.mark.parametrize("option", ["columns", "missing_codes"])
def test_options_that_are_no_names(read, option):
    with pytest.raises(dt.InputError, match=f"`{option}` must"):
        read("a,b\n1,2\n3,4\n", **{option: object()})


def workbook(file, rows, far=None):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    if far is not None:
        book.active.cell(*far, 7)
    book.save(file)
    return file


@pytest.mark.parametrize("far", [(1_048_576, 16_384), (5_000, 3_000), (1_048_576, 20)])
def test_a_cell_far_from_the_others_does_not_fill_the_memory(tmp_path, far):
    file = workbook(tmp_path / "a.xlsx", [["a", "b"], [1, 2], [3, 4]], far)
    with pytest.raises(dt.InputError, match=r"sheet 'Sheet' of 'a.xlsx' goes on beyond row"):
        dt.read_survey(file)


def test_a_row_that_no_sheet_has_does_not_go_on_for_ever(tmp_path):
    file = workbook(tmp_path / "a.xlsx", [["a", "b"], [1, 2]])
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b'<row r="2"', b'<row r="99999999999"')
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(dt.InputError, match="goes on beyond row"):
        dt.read_survey(file)


def test_answers_of_a_workbook_that_look_like_nothing_are_answers(tmp_path):
    """pandas takes "None" for missing; among "Some" and "A lot" it is the lowest answer."""
    rows = [[], ["None", "b"], ["None", 2], ["Some", 4], ["A lot", 3]]
    with pytest.warns(dt.DataWarning, match="None < A little < Some < A lot"):
        frame = dt.read_survey(workbook(tmp_path / "a.xlsx", rows))
    assert frame["None"].tolist() == ["None", "Some", "A lot"]


def test_dates_that_excel_made_of_answers_are_said(tmp_path):
    rows = [["a", "b"], [pd.Timestamp(2024, 2, 1), 2], [3, 4]]
    with pytest.raises(dt.InputError, match=r"'a' mixes numbers with dates.* in row 1"):
        dt.read_survey(workbook(tmp_path / "a.xlsx", rows))


def test_a_zsav_file_may_not_fill_the_memory(tmp_path, monkeypatch):
    file = tmp_path / "a.zsav"
    pyreadstat.write_sav(pd.DataFrame({"a": [0.0] * 5_000, "b": 0.0}), file, compress=True)
    monkeypatch.setattr(limits, "FREE_BYTES", 1_000)
    monkeypatch.setattr(limits, "MOST_RATIO", 10)
    with pytest.raises(dt.InputError, match="are allowed"):
        dt.read_survey(file)


@pytest.mark.parametrize("cells", [[[1, 2], [3]], [{"x": 1}, {"x": 2}], [b"a", b"b"]])
def test_cells_that_are_no_answers_are_kept_aside(tmp_path, cells):
    file = tmp_path / "a.parquet"
    pd.DataFrame({"a": cells, "b": [1, 2], "c": [2, 1]}).to_parquet(file)
    with pytest.warns(dt.DataWarning, match="Neither numbers nor texts, and kept aside: 'a'"):
        assert dt.read_survey(file).attrs["aside"] == ["a"]
    with pytest.raises(dt.InputError, match="item 'a'"):
        dt.read_survey(file, columns=["a", "b"])


def test_whole_numbers_beside_gaps_that_would_become_others(tmp_path):
    file = tmp_path / "a.parquet"
    pd.DataFrame({"a": pd.array([2**53 + 1, None, 3], "Int64"), "b": [1, 2, 3]}).to_parquet(file)
    with pytest.raises(dt.InputError, match="item 'a' has missing answers and whole numbers"):
        dt.read_survey(file)
    assert dt.read_survey(file, drop="a")["b"].tolist() == [1, 2, 3]


def test_dates_with_points_are_no_marked_numbers(read):
    with pytest.warns(dt.DataWarning, match="Texts of item 'a'"):
        frame = read("a;b;c\n02.01.2020;1;3\n03.01.2020;2;2\n")
    assert frame.attrs["aside"] == ["a"]


def test_a_mark_of_byte_order_may_stand_there_twice(read):
    assert read("\ufeff\ufeffa,b\n1,2\n").columns.tolist() == ["a", "b"]


def test_a_file_without_names(read):
    with pytest.raises(dt.InputError, match="put a row of names above"):
        read("4,5,4\n4,3,2\n")
    with pytest.warns(dt.DataWarning, match="The first row was read as the names"):
        read("0.5,-1.2,0.3\n4,3,2\n")
    assert read("1,2,3\n4,3,2\n").columns.tolist() == ["1", "2", "3"]


def test_a_link_to_nothing(tmp_path):
    (tmp_path / "a.csv").symlink_to("gone.csv")
    with pytest.raises(dt.InputError, match=r"a link to 'gone.csv', which is not there"):
        dt.read_survey(tmp_path / "a.csv")
