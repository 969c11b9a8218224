"""dt.fit with curves of the item responses, and with structures that are given."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.core.errors import DTWarning, EstimationError, EstimationWarning
from dtstat.curves import mala

NAMES = [f"x{k}" for k in range(1, 7)]
TWO = dt.Structure.from_keys({"F1": NAMES[:3], "F2": NAMES[3:]}, NAMES)
BLOCKS = np.kron(np.eye(2), np.ones((3, 1))).astype(bool)


def answers(n=200, seed=0, phi=0.3, noise=0.7):
    """Two factors of three items each, straight lines."""
    rng = np.random.default_rng(seed)
    Z = rng.multivariate_normal(np.zeros(2), [[1, phi], [phi, 1]], n, method="cholesky")
    X = np.repeat(Z, 3, axis=1) + noise * rng.normal(size=(n, 6))
    return pd.DataFrame(X, columns=NAMES)


def independent(n=200, p=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def holes(data, share=0.15, seed=5):
    return data.mask(np.random.default_rng(seed).random(data.shape) < share)


def curves(data, **options):
    return dt.fit(data, estimator="spline", **({"seed": 1} | options))


def refused(match):
    return pytest.raises(dt.InputError, match=match)


def same(one, two):
    """Two fits are equal to the last bit."""
    pd.testing.assert_frame_equal(one.candidates, two.candidates)
    pd.testing.assert_frame_equal(one.response_curves(), two.response_curves())
    pd.testing.assert_frame_equal(one.factor_correlations, two.factor_correlations)
    pd.testing.assert_frame_equal(one.factor_correlation_errors, two.factor_correlation_errors)
    return True


@pytest.fixture(scope="module")
def fit():
    return curves(answers())


# --- the structure ------------------------------------------------------------------------------


def test_the_structure_is_found(fit):
    assert fit.structure == TWO
    np.testing.assert_array_equal(fit.support, BLOCKS)
    assert fit.factor_correlations.iloc[0, 1] == pytest.approx(0.3, abs=0.2)
    expected = 1 / np.sqrt(1 + 0.49)
    np.testing.assert_allclose(fit.loadings.to_numpy()[BLOCKS], expected, atol=0.1)


def test_the_call_tells_what_was_asked_for(fit):
    call = fit.call
    assert (call.estimator, call.finalists, call.seed, call.preset) == ("spline", 3, 1, None)
    text = str(fit.summary())
    assert 'estimator="spline", criterion="ebic", min_children=2, finalists=3, seed=1)' in text
    assert "preset" not in text


def test_finalists_are_not_told_without_curves():
    fit = dt.fit(answers(), finalists=2)
    assert (fit.call.finalists, fit.call.seed) == (None, None)
    assert "finalists" not in str(fit.summary())


def test_one_factor():
    data = answers(phi=0.99)
    fit = curves(data)
    assert fit.n_factors == 1
    np.testing.assert_allclose(fit.factor_correlations, 1, rtol=1e-12)
    assert fit.factor_correlation_errors.to_numpy().tolist() == [[0.0]]
    assert "Factor correlations" not in str(fit.summary())
    assert fit.factor_scores(data).shape == (200, 1)


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
@pytest.mark.parametrize("seed", range(3))
def test_independent_items_have_no_factor(seed):
    X = independent(seed=seed)
    assert dt.fit(X).n_factors == 0
    assert curves(X).n_factors == 0


def test_two_items_are_no_factor_of_three():
    """Nothing is proposed, so there is nothing to draw a curve of."""
    data = answers()[["x1", "x2"]]
    fit = curves(data, min_children=3)
    assert (fit.n_factors, fit.nonlinear) == (0, None)
    assert fit.factor_scores(data).shape == (200, 0)
    assert str(fit.summary())


def test_without_factors_the_call_is_still_the_callers():
    fit = curves(answers()[["x1", "x2"]], min_children=3)
    assert fit.response_curves().empty
    assert fit.nonlinear_loadings.empty
    assert fit.call.estimator == "spline"


def test_items_of_no_factor_have_no_curves():
    data = answers(300).assign(y=independent(300, 1, 7)[:, 0])
    fit = curves(data)
    assert fit.structure.uncovered == ("y",)
    assert "y" not in set(fit.response_curves()["item"])
    assert fit.uniquenesses["y"] == 1
    with pytest.raises(EstimationError, match=r"1 items are in no factor \(y\)"):
        curves(data, uncovered="error")


def test_an_item_may_have_two_factors():
    data = answers(400)
    data["both"] = data["x1"] + data["x4"] + 0.5 * independent(400, 1, 8)[:, 0]
    keys = {"F1": [*NAMES[:3], "both"], "F2": [*NAMES[3:], "both"]}
    fit = curves(data, structure=dt.Structure.from_keys(keys, [*NAMES, "both"]))
    frame = fit.response_curves()
    assert frame.groupby(["item", "factor"]).size().tolist() == [61] * 8
    both = fit.nonlinear_loadings.query("item == 'both'")
    assert both["factor"].tolist() == ["F1", "F2"]
    assert (both["loading"] > 0.4).all()
    assert both["r2_map"].nunique() == 1


def test_curves_choose_where_rank_correlations_cannot():
    """U-shaped items: with the copula they look unrelated to their own factor."""
    simulation = dt.simulate("v_structure", 600, maps="one_in_five", seed=4)
    fit = dt.fit(simulation.data, measure="maximal", estimator="spline", seed=1)
    np.testing.assert_array_equal(fit.support, simulation.structure.support)
    U = fit.nonlinear_loadings.set_index("item").loc["x5"]
    assert abs(U["loading"]) < 0.3 < 0.6 < U["slope"]


# --- randomness ---------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_fit(fit):
    assert same(fit, curves(answers()))


def test_another_seed_gives_other_numbers_and_the_same_structure(fit):
    other = curves(answers(), seed=2)
    assert other.structure == fit.structure
    assert other.nonlinear.log_likelihood != fit.nonlinear.log_likelihood


def test_a_fresh_seed_is_told():
    fresh = curves(answers(), seed=None)
    assert fresh.call.seed is not None
    assert same(fresh, curves(answers(), seed=fresh.call.seed))


@pytest.mark.parametrize("criterion", ["ebic", "cv", "validation"])
def test_side_by_side_gives_the_same_fit(criterion):
    one, two = (curves(answers(150), criterion=criterion, n_jobs=k) for k in (1, 2))
    assert same(one, two)


def test_global_random_numbers_are_left_alone():
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    curves(answers(100))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_order_signs_and_units_do_not_matter(fit):
    signs, units = np.array([1, -1, 1, -1, -1, -1]), np.array([1, 3, 0.1, 7, 10, 1])
    order = np.random.default_rng(0).permutation(6)
    data = (answers() * signs * units + 5).iloc[::-1, order]
    turned = curves(data)
    factors = ["F2", "F1"] if order[0] > 2 else ["F1", "F2"]
    loadings = turned.loadings.loc[NAMES, factors].to_numpy() * signs[:, None]
    own = np.sign(loadings.sum(axis=0))
    np.testing.assert_allclose(loadings * own, fit.loadings, rtol=0, atol=1e-8)
    r = turned.factor_correlations.iloc[0, 1] * own.prod()
    assert r == pytest.approx(fit.factor_correlations.iloc[0, 1], abs=1e-8)
    scores = turned.factor_scores(data).loc[answers().index, factors]
    np.testing.assert_allclose(scores * own, fit.factor_scores(answers()), rtol=0, atol=1e-8)
    ours, theirs = fit.response_curves(), turned.response_curves()
    for k, name in enumerate(NAMES):
        here, there = (one[one["item"] == name] for one in (ours, theirs))
        there = there.iloc[:: int(own[k // 3])][["value", "lower", "upper"]].to_numpy()
        there = np.sort((there - 5) / units[k] * signs[k])  # lower, value, upper
        here = here[["lower", "value", "upper"]]
        np.testing.assert_allclose(there, here, rtol=0, atol=1e-7)


def test_progress_is_told():
    seen = []
    curves(answers(100), progress=lambda *at: seen.append(at))
    assert seen[-1][0] == seen[-1][1] > 0


# --- data ---------------------------------------------------------------------------------------


def test_missing_answers_are_left_out_pairwise():
    data = holes(answers(300))
    fit = curves(data)
    assert fit.structure == TWO
    assert (fit.n_obs, fit.sample.n_complete) == (300, int(data.notna().all(axis=1).sum()))
    assert fit.n_typical < 300


def test_missing_answers_are_left_out_listwise():
    data = holes(answers(400))
    whole = data.dropna()
    fit = curves(data, missing="listwise")
    assert fit.n_obs == fit.n_typical == len(whole)
    pd.testing.assert_frame_equal(fit.response_curves(), curves(whole).response_curves())


def test_rows_left_out_are_told():
    data = holes(answers(400))
    whole = len(data.dropna())
    fit = curves(data, missing="listwise")
    assert fit.sample == dt.fit(data, missing="listwise").sample
    assert f"{whole} of 400 rows used" in str(fit.summary())


def test_missing_answers_can_be_an_error():
    with refused("missing"):
        curves(holes(answers()), missing="error")


def test_rows_without_any_answer():
    data = answers()
    data.iloc[7] = np.nan
    fit = curves(data)
    assert fit.structure == TWO
    scores = fit.factor_scores(data, sd=True)
    assert scores.iloc[7].isna().all()
    assert scores.drop(index=7).notna().all(axis=None)
    without = curves(data.drop(index=7))
    gap = fit.nonlinear.log_likelihood - without.nonlinear.log_likelihood
    assert abs(gap) < 3  # such a row has likelihood 1; draws differ


@pytest.mark.parametrize("n", [10, 18])
def test_too_few_rows_for_curves(n):
    data = answers(n, phi=0.99)
    with refused(
        f"`data` must have at least 19 rows for curves of items with 1 factor; got {n}. Use the "
        "estimator 'copula'"
    ) as caught:
        curves(data, structure=dt.Structure(np.ones((6, 1)), NAMES))
    assert caught.value.argument == "data"


def test_items_with_two_factors_need_twice_the_rows():
    support = BLOCKS.copy()
    support[0] = True
    with refused("at least 38 rows for curves of items with 2 factors; got 37"):
        curves(answers(37), structure=dt.Structure(support, NAMES))


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_nineteen_rows_are_enough():
    fit = curves(answers(19), structure=dt.Structure(np.ones((6, 1)), NAMES))
    assert np.isfinite(fit.nonlinear.log_likelihood)


def test_too_few_rows_are_those_of_the_data():
    with refused("got 22"):
        curves(answers(22), criterion="validation")
    with refused("at least 24 rows"):
        curves(answers(22), criterion="validation")


def test_an_item_with_one_answer_is_refused():
    with refused("every item must vary; got only one distinct answer in item 'x2'"):
        curves(answers().assign(x2=3.0))


def test_an_item_that_is_constant_where_rows_are_complete():
    data = answers().assign(x2=0.0)
    data.loc[:3, "x2"] = [1.0, 2.0, 3.0, 4.0]
    data.loc[:3, "x1"] = np.nan
    with refused("'x2'"):
        curves(data, missing="listwise")


def rated(data, levels=(-1.5, -0.5, 0.5, 1.5)):
    return pd.DataFrame(np.searchsorted(levels, data) + 1.0, columns=data.columns)


def test_ratings_and_continuous_items_together():
    data = answers(400)
    data[NAMES[:2]] = rated(data[NAMES[:2]])
    data["x4"] = (data["x4"] > 0).astype(float)
    fit = curves(data)
    assert fit.structure == TWO
    assert fit.sample.kinds == {"ordinal": 2, "continuous": 3, "binary": 1}
    thresholds = fit.nonlinear.model.n_thresholds[fit.nonlinear.items.place]
    assert thresholds.tolist() == [4, 4, 0, 1, 0, 0]
    # Loadings of ratings are of the response behind them: as if they had not been cut.
    np.testing.assert_allclose(fit.loadings.to_numpy()[BLOCKS], 1 / np.sqrt(1 + 0.49), atol=0.12)
    assert fit.factor_correlations.iloc[0, 1] == pytest.approx(0.3, abs=0.2)


def test_ratings_beat_numbers_for_ratings():
    """Cut items: probabilities of answers, whose logarithms are negative."""
    fit = curves(rated(answers(300)), structure=TWO)
    rows = fit.nonlinear.log_likelihoods(rated(answers(300)).to_numpy()).rows
    assert (rows < 0).all()
    assert rows.sum() == pytest.approx(fit.nonlinear.log_likelihood, abs=5)
    assert np.exp(rows).mean() < 0.5


def test_the_names_of_levels_do_not_matter():
    data = rated(answers(200))
    gaps = data.replace({4.0: 10.0, 5.0: 70.0})
    one, two = (curves(x, structure=TWO) for x in (data, gaps))
    assert one.nonlinear.log_likelihood == two.nonlinear.log_likelihood
    assert two.response_curves()["value"].max() > 50


def test_units_do_not_matter():
    data = answers(200)
    one, two = curves(data), curves(data * 1000 + 5)
    assert one.structure == two.structure
    pd.testing.assert_frame_equal(one.loadings, two.loadings, atol=1e-6)
    other = two.response_curves()["value"]
    np.testing.assert_allclose(one.response_curves()["value"] * 1000 + 5, other, rtol=1e-4)


def test_a_copy_of_an_item_is_warned_of_by_its_name():
    data = answers().rename(columns=dict(zip(NAMES, "abcdef", strict=True)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        curves(data.assign(g=data["a"]))
    said = [str(w.message) for w in caught if issubclass(w.category, dt.DataWarning)]
    assert any("'a' and 'g' determine each other" in text for text in said)


def test_a_copy_of_an_item_is_warned_of_once():
    data = answers().rename(columns=dict(zip(NAMES, "abcdef", strict=True)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        curves(data.assign(g=data["a"]))
    assert sum("determine each other" in str(w.message) for w in caught) == 1


def test_a_matrix_has_no_answers_to_draw_curves_through():
    for estimator in ("spline", "neural", "variational"):
        with refused(f"'{estimator}' draws curves through answers, and a matrix has none") as e:
            dt.fit(dt.dependence(answers()), estimator=estimator, criterion="validation")
        assert "Give the data, or use the estimator 'copula'." in str(e.value)


# --- criteria -----------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["ebic", "bic", "aic"])
def test_information_criteria(criterion):
    fit = curves(answers(150), criterion=criterion)
    assert fit.structure == TWO
    frame = fit.candidates
    assert frame[criterion].is_monotonic_increasing
    assert (frame["monte_carlo_se"] > 0).all()
    assert frame["held_out"].isna().all()
    assert f"by {criterion}" in fit.explanation


@pytest.mark.parametrize("criterion", ["validation", "validation_2se", "cv"])
def test_held_out_criteria(criterion):
    fit = curves(answers(150), criterion=criterion)
    assert fit.structure == TWO
    frame = fit.candidates
    assert frame["held_out"].is_monotonic_decreasing
    assert frame["behind"].iloc[0] == 0
    errors = frame.loc[frame["n_factors"] > 0, "monte_carlo_se"]
    assert ((errors > 0) & (errors < 0.1)).all()
    assert 0 in frame["n_factors"].tolist()  # independence competes, and its likelihood is exact
    assert f"by {criterion}" in fit.explanation
    assert fit.n_obs == 150
    # The chosen structure is fitted again to all rows.
    items = fit.nonlinear.items
    means = fit.nonlinear.scale.mean[items.place] * items.signs
    assert means == pytest.approx(answers(150).mean().to_numpy())


def test_a_validated_fit_is_the_fit_of_its_structure_to_all_rows():
    chosen = curves(answers(150), criterion="validation")
    given = curves(answers(150), structure=TWO)
    pd.testing.assert_frame_equal(chosen.response_curves(), given.response_curves())
    assert chosen.nonlinear.log_likelihood == given.nonlinear.log_likelihood
    assert chosen.candidates["log_likelihood"].iloc[0] > given.nonlinear.log_likelihood + 50


@pytest.mark.parametrize("estimator", ["spline", "copula"])
def test_rows_held_out_are_no_misfit(estimator):
    fit = dt.fit(answers(), estimator=estimator, criterion="validation", misfit="none", seed=1)
    assert "misfits by more than sampling error" not in str(fit.summary())


def test_likelihoods_of_rows_are_those_of_their_sum(fit):
    rows = fit.nonlinear.log_likelihoods(answers().to_numpy())
    error = np.hypot(rows.standard_error, fit.nonlinear.monte_carlo_se)
    assert abs(rows.total - fit.nonlinear.log_likelihood) < 4 * error
    assert fit.candidates["log_likelihood"].iloc[0] == fit.nonlinear.log_likelihood


@pytest.mark.parametrize("criterion", ["ebic", "bic", "aic"])
@pytest.mark.parametrize("estimator", ["neural", "variational"])
def test_networks_do_not_count_parameters(estimator, criterion):
    said = "counts parameters, and the number of effective parameters of a network is not known"
    with refused(f"'{criterion}' {said}") as caught:
        dt.fit(answers(), estimator=estimator, criterion=criterion)
    assert "criterion='validation_2se' or 'validation', or the estimator 'spline'" in str(
        caught.value
    )
    assert caught.value.argument == "criterion"


# --- finalists ----------------------------------------------------------------------------------


def test_one_finalist_has_no_rival():
    fit = curves(answers(), finalists=1)
    assert len(fit.candidates) == 1
    assert fit.structure == TWO
    assert re.fullmatch(
        r"Curves were fitted to the best of \d+ structures, ranked by the copula model\. "
        r"2 factors; no other structure was possible\.",
        fit.explanation,
    )


@pytest.mark.parametrize("finalists", [0, -1, 1.5, "three", None])
def test_bad_finalists(finalists):
    with refused("`finalists` must be a whole number of at least 1"):
        curves(answers(), finalists=finalists)


def test_more_finalists_than_structures():
    many, usual = curves(answers(), finalists=50), curves(answers())
    assert same(many, usual)
    assert "Curves were fitted" not in many.explanation or "no factor" not in many.explanation


# --- frozen samplers ----------------------------------------------------------------------------


def test_a_sampler_that_freezes_once_is_told(monkeypatch):
    """Warned, noted, and started again; the warning points to the caller."""
    calls = iter([True])
    monkeypatch.setattr(mala, "is_frozen", lambda *_: next(calls, False))
    with pytest.warns(EstimationWarning, match="froze and was restarted") as caught:
        fit = curves(answers(), finalists=1)
    assert len(caught) == 1
    assert fit.nonlinear.restarts == 1
    assert fit.notes == (str(caught[0].message),)
    assert f"Note:   {fit.notes[0]}" in str(fit.summary())
    assert fit.structure == TWO


def test_a_restart_of_a_loser_is_not_told(monkeypatch):
    """One factor froze once; two factors won."""
    calls = iter([True])

    def frozen(state, _):
        return state.z.shape[1] == 1 and next(calls, False)

    monkeypatch.setattr(mala, "is_frozen", frozen)
    fit = curves(answers())
    assert fit.structure == TWO
    assert (fit.notes, fit.nonlinear.restarts) == ((), 0)


def test_a_sampler_that_freezes_twice_is_an_error(monkeypatch):
    monkeypatch.setattr(mala, "is_frozen", lambda *_: True)
    with pytest.raises(EstimationError, match=r"froze.*factors of this structure coincide"):
        curves(answers(), finalists=1)


def test_other_finalists_win_if_one_freezes(monkeypatch):
    monkeypatch.setattr(mala, "is_frozen", lambda state, _: state.z.shape[1] == 2)
    fit = curves(answers())
    assert fit.n_factors == 1
    assert 2 not in set(fit.candidates["n_factors"])
    assert fit.nonlinear.model.support.shape == (6, 1)


def test_warnings_point_to_the_caller(monkeypatch):
    calls = iter([True])
    monkeypatch.setattr(mala, "is_frozen", lambda *_: next(calls, False))
    with pytest.warns(EstimationWarning, match="froze") as caught:
        curves(answers(), finalists=1)
    assert caught[0].filename == __file__


def test_warnings_of_the_copula_point_to_the_caller():
    data = answers()
    with pytest.warns(DTWarning) as caught:
        dt.fit(data.assign(y=data["x1"]))
    assert {w.filename for w in caught if "Heywood" in str(w.message)} == {__file__}


# --- networks -----------------------------------------------------------------------------------


@pytest.fixture
def brief(monkeypatch):
    """Networks that hardly learn: what is around them is tested here."""
    pytest.importorskip("torch")
    from dtstat.curves import stochastic_em as neural

    short = replace(neural.FAST, iterations=6, pretraining=40, phi_from=2)
    monkeypatch.setattr(neural, "FAST", short)


def test_a_network_has_curves_without_bands(brief):
    fit = dt.fit(answers(120), estimator="neural", criterion="validation", seed=1)
    assert fit.structure == TWO
    frame = fit.response_curves()
    assert frame["value"].notna().all()
    assert frame[["lower", "upper"]].isna().all(axis=None)
    assert fit.factor_correlation_errors.iloc[0, 1] > 0
    assert np.isnan(fit.nonlinear.n_parameters)
    assert fit.candidates.query("n_factors > 0")["n_parameters"].isna().all()
    assert np.isnan(fit.glance()["aic"].item())
    assert "Item responses" in str(fit.summary())


def test_networks_warn_of_ratings(brief):
    data = answers(120)
    data[["x1", "x5"]] = rated(data[["x1", "x5"]])
    with pytest.warns(
        EstimationWarning, match=r"take ratings for numbers \('x1', 'x5'\)"
    ) as caught:
        fit = dt.fit(data, estimator="neural", criterion="validation", seed=1, structure=TWO)
    assert len(caught) == 1
    assert fit.notes == (str(caught[0].message),)
    assert fit.nonlinear.model.noise[0] != 1


# --- given structures ---------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["copula", "linear", "spline"])
def test_a_given_structure_is_fitted(estimator):
    wrong = dt.Structure(np.ones((6, 1)), NAMES)
    fit = dt.fit(answers(), estimator=estimator, structure=wrong, seed=1)
    assert fit.structure == wrong
    assert fit.explanation == "1 factor, as given."
    assert fit.candidates["origin"].tolist() == ["given"]
    assert fit.call.search == "given"
    assert not fit.attached.any()


def test_a_structure_that_is_found_can_be_given():
    found = dt.fit(answers())
    given = dt.fit(answers(), structure=found.structure)
    pd.testing.assert_frame_equal(given.loadings, found.loadings)
    pd.testing.assert_frame_equal(given.factor_correlations, found.factor_correlations)


@pytest.mark.parametrize("estimator", ["copula", "spline"])
def test_factors_come_in_the_order_of_their_first_items(estimator):
    turned = dt.Structure.from_keys({"Z": NAMES[3:], "A": NAMES[:3]}, NAMES)
    fit = dt.fit(answers(), estimator=estimator, structure=turned, seed=1)
    assert fit.factor_names == ("A", "Z")
    assert [fit.structure.children(k) for k in range(2)] == [tuple(NAMES[:3]), tuple(NAMES[3:])]
    straight = dt.fit(answers(), estimator=estimator, structure=TWO, seed=1)
    np.testing.assert_array_equal(fit.loadings, straight.loadings)
    curves = fit.nonlinear
    assert curves is None or (curves.edges.factor == [0, 0, 0, 1, 1, 1]).all()


@pytest.mark.parametrize("estimator", ["copula", "spline"])
def test_items_come_in_the_order_of_the_structure(estimator):
    turned = dt.Structure.from_keys({"F1": NAMES[:3], "F2": NAMES[3:]}, NAMES[::-1])
    fit = dt.fit(answers(), estimator=estimator, structure=turned, seed=1)
    assert fit.item_names == tuple(NAMES[::-1])
    assert fit.structure == TWO
    scores = fit.factor_scores(answers())
    good = answers()[NAMES[3:]].mean(axis=1)
    assert list(scores) == ["F2", "F1"]  # by their first items, with the names they were given
    assert np.corrcoef(scores["F2"], good)[0, 1] > 0.9


def test_other_columns_are_not_looked_at():
    data = answers()
    more = data.assign(other=independent(200, 1, 3)[:, 0])[["other", *NAMES]]
    for estimator in ("copula", "spline"):
        one, two = (dt.fit(x, estimator=estimator, structure=TWO, seed=1) for x in (data, more))
        assert one.item_names == two.item_names
        pd.testing.assert_frame_equal(one.loadings, two.loadings)
        assert two.factor_scores(more).shape == (200, 2)


@pytest.mark.parametrize("column", ["text", "constant"])
def test_other_columns_may_be_anything(column):
    data = answers()
    data[column] = [f"p{k}" for k in range(200)] if column == "text" else 1.0
    assert dt.fit(data, structure=TWO).structure == TWO


@pytest.mark.parametrize("estimator", ["copula", "spline"])
def test_items_that_are_not_in_the_data_are_named(estimator):
    missing = dt.Structure.from_keys({"F1": [*NAMES[:2], "x33"]}, [*NAMES[:2], "x33"])
    with refused("'x33'"):
        dt.fit(answers(), estimator=estimator, structure=missing, seed=1)


def test_a_matrix_takes_a_structure():
    matrix = dt.dependence(answers().assign(other=independent(200, 1, 3)[:, 0]))
    fit, expected = dt.fit(matrix, structure=TWO), dt.fit(answers(), structure=TWO)
    pd.testing.assert_frame_equal(fit.loadings, expected.loadings)
    assert (fit.explanation, fit.n_obs) == ("2 factors, as given.", 200)
    absent = dt.Structure.from_keys({"F1": ["x1", "x2", "y"]}, ["x1", "x2", "y"])
    with refused("There is no item 'y' in the matrix"):
        dt.fit(matrix, structure=absent)


def test_a_structure_and_a_preset_contradict():
    for preset in ("paper", "paper_fast"):
        with refused("Leave `structure` out") as caught:
            dt.fit(answers(), structure=TWO, preset=preset)
        assert caught.value.argument == "structure"


def test_thresholds_are_not_for_given_structures():
    with refused("`thresholds` applies only to search='threshold'"):
        dt.fit(answers(), structure=TWO, thresholds=20)


@pytest.mark.parametrize("criterion", ["bic", "validation", "cv"])
def test_a_given_structure_is_scored_by_any_criterion(criterion):
    fit = curves(answers(150), structure=TWO, criterion=criterion)
    assert fit.explanation == "2 factors, as given."
    assert len(fit.candidates) == 1
    assert np.isfinite(fit.candidates["held_out"].item()) == (criterion != "bic")


@pytest.mark.parametrize("structure", [{"F1": 3}, "F1 ~ x1", BLOCKS])
def test_what_is_no_structure_is_refused(structure):
    with refused("`(structure|keys|model)`"):
        dt.fit(answers(), structure=structure)


def test_given_is_no_name_of_a_search():
    with refused("`search` must be a known name; got 'given'"):
        dt.fit(answers(), search="given")


def test_a_given_structure_has_no_levels():
    fit = dt.fit(answers(), structure=dt.Structure.from_keys({"F1": NAMES[:3], "F2": NAMES[3:]}))
    assert fit.levels.empty
    with refused("no tree was searched"):
        fit.level(1)


def test_items_without_factor_in_a_given_structure_are_so_because_it_was_given():
    structure = dt.Structure.from_keys({"F1": NAMES[:3]}, NAMES[:4])
    fit = dt.fit(answers(), structure=structure)
    assert "ebic" not in fit.uncovered["reason"].item()
