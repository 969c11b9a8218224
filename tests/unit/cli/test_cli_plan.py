import pandas as pd
import pytest

import dtstat as dt

FACTORS = ("plan", "--factors", 2, "--items-per-factor", 3, "--draws", 0)


def test_from_factors(run):
    expected = dt.plan(n_factors=2, items_per_factor=3, n_draws=0)
    assert run(*FACTORS) == (0, f"{expected.summary()!r}\n", "")


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (["--loading", "0.8,0.6"], {"loading": [0.8, 0.6]}),
        (["--factor-correlation", "0.3"], {"factor_correlation": 0.3}),
        (["--levels", "4"], {"levels": 4}),
        (["--measure", "kendall", "--error", "0.01"], {"measure": "kendall", "error": 0.01}),
        (["--paper"], {"sharp": False}),
        (["--items-per-factor", "3,5"], {"items_per_factor": [3, 5]}),
        (["--draws", 8, "--seed", 3], {"n_draws": 8, "seed": 3}),
    ],
)
def test_options(run, flags, options):
    given = {"items_per_factor": 3, "n_draws": 0, **options}
    expected = dt.plan(n_factors=2, **given)
    assert run(*FACTORS, *flags) == (0, f"{expected.summary()!r}\n", "")


def test_a_fresh_seed_is_printed(run):
    _, out, _ = run(*FACTORS, "--draws", 8)
    seed = int(out.split("seed ")[1].split(")")[0])
    expected = dt.plan(n_factors=2, items_per_factor=3, n_draws=8, seed=seed)
    assert out == f"{expected.summary()!r}\n"


def test_curves_as_csv(run, tmp_path):
    assert run(*FACTORS, "--csv", tmp_path / "curves.csv")[0] == 0
    expected = dt.plan(n_factors=2, items_per_factor=3, n_draws=0).curves()
    found = pd.read_csv(tmp_path / "curves.csv")
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("size", [None, 5])
def test_from_a_margin(run, tmp_path, size):
    flags = [] if size is None else ["--factor-size", size]
    file = tmp_path / "table.csv"
    status, out, err = run("plan", "--items", 25, "--margin", 0.2, *flags, "--csv", file)
    assert (status, err) == (0, "")
    expected = dt.sample_size_table(25, 0.2, 0.05, size)
    pd.testing.assert_frame_equal(pd.read_csv(file), expected)
    printed = [line.split()[:4] for line in out.splitlines()]
    for row in expected.itertuples():
        sure = "yes" if row.guaranteed else "no"
        assert [row.measure, row.form, str(row.n), sure] in printed
    assert ("one factor of 5 items" in out) == (size == 5)


def test_paper_numbers(run):
    """Kendall, 25 items, margin 0.2 by hand: C(25, 2) · 2 exp(−n γ²/8) ≤ 0.05 from n = 1879."""
    _, out, _ = run("plan", "--items", 25, "--margin", 0.2)
    assert ["kendall", "paper", "1879", "yes"] in [line.split()[:4] for line in out.splitlines()]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--items and --margin, or --factors"),
        (["--items", 25], "go together"),
        (["--margin", 0.2], "go together"),
        (["--items", 25, "--margin", 0.2, "--factors", 3], "or --factors"),
        (["--factors", 2, "--factor-size", 3], "--factor-size applies only with --margin"),
        (["--items", 25, "--margin", 0], "--margin"),
        (["--items", 1, "--margin", 0.2], "--items"),
        (["--items", 5, "--margin", 0.2, "--factor-size", 9], "--factor-size"),
        (["--factors", 0], "--n-factors"),
        (
            ["--factors", 2, "--loading", "strong"],
            "--loading must be numbers separated by commas; got",
        ),
        (["--factors", 2, "--items-per-factor", "3,4,5"], "--items-per-factor"),
        (["--factors", 2, "--loading", "1.2"], "--loading"),
        (["--factors", 2, "--error", "2"], "--error"),
        (["--factors", 2, "--measure", "nope"], "--measure"),
        (["--factors", 2, "--csv", "FOLDER/no/such.csv"], "such.csv"),
    ],
)
def test_refusals(refusal, flags, message):
    assert message in refusal("plan", *flags)


@pytest.mark.parametrize("text", ["inf", "nan", "5.7"])
def test_items_are_whole_numbers(refusal, text):
    assert "items" in refusal("plan", "--factors", 2, "--items-per-factor", text, "--draws", 0)


def test_a_small_error_is_not_printed_as_none(run):
    _, out, _ = run("plan", "--items", 25, "--margin", 0.2, "--error", 0.001)
    assert "at most 0.1%" in out
