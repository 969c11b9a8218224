"""Intervals of defined parameters: against closed forms and integrals."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import dtstat as dt

MODEL = "m ~ a*x; y ~ b*m + c*x; ab := a*b; total := ab + c; twice := 2*a"


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    x, u, v = rng.standard_normal((3, 80))
    m = 0.2 * x + u
    return pd.DataFrame({"x": x, "m": m, "y": 0.3 * m + v})


@pytest.fixture(scope="module")
def fit(data: pd.DataFrame) -> dt.CFAFit:
    return dt.sem(data, MODEL)


def test_a_product_has_the_quantiles_of_a_product_of_normals(fit: dt.CFAFit) -> None:
    """P(ab <= q) by an integral over a; a and b are independent in a saturated model."""
    rows = fit.parameters.set_index("label")
    (a, b), (sa, sb) = rows.loc[["a", "b"], "est"], rows.loc[["a", "b"], "se"]

    def below(q: float) -> float:
        def given(value: float) -> float:
            share = norm.cdf((q / value - b) / sb)
            return norm.pdf(value, a, sa) * (share if value > 0 else 1 - share)

        return quad(given, a - 9 * sa, a + 9 * sa, points=[0.0], limit=400)[0]

    found = fit.defined_intervals().set_index("lhs").loc["ab"]
    assert below(found["ci.lower"]) == pytest.approx(0.025, abs=0.0015)  # 2 Monte Carlo errors
    assert below(found["ci.upper"]) == pytest.approx(0.975, abs=0.0015)
    assert found["ci.upper"] - found["est"] > found["est"] - found["ci.lower"]  # skewed


def test_a_linear_definition_has_the_interval_of_the_delta_method(fit: dt.CFAFit) -> None:
    drawn = fit.defined_intervals(level=0.9).set_index("lhs").loc["twice"]
    delta = fit.defined_intervals("delta", level=0.9).set_index("lhs").loc["twice"]
    assert drawn["ci.lower"] == pytest.approx(delta["ci.lower"], abs=0.04 * delta["se"])
    assert drawn["ci.upper"] == pytest.approx(delta["ci.upper"], abs=0.04 * delta["se"])
    assert delta["ci.upper"] - delta["est"] == pytest.approx(norm.ppf(0.95) * delta["se"])


def test_the_delta_interval_is_that_of_the_parameters(fit: dt.CFAFit) -> None:
    columns = ["lhs", "op", "rhs", "est", "se", "ci.lower", "ci.upper"]
    table = fit.parameters
    expected = table.loc[table["op"] == ":=", columns].reset_index(drop=True)
    pd.testing.assert_frame_equal(fit.defined_intervals("delta"), expected)


def test_parameters_that_are_tied_are_drawn_together(data: pd.DataFrame) -> None:
    """With a == b the product is the square of a normal variable."""
    fit = dt.sem(data, "m ~ a*x; y ~ b*m; a == b; ab := a*b")
    found = fit.defined_intervals().iloc[0]
    a = fit.parameters.set_index("label").loc["a"]

    def below(q: float) -> float:
        return float(np.diff(norm.cdf([-np.sqrt(q), np.sqrt(q)], a["est"], a["se"]))[0])

    assert below(found["ci.lower"]) == pytest.approx(0.025, abs=0.0015)
    assert below(found["ci.upper"]) == pytest.approx(0.975, abs=0.0015)


def test_seeds(fit: dt.CFAFit) -> None:
    pd.testing.assert_frame_equal(fit.defined_intervals(), fit.defined_intervals(seed=1))
    assert not fit.defined_intervals(seed=2).equals(fit.defined_intervals())


def test_a_definition_without_value_in_some_draws_has_no_interval(data: pd.DataFrame) -> None:
    found = dt.sem(data, "m ~ a*x; y ~ b*m; root := sqrt(a); ab := a*b").defined_intervals()
    assert found["ci.lower"].isna().tolist() == [True, False]


def test_the_summary_says_which_interval_it_shows(fit: dt.CFAFit, data: pd.DataFrame) -> None:
    text = str(fit.summary(ci=True))
    found = fit.defined_intervals().set_index("lhs").loc["ab"]
    (line,) = [line for line in text.splitlines() if line.split()[:1] == ["ab"]]
    assert "mc.lower" in text
    assert f"{found['ci.lower']:.3f}" in line
    assert "mc.lower" not in str(fit.summary())
    assert "mc.lower" not in str(dt.sem(data, "y ~ m").summary(ci=True))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"method": "exact"}, "monte_carlo"),
        ({"level": 95}, "A confidence level"),
        ({"n_draws": 10}, "at least 1000"),
        ({"seed": -1}, "The same seed"),
    ],
)
def test_bad_arguments(fit: dt.CFAFit, given: dict, says: str) -> None:
    with pytest.raises(dt.InputError, match=says):
        fit.defined_intervals(**given)


def test_a_model_without_definitions(data: pd.DataFrame) -> None:
    with pytest.raises(dt.InputError, match="Write one as 'indirect := a\\*b'"):
        dt.sem(data, "y ~ m").defined_intervals()
