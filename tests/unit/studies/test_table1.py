import json
import math
import signal
import subprocess
import sys

import pandas as pd
import pytest

from dtstat.core.errors import InputError
from dtstat.studies import recovery
from dtstat.studies.paper import TABLE1
from dtstat.studies.recovery import RecoveryCall
from dtstat.studies.table1 import Table1Result, table1

FEW = {"n": 60, "thresholds": 6}
SMALL = {"reps": 2, **FEW}
CALL = RecoveryCall(100, 1, 50, 2, "copula", "ebic", None)


def timeless(result):
    return result.records.drop(columns="seconds")


@pytest.fixture
def drawn(monkeypatch):
    """Data sets that were drawn."""
    seen = []
    real = recovery.simulate

    def simulate(design, n, seed):
        seen.append((design, seed))
        return real(design, n=n, seed=seed)

    monkeypatch.setattr(recovery, "simulate", simulate)
    return seen


def finished(design, replicate, oracle, likelihood):
    names = ("n_factors", "f1", "hamming", "seconds", "warnings")
    return {
        "design": design,
        "replicate": replicate,
        "seed": 1,
        "fit_seed": 2,
        "oracle": dict(zip(names, oracle, strict=True)),
        "likelihood": dict(zip(names, likelihood, strict=True)),
    }


@pytest.fixture
def known():
    """A result whose statistics are easily found by hand."""
    best = (4, 1.0, 0, 0.5, [])
    chosen = [(3, 0.5, 8, 1.0, []), (5, 0.7, 2, 2.0, ["Look."]), (4, 0.9, 2, 6.0, [])]
    records = [finished("chain", k, best, one) for k, one in enumerate(chosen, start=1)]
    return Table1Result(CALL, 3, ("chain",), tuple(records))


def test_statistics_by_hand(known):
    oracle, likelihood = known.table().to_dict(orient="records")
    assert (oracle["selection"], likelihood["selection"]) == ("oracle", "likelihood")
    assert likelihood["d"] == likelihood["n_factors_mean"] == 4
    assert likelihood["n_factors_sd"] == pytest.approx(1.0)
    assert likelihood["n_factors_se"] == pytest.approx(1 / math.sqrt(3))
    assert likelihood["f1_mean"] == pytest.approx(0.7)
    assert likelihood["f1_sd"] == pytest.approx(0.2)
    assert likelihood["f1_se"] == pytest.approx(0.2 / math.sqrt(3))
    assert likelihood["hamming_mean"] == pytest.approx(4)
    assert likelihood["hamming_sd"] == pytest.approx(math.sqrt(12))  # 16 + 4 + 4 over 2
    assert likelihood["hamming_se"] == pytest.approx(2)
    assert (likelihood["data_sets"], likelihood["seconds"]) == (3, 3.0)
    assert (oracle["f1_mean"], oracle["f1_sd"], oracle["seconds"]) == (1.0, 0.0, 0.5)


def test_the_papers_figures_stand_beside(known):
    likelihood = known.table().iloc[1]
    assert likelihood["hamming_paper"] == TABLE1["likelihood", "chain"].hamming.mean == 1.6
    assert likelihood["hamming_paper_plus_minus"] == 2.81


def test_summary_prints_both_tables(known):
    lines = known.summary().to_text().splitlines()
    ours = "likelihood Chained Mediation 4 4.000 1.000 0.577 0.700 0.200 0.115 4.000 3.464 2.000"
    assert f"{ours} 3 3.000" in [" ".join(line.split()) for line in lines]
    paper = "likelihood Chained Mediation 4.000 4.20 ± 0.484 0.700 0.964 ± 0.061 4.000 1.600 ± 2.81"
    assert paper in [" ".join(line.split()) for line in lines]
    assert "1 choice came with warnings; see the records." in lines
    assert max(map(len, lines)) <= 110


def test_summary_is_html_and_latex_too(known):
    assert known.summary().to_html().count("<table>") == 2
    assert known.summary().to_latex().count(r"\begin{tabular}") == 2


def test_one_data_set_has_no_spread(known):
    one = Table1Result(CALL, 1, ("chain",), known._finished[:1])
    assert math.isnan(one.table().loc[0, "f1_se"])
    row = next(line for line in one.summary().to_text().splitlines() if "oracle  " in line)
    assert row.split()[3:] == [
        "4",
        *["4.000", "-", "-"],
        *["1.000", "-", "-"],
        *["0.000", "-", "-"],
        "1",
        "0.500",
    ]


def test_rows_are_selections_by_designs_in_the_order_asked_for():
    result = table1(1, ["chain", "v_structure"], **FEW)
    table = result.table()
    assert table["selection"].tolist() == ["oracle"] * 2 + ["likelihood"] * 2
    assert table["design"].tolist() == ["chain", "v_structure"] * 2
    assert table["d"].tolist() == [4, 3, 4, 3]
    assert result.records["design"].tolist() == ["chain"] * 2 + ["v_structure"] * 2


def test_a_result_cannot_be_changed(known):
    records = known.records
    records["f1"] = 0.0
    assert known.table().loc[0, "f1_mean"] == 1.0
    with pytest.raises(AttributeError):
        known.reps = 5


def test_a_data_set_does_not_depend_on_the_others():
    all_of_it = timeless(table1(**SMALL))
    alone = timeless(table1(3, "chain", **FEW))
    chain = all_of_it[all_of_it["design"] == "chain"].reset_index(drop=True)
    pd.testing.assert_frame_equal(chain, alone[alone["replicate"] <= 2])


def test_another_seed_gives_other_data():
    first, second = (table1(1, "chain", **FEW, seed=seed).records for seed in (1, 2))
    assert set(first["seed"]).isdisjoint(second["seed"])


def test_processes_do_not_change_the_result(tmp_path):
    file = tmp_path / "two.jsonl"
    two = table1(**SMALL, n_jobs=2, out=file)
    pd.testing.assert_frame_equal(timeless(table1(**SMALL)), timeless(two))
    again = table1(**SMALL, out=file)  # with another number of processes
    pd.testing.assert_frame_equal(again.records, two.records)


def test_what_is_finished_is_not_done_again(drawn, tmp_path):
    file = tmp_path / "ledger.jsonl"
    first = table1(**SMALL, designs="chain", out=file)
    assert len(drawn) == 2
    again = table1(**SMALL, designs="chain", out=file)
    assert len(drawn) == 2
    pd.testing.assert_frame_equal(first.records, again.records)
    more = table1(3, **FEW, out=file)
    assert len(drawn) == 2 + 7
    assert len(set(drawn)) == len(drawn)
    fewer = table1(1, "chain", **FEW, out=file)
    assert len(drawn) == 9
    assert (fewer.table()["data_sets"] == 1).all()
    pd.testing.assert_frame_equal(timeless(more), timeless(table1(3, **FEW)))


def test_without_a_file_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table1(1, "chain", **FEW)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n": 70}, "`n` was 60 and is now 70"),
        ({"seed": 5}, "`seed` was 1 and is now 5"),
        ({"estimator": "linear"}, "`estimator` was 'copula' and is now 'linear'"),
        ({"criterion": "bic"}, "`criterion` was 'ebic' and is now 'bic'"),
        ({"min_children": 3}, "`min_children` was 2 and is now 3"),
        ({"thresholds": 20}, "`thresholds` was 6 and is now 20"),
    ],
)
def test_every_argument_that_matters_is_in_the_ledger(tmp_path, drawn, change, said):
    file = tmp_path / "ledger.jsonl"
    arguments = {"reps": 1, "designs": "chain", **FEW, "out": file}
    table1(**arguments)
    with pytest.raises(InputError, match=said):
        table1(**(arguments | change))
    assert len(drawn) == 1


def test_a_preset_is_in_the_ledger(tmp_path):
    file = tmp_path / "ledger.jsonl"
    table1(1, "chain", 60, out=file)
    with pytest.raises(InputError, match=r"`estimator` was 'copula' and is now None, .*`preset`"):
        table1(1, "chain", 60, preset="paper", out=file)


def test_a_mistyped_name_leaves_no_ledger_behind(tmp_path):
    file = tmp_path / "ledger.jsonl"
    with pytest.raises(InputError, match="`estimator` must be"):
        table1(1, "chain", **FEW, estimator="copla", out=file)
    assert not file.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"reps": 0}, "`reps` must be a whole number of at least 1; got 0"),
        ({"designs": "chian"}, "Did you mean 'chain'?"),
        ({"designs": []}, "`designs` must be one or more designs; got []"),
        ({"designs": ["clusters"]}, "`designs` must be a known name; got 'clusters'"),
        ({"n": 1}, "`n` must be"),
        ({"seed": -1}, "`seed` must be"),
        ({"n_jobs": 0}, "`n_jobs` must be a number of workers; got 0"),
        ({"min_children": 1}, "`min_children` must be"),
        ({"thresholds": 1}, "`thresholds` must be"),
        (
            {"preset": "paper", "estimator": "copula"},
            "`estimator` cannot be combined",
        ),
        ({"preset": "paper", "thresholds": 50}, "`thresholds` cannot be combined"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(drawn, arguments, said):
    with pytest.raises(InputError) as refused:
        table1(**arguments)
    assert said in str(refused.value)
    assert drawn == []


def finished_in(file):
    return max(file.read_bytes().count(b"\n") - 1, 0) if file.exists() else 0


def test_a_killed_study_goes_on_where_it_was(tmp_path):
    """Killed midway and resumed gives what an uninterrupted run gives."""
    file, total = tmp_path / "ledger.jsonl", 18
    code = f"""
import os, signal
from dtstat.studies import table1

def kill(done, total):
    if done == 4:
        os.kill(os.getpid(), signal.SIGKILL)

table1({total // 3}, **{FEW}, out={str(file)!r}, progress=kill)
"""
    study = subprocess.run([sys.executable, "-c", code], check=False)
    assert study.returncode == -signal.SIGKILL
    assert finished_in(file) == 4
    before = file.read_bytes()
    resumed = table1(total // 3, **FEW, out=file)
    assert file.read_bytes().startswith(before)
    assert finished_in(file) == total
    pd.testing.assert_frame_equal(timeless(resumed), timeless(table1(total // 3, **FEW)))


def test_a_study_cut_in_the_middle_of_a_line_gives_the_same(tmp_path, drawn):
    file = tmp_path / "ledger.jsonl"
    whole = table1(**SMALL, out=file)
    count = len(drawn)
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.warns(UserWarning, match="was truncated"):
        mended = table1(**SMALL, out=file)
    assert len(drawn) == count + 1
    pd.testing.assert_frame_equal(timeless(whole), timeless(mended))
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 7
