import inspect
import shlex

import pandas as pd
import pytest
from typer.testing import CliRunner

from dtstat.cli.app import app
from dtstat.core.errors import InputError
from dtstat.studies.highdim import highdim

FEW = ("--sizes", 40, "--phis", "0,0.75", "--shares", 0.4, "--readings", "own")
SMALL = ("study", "highdim", "--reps", 2, *FEW, "--searches", "oracle,plain")


@pytest.fixture(scope="module")
def expected():
    levels = {"phis": (0, 0.75), "shares": 0.4, "readings": "own"}
    return highdim(2, 40, **levels, searches=("oracle", "plain"))


@pytest.fixture
def passed(monkeypatch):
    """What the function is called with, which then stops."""
    seen = {}

    def stop(*positional, **named):
        seen.update(inspect.signature(highdim).bind(*positional, **named).arguments)
        raise InputError("Enough.")

    monkeypatch.setattr("dtstat.cli.study.studies.highdim", stop)
    return seen


def without_seconds(text):
    """Words of lines, but the seconds at their ends."""
    return [line.rsplit(None, 1)[0] for line in text.splitlines() if line.strip()]


def test_prints_the_summary_of_the_function(run, expected):
    status, out, err = run(*SMALL)
    assert (status, err) == (0, "")
    assert without_seconds(out) == without_seconds(repr(expected.summary()))


@pytest.mark.usefixtures("drawing")
def test_table_and_figure_are_written(run, expected, tmp_path):
    csv, png = tmp_path / "table.csv", tmp_path / "figure.png"
    assert run(*SMALL, "--table", csv, "--figure", png)[0] == 0
    timed = ["seconds_mean", "seconds_sd", "seconds_se"]
    written = pd.read_csv(csv)
    pd.testing.assert_frame_equal(
        written.drop(columns=timed), expected.table().drop(columns=timed), check_dtype=False
    )
    assert png.read_bytes().startswith(b"\x89PNG")


def test_markdown_has_three_tables(run, tmp_path):
    file = tmp_path / "table.md"
    assert run(*SMALL, "--table", file)[0] == 0
    lines = file.read_text().splitlines()
    tabular = [line for line in lines if line.startswith("|")]
    assert len(tabular) == (2 + 6) + 2 * (2 + 3)
    assert tabular[0].startswith("| n | condition | search | d | d-hat |")
    assert tabular[8] == "| n | condition | paper | oracle | plain |"
    assert tabular[12].startswith("| 40 | share 0.4 own | 0.75 | ")


def test_every_option_is_passed_on(run, passed, tmp_path):
    options = {
        "--reps": 3,
        "--sizes": "40, 50",
        "--phis": "0.1,0.2",
        "--shares": "0.3",
        "--readings": "shared",
        "--searches": "plain, oracle",
        "--seed": 7,
        "--jobs": 2,
        "--out": tmp_path / "ledger.jsonl",
    }
    flags = [part for pair in options.items() for part in pair]
    assert run("study", "highdim", *flags) == (2, "", "dtstat: Enough.\n")
    assert passed == {
        "reps": 3,
        "sizes": [40, 50],
        "phis": [0.1, 0.2],
        "shares": [0.3],
        "readings": ["shared"],
        "searches": ["plain", "oracle"],
        "seed": 7,
        "n_jobs": 2,
        "out": tmp_path / "ledger.jsonl",
        "progress": False,
    }


def test_what_is_not_given_is_left_to_the_function(run, passed):
    defaults = {name: one.default for name, one in inspect.signature(highdim).parameters.items()}
    run("study", "highdim")
    listed = {name: list(one) for name, one in defaults.items() if isinstance(one, tuple)}
    assert passed == defaults | listed | {"progress": False}


def test_levels_can_be_left_out(run, passed):
    run("study", "highdim", "--phis", "", "--shares", "")
    assert (passed["phis"], passed["shares"]) == ([], [])


def test_a_second_call_goes_on(run, tmp_path):
    file = tmp_path / "ledger.jsonl"
    first = run(*SMALL, "--out", file)
    size = file.stat().st_size
    assert run(*SMALL, "--out", file) == first  # the seconds are those of the ledger
    assert file.stat().st_size == size


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--reps", 0], "--reps must be a whole number of at least 1; got 0."),
        (["--sizes", "40,x"], "--sizes must be numbers separated by commas; got '40,x'."),
        (["--sizes", "10"], "--sizes must be a whole number of at least 20"),
        (["--phis", "", "--shares", ""], "There must be one or more conditions"),
        (["--shares", "1.5"], "--shares must be a number in [0, 1)"),
        (["--readings", ""], "--readings must be one or more readings"),
        (["--searches", "oracel"], "Did you mean 'oracle'?"),
        (["--jobs", 0], "--jobs must be a number of workers"),
        (["--table", "FOLDER/t.pdf"], "--table must be a file whose name ends in .csv, .md, "),
        (["--figure", "FOLDER/f.doc"], "--figure must be a file whose name ends in .png, .pdf, "),
        (["--figure", "FOLDER/no/f.png"], "there is no folder"),
        (["--out", "FOLDER/t.png", "--figure", "FOLDER/t.png"], "--figure and --out must be two"),
        (["--out", "FOLDER/t.txt", "--table", "FOLDER/t.txt"], "--table and --out must be two"),
    ],
)
def test_bad_arguments_end_with_one_sentence(refusal, tmp_path, arguments, said):
    assert said in refusal("study", "highdim", "--reps", 1, "--sizes", 40, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_help_has_an_example_that_runs(run, tmp_path, monkeypatch):
    text = " ".join(CliRunner().invoke(app, ["study", "highdim", "--help"]).output.split())
    example = shlex.split(text.split("Example: dtstat ")[1].split(" Options:")[0])
    assert example[:2] == ["study", "highdim"]
    monkeypatch.chdir(tmp_path)
    status, out, _ = run(*example, *FEW, "--searches", "oracle")
    assert status == 0
    assert out
    assert (tmp_path / "highdim.jsonl").exists()


def test_the_program_knows_the_study():
    assert "\n  highdim " in CliRunner().invoke(app, ["study"]).output
