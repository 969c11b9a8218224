import json
import sys

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

NINE = dt.load_dataset("holzinger_swineford_9")
DATA = "holzinger_swineford_9"
BY_NAME = ("fit", DATA)
R = dt.dependence(NINE, measure="pearson").to_frame()


@pytest.fixture
def matrix_file(tmp_path):
    file = tmp_path / "matrix.csv"
    R.to_csv(file)
    return file


@pytest.fixture
def unrelated(tmp_path):
    """Answers to items that have nothing in common."""
    file = tmp_path / "unrelated.csv"
    values = np.random.default_rng(1).normal(size=(200, 5))
    pd.DataFrame(values, columns=list("abcde")).to_csv(file, index=False)
    return file


def bare(data):
    """Answers as a text file keeps them: without what the items ask."""
    return pd.DataFrame(data.to_numpy(), columns=data.columns)


def shown(fit, *options):
    """The page of Python, which names its own way to another level."""
    page = f"{fit.summary(*options)!r}\n"
    assert "Use fit.level(k) for another level." in page or not len(fit.levels)
    return page.replace("fit.level(k)", "--n-factors")


def printed(*arguments, cutoff=0.3, max_rows=5, **options):
    return shown(dt.fit(*arguments, **options), cutoff, max_rows)


def test_prints_the_summary(run, survey):
    assert run(*BY_NAME) == (0, printed(NINE), "")
    assert run("fit", survey) == (0, printed(bare(NINE)), "")


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (
            ["--measure", "kendall", "--min-children", "2"],
            {"measure": "kendall", "min_children": 2},
        ),
        (["--n-factors", "2"], {"n_factors": 2}),
        (["--n-factors", "2", "--search", "threshold"], {"n_factors": 2, "search": "threshold"}),
        (["--search", "threshold"], {"search": "threshold"}),
        (
            ["--search", "threshold", "--thresholds", "0.2,0.35"],
            {"search": "threshold", "thresholds": [0.2, 0.35]},
        ),
        (
            ["--estimator", "linear", "--criterion", "bic"],
            {"estimator": "linear", "criterion": "bic"},
        ),
        (["--criterion", "validation", "--seed", "3"], {"criterion": "validation", "seed": 3}),
        (["--uncovered", "report", "--misfit", "none"], {"uncovered": "report", "misfit": "none"}),
        (["--refine", "--misfit", "none"], {"refine": True, "misfit": "none"}),
        (["--cutoff", "0.5", "--rows", "1"], {"cutoff": 0.5, "max_rows": 1}),
    ],
)
def test_every_option_is_passed_on(run, flags, options):
    assert run(*BY_NAME, *flags) == (0, printed(NINE, **options), "")


def test_missing_codes_columns_and_rows_with_gaps(run, tmp_path):
    coded = NINE.round(2).where(np.random.default_rng(1).random(NINE.shape) > 0.05, -9)
    file = tmp_path / "coded.csv"
    coded.to_csv(file, index=False)
    flags = ("--missing-codes", "-9", "--columns", "x[1-6]", "--missing", "listwise")
    chosen = coded.replace(-9, np.nan).loc[:, "x1":"x6"]
    expected = printed(bare(chosen), missing="listwise")
    assert run("fit", file, *flags) == (0, expected, "")
    assert f"of {len(coded)} rows used" in expected


def test_a_matrix(run, matrix_file):
    expected = printed(dt.DependenceMatrix.from_matrix(R, 301), measure="pearson")
    assert run("fit", matrix_file, "--matrix", "--n-obs", 301) == (0, expected, "")
    assert "a matrix of pearson dependence, 301 rows, 9 items" in expected


def test_the_summary_names_the_measure_that_a_matrix_holds(run, matrix_file):
    flags = ("--matrix", "--n-obs", 301, "--measure", "polychoric")
    _, out, _ = run("fit", matrix_file, *flags)
    assert 'fit(measure="polychoric"' in out


def test_a_fresh_seed_is_printed(run):
    _, out, _ = run(*BY_NAME, "--criterion", "validation")
    seed = out.split("seed=")[1].split(")")[0]
    assert run(*BY_NAME, "--criterion", "validation", "--seed", seed)[1] == out


def test_csv_is_the_tidy_table(run, tmp_path):
    file = tmp_path / "loadings.csv"
    assert run(*BY_NAME, "--csv", file)[0] == 0
    pd.testing.assert_frame_equal(pd.read_csv(file), dt.fit(NINE).tidy(), check_dtype=False)


def test_candidates(run, tmp_path):
    file = tmp_path / "candidates.csv"
    assert run(*BY_NAME, "--candidates", file, "--rows", 1)[0] == 0
    expected = dt.fit(NINE).candidates
    assert len(expected) > 1
    pd.testing.assert_frame_equal(pd.read_csv(file), expected, check_dtype=False)


def test_scores_of_everybody(run, tmp_path, survey, read_exactly):
    file = tmp_path / "scores.csv"
    assert run("fit", survey, "--scores", file)[0] == 0
    expected = dt.fit(survey).factor_scores(survey)
    assert expected.shape == (301, 3)
    pd.testing.assert_frame_equal(read_exactly(file), expected)


def test_json_has_what_was_found_and_what_was_asked_for(run, tmp_path, survey):
    file = tmp_path / "fit.json"
    flags = ("--search", "threshold", "--thresholds", "0.2,0.35", "--columns", "x*")
    assert run("fit", survey, *flags, "--json", file)[0] == 0
    written = json.loads(file.read_text(), parse_constant=pytest.fail)
    fit = dt.fit(NINE, search="threshold", thresholds=[0.2, 0.35])
    assert written["dtstat"] == dt.__version__
    call = written["call"]
    assert (call["command"], call["file"], call["columns"]) == ("fit", str(survey), ["x*"])
    assert (call["search"], call["thresholds"]) == ("threshold", [0.2, 0.35])
    assert (call["matrix"], call["missing"], call["seed"]) == (False, "pairwise", None)
    assert written["fit_measures"] == fit.fit_measures
    assert dt.Structure.from_keys(written["structure"], fit.item_names) == fit.structure
    assert written["loadings"]["x5"] == fit.loadings.loc["x5"].to_dict()
    assert written["factor_correlations"] == fit.factor_correlations.to_dict()
    assert (written["n_obs"], written["n_effective"]) == (301, fit.n_effective)
    assert written["attached"] == list(fit.attached_items)
    assert written["uncovered"] == list(fit.structure.uncovered)
    assert (written["explanation"], written["notes"]) == (fit.explanation, [])


def test_json_has_the_levels(run, tmp_path):
    file = tmp_path / "fit.json"
    assert run(*BY_NAME, "--n-factors", 2, "--json", file)[0] == 0
    written = json.loads(file.read_text(), parse_constant=pytest.fail)
    assert written["call"]["n_factors"] == 2
    levels = dt.fit(NINE, n_factors=2).levels
    assert [one["chosen"] for one in written["levels"]] == [False, True, False, False]
    found = pd.DataFrame(written["levels"])
    pd.testing.assert_frame_equal(found, levels, check_dtype=False)


def test_json_of_a_matrix(run, tmp_path, matrix_file):
    file = tmp_path / "fit.json"
    assert run("fit", matrix_file, "--matrix", "--n-obs", 301, "--json", file)[0] == 0
    call = json.loads(file.read_text())["call"]
    assert (call["matrix"], call["measure"], call["n_obs"]) == (True, "pearson", 301)
    assert call["missing"] is None


def test_the_lavaan_file_is_a_model_for_cfa(run, tmp_path):
    file = tmp_path / "model.lav"
    assert run(*BY_NAME, "--lavaan", file)[0] == 0
    assert file.read_text() == "F1 =~ x1 + x2 + x3\nF2 =~ x4 + x5 + x6\nF3 =~ x7 + x8 + x9\n"
    assert run("cfa", "holzinger_swineford_9", "--model", file)[0] == 0


def test_the_saved_result_loads(run, tmp_path):
    file = tmp_path / "fit.dtstat"
    _, out, _ = run(*BY_NAME, "--save", file)
    assert shown(dt.load(file)) == out


def test_no_factors(run, tmp_path, unrelated):
    names = ("loadings.csv", "candidates.csv", "fit.json")
    files = [tmp_path / name for name in names]
    flags = [
        t for pair in zip(("--csv", "--candidates", "--json"), files, strict=True) for t in pair
    ]
    status, out, err = run("fit", unrelated, *flags)
    assert (status, err) == (0, "")
    assert out.startswith("Dependence thresholding: no factor behind 5 items\n")
    written = json.loads(files[2].read_text(), parse_constant=pytest.fail)
    assert (written["structure"], written["uncovered"]) == ({}, list("abcde"))
    assert len(pd.read_csv(files[0])) == 0


def test_warnings_are_one_line_on_standard_error(run, tmp_path):
    file = tmp_path / "short.csv"
    NINE.head(8).to_csv(file, index=False)
    status, out, err = run("fit", file)
    assert status == 0
    warnings = err.splitlines()
    assert warnings
    assert all(line.startswith("dtstat: warning: ") for line in warnings)
    assert any("fewer rows (8) than items (9)" in line for line in warnings)
    assert "Note:   There are fewer rows (8) than items (9)" in out


def test_progress_on_a_terminal_only(run, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    status, out, err = run(*BY_NAME)
    assert (status, out) == (0, printed(NINE))
    assert "%|" in err


BAD_CALLS = {
    "no file": (("FOLDER/nowhere.csv",), "a file that exists"),
    "data set": (("holzinger_swinford_9",), "mean 'holzinger_swineford_9'?"),
    "measure": ((DATA, "--measure", "sperman"), "Did you mean 'spearman'?"),
    "search": ((DATA, "--search", "trees"), "Did you mean 'tree'?"),
    "estimator": ((DATA, "--estimator", "copulas"), "Did you mean 'copula'?"),
    "criterion": ((DATA, "--criterion", "ebicc"), "Did you mean 'ebic'?"),
    "uncovered": ((DATA, "--uncovered", "atach"), "Did you mean 'attach'?"),
    "misfit": ((DATA, "--misfit", "estimate"), "Did you mean 'estimated'?"),
    "missing": ((DATA, "--missing", "drop"), "got 'drop'"),
    "min children": ((DATA, "--min-children", "1"), "at least 2; got 1"),
    "thresholds": ((DATA, "--thresholds", "many"), "got 'many'"),
    "thresholds of a tree": ((DATA, "--thresholds", "50"), "applies only to --search threshold"),
    "no factors asked for": ((DATA, "--n-factors", "0"), "--n-factors must be a whole number"),
    "too many factors": (
        (DATA, "--n-factors", "5"),
        "--n-factors must be at most 4 with 9 items and at least 2 items per factor; got 5. Ask "
        "for fewer factors, or lower --min-children.",
    ),
    "factors of a search that counts them": (
        (DATA, "--n-factors", "3", "--search", "sequential"),
        "--n-factors must be left out here; got 3. The search 'sequential' finds their number; "
        "use --search tree.",
    ),
    "seed": ((DATA, "--criterion", "cv", "--seed", "-1"), "at least 0; got -1"),
    "cutoff": ((DATA, "--cutoff", "1.5"), "--cutoff must be a number in [0, 1]; got 1.5"),
    "columns": ((DATA, "--columns", "x1,y1"), "'y1'"),
    "rows of answers": ((DATA, "--n-obs", "301"), "--n-obs applies only with --matrix"),
    "matrix without rows": (("FOLDER/matrix.csv", "--matrix"), "--n-obs is required"),
    "scores of a matrix": (
        ("FOLDER/matrix.csv", "--matrix", "--n-obs", "301", "--scores", "FOLDER/s.csv"),
        "--scores does not apply to --matrix",
    ),
    "rows of a matrix": (
        ("FOLDER/matrix.csv", "--matrix", "--n-obs", "301", "--criterion", "cv"),
        "holds out rows, and a matrix has none",
    ),
    "in no factor": (("FOLDER/unrelated.csv", "--uncovered", "error"), "in no factor (a, b, c"),
    **{
        f"no folder for {flag}": ((DATA, flag, "FOLDER/no/x"), "there is no folder")
        for flag in ("--csv", "--candidates", "--scores", "--json", "--lavaan", "--save")
    },
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_input_ends_with_one_sentence_and_status_2(refusal, matrix_file, unrelated, case):
    arguments, message = BAD_CALLS[case]
    assert message in refusal("fit", *arguments)


def test_nothing_is_written_when_an_option_is_bad(refusal, tmp_path):
    refusal(*BY_NAME, "--csv", "FOLDER/x.csv", "--cutoff", "2")
    assert list(tmp_path.iterdir()) == []
