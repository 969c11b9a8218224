"""Files are written whole, under a name that tells what they are, and never over others."""

import os
import zipfile
from pathlib import Path

import pytest

import dtstat as dt
from dtstat.core import files
from dtstat.core.errors import InputError

FIT = dt.fit(dt.load_dataset("holzinger_swineford_9"))
WRITERS = {"report": (FIT.report, ".html"), "save": (FIT.save, ".dtstat")}


@pytest.mark.parametrize("ending", ["csv", "doc", "pdf", "xlsx", "json", "txt", "png", "PDF"])
@pytest.mark.parametrize("name", WRITERS)
def test_other_formats_are_refused(tmp_path, name, ending):
    write, own = WRITERS[name]
    with pytest.raises(InputError, match=rf"ends in \{own}") as caught:
        write(tmp_path / f"x.{ending}")
    assert caught.value.argument == "path"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("other", ["report", "save"])
def test_the_other_kind_of_ours_is_refused(tmp_path, other):
    write, _ = WRITERS[other]
    with pytest.raises(InputError, match="another format"):
        write(tmp_path / ("x.dtstat" if other == "report" else "x.html"))


@pytest.mark.parametrize("name", WRITERS)
def test_own_and_free_endings_are_accepted(tmp_path, name):
    write, own = WRITERS[name]
    for file in (f"x{own}", "x", "x.v2", f"X{own.upper()}"):
        write(tmp_path / file)
        write(tmp_path / file)  # a script that is run again
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("content", [b"my answers\n1,2\n", b"<!DOCTYPE html>mine", b"PK\3\4"])
def test_files_of_others_stay(tmp_path, name, content):
    write, own = WRITERS[name]
    file = tmp_path / f"x{own}"
    file.write_bytes(content)
    with pytest.raises(InputError, match="overwrite=True"):
        write(file)
    assert file.read_bytes() == content
    write(file, overwrite=True)
    assert file.stat().st_size > 5_000
    assert [f.name for f in tmp_path.iterdir()] == [file.name]


def test_another_zip_is_no_result(tmp_path):
    file = tmp_path / "x.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("metadata.json", '{"format": "mine"}')
    with pytest.raises(InputError, match="it exists"):
        FIT.save(file)


def test_pages_of_the_first_version_are_recognized(tmp_path):
    file = FIT.report(tmp_path / "x.html")
    page = file.read_text(encoding="utf-8").replace(
        '<meta name="generator" content="dtstat">\n', ""
    )
    assert "generator" not in page[:500]
    file.write_text(page, encoding="utf-8")
    FIT.report(file)


def test_links_and_rights_are_kept(tmp_path):
    real, link = tmp_path / "real.dtstat", tmp_path / "link.dtstat"
    FIT.save(real)
    real.chmod(0o640)
    link.symlink_to(real)
    FIT.save(link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640


def test_what_was_there_stays_if_writing_fails(tmp_path, monkeypatch):
    file = tmp_path / "x"
    file.write_bytes(b"before")

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="No space left"):
        files.write(file, b"after")
    assert file.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("name", WRITERS)
def test_a_name_that_no_file_can_have(name):
    with pytest.raises(InputError, match="surrogate"):
        WRITERS[name][0]("\ud800")


def test_a_pipe_is_written_to():
    files.write(Path(os.devnull), b"gone")
    assert not Path(os.devnull).is_file()
