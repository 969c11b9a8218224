"""Constants of the concentration inequalities, by brute force and independent formulas."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, special, stats

from dtstat.core.errors import DataWarning, InputError
from dtstat.dependence.api import dependence
from dtstat.trust.bounds import Bound, bounds, two_sided_tail, worst_tail

NAMED = ["kendall", "spearman", "pearson", "pearson_subgaussian", "distance_covariance"]
HOEFFDING = ["kendall", "spearman", "pearson_subgaussian", "distance_covariance"]
SE = 4  # margins of Monte Carlo, in standard errors


def sign(x):
    return (x > 0) - (x < 0)


# Kendall, U-statistics


@pytest.mark.parametrize(("n", "epsilon"), [(2, 0.9), (7, 0.5), (100, 0.3), (5818, 0.1)])
def test_kendall_by_hand(n, epsilon):
    sharp = min(1, 2 * math.exp(-(n // 2) * epsilon**2 / 2))
    paper = min(1, 2 * math.exp(-n * epsilon**2 / 8))
    assert Bound.of("kendall")(n, epsilon) == pytest.approx(sharp, rel=1e-12)
    assert Bound.of("kendall", sharp=False)(n, epsilon) == pytest.approx(paper, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 0.5), (-1 / 3, 2 / 3), (2, 7)])
@pytest.mark.parametrize("sharp", [True, False])
def test_u_statistic_by_hand(order, low, high, sharp):
    bound = Bound.u_statistic(order, low, high, sharp)
    for n in (order, order + 1, 10, 41, 1000):
        blocks = n // order if sharp else n / (2 * order)
        for epsilon in (0.01, 0.3, 1.0):
            by_hand = 2 * math.exp(-2 * blocks * epsilon**2 / (high - low) ** 2)
            assert bound(n, epsilon) == pytest.approx(min(1, by_hand), rel=1e-12)
    assert all(bound(n, 1.0) == 1 for n in range(order))


def test_an_order_1_bound_holds_for_coins_exactly():
    """The mean of ±1 coins: the exact binomial tail is below the inequality, and near n = 1 not."""
    bound = Bound.u_statistic(1, -1, 1)
    for n in (1, 2, 5, 20, 100):
        heads = np.arange(n + 1)
        for epsilon in (0.1, 0.4, 1.0):
            far = np.abs(2 * heads / n - 1) >= epsilon - 1e-12
            exact = stats.binom.pmf(heads, n, 0.5)[far].sum()
            assert exact <= bound(n, epsilon)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0, -1, 1), "order"),
        ((1.5, -1, 1), "order"),
        (("2", -1, 1), "order"),
        ((2, math.nan, 1), "low"),
        ((2, -1, math.inf), "high"),
        ((2, 1, 1), "high"),
        ((2, 1, -1), "high"),
    ],
)
def test_u_statistic_refuses(arguments, name):
    with pytest.raises(InputError, match=f"`{name}`") as caught:
        Bound.u_statistic(*arguments)
    assert caught.value.argument == name


# Spearman


def spearman_kernel(x, y):
    """3 × the mean of sign(x_a − x_b) sign(y_a − y_c) over the orders of three rows, exactly."""
    orders = itertools.permutations(range(3))
    return Fraction(3 * sum(sign(x[a] - x[b]) * sign(y[a] - y[c]) for a, b, c in orders), 6)


def kendall_t(x, y):
    pairs = list(itertools.combinations(range(len(x)), 2))
    return Fraction(sum(sign(x[a] - x[b]) * sign(y[a] - y[b]) for a, b in pairs), len(pairs))


def spearman_r(x, y):
    """1 − 6 Σ d² / (n³ − n) of ranks."""
    n = len(x)
    return 1 - Fraction(6 * sum((a - b) ** 2 for a, b in zip(x, y, strict=True)), n**3 - n)


def test_spearman_kernel_is_one_or_minus_one_on_all_rankings_of_three():
    values = [spearman_kernel((1, 2, 3), y) for y in itertools.permutations((1, 2, 3))]
    assert set(values) == {Fraction(1), Fraction(-1)}


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_spearman_is_a_mixture_of_u_and_t(n):
    x = tuple(range(1, n + 1))
    for y in itertools.permutations(x):
        triples = list(itertools.combinations(range(n), 3))
        U = sum(spearman_kernel([x[i] for i in t], [y[i] for i in t]) for t in triples)
        mixture = ((n - 2) * U / len(triples) + 3 * kendall_t(x, y)) / (n + 1)
        assert spearman_r(x, y) == mixture


def mixture_of_squares(y):
    """ρ_S and τ of the copula with mass 1/k spread evenly on each of the squares (i, y_i).

    Two draws fall into one square with probability 1/k, where their signs are independent; ranks
    within a square are independent, so only the midpoints of squares count for ρ_S.
    """
    k = len(y)
    x = range(1, k + 1)
    tau = kendall_t(tuple(x), y) * (1 - Fraction(1, k))
    middles = [
        (Fraction(2 * a - 1, 2 * k), Fraction(2 * b - 1, 2 * k)) for a, b in zip(x, y, strict=True)
    ]
    rho = 12 * sum(a * b for a, b in middles) / k - 3
    return rho, tau


def test_spearman_and_kendall_differ_by_at_most_a_half():
    """All permutations of up to 7 squares, and rotations, which come close to one half."""
    widest = Fraction(0)
    for k in range(2, 8):
        for y in itertools.permutations(range(1, k + 1)):
            rho, tau = mixture_of_squares(y)
            widest = max(widest, abs(rho - tau))
    for k in (20, 60):
        for shift in range(1, k):
            y = tuple((i + shift) % k + 1 for i in range(k))
            rho, tau = mixture_of_squares(y)
            widest = max(widest, abs(rho - tau))
    assert Fraction(45, 100) < widest <= Fraction(1, 2)


@pytest.mark.parametrize("n", [3, 5, 8])
def test_spearman_bias(n):
    """E r_S = [(n − 2) ρ_S + 3τ]/(n + 1) for a normal copula, and the allowance covers it."""
    rho = 0.6
    rng = np.random.default_rng(n)
    draws = 100_000
    Z = rng.standard_normal((draws, n, 2))
    Z[..., 1] = rho * Z[..., 0] + math.sqrt(1 - rho**2) * Z[..., 1]
    ranks = Z.argsort(axis=1).argsort(axis=1)
    d2 = ((ranks[..., 0] - ranks[..., 1]) ** 2).sum(axis=1)
    r = 1 - 6 * d2 / (n**3 - n)
    rho_s, tau = 6 / np.pi * math.asin(rho / 2), 2 / np.pi * math.asin(rho)
    expected = ((n - 2) * rho_s + 3 * tau) / (n + 1)
    assert r.mean() == pytest.approx(expected, abs=SE * r.std() / math.sqrt(draws))
    assert abs(r.mean() - rho_s) > 4 * r.std() / math.sqrt(draws)  # there is a bias to see
    assert abs(expected - rho_s) <= 1.5 / (n + 1)


@pytest.mark.parametrize(("n", "epsilon"), [(3, 0.9), (50, 0.4), (51, 0.4), (1000, 0.1)])
def test_spearman_by_hand(n, epsilon):
    left = max(0, epsilon - 3 / (2 * n + 2))
    assert Bound.of("spearman")(n, epsilon) == pytest.approx(
        min(1, 2 * math.exp(-(n // 3) * left**2 / 2)), rel=1e-12
    )
    assert Bound.of("spearman", sharp=False)(n, epsilon) == pytest.approx(
        min(1, 2 * math.exp(-(n / 6) * left**2 / 2)), rel=1e-12
    )


def test_spearman_says_nothing_within_its_bias():
    assert Bound.of("spearman")(10, 1.5 / 11) == 1
    assert Bound.of("spearman")(10**9, 1.4 / (10**9 + 1)) == 1


# Pearson: from moments to the correlation


def test_delta_is_just_small_enough():
    """The worst r for moments within δ of 1, 1 and ρ is ε away from ρ, and no more."""
    grid = np.linspace(-1, 1, 201)
    for epsilon in (0.01, 0.1, 0.5, 1.0):
        delta = epsilon / (2 + epsilon)
        far = []
        for a, b, c in itertools.product((-delta, 0, delta), repeat=3):
            r = (grid + c) / math.sqrt((1 + a) * (1 + b))
            far.append(np.abs(r - grid).max())
        assert max(far) == pytest.approx(epsilon, rel=1e-12)


def test_bounded_pearson_by_hand_and_its_kernels():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 2, (2, 1000, 2))  # corners of the unit square, where extremes are
    u, w = (x[:, 0] - x[:, 1]) / math.sqrt(2), (y[:, 0] - y[:, 1]) / math.sqrt(2)
    assert (u * w).min() == pytest.approx(-0.5)
    assert (u * w).max() == pytest.approx(0.5)
    assert (u * u).min() == 0
    assert (u * u).max() == pytest.approx(0.5)
    for n, epsilon, s, sharp in itertools.product(
        (2, 101, 20_000), (0.1, 0.7), (0.2, 0.5), (True, False)
    ):
        k, t = (n // 2 if sharp else n / 4), s**2 * epsilon / (2 + epsilon)
        covariance = 2 * math.exp(-2 * k * t**2 / 1**2)
        variance = 2 * math.exp(-2 * k * t**2 / 0.5**2)
        expected = min(1, covariance + 2 * variance)
        assert Bound.bounded_pearson(s, sharp)(n, epsilon) == pytest.approx(expected, rel=1e-12)


def test_bounded_pearson_holds_for_coins():
    """Fair coins have the largest spread; r of independent ones strays less than allowed."""
    n, epsilon, draws = 400, 0.9, 2000
    assert 1e-4 < Bound.bounded_pearson(0.5)(n, epsilon) < 1
    X = np.random.default_rng(2).integers(0, 2, (draws, n, 2)).astype(float)
    X -= X.mean(axis=1, keepdims=True)
    r = (X[..., 0] * X[..., 1]).sum(axis=1) / np.sqrt((X**2).sum(axis=1).prod(axis=1))
    assert (np.abs(r) >= epsilon).mean() <= Bound.bounded_pearson(0.5)(n, epsilon)


def test_subgaussian_moments():
    """E|uw|^q ≤ 2 q! (2v)^q for normal u = w, exactly (2q − 1)!!, and for uniform items."""
    for q in range(1, 40):
        double_factorial = math.prod(range(1, 2 * q, 2))
        allowed = 2 * math.factorial(q) * 2**q
        assert double_factorial <= allowed
        # u = (x1 − x2)/√2 of uniform items with variance 1 has the triangular density on ±√6.
        triangular = Fraction(2 * 6**q, (2 * q + 1) * (2 * q + 2))
        assert triangular <= allowed


def test_bernstein_of_the_moments():
    """2 q! (2v)^q = (q!/2) ν c^(q−2) with ν = 16 v² and c = 2v; the tail is exp(−kδ²/2(ν + cδ))."""
    for v in (1, 2, Fraction(3, 2)):
        for q in range(2, 20):
            left = 2 * math.factorial(q) * (2 * v) ** q
            assert left == Fraction(math.factorial(q), 2) * 16 * v**2 * (2 * v) ** (q - 2)
        for n, epsilon, sharp in itertools.product((3, 5000), (0.1, 1.0), (True, False)):
            k, delta = (n // 2 if sharp else n / 4), epsilon / (2 + epsilon)
            one_side = math.exp(-k * delta**2 / (2 * (16 * v**2 + 2 * v * delta)))
            found = Bound.subgaussian_pearson(float(v), sharp)(n, epsilon)
            assert found == pytest.approx(min(1, 6 * one_side), rel=1e-12)


def test_uniform_items_have_proxy_1():
    """E exp(λX) = sinh(√3 λ)/(√3 λ) ≤ exp(λ²/2), as the docstring says."""
    scaled = math.sqrt(3) * np.linspace(0.01, 20, 2000)
    log_mgf = scaled + np.log1p(-np.exp(-2 * scaled)) - math.log(2) - np.log(scaled)
    assert (log_mgf <= scaled**2 / 6).all()


@pytest.mark.parametrize("proxy", [0.99, 0, -1, math.nan, math.inf, "1", None])
def test_subgaussian_refuses(proxy):
    with pytest.raises(InputError, match="`proxy`"):
        Bound.subgaussian_pearson(proxy)


@pytest.mark.parametrize("spread", [0, -0.1, 0.51, math.nan, "0.2", None])
def test_bounded_refuses(spread):
    with pytest.raises(InputError, match="`spread`"):
        Bound.bounded_pearson(spread)


# Pearson: normal items


def hotelling_tail(n, epsilon, rho):
    """P(|r − ρ| ≥ ε) by integrating Hotelling's density of r itself."""
    constant = (n - 2) * math.exp(special.gammaln(n - 1) - special.gammaln(n - 0.5))
    constant *= (1 - rho**2) ** ((n - 1) / 2) / math.sqrt(2 * math.pi)

    def density(r):
        rest = (1 - r**2) ** ((n - 4) / 2) * (1 - rho * r) ** (1.5 - n)
        return constant * rest * special.hyp2f1(0.5, 0.5, n - 0.5, (1 + rho * r) / 2)

    total = 0.0
    for start, stop in ((-1, rho - epsilon), (rho + epsilon, 1)):
        if start < stop:
            total += integrate.quad(density, start, stop, epsabs=0, epsrel=1e-10, limit=200)[0]
    return total


CASES = [(4, 0.3), (4, 1.0), (5, 0.9), (10, 0.5), (10, 1.0), (30, 0.4), (100, 0.5), (400, 0.1)]


@pytest.mark.parametrize(("n", "epsilon"), CASES)
@pytest.mark.parametrize("share", [0, 0.2, 0.5, 0.7])
def test_tail_equals_the_integral_of_hotellings_density(n, epsilon, share):
    rho = share * epsilon
    found = two_sided_tail(n, epsilon, np.array([rho]))[0]
    assert found == pytest.approx(hotelling_tail(n, epsilon, rho), rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("n", [4, 7, 50, 5000])
@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.3, 0.8])
def test_at_zero_r_squared_is_beta(n, epsilon):
    exact = stats.beta.sf(epsilon**2, 0.5, (n - 2) / 2)
    zero = two_sided_tail(n, epsilon, np.zeros(1))[0]
    assert zero == pytest.approx(exact, rel=1e-9, abs=1e-300)
    assert worst_tail(n, epsilon) >= exact * (1 - 1e-9)


@pytest.mark.parametrize(("n", "epsilon"), CASES)
def test_worst_tail_is_the_largest_over_all_correlations(n, epsilon):
    """A coarse grid of [0, 1), by symmetry, then a fine one about its best point."""
    coarse = np.linspace(0, 0.999, 500)
    best = coarse[two_sided_tail(n, epsilon, coarse).argmax()]
    fine = np.linspace(max(0, best - 0.003), min(0.999, best + 0.003), 601)
    largest = two_sided_tail(n, epsilon, fine).max()
    assert worst_tail(n, epsilon) >= largest * (1 - 1e-6)
    assert worst_tail(n, epsilon) <= largest * (1 + 1e-6)


def test_worst_tail_by_monte_carlo():
    """At ρ = ε/2 and 0, the share of samples that stray is within 4 standard errors of exact."""
    draws = 40_000
    for n, epsilon, rho in [(6, 0.9, 0.4), (10, 0.5, 0.0), (20, 0.4, 0.2)]:
        Z = np.random.default_rng(n).standard_normal((draws, n, 2))
        Z[..., 1] = rho * Z[..., 0] + math.sqrt(1 - rho**2) * Z[..., 1]
        Z -= Z.mean(axis=1, keepdims=True)
        r = (Z[..., 0] * Z[..., 1]).sum(axis=1) / np.sqrt((Z**2).sum(axis=1).prod(axis=1))
        share = (np.abs(r - rho) >= epsilon).mean()
        exact = two_sided_tail(n, epsilon, np.array([rho]))[0]
        error = SE * math.sqrt(exact * (1 - exact) / draws)
        assert share == pytest.approx(exact, abs=error)
        assert share <= worst_tail(n, epsilon) + error


@pytest.mark.parametrize("n", [10**6, 10**8, 10**10, 10**12])
def test_tail_of_very_many_rows_is_normal(n):
    """At ρ = 0 r√n is normal for n → ∞, whatever Γ(n − 1) / Γ(n − ½) rounds to."""
    found = two_sided_tail(n, 3 / math.sqrt(n), np.zeros(1))[0]
    assert found == pytest.approx(math.erfc(3 / math.sqrt(2)), rel=2e-5)


# distance covariance


def pairings(x):
    """Sums of the distances of four numbers over the three ways to form two pairs, less mean."""
    ways = np.array([[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2]])
    a, b, c, d = (x[..., ways[:, k]] for k in range(4))
    sums = np.abs(a - b) + np.abs(c - d)
    return sums - sums.mean(axis=-1, keepdims=True)


def distance_kernel(x, y):
    """Kernel of the module's docstring."""
    return (pairings(x) * pairings(y)).sum(axis=-1) / 4


def u_centred(x):
    """Székely & Rizzo (2014), equation 2.3."""
    n = len(x)
    a = np.abs(x[:, None] - x)
    A = a - a.sum(axis=1, keepdims=True) / (n - 2) - a.sum(axis=0) / (n - 2)
    A += a.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(A, 0.0)
    return A


@pytest.mark.parametrize("n", [4, 5, 7, 10])
def test_distance_kernel_averages_to_the_unbiased_distance_covariance(n):
    rng = np.random.default_rng(n)
    x = rng.uniform(size=n)
    y = rng.uniform(size=n) + x
    quadruples = np.array(list(itertools.combinations(range(n), 4)))
    mean = distance_kernel(x[quadruples], y[quadruples]).mean()
    unbiased = (u_centred(x) * u_centred(y)).sum() / (n * (n - 3))
    assert mean == pytest.approx(unbiased, rel=1e-10, abs=1e-14)


def test_distance_kernel_of_numbers_in_the_unit_interval():
    rng = np.random.default_rng(3)
    x, y = rng.uniform(size=(2, 200_000, 4))
    corners = np.array(list(itertools.product((0.0, 0.5, 1.0), repeat=4)))
    cx, cy = np.repeat(corners, 81, axis=0), np.tile(corners, (81, 1))
    x, y = np.vstack([x, cx, cx**2]), np.vstack([y, cy, cy**2])
    h = distance_kernel(x, y)
    assert h.min() == pytest.approx(-1 / 3, abs=1e-12)
    assert h.max() == pytest.approx(2 / 3, abs=1e-12)
    gap_x, gap_y = (np.diff(np.sort(z, axis=1)[:, 1:3], axis=1)[:, 0] for z in (x, y))
    expected = [2 / 3 * gap_x * gap_y, -1 / 3 * gap_x * gap_y]
    off = np.minimum(*(np.abs(h - value) for value in expected))
    assert off.max() < 1e-12


def test_distance_covariance_by_hand():
    for n, epsilon in itertools.product((4, 7, 100, 2001), (0.05, 0.5)):
        sharp, paper = Bound.of("distance_covariance"), Bound.of("distance_covariance", False)
        assert sharp(n, epsilon) == pytest.approx(min(1, 2 * math.exp(-2 * (n // 4) * epsilon**2)))
        assert paper(n, epsilon) == pytest.approx(min(1, 2 * math.exp(-n / 4 * epsilon**2)))


# all


ROWS = [*range(1, 12), 20, 50, 101, 1000]
MANY_ROWS = [*range(1, 400), 1000, 1001, 10_000, 10**6]
EPSILONS = [0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0]


def assert_falls(bound, rows, rounding):
    values = np.array([[bound(n, epsilon) for epsilon in EPSILONS] for n in rows])
    assert (values >= 0).all()
    assert (values <= 1).all()
    assert (np.diff(values, axis=0) <= rounding * values[1:]).all()
    assert (np.diff(values, axis=1) <= rounding * values[:, 1:]).all()
    assert values[-1, -1] < 1e-6 < values[0, 0]


@pytest.mark.parametrize("measure", HOEFFDING)
@pytest.mark.parametrize("sharp", [True, False])
def test_falls_with_rows_and_distance(measure, sharp):
    assert_falls(Bound.of(measure, sharp), MANY_ROWS, 1e-12)


def test_pearson_falls_with_rows_and_distance():
    assert_falls(Bound.of("pearson"), ROWS, 1e-6)


@pytest.mark.parametrize("measure", HOEFFDING)
def test_sharp_is_never_above_the_papers_form(measure):
    sharp, paper = Bound.of(measure), Bound.of(measure, sharp=False)
    lower = [(sharp(n, e), paper(n, e)) for n in MANY_ROWS for e in EPSILONS]
    assert all(a <= b for a, b in lower)
    assert any(a < b for a, b in lower)


@pytest.mark.parametrize("measure", ["kendall", "spearman", "pearson"])
def test_normal_is_a_two_sided_tail(measure):
    variance = {"kendall": lambda n: (4 * n + 10) / (9 * n * (n - 1))}.get(
        measure, lambda n: 1 / (n - 1)
    )
    bound = Bound.normal(measure)
    assert not bound.guaranteed
    for n, epsilon in itertools.product((4, 50, 3000), (0.02, 0.3)):
        expected = 2 * stats.norm.sf(epsilon / math.sqrt(variance(n)))
        assert bound(n, epsilon) == pytest.approx(expected, rel=1e-9)
    assert bound(3, 0.9) == 1


@pytest.mark.parametrize("measure", ["kendall", "spearman"])
def test_null_variances_by_all_permutations(measure):
    n = 6
    x = tuple(range(1, n + 1))
    statistic = {"kendall": kendall_t, "spearman": spearman_r}[measure]
    values = [statistic(x, y) for y in itertools.permutations(x)]
    variance = float(sum(v * v for v in values) / len(values))  # the mean is 0
    assert Bound.normal(measure)(n, 0.5) == pytest.approx(math.erfc(0.5 / math.sqrt(2 * variance)))


def test_normal_of_other_measures_is_refused():
    with pytest.raises(InputError, match="pearson, spearman, kendall") as caught:
        Bound.normal("distance")
    assert caught.value.argument == "measure"


def test_your_own_function():
    def mine(n, epsilon):
        return 10 / (n * epsilon**2)

    bound = Bound.of(mine)
    assert bound.measure == "mine"
    assert bound(1000, 0.5) == pytest.approx(0.04)
    assert bound(10, 0.5) == 1  # not above 1
    assert Bound.of(bound) is bound


@pytest.mark.parametrize("measure", ["distance", "hsic", "maximal", "xi", "polychoric", "mixed"])
def test_measures_without_a_bound_list_those_that_have_one(measure):
    with pytest.raises(InputError, match="no known bound") as caught:
        Bound.of(measure)
    assert caught.value.argument == "measure"
    assert all(name in str(caught.value) for name in NAMED)


@pytest.mark.parametrize(
    ("measure", "advice"), [("kendal", "Did you mean 'kendall'"), ("?", "Known: "), (None, "Known")]
)
def test_unknown_measures(measure, advice):
    with pytest.raises(InputError, match=advice) as caught:
        Bound.of(measure)
    assert caught.value.argument == "measure"


@pytest.mark.parametrize("measure", [["kendall"], {"a": 1}, 3])
def test_things_that_are_no_measure(measure):
    with pytest.raises(InputError, match="`measure`"):
        Bound.of(measure)


@pytest.mark.parametrize("sharp", [True, False])
def test_table(sharp):
    table = bounds(sharp)
    assert list(table.index) == NAMED
    assert (table != "").all().all()
    assert all(("⌊" in text) == sharp for text in table.loc[HOEFFDING, "formula"])


# --- ties ---------------------------------------------------------------------------------------


def test_bounds_of_correlations_are_for_items_without_ties():
    assert not any(Bound.of(name).covers_ties for name in ("kendall", "spearman", "pearson"))
    assert Bound.u_statistic(2, -1, 1).covers_ties
    assert Bound.bounded_pearson(0.25).covers_ties
    assert [Bound.normal(m).covers_ties for m in ("kendall", "spearman", "pearson")] == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize("measure", ["kendall", "spearman", "pearson"])
def test_they_fail_for_two_rare_answers(measure):
    """Independent items that one in a hundred agrees to: τ-b, r_S and r are 1 if it is one person.

    The probability of that is n q² (1 − q)^(2n − 2), far above the bound of a deviation of .8.
    """
    n, q = 100, 0.01
    same_person = n * q**2 * (1 - q) ** (2 * n - 2)
    X = np.zeros((n, 2))
    X[3] = 1
    with pytest.warns(DataWarning, match="too rare to distinguish them"):
        assert dependence(X, measure).values[0, 1] == pytest.approx(1)
    assert same_person > 10 * Bound.of(measure)(n, 0.8)


@pytest.mark.parametrize("measure", ["spearman", "pearson"])
def test_the_variance_under_independence_holds_with_ties(measure):
    """Over all permutations of one item, whatever the answers."""
    x, y = [1, 1, 1, 2, 3, 3], [1, 2, 2, 2, 2, 3]
    found = []
    for order in itertools.permutations(y):
        a, b = (stats.rankdata(x), stats.rankdata(order)) if measure == "spearman" else (x, order)
        found.append(np.corrcoef(a, b)[0, 1])
    assert np.mean(np.square(found)) == pytest.approx(1 / (len(x) - 1))
