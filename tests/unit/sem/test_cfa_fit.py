"""What a fitted model offers; numbers of lavaan 0.6-14 where they are given to three decimals."""

import dataclasses
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import dtstat as dt

MODEL = "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
NINE = dt.load_dataset("holzinger_swineford_9")
POLITICS = dt.load_dataset("political_democracy")
SEM = """
ind60 =~ x1 + x2 + x3
dem60 =~ y1 + a*y2 + b*y3 + y4
dem65 =~ y5 + a*y6 + b*y7 + y8
dem60 ~ ind60
dem65 ~ ind60 + dem60
"""
FIT = dt.cfa(NINE, MODEL)
THREE = 5e-4  # what rounding to three decimals may take


def with_gaps(rows=20):
    data = NINE.copy()
    data.loc[: rows - 1, "x1"] = math.nan
    return data


def cfa_of_a_sum():
    data = NINE.assign(sum=NINE["x1"] + NINE["x2"])
    with pytest.warns(dt.DataWarning, match="'sum' is the sum of 'x1', 'x2': leave it out"):
        dt.cfa(data, "f =~ x1 + x2 + x3 + sum")


def row(frame, lhs, op, rhs):
    return frame[(frame["lhs"] == lhs) & (frame["op"] == op) & (frame["rhs"] == rhs)].iloc[0]


GOLDEN_MEASURES = {
    "npar": 21,
    "chisq": 85.306,
    "df": 24,
    "baseline.chisq": 918.852,
    "baseline.df": 36,
    "cfi": 0.931,
    "tli": 0.896,
    "logl": -3737.745,
    "unrestricted.logl": -3695.092,
    "aic": 7517.490,
    "bic": 7595.339,
    "bic2": 7528.739,
    "rmsea": 0.092,
    "rmsea.ci.lower": 0.071,
    "rmsea.ci.upper": 0.114,
    "srmr": 0.065,
    "gfi": 0.943,
}


@pytest.mark.parametrize("name", GOLDEN_MEASURES)
def test_fit_measures(name):
    assert FIT.fit_measures[name] == pytest.approx(GOLDEN_MEASURES[name], abs=THREE)


def test_parameters():
    frame = FIT.parameters
    assert list(frame.columns) == [
        *("lhs", "op", "rhs", "label", "est", "se", "z", "pvalue"),
        *("ci.lower", "ci.upper", "std.lv", "std.all"),
    ]
    x2 = row(frame, "visual", "=~", "x2")
    assert x2.iloc[4:].tolist() == pytest.approx(
        [0.554, 0.100, 5.554, 0.000, 0.358, 0.749, 0.498, 0.424], abs=THREE
    )
    marker = row(frame, "visual", "=~", "x1")
    assert (marker["est"], marker["se"]) == (1, 0)
    assert np.isnan([marker["z"], marker["pvalue"]]).all()
    assert (marker["ci.lower"], marker["ci.upper"]) == (1, 1)


def test_standardized_has_its_own_errors():
    frame = FIT.standardized
    assert list(frame.columns) == [
        *("lhs", "op", "rhs", "est.std", "se", "z", "pvalue", "ci.lower", "ci.upper"),
    ]
    x2 = row(frame, "visual", "=~", "x2")  # standardizedSolution() of lavaan
    assert x2.iloc[3:].tolist() == pytest.approx(
        [0.424, 0.060, 7.105, 0.000, 0.307, 0.540], abs=THREE
    )
    assert frame["est.std"].tolist() == pytest.approx(FIT.parameters["std.all"].tolist())


def test_loadings_correlations_and_explained_variance():
    assert FIT.loadings.shape == (9, 3)
    assert FIT.loadings.loc["x5"].round(3).tolist() == [0, 0.855, 0]
    assert FIT.factor_correlations.loc["visual"].round(3).tolist() == [1, 0.459, 0.471]
    assert FIT.uniquenesses["x1"] == pytest.approx(0.404, abs=THREE)
    assert FIT.r_squared["x1"] == pytest.approx(0.596, abs=THREE)
    assert list(FIT.r_squared.index) == list(NINE)


def test_explained_variance_of_outcomes():
    r_squared = dt.sem(POLITICS, SEM + "y1 ~~ y5\ny2 ~~ y4 + y6").r_squared
    assert list(r_squared.index[-2:]) == ["dem60", "dem65"]
    assert r_squared[["x2", "dem60", "dem65"]].tolist() == pytest.approx(
        [0.947, 0.199, 0.952], abs=THREE
    )


def test_correlations_of_factors_that_regress_on_each_other():
    """Implied by paths: cor(ind60, dem60) is the standardised path if it is the only one."""
    fit = dt.sem(POLITICS, SEM)
    path = row(fit.parameters, "dem60", "~", "ind60")["std.all"]
    assert fit.factor_correlations.loc["ind60", "dem60"] == pytest.approx(path)


def test_residuals():
    S = np.cov(NINE.to_numpy().T, bias=True)
    raw = FIT.residuals("raw")
    assert np.allclose(raw + FIT.implied_covariance, S)
    cor = FIT.residuals()
    sd = np.sqrt(np.diag(FIT.implied_covariance))
    implied = FIT.implied_covariance / np.outer(sd, sd)
    assert np.allclose(cor + implied, np.corrcoef(NINE.to_numpy().T))
    assert list(cor.index) == list(cor.columns) == list(NINE)
    with pytest.raises(dt.InputError, match="`kind` must be"):
        FIT.residuals("covariance")


def test_modification_indices():
    table = FIT.modification_indices(minimum=10)
    assert list(table.columns) == ["lhs", "op", "rhs", "mi", "epc", "sepc.lv", "sepc.all"]
    assert table["mi"].round(3).tolist() == [36.411, 34.145, 18.631, 14.946]
    unsorted = FIT.modification_indices(sort=False)
    assert unsorted.iloc[0, :3].tolist() == ["visual", "=~", "x4"]
    assert unsorted.iloc[-1, :3].tolist() == ["x8", "~~", "x9"]
    assert len(unsorted) == 54


def test_factor_scores():
    scores = FIT.factor_scores(NINE)
    assert list(scores.columns) == ["visual", "textual", "speed"]
    # lavPredict() of lavaan, first row
    assert scores.iloc[0].tolist() == pytest.approx([-0.818, -0.138, 0.062], abs=THREE)
    assert np.allclose(scores.mean(), 0)


def test_factor_scores_of_other_rows_keep_their_index():
    everybody = FIT.factor_scores(NINE)
    shuffled = NINE.assign(name="text")[["name", *reversed(list(NINE))]].loc[[7]]
    pd.testing.assert_frame_equal(FIT.factor_scores(shuffled), everybody.loc[[7]])
    pd.testing.assert_frame_equal(FIT.factor_scores(NINE.to_numpy()), everybody)
    text = NINE.astype(str).rename(index=lambda k: f"p{k}")
    assert np.allclose(FIT.factor_scores(text), everybody)
    assert list(FIT.factor_scores(text).index) == list(text.index)


def test_missing_answers_of_any_type_are_left_out_of_a_score():
    gaps = with_gaps()
    expected = FIT.factor_scores(gaps)
    assert not expected.isna().any(axis=None)
    pd.testing.assert_frame_equal(FIT.factor_scores(gaps.astype("Float64")), expected)
    nobody = FIT.factor_scores(NINE.iloc[:2] * math.nan)
    assert nobody.isna().all(axis=None)


def test_bartlett_scores_are_longer():
    regression, bartlett = FIT.factor_scores(NINE), FIT.factor_scores(NINE, "bartlett")
    assert (bartlett.std() > regression.std()).all()
    pd.testing.assert_frame_equal(FIT.factor_scores(NINE, "Bartlett"), bartlett)


@pytest.mark.parametrize(
    ("data", "method", "message"),
    [
        (NINE.rename(columns={"x7": "X7"}), "regression", "'x7' is not there. Did you mean 'X7'?"),
        (NINE, "bart", "Did you mean 'bartlett'?"),
        (NINE, 1, "`method` must be"),
    ],
)
def test_scores_that_cannot_be(data, method, message):
    with pytest.raises(dt.InputError, match=message.replace("?", r"\?")):
        FIT.factor_scores(data, method)


def test_reliability():
    table = FIT.reliability()
    assert list(table.index) == ["visual", "textual", "speed"]
    # psych::alpha, and omega by its formula from lavaan's estimates
    assert table.loc["textual", ["alpha", "omega"]].tolist() == pytest.approx(
        [0.883, 0.885], abs=THREE
    )


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (MODEL, {}),
        (MODEL, {"std_lv": True}),
        (MODEL.replace("x2", "0.5*x2").replace("x1", "NA*x1"), {}),
        (MODEL.replace("x2", "a*x2").replace("x3", "b*x3") + "; a == b", {}),
        (MODEL.replace("x2", "a*x2") + "; a == 0.25", {}),
        (MODEL + "; g =~ visual + textual + speed", {}),
    ],
)
def test_the_text_gives_the_same_measurement(model, options):
    fit = dt.cfa(NINE, model, **options)
    again = dt.cfa(NINE, fit.to_lavaan())
    for name in ("chisq", "df"):
        assert again.fit_measures[name] == pytest.approx(fit.fit_measures[name])
    assert again.structure == fit.structure


def test_text_keeps_labels_and_values():
    text = "f =~ NA*x1 + a*x2 + a*x3 + 0.5*x4\nf ~~ 1*f"
    fit = dt.cfa(NINE, text + "\nx1 ~~ x2")
    assert fit.to_lavaan() == text
    assert fit.call.model == text + "\nx1 ~~ x2"


def test_structure_is_that_of_the_measurement_part():
    fit = dt.cfa(NINE, MODEL + "; g =~ visual + textual + speed")
    keys = {
        "visual": ["x1", "x2", "x3"],
        "textual": ["x4", "x5", "x6"],
        "speed": ["x7", "x8", "x9"],
    }
    assert fit.structure == dt.Structure.from_keys(keys)
    assert list(fit.loadings) == list(keys)
    assert "g" in fit.factor_correlations


def test_a_structure_is_a_model():
    structure = dt.Structure.from_keys({"a": ["x1", "x2", "x3"], "b": ["x4", "x5", "x6"]})
    fit = dt.cfa(NINE, structure)
    assert fit.structure == structure
    assert fit.fit_measures == dt.cfa(NINE, "a =~ x1 + x2 + x3\nb =~ x4 + x5 + x6").fit_measures


def test_tidy():
    frame = FIT.tidy()
    assert list(frame.columns) == [
        *("term", "op", "estimate", "std.error", "statistic", "p.value", "std.lv", "std.all"),
    ]
    assert frame["term"].iloc[1] == "visual =~ x2"
    assert frame["estimate"].tolist() == FIT.parameters["est"].tolist()


def test_glance():
    frame = dt.cfa(with_gaps(), MODEL).glance()
    assert list(frame.columns) == [
        *("agfi", "AIC", "BIC", "cfi", "chisq", "npar", "rmsea", "rmsea.conf.high", "srmr", "tli"),
        *(
            "test",
            "converged",
            "estimator",
            "ngroups",
            "missing_method",
            "nobs",
            "norig",
            "nexcluded",
        ),
    ]
    (line,) = frame.to_dict(orient="records")
    assert line["chisq"] == pytest.approx(83.801, abs=THREE)
    assert (line["estimator"], line["missing_method"], line["converged"]) == (
        "ML",
        "listwise",
        True,
    )
    assert (line["nobs"], line["norig"], line["nexcluded"]) == (281, 301, 20)


def test_augment():
    data = NINE.set_index(NINE.index // 2)  # names of rows may occur twice
    frame = FIT.augment(data)
    assert list(frame.columns) == [*NINE, "visual_score", "textual_score", "speed_score"]
    assert frame["speed_score"].tolist() == FIT.factor_scores(NINE)["speed"].tolist()
    assert list(data) == list(NINE)
    assert list(FIT.augment(NINE.to_numpy())) == list(frame)


def test_frozen_and_unchanged_by_its_readers():
    with pytest.raises(dataclasses.FrozenInstanceError):
        FIT.warnings = ()
    for frame in (FIT.parameters, FIT.implied_covariance, FIT.residuals("raw")):
        frame.iloc[:, -1] = 0.0
    assert row(FIT.parameters, "visual", "=~", "x1")["est"] == 1
    assert FIT.implied_covariance.iloc[-1, -1] > 0
    assert row(FIT.parameters, "visual", "=~", "x1")["std.all"] > 0


def test_call_tells_what_was_asked_for():
    fit = dt.cfa(NINE, MODEL, std_lv=True, orthogonal=True, mean_structure=True)
    assert fit.call.version == dt.__version__
    assert fit.call.model == MODEL
    assert (fit.call.std_lv, fit.call.orthogonal, fit.call.mean_structure) == (True, True, True)
    assert fit.n_obs == 301
    assert fit.item_names == tuple(NINE)
    assert np.allclose(fit.factor_correlations, np.eye(3))
    assert "3 factors, 9 items, 301 rows, ml" in repr(fit)


def test_sem_is_cfa():
    options = {"estimator": "mlr", "std_lv": True, "orthogonal": True, "mean_structure": True}
    a, b = (function(NINE, MODEL, **options) for function in (dt.cfa, dt.sem))
    pd.testing.assert_frame_equal(a.parameters, b.parameters)
    assert a.call == b.call


def test_robust_errors_and_test():
    """Without a mean structure, as lavaan 0.6-14 fits MLR to complete data."""
    fit = dt.cfa(NINE, MODEL, estimator="mlr")
    measures = fit.fit_measures
    assert measures["npar"] == 21
    assert measures["chisq.scaled"] == pytest.approx(87.132, abs=THREE)
    assert measures["cfi.robust"] == pytest.approx(0.930, abs=THREE)
    assert row(fit.parameters, "visual", "=~", "x2")["se"] == pytest.approx(0.132, abs=THREE)
    assert np.allclose(fit.factor_scores(NINE), FIT.factor_scores(NINE), atol=1e-4)


@pytest.mark.parametrize("options", [{"missing": "fiml"}, {"estimator": "fiml"}])
def test_rows_with_gaps(options):
    data = pd.concat([with_gaps(), NINE.iloc[:1] * math.nan], ignore_index=True)
    with pytest.warns(dt.EstimationWarning, match="1 row was left out: it answers none"):
        fit = dt.cfa(data, MODEL, **options)
    assert fit.fit_measures["chisq"] == pytest.approx(84.214, abs=THREE)
    assert (fit.n_obs, fit.estimate.n_given) == (301, 302)
    assert (fit.call.estimator, fit.call.missing) == ("fiml", "fiml")
    assert row(fit.parameters, "visual", "=~", "x3")["est"] == pytest.approx(0.699, abs=THREE)


@pytest.fixture(scope="module")
def rated():
    return NINE.apply(lambda x: pd.cut(x, 3, labels=False) + 1)


@pytest.mark.parametrize(
    "options", [{"ordered": True}, {"estimator": "WLSMV"}, {"ordered": list(NINE)}]
)
def test_ordered_items(rated, options):
    fit = dt.cfa(rated, MODEL, **options)
    assert fit.call.ordered == tuple(NINE)
    measures = fit.fit_measures
    assert [measures["chisq"], measures["chisq.scaled"]] == pytest.approx(
        [45.123, 63.573], abs=THREE
    )
    assert row(fit.parameters, "x1", "|", "t1")["est"] == pytest.approx(-1.363, abs=THREE)
    assert math.isnan(fit.glance()["AIC"][0])
    assert (fit.modification_indices()["mi"] > 0).all()
    titles = [table.title for table in fit.summary(rsquare=True).tables]
    assert titles[-6:] == [
        "Covariances", "Intercepts", "Thresholds", "Variances", "Scales y*", "R-Square",
    ]  # fmt: skip
    assert "Loglikelihood and Information Criteria" not in titles


def test_some_items_ordered(rated):
    data = NINE.assign(x1=rated["x1"])
    fit = dt.cfa(data, MODEL, ordered="x1")
    assert fit.call.ordered == ("x1",)
    thresholds = fit.parameters[fit.parameters["op"] == "|"]
    assert thresholds["lhs"].unique().tolist() == ["x1"]
    assert dt.cfa(NINE, MODEL, ordered=[]).call.estimator == "ml"


def test_columns_the_model_does_not_name_are_not_looked_at():
    data = NINE.assign(school="Pasteur", empty=math.nan, zero=0)
    assert dt.cfa(data, MODEL).fit_measures == FIT.fit_measures


def test_sources_of_data(tmp_path):
    file = tmp_path / "nine.csv"
    NINE.to_csv(file, index=False)
    for data in (file, str(file), NINE.to_numpy(), dt.items(NINE)):
        assert dt.cfa(data, MODEL).fit_measures["chisq"] == pytest.approx(85.30552, abs=1e-4)


BAD = {
    "few rows": (
        lambda: dt.cfa(NINE.head(9), MODEL),
        dt.EstimationError,
        "needs more rows than items; got 9 rows for 9 items",
    ),
    "few complete rows": (
        lambda: dt.cfa(with_gaps(295), MODEL),
        dt.EstimationError,
        "got 6 usable rows of 301 for 9 items. .* missing='fiml' keeps them",
    ),
    "a copy": (
        lambda: dt.cfa(NINE.assign(copy=3 - 2 * NINE["x1"]), "f =~ x1 + x2 + x3 + copy"),
        dt.EstimationError,
        "Items 'x1' and 'copy' are perfectly correlated",
    ),
    "a copy with gaps": (
        lambda: dt.cfa(
            with_gaps().assign(copy=NINE["x1"]), "f =~ x1 + x2 + x3 + copy", missing="fiml"
        ),
        dt.EstimationError,
        "Items 'x1' and 'copy' are perfectly correlated",
    ),
    "a sum": (
        cfa_of_a_sum,
        dt.EstimationError,
        "Item 'sum' is the sum of 'x1', 'x2', so the covariance matrix is singular",
    ),
    "constant when complete": (
        lambda: dt.cfa(
            with_gaps().assign(c=(NINE.index < 20).astype(float)), "f =~ x1 + x2 + x3 + c"
        ),
        dt.InputError,
        "item 'c' has only one distinct answer in the 281 rows without missing answers",
    ),
    "mistyped item": (
        lambda: dt.cfa(NINE, "f =~ x1 + x2 + x33"),
        dt.InputError,
        "names 'x33'.* Did you mean 'x3'",
    ),
    "syntax": (lambda: dt.cfa(NINE, "f =~ x1 +"), dt.ModelSyntaxError, "line 1, column 10"),
    "no model": (lambda: dt.cfa(NINE, None), dt.InputError, "`model` must be a Structure, a fit"),
    "estimator": (lambda: dt.cfa(NINE, MODEL, "mlx"), dt.InputError, "`estimator` .* got 'mlx'"),
    "missing": (
        lambda: dt.cfa(NINE, MODEL, missing="pairwise"),
        dt.InputError,
        "`missing` must be 'listwise' or 'fiml' for continuous items; got 'pairwise'",
    ),
    "ordered with gaps": (
        lambda: dt.cfa(NINE, MODEL, "dwls", "fiml"),
        dt.InputError,
        "`missing` must be 'listwise' or 'pairwise' when items are ordered; got 'fiml'",
    ),
    "robust and ordered": (
        lambda: dt.cfa(NINE, MODEL, "mlr", ordered=True),
        dt.InputError,
        "`estimator` must be one of wlsmv, wlsm, wls, dwls, ulsmv, ulsm, uls when items are "
        "ordered; got 'mlr'",
    ),
    "mistyped ordered": (
        lambda: dt.cfa(NINE, MODEL, ordered=["x1", "y2"]),
        dt.InputError,
        "`ordered` must be items of the model; got 'y2'",
    ),
    "ordered number": (lambda: dt.cfa(NINE, MODEL, ordered=3), dt.InputError, "`ordered` must be"),
    "cutoff": (lambda: FIT.factor_table(cutoff=2), dt.InputError, "`cutoff` must be .* got 2"),
    "minimum": (lambda: FIT.modification_indices(minimum="a"), dt.InputError, "`minimum` must be"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_refused_in_a_sentence(case):
    call, kind, message = BAD[case]
    with pytest.raises(kind, match=message):
        call()


def test_a_factor_with_one_item_is_warned_of():
    with pytest.warns(dt.EstimationWarning, match="Factor 'visual' has one item, 'x1'") as caught:
        fit = dt.cfa(NINE, "visual =~ x1\nspeed =~ x7 + x8 + x9")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert fit.warnings == (str(caught[0].message),)
    assert f"Warning: {fit.warnings[0]}" in fit.summary().head
    assert fit.uniquenesses["x1"] == 0


def test_a_factor_with_one_item_and_known_error_is_fine():
    fit = dt.cfa(NINE, "visual =~ x1\nx1 ~~ 0.3*x1\nspeed =~ x7 + x8 + x9")
    assert fit.warnings == ()


def test_improper_solutions_carry_their_warning():
    """r12 r13 / r23 > 1 makes the first item's residual variance negative."""
    R = np.array([[1, 0.7, 0.7], [0.7, 1, 0.3], [0.7, 0.3, 1]])
    Z = np.random.default_rng(1).standard_normal((100, 3))
    Z -= Z.mean(axis=0)
    Z = Z @ np.linalg.inv(np.linalg.cholesky(Z.T @ Z / 100)).T @ np.linalg.cholesky(R).T
    with pytest.warns(dt.EstimationWarning, match="Heywood case: .* 'x1'"):
        fit = dt.cfa(Z, "f =~ x1 + x2 + x3")
    assert fit.uniquenesses["x1"] == pytest.approx(1 - 0.49 / 0.3)
    assert len(fit.warnings) == 1


def test_a_model_without_factors():
    fit = dt.sem(NINE, "x1 ~ x2 + x3\nx4 ~ x1")
    assert fit.loadings.empty
    assert fit.structure.n_factors == 0
    assert list(fit.r_squared.index) == ["x1", "x4"]
    assert [table.title for table in fit.summary().tables][-2:] == ["Regressions", "Variances"]
    with pytest.raises(dt.InputError, match="no factors"):
        fit.factor_table()


def test_import_stays_light():
    code = (
        "import sys, dtstat; dtstat.cfa; "
        "print([m for m in ('scipy.stats', 'scipy.optimize') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_gaps_need_means():
    with pytest.raises(dt.InputError, match="`mean_structure` cannot be False when rows have gaps"):
        dt.cfa(NINE, MODEL, missing="fiml", mean_structure=False)


def test_a_matrix_serves_as_well_as_rows():
    rows = dt.cfa(NINE, MODEL)
    matrix = dt.dependence(NINE, "pearson")
    fit = dt.cfa(matrix, MODEL)
    assert fit.fit_measures["chisq"] == pytest.approx(rows.fit_measures["chisq"], abs=1e-6)
    np.testing.assert_allclose(fit.loadings, rows.loadings, atol=1e-6)
    with pytest.raises(dt.InputError, match="how many rows the matrix rests on"):
        dt.cfa(dt.DependenceMatrix.from_matrix(matrix.to_frame()), MODEL)


def test_a_structure_with_names_r_would_not_take():
    data = NINE.rename(columns={"x4": "item 4", "x5": "5th", "x6": "sechs-6"})
    structure = dt.Structure.from_keys(
        {"ver bal": ["item 4", "5th", "sechs-6"]}, list(data.columns)
    )
    plain = dt.cfa(NINE, "f =~ x4 + x5 + x6")
    fit = dt.cfa(data, structure)
    np.testing.assert_allclose(fit.loadings.to_numpy(), plain.loadings.to_numpy(), atol=1e-8)


def test_reliability_has_that_of_the_scores():
    """The regression scores have variance reliability × factor variance in the sample."""
    fit = dt.cfa(NINE, MODEL)
    table = fit.reliability()
    scores = fit.factor_scores(NINE)
    explained = scores.var(ddof=0) / [
        fit.estimate.layout.matrices(fit.estimate.theta).Psi[k, k] for k in range(scores.shape[1])
    ]
    np.testing.assert_allclose(table["score"], explained.to_numpy(), atol=0.05)
    assert table["score"].between(0.5, 1).all()


def test_adequacy_of_data_and_of_matrices():
    matrix = dt.dependence(NINE, "pearson")
    assert dt.kmo(NINE).overall == pytest.approx(dt.kmo(matrix).overall)
    assert dt.bartlett_test(NINE).chisq == pytest.approx(dt.bartlett_test(matrix).chisq)
    with pytest.raises(dt.InputError, match="how many rows the matrix rests on"):
        dt.bartlett_test(dt.DependenceMatrix.from_matrix(matrix.to_frame()))


@pytest.mark.parametrize("measure", ["polychoric", "kendall", "distance"])
def test_normal_theory_is_not_taken_for_other_correlations(measure):
    ratings = NINE.iloc[:, :6].round().astype(int).clip(1, 6)
    matrix = dt.dependence(ratings, measure)
    with pytest.raises(dt.InputError, match="Bartlett's test is not valid"):
        dt.bartlett_test(matrix)
    if measure == "distance":
        return
    text = str(dt.efa(matrix, 2).summary())
    assert "chi-square" not in text.replace("No chi-square", "")
    assert f"not of {measure} ones" in text
    assert "chi-square" in str(dt.efa(dt.dependence(ratings, "pearson"), 2).summary())
