"""The program: processes of its own, warnings, misuse, lists of commands, the version."""

import os
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import dtstat as dt
from dtstat.cli.app import app

NINE = dt.load_dataset("holzinger_swineford_9")


def in_a_process(*arguments):
    code = "from dtstat.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": ""},
    )


def test_a_process_of_its_own_prints_the_same_and_no_progress(survey):
    done = in_a_process("path", survey)
    assert done.stdout == repr(dt.solution_path(survey).summary()) + "\n"
    assert (done.returncode, done.stderr) == (0, "")


def test_bad_input_in_a_process_of_its_own():
    done = in_a_process("path", "nowhere.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("dtstat: FILE must be a file that exists; got 'nowhere.csv'.")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["path"], ["nope"], ["path", "x.csv", "--at", "low"]])
def test_misuse_ends_with_status_2(run, arguments):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert "Error: " in err


@pytest.fixture
def survey_with_a_copy(tmp_path):
    file = tmp_path / "copy.csv"
    NINE.assign(copy=NINE["x1"]).to_csv(file, index=False)
    return file


def test_warnings_are_one_line_on_standard_error(run, survey_with_a_copy):
    status, out, err = run("path", survey_with_a_copy)
    assert (status, err.count("\n")) == (0, 1)
    assert err.startswith("dtstat: warning: Items 'x1' and 'copy' ")
    assert "warning" not in out


def test_warnings_in_a_process_of_its_own(survey_with_a_copy):
    done = in_a_process("path", survey_with_a_copy)
    assert done.returncode == 0
    assert done.stderr.startswith("dtstat: warning: Items 'x1' and 'copy'")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["fit", "path", "cfa", "simulate"])
def test_help_has_an_example_that_runs(command, run, tmp_path, monkeypatch):
    text = " ".join(CliRunner().invoke(app, [command, "--help"]).output.split())
    example = text.split("Example: dtstat ")[1].split(" Arguments:")[0]
    assert example.startswith(command)
    monkeypatch.chdir(tmp_path)
    status, out, _ = run(*shlex.split(example))
    assert status == 0
    assert out


def test_without_arguments_the_commands_are_listed():
    listed = CliRunner().invoke(app, []).output.split("Commands:\n")[1]
    names = [line.split()[0] for line in listed.splitlines()]
    assert names == [
        *("describe", "fit", "report", "path", "diagnose", "plan", "cfa", "invariance"),
        *("simulate", "measures", "datasets", "compile", "study"),
    ]


def test_version(run):
    assert run("--version") == (0, f"dtstat {dt.__version__}\n", "")
