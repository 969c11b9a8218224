import json
import re

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

NINE = dt.load_dataset("holzinger_swineford_9")
PLAIN = NINE.copy()  # as files have it: without the texts of the items
PLAIN.attrs.clear()
BY_NAME = ("report", "holzinger_swineford_9")


@pytest.fixture(scope="module")
def results():
    """A fit, its diagnosis, and something else."""
    fit = dt.fit(NINE)
    known = dt.diagnose(fit, NINE, 5, seed=1)
    return {"fit": fit, "diagnosis": known, "cfa": dt.cfa(NINE, fit.structure)}


@pytest.fixture
def saved(results, tmp_path):
    """The folder that has them as files."""
    for name, result in results.items():
        result.save(tmp_path / f"{name}.dtstat")
    return tmp_path


def made(run, file, *arguments):
    """The page that a command writes, as bytes."""
    status, out, err = run(*arguments, "-o", file, "--force")
    assert (status, err) == (0, "")
    assert out.endswith(f"\nWrote {file}; open it in a browser.\n")
    return file.read_bytes()


def expected(fit, file, *parts):
    return fit.report(file, *parts).read_bytes()


# --- answers ------------------------------------------------------------------------------------


def test_the_page_of_answers(run, survey, tmp_path):
    fit = dt.fit(NINE)
    page = expected(fit, tmp_path / "expected.html", dt.diagnose(fit, NINE, 200, seed=1))
    assert made(run, tmp_path / "a.html", *BY_NAME, "--seed", 1) == page
    fit = dt.fit(PLAIN)
    page = expected(fit, tmp_path / "plain.html", dt.diagnose(fit, PLAIN, 200, seed=1))
    assert made(run, tmp_path / "b.html", "report", survey, "--seed", 1) == page


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (
            ["--measure", "kendall", "--min-children", "2"],
            {"measure": "kendall", "min_children": 2},
        ),
        (["--n-factors", "2"], {"n_factors": 2}),
        (
            ["--search", "threshold", "--criterion", "bic"],
            {"search": "threshold", "criterion": "bic"},
        ),
        (["--criterion", "cv", "--seed", "3"], {"criterion": "cv", "seed": 3}),
        (["--estimator", "linear"], {"estimator": "linear"}),
        (["--estimator", "spline", "--seed", "3"], {"estimator": "spline", "seed": 3}),
    ],
)
def test_options(run, tmp_path, flags, options):
    page = expected(dt.fit(NINE, **options), tmp_path / "expected.html")
    assert made(run, tmp_path / "a.html", *BY_NAME, *flags, "--resamples", 0) == page


def test_columns_and_missing(run, tmp_path):
    data = PLAIN.mask(np.random.default_rng(1).random(PLAIN.shape) < 0.02, -9)
    data.to_csv(tmp_path / "gaps.csv", index=False)
    chosen = data[[f"x{k}" for k in range(4, 10)]].replace(-9, np.nan)
    page = expected(dt.fit(chosen, missing="listwise"), tmp_path / "expected.html")
    flags = ["--columns", "x4,x5,x6,x7,x8,x9", "--missing-codes", "-9", "--missing", "listwise"]
    found = made(
        run, tmp_path / "a.html", "report", tmp_path / "gaps.csv", *flags, "--resamples", 0
    )
    assert found == page


def test_the_same_seed_gives_the_same_page(run, tmp_path):
    flags = ["--stability", 4, "--resamples", 5, "--criterion", "validation"]
    one, two, other = (
        made(run, tmp_path / f"{k}.html", *BY_NAME, *flags, "--seed", seed)
        for k, seed in enumerate((1, 1, 2))
    )
    assert one == two
    assert one != other
    assert b"4 of 301 rows" in one
    assert b"5 resamples" in one


def test_stability_is_that_of_the_fit(run, tmp_path):
    fit = dt.fit(NINE, criterion="bic")
    stable = dt.stability(NINE, 3, fit, seed=5)
    page = expected(fit, tmp_path / "expected.html", None, stable)
    flags = ["--criterion", "bic", "--stability", 3, "--resamples", 0, "--seed", 5]
    assert made(run, tmp_path / "a.html", *BY_NAME, *flags) == page


@pytest.mark.parametrize("stability", [0, 3])
def test_no_factor(run, tmp_path, stability):
    values = np.random.default_rng(1).normal(size=(200, 5))
    pd.DataFrame(values, columns=list("abcde")).to_csv(tmp_path / "unrelated.csv", index=False)
    flags = ["--stability", stability, "--seed", 1]
    page = made(run, tmp_path / "a.html", "report", tmp_path / "unrelated.csv", *flags)
    assert b"<h1>No factor behind 5 items</h1>" in page
    assert (b"Resamples" in page) == bool(stability)


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("holzinger_swineford_9", "holzinger_swineford_9_report.html"),
        ("survey.csv", "survey_report.html"),
        ("my.survey.csv", "my.survey_report.html"),
        ("folder/fit.dtstat", "fit_report.html"),
    ],
)
def test_the_page_is_named_after_the_file(run, tmp_path, monkeypatch, file, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    dt.fit(PLAIN).save("folder/fit.dtstat")
    for csv in ("survey.csv", "my.survey.csv"):
        PLAIN.to_csv(csv, index=False)
    flags = [] if file.endswith("dtstat") else ["--resamples", 0]
    status, out, err = run("report", file, *flags)
    assert (status, err) == (0, "")
    assert out == f"{dt.fit(PLAIN).explanation}\nWrote {name}; open it in a browser.\n"
    # A fit from a file does not keep the answers.
    fit = dt.load(file) if file.endswith("dtstat") else dt.fit(PLAIN if "." in file else NINE)
    assert (tmp_path / name).read_bytes() == expected(fit, tmp_path / "expected.html")


def test_the_title_is_escaped(run, tmp_path):
    flags = ["--resamples", 0, "--title", "Tests & <scores>"]
    page = made(run, tmp_path / "a.html", *BY_NAME, *flags)
    assert b"<h1>Tests &amp; &lt;scores&gt;</h1>" in page
    assert b"<title>Tests &amp; &lt;scores&gt;</title>" in page


# --- matrices and results -----------------------------------------------------------------------


def test_a_matrix(run, tmp_path):
    NINE.corr().to_csv(tmp_path / "r.csv")
    # Before pandas 3 the last digit may be lost otherwise.
    values = pd.read_csv(tmp_path / "r.csv", index_col=0, dtype=str).astype(float)
    fit = dt.fit(dt.DependenceMatrix.from_matrix(values), n_obs=301)
    found = made(run, tmp_path / "a.html", "report", tmp_path / "r.csv", "--matrix", "--n-obs", 301)
    assert found == expected(fit, tmp_path / "expected.html")


def test_a_result_that_was_saved(run, saved):
    fit = dt.load(saved / "fit.dtstat")
    known = dt.load(saved / "diagnosis.dtstat")
    page = expected(fit, saved / "expected.html")
    assert made(run, saved / "a.html", "report", saved / "fit.dtstat") == page
    page = expected(fit, saved / "expected.html", known, None, "Mine")
    found = made(run, saved / "a.html", "report", saved / "diagnosis.dtstat", "--title", "Mine")
    assert found == page
    assert b"5 resamples" in page


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags",
    [
        ["--matrix"],
        ["--n-obs", "0"],
        ["--n-obs", "301"],
        ["--measure", "kendall"],
        ["--search", "threshold"],
        ["--search", "tree"],
        ["--n-factors", "2"],
        ["--estimator", "linear"],
        ["--criterion", "bic"],
        ["--min-children", "2"],
        ["--missing", "listwise"],
        ["--columns", "x1"],
        ["--missing-codes", "-9"],
        ["--resamples", "50"],
        ["--stability", "5"],
    ],
)
def test_a_result_takes_no_options_of_answers(refusal, saved, flags):
    found = refusal("report", "FOLDER/fit.dtstat", "-o", "FOLDER/a.html", *flags)
    assert f"{flags[0]} is about answers" in found
    assert not (saved / "a.html").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["FOLDER/cfa.dtstat"], "a page is made of a fit"),
        (["FOLDER/absent.dtstat"], "absent.dtstat"),
        (["FOLDER/broken.dtstat"], "broken.dtstat"),
        (["FOLDER/absent.csv"], "absent.csv"),
        (["nonsense"], "no file and no data set 'nonsense'"),
        (["holzinger_swineford_9", "--n-obs", "301"], "--n-obs applies only with --matrix"),
        (["holzinger_swineford_9", "--search", "wide"], "--search must be"),
        (["holzinger_swineford_9", "--criterion", "best"], "--criterion must be"),
        (["holzinger_swineford_9", "--estimator", "best"], "--estimator must be"),
        (["holzinger_swineford_9", "--measure", "spaerman"], "spearman"),
        (["holzinger_swineford_9", "--min-children", "0"], "--min-children must be"),
        (["holzinger_swineford_9", "--missing", "never"], "--missing must be"),
        (["holzinger_swineford_9", "--columns", "y*"], "y*"),
        (["holzinger_swineford_9", "--resamples", "1"], "at least 2; got 1"),
        (["holzinger_swineford_9", "--resamples", "0", "--stability", "1"], "at least 2; got 1"),
        (["holzinger_swineford_9", "--seed", "-1", "--criterion", "cv"], "--seed must be"),
        (["FOLDER/r.csv", "--matrix", "--n-obs", "301", "--stability", "5"], "leave out --matrix"),
        (["FOLDER/r.csv", "--matrix", "--missing", "listwise"], "--missing does not apply to"),
        (["FOLDER/r.csv", "--matrix", "--missing-codes", "9"], "--missing-codes does not apply to"),
        (["FOLDER/r.csv", "--matrix"], "--n-obs is required"),
        (["FOLDER/r.csv", "--matrix", "--n-obs", "301", "--criterion", "cv"], "holds out rows"),
    ],
)
def test_refusals(refusal, saved, flags, message):
    NINE.corr().to_csv(saved / "r.csv")
    (saved / "broken.dtstat").write_bytes(b"no result")
    assert message in refusal("report", *flags, "-o", "FOLDER/a.html")
    assert not (saved / "a.html").exists()


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("FOLDER/absent/a.html", "there is no folder"),
        ("FOLDER", "it is a folder"),
        ("FOLDER/" + "x" * 300, "too long"),
    ],
)
def test_the_page_is_refused_before_the_file_is_read(refusal, output, message):
    assert message in refusal("report", "FOLDER/absent.csv", "-o", output)


@pytest.mark.parametrize("flag", ["--resamples", "--stability"])
def test_numbers_below_0_are_refused(run, flag):
    status, out, err = run(*BY_NAME, flag, -1)
    assert (status, out) == (2, "")
    assert flag in err


def test_the_help_names_every_option_of_answers(run):
    """What a saved result refuses is looked up by the name of the argument."""
    from dtstat.cli.diagnose import _OF_ANSWERS
    from dtstat.cli.options import option_name

    status, out, _ = run("report", "--help")
    assert status == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert all(option_name(name.removesuffix("_column")) in plain for name in _OF_ANSWERS)


def test_json_has_what_the_page_shows(run, tmp_path):
    page, file = tmp_path / "a.html", tmp_path / "a.json"
    given = (*BY_NAME, "--seed", 1, "--resamples", 5, "--stability", 5, "--columns", "x1-x9")
    assert run(*given, "-o", page, "--json", file)[0] == 0
    found = json.loads(file.read_text())
    fit = dt.fit(NINE)
    assert found["call"]["command"] == "report"
    assert found["call"]["columns"] == ["x1-x9"]
    assert found["structure"] == {
        name: list(items) for name, items in fit.structure.to_keys().items()
    }
    assert found["diagnosis"]["verdict"] == dt.diagnose(fit, NINE, 5, seed=1).verdict
    assert len(found["diagnosis"]["stability_of_items"]) == 9
    assert run(*given, "-o", page, "--json", file)[0] == 2  # both exist


def test_json_of_a_saved_fit_has_no_diagnosis(run, saved, tmp_path):
    file = tmp_path / "b.json"
    assert run("report", saved / "fit.dtstat", "-o", tmp_path / "b.html", "--json", file)[0] == 0
    assert "diagnosis" not in json.loads(file.read_text())


def test_labels_are_those_of_a_codebook(run, survey, tmp_path):
    book = tmp_path / "book.csv"
    book.write_text("item,text\nx1,Sees cubes\nage,How old\n")
    for command in (["fit"], ["report", "-o", tmp_path / "c.html"], ["describe"]):
        status, out, err = run(*command[:1], survey, *command[1:], "--labels", book)
        assert (status, err) == (0, "")
        shown = (tmp_path / "c.html").read_text() if "report" in command else out
        assert "Sees cubes" in shown
    square = tmp_path / "r.csv"
    NINE.corr().to_csv(square)
    status, out, err = run("fit", square, "--matrix", "--n-obs", 301, "--labels", book)
    assert "Sees cubes" in out
    assert run("fit", survey, "--labels", book, "--json", book, "--force")[0] == 2
    assert book.read_text().startswith("item")
