import inspect
import json
import shlex

import pandas as pd
import pytest
from typer.testing import CliRunner

from dtstat.cli.app import app
from dtstat.core.errors import InputError
from dtstat.studies.table1 import table1

FEW = ("--n", 60, "--thresholds", 6)
SMALL = ("study", "table1", "--reps", 2, "--designs", "chain,v_structure", *FEW)


@pytest.fixture(scope="module")
def expected():
    return table1(2, ["chain", "v_structure"], 60, thresholds=6)


def without_seconds(text):
    """Lines without their last word."""
    return [line.rsplit(None, 1)[0] for line in text.splitlines() if line.strip()]


def test_prints_the_summary_of_the_function(run, expected):
    status, out, err = run(*SMALL)
    assert (status, err) == (0, "")
    assert without_seconds(out) == without_seconds(repr(expected.summary()))


def test_csv_has_the_table(run, expected, tmp_path):
    file = tmp_path / "table.csv"
    assert run(*SMALL, "--table", file)[0] == 0
    written = pd.read_csv(file).drop(columns="seconds")
    pd.testing.assert_frame_equal(written, expected.table().drop(columns="seconds"))


def test_markdown_has_tables_that_markdown_knows(run, expected, tmp_path):
    file = tmp_path / "table.md"
    assert run(*SMALL, "--table", file)[0] == 0
    lines = file.read_text().splitlines()
    tabular = [line for line in lines if line.startswith("|")]
    assert len(tabular) == 2 * (2 + 4)
    assert tabular[0].startswith("| selection | model | d | d-hat | SD | SE | F1 |")
    assert tabular[1] == "| --- | --- |" + " ---: |" * 12
    assert {line.count("|") for line in tabular[:6]} == {15}
    assert "| oracle | Chained Mediation |" in tabular[8]
    assert "4.07 ± 0.037" in tabular[8]
    for note in expected.summary().tables[1].notes:
        assert note in lines


@pytest.mark.parametrize(
    ("name", "begins"), [("t.txt", "Table 1: "), ("t.html", "<p>Table 1"), ("t.TEX", "Table 1: ")]
)
def test_other_files_have_the_summary(run, tmp_path, name, begins):
    _, out, _ = run(*SMALL, "--table", tmp_path / name)
    text = (tmp_path / name).read_text()
    assert text.startswith(begins)
    assert "2.81" in text
    assert (text == out) == (name == "t.txt")


def test_every_option_is_passed_on(run, tmp_path, monkeypatch):
    seen = {}

    def stop(*positional, **named):
        seen.update(inspect.signature(table1).bind(*positional, **named).arguments)
        raise InputError("Enough.")

    monkeypatch.setattr("dtstat.cli.study.studies.table1", stop)
    wanted = {
        "reps": 3,
        "designs": ["chain", "v_structure"],
        "n": 70,
        "estimator": "spline",
        "criterion": "cv",
        "min_children": 3,
        "thresholds": 20,
        "preset": "paper",
        "seed": 7,
        "n_jobs": 2,
        "out": tmp_path / "ledger.jsonl",
        "progress": False,
    }
    given = {**wanted, "designs": "chain, v_structure", "jobs": wanted["n_jobs"]}
    flags = [
        part
        for name, value in given.items()
        if name not in ("n_jobs", "progress")
        for part in (f"--{name.replace('_', '-')}", value)
    ]
    assert run("study", "table1", *flags) == (2, "", "dtstat: Enough.\n")
    assert seen == wanted


def test_what_is_not_given_is_left_to_the_function(run, monkeypatch):
    defaults = {name: one.default for name, one in inspect.signature(table1).parameters.items()}
    seen = {}

    def stop(*positional, **named):
        seen.update(inspect.signature(table1).bind(*positional, **named).arguments)
        raise InputError("Enough.")

    monkeypatch.setattr("dtstat.cli.study.studies.table1", stop)
    run("study", "table1")
    changed = {"designs": list(defaults["designs"]), "progress": False}
    assert seen == defaults | changed


def test_a_second_call_goes_on(run, tmp_path):
    file = tmp_path / "ledger.jsonl"
    first = run(*SMALL, "--out", file)
    size = file.stat().st_size
    assert run(*SMALL, "--out", file) == first  # the seconds are those of the ledger
    assert file.stat().st_size == size
    file.write_bytes(file.read_bytes()[:-3])
    status, _, err = run(*SMALL, "--out", file)
    assert status == 0
    assert err.startswith("dtstat: warning: The end of the checkpoint file")
    assert err.count("\n") == 1


def test_the_ledger_of_another_call_is_refused(run, refusal, tmp_path):
    run(*SMALL, "--out", tmp_path / "ledger.jsonl")
    err = refusal(*SMALL, "--seed", 2, "--out", "FOLDER/ledger.jsonl")
    assert "--seed was 1 and is now 2. Give the same arguments" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--reps", 0], "--reps must be a whole number of at least 1; got 0."),
        (["--designs", "chian"], "Did you mean 'chain'?"),
        (["--designs", ""], "--designs must be one or more designs"),
        (["--jobs", 0], "--jobs must be a number of workers"),
        (["--estimator", "copla"], "Did you mean 'copula'?"),
        (["--criterion", "ebicc"], "Did you mean 'ebic'?"),
        (
            ["--preset", "paper", "--criterion", "bic"],
            "--criterion cannot be combined",
        ),
        (["--table", "FOLDER/t.pdf"], "--table must be a file whose name ends in .csv, .md, "),
        (["--table", "FOLDER/no/t.csv"], "there is no folder"),
        (["--out", "FOLDER/no/l.jsonl"], "there is no folder"),
        (["--out", "FOLDER/t.txt", "--table", "FOLDER/t.txt"], "must be two files"),
    ],
)
def test_bad_arguments_end_with_one_sentence(refusal, tmp_path, arguments, said):
    assert said in refusal("study", "table1", "--reps", 1, "--n", 60, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_help_has_an_example_that_runs(run, tmp_path, monkeypatch):
    text = " ".join(CliRunner().invoke(app, ["study", "table1", "--help"]).output.split())
    example = shlex.split(text.split("Example: dtstat ")[1].split(" Options:")[0])
    assert example[:2] == ["study", "table1"]
    monkeypatch.chdir(tmp_path)
    status, out, _ = run(*example, *FEW)
    assert status == 0
    assert out
    assert (tmp_path / "table1.jsonl").exists()


def test_the_program_knows_its_studies():
    assert "\n  study " in CliRunner().invoke(app, []).output
    assert "\n  table1 " in CliRunner().invoke(app, ["study"]).output


def test_json_has_the_table_and_the_call(run, tmp_path):
    file = tmp_path / "t.json"
    assert run(*SMALL, "--json", file)[0] == 0
    found = json.loads(file.read_text())
    assert found["call"]["command"] == "study table1"
    assert {row["selection"] for row in found["table"]} == {"oracle", "likelihood"}
