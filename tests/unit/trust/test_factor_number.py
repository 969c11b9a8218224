"""The lower bound on the number of factors: a tail by hand, splits combined, known truths."""

import numpy as np
import pytest
from scipy import stats

import dtstat as dt
from dtstat.data.items import as_items
from dtstat.dependence.compute import RowDependence
from dtstat.dependence.influence import pair_influences
from dtstat.trust import factor_number as module
from dtstat.trust.factor_number import _Half, _tail, combine_splits, hardly_overlap, number_errors


def answers(n, seed, loadings, Phi):
    rng = np.random.default_rng(seed)
    L = np.asarray(loadings)
    Z = rng.multivariate_normal(np.zeros(len(Phi)), Phi, n, method="cholesky")
    common = np.einsum("ij,jk,ik->i", L, Phi, L)
    return Z @ L.T + rng.standard_normal((n, len(L))) * np.sqrt(1 - common)


def simple(d, k, loading):
    return np.kron(np.eye(d), np.full((k, 1), loading))


def test_splits_are_combined_by_their_middle():
    splits = [np.array([0.01, 0.2]), np.array([0.02, 0.01]), np.array([0.9])]
    np.testing.assert_allclose(combine_splits(splits), [0.03, 0.3])
    np.testing.assert_allclose(combine_splits([np.array([0.04, 0.01])]), [0.04, 0.04])


@pytest.mark.parametrize("same", [1.0, 0.5, 0.0])
def test_splits_that_depend_on_each_other_keep_the_error(same):
    """Three uniform errors of correlated normal scores."""
    rng = np.random.default_rng(1)
    common, own = rng.standard_normal((20_000, 1)), rng.standard_normal((20_000, 3))
    errors = stats.norm.sf(np.sqrt(same) * common + np.sqrt(1 - same) * own)
    found = [combine_splits([np.array([e]) for e in row])[0] for row in errors]
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 20_000)


def test_the_score_is_that_of_the_smallest_singular_value():
    X = answers(400, 2, simple(2, 4, 0.7), np.array([[1, 0.85], [0.85, 1]]))
    halves = []
    for part in (X[:200], X[200:]):
        R = np.corrcoef(part.T)
        halves.append(module._Half(R, pair_influences(part, ["continuous"] * 8, "pearson", R), 200))
    first = np.zeros((8, 2))
    second = first.copy()
    first[[0, 1], 0] = second[[2, 3], 0] = first[[4, 5], 1] = second[[6, 7], 1] = 0.5

    def smallest(part):
        return np.linalg.svd(first.T @ np.corrcoef(part.T) @ second)[1][-1]

    rng = np.random.default_rng(3)
    boot = [smallest(X[200:][rng.integers(0, 200, 200)]) for _ in range(2000)]
    found = module._tail(*halves, first, second)
    assert stats.norm.isf(found) == pytest.approx(smallest(X[200:]) / np.std(boot), rel=0.1)
    turned = second[:, ::-1]  # both determinants change their sign: the same tail
    assert module._tail(*halves, first, turned) == pytest.approx(found)


def test_clear_factors_are_counted_and_no_more():
    Phi = np.full((3, 3), 0.3) + 0.7 * np.eye(3)
    X = answers(600, 4, simple(3, 4, 0.7), Phi)
    assert dt.certify(X, measure="pearson", seed=1).at_least == 3
    assert dt.certify(X, n_splits=0, seed=1).at_least is None
    crossed = simple(2, 6, 0.7)
    crossed[5] = crossed[11] = 0.45  # two factors, whatever else the loadings are
    X = answers(600, 5, crossed, Phi[:2, :2])
    assert dt.certify(X, seed=2).at_least == 2


@pytest.mark.parametrize("kind", ["normal", "ratings", "yes or no"])
def test_one_factor_is_not_taken_for_two(kind):
    """60 sets each: more than two factors in at most 5 % and three standard errors."""
    wrong = 0
    loadings = np.linspace(0.85, 0.4, 9)[:, None]
    for k in range(60):
        X = answers(200, [6, k], loadings, np.eye(1))
        if kind == "ratings":
            X = np.digitize(X, [0, 0.7, 1.2, 1.8]).astype(float)
        if kind == "yes or no":
            X = (np.linspace(-0.7, 0.7, 9) < X).astype(float)
        errors = number_errors(as_items(X, screened=False), "spearman", 1, k)
        wrong += len(errors) > 1 and errors[1] <= 0.05
    assert wrong <= 60 * 0.05 + 3 * np.sqrt(60 * 0.05 * 0.95)


def test_errors_rise_and_few_rows_have_none():
    X = answers(300, 7, simple(2, 4, 0.7), np.eye(2))
    errors = number_errors(as_items(X, screened=False), "pearson", 2, 1)
    assert (np.diff(errors) >= 0).all()
    assert not len(number_errors(as_items(X[:50], screened=False), "pearson", 2, 1))
    found = dt.certify(X, seed=1)
    assert found.levels["rejected"].sum() == found.at_least
    assert "at least 2" in repr(found)


def rated(n, cuts, seed=1):
    """One factor; every item is cut elsewhere."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((n, 1))
    X = 0.8 * factor + 0.6 * rng.standard_normal((n, len(cuts)))
    return sum((np.asarray(cuts) + shift < X).astype(float) for shift in (-0.6, 0.6)), cuts < X


def test_no_number_where_answers_hardly_overlap():
    rare, usual = np.linspace(-1.3, 1.3, 12), np.linspace(-0.3, 0.3, 12)
    for cuts, expected in ((rare, True), (usual, False)):
        for X in rated(300, cuts):
            assert hardly_overlap(as_items(X.astype(float))) is expected
    X = rated(300, rare)[1].astype(float)
    assert not len(number_errors(as_items(X), "polychoric", 3, 1))
    with pytest.warns(dt.DTWarning, match="No lower bound on the number of factors is given"):
        assert dt.certify(X, n_draws=20, seed=1).at_least is None
    assert dt.certify(rated(300, usual)[1].astype(float), n_draws=20, seed=1).at_least == 1


def test_overlap_counts_rows_in_the_four_cells_at_the_best_cuts():
    """By hand: nine combinations of ten rows; the best cuts leave ten in the smallest cell."""
    X = np.column_stack([np.repeat([0, 1, 2], 30), np.tile(np.repeat([0, 1, 2], 10), 3)])
    assert not hardly_overlap(as_items(X.astype(float)))
    corners = [0, 20, 60, 80]  # one row of each: nine are left, whatever the cuts
    assert hardly_overlap(as_items(np.delete(X, corners, axis=0).astype(float)))


def test_a_factor_too_small_to_be_seen_does_not_make_the_test_liberal():
    """Lemma 3b: 40 items that hardly measure the factor beside 2 that do not. Raw: a quarter."""
    p, n, sets = 42, 300, 120
    first, second = np.zeros((2, p, 2))
    first[0:20, 0] = second[20:40, 0] = 1 / 20
    first[40, 1] = second[41, 1] = 1.0
    loadings = np.repeat([0.15, 0.0], [40, 2])
    small = 0
    for k in range(sets):
        rng = np.random.default_rng([8, k])
        X = rng.standard_normal((2 * n, 1)) * loadings
        X += np.sqrt(1 - loadings**2) * rng.standard_normal((2 * n, p))
        rows = RowDependence(as_items(X, screened=False), "pearson")
        halves = [_Half.of(rows, part) for part in np.split(np.arange(2 * n), 2)]
        small += _tail(*halves, first, second) <= 0.05
    assert small / sets <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / sets)


def test_influences_of_nearly_empty_tables_do_not_overflow():
    """A row that counts for all others: its square and cube are no number, the tail is."""
    X = answers(400, 2, simple(2, 4, 0.7), np.array([[1, 0.3], [0.3, 1]]))
    R = np.corrcoef(X.T)
    known = pair_influences(X, ["continuous"] * 8, "pearson", R)
    first, second = np.zeros((2, 8, 2))
    first[[0, 1], 0] = second[[2, 3], 0] = first[[4, 5], 1] = second[[6, 7], 1] = 0.5
    half = _Half(R, known, 400)
    assert _tail(half, half, first, second) < 1e-3
    huge = known.copy()
    huge[:, 0] *= 1e200
    assert 0.3 < _tail(half, _Half(R, huge, 400), first, second) <= 0.5
    assert _tail(half, _Half(R, 0 * known, 400), first, second) == 1.0
