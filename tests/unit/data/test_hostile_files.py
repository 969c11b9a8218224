"""Files of answers that are odd, damaged, or made to do harm."""

import gzip
import os
import zipfile

import pandas as pd
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
