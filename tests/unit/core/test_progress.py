"""Work that may take seconds says how far it is: in stages, each counted from 1 to its total."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.parallel import Steps
from dtstat.data import formats
from dtstat.dependence import spearman
from dtstat.factors import reported
from dtstat.sem import gaps

NINE = dt.load_dataset("holzinger_swineford_9")
MODEL = "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6"
HALVES = NINE.assign(half=["a", "b"] * 150 + ["a"])
HOLES = NINE.mask(np.random.default_rng(5).random(NINE.shape) < 0.1)
RATED = NINE.gt(NINE.median()).astype(float) + NINE.gt(NINE.quantile(0.8))


def stages(call):
    """Totals of the stages that a call went through, once each is seen to be counted in full."""
    seen = []
    call(lambda done, total: seen.append((done, total)))
    assert seen[0][0] == 1
    for (done, total), (following, following_total) in pairwise(seen):
        goes_on = (following, following_total) == (done + 1, total)
        assert goes_on or (done == total and following == 1), (done, total, following)
    assert seen[-1][0] == seen[-1][1]
    return [total for done, total in seen if done == total]


def stop(done, total):
    raise KeyboardInterrupt


def test_certify_counts_cliques_draws_and_the_levels_of_both_halves(monkeypatch):
    monkeypatch.setattr("dtstat.trust.contrasts._CHUNK", 20 * 301)
    found = stages(lambda progress: dt.certify(NINE, n_draws=50, seed=1, progress=progress))
    claims = len(dt.certify(NINE, n_draws=20, seed=1).members)
    # Claims, and blocks of 20 draws; then of each half of three splits the joins and the levels.
    assert found[found.index(claims) :][:2] == [claims, 3]
    halves = found[found.index(claims) + 2 :]
    assert len(halves) == 12
    assert all(levels == joins + 1 for joins, levels in zip(halves[::2], halves[1::2], strict=True))


def test_a_diagnosis_counts_its_certificate_too():
    fit = dt.fit(NINE)
    found = stages(lambda progress: dt.diagnose(fit, NINE, 2, seed=1, progress=progress))
    assert found[0] == 2
    assert len(found) > 12  # joins and levels of six halves


def test_a_fit_counts_from_its_first_ranks_to_the_search_for_other_dependence(monkeypatch):
    monkeypatch.setattr(spearman, "_BLOCK", 2 * len(NINE))
    found = stages(lambda progress: dt.fit(NINE, progress=progress))
    assert found[0] == 5  # blocks of two items
    assert found[-2:] == [9, 1]  # items, and their products
    assert found.count(9) == 2  # and margins of the items
    monkeypatch.setattr(reported, "_SCALED_BY", 1)
    monkeypatch.setattr(reported, "_FEWEST_SCALED", 100)  # of the rows, which are put in order
    assert stages(lambda progress: dt.fit(NINE, progress=progress)).count(9) == 3


def test_a_report_counts_its_parts_and_levels(tmp_path):
    fit = dt.fit(NINE)
    found = stages(lambda progress: fit.report(tmp_path / "a.html", progress=progress))
    assert found == [6, len(fit.levels[fit.levels["n_factors"] <= fit.supported + 1])]
    nothing = dt.fit(np.random.default_rng(3).normal(size=(150, 8)))
    assert stages(lambda progress: nothing.report(tmp_path / "b.html", progress=progress)) == [4]


def test_a_document_counts_its_parts(tmp_path):
    pytest.importorskip("docx")
    fit = dt.fit(NINE)
    (parts,) = stages(lambda progress: fit.report(tmp_path / "a.docx", progress=progress))
    assert parts > 20  # headings, paragraphs, tables


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((NINE, MODEL), [100]),
        ((NINE, MODEL, "mlr"), [100]),
        ((NINE, MODEL, "uls"), [100]),
        ((NINE.cov(), MODEL, "ml", "listwise", None, False, False, None, 301), [90]),
        ((HOLES, MODEL, "mlr", "fiml"), [100]),
        ((RATED, MODEL, "wlsmv"), [120]),
        ((RATED.where(HOLES.notna()), MODEL, "wlsmv", "pairwise"), [120]),
    ],
)
def test_a_model_counts_its_steps_and_is_the_same(arguments, parts):
    assert stages(lambda progress: dt.cfa(*arguments, progress=progress)) == parts
    silent, told = dt.cfa(*arguments), dt.cfa(*arguments, progress=lambda done, total: None)
    np.testing.assert_array_equal(silent.estimate.theta, told.estimate.theta)
    np.testing.assert_array_equal(silent.estimate.covariance, told.estimate.covariance)


def test_models_of_several_parts_count_all_of_them():
    grouped = RATED.assign(half=HALVES["half"])
    assert stages(lambda p: dt.sem(grouped, MODEL, "wlsmv", group="half", progress=p)) == [150]
    assert stages(lambda p: dt.sem(NINE, MODEL, method="sam", progress=p)) == [110]
    asked = {"missing": "fiml", "auxiliary": ["x9"]}  # and a baseline
    assert stages(lambda p: dt.sem(HOLES, MODEL, progress=p, **asked)) == [100, 100]
    curve = "level =~ 1*x1 + 1*x2 + 1*x3"
    assert stages(lambda p: dt.growth(NINE, curve, progress=p)) == [100]
    assert stages(lambda p: dt.invariance(HALVES, MODEL, "half", progress=p)) == 4 * [100]


def test_patterns_of_gaps_are_parts_of_a_step(monkeypatch):
    now, during = [0], set()
    weigh = gaps._weigh

    def watched(*arguments):
        during.add(now[-1])
        return weigh(*arguments)

    monkeypatch.setattr(gaps, "_weigh", watched)
    monkeypatch.setattr(gaps, "_CHUNK", 1)  # one pattern at a time
    dt.cfa(HOLES, MODEL, missing="fiml", progress=lambda done, total: now.append(done))
    # scoring, information, errors, and, after those of test and baseline, robust indices
    for step in (1, 2, 3, 4, 5, 6, 9):
        assert set(range(10 * step, 10 * step + 9)) <= during, step


def test_steps_beyond_those_foreseen_are_not_reported():
    seen = []
    with Steps(lambda *at: seen.append(at), "steps", 2) as steps:
        for _ in steps.through([1, 2]):
            pass
        assert seen[-1] == (4, 20)
        for _ in steps.through(range(3)):  # another pass of the same step goes not back
            assert seen[-1] in {(4, 20), (6, 20)}
        steps.done()
        assert seen[-1] == (10, 20)
        steps.done()
        steps.done()
    assert seen == [(k, 20) for k in range(1, 21)]


def test_steps_that_are_not_needed_count_as_done_unless_the_work_failed():
    seen = []
    with Steps(lambda *at: seen.append(at), "steps", 3) as steps:
        steps.done()
    assert seen[-1] == (30, 30)
    failing = pytest.raises(ValueError, match="no")
    with failing, Steps(lambda *at: seen.append(at), "steps", 3) as steps:
        steps.done()
        raise ValueError("no")
    assert seen[-1] == (10, 30)


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("read") / "large.csv"
    pd.concat([NINE.round(3)] * 300).to_csv(file, index=False)  # some megabytes
    return file


def test_a_file_says_how_much_of_it_is_read(large_file, monkeypatch):
    now, during = [0], set()
    read = formats._Told.read

    def watched(self, size):
        during.add(now[-1])
        return read(self, size)

    monkeypatch.setattr(formats._Told, "read", watched)
    told = dt.read_survey(large_file, progress=lambda done, total: now.append(done))
    pd.testing.assert_frame_equal(told, dt.read_survey(large_file))
    assert len(during) > 5
    assert stages(lambda progress: dt.read_survey(large_file, progress=progress)) == [20]
    assert stages(lambda progress: dt.cfa(large_file, MODEL, progress=progress)) == [20, 100]
    assert stages(lambda progress: dt.fit(large_file, progress=progress))[0] == 20
    known = {"structure": dt.Structure.from_keys({"F": ["x1", "x2", "x3"]})}
    assert stages(lambda progress: dt.fit(large_file, progress=progress, **known))[0] == 20


def test_reading_can_be_interrupted_in_between(large_file):
    seen = []

    def stop_early(done, total):
        seen.append(done)
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dt.read_survey(large_file, progress=stop_early)
    assert seen == [1, 2, 3, 4]


def test_long_numbers_are_found_between_two_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_PIECE", 7)
    for indent in range(7):
        file = tmp_path / f"{indent}.csv"
        file.write_text("a,b\n" + "1,2\n" * 3 + f"{10**indent},2.5\n{10**16 + 1}.0,3\n")
        with pytest.raises(dt.InputError, match="more digits"):
            dt.read_survey(file)


def test_interrupting_ends_the_call(tmp_path):
    fit, page = dt.fit(NINE), tmp_path / "a.html"
    calls = (
        lambda: dt.certify(NINE, progress=stop),
        lambda: dt.fit(NINE, progress=stop),
        lambda: fit.report(page, progress=stop),
        lambda: dt.cfa(NINE, MODEL, progress=stop),
    )
    for call in calls:
        with pytest.raises(KeyboardInterrupt):
            call()
    assert not page.exists()
