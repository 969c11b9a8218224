"""What the command line writes can be opened by anybody, anywhere."""

import io
import sys

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.cli.app import main
from dtstat.cli.options import write_csv


def test_texts_are_no_formulas(tmp_path):
    frame = pd.DataFrame({"=a": ["=cmd()", "+1", "-x", "@S", "\tx", "x"], "b": range(-3, 3)})
    write_csv(frame.assign(op="=~", c=-1.5), tmp_path / "a.csv")
    again = pd.read_csv(tmp_path / "a.csv")
    assert again.columns.tolist() == ["'=a", "b", "op", "c"]
    assert again["'=a"].tolist() == ["'=cmd()", "'+1", "'-x", "'@S", "'\tx", "x"]
    assert again["b"].tolist() == list(range(-3, 3))
    assert set(again["op"]) == {"=~"}


@pytest.fixture
def hostile(tmp_path):
    answers = dt.load_dataset("holzinger_swineford_9")
    answers.columns = ["=cmd()", "<script>alert(1)</script>", "@SUM(A1)", *answers.columns[3:]]
    answers.to_csv(tmp_path / "a.csv", index=False)
    return tmp_path


def run(monkeypatch, *line):
    monkeypatch.setattr(sys, "argv", ["dtstat", *map(str, line)])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code


def test_hostile_names_are_harmless_in_what_is_written(hostile, monkeypatch, capsys):
    out = {name: hostile / name for name in ("out.csv", "scores.csv", "page.html")}
    run(monkeypatch, "fit", hostile / "a.csv", "--csv", out["out.csv"])
    run(monkeypatch, "report", hostile / "a.csv", "--resamples", 0, "-o", out["page.html"])
    written = [str(cell) for cell in pd.read_csv(out["out.csv"]).to_numpy().ravel()]
    assert any("'=cmd()" in cell for cell in written)
    assert not any(cell.startswith("=cmd") for cell in written)
    assert "<script>alert" not in out["page.html"].read_text()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_terminal_that_lacks_letters(monkeypatch, encoding):
    screen = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", screen)
    run(monkeypatch, "measures")
    screen.flush()
    assert b"Kendall tau-b" in screen.buffer.getvalue()


def test_columns_of_numbers_are_left_alone(tmp_path):
    frame = pd.DataFrame({"a": [-1.5, np.nan], "b": [-1, 2]})
    write_csv(frame, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "a,b\n-1.5,-1\n,2\n"
