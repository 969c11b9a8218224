"""Weights, clusters and least squares: brute force, simulation and messages."""

import numpy as np
import pandas as pd
import pytest

import dtstat as dt
from dtstat.sem.designs import Rows, sum_by_cluster
from dtstat.sem.second_moments import moment_covariance, normal_weights

ONE = "f =~ x1 + x2 + x3 + x4"


def sample(seed, n=300, clusters=0):
    rng = np.random.default_rng(seed)
    f = rng.normal(size=n)
    if clusters:
        f = 0.6 * f + 0.8 * rng.normal(size=clusters)[np.arange(n) % clusters]
    X = f[:, None] * [0.8, 0.7, 0.6, 0.7] + 0.6 * rng.normal(size=(n, 4))
    data = pd.DataFrame(X, columns=["x1", "x2", "x3", "x4"])
    data["class"] = np.arange(n) % (clusters or n)
    return data


def test_whole_weights_are_rows_written_several_times():
    data = sample(1, 120)
    data["w"] = np.random.default_rng(2).integers(1, 4, len(data)).astype(float)
    repeated = data.loc[data.index.repeat(data["w"].astype(int))]
    weighted = dt.cfa(
        data, ONE, sampling_weights="w", sampling_weights_normalization="none", mean_structure=True
    )
    written = dt.cfa(repeated, ONE, mean_structure=True)
    np.testing.assert_allclose(weighted.parameters["est"], written.parameters["est"], atol=1e-6)
    assert weighted.fit_measures["chisq"] == pytest.approx(written.fit_measures["chisq"], abs=1e-6)


def test_clusters_of_one_row_are_mlr_but_for_their_number():
    data = sample(3)
    data["own"] = np.arange(len(data))
    clustered = dt.cfa(data, ONE, cluster="own").parameters["se"]
    plain = dt.cfa(data, ONE, estimator="mlr", mean_structure=True).parameters["se"]
    np.testing.assert_allclose(clustered, plain * np.sqrt(300 / 299), rtol=1e-6)


def test_sums_by_cluster():
    values = np.arange(10.0).reshape(5, 2)
    clusters = np.array([1, 0, 1, 0, 1])
    expected = np.array([values[clusters == c].sum(axis=0) for c in (0, 1)])
    np.testing.assert_array_equal(sum_by_cluster(values, clusters), expected)
    rows = Rows(values, np.arange(1.0, 6.0), clusters)
    t = np.array([(values * rows.weights[:, None])[clusters == c].sum(axis=0) for c in (0, 1)])
    np.testing.assert_allclose(rows.squares(values), t.T @ t * 2 / 15)


def test_clustered_errors_are_those_of_repeated_samples():
    """Means of clustered rows: ml's errors are too small, those by cluster hold."""
    estimates, clustered, plain = [], [], []
    for seed in range(80):
        data = sample(100 + seed, 200, 40)
        fit = dt.cfa(data, ONE, cluster="class")
        table = fit.parameters.query("lhs == 'x1' and op == '~1'")
        estimates.append(table["est"].item())
        clustered.append(table["se"].item())
        naive = dt.cfa(data, ONE, mean_structure=True).parameters
        plain.append(naive.query("lhs == 'x1' and op == '~1'")["se"].item())
    spread = np.std(estimates, ddof=1)
    assert np.mean(clustered) == pytest.approx(spread, rel=0.2)
    assert np.mean(plain) < 0.75 * spread


def test_weighted_errors_are_those_of_repeated_samples():
    """Rows drawn with unequal chances: weights take the bias away, and mlr's errors hold."""
    estimates, errors, naive = [], [], []
    for seed in range(80):
        data = sample(500 + seed, 1200)
        rng = np.random.default_rng(seed)
        chance = np.where(data["x1"] > 0.5, 0.6, 0.15)
        drawn = data.assign(w=1 / chance)[rng.random(len(data)) < chance]
        fit = dt.cfa(drawn, ONE, sampling_weights="w", mean_structure=True)
        row = fit.parameters.query("lhs == 'x1' and op == '~1'")
        estimates.append(row["est"].item())
        errors.append(row["se"].item())
        plain = dt.cfa(drawn, ONE, mean_structure=True).parameters
        naive.append(plain.query("lhs == 'x1' and op == '~1'")["est"].item())
    assert abs(np.mean(estimates)) < 0.03
    assert np.mean(naive) > 0.2
    assert np.mean(errors) == pytest.approx(np.std(estimates, ddof=1), rel=0.2)


def test_errors_of_unweighted_least_squares_are_those_of_repeated_samples():
    """W = I is not Γ⁻¹: errors from E⁻¹ alone depend on the units of the items."""
    estimates, robust, standard = [], [], []
    for seed in range(80):
        data = 3 * sample(900 + seed, 250)
        robust.append(dt.cfa(data, ONE, estimator="uls").parameters["se"][1])
        fit = dt.cfa(data, ONE, estimator="uls", se="standard", test="standard")
        standard.append(fit.parameters["se"][1])
        estimates.append(fit.parameters["est"][1])
    spread = np.std(estimates, ddof=1)
    assert np.mean(robust) == pytest.approx(spread, rel=0.2)
    assert np.mean(standard) < 0.5 * spread


def test_covariance_of_moments_of_normal_rows():
    rng = np.random.default_rng(5)
    Sigma = np.array([[2.0, 0.5, 0.3], [0.5, 1.0, 0.2], [0.3, 0.2, 1.5]])
    X = rng.multivariate_normal(np.zeros(3), Sigma, size=400_000, method="cholesky")
    expected = np.linalg.inv(normal_weights(Sigma, True))
    np.testing.assert_allclose(moment_covariance(X, True), expected, atol=0.15)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("w", [-1.0, *[1.0] * 299], "must not be negative; 'w' has -1 in row 1"),
        ("w", [*[1.0] * 299, np.nan], "has none in row 300"),
        ("w", [0.0] * 300, "must not all be zero"),
        ("w", ["a"] * 300, "column of numbers"),
    ],
)
def test_bad_weights_are_refused(column, values, words):
    with pytest.raises(dt.InputError, match=words):
        dt.cfa(sample(1).assign(**{column: values}), ONE, sampling_weights=column)


@pytest.mark.parametrize(
    ("values", "words"),
    [(["a"] * 300, "two clusters or more"), ([None, *["a", "b"] * 149, "a"], "none in row 1")],
)
def test_bad_clusters_are_refused(values, words):
    with pytest.raises(dt.InputError, match=words):
        dt.cfa(sample(1).assign(c=values), ONE, cluster="c")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sampling_weights": "weigth"}, "sampling_weights"),
        ({"estimator": "mlm", "missing": "fiml"}, "without gaps"),
        ({"estimator": "gls", "information": "observed"}, "expected"),
        ({"estimator": "gls", "cluster": "class"}, "weights or clusters"),
        ({"auxiliary": ["class"]}, "missing='fiml'"),
        ({"rotation": "promax"}, "rotation"),
        ({"test": "browne"}, "test"),
        ({"group_label": ["a"]}, "group"),
    ],
)
def test_arguments_that_do_not_go_together(options, words):
    with pytest.raises(dt.InputError, match=words):
        dt.cfa(sample(1), ONE, **options)


def test_two_levels_are_refused_in_a_sentence():
    with pytest.raises(dt.ModelSyntaxError, match="two-level models"):
        dt.cfa(sample(1), "level: 1\n  f =~ x1 + x2 + x3\nlevel: 2\n  g =~ x1 + x2 + x3")
    with pytest.raises(dt.ModelSyntaxError, match=r"fixed at 0\.5 \(line 2\) and at 0\.7"):
        dt.cfa(sample(1), ONE + "\nx1 ~~ 0.5*x1\nx1 ~~ 0.7*x1")


@pytest.mark.parametrize(
    "options",
    [
        *({"estimator": name} for name in ("mlm", "mlmv", "mlmvs", "mlf", "gls", "wls", "uls")),
        {"information": "observed"},
        {"se": "none"},
        {"estimator": "mlr", "information": "expected"},
        {"sampling_weights": "w", "cluster": "class"},
    ],
)
def test_every_procedure_prints_saves_and_tabulates(options, tmp_path):
    data = sample(7, clusters=50).assign(w=np.linspace(0.5, 2, 300))
    fit = dt.cfa(data, ONE, **options)
    text = fit.summary().to_text()
    assert "Standard errors" in text
    assert f"{fit.fit_measures['chisq']:.3f}" in text
    fit.save(tmp_path / "fit.dtstat")
    assert dt.load(tmp_path / "fit.dtstat").parameters.equals(fit.parameters)
    assert fit.glance()["chisq"].notna().all()


def ratings(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(12)
    f = rng.normal(size=n)
    behind = 0.8 * f[:, None] + 0.6 * rng.normal(size=(n, 4))
    names = ["u1", "u2", "u3", "u4"]
    return pd.DataFrame(np.digitize(behind, [-0.6, 0.5]), columns=names).assign(row=np.arange(n))


RATED = "f =~ u1 + u2 + u3 + u4"


def test_a_weight_of_ordered_items_is_that_many_copies_drawn_together():
    data = ratings(150).assign(w=np.arange(150) % 3 + 1)
    copies = data.loc[np.repeat(data.index, data["w"])].reset_index(drop=True)
    given = {"ordered": True, "estimator": "ulsmv"}
    weighted = dt.cfa(
        data, RATED, sampling_weights="w", sampling_weights_normalization="none", **given
    )
    repeated = dt.cfa(copies, RATED, cluster="row", **given)
    np.testing.assert_allclose(weighted.parameters["est"], repeated.parameters["est"], atol=1e-6)
    np.testing.assert_allclose(
        weighted.parameters["se"] * np.sqrt(150 / 149), repeated.parameters["se"], atol=1e-6
    )
    assert weighted.estimate.test.chisq == pytest.approx(repeated.estimate.test.chisq, rel=1e-5)


def test_ordered_rows_that_are_copied_tell_nothing_new():
    data = ratings(120)
    once = dt.cfa(data, RATED, ordered=True)
    twice = dt.cfa(pd.concat([data, data], ignore_index=True), RATED, ordered=True, cluster="row")
    np.testing.assert_allclose(once.parameters["est"], twice.parameters["est"], atol=1e-6)
    factor = np.sqrt(119 * 2 / 239 * 120 / 119)  # rows less one, and clusters less one
    np.testing.assert_allclose(
        once.parameters["se"] * factor, twice.parameters["se"], rtol=1e-5, atol=1e-8
    )


def test_rows_of_ordered_items_that_weigh_nothing_are_left_out():
    data = ratings(120).assign(w=1.0)
    data.loc[100:, "w"] = 0.0
    some = dt.cfa(data, RATED, ordered=True, sampling_weights="w")
    kept = dt.cfa(data[:100], RATED, ordered=True)
    np.testing.assert_allclose(some.parameters["est"], kept.parameters["est"], atol=1e-6)
    np.testing.assert_allclose(some.parameters["se"], kept.parameters["se"], atol=1e-6)


def test_weights_of_ordered_items_need_robust_errors():
    with pytest.raises(dt.InputError, match="when ordered items have weights or clusters; got"):
        dt.cfa(ratings(100), RATED, estimator="dwls", cluster="row")
