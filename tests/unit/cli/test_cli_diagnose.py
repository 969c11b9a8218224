import json

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

NINE = dt.load_dataset("holzinger_swineford_9")
BY_NAME = ("diagnose", "holzinger_swineford_9")
MODEL = "visual =~ x1 + x2 + x3\nspeed =~ x7 + x8 + x9"
KEYS = {"visual": ["x1", "x2", "x3"], "speed": ["x7", "x8", "x9"]}


def printed(result, rows=20):
    return f"{result.summary(rows)!r}\n"


def test_prints_the_summary(run, survey):
    expected = printed(dt.diagnose(dt.fit(NINE), NINE, 200, seed=1))
    assert run(*BY_NAME, "--seed", 1) == (0, expected, "")
    assert run("diagnose", survey, "--seed", 1) == (0, expected, "")


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (
            ["--measure", "kendall", "--min-children", "2"],
            {"measure": "kendall", "min_children": 2},
        ),
        (["--n-factors", "2"], {"n_factors": 2}),
        (["--search", "threshold"], {"search": "threshold"}),
        (["--criterion", "bic"], {"criterion": "bic"}),
        (["--criterion", "validation", "--seed", "3"], {"criterion": "validation", "seed": 3}),
    ],
)
def test_options(run, flags, options):
    expected = printed(dt.diagnose(dt.fit(NINE, **options)))
    assert run(*BY_NAME, *flags, "--resamples", 0) == (0, expected, "")


def test_resamples_and_jobs(run):
    expected = printed(dt.diagnose(dt.fit(NINE), NINE, 7, seed=2))
    assert run(*BY_NAME, "--resamples", 7, "--seed", 2) == (0, expected, "")
    assert "7 resamples" in expected


def test_columns_and_missing(run, tmp_path):
    data = NINE.mask(np.random.default_rng(1).random(NINE.shape) < 0.02, -9)
    data.to_csv(tmp_path / "gaps.csv", index=False)
    chosen = data[[f"x{k}" for k in range(4, 10)]].replace(-9, np.nan)
    fit = dt.fit(chosen, missing="listwise")
    expected = printed(dt.diagnose(fit, chosen, 10, seed=1))
    flags = ["--columns", "x4,x5,x6,x7,x8,x9", "--missing-codes", "-9", "--missing", "listwise"]
    found = run("diagnose", tmp_path / "gaps.csv", *flags, "--resamples", 10, "--seed", 1)
    assert found == (0, expected, "")


@pytest.mark.parametrize("as_file", [True, False])
def test_model(run, tmp_path, as_file):
    (tmp_path / "model.txt").write_text(MODEL)
    model = tmp_path / "model.txt" if as_file else MODEL
    fit = dt.fit(NINE, structure=dt.Structure.from_keys(KEYS))
    expected = printed(dt.diagnose(fit, NINE, 10, seed=1))
    found = run(*BY_NAME, "--model", model, "--resamples", 10, "--seed", 1)
    assert found == (0, expected, "")
    assert "behind 6 items" in expected


def test_a_model_text_with_more_than_factors(run):
    """Covariances and regressions are passed over; x9 loads on both."""
    text = MODEL + "\nspeed =~ x1\nvisual ~~ speed\nx2 ~ x7"
    status, out, _ = run(*BY_NAME, "--model", text, "--resamples", 0)
    keys = {"visual": ["x1", "x2", "x3"], "speed": ["x7", "x8", "x9", "x1"]}
    names = ["x1", "x2", "x3", "x7", "x8", "x9"]
    fit = dt.fit(NINE, structure=dt.Structure.from_keys(keys, names))
    assert status == 0
    assert f"Margin:          {dt.diagnose(fit).margin.value:.3f}" in out


def test_matrix(run, tmp_path):
    R = dt.dependence(NINE, "pearson").to_frame()
    R.to_csv(tmp_path / "R.csv")
    status, out, err = run("diagnose", tmp_path / "R.csv", "--matrix", "--n-obs", 301)
    read = pd.read_csv(tmp_path / "R.csv", index_col=0)
    expected = dt.diagnose(dt.fit(dt.DependenceMatrix.from_matrix(read, 301)))
    assert (status, out, err) == (0, printed(expected), "")


def test_rows(run):
    options = {"uncovered": "attach", "search": "threshold"}
    expected = printed(dt.diagnose(dt.fit(NINE, **options)), rows=1)
    assert run(*BY_NAME, "--search", "threshold", "--resamples", 0, "--rows", 1)[1] == expected


def test_files(run, tmp_path):
    files = {name: tmp_path / f"out.{name}" for name in ("csv", "json", "save")}
    flags = [text for name, file in files.items() for text in (f"--{name}", file)]
    status, out, err = run(*BY_NAME, "--resamples", 10, "--seed", 1, *flags)
    expected = dt.diagnose(dt.fit(NINE), NINE, 10, seed=1)
    assert (status, out, err) == (0, printed(expected), "")
    table = pd.read_csv(files["csv"])
    pd.testing.assert_frame_equal(table, expected.tidy())
    loaded = dt.load(files["save"])
    assert loaded.summary().to_text() == expected.summary().to_text()
    content = json.loads(files["json"].read_text(), parse_constant=_no_constant)
    assert content["verdict"] == expected.verdict
    assert content["about"][0]["margin"] == expected.margin.value
    assert content["about"][0]["thresholdable"] is False
    assert [row["margin"] for row in content["factors"]] == expected.factors["margin"].tolist()
    assert [row["item"] for row in content["dropping"]] == list(NINE.columns)
    assert [row["n_unique"] for row in content["unique_children"]] == [3, 3, 3]
    assert content["outside"] == []


def _no_constant(name):
    raise AssertionError(f"{name} is not JSON")


def test_json_without_intervals_has_no_nan(run, tmp_path):
    run(*BY_NAME, "--resamples", 0, "--json", tmp_path / "out.json")
    content = json.loads((tmp_path / "out.json").read_text(), parse_constant=_no_constant)
    assert content["about"][0]["lower"] is None


def test_stability(run):
    flags = ["--resamples", 5, "--stability", 6, "--sizes", "0.25,0.5", "--seed", 1]
    status, out, err = run(*BY_NAME, *flags)
    fit = dt.fit(NINE)
    first = printed(dt.diagnose(fit, NINE, 5, seed=1))
    second = printed(dt.stability(NINE, 6, fit, sizes=[0.25, 0.5], seed=1))
    assert (status, out, err) == (0, f"{first}\n{second}", "")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["nothing.csv"], "nothing.csv"),
        (["holzinger_swineford_9", "--measure", "nope"], "measure"),
        (["holzinger_swineford_9", "--search", "nope"], "search"),
        (["holzinger_swineford_9", "--model", "nothing"], "--model must be a file or a model"),
        (["holzinger_swineford_9", "--model", "x1 ~ x2"], "no factors"),
        (["holzinger_swineford_9", "--model", "f =~ x1 + x77"], "x77"),
        (["holzinger_swineford_9", "--model", "f =~ + "], ""),
        (["holzinger_swineford_9", "--stability", "5", "--model", MODEL], "--stability"),
        (["holzinger_swineford_9", "--csv", "FOLDER/no/such.csv"], "such.csv"),
        (["FOLDER/unrelated.csv"], "no factor"),
    ],
)
def test_refusals(refusal, tmp_path, flags, message):
    values = np.random.default_rng(1).normal(size=(200, 5))
    pd.DataFrame(values, columns=list("abcde")).to_csv(tmp_path / "unrelated.csv", index=False)
    assert message in refusal("diagnose", *flags)


@pytest.mark.parametrize("flags", [["--stability", "5", "--sizes", "a half"], ["--stability", "1"]])
def test_refused_before_anything_is_printed(refusal, flags):
    """Sizes that cannot be read, and one resample."""
    refusal(*BY_NAME, "--resamples", 0, *flags)


def test_one_resample_has_no_interval(refusal):
    assert "at least 2; got 1" in refusal(*BY_NAME, "--resamples", 1)


def test_a_number_below_the_least_is_refused(run):
    status, out, err = run(*BY_NAME, "--resamples", -1)
    assert (status, out) == (2, "")
    assert "--resamples" in err
