"""Sample size, items, margin and error are solved for each other without contradiction."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dtstat.core.errors import InputError
from dtstat.trust.bounds import Bound
from dtstat.trust.sample_size import (
    error_bound,
    max_items,
    min_margin,
    sample_size,
    sample_size_table,
    smallest_rows,
)

SE = 4
HOEFFDING = ["kendall", "spearman", "pearson_subgaussian", "distance_covariance"]
FORMS = [
    *itertools.product(HOEFFDING, [True, False], ["guarantee"]),
    *itertools.product(["kendall", "spearman", "pearson"], [True], ["normal"]),
]
SIZES = [None, 3, 5]


def n_pairs(p, size):
    if size is None:
        return math.comb(p, 2)
    return math.comb(size, 2) + p - size


# reference values


@pytest.mark.parametrize(
    ("p", "margin", "n"),
    [
        (9, 0.1, 5818),
        (25, 0.1, 7515),
        (100, 0.1, 9757),
        (9, 0.2, 1455),
        (25, 0.2, 1879),
        (100, 0.2, 2440),
    ],
)
def test_the_papers_form(p, margin, n):
    """Example 1 solved for n: 8 log(2 C(p, 2) / .05) / γ²."""
    assert math.ceil(8 * math.log(2 * math.comb(p, 2) / 0.05) / margin**2) == n
    assert sample_size(p, margin, sharp=False) == n


@pytest.mark.parametrize(("margin", "n"), [(0.1, 3758), (0.2, 940)])
def test_the_sharp_form(margin, n):
    """⌊n/2⌋ ≥ 2 log(2 · 300 / .05) / γ², and n even."""
    assert 2 * math.ceil(2 * math.log(2 * 300 / 0.05) / margin**2) == n
    assert sample_size(25, margin) == n


def test_local_form_by_hand():
    pairs = math.comb(5, 2) + 20
    assert sample_size(25, 0.2, factor_size=5) == 2 * math.ceil(
        2 * math.log(2 * pairs / 0.05) / 0.2**2
    )


# error_bound


@pytest.mark.parametrize(("measure", "sharp", "method"), FORMS)
def test_error_is_the_number_of_pairs_times_the_tail(measure, sharp, method):
    b = Bound.normal(measure) if method == "normal" else Bound.of(measure, sharp)
    for n, p, margin, size in itertools.product((2, 3, 500, 4000), (5, 40), (0.1, 0.6), SIZES):
        expected = min(1, n_pairs(p, size) * b(n, margin))
        found = error_bound(n, p, margin, measure, sharp, method, size)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-300)
        assert isinstance(found, float)


@pytest.mark.parametrize("measure", [*HOEFFDING, "pearson"])
def test_pairwise_rows_are_summed(measure):
    rng = np.random.default_rng(1)
    p, margin = 5, 0.35
    N = rng.integers(80, 700, (p, p))
    N = np.triu(N, 1) + np.triu(N, 1).T + 999 * np.eye(p, dtype=int)
    b = Bound.of(measure)
    by_hand = sum(b(int(N[i, j]), margin) for i in range(p) for j in range(i + 1, p))
    assert error_bound(N, p, margin, measure) == pytest.approx(min(1, by_hand), rel=1e-12)
    assert error_bound(N.tolist(), p, margin, measure) == pytest.approx(min(1, by_hand))


def test_pairwise_rows_that_are_equal_are_one_number():
    same = np.full((6, 6), 900)
    assert error_bound(same, 6, 0.2) == pytest.approx(error_bound(900, 6, 0.2), rel=1e-12)
    assert 0 < error_bound(900, 6, 0.2) < 1
    assert error_bound([[9, 300], [300, 9]], 2, 0.3) == error_bound(300, 2, 0.3)


def test_a_factors_pairs_are_not_known_with_pairwise_rows():
    with pytest.raises(InputError, match="`factor_size`"):
        error_bound(np.full((6, 6), 900), 6, 0.2, factor_size=3)


# round trips


def combinations():
    """About 2400 settings: the tails themselves are tested elsewhere."""
    rng = np.random.default_rng(2)
    for measure, sharp, method in FORMS:
        for size in SIZES:
            for _ in range(72):
                p = int(rng.integers(5, 300))
                margin, error = float(rng.uniform(0.02, 1)), float(rng.choice([0.01, 0.05, 0.3]))
                yield p, margin, error, measure, sharp, method, size


def test_sample_size_is_the_smallest():
    count = 0
    for p, margin, *rest in combinations():
        error, kind = rest[0], rest[1:]
        n = sample_size(p, margin, error, *kind)
        assert error_bound(n, p, margin, *kind) <= error
        assert n == 2 or error_bound(n - 1, p, margin, *kind) > error
        assert max_items(n, margin, error, *kind) >= p
        assert n == 2 or max_items(n - 1, margin, error, *kind) < p
        assert min_margin(n, p, error, *kind) <= margin
        assert n == 2 or min_margin(n - 1, p, error, *kind) > margin
        count += 1
    assert count > 2000


def test_max_items_is_the_largest():
    rng = np.random.default_rng(3)
    for p, margin, error, *kind in combinations():
        n = int(rng.integers(10, 5000))
        del p
        most, size = max_items(n, margin, error, *kind), kind[-1]
        assert most >= 1
        if most < 2**31:
            following = max(most + 1, 2 if size is None else size)
            assert error_bound(n, following, margin, *kind) > error
        if most > 1:
            assert error_bound(n, most, margin, *kind) <= error


def test_min_margin_is_the_smallest():
    rng = np.random.default_rng(4)
    infinite = 0
    for p, _, error, *kind in combinations():
        n = int(rng.integers(2, 3000))
        margin = min_margin(n, p, error, *kind)
        if math.isinf(margin):
            infinite += 1
            assert error_bound(n, p, 1.0, *kind) > error
        else:
            assert error_bound(n, p, margin, *kind) <= error
            assert error_bound(n, p, math.nextafter(margin, 0), *kind) > error
            assert sample_size(p, margin, error, *kind) <= n
    assert 0 < infinite < 2000


@pytest.mark.parametrize(("p", "margin", "size"), [(6, 0.6, None), (25, 0.2, 3), (60, 0.35, 5)])
def test_round_trip_of_pearson(p, margin, size):
    """The exact tail costs more, so there are fewer of these."""
    n = sample_size(p, margin, 0.05, "pearson", factor_size=size)
    assert error_bound(n, p, margin, "pearson", factor_size=size) <= 0.05
    assert error_bound(n - 1, p, margin, "pearson", factor_size=size) > 0.05
    assert max_items(n, margin, 0.05, "pearson", factor_size=size) >= p
    assert max_items(n - 1, margin, 0.05, "pearson", factor_size=size) < p
    smallest = min_margin(n, p, 0.05, "pearson", factor_size=size)
    assert smallest <= margin
    assert error_bound(n, p, smallest, "pearson", factor_size=size) <= 0.05
    below = math.nextafter(smallest, 0)
    assert error_bound(n, p, below, "pearson", factor_size=size) > 0.05


def test_local_form_never_needs_more_rows():
    smaller = 0
    for p, margin, error, measure, sharp, method, size in combinations():
        if size is not None:
            local = sample_size(p, margin, error, measure, sharp, method, size)
            whole = sample_size(p, margin, error, measure, sharp, method)
            assert local <= whole
            smaller += local < whole
    assert smaller > 1000


def test_a_factor_of_all_items_is_the_whole_graph():
    assert sample_size(7, 0.3, factor_size=7) == sample_size(7, 0.3)


def test_very_small_margins():
    n = sample_size(25, 1e-5, sharp=False)
    assert n == math.ceil(8 * math.log(2 * 300 / 0.05) / 1e-10)


def test_pearson_with_a_small_margin():
    """r√n is nearly normal: n ≈ (z/γ)²; rounding of Γ must not spoil it."""
    z = stats.norm.isf(0.05 / 300 / 2)
    n = sample_size(25, 1e-5, measure="pearson")
    assert n == pytest.approx((z / 1e-5) ** 2, rel=1e-4)


def test_your_own_function():
    def mine(n, epsilon):
        return 1 / (n * epsilon)

    assert sample_size(2, 0.5, 0.1, mine) == 20
    assert max_items(10_000, 0.5, 0.1, mine) == 32  # C(32, 2) = 496 ≤ 500 < C(33, 2)
    assert min_margin(100, 2, 0.1, mine) == pytest.approx(0.1)


def test_a_function_that_does_not_fall_is_refused():
    with pytest.raises(InputError, match="No number of rows is enough"):
        sample_size(4, 0.5, 0.1, lambda n, epsilon: 0.5)
    assert smallest_rows(lambda n: 1.0, 0.5) is None
    assert smallest_rows(lambda n: 1 / n, 0.01) == 100


def test_items_up_to_the_limit():
    """C(p, 2) b ≤ error solved for p just below 2³¹, from where on nothing is promised."""
    for start, size in ((1_900_000_000, 3), (1_900_000_000, 5)):
        tail = 0.05 / n_pairs(start, size)
        found = max_items(100, 0.5, 0.05, lambda n, e, tail=tail: tail, factor_size=size)
        assert abs(found - start) <= 1


def test_table_agrees_with_sample_size():
    table = sample_size_table([9, 25], [0.2, 0.4], error=0.1, factor_size=3)
    assert len(table) == 4 * 12
    for row in table.itertuples():
        method = "normal" if row.form == "normal" else "guarantee"
        expected = sample_size(
            row.items, row.margin, 0.1, row.measure, row.form == "sharp", method, 3
        )
        assert row.n == expected
        assert row.guaranteed == (row.form != "normal")


# simulation


def test_simulation_of_two_items_is_the_beta_tail():
    n, margin, draws = 30, 0.3, 2000
    exact = stats.beta.sf(margin**2, 0.5, (n - 2) / 2)
    found = error_bound(n, 2, margin, "pearson", method="simulation", n_draws=draws, seed=5)
    assert found == pytest.approx(exact, abs=SE * math.sqrt(exact * (1 - exact) / draws))


@pytest.mark.parametrize(("size", "p"), [(None, 5), (3, 6)])
def test_simulation_of_more_items(size, p):
    """Against draws of our own, of the pairs that matter."""
    n, margin, draws = 40, 0.4, 1000
    own = 20_000
    X = np.random.default_rng(6).standard_normal((own, n, p))
    X -= X.mean(axis=1, keepdims=True)
    X /= np.sqrt((X**2).sum(axis=1, keepdims=True))
    R = np.abs(np.einsum("kni,knj->kij", X, X))
    pairs = {
        (i, j) for i, j in itertools.combinations(range(p), 2) if size is None or j < size or i == 0
    }
    assert len(pairs) == n_pairs(p, size)
    exact = np.any([R[:, i, j] >= margin for i, j in pairs], axis=0).mean()
    found = error_bound(
        n, p, margin, "pearson", method="simulation", factor_size=size, n_draws=draws, seed=7
    )
    spread = math.sqrt(exact * (1 - exact) * (1 / draws + 1 / own))
    assert found == pytest.approx(exact, abs=SE * spread)
    assert 0.02 < exact < 0.5


def test_simulation_is_repeatable():
    def simulate(seed):
        return error_bound(25, 4, 0.4, "kendall", method="simulation", n_draws=200, seed=seed)

    assert simulate(8) == simulate(8)
    assert len({simulate(seed) for seed in range(6)}) > 1


def test_simulation_is_below_the_guarantee():
    simulated = error_bound(400, 6, 0.2, "kendall", method="simulation", n_draws=200, seed=9)
    assert simulated < error_bound(400, 6, 0.2, "kendall") < 1


# bad input

BAD = {
    "margin": [0, -0.1, 1.0001, math.nan, math.inf, "0.1", None, True, [0.1]],
    "error": [0, 1, -0.1, 2, math.nan, "0.05", None],
    "p": [1, 0, -5, 2.5, math.nan, math.inf, "9", None],
    "n": [1, 0, -3, 10.5, math.nan, math.inf, "100", None],
    "factor_size": [1, 0, 2.5, 26, math.nan, "3"],
    "method": ["exact", None, 3],
}
GOOD = {"n": 500, "p": 25, "margin": 0.2, "error": 0.05}
NEEDS = {
    error_bound: ("n", "p", "margin"),
    sample_size: ("p", "margin", "error"),
    max_items: ("n", "margin", "error"),
    min_margin: ("n", "p", "error"),
}


@pytest.mark.parametrize(
    ("solve", "name", "value"),
    [
        pytest.param(solve, name, value, id=f"{solve.__name__}-{name}-{value}")
        for solve, needed in NEEDS.items()
        for name, values in BAD.items()
        for value in values
        if name in (*needed, "factor_size", "method")
        and not (solve is max_items and value == 26)  # any size will do for some p
    ],
)
def test_bad_values_name_the_argument(solve, name, value):
    needed = {key: GOOD[key] for key in NEEDS[solve]}
    with pytest.raises(InputError, match=f"`{name}`") as caught:
        solve(**{**needed, name: value})
    assert caught.value.argument == name


@pytest.mark.parametrize("n", [[100, 100], np.full((3, 4), 99), np.full((4, 4), 99), np.zeros(0)])
def test_shape_of_pairwise_rows(n):
    with pytest.raises(InputError, match="3 × 3 matrix") as caught:
        error_bound(n, 3, 0.2)
    assert caught.value.argument == "n"


@pytest.mark.parametrize("value", [1, 0, -4, math.nan, math.inf, "many"])
def test_values_of_pairwise_rows(value):
    N = np.full((3, 3), 100, dtype=object)
    N[0, 2] = N[2, 0] = value
    N = np.array(N.tolist())
    with pytest.raises(InputError, match="`n`") as caught:
        error_bound(N, 3, 0.2)
    assert caught.value.argument == "n"


def test_whole_numbers_may_be_floats():
    assert error_bound(500.0, 25.0, 0.2) == error_bound(500, 25, 0.2)
    assert sample_size(25.0, 0.2, factor_size=5.0) == sample_size(25, 0.2, factor_size=5)


@pytest.mark.parametrize("solve", [sample_size, max_items, min_margin], ids=lambda f: f.__name__)
def test_simulation_cannot_be_inverted(solve):
    with pytest.raises(InputError, match="plan"):
        solve(**{key: GOOD[key] for key in NEEDS[solve]}, method="simulation")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"measure": Bound.of("kendall")}, "measure"),
        ({"measure": "no such"}, "measure"),
        ({"n": np.full((4, 4), 50)}, "n"),
        ({"n_draws": 0}, "n_draws"),
        ({"n_draws": 2.5}, "n_draws"),
        ({"seed": -1}, "seed"),
        ({"factor_size": 1}, "factor_size"),
        ({"factor_size": 5}, "factor_size"),
    ],
)
def test_simulation_refuses(change, name):
    arguments = {"n": 50, "p": 4, "margin": 0.5, "n_draws": 2, "seed": 1, **change}
    with pytest.raises(InputError) as caught:
        error_bound(**arguments, method="simulation")
    assert caught.value.argument == name


def test_normal_needs_a_name():
    for measure in (Bound.of("kendall"), "distance_covariance"):
        with pytest.raises(InputError, match="normal") as caught:
            sample_size(9, 0.2, measure=measure, method="normal")
        assert caught.value.argument == "measure"
