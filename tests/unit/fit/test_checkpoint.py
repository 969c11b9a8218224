"""Calls that keep what is done: the same bytes, nothing twice, and no other call's file."""

import json

import numpy as np
import pytest

import dtstat as dt
from dtstat.core.saved import to_bytes
from dtstat.search import finalists

DATA = dt.simulate("chain", n=400, seed=3).data


def stability(file=None, **how):
    return dt.stability(DATA, **{"n_boot": 12, "seed": 1, **how}, checkpoint=file)


def diagnosis(file=None, **how):
    fit = dt.fit(DATA)
    return dt.diagnose(fit, DATA, **{"n_boot": 12, "seed": 1, **how}, checkpoint=file)


def curves(file=None, **how):
    return dt.fit(DATA, **{"estimator": "spline", "seed": 1, **how}, checkpoint=file)


CALLS = [stability, diagnosis, curves]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run.jsonl"


def lines(file):
    return file.read_text().splitlines()


@pytest.mark.parametrize("call", CALLS)
def test_with_a_checkpoint_comes_what_comes_without(call, file):
    assert to_bytes(call(file)) == to_bytes(call())


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_call_goes_on_where_the_file_ends(call, file, n_jobs):
    whole = to_bytes(call(file))
    written = lines(file)
    assert len(written) > 2
    file.write_text("\n".join(written[: len(written) // 2 + 1]) + "\n")
    assert to_bytes(call(file, n_jobs=n_jobs)) == whole
    assert sorted(lines(file)) == sorted(written)
    assert to_bytes(call(file)) == whole
    assert len(lines(file)) == len(written)


@pytest.mark.parametrize("call", CALLS)
def test_without_a_seed_that_of_the_file_is_taken(call, file):
    first = call(file, seed=None)
    assert to_bytes(call(file, seed=None)) == to_bytes(first)


@pytest.mark.parametrize("call", CALLS)
def test_the_file_of_another_call_is_refused(call, file):
    call(file)
    before = file.read_bytes()
    with pytest.raises(dt.InputError, match="`seed` was 1 and is now 2") as caught:
        call(file, seed=2)
    assert caught.value.argument == "checkpoint"
    others = [one for one in CALLS if one is not call]
    for other in others:
        with pytest.raises(dt.InputError, match="begun by another call: `work`"):
            other(file)
    assert file.read_bytes() == before


def test_other_data_are_another_call(file):
    stability(file)
    other = DATA.copy()
    other.iloc[0, 0] += 1
    with pytest.raises(dt.InputError, match=r"`data` was '[0-9a-f]{16}'"):
        dt.stability(other, n_boot=12, seed=1, checkpoint=file)


@pytest.mark.filterwarnings("ignore:Two runs of the curves")  # of a structure that fits badly
@pytest.mark.parametrize("call", [stability, curves])
def test_other_thresholds_are_another_call(call, file):
    how = {"search": "threshold", "estimator": "spline" if call is curves else "copula"}
    call(file, **how, thresholds=[0.2, 0.3])
    with pytest.raises(dt.InputError, match="begun by another call: `grid` was"):
        call(file, **how, thresholds=[0.2, 0.4])


def test_more_resamples_are_the_same_call(file):
    stability(file, n_boot=5)
    assert to_bytes(stability(file)) == to_bytes(stability())
    assert len(lines(file)) == 1 + 12


def test_resamples_that_cannot_be_used_are_kept_too(file):
    rare = DATA.assign(rare=np.r_[1.0, np.zeros(399)])
    how = {"n_boot": 12, "seed": 1, "measure": "pearson", "estimator": "linear"}
    first = dt.stability(rare, **how, checkpoint=file)
    assert first.main.n_failed > 0
    assert to_bytes(dt.stability(rare, **how, checkpoint=file)) == to_bytes(first)
    assert len(lines(file)) == 1 + 12


def test_structures_that_cannot_be_fitted_are_kept_too(file, monkeypatch):
    tried = []

    def fails(proposal, *_):
        tried.append(proposal)
        raise dt.EstimationError("The sampler froze.")

    monkeypatch.setattr(finalists, "_fit", fails)
    for _ in range(2):
        with pytest.raises(dt.EstimationError, match="The sampler froze"):
            curves(file)
    assert len(tried) == len(lines(file)) - 1


def test_held_out_rows_and_folds_are_told_apart(file):
    how = {"criterion": "cv", "finalists": 1}
    first = to_bytes(curves(file, **how))
    assert len(lines(file)) == 1 + 1 + 5  # all rows, and five folds
    assert to_bytes(curves(file, **how)) == first
    assert len(lines(file)) == 7


def test_a_diagnosis_of_other_cores_is_another_call(file):
    data = dt.load_dataset("political_democracy")
    other = dt.fit(data, search="threshold")  # its cores are seen at the threshold
    one = dt.fit(data, structure=other.structure)
    assert np.array_equal(one.support, other.support)
    assert list(one.factors["core"]) != list(other.factors["core"])
    dt.diagnose(one, data, n_boot=3, seed=1, checkpoint=file)
    with pytest.raises(dt.InputError, match="`structure` was"):
        dt.diagnose(other, data, n_boot=3, seed=1, checkpoint=file)


def test_functions_cannot_be_told_apart(file):
    def own(x, y):
        return float(np.corrcoef(x, y)[0, 1])

    with pytest.raises(dt.InputError, match="cannot tell one function from another"):
        stability(file, measure=own)


def test_with_several_workers_too_each_is_kept_when_done(file):
    seen = []
    stability(file, n_jobs=2, progress=lambda done, total: seen.append(len(lines(file)) - 1))
    assert seen[0] < 12  # not all at the end
    assert seen == sorted(seen)


def test_lines_without_a_name_are_pointed_out(file):
    stability(file)
    for line in ({}, {"kind": "resample of part 0", "piece": [1], "outcome": None}):
        written = lines(file)
        file.write_text("\n".join([*written, json.dumps(line), written[-1]]) + "\n")
        if line:
            with pytest.raises(dt.InputError, match="no name that could be read"):
                stability(file)
        else:
            stability(file)
        file.write_text("\n".join(written) + "\n")


def test_copulas_need_no_checkpoint(file):
    with pytest.raises(dt.InputError, match="'copula' needs only seconds") as caught:
        dt.fit(DATA, checkpoint=file)
    assert caught.value.argument == "checkpoint"
    assert not file.exists()


@pytest.mark.parametrize("call", [stability, diagnosis])
@pytest.mark.parametrize("outcome", [{"items": 2, "factors": [[0, 1]]}, [1.0], "x", {}])
def test_an_outcome_of_another_shape_is_named(call, file, outcome):
    call(file)
    written = lines(file)
    piece = json.loads(written[1])
    piece["outcome"] = outcome
    file.write_text("\n".join([written[0], json.dumps(piece), *written[2:]]) + "\n")
    with pytest.raises(dt.InputError, match="of the checkpoint cannot be read"):
        call(file)


def test_a_line_that_was_edited_is_named(file):
    curves(file)
    written = lines(file)
    piece = json.loads(written[1])
    piece["outcome"] = {"fitted": "AAAA"}
    file.write_text("\n".join([written[0], json.dumps(piece), *written[2:]]) + "\n")
    with pytest.raises(dt.InputError, match="checkpoint"):
        curves(file)
