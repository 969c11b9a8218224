"""The rows a plan asks for give the rate it promises."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import spearmanr

import dtstat as dt
from dtstat.dependence.kendall import kendall
from dtstat.fit.request import FitRequest
from dtstat.trust.recovery import _fit, _quantile, recovery_events, rows_for_recovery
from dtstat.trust.survey import LATENT_VARIANCES

SE = 4
POINTS = 0.03
TARGETS = [0.8, 0.9, 0.95]


def logistic(n):
    return float(expit(4 * (math.log(n) - math.log(300))))


def normal_tail(n):
    """45 pairs, none of which may stray: not logistic in log n."""
    return float((1 - 2 * ndtr(-0.15 * math.sqrt(n))) ** 45)


def steep(n):
    return float(expit(12 * (math.log(n) - math.log(700))))


CURVES = {curve.__name__: curve for curve in (logistic, normal_tail, steep)}


@dataclass(frozen=True)
class Event:
    """Recovery with a known probability; of module level, so that processes can be sent it."""

    curve: str

    def __call__(self, n, rng):
        return bool(rng.random() < CURVES[self.curve](n))


@dataclass(frozen=True)
class Step:
    """Recovery if there are enough rows, never else."""

    rows: int

    def __call__(self, n, rng):
        return n >= self.rows


def always_half(n, rng):
    return bool(rng.random() < 0.5)


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("target", TARGETS)
def test_the_answer_has_the_promised_rate(curve, target):
    """4000 draws: a standard error of .6 points at .8, .3 at .95."""
    for seed, start in enumerate((60, 300, 2000)):
        found = rows_for_recovery(Event(curve), target, start, 4000, seed)
        assert CURVES[curve](found.n) == pytest.approx(target, abs=POINTS)
        assert found.low <= found.n <= found.high + 1
        assert found.draws.sum() >= 4000
        assert (found.recovered <= found.draws).all()
        assert (np.diff(found.rows) > 0).all()


def test_the_interval_covers_the_truth():
    """95 % nominal; 120 searches, so 4 standard errors are 8 points."""
    truth = 300 * math.exp(math.log(0.9 / 0.1) / 4)  # where logistic() is .9
    searches = 120
    covered = 0
    for seed in range(searches):
        found = rows_for_recovery(Event("logistic"), 0.9, 200, 400, 1000 + seed)
        covered += found.low <= truth <= found.high
    assert covered / searches >= 0.95 - SE * math.sqrt(0.95 * 0.05 / searches)


def test_processes_do_not_change_the_answer():
    one = rows_for_recovery(Event("logistic"), 0.9, 100, 160, 7)
    two = rows_for_recovery(Event("logistic"), 0.9, 100, 160, 7, n_jobs=2)
    assert one.n == two.n
    assert (one.low, one.high) == (two.low, two.high)
    for column in ("rows", "draws", "recovered"):
        np.testing.assert_array_equal(getattr(one, column), getattr(two, column))
    other = rows_for_recovery(Event("logistic"), 0.9, 100, 160, 8)
    assert other.recovered.tolist() != one.recovered.tolist()


def test_a_target_that_is_never_reached():
    found = rows_for_recovery(always_half, 0.95, 100, 200, 1, most_rows=5000)
    assert found.n is None
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.rows.max() <= 5000


@dataclass(frozen=True)
class Plateau:
    """Recovery at one rate, however many rows there are."""

    rate: float

    def __call__(self, n, rng):
        return bool(rng.random() < self.rate)


@pytest.mark.parametrize(("rate", "target"), [(0.5, 0.6), (0.8, 0.9), (0.88, 0.95)])
def test_a_plateau_below_the_target_is_not_a_number_of_rows(rate, target):
    """A lucky pilot of 40 must not stand against 1000 draws; one search in 15 may be fooled."""
    answers = [rows_for_recovery(Plateau(rate), target, 300, 1000, seed).n for seed in range(15)]
    assert answers.count(None) >= 14


@pytest.mark.parametrize("rate", [1.0, 0.99])
def test_a_target_that_any_number_reaches(rate):
    """The answer is a number of rows that was tried, not one that a curve was drawn out to."""
    found = rows_for_recovery(Plateau(rate), 0.8, 300, 200, 1)
    assert found.n >= 10


@pytest.mark.parametrize("start", [70, 100, 300])
def test_all_rows_up_to_the_most_are_tried(start):
    """900 are enough and 1000 are allowed: None would say that not even 1000 do."""
    found = rows_for_recovery(Step(900), 0.9, start, 200, 1, most_rows=1000)
    assert found.n is not None
    assert 800 <= found.n <= 1000


@pytest.mark.parametrize("rows", [11, 40, 333, 1500])
@pytest.mark.parametrize("target", [0.8, 0.95])
@pytest.mark.parametrize("start", [100, 800])
def test_a_sudden_rise_is_found(rows, target, start):
    """A curve steeper than any that is fitted: the answer may be too large, never too small."""
    found = rows_for_recovery(Step(rows), target, start, 400, 1)
    assert 0.95 * rows <= found.n <= 1.4 * rows


def test_fit_is_near_the_likeliest_curve():
    """With many draws the best of a grid of curves is found, by rows between .1 and .95."""
    rows = np.array([100, 200, 300, 400, 600])
    draws = np.full(5, 4000)
    recovered = np.array([58, 640, 1900, 3040, 3760])

    def minus_log_likelihood(middle, slope):
        eta = slope * (np.log(rows) - math.log(middle))
        return (draws * np.logaddexp(0, eta) - recovered * eta).sum()

    grid = [(m, b) for m in np.linspace(250, 400, 301) for b in np.linspace(2, 8, 241)]
    middle, slope = min(grid, key=lambda curve: minus_log_likelihood(*curve))
    fitted = _fit(rows, draws, recovered)
    for target in (0.1, 0.5, 0.8, 0.95):
        best = middle * (target / (1 - target)) ** (1 / slope)
        assert _quantile(*fitted, target) == pytest.approx(best, rel=0.01)


@pytest.mark.parametrize("target", TARGETS)
def test_fit_between_no_success_and_success(target):
    """0 of 440 at 25 rows and 40 of 40 at 50: the curve is at the target between the two."""
    fitted = _fit(np.array([25, 50, 100]), np.array([440, 40, 40]), np.array([0, 40, 40]))
    assert 25 < _quantile(*fitted, target) < 50


def test_quantile_is_where_the_curve_is_at_the_target():
    n = _quantile(-8.0, 1.5, 0.9)
    assert expit(-8.0 + 1.5 * math.log(n)) == pytest.approx(0.9)


def test_a_real_design_keeps_its_promise():
    """5 factors of 4 items: the factors are all seen at the promised rate in fresh surveys."""
    target, draws = 0.9, 2000
    design = dt.survey_design(5, 4, 0.6, 0.2)
    call = FitRequest(
        "spearman", "exact", "exact", "none", "bic", 2, "attach", False, "pairwise", "none", 1, "0"
    )
    recovers = recovery_events(design, call)["factors"]
    found = rows_for_recovery(recovers, target, 300, 2000, 11)
    fresh = np.random.default_rng(12)
    L = np.linalg.cholesky(design.correlations)
    members = [np.arange(4 * k, 4 * k + 4) for k in range(5)]
    seen = 0
    for _ in range(draws):
        X = fresh.standard_normal((found.n, 20)) @ L.T
        ranks = X.argsort(axis=0).argsort(axis=0).astype(float)
        seen += all_seen(np.abs(np.corrcoef(ranks, rowvar=False)), members)
    assert seen / draws == pytest.approx(target, abs=POINTS)


def all_seen(R, factors):
    """Whether every factor is a clique while one of its items has no neighbour outside."""
    for C in factors:
        outside = np.setdiff1d(np.arange(len(R)), C)
        w = R[np.ix_(C, C)][np.triu_indices(len(C), 1)].min()
        if R[np.ix_(C, outside)].max(axis=1).min() >= w:
            return False
    return True


# standard errors of the normal approximation


def estimates(measure, rho, n, draws, seed):
    Z = np.random.default_rng(seed).standard_normal((draws, n, 2))
    Z[..., 1] = rho * Z[..., 0] + math.sqrt(1 - rho**2) * Z[..., 1]
    if measure == "kendall":
        return np.array([kendall(z)[0, 1] for z in Z])
    if measure == "spearman":
        Z = Z.argsort(axis=1).argsort(axis=1).astype(float)
    Z = Z - Z.mean(axis=1, keepdims=True)
    return (Z[..., 0] * Z[..., 1]).sum(axis=1) / np.sqrt((Z**2).sum(axis=1).prod(axis=1))


@pytest.mark.parametrize("measure", ["pearson", "kendall", "spearman"])
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.9])
def test_asymptotic_variances(measure, rho):
    """A sample variance has a relative standard error of √(2/draws); terms of 1/n are some 1 %."""
    n, draws = 400, 4000
    r = estimates(measure, rho, n, draws, 13)
    expected = float(LATENT_VARIANCES[measure](np.array(rho)))
    allowed = SE * math.sqrt(2 / draws) + 0.02
    assert n * r.var() == pytest.approx(expected, rel=allowed)


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.9])
def test_variance_of_spearman_by_numbers(rho):
    """Var of 12·Σ of the influence function, by a large sample of it: precise to 1 %."""
    n = 200_000
    rng = np.random.default_rng(14)
    x, y = rng.standard_normal((2, n))
    y = rho * x + math.sqrt(1 - rho**2) * y
    # h(x, y) = F(x)G(y) + E[1(X > x) G(Y)] + E[F(X) 1(Y > y)], by interpolating over the sample.
    F, G = ndtr(x), ndtr(y)
    by_x, by_y = np.argsort(x), np.argsort(y)
    above_x, above_y = np.empty(n), np.empty(n)
    above_x[by_x] = (np.cumsum(G[by_x][::-1])[::-1]) / n
    above_y[by_y] = (np.cumsum(F[by_y][::-1])[::-1]) / n
    variance = 144 * np.var(F * G + above_x + above_y)
    assert spearmanr(x, y).statistic == pytest.approx(
        6 / np.pi * math.asin(rho / 2), abs=SE / math.sqrt(n)
    )
    found = float(LATENT_VARIANCES["spearman"](np.array(rho)))
    assert found == pytest.approx(variance, rel=0.03)
