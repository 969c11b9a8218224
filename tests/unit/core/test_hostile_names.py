"""Names with line breaks, tabs and control characters stay in their cell and command nothing."""

import re
import sys

import pytest

import dtstat as dt
from dtstat.cli.app import main
from dtstat.core.errors import printable

NAMES = {
    "x1": "Q1\nHow happy?",
    "x2": "a\tb",
    "x3": "\x1b[31mred\x1b[0m",
    "x4": "c\r\nd",
    "x5": "e\x07\x9b\u2028f",
    "x6": "\u202egnp",
    "x7": "[opt]",
    "x8": "*star",
}
PLAIN = dt.load_dataset("holzinger_swineford_9")
DATA = PLAIN.rename(columns=NAMES)
RAW = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")


def result(kind, data):
    fit = dt.fit(data)
    makers = {
        "fit": lambda: fit,
        "path": lambda: dt.solution_path(data),
        "diagnosis": lambda: dt.diagnose(fit),
        "stability": lambda: dt.stability(data, 3, fit, seed=1),
        "efa": lambda: dt.efa(data, 3),
        "cfa": lambda: dt.cfa(data, fit.structure),
    }
    return makers[kind]()


@pytest.mark.parametrize("kind", ["fit", "path", "diagnosis", "stability", "efa", "cfa"])
def test_printed_tables_have_the_lines_of_plain_names(kind):
    hostile, plain = result(kind, DATA), result(kind, PLAIN)
    for text in (repr(hostile), repr(hostile.summary()), hostile.summary().to_latex()):
        assert not RAW.search(text)
    assert len(repr(hostile).splitlines()) == len(repr(plain).splitlines())
    for way in ("to_text", "to_html", "to_latex"):
        lines = [len(getattr(one.summary(), way)().splitlines()) for one in (hostile, plain)]
        assert lines[0] == lines[1], way


def test_structures_and_messages():
    structure = dt.fit(DATA).structure
    assert repr(structure).splitlines()[1] == r"  F1: Q1 How happy? a b \x1b[31mred\x1b[0m"
    with pytest.raises(dt.InputError) as caught:
        dt.dependence(DATA.assign(**{"k\x1b[2J\nq": 1}))
    assert r"item 'k\x1b[2J q'" in str(caught.value)


def test_a_latex_row_begins_with_no_option_of_the_row_above():
    latex = dt.fit(DATA).summary().to_latex()
    assert "\n{[}opt]" in latex
    assert "\n{*}star" in latex
    assert not re.search(r"^\s*[\[*]", latex, re.MULTILINE)


def test_the_terminal_and_files(tmp_path, monkeypatch, capsys):
    file = tmp_path / "answers.csv"
    DATA.rename(columns={"c\r\nd": "c\nd"}).to_csv(file, index=False)
    out = tmp_path / "out.csv"
    monkeypatch.setattr(sys, "argv", ["dtstat", "fit", str(file), "--csv", str(out)])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    assert ended.value.code in (0, None)
    assert not RAW.search(shown.out + shown.err)
    with pytest.warns(dt.DataWarning, match="kept aside"):
        again = dt.read_survey(out)
    assert len(again) == len(dt.fit(PLAIN).tidy())


@pytest.mark.parametrize("text", ["plain", "Größe µ", "日本", "a  b", "שלום"])
def test_other_letters_stay(text):
    assert printable(text) == text
