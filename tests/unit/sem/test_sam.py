"""Structural after measurement: what it is for, and what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import InputError
from dtstat.sem.model import build_model
from dtstat.sem.sam import measurement_blocks

HS = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9\n"
NAMES = [f"x{k}" for k in range(1, 10)]


@pytest.fixture(scope="module")
def data():
    return dt.load_dataset("holzinger_swineford_9")


def test_one_saturated_factor_is_that_of_the_joint_fit(data):
    text = "visual =~ x1 + x2 + x3; x7 ~ visual"
    joint, sam = dt.sem(data, text), dt.sem(data, text, method="sam")
    assert sam.call.method == "sam"
    assert sam.parameters["est"].iloc[3] == pytest.approx(joint.parameters["est"].iloc[3], rel=0.25)


@pytest.mark.filterwarnings("ignore::dtstat.core.errors.EstimationWarning")  # a Heywood case
def test_misfit_of_one_block_does_not_reach_the_others(data):
    """A wrong item in 'speed' leaves the loadings and the regression of the others as they are."""
    good = dt.sem(data, HS + "textual ~ visual", method="sam")
    bad = dt.sem(data, HS.replace("x9", "0.1*x9") + "textual ~ visual", method="sam")
    tables = [fit.parameters.set_index(["lhs", "op"])["est"] for fit in (good, bad)]
    for factor in ("visual", "textual"):
        assert np.array_equal(*(table.loc[[(factor, "=~")]] for table in tables))
    slopes = [fit.parameters.query("op == '~'")["est"].item() for fit in (good, bad)]
    assert slopes[0] == pytest.approx(slopes[1], abs=1e-6)


def test_estimates_reach_the_truth_in_a_large_sample():
    rng = np.random.default_rng(1)
    n = 40_000
    f = rng.normal(size=n)
    g = 0.5 * f + np.sqrt(0.75) * rng.normal(size=n)
    X = np.column_stack([f, 0.8 * f, 0.7 * f, g, 0.9 * g, 0.6 * g]) + rng.normal(size=(n, 6))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    fit = dt.sem(frame, "F =~ a + b + c; G =~ d + e + f; G ~ F", method="sam")
    row = fit.parameters.query("op == '~'").iloc[0]
    assert row["est"] == pytest.approx(0.5, abs=4 * row["se"])
    joint = dt.sem(frame, "F =~ a + b + c; G =~ d + e + f; G ~ F").parameters.query("op == '~'")
    assert 1.0 < row["se"] / joint["se"].item() < 1.1  # some efficiency is lost


def test_blocks_share_items_residuals_or_labels():
    def blocks(text: str) -> list[list[str]]:
        return measurement_blocks(build_model(text, NAMES))

    assert blocks(HS) == [["visual"], ["textual"], ["speed"]]
    assert blocks(HS.replace("x3", "x3 + x4")) == [["visual", "textual"], ["speed"]]
    assert blocks(HS + "x1 ~~ x9") == [["visual", "speed"], ["textual"]]
    equal = HS.replace("x2", "a*x2").replace("x5", "a*x5")
    assert blocks(equal) == [["visual", "textual"], ["speed"]]


def test_gaps_groups_and_the_bootstrap_work(data):
    gaps = data.mask(np.random.default_rng(1).random(data.shape) < 0.05)
    gaps["half"] = np.resize(["a", "b"], len(gaps))
    text = HS + "speed ~ s*visual + textual"
    fit = dt.sem(gaps, text, missing="fiml", group="half", method="sam")
    assert np.isfinite(fit.parameters["est"]).all()
    plain = dt.sem(data, text, method="sam")
    drawn = dt.bootstrap(plain, data, n_boot=60, seed=1).parameters().set_index("label")
    wanted = plain.parameters.set_index("label").loc["s", "se"]
    assert drawn.loc["s", "se"] == pytest.approx(wanted, rel=0.5)
    assert "two steps" in str(plain.summary())
    assert dt.wald_test(plain, "s == 0").df == 1


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("x1 ~ x2", {}, "no factors"),
        (HS + "g =~ visual + textual + speed", {}, "by the factor"),
        (HS + "x1 ~ textual", {}, "'x1' in a regression"),
        (HS, {"std_lv": True}, "fixes the variance"),
        (HS.replace("x2", "a*x2").replace("x3", "b*x3") + "a + b == 2", {}, "a \\+ b == 2"),
        (HS, {"method": "mas"}, "`method`"),
        (HS, {"ordered": True}, "ordered items"),
    ],
)
def test_what_cannot_be_taken_apart_is_refused(data, text, given, message):
    with pytest.raises(InputError, match=message):
        dt.sem(data, text, **{"method": "sam", **given})


def test_two_steps_have_no_likelihood_to_compare(data):
    fit = dt.sem(data, HS, method="sam")
    for call in (
        lambda: dt.compare_models(fit, fit),
        lambda: dt.score_test(fit, add="x1 ~~ x9"),
        lambda: dt.vuong(fit, fit, data),
        fit.modification_indices,
    ):
        with pytest.raises(InputError):
            call()


def test_ordered_items_are_refused():
    data = dt.load_dataset("holzinger_swineford_9").apply(lambda x: x > x.median()).astype(int)
    with pytest.raises(dt.InputError, match="fits no ordered items: use ml, mlr or fiml"):
        dt.sem(data, "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6; g ~ f", ordered=True, method="sam")
