"""``dtstat describe``, and how all commands read files."""

import json

import numpy as np
import pandas as pd
import pytest

import dtstat as dt


@pytest.fixture
def answers(tmp_path):
    frame = dt.load_dataset("likert_survey").iloc[:, :12]
    frame.iloc[4] = 3
    frame.insert(0, "who", [f"p{k}" for k in range(len(frame))])
    frame["age"] = 20 + np.arange(len(frame)) % 40
    file = tmp_path / "answers.csv"
    frame.to_csv(file, index=False)
    return file


def test_describe_prints_what_python_prints(run, answers):
    status, out, err = run("describe", answers, "--id", "who", "--aside", "age")
    expected = dt.describe(dt.read_survey(answers, id="who", aside="age"))
    assert (status, err) == (0, "")
    assert out.strip() == repr(expected).strip()
    assert "p4 " in out


def test_describe_writes(run, answers, tmp_path):
    names = {"--csv": "i.csv", "--people": "p.csv", "--json": "d.json"}
    outputs = [part for option, name in names.items() for part in (option, tmp_path / name)]
    status, _, err = run("describe", answers, "--id", "who", "--drop", "age", *outputs)
    assert (status, err) == (0, "")
    expected = dt.describe(dt.read_survey(answers, id="who", drop="age"))
    assert pd.read_csv(tmp_path / "i.csv")["item"].tolist() == expected.items["item"].tolist()
    assert pd.read_csv(tmp_path / "p.csv")["who"].tolist() == expected.people.index.tolist()
    written = json.loads((tmp_path / "d.json").read_text())
    assert written["call"]["drop"] == "age"
    assert [row["who"] for row in written["flagged"]] == expected.flagged.index.tolist()
    assert run("describe", answers, "--id", "who", *outputs)[0] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--limits", "1"], "--limits must be two numbers, as in '1,5'; got '1'"),
        (
            ["--columns", "engage*", "--limits", "5,1"],
            "--limits must be a lower and a higher number",
        ),
        (["--columns", "engage*", "--level", "2"], "--level must be a number in (0, 1)"),
        (["--drop", "q*"], "--drop must match columns of the file; got 'q*'"),
        (["--columns", "engage_1-engage_9"], "--columns must match columns of the file"),
        (["--id", "name"], "--id must match columns"),
        (["--sheet", "2"], "--sheet must be left out for files other than .xlsx; got 2"),
        (["--columns", "who, engage_1"], "--levels"),
    ],
)
def test_refusals_are_in_the_words_of_the_shell(refusal, answers, arguments, message):
    said = refusal("describe", answers, *arguments)
    assert message in said
    assert "`" not in said


@pytest.mark.parametrize(
    ("name", "option"), [("age", "--drop age,"), ("My age", "--drop 'My age',")]
)
def test_a_column_of_notes_is_left_out_as_the_message_says(run, refusal, tmp_path, name, option):
    file = tmp_path / "notes.csv"
    file.write_text(f"q1,q2,q3,{name}\n1,2,2,32\n2,3,1,about 30\n3,1,3,41\n1,1,2,28\n")
    assert f"got 'about 30' in row 2. Leave the item out with {option}" in refusal("fit", file)
    assert run("describe", file, "--drop", name)[0] == 0


def test_a_matrix_given_as_answers_is_told_of_the_option(refusal, tmp_path):
    file = tmp_path / "r.csv"
    dt.load_dataset("holzinger_swineford_9").corr().to_csv(file, index=False)
    assert "Give --matrix and --n-obs." in refusal("fit", file)


def test_scores_carry_the_id(run, answers, tmp_path):
    file = tmp_path / "scores.csv"
    arguments = ["--id", "who", "--drop", "age", "--n-factors", "2", "--scores", file]
    assert run("fit", answers, *arguments)[0] == 0
    scores = pd.read_csv(file)
    assert scores["who"].tolist()[:3] == ["p0", "p1", "p2"]
    assert scores.shape[1] == 3


@pytest.mark.parametrize("command", ["fit", "path", "diagnose"])
def test_columns_and_drop_mean_the_same_everywhere(run, answers, tmp_path, command):
    file = tmp_path / "out.json"
    chosen = ["--columns", "engage_1-engage_6, support_*", "--drop", "support_6"]
    status, _, err = run(command, answers, *chosen, "--json", file)
    assert (status, err) == (0, "")
    assert "support_5" in file.read_text()
    assert "support_6" not in file.read_text().replace('"drop": "support_6"', "")


def test_columns_of_a_matrix_can_be_dropped(run, refusal, tmp_path):
    file = tmp_path / "r.csv"
    dt.load_dataset("holzinger_swineford_9").corr().to_csv(file)
    status, out, _ = run("fit", file, "--matrix", "--n-obs", 301, "--drop", "x9")
    assert status == 0
    assert "x9" not in out
    assert "--id does not apply to --matrix" in refusal("fit", file, "--matrix", "--id", "x1")


def test_notes_reach_the_terminal(run, tmp_path):
    rows = "".join(f"2024/01/15,{'Never' if k % 3 else 'Always'},{k % 5}\n" for k in range(30))
    file = tmp_path / "form.csv"
    file.write_text("Timestamp,How often do you sleep?,How old?\n" + rows)
    status, out, err = run("describe", file)
    assert status == 0
    assert "export of Google Forms" in err
    assert "How often do you sleep?" in out


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["measures"], "measures"),
        (["datasets"], "datasets"),
        (["plan", "--items", "10", "--margin", "0.2"], "sample_sizes"),
        (["simulate", "FOLDER/s.csv", "--n", "50"], "structure"),
    ],
)
def test_everything_can_be_written_as_json(run, tmp_path, arguments, key):
    file = tmp_path / "out.json"
    given = [part.replace("FOLDER", str(tmp_path)) for part in arguments]
    assert run(*given, "--json", file)[0] == 0
    assert json.loads(file.read_text())[key]
    status, _, err = run(*[part for part in given if part != "--force"], "--json", file)
    assert status == 2
    assert "--force" in err


def test_an_age_among_ratings_is_pointed_out(run, answers):
    said = "Most columns are ratings, but not 'age'. Keep aside what is not an item: --aside age."
    assert said in run("describe", answers, "--id", "who")[2]
    assert run("describe", answers, "--id", "who", "--aside", "age")[2] == ""
    assert run("describe", answers, "--columns", "engage*, age")[2] == ""
