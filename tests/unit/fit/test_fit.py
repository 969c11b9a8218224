"""What dt.fit returns: the structure, its numbers, its frames, its file."""

import functools
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dtstat as dt
from dtstat.search.counting import log_structures

NINE = dt.load_dataset("holzinger_swineford_9")
MANY = dt.load_dataset("holzinger_swineford_26")
CRITERIA = ["ebic", "bic", "aic", "validation", "validation_2se", "cv"]
HELD_OUT = CRITERIA[3:]
SPLITS = ("aic", "cv")  # that pay little or nothing for a factor too many


@functools.cache
def nine(**options):
    return dt.fit(NINE, **options)


@functools.cache
def many(**options):
    return dt.fit(MANY, **options)


def ordered_scores(fit, data):
    return fit.factor_scores(data).to_numpy()


# --- what is found in shipped data --------------------------------------------------------------


def test_nine_tests_have_three_factors():
    keys = {"F1": ["x1", "x2", "x3"], "F2": ["x4", "x5", "x6"], "F3": ["x7", "x8", "x9"]}
    assert nine().to_keys() == keys
    assert nine().structure == dt.Structure.from_keys(keys)
    assert nine().attached_items == ()


def test_twenty_six_tests_have_the_scales_they_were_made_for():
    """Holzinger's verbal, speed and memory tests, each kind in a factor of its own."""
    groups = [set(many().structure.children(k)) for k in range(many().n_factors)]
    verbal = {name for name in MANY if name[:3] in ("t05", "t06", "t07", "t08", "t09")}
    speed = {name for name in MANY if name[:3] in ("t10", "t11", "t12", "t13")}
    memory = {name for name in MANY if name[:3] in ("t14", "t15", "t16", "t17", "t18")}
    assert verbal in groups
    found = [[k for k, group in enumerate(groups) if one <= group] for one in (speed, memory)]
    assert [len(one) for one in found] == [1, 1]
    assert len({groups.index(verbal), *found[0], *found[1]}) == 3
    assert many().structure.uncovered == ()


@pytest.mark.parametrize("fit", [nine, many], ids=["nine", "many"])
def test_cfa_of_the_latent_correlations_agrees(fit):
    fit = fit()
    matrix = dt.DependenceMatrix.from_matrix(fit.latent.R, fit.n_typical, names=fit.item_names)
    cfa = dt.cfa(matrix, fit.structure, estimator="ml")
    expected = cfa.loadings.loc[list(fit.item_names), list(fit.factor_names)]
    np.testing.assert_allclose(fit.loadings, expected, atol=1e-3)
    names = list(fit.factor_names)
    np.testing.assert_allclose(
        fit.factor_correlations, cfa.factor_correlations.loc[names, names], atol=1e-3
    )
    assert fit.fit_measures["srmr"] == pytest.approx(cfa.fit_measures["srmr"], abs=1e-3)
    for name in ("df", "npar"):
        assert fit.fit_measures[name] == cfa.fit_measures[name], name


@pytest.mark.parametrize("fit", [nine, many], ids=["nine", "many"])
def test_measures_follow_from_the_test(fit):
    fit = fit()
    told, test = fit.fit_measures, fit.reported.test
    df, n = told["df"], fit.n_obs
    residuals = fit.residuals().to_numpy()[np.triu_indices(len(fit.support), 1)]
    assert test.statistic == pytest.approx(n * residuals @ residuals, rel=1e-6)
    assert test.df == df
    assert told["chisq"] == test.chisq
    assert told["pvalue"] == pytest.approx(stats.chi2.sf(told["chisq"], df), abs=1e-12)
    excess = test.statistic / test.trace - 1
    base = test.baseline / test.baseline_trace - 1
    assert 0 < excess < base
    p = len(fit.support)
    assert told["cfi"] == pytest.approx(1 - df * excess / (p * (p - 1) / 2 * base))
    assert told["tli"] == pytest.approx(1 - excess / base)
    assert told["rmsea"] == pytest.approx(np.sqrt(excess / n))
    assert told["rmsea.ci.lower"] < told["rmsea"] < told["rmsea.ci.upper"]


def test_numbers_of_the_model_belong_together():
    fit = many()
    L, Phi = fit.loadings.to_numpy(), fit.factor_correlations.to_numpy()
    implied = L @ Phi @ L.T + np.diag(fit.uniquenesses)
    np.testing.assert_allclose(np.diag(implied), 1, atol=1e-9)
    np.testing.assert_allclose(fit.residuals(), fit.latent.R - implied, atol=1e-9)
    np.testing.assert_array_equal(L != 0, fit.support)
    np.testing.assert_allclose(np.diag(Phi), 1)


def test_factors_are_in_the_order_of_their_first_items():
    first = many().support.argmax(axis=0)
    assert (np.diff(first) > 0).all()
    assert many().factor_names == tuple(f"F{k + 1}" for k in range(many().n_factors))


# --- invariance ---------------------------------------------------------------------------------


def test_increasing_transformations_change_nothing():
    fit = dt.fit(np.exp(NINE))
    assert fit.structure == nine().structure
    assert fit.explanation == nine().explanation
    pd.testing.assert_frame_equal(fit.loadings, nine().loadings)
    scores = ordered_scores(fit, np.exp(NINE))
    np.testing.assert_allclose(scores, ordered_scores(nine(), NINE), atol=1e-9)


def test_rows_in_another_order_change_nothing():
    shuffled = NINE.sample(frac=1, random_state=1)
    fit = dt.fit(shuffled)
    assert fit.structure == nine().structure
    pd.testing.assert_frame_equal(fit.loadings, nine().loadings, atol=1e-8)
    scores = fit.factor_scores(shuffled).loc[NINE.index]
    pd.testing.assert_frame_equal(scores, nine().factor_scores(NINE), atol=1e-8)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("data", "fit"), [(NINE, nine), (MANY, many)], ids=["nine", "many"])
def test_columns_in_another_order_give_the_same_structure(data, fit, seed):
    again = dt.fit(data.sample(frac=1, axis=1, random_state=seed))
    assert again.structure == fit().structure
    # What rows count as is read off the finest level, whose fit creeps.
    for name, error in (("cost", 1e-4), ("ebic", 1e-7)):
        cost = fit().candidates[name].iloc[0]
        assert again.candidates[name].iloc[0] == pytest.approx(cost, rel=error), name


def test_a_reversed_item_has_a_negative_loading_and_a_minus():
    fit = dt.fit(NINE.assign(x2=-NINE["x2"]))
    assert fit.structure == nine().structure
    assert fit.to_keys()["F1"] == ["x1", "-x2", "x3"]
    expected = nine().loadings.copy()
    expected.loc["x2"] *= -1
    np.testing.assert_allclose(fit.loadings, expected, atol=1e-5)
    assert dt.Structure.from_keys(fit.to_keys()) == fit.structure


# --- criteria and candidates --------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["step", *CRITERIA])
def test_every_criterion_finds_three_factors_again_and_again(criterion):
    fit = nine(criterion=criterion, seed=15)
    assert fit.n_factors == 3 or (criterion in SPLITS and fit.n_factors == 4)
    again = dt.fit(NINE, criterion=criterion, seed=15)
    pd.testing.assert_frame_equal(again.candidates, fit.candidates)
    pd.testing.assert_frame_equal(again.loadings, fit.loadings)
    assert again.explanation == fit.explanation


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("fit", [nine, many], ids=["nine", "many"])
def test_the_chosen_candidate_is_first_and_the_best(fit, criterion):
    fit = fit(criterion=criterion, seed=3)
    frame = fit.candidates
    fitted = frame[frame["fitted"]]
    assert frame["fitted"].is_monotonic_decreasing
    assert fit.candidate(0) == fit.structure
    assert frame["n_factors"].iloc[0] == fit.n_factors
    if criterion in ("ebic", "bic", "aic"):
        assert fitted["cost"].is_monotonic_increasing
        assert frame["held_out"].isna().all()
        return
    assert frame["cost"].isna().all()
    if criterion != "validation_2se":
        assert fitted["held_out"].is_monotonic_decreasing
        assert fitted["behind"].iloc[0] == 0
    else:
        within = fitted[fitted["behind"] <= 2 * fitted["behind_se"]]
        assert fitted["n_parameters"].iloc[0] == within["n_parameters"].min()


@pytest.mark.parametrize("seed", range(4))
def test_two_standard_errors_never_buy_a_larger_structure(seed):
    for fit in (nine, many):
        most = fit(criterion="validation", seed=seed).candidates.iloc[0]
        least = fit(criterion="validation_2se", seed=seed).candidates.iloc[0]
        assert least["n_parameters"] <= most["n_parameters"]


def test_candidates_have_their_columns():
    assert list(many().candidates) == [
        *("n_factors", "n_loadings", "n_uncovered", "log_likelihood", "n_parameters"),
        *("cost", "aic", "bic", "ebic", "held_out", "behind", "behind_se"),
        *("monte_carlo_se", "origin", "fitted"),
    ]


@pytest.mark.parametrize("criterion", ["ebic", "bic", "aic"])
def test_cost_counts_effective_rows_and_criteria_count_all(criterion):
    fit = many(criterion=criterion, seed=3)
    frame = fit.candidates
    assert fit.n_effective < fit.n_typical
    deviance, k = (frame[c] for c in ("log_likelihood", "n_parameters"))
    deviance = -2 * deviance
    bic = deviance + k * np.log(fit.n_typical)
    np.testing.assert_allclose(frame["bic"], bic)
    np.testing.assert_allclose(frame["aic"], deviance + 2 * k)
    searched = 2 * np.array([log_structures(fit.candidate(row).support) for row in frame.index])
    np.testing.assert_allclose(frame["ebic"], bic + searched)
    price = {"ebic": k * np.log(fit.n_effective) + searched}
    price |= {"bic": k * np.log(fit.n_effective), "aic": 2 * k}
    share = fit.n_effective / fit.n_typical
    np.testing.assert_allclose(frame["cost"], share * deviance + price[criterion])


def test_rows_that_were_not_fitted_have_no_criteria():
    frame = many(criterion="validation", seed=3).candidates
    assert frame[["cost", "aic", "bic", "ebic"]].isna().all(axis=None)
    frame = many(criterion="cv", seed=3).candidates
    assert frame["cost"].isna().all()
    assert frame[["aic", "bic", "ebic"]].notna().all(axis=None)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_there_is_one_bic(criterion):
    """That of the chosen structure fitted to all rows; candidates has the same, or none."""
    fit = many(criterion=criterion, seed=3)
    told, listed = fit.glance().iloc[0], fit.candidates.iloc[0]
    deviance, k = -2 * fit.estimate.log_likelihood, fit.estimate.n_parameters
    assert told["bic"] == pytest.approx(deviance + k * np.log(fit.n_typical), abs=1e-2)
    assert told["aic"] == pytest.approx(deviance + 2 * k, abs=1e-2)
    if not criterion.startswith("validation"):
        assert (told["aic"], told["bic"]) == (listed["aic"], listed["bic"])


def test_candidates_are_the_structures_of_their_rows():
    for k, row in many().candidates.iterrows():
        structure = many().candidate(k)
        assert structure.item_names == tuple(MANY)
        assert (structure.n_factors, structure.n_edges) == (row["n_factors"], row["n_loadings"])
        assert len(structure.uncovered) == row["n_uncovered"]


@pytest.mark.parametrize("row", [-1, len(many().contenders), 1000, 0.5, "first"])
def test_rows_that_are_no_candidates(row):
    with pytest.raises(dt.InputError, match="`row` must be"):
        many().candidate(row)


def test_the_first_candidate_names_factors_as_the_fit_does():
    assert many().candidate(0).to_keys() == many().structure.to_keys()


def test_explanation_names_the_runner_up_and_the_difference():
    pattern = (
        r"^\d factors by ebic, of \d+ structures; best other structure found: \d factors"
        r"( too, with \d+ loadings? changed)?, ebic (\d+\.\d) higher\.$"
    )
    fit = many(criterion="ebic")
    match = re.search(pattern, fit.explanation)
    assert match
    frame = fit.candidates
    assert float(match[2]) == pytest.approx(frame["cost"].iloc[1] - frame["cost"].iloc[0], abs=0.06)
    assert f"Choice: {fit.explanation}" in str(fit.summary())


def test_explanation_of_a_level_says_what_one_fewer_and_one_more_would_mean():
    frame = nine().levels.set_index("n_factors")
    fewer, more = frame.loc[3, "one_fewer_costs"], frame.loc[4, "one_fewer_costs"]
    assert nine().explanation == (
        f"3 factors; the data support at most {nine().supported}. Dropping one would cost "
        f"{fewer:.3f} and adding one would gain {more:.3f} in log-likelihood per person. "
        "The other level that stands out has 2 factors."
    )


@pytest.mark.parametrize("criterion", HELD_OUT)
def test_explanation_of_held_out_rows(criterion):
    pattern = (
        rf"^[34] factors by {criterion}, of \d+ structures; best other structure found: .+, "
        r"\d+\.\d{4} per row "
        r"(less likely|more likely, but with more parameters) \(SE \d+\.\d{4}\)\.$"
    )
    assert re.search(pattern, nine(criterion=criterion, seed=15).explanation)


def test_linear_validation_scores_standardised_rows():
    from dtstat.data.frame import rows_by_content
    from dtstat.factors.copula import fit_factors
    from dtstat.factors.scores import linear_marginals, row_log_likelihoods
    from dtstat.search.held_out import split_rows

    fit = dt.fit(NINE**3, estimator="linear", criterion="validation", seed=3)
    X = (NINE**3).to_numpy()
    X = X[rows_by_content(X)]  # the order that rows are drawn in
    fitted, held = split_rows(len(X), 3)
    estimate = fit_factors(np.corrcoef(X[fitted].T), len(fitted), fit.support)
    Z = linear_marginals(X[fitted]).normal_scores(X[held])
    expected = row_log_likelihoods(estimate, Z).mean()
    assert fit.candidates["held_out"].iloc[0] == pytest.approx(expected, abs=1e-3)


# --- scores -------------------------------------------------------------------------------------


def test_scores_are_regressions_on_normal_scores():
    fit = nine()
    Z = fit.marginals.normal_scores(NINE.to_numpy(dtype=float))
    L, Phi = fit.estimate.loadings, fit.estimate.factor_correlations
    Sigma = L @ Phi @ L.T + np.diag(fit.estimate.uniquenesses)
    expected = Z @ np.linalg.solve(Sigma, L @ Phi)
    np.testing.assert_allclose(fit.factor_scores(NINE), expected, atol=1e-9)


def test_scores_keep_the_index_and_find_items_by_name():
    data = NINE.set_axis([f"p{k}" for k in range(len(NINE))], axis=0)
    mixed = data[list(NINE)[::-1]].assign(school="a")
    scores = nine().factor_scores(mixed)
    assert scores.index.equals(mixed.index)
    np.testing.assert_allclose(scores, nine().factor_scores(NINE.to_numpy()))


def test_scores_of_rows_with_gaps():
    gaps = NINE.astype(float)
    gaps.loc[0, "x1"] = np.nan
    gaps.loc[1] = np.nan
    scores = nine().factor_scores(gaps)
    assert scores.loc[0].notna().all()
    assert scores.loc[1].isna().all()
    pd.testing.assert_frame_equal(scores.loc[2:], nine().factor_scores(NINE).loc[2:])


def test_scores_need_the_items():
    with pytest.raises(dt.InputError, match="lack the item 'x1' and 1 more"):
        nine().factor_scores(NINE.drop(columns=["x1", "x2"]))
    with pytest.raises(dt.InputError, match="must have 9 columns"):
        nine().factor_scores(np.ones((5, 4)))


def test_scores_after_a_fit_to_a_matrix_use_the_margins_of_the_rows():
    fit = dt.fit(dt.dependence(NINE))
    assert fit.marginals is None
    np.testing.assert_allclose(fit.factor_scores(NINE), nine().factor_scores(NINE))


def test_augment_adds_a_column_a_factor():
    data = NINE.assign(school="a")
    augmented = nine().augment(data)
    assert list(augmented) == [*data, "F1_score", "F2_score", "F3_score"]
    pd.testing.assert_frame_equal(augmented[list(data)], data)
    np.testing.assert_array_equal(augmented["F2_score"], nine().factor_scores(NINE)["F2"])
    assert list(data) == [*NINE, "school"]


def test_labelled_answers_can_be_scored():
    codes = NINE.round().clip(1, 6).astype(int)
    labels = [f"level {k}" for k in range(1, 7)]
    data = codes.apply(
        lambda x: pd.Series(pd.Categorical([labels[k - 1] for k in x], labels, ordered=True))
    )
    scores = dt.fit(data).factor_scores(data)
    np.testing.assert_allclose(scores, dt.fit(codes).factor_scores(codes), atol=1e-9)


def test_categories_in_another_order_than_their_numbers_can_be_scored():
    codes = NINE.round().clip(1, 6).astype(int)
    data = codes.apply(
        lambda x: pd.Series(pd.Categorical(x, sorted(x.unique(), reverse=True), ordered=True))
    )
    scores = dt.fit(data).factor_scores(data)
    np.testing.assert_allclose(scores, dt.fit(-codes).factor_scores(-codes), atol=1e-6)


def test_linear_scores_do_not_depend_on_units():
    one = nine(estimator="linear")
    other = dt.fit(100 * NINE + 7, estimator="linear")
    np.testing.assert_allclose(
        one.factor_scores(NINE), other.factor_scores(100 * NINE + 7), atol=1e-8
    )


# --- frames and other programs ------------------------------------------------------------------


def test_tidy_lists_loadings_and_correlations():
    frame = nine().tidy()
    assert list(frame) == [
        *("term", "lhs", "op", "rhs", "estimate", "std_error", "conf_low", "conf_high"),
        *("unique_child", "attached"),
    ]
    assert (frame["std_error"] > 0).all()
    half = stats.norm.ppf(0.975) * frame["std_error"]
    np.testing.assert_allclose(frame["conf_low"], frame["estimate"] - half)
    np.testing.assert_allclose(frame["conf_high"], frame["estimate"] + half)
    assert frame["std_error"].iloc[0] == nine().loading_errors.loc["x1", "F1"]
    assert frame["std_error"].iloc[-1] == nine().factor_correlation_errors.loc["F2", "F3"]
    assert frame["op"].tolist() == ["=~"] * 9 + ["~~"] * 3
    assert frame["term"].iloc[0] == "F1 =~ x1"
    assert frame["estimate"].iloc[0] == nine().loadings.loc["x1", "F1"]
    assert frame["estimate"].iloc[-1] == nine().factor_correlations.loc["F2", "F3"]


def test_glance_is_one_row():
    frame = nine().glance()
    assert frame.shape[0] == 1
    assert list(frame) == [
        *("n_obs", "n_effective", "n_items", "n_factors", "n_attached", "n_uncovered"),
        *("search", "criterion", "converged", "aic", "bic"),
        *("npar", "chisq", "df", "pvalue", "cfi", "tli", "rmsea"),
        *("rmsea.ci.lower", "rmsea.ci.upper", "rmsea.pvalue", "srmr"),
    ]
    row = frame.iloc[0]
    assert (row["n_obs"], row["n_items"], row["n_factors"]) == (301, 9, 3)
    assert row["converged"]
    deviance = -2 * nine().candidates["log_likelihood"].iloc[0]
    assert row["aic"] == pytest.approx(deviance + 2 * row["npar"])
    assert row["bic"] == pytest.approx(deviance + row["npar"] * np.log(301))


def test_what_was_not_tested_is_glanced_at_with_the_same_columns():
    few = dt.fit(NINE.head(90), min_children=3)
    assert few.reported.test is None
    assert "9 items need at least 100 rows" in few.reported.untested
    frame = few.glance()
    assert list(frame) == list(nine().glance())
    unknown = [name for name in frame if frame[name].isna().all()]
    assert unknown == [
        *("chisq", "pvalue", "cfi", "tli", "rmsea"),
        *("rmsea.ci.lower", "rmsea.ci.upper", "rmsea.pvalue"),
    ]
    assert few.tidy()[["std_error", "conf_low", "conf_high"]].isna().all(axis=None)
    text = str(few.summary(intervals=True))
    assert "Not tested. 9 items need at least 100 rows" in text
    assert "No standard errors: not tested." in text
    assert "Chi-square" not in text


def test_lavaan_syntax_fits():
    cfa = dt.cfa(NINE, nine().to_lavaan())
    assert cfa.structure == nine().structure
    assert cfa.fit_measures["df"] == nine().fit_measures["df"]


def test_factors_tell_their_cores():
    frame = many().factors
    assert list(frame) == ["factor", "from", "to", "persistence", "n_items", "n_unique", "core"]
    for row in frame.to_dict("records"):
        assert set(row["core"]) <= set(many().structure.children(row["factor"]))
        assert row["persistence"] == pytest.approx(row["to"] - row["from"])


def test_path_is_that_of_the_data():
    path = dt.solution_path(NINE, min_children=2)
    assert {c.structure for c in nine().path.candidates} == {c.structure for c in path.candidates}


def test_provenance_tells_all():
    told = nine(criterion="cv", seed=3).provenance
    assert (told["criterion"], told["seed"], told["version"]) == ("cv", 3, dt.__version__)
    assert told["n_obs"] == 301


def test_repr_shows_structure_and_choice():
    assert repr(nine()).splitlines() == [
        "DTFit: 3 factors, 9 items, 301 rows",
        "  F1: x1 x2 x3",
        "  F2: x4 x5 x6",
        "  F3: x7 x8 x9",
        nine().explanation,
    ]


# --- summary ------------------------------------------------------------------------------------


def test_summary_has_its_parts_in_order():
    text = str(many().summary())
    parts = ["Call:", "Data:", "Choice:", "Levels", "each at its own", "Standardized loadings"]
    parts += ["Fit of the chosen structure", "Alternatives considered", "more in candidates"]
    positions = [text.index(part) for part in parts]
    assert positions == sorted(positions)
    assert "301 of 301 rows used (145 complete), 26 items (26 continuous)" in text


def test_summary_cutoff_and_rows():
    assert "0.43" not in str(nine().summary(cutoff=0.5)).split("Explained variance")[0]
    assert "Loadings below 0.5 are blank." in str(nine().summary(cutoff=0.5))
    assert "Alternatives considered" not in str(nine().summary(max_rows=0))
    for cutoff in (-0.1, 2, "low"):
        with pytest.raises(dt.InputError, match="`cutoff` must be"):
            nine().summary(cutoff=cutoff)


@pytest.mark.parametrize("max_rows", [-1, "all"])
def test_bad_max_rows(max_rows):
    with pytest.raises(dt.InputError, match="max_rows"):
        nine().summary(max_rows=max_rows)


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"criterion": "cv", "seed": 3},
        {"search": "threshold", "thresholds": 50},
        {"estimator": "linear"},
        {"measure": "distance"},
    ],
    ids=lambda options: "-".join(map(str, options.values())) or "default",
)
def test_a_saved_fit_comes_back_whole(options, tmp_path):
    fit = dt.fit(NINE, **options)
    fit.save(tmp_path / "fit.dt")
    back = dt.load(tmp_path / "fit.dt")
    assert type(back) is type(fit)
    assert str(back.summary()) == str(fit.summary())
    assert repr(back) == repr(fit)
    pd.testing.assert_frame_equal(back.candidates, fit.candidates)
    pd.testing.assert_frame_equal(back.loadings, fit.loadings)
    pd.testing.assert_frame_equal(back.factor_scores(NINE), fit.factor_scores(NINE))
    pd.testing.assert_frame_equal(back.tidy(), fit.tidy())
    pd.testing.assert_frame_equal(back.glance(), fit.glance())
    pd.testing.assert_frame_equal(back.factors, fit.factors)
    assert back.provenance == fit.provenance
    assert back.candidate(1) == fit.candidate(1)


def test_fits_without_factors_or_data_come_back(tmp_path):
    X = np.random.default_rng(0).standard_normal((200, 6))
    for k, fit in enumerate([dt.fit(X), dt.fit(dt.dependence(NINE))]):
        fit.save(tmp_path / f"{k}.dt")
        back = dt.load(tmp_path / f"{k}.dt")
        assert str(back.summary()) == str(fit.summary())
        assert back.structure == fit.structure


# --- second level -------------------------------------------------------------------------------


def facets(within=0.7, between=0.2):
    """Population correlations: six facets of four items, in two domains of three."""
    Phi = np.full((6, 6), between)
    Phi[:3, :3] = Phi[3:, 3:] = within
    np.fill_diagonal(Phi, 1)
    L = np.kron(np.eye(6), np.full((4, 1), 0.75))
    R = L @ Phi @ L.T
    np.fill_diagonal(R, 1)
    return dt.DependenceMatrix.from_matrix(R, 2000)


def test_levels_are_facets_and_the_domains_above_them():
    """Six facets of four items in two domains."""
    fit = dt.fit(facets())
    fine, broad = fit.level("fine"), fit.level("broad")
    assert (fine.n_factors, broad.n_factors) == (6, 2)
    assert fine.structure == dt.Structure(np.kron(np.eye(6), np.ones((4, 1))))
    assert broad.structure == dt.Structure(np.kron(np.eye(2), np.ones((12, 1))))
    assert "G1 =~ F1 + F2 + F3" in fit.to_lavaan("higher_order")


def test_levels_after_validation():
    fit = many(criterion="validation", seed=1)
    assert fit.levels["n_factors"].tolist() == [*range(1, len(fit.tree) + 1)]
    assert fit.level(2).n_factors == 2
