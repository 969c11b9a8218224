"""What a user is told when a model cannot be fitted, or its solution is improper."""

import warnings

import numpy as np
import pytest

import dtstat as dt
from dtstat.core.errors import DTError, DTWarning, EstimationError, EstimationWarning
from dtstat.data.items import as_items
from dtstat.sem.fit_measures import fit_measures
from dtstat.sem.likelihood import fit_normal
from dtstat.sem.model import build_model
from dtstat.sem.ordered import fit_ordered, ordered_rows
from dtstat.sem.search import search

ITEMS = tuple(f"x{k}" for k in range(1, 9))
SEARCHES = "start 1, Fisher scoring; start 1, L-BFGS, then scoring; start 2, Fisher scoring"


def with_covariance(S, n=200, seed=0):
    """Rows whose covariance (divisor n) is exactly S."""
    X = np.random.default_rng(seed).normal(size=(n, len(S)))
    X -= X.mean(axis=0)
    L = np.linalg.cholesky(X.T @ X / n)
    return X @ np.linalg.inv(L).T @ np.linalg.cholesky(S).T


def one_factor(*loadings):
    shared = np.outer(loadings, loadings)
    return shared - np.diag(np.diag(shared)) + np.eye(len(loadings))


def fit(text, S, estimator="ml", **options):
    model = build_model(text, ITEMS, **options)
    X = with_covariance(np.asarray(S, dtype=float))
    at = [ITEMS.index(name) for name in model.observed]
    return fit_normal(model, X[:, at], estimator, len(X))


def answers(n=300, seed=0, categories=(-0.6, 0.6)):
    rng = np.random.default_rng(seed)
    latent = 0.8 * rng.normal(size=(n, 1)) + 0.6 * rng.normal(size=(n, 6))
    return np.digitize(latent, categories).astype(float)


def ordered(text, X, kinds="ordinal"):
    """Fit by wlsmv; ``kinds`` of the items x1, x2, ..."""
    items = as_items(X, kinds)
    names = [n for n, k in zip(items.names, items.kinds, strict=True) if k != "continuous"]
    rows = ordered_rows(items, names)
    return fit_ordered(build_model(text, ITEMS, ordered=rows.ordered), rows)


def test_errors_and_warnings_belong_to_the_family():
    assert issubclass(EstimationError, DTError)
    assert issubclass(EstimationWarning, DTWarning)


def test_too_many_parameters():
    with pytest.raises(EstimationError) as caught:
        fit("f =~ x1 + x2", one_factor(0.7, 0.6))
    assert str(caught.value) == (
        "The model is not identified: it has 4 free parameters for 3 moments. Fix or equate "
        "parameters, or measure the factors with more items."
    )


def test_too_many_parameters_count_means_and_leave_given_moments_out():
    with pytest.raises(EstimationError, match="has 6 free parameters for 5 moments"):
        fit("f =~ x1 + x2", one_factor(0.7, 0.6), mean_structure=True)
    with pytest.raises(EstimationError, match="it has 6 free parameters for 5 moments"):
        fit("f =~ x1 + x2; f ~ x3; x1 ~ x3", one_factor(0.7, 0.6, 0.5))


def test_a_factor_of_two_items_alone_is_not_identified():
    S = np.eye(5)
    S[:3, :3] = one_factor(0.7, 0.6, 0.8)
    S[3, 4] = S[4, 3] = 0.4
    with pytest.raises(EstimationError) as caught:
        fit("f =~ x1 + x2 + x3; g =~ x4 + x5", S, orthogonal=True)
    message = str(caught.value)
    assert message.startswith("The model is not identified: the data say nothing about")
    assert message.endswith("Fix or equate one of them.")
    for name in ("'g =~ x5'", "'g ~~ g'", "'x4 ~~ x4'", "'x5 ~~ x5'"):
        assert name in message
    assert "'f" not in message


def test_two_scales_of_one_factor_are_not_identified():
    with pytest.raises(EstimationError, match=r"nothing about a combination of .*'f ~~ f'"):
        fit("f =~ NA*x1 + x2 + x3 + x4", one_factor(0.7, 0.6, 0.8, 0.5))


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_identification_does_not_depend_on_the_units(size):
    S = one_factor(0.7, 0.6, 0.8, 0.5) * size**2
    assert fit("f =~ x1 + x2 + x3 + x4", S).converged
    with pytest.raises(EstimationError, match="not identified"):
        fit("f =~ NA*x1 + x2 + x3 + x4", S)


def test_a_model_that_does_not_converge_says_what_was_tried():
    # three correlations of which an odd number is negative have no factor behind them
    S = one_factor(0.5, 0.5, 0.5, 0.5)
    S[0, 1:] = S[1:, 0] = [0.9, -0.3, 0.3]
    S += 0.5 * np.eye(4)
    with pytest.raises(EstimationError) as caught:
        fit("f =~ x1 + x2 + x3 + x4; x1 ~~ 40*x2", S)
    message = str(caught.value)
    assert message.startswith(f"The model did not converge. Tried: {SEARCHES}")
    assert "give starting values with start()" in message


def test_a_heywood_case_names_its_item():
    S = np.eye(3)
    S[0, 1] = S[1, 0] = S[0, 2] = S[2, 0] = 0.7
    S[1, 2] = S[2, 1] = 0.35  # loading of x1: √(0.7 · 0.7 / 0.35) > 1
    with pytest.warns(EstimationWarning) as caught:
        found = fit("f =~ x1 + x2 + x3", S)
    assert len(caught) == 1
    assert str(caught[0].message) == found.notes[0]
    assert found.notes[0].startswith(
        "Heywood case: the residual variance of 'x1' is negative (-0.400)."
    )


def test_a_negative_factor_variance_is_a_heywood_case():
    S = np.eye(4) + 0.2 * (np.ones((4, 4)) - np.eye(4))
    S[0, 1] = S[1, 0] = S[2, 3] = S[3, 2] = -0.2
    with pytest.warns(EstimationWarning, match=r"Heywood case: the variance of '[fg]' is negative"):
        found = fit("f =~ 1*x1 + 1*x2; g =~ 1*x3 + 1*x4", S)
    assert [note for note in found.notes if "'f'" in note and "-0.200" in note]


def test_a_factor_correlation_beyond_one_names_the_factors():
    S = np.full((6, 6), 0.5)
    S[:3, :3] = S[3:, 3:] = 0.4
    np.fill_diagonal(S, 1.0)
    with pytest.warns(EstimationWarning) as caught:
        found = fit("f =~ x1 + x2 + x3; g =~ x4 + x5 + x6", S)
    assert [str(w.message) for w in caught] == list(found.notes)
    assert found.notes == (
        "The correlation of 'f' and 'g' is outside [-1, 1] (1.250). They may be one factor.",
    )


def test_a_residual_correlation_beyond_one_names_the_items():
    S = one_factor(0.9, 0.1, 0.3, 0.3)
    S[0, 1] = S[1, 0] = 0.09 + 0.45  # the residuals could share √(0.19 · 0.99) = 0.43 at most
    with pytest.warns(EstimationWarning, match=r"residual correlation of 'x1' and 'x2' is outside"):
        fit("f =~ x1 + x2 + x3 + x4; x1 ~~ x2", S)


def test_a_proper_solution_has_no_notes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit("f =~ x1 + x2 + x3 + x4", one_factor(0.7, 0.6, 0.8, 0.5))
    assert found.notes == ()
    assert found.converged
    assert found.test.chisq == pytest.approx(0.0, abs=1e-8)
    assert found.test.df == 2
    measures = fit_measures(found)
    assert (measures["cfi"], measures["rmsea"], measures["rmsea.ci.lower"]) == (1.0, 0.0, 0.0)
    assert measures["tli"] > 1, "a chi-square below its degrees of freedom"


def test_a_model_without_free_parameters_is_only_tested():
    S = one_factor(0.7, 0.6)
    text = "f =~ 0.7*x1 + 0.6*x2; f ~~ 1*f; x1 ~~ 0.51*x1; x2 ~~ 0.64*x2"
    found = fit(text, S)
    assert (found.test.df, len(found.theta)) == (3, 0)
    assert found.test.chisq == pytest.approx(0.0, abs=1e-8)


def test_standard_errors_that_cannot_be_found_are_not_zero():
    from dataclasses import replace

    found = fit("f =~ x1 + x2 + x3 + x4", one_factor(0.7, 0.6, 0.8, 0.5))
    covariance = found.covariance.copy()
    covariance[0, 0] = -1.0
    errors = replace(found, covariance=covariance).standard_errors
    free = [row.free for row in found.model.parameters]
    assert np.isnan(errors[free.index(1)])
    assert errors[free.index(0)] == 0.0
    assert errors[free.index(2)] > 0


def test_a_saturated_model_has_fit_measures():
    measures = fit_measures(fit("f =~ x1 + x2 + x3", one_factor(0.7, 0.6, 0.8)))
    assert (measures["df"], measures["rmsea"], measures["tli"]) == (0.0, 0.0, 1.0)
    assert measures["cfi"] == pytest.approx(1.0)
    assert np.isnan(measures["pvalue"])


def test_moments_of_ordered_items_are_counted_with_their_thresholds():
    with pytest.raises(EstimationError) as caught:
        ordered("f =~ x1 + x2", answers())
    assert str(caught.value) == (
        "The model is not identified: it has 6 free parameters for 5 moments. Fix or equate "
        "parameters, or measure the factors with more items."
    )


@pytest.mark.parametrize(
    "text", ["f =~ NA*x1 + x2 + x3 + x4 + x5", "f =~ x1 + x2; g =~ x3 + x4; f ~~ 0*g"]
)
def test_wlsmv_names_what_is_not_identified(text):
    # Of the second model either factor may be named: both are at fault, and rounding decides.
    told = r"say nothing about a combination of .*'(f ~~ f|g ~~ g)'"
    with pytest.raises(EstimationError, match=told):
        ordered(text, answers())


def test_wlsmv_names_the_item_of_a_heywood_case():
    rng = np.random.default_rng(2)
    S = np.eye(3)
    S[0, 1] = S[1, 0] = S[0, 2] = S[2, 0] = 0.7
    S[1, 2] = S[2, 1] = 0.35
    X = np.digitize(
        rng.multivariate_normal(np.zeros(3), S, 2000, method="cholesky"), [-0.5, 0.5]
    ).astype(float)
    with pytest.warns(EstimationWarning, match="Heywood case: the residual variance of 'x1'"):
        ordered("f =~ x1 + x2 + x3", X)


def test_starting_values_that_lead_to_a_higher_minimum_are_dropped():
    # the first parameter, the loading of x2, has minima near -1 and 1, the lower one near -1
    def objective(theta):
        t, others = theta[0], theta[1:]
        slope = np.append(4 * t * (t**2 - 1) + 0.2, others)
        return (t**2 - 1) ** 2 + 0.2 * t + others @ others / 2, slope

    def information(theta):
        return np.diag(np.append(12 * theta[0] ** 2 + 1, np.ones(len(theta) - 1)))

    S = np.eye(3)
    S[0, 1] = S[1, 0] = -0.5
    moments = [(S, np.zeros(3))]
    started = build_model("f =~ x1 + start(5)*x2 + x3", ITEMS)
    with pytest.warns(EstimationWarning, match="only a higher minimum from the values given"):
        found, notes = search(objective, information, started, moments)
    assert found.theta[0] == pytest.approx(-1.0241, abs=1e-4)
    assert "'f =~ x2'" in notes[0]
    kept, notes = search(
        objective, information, build_model("f =~ x1 + start(-5)*x2 + x3", ITEMS), moments
    )
    assert kept.theta[0] == pytest.approx(found.theta[0], abs=1e-6)
    assert notes == ()


@pytest.mark.parametrize("wrong", [1e6, 4000.0])
def test_an_answer_that_makes_up_the_variance_is_named(wrong):
    data = dt.load_dataset("holzinger_swineford_9").astype(float)
    data.iloc[17, 1] = wrong
    squares = (data["x2"] - data["x2"].mean()) ** 2
    told = f"one answer, {wrong:g}, makes up {squares.max() / squares.sum():.1%} of the variance"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a Heywood case follows
        fit = dt.cfa(data, "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6")
    assert any(f"{told} of item 'x2'" in note for note in fit.warnings)


def test_rare_answers_are_not_warned_of():
    data = dt.load_dataset("holzinger_swineford_9").astype(float)
    data.iloc[17, 1] = 60.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", dt.DataWarning)
        dt.cfa(data, "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6")
