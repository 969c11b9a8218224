import json
import os

import pytest

from dtstat.cli.options import finite_or_none, write_json
from dtstat.core.about import __version__

NINE_BY_NAME = ("path", "holzinger_swineford_9")
BAD_FILES = {
    "no folder for csv": ((*NINE_BY_NAME, "--csv", "FOLDER/no/x.csv"), "there is no folder"),
    "no folder for json": ((*NINE_BY_NAME, "--json", "FOLDER/no/x.json"), "there is no folder"),
    "folder as file": ((*NINE_BY_NAME, "--csv", "FOLDER"), "it is a folder"),
    "no folder to simulate": (("simulate", "FOLDER/no/x.csv"), "there is no folder"),
    "folder to simulate": (("simulate", "FOLDER"), "it is a folder"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_files_that_cannot_be_written_are_refused(refusal, case):
    arguments, message = BAD_FILES[case]
    assert message in refusal(*arguments)


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


def test_json_begins_with_version_and_call(tmp_path):
    file = tmp_path / "x.json"
    write_json(file, {"file": "a.csv"}, {"answer": 42})
    written = json.loads(file.read_text())
    assert written == {"dtstat": __version__, "call": {"file": "a.csv"}, "answer": 42}
    assert list(written) == ["dtstat", "call", "answer"]


def test_numbers_that_do_not_exist_are_null():
    values = [1.5, 2, "a", None, float("nan"), float("inf")]
    assert [finite_or_none(value) for value in values] == [1.5, 2, "a", None, None, None]
