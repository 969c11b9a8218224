"""Files to write are checked before anything is computed."""

import os

import pytest

from dtstat.core import checks
from dtstat.core.errors import InputError


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_file_that_can_be_written_is_returned_and_not_made(tmp_path, kind):
    assert checks.writable(kind(tmp_path / "new.html")) == tmp_path / "new.html"
    assert not (tmp_path / "new.html").exists()


def test_a_file_that_exists_is_kept_and_a_plain_name_is_here(tmp_path, monkeypatch):
    (tmp_path / "old.html").write_text("old")
    assert checks.writable(tmp_path / "old.html").read_text() == "old"
    monkeypatch.chdir(tmp_path)
    assert str(checks.writable("new.html")) == "new.html"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("absent/page.html", "there is no folder"),
        ("file/page.html", "there is no folder"),
        ("folder", "it is a folder"),
        ("", "it is a folder"),
        ("x" * 300, "too long"),
        ("a\0b", "null byte"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, monkeypatch, path, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=message) as caught:
        checks.writable(path)
    assert caught.value.argument == "path"


@pytest.mark.parametrize("exists", [True, False])
def test_what_is_not_allowed_is_refused(tmp_path, monkeypatch, exists):
    """Asked of the file if there is one, else of its folder."""
    file = tmp_path / "page.html"
    if exists:
        file.write_text("")
    asked = []
    monkeypatch.setattr(os, "access", lambda path, mode: asked.append((path, mode)))
    with pytest.raises(InputError, match="permission denied"):
        checks.writable(file)
    assert asked == [(file if exists else tmp_path, os.W_OK)]


@pytest.mark.parametrize("path", [None, 5, True, b"page.html", ["page.html"]])
def test_what_is_no_name_is_refused(path):
    with pytest.raises(InputError, match="`path` must be the name of a file") as caught:
        checks.writable(path)
    assert caught.value.argument == "path"
