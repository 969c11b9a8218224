import json
import os
import platform
import stat

import numpy as np
import pytest

from dtstat.core.about import __version__
from dtstat.core.checkpoints import Ledger
from dtstat.core.errors import DataWarning, InputError

HEADER = {"study": "trial", "n": 100, "seed": 1}
FIRST = {"design": "a", "replicate": 1, "f1": 0.1 + 0.2}
SECOND = {"design": "b", "replicate": 1, "f1": 1.0, "warnings": ["zwölf", "a\nb"]}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "ledger.jsonl"


@pytest.fixture
def written(file):
    ledger = Ledger.open(file, HEADER)
    ledger.append(FIRST)
    ledger.append(SECOND)
    return file


def test_what_is_appended_is_found_again(written):
    assert Ledger.open(written, HEADER).finished == (FIRST, SECOND)


def test_lines_are_json_below_a_header(written):
    header, *records = map(json.loads, written.read_text().splitlines())
    made_with = header.pop("made_with")
    assert header == {**HEADER, "dtstat": __version__, "format": 1}
    assert made_with["numpy"] == np.__version__
    assert made_with["python"] == platform.python_version()
    assert list(made_with) == ["python", "numpy", "scipy"]
    assert records == [FIRST, SECOND]


def test_lines_are_only_added(written):
    before = written.read_bytes()
    Ledger.open(written, HEADER).append(FIRST)
    assert written.read_bytes().startswith(before)
    assert written.read_bytes().count(b"\n") == 4


def test_a_record_is_on_the_disk_when_append_returns(file, monkeypatch):
    synced = []

    def fsync(number):
        about = os.fstat(number)
        synced.append("folder" if stat.S_ISDIR(about.st_mode) else about.st_size)

    monkeypatch.setattr(os, "fsync", fsync)
    ledger = Ledger.open(file, HEADER)
    ledger.append(FIRST)
    first = file.stat().st_size
    ledger.append(SECOND)
    assert synced == [first, "folder", file.stat().st_size]


def test_two_processes_do_not_write_to_one_file(file):
    mine, other = Ledger.open(file, HEADER), Ledger.open(file, HEADER)
    mine.append(FIRST)
    with pytest.raises(InputError, match="changed by another process"):
        other.append(SECOND)
    mine.append(SECOND)
    assert Ledger.open(file, HEADER).finished == (FIRST, SECOND)


def test_a_first_line_cut_short_is_written_anew(file):
    ledger = Ledger.open(file, HEADER)
    ledger.append(FIRST)
    first_line = file.read_bytes().partition(b"\n")[0]
    for length in (1, 10, 40, len(first_line)):
        file.write_bytes(first_line[:length])
        with pytest.warns(DataWarning, match="was truncated"):
            fresh = Ledger.open(file, {**HEADER, "seed": 99})  # as a fresh one would be
        fresh.append(SECOND)
        assert Ledger.open(file, {**HEADER, "seed": 99}).finished == (SECOND,)


def test_what_is_no_plain_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "a\0b"):
        with pytest.raises(InputError, match=r"not a regular file|null byte"):
            Ledger.open(path, HEADER)


def test_a_line_of_brackets_is_damage(written):
    whole = written.read_bytes()
    written.write_bytes(whole + b"[" * 200_000 + b"\n")
    with pytest.warns(DataWarning, match="damaged"):
        Ledger.open(written, HEADER)
    assert written.read_bytes() == whole


def test_a_ledger_knows_what_it_appended(file):
    ledger = Ledger.open(file, HEADER)
    ledger.append(FIRST)
    assert ledger.finished == (FIRST,)


def test_nothing_is_created_before_something_is_finished(file):
    assert Ledger.open(file, HEADER).finished == ()
    assert not file.exists()


def test_without_a_file_records_are_kept_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.open(None, HEADER)
    ledger.append(FIRST)
    assert ledger.finished == (FIRST,)
    assert list(tmp_path.iterdir()) == []


def test_a_last_line_cut_anywhere_is_removed_and_done_again(written):
    whole = written.read_bytes()
    start = whole[:-1].rfind(b"\n") + 1
    for end in range(start + 1, len(whole)):
        written.write_bytes(whole[:end])
        with pytest.warns(DataWarning, match=r"end of the checkpoint file '.*' was truncated"):
            ledger = Ledger.open(written, HEADER)
        assert ledger.finished == (FIRST,)
        assert written.read_bytes() == whole[:start]
        ledger.append(SECOND)
        assert written.read_bytes() == whole


def test_a_first_line_cut_anywhere_begins_anew(written):
    whole = written.read_bytes()
    for end in range(1, whole.index(b"\n") + 1):
        written.write_bytes(whole[:end])
        with pytest.warns(DataWarning, match="was truncated"):
            ledger = Ledger.open(written, HEADER)
        assert ledger.finished == ()
        ledger.append(FIRST)
        ledger.append(SECOND)
        assert written.read_bytes() == whole


def test_zeros_after_a_power_cut_are_removed(written):
    whole = written.read_bytes()
    written.write_bytes(whole + b"\0" * 100)
    with pytest.warns(DataWarning, match="was truncated"):
        assert Ledger.open(written, HEADER).finished == (FIRST, SECOND)
    assert written.read_bytes() == whole


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n": 200}, "another call: `n` was 100 and is now 200. Give the same"),
        ({"seed": 2, "n": 5}, "`n` was 100 and is now 5, `seed` was 1 and is now 2"),
        ({"study": "other"}, "`study` was 'trial' and is now 'other'"),
        ({"preset": "paper"}, "`preset` was None and is now 'paper'"),
    ],
)
def test_the_ledger_of_another_call_is_refused(written, change, said):
    whole = written.read_bytes() + b'{"cut'
    written.write_bytes(whole)
    with pytest.raises(InputError, match="begun by") as refused:
        Ledger.open(written, {**HEADER, **change})
    assert said in str(refused.value)
    assert refused.value.argument == "out"
    assert written.read_bytes() == whole


def test_the_ledger_of_another_version_is_refused(written, monkeypatch):
    monkeypatch.setattr("dtstat.core.checkpoints.__version__", "99")
    with pytest.raises(InputError, match=f"`dtstat` was '{__version__}' and is now '99'"):
        Ledger.open(written, HEADER)


def test_another_numpy_may_go_on(written, monkeypatch):
    monkeypatch.setattr("numpy.__version__", "99")
    ledger = Ledger.open(written, HEADER)
    ledger.append(FIRST)
    assert Ledger.open(written, HEADER).finished == (FIRST, SECOND, FIRST)


def test_a_ledger_that_does_not_say_what_made_it_may_be_gone_on_with(written):
    first, _, records = written.read_text().partition("\n")
    header = {k: v for k, v in json.loads(first).items() if k != "made_with"}
    written.write_text(f"{json.dumps(header)}\n{records}")
    assert Ledger.open(written, HEADER).finished == (FIRST, SECOND)


@pytest.mark.parametrize("content", ["x1,x2\n1,2", "x1,x2", "[1]\n", '{"a": 1}\n', "\n"])
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(file, content):
    file.write_text(content)
    with pytest.raises(InputError, match="is not a checkpoint written by this function"):
        Ledger.open(file, HEADER)
    assert file.read_text() == content


def test_a_damaged_line_is_named(written):
    lines = written.read_bytes().splitlines(keepends=True)
    lines[1] = b"{oops}\n"
    written.write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=r"Line 2 of the checkpoint file .* holds b'{oops}'"):
        Ledger.open(written, HEADER)


def test_a_missing_folder_is_refused_before_work(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        Ledger.open(tmp_path / "no" / "ledger.jsonl", HEADER)


def test_a_folder_is_refused_before_work(tmp_path):
    with pytest.raises(InputError, match="it is not a regular file"):
        Ledger.open(tmp_path, HEADER)


def test_a_failed_write_says_what_is_kept(file, monkeypatch):
    ledger = Ledger.open(file, HEADER)
    ledger.append(FIRST)

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        ledger.append(SECOND)
