import json
import sys

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

MODEL = "visual =~ x1 + x2 + x3\nspeed =~ x7 + x8 + x9\n"
NINE = dt.load_dataset("holzinger_swineford_9")
BY_NAME = ("cfa", "holzinger_swineford_9")


@pytest.fixture
def model_file(tmp_path):
    file = tmp_path / "model.lav"
    file.write_text(MODEL)
    return file


def test_prints_the_summary(run, model_file):
    expected = f"{dt.cfa(NINE, MODEL).summary()!r}\n"
    assert run(*BY_NAME, "--model", model_file) == (0, expected, "")
    assert run(*BY_NAME, "--model", MODEL) == (0, expected, "")


def test_a_long_text_is_no_name_of_a_file(run):
    text = MODEL + "# " + "long " * 1000
    status, out, _ = run(*BY_NAME, "--model", text)
    assert status == 0
    assert "visual =~" in out


def test_prints_the_factor_table(run):
    _, out, _ = run(*BY_NAME, "--model", MODEL, "--factor-table")
    assert out == f"{dt.cfa(NINE, MODEL).factor_table()!r}\n"


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (["--estimator", "mlr"], {"estimator": "mlr"}),
        (["--std-lv", "--orthogonal"], {"std_lv": True, "orthogonal": True}),
        (["--missing", "fiml"], {"missing": "fiml"}),
    ],
)
def test_options_are_passed_on(run, flags, options):
    _, out, _ = run(*BY_NAME, "--model", MODEL, *flags)
    assert out == f"{dt.cfa(NINE, MODEL, **options).summary()!r}\n"


@pytest.fixture
def rated(tmp_path):
    """Answers on a scale of three, with a code for missing ones."""
    file = tmp_path / "rated.csv"
    data = NINE.apply(lambda x: pd.cut(x, 3, labels=False) + 1)
    data.loc[:9, "x1"] = -9
    data.to_csv(file, index=False)
    return file


@pytest.mark.parametrize(
    ("flag", "ordered"),
    [("all", True), ("x1, x2,x3,x7,x8,x9", ["x1", "x2", "x3", "x7", "x8", "x9"])],
)
def test_ordered_items_and_missing_codes(run, rated, flag, ordered):
    data = pd.read_csv(rated).replace(-9, np.nan)
    expected = dt.cfa(data, MODEL, ordered=ordered).summary()
    arguments = ("--model", MODEL, "--ordered", flag, "--missing-codes", "-9")
    assert run("cfa", rated, *arguments) == (0, f"{expected!r}\n", "")
    assert "291         301" in expected.to_text()


def test_csv_has_all_parameters(run, tmp_path):
    file = tmp_path / "parameters.csv"
    assert run(*BY_NAME, "--model", MODEL, "--csv", file)[0] == 0
    written = pd.read_csv(file, keep_default_na=False, na_values={"z": [""], "pvalue": [""]})
    pd.testing.assert_frame_equal(written, dt.cfa(NINE, MODEL).parameters, check_dtype=False)


def test_json_has_measures_and_parameters(run, tmp_path):
    file = tmp_path / "fit.json"
    assert run(*BY_NAME, "--model", MODEL, "--json", file)[0] == 0
    written = json.loads(file.read_text(), parse_constant=pytest.fail)
    fit = dt.cfa(NINE, MODEL)
    assert written["fit_measures"] == fit.fit_measures
    assert written["dtstat"] == dt.__version__
    assert written["call"]["model"] == MODEL
    assert written["call"]["file"] == "holzinger_swineford_9"
    assert written["n_obs"] == 301
    assert written["warnings"] == []
    first, second = written["parameters"][:2]
    assert (first["lhs"], first["op"], first["rhs"], first["z"]) == ("visual", "=~", "x1", None)
    assert second["est"] == fit.parameters["est"][1]


def test_warnings_are_one_line_on_standard_error(run):
    status, out, err = run(*BY_NAME, "--model", "f =~ x1; g =~ x7 + x8 + x9")
    assert (status, err.count("\n")) == (0, 1)
    assert err.startswith("dtstat: warning: Factor 'f' has one item")
    assert "Warning: Factor 'f' has one item" in out


BAD_CALLS = {
    "no file": (("--model", "FOLDER/nowhere.lav"), "a file or a model text; got"),
    "folder": (("--model", "FOLDER"), "a file or a model text; got"),
    "not text": (("--model", "FOLDER/binary.lav"), "Cannot read the model"),
    "syntax": (("--model", "f =~ x1 + "), "--model, line 1, column"),
    "item": (("--model", "f =~ x1 + x2 + x33"), "Did you mean 'x3'?"),
    "estimator": (("--model", MODEL, "--estimator", "mlrr"), "Did you mean 'mlr'?"),
    "missing": (("--model", MODEL, "--missing", "drop"), "got 'drop'"),
    "ordered": (("--model", MODEL, "--ordered", "x1,zz"), "got 'zz'"),
    "not identified": (("--model", "f =~ x1 + x2"), "not identified"),
    "no folder": (("--model", MODEL, "--json", "FOLDER/no/x.json"), "there is no folder"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_input_ends_with_one_sentence_and_status_2(refusal, tmp_path, case):
    (tmp_path / "binary.lav").write_bytes(b"\xff\xfe\x00\x81")
    arguments, message = BAD_CALLS[case]
    assert message in refusal(*BY_NAME, *arguments)


def test_a_model_is_needed(run):
    status, out, err = run(*BY_NAME)
    assert (status, out) == (2, "")
    assert "--model" in err


@pytest.fixture
def schools(tmp_path):
    file = tmp_path / "schools.csv"
    data = dt.load_dataset("holzinger_swineford_9", people=True)
    data["w"] = np.where(data["school"] == "Pasteur", 1.5, 0.5)
    data["class"] = np.arange(len(data)) // 10
    data.to_csv(file, index=False)
    return file


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["--group", "school"], {"group": "school"}),
        (
            ["--group", "school", "--group-equal", "loadings, intercepts",
             "--group-partial", "x3 ~ 1,x7 ~ 1"],
            {"group": "school", "group_equal": ["loadings", "intercepts"],
             "group_partial": ["x3 ~ 1", "x7 ~ 1"]},
        ),
        (["--weights", "w"], {"sampling_weights": "w"}),
        (["--cluster", "class", "--estimator", "mlr"], {"cluster": "class", "estimator": "mlr"}),
    ],
)  # fmt: skip
def test_groups_weights_and_clusters(run, schools, arguments, options):
    expected = dt.cfa(pd.read_csv(schools), MODEL, **options).summary()
    status, out, told = run("cfa", schools, "--model", MODEL, *arguments)
    assert (status, out) == (0, f"{expected!r}\n")
    # A column of texts that no option names is kept aside, and that is said.
    assert (told == "") if "--group" in arguments else ("'school'" in told and "aside" in told)


def test_the_ladder_of_invariance(run, schools, tmp_path):
    out = tmp_path / "steps.csv"
    expected = dt.invariance(pd.read_csv(schools), MODEL, "school", group_partial=["x3 ~ 1"])
    arguments = ("--model", MODEL, "--group", "school", "--group-partial", "x3 ~ 1")
    status, printed, _ = run("invariance", schools, *arguments, "--csv", out)
    assert (status, printed) == (0, f"{expected!r}\n")
    written = pd.read_csv(out)
    np.testing.assert_allclose(written["chisq"], expected.table["chisq"])
    assert list(written.iloc[:, 0]) == list(expected.table.index)


def test_progress_on_a_terminal_only(run, schools, monkeypatch):
    ladder = ("invariance", schools, "--model", "visual =~ x1 + x2 + x3", "--group", "school")
    for command in (ladder, ("cfa", *ladder[1:])):
        assert "%|" not in run(*command)[2]
        with monkeypatch.context() as patched:
            patched.setattr(sys.stderr, "isatty", lambda: True)
            assert "%|" in run(*command)[2]


def test_an_unknown_group_is_refused(run, schools):
    status, _, told = run("cfa", schools, "--model", MODEL, "--group", "shool")
    assert status == 2
    assert "school" in told
