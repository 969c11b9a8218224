"""``dtstat fit`` with curves of the responses."""

import json

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

NAMES = ["x1", "x2", "x3", "x4", "x5", "x6"]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    Z = rng.multivariate_normal(np.zeros(2), [[1, 0.3], [0.3, 1]], 150, method="cholesky")
    return pd.DataFrame(np.repeat(Z, 3, axis=1) + 0.7 * rng.normal(size=(150, 6)), columns=NAMES)


@pytest.fixture
def file(data, tmp_path):
    path = tmp_path / "answers.csv"
    data.to_csv(path, index=False)
    return path


def test_curves_scores_and_json(run, file, tmp_path, read_exactly):
    curves, scores, report = (tmp_path / name for name in ("curves.csv", "s.csv", "j.json"))
    flags = ("--curves", curves, "--scores", scores, "--json", report)
    status, out, err = run("fit", file, "--estimator", "spline", "--seed", 1, *flags)
    fit = dt.fit(file, estimator="spline", seed=1)
    assert (status, out, err) == (0, f"{fit.summary()!r}\n", "")
    frame = pd.read_csv(curves)
    expected = fit.response_curves()
    assert list(frame) == ["item", "factor", "z", "value", "lower", "upper"]
    pd.testing.assert_frame_equal(frame, expected)
    pd.testing.assert_frame_equal(read_exactly(scores), fit.factor_scores(file))
    written = json.loads(report.read_text(), parse_constant=pytest.fail)
    call = written["call"]
    assert (call["estimator"], call["seed"], call["finalists"]) == ("spline", 1, 3)
    assert call["preset"] is None
    assert written["loadings"] == fit.loadings.to_dict(orient="index")
    assert written["factor_correlations"] == fit.factor_correlations.to_dict(orient="index")
    assert written["explanation"] == fit.explanation


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (["--finalists", "1"], {"finalists": 1}),
        (["--criterion", "validation_2se"], {"criterion": "validation_2se"}),
        (["--measure", "maximal"], {"measure": "maximal"}),
        (["--misfit", "none", "--rows", "0"], {"misfit": "none"}),
    ],
)
def test_options_are_passed_on(run, file, flags, options):
    status, out, _ = run("fit", file, "--estimator", "spline", "--seed", 2, *flags)
    fit = dt.fit(file, estimator="spline", seed=2, **options)
    rows = 0 if "--rows" in flags else 5
    assert (status, out) == (0, f"{fit.summary(max_rows=rows)!r}\n")


def test_a_fresh_seed_is_printed(run, file):
    _, out, _ = run("fit", file, "--estimator", "spline")
    seed = out.split("seed=")[1].split(")")[0]
    assert run("fit", file, "--estimator", "spline", "--seed", seed)[1] == out


def test_the_tidy_file_and_the_saved_result(run, file, tmp_path):
    tidy, saved, candidates = (tmp_path / name for name in ("t.csv", "fit.dtstat", "c.csv"))
    flags = ("--csv", tidy, "--save", saved, "--candidates", candidates)
    status, out, _ = run("fit", file, "--estimator", "spline", "--seed", 1, *flags)
    again = dt.load(saved)
    assert status == 0
    assert f"{again.summary()!r}\n" == out
    assert pd.read_csv(tidy)["std_error"].notna().sum() == 1
    assert (pd.read_csv(candidates)["monte_carlo_se"] > 0).all()
    assert len(again.response_curves()) == 6 * 61


@pytest.mark.parametrize("estimator", ["copula", "linear"])
def test_curves_need_an_estimator_that_draws_them(refusal, file, tmp_path, estimator):
    curves = tmp_path / "curves.csv"
    message = refusal("fit", file, "--estimator", estimator, "--curves", curves)
    assert message == (
        f"dtstat: --curves needs an estimator that draws curves; '{estimator}' does not. Use "
        "--estimator spline.\n"
    )
    assert not curves.exists()


def test_curves_without_an_estimator(refusal, file, tmp_path):
    message = refusal("fit", file, "--curves", tmp_path / "c.csv")
    assert "'copula' does not" in message


BAD_CALLS = {
    "network": (("--estimator", "neural"), "effective parameters of a network is not known"),
    "preset": (("--preset", "papers"), "Did you mean 'paper'?"),
    "contradiction": (("--preset", "paper", "--criterion", "bic"), "means --criterion validation"),
    "folder": (("--estimator", "spline", "--curves", "FOLDER/no/c.csv"), "there is no folder"),
    "estimator": (("--estimator", "splin"), "Did you mean 'spline'?"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_input_ends_with_one_sentence_and_status_2(refusal, file, case):
    flags, message = BAD_CALLS[case]
    assert message in refusal("fit", file, *flags)


def test_a_matrix_has_no_curves(refusal, data, tmp_path):
    dt.dependence(data).to_frame().to_csv(tmp_path / "matrix.csv")
    flags = ("--matrix", "--n-obs", 150, "--measure", "spearman", "--estimator", "spline")
    message = refusal("fit", tmp_path / "matrix.csv", *flags)
    assert "draws curves through answers, and a matrix has none" in message


def test_too_few_rows(refusal, data, tmp_path):
    data.head(12).to_csv(tmp_path / "few.csv", index=False)
    message = refusal("fit", tmp_path / "few.csv", "--estimator", "spline", "--finalists", 1)
    assert "at least 19 rows for curves" in message
    assert "got 12" in message


def test_warnings_are_one_line_each(run, tmp_path):
    file = tmp_path / "bent.csv"
    dt.simulate("v_structure", 500, maps="one_in_five", seed=1).data.to_csv(file, index=False)
    status, out, err = run("fit", file, "--estimator", "spline", "--seed", 1, "--finalists", 1)
    assert status == 0
    assert all(line.startswith("dtstat: warning: ") for line in err.splitlines())
    assert "Rank correlations miss" in err
    assert "Note:   Rank correlations miss" in out


def test_curves_of_no_factors_are_an_empty_file(run, data, tmp_path):
    """Unrelated items have no curves: the command prints the fit and writes an empty table."""
    unrelated = data.apply(lambda x: np.random.default_rng(ord(x.name[1])).permutation(x))
    unrelated.to_csv(tmp_path / "none.csv", index=False)
    curves = tmp_path / "curves.csv"
    flags = ("--estimator", "spline", "--seed", 1, "--curves", curves)
    status, out, err = run("fit", tmp_path / "none.csv", *flags)
    assert (status, err) == (0, "")
    assert "no factor behind 6 items" in out
    assert len(pd.read_csv(curves)) == 0
