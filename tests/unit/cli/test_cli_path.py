import json

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

NINE = dt.load_dataset("holzinger_swineford_9")
NINE_BY_NAME = ("path", "holzinger_swineford_9")


def test_path_prints_the_summary_of_a_data_set(run):
    expected = repr(dt.solution_path(NINE).summary())
    assert run("path", "holzinger_swineford_9") == (0, expected + "\n", "")


def test_path_prints_the_summary_of_a_file(run, survey):
    expected = repr(dt.solution_path(survey, measure="kendall", min_children=4).summary(max_rows=2))
    arguments = ("--measure", "kendall", "--min-children", 4, "--rows", 2)
    assert run("path", survey, *arguments) == (0, expected + "\n", "")


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


def test_csv_has_all_candidates(run, tmp_path, read_exactly):
    file = tmp_path / "candidates.csv"
    assert run("path", "holzinger_swineford_9", "--csv", file, "--rows", 1)[0] == 0
    expected = dt.solution_path(NINE).to_frame()
    pd.testing.assert_frame_equal(read_exactly(file), expected.astype(float))


def test_json_has_all_candidates_with_their_items(run, tmp_path):
    file = tmp_path / "candidates.json"
    assert run("path", "holzinger_swineford_9", "--json", file, "--at", 0.3)[0] == 0
    written = json.loads(file.read_text())
    candidates = dt.solution_path(NINE).candidates
    for found, c in zip(written["candidates"], candidates, strict=True):
        assert dt.Structure.from_keys(found["factors"], c.structure.item_names) == c.structure
        assert tuple(map(tuple, found["intervals"])) == c.intervals


def test_json_says_what_was_asked_for(run, tmp_path, survey):
    file = tmp_path / "candidates.json"
    options = ("--thresholds", "0.2,0.3", "--columns", "x1,x[4-9]", "--missing-codes", "-9")
    assert run("path", survey, *options, "--json", file)[0] == 0
    written = json.loads(file.read_text())
    assert list(written) == ["dtstat", "call", "candidates"]
    assert written["dtstat"] == dt.__version__
    assert written["call"].pop("floor") is None
    assert written["call"] == {
        "command": "path",
        "file": str(survey),
        "matrix": False,
        "n_obs": None,
        "measure": "spearman",
        "thresholds": [0.2, 0.3],
        "min_children": 3,
        "missing": "pairwise",
        "columns": ["x1", "x[4-9]"],
        "missing_codes": ["-9"],
    }


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


BAD_CALLS = {
    "missing file": (("path", "FOLDER/nowhere.csv"), "a file that exists"),
    "mistyped data set": (("path", "holzinger_swinford_9"), "mean 'holzinger_swineford_9'?"),
    "a folder": (("path", "FOLDER"), "a file; got the folder"),
    "empty file": (("path", "FOLDER/empty.csv"), "'empty.csv' is empty"),
    "no rows": (("path", "FOLDER/header.csv"), "0 rows"),
    "text": (("path", "FOLDER/text.csv", "--columns", "a,b"), "'b' holds texts whose order is not"),
    "measure": ((*NINE_BY_NAME, "--measure", "sperman"), "Did you mean 'spearman'?"),
    "threshold": ((*NINE_BY_NAME, "--thresholds", "0.2,1.3"), "got 1.3"),
    "thresholds": ((*NINE_BY_NAME, "--thresholds", "many"), "got 'many'"),
    "at": ((*NINE_BY_NAME, "--at", "1.3"), "--at must be a number in [0, 1]; got 1.3"),
    "min children": ((*NINE_BY_NAME, "--min-children", "1"), "at least 2; got 1"),
    "missing": ((*NINE_BY_NAME, "--missing", "drop"), "got 'drop'"),
    "columns": ((*NINE_BY_NAME, "--columns", "x1,y1"), "'y1'"),
    "columns of a file": (("path", "FOLDER/text.csv", "--columns", "c"), "'c'"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_input_ends_with_one_sentence_and_status_2(refusal, tmp_path, case):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("a,b,c\n")
    (tmp_path / "text.csv").write_text("a,b\n" + "1,Bonn\n2,Kiel\n" * 5)
    arguments, message = BAD_CALLS[case]
    assert message in refusal(*arguments)


def test_a_floor_for_many_items(run, refusal, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(1).normal(size=(60, 30)))
    code, out, _ = run("path", tmp_path / "x.npy", "--floor", "chance", "--min-children", 2)
    assert code == 0
    assert "SparseDependence: spearman of 30 items, 60 rows" in out
    assert "over all thresholds from 0." in out
    NINE.to_parquet(tmp_path / "nine.parquet")
    by_columns = run("path", tmp_path / "nine.parquet", "--floor", 0.3)[1]
    assert by_columns == run("path", "holzinger_swineford_9", "--floor", 0.3)[1]
    assert "--floor must be a number" in refusal("path", "holzinger_swineford_9", "--floor", "low")
