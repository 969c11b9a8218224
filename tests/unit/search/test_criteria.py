"""Information criteria by hand, and the loading that just pays for its edge."""

import math

import pytest

from dtstat.search.evaluate import (
    CRITERIA,
    HELD_OUT,
    INFORMATION,
    information,
    least_loading,
    price_of_edge,
)

LOG_100, LOG_10 = 4.605170185988092, 2.302585092994046


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        ("aic", 2800 + 2 * 25),
        ("bic", 2800 + 25 * LOG_100),
        ("ebic", 2800 + 25 * LOG_100 + 2 * 12 * LOG_10),
    ],
)
def test_values_by_hand(criterion, expected):
    """ℓ = -14 per row, 100 rows, 25 parameters of which 12 loadings, 10 items."""
    assert information(criterion, -14.0, 25, 12, 10, 100) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("criterion", INFORMATION)
def test_rows_may_count_as_a_fraction(criterion):
    """An effective number of rows is no whole number."""
    low, middle, high = (information(criterion, -3.0, 7, 4, 6, n) for n in (50, 50.5, 51))
    assert low < middle < high
    assert middle == pytest.approx((low + high) / 2, abs=1e-3)


@pytest.mark.parametrize("criterion", INFORMATION)
def test_one_more_loading_costs_its_price(criterion):
    one = information(criterion, -3.0, 20, 9, 8, 75.5)
    more = information(criterion, -3.0, 21, 10, 8, 75.5)
    assert more - one == pytest.approx(price_of_edge(criterion, 8, 75.5))


def test_other_parameters_cost_less_under_ebic_only():
    """A factor correlation was not searched for."""
    for criterion, searched in (("aic", 0), ("bic", 0), ("ebic", 2 * math.log(8))):
        base, other = (information(criterion, -3.0, k, 9, 8, 75) for k in (20, 21))
        assert price_of_edge(criterion, 8, 75) - (other - base) == pytest.approx(searched)


@pytest.mark.parametrize("criterion", INFORMATION)
@pytest.mark.parametrize(("p", "n"), [(3, 10), (20, 250.7), (300, 100), (20, 1e6)])
def test_the_least_loading_breaks_even(criterion, p, n):
    """A standard normal item that correlates λ with a known variable gains -½ log(1 - λ²) a row."""
    least = least_loading(criterion, p, n)
    assert 0 < least < 1

    def change(loading):
        gain = -0.5 * math.log1p(-(loading**2))
        after = information(criterion, -5.0 + gain, 8, 4, p, n)
        return after - information(criterion, -5.0, 7, 3, p, n)

    assert change(least) == pytest.approx(0, abs=1e-9 * n)
    assert change(0.99 * least) > 0 > change(min(1.01 * least, (1 + least) / 2))


def test_least_loadings_by_hand():
    """√(1 - exp(-price/n)): e.g. aic with n = 2 rows pays for itself at √(1 - 1/e)."""
    assert least_loading("aic", 5, 2) == pytest.approx(math.sqrt(1 - math.exp(-1)))
    # log 100 / 100 and 4 log 10 / 100
    assert least_loading("bic", 10, 100) == pytest.approx(0.2121, abs=5e-5)
    assert least_loading("ebic", 10, 100) == pytest.approx(0.2966, abs=5e-5)


@pytest.mark.parametrize("criterion", INFORMATION)
def test_with_many_rows_it_is_the_root_of_price_over_rows(criterion):
    n = 1e13  # 1 - exp(-x) would have lost four digits
    expected = math.sqrt(price_of_edge(criterion, 20, n) / n)
    assert least_loading(criterion, 20, n) == pytest.approx(expected, rel=1e-9)


def test_stricter_criteria_ask_for_more():
    aic, bic, ebic = (least_loading(name, 20, 300) for name in ("aic", "bic", "ebic"))
    assert aic < bic < ebic
    for criterion in INFORMATION:
        loadings = [least_loading(criterion, 20, n) for n in (100, 300, 1000, 3000)]
        assert loadings == sorted(loadings, reverse=True)


def test_names():
    assert CRITERIA == ("ebic", "bic", "aic", "validation", "validation_2se", "cv")
    assert not set(INFORMATION) & set(HELD_OUT)
