"""Everything that writes: to places where nothing can be written, through links, interrupted."""

import os
import re
import sys
from pathlib import Path

import pytest

import dtstat as dt
from dtstat import studies
from dtstat.cli.app import main
from dtstat.core import files
from dtstat.core.checkpoints import Ledger

NINE = dt.load_dataset("holzinger_swineford_9")
DATA = "holzinger_swineford_9"
FIT = dt.fit(NINE)
MODEL = dt.cfa(NINE, FIT.structure)
SUMMARY = FIT.summary()
TINY = studies.highdim(1, sizes=20, phis=[0.0], shares=[], searches="oracle", seed=1)

WRITERS = {
    "fit.save": (".dtstat", lambda path: FIT.save(path, overwrite=True)),
    "cfa.save": (".dtstat", lambda path: MODEL.save(path, overwrite=True)),
    "page": (".html", lambda path: FIT.report(path, overwrite=True)),
    "document": (".docx", lambda path: FIT.report(path, overwrite=True)),
    "table": (".csv", lambda path: SUMMARY.tables[0].save(path, overwrite=True)),
    "picture": (".svg", TINY.plot),
    **{
        f"summary{ending}": (ending, lambda path: SUMMARY.save(path, overwrite=True))
        for ending in (".docx", ".xlsx", ".tex", ".html", ".md", ".csv", ".txt")
    },
}
LEDGERS = {
    "stability": lambda path: dt.stability(NINE, 2, seed=1, checkpoint=path),
    "diagnose": lambda path: dt.diagnose(FIT, NINE, n_boot=2, seed=1, checkpoint=path),
    "bootstrap": lambda path: dt.bootstrap(MODEL, NINE, 2, seed=1, checkpoint=path),
    "fit": lambda path: dt.fit(NINE, estimator="spline", seed=1, checkpoint=path),
    "table1": lambda path: studies.table1(1, designs="chain", n=60, seed=1, out=path),
    "highdim": lambda path: studies.highdim(1, sizes=20, phis=[0.0], shares=[], out=path),
}
TABLE1 = ["study", "table1", "--reps", "1", "--designs", "chain", "--n", "60"]
HIGHDIM = ["study", "highdim", "--reps", "1", "--sizes", "20", "--phis", "0", "--shares", ""]
HIGHDIM += ["--searches", "oracle"]
COMMANDS = {
    **{
        f"fit --{option}": ["fit", DATA, f"--{option}"]
        for option in ("csv", "json", "lavaan", "save")
    },
    "report": ["report", DATA, "--output"],
    "path": ["path", DATA, "--csv"],
    "cfa": ["cfa", DATA, "--model", "f =~ x1 + x2 + x3", "--csv"],
    "describe": ["describe", DATA, "--people"],
    "simulate": ["simulate"],
    "table1 --table": [*TABLE1, "--table"],
    "table1 --out": [*TABLE1, "--out"],
    "highdim --figure": [*HIGHDIM, "--figure"],
}
ENDINGS = {"fit --save": ".dtstat", "fit --lavaan": ".txt", "fit --json": ".json"}
ENDINGS |= {"report": ".html", "highdim --figure": ".png", "table1 --out": ".jsonl"}


def absent(folder, ending):
    return folder / "absent" / f"x{ending}"


def directory(folder, ending):
    return folder / "there"


def surrogate(folder, ending):
    return folder / f"\ud800{ending}"


def null_byte(folder, ending):
    return folder / f"a\0b{ending}"


def long_name(folder, ending):
    return folder / f"{'x' * 300}{ending}"


def below_a_file(folder, ending):
    return folder / "file" / f"x{ending}"


def read_only(folder, ending):
    return Path("/proc") / f"x{ending}"  # where root cannot write either


def full_disk(folder, ending):
    return folder / f"full{ending}"


PLACES = [absent, directory, surrogate, null_byte, long_name, below_a_file, read_only, full_disk]


@pytest.fixture
def folder(tmp_path):
    """A folder that is the same afterwards."""
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("")
    for ending in {ending for ending, _ in WRITERS.values()} | {*ENDINGS.values(), ".jsonl"}:
        (tmp_path / f"full{ending}").symlink_to("/dev/full")
    before = sorted(os.listdir(tmp_path))
    yield tmp_path
    assert sorted(os.listdir(tmp_path)) == before
    assert not os.listdir(tmp_path / "there")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", WRITERS)
def test_results_say_where_they_cannot_be_written(name, place, folder, drawing):
    ending, write = WRITERS[name]
    with pytest.raises(dt.InputError, match="Cannot write"):
        write(place(folder, ending))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", LEDGERS)
def test_checkpoints_say_where_they_cannot_be_written(name, place, folder):
    with pytest.raises(dt.InputError, match=r"Cannot (write|read)"):
        LEDGERS[name](place(folder, ".jsonl"))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_end_with_a_sentence(name, place, folder, monkeypatch, capsys):
    file = str(place(folder, ENDINGS.get(name, ".csv")))
    force = [] if name == "table1 --out" else ["--force"]
    monkeypatch.setattr(sys, "argv", ["dtstat", *COMMANDS[name], file, *force])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code not in (0, None)
    assert "Traceback" not in said
    assert re.search("Cannot (write|read)|Invalid value", said)


class TestInterrupts:
    @pytest.fixture
    def interrupted(self, monkeypatch):
        """Ctrl-C in the middle of a file."""
        whole = Path.write_bytes

        def write_bytes(path, content):
            whole(path, content[: len(content) // 2])
            raise KeyboardInterrupt

        monkeypatch.setattr(Path, "write_bytes", write_bytes)

    @pytest.mark.parametrize("there", [None, "before"])
    @pytest.mark.parametrize("name", WRITERS)
    def test_leave_what_was_there(self, name, there, tmp_path, interrupted, drawing):
        ending, write = WRITERS[name]
        file = tmp_path / f"x{ending}"
        if there:
            file.write_text(there)
        with pytest.raises(KeyboardInterrupt):
            write(file)
        assert [one.read_text() for one in tmp_path.iterdir()] == [there] * bool(there)

    @pytest.mark.parametrize("finished", [0, 1])
    def test_leave_whole_pieces_in_a_checkpoint(self, finished, tmp_path, monkeypatch):
        file = tmp_path / "x.jsonl"
        ledger = Ledger.open(file, {"work": 1})
        for k in range(finished):
            ledger.append({"piece": k})
        before = file.read_bytes() if finished else None

        def interrupt(_):
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ledger.append({"piece": "last"})
        assert [one.read_bytes() for one in tmp_path.iterdir()] == [before] * finished


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("name", WRITERS)
def test_links_are_followed_and_stay(name, exists, tmp_path, drawing):
    ending, write = WRITERS[name]
    link, real = tmp_path / f"link{ending}", tmp_path / f"real{ending}"
    link.symlink_to(real)
    if exists:
        real.write_text("before")
    write(link)
    assert link.is_symlink()
    assert real.read_bytes() not in (b"", b"before")
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize("fails", [False, True])
def test_a_file_in_a_folder_that_is_closed_is_written_whole_or_not_at_all(
    fails, tmp_path, monkeypatch
):
    file = tmp_path / "x"
    file.write_bytes(b"before")
    whole, calls = Path.write_bytes, []

    def write_bytes(path, content):
        calls.append(path.name)
        if path.suffix == ".part":
            raise PermissionError
        whole(path, content[:3])
        if fails and len(calls) == 2:
            raise KeyboardInterrupt
        return whole(path, content)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    if fails:
        with pytest.raises(KeyboardInterrupt):
            files.write(file, b"after")
    else:
        files.write(file, b"after")
    assert file.read_bytes() == (b"before" if fails else b"after")
    assert os.listdir(tmp_path) == ["x"]
