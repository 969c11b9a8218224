"""Constraints: solutions against SciPy's SLSQP, tangent spaces, contradictions."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize as scipy_minimize

import dtstat as dt
from dtstat.core.errors import EstimationError
from dtstat.sem.constraints import Constraints
from dtstat.sem.model import build_model
from dtstat.structure.syntax import ModelSyntaxError

TEXT = "y ~ a*x1 + b*x2 + c*x3"
ITEMS = ["y", "x1", "x2", "x3"]


def data(n=200):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 3)) @ np.array([[1, 0.4, 0], [0, 1, 0.3], [0, 0, 1]])
    y = X @ [0.5, 0.9, 0.6] + rng.normal(size=n)
    return pd.DataFrame(X, columns=["x1", "x2", "x3"]).assign(y=y)


@pytest.fixture(scope="module")
def table():
    return data()


def slopes(fit):
    return fit.parameters.set_index("label")["est"].loc[["a", "b", "c"]].to_numpy()


def least_squares(table, conditions):
    """The same by SLSQP: with y alone explained, ML minimizes the residual sum of squares."""
    D = table - table.mean()
    X, y = D[["x1", "x2", "x3"]].to_numpy(), D["y"].to_numpy()
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    found = scipy_minimize(
        lambda v: np.mean((y - X @ v) ** 2),
        best,
        method="SLSQP",
        constraints=conditions,
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return found.x


@pytest.mark.parametrize(
    ("text", "kind", "function"),
    [
        ("a + b == 1", "eq", lambda v: v[0] + v[1] - 1),
        ("a == 2*b - c", "eq", lambda v: v[0] - 2 * v[1] + v[2]),
        ("a*b == 0.3", "eq", lambda v: v[0] * v[1] - 0.3),
        ("exp(a) == b + 1", "eq", lambda v: np.exp(v[0]) - v[1] - 1),
        ("a > b", "ineq", lambda v: v[0] - v[1]),
        ("b < 0.8", "ineq", lambda v: 0.8 - v[1]),
        ("a*b < 0.3", "ineq", lambda v: 0.3 - v[0] * v[1]),
        ("a > 0", "ineq", lambda v: v[0]),
        ("s := a + b\ns^2 + c == 2", "eq", lambda v: (v[0] + v[1]) ** 2 + v[2] - 2),
    ],
)
def test_solutions_are_those_of_slsqp(text, kind, function, table):
    fit = dt.sem(table, f"{TEXT}\n{text}")
    expected = least_squares(table, [{"type": kind, "fun": function}])
    np.testing.assert_allclose(slopes(fit), expected, atol=2e-6)


def test_a_bound_is_an_inequality(table):
    written = dt.sem(table, f"{TEXT}\nb < 0.8")
    bound = dt.sem(table, "y ~ a*x1 + upper(0.8)*b*x2 + c*x3")
    np.testing.assert_allclose(slopes(bound), slopes(written), atol=1e-8)


def test_an_equality_costs_a_parameter_and_an_inequality_does_not(table):
    plain, equal, less = (
        dt.sem(table, TEXT + text).fit_measures for text in ("", "\na*b == .3", "\na < .3")
    )
    assert (equal["npar"], less["npar"]) == (plain["npar"] - 1, plain["npar"])
    assert (equal["df"], less["df"]) == (1, 0)


def test_standard_errors_are_a_block_of_the_inverse_of_the_bordered_information(table):
    fit = dt.sem(table, f"{TEXT}\na*b == 0.3\nb + c == 1.4")
    estimate = fit.estimate
    free = dt.sem(table, TEXT)
    theta = estimate.theta
    a, b, _ = slopes(fit)
    J = np.zeros((2, len(theta)))
    number = {r.label: r.free - 1 for r in estimate.model.parameters if r.label}
    J[0, number["a"]], J[0, number["b"]] = b, a
    J[1, number["b"]], J[1, number["c"]] = 1, 1
    S = np.cov(table[["x1", "x2", "x3"]].T, bias=True)
    variance = float(
        theta[[r.free - 1 for r in estimate.model.parameters if r.name == "y ~~ y"]][0]
    )
    information = np.zeros((4, 4))
    order = [number[name] for name in "abc"]
    information[np.ix_(order, order)] = S / variance
    rest = next(k for k in range(4) if k not in order)
    information[rest, rest] = 0.5 / variance**2
    bordered = np.block([[information * len(table), J.T], [J, np.zeros((2, 2))]])
    np.testing.assert_allclose(
        estimate.covariance, np.linalg.inv(bordered)[:4, :4], rtol=1e-5, atol=1e-12
    )
    assert free.estimate.covariance[0, 0] > estimate.covariance[0, 0]


def test_the_space_is_orthogonal_to_all_active_constraints():
    model = build_model(f"{TEXT}\na + b == 1\na*c == 0.2\nb < 0.6\nc < 5", ITEMS)
    constraints = Constraints(model)
    theta = np.array([0.4, 0.6, 0.5, 1.0])
    H = constraints.space(theta)
    assert H.shape == (4, 1)
    np.testing.assert_allclose(np.array([1, 1, 0, 0]) @ H, 0, atol=1e-12)
    np.testing.assert_allclose(np.array([0.5, 0, 0.4, 0]) @ H, 0, atol=1e-12)
    np.testing.assert_allclose(np.array([0, 1, 0, 0]) @ H, 0, atol=1e-12)
    assert constraints.rank == 2


def test_defined_parameters_have_errors_by_the_delta_method(table):
    fit = dt.sem(table, f"{TEXT}\nab := a*b\nlogged := log(ab) + c")
    rows = fit.parameters.set_index("lhs")
    a, b, c = slopes(fit)
    V = fit.estimate.covariance[:3, :3]
    assert rows.loc["ab", "est"] == pytest.approx(a * b)
    assert rows.loc["logged", "est"] == pytest.approx(np.log(a * b) + c)
    for name, gradient in (("ab", [b, a, 0]), ("logged", [1 / a, 1 / b, 1])):
        assert rows.loc[name, "se"] == pytest.approx(np.sqrt(gradient @ V @ gradient))


def test_tables_of_items_do_not_mind_defined_parameters():
    text, table = "f =~ x1 + a*x2 + x3 + x4", dt.load_dataset("holzinger_swineford_9")
    plain, more = dt.cfa(table, text), dt.cfa(table, f"{text}; twice := 2*a")
    assert more.loadings.equals(plain.loadings)
    assert more.r_squared.equals(plain.r_squared)


def test_what_is_not_defined_is_missing(table):
    fit = dt.sem(table, f"{TEXT}\nq := log(a - 10)")
    assert np.isnan(fit.parameters.set_index("lhs").loc["q", "est"])


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a + b == 1\na - b == 0\n 2*a == 3", (4, 2), "'2*a == 3' contradicts the constraints"),
        ("a == 1\na == 2", (3, 1), "'a == 2' contradicts what is written elsewhere"),
        ("a == 1\nb == 2\na == b", (3, 1), "'b == 2' contradicts what is written elsewhere"),
        ("a > 2\n b > a\nb < 1", (4, 1), "'b < 1' contradicts the constraints before it"),
        ("a == 1\na > 2", (3, 1), "'a > 2' does not hold"),
        ("a + q == 1", (2, 5), "'q' is the label of no parameter"),
        ("d := a*q", (2, 8), "'q' is the label of no parameter"),
        ("a := b", (2, 1), "'a' already is a label"),
        ("d := a\nd := b", (3, 1), "'d' already is a label"),
        ("a == log(0-1)", (2, 6), "'log(0-1)' is not defined"),
    ],
)
def test_contradictions_are_refused_where_they_are_written(text, place, message, table):
    with pytest.raises(ModelSyntaxError) as caught:
        dt.sem(table, f"{TEXT}\n{text}")
    assert (caught.value.line, caught.value.column) == place
    assert message in str(caught.value)


def test_a_nonlinear_constraint_that_nothing_satisfies_is_named(table):
    with pytest.raises(EstimationError, match=r"constraint 'a\^2 == -1' \(line 2, column 1"):
        dt.sem(table, f"{TEXT}\na^2 == -1")


def test_redundant_constraints_cost_nothing_more(table):
    once = dt.sem(table, f"{TEXT}\na + b == 1")
    twice = dt.sem(table, f"{TEXT}\na + b == 1\n2*a == 2 - 2*b")
    assert once.fit_measures["df"] == twice.fit_measures["df"] == 1
    np.testing.assert_allclose(slopes(once), slopes(twice), atol=1e-8)


def test_ordered_items_obey_constraints_too():
    rng = np.random.default_rng(0)
    latent = 0.8 * rng.normal(size=(400, 1)) + 0.6 * rng.normal(size=(400, 4))
    rated = pd.DataFrame(np.digitize(latent, [-0.5, 0.7]), columns=list("wxyz"))
    text = "f =~ w + a*x + b*y + z\nx | s*t1 + t*t2\na + b == 2\nt - s > 1.4"
    values = dt.cfa(rated, text, ordered=True).parameters.set_index(["lhs", "op", "rhs"])["est"]
    assert values["f", "=~", "x"] + values["f", "=~", "y"] == pytest.approx(2)
    assert values["x", "|", "t2"] - values["x", "|", "t1"] == pytest.approx(1.4)


def heywood() -> pd.DataFrame:
    """Answers whose best loading of x1 is above 1: its residual variance would be negative."""
    rng = np.random.default_rng(3)
    f = rng.normal(size=200)
    x1 = f + 0.05 * rng.normal(size=200)
    others = 0.6 * f[:, None] + 0.8 * rng.normal(size=(200, 3))
    others[:, 1:] += 0.35 * rng.normal(size=(200, 1))
    return pd.DataFrame(np.column_stack([x1, others]), columns=["x1", "x2", "x3", "x4"])


ONE_FACTOR = "f =~ x1 + x2 + x3 + x4"


@pytest.mark.filterwarnings("ignore::dtstat.core.errors.EstimationWarning")
def test_bounds_keep_variances_from_becoming_negative():
    data = heywood().assign(x1=lambda d: d["x1"] + 0.4 * d["x2"] + 0.4 * d["x3"] + 0.4 * d["x4"])

    def variance(fit: dt.CFAFit) -> float:
        table = fit.parameters
        return float(table.loc[(table["lhs"] == "x1") & (table["rhs"] == "x1"), "est"].iloc[0])

    free, bounded = dt.cfa(data, ONE_FACTOR), dt.cfa(data, ONE_FACTOR, bounds="pos.var")
    written = dt.cfa(data, ONE_FACTOR + "\nx1 ~~ lower(0)*x1")
    assert variance(free) < -0.01
    assert variance(bounded) == pytest.approx(0, abs=1e-7)
    assert bounded.fit_measures["chisq"] > free.fit_measures["chisq"]
    np.testing.assert_allclose(bounded.parameters["est"], written.parameters["est"], atol=1e-6)
    observed = dt.cfa(data, ONE_FACTOR, bounds="pos.ov.var")
    np.testing.assert_allclose(bounded.parameters["est"], observed.parameters["est"], atol=1e-6)
    assert variance(dt.cfa(data, ONE_FACTOR, bounds="pos.lv.var")) == pytest.approx(variance(free))


def test_other_bounds_are_refused():
    with pytest.raises(dt.InputError, match=r"got 'wide'\. Known: none, pos\.lv\.var"):
        dt.cfa(heywood(), ONE_FACTOR, bounds="wide")


def test_a_search_that_runs_off_says_what_to_do():
    data = dt.load_dataset("holzinger_swineford_9")[:12]
    model = "visual =~ x1 + x2 + x3; textual =~ x4 + x5 + x6; speed =~ x7 + x8 + x9"
    with pytest.raises(dt.EstimationError, match=r"negative variance of .* bounds='pos\.var'"):
        dt.cfa(data, model)
    assert dt.cfa(data, model, bounds="pos.var").estimate.converged
