"""Alpha, omega and item statistics: closed forms, brute force, sem, gaps and signs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

HS = {"visual": ["x1", "x2", "x3"], "textual": ["x4", "x5", "x6"], "speed": ["x7", "x8", "x9"]}
MODEL = "\n".join(f"{name} =~ {' + '.join(items)}" for name, items in HS.items())


@pytest.fixture(scope="module")
def children():
    return dt.load_dataset("holzinger_swineford_9")


def test_alpha_and_item_statistics_are_those_of_sums(children):
    found = dt.reliability(children, {"textual": ["x4", "x5", "x6"]})
    items = children[["x4", "x5", "x6"]]
    total = items.sum(axis=1)
    alpha = 1.5 * (1 - items.var().sum() / total.var())
    assert found.factors["alpha"].item() == pytest.approx(alpha)
    for row in found.items.itertuples():
        rest = total - items[row.item]
        assert row.r_total == pytest.approx(items[row.item].corr(total))
        assert row.r_drop == pytest.approx(items[row.item].corr(rest))
        two = items.drop(columns=row.item)
        assert row.alpha_drop == pytest.approx(2 * (1 - two.var().sum() / rest.var()))


def test_omega_is_that_of_a_confirmatory_model(children):
    found = dt.reliability(children, HS).factors.set_index("factor")
    for name, items in HS.items():
        model = dt.cfa(children, f"{name} =~ {' + '.join(items)}").reliability()
        assert found.loc[name, "omega"] == pytest.approx(model.loc[name, "omega"], abs=1e-6)
        assert found.loc[name, "alpha"] == pytest.approx(model.loc[name, "alpha"])


def test_omega_h_is_that_of_a_second_order_model(children):
    general = dt.reliability(children, HS).general
    model = dt.cfa(children, MODEL + "\ng =~ visual + textual + speed").reliability().loc["g"]
    assert general["omega_h"].item() == pytest.approx(model["omega_h"], abs=1e-5)
    assert general["omega_total"].item() == pytest.approx(model["omega_total"], abs=1e-5)
    assert general["alpha"].item() == pytest.approx(model["alpha"])


def test_intervals_are_those_of_the_jackknife(children):
    part = children.iloc[:150]
    scale = {"speed": HS["speed"]}
    found = dt.reliability(part, scale).factors.iloc[0]
    without = [dt.reliability(part.drop(index=k), scale).factors for k in part.index]
    for name in ("alpha", "omega"):
        values = np.array([table[name].item() for table in without])
        error = np.sqrt((len(part) - 1) * values.var())
        reach = 1.96 * error / (1 - found[name])
        assert np.log((1 - found[f"{name}_lower"]) / (1 - found[name])) == pytest.approx(
            reach, rel=0.05
        )


def test_a_minus_turns_an_item_round(children):
    turned = children.assign(x5=-children["x5"])
    plain = dt.reliability(children, {"textual": ["x4", "x5", "x6"]})
    signed = dt.reliability(turned, {"textual": ["x4", "-x5", "x6"]})
    assert signed.items["reversed"].tolist() == [False, True, False]
    pd.testing.assert_frame_equal(plain.factors, signed.factors)
    columns = ["r_total", "r_drop", "alpha_drop"]
    pd.testing.assert_frame_equal(plain.items[columns], signed.items[columns])


def test_gaps_take_the_rows_that_pairs_have(children):
    gappy = children.mask(np.random.default_rng(1).random(children.shape) < 0.1)
    found = dt.reliability(gappy, {"speed": HS["speed"]}).factors.iloc[0]
    S = gappy[HS["speed"]].cov().to_numpy()
    assert found["alpha"] == pytest.approx(1.5 * (1 - np.trace(S) / S.sum()))
    assert found["alpha_lower"] < found["alpha"] < found["alpha_upper"]


def test_ratings_have_ordinal_versions(children):
    cut = children.apply(lambda x: pd.qcut(x, 3, labels=False))
    found = dt.reliability(cut, HS).factors
    assert (found["ordinal_alpha"] > found["alpha"]).all()
    fit = dt.cfa(cut, MODEL, ordered=True).reliability()
    assert found["ordinal_alpha"].to_numpy() == pytest.approx(fit["alpha"].to_numpy(), abs=1e-4)
    assert dt.reliability(children, HS).factors["ordinal_alpha"].isna().all()


def test_a_fit_knows_its_answers(children, tmp_path):
    fit = dt.fit(children, structure=dt.Structure.from_keys(HS))
    own, given = fit.reliability(), dt.reliability(children, HS)
    pd.testing.assert_frame_equal(own.factors, given.factors)
    pd.testing.assert_frame_equal(fit.reliability(children).items, given.items)
    fit.save(tmp_path / "fit.dtstat")
    loaded = dt.load(tmp_path / "fit.dtstat").reliability().factors
    assert loaded["alpha_lower"].isna().all()
    assert loaded["alpha"].to_numpy() == pytest.approx(given.factors["std_alpha"], abs=0.05)


def test_a_matrix_of_polychoric_correlations_says_nothing_of_sums(children):
    cut = children.apply(lambda x: pd.qcut(x, 3, labels=False))
    found = dt.reliability(dt.dependence(cut, "polychoric"), HS).factors
    assert found["alpha"].isna().all()
    expected = dt.reliability(cut, HS).factors["ordinal_omega"]
    assert found["ordinal_omega"].to_numpy() == pytest.approx(expected.to_numpy(), abs=1e-6)


def test_two_items_have_no_omega_and_one_no_alpha(children):
    found = dt.reliability(children, {"two": ["x1", "x2"], "one": ["x3"]}).factors
    assert np.isfinite(found["alpha"][0])
    assert np.isnan(found["omega"][0])
    assert np.isnan(found["alpha"][1])


def test_prints_all_tables(children):
    text = repr(dt.reliability(children, HS))
    assert all(word in text for word in ("omega_h", "alpha_drop", "301 rows", "intervals of 95 %"))
    assert "intervals" not in repr(dt.reliability(dt.dependence(children, "pearson"), HS))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"a": ["x1", "y"]}, "'y' is not there"),
        (7, "`keys` must be"),
        ({}, "must name a factor with its items"),
    ],
)
def test_refused_in_words(children, keys, message):
    with pytest.raises(dt.InputError, match=message):
        dt.reliability(children, keys)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"A": ["x1", "x2", "x3"], "B": ["x4", "x5", "x6"]}, "at least three factors"),
        ({**HS, "D": ["x1", "x4", "x7"]}, "items of one factor each"),
        ({**HS, "speed": ["-x7", "-x8", "-x9"]}, "not those of one factor above"),
    ],
)
def test_without_a_general_factor_it_says_why(keys, why):
    found = dt.reliability(dt.load_dataset("holzinger_swineford_9"), keys)
    assert found.general.empty
    assert why in found.notes[0]
    assert found.notes[0] in repr(found)
    assert dt.reliability(dt.load_dataset("holzinger_swineford_9"), HS).notes == ()


def test_a_sum_that_does_not_vary_has_no_reliability():
    """Items that cancel one another: NaN, and no warning of numpy."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 50))
    data = pd.DataFrame({"a": a, "b": b, "c": -a - b, "d": a + rng.normal(size=50)})
    found = dt.reliability(data, {"f": ["a", "b", "c"], "g": ["a", "-b", "d"]})
    none, some = found.factors[["alpha", "alpha_lower", "alpha_upper"]].to_numpy(dtype=float)
    assert np.isnan(none).all()
    assert np.isfinite(some).all()
