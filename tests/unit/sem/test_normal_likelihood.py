"""The normal likelihood, its gradient and its information, with and without gaps."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from dtstat.sem.designs import Rows
from dtstat.sem.likelihood import fit_normal
from dtstat.sem.matrices import Layout, NotPositiveDefiniteError, inverse
from dtstat.sem.model import build_model
from dtstat.sem.normal import (
    Covariates,
    case_scores,
    expected_information,
    independence_layout,
    log_likelihood,
    objective,
    observed_information,
    parameters_of,
    saturated_layout,
    saturated_moments,
)
from dtstat.sem.robust import conditional_score_trace, saturated_score_trace, score_trace
from dtstat.sem.rows import complete_sample, independence_moments, sample_from_rows

ITEMS = tuple(f"x{k}" for k in range(1, 7))
MODEL = "f =~ x1 + a*x2 + a*x3; g =~ x4 + x5 + x6; x1 ~~ x4; g ~ f"
# Values of size 10 added in another order.
ROUNDING = 1e-10
# Central differences, steps of 1e-5, of values of size 10.
DIFFERENCE = 1e-7
# EM stops when a step adds less than 1e-11 to the log-likelihood a row.
EM_GRADIENT = 1e-5
# Both searches end within 1e-13 of the minimum of the objective, so 1e-6 of an estimate.
SAME_ESTIMATE = 1e-5


def rows(n=80, seed=0, gaps=False):
    rng = np.random.default_rng(seed)
    f, g = rng.normal(size=(2, n))
    X = np.column_stack([f] * 3 + [0.6 * f + g] * 3) + rng.normal(size=(n, 6)) + np.arange(6.0)
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
        X[3] = np.nan  # a row without any answer
    return X


def layout_of(means):
    return Layout(build_model(MODEL, ITEMS, mean_structure=means))


def somewhere(layout, seed=1):
    """Parameter values with a proper Σ that are not the estimate."""
    rng = np.random.default_rng(seed)
    theta = rng.uniform(0.2, 0.5, layout.model.n_free)
    for row in layout.model.parameters:
        if row.free and row.op == "~~" and row.lhs == row.rhs:
            theta[row.free - 1] += 1.0
    return theta


def sample_of(kind):
    """Sample and layout: complete without means, complete with means, with gaps."""
    X = rows(gaps=kind == "gaps")
    if kind == "gaps":
        return X, sample_from_rows(X), layout_of(True)
    mean = X.mean(axis=0)
    S = np.cov(X.T, bias=True)
    sample = complete_sample(S, mean if kind == "means" else None, len(X))
    return X - (0 if kind == "means" else mean), sample, layout_of(kind == "means")


KINDS = ["complete", "means", "gaps"]


def by_rows(X, Sigma, mu):
    """Log-likelihood of each row's observed items by scipy."""
    total = 0.0
    for row in X:
        o = ~np.isnan(row)
        if o.any():
            total += multivariate_normal(mu[o], Sigma[np.ix_(o, o)]).logpdf(row[o])
    return total


@pytest.mark.parametrize("kind", KINDS)
def test_log_likelihood_is_the_sum_of_the_rows_densities(kind):
    X, sample, layout = sample_of(kind)
    implied = layout.implied(somewhere(layout))
    value = log_likelihood(sample, implied.Sigma, implied.mu)
    assert value == pytest.approx(by_rows(X, implied.Sigma, implied.mu), rel=ROUNDING)


@pytest.mark.parametrize("kind", KINDS)
def test_objective_is_minus_log_likelihood_per_row_less_its_constant(kind):
    X, sample, layout = sample_of(kind)
    implied = layout.implied(somewhere(layout))
    answers = (~np.isnan(X)).sum()
    constant = 0.5 * answers * np.log(2 * np.pi)
    value = objective(sample, layout, somewhere(layout))[0]
    expected = -(by_rows(X, implied.Sigma, implied.mu) + constant) / sample.n_obs
    assert value == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_is_that_of_finite_differences(kind):
    _, sample, layout = sample_of(kind)
    theta, step = somewhere(layout), 1e-5
    numeric = [
        (objective(sample, layout, theta + e)[0] - objective(sample, layout, theta - e)[0])
        / (2 * step)
        for e in step * np.eye(len(theta))
    ]
    np.testing.assert_allclose(objective(sample, layout, theta)[1], numeric, atol=DIFFERENCE)


@pytest.mark.parametrize("kind", KINDS)
def test_case_scores_add_up_to_the_gradient(kind):
    X, sample, layout = sample_of(kind)
    X = X[~np.isnan(X).all(axis=1)]
    theta = somewhere(layout)
    scores = case_scores(X, layout, theta, sample.means)
    assert scores.shape == (len(X), layout.model.n_free)
    gradient = objective(sample, layout, theta)[1]
    np.testing.assert_allclose(scores.sum(axis=0), -sample.n_obs * gradient, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_each_case_score_is_the_gradient_of_its_own_row(kind):
    X, sample, layout = sample_of(kind)
    theta, step = somewhere(layout), 1e-5
    scores = case_scores(X[:2], layout, theta, sample.means)
    for row, score in zip(X[:2], scores, strict=True):
        numeric = []
        for e in step * np.eye(len(theta)):
            up, down = (layout.implied(theta + s * e) for s in (1, -1))
            rise = by_rows(row[None], up.Sigma, up.mu) - by_rows(row[None], down.Sigma, down.mu)
            numeric.append(rise / (2 * step))
        np.testing.assert_allclose(score, numeric, atol=10 * DIFFERENCE)


@pytest.mark.parametrize("kind", KINDS)
def test_observed_information_is_the_second_derivative_of_the_objective(kind):
    _, sample, layout = sample_of(kind)
    theta, h = somewhere(layout), 1e-3
    H = observed_information(sample, layout, theta)
    for a, b in [(0, 0), (0, 3), (2, 5), (4, 4)]:
        ea, eb = h * np.eye(len(theta))[a], h * np.eye(len(theta))[b]
        corners = [
            objective(sample, layout, theta + s * ea + t * eb)[0] * s * t
            for s in (1, -1)
            for t in (1, -1)
        ]
        # the difference quotient itself is wrong by h² times the fourth derivative
        assert H[a, b] == pytest.approx(sum(corners) / (4 * h * h), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("means", [False, True])
def test_at_the_truth_observed_and_expected_information_agree(means):
    layout = layout_of(means)
    theta = somewhere(layout)
    implied = layout.implied(theta)
    sample = complete_sample(implied.Sigma, implied.mu if means else None, 100)
    assert np.abs(objective(sample, layout, theta)[1]).max() < ROUNDING
    np.testing.assert_allclose(
        observed_information(sample, layout, theta),
        expected_information(sample, layout, theta),
        atol=1e-7,
    )


def test_expected_information_is_the_curvature_of_the_kullback_leibler_divergence():
    layout = layout_of(True)
    theta, h = somewhere(layout), 1e-3
    truth = layout.implied(theta)
    sample = complete_sample(truth.Sigma, truth.mu, 1)
    information = expected_information(sample, layout, theta)
    rng = np.random.default_rng(3)
    at = objective(sample, layout, theta)[0]
    for _ in range(5):
        d = rng.normal(size=len(theta))
        d /= np.linalg.norm(d)
        up, down = (objective(sample, layout, theta + s * h * d)[0] - at for s in (1, -1))
        assert (up + down) / h**2 == pytest.approx(d @ information @ d, rel=1e-4)


def test_information_with_gaps_is_the_mean_over_the_patterns():
    _, sample, layout = sample_of("gaps")
    theta = somewhere(layout)
    implied = layout.implied(theta)
    n = sum(pattern.n for pattern in sample.patterns)
    slots = np.einsum("ia,ja->ija", implied.U, implied.V)
    D = np.moveaxis(layout.collect(slots + slots.transpose(1, 0, 2)), -1, 0)
    dmu = layout.collect(implied.dmu).T
    total = np.zeros((len(theta),) * 2)
    for pattern in sample.patterns:
        o = np.ix_(pattern.items, pattern.items)
        W = np.linalg.inv(implied.Sigma[o])
        for a in range(len(theta)):
            for b in range(len(theta)):
                trace = 0.5 * np.trace(W @ D[a][o] @ W @ D[b][o])
                shift = dmu[a][pattern.items] @ W @ dmu[b][pattern.items]
                total[a, b] += pattern.n / n * (trace + shift)
    np.testing.assert_allclose(expected_information(sample, layout, theta), total, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_observed_information_does_not_depend_on_the_units(factor):
    _, sample, _ = sample_of("means")
    pattern = sample.patterns[0]
    layout = saturated_layout(ITEMS, True)
    scaled = complete_sample(pattern.S * factor**2, pattern.mean * factor, 80)
    whole, part = (
        observed_information(s, layout, parameters_of(layout, *saturated_moments(s)))
        for s in (sample, scaled)
    )
    size = np.array([factor if row.op == "~1" else factor**2 for row in layout.model.parameters])
    shrunk = part * np.outer(size, size)
    np.testing.assert_allclose(shrunk, whole, atol=1e-6 * np.abs(whole).max())


def test_sample_from_rows_groups_patterns_and_drops_empty_rows():
    X = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, np.nan], [np.nan, np.nan], [7.0, np.nan]])
    sample = sample_from_rows(X)
    assert (sample.n_obs, sample.n_items, sample.means, sample.complete) == (4, 2, True, False)
    by_size = {len(pattern.items): pattern for pattern in sample.patterns}
    assert (by_size[1].n, by_size[2].n) == (2, 2)
    np.testing.assert_array_equal(by_size[2].mean, [2.0, 4.0])
    np.testing.assert_array_equal(by_size[2].S, [[1.0, 2.0], [2.0, 4.0]])
    np.testing.assert_array_equal(by_size[1].S, [[1.0]])


def test_complete_rows_make_one_pattern():
    X = rows()
    sample = sample_from_rows(X)
    assert sample.complete
    np.testing.assert_allclose(sample.patterns[0].S, np.cov(X.T, bias=True), atol=ROUNDING)


def test_em_moments_maximise_the_likelihood():
    sample = sample_from_rows(rows(gaps=True))
    Sigma, mu = saturated_moments(sample)
    layout = saturated_layout(ITEMS, True)
    theta = parameters_of(layout, Sigma, mu)
    assert layout.model.n_free == 21 + 6
    assert np.abs(objective(sample, layout, theta)[1]).max() < EM_GRADIENT
    best = log_likelihood(sample, Sigma, mu)
    rng = np.random.default_rng(0)
    for _ in range(5):
        noise = 0.02 * rng.normal(size=(6, 6))
        assert log_likelihood(sample, Sigma + noise @ noise.T, mu) < best
        assert log_likelihood(sample, Sigma, mu + 0.02 * rng.normal(size=6)) < best


def test_saturated_moments_of_complete_rows_are_their_own():
    X = rows()
    Sigma, mu = saturated_moments(sample_from_rows(X))
    np.testing.assert_allclose(Sigma, np.cov(X.T, bias=True), atol=ROUNDING)
    np.testing.assert_allclose(mu, X.mean(axis=0), atol=ROUNDING)


def test_independence_moments_maximise_the_likelihood_of_independent_items():
    X = rows(gaps=True)
    sample = sample_from_rows(X)
    Sigma, mu = independence_moments(sample)
    np.testing.assert_allclose(mu, np.nanmean(X, axis=0), atol=ROUNDING)
    np.testing.assert_allclose(np.diag(Sigma), np.nanvar(X, axis=0), atol=ROUNDING)
    layout = independence_layout(ITEMS, True)
    gradient = objective(sample, layout, parameters_of(layout, Sigma, mu))[1]
    assert np.abs(gradient).max() < ROUNDING


def test_given_predictors_are_no_parameters():
    X = rows()
    S, m = np.cov(X.T, bias=True), X.mean(axis=0)
    given = Covariates((1, 4), S, m)
    for make, count in ((saturated_layout, 21 - 3 + 4), (independence_layout, 4 + 4)):
        layout = make(ITEMS, True, given)
        assert layout.model.n_free == count
        implied = layout.implied(parameters_of(layout, S, m))
        np.testing.assert_array_equal(
            implied.Sigma[np.ix_([1, 4], [1, 4])], S[np.ix_([1, 4], [1, 4])]
        )
        np.testing.assert_array_equal(implied.mu, m)


@pytest.mark.parametrize("means", [False, True])
def test_closed_trace_of_the_saturated_model_is_the_long_one(means):
    X = rows()
    X = X if means else X - X.mean(axis=0)
    sample = complete_sample(np.cov(X.T, bias=True), X.mean(axis=0) if means else None, len(X))
    S, m = saturated_moments(sample)
    layout = saturated_layout(ITEMS, means)
    long = score_trace(Rows(X), sample, layout, parameters_of(layout, S, m))
    assert saturated_score_trace(Rows(X), sample, S, m) == pytest.approx(long, rel=1e-6)


def test_the_trace_given_predictors_counts_their_moments_out():
    X = rows(400)
    sample = complete_sample(np.cov(X.T, bias=True), X.mean(axis=0), len(X))
    S, m = saturated_moments(sample)
    given = Covariates((0, 3), S, m)
    layout = saturated_layout(ITEMS, True, given)
    long = score_trace(Rows(X), sample, layout, parameters_of(layout, S, m))
    assert conditional_score_trace(Rows(X), sample, ITEMS, given) == pytest.approx(long, rel=1e-6)
    nothing = conditional_score_trace(Rows(X), sample, ITEMS, Covariates((), S, m))
    assert nothing == pytest.approx(saturated_score_trace(Rows(X), sample, S, m), rel=1e-8)


def test_the_trace_with_gaps_rests_on_the_observed_information():
    X = rows(300, gaps=True)
    X = X[~np.isnan(X).all(axis=1)]
    sample = sample_from_rows(X)
    S, m = saturated_moments(sample)
    layout = saturated_layout(ITEMS, True)
    long = score_trace(Rows(X), sample, layout, parameters_of(layout, S, m))
    found = conditional_score_trace(Rows(X), sample, ITEMS, Covariates((), S, m))
    assert found == pytest.approx(long, rel=1e-8)
    assert found == pytest.approx(27, rel=0.15)  # normal rows: the number of parameters


def test_inverse_and_log_determinant():
    A = np.random.default_rng(0).normal(size=(5, 5))
    A = A @ A.T + np.eye(5)
    W, logdet = inverse(A)
    np.testing.assert_allclose(W @ A, np.eye(5), atol=ROUNDING)
    assert logdet == pytest.approx(np.linalg.slogdet(A)[1])


@pytest.mark.parametrize("bad", [np.diag([1.0, -1.0]), np.ones((2, 2)), np.full((2, 2), np.nan)])
def test_no_covariance_matrix_is_said_so(bad):
    with pytest.raises(NotPositiveDefiniteError):
        inverse(bad)


def test_fiml_on_complete_rows_is_ml():
    X = rows(200)
    model = build_model(MODEL, ITEMS, mean_structure=True)
    ml, fiml = (fit_normal(model, X, estimator, len(X)) for estimator in ("ml", "fiml"))
    np.testing.assert_allclose(fiml.theta, ml.theta, atol=SAME_ESTIMATE)
    assert fiml.logl == pytest.approx(ml.logl, abs=1e-8)
    assert fiml.test.chisq == pytest.approx(ml.test.chisq, abs=1e-7)
    assert fiml.test.df == ml.test.df
    assert fiml.baseline.chisq == pytest.approx(ml.baseline.chisq, abs=1e-7)
    assert (fiml.procedure.information, ml.procedure.information) == ("observed", "expected")


def test_mlr_has_the_estimates_of_ml():
    X = rows(200)
    model = build_model(MODEL, ITEMS)
    ml, mlr = (fit_normal(model, X, estimator, len(X)) for estimator in ("ml", "mlr"))
    np.testing.assert_array_equal(mlr.theta, ml.theta)
    assert mlr.test.chisq == ml.test.chisq
    assert not np.allclose(mlr.covariance, ml.covariance)


def test_means_do_not_change_the_rest_of_a_model_that_leaves_them_free():
    X = rows(200)
    plain, means = (fit_normal(build_model(MODEL, ITEMS, m), X, "mlr", 200) for m in (False, True))
    q = len(plain.theta)
    np.testing.assert_allclose(means.theta[:q], plain.theta, atol=SAME_ESTIMATE)
    np.testing.assert_allclose(means.mu, X.mean(axis=0), atol=SAME_ESTIMATE)
    assert means.test.chisq == pytest.approx(plain.test.chisq, abs=1e-6)
    assert means.test.scaling == pytest.approx(plain.test.scaling, rel=1e-5)
    assert means.baseline.scaling == pytest.approx(plain.baseline.scaling, rel=1e-5)
    assert means.logl == pytest.approx(plain.logl, rel=1e-9)


@pytest.mark.parametrize("estimator", ["ml", "mlr"])
def test_given_predictors_do_not_depend_on_whether_means_are_modelled(estimator):
    X = rows(300)
    text = "f =~ x1 + x2 + x3; f ~ x4 + x5"
    fits = [
        fit_normal(build_model(text, ITEMS, m), X[:, :5], estimator, 300) for m in (False, True)
    ]
    plain, means = fits
    assert means.test.df == plain.test.df == 4
    assert means.baseline.df == plain.baseline.df == 9
    assert means.test.scaled == pytest.approx(plain.test.scaled, rel=1e-5)
    assert means.baseline.scaled == pytest.approx(plain.baseline.scaled, rel=1e-5)


@pytest.mark.parametrize("text", [MODEL, "f =~ x1 + x2 + x3; x5 ~ f; f ~ x4; x6 ~ x4"])
def test_mlr_with_hardly_any_gaps_is_near_mlr_without(text):
    """One answer of 400 rows moves the numbers by about 1/400, not by the 100 % of an error."""
    X = rows(400)
    model = build_model(text, ITEMS, True)
    X = X[:, [ITEMS.index(name) for name in model.observed]]
    whole = fit_normal(model, X, "mlr", 400)
    X[7, 0] = np.nan
    gaps = fit_normal(model, X, "mlr", 400)
    assert (gaps.blocks[0].n_patterns, gaps.n_obs) == (2, 400)
    assert gaps.test.scaling == pytest.approx(whole.test.scaling, rel=0.02)
    assert gaps.baseline.scaling == pytest.approx(whole.baseline.scaling, rel=0.02)
    np.testing.assert_allclose(gaps.standard_errors, whole.standard_errors, rtol=0.05)


def test_a_regression_model_is_least_squares():
    X = rows(150)
    model = build_model("x1 ~ x2 + x3", ("x1", "x2", "x3"), True)
    fit = fit_normal(model, X[:, :3], "ml", 150)
    Z = np.column_stack([X[:, 1:3], np.ones(150)])
    beta, *_ = np.linalg.lstsq(Z, X[:, 0], rcond=None)
    residual = X[:, 0] - Z @ beta
    estimates = dict(zip((row.name for row in fit.model.parameters), fit.estimates, strict=True))
    found = [estimates[k] for k in ("x1 ~ x2", "x1 ~ x3", "x1 ~ 1", "x1 ~~ x1")]
    np.testing.assert_allclose(found, [*beta, residual @ residual / 150], atol=SAME_ESTIMATE)
    # the likelihood is that of the outcome given the predictors
    sigma = np.sqrt(residual @ residual / 150)
    expected = -150 * (np.log(sigma) + 0.5 * np.log(2 * np.pi) + 0.5)
    assert fit.logl == pytest.approx(expected, rel=1e-8)
    assert fit.saturated_logl == pytest.approx(fit.logl, rel=1e-8)
    assert fit.test.chisq == pytest.approx(0.0, abs=1e-7)
    alone = X[:, 0].std()
    assert fit.baseline.chisq == pytest.approx(300 * np.log(alone / sigma), rel=1e-6)


def test_rows_that_do_not_answer_a_predictor_are_left_out():
    X = rows(200)[:, :4]
    X[:20, 0] = np.nan
    X[30:42, 3] = np.nan
    model = build_model("f =~ x1 + x2 + x3; f ~ x4", ITEMS, True)
    with pytest.warns(match="12 rows were left out: they do not answer all observed predictors"):
        fit = fit_normal(model, X, "fiml", 200)
    kept = fit_normal(model, X[~np.isnan(X[:, 3])], "fiml", 200)
    assert (fit.n_obs, fit.n_given, fit.blocks[0].n_patterns) == (188, 200, 2)
    assert len(fit.notes) == 1
    assert fit.logl == kept.logl
    np.testing.assert_array_equal(fit.theta, kept.theta)
