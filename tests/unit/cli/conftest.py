"""What the tests of all commands share."""

import sys

import pytest

from dtstat.cli import main


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process; return exit status, output and error output."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dtstat", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return call
