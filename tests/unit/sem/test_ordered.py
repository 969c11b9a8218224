"""Diagonally weighted least squares for ordered items, on data whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

import dtstat as dt
from dtstat.data.items import as_items
from dtstat.sem.fit_measures import fit_measures
from dtstat.sem.likelihood import fit_normal
from dtstat.sem.matrices import Layout
from dtstat.sem.model import build_model
from dtstat.sem.ordered import fit_ordered, ordered_rows
from dtstat.sem.ordinal_moments import ordinal_moments
from dtstat.sem.solution import standardize

ITEMS = tuple(f"x{k}" for k in range(1, 7))
TWO = "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6"
ONE = "f =~ " + " + ".join(ITEMS)
LOADINGS = np.array([0.8, 0.7, 0.6, 0.75, 0.65, -0.7])
CORRELATION = 0.4
CUTS = (-0.8, 0.2, 1.0)
REPLICATIONS, N_SMALL = 60, 400
ROUNDING = 1e-10
# How many standard errors a seeded estimate may be off.
SURE = 4.0


def truth(one=False):
    """Correlations of the variables behind the items."""
    Phi = np.full((6, 6), 1.0 if one else CORRELATION)
    Phi[:3, :3] = Phi[3:, 3:] = 1.0
    R = np.outer(LOADINGS, LOADINGS) * Phi
    np.fill_diagonal(R, 1.0)
    return R


def latent(n, seed, one=False):
    return np.random.default_rng(seed).multivariate_normal(
        np.zeros(6), truth(one), n, method="cholesky"
    )


def answers(n=4000, seed=0, one=False):
    return np.digitize(latent(n, seed, one), CUTS).astype(float)


def fit(text, X, kinds="ordinal", **options):
    items = as_items(X, kinds)
    ordered = [n for n, k in zip(items.names, items.kinds, strict=True) if k != "continuous"]
    rows = ordered_rows(items, ordered)
    model = build_model(text, ITEMS, mean_structure=True, ordered=rows.ordered, **options)
    return fit_ordered(model, rows)


def by_name(found, values):
    return dict(zip((row.name for row in found.model.parameters), values, strict=True))


@pytest.fixture(scope="module")
def found():
    return fit(TWO, answers(), std_lv=True)


@pytest.fixture(scope="module")
def replications():
    """Fits of the true model to small samples."""
    return [
        fit(ONE, answers(N_SMALL, seed, one=True), std_lv=True)
        for seed in range(1000, 1000 + REPLICATIONS)
    ]


def test_loadings_and_factor_correlation_are_recovered(found):
    values, errors = by_name(found, found.estimates), by_name(found, found.standard_errors)
    names = [f"{'f' if k < 3 else 'g'} =~ {x}" for k, x in enumerate(ITEMS)]
    expected = dict(zip(names, LOADINGS, strict=True)) | {"f ~~ g": CORRELATION}
    for name, value in expected.items():
        assert abs(values[name] - value) < SURE * errors[name], name
        assert 0.005 < errors[name] < 0.04, name


def test_binary_items_are_recovered_too():
    X = (latent(4000, 3) > 0.3).astype(float)
    result = fit(TWO, X, "binary", std_lv=True)
    values, errors = by_name(result, result.estimates), by_name(result, result.standard_errors)
    for k, x in enumerate(ITEMS):
        name = f"{'f' if k < 3 else 'g'} =~ {x}"
        assert abs(values[name] - LOADINGS[k]) < SURE * errors[name], name
    assert sum(row.op == "|" for row in result.model.parameters) == 6


def test_residual_variances_are_what_the_factors_leave(found):
    values, errors = by_name(found, found.estimates), by_name(found, found.standard_errors)
    for k, x in enumerate(ITEMS):
        loading = values[f"{'f' if k < 3 else 'g'} =~ {x}"]
        assert values[f"{x} ~~ {x}"] == pytest.approx(1 - loading**2, abs=ROUNDING)
        assert errors[f"{x} ~~ {x}"] == 0.0
    np.testing.assert_allclose(np.diag(found.Sigma), 1.0)


def test_residual_variances_allow_for_cross_loadings_and_markers():
    result = fit("f =~ x1 + x2 + x3 + x4; g =~ x4 + x5 + x6", answers())
    values = by_name(result, result.estimates)
    a, b = values["f =~ x4"], values["g =~ x4"]
    shared = a**2 * values["f ~~ f"] + b**2 * values["g ~~ g"] + 2 * a * b * values["f ~~ g"]
    assert values["x4 ~~ x4"] == pytest.approx(1 - shared, abs=ROUNDING)


def test_thresholds_are_normal_quantiles_of_the_cumulative_shares(found):
    X = answers()
    values, errors = by_name(found, found.estimates), by_name(found, found.standard_errors)
    for k, x in enumerate(ITEMS):
        for t in (1, 2, 3):
            share = (X[:, k] < t).mean()
            assert values[f"{x} | t{t}"] == pytest.approx(ndtri(share), abs=1e-6)
            density = np.exp(-0.5 * ndtri(share) ** 2) / np.sqrt(2 * np.pi)
            error = np.sqrt(share * (1 - share) / len(X)) / density
            assert errors[f"{x} | t{t}"] == pytest.approx(error, rel=1e-3)


def test_degrees_of_freedom_count_correlations_only(found):
    assert (found.test.df, found.baseline.df) == (15 - 7, 15)
    assert found.model.n_free == 7 + 18
    assert (found.logl, found.saturated_logl, found.procedure.robust) == (None, None, True)


BELOW = np.tril_indices(6, -1)


@pytest.fixture(scope="module")
def statistics():
    """Correlations below the diagonal, row by row, and their Γ."""
    items = as_items(answers(), "ordinal")
    moments = ordinal_moments(items.values, items.kinds, items.names)
    columns = [(j, i) for i in range(6) for j in range(i + 1, 6)]  # the order of the moments
    order = [columns.index((int(i), int(j))) for i, j in zip(*BELOW, strict=True)]
    gamma = moments.gamma[-15:, -15:][np.ix_(order, order)]
    return moments.correlations[BELOW], gamma


def test_the_estimate_is_a_minimum_of_the_weighted_distance(found, statistics):
    s, gamma = statistics

    def F(theta):
        residual = s - Layout(found.model).implied(theta).Sigma[BELOW]
        return float(residual**2 @ (1 / np.diag(gamma)))

    best = F(found.theta)
    assert found.test.chisq == pytest.approx((4000 - 1) * best, rel=1e-9)
    for k in range(7):
        for step in (-1e-3, 1e-3):
            moved = found.theta.copy()
            moved[k] += step
            assert F(moved) > best


def test_errors_and_scaling_follow_the_formulas(found, statistics):
    """Cov = E Δᵀ W Γ W Δ E / n; T* has the mean and variance of χ² if T is Σ λ χ²₁, λ of UΓ."""
    _, gamma = statistics
    h = 1e-6
    layout = Layout(found.model)
    Delta = np.column_stack(
        [
            (layout.implied(found.theta + e).Sigma - layout.implied(found.theta - e).Sigma)[BELOW]
            / (2 * h)
            for e in h * np.eye(len(found.theta))[:7]
        ]
    )
    W = np.diag(1 / np.diag(gamma))
    E = np.linalg.inv(Delta.T @ W @ Delta)
    covariance = E @ Delta.T @ W @ gamma @ W @ Delta @ E / (4000 - 1)
    np.testing.assert_allclose(found.covariance[:7, :7], covariance, rtol=1e-5, atol=1e-10)
    roots = np.linalg.eigvals((W - W @ Delta @ E @ Delta.T @ W) @ gamma).real
    mean, variance, df = roots.sum(), 2 * (roots**2).sum(), found.test.df
    assert mean / found.test.scaling + found.test.shift == pytest.approx(df, rel=1e-6)
    assert variance / found.test.scaling**2 == pytest.approx(2 * df, rel=1e-6)
    roots = np.linalg.eigvals(W @ gamma).real
    base = found.baseline
    assert roots.sum() / base.scaling + base.shift == pytest.approx(15, rel=1e-6)
    assert 2 * (roots**2).sum() / base.scaling**2 == pytest.approx(30, rel=1e-6)


def test_the_marker_and_the_unit_variance_model_are_the_same(found):
    marker = fit(TWO, answers())
    assert marker.test.chisq == pytest.approx(found.test.chisq, rel=1e-6)
    assert marker.test.scaled == pytest.approx(found.test.scaled, rel=1e-6)
    one, two = by_name(marker, standardize(marker)[1]), by_name(found, standardize(found)[1])
    for name in one:
        assert one[name] == pytest.approx(two[name], abs=1e-5), name


def test_equal_loadings_are_equal():
    result = fit("f =~ NA*x1 + a*x2 + a*x3; g =~ x4 + x5 + x6; f ~~ 1*f", answers())
    values = by_name(result, result.estimates)
    assert values["f =~ x2"] == values["f =~ x3"]
    assert result.test.df == 15 - 6
    assert values["x2 ~~ x2"] == pytest.approx(1 - values["f =~ x2"] ** 2)


def test_continuous_items_stay_continuous():
    X = answers(2000)
    X[:, 4] = 3.0 + 2.0 * latent(2000, 0)[:, 4]
    kinds = {x: "ordinal" for x in ITEMS} | {"x5": "continuous"}
    result = fit(TWO, X, kinds, std_lv=True)
    values, errors = by_name(result, result.estimates), by_name(result, result.standard_errors)
    assert values["x5 ~ 1"] == pytest.approx(X[:, 4].mean())
    assert abs(values["g =~ x5"] - 2 * LOADINGS[4]) < SURE * errors["g =~ x5"]
    assert values["x5 ~~ x5"] + values["g =~ x5"] ** 2 == pytest.approx(X[:, 4].var(), rel=1e-5)
    assert errors["x5 ~~ x5"] > 0
    assert not any(row.op == "|" and row.lhs == "x5" for row in result.model.parameters)
    assert result.test.df == 16 - 8  # one variance more, one parameter more


def test_continuous_items_only_are_fitted_to_covariances():
    """Exact covariances of the model: any estimator must find it."""
    X = latent(300, 5)
    X = (X - X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True))).T
    X = X @ np.linalg.cholesky(truth()).T
    least = fit(TWO, X, "continuous", std_lv=True)
    likely = fit_normal(build_model(TWO, ITEMS, std_lv=True), X, "ml", 300)
    assert least.test.chisq == pytest.approx(0.0, abs=1e-8)
    np.testing.assert_allclose(least.theta[: len(likely.theta)], likely.theta, atol=1e-5)


def test_scores_of_the_answers_do_not_matter_only_their_order():
    X = answers(1000)
    one, two = fit(TWO, X), fit(TWO, np.choose(X.astype(int), [-3, 0, 1, 10]).astype(float))
    np.testing.assert_array_equal(one.theta, two.theta)
    assert one.test == two.test


def test_a_wrong_model_is_rejected_and_a_right_one_is_not(found):
    right, wrong = fit_measures(found), fit_measures(fit(ONE, answers()))
    assert right["pvalue.scaled"] > 0.001
    assert wrong["pvalue.scaled"] < 1e-6
    assert wrong["rmsea.scaled"] > 0.08 > right["rmsea.scaled"]
    assert wrong["cfi.scaled"] < 0.95 < right["cfi.scaled"]


def test_the_scaled_test_has_the_mean_and_variance_of_chi_square(replications):
    values = np.array([r.test.scaled for r in replications])
    df = replications[0].test.df
    assert df == 9
    mean_error = np.sqrt(2 * df / REPLICATIONS)
    assert abs(values.mean() - df) < 3 * mean_error
    # the variance of a sample variance: σ⁴ (2 / (n − 1) + κ / n) with κ = 12 / df
    variance_error = 2 * df * np.sqrt(2 / (REPLICATIONS - 1) + 12 / df / REPLICATIONS)
    assert abs(values.var(ddof=1) - 2 * df) < 3 * variance_error


def test_the_unscaled_test_is_not_chi_square(replications):
    """n F alone is far too small here; the scaling is what makes it a test."""
    assert np.mean([r.test.chisq for r in replications]) < 6


def test_standard_errors_are_the_spread_over_samples(replications):
    loadings = np.array([r.theta[:6] for r in replications])
    errors = np.array([r.standard_errors[:6] for r in replications])
    # six ratios of standard deviations from 60 samples, each uncertain by 1 / √118
    assert 0.85 < (loadings.std(axis=0, ddof=1) / errors.mean(axis=0)).mean() < 1.15
    off = np.abs(loadings.mean(axis=0) - LOADINGS)
    assert (off < SURE * errors.mean(axis=0) / np.sqrt(REPLICATIONS) + 0.01).all()


def _ratings():
    X = np.digitize(latent(400, 3), CUTS)
    return pd.DataFrame(X, columns=list(ITEMS)).assign(half=np.arange(400) < 200)


@pytest.mark.parametrize("words", [False, True])
def test_ordered_categoricals_are_ordered_items(words):
    plain = _ratings()
    names = ["never", "seldom", "often", "always"] if words else [0, 1, 2, 3]
    said = plain.copy()
    for item in ITEMS:
        answers = [names[k] for k in plain[item]]
        said[item] = pd.Categorical(answers, categories=names, ordered=True)
    wanted = dt.cfa(plain, TWO, ordered=True)
    found = dt.cfa(said, TWO)
    assert found.call.ordered == ITEMS
    np.testing.assert_allclose(found.estimate.theta, wanted.estimate.theta)
    assert dt.cfa(said, TWO, ordered=False).call.ordered == ()
    assert dt.cfa(said, TWO, estimator="mlr").call.ordered == ()
    assert dt.cfa(said, TWO, missing="fiml").call.ordered == ()
    ladder = dt.invariance(said, TWO, "half")
    assert ladder.steps == dt.invariance(plain, TWO, "half", ordered=True).steps
    only_one = plain.assign(x1=said["x1"])
    assert dt.cfa(only_one, TWO).call.ordered == ("x1",)


def test_scores_do_not_depend_on_the_parameterization():
    """Both are one model in other units of the factors; lavaan's theta scores are no multiples."""
    data = _ratings()
    scores = {}
    for scale in ("delta", "theta"):
        fit = dt.cfa(data, TWO, ordered=list(ITEMS), parameterization=scale)
        table = fit.parameters
        own = (table["op"] == "~~") & (table["lhs"] == table["rhs"]) & table["lhs"].isin(["f", "g"])
        scores[scale] = fit.factor_scores(data).to_numpy() / np.sqrt(
            table.loc[own, "est"].to_numpy()
        )
    np.testing.assert_allclose(scores["delta"], scores["theta"], atol=1e-4)
