"""Modification indices against what refitting gains, on mild misfit."""

import numpy as np
import pytest

from dtstat.core.errors import EstimationError
from dtstat.sem.likelihood import fit_normal
from dtstat.sem.model import build_model
from dtstat.sem.solution import _partial, modification_indices

ITEMS = tuple(f"x{k}" for k in range(1, 7))
TWO = "f =~ x1 + x2 + x3; g =~ x4 + x5 + x6"
COLUMNS = ["lhs", "op", "rhs", "mi", "epc", "sepc.lv", "sepc.all"]
# A score test agrees with the likelihood ratio to first order in the misfit, which is small here.
AGREE = 0.10


def population(cross=0.0, residual=0.0):
    L = np.zeros((6, 2))
    L[:3, 0], L[3:, 1] = (0.8, 0.7, 0.6), (0.75, 0.65, 0.7)
    L[3, 0] += cross
    Phi = np.array([[1.0, 0.4], [0.4, 1.0]])
    S = L @ Phi @ L.T
    np.fill_diagonal(S, 1.0)
    S[1, 4] += residual
    S[4, 1] += residual
    return S


def with_covariance(S, n=500, seed=0):
    """Rows whose covariance (divisor n) is exactly S."""
    X = np.random.default_rng(seed).normal(size=(n, len(S)))
    X -= X.mean(axis=0)
    L = np.linalg.cholesky(X.T @ X / n)
    return X @ np.linalg.inv(L).T @ np.linalg.cholesky(S).T


def fit(text, X, estimator="ml", **options):
    return fit_normal(build_model(text, ITEMS, **options), X, estimator, len(X))


def estimate_of(found, name):
    return {row.name: v for row, v in zip(found.model.parameters, found.estimates, strict=True)}[
        name
    ]


def entry(table, name):
    lhs, op, rhs = name.split()
    rows = table[(table.lhs == lhs) & (table.op == op) & (table.rhs == rhs)]
    assert len(rows) == 1, name
    return rows.iloc[0]


@pytest.mark.parametrize(
    ("name", "misfit", "options"),
    [
        ("f =~ x4", {"cross": 0.06}, {}),
        ("x2 ~~ x5", {"residual": 0.04}, {}),
        ("f =~ x4", {"cross": 0.06}, {"std_lv": True}),
        ("x2 ~~ x5", {"residual": 0.04}, {"mean_structure": True}),
    ],
)
def test_the_index_is_the_fall_of_chi_square_and_epc_the_estimate(name, misfit, options):
    X = with_covariance(population(**misfit), n=4000)
    restricted, freed = fit(TWO, X, **options), fit(f"{TWO}; {name}", X, **options)
    row = entry(modification_indices(restricted), name)
    fall = restricted.test.chisq - freed.test.chisq
    assert fall > 4
    assert row.mi == pytest.approx(fall, rel=AGREE)
    assert row.epc == pytest.approx(estimate_of(freed, name), rel=AGREE)


def test_every_index_approximates_its_own_refit():
    X = with_covariance(population(cross=0.08, residual=0.04), n=400)
    base = fit(TWO, X)
    table = modification_indices(base)
    for row in table.itertuples():
        freed = fit(f"{TWO}; {row.lhs} {row.op} {row.rhs}", X)
        fall = base.test.chisq - freed.test.chisq
        assert row.mi == pytest.approx(fall, rel=AGREE, abs=0.05), (row.lhs, row.op, row.rhs)


def test_with_gaps_the_index_is_still_the_fall_of_chi_square():
    X = with_covariance(population(cross=0.06), n=2000)
    X[np.random.default_rng(1).random(X.shape) < 0.08] = np.nan
    base, freed = (fit(text, X, "fiml", mean_structure=True) for text in (TWO, f"{TWO}; f =~ x4"))
    row = entry(modification_indices(base), "f =~ x4")
    assert row.mi == pytest.approx(base.test.chisq - freed.test.chisq, rel=AGREE)
    assert row.epc == pytest.approx(estimate_of(freed, "f =~ x4"), rel=AGREE)


def test_a_covariance_fixed_at_zero_is_a_candidate():
    S = population()
    X = with_covariance(0.75 * S + 0.25 * (np.kron(np.eye(2), np.ones((3, 3))) * S))
    base, freed = fit(TWO, X, orthogonal=True), fit(TWO, X)
    row = entry(modification_indices(base), "f ~~ g")
    # a correlation of 0.3 is no mild misfit: the score test is 1 / (1 − 0.3²) beside it
    assert row.mi == pytest.approx(base.test.chisq - freed.test.chisq, rel=2 * AGREE)
    assert row.epc == pytest.approx(estimate_of(freed, "f ~~ g"), rel=2 * AGREE)
    factor_sd = np.sqrt([estimate_of(base, f"{f} ~~ {f}") for f in "fg"])
    assert row["sepc.all"] == pytest.approx(row.epc / factor_sd.prod())


def test_the_table_holds_all_that_could_be_freed_once_and_largest_first():
    table = modification_indices(fit(TWO, with_covariance(population(0.1))))
    assert list(table.columns) == COLUMNS
    assert len(table) == 6 + 15  # cross-loadings and residual covariances
    assert not table.duplicated(["lhs", "op", "rhs"]).any()
    assert table.mi.is_monotonic_decreasing
    assert (table.mi >= 0).all()
    assert not ((table.op == "=~") & (table.lhs == "f") & table.rhs.isin(ITEMS[:3])).any()


def test_a_model_that_fits_perfectly_has_nothing_to_gain():
    table = modification_indices(fit(TWO, with_covariance(population())))
    assert table.mi.max() < 1e-8
    assert table.epc.abs().max() < 1e-5


def test_what_would_not_be_identified_is_left_out():
    # with three items the model is saturated: no residual covariance could be added
    model = build_model("f =~ x1 + x2 + x3", ITEMS)
    X = with_covariance(population())[:, :3]
    assert modification_indices(fit_normal(model, X, "ml", len(X))).empty


def test_standardised_changes():
    X = with_covariance(population(0.1))
    base = fit(TWO, X)
    table = modification_indices(base)
    loading, residual = entry(table, "f =~ x4"), entry(table, "x2 ~~ x5")
    sd = np.sqrt(estimate_of(base, "f ~~ f"))
    assert loading["sepc.lv"] == pytest.approx(loading.epc * sd)
    assert loading["sepc.all"] == pytest.approx(loading.epc * sd / np.sqrt(base.Sigma[3, 3]))
    own = np.sqrt([estimate_of(base, f"{x} ~~ {x}") for x in ("x2", "x5")])
    assert residual["sepc.lv"] == residual.epc
    assert residual["sepc.all"] == pytest.approx(residual.epc / own.prod())


def test_indices_do_not_depend_on_the_units():
    X = with_covariance(population(0.1))
    one = modification_indices(fit(TWO, X))
    two = modification_indices(fit(TWO, X * np.array([1e-3, 1e3, 1, 5, 1e-2, 1])))
    merged = one.merge(two, on=["lhs", "op", "rhs"])
    assert len(merged) == len(one)
    np.testing.assert_allclose(merged.mi_x, merged.mi_y, atol=1e-3)
    np.testing.assert_allclose(merged["sepc.all_x"], merged["sepc.all_y"], atol=1e-4)


def test_an_item_without_residual_has_an_index_but_no_residual_correlation():
    X = with_covariance(population(0.1))
    table = modification_indices(fit("f =~ x1; g =~ x2 + x3 + x4 + x5 + x6", X))
    row = entry(table, "x1 ~~ x2")
    assert row.mi >= 0
    assert np.isfinite(row.epc)
    assert np.isnan(row["sepc.all"])


def test_a_singular_information_matrix_is_said_in_a_sentence():
    """As an edited file of a result may have one."""
    information = np.ones((3, 3))
    with pytest.raises(EstimationError, match="there are no modification indices"):
        _partial(information, np.eye(2))
    left = _partial(np.array([[2.0, 0.0, 1.0], [0.0, 4.0, 2.0], [1.0, 2.0, 3.0]]), np.eye(2))
    assert left == pytest.approx([3 - 1 / 2 - 4 / 4])
