import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import dtstat as dt
from dtstat.trust.recovery import recovery_events

SMALL = {"n_factors": 2, "items_per_factor": 3, "loading": 0.8}


@pytest.fixture(scope="module")
def small():
    """Simulated with few draws."""
    return dt.plan(**SMALL, measure="kendall", n_draws=80, seed=1)


def kendall(rho):
    return 2 / math.pi * math.asin(rho)


def smallest(error, wanted):
    """Smallest n ≥ 2 with error(n) ≤ wanted, by trying."""
    return next(n for n in range(2, 100_000) if error(n) <= wanted)


@pytest.mark.parametrize(("sharp", "wanted"), [(True, 0.05), (False, 0.05), (True, 0.001)])
def test_guarantees_by_hand(sharp, wanted):
    """All pairs; or for the factors each its 3 + 3 pairs, at the local margin."""
    plan = dt.plan(
        **SMALL, factor_correlation=0.3, measure="kendall", n_draws=0, sharp=sharp, error=wanted
    )
    gamma = (kendall(0.64) - kendall(0.64 * 0.3)) / 2
    assert plan.margin.value == pytest.approx(gamma)

    def tail(n):
        effective = n // 2 if sharp else n / 2
        return 2 * math.exp(-effective * gamma**2 / (2 if sharp else 4))

    pairs = {"graph": 15, "factors": 2 * (3 + 3)}
    table = plan.table.set_index("target")
    for target, count in pairs.items():
        n = table.loc[target, "guarantee"]
        if sharp:
            assert n == smallest(lambda m, count=count: count * tail(m), wanted)
        else:
            assert n == smallest(
                lambda m, count=count: count * 2 * math.exp(-m * gamma**2 / 8), wanted
            )
    assert math.isnan(table.loc["fit", "guarantee"])
    assert (table.loc[["graph", "factors"], "normal"] < table["guarantee"].iloc[:2]).all()


def test_without_simulation():
    plan = dt.plan(**SMALL, n_draws=0)
    assert plan.simulated == {}
    columns = ["target", "meaning", "guarantee", "normal", "simulation"]
    assert list(plan.table) == [*columns, "simulation_low", "simulation_high"]
    assert plan.table["target"].tolist() == ["graph", "factors", "fit", "certified"]
    assert plan.table.filter(like="simulation").isna().all(axis=None)
    assert "surveys drawn" not in plan.summary().to_text()


def test_simulation_finds_a_number_that_is_enough(small):
    """Draw anew at the number found: the share of failures is near 5 %."""
    table = small.table.set_index("target")
    simulated = table["simulation"]
    assert (simulated.iloc[:2] < table["normal"].iloc[:2]).all()
    assert simulated["factors"] <= simulated["graph"]
    assert (table["simulation_low"] <= simulated).all()
    assert (simulated <= table["simulation_high"]).all()
    n, separated = int(simulated["graph"]), 0
    for k in range(400):
        rng = np.random.default_rng([5, k])
        Z = np.repeat(rng.normal(size=(n, 2)), 3, axis=1)
        X = 0.8 * Z + 0.6 * rng.normal(size=(n, 6))
        tau = np.abs(pd.DataFrame(X).corr("kendall").to_numpy())
        within = [tau[a, b] for c in (0, 3) for a, b in combinations(range(c, c + 3), 2)]
        separated += min(within) > tau[:3, 3:].max()
    assert 0.88 < separated / 400 < 0.995


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_what_is_simulated_is_what_is_asked_for():
    """The same draw of a survey, looked at by hand."""
    design = dt.survey_design(**SMALL)
    recovers = recovery_events(design, dt.fit(design.draw(100, np.random.default_rng(0))).call)
    del recovers["certified"]  # needs more people; below
    factors = {frozenset({0, 1, 2}), frozenset({3, 4, 5})}
    seen = {target: set() for target in recovers}
    for k in range(30):
        X = design.draw(18, np.random.default_rng(k))
        R = np.abs(spearmanr(X).statistic)
        within = [R[a, b] for one in factors for a, b in combinations(sorted(one), 2)]
        local = [
            min(R[a, b] for a, b in combinations(sorted(one), 2))
            > min(max(R[u, v] for v in set(range(6)) - one) for u in one)
            for one in factors
        ]
        found = {frozenset(np.flatnonzero(column).tolist()) for column in dt.fit(X).support.T}
        expected = {
            "graph": min(within) > R[:3, 3:].max(),
            "factors": all(local),
            "fit": found == factors,
        }
        for target, recovered in recovers.items():
            answer = recovered(18, np.random.default_rng(k))
            assert answer == expected[target], (target, k)
            seen[target].add(answer)
    assert all(answers == {True, False} for answers in seen.values())


def test_certified_is_what_certify_certifies():
    """The same draw of a survey, certified by the public function."""
    design = dt.survey_design(**SMALL)
    recovers = recovery_events(design, dt.fit(design.draw(100, np.random.default_rng(0))).call)
    seen = []
    for k in range(20):
        X = design.draw(110, np.random.default_rng(k))
        found = dt.certify(X, n_draws=20, n_splits=0, seed=1)
        sure = {tuple(np.flatnonzero(one).tolist()) for one in found.members[found.certified]}
        expected = {(0, 1, 2), (3, 4, 5)} <= sure
        assert recovers["certified"](110, np.random.default_rng(k)) == expected
        seen.append(expected)
    assert set(seen) == {True, False}


def test_nobody_is_asked_for_factors_that_no_threshold_shows():
    plan = dt.plan(n_factors=2, loading=[0.9, 0.2], factor_correlation=0.8, n_draws=2, seed=1)
    assert "certified" not in plan.simulated
    measured = dt.plan(**SMALL, measure="xi", n_draws=2, most_rows=60, seed=1)
    assert "certified" not in measured.simulated


def test_seed():
    plans = [dt.plan(**SMALL, n_draws=8, seed=seed).table for seed in (1, 1, 50)]
    pd.testing.assert_frame_equal(plans[0], plans[1])
    assert not plans[0].equals(plans[2])


def test_a_design_is_the_same_as_its_arguments():
    design = dt.survey_design(**SMALL)
    a, b = dt.plan(design, n_draws=0, seed=1), dt.plan(**SMALL, n_draws=0, seed=1)
    pd.testing.assert_frame_equal(a.table, b.table)


def test_a_margin_that_is_not_positive():
    """One weak factor next to a strong one it is tied to: no threshold for both."""
    plan = dt.plan(n_factors=2, loading=[0.9, 0.2], factor_correlation=0.8, n_draws=0)
    assert plan.margin.value < 0
    assert plan.table[["guarantee", "normal"]].isna().all(axis=None)
    text = plan.summary().to_text()
    assert "violated" in text
    assert "nan" not in text
    assert plan.curves().empty


def test_a_target_out_of_reach_has_no_number():
    plan = dt.plan(
        n_factors=2,
        items_per_factor=3,
        loading=[0.9, 0.3],
        factor_correlation=0.8,
        n_draws=16,
        most_rows=60,
        seed=1,
    )
    table = plan.table.set_index("target")
    assert math.isnan(table.loc["graph", "simulation"])
    assert plan.simulated["graph"].rows.max() <= 60
    assert "nan" not in plan.summary().to_text()


def test_curves(small):
    frame = small.curves()
    assert list(frame) == ["target", "method", "n", "error"]
    assert set(frame["method"]) == {"guarantee", "normal", "simulation", "draws"}
    assert frame["error"].between(0, 1).all()
    gamma = kendall(0.64) / 2
    part = frame[(frame["target"] == "graph") & (frame["method"] == "guarantee")]
    expected = [min(1, 15 * 2 * math.exp(-(n // 2) * gamma**2 / 2)) for n in part["n"]]
    np.testing.assert_allclose(part["error"], expected)
    assert part["error"].is_monotonic_decreasing
    tried = frame[(frame["target"] == "fit") & (frame["method"] == "draws")]
    curve = small.simulated["fit"]
    assert tried["n"].tolist() == curve.rows.tolist()
    np.testing.assert_allclose(tried["error"], 1 - curve.recovered / curve.draws)


def test_tidy(small):
    tidy = small.tidy()
    assert list(tidy) == ["target", "method", "n", "error", "measure"]
    assert len(tidy) == 12
    wide = tidy.pivot(index="target", columns="method", values="n")
    table = small.table.set_index("target")
    for method in ("guarantee", "normal", "simulation"):
        pd.testing.assert_series_equal(
            wide[method].sort_index(),
            table[method].sort_index(),
            check_names=False,
            check_dtype=False,
        )


def test_summary(small):
    text, table = small.summary().to_text(), small.table
    assert "6 items, 2 factors, continuous answers, loadings 0.80, factor correlations 0.00" in text
    assert "at most 5% error" in text
    for n in (*table["guarantee"][:2], *table["normal"][:2], *table["simulation"]):
        assert f" {n:.0f} " in text.replace("\n", " \n")
    assert "seed 1" in text
    assert repr(small).startswith("SurveyPlan: SurveyDesign: 6 items")


@pytest.mark.parametrize(("error", "words"), [(0.001, "0.1%"), (0.005, "0.5%"), (0.025, "2.5%")])
def test_a_small_error_is_not_printed_as_none(error, words):
    assert words in dt.plan(**SMALL, error=error, n_draws=0).summary().to_text()


def test_one_factor():
    plan = dt.plan(n_factors=1, n_draws=0)
    text = plan.summary().to_text()
    assert "5 items, 1 factor, continuous" in text
    assert "factor correlations" not in text


def test_answers_on_a_scale_are_simulated():
    plan = dt.plan(**SMALL, levels=2, measure="kendall", n_draws=0)
    # tau of answers cut at the middle: (2/π) asin ρ, the phi coefficient
    assert plan.margin.value == pytest.approx(kendall(0.64) / 2, abs=0.02)
    text = plan.summary().to_text()
    assert "(simulated)" in text
    assert "2-point answers" in text


@pytest.mark.parametrize("measure", ["spearman", "kendall", "pearson"])
def test_no_guarantee_for_ratings(measure):
    """The inequalities are for items without ties, which ratings have."""
    plan = dt.plan(**SMALL, levels=5, measure=measure, n_draws=0)
    assert plan.bound is None
    assert plan.table["guarantee"].isna().all()
    text = plan.summary().to_text()
    assert f"none for ratings: the inequality of '{measure}' is for items without ties" in text
    given = dt.plan(design=dt.survey_design(**SMALL, levels=5), measure=measure, n_draws=0)
    assert given.table["guarantee"].isna().all()
    continuous = dt.plan(**SMALL, measure=measure, n_draws=0)
    assert continuous.table["guarantee"].notna().sum() == 2
    assert "the threshold in the middle of the gap" in continuous.summary().to_text()


def test_targets_are_said_to_be_different_events():
    assert "different events" in dt.plan(**SMALL, n_draws=0).summary().to_text()


def test_a_measure_without_bound():
    plan = dt.plan(**SMALL, measure="xi", n_draws=0)
    assert plan.table["guarantee"].isna().all()


def test_cross_loadings():
    loading = np.zeros((7, 2))
    loading[:3, 0] = loading[4:, 1] = 0.7
    loading[3] = 0.5
    plan = dt.plan(loading=loading, measure="pearson", n_draws=0)
    # weakest within: the item of both factors with another, 0.35; between: nothing in common
    assert plan.margin.value == pytest.approx(0.35 / 2)
    assert plan.n_items == 7


def test_what_is_loaded_is_what_was_saved(small, tmp_path):
    small.save(tmp_path / "plan")
    again = dt.load(tmp_path / "plan")
    assert isinstance(again, dt.SurveyPlan)
    assert again.summary().to_text() == small.summary().to_text()
    pd.testing.assert_frame_equal(again.curves(), small.curves())


def test_html_and_latex(small):
    assert "<table" in small.summary().to_html()
    assert r"with 95 \% interval" in small.summary().to_latex()


def test_progress():
    seen = []
    dt.plan(**SMALL, n_draws=8, seed=1, progress=lambda done, total: seen.append((done, total)))
    assert seen
    assert all(done <= total for done, total in seen)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "`n_factors`"),
        ({"n_factors": 0}, "`n_factors` must be a whole number of at least 1"),
        ({"n_factors": 2, "items_per_factor": 1}, "`items_per_factor`.*at least 2"),
        ({"n_factors": 2, "items_per_factor": [3, 3, 3]}, "`items_per_factor` must be one"),
        ({"n_factors": 2, "loading": 1}, "`loading` must be between 0 and 1"),
        ({"n_factors": 2, "loading": [0.5, 0.5, 0.5]}, "`loading`"),
        ({"n_factors": 2, "factor_correlation": 1}, "`factor_correlation`"),
        ({"n_factors": 2, "levels": 1}, "`levels`"),
        ({"n_factors": 2, "measure": "nope"}, "`measure`"),
        ({"n_factors": 2, "error": 0}, r"`error` must be a number in \(0, 1\)"),
        ({"n_factors": 2, "error": 1}, "`error`"),
        ({"n_factors": 2, "n_draws": -1}, "`n_draws`"),
        ({"n_factors": 2, "most_rows": 5}, "`most_rows`"),
        ({"n_factors": 2, "seed": -1}, "`seed`"),
        ({"design": "three factors"}, "`design` must be made by survey_design.*str"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(dt.InputError, match=message):
        dt.plan(**options)


def test_a_design_and_its_arguments_do_not_go_together():
    """Else one of them is silently passed over."""
    with pytest.raises(dt.InputError):
        dt.plan(dt.survey_design(**SMALL), n_factors=5, n_draws=0)
