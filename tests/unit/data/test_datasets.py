"""The data sets: known facts about them, and equality with what R holds."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import DataWarning, InputError
from dtstat.data import datasets as module
from dtstat.data.datasets import DATASETS, data_folder, datasets, example_file, load_dataset
from dtstat.data.items import as_items

ROOT = Path(__file__).parents[3]
FROM_R = ("holzinger_swineford_9", "holzinger_swineford_26", "political_democracy")


@pytest.mark.parametrize("name", DATASETS)
def test_every_set_is_usable_as_it_is(name):
    frame = load_dataset(name)
    items = as_items(frame)
    assert items.names == tuple(frame.columns)
    assert items.n_rows == len(frame) >= 75


@pytest.mark.parametrize("name", DATASETS)
def test_every_set_has_its_title_source_and_rights(name):
    info = DATASETS[name]
    assert all([info.title, info.source, info.rights])


def test_each_call_gives_a_fresh_frame():
    frame = load_dataset("political_democracy")
    frame.iloc[0, 0] = -1
    assert load_dataset("political_democracy").iloc[0, 0] == 2.5


def test_nine_tests():
    frame = load_dataset("holzinger_swineford_9")
    assert frame.shape == (301, 9)
    assert list(frame.columns) == [f"x{k}" for k in range(1, 10)]
    assert not frame.isna().any().any()
    # Means as the lavaan tutorial prints them for the saturated mean structure.
    means = [4.936, 6.088, 2.250, 3.061, 4.341, 2.186, 4.186, 5.527, 5.374]
    np.testing.assert_allclose(frame.mean(), means, atol=5e-4)


def test_twenty_six_tests():
    frame = load_dataset("holzinger_swineford_26")
    assert frame.shape == (301, 26)
    assert [name[:3] for name in frame.columns] == [f"t{k:02d}" for k in range(1, 27)]
    missing = frame.isna().sum()
    assert missing[missing > 0].to_dict() == {"t25_frmbord2": 156, "t26_flags": 156}


def test_the_nine_tests_are_among_the_twenty_six():
    nine, all_tests = load_dataset("holzinger_swineford_9"), load_dataset("holzinger_swineford_26")
    same = all_tests.iloc[:, [0, 1, 3, 5, 6, 8, 9, 11, 12]].to_numpy()
    correlations = [np.corrcoef(nine.iloc[:, k], same[:, k])[0, 1] for k in range(9)]
    np.testing.assert_allclose(correlations, 1, atol=1e-7)  # psychTools rounds to 4 decimals


def test_political_democracy():
    frame = load_dataset("political_democracy")
    assert frame.shape == (75, 11)
    assert list(frame.columns) == [*(f"y{k}" for k in range(1, 9)), "x1", "x2", "x3"]
    np.testing.assert_allclose(frame[["y1", "x1"]].mean(), [5.465, 5.054], atol=5e-4)


def test_likert_survey_is_ordinal_with_missing_answers():
    items = as_items(load_dataset("likert_survey"))
    assert set(items.kinds) == {"ordinal"}
    assert items.has_missing


def test_the_list_has_one_row_per_set():
    table = datasets()
    assert list(table.columns) == ["name", "rows", "items", "title", "source"]
    assert table["name"].tolist() == list(DATASETS)
    first = table.iloc[0]
    assert (first["rows"], first["items"]) == (301, 9)
    assert "1939" in first["source"]


def test_unknown_set_suggests_the_one_that_was_meant():
    with pytest.raises(InputError, match=r"got 'political'\. Did you mean 'political_democracy'\?"):
        load_dataset("political")
    with pytest.raises(InputError, match=r"got 'iris'\. Known: holzinger_swineford_26, "):
        load_dataset("iris")


def test_the_example_file_is_read_as_qualtrics_exports_it():
    with pytest.warns(DataWarning, match="export of Qualtrics"):
        frame = dt.read_survey(
            example_file(), id="ResponseId", columns="A1-O5", aside="age, gender"
        )
    assert frame.shape[0] == 560
    assert frame.index[0] == "R_61622"
    assert list(frame.columns[:25]) == [f"{scale}{k}" for scale in "ACENO" for k in range(1, 6)]
    assert set(frame["A1"].cat.categories[[0, -1]]) == {"Very Inaccurate", "Very Accurate"}
    assert frame.attrs["item_texts"]["N5"] == "Panic easily."
    assert frame["gender"].value_counts().sum() == 560


def test_an_unknown_example_file_is_refused():
    with pytest.raises(InputError, match=r"big_five_qualtrics\.csv"):
        example_file("big_six.csv")


def test_the_folder_is_that_of_the_checkout():
    assert data_folder() == ROOT / "data"


def test_an_installed_package_has_its_own_folder(monkeypatch, tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    monkeypatch.setattr(module, "__file__", str(tmp_path / "datasets.py"))
    assert data_folder() != files  # an empty folder may be left of an older checkout
    (files / "README.md").write_text("")
    assert data_folder() == files


@pytest.mark.parametrize("name", ["holzinger_swineford_9", "holzinger_swineford_26"])
def test_people_are_added_behind_the_items(name):
    answers, both = load_dataset(name), load_dataset(name, people=True)
    assert list(both.columns) == [*answers.columns, "school", "age"]
    pd.testing.assert_frame_equal(both[answers.columns], answers)
    assert both["school"].value_counts().to_dict() == {"Pasteur": 156, "Grant-White": 145}
    assert both["age"].between(11, 17).all()


def test_nothing_is_known_of_other_people():
    with pytest.raises(InputError, match="nothing is known of those in 'likert_survey'"):
        load_dataset("likert_survey", people=True)
    with pytest.raises(InputError, match="`people`"):
        load_dataset("likert_survey", people="yes")


def test_every_file_is_a_data_set_that_can_be_loaded():
    people = {file.stem for file in (data_folder() / "people").glob("*")}
    assert people == {info.people for info in DATASETS.values()} - {""}
    assert {file.stem for file in data_folder().glob("*.csv")} == set(DATASETS)
    assert {file.stem for file in (data_folder() / "codebooks").glob("*")} == set(DATASETS)


@pytest.mark.parametrize("name", DATASETS)
def test_readme_tells_where_each_file_comes_from(name):
    assert f"`{name}.csv`" in (data_folder() / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", DATASETS)
def test_codebook_has_every_item_and_its_values(name):
    book = pd.read_csv(data_folder() / "codebooks" / f"{name}.csv", index_col="item")
    answers = load_dataset(name)
    assert list(book.columns) == ["text", "group", "values"]
    assert list(book.index) == list(answers.columns)
    assert not book.isna().any().any()
    for item, values in book["values"].items():
        if " to " in values:
            lowest, highest = answers[item].min(), answers[item].max()
            assert values == f"{lowest:.2f} to {highest:.2f}"
        else:
            assert {float(value) for value in values.split(", ")} == set(answers[item].dropna())


@pytest.mark.against_r
def test_files_are_what_r_writes(require_r, tmp_path):
    script = ROOT / "tools" / "make_datasets.R"
    subprocess.run(["Rscript", str(script), str(tmp_path)], check=True, capture_output=True)
    for name in (*FROM_R, "people/holzinger_swineford", "exports/big_five_qualtrics"):
        shipped = data_folder() / f"{name}.csv"
        assert (tmp_path / f"{name}.csv").read_bytes() == shipped.read_bytes()
