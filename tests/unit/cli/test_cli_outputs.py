"""No command destroys what it reads, what it writes besides, or what was there before."""

import inspect
import os

import pytest
import typer

from dtstat.cli.app import app

MODEL = "speed =~ x7 + x8 + x9"
# Every option that writes, with what else its command needs.
OUTPUTS = {
    "fit": ["--csv", "--candidates", "--scores", "--curves", "--json", "--lavaan", "--save"],
    "path": ["--csv", "--json"],
    "diagnose": ["--csv", "--json", "--save"],
    "report": ["--output", "--json"],
    "cfa": ["--csv", "--json"],
    "invariance": ["--csv", "--json"],
    "describe": ["--csv", "--people", "--json"],
}
# Commands that read no file.
LISTS = {
    "plan": {"csv", "json"},
    "simulate": {"json"},
    "measures": {"json"},
    "datasets": {"json"},
}
CASES = [(command, option) for command, all_of in OUTPUTS.items() for option in all_of]
USUAL = {"cfa": ["--model", MODEL], "invariance": ["--model", MODEL, "--group", "school"]}
ENDING = {
    "--json": ".json",
    "--save": ".dtstat",
    "--output": ".html",
    "--lavaan": ".txt",
}


def needed(command, option):
    spline = ["--estimator", "spline"] if option == "--curves" else []
    return [*USUAL.get(command, []), *spline]


@pytest.fixture
def nothing_is_done(monkeypatch):
    """Refusals come before any work."""

    def work(*args, **kwargs):
        raise AssertionError("worked before checking")

    for name in (
        "fit",
        "solution_path",
        "diagnose",
        "cfa",
        "invariance",
        "read_survey",
        "simulate",
        "plan",
        "describe",
    ):
        monkeypatch.setattr(f"dtstat.{name}", work)


@pytest.mark.parametrize(("command", "option"), CASES)
@pytest.mark.parametrize("way", ["same", "dots", "link", "hard link"])
@pytest.mark.usefixtures("nothing_is_done")
def test_what_is_read_is_not_written(refusal, survey, command, option, way):
    folder = survey.parent
    answers = folder / f"answers{ENDING.get(option, '.csv')}"
    answers.write_bytes(survey.read_bytes())
    before = answers.read_bytes()
    out = folder / f"other{ENDING.get(option, '.csv')}"
    if way == "same":
        out = answers
    elif way == "dots":
        out = folder / ".." / folder.name / answers.name
    elif way == "link":
        out.symlink_to(answers)
    else:
        os.link(answers, out)
    message = refusal(command, answers, *needed(command, option), option, out, "--force")
    assert f"{option} must not be a file that is read" in message
    assert answers.read_bytes() == before


@pytest.mark.parametrize(("command", "option"), CASES)
@pytest.mark.usefixtures("nothing_is_done")
def test_files_that_exist_need_force(refusal, survey, command, option):
    out = survey.parent / f"old{ENDING.get(option, '.csv')}"
    out.write_text("mine")
    message = refusal(command, survey, *needed(command, option), option, out)
    assert message == f"dtstat: {option}: '{out}' exists. Give --force to replace it.\n"
    assert out.read_text() == "mine"


@pytest.mark.usefixtures("nothing_is_done")
def test_two_outputs_are_two_files(refusal, survey):
    out = survey.parent / "o"
    for one, two in (("--csv", "--json"), ("--json", "--save"), ("--scores", "--candidates")):
        message = refusal("fit", survey, one, out, two, survey.parent / "." / "o", "--force")
        assert "must be two files; got" in message
    message = refusal("fit", survey, "--csv", out, "--checkpoint", out)
    assert "--csv and --checkpoint must be two files" in message
    assert not out.exists()


@pytest.mark.usefixtures("nothing_is_done")
def test_a_checkpoint_is_not_what_is_read(refusal, survey):
    assert "must not be a file that is read" in refusal("fit", survey, "--checkpoint", survey)


@pytest.mark.usefixtures("nothing_is_done")
def test_the_model_is_not_written(refusal, survey):
    model = survey.parent / "model.txt"
    model.write_text(MODEL)
    message = refusal("cfa", survey, "--model", model, "--csv", model, "--force")
    assert "must not be a file that is read" in message
    message = refusal("diagnose", survey, "--model", model, "--csv", model, "--force")
    assert "must not be a file that is read" in message


@pytest.mark.usefixtures("nothing_is_done")
def test_other_formats(refusal):
    assert ".dtstat" in refusal("fit", "holzinger_swineford_9", "--save", "FOLDER/f.csv")
    assert ".html or .htm" in refusal("report", "holzinger_swineford_9", "-o", "FOLDER/f.pdf")
    assert ".csv or .txt" in refusal("fit", "holzinger_swineford_9", "--csv", "FOLDER/f.xlsx")
    assert ".csv or .txt" in refusal("simulate", "FOLDER/f.sav")


def test_simulate_and_plan(run, refusal, tmp_path):
    out = tmp_path / "answers.csv"
    out.write_text("mine")
    assert "OUT: " in refusal("simulate", out)
    assert "--csv: " in refusal("plan", "--items", "9", "--margin", "0.2", "--csv", out)
    assert out.read_text() == "mine"
    assert run("simulate", out, "--n", 20, "--force")[0] == 0
    assert out.read_text().count("\n") == 21
    assert run("plan", "--items", "9", "--margin", "0.2", "--csv", out, "--force")[0] == 0
    assert out.read_text().startswith("items,margin,")


def test_studies(refusal, tmp_path):
    table, figure = tmp_path / "t.csv", tmp_path / "f.png"
    table.write_text("mine")
    figure.write_text("mine")
    assert "--table: " in refusal("study", "table1", "--table", table)
    assert "--figure: " in refusal("study", "highdim", "--figure", figure)
    message = refusal("study", "table1", "--table", table, "--out", table, "--force")
    assert "--table and --out must be two files" in message
    assert table.read_text() == figure.read_text() == "mine"


def test_force_replaces(run, survey):
    out = survey.parent / "old.csv"
    out.write_text("mine")
    assert run("fit", survey, "--csv", out, "--force")[0] == 0
    assert out.read_text().startswith("term,")


def test_every_option_that_takes_a_file_is_known_here():
    """A new option that writes must come with its checks."""
    read_or_resumed = {"checkpoint", "out"}
    for command in app.registered_commands:
        parameters = inspect.signature(command.callback).parameters
        written = {
            name.removesuffix("_file")
            for name, parameter in parameters.items()
            if "Path" in str(parameter.annotation)
        } - read_or_resumed
        name = command.callback.__name__
        known = {option.removeprefix("--") for option in OUTPUTS.get(name, [])}
        assert written == LISTS.get(name, known), name
        assert not written or "force" in parameters
    assert isinstance(app, typer.Typer)
