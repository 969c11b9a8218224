"""Difference tests, Vuong's test, Wald and score tests: refusals, closed forms, twins."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import dtstat as dt
from dtstat.core.errors import InputError
from dtstat.sem.vuong import weighted_chi_square_tail

TWO = "visual =~ x1 + x2 + x3; speed =~ x7 + x8 + x9"


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return dt.load_dataset("holzinger_swineford_9")


@pytest.fixture(scope="module")
def two(data):
    return dt.cfa(data, TWO)


def test_models_are_sorted_and_named(data, two):
    one = dt.cfa(data, TWO + "; visual ~~ 0*speed")
    more = dt.cfa(data, TWO + "; x7 ~~ x8")
    found = dt.compare_models(one, more, two, names=["none", "more", "two"])
    assert list(found.table.index) == ["more", "two", "none"]
    assert found.table["Chisq diff"].iloc[1:].tolist() == pytest.approx(
        [
            two.fit_measures["chisq"] - more.fit_measures["chisq"],
            one.fit_measures["chisq"] - two.fit_measures["chisq"],
        ]
    )
    assert "Pr(>Chisq)" in repr(found)
    assert "<table>" in found._repr_html_()


def test_a_comparison_can_be_saved(data, two, tmp_path):
    found = dt.compare_models(two, dt.cfa(data, TWO + "; x7 ~~ x8"))
    found.save(tmp_path / "found.dtstat")
    pd.testing.assert_frame_equal(dt.load(tmp_path / "found.dtstat").table, found.table)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda d: dt.cfa(d, TWO + "; x1 ~~ x7; visual ~~ 0*speed"), "same degrees of freedom"),
        (lambda d: dt.cfa(d.iloc[:200], TWO + "; x7 ~~ x8"), "same rows"),
        (lambda d: dt.cfa(d, TWO + " + x4"), "'x4' is in one of them only"),
        (lambda d: dt.cfa(d, TWO, estimator="mlr"), "same estimator"),
        (lambda d: dt.cfa(d, TWO + "; x7 ~~ x8", mean_structure=True), "mean structure"),
        (lambda d: dt.cfa(d.assign(x1=d["x1"] ** 2), TWO + "; x7 ~~ x8"), "same rows"),
        (lambda d: "text", "got str"),
    ],
)
def test_what_cannot_be_compared_is_refused(data, two, other, message):
    with pytest.raises(InputError, match=message):
        dt.compare_models(two, other(data))


def test_models_that_are_not_nested_are_found_out(data):
    a = dt.cfa(data, TWO + "; x1 ~~ x2")
    c = dt.cfa(data, TWO + "; x7 ~~ x8; x1 ~~ x9")
    with pytest.raises(InputError, match=r"not nested.*vuong\(\)"):
        dt.compare_models(a, c)


def test_equivalent_ways_to_write_a_model_are_nested(data):
    """A marker or a fixed variance: the table does not show the nesting, the moments do."""
    marker = dt.cfa(data, TWO + "; x7 ~~ x8")
    fixed = dt.cfa(data, TWO, std_lv=True)
    assert dt.compare_models(marker, fixed).differences[0].df == 1


def test_one_model_is_not_enough(two):
    with pytest.raises(InputError, match="two fitted models or more"):
        dt.compare_models(two)
    with pytest.raises(InputError, match="2 different names"):
        dt.compare_models(two, two, names=["a", "a"])
    with pytest.raises(InputError, match="'standard' for tests that are not scaled"):
        dt.compare_models(two, two, method="satorra_2000")


def test_score_and_likelihood_ratio_agree_for_small_misfit():
    rng = np.random.default_rng(3)
    z = rng.normal(size=(20_000, 1))
    X = z * [0.8, 0.7, 0.6, 0.7] + rng.normal(size=(20_000, 4))
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    equal, free = dt.cfa(frame, "f =~ a + l*b + l*d + c"), dt.cfa(frame, "f =~ a + b + d + c")
    change = dt.compare_models(equal, free).differences[0].chisq
    test = dt.score_test(equal)
    assert test.chisq == pytest.approx(change, rel=0.02)
    labelled = dt.cfa(frame, "f =~ a + l*b + m*d + c")
    assert dt.wald_test(labelled, "l == m").chisq == pytest.approx(change, rel=0.02)
    loadings = labelled.parameters.set_index("label")["est"]
    assert test.table["epc"][0] == pytest.approx(loadings["m"] - loadings["l"], rel=0.05)


def test_score_test_of_added_parameters_is_the_modification_index(data, two):
    indices = two.modification_indices().set_index(["lhs", "op", "rhs"])
    found = dt.score_test(two, add=["x7 ~~ x8", "visual =~ x9"]).table
    for row in found.itertuples():
        wanted = indices.loc[(row.lhs, row.op, row.rhs)]
        assert row.chisq == pytest.approx(wanted["mi"])
        assert row.epc == pytest.approx(wanted["epc"])


def test_one_of_several_restrictions_can_be_chosen(data):
    grouped = data.assign(g=np.resize(["a", "b"], len(data)))
    fit = dt.cfa(grouped, TWO, group="g", group_equal="loadings")
    whole, one = dt.score_test(fit), dt.score_test(fit, release="visual =~ x3")
    assert len(one.table) == 1
    wanted = whole.table.query("rhs == 'x3'")["chisq"].item()
    assert one.chisq == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: dt.score_test(f), "no parameters that are held equal"),
        (lambda f: dt.score_test(f, add="x7 ~~ x7"), "has already"),
        (lambda f: dt.score_test(f, add="x7 ~~ x99"), "x99"),
        (lambda f: dt.score_test(f, add="a == b"), "must be parameters"),
        (lambda f: dt.score_test(f, add=[]), "must be parameters"),
        (lambda f: dt.score_test(f, release="x1 ~~ x2"), "not held equal"),
        (lambda f: dt.score_test(f, release="a", add="x1 ~~ x2"), "together"),
        (lambda f: dt.wald_test(f, "a == 0"), "label of no parameter"),
        (lambda f: dt.wald_test(f, "x1 ~~ x2"), "expected an equation"),
        (lambda f: dt.wald_test(f, '"visual=~x1" == 1'), "does not hold|fixed"),
        (lambda f: dt.wald_test(f, 3), "must be a text"),
        (lambda f: dt.wald_test("f", "a == 0"), "must be a result"),
    ],
)
def test_tests_of_nothing_are_refused(two, call, message):
    with pytest.raises(InputError, match=message):
        call(two)


def test_a_repeated_equation_is_refused(data):
    fit = dt.cfa(data, "visual =~ x1 + a*x2 + b*x3")
    with pytest.raises(InputError, match="follows from the others"):
        dt.wald_test(fit, "a == b; 2*a == 2*b")


@pytest.mark.parametrize("df", [1, 2, 7, 40])
def test_equal_weights_give_a_chi_square(df):
    for x in (0.5 * df, df, 2.0 * df):
        ours = weighted_chi_square_tail(3 * x, [3.0] * df)
        assert ours == pytest.approx(chi2.sf(x, df), abs=2e-6)


def test_weights_of_any_size():
    w = np.array([3.0, 1.0, 0.2, 0.05])
    draws = (np.random.default_rng(1).normal(size=(400_000, 4)) ** 2) @ w
    for x in (1.0, 5.0, 15.0):
        share = (draws > x).mean()
        assert weighted_chi_square_tail(x, w) == pytest.approx(share, abs=4 * 0.5 / 632)
        assert weighted_chi_square_tail(1e9 * x, 1e9 * w) == pytest.approx(
            weighted_chi_square_tail(x, w), abs=1e-9
        )


def test_vuong_is_antisymmetric_and_refuses_other_data(data):
    a = dt.cfa(data, TWO + "; x1 ~~ x7")
    b = dt.cfa(data, TWO + " + x1")
    one, other = dt.vuong(a, b, data), dt.vuong(b, a, data)
    assert one.z == pytest.approx(-other.z)
    assert one.distinguishable_pvalue == pytest.approx(other.distinguishable_pvalue)
    assert one.log_ratio == pytest.approx(a.fit_measures["logl"] - b.fit_measures["logl"])
    assert one.bic_difference == pytest.approx(a.fit_measures["bic"] - b.fit_measures["bic"])
    with pytest.raises(InputError, match="not the data of the fit"):
        dt.vuong(a, b, data.iloc[::2])
    with pytest.raises(InputError, match="no column 'x9'"):
        dt.vuong(a, b, data.drop(columns="x9"))


def test_equal_models_cannot_be_told_apart(data, two):
    same = dt.cfa(data, TWO, std_lv=True)
    assert dt.vuong(two, same, data).distinguishable_pvalue > 0.99
