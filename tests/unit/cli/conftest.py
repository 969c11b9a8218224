"""What the tests of all commands share."""

import sys

import pandas as pd
import pytest

import dtstat as dt
from dtstat.cli.app import main


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


@pytest.fixture
def refusal(run, tmp_path):
    """Run the command on bad input; return the one line it ends with. FOLDER is ``tmp_path``."""

    def call(*arguments):
        status, out, err = run(*(str(a).replace("FOLDER", str(tmp_path)) for a in arguments))
        assert (status, out) == (2, "")
        assert err.startswith("dtstat: ")
        assert err.count("\n") == 1
        return err

    return call


@pytest.fixture
def survey(tmp_path):
    """The nine tests as a csv file."""
    file = tmp_path / "survey.csv"
    dt.load_dataset("holzinger_swineford_9").to_csv(file, index=False)
    return file


@pytest.fixture
def read_exactly():
    """Read numbers to the last bit, which read_csv does not promise."""
    return lambda file: pd.read_csv(file, dtype=str).map(float)
