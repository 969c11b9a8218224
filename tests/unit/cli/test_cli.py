import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dtstat as dt
from dtstat.cli import app

NINE = dt.load_dataset("holzinger_swineford_9")


@pytest.fixture
def survey(tmp_path):
    """The nine tests as a csv file."""
    file = tmp_path / "survey.csv"
    NINE.to_csv(file, index=False)
    return file


def read_exactly(file):
    """Read numbers to the last bit, which read_csv does not promise."""
    return pd.read_csv(file, dtype=str).map(float)


def in_a_process(*arguments):
    code = "from dtstat.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": ""},
    )


def test_path_prints_the_summary_of_a_data_set(run):
    expected = repr(dt.solution_path(NINE).summary())
    assert run("path", "holzinger_swineford_9") == (0, expected + "\n", "")


def test_path_prints_the_summary_of_a_file(run, survey):
    expected = repr(dt.solution_path(survey, measure="kendall", min_children=4).summary(max_rows=2))
    arguments = ("--measure", "kendall", "--min-children", 4, "--rows", 2)
    assert run("path", survey, *arguments) == (0, expected + "\n", "")


def test_a_process_of_its_own_prints_the_same_and_no_progress(survey):
    done = in_a_process("path", survey)
    assert done.stdout == repr(dt.solution_path(survey).summary()) + "\n"
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("threshold", [0, 0.3, 1])
def test_at(run, threshold):
    _, out, _ = run("path", "holzinger_swineford_9", "--at", threshold)
    assert out == f"{dt.solution_path(NINE).at(threshold)!r}\n"


@pytest.mark.parametrize(
    ("text", "thresholds"),
    [("exact", "exact"), ("50", 50), ("0.3", [0.3]), ("0.1, 0.5", [0.1, 0.5])],
)
def test_thresholds(run, text, thresholds):
    expected = dt.solution_path(NINE, thresholds=thresholds).summary()
    _, out, _ = run("path", "holzinger_swineford_9", "--thresholds", text)
    assert out == f"{expected!r}\n"


def test_csv_has_all_candidates(run, tmp_path):
    file = tmp_path / "candidates.csv"
    assert run("path", "holzinger_swineford_9", "--csv", file, "--rows", 1)[0] == 0
    expected = dt.solution_path(NINE).to_frame()
    pd.testing.assert_frame_equal(read_exactly(file), expected.astype(float))


def test_json_has_all_candidates_with_their_items(run, tmp_path):
    file = tmp_path / "candidates.json"
    assert run("path", "holzinger_swineford_9", "--json", file, "--at", 0.3)[0] == 0
    written = json.loads(file.read_text())
    candidates = dt.solution_path(NINE).candidates
    for found, c in zip(written, candidates, strict=True):
        assert dt.Structure.from_keys(found["factors"], c.structure.item_names) == c.structure
        assert tuple(map(tuple, found["intervals"])) == c.intervals


def test_structures_by_number_of_factors(run):
    path = dt.solution_path(dt.load_dataset("holzinger_swineford_26"))
    most = max(candidate.n_factors for candidate in path.candidates)
    widest = max(c.persistence for c in path.candidates if c.n_factors == most)
    _, out, _ = run("path", "holzinger_swineford_26", "--structures", 1, "--by", "factors")
    (shown,) = [c for c in path.candidates if str(c.structure) in out]
    assert (shown.n_factors, shown.persistence) == (most, widest)


def test_structures_prints_the_longest_lived_in_full(run):
    path = dt.solution_path(NINE)
    longest = sorted(path.candidates, key=lambda c: -c.persistence)[:2]
    _, out, _ = run("path", "holzinger_swineford_9", "--structures", 2)
    blocks = out.split("\nThresholds ")[1:]
    for block, c in zip(blocks, sorted(longest, key=lambda c: c.tau_low), strict=True):
        assert block.startswith(f"{c.tau_low:.3f} to {c.tau_high:.3f}\n{c.structure}")


@pytest.mark.parametrize("source", ["file", "data set"])
def test_columns_by_name_and_pattern(run, tmp_path, source):
    data = dt.load_dataset("likert_survey")
    file = tmp_path / "likert.csv"
    data.to_csv(file, index=False)
    chosen = data[["growth_2", *(c for c in data if c.startswith("engage_"))]]
    argument = file if source == "file" else "likert_survey"
    _, out, _ = run("path", argument, "--columns", "growth_2, engage_*")
    assert out == f"{dt.solution_path(chosen).summary()!r}\n"


def test_missing_codes(run, tmp_path):
    rng = np.random.default_rng(1)
    data = dt.load_dataset("likert_survey")
    coded = data.fillna(-9).where(rng.random(data.shape) > 0.1, 99)
    file = tmp_path / "coded.csv"
    coded.to_csv(file, index=False)
    expected = dt.solution_path(coded.replace({-9: np.nan, 99: np.nan}))
    _, out, _ = run("path", file, "--missing-codes", "-9, 99")
    assert out == f"{expected.summary()!r}\n"
    assert out != run("path", file)[1]


def test_missing_codes_of_a_data_set(run):
    data = dt.load_dataset("likert_survey")
    _, out, _ = run("path", "likert_survey", "--missing-codes", "1")
    assert out == f"{dt.solution_path(data.replace(1, np.nan)).summary()!r}\n"


NINE_BY_NAME = ("path", "holzinger_swineford_9")
BAD_CALLS = {
    "missing file": (("path", "FOLDER/nowhere.csv"), "a file that exists"),
    "mistyped data set": (("path", "holzinger_swinford_9"), "mean 'holzinger_swineford_9'?"),
    "a folder": (("path", "FOLDER"), "a file; got the folder"),
    "empty file": (("path", "FOLDER/empty.csv"), "'empty.csv' is empty"),
    "no rows": (("path", "FOLDER/header.csv"), "0 rows"),
    "text": (("path", "FOLDER/text.csv"), "item 'b' holds text: 'yes' in row 1"),
    "measure": ((*NINE_BY_NAME, "--measure", "sperman"), "Did you mean 'spearman'?"),
    "threshold": ((*NINE_BY_NAME, "--thresholds", "0.2,1.3"), "got 1.3"),
    "thresholds": ((*NINE_BY_NAME, "--thresholds", "many"), "got 'many'"),
    "at": ((*NINE_BY_NAME, "--at", "1.3"), "`threshold` must be a number in [0, 1]; got 1.3"),
    "min children": ((*NINE_BY_NAME, "--min-children", "1"), "at least 2; got 1"),
    "missing": ((*NINE_BY_NAME, "--missing", "drop"), "got 'drop'"),
    "columns": ((*NINE_BY_NAME, "--columns", "x1,y1"), "'y1'"),
    "columns of a file": (("path", "FOLDER/text.csv", "--columns", "c"), "'c'"),
    "no folder for csv": ((*NINE_BY_NAME, "--csv", "FOLDER/no/x.csv"), "there is no folder"),
    "no folder for json": ((*NINE_BY_NAME, "--json", "FOLDER/no/x.json"), "there is no folder"),
    "folder as file": ((*NINE_BY_NAME, "--csv", "FOLDER"), "it is a folder"),
    "no folder to simulate": (("simulate", "FOLDER/no/x.csv"), "there is no folder"),
    "folder to simulate": (("simulate", "FOLDER"), "it is a folder"),
    "design": (("simulate", "FOLDER/x.csv", "--design", "chian"), "mean 'chain'?"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_input_ends_with_one_sentence_and_status_2(run, tmp_path, case):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("a,b,c\n")
    (tmp_path / "text.csv").write_text("a,b\n" + "1,yes\n2,no\n" * 5)
    arguments, message = BAD_CALLS[case]
    status, out, err = run(*(a.replace("FOLDER", str(tmp_path)) for a in arguments))
    assert (status, out) == (2, "")
    assert err.startswith("dtstat: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("what", ["the folder", "the file"])
def test_no_permission_to_write(run, tmp_path, monkeypatch, what):
    file = tmp_path / "out.csv"
    if what == "the file":
        file.write_text("")
    refused = tmp_path if what == "the folder" else file
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (refused, os.W_OK))
    status, out, err = run(*NINE_BY_NAME, "--csv", file)
    assert (status, out) == (2, "")
    assert err == f"dtstat: Cannot write '{file}': permission denied. Choose another folder.\n"


def test_bad_input_in_a_process_of_its_own():
    done = in_a_process("path", "nowhere.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("dtstat: `path` must be a file that exists; got 'nowhere.csv'.")
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


def test_simulate_writes_what_the_function_returns(run, tmp_path):
    file = tmp_path / "simulated.csv"
    status, out, err = run("simulate", file, "--design", "chain", "--n", 200, "--seed", 7)
    simulation = dt.simulate("chain", n=200, seed=7)
    pd.testing.assert_frame_equal(read_exactly(file), simulation.data)
    assert (status, err) == (0, "")
    assert out == f"{simulation}\nwritten to {file}\n{simulation.structure}\n"


def test_simulate_passes_every_option_on(run, tmp_path):
    options = {
        "design": "clusters",
        "n": 100,
        "maps": "linear",
        "snr": 2.0,
        "items_per_factor": 4,
        "factor_correlation": 0.3,
        "violating": 0.25,
        "cross_loadings": 1,
        "levels": 5,
        "seed": 3,
    }
    flags = [t for k, v in options.items() for t in (f"--{k.replace('_', '-')}", v)]
    file = tmp_path / "simulated.csv"
    assert run("simulate", file, *flags, "--factors", 4)[0] == 0
    expected = dt.simulate(**options, n_factors=4).data
    pd.testing.assert_frame_equal(pd.read_csv(file), expected)


def test_measures_lists_them_all(run):
    status, out, err = run("measures")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[3 : 3 + len(dt.measures())]] == list(
        dt.measures().index
    )
    assert "True" not in out


def test_datasets_lists_them_all(run):
    status, out, err = run("datasets")
    assert (status, err) == (0, "")
    for row in dt.datasets().itertuples():
        assert any(
            line.split()[:3] == [row.name, str(row.rows), str(row.items)]
            for line in out.splitlines()
        )


@pytest.mark.parametrize("command", ["path", "simulate"])
def test_help_has_an_example_that_runs(command, run, tmp_path, monkeypatch):
    text = " ".join(CliRunner().invoke(app, [command, "--help"]).output.split())
    example = text.split("Example: dtstat ")[1].split(" Arguments:")[0]
    assert example.startswith(command)
    monkeypatch.chdir(tmp_path)
    status, out, _ = run(*example.split())
    assert status == 0
    assert out


def test_without_arguments_the_commands_are_listed():
    output = CliRunner().invoke(app, []).output
    for command in ("path", "simulate", "measures", "datasets"):
        assert f"  {command} " in output
