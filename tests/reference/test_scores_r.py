"""Factor scores, reliabilities and adequacy against live R: lavaan and psych."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from examples import DEMOCRACY, HS

import dtstat as dt
from dtstat.efa.adequacy import sampling_adequacy, sphericity_test
from dtstat.sem.discrepancy import Estimator
from dtstat.sem.estimate import SEMEstimate
from dtstat.sem.likelihood import fit_normal
from dtstat.sem.model import build_model
from dtstat.sem.reliability import reliability
from dtstat.sem.scores import factor_scores, score_reliability

pytestmark = [pytest.mark.against_r, pytest.mark.usefixtures("require_r")]

# Same parameter values, same products and inverses on both sides.
SAME_PARAMETERS_TOL = 1e-9
# lavaan's optimiser ends at a gradient of about 1e-6, where ours is below 1e-7.
OPTIMISER_TOL = 1e-5
# Sums over a few hundred rows.
ROUNDING_TOL = 1e-10

CFA = HS + "\n"
DEMOCRATIC = DEMOCRACY.format("", "", "")
CROSS = CFA + "visual =~ x9\nx2 ~~ x7\n"
COVARIATE = "f =~ x1 + x2 + x3\nf ~ y1 + y2"
DIRECT_EFFECT = "f =~ x1 + x2 + x3\nf ~ y1\nx3 ~ y1"
OUTCOME = "f =~ x1 + x2 + x3\ny1 ~ f"
SECOND_ORDER = CFA + "g =~ visual + textual + speed\n"

ABILITIES, POLITICS = "holzinger_swineford_9", "political_democracy"
BOTH = ["regression", "Bartlett"]


def fitted(
    text: str, data: pd.DataFrame, means: bool, estimator: Estimator = "ml"
) -> tuple[SEMEstimate, np.ndarray]:
    """Estimate and the columns it was fitted to."""
    model = build_model(text, list(data.columns), mean_structure=means)
    X = data[list(model.observed)].to_numpy(dtype=float)
    return fit_normal(model, X, estimator, len(X)), X


def parameter_table(estimate: SEMEstimate) -> pd.DataFrame:
    """What lavaan takes as starting values."""
    rows = [(row.lhs, row.op, row.rhs) for row in estimate.model.parameters]
    return pd.DataFrame(rows, columns=["lhs", "op", "rhs"]).assign(est=estimate.estimates)


def lavaan_scores(
    run_r, text: str, options: str, methods: list[str], **frames
) -> dict[str, np.ndarray]:
    scores = [f'{m} = unclass(lavaan::lavPredict(fit, method = "{m}"))' for m in methods]
    code = f"fit <- lavaan::sem('{text}', data = x, {options}); list({', '.join(scores)})"
    return {k: np.array(v, dtype=float) for k, v in run_r(code, **frames).items()}


@pytest.mark.parametrize(
    ("text", "name", "means", "methods"),
    [
        pytest.param(CFA, ABILITIES, False, BOTH, id="cfa"),
        pytest.param(CFA, ABILITIES, True, BOTH, id="cfa, means"),
        pytest.param(CROSS, ABILITIES, False, BOTH, id="cross-loading"),
        pytest.param(DEMOCRATIC, POLITICS, False, BOTH, id="sem"),
        pytest.param(DEMOCRATIC, POLITICS, True, BOTH, id="sem, means"),
        pytest.param(COVARIATE, POLITICS, False, BOTH, id="covariates"),
        pytest.param(COVARIATE, POLITICS, True, BOTH, id="covariates, means"),
        pytest.param(DIRECT_EFFECT, POLITICS, False, BOTH, id="item on covariate"),
        pytest.param(DIRECT_EFFECT, POLITICS, True, BOTH, id="item on covariate, means"),
        # without means lavaan's scores of this model are off by a constant from those with
        pytest.param(OUTCOME, POLITICS, True, BOTH, id="observed outcome, means"),
        pytest.param(SECOND_ORDER, ABILITIES, False, ["regression"], id="second order"),
    ],
)
def test_scores_at_the_same_parameters_equal_lavaan(
    run_r, text: str, name: str, means: bool, methods: list[str]
) -> None:
    data = dt.load_dataset(name)
    estimate, X = fitted(text, data, means)
    options = f"meanstructure = {str(means).upper()}, start = start, do.fit = FALSE"
    start = parameter_table(estimate)
    expected = lavaan_scores(run_r, text, options, methods, x=data, start=start)
    for method in methods:
        ours = factor_scores(estimate, X, method)
        np.testing.assert_allclose(ours, expected[method], rtol=0, atol=SAME_PARAMETERS_TOL)


@pytest.mark.parametrize(
    ("text", "name"), [(CFA, ABILITIES), (DEMOCRATIC, POLITICS)], ids=["cfa", "sem"]
)
def test_scores_equal_lavaan_from_data_to_scores(run_r, text: str, name: str) -> None:
    data = dt.load_dataset(name)
    expected = lavaan_scores(run_r, text, "meanstructure = FALSE", BOTH, x=data)
    estimate, X = fitted(text, data, means=False)
    for method in BOTH:
        ours = factor_scores(estimate, X, method)
        np.testing.assert_allclose(ours, expected[method], rtol=0, atol=OPTIMISER_TOL)


def test_scores_of_rows_with_gaps_equal_lavaan(run_r) -> None:
    data = dt.load_dataset(ABILITIES)
    data = data.mask(np.random.default_rng(3).random(data.shape) < 0.15)
    data.loc[0, ["x1", "x2", "x3"]] = np.nan  # a factor without items
    data.loc[1] = np.nan  # no items at all
    estimate, X = fitted(CFA, data, means=True, estimator="fiml")
    options = 'missing = "ml", start = start, do.fit = FALSE, warn = FALSE'
    start = parameter_table(estimate)
    expected = lavaan_scores(run_r, CFA, options, BOTH, x=data, start=start)
    assert np.isnan(expected["Bartlett"][0, 0])
    assert np.isnan(expected["regression"][1]).all()
    for method in BOTH:
        ours = factor_scores(estimate, X, method)
        np.testing.assert_allclose(ours, expected[method], rtol=0, atol=SAME_PARAMETERS_TOL)


@pytest.mark.parametrize(
    ("text", "name"), [(CFA, ABILITIES), (DEMOCRATIC, POLITICS)], ids=["cfa", "sem"]
)
def test_score_reliability_follows_from_the_standard_errors_of_lavaan(
    run_r, text: str, name: str
) -> None:
    """Error variance is Var(η) (1 − ρ²) for regression, Var(η) (1/ρ² − 1) for Bartlett scores."""
    data = dt.load_dataset(name)
    estimate, _ = fitted(text, data, means=False)
    code = f"""
    fit <- lavaan::sem('{text}', data = x, start = start, do.fit = FALSE)
    se <- function(m) attr(lavaan::lavPredict(fit, method = m, se = "standard"), "se")[[1]][1, ]
    list(v = diag(lavaan::lavInspect(fit, "cov.lv")), r = se("regression"), b = se("Bartlett"))
    """
    R = {k: np.array(v) for k, v in run_r(code, x=data, start=parameter_table(estimate)).items()}
    np.testing.assert_allclose(
        score_reliability(estimate), 1 - R["r"] ** 2 / R["v"], rtol=0, atol=SAME_PARAMETERS_TOL
    )
    np.testing.assert_allclose(
        score_reliability(estimate, "Bartlett"),
        R["v"] / (R["v"] + R["b"] ** 2),
        rtol=0,
        atol=SAME_PARAMETERS_TOL,
    )


def test_alpha_of_the_ability_scales_equals_psych(run_r) -> None:
    data = dt.load_dataset(ABILITIES)
    code = "list(a = sapply(0:2, function(k) psych::alpha(x[, 3 * k + 1:3])$total$raw_alpha))"
    ours = reliability(fitted(CFA, data, means=False)[0])["alpha"]
    # psych counts answers and complains of too many different ones, on the output
    expected = run_r(f"capture.output(r <- {code}); r", x=data)["a"]
    np.testing.assert_allclose(ours, expected, rtol=0, atol=ROUNDING_TOL)


def test_alpha_with_a_reversed_item_equals_psych(run_r) -> None:
    code = """
    d <- psychTools::bfi[, c("A2", "A3", "A1", "A4", "A5")]
    d <- d[complete.cases(d), ]
    list(d = as.matrix(d), a = psych::alpha(d, keys = "A1")$total$raw_alpha)
    """
    R = run_r(code)
    data = pd.DataFrame(R["d"], columns=["A2", "A3", "A1", "A4", "A5"])
    estimate, _ = fitted("agreeable =~ A2 + A3 + A1 + A4 + A5", data, means=False)
    np.testing.assert_allclose(reliability(estimate)["alpha"], R["a"], rtol=0, atol=ROUNDING_TOL)


@pytest.mark.parametrize(
    ("text", "name"),
    [(CFA, ABILITIES), (CROSS, ABILITIES), (DEMOCRATIC, POLITICS)],
    ids=["cfa", "cross-loading", "sem"],
)
def test_omega_and_ave_equal_their_formulas_in_matrices_of_lavaan(run_r, text, name) -> None:
    data = dt.load_dataset(name)
    estimate, _ = fitted(text, data, means=False)
    code = f"""
    fit <- lavaan::sem('{text}', data = x, start = start, do.fit = FALSE)
    est <- lavaan::lavInspect(fit, "est")
    std <- lavaan::lavInspect(fit, "std")$lambda
    v <- diag(lavaan::lavInspect(fit, "cov.lv"))
    omega <- sapply(colnames(std), function(f) {{
      items <- std[, f] != 0
      true <- sum(est$lambda[items, f])^2 * v[[f]]
      true / (true + sum(est$theta[items, items]))
    }})
    list(omega = omega, ave = apply(std, 2, function(l) mean(l[l != 0]^2)))
    """
    expected = run_r(code, x=data, start=parameter_table(estimate))
    table = reliability(estimate)
    for column in ("omega", "ave"):
        np.testing.assert_allclose(
            table[column], expected[column], rtol=0, atol=SAME_PARAMETERS_TOL
        )


@pytest.mark.parametrize("name", ["holzinger_swineford_9", "holzinger_swineford_26", POLITICS])
def test_adequacy_equals_psych(run_r, name: str) -> None:
    data = dt.load_dataset(name).select_dtypes("number").dropna()
    code = """
    k <- psych::KMO(cor(x)); b <- psych::cortest.bartlett(cor(x), n = nrow(x))
    list(overall = k$MSA, items = k$MSAi, chisq = b$chisq, df = b$df, p = b$p.value)
    """
    expected = run_r(code, x=data)
    R = np.corrcoef(data.to_numpy(dtype=float), rowvar=False)
    found = sampling_adequacy(R)
    overall, per_item = found.overall, found.per_item
    test = sphericity_test(R, len(data))
    np.testing.assert_allclose(overall, expected["overall"], rtol=0, atol=ROUNDING_TOL)
    np.testing.assert_allclose(per_item, expected["items"], rtol=0, atol=ROUNDING_TOL)
    np.testing.assert_allclose(test.chisq, expected["chisq"], rtol=ROUNDING_TOL)
    assert test.df == expected["df"][0]
    np.testing.assert_allclose(test.pvalue, expected["p"], rtol=1e-6)


def test_pvalue_of_weak_correlations_equals_psych(run_r) -> None:
    """Where the p-value is neither 0 nor 1."""
    data = pd.DataFrame(np.random.default_rng(5).normal(size=(60, 4)).round(6))
    code = "b <- psych::cortest.bartlett(cor(x), n = nrow(x)); list(p = b$p.value)"
    test = sphericity_test(np.corrcoef(data.to_numpy(), rowvar=False), 60)
    assert 0.01 < test.pvalue < 0.99
    np.testing.assert_allclose(test.pvalue, run_r(code, x=data)["p"], rtol=0, atol=ROUNDING_TOL)
