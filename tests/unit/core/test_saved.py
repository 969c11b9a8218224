import json

import numpy as np
import pytest

from dtstat.core.checkpoints import Resumable, checkpoint_seed, digest, open_checkpoint
from dtstat.core.errors import DataWarning, InputError

HEADER = {"work": "trial", "seed": 7, "sizes": (1, 2)}


class Counted:
    """Work that knows how often it was called."""

    def __init__(self):
        self.calls = []

    def __call__(self, piece):
        self.calls.append(piece)
        return piece**2


def saved(file, kind="square", header=HEADER):
    return Resumable(open_checkpoint(file, header), kind, str, int)


def finish(file, pieces, **how):
    work = Counted()
    found = dict(saved(file, **how).run(work, pieces, [str(p) for p in pieces]))
    return [found[k] for k in range(len(pieces))], work.calls


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run.jsonl"


def test_nothing_is_done_twice_and_nothing_is_lost(file):
    assert finish(file, [3, 1]) == ([9, 1], [3, 1])
    assert finish(file, [1, 2, 3, 4]) == ([1, 4, 9, 16], [2, 4])
    assert finish(file, [4, 3, 2, 1]) == ([16, 9, 4, 1], [])


def test_an_outcome_is_in_the_file_before_the_next_is_begun(file):
    running = saved(file).run(Counted(), [2, 3], ["2", "3"])
    next(running)
    running.close()
    assert finish(file, [2, 3]) == ([4, 9], [3])


def test_kinds_share_a_file(file):
    finish(file, [2], kind="one")
    assert finish(file, [2], kind="other") == ([4], [2])


def test_a_cut_end_is_done_again(file):
    finish(file, [1, 2, 3])
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.warns(DataWarning, match="truncated or damaged"):
        assert finish(file, [1, 2, 3]) == ([1, 4, 9], [3])


@pytest.mark.parametrize("end", [b"\0" * 300, b"\0" * 9 + b"\n", b"{}x\n\xff\xfe\n", b'"3"\n'])
def test_an_end_of_anything_is_cut(file, end):
    finish(file, [1, 2])
    whole = file.read_bytes()
    file.write_bytes(whole + end)
    with pytest.warns(DataWarning, match="truncated or damaged"):
        assert finish(file, [1, 2]) == ([1, 4], [])
    assert file.read_bytes() == whole


def test_the_file_of_another_call_is_refused(file):
    finish(file, [1])
    with pytest.raises(InputError, match="`seed` was 7 and is now 8") as caught:
        saved(file, header={**HEADER, "seed": 8})
    assert caught.value.argument == "checkpoint"


def test_an_outcome_that_cannot_be_read_is_named(file):
    finish(file, [1, 2])
    lines = file.read_text().splitlines()
    lines[1] = json.dumps({"kind": "square", "piece": "1", "outcome": "one"})
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="The square '1' of the checkpoint cannot be read"):
        finish(file, [1, 2])


def test_the_seed_of_the_call_that_began_a_file(file):
    assert checkpoint_seed(None) is None
    assert checkpoint_seed(file) is None
    finish(file, [1])
    assert checkpoint_seed(file) == 7
    for content in ("", "[1]\n", "nothing", '{"seed": "x"}\n'):
        file.write_text(content)
        assert checkpoint_seed(file) is None


@pytest.mark.parametrize("path", [3, 1.5, b"x", [1]])
def test_what_is_no_file(path):
    with pytest.raises(InputError, match="`checkpoint` must be the name of a file"):
        open_checkpoint(path, HEADER)


def test_data_are_named_by_what_they_hold():
    X = np.arange(6.0).reshape(2, 3)
    names = {
        digest([X]),
        digest([X.T]),
        digest([X.astype(np.float32)]),
        digest([X.reshape(3, 2)]),
        digest(["a", "b", X]),
        digest(["ab", X]),
        digest([X + 1e-12]),
    }
    assert len(names) == 7
    assert digest([np.asfortranarray(X)]) == digest([X])
