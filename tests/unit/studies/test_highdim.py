import json
import math

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import EstimationError, InputError
from dtstat.studies import recovery
from dtstat.studies.highdim import HighDimResult, highdim
from dtstat.studies.paper import HIGHDIM_SIZES
from dtstat.studies.recovery import Cell, HighDimCall, Task, child_seeds, conditions
from dtstat.studies.table1 import table1

ONE = {"sizes": 40, "phis": 0.75, "shares": (), "searches": "oracle"}
TINY = {"sizes": 40, "phis": (0, 0.75), "shares": 0.4, "searches": ("oracle", "plain")}
PARTS = [*Cell._fields, "replicate", "search"]


def timeless(result):
    return result.records.drop(columns="seconds")


@pytest.fixture
def drawn(monkeypatch):
    """Arguments of the data sets that were drawn."""
    seen = []
    real = recovery.simulate

    def simulate(design, **arguments):
        seen.append(arguments)
        return real(design, **arguments)

    monkeypatch.setattr(recovery, "simulate", simulate)
    return seen


def finished(cell, replicate, search, n_factors, f1, seconds=1.0, warnings=()):
    return {
        **Task(*cell, replicate, search)._asdict(),
        **{"seed": 1, "fit_seed": 2, "d": 10, "n_factors": n_factors, "f1": f1, "hamming": 3},
        **{"precision": f1, "recall": f1, "seconds": seconds, "warnings": list(warnings)},
    }


@pytest.fixture
def known():
    """A result whose statistics are easily found by hand."""
    free, broken = Cell(100, 0.0, 0.0, "none"), Cell(100, 0.0, 0.2, "own")
    records = [finished(free, k, "oracle", 10, 1.0) for k in (1, 2, 3)]
    chosen = [(8, 0.7, 1.0), (10, 0.9, 2.0), (9, 0.8, 6.0)]
    records += [finished(broken, k, "oracle", *one) for k, one in enumerate(chosen, start=1)]
    records.append(finished(broken, 1, "plain", 12, 0.95, 20.0, ["Look."]))
    return HighDimResult(HighDimCall(1), tuple(reversed(records)))


def test_the_conditions_are_the_papers():
    cells = conditions(HIGHDIM_SIZES, (0.0, 0.25, 0.75), (0.0, 0.2, 0.4), ("own", "shared"))
    assert len(cells) == len(set(cells)) == 3 * 7
    assert [cell.name for cell in cells[:7]] == [
        *["phi 0", "phi 0.25", "phi 0.75"],
        *["share 0.2 own", "share 0.2 shared", "share 0.4 own", "share 0.4 shared"],
    ]
    assert [cell.n for cell in cells[::7]] == [250, 500, 1000]


def test_a_share_of_none_is_the_condition_without_correlation():
    assert conditions([50], [], [0.0], ["own"]) == conditions([50], [0.0], [], ["own"])


def test_conditions_are_drawn_as_they_are_called(drawn):
    highdim(1, 40, phis=0.25, shares=0.4, searches="oracle")
    asked = [{k: v for k, v in one.items() if k != "seed"} for one in drawn]
    assert asked == [
        {"n": 40, "factor_correlation": phi, "violating": share, "second_parent": reading}
        for phi, share, reading in [(0.25, 0, "own"), (0, 0.4, "own"), (0, 0.4, "shared")]
    ]


def test_seeds_are_those_of_the_first_release():
    """A ledger that is gone on with must find the data sets it was begun with."""
    key = Cell(250, 0.0, 0.2, "own").key
    assert key == "high_dimensional,250,0.0,0.2,own"
    assert child_seeds(1, key, 1) == (6029507908289774, 6971942723203413)


def test_all_data_sets_differ_and_searches_see_the_same():
    records = highdim(2, (40, 50), phis=(0, 0.25), shares=0.3, searches=["oracle", "plain"]).records
    assert len(records) == 2 * 2 * 4 * 2
    assert records["seed"].nunique() == 2 * 2 * 4
    assert (
        records.groupby(["n", "phi", "share", "reading", "replicate"])["seed"].nunique() == 1
    ).all()


@pytest.mark.parametrize("search", ["oracle", "plain", "sequential"])
def test_a_record_can_be_repeated_with_the_public_functions(search):
    result = highdim(2, 40, phis=(), shares=0.4, readings="shared", searches=search)
    record = result.records.iloc[1]
    drawn = dt.simulate(
        "high_dimensional", n=40, violating=0.4, second_parent="shared", seed=int(record["seed"])
    )
    if search == "oracle":
        path = dt.solution_path(drawn.data, min_children=2)
        each = [dt.compare(path.at(tau), drawn.structure) for tau in np.linspace(0, 1, 50)]
        best = max(each, key=lambda one: (one.f1, -one.hamming))
    else:
        name = {"plain": "tree"}.get(search, search)
        with pytest.warns(dt.DTWarning):
            found = dt.fit(drawn.data, search=name, seed=int(record["fit_seed"]))
        best = dt.compare(found.structure, drawn.structure)
        assert any("fewer rows (40) than items (60)" in one for one in record["warnings"])
    assert record["d"] == drawn.structure.n_factors == 4
    for score in ("f1", "hamming", "precision", "recall"):
        assert record[score] == getattr(best, score)
    assert best.f1 < 1  # scores that differ
    assert record["n_factors"] == best.n_factors[0]
    assert record["seconds"] > 0


def test_where_a_data_set_cannot_be_fitted_it_is_named(monkeypatch):
    def fit(data, **arguments):
        raise EstimationError("No.")

    monkeypatch.setattr(recovery, "fit", fit)
    said = r"Data set 1 of n = 40, share 0.4 own \(seed \d+\) cannot be fitted \(plain\). No."
    with pytest.raises(EstimationError, match=said):
        highdim(1, 40, phis=(), shares=0.4, searches="plain")


def test_statistics_by_hand(known):
    free, broken, plain = known.table().to_dict(orient="records")
    assert [(one["share"], one["search"]) for one in (free, broken, plain)] == [
        *[(0.0, "oracle"), (0.2, "oracle"), (0.2, "plain")]
    ]
    assert broken["n_factors_mean"] == pytest.approx(9)
    assert broken["n_factors_sd"] == pytest.approx(1)
    assert broken["n_factors_se"] == pytest.approx(1 / math.sqrt(3))
    assert broken["found_mean"] == pytest.approx(0.9)
    assert broken["found_sd"] == pytest.approx(0.1)
    assert broken["f1_se"] == pytest.approx(0.1 / math.sqrt(3))
    assert broken["seconds_mean"] == pytest.approx(3)
    assert broken["seconds_sd"] == pytest.approx(math.sqrt(7))  # 4 + 1 + 9 over 2
    assert (broken["f1_paper"], broken["found_paper"]) == (0.9, 0.8)
    assert math.isnan(free["f1_paper"])
    assert (free["data_sets"], plain["data_sets"]) == (3, 1)
    assert math.isnan(plain["f1_se"])


def test_statistics_are_those_of_pandas():
    result = highdim(3, **TINY)
    grouped = result.records.groupby([*Cell._fields, "search"])
    table = result.table().set_index([*Cell._fields, "search"])
    assert (table["data_sets"] == 3).all()
    assert table["f1_sd"].max() > 0
    for name in ("n_factors", "f1", "hamming", "seconds"):
        for part, by in (("mean", "mean"), ("sd", "std"), ("se", "sem")):
            expected = grouped[name].agg(by).reindex(table.index)
            np.testing.assert_allclose(table[f"{name}_{part}"], expected, atol=1e-12)
    np.testing.assert_allclose(table["found_mean"], table["n_factors_mean"] / table["d"])


def test_summary_prints_what_was_found_and_what_the_paper_says(known):
    lines = known.summary().to_text().splitlines()
    shown = [" ".join(line.split()) for line in lines]
    ours = "100 share 0.2 own oracle 10 9.000 1.000 0.577 0.800 0.100 0.058 0.900 3.000 3 3.000"
    assert ours in shown
    assert "100 share 0.2 own plain 10 12.000 - - 0.950 - - 1.200 3.000 1 20.0" in shown
    assert "100 share 0.2 own 0.9 0.800 0.950" in shown
    assert "100 share 0.2 own 0.8 0.900 1.200" in shown
    assert "100 phi 0 - 1.000 -" in shown
    assert (
        "Data: 1 to 3 data sets per condition, n = 100, 1.5 n items, 0.1 n factors, seed 1" in shown
    )
    assert "1 choice came with warnings; see the records." in lines
    assert max(map(len, lines)) <= 115
    assert repr(known) == "\n".join(known.summary().head)


def test_a_result_cannot_be_changed(known):
    records = known.records
    records["f1"] = 0.0
    assert known.table().loc[0, "f1_mean"] == 1.0
    with pytest.raises(AttributeError):
        known.call = HighDimCall(2)


def test_a_data_set_does_not_depend_on_the_others():
    all_of_it = timeless(highdim(2, **TINY))
    alone = timeless(highdim(3, 40, phis=0.75, shares=(), searches="plain"))
    same = all_of_it.query("phi == 0.75 and search == 'plain'").reset_index(drop=True)
    pd.testing.assert_frame_equal(same, alone[alone["replicate"] <= 2])


def test_another_seed_gives_other_data():
    first, second = (highdim(1, **ONE, seed=seed).records for seed in (1, 2))
    assert set(first["seed"]).isdisjoint(second["seed"])


def test_the_order_of_arguments_does_not_change_the_result():
    turned = {**TINY, "phis": (0.75, 0), "searches": ("plain", "oracle")}
    pd.testing.assert_frame_equal(timeless(highdim(1, **TINY)), timeless(highdim(1, **turned)))


def test_processes_do_not_change_the_result(tmp_path):
    file = tmp_path / "two.jsonl"
    two = highdim(1, **TINY, n_jobs=2, out=file)
    pd.testing.assert_frame_equal(timeless(highdim(1, **TINY)), timeless(two))
    again = highdim(1, **TINY, out=file)  # with another number of processes
    pd.testing.assert_frame_equal(again.records, two.records)


def test_a_study_that_is_ended_early_is_balanced(tmp_path):
    file = tmp_path / "ledger.jsonl"
    highdim(2, **{**TINY, "sizes": (50, 40)}, out=file)
    done = pd.DataFrame(map(json.loads, file.read_text().splitlines()[1:]))
    assert done["replicate"].is_monotonic_increasing
    assert done["replicate"].value_counts().to_dict() == {1: 16, 2: 16}
    assert done["n"].tolist() == ([40] * 8 + [50] * 8) * 2  # the quick ones first


def test_what_is_finished_is_not_done_again(drawn, tmp_path):
    file = tmp_path / "ledger.jsonl"
    first = highdim(2, **ONE, out=file)
    assert len(drawn) == 2
    again = highdim(2, **ONE, out=file)
    assert len(drawn) == 2
    pd.testing.assert_frame_equal(first.records, again.records)
    more = highdim(2, 40, phis=(0, 0.75), shares=(), searches=("oracle", "plain"), out=file)
    assert len(drawn) == 8  # another search of the two, and two more by both
    assert len(more.records) == 8
    fewer = highdim(1, **ONE, out=file)
    assert len(drawn) == 8
    assert len(fewer.records) == 1


def test_what_matters_is_in_the_ledger(drawn, tmp_path):
    file = tmp_path / "ledger.jsonl"
    highdim(1, **ONE, out=file)
    header = json.loads(file.read_text().splitlines()[0])
    assert {k: header[k] for k in ("study", "seed", "thresholds", "min_children")} == {
        **{"study": "highdim", "seed": 1, "thresholds": 50, "min_children": 2}
    }
    assert set(header["made_with"]) == {"python", "numpy", "scipy"}
    with pytest.raises(InputError, match="`seed` was 1 and is now 2"):
        highdim(1, **ONE, seed=2, out=file)
    with pytest.raises(InputError, match="`study` was 'highdim' and is now 'table1'"):
        table1(1, "chain", 60, out=file)
    assert len(drawn) == 1


def test_a_ledger_can_be_read_while_it_is_written_and_by_other_versions(tmp_path):
    file = tmp_path / "ledger.jsonl"
    result = highdim(2, **TINY, seed=3, out=file)
    read = HighDimResult.from_ledger(file)
    assert read.call == result.call == HighDimCall(3)
    pd.testing.assert_frame_equal(read.records, result.records)
    header, *lines = file.read_text().splitlines()
    older = json.dumps({**json.loads(header), "dtstat": "0.0.1"})
    file.write_text("\n".join([older, *lines])[:-20])  # the last line is being written
    before = file.read_bytes()
    assert len(HighDimResult.from_ledger(file).records) == len(lines) - 1
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "content", ["", '{"study": "table1"}\n{"a": 1}\n', '{"study": "highdim"}\n']
)
def test_what_is_no_ledger_of_outcomes_is_refused(tmp_path, content):
    file = tmp_path / "ledger.jsonl"
    file.write_text(content)
    with pytest.raises(InputError, match="`path` must be a ledger of the second simulation"):
        HighDimResult.from_ledger(file)
    with pytest.raises(InputError, match="Cannot read the ledger"):
        HighDimResult.from_ledger(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"reps": 0}, "`reps` must be a whole number of at least 1; got 0"),
        ({"sizes": (250, 19)}, "`sizes` must be a whole number of at least 20; got 19"),
        ({"sizes": "250"}, "`sizes` must be a whole number of at least 20; got '250'"),
        ({"sizes": ()}, "There must be one or more conditions; got no `sizes`"),
        ({"phis": (), "shares": ()}, "neither `phis` nor `shares`"),
        ({"phis": 1}, "`phis` must be a number in [0, 1); got 1"),
        ({"shares": [0.2, -0.1]}, "`shares` must be a number in [0, 1); got -0.1"),
        ({"readings": "shred"}, "Did you mean 'shared'?"),
        ({"readings": []}, "`readings` must be one or more readings; got []"),
        ({"searches": "treshold"}, "`searches` must be a known name; got 'treshold'"),
        ({"searches": "sequentail"}, "Did you mean 'sequential'?"),
        ({"seed": -1}, "`seed` must be"),
        ({"n_jobs": 0}, "`n_jobs` must be a number of workers; got 0"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(drawn, arguments, said):
    with pytest.raises(InputError) as refused:
        highdim(**arguments)
    assert said in str(refused.value)
    assert drawn == []


def panels(figure):
    """Rows of panels: their titles and labels."""
    axes = figure.axes
    return [axes[k : k + 3] for k in range(0, len(axes), 3)]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.usefixtures("drawing")
def test_the_figure_has_a_row_a_kind_of_condition():
    result = highdim(2, (40, 50), phis=(0, 0.75), shares=(0.2, 0.4), searches=["oracle", "plain"])
    top, own, shared = panels(result.plot())
    assert legend(top[2]) == ["φ = 0", "φ = 0.75"]
    assert legend(own[2]) == legend(shared[2]) == ["share 0", "share 0.2", "share 0.4"]
    titles = [row[0].get_title(loc="left") for row in (top, own, shared)]
    assert titles[0] == "Correlated factors"
    assert "own second parents" in titles[1]
    assert "shared second parents" in titles[2]


@pytest.mark.usefixtures("drawing")
def test_the_figure_leaves_out_what_was_not_studied(known):
    assert len(panels(known.plot())) == 2
    only = HighDimResult(known.call, tuple(one for one in known._finished if not one["share"]))
    assert len(panels(only.plot())) == 1


@pytest.mark.usefixtures("drawing")
def test_the_figure_is_written(known, tmp_path):
    known.plot(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="there is no folder"):
        known.plot(tmp_path / "no" / "figure.png")
