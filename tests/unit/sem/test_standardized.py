"""Standardised solutions against a plain twin, an equivalent model and a change of units."""

import numpy as np
import pytest

from dtstat.data.items import as_items
from dtstat.sem.likelihood import fit_normal
from dtstat.sem.model import build_model
from dtstat.sem.ordered import fit_ordered, ordered_rows
from dtstat.sem.solution import standardize, standardized_table

ITEMS = (*(f"x{k}" for k in range(1, 10)), "y", "z")
CFA = "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6; x1 ~~ x4"
SEM = (
    "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6; h =~ x7 + x8 + x9; "
    "g ~ f; h ~ g + f; y ~ h + x2; x7 ~~ x4; f ~ z"
)
SECOND = "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6; h =~ x7 + x8 + x9; t =~ f + g + h"
ROUNDING = 1e-10
# The same likelihood is maximised in two parameterisations, each to 1e-13 of its value.
SAME = 1e-5
# The Jacobians are both central differences.
ERROR = 1e-6


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    z, f, g, h = rng.normal(size=(4, n))
    f = 0.5 * z + f
    g = 0.6 * f + g
    h = 0.4 * f + 0.3 * g + h
    X = np.column_stack([f, 0.8 * f, -0.7 * f, g, 0.6 * g, 1.2 * g, h, 0.9 * h, 0.5 * h])
    X = X + rng.normal(size=X.shape)
    return np.column_stack([X, 0.5 * h + rng.normal(size=n), z])


def fit(text, X=None, estimator="ml", **options):
    model = build_model(text, ITEMS, **options)
    X = rows() if X is None else X
    return fit_normal(model, X[:, [ITEMS.index(n) for n in model.observed]], estimator, len(X))


def twin(model, theta, everything=True):
    """Standardised values from the covariance matrix of all variables, latent and observed."""
    names = [*model.observed, *model.latent]
    at = {name: k for k, name in enumerate(names)}
    values = [theta[row.free - 1] if row.free else row.value for row in model.parameters]
    A, S = np.zeros((2, len(names), len(names)))
    for row, value in zip(model.parameters, values, strict=True):
        if row.op == "=~":
            A[at[row.rhs], at[row.lhs]] = value
        elif row.op == "~":
            A[at[row.lhs], at[row.rhs]] = value
        elif row.op == "~~":
            S[at[row.lhs], at[row.rhs]] = S[at[row.rhs], at[row.lhs]] = value
    K = np.linalg.inv(np.eye(len(names)) - A)
    total, own = np.sqrt(np.diag(K @ S @ K.T)), np.sqrt(np.diag(S))
    if not everything:
        observed = [at[name] for name in model.observed]
        total[observed] = own[observed] = 1.0
    result = []
    for row, value in zip(model.parameters, values, strict=True):
        a = at[row.lhs]
        b = at.get(row.rhs, -1)
        scale = {
            "=~": total[a] / total[b],
            "~": total[b] / total[a],
            "~1": 1 / total[a],
            "~~": 1 / total[a] ** 2 if a == b else 1 / (own[a] * own[b]),
        }[row.op]
        result.append(value * scale)
    return np.array(result)


def by_name(found, values):
    return dict(zip((row.name for row in found.model.parameters), values, strict=True))


@pytest.mark.parametrize("text", [CFA, SEM, SECOND])
@pytest.mark.parametrize("means", [False, True])
def test_values_are_those_of_the_plain_twin(text, means):
    found = fit(text, mean_structure=means)
    lv, all_ = standardize(found)
    np.testing.assert_allclose(lv, twin(found.model, found.theta, False), atol=ROUNDING)
    np.testing.assert_allclose(all_, twin(found.model, found.theta), atol=ROUNDING)
    np.testing.assert_allclose(standardized_table(found)[0], all_, atol=ROUNDING)


def test_what_standardised_numbers_mean():
    found = fit(CFA)
    all_ = by_name(found, standardize(found)[1])
    assert all_["f ~~ f"] == pytest.approx(1.0)
    assert all_["g ~~ g"] == pytest.approx(1.0)
    for f, items in (("f", ("x1", "x2", "x3")), ("g", ("x4", "x5", "x6"))):
        for x in items:
            assert all_[f"{f} =~ {x}"] ** 2 + all_[f"{x} ~~ {x}"] == pytest.approx(1.0)
    theta = by_name(found, found.estimates)
    share = theta["x1 ~~ x4"] / np.sqrt(theta["x1 ~~ x1"] * theta["x4 ~~ x4"])
    assert all_["x1 ~~ x4"] == pytest.approx(share)


def test_std_lv_is_the_solution_with_factor_variances_of_one():
    marker, unit = fit(CFA), fit(CFA, std_lv=True)
    lv = by_name(marker, standardize(marker)[0])
    direct = by_name(unit, unit.estimates)
    for name, value in direct.items():
        if "=~" in name or name == "f ~~ g":
            assert lv[name] == pytest.approx(value, abs=SAME), name


def test_standard_errors_do_not_depend_on_how_the_scale_was_set():
    marker, unit = fit(CFA), fit(CFA, std_lv=True)
    (values, errors), (others, other_errors) = standardized_table(marker), standardized_table(unit)
    one, two = (
        by_name(marker, zip(values, errors, strict=True)),
        by_name(unit, zip(others, other_errors, strict=True)),
    )
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_allclose(one[name], two[name], atol=SAME, err_msg=name)


def test_the_error_of_a_factor_correlation_is_that_of_the_unit_variance_model():
    marker, unit = fit(CFA), fit(CFA, std_lv=True)
    error = by_name(marker, standardized_table(marker)[1])["f ~~ g"]
    assert error == pytest.approx(by_name(unit, unit.standard_errors)["f ~~ g"], abs=SAME)


@pytest.mark.parametrize("text", [CFA, SEM, SECOND])
@pytest.mark.parametrize("estimator", ["ml", "mlr"])
def test_standard_errors_are_those_of_the_delta_method(text, estimator):
    found = fit(text, estimator=estimator)
    h = 1e-5
    J = np.column_stack(
        [
            (twin(found.model, found.theta + e) - twin(found.model, found.theta - e)) / (2 * h)
            for e in h * np.eye(len(found.theta))
        ]
    )
    expected = np.sqrt(np.diag(J @ found.covariance @ J.T))
    np.testing.assert_allclose(standardized_table(found)[1], expected, atol=ERROR)


def test_numbers_that_are_fixed_by_standardising_have_no_error():
    found = fit(CFA)
    errors = by_name(found, standardized_table(found)[1])
    assert errors["f ~~ f"] == errors["g ~~ g"] == 0.0
    assert 0.01 < errors["f =~ x1"] < 0.1, "a marker's standardised loading is estimated"


@pytest.mark.parametrize("estimator", ["ml", "mlr", "fiml"])
@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_units_do_not_matter(estimator, size):
    X = rows()
    units = np.ones(len(ITEMS))
    units[:6] = size * np.array([1, 3, 0.2, 1, 7, 0.5])
    means = estimator == "fiml"
    plain = fit(CFA, X, estimator, mean_structure=means)
    scaled = fit(CFA, X * units, estimator, mean_structure=means)
    for one, two in zip(standardized_table(plain), standardized_table(scaled), strict=True):
        np.testing.assert_allclose(two, one, atol=1e-4)
    assert scaled.test.scaled == pytest.approx(plain.test.scaled, rel=1e-5)


def test_standard_errors_are_the_spread_over_samples():
    """30 samples: the standard deviation of a mean of 7 standard deviations is about 8 %."""
    fits = [standardized_table(fit(CFA, rows(300, seed))) for seed in range(100, 130)]
    names = [row.name for row in build_model(CFA, ITEMS).parameters]
    at = [k for k, name in enumerate(names) if "=~" in name or name == "f ~~ g"]
    spread = np.std([values[at] for values, _ in fits], axis=0, ddof=1)
    claimed = np.mean([errors[at] for _, errors in fits], axis=0)
    assert 0.75 < (spread / claimed).mean() < 1.25


def test_negative_variances_leave_gaps_and_no_errors():
    X = rows()
    X[:, 0] += 1.5 * (X[:, 1] - X[:, 2])  # shares more with the others than they with each other
    with pytest.warns(match="Heywood case: the residual variance of 'x1'"):
        found = fit(CFA, X)
    values, errors = standardized_table(found)
    all_ = by_name(found, values)
    assert all_["x1 ~~ x1"] < 0
    assert np.isfinite(all_["g =~ x4"])
    assert np.isfinite(by_name(found, errors)["g =~ x5"])
    assert np.isnan(all_["x1 ~~ x4"]), "a residual without a standard deviation correlates not"


def test_ordered_items_are_standardised_already():
    X = np.digitize(rows(500)[:, :6], [-1.0, 0.0, 1.0]).astype(float)
    text = "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6"
    rows_ = ordered_rows(as_items(X, "ordinal"), ITEMS[:6])
    found = fit_ordered(build_model(text, ITEMS, ordered=rows_.ordered), rows_)
    lv, all_ = (by_name(found, values) for values in standardize(found))
    for name in ("f =~ x1", "g =~ x6", "f ~~ g"):
        assert all_[name] == pytest.approx(lv[name])
    assert all_["f =~ x2"] ** 2 + all_["x2 ~~ x2"] == pytest.approx(1.0)
    values, errors = standardized_table(found)
    errors = by_name(found, errors)
    np.testing.assert_allclose(values, list(all_.values()), atol=ROUNDING)
    assert errors["x1 | t1"] == pytest.approx(by_name(found, found.standard_errors)["x1 | t1"])
    # 1 − λ² moves 2 |λ| times as much as λ
    twice = 2 * abs(all_["f =~ x1"]) * errors["f =~ x1"]
    assert errors["x1 ~~ x1"] == pytest.approx(twice, rel=1e-4)
