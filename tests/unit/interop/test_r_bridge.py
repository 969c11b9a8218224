"""The bridge as R calls it, without R."""

import os
import threading

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.interop import r_bridge, views
from dtstat.interop.r_bridge import revive
from dtstat.interop.wire import decode, encode

NINE = dt.load_dataset("holzinger_swineford_9")


def ask(name, progress=None, **arguments):
    answer = r_bridge.call(name, {k: encode(v) for k, v in arguments.items()}, progress)
    assert answer["ok"], answer["error"]
    return revive(decode(answer["value"]))


def refused(name, **arguments):
    answer = r_bridge.call(name, {k: encode(v) for k, v in arguments.items()})
    assert not answer["ok"]
    return answer["error"]


def test_hello():
    hello = r_bridge.hello()
    assert hello["protocol"] == r_bridge.PROTOCOL
    assert hello["version"] == dt.__version__
    assert {"fit", "diagnose", "plan", "predict"} <= set(hello["functions"])


def test_a_fit_is_the_same_as_in_python():
    parts, fit = ask("fit", data=NINE), dt.fit(NINE)
    pd.testing.assert_frame_equal(parts["loadings"], fit.loadings)
    pd.testing.assert_frame_equal(parts["factor_correlations"], fit.factor_correlations)
    assert parts["class"] == "dt_fit"
    assert parts["explanation"] == fit.explanation
    assert parts["keys"] == fit.to_keys()
    assert parts["n_obs"] == 301
    np.testing.assert_allclose(parts["fitted"] + parts["residuals"], fit.latent.R, atol=1e-15)


def test_a_saved_state_goes_on():
    state = ask("fit", data=NINE)["state"]
    scores = ask("predict", state=state, data=NINE, sd=True)
    expected = dt.fit(NINE).factor_scores(NINE, sd=True)
    pd.testing.assert_frame_equal(scores, expected, check_column_type=False)
    assert "3 factors behind 9 items" in ask("summary_text", state=state, cutoff=0.5)


def test_a_fit_brings_its_path_and_its_longest_bars():
    parts, fit = ask("fit", data=NINE), dt.fit(NINE)
    scores = fit.path_scores()
    steps = parts["path"]
    np.testing.assert_array_equal(steps, scores[list(steps)])
    bars, whole = parts["barcode"], fit.path.barcode().to_frame()
    np.testing.assert_array_equal(bars[["birth", "death"]], whole[["birth", "death"]][:40])
    assert list(bars["items"].str.replace(", ", " ")) == list(whole["items"][:40])
    assert list(bars["size"]) == list(whole["size"][:40])
    cores = {row["items"]: row["factor"] for row in bars.to_dict("records") if row["factor"]}
    assert cores == {", ".join(core): name for name, core in fit.factors[["factor", "core"]].values}
    state = parts["state"]
    np.testing.assert_array_equal(ask("path_scores", state=state), scores)
    curves = ask("response_curves", state=state)
    assert list(curves) == ["item", "factor", "z", "value", "lower", "upper"]
    np.testing.assert_array_equal(curves["value"], fit.response_curves()["value"])


def test_a_fit_brings_its_levels():
    parts, fit = ask("fit", data=NINE, n_factors=2.0), dt.fit(NINE, n_factors=2)
    assert list(parts["levels"]) == list(fit.levels)
    for name in fit.levels:
        np.testing.assert_array_equal(parts["levels"][name], fit.levels[name])
    printed = fit.summary().tables[0]
    assert parts["level_table"]["columns"] == list(printed.headers)
    assert parts["level_table"]["notes"] == list(printed.notes)
    cells = zip(*parts["level_table"]["cells"], strict=True)
    assert tuple(cells) == printed.rows
    noise = pd.DataFrame(np.random.default_rng(1).normal(size=(200, 5)))
    assert ask("fit", data=noise)["level_table"] is None


def test_another_level_of_a_saved_state():
    fit = dt.fit(NINE)
    state = ask("fit", data=NINE)["state"]
    for which in (1.0, 2.0, "broad"):
        found = ask("level", state=state, which=which)
        expected = fit.level(int(which) if isinstance(which, float) else which)
        assert found["class"] == "dt_fit"
        pd.testing.assert_frame_equal(found["loadings"], expected.loadings)
    assert "`which` must be at most 4" in refused("level", state=state, which=9.0)["message"]
    for model in ("simple", "bifactor"):
        assert ask("to_lavaan", state=state, model=model) == fit.to_lavaan(model)


def test_bars_that_factors_are_read_off_are_brought_however_short(monkeypatch):
    monkeypatch.setattr(views, "_MOST_BARS", 1)
    bars, fit = ask("fit", data=NINE)["barcode"], dt.fit(NINE)
    assert len(bars) == 3
    assert sorted(bars["factor"]) == ["F1", "F2", "F3"]
    seen = fit.factors.set_index("factor")
    np.testing.assert_array_equal(bars["birth"], seen.loc[bars["factor"], "from"])
    np.testing.assert_array_equal(bars["death"], seen.loc[bars["factor"], "to"])


@pytest.fixture
def two_schools():
    return NINE.assign(school=np.where(np.arange(len(NINE)) < 156, "Pasteur", "Grant-White"))


def test_steps_show_every_interval_of_a_structure_that_comes_back():
    path = dt.solution_path(dt.load_dataset("holzinger_swineford_26"))
    assert max(len(one.intervals) for one in path.candidates) > 1
    steps = views.view(path)["steps"]
    assert steps["tau_low"].is_monotonic_increasing
    assert len(steps) == sum(len(one.intervals) for one in path.candidates)
    for row in steps.to_dict("records"):
        assert path.at(row["tau_low"]).n_factors == row["n_factors"]


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("dependence", {"data": NINE}, "dt_dependence"),
        ("solution_path", {"data": NINE}, "dt_path"),
        ("cfa", {"data": NINE, "model": "f =~ x1 + x2 + x3"}, "dt_cfa"),
        ("efa", {"data": NINE, "n_factors": 3.0}, "dt_efa"),
        ("plan", {"n_factors": 3, "n_draws": 0}, "dt_plan"),
        ("stability", {"data": NINE, "n_boot": 3.0, "seed": 1.0}, "dt_stability"),
        ("simulate", {"design": "chain", "n": 50.0, "seed": 1.0}, "dt_simulation"),
        ("survey_design", {"n_factors": 2.0}, "dt_survey_design"),
        ("lavaan_structure", {"model": "f =~ x1 + x2"}, "dt_structure"),
    ],
)
def test_results_have_the_class_of_r(name, arguments, kind):
    assert ask(name, **arguments)["class"] == kind


def test_a_model_brings_its_free_parameters_and_its_page(two_schools):
    model = "visual =~ x1 + x2 + x3; speed =~ x7 + a*x8 + x9; twice := 2*a"
    options = {"group": "school", "group_equal": "loadings"}
    fit = dt.cfa(two_schools, model, **options)
    found = views.view(fit)
    names = found["coefficients"].names
    assert names[:4] == [".p2.", ".p3.", "a", ".p6."]
    assert "x1~1.g2" in names
    assert names.count(".p2.") == 2
    free = [row for row in fit.estimate.model.parameters if row.free]
    V = found["vcov"].values.reshape(len(free), -1)
    np.testing.assert_allclose(np.sqrt(np.diag(V)), [se for se in fit.parameters["se"] if se][:-1])
    tables = found["page"]["tables"]
    assert {table["part"] for table in tables} == {"test", "fit_measures", "estimates", "rsquare"}
    assert [t["group"] for t in tables if t["title"] == "Variances"] == list(fit.groups)
    assert [t["group"] for t in tables if t["title"] == "Defined Parameters"] == [""]
    parts = {table["title"]: table["part"] for table in tables}
    assert parts["Model Test User Model"] == "test"
    assert parts["Model Test Baseline Model"] == "fit_measures"
    assert parts["Parameter Estimates"] == parts["Latent Variables"] == "estimates"


def test_numbers_are_numbers():
    assert ask("sample_size", p=25, margin=0.2) == 940
    assert isinstance(ask("measures"), pd.DataFrame)


def test_what_the_user_did_wrong_is_told_with_a_class():
    error = refused("fit", data=NINE, search="trees")
    assert error["class"] == "InputError"
    assert "Did you mean 'tree'" in error["message"]
    assert error["argument"] == "search"
    assert error["traceback"] == ""


def test_what_dtstat_did_wrong_has_a_traceback(monkeypatch):
    monkeypatch.setitem(r_bridge.FUNCTIONS, "measures", lambda: 1 / 0)
    error = refused("measures")
    assert error["class"] == "InternalError"
    assert "division by zero" in error["message"]
    assert "Traceback" in error["traceback"]


def test_arguments_of_another_version_are_told():
    error = refused("sample_size", p=25)
    assert error["class"] == "InputError"
    assert "missing a required argument: 'margin'" in error["message"]
    assert "of the same version" in error["message"]


def test_warnings_are_data():
    twins = NINE.assign(copy=NINE["x1"])
    answer = r_bridge.call("dependence", {"data": encode(twins)})
    assert [one["class"] for one in answer["warnings"]] == ["DataWarning"]
    assert "determine each other" in answer["warnings"][0]["message"]


def test_progress_comes_from_the_main_thread_only():
    seen = []
    ask("stability", lambda done, total: seen.append((done, total)), data=NINE, n_boot=3, seed=1)
    assert seen == [(1, 3), (2, 3), (3, 3)]
    calls = []
    report = r_bridge._on_main_thread(lambda *done: calls.append(done))
    worker = threading.Thread(target=report, args=(1, 2))
    worker.start()
    worker.join()
    assert calls == []


def test_interrupts_come_back_as_data():
    def stop(done, total):
        raise KeyboardInterrupt

    arguments = {"n_factors": encode(2), "n_draws": encode(5), "seed": encode(1)}
    answer = r_bridge.call("plan", arguments, stop)
    assert answer["error"]["class"] == "KeyboardInterrupt"


def test_a_forked_process_is_refused(monkeypatch):
    monkeypatch.setattr(r_bridge, "_PROCESS", os.getpid() + 1)
    assert refused("measures")["class"] == "ForkError"


def test_objects_of_r_become_those_of_python():
    matrix = ask("dependence", data=NINE)
    wire = {
        "kind": "object",
        "class": "dt_dependence",
        "fields": {k: encode(matrix[k]) for k in ("measure", "n_obs", "items")}
        | {"values": encode(matrix["values"].to_numpy()), "pairwise_n": encode(None)},
    }
    answer = r_bridge.call("fit", {"data": wire})
    assert answer["ok"], answer
    loadings = revive(decode(answer["value"]))["loadings"]
    pd.testing.assert_frame_equal(loadings, dt.fit(NINE).loadings)
